"""scripts/run's own parts, without a guest: a script stands in for QEMU."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Callable

import pytest

from harness import checks
from harness.guest import Images
from tally import ROOT
from tally.boot import frames
from tally.boot.machine import Boot, Machine, memory_bytes, qemu_version
from tally.build import image
from tally.verify.patience import HANG, wait_for

RUN = str(ROOT / "scripts" / "run")
TALLY = str(ROOT / "scripts" / "tally")
BANNER = "\\r\\nOpenSBI v0.0\\r\\n"

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

LINE = b"boot\x10oout\x10\x10\x10k\x10eerr\xff\x10ook\x10k!\x10cshown\x10k"
LINE += b"\x10Pp\x10ko\x10\x10"
PIECES = [
    (frames.BOOT, b"boot!"),
    (frames.CONSOLE, b"shown"),
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


def test_archives_join(tmp_path: Path) -> None:
    """And what is held is as the file was, when it is another one already."""
    a, b, c = (image.member(name, name.encode() * 300) for name in "abc")
    zeros = image.member("z", bytes(2000))
    file = tmp_path / "a"
    file.write_bytes(a + image.END)
    archive = image.Archive(open(file, "rb"), b).add(c, zeros, a)
    file.unlink()
    with image.held(archive, "joined") as fd:
        joined = Path(f"/proc/self/fd/{fd}").read_bytes()
    assert joined.endswith(image.END) and len(joined) == archive.size
    with tarfile.open(fileobj=io.BytesIO(joined)) as tar:
        names = [(member.name, member.size) for member in tar]
    assert names == [("a", 300), ("b", 300), ("c", 300), ("z", 2000), ("a", 300)]


def test_an_archive_of_the_build_can_grow(images: Images) -> None:
    """What is added comes right behind what is there, so that a reader finds it."""
    archive = (image.BUILD / "initrd.tar").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        last = tar.getmembers()[-1]
    end = last.offset_data + -(-last.size // 512) * 512
    assert archive[end:] == image.END


def test_a_member() -> None:
    archive = image.member("etc/x", b"hi") + image.END
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        (member,) = tar
        assert (member.name, member.mode, member.mtime) == ("etc/x", 0o644, 0)
        assert tar.extractfile(member).read() == b"hi"


# --- The build ---------------------------------------------------------------


class Listener:
    """Standard error, whose reader tells make what it has read."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def write(self, text: str) -> None:
        self.file.write_text(text)


