"""scripts/run with a real guest: what its manual promises."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path

import pytest

from harness import elves
from harness.console import Console
from harness.guest import Guest, Images
from harness.kernel_image import KernelImage
from tally import ROOT
from tally.boot.lastwords import with_lines
from tally.build import image

RUN = str(ROOT / "scripts" / "run")
EXTRA = Path(__file__).parent / "extra"
QUICK = ["--icount", "6", "--timeout", "300"]

pytestmark = pytest.mark.usefixtures("images")  # built once, not in a test


def run(command: str, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [RUN, *QUICK, *options, "--", command],
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )


# --- Output and status -------------------------------------------------------


def test_hello() -> None:
    result = run("echo hello; exit 3")
    assert (result.stdout, result.stderr) == (b"hello\n", b"")
    assert result.returncode == 3


def test_every_byte_comes_through(tmp_path: Path) -> None:
    data = bytes(range(256)) + b"\x10\x10\x10o\x10e\x10k\x10P\x10L\r\n\n" * 3
    data += random.Random(2).randbytes(100_000) + b"\x10"
    (tmp_path / "data").write_bytes(data)
    result = run("cat /extra/data; cat /extra/data >&2", "--extra", str(tmp_path))
    assert result.stdout == data
    assert result.stderr == data
    assert result.returncode == 0


def test_what_is_for_scripts_is_not_shown() -> None:
    result = run("echo recording >/dev/hostdata; echo shown")
    assert (result.stdout, result.stderr) == (b"shown\n", b"")


def test_words_are_joined() -> None:
    """By spaces, and with bytes that are no letters, as they are."""
    result = subprocess.run(
        [RUN, *QUICK, "--", "echo", "a", b"b\xff", "|", "cat"], capture_output=True
    )
    assert (result.stdout, result.stderr) == (b"a b\xff\n", b"")


@pytest.mark.parametrize("status", [0, 1, 124, 125, 126, 127, 255])
def test_status_is_the_commands(tmp_path: Path, status: int) -> None:
    report = tmp_path / "report.json"
    result = run(f"exit {status}", "--report", str(report))
    assert (result.returncode, result.stderr) == (status, b"")
    assert json.loads(report.read_text()) == {"status": status, "reason": "exit"}


def test_no_input() -> None:
    assert run("cat; echo end").stdout == b"end\n"


def test_verbose_shows_the_boot() -> None:
    result = run("echo out; echo err >&2", "-v")
    assert result.stdout == b"out\n"
    for text in (b"-machine virt", b"OpenSBI v", b"Tally on 4 harts", b"err\n"):
        assert text in result.stderr


# --- Other ends --------------------------------------------------------------


def test_limit() -> None:
    result = run("echo before; sleep 1000", "--limit", "2")
    assert (result.stdout, result.returncode) == (b"before\n", 124)
    for hart in range(4):
        assert f"hart {hart}: ".encode() in result.stderr
    assert result.stderr.splitlines()[-1] == b"run: the limit of 2 s of virtual time is reached"
    again = run("echo before; sleep 1000", "--limit", "2")
    assert again.stderr == result.stderr


def test_limit_is_not_reached() -> None:
    result = run("sleep 1", "--limit", "5")
    assert (result.stderr, result.returncode) == (b"", 0)


def test_timeout() -> None:
    result = run("while :; do :; done", "--timeout", "3")
    assert result.returncode == 124
    assert result.stderr == b"run: the machine was stopped, still running after 3 s\n"


def test_panic() -> None:
    result = run("echo before; echo panic on purpose >/dev/ktest")
    assert (result.stdout, result.returncode) == (b"before\n", 125)
    assert b"on purpose" in result.stderr
    # The backtrace, by name and line.
    assert re.search(rb"run_panic\+0x\w+ \(kernel/dev/ktest.c:\d+\)\n", result.stderr)
    assert result.stderr.splitlines()[-1] == b"run: the kernel panicked"


def test_lines_of_last_words(images: Images) -> None:
    """A return address belongs to the line of the call; others to their own. An
    address decides where there is one, as names aren't only of one function."""
    kernel = image.BUILD / "kernel.elf"
    lock = KernelImage(images).symbol("spin_lock")
    text = (
        f"hart 0: {lock:#x} nobody+0x0\nhart 0, process 2\n"
        f"  {lock:#x} spin_lock+0x0\ntaken at nobody+0x4, spin_lock+0x1\n"
    )
    first, _, second, third = with_lines(text.encode(), kernel).decode().splitlines()
    place = re.search(r"nobody\+0x0( \(kernel/sched/lock.c:\d+\))$", first)[1]
    assert "spin_lock+0x0 (" in second and not second.endswith(place)
    assert third == f"taken at nobody+0x4, spin_lock+0x1{place}"
    trap = f"panic: fault, scause 13\nhart 0, process 2\n  {lock:#x} nobody+0x0\n"
    assert f"nobody+0x0{place}\n" in with_lines(trap.encode(), kernel).decode()
    assert with_lines(text.encode(), ROOT / "README.md") == text.encode()


