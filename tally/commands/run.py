"""scripts/run: boot Tally for a command, or for a shell. See tally-run(1)."""

from __future__ import annotations

import argparse
import json
import os
import queue
import shlex
import signal
import sys
import threading
from pathlib import Path
from typing import Callable, Iterable, NoReturn, Optional

from tally.base.cli import (
    STATUS_SETUP,
    STATUS_SIGNAL,
    Parser,
    complain,
    explained,
    forget_output,
    put,
    script,
)
from tally.base.errors import SetupError, UsageError
from tally.boot import frames
from tally.boot.lastwords import with_lines
from tally.boot.machine import (
    STOP_SIGNALS,
    Boot,
    Machine,
    Outcome,
    find_qemu,
    hold_kernel,
    interact,
)
from tally.boot.options import early_report, parse, parser
from tally.build import image
from tally.build.brought import Brought, bring

ME = "run"
FLUSH_GRACE = 5.0  # seconds that a reader has after the machine was stopped

BUILDING = "run: building, which takes a while the first time\n"
HINT = "Ctrl-A X ends QEMU at once"
NO_TERMINAL = "the input is no terminal: its end won't end the shell, poweroff does"


class Stopped(BaseException):
    """A signal told us to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Output:
    """Writes to stdout and stderr in order, from a thread of its own.

    So a slow reader of ours never holds up the machine's serial line. The
    kernel's last words come at the end, with source lines.
    """

    def __init__(self, verbose: bool, kernel: Path) -> None:
        self.error: Optional[OSError] = None  # why nothing more is written
        self._queue: queue.SimpleQueue[
            Optional[tuple[int, bytes]]
        ] = queue.SimpleQueue()
        self._targets = {frames.STDOUT: 1, frames.STDERR: 2}
        self._kernel = kernel
        self._last_words = bytearray()
        if verbose:
            hidden = (frames.CONSOLE, frames.BOOT, Boot.QEMU)
            self._targets.update(dict.fromkeys(hidden, 2))
        self._thread = threading.Thread(target=self._write_all, daemon=True)
        self._thread.start()

    def take(self, channel: str, data: bytes) -> None:
        if self.error:
            raise self.error
        if channel in (frames.PANIC, frames.LIMIT):
            self._last_words += data.replace(b"\r", b"")
        if channel not in self._targets:
            return
        if channel not in (frames.STDOUT, frames.STDERR):
            data = data.replace(b"\r", b"")
        self._queue.put((self._targets[channel], data))

    def finish(self, patience: Optional[float] = None) -> None:
        """Wait until everything is written, or for so many seconds."""
        if self._last_words:
            text = with_lines(bytes(self._last_words), self._kernel)
            self._queue.put((2, text))
        self._queue.put(None)
        self._thread.join(patience)
        if self.error:
            raise self.error

    def _write_all(self) -> None:
        for fd, data in iter(self._queue.get, None):
            try:
                while data:
                    data = data[os.write(fd, data) :]
            except OSError as error:
                self.error = error
                return


def build(
    options: argparse.Namespace,
    command: Optional[str],
    notice: str,
    brought: Iterable[Brought],
) -> tuple[int, image.Archive]:
    """The kernel's descriptor and the initrd to boot, with the host's programs that
    were brought."""
    with image.build_lock():
        image.make(verbose=options.verbose, notice=notice)
        extra = b""
        if options.extra:
            extra = image.overlay(Path(options.extra), verbose=options.verbose)
        if options.kernel:
            extra += image.boot_files(options.kernel, options.verbose)
        for name, file in brought:
            try:
                extra += image.member(name[1:], file.read_bytes(), 0o755)
            except ValueError as error:  # a name too long for an archive
                raise SetupError(f"{name}: {error}") from error
        initrd = image.initrd(command, extra)
        kernel = hold_kernel(options.kernel or image.BUILD / "kernel.elf")
    return kernel, initrd


def announce(
    command: list[str], options: argparse.Namespace, told: bool, me: str
) -> None:
    """QEMU's command line, if it is to be shown; and to someone who waits, whom the
    machine waits for."""
    if options.verbose:
        complain(shlex.join(command), me)
    if options.gdb and told:
        complain(f"waits at port {options.gdb}: make gdb GDB_PORT={options.gdb}", me)


def boot(
    machine: Boot,
    options: argparse.Namespace,
    kernel: Path,
    me: str,
    data: Optional[bytearray] = None,
) -> Outcome:
    """Boot, with the guest's output on ours; what is for a script goes to `data'."""
    announce(machine.command, options, sys.stderr.isatty(), me)
    output = Output(options.verbose, kernel)

    def take(channel: str, piece: bytes) -> None:
        if channel == frames.DATA and data is not None:
            data.extend(piece)
        output.take(channel, piece)

    try:
        outcome = machine.run(take)
    except BaseException:
        output.finish(FLUSH_GRACE)
        raise
    output.finish(None if outcome.reason == "exit" else FLUSH_GRACE)
    return outcome


def terminal_size() -> Optional[os.terminal_size]:
    """That of the terminal we were called from; some don't know theirs."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return None
    return size if all(size) else None


