"""Streams of pcs as getpc stores them: see include/sys/pcs.h."""

from __future__ import annotations

import struct

BSIZE = 512
NUMSAMPS = 63

KERNEL, USER, IDLE, MKERNEL, MUSER, START, STOP, IOCTL, KERNELI, MKERNELI, STACK = (
    range(1, 12)
)
BUF_INCR, PROF_KERNEL, PROF_ALL, PROF_GROUP, PROF_LIST, PROF_STACK = (
    0x5000 | bit for bit in (0o1, 0o2, 0o4, 0o10, 0o20, 0o100)
)
SEAL, PROF_SEAL = 21, 0x5000 | 0o201
MADE_BY_GETPC = (START, STOP, IOCTL)


def logbuf(*records: bytes, lost: int = 0) -> bytes:
    data = b"".join(records)
    unused = BSIZE - 4 - len(data)
    return struct.pack("<HH", unused, lost) + data + bytes(unused)


def seal(buffers: list[bytes], recording: int = 0) -> list[bytes]:
    """A stream's buffers as getpc stores them, each with a SEAL; they have room."""
    sealed, hits = [], 0
    for sequence, buffer in enumerate(buffers):
        (unused,) = struct.unpack_from("<H", buffer)
        at = BSIZE - unused
        data = bytearray(buffer)
        struct.pack_into("<H", data, 0, unused - 16)
        struct.pack_into("<BBHIII", data, at, SEAL, 2, recording, sequence, hits, 0)
        words = struct.unpack("<128I", data)
        total = sum((128 - i) * word for i, word in enumerate(words))
        struct.pack_into("<I", data, at + 12, total % 0xFFFFFFFF)
        sealed.append(bytes(data))
        for record in records(buffer):
            if record[0] in (KERNEL, USER, KERNELI):
                hits += 1
            elif record[0] in (IDLE, MKERNEL, MUSER, MKERNELI):
                hits += struct.unpack_from("<h", record, 2)[0]
    return sealed


def unseal(stream: bytes) -> list[bytes]:
    """The buffers of a sealed stream, as before seal()."""
    buffers = []
    for i in range(0, len(stream), BSIZE):
        buffer = bytearray(stream[i : i + BSIZE])
        (unused,) = struct.unpack_from("<H", buffer)
        at = BSIZE - unused - 16
        assert buffer[at] == SEAL
        buffer[at : at + 16] = bytes(16)
        struct.pack_into("<H", buffer, 0, unused + 16)
        buffers.append(bytes(buffer))
    return buffers


def logbufs(records: list[bytes]) -> bytes:
    """As the device gives them: only full ones."""
    assert len(records) % NUMSAMPS == 0
    parts = range(0, len(records), NUMSAMPS)
    return b"".join(logbuf(*records[i : i + NUMSAMPS]) for i in parts)


def psample(type: int, pid: int, pc: int, hart: int = 0, level: int = 0) -> bytes:
    return struct.pack("<BBHI", type, level << 4 | hart, pid, pc & 0xFFFFFFFF)


def msample(type: int, count: int, hart: int = 0) -> bytes:
    return struct.pack("<BBHI", type, hart, count, 0)


def records(stream: bytes) -> list[bytes]:
    """What is in all buffers."""
    found = []
    for buffer in (stream[i : i + BSIZE] for i in range(0, len(stream), BSIZE)):
        (unused,) = struct.unpack_from("<H", buffer)
        at = 4
        while at < BSIZE - unused:
            size = {IOCTL: 24, STACK: (4 + 4 * buffer[at + 1] + 7) & ~7}
            if buffer[at] > STACK:  # an event, or a SEAL
                size[buffer[at]] = 8 * buffer[at + 1]
            found.append(buffer[at : at + size.get(buffer[at], 8)])
            at += len(found[-1])
        assert at == BSIZE - unused
    return found


def start(time: int) -> bytes:
    return struct.pack("<BxxxI", START, time)


def stop(time: int) -> bytes:
    return struct.pack("<BxxxI", STOP, time)


def request(cmd: int, *data: int) -> bytes:
    words = [*data, 0, 0, 0, 0, 0][:5]
    return struct.pack("<Bxxxi5H6x", IOCTL, cmd, *words)


def stack(kernel: list[int], user: list[int], cut: int = 0) -> bytes:
    pcs = [pc & 0xFFFFFFFF for pc in [*kernel, *user]]
    data = struct.pack(f"<BBBB{len(pcs)}I", STACK, len(pcs), len(kernel), cut, *pcs)
    return data + bytes(-len(data) % 8)
