"""What the RISC-V memory model allows: an explorer of litmus tests.

RVWMO lets the loads and stores of all harts happen in one order, the global
memory order. A hart's own order, the program order, holds in it only where one
of thirteen rules keeps it (`preserved`); that is all that fences, .aq and .rl
are for. A load gives what the newest store to its address has stored, newest in
the global order, of those before the load there or in its own hart's program:
so a hart sees its own store before others may. For a pair of lr and sc no store
of another hart comes in between.

`find` builds every such order, an operation at a time, until one ends as the
test's last line says. A test is text:

    MP: the new word, the old data
    writer
        [data] = 1
        fence w,w
        [word] = 1
    reader
        w = [word]
        d = [data @ w]
    never w == 1 and d == 0

A name in brackets is memory, which is 0 if no line `at first x == 1` says more;
any other is a register of one hart's. `[data @ w]`: the address comes from w.
<x> is a device's register or a hart's own control register: a hart's accesses
to these keep their order, but only fences with i and o order them among memory.
`old = add.aq [x], 1` is an amo (swap, add, and, or); `old = lr [x]` and
`sc [x], 1` are a pair. A hart goes on behind `if w == 1` only if that holds: a
loop that waits is its last round, and an sc is the one that succeeds.

What stands in parentheses, as `(fence w,w)` or `add(.aq) [x], 1`, isn't needed
for this test. What two blanks part from an instruction, and lines that begin
with `also`, are for others than the explorer.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Iterator, Optional

AMOS = {
    "swap": lambda old, new: new,
    "add": lambda old, new: old + new,
    "or": lambda old, new: old | new,
    "and": lambda old, new: old & new,
}

_PLACE = r"(?P<place>[\[<])(?P<at>\w+)(?: @ (?P<address>\w+))?[\]>]"
_FORMS = (
    r"(?P<op>fence) (?P<before>[iorw]+),(?P<after>[iorw]+)",
    r"(?P<op>if) (?P<value>.+)",
    r"(?:(?P<to>\w+) = )?(?P<op>swap|add|and|or|lr|sc)(?P<order>\.\w+)? "
    + _PLACE + "(?:, (?P<value>.+))?",
    r"(?P<to>\w+) = (?P<op>)" + _PLACE,
    r"(?P<op>)" + _PLACE + " = (?P<value>.+)",
)
_SPARE = re.compile(r"\((fence [^)]*|\.\w+)\)")


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One line of a hart's."""

    text: str
    note: str = ""  # what stands beside it
    spare: bool = False  # what orders is in parentheses
    op: str = ""
    to: str = ""  # a register
    at: str = ""  # a location
    device: bool = False
    address: str = ""  # a register that the address comes from
    value: str = ""
    order: str = ""  # .aq, .rl, .aqrl
    before: str = ""
    after: str = ""

    @property
    def loads(self) -> bool:
        return bool(self.at) and (bool(self.to) or self.op in AMOS)

    @property
    def stores(self) -> bool:
        return bool(self.at) and bool(self.value)

    @property
    def kinds(self) -> str:
        """What it is to a fence."""
        load, store = "io" if self.device else "rw"
        return load * self.loads + store * self.stores

    @property
    def orders(self) -> bool:
        return bool(self.before or self.order)


def instruction(line: str) -> Instruction:
    words, _, note = line.strip().partition("  ")
    bare = _SPARE.sub(r"\1", words)
    match = next(filter(None, (re.fullmatch(form, bare) for form in _FORMS)), None)
    if match is None:
        raise ValueError(f"no instruction: {words}")
    field = {key: value for key, value in match.groupdict().items() if value}
    device = field.pop("place", "[") == "<"
    return Instruction(words, note.strip(), bare != words, device=device, **field)


@dataclasses.dataclass(frozen=True)
class Hart:
    name: str
    program: tuple[Instruction, ...]


@dataclasses.dataclass(frozen=True)
class Litmus:
    """A test. `never` is the outcome that it forbids."""

    name: str
    first: dict[str, int]
    harts: tuple[Hart, ...]
    never: str

    def without_order(self, hart: int, index: int) -> Litmus:
        """The test, but one line orders nothing."""
        program, harts = list(self.harts[hart].program), list(self.harts)
        plain = dataclasses.replace(program[index], order="", before="", after="")
        program[index] = plain
        harts[hart] = Hart(harts[hart].name, tuple(program))
        return dataclasses.replace(self, harts=tuple(harts))


