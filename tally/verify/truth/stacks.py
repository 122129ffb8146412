"""Compares the call stacks of pcs with the calls that were in progress."""

from __future__ import annotations

import collections
import functools
from typing import Callable, Iterator, NamedTuple, Union

from tally.formats.prologue import frame_is_set
from tally.plugins.landmarks import Code

WHOLE = 0
REASONS = ("whole", "full", "away", "absent", "broken", "frameless")
KERNEL_HALF = 0xFFFFFFFF_00000000
USER_RECORD = 2
LONGEST = 4  # bytes of an instruction


class Program:
    """A program's code and symbols."""

    def __init__(self, code: Code) -> None:
        self.symbols = code.symbols
        self.function: Callable[[int], str] = functools.lru_cache(None)(code.function)
        self.frame_is_set: Callable[[int], bool] = functools.lru_cache(None)(
            lambda pc: frame_is_set(
                lambda at: code.text[at - code.start : at - code.start + LONGEST]
                if code.start <= at < code.end
                else None,
                pc,
            )
        )


class Record(NamedTuple):
    """A sample of pcs with its stack."""

    user_mode: bool
    hart: int
    pid: int
    pc: int
    kernel: list[int]
    user: list[int]
    cut_kernel: int
    cut_user: int


class Place(NamedTuple):
    """Where code was interrupted: after the instruction at `last`, or, if that jumps,
    at an unknown target."""

    last: int
    jumps: bool

    def may_be(self, pc: int) -> bool:
        return self.jumps or self.last <= pc <= self.last + LONGEST


#: A call in progress: its return address, or the Place of an interruption.
Call = Union[int, Place]


class True_(NamedTuple):
    """The calls in progress, the innermost first."""

    kernel: list[Call]
    user: list[Call]


def record_of(words: list[str]) -> Record:
    kind, hart, pid = (int(w) for w in words[:3])
    nkernel, cut = int(words[4]), int(words[5])
    addresses = [int(w, 16) for w in words[6:]]
    user_mode = kind == USER_RECORD
    pc = int(words[3], 16)
    return Record(
        user_mode,
        hart,
        pid,
        pc if user_mode else pc | KERNEL_HALF,
        [a | KERNEL_HALF for a in addresses[:nkernel]],
        addresses[nkernel:],
        cut >> 4,
        cut & 15,
    )


def call_of(word: str) -> Call:
    if word[0] == "@":
        return Place(int(word[1:].rstrip("*"), 16), word[-1] == "*")
    return int(word, 16)


def true_of(words: list[str]) -> True_:
    """Parses a line that stacks.c wrote, without its hart."""
    at = words.index("U")
    return True_([*map(call_of, words[1:at])], [*map(call_of, words[at + 1 :])])


def goes_on(pc: int, place: Place, program: Program) -> bool:
    """Does the code resume at pc after the trap? Some code is restarted."""
    function = program.function(place.last)
    again = {
        "idle_wait": "idle_look",
        "kernel_return": "kernel_return",
        "kernel_return_checked": "kernel_return",
    }.get(function)
    return place.may_be(pc) or (again is not None and pc == program.symbols[again])


def same(said: int, true: Call, program: Program) -> bool:
    if isinstance(true, Place):
        return said % 2 == 1 and goes_on(said - 1, true, program)
    return said == true


def leave_out(pc: int, said: list[int], program: Program) -> list[int]:
    """Removes stale values of ra, as the manual describes: after an interrupted
    function that has set up its frame, an address in that function or equal to the
    next."""
    kept: list[int] = []
    for i, address in enumerate(said):
        superfluous = (
            pc
            and address % 2 == 0
            and program.frame_is_set(pc)
            and (
                program.function(pc) == program.function(address - 1)
                or said[i + 1 : i + 2] == [address]
            )
        )
        pc = address - 1 if address % 2 else 0
        if not superfluous:
            kept.append(address)
    return kept


