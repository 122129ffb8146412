"""scripts/run's own parts, without a guest: a script stands in for QEMU."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Callable, Optional

import pytest

import frames
import image
from harness import checks
from harness.guest import Images
from machine import Machine

RUN = str(image.ROOT / "scripts" / "run")
BANNER = "\\r\\nOpenSBI v0.0\\r\\n" + "=" * 300 + "\\n"

FakeQemu = Callable[[str], Path]


@pytest.fixture
def fake_qemu(
    images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> FakeQemu:
    """fake_qemu(SHELL SCRIPT) is what scripts/run then takes for QEMU."""
    file = tmp_path / "fake-qemu"

    def make(script: str, version: str = "7.2.0") -> Path:
        file.write_text(
            "#!/bin/sh\n"
            f'[ "$1" != --version ] || {{ echo "version {version}"; exit; }}\n'
            f"{script}\n"
        )
        file.chmod(0o755)
        monkeypatch.setenv("QEMU", str(file))
        return file

    return make


def run(*words: str, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [RUN, *words], capture_output=True, stdin=subprocess.DEVNULL, **options
    )


def report_of(tmp_path: Path, *words: str) -> tuple[int, dict]:
    """The status of a run, and its report, which has to agree."""
    file = tmp_path / "report.json"
    result = run("--report", str(file), *words)
    report = json.loads(file.read_text())
    assert report["status"] == result.returncode
    assert result.stderr.splitlines()[-1].startswith(b"run: "), result.stderr
    return result.returncode, report


# --- The serial line ---------------------------------------------------------

LINE = b"boot\x10oout\x10\x10\x10k\x10eerr\xff\x10ook\x10k!\x10Pp\x10ko\x10\x10"
PIECES = [
    (frames.BOOT, b"boot!"),
    (frames.STDOUT, b"out\x10ok"),
    (frames.STDERR, b"err\xff"),
    (frames.PANIC, b"po\x10"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_frames(size: int) -> None:
    line = frames.Frames()
    heard: dict[str, bytes] = {}
    for at in range(0, len(LINE), size):
        for channel, piece in line.feed(LINE[at : at + size]):
            heard[channel] = heard.get(channel, b"") + piece
    assert heard == dict(PIECES)
    assert line.channel == frames.PANIC


def test_frames_unknown_letter_is_shown() -> None:
    assert frames.Frames().feed(b"a\x10?b") == [("boot", b"a"), ("boot", b"?b")]


# --- The initrd --------------------------------------------------------------


def test_archives_join() -> None:
    parts = [image.file_archive(name, name.encode() * 300) for name in "abc"]
    zeros = image.file_archive("z", bytes(2000))
    joined = b"".join(map(image.members, [*parts, zeros])) + parts[0]
    with tarfile.open(fileobj=io.BytesIO(joined)) as tar:
        names = [(member.name, member.size) for member in tar]
    assert names == [("a", 300), ("b", 300), ("c", 300), ("z", 2000), ("a", 300)]


def test_file_archive() -> None:
    with tarfile.open(fileobj=io.BytesIO(image.file_archive("etc/x", b"hi"))) as tar:
        (member,) = tar
        assert (member.name, member.mode, member.mtime) == ("etc/x", 0o644, 0)
        assert tar.extractfile(member).read() == b"hi"


# --- QEMU's command line -----------------------------------------------------


def test_arguments() -> None:
    machine = Machine(harts=2, mem="64M", icount=5, cpu="sstc=off", limit=1.5)
    line = " ".join(machine.arguments("K", "I", framed=True))
    assert line == (
        "-machine virt -m 64M -smp 2 -cpu rv64,sstc=off -icount shift=5,sleep=off"
        " -rtc base=2026-01-01T00:00:00,clock=vm -display none -serial stdio"
        " -monitor none -kernel K -initrd I -append framed icount limit=1500"
    )


def test_arguments_interactive() -> None:
    line = " ".join(Machine().arguments("K", "I", framed=False))
    assert line == "-machine virt -m 256M -smp 4 -nographic -kernel K -initrd I"


# --- How it ends -------------------------------------------------------------


def test_output_and_status(fake_qemu: FakeQemu) -> None:
    fake_qemu(
        f"printf '{BANNER}\\020oout\\020\\020\\020eerr\\020kboot\\n'\n"
        "echo a warning >&2\n"
        "exit 7"
    )
    result = run("--", "x")
    assert (result.stdout, result.stderr) == (b"out\x10", b"err")
    assert result.returncode == 7


@pytest.mark.parametrize(
    "script, status, reason",
    [
        (f"printf '{BANNER}\\020Poh no\\n'; exit 1", 125, "panic"),
        (f"printf '{BANNER}\\020Ltoo long\\n'; exit 1", 124, "limit"),
        (f"printf '{BANNER}'; kill -9 $$", 126, "machine"),
        (f"printf '{BANNER}{BANNER}'; exit 0", 126, "machine"),
        (f"printf '{BANNER}'; echo terminating on signal 15 >&2", 126, "machine"),
        ("echo bad option >&2; exit 1", 126, "machine"),
        ("exit 0", 126, "machine"),
    ],
)
def test_ends(
    fake_qemu: FakeQemu, tmp_path: Path, script: str, status: int, reason: str
) -> None:
    fake_qemu(script)
    assert report_of(tmp_path, "--", "x") == (
        status,
        {"status": status, "reason": reason},
    )


@pytest.mark.parametrize("noise", ["", "while :; do echo chatter; done"])
def test_timeout(fake_qemu: FakeQemu, tmp_path: Path, noise: str) -> None:
    fake_qemu(f"printf '{BANNER}'; {noise}\nexec sleep 1000")
    started = time.monotonic()
    status, report = report_of(tmp_path, "--timeout", "0.5", "--", "x")
    assert (status, report["reason"]) == (124, "timeout")
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    "words",
    [
        ["--harts", "0"],
        ["--harts", "x"],
        ["--limit", "-1"],
        ["--limit"],
        ["--frob"],
        ["word"],
        ["--"],
    ],
)
def test_usage(tmp_path: Path, words: list[str]) -> None:
    status, report = report_of(tmp_path, *words)
    assert (status, report["reason"]) == (126, "usage")


def test_no_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QEMU", "/nonexistent")
    status, report = report_of(tmp_path, "--", "true")
    assert (status, report["reason"]) == (126, "setup")


def test_old_qemu(fake_qemu: FakeQemu, tmp_path: Path) -> None:
    fake_qemu("exit 0", version="6.2.0")
    status, report = report_of(tmp_path, "--", "true")
    assert (status, report["reason"]) == (126, "setup")


def test_no_such_kernel(fake_qemu: FakeQemu, tmp_path: Path) -> None:
    fake_qemu("exit 0")
    status, report = report_of(tmp_path, "--kernel", "/nonexistent", "--", "true")
    assert (status, report["reason"]) == (126, "setup")


def test_no_such_extra(fake_qemu: FakeQemu, tmp_path: Path) -> None:
    fake_qemu("exit 0")
    status, report = report_of(tmp_path, "--extra", "/nonexistent", "--", "true")
    assert (status, report["reason"]) == (126, "build")


def test_report_cannot_be_written(fake_qemu: FakeQemu) -> None:
    fake_qemu(f"printf '{BANNER}'; exit 0")
    result = run("--report", "/nonexistent/report", "--", "x")
    assert result.returncode == 126
    assert b"run: no report" in result.stderr


# --- Who goes away first -----------------------------------------------------


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_for(condition: Callable[[], Optional[object]]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopped_by_signal(
    fake_qemu: FakeQemu, tmp_path: Path, number: signal.Signals
) -> None:
    pid_file, report = tmp_path / "pid", tmp_path / "report.json"
    fake_qemu(f"echo $$ >{pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 1000")
    process = subprocess.Popen([RUN, "--report", report, "--", "x"])
    wait_for(pid_file.exists)
    process.send_signal(number)
    assert process.wait(30) == 128 + number
    wait_for(lambda: gone(int(pid_file.read_text())))
    assert json.loads(report.read_text())["reason"] == "signal"


def test_reader_gone(fake_qemu: FakeQemu) -> None:
    fake_qemu(f"printf '{BANNER}\\020o'; exec yes")
    with subprocess.Popen([RUN, "--", "x"], stdout=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(30) == 128 + signal.SIGPIPE


def test_no_room_for_output(fake_qemu: FakeQemu) -> None:
    fake_qemu(f"printf '{BANNER}\\020ohello'; sleep 1; exit 0")
    with open("/dev/full", "wb") as full:
        result = subprocess.run([RUN, "--", "x"], stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 126
    assert result.stderr == b"run: output: No space left on device\n"


# --- The harness itself ------------------------------------------------------


@pytest.mark.parametrize(
    "output, count",
    [
        ("ok one\nok two words\ndone 2\n", 0),
        ("ok one\nnot ok two: why\ndone 2\n", 1),
        ("ok one\ndone 2\n", 1),
        ("ok one\n", 1),
        ("", 1),
        ("done 0\n", 1),
        ("ok one\nwhat is this\ndone 1\n", 1),
    ],
)
def test_check_lines(output: str, count: int) -> None:
    assert len(checks.failures(output)) == count
