"""Decides lab mutex: a model of who waits, and who is next."""

from __future__ import annotations

from typing import Any, Optional

from tally.grading.script import NEVER, Test, test

LAB = 0  # the slot of /dev/mutexlab
SLOTS = 16  # of processes
HOLD, LOOK, ASKING, LET_GO, ADD, SUM, RELAY, WANTED, LEFT = range(1, 10)
SIGKILL, SIGUSR1 = 9, 10
MUTEXES = (0, 1)
FREE, WAITED = 1.25, 1.5  # times the reference


class Mutex:
    """Who has it, and who waits for it in the order in which they came."""

    def __init__(self) -> None:
        self.holder = 0
        self.waiting: list[int] = []
        self.handed = 0


class Model:
    """Processes have numbers as names, in the order in which they were made: so
    the lowest tid is the lowest number's."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.mutexes = [Mutex() for _ in MUTEXES]
        self.names = 0
        self.left: dict[int, int] = {}  # how often each will ask again
        self.ends: list[int] = []  # by slot: the status of each at its end

    def next_owner(self, m: Mutex) -> int:
        """To whom it is handed."""
        every = self.params["EVERY"]
        turn = 0 if self.params["OLDEST_BEGINS"] else every - 1
        pick = {"last": lambda names: names[-1], "low": min, "high": max}
        oldest = m.handed % every == turn
        name = m.waiting[0] if oldest else pick[self.params["RULE"]](m.waiting)
        m.handed += 1
        m.waiting.remove(name)
        if not m.waiting and self.params["BEGINS_ANEW"]:
            m.handed = 0
        return name

    # --- What processes do ---

    def do(self, t: Test, what: int, mutex: int, a: int, b: int, want: Any) -> None:
        t.do(f"ioctl {LAB} {what} {mutex | a << 4 | b << 16:#x}", want)

    def ask(self, t: Test, mutex: int, times: int = 1, signal: int = 0) -> int:
        """Another process holds the mutex, or waits for it. A signal that comes
        while it waits has no effect before it has had its turn."""
        m = self.mutexes[mutex]
        self.names += 1
        name = self.names
        self.left[name] = times - 1
        slot = len(self.ends)
        self.ends.append(SIGKILL if signal == SIGKILL else 0)
        with t.child(slot):
            self.do(t, HOLD, mutex, name, times, NEVER if signal == SIGKILL else 0)
            if signal == SIGUSR1:
                t.do("caught", 1)
        if m.holder:
            self.waits(t, mutex, name)
        else:
            m.holder = name
            self.look(t, mutex, "the mutex was free when it asked")
        if signal:
            t.do(f"kill {slot} {signal}", 0)
            self.asleep(t, slot)
        return slot

    def waits(self, t: Test, mutex: int, name: int) -> None:
        """Time to fall asleep, after it has asked."""
        m = self.mutexes[mutex]
        m.waiting.append(name)
        self.do(t, ASKING, mutex, len(m.waiting), 0, 0)
        t.do("sleep 10", 0)

    def asleep(self, t: Test, slot: int) -> None:
        def judge(state: str) -> Optional[str]:
            if state == "S":
                return None
            return f"the process waits for the mutex, but its state is {state}, not S"

        t.do(f"state {slot}", judge)

    def look(self, t: Test, mutex: int, why: str) -> None:
        want = self.mutexes[mutex].holder

        def judge(answer: str) -> Optional[str]:
            got = int(answer)
            if got == want:
                return None
            return f"process {got} has the mutex, but {want} should have it: {why}"

        self.do(t, LOOK, mutex, 0, 0, judge)

    def let_go(self, t: Test, mutex: int) -> None:
        m = self.mutexes[mutex]
        old, before = m.holder, list(m.waiting)
        self.do(t, LET_GO, mutex, 0, 0, 0)
        m.holder = 0
        if before:
            number = m.handed + 1
            m.holder = self.next_owner(m)
            self.look(
                t,
                mutex,
                f"the processes {before} were waiting, listed in the order in which"
                f" they began to wait, and this was hand-over number {number}",
            )
        if self.left[old] > 0:
            self.left[old] -= 1
            if before:
                self.waits(t, mutex, old)
            else:
                m.holder = old
                self.look(t, mutex, "no other process waited for the mutex")

    def drain(self, t: Test, *mutexes: int) -> None:
        """Until nobody holds one, and all processes have ended. If the wrong one
        had it, this comes to its end all the same."""
        while held := [n for n in mutexes if self.mutexes[n].holder]:
            self.let_go(t, t.random.choice(held))
        for slot, end in enumerate(self.ends):
            t.do(f"wait {slot}", end)
        self.ends = []


def setup(t: Test) -> Model:
    t.do(f"open {LAB} r /dev/mutexlab", 0)
    return Model(t.params)


# --- One after the other -----------------------------------------------------


@test("a free mutex is taken at once")
def free(t: Test, model: Model) -> None:
    for mutex in (0, 1, 0, 0):
        model.ask(t, mutex)
        model.drain(t, mutex)


@test("a waiting thread sleeps", points=3)
def sleeps(t: Test, model: Model) -> None:
    for mutex in MUTEXES:
        model.ask(t, mutex)
        model.asleep(t, model.ask(t, mutex))
        model.drain(t, mutex)


@test("which thread gets the mutex next", points=5)
def handed(t: Test, model: Model) -> None:
    m = model.mutexes[0]
    for _ in range(5):
        model.ask(t, 0)
    while len(model.ends) < SLOTS:
        if len(m.waiting) < 2 or t.random.randrange(2):
            model.ask(t, 0)
        else:
            model.let_go(t, 0)
    model.drain(t, 0)


@test("a thread that asks again queues behind the others", points=4)
def behind(t: Test, model: Model) -> None:
    model.ask(t, 0, times=4)
    model.ask(t, 0, times=t.random.randrange(1, 4))
    model.drain(t, 0)


@test("nobody waits for ever", points=4)
def forever(t: Test, model: Model) -> None:
    for _ in range(4):
        model.ask(t, 0, times=t.params["EVERY"] + 2)
    model.drain(t, 0)


def take_turns(t: Test, model: Model, rounds: list[int]) -> list[int]:
    """So many wait in each, and all ask twice: one that comes again is last of those
    that wait, but its tid may be the lowest. Who has it in turn."""
    mutex = model.mutexes[1]
    turns = []
    for waiters in rounds:
        for _ in range(1 + waiters):
            model.ask(t, 1, times=2)
        while mutex.holder:
            turns.append(mutex.holder)
            model.let_go(t, 1)
        model.drain(t, 1)
    return turns


@test("the count when nobody is left waiting", points=2)
def count(t: Test, model: Model) -> None:
    """Rounds are drawn until one could tell a count that goes on."""
    while True:
        rounds = t.random.sample((1, 2, 3, 3, 4), 5)
        anew, on = (
            take_turns(
                Test(t.name, t.params, "", t.symbol),
                Model({**t.params, "BEGINS_ANEW": begins}),
                rounds,
            )
            for begins in (1, 0)
        )
        if anew != on:
            break
    take_turns(t, model, rounds)


@test("each mutex counts on its own", points=2)
def own(t: Test, model: Model) -> None:
    for mutex in MUTEXES * 4:
        model.ask(t, mutex, times=2)
    model.drain(t, *MUTEXES)


@test("a signal doesn't end the sleep", points=2)
def signals(t: Test, model: Model) -> None:
    for signal in (SIGUSR1, SIGKILL):
        model.ask(t, 0)
        model.ask(t, 0, signal=signal)
        model.drain(t, 0)


@test("the debug build's checks are told, before the wait")
def told(t: Test, model: Model) -> None:
    """It has checks of its own, and these counts aren't made."""
    before: dict[int, int] = {}

    def more(what: int, want: int) -> None:
        def judge(answer: str) -> Optional[str]:
            if answer == "-ENOSYS":
                return None
            got = int(answer) - before.setdefault(what, int(answer))
            name = "lock" if what == WANTED else "unlock"
            if got == want:
                return None
            return f"check_mutex_{name} was called {got} times, not {want}"

        model.do(t, what, 0, 0, 0, judge)

    more(WANTED, 0)
    more(LEFT, 0)
    for _ in range(2):
        model.ask(t, 0)
    more(WANTED, 2)
    more(LEFT, 0)
    model.let_go(t, 0)
    more(LEFT, 1)
    model.drain(t, 0)
    more(WANTED, 2)
    more(LEFT, 2)