def test_a_build_that_takes_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While make runs: this one ends when it has been."""
    told, make = tmp_path / "told", tmp_path / "make"
    make.write_text(f"#!/bin/sh\nuntil [ -s {told} ]; do :; done\n")
    make.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(image, "PATIENCE", 0.1)
    monkeypatch.setattr("sys.stderr", Listener(told))
    image.make(notice="building\n")
    assert told.read_text() == "building\n"


# --- QEMU's command line -----------------------------------------------------


def test_arguments() -> None:
    machine = Machine(harts=2, mem="64M", icount=5, cpu="sstc=off", limit=1.5)
    line = " ".join(machine.arguments("K", "I", framed=True))
    assert line == (
        "-machine virt -m 64M -smp 2 -cpu rv64,sstc=off -icount shift=5,sleep=off"
        " -rtc base=2026-01-01T00:00:00,clock=vm -display none -no-reboot"
        " -serial stdio -monitor none -kernel K -initrd I -append framed icount limit=0001500"
    )


def test_arguments_interactive() -> None:
    line = " ".join(Machine().arguments("K", "I", framed=False))
    assert line == (
        "-machine virt -m 256M -smp 4 -display none -no-reboot"
        " -serial mon:stdio -kernel K -initrd I"
    )


def test_a_shell_under_icount_waits_in_real_time() -> None:
    """Else one that waits for a key would use a whole processor."""
    assert "shift=5,sleep=on" in Machine(icount=5).arguments("K", "I", framed=False)


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
    status, report = report_of(tmp_path, "--timeout", "0.5", "--", "x")
    assert (status, report["reason"]) == (124, "timeout")


@pytest.mark.parametrize(
    "words",
    [
        ["--harts", "0"],
        ["--harts", "x"],
        ["--limit", "-1"],
        ["--limit"],
        ["--frob"],
        ["--"],
    ],
)
def test_usage(tmp_path: Path, words: list[str]) -> None:
    status, report = report_of(tmp_path, *words)
    assert (status, report["reason"]) == (126, "usage")


OUTSIDE = "{} is not a number from {} to {}"
AMOUNT = "{} is not an amount of memory such as 256M or 1G"
SECONDS = "{} is not a number of seconds above 0, and at most 1000000000"


@pytest.mark.parametrize("words, text", [
    ("--harts 0", "--harts: " + OUTSIDE.format("0", 1, 16)),
    ("--harts 17", "--harts: " + OUTSIDE.format("17", 1, 16)),
    ("--harts banana", "--harts: " + OUTSIDE.format("banana", 1, 16)),
    ("--icount 99", "--icount: " + OUTSIDE.format("99", 0, 10)),
    ("--icount -1", "--icount: " + OUTSIDE.format("-1", 0, 10)),
    ("--gdb 65536", "--gdb: " + OUTSIDE.format("65536", 1, 65535)),
    ("--mem banana", "--mem: " + AMOUNT.format("banana")),
    ("--mem 0", "--mem: " + AMOUNT.format("0")),
    ("--mem 256MB", "--mem: " + AMOUNT.format("256MB")),
    ("--cpu banana", "--cpu: banana is not NAME=VALUE,... such as sstc=off"),
    ("--cpu v=on,c=off", "--cpu: c=off: firmware and kernel need c"),
    ("--limit x", "--limit: " + SECONDS.format("x")),
    ("--timeout 0.0", "--timeout: " + SECONDS.format("0.0")),
    ("--timeout 10000000000", "--timeout: " + SECONDS.format("10000000000")),
    ("--limit 1000000001", "--limit: " + SECONDS.format("1000000001")),
    ("--share /etc/passwd", "--share: /etc/passwd is not a folder"),
    ("--extra /nothing", "--extra: /nothing: there is no such folder"),
    ("--hart 2", "--hart: no such option; did you mean --harts?"),
    ("--memory=1G", "--memory: no such option; did you mean --mem?"),
    ("--smp 2", "--smp: no such option"),
    ("--harts", "--harts: expected one argument"),
])
def test_what_is_wrong_with_an_option(words: str, text: str) -> None:
    result = run(*words.split(), "--", "true")
    said = f"run: {text} (run --help lists the options)\n"
    assert (result.returncode, result.stderr.decode()) == (126, said)


def test_times_at_the_ends(fake_qemu: FakeQemu) -> None:
    """A limit is never none, and the longest time-out is one."""
    assert Machine(limit=1e-7).bootargs(framed=True) == "framed limit=0000001"
    fake_qemu(f"printf '{BANNER}'")
    result = run("--timeout", "1000000000", "--", "true")
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize("name, said", [
    *[(name, "{}: make can't compile a file with that name") for name in (
        "a;b.c", "two words.c", 'x"y.c', "f/a$b.c", "x:y/none.c",
    )],
    *[(name, "neither a file nor a folder: {}") for name in ("fifo.c", "f/fifo")],
])
def test_extra_that_cannot_be_made(
    fake_qemu: FakeQemu, tmp_path: Path, name: str, said: str
) -> None:
    """tally-run(1): names that make takes for something else, and what has no end."""
    fake_qemu("exit 0")
    file = tmp_path / "extra" / name
    file.parent.mkdir(parents=True)
    os.mkfifo(file) if "fifo" in name else file.write_text("int main(void) {}\n")
    result = run("--extra", str(tmp_path / "extra"), "--", "true", timeout=HANG)
    assert result.returncode == 126
    assert result.stderr.decode() == f"run: {said.format(file)}\n"


@pytest.mark.parametrize("text, amount", [
    ("256M", 256 << 20), ("1", 1 << 20), ("0.5g", 1 << 29), ("2048K", 2 << 20),
    ("512b", 512), (".25M", 1 << 18), ("M", 0), ("1MM", 0), ("-1", 0), ("", 0),
])
def test_amounts_of_memory(text: str, amount: int) -> None:
    assert memory_bytes(text) == amount


# An ELF file's header whose segments lie further on than any file goes.
FAR = struct.pack("<4s2B12xH12xQ14x2H", b"\x7fELF", 2, 1, 243, 2**64 - 8, 56, 1) + bytes(40)


def test_what_is_no_kernel(fake_qemu: FakeQemu, images: Images, tmp_path: Path) -> None:
    """QEMU would run any file, for ever."""
    fake_qemu("exit 0")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "far").write_bytes(FAR)
    (tmp_path / "all ones").write_bytes(bytes([255]) * 100)
    kind = "not an ELF file for a 64-bit RISC-V"
    where = "no part of it is at 0x80000000 or above, where the machine's memory is"
    program = str(image.BUILD / "bin" / "sh")
    wanted = {
        "/etc/passwd": f"/etc/passwd is not a kernel: {kind}",
        "/bin/sh": f"/bin/sh is not a kernel: {kind}",
        str(tmp_path / "empty"): f"{tmp_path}/empty is not a kernel: {kind}",
        str(tmp_path / "far"): f"{tmp_path}/far is not a kernel: {kind}",
        str(tmp_path / "all ones"): f"{tmp_path}/all ones is not a kernel: {kind}",
        program: f"{program} is not a kernel: {where}",
        str(tmp_path): f"{tmp_path}: Is a directory",
        "/nothing": "/nothing: No such file or directory",
    }
    for file, text in wanted.items():
        result = run("--kernel", file, "--", "true")
        said = (result.returncode, result.stderr.decode())
        assert said == (126, f"run: {text}\n")


def test_a_port_that_is_taken(fake_qemu: FakeQemu) -> None:
    """With a command, and for a shell at the terminal."""
    fake_qemu("exit 0")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for command in ["--", "true"], []:
            result = run("--gdb", str(port), *command)
            said = f"run: --gdb {port}: Address already in use: is another machine"
            said += " using this port? Choose another port, or stop that machine\n"
            assert (result.returncode, result.stderr.decode()) == (126, said)


@pytest.mark.parametrize("complaint, text", [
    ("warning: x\nqemu-x: a is wrong\nit should be b", "qemu-x: a is wrong"),
    ("qemu-x: cannot set up guest memory 'ram': Cannot allocate memory",
     "--mem 256M is more than this host can allocate"),
    ("qemu-x: -fsdev local: There is no option group 'fsdev'",
     "--share {share}: qemu-x: -fsdev local: There is no option group 'fsdev'"),
])
def test_why_qemu_does_not_start(
    fake_qemu: FakeQemu, tmp_path: Path, complaint: str, text: str
) -> None:
    fake_qemu(f'echo "{complaint}" >&2; exit 1')
    result = run("--share", str(tmp_path), "--", "true")
    said = f"run: no boot: {text.format(share=tmp_path)}\n"
    assert (result.returncode, result.stderr.decode()) == (126, said)


def test_a_shell_without_a_terminal(fake_qemu: FakeQemu) -> None:
    """Someone might wait for it to end."""
    fake_qemu("exit 0")
    hint = b"run: standard input is not a terminal: leave the shell with poweroff\n"
    assert run().stderr == hint


def test_no_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QEMU", "/nonexistent")
    status, report = report_of(tmp_path, "--", "true")
    assert (status, report["reason"]) == (126, "setup")


def test_old_qemu(fake_qemu: FakeQemu, tmp_path: Path) -> None:
    file = fake_qemu("exit 0", version="6.2.0")
    status, report = report_of(tmp_path, "--", "true")
    assert (status, report["reason"]) == (126, "setup")
    said = f"run: {file} is 6.2.0, older than 7.2: install a newer one (Debian 12 and"
    said += " Ubuntu 24.04 have it), or name it in $QEMU\n"
    assert run("--", "true").stderr.decode() == said


@pytest.mark.parametrize("version, name, times", [
    ("7.2.0", b"q", 1), ("10.0.0", b"q", 1), ("6.2.0", b"q", 2), ("7.2.0", b"\xff", 2),
])
def test_qemu_is_asked_for_its_version(
    version: str, name: bytes, times: int, fake_qemu: FakeQemu, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once; but each time while it is too old, or has a name that can't be noted."""
    asked, file = tmp_path / "asked", tmp_path / os.fsdecode(name)
    file.symlink_to(fake_qemu("exit 0", version=f"$(echo >>{asked}){version}"))
    monkeypatch.setattr("tally.boot.machine.ANSWER", tmp_path / "answer")
    for _ in range(2):
        assert qemu_version(str(file)) == version
    assert asked.read_text().count("\n") == times


