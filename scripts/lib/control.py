"""What the machine did, from QEMU itself: its control socket (QMP).

The serial line can't tell: there a program may print whatever a machine would.
"""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Iterator


class Control:
    """The socket of one QEMU, which inherits the other end."""

    def __init__(self, starts: bool) -> None:
        """starts: the machine runs at once; else a debugger starts it.

        It does once QEMU has read that we want to hear of events, so that none
        comes too early.
        """
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._starts = starts
        for command in ["qmp_capabilities"] + ["cont"] * starts:
            self._ours.sendall(json.dumps({"execute": command}).encode())

    @property
    def fd(self) -> int:
        return self._theirs.fileno()

    def options(self) -> list[str]:
        """For QEMU's command line."""
        chardev = f"socket,id=control,fd={self.fd}"
        options = ["-chardev", chardev, "-mon", "chardev=control,mode=control"]
        return options + ["-S"] * self._starts

    def restarted(self) -> bool:
        """Once QEMU has exited: was it because the guest reset the machine?"""
        return any(
            said.get("event") == "SHUTDOWN"
            and said["data"]["reason"] == "guest-reset"
            for said in self._said()
        )

    def _said(self) -> Iterator[dict]:
        data = bytearray()
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            while piece := self._ours.recv(1 << 16):
                data += piece
        for line in data.splitlines():
            yield json.loads(line)

    def __enter__(self) -> Control:
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.close()
        self._theirs.close()
