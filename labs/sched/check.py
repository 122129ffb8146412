"""Decides lab sched: who runs, for how long, and after how long a wait. All times are
the guest's, which under icount are numbers of instructions."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Optional

from tally.grading.script import Test, test

PRIORITY, CLOCK = 0, 1  # slots
SET = 1
SIGUSR1 = 10
TICK = 10  # ms
NOTICED = 4000  # us: a gap is one if it is longer than harts take turns in QEMU
SHORT = 6  # ms: a gap that QEMU's turns make
AT_ONCE = 5  # ms: before the next tick
SOON = 2.5 * TICK  # ms: at the next tick, or the one after it


class Model:
    """Levels are numbered from 0, the least urgent."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.top = params["PRIORITIES"] - 1
        self.low_is_urgent = params["LOW_IS_URGENT"]
        self.age: int = params["AGE"]
        self.bonus: int = params["BONUS"]

    def set(self, t: Test, level: int) -> None:
        priority = self.top - level if self.low_is_urgent else level
        t.do(f"ioctl {PRIORITY} {SET} {priority}", 0)

    @contextlib.contextmanager
    def process(self, t: Test, slot: int, level: int) -> Iterator[None]:
        """It begins as the most urgent, as the first process is, and then sets its
        own priority."""
        with t.child(slot):
            self.set(t, level)
            yield

    def spins(
        self,
        t: Test,
        slot: int,
        level: int,
        ms: int,
        judge: Optional[Callable[[float, float], Optional[str]]] = None,
    ) -> None:
        """judge gets the longest time for which it didn't run, and all of it, in ms."""
        with self.process(t, slot, level):
            self.gaps(t, ms, judge)

    def gaps(
        self,
        t: Test,
        ms: int,
        judge: Optional[Callable[[float, float], Optional[str]]] = None,
    ) -> None:
        def told(answer: str) -> Optional[str]:
            longest, lost = (int(word) / 1000 for word in answer.split())
            return judge(longest, lost) if judge else None

        t.do(f"gaps {ms} {NOTICED}", told)


def setup(t: Test) -> Model:
    model = Model(t.params)
    t.do(f"open {PRIORITY} r /dev/priority", 0)
    t.do(f"open {CLOCK} w /dev/profclock", 0)
    t.put(CLOCK, "hz 2000")  # where QEMU lets a hart run from deadline to deadline
    model.set(t, model.top)
    return model


def wait(t: Test, children: int) -> None:
    for slot in range(children):
        t.do(f"wait {slot}", 0)


def at_most(
    longest_ms: float, lost_ms: float
) -> Callable[[float, float], Optional[str]]:
    def judge(longest: float, lost: float) -> Optional[str]:
        if longest > longest_ms:
            return (
                f"the process waited {longest:.0f} ms at a time;"
                f" at most {longest_ms:.0f} ms are allowed"
            )
        if lost > lost_ms:
            return (
                f"the process waited {lost:.0f} ms in total;"
                f" at most {lost_ms:.0f} ms are allowed"
            )
        return None

    return judge


# --- Who runs ----------------------------------------------------------------


@test("equals take turns", points=2)
def equals(t: Test, model: Model) -> None:
    """Five on two harts: each waits for three fifths of the time."""
    ms = 500

    def judge(longest: float, lost: float) -> Optional[str]:
        if longest > 6.5 * TICK:
            return (
                f"the process waited {longest:.0f} ms for four others of its level;"
                f" at most {6.5 * TICK:.0f} ms are allowed"
            )
        if not 0.4 * ms < lost < 0.75 * ms:
            return f"the process waited {lost:.0f} of {ms} ms, not about three fifths"
        return None

    for slot in range(5):
        model.spins(t, slot, 2, ms, judge)
    wait(t, 5)


@test("the urgent ones run", points=3)
def urgent(t: Test, model: Model) -> None:
    """Two, whom two others disturb only for a turn when these have aged."""
    ms, level = 600, model.top - 1
    for slot in range(2):
        model.spins(t, slot, 1, ms)
    turns = 2 * (ms / (model.age * (level - 1)) + 1)
    for slot in (2, 3):
        model.spins(t, slot, level, ms, at_most(2.5 * TICK, 1.5 * TICK * turns))
    wait(t, 4)


# --- Who waits ---------------------------------------------------------------


def aged(t: Test, model: Model, above: int, judge: Any) -> None:
    """One that two others keep from running, of so many levels above."""
    ms = 4 * above * model.age
    model.spins(t, 0, 1, ms, lambda longest, lost: judge(ms, longest, lost))
    for slot in (1, 2):
        model.spins(t, slot, 1 + above, ms + 5 * TICK)
    wait(t, 3)


@test("a waiting process ages", points=4)
def ages(t: Test, model: Model) -> None:
    for above in t.random.sample((1, 2, 3), 3):
        want = above * model.age

        def judge(
            _: int, longest: float, _lost: float, want: int = want
        ) -> Optional[str]:
            if want - 1.5 * TICK < longest < want + 2.5 * TICK:
                return None
            return (
                f"the process waited {longest:.0f} ms, not about {want} ms and a tick"
            )

        aged(t, model, above, judge)