def test_no_such_kernel(fake_qemu: FakeQemu, tmp_path: Path) -> None:
    fake_qemu("exit 0")
    status, report = report_of(tmp_path, "--kernel", "/nonexistent", "--", "true")
    assert (status, report["reason"]) == (126, "setup")


def test_no_such_extra(fake_qemu: FakeQemu, tmp_path: Path) -> None:
    fake_qemu("exit 0")
    status, report = report_of(tmp_path, "--extra", "/nonexistent", "--", "true")
    assert (status, report["reason"]) == (126, "usage")


@pytest.mark.parametrize("file, why", [
    ("/none/report", "No such file or directory"),
    ("full", "No space left on device"),
])
def test_report_cannot_be_written(
    fake_qemu: FakeQemu, tmp_path: Path, file: str, why: str
) -> None:
    fake_qemu(f"printf '{BANNER}'; exit 0")
    (tmp_path / "full").symlink_to("/dev/full")
    result = run("--report", file, "--", "x", cwd=tmp_path)
    said = f"run: can't write the report: {file}: {why}\n".encode()
    assert (result.returncode, result.stderr) == (126, said)


@pytest.mark.parametrize("words, known", [
    (["echo", "a", "--report", "theirs"], False),
    (["echo", "a", "--", "--report", "theirs"], False),
    (["--harts", "1", "echo", "a", "--report", "theirs"], False),
    (["-v", "--harts=1", "--report", "ours", "echo", "a", "--report", "theirs"], True),
    (["--hart", "1", "--report", "ours", "--", "echo", "--report", "theirs"], True),
    (["--hart", "1", "echo", "--report", "theirs"], False),
])
def test_a_command_without_dashes(
    fake_qemu: FakeQemu, tmp_path: Path, words: list[str], known: bool
) -> None:
    """tally-run(1): it begins with the first word that isn't an option's; what follows
    is its own, and no file of it is written to."""
    fake_qemu(f"printf '{BANNER}'; exit 3")
    done = run(*words, cwd=tmp_path)
    written = sorted(file.name for file in tmp_path.iterdir())
    wrong = "--hart" in words
    assert done.returncode == (126 if wrong else 3)
    assert (b"--hart: no such option" in done.stderr) == wrong
    assert set(written) - {"fake-qemu"} == ({"ours"} if known else set())


