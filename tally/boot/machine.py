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
from tally.formats.elf import PT_LOAD, BadElfError, Elf

QEMU_OLDEST = (7, 2)
ANSWER = PROGRAMS / "qemu-version"  # which QEMU was asked, and what it said
MAIN_LOOP = BUILD / "main_loop.so"
#: glibc asks the host for large pages: QEMU then starts with half the page faults.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
HARTS_MAX = 16  # the kernel's own limit
ICOUNT_MAX = 10  # QEMU's
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STATUS_LIMIT = 124
STATUS_PANIC = 125

READ_SIZE = 1 << 16  # bytes
PIPE_SIZE = 1 << 20  # bytes; what an unprivileged process may ask for
F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", 1031)  # named since Python 3.10
DAY = 86_400.0  # seconds
PANIC_GRACE = 10.0  # seconds that a panicking guest has to power off

# Each run sees the same date, so that virtual time is all the time there is.
RTC_EPOCH = "2026-01-01T00:00:00"


# Where QEMU's machine has its memory, and puts what it boots: the kernel, the
# initrd in the middle, the device tree at the end.
MEM_START = 0x8000_0000
KERNEL_START = 0x8020_0000
DEVICE_TREE_SIZE = 1 << 20
DEVICE_TREE_ALIGN = 2 << 20

SUFFIXES = "BKMGTPE"  # of amounts of memory; 1024 times the one before each


def memory_bytes(text: str) -> int:
    """What QEMU's -m takes it for; 0 if that is nothing."""
    found = re.fullmatch(rf"(\d+\.?\d*|\.\d+)([{SUFFIXES}]?)", text, re.I)
    if not found or len(text) > 20:
        return 0
    return int(float(found[1]) * 1024 ** SUFFIXES.index(found[2].upper() or "M"))


def quoted(path: object) -> str:
    """As part of an option of QEMU's, which ends at a comma."""
    return str(path).replace(",", ",,")


def room_for_initrd(memory: int) -> int:
    """Bytes between the middle and the device tree, in so much memory."""
    end = MEM_START + memory - DEVICE_TREE_SIZE
    return end // DEVICE_TREE_ALIGN * DEVICE_TREE_ALIGN - KERNEL_START - memory // 2


def hold_kernel(path: Path) -> int:
    """A descriptor of a copy. It is one for the machine: anything else would do
    nothing, for ever."""
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
        segments = Elf(data).segments
    except BadElfError:
        raise SetupError(
            f"{path} is no kernel: not an ELF file for a 64-bit RISC-V"
        ) from None
    if not any(s.kind == PT_LOAD and s.physical >= MEM_START for s in segments):
        raise SetupError(
            f"{path} is no kernel: nothing of it lies at {MEM_START:#x} or above,"
            " where the machine's memory is"
        )


class Machine(NamedTuple):
    """A machine to boot: options of scripts/run have the same names."""

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
        """QEMU's command line: a pipe for framed output, else a terminal."""
        arguments = ["-machine", "virt", "-m", self.mem, "-smp", str(self.harts)]
        if self.cpu is not None:
            arguments += ["-cpu", f"rv64,{self.cpu}"]
        if self.icount is not None:
            # While all harts idle virtual time jumps to the next deadline, but
            # not where the host works or someone types: that takes the time it
            # takes, and a shell that waits would use a whole processor.
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
        """The same for descriptors that QEMU inherits."""
        where = "/proc/self/fd/"
        return [qemu, *self.arguments(f"{where}{kernel}", f"{where}{initrd}", framed)]

    def check(self, initrd: int) -> None:
        """What QEMU would not say so that it helps: SetupError."""
        memory = memory_bytes(self.mem)
        if room_for_initrd(memory) < initrd:
            least = next(
                n
                for n in itertools.count(memory >> 20)
                if room_for_initrd(n << 20) >= initrd
            )
            raise SetupError(f"--mem {self.mem} is too little: {least}M would do")
        if self.gdb is not None:
            check_port(self.gdb)

    def explain(self, complaint: str) -> str:
        """One line of what QEMU said when it would not start."""
        lines = complaint.splitlines() or ["QEMU said nothing"]
        if "cannot set up guest memory" in complaint:
            return f"--mem {self.mem} is more than this host gives"
        if "fsdev" in complaint and self.share is not None:
            return f"--share {self.share}: {lines[-1]}"
        # What follows the first line with its name only explains that.
        own = [line for line in lines if line.startswith("qemu-")]
        return (own or lines)[-1]

    def bootargs(self, framed: bool) -> str:
        words = ["framed"] if framed else []
        if self.icount is not None:
            words.append("icount")
        if self.races is not None:
            words.append(f"races={self.races}")
        if self.limit is not None:
            # Milliseconds; to read one that is longer mustn't take longer.
            words.append(f"limit={math.ceil(self.limit * 1000):07}")
        if self.terminal is not None:
            words.append(f"rows={self.terminal.lines}")
            words.append(f"columns={self.terminal.columns}")
        return " ".join(words)


