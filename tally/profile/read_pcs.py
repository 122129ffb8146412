"""A stream of /dev/pcs: buffers of records, see pcs(4) and <sys/pcs.h>.

Programs that store it put buffers of their own before and after: START, what
was asked of the device, STOP. A call stack may follow a sample.
"""

from __future__ import annotations

import struct
from typing import Callable, Iterator

from tally.base.errors import ConvertError
from tally.profile import events
from tally.profile.profile import (
    IDLE,
    INTERRUPT,
    KERNEL,
    KERNEL_BASE,
    USER,
    Profile,
    Sample,
)

BUFFER = 512  # bytes
HEADER = 4
RECORD = 8  # each record is a multiple of it
TAIL = (BUFFER - HEADER) % RECORD
ALL_LOST = 32767  # records that a buffer's header can count

(
    R_KERNEL,
    R_USER,
    R_IDLE,
    R_MKERNEL,
    R_MUSER,
    R_START,
    R_STOP,
    R_IOCTL,
    R_KERNELI,
    R_MKERNELI,
    R_STACK,
) = range(1, 12)

SINGLE = {R_KERNEL: KERNEL, R_USER: USER, R_KERNELI: INTERRUPT}
MERGED = {R_IDLE: IDLE, R_MKERNEL: KERNEL, R_MUSER: USER, R_MKERNELI: INTERRUPT}
IOCTL_SIZE = 24
CUTS = 6  # how a stack's kernel or user part may end; 0: with the outermost call

REQUESTS = {
    1: "BUF_INCR",
    2: "PROF_KERNEL",
    4: "PROF_ALL",
    8: "PROF_GROUP",
    16: "PROF_LIST",
    64: "PROF_STACK",
    160: "PROF_EVENTS",
}


class _Damaged(Exception):
    pass


def _extend(pc: int) -> int:
    """A kernel's address, of which only the low 32 bits are recorded."""
    return pc | KERNEL_BASE if pc & 0x80000000 else pc


def _size(buffer: bytes, at: int) -> int:
    kind = buffer[at]
    if kind == R_IOCTL:
        return IOCTL_SIZE
    if kind in events.LAYOUTS:
        return _event_size(kind, buffer[at + 1] * RECORD)
    if kind == R_STACK:
        return (4 + 4 * buffer[at + 1] + RECORD - 1) & ~(RECORD - 1)
    if kind not in SINGLE and kind not in MERGED and kind not in (R_START, R_STOP):
        raise _Damaged(f"no record is of type {kind}")
    return RECORD


def _event_size(kind: int, size: int) -> int:
    head = 0 if kind in events.OWN_HEAD else events.HEAD.size
    if size < head + events.LAYOUTS[kind].size:
        raise _Damaged(f"no record of type {kind} has {size} bytes")
    return size


def records(buffer: bytes) -> Iterator[bytes]:
    """A buffer's records."""
    (unused,) = struct.unpack_from("<H", buffer)
    end = BUFFER - unused
    if end < HEADER or (end - HEADER) % RECORD:
        raise _Damaged(f"{unused} bytes of it can't be unused")
    at = HEADER
    while at < end:
        size = _size(buffer, at)
        if at + size > end:
            raise _Damaged("its last record is cut off")
        yield buffer[at : at + size]
        at += size


def looks_like(data: bytes) -> bool:
    """Is the first buffer one of records? One that is cut short may be."""
    if len(data) < BUFFER:
        return len(data) > HEADER and data[HEADER] == R_START
    try:
        list(records(data[:BUFFER]))
    except _Damaged:
        return False
    return True


class _Reader:
    def __init__(self) -> None:
        self.profile = Profile("pcs stream")
        self.events = events.Events(self.profile)
        self.requests: list[str] = []
        self.stopped = False

    def buffer(self, buffer: bytes) -> None:
        (lost,) = struct.unpack_from("<h", buffer, 2)
        if lost < 0:
            raise _Damaged(f"{lost} records can't be lost")
        self.profile.lost += lost
        self.profile.lost_more |= lost == ALL_LOST
        before = 0
        self.events.buffer()
        for record in records(buffer):
            if record[0] == R_STACK and before not in SINGLE:
                raise _Damaged("a call stack is without its sample")
            self.record(record)
            before = record[0]

    def record(self, record: bytes) -> None:
        kind = record[0]
        if kind in SINGLE:
            self.single(record)
        elif kind in MERGED:
            hart, count = struct.unpack_from("<xBh", record)
            if count < 0:
                raise _Damaged(f"a count is {count}")
            self.profile.samples.append(Sample(MERGED[kind], count, hart=hart))
        elif kind in events.LAYOUTS:
            self.events.record(record)
        else:
            rest: dict[int, Callable[[bytes], None]] = {
                R_START: self.start,
                R_STOP: self.stop,
                R_IOCTL: self.request,
                R_STACK: self.stack,
            }
            rest[kind](record)

    def single(self, record: bytes) -> None:
        kind, space, pid, pc = struct.unpack("<BBhI", record)
        mode = SINGLE[kind]
        self.profile.samples.append(
            Sample(
                mode,
                1,
                pc if mode == USER else _extend(pc),
                hart=space & 15,
                pid=pid,
                level=space >> 4,
            )
        )
        self.events.sample()

    def start(self, record: bytes) -> None:
        (when,) = struct.unpack_from("<4xI", record)
        if self.profile.begin is None:
            self.profile.begin = when
        self.stopped = False

    def stop(self, record: bytes) -> None:
        (self.profile.end,) = struct.unpack_from("<4xI", record)
        self.stopped = True

    def request(self, record: bytes) -> None:
        command, *data = struct.unpack_from("<4xi5h", record)
        name = REQUESTS.get(command & 0xFF, f"{command:#x}")
        if name in ("PROF_GROUP", "BUF_INCR"):
            name += f" {data[0]}"
        elif name == "PROF_LIST":
            name += "".join(f" {pid}" for pid in data if pid)
        self.requests.append(name)

    def stack(self, record: bytes) -> None:
        n, nkernel, cut = struct.unpack_from("<xBBB", record)
        if nkernel > n:
            raise _Damaged(f"{nkernel} of a stack's {n} frames can't be the kernel's")
        if max(cut >> 4, cut & 15) >= CUTS:
            raise _Damaged(f"a stack is cut for no reason: {cut:#04x}")
        pcs = struct.unpack_from(f"<{n}I", record, 4)
        samples = self.profile.samples
        samples[-1] = samples[-1]._replace(
            kernel=tuple(map(_extend, pcs[:nkernel])),
            user=pcs[nkernel:],
            cut_kernel=cut >> 4 != 0,
            cut_user=cut & 15 != 0,
        )

    def finish(self) -> Profile:
        self.events.finish()
        if self.requests:
            self.profile.notes.append("asked for " + ", ".join(self.requests))
        if self.profile.begin is not None and not self.stopped:
            self.profile.warnings.append("not stopped: the end may be missing")
        return self.profile


def read(file: str, data: bytes) -> Profile:
    reader = _Reader()
    whole = len(data) // BUFFER
    if len(data) % BUFFER:
        raise ConvertError(
            file, f"truncated: {len(data) % BUFFER} bytes of buffer {whole + 1}"
        )
    for i in range(whole):
        try:
            reader.buffer(data[i * BUFFER : (i + 1) * BUFFER])
        except _Damaged as error:
            raise ConvertError(
                file, f"not a pcs stream: buffer {i + 1}: {error}"
            ) from None
    return reader.finish()
