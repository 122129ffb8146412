"""Names of folders and files may have any characters: tally-run(1) promises it of
--extra, --share and --kernel, README.md of a fresh clone, wherever that is."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tally import ROOT
from tally.build import image
from tally.build.image import BuildError, overlay

pytestmark = pytest.mark.usefixtures("images")  # built once, not in a test

#: What means something to a shell, to make, to QEMU's options, to a map's lines; two
#: letters that aren't ASCII, and a byte that is no letter.
ODD = "a b,\tc='\"$x`;\n#:%&*\\\u00e9\u00df\udcff"
MADE = ("mutants*", "labs", "viewers", "overlay-*", ".lock", ".git", "reports",
        "__pycache__", "build-debug")


def copy(source: str, to: str) -> None:
    """The same file if that can be: nothing that is built is rewritten."""
    try:
        os.link(source, to)
    except OSError:
        shutil.copy2(source, to)


@pytest.mark.skipif(image.DEBUG, reason="of the ordinary kernel")
def test_any_characters(tmp_path: Path) -> None:
    """In a checkout's own path, and in all that a command names: a program is built,
    boots with a kernel and a folder, and is counted by a plugin. What lies where it is
    called isn't taken for a part of Python."""
    odd = tmp_path / ODD
    root = odd / "tally"
    shutil.copytree(ROOT, root, copy_function=copy, symlinks=True,
                    ignore=shutil.ignore_patterns(*MADE))
    for name in "extra", "share":
        (odd / name).mkdir()
    (odd / "extra" / "say.c").write_text(
        "#include <stdio.h>\nint main(void) { puts(\"said\"); }\n")
    (odd / "extra" / ODD).write_text("extra\n")
    (odd / "share" / "x").write_text("shared\n")
    for module in "struct", "tally":
        (odd / f"{module}.py").write_text("raise SystemExit('the wrong one')\n")
    shutil.copy(image.BUILD / "kernel.elf", odd / "kernel")
    named = {"--extra": "extra", "--share": "share", "--kernel": "kernel",
             "-o": "x.folded"}
    words = [w for option, name in named.items() for w in (option, str(odd / name))]
    command = "say; cat /extra/* /host/x; ls /boot"
    run = subprocess.run(
        [root / "scripts" / "tally", "--exact", *words, "--", command],
        capture_output=True, text=True, env={**os.environ, "TMPDIR": str(odd)}, cwd=odd,
    )
    assert (run.stderr, run.returncode) == ("", 0)
    assert run.stdout.startswith("said\nextra\nshared\nkernel\nsymbols\n")
    assert "say;[user];_start;main" in (odd / "x.folded").read_text()


@pytest.mark.parametrize("name", ["BUILD", "EXTRA", "OVERLAY"])
def test_make_says_what_it_cannot_do(name: str) -> None:
    run = subprocess.run(["make", "-n", "overlay", f"{name}=a b"], cwd=ROOT,
                         capture_output=True, text=True)
    said = f"make can't work with a blank in {name}: scripts/run --extra can.  Stop."
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert run.stderr.rstrip().endswith(said)


@pytest.mark.parametrize("name", ["a b.c", "x:y/main.c"])
def test_make_has_its_limits(tmp_path: Path, name: str) -> None:
    """It takes such a source's name for two, or for a rule's."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("int main(void) { return 0; }\n")
    with pytest.raises(BuildError) as caught:
        overlay(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/{name}: make can't compile a file with that name"
    )
