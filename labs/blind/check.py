"""Decides lab blind. The guest's log has each sample, with the time at which it was
really taken, and what the kernel was really doing then. The model knows when each
sample falls due. All times are the guest's, which under icount are numbers of
instructions; here they are timer counts, ten to a microsecond."""

from __future__ import annotations

import dataclasses
import struct
from typing import Any, Callable, Optional

from tally.grading.script import Test, data, test

LAB, CLOCK = 0, 1  # slots
(CLEAR, GO, HOLD, LEVEL0, LEVEL1, LEVEL5, NEST, DARK, WORK, RING, LOOK, SWEEP) = range(
    1, 13
)
(SAMPLE, BEGIN, END, FREE, RUNG, SINCE, HELD, NEXT, TICK, TICKS, COUNT) = range(1, 12)
ENTRY = struct.Struct("<QQBBBBI")
US = 10  # timer counts
SECOND = 1_000_000 * US
TICK_LENGTH = SECOND // 100
NEVER = (1 << 64) - 1
SPREAD = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
#: Within which a sample is taken that falls due, unless interrupts are off. The
#: solution takes 6 us, and up to 63 behind a tick's interrupt.
SOON = 110 * US
#: What is drawn keeps so far from where another outcome would be right, too; at
#: high rates, a quarter of a period.
CLEAR_OF = 80 * US
DELAYS, PHASES = 80, 7  # of a sweep, for each of two locks
ROOM = 96  # bytes of a function that works
FUNCTIONS = {
    LEVEL0: "blind_level0",
    LEVEL1: "blind_level1",
    LEVEL5: "blind_level5",
    RING: "blind_ring",
}
LEVEL_OF = {LEVEL0: 0, LEVEL1: 1, LEVEL5: 5, RING: 5}  # else it's another handler
SAID = {
    LEVEL0: "while no lock was held",
    LEVEL1: "while a lock of level 1 was held",
    LEVEL5: "while a lock of level 5 was held",
    RING: "during a tick's own work",
}


# --- The clock ---------------------------------------------------------------


def random_of(seed: int, n: int) -> int:
    """stroke_random in strokes.h."""
    state = ((seed * 1000003 + n) * SPREAD & MASK) | 1
    state ^= state >> 12
    state ^= state << 25 & MASK
    state ^= state >> 27
    return state * 0x2545F4914F6CDD1D & MASK


@dataclasses.dataclass(frozen=True)
class Settings:
    hz: int
    seed: Optional[int] = None  # of jitter; None: it's off

    @property
    def period(self) -> int:
        return SECOND // self.hz


