"""Profiles made by hand: the bytes that the profilers' tools would store."""

from __future__ import annotations

import struct
from typing import Iterable, Sequence

BUFFER = 512  # bytes of a LOGBUF
ROOM = 504  # of them for records
(KERNEL, USER, IDLE, MKERNEL, MUSER, START, STOP, IOCTL, KERNELI, MKERNELI,
 STACK) = range(1, 12)
MOMENT, AT, BORN, EXECED, MAPPED, EXITED, CLOCKED, FILED = range(12, 20)


# --- pcs ---------------------------------------------------------------------


def psample(
    kind: int, pc: int, pid: int = 0, hart: int = 0, level: int = 0
) -> bytes:
    return struct.pack("<BBhI", kind, level << 4 | hart, pid, pc & 0xFFFFFFFF)


def msample(kind: int, count: int, hart: int = 0) -> bytes:
    return struct.pack("<BBhI", kind, hart, count, 0)


def stack(
    kernel: Sequence[int] = (), user: Sequence[int] = (), cut: int = 0
) -> bytes:
    pcs = [pc & 0xFFFFFFFF for pc in (*kernel, *user)]
    record = struct.pack(f"<BBBB{len(pcs)}I", STACK, len(pcs), len(kernel), cut, *pcs)
    return record + bytes(-len(record) % 8)


def ssample(kind: int, seconds: int) -> bytes:
    return struct.pack("<BBxxI", kind, 0, seconds)


def isample(request: int, data: Sequence[int] = ()) -> bytes:
    padded = [*data, *[0] * (5 - len(data))]
    return struct.pack("<BBxxi5h6x", IOCTL, 0, ord("P") << 8 | request, *padded)


def event(kind: int, context: int, pid: int, time: int, rest: bytes) -> bytes:
    rest += bytes(-len(rest) % 8)
    return struct.pack("<BBHiQ", kind, 2 + len(rest) // 8, context, pid, time) + rest


def born(context: int, pid: int, time: int, of: int = 0, parent: int = 1) -> bytes:
    return event(BORN, context, pid, time, struct.pack("<HhI", of, parent, pid))


def execed(context: int, pid: int, time: int, name: bytes, of: int = 0) -> bytes:
    rest = struct.pack("<HhI16s", of, 0, pid, name)
    return event(EXECED, context, pid, time, rest)


def mapped(context: int, pid: int, time: int, path: bytes, ino: int = 1) -> bytes:
    rest = struct.pack("<4Qq", 0x10000, 4096, 0, ino, 0) + path + b"\0"
    return event(MAPPED, context, pid, time, rest)


def exited(pid: int, time: int) -> bytes:
    return event(EXITED, 0, pid, time, bytes(8))


def clocked(time: int, hz: int, timebase: int) -> bytes:
    return event(CLOCKED, 0, 0, time, struct.pack("<IIQQq", hz, 0, 0, timebase, 0))


def filed(path: bytes, size: int, crc: int, blocks: int = 0, ino: int = 1) -> bytes:
    rest = struct.pack("<QqQII", ino, 0, size, crc, blocks) + path + b"\0"
    return event(FILED, 0, 0, 0, rest)


def at(context: int, after: int) -> bytes:
    return struct.pack("<BBHI", AT, 1, context, after)


def moment(time: int) -> bytes:
    return struct.pack("<BBBxxxxxQ", MOMENT, 2, 0, time)


def logbuf(records: Iterable[bytes], lost: int = 0) -> bytes:
    body = b"".join(records)
    assert len(body) <= ROOM and len(body) % 8 == 0
    head = struct.pack("<Hh", BUFFER - 4 - len(body), lost)
    return (head + body).ljust(BUFFER, b"\xaa")


def stream(samples: Iterable[Sequence[bytes]]) -> bytes:
    """As many buffers as it takes; what a sample has stays together."""
    buffers, records, size = [], [], 0
    for sample in samples:
        length = sum(map(len, sample))
        if size + length > ROOM:
            buffers.append(logbuf(records))
            records, size = [], 0
        records += sample
        size += length
    return b"".join([*buffers, logbuf(records)])


def session(
    samples: bytes, begin: int, end: int, requests: Sequence[bytes] = ()
) -> bytes:
    """A stream with what getpc puts before and after it."""
    first = logbuf([ssample(START, begin), *requests])
    return first + samples + logbuf([ssample(STOP, end)])


# --- The others ----------------------------------------------------------------


def kpdata(buckets: Sequence[int], user: int = 0) -> bytes:
    inside = sum(buckets)
    return struct.pack(f">{2 + len(buckets)}I", user + inside, inside, *buckets)


def prf_log(
    addresses: Sequence[int], rows: Sequence[tuple[int, Sequence[int]]]
) -> bytes:
    """rows: a time, and the counters: the addresses', user, idle."""
    log = struct.pack(f"<{1 + len(addresses)}Q", len(addresses), *addresses)
    for time, counters in rows:
        assert len(counters) == len(addresses) + 2
        log += struct.pack(f"<{1 + len(counters)}Q", time, *counters)
    return log


def mon(
    low: int,
    high: int,
    counters: Sequence[int],
    cells: Sequence[tuple[int, int]] = (),
) -> bytes:
    head = struct.pack("<3Q", low, high, len(cells))
    calls = b"".join(struct.pack("<2Q", *cell) for cell in cells)
    return head + calls + struct.pack(f"<{len(counters)}H", *counters)


def gmon_histogram(low: int, high: int, counters: Sequence[int], hz: int) -> bytes:
    head = (0, low, high, len(counters), hz, b"seconds", b"s")
    return struct.pack("<BQQII15sc", *head) + struct.pack(
        f"<{len(counters)}H", *counters
    )


def gmon_arc(start: int, target: int, count: int) -> bytes:
    return struct.pack("<BQQI", 1, start, target, count)


def gmon(records: Iterable[bytes], magic: bytes = b"gmon", version: int = 1) -> bytes:
    return struct.pack("<4sI12x", magic, version) + b"".join(records)