@test("aged, it has one turn", points=3)
def turn(t: Test, model: Model) -> None:
    above = t.random.randrange(1, 4)

    def judge(ms: int, longest: float, lost: float) -> Optional[str]:
        turns = ms / (above * model.age) + 1
        ran, most = ms - lost, turns * 2 * TICK
        if ran < most:
            return None
        return (
            f"the process ran for {ran:.0f} of {ms} ms;"
            f" {turns:.0f} turns allow at most {most:.0f} ms"
        )

    aged(t, model, above, judge)


# --- Who wakes up ------------------------------------------------------------


class Woken:
    """How long a process takes to run when another one wakes it up."""

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.ran: list[int] = []
        self.woken = 0

    def goes_on(self, answer: str) -> Optional[str]:
        """Who has woken it up keeps its hart."""
        ms = (int(answer) - self.woken) / 1e6
        if ms < AT_ONCE:
            return None
        return (
            "the process that woke another one lost its hart to a less urgent process"
            f" for {ms:.0f} ms"
        )

    def sleeps(self, t: Test) -> None:
        t.do("sleep 5000", 0)
        t.do("clock", lambda answer: self.ran.append(int(answer)))

    def wake(self, t: Test, least: float, most: float) -> None:
        """Its answers have been looked at before, as it was made before."""

        def judge(answer: str) -> Optional[str]:
            self.woken = int(answer)
            ms = (self.ran.pop(0) - self.woken) / 1e6
            if least <= ms <= most:
                return None
            bound = f"at most {most:.0f}" if ms > most else f"at least {least:.0f}"
            return f"the woken process ran after {ms:.1f} ms; it should be {bound} ms"

        t.do("sleep 1", 0)  # until a tick: the next one is far away,
        t.do("spin 2", 0)  # and all harts have had this one, which take turns
        t.do("clock", judge)
        t.do(f"kill {self.slot} {SIGUSR1}", 0)


TIMES = 3  # that it is woken up


@test("the level of a process that wakes up", points=4)
def woken(t: Test, model: Model) -> None:
    """Two spin that are as urgent or more."""
    level = 4
    for above in (0, 1, 2, 3):
        ms = (above - model.bonus) * model.age
        least, most = max(ms, AT_ONCE) - 1.0, ms + SOON
        if ms < 0:
            least, most = 0.0, AT_ONCE
        one = Woken(0)
        with model.process(t, 0, level - above):
            for _ in range(TIMES):
                one.sleeps(t)
        spin = max(ms, 0) + 5 * TICK
        model.spins(t, 1, level, (TIMES + 1) * (spin + TICK))
        with model.process(t, 2, level):
            for _ in range(TIMES):
                t.do(f"spin {spin + t.random.randrange(TICK)}", 0)
                one.wake(t, least, most)
            t.do(f"spin {spin}", 0)
        wait(t, 3)


@test("the least urgent gives way", points=3)
def gives_way(t: Test, model: Model) -> None:
    """Whichever of the two was there first."""
    for first, second in ((1, 3), (3, 1)):
        one = Woken(0)
        with model.process(t, 0, 4):
            for _ in range(TIMES):
                one.sleeps(t)
                t.do("spin 8", 0)
        for slot, level in ((1, first), (2, second)):
            if level == 1:
                model.spins(t, slot, level, 200)
                continue
            with model.process(t, slot, level):
                for _ in range(TIMES):
                    t.do(f"spin {30 + t.random.randrange(TICK)}", 0)
                    one.wake(t, 0, AT_ONCE)
                    t.do("clock", one.goes_on)
        wait(t, 3)


@test("no hart is idle while somebody is ready", points=3)
def busy(t: Test, model: Model) -> None:
    """Two spin on two harts; one does, and another wakes up now and then; one
    wakes the other up."""
    model.spins(t, 0, 1, 200, at_most(SHORT, SHORT))
    model.spins(t, 1, model.top - 1, 200, at_most(SHORT, SHORT))
    wait(t, 2)
    model.spins(t, 0, 1, 250, at_most(SHORT, SHORT))
    with model.process(t, 1, model.top - 1):
        for _ in range(8):
            t.do(f"sleep {t.random.randrange(5, 15)}", 0)
            t.do("spin 7", 0)
    wait(t, 2)
    one = Woken(0)
    with model.process(t, 0, 1):
        for _ in range(TIMES):
            one.sleeps(t)
    with model.process(t, 1, model.top - 1):
        for _ in range(TIMES):
            t.do(f"spin {20 + t.random.randrange(TICK)}", 0)
            one.wake(t, 0, AT_ONCE)
        t.do("spin 20", 0)
    wait(t, 2)


# --- Who comes at once -------------------------------------------------------


@test("all processes finish", points=3, race=4)
def end(t: Test, model: Model) -> None:
    """Some of which sleep, spin, and wake up others."""
    children = 8
    for slot in range(children):
        with model.process(t, slot, t.random.randrange(model.top)):
            for _ in range(12):
                what = t.random.randrange(3)
                if what == 0:
                    t.do(f"sleep {t.random.randrange(1, 4)}", 0)
                elif what == 1:
                    t.do("spin 1", 0)
                elif slot:
                    t.do(f"kill {t.random.randrange(slot)} {SIGUSR1}")
    wait(t, children)