def test_tally_reports_too(
    fake_qemu: FakeQemu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tally-host(1): it has the options of scripts/run."""
    fake_qemu(f"printf '{BANNER}\\020Poh no\\n'; exit 1")
    file = tmp_path / "report.json"
    cases = [(["--", "x"], "panic", 125), (["--harts", "0", "--", "x"], "usage", 126)]
    for words, reason, status in cases:
        result = subprocess.run([TALLY, "--report", file, *words], capture_output=True)
        assert json.loads(file.read_text()) == {"status": status, "reason": reason}
        assert result.returncode == status
        file.unlink()
    monkeypatch.setenv("QEMU", "/nonexistent")
    subprocess.run([TALLY, "--report", file, "--", "x"], capture_output=True)
    assert json.loads(file.read_text()) == {"status": 126, "reason": "setup"}


@pytest.mark.parametrize("words, written", [
    (["x", "--report", "theirs"], None),
    (["--exact", "x", "--report", "theirs"], None),
    (["-r5", "-v", "x", "--report=theirs"], None),
    (["-r", "5", "--harts", "2", "--", "--report", "theirs"], None),
    (["-r", "5", "--report", "ours", "x"], "ours"),
    (["--free", "--report=ours", "x"], "ours"),
    (["--harts"], None),
    (["--report"], None),
])
def test_what_is_missing_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], written: str
) -> None:
    """By a shell, as there may be no Python to read the words."""
    monkeypatch.setenv("QEMU", "/nonexistent")
    done = subprocess.run([TALLY, *words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (126, 1)
    assert [file.name for file in tmp_path.iterdir()] == ([written] if written else [])


def test_a_timeout_may_be_long(fake_qemu: FakeQemu) -> None:
    """Longer than the system's own calls wait for at most."""
    fake_qemu(f"printf '{BANNER}'; exit 3")
    result = run("--timeout", "999999999", "--", "x")
    assert (result.returncode, result.stderr) == (3, b"")


# --- Who goes away first -----------------------------------------------------


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopped_by_signal(
    fake_qemu: FakeQemu, tmp_path: Path, number: signal.Signals
) -> None:
    pid_file, report = tmp_path / "pid", tmp_path / "report.json"
    fake_qemu(f"echo $$ >{pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 1000")
    process = subprocess.Popen([RUN, "--report", report, "--", "x"])
    wait_for(pid_file.exists, "QEMU is started", process)
    process.send_signal(number)
    assert process.wait(HANG) == 128 + number
    wait_for(lambda: gone(int(pid_file.read_text())), "QEMU has gone")
    assert json.loads(report.read_text())["reason"] == "signal"


def test_stopped_while_qemu_is_started(
    fake_qemu: FakeQemu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It doesn't stay behind."""
    started = []

    def start(*words: object, **options: object) -> subprocess.Popen:
        started.append(real_start(*words, **options))
        signal.raise_signal(signal.SIGTERM)
        return started[0]

    class Stopped(Exception):
        pass

    def stop(_number: int, _frame: object) -> None:
        raise Stopped

    real_start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    before = signal.signal(signal.SIGTERM, stop)
    try:
        boot = Boot(Machine(), str(fake_qemu("exec sleep 1000")), 0, 0)
        with pytest.raises(Stopped):
            boot.run(lambda channel, data: None)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert started[0].returncode == -signal.SIGKILL


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


@pytest.mark.parametrize("closed, said", [
    ("<&-", (b"out", b"err", 7)),
    (">&-", (b"", b"run: output: Bad file descriptor\n", 126)),
    ("2>&-", (b"out", b"", 7)),
])
def test_a_descriptor_that_is_closed(
    fake_qemu: FakeQemu, closed: str, said: tuple[bytes, bytes, int]
) -> None:
    """tally-run(1): output is the command's, byte for byte. What can't be printed is
    an error; nobody hears complaints; and there is no input."""
    fake_qemu(
        "case $* in *fd/[012]' '*) exit 9; esac\n"  # its own, and not what to boot
        f"printf '{BANNER}\\020oout\\020eerr\\020kboot\\n'; exit 7"
    )
    result = subprocess.run(
        ["/bin/sh", "-c", f'"$0" --timeout {HANG} -- x {closed}', RUN],
        capture_output=True,
    )
    assert (result.stdout, result.stderr, result.returncode) == said


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


def test_a_fixtures_failure_is_shown_once(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.fixture(scope='module')\n"
        "def broken(): raise ValueError('the ' 'reason')\n"
        "@pytest.mark.parametrize('n', range(3))\n"
        "def test(broken, n): pass\n"
    )
    command = [sys.executable, "-B", "-m", "pytest", "-p", "conftest"]
    command += ["-c", ROOT / "pytest.ini", tmp_path / "test_it.py"]
    path = f"{ROOT}/tests:{ROOT}"
    environment = {**os.environ, "PYTHONPATH": path}
    said = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "3 errors" in said.stdout
    shown = re.findall(r"^E +ValueError: the reason$", said.stdout, re.M)
    assert len(shown) == 1
    assert said.stdout.count("its fixture failed, as for") >= 2