class Clock:
    """Strokes from `since` on, where the tick's moments are multiples of a tick."""

    def __init__(self, p: dict[str, Any], settings: Settings, since: int) -> None:
        self.p, self.settings, self.since = p, settings, since
        self.base = (
            since
            - {
                "change": 0,
                "tick": since % TICK_LENGTH,
                "half": settings.period // 2,
            }[p["BASE"]]
        )
        self.first = 1
        while self.stroke(self.first) <= since:
            self.first += 1

    def stroke(self, n: int) -> int:
        hz, seed = self.settings.hz, self.settings.seed
        at = self.base + (n * SECOND + (hz - 1) * self.p["UP"]) // hz
        if seed is None:
            return at
        spread = self.settings.period // self.p["PART"]
        r = random_of(seed, n) % spread
        return at + {"later": r, "earlier": -r, "both": r - spread // 2}[self.p["MOVE"]]

    def after(self, time: int) -> int:
        """The number of the first stroke that is later."""
        n = max(self.first, (time - self.base) * self.settings.hz // SECOND - 2)
        while self.stroke(n) <= time:
            n += 1
        return n

    def clear(self, time: int) -> bool:
        """Is no stroke close to that time, and no tick?"""
        far = min(CLEAR_OF, self.settings.period // 4)
        near_tick = (time + CLEAR_OF) % TICK_LENGTH < 2 * CLEAR_OF
        return not near_tick and self.after(time - far) == self.after(time + far)


@dataclasses.dataclass(frozen=True)
class Noticed:
    """A stroke, or several, that the timer's interrupt has found to be due."""

    stroke: int  # the time of that which the sample stands for
    at: int
    late: bool
    taken: bool


def follow(clock: Clock, dark: list[tuple[int, int]], end: int) -> list[Noticed]:
    """What becomes of the strokes up to the end. dark: when SIE was 0."""
    p, noticed = clock.p, []
    n, rest = clock.first, 0
    while True:
        while clock.stroke(n) < rest:
            n += 1
        at = clock.stroke(n)
        if at > end:
            return noticed
        for begin, until in dark:
            if begin <= at < until:
                at = until
        next_one = clock.after(at)
        stroke = clock.stroke(n if p["FIRST"] else next_one - 1)
        late = at - stroke > p["LATE"] * US
        taken = not (late and p["DROPPED"])
        noticed.append(Noticed(stroke, at, late, taken))
        rest = stroke + p["REST"] * US if taken else 0
        n = next_one


# --- The log -----------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Entry:
    time: int
    value: int
    kind: int
    work: int
    level: int
    mode: int


@dataclasses.dataclass
class Log:
    entries: list[Entry]

    def of(self, *kinds: int) -> list[Entry]:
        return [e for e in self.entries if e.kind in kinds]

    def value(self, kind: int) -> int:
        found = self.of(kind)
        if not found:
            raise LookupError
        return found[-1].value

    def periods(self, *works: int) -> list[tuple[int, int, int]]:
        """What was done, from when until when."""
        begun: list[Entry] = []
        done = []
        for e in self.of(BEGIN, END):
            if e.kind == BEGIN:
                begun.append(e)
            else:
                done.append((e.work, begun.pop().time, e.time))
        return sorted((d for d in done if d[0] in works), key=lambda d: d[1])


def read_log(answer: str) -> Log:
    return Log([Entry(*fields[:6]) for fields in ENTRY.iter_unpack(data(answer))])


def ms(counts: int) -> str:
    return f"{counts / 1000 / US:.3f} ms"


# --- What is done ------------------------------------------------------------


def setup(t: Test) -> None:
    t.do(f"open {LAB} r /dev/blindlab", 0)
    t.do(f"open {CLOCK} w /dev/profclock", 0)


def lab(t: Test, request: int, us: int = 0, at: int = 0, want: Any = 0) -> None:
    t.do(f"ioctl {LAB} {request} {at << 32 | us:#x}", want)


def read(t: Test, judge: Callable[[Log], Optional[str]]) -> None:
    t.do(f"seek {LAB} 0", 0)
    t.do(f"read-all {LAB} 4096", lambda answer: judge(read_log(answer)))


class Run:
    """The clock, from a start until it is held; what is drawn knows when a stroke
    comes, but for some microseconds."""

    def __init__(self, t: Test, settings: Settings) -> None:
        t.put(CLOCK, "hold")
        t.put(CLOCK, f"hz {settings.hz}")
        t.put(CLOCK, "jitter off" if settings.seed is None else "jitter on")
        if settings.seed is not None:
            t.put(CLOCK, f"seed {settings.seed}")
        lab(t, CLEAR)
        self.t, self.settings = t, settings
        while True:
            offset = t.random.randrange(100, 9900)
            self.clock = Clock(t.params, settings, 100 * SECOND + offset * US)
            if self.clock.clear(self.clock.since):
                break
        self.now = 2000  # us since the start; the guest isn't later than that
        lab(t, GO, offset)

    def moment(self, least: int, most: int) -> int:
        """One that is so many us from now, and close to no stroke."""
        while True:
            us = self.now + self.t.random.randrange(least, most)
            if self.clock.clear(self.clock.since + us * US):
                return us

    def do(self, request: int, us: int) -> None:
        """Some work, from now on."""
        lab(self.t, request, us, at=self.now)
        self.now += us + 2000

    def dark(self, least: int, most: int, request: int = DARK) -> None:
        """SIE is 0 until a moment that suits; from one on that suits, too. Or other
        work is done meanwhile."""
        begin = self.moment(500, 3000)
        self.now = begin
        while True:
            end = self.moment(least, most)
            begun, ended = (self.clock.since + us * US for us in (begin, end))
            n = self.clock.after(begun)
            last = self.clock.after(ended) - 1
            strokes = [self.clock.stroke(n), self.clock.stroke(last)]
            edge = ended - self.t.params["LATE"] * US
            if all(abs(s - edge) > CLEAR_OF for s in strokes):
                break
        lab(self.t, request, end - begin, at=begin)
        self.now = end + 2000

    def before_stroke(self, us: int) -> int:
        """A moment so long before the next one."""
        n = self.clock.after(self.clock.since + self.now * US)
        return (self.clock.stroke(n) - self.clock.since) // US - us

    def after_sample(self, us: int) -> int:
        """So long after a stroke that is taken, if SIE is never 0."""
        now = self.clock.since + self.now * US
        taken = follow(self.clock, [], now + SECOND // 100)
        at = next(n.stroke for n in taken if n.stroke > now)
        return (at - self.clock.since) // US + us

    def look(self) -> None:
        self.now = self.moment(0, 4000)
        lab(self.t, LOOK, self.now)
        self.now += 2000

    def end(self, *judges: Callable[[Seen], Optional[str]], at: int = 0) -> None:
        """Hold it, at a certain moment or any, and look at what has come."""
        self.now = at or self.moment(0, 3000)
        lab(self.t, HOLD, self.now)
        lab(self.t, LOOK)

        def judge(log: Log) -> Optional[str]:
            seen = Seen(self.t.params, self.settings, log)
            return next(filter(None, (j(seen) for j in judges)), None)

        read(self.t, judge)


class Seen:
    """A run's log, beside what should be in it."""

    def __init__(self, p: dict[str, Any], settings: Settings, log: Log) -> None:
        self.p, self.log = p, log
        self.since, self.held = log.value(SINCE), log.value(HELD)
        self.clock = Clock(p, settings, self.since)
        dark = [(begin, end) for _, begin, end in log.periods(DARK)]
        self.noticed = follow(self.clock, dark, self.held)
        self.samples = [e for e in log.of(SAMPLE) if e.time > self.since]
        self.due = self.clock.after(self.held) - self.clock.first
        self.counts = dict(zip(p["COUNTS"], (e.value for e in log.of(COUNT)[-5:])))

    def after(self, time: int) -> str:
        return f"{ms(time - self.since)} after the clock started"


def samples(seen: Seen) -> Optional[str]:
    """Each sample that falls due is taken, at once; and no other."""
    left = list(seen.samples)
    for n in seen.noticed:
        if not n.taken:
            continue
        what = f"a sample fell due {seen.after(n.stroke)}"
        if n.at > n.stroke:
            what += f" while SIE was 0 (until {seen.after(n.at)})"
        if not left:
            return f"{what}, but none was taken"
        e = left.pop(0)
        if not -US <= e.time - n.at <= SOON:
            return f"{what}, but the next one was taken {seen.after(e.time)}"
    if left:
        return f"no sample was due, but one was taken {seen.after(left[0].time)}"
    return None


def counts(*names: str) -> Callable[[Seen], Optional[str]]:
    def judge(seen: Seen) -> Optional[str]:
        taken = sum(n.taken for n in seen.noticed)
        want = {
            "due": seen.due,
            "taken": taken,
            "skipped": seen.due - taken,
            "late": sum(n.late for n in seen.noticed),
        }
        for name in names:
            if seen.counts[name] != want[name]:
                return f"`{name}` should be {want[name]}, but is {seen.counts[name]}"
        return None

    return judge


def longest(seen: Seen) -> Optional[str]:
    want = max(n.at - n.stroke for n in seen.noticed)
    unit = {"counts": 1, "us": US, "ns": 1 / 100}[seen.p["UNIT"]]
    got = seen.counts["longest"]
    if want - US <= got * unit <= want + SOON:
        return None
    name = seen.p["UNIT"]
    return (
        f"`longest` should be {want / unit:.0f} {name} or a little more, but is {got}"
    )


def nexts(seen: Seen) -> Optional[str]:
    """The next stroke, whenever one looks."""
    for e in seen.log.of(NEXT):
        if e.time > seen.held:
            want = NEVER
        else:
            want = seen.clock.stroke(seen.clock.after(e.time))
        if e.value != want:
            if NEVER in (e.value, want):
                return f"`next` should be {want:#x}, but is {e.value:#x}"
            return (
                f"{seen.after(e.time)}, `next` should be the time of the start plus"
                f" {want - seen.since} counts, but is that time plus"
                f" {e.value - seen.since}"
            )
    return None


# --- Levels ------------------------------------------------------------------


def is_seen(*works: int) -> Callable[[Seen, Test], Optional[str]]:
    """Work is charged for its time, and to its function; whatever the clock."""

    def judge(seen: Seen, t: Test) -> Optional[str]:
        for work, begin, end in seen.log.periods(*works):
            mine = [e for e in seen.samples if begin < e.time < end and e.work == work]
            least = 0.9 * (end - begin) / seen.clock.settings.period - 1.5
            if len(mine) < least:
                return (
                    f"{len(mine)} samples were taken in {ms(end - begin)} {SAID[work]},"
                    f" but at least {least:.0f} were due"
                )
            function, level = t.symbol(FUNCTIONS[work]), LEVEL_OF[work]
            for e in mine:
                inside = begin + SOON < e.time < end - SOON and e.level == level
                if inside and not 0 <= e.value - function < ROOM:
                    name = FUNCTIONS[work]
                    return f"a sample {SAID[work]} has pc {e.value:#x}, not in {name}"
        return None

    return judge


def plain(t: Test) -> Settings:
    return Settings(t.random.choice((1000, 1250, 1600, 2000)))


def work_is_seen(t: Test, request: int, *works: int) -> None:
    for settings in (plain(t), Settings(1600, t.random.randrange(1 << 20))):
        run = Run(t, settings)
        for _ in range(2):
            run.do(request, t.random.randrange(12_000, 25_000))
        judge = is_seen(*works)
        run.end(lambda seen: judge(seen, t))


@test("work under no lock")
def level0(t: Test, _model: None) -> None:
    work_is_seen(t, LEVEL0, LEVEL0)


@test("code under a lock is seen", points=3)
def locked(t: Test, _model: None) -> None:
    work_is_seen(t, LEVEL1, LEVEL1)


@test("code that device handlers must not interrupt is seen", points=2)
def level5(t: Test, _model: None) -> None:
    work_is_seen(t, LEVEL5, LEVEL5)


@test("a lock within a lock", points=2)
def nested(t: Test, _model: None) -> None:
    work_is_seen(t, NEST, LEVEL1, LEVEL5)


@test("a tick's own work is seen", points=2)
def ticks_work(t: Test, _model: None) -> None:
    """What a tick does that has come at level 0, and one whose work was put off."""
    for request in (LEVEL0, LEVEL1, LEVEL5):
        run = Run(t, plain(t))
        lab(t, WORK, t.random.randrange(12_000, 20_000))
        lab(t, RING, 1000)
        run.do(request, 25_000)
        run.now += 25_000
        judge = is_seen(RING)
        run.end(lambda seen: judge(seen, t))


def rung(log: Log) -> Optional[str]:
    """Each timer is served when the lock has been let go, and at once."""
    entries = log.of(BEGIN, END, FREE, RUNG)
    if RUNG not in (e.kind for e in entries):
        return "the tick's work wasn't done"
    for before, e, after in zip(entries, entries[1:], entries[2:]):
        if e.kind == RUNG and e.work in SAID and e.work != LEVEL0:
            return f"the tick's work was done {SAID[e.work]}"
        if e.kind == RUNG and (before.kind, after.kind) != (END, FREE):
            return "the tick's work wasn't done when the lock was released"
        if e.kind == RUNG and after.level != 0:
            return f"the tick's work was done at level {after.level}"
    return None


def put_off(t: Test, request: int, *works: int) -> None:
    """A timer is due just after the lock has been taken, and a tick comes."""
    for _ in range(3):
        run = Run(t, plain(t))
        lab(t, RING, 900, at=run.now)
        run.now += 500
        run.do(request, t.random.randrange(11_000, 20_000))
        run.now += 40_000 if request == NEST else 0
        run.do(LEVEL0, 12_000)
        judge = is_seen(*works)
        run.end(lambda seen: rung(seen.log) or judge(seen, t))


@test("the tick's work waits until the lock is released", points=3)
def waits(t: Test, _model: None) -> None:
    put_off(t, LEVEL1, LEVEL1)
    put_off(t, LEVEL5, LEVEL5)


@test("a tick's work waits for level 0, not just a lower one", points=2)
def waits_nested(t: Test, _model: None) -> None:
    """The tick comes under the first lock, or under both."""
    put_off(t, NEST, LEVEL1, LEVEL5)


@test("no tick's work is forgotten", points=3)
def forgotten(t: Test, _model: None) -> None:
    """A tick comes before or after each instruction that releases a lock; and it
    does come while one is held."""
    run = Run(t, plain(t))
    run.do(LEVEL1, 12_000)
    seen_there = is_seen(LEVEL1)
    run.end(lambda seen: seen_there(seen, t))

    def judge(answer: str) -> Optional[str]:
        if int(answer) == 0:
            return None
        return f"the work of {answer} ticks wasn't done right after the lock's release"

    lab(t, SWEEP, 2 * DELAYS * PHASES, want=judge)


@test("a process that mostly holds a lock gives way", points=2)
def gives_way(t: Test, _model: None) -> None:
    t.put(CLOCK, "hold")
    with t.child(2):
        for _ in range(30):
            lab(t, LEVEL1, 9000)

    def judge(answer: str) -> Optional[str]:
        longest, lost = (int(word) / 1000 for word in answer.split())
        if longest > 50:
            return (
                f"the process without the lock waited {longest:.0f} ms at a time;"
                " at most 50 ms are allowed, as a turn is 20 ms"
            )
        if 90 < lost < 200:
            return None
        return (
            f"the process without the lock ran {300 - lost:.0f} of 300 ms,"
            " not about half"
        )

    t.do("gaps 300 4000", judge)
    t.do("wait 2", 0)


# --- Ticks -------------------------------------------------------------------


@test("ticks stand on their grid", points=2)
def tick_grid(t: Test, _model: None) -> None:
    """Whatever has come late."""
    t.put(CLOCK, "hold")
    lab(t, CLEAR)
    for request in t.random.sample((LEVEL0, LEVEL5, DARK, NEST), 4):
        lab(t, request, t.random.randrange(4000, 9000))
        lab(t, LOOK)

    def judge(log: Log) -> Optional[str]:
        for e in log.of(TICK):
            if e.value % TICK_LENGTH:
                return (
                    f"a tick is due {e.value % TICK_LENGTH} counts after"
                    " a multiple of 10 ms"
                )
        return None

    read(t, judge)


@test("ticks noticed in time, and ticks missed", points=2)
def tick_counts(t: Test, _model: None) -> None:
    """Under a lock each is noticed when it comes; with SIE=0 they are missed."""
    for request in (LEVEL5, DARK, LEVEL1, DARK):
        run = Run(t, plain(t))
        run.look()
        run.dark(32_000, 58_000, request)
        run.now = run.moment(0, 4000)
        run.end(lambda seen, missed=request == DARK: ticks(seen.p, seen.log, missed))


def ticks(p: dict[str, Any], log: Log, missed: bool) -> Optional[str]:
    first, last = log.of(TICKS)
    ((_, begin, end),) = log.periods(LEVEL1, LEVEL5, DARK)
    came = end // TICK_LENGTH - begin // TICK_LENGTH
    due = [e.value for e in log.of(TICK)]  # the next ones, at the same moments
    around = (due[1] - due[0]) // TICK_LENGTH - came
    want = around + (came if not missed or p["MADE_UP"] else min(came, 1))
    got = last.value - first.value
    if got == want:
        return None
    how = "SIE was 0" if missed else "a lock was held"
    return (
        f"{how} for {ms(end - begin)}: {want} ticks should be counted, but {got} were"
    )


# --- Strokes -----------------------------------------------------------------


@test("strokes keep their rate", points=3)
def rate(t: Test, _model: None) -> None:
    """Also one whose period is no whole number of counts."""
    for hz in (1000, t.random.choice((1200, 1300, 1700, 1900))):
        run = Run(t, Settings(hz))
        for _ in range(3):
            run.do(LEVEL0, t.random.randrange(20_000, 40_000))
            run.look()
        run.end(samples, nexts)


@test("where strokes are counted from", points=2)
def origin(t: Test, _model: None) -> None:
    for hz in t.random.sample((100, 130, 190, 300, 700), 3):
        run = Run(t, Settings(hz))
        for _ in range(2):
            run.look()
        run.end(nexts, samples)


@test("random intervals", points=3)
def jitter(t: Test, _model: None) -> None:
    for _ in range(2):
        run = Run(
            t,
            Settings(
                t.random.choice((900, 1000, 1300, 1500)), t.random.randrange(1 << 30)
            ),
        )
        for _ in range(3):
            run.do(LEVEL0, t.random.randrange(8000, 20_000))
            run.look()
        run.end(samples, counts("due"))


@test("strokes that nobody could notice are skipped", points=3)
def missed(t: Test, _model: None) -> None:
    run = Run(t, Settings(t.random.choice((1000, 1200, 1600))))
    for _ in range(3):
        run.dark(2000, 9000)
    run.end(counts("due", "taken", "skipped"))


@test("which stroke a sample stands for", points=2)
def stands_for(t: Test, _model: None) -> None:
    run = Run(t, Settings(t.random.choice((1000, 1250, 1500))))
    for _ in range(4):
        run.dark(1600, 4000)
    run.end(longest, counts("late"), samples)


@test("a sample that comes too late", points=2)
def late(t: Test, _model: None) -> None:
    """By less than what is allowed, or by more."""
    run = Run(t, Settings(500))
    for _ in range(5):
        n = run.clock.after(run.clock.since + (run.now + 500) * US)
        at = (run.clock.stroke(n) - run.clock.since) // US
        allowed = t.params["LATE"]
        for after in (
            t.random.randrange(60, allowed - 80),
            t.random.randrange(allowed + 80, 1500),
        ):
            lab(t, DARK, 100 + after, at=at - 100)
            at += 4000
        run.now = at + 2000
    run.end(counts("late", "taken"), samples)


@test("samples leave time for other work", points=3)
def rest(t: Test, _model: None) -> None:
    """At rates at which they would be too close."""
    steady = Settings(t.random.choice((8500, 9000, 10_000)))
    uneven = Settings(t.random.choice((2500, 3000)), t.random.randrange(1 << 30))
    for settings in (steady, uneven):
        run = Run(t, settings)
        run.do(LEVEL0, 30_000)
        run.end(samples, counts("due", "skipped"), at=run.after_sample(50))


@test("held, and started anew", points=2)
def held(t: Test, _model: None) -> None:
    """Nothing falls due while it's held; then all counts begin at 0."""
    run = Run(t, plain(t))
    run.dark(2000, 5000)
    lab(t, HOLD, run.moment(0, 3000))
    lab(t, LEVEL0, 20_000)
    for _ in range(2):
        run = Run(t, plain(t))
        run.do(LEVEL0, 9000)
        run.end(
            counts("due", "taken", "skipped", "late"),
            longest,
            nexts,
            at=run.before_stroke(t.random.randrange(15, 35)),
        )
    lab(t, LEVEL0, 20_000)
    read(
        t,
        lambda log: "a sample was taken while the clock was held"
        if any(
            e.kind == SAMPLE and e.time > log.value(HELD) + SOON for e in log.entries
        )
        else None,
    )


@test("all of it at once", points=2)
def together(t: Test, _model: None) -> None:
    """Locks, darkness and random intervals."""
    run = Run(t, Settings(t.random.choice((800, 1100)), t.random.randrange(1 << 30)))
    for request in t.random.sample((LEVEL0, LEVEL1, LEVEL5, NEST, DARK), 5):
        if request == DARK:
            run.dark(3000, 9000)
        else:
            run.do(request, t.random.randrange(5000, 12_000))
            run.now += 2 * 12_000 if request == NEST else 0
    run.end(samples, counts("due", "taken", "skipped", "late"), longest)
