"""A profile: the samples of any profiler."""

from __future__ import annotations

import dataclasses
import os
from typing import NamedTuple, Optional

from tally.formats.digest import Digest
from tally.formats.header import header

USER = "user"
KERNEL = "kernel"
INTERRUPT = "interrupt"
IDLE = "idle"
MODES = (USER, KERNEL, INTERRUPT, IDLE)

KERNEL_BASE = header("kernel/base/layout.h")["DIRECT_BASE"]  # kernel addresses
DEFAULT_HZ = 100
NANOSECONDS = 1_000_000_000
HZ_MAX = NANOSECONDS  # a period is at least 1 ns
# The last second since 1970 whose nanoseconds have 63 bits: in the year 2262.
LAST_SECOND = (1 << 63) // NANOSECONDS - 1
FREE = "the machine ran freely (no -icount): times and shares reflect QEMU's speed"


class Unfit(Exception):
    """The output can't be made, or would be far too large; the text says why."""


class Sample(NamedTuple):
    """One sample, or several equal ones.

    pc is None if the profiler recorded only a count. user has, for a sample in the
    kernel, the address where the process will continue, then its callers; for a sample
    in user mode only the callers. Stacks are innermost first. An odd address is not a
    return address: minus 1 it is the place that a trap or a signal interrupted.
    """

    mode: str
    count: int = 1  # type: ignore[assignment]  # a tuple has one
    pc: Optional[int] = None
    hart: Optional[int] = None
    pid: Optional[int] = None  # 0: no process
    level: Optional[int] = None
    kernel: tuple[int, ...] = ()  # return addresses
    user: tuple[int, ...] = ()
    cut_kernel: bool = False  # it has more callers, which aren't known
    cut_user: bool = False
    time: Optional[int] = None  # nanoseconds since the recording began
    process: Optional[int] = None  # which of the profile's processes
    thread: Optional[int] = None  # of that process

    def user_addresses(self) -> list[int]:
        """Returns all addresses in the process's program."""
        mine = [self.pc] if self.mode == USER and self.pc is not None else []
        return [*mine, *self.user]


class Process(NamedTuple):
    """A process, as long as it runs one program: exec begins the next."""

    pid: int
    parent: Optional[int]
    program: str  # its absolute path in the guest; "": unknown
    digest: Optional[Digest]  # of the program's file; None: unknown
    begin: int  # nanoseconds since the recording began
    end: Optional[int]  # None: it was still running at the end
    name: str = ""  # of the executed file: the program or a script

    @property
    def command(self) -> Optional[str]:
        return self.name or os.path.basename(self.program) or None


@dataclasses.dataclass
class Profile:
    """A file's samples, in the order of the recording."""

    source: str  # the kind of file
    samples: list[Sample] = dataclasses.field(default_factory=list)
    hz: Optional[int] = None  # samples a second on each hart; None: unknown
    begin: Optional[int] = None  # seconds since 1970
    end: Optional[int] = None
    elapsed: Optional[int] = None  # nanoseconds to the last event, if events have times
    lost: int = 0  # samples
    lost_more: bool = False  # more than that: the count reached its limit
    whole: bool = True  # no part of the recording is missing
    notes: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)
    width: int = 2  # bytes of text for each counter
    text: Optional[tuple[int, int]] = None  # the range that was counted
    calls: list[tuple[int, int, int]] = dataclasses.field(default_factory=list)
    processes: list[Process] = dataclasses.field(default_factory=list)
    # The last process of a context, by the context's number and its pid.
    contexts: dict[tuple[int, int], int] = dataclasses.field(default_factory=dict)
    kernel: Optional[Digest] = None  # of the guest's /boot/kernel
    skipped: int = 0  # samples that were due but not taken
    unit: str = "sample"  # or "instruction", of which none is missing
    free: bool = False  # no -icount: shares depend on the host, without intervals

    @property
    def exact(self) -> bool:
        return self.unit != "sample"

    @property
    def missing(self) -> int:
        """The number of samples that were due but are not in the profile."""
        return self.skipped + self.lost

    @property
    def total(self) -> int:
        return sum(s.count for s in self.samples)

    @property
    def rate(self) -> int:
        return self.hz or DEFAULT_HZ

    @property
    def period(self) -> int:
        """Nanoseconds between samples; for instructions 1."""
        return 1 if self.exact else round(NANOSECONDS / self.rate)

    def remarks(self) -> list[str]:
        """Returns notes and warnings for the reader of a profile."""
        return [*self.notes, *self.cautions()]

    def cautions(self) -> list[str]:
        """Returns the warnings only, and how many samples are lost."""
        said = list(self.warnings)
        if self.lost:
            more = " or more" if self.lost_more else ""
            word = "sample" if self.lost == 1 else "samples"
            said.append(f"{self.lost}{more} {word} lost")
        return said


def is_kernel(address: int) -> bool:
    return address >= KERNEL_BASE
