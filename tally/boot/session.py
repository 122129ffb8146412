"""A boot for a command: what it needs is built and held, its output is passed on, and
however it ends there is a status and a line that says why."""

from __future__ import annotations

import json
import os
import queue
import shlex
import signal
import sys
import threading
from pathlib import Path
from typing import Callable, Iterable, NoReturn, Optional, Sequence

from tally.base.cli import (
    STATUS_SETUP,
    STATUS_SIGNAL,
    Parser,
    complain,
    explained,
    forget_output,
    put,
)
from tally.base.errors import SetupError, UsageError
from tally.boot import frames
from tally.boot.lastwords import with_lines
from tally.boot.machine import (
    STOP_SIGNALS,
    Boot,
    Outcome,
    find_qemu,
    hold_kernel,
    interact,
)
from tally.boot.options import Options, early_report
from tally.build import image
from tally.build.brought import bring

FLUSH_GRACE = 5.0  # seconds that a reader has after the machine was stopped
BUILDING = "run: building, which takes a while the first time\n"
HINT = "Ctrl-A X ends QEMU at once"
NO_TERMINAL = "standard input is not a terminal: leave the shell with poweroff"


class Output:
    """Writes to stdout and stderr in order, from a thread of its own, so that a slow
    reader never holds up the machine's serial line. The kernel's last words come at
    the end, with source lines."""

    def __init__(self, verbose: bool, kernel: Path) -> None:
        self.error: Optional[OSError] = None  # why nothing more is written
        self._queue: queue.SimpleQueue[Optional[tuple[int, bytes]]]
        self._queue = queue.SimpleQueue()
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
        """Wait until everything is written; at most `patience` seconds."""
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


class Session:
    """One boot, as the options want it."""

    def __init__(self, options: Options, me: str) -> None:
        self.options = options
        self.me = me
        self.qemu = find_qemu()
        self.complaints = b""  # QEMU's own, after a boot

    def build(self, guest: Optional[str], *members: bytes) -> None:
        """The kernel, and an initrd in which the guest finds its command, the members,
        and the host's programs that the user's command names."""
        options = self.options
        if options.kernel:
            os.close(hold_kernel(options.kernel))  # nothing is built in vain
        self.brought = bring(options.command)
        # A command's standard error is the command's own, unless somebody sits there
        # and waits.
        notice = BUILDING if self._is_watched() else ""
        with image.build_lock():
            image.make(verbose=options.verbose, notice=notice)
            initrd = image.initrd(guest, b"".join([*self._members(), *members]))
            self.kernel = hold_kernel(options.kernel_file)
        options.machine.check(initrd.size)
        self.initrd = image.hold(initrd, "initrd")

    def _members(self) -> Iterable[bytes]:
        options = self.options
        if options.extra:
            yield image.overlay(options.extra, verbose=options.verbose)
        if options.kernel:
            yield image.boot_files(options.kernel, options.verbose)
        for name, file in self.brought:
            yield image.member(name[1:], file.read_bytes(), 0o755)

    def boot(
        self, arguments: Sequence[str] = (), data: Optional[bytearray] = None
    ) -> Outcome:
        """Boot, with the guest's output on ours; what the guest sends to /dev/hostdata
        goes to `data'. arguments: more of QEMU's."""
        machine = Boot(self.options.machine, self.qemu, self.kernel, self.initrd)
        machine.command += arguments
        self._announce(machine.command)
        output = Output(self.options.verbose, self.options.kernel_file)

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
        self.complaints = machine.complaints
        return outcome

    def interact(self) -> Outcome:
        """Boot with a shell on our terminal."""
        machine, fds = self.options.machine, (self.kernel, self.initrd)
        self._announce(machine.command(self.qemu, *fds, framed=False))
        complain(HINT if sys.stdin.isatty() else NO_TERMINAL, self.me)
        return interact(machine, self.qemu, *fds)

    def _announce(self, command: list[str]) -> None:
        """QEMU's command line, if it is to be shown; and, to somebody who waits, the
        port at which the machine waits for a debugger."""
        if self.options.verbose:
            complain(shlex.join(command), self.me)
        port = self.options.machine.gdb
        if port and self._is_watched():
            complain(
                f"waiting for gdb at port {port}: run make gdb GDB_PORT={port}", self.me
            )

    def _is_watched(self) -> bool:
        return self.options.command is None or sys.stderr.isatty()


# --- How it ends --------------------------------------------------------------


class Stopped(BaseException):
    """A signal told us to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def stop(number: int, _frame: object) -> NoReturn:
    for each in STOP_SIGNALS:  # once is enough
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


def attempt(action: Callable[[], Outcome], me: str) -> Outcome:
    """The outcome of the action. An exception becomes an outcome with its reason."""
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


def reported(
    words: list[str],
    action: Callable[[], Outcome],
    me: str,
    parser: Callable[[], Parser],
) -> int:
    """The status of the action, after a line that says what went wrong, if anything
    did. The file of --report is written even if other options are wrong."""
    for number in STOP_SIGNALS:
        signal.signal(number, stop)
    report = early_report(words, parser)
    outcome = attempt(action, me)
    if outcome.text:
        complain(outcome.text, me)
    try:
        if report:
            facts = {"status": outcome.status, "reason": outcome.reason}
            put(report, (json.dumps(facts) + "\n").encode())
    except OSError as error:
        complain(f"can't write the report: {explained(error)}", me)
        return STATUS_SETUP
    return outcome.status
