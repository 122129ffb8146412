"""The debug build, DEBUG=1: each of its checks finds what it is for.

/dev/ktest has words there that do what must not be. A part of the other tests
runs on that kernel here; `make test DEBUG=1` runs them all.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from harness.checks import failures
from harness.guest import STRICT, Guest
from tally import ROOT
from tally.build import image
from tally.verify import guests
from tally.verify.machines import ALL

TESTS = Path(__file__).parent

#: What /dev/ktest is told, and how the panic's message begins.
WORDS = {
    "lockorder": "lock order: ktest first wanted at lockorder+",
    "locklevel": "lock level: spinlock ktest first is of level 1",
    "locktwice": "two locks of the same name: ktest twin",
    "mutexunderspin": "sleep under a spinlock: mutex ktest wanted",
    "spinnotheld": "spinnotheld called without its lock: ktest first, last taken at "
    "spinnotheld",
    "mutexnotheld": "mutexnotheld called without its lock: mutex ktest, which nobody holds",
    "useafterfree": "written after free: 0x",
    "useafterpagefree": "written after free: 0x",
    "notzero": "freed as zeroed, but not zero: 0x100000000000000 at byte 4088 of page 0x",
    "overrun": "written past the end: at offset 64 of the 64 bytes at 0x",
    "returnlocked": "system call 64 returns with ktest first held, taken at check_word+",
    "samplerlock": "the sampler must not lock: ktest first wanted at count_locks+",
    "samplerprint": "the sampler must not lock: ",
    "sampleruser": "load page fault: copy_in or copy_out at a raised level, scause 13",
    "overflow-int": "undefined behaviour: addition overflows at kernel/dev/",
    "overflow-index": "undefined behaviour: index out of bounds at kernel/dev/",
}

#: Guest programs that share a boot: those that take many locks, and much memory; with
#: --all each that runs on four harts.
PROGRAMS = [["files", "processes", "signals", "threads"]]
if ALL:
    PROGRAMS = [[p] for p in guests.PROGRAMS if "4" in guests.machines_of(p).all]


def run(command: str, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["scripts/run", *options, "--timeout", "300", "--", command],
        cwd=ROOT,
        env={**os.environ, "DEBUG": "1"},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """Without a warning."""
    command = ["make", "-s", f"-j{os.cpu_count()}", "DEBUG=1", STRICT]
    with image.build_lock():
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("word", WORDS)
def test_check(word: str) -> None:
    result = run(f"echo {word} >/dev/ktest", "--icount", "6")
    assert result.returncode == 125, result.stderr
    assert f"panic: {WORDS[word]}" in result.stderr


def test_lock_order_names_both_orders() -> None:
    lines = run("echo lockorder >/dev/ktest", "--icount", "6").stderr.splitlines()
    (at,) = [i for i, line in enumerate(lines) if "panic: " in line]
    assert "with ktest second held, taken at lockorder+" in lines[at]
    assert "but earlier ktest first was taken at lockorder+" in lines[at + 1]
    assert "then ktest second at lockorder+" in lines[at + 1]


#: Words of both builds that the debug build knows more about.
MORE = {
    "sleeplock": r"sleep under a spinlock: ktest kept, taken at run_sleeplock\+\S+",
    "freetwice": r"freed twice: 0x\w+, allocated at run_freetwice\+(\S+ ){3}at "
    r"run_freetwice\+(\S+ ){3}at run_freetwice\+\S+",
    "useafterfree": r"written after free: 0x\w+, 32 bytes into the block at 0x\w+, "
    r"allocated at useafterfree\+(\S+ ){3}at useafterfree\+\S+",
}


@pytest.mark.parametrize("word", MORE)
def test_it_names_the_places(word: str) -> None:
    result = run(f"echo {word} >/dev/ktest", "--icount", "6")
    assert result.returncode == 125, result.stderr
    assert re.search(f"panic: {MORE[word]}", result.stderr), result.stderr


@pytest.mark.skipif(image.DEBUG, reason="there they are")
def test_the_words_are_of_the_debug_build_only(guest: Guest) -> None:
    results = guest.batch(f"echo {word} >/dev/ktest" for word in WORDS)
    assert all("Invalid argument" in result.err for result in results)


@pytest.mark.parametrize("programs", PROGRAMS, ids=" ".join)
def test_guest_programs(programs: list[str]) -> None:
    """With as many instructions from tick to tick as its checks need."""
    result = run(
        "; ".join(f"/bin/{program}; echo ==" for program in programs),
        *("--harts", "4", "--icount", "4", "--extra", str(TESTS / "guest")),
    )
    assert result.returncode == 0, result.stderr
    for program, text in zip(programs, result.stdout.split("==\n")):
        assert failures(text) == [], program


#: What uses each of the profilers.
TOOLS = [
    "tally -n 3 $work",
    "tally -w -k -n 3 $work",
    "getpc -s -o /tmp/pc.out $work; analpc /tmp/pc.out",
    "getpc -m -o /tmp/pc.out $work",
    "prfld; prfstat on; $work; prfstat off",
    "echo start >/dev/kpctl; $work; kprof /boot/kernel /dev/kpdata",
]


def test_tools() -> None:
    """None of what they make the kernel do is undefined."""
    result = run("; ".join(f"{{ {tool}; }} >/tmp/out && echo good" for tool in TOOLS)
                 .replace("$work", "sh -c 'seq 2000 | sort | wc'"),
                 "--harts", "4", "--icount", "6")
    assert result.stdout == "good\n" * len(TOOLS), result.stderr


def test_names_of_ones_own_programs() -> None:
    """They are built once for both kernels; samples have names on this one, too."""
    command = ["scripts/tally", "--harts", "1", "--icount", "6",
               "--extra", "tests/exact", "--", "known 30000"]
    run = subprocess.run(command, cwd=ROOT, env={**os.environ, "DEBUG": "1"},
                         capture_output=True, text=True)
    assert (run.stderr, run.returncode) == ("", 0)
    assert " loop [known]\n" in run.stdout


def test_stress() -> None:
    result = run(f"stress {20 if ALL else 2} 1", "--harts", "8", "--extra", str(TESTS / "hostile"))
    assert (result.returncode, failures(result.stdout)) == (0, []), result.stderr
