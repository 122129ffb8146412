"""scripts/setup: what is missing, and for what."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness import elves, lesser
from tally import ROOT

SETUP = str(ROOT / "scripts" / "setup")
GCC = "a RISC-V GCC (riscv64-unknown-elf-gcc)"
LINUX = ("a compiler for RISC-V Linux (riscv64-linux-gnu-gcc),"
         " its C library")
QEMU = "QEMU 7.2 or newer (qemu-system-riscv64)"
GOALS = ("build", "check", "convert", "run", "test")


def complaints(environment: dict[str, str], *goals: str) -> str:
    """What `setup -c` says is missing; nothing if nothing is."""
    result = subprocess.run(
        [SETUP, "-c", *goals], env=environment, capture_output=True, text=True
    )
    if result.returncode == 0:
        assert (result.stdout, result.stderr) == ("", "")
        return ""
    assert (result.returncode, result.stdout) == (126, "")
    (line,) = result.stderr.splitlines()
    begin, end = "setup: missing: ", " (scripts/setup installs it)"
    assert line.startswith(begin) and line.endswith(end), line
    return line[len(begin) : -len(end)]


@pytest.mark.parametrize("lacking, missing, needing", [
    (["cc"], "a C compiler for this machine (cc), the C library's headers", "test"),
    (["qemu-system-riscv64"], QEMU, "run test"),
    (["make"], "GNU make", "build check run test"),
    (["mandoc"], "mandoc", "build check run test"),
    (["clang", "shellcheck"], "clang, shellcheck", "check"),
])
def test_each_goal_needs_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    lacking: list[str], missing: str, needing: str,
) -> None:
    for name in ("QEMU", "CROSS", "PICOLIBC"):
        monkeypatch.delenv(name, raising=False)
    environment = lesser.without(tmp_path, *lacking)
    said = {goal: complaints(environment, goal) for goal in GOALS}
    assert said == {g: missing if g in needing.split() else "" for g in GOALS}


def test_without_a_compiler_for_riscv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests also want one that makes Linux's programs; to build, any will do."""
    monkeypatch.delenv("CROSS", raising=False)
    environment = lesser.without(tmp_path, *[p + "gcc" for p in elves.PREFIXES])
    said = {goal: complaints(environment, goal) for goal in GOALS}
    also = {"build": GCC, "check": GCC, "run": GCC, "test": f"{GCC}, {LINUX}"}
    assert said == {g: also.get(g, "") for g in GOALS}


@pytest.mark.parametrize("module, needing", [
    ("elftools", "convert test"), ("pytest", "test"), ("pexpect", "test"),
    ("xdist", "test"),
])
def test_each_module_of_python(tmp_path: Path, module: str, needing: str) -> None:
    environment = lesser.without(tmp_path, modules=[module])
    said = {goal: complaints(environment, goal) for goal in GOALS}
    wanted = f"Python's {module}"
    assert said == {g: wanted if g in needing.split() else "" for g in GOALS}


def test_each_thing_once(tmp_path: Path) -> None:
    environment = lesser.without(tmp_path, "make", "cc")
    said = complaints(environment, *GOALS)
    assert said == "GNU make, a C compiler for this machine (cc), the C library's headers"


@pytest.mark.parametrize("name, value, lacks", [
    ("CROSS", "nothing-", "nothing-gcc"), ("QEMU", "/nothing", "/nothing"),
])
def test_variables_name_what_must_be_there(name: str, value: str, lacks: str) -> None:
    result = subprocess.run(
        ["env", f"{name}={value}", SETUP, "-c"], capture_output=True, text=True
    )
    said = f"setup: {name}={value} in the environment: there is no {lacks}\n"
    assert (result.returncode, result.stderr) == (126, said)


def test_where_nothing_can_be_installed(tmp_path: Path) -> None:
    """It says what is to be installed, and how Debian calls it."""
    result = subprocess.run(
        [SETUP, "build"], env=lesser.without(tmp_path, "make", "mandoc", "apt-get"),
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )
    assert (result.returncode, result.stdout, result.stderr) == (
        126, "", "setup: missing: GNU make, mandoc. Install these first"
        " (Debian packages: make mandoc), or use the Dockerfile.\n",
    )


@pytest.mark.parametrize("words", [["-x"], ["-c", "all"], ["everything"], [""]])
def test_usage(words: list[str]) -> None:
    result = subprocess.run([SETUP, *words], capture_output=True, text=True)
    goals = "build | run | convert | exact | labs | test | check | bare"
    usage = f"setup: usage: setup [-c | -y] [{goals}]...\n"
    assert (result.returncode, result.stderr) == (126, usage)
