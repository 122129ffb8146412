"""The version: the file VERSION has it, and all that tell it agree."""

from __future__ import annotations

import re
import subprocess

from harness.guest import Guest
from tally import ROOT
from tally.build import image

VERSION = (ROOT / "VERSION").read_text().rstrip("\n")


def test_it_is_one_number() -> None:
    """The first word of uname's version, as a string in C."""
    assert re.fullmatch(r"\d+\.\d+", VERSION)


def test_the_kernel_and_uname_tell_it(guest: Guest) -> None:
    result = guest("uname -v; uname -a")
    version, everything = result.out.splitlines()
    assert version.split(",")[0] == VERSION
    assert everything.split()[:4] == ["Tally", "tally", "6.1.0", f"{VERSION},"]
    assert re.search(rb"\nTally on \d+ harts, \d+ MiB, version (\S+)", result.boot)[
        1
    ] == VERSION.encode()


def test_the_changelog_begins_with_it() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## (\S+)", text, re.M)[1] == VERSION


def test_what_tells_it_is_compiled_again() -> None:
    """A new version is in the next kernel: no object keeps the old one."""
    rebuilt = subprocess.run(
        ["make", "-n", "V=1", "-W", "VERSION", f"{image.BUILD.name}/kernel.elf"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout
    for source in ("kernel/main.c", "kernel/syscall/info.c"):
        assert f" -c {source} " in rebuilt


def test_no_source_has_a_version_of_its_own() -> None:
    """Only the Makefile reads the file."""
    told = {
        str(file.relative_to(ROOT))
        for folder in ("boot", "kernel", "lib", "user", "include")
        for file in (ROOT / folder).rglob("*.[chS]")
        if re.search(rf'"(Tally )?{re.escape(VERSION)}"', file.read_text())
    }
    assert not told
