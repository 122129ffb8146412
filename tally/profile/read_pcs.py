"""Reads a stream of /dev/pcs: buffers of records, see pcs(4) and <sys/pcs.h>.

Programs that store it put buffers of their own before and after it: START, the requests
to the device, STOP. A call stack may follow a sample. Of a sealed stream what is left
is read, and what is missing is counted.
"""

from __future__ import annotations

import struct
from typing import Callable, Iterator, Optional

from tally.base.errors import ConvertError
from tally.profile import events, logbufs
from tally.profile.profile import (
    IDLE,
    INTERRUPT,
    KERNEL,
    KERNEL_BASE,
    USER,
    Profile,
    Sample,
)

PCS = events.PCS
BUFFER, HEAD, RECORD = logbufs.SIZE, logbufs.HEAD, logbufs.RECORD
ALL_LOST = 32767  # the most lost records that a header can count

PSAMPLE, MSAMPLE = PCS.layout("PSAMPLE"), PCS.layout("MSAMPLE")
SSAMPLE, ISAMPLE = PCS.layout("SSAMPLE"), PCS.layout("ISAMPLE")
STKSAMPLE = PCS.layout("STKSAMPLE")

SINGLE = {PCS["KERNEL"]: KERNEL, PCS["USER"]: USER, PCS["KERNELI"]: INTERRUPT}
MERGED = {
    PCS["IDLE"]: IDLE,
    PCS["MKERNEL"]: KERNEL,
    PCS["MUSER"]: USER,
    PCS["MKERNELI"]: INTERRUPT,
}
START, STOP, IOCTL, STACK = (PCS[n] for n in ("START", "STOP", "IOCTL", "STACK"))
SEAL = PCS["SEAL"]
SIZES = {IOCTL: ISAMPLE.size, SEAL: logbufs.SEAL.size}
SIZES.update(dict.fromkeys([*SINGLE, *MERGED, START, STOP], RECORD))
CUTS = PCS["STACK_FRAMELESS"] + 1  # the number of reasons why a stack is cut

REQUESTS = {
    PCS[name]: name
    for name in (
        "BUF_INCR",
        "PROF_KERNEL",
        "PROF_ALL",
        "PROF_GROUP",
        "PROF_LIST",
        "PROF_STACK",
        "PROF_EVENTS",
        "PROF_SEAL",
    )
}


class _Damaged(Exception):
    pass


def _extend(pc: int) -> int:
    """Completes a kernel address, of which only the low 32 bits are recorded."""
    return pc | KERNEL_BASE if pc & 0x80000000 else pc


def _size(buffer: bytes, at: int) -> int:
    kind = buffer[at]
    if kind in events.LAYOUTS:
        size = buffer[at + 1] * RECORD
        if size < events.LAYOUTS[kind].size:
            raise _Damaged(f"a record of type {kind} can't have {size} bytes")
        return size
    if kind == STACK:
        return (STKSAMPLE.size + 4 * buffer[at + 1] + RECORD - 1) & ~(RECORD - 1)
    if kind not in SIZES:
        raise _Damaged(f"unknown record type {kind}")
    return SIZES[kind]


def records(buffer: bytes) -> Iterator[bytes]:
    """Yields a buffer's records."""
    unused = HEAD.unpack(buffer).h_unused
    end = BUFFER - unused
    if end < HEAD.size or (end - HEAD.size) % RECORD:
        raise _Damaged(f"invalid header: it says that {unused} bytes are unused")
    at = HEAD.size
    while at < end:
        size = _size(buffer, at)
        if at + size > end:
            raise _Damaged("its last record is cut off")
        yield buffer[at : at + size]
        at += size


def looks_like(data: bytes) -> bool:
    """Does the first buffer consist of records, or is any buffer sealed? A truncated
    one is accepted if it begins with START."""
    if len(data) < BUFFER:
        return len(data) > HEAD.size and data[HEAD.size] == START
    try:
        list(records(data[:BUFFER]))
    except _Damaged:
        return logbufs.is_sealed(data)
    return True