class Outcome(NamedTuple):
    """How a boot ended. `text` says why, unless the command just exited."""

    status: int
    reason: str  # exit, limit, timeout, panic or machine
    text: str = ""


def free_port() -> int:
    """One that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def check_port(port: int) -> None:
    """Is it free for QEMU's server of a debugger?"""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("127.0.0.1", port))
        except OSError as error:
            raise SetupError(
                f"--gdb {port}: {error.strerror}: does another machine wait there?"
                " Take another port, or end that one"
            ) from error


def find_qemu() -> str:
    """The QEMU to use: $QEMU or the one in PATH, and new enough."""
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
    """As 10.0.13. Each file is asked once, as that takes a third of a boot's time; but
    again if it was too old: it may only start another one, which isn't any more."""
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
        raise SetupError(f"{qemu} does not tell its version")
    if is_new(found[1]):
        with contextlib.suppress(OSError, ValueError):  # a name of odd bytes, too
            ANSWER.write_text(f"{key} {found[1]}")
    return found[1]


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """Signals that tell us to stop are heard after this. Their handlers raise:
    a process that is being started would be left behind, known to nobody."""
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
    """Boot with the terminal as console. QEMU's own status is the outcome."""
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
            # Not kill: QEMU has the terminal's settings to put back.
            if process:
                process.terminate()
                process.wait()
        return _exited(status, control)


def _pipe(end: Optional[IO[bytes]]) -> IO[bytes]:
    """Popen has one wherever PIPE was asked for."""
    assert end is not None
    return end


class Boot:
    """One boot with framed output."""

    QEMU = "qemu"  # the channel of QEMU's own complaints

    def __init__(self, machine: Machine, qemu: str, kernel: int, initrd: int) -> None:
        self.machine = machine
        self.fds = (kernel, initrd)
        self.command = machine.command(qemu, kernel, initrd, framed=True)
        # A host's folder and a debugger come from outside at any time.
        inside = machine.share is None and machine.gdb is None
        self.repeats = machine.icount is not None and inside and MAIN_LOOP.exists()
        if self.repeats:
            self.command += ["-name", "tally,debug-threads=on"]  # main_loop.c asks
        elif machine.races is not None and inside:
            raise SetupError(
                "no run with --races repeats without a C compiler for this"
                " machine (cc): scripts/setup exact installs it"
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
        """Kill QEMU, from another thread than run's: if it hasn't started yet,
        as soon as it has."""
        self.stopped = True
        if self.process:
            self.process.kill()

    def run(self, sink: Callable[[str, bytes], None]) -> Outcome:
        """Boot, and stay until the machine is off.

        sink(channel, bytes) gets the channels of frames.py and QEMU. It must
        not block: a serial line that has to wait for its reader would no
        longer run the same way twice.
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
        # In a session of its own a Ctrl-C on our terminal reaches only us;
        # QEMU would take it for a clean end.
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
        """QEMU's descriptors and environment. A library in it makes two runs the same;
        a descriptor names that, as a path may have blanks."""
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
        """Pass on what is heard until both pipes end. False: it took too long."""
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
        """A day at most: the system's own limit is a few weeks."""
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
        """The outcome, if the guest has begun its last words."""
        if self.frames.channel == frames.PANIC:
            return Outcome(STATUS_PANIC, "panic", "the kernel panicked")
        if self.frames.channel == frames.LIMIT:
            limit = f"{self.machine.limit:g} s" if self.machine.limit else "time"
            return Outcome(STATUS_LIMIT, "limit", f"the limit of {limit} is over")
        return None

    def _outcome(self, status: int, control: Control) -> Outcome:
        """What it means that QEMU exited with status."""
        complaint = self.complaints.decode(errors="replace").strip()
        if "terminating on signal" in complaint:
            return Outcome(STATUS_SETUP, "machine", complaint.splitlines()[-1])
        if status >= 0 and not self.heard:
            why = self.machine.explain(complaint)
            return Outcome(STATUS_SETUP, "machine", f"no boot: {why}")
        return self._ended_by_text() or _exited(status, control)


def _exited(status: int, control: Control) -> Outcome:
    """What QEMU itself says of its end."""
    if status < 0:
        return Outcome(STATUS_SETUP, "machine", f"QEMU died of signal {-status}")
    if control.restarted():
        return Outcome(STATUS_SETUP, "machine", "the machine restarted")
    return Outcome(status, "exit")


def _timed_out(machine: Machine) -> Outcome:
    return Outcome(
        STATUS_LIMIT, "timeout", f"not done after {machine.timeout:g} s, stopped"
    )