def verdict(
    pc: int, said: list[int], cut: int, true: list[Call], program: Program
) -> str:
    """Returns `exact', `wrong', or the reason why it is cut."""
    said = leave_out(pc, said, program)
    if len(said) > len(true) or not all(
        same(s, t, program) for s, t in zip(said, true)
    ):
        return "wrong"
    if cut != WHOLE:
        return REASONS[cut]
    return "exact" if len(said) == len(true) else "wrong"


def begins(calls: list[Call], pc: int) -> bool:
    """Does pc fit the place where the innermost call was interrupted?"""
    return bool(calls) and isinstance(calls[0], Place) and calls[0].may_be(pc)


def judge(
    r: Record, t: True_, kernel: Program, users: list[Program]
) -> tuple[str, str]:
    """Judges the kernel's part and the user's."""
    if r.user_mode:
        inside = "exact" if not t.kernel and not r.kernel else "wrong"
        place, said = r.pc, r.user
    else:
        inside = "wrong"
        if begins(t.kernel, r.pc):
            inside = verdict(r.pc, r.kernel, r.cut_kernel, t.kernel[1:], kernel)
        if not r.user:
            return inside, REASONS[r.cut_user] if r.cut_user or r.pid else "exact"
        place, said = r.user[0], r.user[1:]
    if not begins(t.user, place):
        return inside, "wrong"
    outside = [verdict(place, said, r.cut_user, t.user[1:], p) for p in users]
    return inside, min(outside, key=lambda v: (v == "wrong", v != "exact"))


class Tally(NamedTuple):
    """The numbers of stacks of a run, by verdict."""

    exact: int
    cut: collections.Counter[str]  # by reason
    wrong: int
    examples: list[str]
    unfollowed: int


def compare_stacks(
    said: Iterator[list[str]],
    written: str,
    kernel: Program,
    users: Callable[[int], list[Program]],
) -> Tally:
    """Judges all stacks of a run: each hart's records come in order."""
    true: dict[int, list[True_]] = collections.defaultdict(list)
    unfollowed = 0
    for line in written.splitlines():
        first, *words = line.split()
        if first == "unfollowed":
            unfollowed = int(words[0])
        else:
            true[int(first)].append(true_of(words))
    records: dict[int, list[Record]] = collections.defaultdict(list)
    for words in said:
        r = record_of(words)
        records[r.hart].append(r)
    exact = wrong = 0
    cut: collections.Counter[str] = collections.Counter()
    examples: list[str] = []
    for hart in sorted({*true, *records}):
        if len(true[hart]) != len(records[hart]):
            raise ValueError(
                f"hart {hart}: {len(records[hart])} recorded stacks, but"
                f" {len(true[hart])} samples"
            )
        for r, t in zip(records[hart], true[hart]):
            parts = judge(r, t, kernel, users(r.pid))
            if "wrong" in parts:
                wrong += 1
                examples.append(show(r, t, parts, kernel, users(r.pid)[0]))
            elif parts == ("exact", "exact"):
                exact += 1
            else:
                cut[next(p for p in parts if p != "exact")] += 1
    return Tally(exact, cut, wrong, examples, unfollowed)


def show(
    r: Record, t: True_, parts: tuple[str, str], kernel: Program, user: Program
) -> str:
    """Describes a wrong stack."""

    def name(call: Call) -> str:
        if isinstance(call, Place):
            mark, address, inside = "*" if call.jumps else "@", call.last, call.last
        else:
            mark, address, inside = "", call, call - 1
        function = (kernel if address > KERNEL_HALF else user).function(inside)
        return f"{mark}{function}:{address & 0xFFFFFFFF:x}"

    return "\n".join(
        [
            f"pid {r.pid} hart {r.hart} {parts} cut {r.cut_kernel} {r.cut_user}",
            "  said "
            + " ".join(map(name, [r.pc + 1, *r.kernel]))
            + " | "
            + " ".join(map(name, r.user)),
            "  true "
            + " ".join(map(name, t.kernel))
            + " | "
            + " ".join(map(name, t.user)),
        ]
    )
