"""What was sampled, whichever profiler recorded it."""

from __future__ import annotations

import dataclasses
import os
from typing import NamedTuple, Optional

from tally.formats.digest import Digest
from tally.formats.header import Header

USER = "user"
KERNEL = "kernel"
INTERRUPT = "interrupt"
IDLE = "idle"
MODES = (USER, KERNEL, INTERRUPT, IDLE)

KERNEL_BASE = Header("kernel/base/layout.h")["DIRECT_BASE"]  # kernel addresses
DEFAULT_HZ = 100
NANOSECONDS = 1_000_000_000
HZ_MAX = NANOSECONDS  # of whole nanoseconds there are no shorter ones
# The last second since 1970 whose nanoseconds have 63 bits: in the year 2262.
LAST_SECOND = (1 << 63) // NANOSECONDS - 1
FREE = "the machine ran freely (no -icount): times and shares are the emulator's"


class Unfit(Exception):
    """Why there can be no output of a kind, or only one out of proportion."""


class Sample(NamedTuple):
    """One sample, or several that are alike.

    pc is None where the profiler only counted them. user is, for a sample in
    the kernel, where the process will go on and its callers; for one in user
    mode only the callers. Stacks are innermost first. An odd address in one is
    no return address: one less is what a trap or a signal interrupted.
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
        """All that lie in the process's program."""
        mine = [self.pc] if self.mode == USER and self.pc is not None else []
        return [*mine, *self.user]


class Process(NamedTuple):
    """A process, as long as it runs one program: exec begins the next."""

    pid: int
    parent: Optional[int]
    program: str  # its absolute path in the guest; "": unknown
    digest: Optional[Digest]  # of the program's file; None: it was gone
    begin: int  # nanoseconds since the recording began
    end: Optional[int]  # None: it went on
    name: str = ""  # what was executed: the program's, or a script's

    @property
    def command(self) -> Optional[str]:
        return self.name or os.path.basename(self.program) or None


@dataclasses.dataclass
class Profile:
    """A file's samples, in the order they were recorded in."""

    source: str  # what kind of file it was
    samples: list[Sample] = dataclasses.field(default_factory=list)
    hz: Optional[int] = None  # samples a second on each hart, if it says so
    begin: Optional[int] = None  # seconds since 1970
    end: Optional[int] = None
    lost: int = 0  # samples
    lost_more: bool = False  # than that: the count was at its limit
    notes: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)
    width: int = 2  # bytes of text that a counter is for
    text: Optional[tuple[int, int]] = None  # the range that was counted
    calls: list[tuple[int, int, int]] = dataclasses.field(default_factory=list)
    processes: list[Process] = dataclasses.field(default_factory=list)
    # Which of them a thread's context was last, by its number and its pid.
    contexts: dict[tuple[int, int], int] = dataclasses.field(default_factory=dict)
    kernel: Optional[Digest] = None  # of the guest's /boot/kernel
    skipped: int = 0  # samples that fell due, and weren't taken
    unit: str = "sample"  # what is counted; of instructions, none is missing
    free: bool = False  # shares follow the host's time, so that none is sure

    @property
    def exact(self) -> bool:
        return self.unit != "sample"

    @property
    def missing(self) -> int:
        """Samples that fell due, and aren't here."""
        return self.skipped + self.lost

    @property
    def total(self) -> int:
        return sum(s.count for s in self.samples)

    @property
    def rate(self) -> int:
        return self.hz or DEFAULT_HZ

    @property
    def period(self) -> int:
        """Nanoseconds from sample to sample; of instructions 1."""
        return 1 if self.exact else round(NANOSECONDS / self.rate)

    def remarks(self) -> list[str]:
        """What somebody who looks at the samples should know."""
        return [*self.notes, *self.cautions()]

    def cautions(self) -> list[str]:
        """What they must know: samples are missing."""
        said = list(self.warnings)
        if self.lost:
            more = " or more" if self.lost_more else ""
            word = "sample" if self.lost == 1 else "samples"
            said.append(f"{self.lost}{more} {word} lost")
        return said


def is_kernel(address: int) -> bool:
    return address >= KERNEL_BASE