@pytest.mark.parametrize(
    "file, said", [("/dev/console", b"a\x10Pb:panic"), ("/dev/kpctl", b"")]
)
def test_a_panic_cannot_be_forged(file: str, said: bytes) -> None:
    """What a program writes is shown, but it is no mark. A control word with
    such a byte isn't even named."""
    command = f"printf 'a\\020Pb:panic' >{file}; echo after; exit 3"
    result = run(command)
    assert (result.returncode, result.stdout) == (3, b"after\n")
    assert b"panic" not in result.stderr
    shown = run(command, "-v").stderr.split(b"Tally on 4 harts")[1]
    assert (said or b"Invalid argument") in shown


def test_a_restart_cannot_be_forged(guest: Guest, tmp_path: Path) -> None:
    """The firmware's first words are only words, if a program has them."""
    words = guest("true").boot
    assert b"OpenSBI v" in words and b"Tally on 4 harts" in words
    (tmp_path / "boot").write_bytes(words)
    command = "cd /extra; cat boot; cat boot >&2; cat boot >/dev/console; exit 3"
    result = run(command, "--extra", str(tmp_path))
    assert (result.stdout, result.stderr) == (words, words)
    assert result.returncode == 3


def test_the_harness_hears_the_kernel_only(guest: Guest) -> None:
    """Not what a program writes to the console: `guest` would fail."""
    words = "OpenSBI v1\nTally on 9 harts\n"
    result = guest(f"printf '{words}' >/dev/console")
    assert result.console.decode().replace("\r", "") == words


# Instead of a kernel: it says so, and asks the firmware for a cold reboot.
RESTARTS = """
	.globl	_start
_start:	li	a7, 1		# the old console
	li	a0, '!'
	ecall
	li	a7, 0x53525354	# SRST
	li	a6, 0
	li	a0, 1
	li	a1, 0
	ecall
1:	j	1b
"""


@pytest.mark.parametrize("command", [["--", "true"], []], ids=["command", "shell"])
@pytest.mark.parametrize("timeout", [["--timeout", "120"], []], ids=["timeout", ""])
def test_a_restart_is_noticed(
    tmp_path: Path, command: list[str], timeout: list[str]
) -> None:
    """Once, and what was printed before it is all there."""
    source, kernel = tmp_path / "restarts.S", tmp_path / "restarts.elf"
    source.write_text(RESTARTS)
    flags = ["-nostdlib", "-march=rv64imac", "-mabi=lp64"]
    flags.append("-Wl,-N,--no-warn-rwx-segments,-Ttext=0x80200000")
    tool = elves.tool("gcc")
    subprocess.run([tool, *flags, "-o", str(kernel), str(source)], check=True)
    report = tmp_path / "report.json"
    options = ["-v", "--kernel", str(kernel), "--report", str(report), *timeout]
    result = subprocess.run(
        [RUN, *options, *command], capture_output=True, stdin=subprocess.DEVNULL
    )
    said = result.stdout + result.stderr
    assert json.loads(report.read_text()) == {"status": 126, "reason": "machine"}
    assert result.stderr.endswith(b"run: the machine restarted\n")
    assert (result.returncode, said.count(b"OpenSBI v")) == (126, 1)
    assert said.count(b"!") == 1, said


# --- The machine -------------------------------------------------------------


@pytest.mark.machines("1", "2", "4", "8", "free", "no-sstc", "32M", "2G")
def test_machines(guest: Guest) -> None:
    result = guest("echo booted")
    assert (result.stdout, result.status) == (b"booted\n", 0)
    assert f"Tally on {guest.machine.harts} hart".encode() in result.boot


@pytest.mark.parametrize("mem", ["1M", "16M", "16800K"])
def test_too_little_memory(mem: str) -> None:
    """What it says would do, does."""
    result = run("echo booted", "--mem", mem)
    said = re.fullmatch(
        rf"run: --mem {mem} is too little: (\d+M) is the least\n", result.stderr.decode()
    )
    assert (result.returncode, bool(said)) == (126, True), result.stderr
    enough = run("echo booted", "--mem", said[1])
    assert (enough.stdout, enough.returncode) == (b"booted\n", 0)