# --- Who comes at once -------------------------------------------------------


def wait(t: Test, children: int) -> None:
    for slot in range(children):
        t.do(f"wait {slot}", 0)


@test("one has it at a time", points=2, race=8)
def alone(t: Test, model: Model) -> None:
    """Those that mostly find it taken, then those that mostly find it free."""
    for children, rounds, times in ((5, 20, 200), (4, 1 | 50 << 6, 1500)):
        for slot in range(children):
            with t.child(slot):
                model.do(t, ADD, 0, rounds, times, 0)
        wait(t, children)
        model.do(t, SUM, 0, 0, 0, children * times)


@test("no wake-up is lost", points=2, race=4)
def lost(t: Test, model: Model) -> None:
    """Some meet each time, others now and then."""
    members, children, times = 4, 8, 1500
    for slot in range(children):
        with t.child(slot):
            if slot < members:
                model.do(t, RELAY, 0, members, 20, 0)
            else:
                model.do(t, ADD, 0, slot | 20 << 6, times, 0)
    wait(t, children)
    model.do(t, SUM, 0, 0, 0, (children - members) * times)


# --- What it costs -----------------------------------------------------------


@test("what a free mutex costs")
def free_cost(t: Test, model: Model) -> None:
    with t.cost("20000 times taken and let go", FREE):
        model.do(t, ADD, 1, 0, 20000, 0)
    model.do(t, SUM, 1, 0, 0, 20000)


@test("what a hand-over costs", points=2)
def handover_cost(t: Test, model: Model) -> None:
    """Each finds all others waiting. Only one of them is to wake up."""
    members, times = 12, 60
    with t.cost(f"{members * times} hand-overs", WAITED):
        for slot in range(members):
            with t.child(slot):
                model.do(t, RELAY, 1, members, times, 0)
        wait(t, members)
