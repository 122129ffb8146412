"""Programs made for Linux, as they are: each of tests/linux is compiled for
riscv64 Linux, statically with its C library, and for this machine. The first
runs in the guest, the second here, and both must do the same: output, errors
and status. So they print nothing that depends on the machine.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest

from harness.guest import Guest, Images, Result
from harness.tools import tool
from tally import ROOT
from tally.verify.machines import MACHINES
from tally.verify.patience import HANG

FOLDER = Path(__file__).parent / "linux"
PROGRAMS = sorted(file.stem for file in FOLDER.glob("*.c"))
CROSS = "riscv64-linux-gnu-gcc"
FLAGS = "-std=gnu11 -O1 -g -Wall -Wextra -D_GNU_SOURCE -pthread".split()

# Programs of which threads or processes do something at once run on all of
# these; the others on four harts.
EVERYWHERE = ("1", "4", "free")
TABLE: dict[str, tuple[str, ...]] = {
    "files_locks": EVERYWHERE,
    "signals": EVERYWHERE,
    "statuses": EVERYWHERE,
    "timers": EVERYWHERE,
    "pthreads": EVERYWHERE,
    "spawn": EVERYWHERE,
    "vfork": EVERYWHERE,
}
PROMISED = re.compile(r'\bPROMISE\(\s*((?:"[^"]*"\s*)+)\)')
PROMISES = [
    (name, "".join(re.findall(r'"([^"]*)"', words)))
    for name in PROGRAMS
    for words in PROMISED.findall((FOLDER / f"{name}.c").read_text())
]
CASES = [(p, machine) for p in PROGRAMS for machine in TABLE.get(p, ("4",))]


def compile_all(compiler: str, folder: Path, *flags: str) -> Path:
    for source in (FOLDER / f"{name}.c" for name in PROGRAMS):
        program = str(folder / source.stem)
        command = [tool(compiler), *FLAGS, *flags, "-o", program, str(source)]
        said = subprocess.run(command, capture_output=True, text=True)
        assert (said.stderr, said.returncode) == ("", 0)
    return folder


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs for this machine."""
    return compile_all("gcc", tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs for riscv64 Linux."""
    return compile_all(CROSS, tmp_path_factory.mktemp("theirs"), "-static", "-s")


@pytest.fixture(scope="module")
def results(images: Images, theirs: Path) -> dict[tuple[str, str], Result]:
    """What each program does in the guest: one boot for each machine."""
    found = {}
    for machine in sorted({machine for _, machine in CASES}):
        programs = [p for p, on in CASES if on == machine]
        commands = [f"cd /tmp && exec /extra/{p}" for p in programs]
        guest = Guest(images, MACHINES[machine])
        for program, result in zip(programs, guest.batch(commands, extra=theirs)):
            found[program, machine] = result
    return found


@pytest.fixture(scope="module")
def linux(
    ours: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], subprocess.CompletedProcess]:
    """What a program does here; it runs once."""

    @functools.cache
    def run(program: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [str(ours / program)],
            cwd=tmp_path_factory.mktemp(program),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG,
        )

    return run


@pytest.mark.parametrize("program, name", CASES)
def test_does_what_linux_does(
    results: dict[tuple[str, str], Result],
    linux: Callable[[str], subprocess.CompletedProcess],
    program: str,
    name: str,
) -> None:
    here, there = linux(program), results[program, name]
    # A shell adds 128 to the signal that ended a program.
    status = here.returncode if here.returncode >= 0 else 128 - here.returncode
    assert (there.out, there.err, there.status) == (here.stdout, here.stderr, status)


def kept(output: str, promise: str) -> str:
    """What a program has printed of it."""
    found = re.search(rf"^# {re.escape(promise)}\n((?:(?!# ).*\n?)*)", output, re.M)
    assert found, f"it wasn't tried: {promise}"
    return found[1]


@pytest.mark.parametrize("program, promise", PROMISES)
def test_keeps_the_promise(
    results: dict[tuple[str, str], Result],
    linux: Callable[[str], subprocess.CompletedProcess],
    program: str,
    promise: str,
) -> None:
    """One of Linux's manual, on each machine."""
    here = kept(linux(program).stdout, promise)
    for name in TABLE.get(program, ("4",)):
        assert (name, kept(results[program, name].out, promise)) == (name, here)


def test_the_table_names_programs() -> None:
    assert set(TABLE) <= set(PROGRAMS)


@pytest.mark.skipif(not shutil.which("go"), reason="no Go")
def test_go(images: Images, tmp_path: Path) -> None:
    """Its runtime makes all system calls itself."""
    settings = {"GO111MODULE": "off", "CGO_ENABLED": "0",
                "GOCACHE": str(tmp_path / "cache")}
    for folder, target in (("here", {}), ("there", {"GOARCH": "riscv64"})):
        command = ["go", "build", "-o", tmp_path / folder / "goroutines",
                   FOLDER / "goroutines.go"]
        subprocess.run(command, env={**os.environ, **settings, **target}, check=True)
    here = subprocess.run(
        [tmp_path / "here" / "goroutines"], capture_output=True, text=True
    )
    there = Guest(images, MACHINES["4"])("/extra/goroutines", extra=tmp_path / "there")
    assert (there.out, there.err, there.status) == (
        here.stdout, here.stderr, here.returncode)


LISTED = re.compile(r"^SYSCALL\(\d+, (\w+)\)", re.M)
ROW = re.compile(r"^\| (`[a-z].*?) \| (.*?) \| (?:(.*) )?\|$", re.M)
FLAG = re.compile(r"\b_*[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
#: Flags that docs/linux.md names only to say that they are refused, or not heeded.
REFUSED = {"MADV_DONTFORK", "MREMAP_DONTUNMAP", "O_DIRECT", "O_TMPFILE", "P_PIDFD",
           "RENAME_WHITEOUT", "SA_EXPOSE_TAGBITS", "SA_RESTORER", "SEEK_DATA",
           "SEEK_HOLE", "SS_AUTODISARM"}
#: Those with which the C library's pthread_create makes a thread, and without which
#: no clone does.
OF_THREADS = {"CLONE_FS", "CLONE_FILES", "CLONE_SIGHAND", "CLONE_THREAD"}


def rows() -> list[tuple[list[str], str, str]]:
    """docs/linux.md's: the calls, what is there of them, and what else is said."""
    text = (ROOT / "docs" / "linux.md").read_text()
    return [(re.findall(r"`(\w+)`", calls), state, said)
            for calls, state, said in ROW.findall(text)]


def test_each_call_has_its_row() -> None:
    """docs/linux.md: each call that is there stands in a table, once."""
    listed = LISTED.findall((ROOT / "include" / "sys" / "syscalls.h").read_text())
    told = [call for calls, _, _ in rows() for call in calls]
    assert sorted(told) == sorted(name.removeprefix("linux_") for name in listed)


def test_what_is_part_says_which() -> None:
    for calls, state, said in rows():
        assert state in ("done", "part"), calls
        assert state == "done" or said, calls


def test_each_flag_is_tried() -> None:
    """docs/linux.md: each flag that its tables name is in one of the programs."""
    programs = "".join(f.read_text() for f in FOLDER.iterdir())
    named = {flag for _, _, said in rows() for flag in FLAG.findall(said)}
    named -= {"CMP_REQUEUE", "WAKE_OP"}  # futex's, without their FUTEX_
    untried = {flag for flag in named if not re.search(rf"\b{flag}\b", programs)}
    assert untried <= REFUSED | OF_THREADS
    assert REFUSED <= named and "pthread_create" in programs