def test_enough_memory() -> None:
    """tally-run(1): "24M are enough to boot", on any number of harts."""
    (mem,) = re.findall(r"^(\d+M) are enough", (ROOT / "man/tally-run.1").read_text(), re.M)
    result = run("echo booted", "--mem", mem, "--harts", "16")
    assert (result.stdout, result.stderr) == (b"booted\n", b"")


def test_a_kernel_of_ones_own(tmp_path: Path) -> None:
    """With the names of its own functions, as panics and profiles show them."""
    kernel = tmp_path / "kernel.elf"
    renamed = ["--redefine-sym", "sys_uname=my_uname", image.BUILD / "kernel.elf"]
    subprocess.run([elves.tool("objcopy"), *renamed, kernel], check=True)
    words = "grep -c my_uname /boot/symbols; grep -c sys_uname /boot/symbols"
    result = run(words, "--kernel", str(kernel))
    assert (result.stdout, result.stderr) == (b"1\n0\n", b"")


def test_two_at_once() -> None:
    processes = [
        subprocess.Popen([RUN, *QUICK, "--", f"echo {i}"], stdout=subprocess.PIPE)
        for i in range(3)
    ]
    outputs = [process.communicate()[0] for process in processes]
    assert outputs == [b"0\n", b"1\n", b"2\n"]
    assert [process.returncode for process in processes] == [0, 0, 0]


@pytest.mark.machines("4", "8")
def test_same_twice(guest: Guest) -> None:
    command = "ps; date; free; sort /etc/command | wc; sleep 1; ls -l /bin | tail"
    first, second = guest(command), guest(command)
    assert (first.boot, first.stdout) == (second.boot, second.stdout)


# --- Programs of the user's own ----------------------------------------------


def test_extra() -> None:
    result = run("two a b; echo $?; single; cat /extra/note.txt", "--extra", str(EXTRA))
    assert result.stdout == b"two 3 21\n5\nsingle\na file of the user\n"
    assert (result.stderr, result.returncode) == (b"", 0)


def test_extra_that_does_not_compile(tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text("int main(void) { return nonsense; }\n")
    result = run("bad", "--extra", str(tmp_path))
    assert (result.stdout, result.returncode) == (b"", 126)
    assert b"nonsense" in result.stderr
    assert result.stderr.splitlines()[-1] == b"run: the build failed"


# --- A shell, and the harness ------------------------------------------------


def test_interactive(console: Console) -> None:
    assert "Tally on 4 harts" in console.boot
    assert console.run("echo hello") == "hello"
    assert console.poweroff("poweroff 5") == 5


def test_batch(guest: Guest) -> None:
    """Each command's own, whatever it prints."""
    commands = ["echo one", "printf 'no newline'; echo e >&2; exit 3", "false"]
    commands += ["echo '<tally-batch 7>'; echo '<tally-batch end>'"]
    results = guest.batch(commands)
    assert [(r.out, r.err, r.status) for r in results] == [
        ("one\n", "", 0),
        ("no newline", "e\n", 3),
        ("", "", 1),
        ("<tally-batch 7>\n<tally-batch end>\n", "", 0),
    ]


def test_a_batch_loses_only_what_hangs(guest: Guest) -> None:
    commands = ["echo one", "echo begun; sleep 1000", "echo three", "poweroff"]
    first, hung, third, off = guest.batch(commands, limit=2.0)
    assert (first.out, third.out) == ("one\n", "three\n")
    with pytest.raises(AssertionError, match="(?s)sleep 1000.*limit.*stdout\nbegun\n"):
        assert hung.out
    with pytest.raises(AssertionError, match="poweroff.*'exit'"):
        assert off.err


def test_a_batch_gives_up(guest: Guest) -> None:
    """Where nothing works there isn't a boot for each command."""
    results = guest.batch(["poweroff"] * 5)
    for result in results[:3]:
        with pytest.raises(AssertionError, match="'exit'"):
            assert result.out
    for result in results[3:]:
        with pytest.raises(AssertionError, match="^not run"):
            assert result.out


def test_a_panic_is_noticed(guest: Guest) -> None:
    with pytest.raises(AssertionError, match="the kernel panicked"):
        guest("echo panic >/dev/ktest")


def test_a_limit_is_noticed(guest: Guest, images: Images) -> None:
    with pytest.raises(AssertionError, match="limit"):
        guest("sleep 100", limit=1.0)
