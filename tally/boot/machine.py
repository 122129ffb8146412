"""The machine: QEMU's command line, and one boot from power on to power off."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import math
import mmap
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, Callable, Iterator, NamedTuple, Optional, Union

from tally.base.cli import STATUS_SETUP
from tally.base.errors import SetupError
from tally.boot import frames
from tally.boot.control import Control
from tally.build.image import BUILD, PROGRAMS, hold
from tally.formats.elf import BadElfError, Elf

QEMU_OLDEST = (7, 2)
ANSWER = PROGRAMS / "qemu-version"  # the last QEMU that was asked, and its version
MAIN_LOOP = BUILD / "main_loop.so"
#: glibc asks the host for large pages: QEMU then starts with half the page faults.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
HARTS_MAX = 16  # the kernel's own limit
ICOUNT_MAX = 10  # QEMU's
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STATUS_LIMIT = 124
STATUS_PANIC = 125

READ_SIZE = 1 << 16  # bytes
PIPE_SIZE = 1 << 20  # bytes; the most for an unprivileged process
F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", 1031)  # named since Python 3.10
DAY = 86_400.0  # seconds
PANIC_GRACE = 10.0  # seconds that a panicking guest has to power off

# Each run starts at the same date, so that the guest never sees the host's time.
RTC_EPOCH = "2026-01-01T00:00:00"


# The memory layout of QEMU's machine: the kernel near the start, the initrd in the
# middle, the device tree at the end.
MEM_START = 0x8000_0000
KERNEL_START = 0x8020_0000
DEVICE_TREE_SIZE = 1 << 20
DEVICE_TREE_ALIGN = 2 << 20

SUFFIXES = "BKMGTPE"  # units of memory, each 1024 times the one before


def memory_bytes(text: str) -> int:
    """Returns the bytes that QEMU's -m understands; 0 if the text is invalid."""
    found = re.fullmatch(rf"(\d+\.?\d*|\.\d+)([{SUFFIXES}]?)", text, re.I)
    if not found or len(text) > 20:
        return 0
    return int(float(found[1]) * 1024 ** SUFFIXES.index(found[2].upper() or "M"))


def quoted(path: object) -> str:
    """Quotes the commas of a path, which separate parts of QEMU's options."""
    return str(path).replace(",", ",,")


def room_for_initrd(memory: int) -> int:
    """Returns the bytes between the middle of memory and the device tree."""
    end = MEM_START + memory - DEVICE_TREE_SIZE
    return end // DEVICE_TREE_ALIGN * DEVICE_TREE_ALIGN - KERNEL_START - memory // 2


def hold_kernel(path: Path) -> int:
    """Returns a descriptor of a copy of the kernel. Refuses other files, with which
    the machine would hang without a message."""
    with open(path, "rb") as file:
        fd = hold(file, "kernel")
    try:
        empty = os.fstat(fd).st_size == 0
        check_kernel(path, b"" if empty else mmap.mmap(fd, 0, prot=mmap.PROT_READ))
    except SetupError:
        os.close(fd)
        raise
    return fd


def check_kernel(path: Path, data: Union[bytes, mmap.mmap]) -> None:
    try:
        loads = Elf(data).loads
    except BadElfError:
        raise SetupError(
            f"{path} is not a kernel: not an ELF file for a 64-bit RISC-V"
        ) from None
    if not any(s.physical >= MEM_START for s in loads):
        raise SetupError(
            f"{path} is not a kernel: no part of it is at {MEM_START:#x} or above,"
            " where the machine's memory is"
        )


