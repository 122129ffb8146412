"""`make gdb`: on a machine that waits, and where something is missing."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tally import ROOT
from tally.boot.machine import free_port
from tally.verify.patience import WHOLE

pytestmark = pytest.mark.usefixtures("images")  # what is debugged is built


def make_gdb(*words: str, typed: str = "") -> subprocess.CompletedProcess:
    return subprocess.run(
        ["make", "-C", str(ROOT), "gdb", *words],
        input=typed, capture_output=True, text=True, timeout=WHOLE,
    )


def knows_riscv(gdb: str) -> bool:
    words = [gdb, "-batch", "-nx", "-ex", "set architecture riscv:rv64"]
    return subprocess.run(words, capture_output=True).returncode == 0


def fitting_gdb() -> str:
    for name in ("gdb-multiarch", "riscv64-unknown-elf-gdb", "gdb"):
        if shutil.which(name) and knows_riscv(name):
            return name
    pytest.fail("no gdb for RISC-V: scripts/setup installs gdb-multiarch")


def test_without_gdb() -> None:
    result = make_gdb("GDB=no-such-gdb")
    assert "no no-such-gdb: install gdb-multiarch, or set GDB to gdb's name" in result.stderr
    assert result.returncode == 2


def test_without_a_kernel() -> None:
    result = make_gdb("GDB=sh", "BUILD=/nothing")
    text = "no /nothing/kernel.elf to debug: first `make qemu-gdb' in another terminal"
    assert text in result.stderr
    assert result.returncode == 2


def test_with_another_machines_gdb() -> None:
    if not shutil.which("gdb") or knows_riscv("gdb"):
        pytest.skip("no gdb for this machine only")
    result = make_gdb("GDB=gdb")
    hint = "this gdb is for other machines; install gdb-multiarch, or set GDB to gdb's name"
    first, second = result.stderr.splitlines()
    assert first == f'make gdb: Undefined item: "riscv:rv64": {hint}'
    assert second.endswith("Error 126")


def test_where_no_machine_waits() -> None:
    """gdb ends: its prompt would be of no use."""
    result = make_gdb(f"GDB={fitting_gdb()}", f"GDB_PORT={free_port()}")
    first, second = result.stderr.splitlines()
    assert first.startswith("make gdb: localhost:")
    assert first.endswith(
        "no machine waits there; first `make qemu-gdb' in another terminal,"
        " with the same GDB_PORT="
    )
    assert second.endswith("Error 126")


def session(command: str, typed: str) -> tuple[str, bytes, int]:
    """What gdb shows for what is typed, the command's output, and the status."""
    gdb, port = fitting_gdb(), free_port()
    waiting = subprocess.Popen(
        [str(ROOT / "scripts" / "run"), "--harts", "1", "--timeout", "110",
         "--gdb", str(port), "--", command],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )
    while True:  # until it waits, or has ended
        result = make_gdb(f"GDB={gdb}", f"GDB_PORT={port}", typed=typed)
        if "no machine waits" not in result.stderr or waiting.poll() is not None:
            break
    out, _ = waiting.communicate(timeout=WHOLE)
    return result.stdout + result.stderr, out, waiting.returncode


def test_a_session() -> None:
    """README's, of the kernel and of a program."""
    typed = "break sample\ncontinue\nprint *s\ndelete\n"
    typed += "program sh\nubreak main\ncontinue\nbacktrace\ndelete\ncontinue\n"
    shown, out, status = session("echo hello", typed)
    assert "mode = SAMPLE_" in shown
    assert "main (argc=3" in shown
    assert (out, status) == (b"hello\n", 0)


def test_break_panic() -> None:
    """A trap that ends the machine stops there, too, and says what it was."""
    typed = "break panic\ncontinue\nbacktrace\ncontinue\n"
    shown, _, status = session("echo fault >/dev/ktest", typed)
    assert "Breakpoint 1, panic (" in shown
    assert "load page fault: a NULL pointer" in shown
    assert status == 125
