"""Finds the places in the kernel's code that plugins must know: functions, returns
from traps, and instructions that change SIE."""

from __future__ import annotations

import bisect
import functools
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from tally.formats.elf import FUNCTION, BadElfError, Elf
from tally.formats.header import header
from tally.formats.riscv import (
    A0,
    A1,
    JAL,
    RA,
    STORE,
    SYSTEM,
    T0,
    instruction,
    jal_offset,
)

SSTATUS = 0x100
SIE = 2
SRET = 0x10200073
# funct3 of instructions that write a CSR: from a register, from a 5-bit constant.
WRITES, SETS, CLEARS = (1, 5), (2, 6), (3, 7)

# Calls that show that a trap is not the timer's, or that the exit's work is not
# profil's. Some kernels lack some of them.
NOT_TIMER = (
    "trap_user",
    "trap_kernel",
    "plic_interrupt",
    "tlb_serve",
    "exit_level0",
    "trap_finish",
    "thread_yield",
    "spin_lock",
    "mutex_lock",
)

# Functions in which an interrupt sets SIE.
ENTRIES = ("user_interrupt", "exit_interrupted", "from_kernel")
# Functions that clear SIE to let another hart execute (icount.c).
LETS_OTHERS = {"icount_wait": "waits", "clock_nap": "naps"}


class Function(NamedTuple):
    start: int
    end: int
    name: str


class Code:
    """An executable's text and functions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        elf = Elf(path.read_bytes())
        text = elf.code()
        if text is None:
            raise BadElfError("no code")
        self.start = text.address
        self.text = elf.content(text)
        found = list(elf.symbols())
        self.symbols = {s.name: s.value for s in found}
        functions = {
            s.value: Function(s.value, s.value + s.size, s.name)
            for s in found
            if s.kind == FUNCTION
        }
        self.functions = [functions[start] for start in sorted(functions)]
        self._starts = [f.start for f in self.functions]

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def __contains__(self, address: int) -> bool:
        return self.start <= address < self.end

    def function(self, address: int) -> str:
        """Returns the name of the last function that begins at or before address."""
        at = bisect.bisect_right(self._starts, address) - 1
        return self.functions[at].name if at >= 0 else f"{address:#x}"

    @functools.cached_property
    def instructions(self) -> list[tuple[int, int]]:
        """The address and code of each instruction."""
        decoded, at = [], self.start
        while found := instruction(self.text, at - self.start):
            decoded.append((at, found[0]))
            at += found[1]
        return decoded


class Change(NamedTuple):
    """An instruction that sets or clears SIE, or may do so."""

    address: int
    sets: bool
    certain: bool  # it always does: the bits are a constant


def sie_change(address: int, code: int) -> Optional[Change]:
    kind, source = code >> 12 & 7, code >> 15 & 31
    if code & 0x7F != SYSTEM or code >> 20 != SSTATUS or kind in (0, 4):
        return None
    constant = kind >= 5
    if kind in SETS + CLEARS and (source & SIE if constant else source) == 0:
        return None
    return Change(address, kind in SETS, constant and kind not in WRITES)


def sie_changes(kernel: Code) -> Iterator[Change]:
    for address, code in kernel.instructions:
        change = sie_change(address, code)
        if change:
            yield change


OFFSETS = header("kernel/sched/offsets.h")
A0_IN_FRAME = 8 * (A0 - 1)  # T_REG: the user's registers, from x1 on, lie first
RA_IN_CONTEXT = OFFSETS["T_CTX"] + OFFSETS["CTX_RA"]

#: A name in the plugin's table, an address, and the offset in struct thread that the
#: instruction accesses.
Landmark = tuple[str, int, int]


def store(code: int) -> Optional[tuple[int, int, int]]:
    """Decodes sd SOURCE, OFFSET(BASE); returns None for other instructions."""
    if code & 0x707F != STORE | 3 << 12:
        return None
    return code >> 20 & 31, code >> 25 << 5 | code >> 7 & 31, code >> 15 & 31


def jump(address: int, code: int) -> Optional[int]:
    """Returns the target of a jal; None for other instructions."""
    return address + jal_offset(code) if code & 0x7F == JAL else None


def thread_landmarks(kernel: Code) -> Iterator[Landmark]:
    """Yields the landmarks of traps and of thread switches, for follow.c."""
    symbol = kernel.symbols
    yield "trap", symbol["trap_vector"], 0
    yield "in_exit", symbol["exit_interrupted"], 0
    yield "exit", symbol["exit_user"], 0
    before = 0
    for address, code in kernel.instructions:
        if address == symbol["switch_loads"]:
            yield "switch", before, 0
        before = address
        if code == SRET:
            user = kernel.function(address) == "exit_user"
            yield "user_return" if user else "kernel_return", address, 0
        stored = store(code)
        if stored is None:
            continue
        source, offset, base = stored
        where = kernel.function(address).partition(".")[0]
        if where == "context_switch" and (source, base) == (T0, A1):
            yield "next_thread", address, offset
        elif where == "context_switch" and (source, base) == (RA, A0):
            yield "this_thread", address, offset
        elif where == "thread_create" and offset == RA_IN_CONTEXT:
            yield "created", address, offset


def landmarks(kernel: Code) -> Iterator[Landmark]:
    """Yields the landmarks for counts.c."""
    symbol = kernel.symbols
    yield from thread_landmarks(kernel)
    yield "hold", symbol["hold_or_go"], 0
    yield "exit_work", symbol["exit_work"], 0
    yield "pay", symbol["profil_pay"], 0
    yield "signal", symbol["signal_deliver"], 0
    yield "sample", symbol["sample"], 0
    yield "timer", symbol["clock_interrupt"], 0
    yield "dozes", symbol["doze"], 0
    for name in NOT_TIMER:
        if name in symbol:
            yield "not_timer", symbol[name], 0
    for change in sie_changes(kernel):
        where = kernel.function(change.address)
        if change.sets:
            yield "entered" if where in ENTRIES else "unmasked", change.address, 0
        elif change.certain:
            yield LETS_OTHERS.get(where, "masked"), change.address, 0


def call_landmarks(kernel: Code) -> Iterator[Landmark]:
    """Yields the landmarks for calls.c."""
    symbol = kernel.symbols
    yield from thread_landmarks(kernel)
    yield "stack", symbol["log_stack"], 0
    yield "fault", symbol["trap_user"], 0
    yield "kernel_fault", symbol["kernel_exception"], 0
    for address, code in kernel.instructions:
        if symbol["trap_return_user"] < address < symbol["user_interrupt"]:
            yield "to_exit", address, 0  # the stack is empty by now
        if jump(address, code) == symbol["tf_change_end"]:
            yield {"signal_push_frame": "handler", "sys_rt_sigreturn": "sigreturn"}.get(
                kernel.function(address), "exec"
            ), address, 0
        stored = store(code)
        if stored is not None and stored[:2] == (0, A0_IN_FRAME):
            if kernel.function(address).partition(".")[0] == "make_child":
                yield "child", address, A0_IN_FRAME
