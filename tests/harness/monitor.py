"""QEMU watched from outside: its monitor, and its debugging stub.

Both are sockets in a folder; `options` are what QEMU is to be given for them.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
from pathlib import Path
from typing import Iterator

from tally.verify.patience import HANG, wait_for


def _connect(path: Path) -> socket.socket:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(HANG)  # for QEMU to answer

    def is_there() -> bool:
        return s.connect_ex(str(path)) == 0

    wait_for(is_there, "QEMU opens its monitor")
    return s


class Monitor:
    """What QEMU says of the machine: of its harts' registers, of its pages."""

    NAME = "qmp"

    @staticmethod
    def options(folder: Path) -> str:
        return f"-qmp unix:{folder}/{Monitor.NAME},server=on,wait=off"

    def __init__(self, folder: Path) -> None:
        self._file = _connect(folder / self.NAME).makefile("rw")
        self._file.readline()  # a greeting
        self.command("qmp_capabilities")

    def command(self, name: str, **arguments: object) -> object:
        json.dump({"execute": name, "arguments": arguments}, self._file)
        self._file.write("\n")
        self._file.flush()
        for line in self._file:
            answer = json.loads(line)
            if "event" not in answer:
                return answer["return"]
        raise EOFError("QEMU has gone")

    def stop(self) -> None:
        self.command("stop")

    def go_on(self) -> None:
        self.command("cont")

    def _ask(self, line: str, hart: int) -> str:
        arguments = {"command-line": line, "cpu-index": hart}
        return str(self.command("human-monitor-command", **arguments))

    def registers(self, hart: int) -> dict[str, int]:
        """By the names that QEMU gives them: pc, mstatus, sscratch, x2/sp.."""
        text = self._ask("info registers", hart)
        found = re.findall(r"(\S+) +([0-9a-f]{16})\b", text)
        return {name: int(value, 16) for name, value in found}

    def pages(self, hart: int) -> Iterator[tuple[int, int, str]]:
        """Address, size and rwxugad of all that the hart's page table maps."""
        rows = re.findall(
            r"^([0-9a-f]{16}) [0-9a-f]{16} ([0-9a-f]{16}) (\S{7})",
            self._ask("info mem", hart),
            re.M,
        )
        return ((int(va, 16), int(size, 16), attr) for va, size, attr in rows)


class Debugger:
    """Breakpoints, as gdb sets them. The machine stands still from the start."""

    NAME = "gdb"

    @staticmethod
    def options(folder: Path) -> str:
        return f"-gdb unix:{folder}/{Debugger.NAME},server=on,wait=off"

    def __init__(self, folder: Path) -> None:
        self._socket = _connect(folder / self.NAME)
        self._data = b""
        self._at: list[int] = []
        assert self._exchange("?").startswith("T")
        # A step is like any instruction, with its interrupts and timers.
        assert self._exchange("Qqemu.sstep=1") == "OK"

    def _exchange(self, packet: str) -> str:
        """The answer; none, if QEMU has gone: maybe in the midst of a word."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            return self._answer(packet.encode())
        return ""

    def _answer(self, data: bytes) -> str:
        self._socket.sendall(b"$%s#%02x" % (data, sum(data) & 0xFF))
        while True:
            # After our packet's +: that it stopped for us, it says unasked.
            found = re.search(rb"\+\$([^#]*)#..", self._data)
            if found:
                self._data = self._data[found.end() :]
                self._socket.sendall(b"+")
                return found[1].decode()
            more = self._socket.recv(4096)
            if not more:
                return ""
            self._data += more

    def _each(self, what: str) -> None:
        for address in self._at:
            assert self._exchange(f"{what}1,{address:x},4") == "OK"

    def break_at(self, *addresses: int) -> None:
        self._at = list(addresses)
        self._each("Z")

    def go_on(self) -> bool:
        """From a breakpoint to the next; False: the machine is off."""
        self._each("z")
        if not self._exchange("s").startswith("T"):
            return False
        self._each("Z")
        return self._exchange("c").startswith("T")

    def leave(self) -> None:
        """The machine runs on by itself."""
        self._each("z")
        assert self._exchange("D") == "OK"
        self._socket.close()