def machine_of(options: argparse.Namespace, command: Optional[str]) -> Machine:
    return Machine(
        options.harts,
        options.mem,
        options.icount,
        options.cpu,
        options.races,
        options.limit,
        options.timeout,
        options.gdb,
        options.share,
        terminal_size() if command is None else None,
    )


def run(options: argparse.Namespace, command: Optional[str]) -> Outcome:
    machine = machine_of(options, command)
    qemu = find_qemu()
    if options.kernel:
        os.close(hold_kernel(options.kernel))  # nothing is built in vain
    # A command's own standard error is none of ours to write to, but for
    # someone who sits there and waits.
    told = command is None or sys.stderr.isatty()
    notice = BUILDING if told else ""
    kernel, initrd = build(options, command, notice, bring(command))
    machine.check(initrd.size)
    fds = kernel, image.hold(initrd, "initrd")
    if command is None:
        announce(machine.command(qemu, *fds, framed=False), options, True, ME)
        complain(HINT if sys.stdin.isatty() else NO_TERMINAL, ME)
        return interact(machine, qemu, *fds)
    path = options.kernel or image.BUILD / "kernel.elf"
    return boot(Boot(machine, qemu, *fds), options, path, ME)


def attempt(action: Callable[[], Outcome], me: str) -> Outcome:
    """Do it, and name whatever goes wrong."""
    try:
        return action()
    except UsageError as error:
        text = f"{error} ({me} --help lists the options)"
        return Outcome(STATUS_SETUP, "usage", text)
    except SetupError as error:
        return Outcome(STATUS_SETUP, "setup", str(error))
    except image.BuildError as error:
        return Outcome(STATUS_SETUP, "build", str(error))
    except BrokenPipeError:  # nobody reads our output any more
        forget_output()
        return Outcome(STATUS_SIGNAL + signal.SIGPIPE, "signal")
    except OSError as error:
        if error.filename is None:
            forget_output()
        return Outcome(STATUS_SETUP, "setup", explained(error))
    except Stopped as stop:
        name = signal.Signals(stop.number).name
        return Outcome(STATUS_SIGNAL + stop.number, "signal", f"stopped by {name}")


def stop(number: int, _frame: object) -> NoReturn:
    for each in STOP_SIGNALS:  # once is enough
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


def write_report(file: Path, outcome: Outcome) -> None:
    facts = {"status": outcome.status, "reason": outcome.reason}
    put(file, (json.dumps(facts) + "\n").encode())


def reported(
    words: list[str],
    action: Callable[[], Outcome],
    me: str,
    parser: Callable[[], Parser] = parser,
) -> int:
    """Do it, say what is wrong, and write --report: the status."""
    for number in STOP_SIGNALS:
        signal.signal(number, stop)
    outcome = attempt(action, me)
    if outcome.text:
        complain(outcome.text, me)
    report = early_report(words, parser)
    try:
        if report:
            write_report(report, outcome)
    except OSError as error:
        complain(f"no report: {explained(error)}", me)
        return STATUS_SETUP
    return outcome.status


def main(words: list[str]) -> int:
    return reported(words, lambda: run(*parse(words)), ME)


def entry() -> int:
    return script(ME, lambda: main(sys.argv[1:]))
