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
MADE_BY_GETPC = (START, STOP, IOCTL)


def logbuf(*records: bytes, lost: int = 0) -> bytes:
    data = b"".join(records)
    unused = BSIZE - 4 - len(data)
    return struct.pack("<HH", unused, lost) + data + bytes(unused)


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