def parse(text: str) -> Litmus:
    head, *lines = text.strip().splitlines()
    first: dict[str, int] = {}
    harts: list[tuple[str, list[Instruction]]] = []
    never = ""
    for line in lines:
        if line.startswith("never "):
            never = line.removeprefix("never ")
        elif line.startswith("at first "):
            pairs = re.findall(r"(\w+) == (\d+)", line)
            first.update((at, int(value)) for at, value in pairs)
        elif line.startswith(" "):
            harts[-1][1].append(instruction(line))
        elif not line.startswith("also "):
            harts.append((line, []))
    registers = [i.to for _, program in harts for i in program if i.to]
    places = {i.at for _, program in harts for i in program}
    if len(set(registers)) < len(registers):
        raise ValueError(f"{head}: a register is set twice")
    if not never or not names(never) <= places.union(registers):
        raise ValueError(f"{head}: no outcome, or one of other names")
    made = tuple(Hart(title, tuple(program)) for title, program in harts)
    return Litmus(head.partition(":")[0], first, made, never)


# --- The rules ---------------------------------------------------------------


def names(expression: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", expression)) - {"and", "or", "not"}


def depends(on: Instruction, value: str) -> bool:
    return bool(on.to) and on.to in names(value)


def preserved(program: list[Instruction], i: int, j: int) -> bool:
    """Must the i-th come before the j-th, a later one, in the global order? By
    the rules that don't ask what was loaded: all but 2, 3 and 12."""
    a, b = program[i], program[j]
    between = program[i + 1 : j]
    for f in between:
        if f.op == "fence" and set(a.kinds) & set(f.before):
            if set(b.kinds) & set(f.after):
                return True  # 4
    if a.device or b.device:  # the rules are of memory; devices' take their turn
        return a.device and b.device
    if "aq" in a.order or "rl" in b.order or (a.order and b.order):
        return True  # 5, 6, 7
    if depends(a, b.address) or depends(a, b.value):
        return True  # 9, 10
    return b.stores and (
        a.at == b.at  # 1, and with it 8
        or any(m.op == "if" and depends(a, m.value) for m in between)  # 11
        or any(depends(a, m.address) for m in between)  # 13
    )


# --- Every order that they allow ---------------------------------------------

#: What a load got, and from which store; None if it hasn't happened.
Read = Optional[tuple[int, int]]

INITIAL = -1  # the store that made all memory as it is at first


@dataclasses.dataclass(frozen=True)
class State:
    """Some operations have happened."""

    done: int  # which, as bits
    reads: tuple[Read, ...]
    stores: tuple[tuple[int, int], ...]  # which and what value, in their order


class Execution:
    """Harts that each go one way through their program."""

    def __init__(
        self, programs: tuple[list[Instruction], ...], first: dict[str, int]
    ) -> None:
        self.first = first
        self.ops: list[Instruction] = []
        self.hart: list[int] = []
        self.before: list[int] = []  # what each waits for, as bits
        self.ifs: list[tuple[set[str], str]] = []
        for hart, program in enumerate(programs):
            self.ifs += [(names(i.value), i.value) for i in program if i.op == "if"]
            lines: list[int] = []  # where this hart's operations stand
            for j in (j for j, i in enumerate(program) if i.at):
                begin = len(self.ops) - len(lines)
                waits = [n for n, i in enumerate(lines, begin) if preserved(program, i, j)]
                lines.append(j)
                self.ops.append(program[j])
                self.hart.append(hart)
                self.before.append(sum(1 << n for n in waits))
        self.all = (1 << len(self.ops)) - 1

    def earlier(self, n: int) -> Iterator[int]:
        """Operations of the same hart on the same location, newest first."""
        for m in range(n - 1, -1, -1):
            if self.hart[m] == self.hart[n] and self.ops[m].at == self.ops[n].at:
                yield m

    def registers(self, state: State) -> dict[str, int]:
        pairs = zip(self.ops, state.reads)
        return {op.to: read[0] for op, read in pairs if op.to and read}

    def newest(self, state: State, at: str) -> tuple[int, int]:
        """The newest store of all to a location: its value, and which."""
        for m, value in reversed(state.stores):
            if self.ops[m].at == at:
                return value, m
        return self.first.get(at, 0), INITIAL

    def load(self, state: State, n: int) -> Read:
        """What a load gets if it happens now; None: it can't."""
        got: Read = self.newest(state, self.ops[n].at)
        for m in self.earlier(n):
            store = self.ops[m]
            if not store.stores or state.done >> m & 1:
                continue
            # Its own hart's, which no other has seen. Not an amo's or an sc's
            # (rule 3), nor before what that is made of is known (12).
            known = self.registers(state)
            needs = names(store.value) | ({store.address} - {""})
            if store.op or not needs <= known.keys():
                return None
            got = (eval(store.value, {}, known), m)
            break
        # Two loads of one location keep their order unless both get one store's
        # value, or the hart has stored there in between (2).
        for later in range(n + 1, len(self.ops)):
            if self.hart[later] != self.hart[n]:
                break
            if self.ops[later].at == self.ops[n].at:
                if self.ops[later].stores:
                    break
                read = state.reads[later]
                if read and read[1] != got[1]:
                    return None
        return got

    def unbroken(self, state: State, n: int) -> bool:
        """The atomicity axiom: may this sc succeed now?"""
        lr = next(m for m in self.earlier(n) if self.ops[m].op == "lr")
        source = state.reads[lr][1]
        since = [m for m, _ in state.stores if self.ops[m].at == self.ops[n].at]
        if source != INITIAL:
            since = since[since.index(source) + 1 :]
        return all(self.hart[m] == self.hart[n] for m in since)

    def step(self, state: State, n: int) -> Optional[State]:
        """Operation n happens; None: it can't."""
        op, reads, stores = self.ops[n], state.reads, state.stores
        old: Read = None
        if op.loads:
            old = self.load(state, n)
            if old is None:
                return None
            reads = reads[:n] + (old,) + reads[n + 1 :]
        if op.op == "sc" and not self.unbroken(state, n):
            return None
        if op.stores:
            value = eval(op.value, {}, self.registers(state))
            if op.op in AMOS:
                value = AMOS[op.op](old[0], value)
            stores += ((n, value),)
        after = State(state.done | 1 << n, reads, stores)
        known = self.registers(after) if op.to else {}
        for needs, value in self.ifs:
            if op.to in needs and needs <= known.keys():
                if not eval(value, {}, known):
                    return None
        return after

    def outcome(self, state: State) -> dict[str, int]:
        """Registers, and memory."""
        memory = {op.at: self.newest(state, op.at)[0] for op in self.ops}
        return {**self.registers(state), **memory}

    def ends(self) -> Iterator[tuple[State, list[int]]]:
        """All that it can end in, and an order for each."""
        seen = set()
        todo: list[tuple[State, list[int]]] = []
        todo.append((State(0, (None,) * len(self.ops), ()), []))
        while todo:
            state, order = todo.pop()
            if state.done == self.all:
                yield state, order
            for n, before in enumerate(self.before):
                if state.done >> n & 1 or before & ~state.done:
                    continue
                after = self.step(state, n)
                if after is not None and after not in seen:
                    seen.add(after)
                    todo.append((after, order + [n]))


def ways(program: tuple[Instruction, ...]) -> Iterator[list[Instruction]]:
    """Through a program: to its end, or to an `if` that doesn't hold."""
    yield list(program)
    for n, step in enumerate(program):
        if step.op == "if":
            stop = dataclasses.replace(step, value=f"not ({step.value})")
            yield [*program[:n], stop]


def find(test: Litmus) -> Optional[list[str]]:
    """How the outcome comes about, in the global order; None: it can't. It's of
    harts that come as far as the registers in it."""
    memory = {i.at: test.first.get(i.at, 0) for hart in test.harts for i in hart.program}
    registers = names(test.never) - memory.keys()
    for programs in itertools.product(*(ways(hart.program) for hart in test.harts)):
        if registers <= {i.to for program in programs for i in program}:
            run = Execution(programs, test.first)
            for end, order in run.ends():
                if eval(test.never, {}, {**memory, **run.outcome(end)}):
                    hart = [test.harts[h].name for h in run.hart]
                    return [f"{hart[n]}: {run.ops[n].text}" for n in order]
    return None