class _Reader:
    def __init__(self) -> None:
        self.profile = Profile("pcs stream")
        self.events = events.Events(self.profile)
        self.requests: list[str] = []
        self.stopped = False
        self.hits = 0  # samples, as far as the buffers have been read
        self.sequence = 0  # of the next buffer, if they are sealed
        self.recording: Optional[int] = None  # the number in their seals
        self.missing = 0  # buffers, and
        self.lost = 0  # samples in them
        self.foreign = 0  # buffers of another recording

    def buffer(self, buffer: bytes) -> None:
        lost = HEAD.unpack(buffer).h_numlost
        if lost < 0:
            raise _Damaged(f"invalid header: its number of lost records is {lost}")
        self.profile.lost += lost
        self.profile.lost_more |= lost == ALL_LOST
        before = 0
        first = len(self.profile.samples)
        self.events.buffer()
        for record in records(buffer):
            if record[0] == STACK and before not in SINGLE:
                raise _Damaged("a stack without a sample")
            self.record(record)
            before = record[0]
        self.hits += sum(s.count for s in self.profile.samples[first:])

    def wants(self, seal: logbufs.Seal) -> bool:
        """Counts what is missing before a sealed buffer. Returns False if the buffer is
        of another recording, or was there already."""
        if self.recording is None:
            self.recording = seal.recording
        if seal.recording != self.recording:
            self.foreign += 1
            return False
        if seal.sequence < self.sequence:
            return False
        if seal.sequence > self.sequence:
            self.missing += seal.sequence - self.sequence
            self.lost += (seal.hits - self.hits - self.lost) % logbufs.MODULUS
        self.sequence = seal.sequence + 1
        return True

    def record(self, record: bytes) -> None:
        kind = record[0]
        if kind in SINGLE:
            self.single(record)
        elif kind in MERGED:
            hits = MSAMPLE.unpack(record)
            if hits.count < 0:
                raise _Damaged(f"a sample can't have the count {hits.count}")
            self.profile.samples.append(
                Sample(MERGED[kind], hits.count, hart=hits.cfill)
            )
        elif kind in events.LAYOUTS:
            self.events.record(record)
        else:
            rest: dict[int, Callable[[bytes], None]] = {
                START: self.start,
                STOP: self.stop,
                IOCTL: self.request,
                STACK: self.stack,
                SEAL: lambda record: None,
            }
            rest[kind](record)

    def single(self, record: bytes) -> None:
        kind, space, pid, pc = PSAMPLE.unpack(record)
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
        if self.profile.begin is None:
            self.profile.begin = SSAMPLE.unpack(record).stime
        self.stopped = False

    def stop(self, record: bytes) -> None:
        self.profile.end = SSAMPLE.unpack(record).stime
        self.stopped = True

    def request(self, record: bytes) -> None:
        _, _, command, data, _ = ISAMPLE.unpack(record)
        name = REQUESTS.get(command, f"{command:#x}")
        if name in ("PROF_GROUP", "BUF_INCR"):
            name += f" {data[0]}"
        elif name == "PROF_LIST":
            name += "".join(f" {pid}" for pid in data if pid)
        self.requests.append(name)

    def stack(self, record: bytes) -> None:
        _, n, nkernel, cut = STKSAMPLE.unpack(record)
        if nkernel > n:
            raise _Damaged(
                f"invalid stack: {n} frames, {nkernel} of them in the kernel"
            )
        if max(cut >> 4, cut & 15) >= CUTS:
            raise _Damaged(f"unknown reason for a truncated stack: {cut:#04x}")
        pcs = struct.unpack_from(f"<{n}I", record, STKSAMPLE.size)
        samples = self.profile.samples
        samples[-1] = samples[-1]._replace(
            kernel=tuple(map(_extend, pcs[:nkernel])),
            user=pcs[nkernel:],
            cut_kernel=cut >> 4 != 0,
            cut_user=cut & 15 != 0,
        )

    def _finish_lost(self) -> None:
        """Sets how many samples are lost: what getpc says at the end, or else what the
        headers of the buffers say; and those in missing buffers."""
        profile, account = self.profile, self.events.lost
        if account is not None:
            profile.lost = account
        profile.lost_more = account is None and (
            profile.lost_more or bool(self.missing)
        )
        if not self.missing:
            return
        profile.whole = False
        profile.lost += self.lost
        profile.warnings.append(
            f"buffers missing or damaged: {self.missing:,} of the first"
            f" {self.sequence:,}, with {self.lost:,} samples"
        )

    def finish(self) -> Profile:
        self.events.finish()
        self._finish_lost()
        if self.foreign:
            self.profile.warnings.append(
                f"buffers of another recording: {self.foreign:,}"
            )
        if self.requests:
            self.profile.notes.append("asked for " + ", ".join(self.requests))
        begun = self.profile.begin is not None or self.sequence
        if begun and not self.stopped:
            self.profile.warnings.append(
                "the recording wasn't stopped: its end may be missing"
            )
            self.profile.whole = False
        return self.profile


def _buffers(file: str, data: bytes) -> Iterator[tuple[Optional[logbufs.Seal], bytes]]:
    """Yields all buffers, with their seals. Nothing may be missing if none has one."""
    if logbufs.is_sealed(data):
        yield from logbufs.sealed(data)
        return
    whole = len(data) // BUFFER
    if len(data) % BUFFER:
        raise ConvertError(
            file, f"truncated: {len(data) % BUFFER} bytes of buffer {whole + 1}"
        )
    for i in range(whole):
        yield None, data[i * BUFFER : (i + 1) * BUFFER]


def read(file: str, data: bytes) -> Profile:
    reader = _Reader()
    for i, (seal, buffer) in enumerate(_buffers(file, data)):
        if seal and not reader.wants(seal):
            continue
        number = (seal.sequence if seal else i) + 1
        try:
            reader.buffer(buffer)
        except _Damaged as error:
            raise ConvertError(
                file, f"not a pcs stream: buffer {number}: {error}"
            ) from None
    return reader.finish()
