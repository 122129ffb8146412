"""Splits the guest's serial line into channels.

A machine booted for a command frames its output: DLE and a letter select the channel
of the bytes that follow, until the next such pair.

    DLE o   the command's standard output
    DLE e   its standard error
    DLE d   data for a script, which is not shown
    DLE c   what programs wrote to the console
    DLE k   the kernel's and the firmware's messages, as at the start
    DLE P   a panic's text, to the end
    DLE L   the time limit's text, to the end
    DLE DLE the byte DLE itself
"""

from __future__ import annotations

DLE = 0x10

STDOUT = "stdout"
STDERR = "stderr"
DATA = "data"
CONSOLE = "console"
BOOT = "boot"
PANIC = "panic"
LIMIT = "limit"

_CHANNELS = {
    ord("o"): STDOUT,
    ord("e"): STDERR,
    ord("d"): DATA,
    ord("c"): CONSOLE,
    ord("k"): BOOT,
    ord("P"): PANIC,
    ord("L"): LIMIT,
}
_FINAL = (PANIC, LIMIT)


class Frames:
    """Decodes the line's bytes, which may come in pieces of any size."""

    def __init__(self) -> None:
        self.channel = BOOT
        self._escaped = False

    def feed(self, data: bytes) -> list[tuple[str, bytes]]:
        """Returns pairs of channel and bytes, in order."""
        pieces: list[tuple[str, bytes]] = []
        start = 0
        while start < len(data):
            if self._escaped:
                self._escaped = False
                start += self._switch(data[start], pieces)
                continue
            end = data.find(DLE, start)
            self._escaped = end >= 0
            if end < 0:
                end = len(data)
            if end > start:
                pieces.append((self.channel, data[start:end]))
            start = end + 1
        return pieces

    def _switch(self, letter: int, pieces: list[tuple[str, bytes]]) -> int:
        """Handles the byte after a DLE; returns how many bytes it used up."""
        if letter == DLE:
            pieces.append((self.channel, bytes([DLE])))
        elif self.channel not in _FINAL:
            if letter not in _CHANNELS:
                return 0  # not the guest's framing: show the byte
            self.channel = _CHANNELS[letter]
        return 1
