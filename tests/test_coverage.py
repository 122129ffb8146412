"""What `make coverage` says of one boot: docs/testing.md has the whole."""

from __future__ import annotations

import re
import subprocess

import pytest

from harness.guest import Guest, Images
from tally import ROOT
from tally.boot import frames
from tally.boot.machine import find_qemu
from tally.build import image
from tally.verify.coverage import covered
from tally.verify.coverage.covered import File
from tally.verify.coverage.record import Boots, Recorder
from tally.verify.machines import MACHINES

LCOV = re.compile(
    r"(TN:\nSF:/.+\n(FN:\d+,\w+\nFNDA:\d+,\w+\n)*FNF:\d+\nFNH:\d+\n"
    r"(DA:[1-9]\d*,\d+\n)+LF:\d+\nLH:\d+\nend_of_record\n)+"
)


class Enough(Exception):
    pass


def enough(channel: str) -> None:
    if channel == frames.STDOUT:
        raise Enough


@pytest.fixture(scope="module")
def boots(images: Images, tmp_path_factory: pytest.TempPathFactory) -> Boots:
    """One of a command's, and one that is killed, which makes a folder; and this
    kernel and another on a machine that can't boot any."""
    folder = tmp_path_factory.mktemp("coverage")
    kernel = (image.BUILD / "kernel.elf").read_bytes()
    recorder = Recorder(kernel, find_qemu(), folder)
    recording = images.with_qemu(str(recorder.qemu))
    four = MACHINES["4"]
    assert Guest(recording, four)("echo hello | cat").out == "hello\n"
    with pytest.raises(Enough):
        Guest(recording, four, enough)("mkdir /tmp/d; echo made; sleep 1000")
    other = folder / "other"
    other.write_bytes(kernel + b"\0")
    for elf in (recorder.image.path, other):
        command = [recording.qemu, "-machine", "none", "-kernel", str(elf)]
        assert subprocess.run(command, capture_output=True).returncode == 1
    return recorder.merged()


@pytest.fixture(scope="module")
def files(boots: Boots) -> dict[str, File]:
    return {file.name: file for file in covered.files(boots)}


def test_each_boot_counts(boots: Boots) -> None:
    """Also one that is killed; but none of another kernel."""
    assert (boots.started, boots.reached) == (3, 2)


def test_functions(files: dict[str, File]) -> None:
    """Entered in both, in one, in none; and by the first instructions, at their
    physical addresses."""
    functions = {n: t for f in files.values() for n, t in f.functions.items()}
    assert functions["sys_pipe2"] == functions["sys_mkdirat"] == 1
    assert functions["sys_execve"] == functions["_start"] == 2
    assert functions["sys_renameat2"] == functions["panic"] == 0
    assert {name.split("/")[0] for name in files} == {"boot", "kernel", "lib"}


def test_lines(files: dict[str, File]) -> None:
    """As the functions that they are of."""
    for name, function, reached in (
        ("kernel/syscall/path.c", "sys_renameat2", False),
        ("kernel/syscall/path.c", "sys_mkdirat", True),
        ("kernel/syscall/file.c", "sys_pipe2", True),
        ("lib/string.S", "memcpy", True),
    ):
        file = files[name]
        assert bool(file.lines[file.begins[function]]) == reached, function
        assert (function in file.never_entered()) != reached, function


def test_lcov(files: dict[str, File]) -> None:
    """As its manual has it; its sums are right."""
    text = covered.lcov([*files.values()], "/root")
    assert LCOV.fullmatch(text)
    for record in text.split("end_of_record\n")[:-1]:
        for kind, all, reached in (("DA", "LF", "LH"), ("FNDA", "FNF", "FNH")):
            counts = re.findall(rf"^{kind}:(.*)$", record, re.MULTILINE)
            times = [int(c.split(",")[kind == "DA"]) for c in counts]
            assert f"\n{all}:{len(times)}\n" in record
            assert f"\n{reached}:{sum(map(bool, times))}\n" in record


def test_page(boots: Boots, files: dict[str, File]) -> None:
    """It shows a line that is never reached, and none that is."""
    texts = {name: (ROOT / name).read_text().splitlines() for name in files}
    page = covered.page([*files.values()], boots, texts)
    for file in files.values():
        shown = page.partition(f'<h2 id="{file.name}">')[2].partition("</pre>")[0]
        numbers = re.findall(r"^ *(\d+)  ", shown, re.MULTILINE)
        assert [int(n) for n in numbers] == file.unreached()
    never = re.findall("<p>Functions never entered: (.*)</p>", page)
    assert "sys_renameat2" in ", ".join(never).split(", ")
    assert "sys_mkdirat" not in ", ".join(never).split(", ")
