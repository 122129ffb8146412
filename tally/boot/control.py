"""QEMU's control socket (QMP), which reports what the machine did.

The serial line is no evidence of that: a program may print anything there.
"""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any, Iterator

PATIENCE = 60.0  # seconds that QEMU may take to answer


class Control:
    """The socket of one QEMU, which inherits the other end."""

    def __init__(self, starts: bool) -> None:
        """starts: the machine runs at once; else a debugger starts it. QEMU starts it
        only after it has enabled events, so that none is missed."""
        self._ours, self._theirs = socket.socketpair()
        self._starts = starts
        self._heard = bytearray()
        self._asked = 0
        for command in ["qmp_capabilities"] + ["cont"] * starts:
            self._send(command)

    def _send(self, command: str, **more: Any) -> None:
        self._ours.sendall(json.dumps({"execute": command, **more}).encode())

    @property
    def fd(self) -> int:
        return self._theirs.fileno()

    def options(self) -> list[str]:
        """Returns the options for QEMU's command line."""
        chardev = f"socket,id=control,fd={self.fd}"
        options = ["-chardev", chardev, "-mon", "chardev=control,mode=control"]
        return options + ["-S"] * self._starts

    def ask(self, command: str, arguments: dict[str, Any]) -> Any:
        """Returns QEMU's answer. Raises EOFError or OSError if QEMU has exited or is
        silent, KeyError if the command failed."""
        self._ours.settimeout(PATIENCE)
        self._asked += 1
        self._send(command, arguments=arguments, id=self._asked)
        while True:
            piece = self._ours.recv(1 << 16)
            if not piece:
                raise EOFError("QEMU has gone")
            self._heard += piece
            for said in self._said():
                if said.get("id") == self._asked:
                    return said["return"]

    def restarted(self) -> bool:
        """Did QEMU exit because the guest reset the machine? Call after its exit."""
        self._ours.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            while piece := self._ours.recv(1 << 16):
                self._heard += piece
        return any(
            said.get("event") == "SHUTDOWN" and said["data"]["reason"] == "guest-reset"
            for said in self._said()
        )

    def _said(self) -> Iterator[dict[str, Any]]:
        """Yields all complete messages received so far."""
        for line in self._heard.split(b"\n")[:-1]:
            yield json.loads(line)

    def __enter__(self) -> Control:
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.close()
        self._theirs.close()
