"""Decides lab ticks: a model of the counters."""

from __future__ import annotations

import struct
from typing import Any, Optional

from tally.grading.script import NO_ADDRESSES, Test, data, test

MODES = ("user", "kernel", "intr", "idle")
SIZES = {"uint8_t": "B", "uint16_t": "H", "uint32_t": "I"}
BEHIND = b"\xa5" * 16  # what the buffer has behind the result
HARTS = 4
CLOCK = 2  # the slot of /dev/profclock
NO_HARTS = (HARTS, HARTS + 1, 15, 16, 1 << 31, 0xFFFF_FFFF, (1 << 64) - 1)


class Model:
    """The counters of all harts, in the order of the struct."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        hart = SIZES[params["TYPE"]]
        pad = 8 - struct.calcsize(hart)
        self.format = f"<{hart}{pad}x4Q" if params["HART_FIRST"] else f"<4Q{hart}{pad}x"
        self.size = struct.calcsize(self.format)
        self.counts = [[0] * 4 for _ in range(HARTS)]
        # What there was at the first call: real samples, since boot.
        self.before = [[0] * 4 for _ in range(HARTS)]

    def arguments(self, to: object, hart: int) -> str:
        words = (to, hart) if self.params["BUFFER_FIRST"] else (hart, to)
        return f"{self.params['NUMBER']} {words[0]} {words[1]} 0"

    def sample(self, t: Test, hart: int, mode: str, count: int) -> None:
        self.counts[hart][self.params["ORDER"].index(mode)] += count
        t.put(CLOCK, f"sample {mode} {hart} 0 0 0x1000 {count}")

    def packed(self, hart: int, counts: list[int]) -> bytes:
        values = [hart, *counts] if self.params["HART_FIRST"] else [*counts, hart]
        return struct.pack(self.format, *values)

    def first(self, t: Test, hart: int) -> None:
        """The first call for a hart: nobody knows what it counts."""

        def shape(answer: str) -> Optional[str]:
            got = data(answer)
            values = list(struct.unpack(self.format, got[: self.size]))
            who = values.pop(0 if self.params["HART_FIRST"] else -1)
            if not self.params["RESETS"]:
                self.before[hart] = values
            if who != hart or got != self.packed(hart, values) + BEHIND:
                return (
                    f"the result names another hart than {hart}, or is too long:"
                    f" {got.hex(' ', 8)}"
                )
            return None

        t.do(f"call-into {self.size} {self.arguments('buffer', hart)}", shape)

    def ask(self, t: Test, hart: int) -> None:
        """A later call: what was counted here, and before if that is meant."""
        counts = list(self.counts[hart])
        if self.params["RESETS"]:
            self.counts[hart] = [0] * 4

        def right(answer: str) -> Optional[str]:
            now = [a + b for a, b in zip(self.before[hart], counts)]
            want = self.packed(hart, now) + BEHIND
            if answer == f"0 {want.hex()}":
                return None
            return f"expected 0 {want.hex(' ', 8)}, got {answer}"

        t.do(f"call-into {self.size} {self.arguments('buffer', hart)}", right)

    def ask_all(self, t: Test) -> None:
        for hart in range(HARTS):
            self.ask(t, hart)


def setup(t: Test) -> Model:
    model = Model(t.params)
    t.do(f"open {CLOCK} w /dev/profclock", 0)
    t.put(CLOCK, "hold")
    for hart in range(HARTS):
        model.first(t, hart)
    return model


def some(t: Test, model: Model, times: int) -> None:
    for _ in range(times):
        hart, mode = t.random.randrange(HARTS), t.random.choice(MODES)
        model.sample(t, hart, mode, t.random.randrange(1, 1000))


@test("what comes back", points=2)
def counted(t: Test, model: Model) -> None:
    some(t, model, 40)
    model.ask_all(t)
    some(t, model, 5)
    model.ask_all(t)
    model.ask_all(t)


@test("there is no such hart")
def no_hart(t: Test, model: Model) -> None:
    some(t, model, 3)
    for hart in NO_HARTS:
        t.do(f"call-into {model.size} {model.arguments('buffer', hart)}", "-EINVAL")
    model.ask_all(t)


@test("an address that isn't the program's", points=2)
def no_address(t: Test, model: Model) -> None:
    some(t, model, 3)
    for address in NO_ADDRESSES:
        hart = t.random.randrange(HARTS)
        t.do(f"call {model.arguments(address, hart)}", "-EFAULT")
    model.ask_all(t)


@test("both errors at once")
def both(t: Test, model: Model) -> None:
    want = "-EINVAL" if t.params["EINVAL_FIRST"] else "-EFAULT"
    for hart, address in zip(NO_HARTS, NO_ADDRESSES):
        t.do(f"call {model.arguments(address, hart)}", want)
    some(t, model, 3)
    model.ask_all(t)


@test("a call that fails changes nothing")
def unchanged(t: Test, model: Model) -> None:
    for hart in range(HARTS):
        for mode in MODES:
            model.sample(t, hart, mode, t.random.randrange(1, 50))
        t.do(f"call {model.arguments(0, hart)}", "-EFAULT")
        model.ask(t, hart)


@test("no other kernel memory is returned")
def clean(t: Test, model: Model) -> None:
    for _ in range(4):
        some(t, model, 2)
        t.do("spray", 0)
        model.ask(t, t.random.randrange(HARTS))


@test("two harts count for one", points=2, race=3)
def race(t: Test, model: Model) -> None:
    modes = [t.random.choice(MODES) for _ in range(2)]
    for slot in range(3):
        with t.child(slot):
            for mode in modes:
                model.sample(t, 1, mode, 15000)
    for slot in range(3):
        t.do(f"wait {slot}", 0)
    model.ask(t, 1)
