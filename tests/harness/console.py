"""A shell at the guest's console, typed at as a person would."""

from __future__ import annotations

import os
import pexpect
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Optional

from tally import ROOT
from tally.boot.machine import Machine
from tally.verify.patience import HANG

PROMPT = r"\ntally\$ $"


class Console:
    """Start with the first prompt. Nothing is typed before one is seen."""

    def __init__(
        self,
        machine: Machine,
        extra: Optional[Path] = None,
        size: tuple[int, int] = (24, 80),
    ) -> None:
        options = ["--harts", str(machine.harts), "--mem", machine.mem]
        if machine.icount is not None:
            options += ["--icount", str(machine.icount)]
        if machine.cpu is not None:
            options += ["--cpu", machine.cpu]
        if extra is not None:
            options += ["--extra", str(extra)]
        if machine.share is not None:
            options += ["--share", machine.share]
        self.tty = pexpect.spawn(
            str(ROOT / "scripts" / "run"),
            options,
            timeout=HANG,
            dimensions=size,
        )
        self.boot = self.wait()
        assert self.boot.count("OpenSBI v") == 1, self.boot

    def wait(self) -> str:
        """Wait for a prompt; what was shown before it, without returns."""
        self.tty.expect(PROMPT)
        return _text(self.tty.before)

    def expect(self, pattern: str) -> str:
        """Wait for something else; what was shown before it."""
        self.tty.expect(pattern)
        return _text(self.tty.before)

    def watch(self, pattern: str) -> str:
        """The same, with its returns: for a screen."""
        self.tty.expect(pattern)
        return self.tty.before.decode(errors="replace")

    def send(self, keys: str) -> None:
        self.tty.send(keys)

    @contextmanager
    def pasting(self, text: str) -> Iterator[None]:
        """Send a long text, as the guest takes it, while the block reads."""
        sender = threading.Thread(target=self._send_all, args=(text.encode(),))
        sender.start()
        yield
        sender.join(HANG)
        assert not sender.is_alive(), "not all was taken"

    def _send_all(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.tty.child_fd, data) :]

    def control(self, letter: str) -> None:
        self.tty.sendcontrol(letter)

    def run(self, command: str) -> str:
        """Type a command line at the prompt; what it showed."""
        self.tty.send(command + "\r")
        shown = self.wait()
        return shown.partition("\n")[2]  # without the echo of what was typed

    def poweroff(self, command: str = "poweroff") -> int:
        """End the machine from the prompt; its exit status."""
        self.tty.send(command + "\r")
        self.tty.expect(pexpect.EOF)
        self.tty.close()
        return self.tty.exitstatus

    def close(self) -> None:
        """End scripts/run, and QEMU with it. Pexpect itself would wait for only
        a tenth of a second."""
        if not self.tty.closed and self.tty.isalive():
            self.tty.kill(signal.SIGTERM)
            late = threading.Timer(HANG, self.tty.kill, [signal.SIGKILL])
            late.start()
            self.tty.wait()
            late.cancel()
        self.tty.close()


def _text(data: bytes) -> str:
    return data.decode(errors="replace").replace("\r", "")