class Machine(NamedTuple):
    """A machine to boot. The fields are the options of scripts/run."""

    harts: int = 4
    mem: str = "256M"
    icount: Optional[int] = None
    cpu: Optional[str] = None
    races: Optional[int] = None  # a seed: harts take turns at random moments
    limit: Optional[float] = None  # virtual seconds after boot
    timeout: Optional[float] = None  # seconds of wall clock
    gdb: Optional[int] = None  # port at which to wait for a debugger
    share: Optional[str] = None  # the folder that is the guest's /host
    terminal: Optional[os.terminal_size] = None  # the console's

    def arguments(self, kernel: str, initrd: str, framed: bool) -> list[str]:
        """Returns QEMU's arguments. framed: the console is a pipe for framed output,
        else the terminal."""
        arguments = ["-machine", "virt", "-m", self.mem, "-smp", str(self.harts)]
        if self.cpu is not None:
            arguments += ["-cpu", f"rv64,{self.cpu}"]
        if self.icount is not None:
            # sleep=off: while all harts are idle, virtual time jumps to the next
            # deadline. Not with a terminal or /host, whose input comes in real
            # time: a waiting shell would use a whole processor of the host.
            sleep = "off" if framed and self.share is None else "on"
            arguments += ["-icount", f"shift={self.icount},sleep={sleep}"]
            arguments += ["-rtc", f"base={RTC_EPOCH},clock=vm"]
        arguments += ["-display", "none", "-no-reboot"]
        if framed:
            arguments += ["-serial", "stdio", "-monitor", "none"]
        else:
            arguments += ["-serial", "mon:stdio"]
        if self.gdb is not None:
            arguments += ["-gdb", f"tcp:127.0.0.1:{self.gdb}", "-S"]
        if self.share is not None:
            options = "id=host,security_model=none,multidevs=remap"
            arguments += ["-global", "virtio-mmio.force-legacy=false"]
            arguments += ["-fsdev", f"local,path={quoted(self.share)},{options}"]
            arguments += ["-device", "virtio-9p-device,fsdev=host,mount_tag=host"]
        arguments += ["-kernel", kernel, "-initrd", initrd]
        append = self.bootargs(framed)
        return arguments + (["-append", append] if append else [])

    def command(self, qemu: str, kernel: int, initrd: int, framed: bool) -> list[str]:
        """Returns QEMU's command for files that it inherits as descriptors."""
        where = "/proc/self/fd/"
        return [qemu, *self.arguments(f"{where}{kernel}", f"{where}{initrd}", framed)]

    def check(self, initrd: int) -> None:
        """Raises SetupError for options whose QEMU errors would be obscure."""
        memory = memory_bytes(self.mem)
        if room_for_initrd(memory) < initrd:
            least = next(
                n
                for n in itertools.count(memory >> 20)
                if room_for_initrd(n << 20) >= initrd
            )
            raise SetupError(f"--mem {self.mem} is too little: {least}M is the least")
        if self.gdb is not None:
            check_port(self.gdb)

    def explain(self, complaint: str) -> str:
        """Returns one line that explains why QEMU did not start."""
        lines = complaint.splitlines() or ["QEMU said nothing"]
        if "cannot set up guest memory" in complaint:
            return f"--mem {self.mem} is more than this host can allocate"
        if "fsdev" in complaint and self.share is not None:
            return f"--share {self.share}: {lines[-1]}"
        # QEMU's own messages begin with its name; other lines are details.
        own = [line for line in lines if line.startswith("qemu-")]
        return (own or lines)[-1]

    def bootargs(self, framed: bool) -> str:
        words = ["framed"] if framed else []
        if self.icount is not None:
            words.append("icount")
        if self.races is not None:
            words.append(f"races={self.races}")
        if self.limit is not None:
            # Milliseconds, with 7 digits: each limit takes the kernel the same time.
            words.append(f"limit={math.ceil(self.limit * 1000):07}")
        if self.terminal is not None:
            words.append(f"rows={self.terminal.lines}")
            words.append(f"columns={self.terminal.columns}")
        return " ".join(words)


class Outcome(NamedTuple):
    """How a boot ended. `text` says why; it is empty if the command exited."""

    status: int
    reason: str  # exit, limit, timeout, panic or machine
    text: str = ""


def free_port() -> int:
    """Returns a TCP port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def check_port(port: int) -> None:
    """Raises SetupError if QEMU can't listen for a debugger on this port."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("127.0.0.1", port))
        except OSError as error:
            raise SetupError(
                f"--gdb {port}: {error.strerror}: is another machine using"
                " this port? Choose another port, or stop that machine"
            ) from error


def find_qemu() -> str:
    """Returns the path of $QEMU or of the QEMU in PATH; SetupError: it's too old."""
    name = os.environ.get("QEMU") or "qemu-system-riscv64"
    path = shutil.which(name)
    if path is None and "QEMU" in os.environ:
        raise SetupError(f"QEMU={name} in the environment: no such program")
    if path is None:
        raise SetupError(f"no {name}: scripts/setup installs it")
    version = qemu_version(path)
    if not is_new(version):
        raise SetupError(
            f"{name} is {version}, older than 7.2: install a newer one (Debian 12 and"
            " Ubuntu 24.04 have it), or name it in $QEMU"
        )
    return path


def is_new(version: str) -> bool:
    return tuple(map(int, version.split(".")[:2])) >= QEMU_OLDEST


def qemu_version(qemu: str) -> str:
    """Returns the version, such as 10.0.13. It is cached, as asking takes a third of a
    boot's time; but not if too old: the file may be a script that starts another QEMU,
    which may be updated."""
    state = os.stat(qemu)
    key = f"{qemu} {state.st_ino} {state.st_size} {state.st_mtime_ns}"
    with contextlib.suppress(OSError, ValueError):
        known, _, version = ANSWER.read_text().rpartition(" ")
        if known == key:
            return version
    try:
        said = subprocess.run([qemu, "--version"], capture_output=True, text=True)
    except OSError as error:
        raise SetupError(f"{qemu}: {error.strerror}") from error
    found = re.search(r"version (\d+\.\d+[.\d]*)", said.stdout)
    if not found:
        raise SetupError(f"{qemu} --version prints no version")
    if is_new(found[1]):
        with contextlib.suppress(OSError, ValueError):  # ValueError: not UTF-8
            ANSWER.write_text(f"{key} {found[1]}")
    return found[1]


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """Delays signals that stop us. Their handlers raise an exception, which would lose
    track of a process that is just being started."""
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread
        return
    arrived: list[int] = []
    handlers = {
        number: signal.signal(number, lambda n, _: arrived.append(n))
        for number in STOP_SIGNALS
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for late in arrived:
            signal.raise_signal(late)


def interact(machine: Machine, qemu: str, kernel: int, initrd: int) -> Outcome:
    """Boots with the terminal as console; the outcome has QEMU's own status."""
    command = machine.command(qemu, kernel, initrd, framed=False)
    process = None
    with Control(starts=machine.gdb is None) as control:
        command += control.options()
        try:
            with signals_deferred():
                fds = kernel, initrd, control.fd
                process = subprocess.Popen(command, pass_fds=fds)
            status = process.wait(machine.timeout)
        except subprocess.TimeoutExpired:
            return _timed_out(machine)
        finally:
            # Not kill: QEMU must restore the terminal's settings.
            if process:
                process.terminate()
                process.wait()
        return _exited(status, control)


def _pipe(end: Optional[IO[bytes]]) -> IO[bytes]:
    """Tells mypy that the pipe exists: Popen was asked for it."""
    assert end is not None
    return end


class Boot:
    """One boot with framed output."""

    QEMU = "qemu"  # the channel of QEMU's own messages

    def __init__(self, machine: Machine, qemu: str, kernel: int, initrd: int) -> None:
        self.machine = machine
        self.fds = (kernel, initrd)
        self.command = machine.command(qemu, kernel, initrd, framed=True)
        # A shared folder or a debugger makes timing depend on the host.
        inside = machine.share is None and machine.gdb is None
        self.repeats = machine.icount is not None and inside and MAIN_LOOP.exists()
        if self.repeats:
            self.command += ["-name", "tally,debug-threads=on"]  # main_loop.c asks
        elif machine.races is not None and inside:
            raise SetupError(
                "--races needs a C compiler for this machine (cc) to repeat a run:"
                " scripts/setup exact installs it"
            )
        self.sink: Callable[[str, bytes], None]
        self.control: Control
        self.frames = frames.Frames()
        self.complaints = b""
        self.heard = False  # has the machine said anything?
        self.deadline: Optional[float] = None
        self.process: Optional[subprocess.Popen[bytes]] = None
        self.stopped = False

    def stop(self) -> None:
        """Kills QEMU, at once or as soon as it has started. Called from another thread
        than run's."""
        self.stopped = True
        if self.process:
            self.process.kill()

    def run(self, sink: Callable[[str, bytes], None]) -> Outcome:
        """Boots, and returns when the machine is off.

        sink(channel, bytes) gets the channels of frames.py and QEMU. It must not
        block: if the guest had to wait for it, runs would not be repeatable.
        """
        self.sink = sink
        if self.machine.timeout is not None:
            self.deadline = time.monotonic() + self.machine.timeout
        with Control(starts=self.machine.gdb is None) as control:
            self.control = control
            with self._qemu(control) as process:
                if not self._listen(process):
                    return self._ended_by_text() or _timed_out(self.machine)
                return self._outcome(process.wait(), control)

    @contextlib.contextmanager
    def _qemu(self, control: Control) -> Iterator[subprocess.Popen[bytes]]:
        # A session of its own: a Ctrl-C on our terminal must not reach QEMU,
        # which would exit as if the guest had powered off.
        process = None
        try:
            with signals_deferred(), self._inherited() as (fds, environment):
                process = subprocess.Popen(
                    [*self.command, *control.options()],
                    pass_fds=(*self.fds, control.fd, *fds),
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            self.process = process
            if self.stopped:
                process.kill()
            with contextlib.suppress(OSError):
                fcntl.fcntl(_pipe(process.stdout), F_SETPIPE_SZ, PIPE_SIZE)
            yield process
        finally:
            if process:
                process.kill()
                process.wait()
                _pipe(process.stdout).close()
                _pipe(process.stderr).close()

    @contextlib.contextmanager
    def _inherited(self) -> Iterator[tuple[list[int], dict[str, str]]]:
        """Yields QEMU's descriptors and environment. The preloaded library makes runs
        repeatable; it is named by a descriptor, as its path may contain blanks."""
        environment = {**LARGE_PAGES, **os.environ}
        if not self.repeats:
            yield [], environment
            return
        fd = os.open(MAIN_LOOP, os.O_RDONLY)
        others = os.environ.get("LD_PRELOAD", "")
        try:
            preload = f"/proc/self/fd/{fd} {others}"
            yield [fd], {**environment, "LD_PRELOAD": preload}
        finally:
            os.close(fd)

    def _listen(self, process: subprocess.Popen[bytes]) -> bool:
        """Passes on output until both pipes end; returns False after the timeout."""
        with selectors.DefaultSelector() as selector:
            for pipe, hear in (
                (process.stdout, self._serial),
                (process.stderr, self._complain),
            ):
                selector.register(_pipe(pipe), selectors.EVENT_READ, hear)
            while selector.get_map():
                ready = selector.select(self._time_left())
                if self._time_left() == 0:
                    return False
                for key, _ in ready:
                    data = os.read(key.fd, READ_SIZE)
                    if data:
                        key.data(data)
                    else:
                        selector.unregister(key.fileobj)
        return True

    def _time_left(self) -> Optional[float]:
        """Returns the seconds left, but a day at most, as select accepts only weeks."""
        if self.deadline is None:
            return None
        return min(max(0.0, self.deadline - time.monotonic()), DAY)

    def _serial(self, data: bytes) -> None:
        self.heard = True
        final = self._ended_by_text()
        for channel, piece in self.frames.feed(data):
            self.sink(channel, piece)
        if not final and self._ended_by_text():
            grace = time.monotonic() + PANIC_GRACE
            self.deadline = min(grace, self.deadline or grace)

    def _complain(self, data: bytes) -> None:
        self.complaints += data
        self.sink(self.QEMU, data)

    def _ended_by_text(self) -> Optional[Outcome]:
        """Returns the outcome, if the guest has begun a panic's or limit's text."""
        if self.frames.channel == frames.PANIC:
            return Outcome(STATUS_PANIC, "panic", "the kernel panicked")
        if self.frames.channel == frames.LIMIT:
            limit = (
                f"{self.machine.limit:g} s of virtual time"
                if self.machine.limit
                else "time"
            )
            return Outcome(STATUS_LIMIT, "limit", f"the limit of {limit} is reached")
        return None

    def _outcome(self, status: int, control: Control) -> Outcome:
        """Returns the outcome of QEMU's exit with status."""
        complaint = self.complaints.decode(errors="replace").strip()
        if "terminating on signal" in complaint:
            return Outcome(STATUS_SETUP, "machine", complaint.splitlines()[-1])
        if status >= 0 and not self.heard:
            why = self.machine.explain(complaint)
            return Outcome(STATUS_SETUP, "machine", f"no boot: {why}")
        return self._ended_by_text() or _exited(status, control)


def _exited(status: int, control: Control) -> Outcome:
    """Returns the outcome that QEMU's status and its control socket show."""
    if status < 0:
        return Outcome(STATUS_SETUP, "machine", f"QEMU was killed by signal {-status}")
    if control.restarted():
        return Outcome(STATUS_SETUP, "machine", "the machine restarted")
    return Outcome(status, "exit")


def _timed_out(machine: Machine) -> Outcome:
    return Outcome(
        STATUS_LIMIT,
        "timeout",
        f"the machine was stopped, still running after {machine.timeout:g} s",
    )
