"""The kernel's protocols in the RISC-V memory model, by litmus tests.

docs/locks.md has them. That they mean something is seen when an order is
dropped: the explorer (harness/rvwmo.py) finds how it goes wrong. That they are
the kernel's is seen in the source, and in what the compiler makes of it.
"""

from __future__ import annotations

import functools
import itertools
import re
import subprocess
from pathlib import Path
from random import Random
from typing import Iterator, Optional

import pytest

from harness import rvwmo
from harness.rvwmo import Hart, Instruction, Litmus
from tally import ROOT

FILE = ROOT / "docs/locks.md"
KNOWN = (Path(__file__).parent / "litmus/known.txt").read_text().strip().split("\n\n")[1:]

BLOCKS = re.findall(r"^```litmus\n(.*?)^```$", FILE.read_text(), re.M | re.S)
TESTS = [rvwmo.parse(block) for block in BLOCKS]
#: Other places that have the same order for the same reason.
ALSO = {t.name: re.findall(r"^also (.*)$", b, re.M) for t, b in zip(TESTS, BLOCKS)}

each = pytest.mark.parametrize("test", TESTS, ids=[test.name for test in TESTS])

#: What orders anything, in C and in assembly.
ORDER = re.compile(
    r"__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)"
    r"|\bfence\((?!before)|\bfence (?=\w+, \w)"
)
#: Without the debug build's checks, which docs/locks.md leaves out.
SOURCES = [
    file for file in sorted((ROOT / "kernel").rglob("*.[chS]"))
    if not file.name.startswith("check_")
]


@pytest.mark.parametrize("text", KNOWN, ids=lambda text: text.split()[1].strip(":"))
def test_what_is_known(text: str) -> None:
    """The explorer's answers are the specification's."""
    answer, _, test = text.partition(" ")
    order = rvwmo.find(rvwmo.parse(test))
    assert (order is None) == (answer == "forbidden"), order


# --- The explorer, by the specification's words -------------------------------


def by_axioms(harts: list[list[Instruction]]) -> Iterator[dict[str, int]]:
    """All outcomes, from the axioms alone: each order of all operations is tried,
    and each rule asked of each pair, in the specification's words."""
    ops = [(h, n) for h, p in enumerate(harts) for n, i in enumerate(p) if i.at]

    def of(op: tuple[int, int]) -> Instruction:
        return harts[op[0]][op[1]]

    def between(a: tuple[int, int], b: tuple[int, int]) -> list[tuple[int, int]]:
        return [(a[0], n) for n in range(a[1] + 1, b[1])]

    def uses(op: tuple[int, int], text: str) -> bool:
        return bool(of(op).to) and of(op).to in re.findall(r"\w+", text)

    def rule(a: tuple[int, int], b: tuple[int, int], source: dict) -> int:
        """By which rule a is kept before b, which its hart has later; 0: none."""
        i, j, mid = of(a), of(b), between(a, b)
        same = i.at == j.at
        if same and j.stores:
            return 1
        if same and i.loads and j.loads and source[a] != source[b]:
            if not any(of(m).stores and of(m).at == i.at for m in mid):
                return 2
        if i.op in (*rvwmo.AMOS, "sc") and j.loads and source[b] == a:
            return 3
        for f in map(of, mid):
            if set(i.kinds) & set(f.before) and set(j.kinds) & set(f.after):
                return 4
        if i.order in (".aq", ".aqrl"):
            return 5
        if j.order in (".rl", ".aqrl"):
            return 6
        if i.order and j.order:
            return 7
        if uses(a, j.address):
            return 9
        if uses(a, j.value):
            return 10
        if j.stores and any(of(m).op == "if" and uses(a, of(m).value) for m in mid):
            return 11
        if j.loads and source[b] in mid:
            m = of(source[b])
            if uses(a, m.address) or uses(a, m.value):
                return 12
        if j.stores and any(uses(a, of(m).address) for m in mid):
            return 13
        return 0

    pairs = [(a, b) for a in ops for b in ops if a[0] == b[0] and a[1] < b[1]]
    for order in itertools.permutations(ops):
        at = {op: n for n, op in enumerate(order)}
        source = {}
        for op in ops:
            if of(op).loads:  # the load value axiom
                stores = [s for s in ops if of(s).stores and of(s).at == of(op).at]
                before = [s for s in stores if at[s] < at[op] or (s[0] == op[0] and s < op)]
                source[op] = max(before, key=at.get, default=None)
        if any(at[a] > at[b] and rule(a, b, source) for a, b in pairs):
            continue
        known: dict[str, int] = {}
        stored: dict[Optional[tuple[int, int]], int] = {None: 0}

        def value(op: Optional[tuple[int, int]]) -> int:
            """What a store stores. What it needs has been kept before it."""
            if op not in stored:
                i = of(op)
                for d in ops:
                    if d[0] == op[0] and d[1] < op[1] and uses(d, i.value):
                        known[of(d).to] = value(source[d])
                new = eval(i.value, {}, known)
                old = rvwmo.AMOS[i.op](value(source[op]), new) if i.op else new
                stored[op] = old
            return stored[op]

        for op in ops:
            if of(op).to:
                known[of(op).to] = value(source[op])
        for place in {of(op).at for op in ops}:
            last = [s for s in order if of(s).stores and of(s).at == place]
            known[place] = value(last[-1]) if last else 0
        yield known


def at_random(random: Random) -> list[list[Instruction]]:
    """Two or three harts, with six operations at most."""
    harts: list[list[Instruction]] = []
    registers = iter("abcdef")
    for size in random.choice(((3, 3), (2, 3), (4, 2), (2, 2, 1), (3, 1, 1))):
        lines: list[str] = []
        own: list[str] = []
        for _ in range(size):
            if random.random() < 0.3:
                kinds = [random.choice(("r", "w", "rw")) for _ in range(2)]
                lines.append(f"fence {kinds[0]},{kinds[1]}")
            if own and random.random() < 0.2:
                lines.append(f"if {random.choice(own)} >= 0")
            place = random.choice("xyz" if size > 2 else "xy")
            if own and random.random() < 0.4:
                place += f" @ {random.choice(own)}"
            value = random.choice([*own, "1", "2"])
            kind = random.choice(("load", "load", "store", "store", "amo"))
            order = random.choice(("", "", ".aq", ".rl", ".aqrl"))
            if kind == "store":
                lines.append(f"[{place}] = {value}")
                continue
            register = next(registers)
            if kind == "load":
                lines.append(f"{register} = [{place}]")
            else:
                lines.append(f"{register} = add{order} [{place}], {value}")
            own.append(register)
        harts.append([rvwmo.instruction(line) for line in lines])
    return harts


@pytest.mark.parametrize("seed", range(4))
def test_the_explorer_keeps_to_the_axioms(seed: int) -> None:
    """It has the same outcomes as all orders that the axioms allow."""
    random = Random(seed)
    for _ in range(40):
        harts = at_random(random)
        run = rvwmo.Execution(tuple(harts), {})
        found = {frozenset(run.outcome(end).items()) for end, _ in run.ends()}
        true = {frozenset(outcome.items()) for outcome in by_axioms(harts)}
        assert found == true, [[i.text for i in hart] for hart in harts]


# --- The protocols -----------------------------------------------------------


def orders(test: Litmus) -> Iterator[tuple[int, int, Instruction]]:
    for h, hart in enumerate(test.harts):
        for n, i in enumerate(hart.program):
            if i.orders:
                yield h, n, i


def without_spare(test: Litmus) -> Litmus:
    for h, n, i in orders(test):
        if i.spare:
            test = test.without_order(h, n)
    return test


@each
def test_it_never_goes_wrong(test: Litmus) -> None:
    """Nor without all that stands in parentheses."""
    assert rvwmo.find(test) is None
    assert rvwmo.find(without_spare(test)) is None


@each
def test_each_order_is_needed(test: Litmus) -> None:
    """All that isn't in parentheses is."""
    least = without_spare(test)
    idle = [
        f"{test.harts[h].name}, line {n + 1}: {i.text}"
        for h, n, i in orders(least)
        if rvwmo.find(least.without_order(h, n)) is None
    ]
    assert not idle


# --- The source --------------------------------------------------------------


def flat(text: str) -> str:
    return " ".join(text.split())


@functools.lru_cache(None)
def functions(file: Path) -> dict[str, str]:
    """By name, what a file has of functions, each as one line."""
    text = file.read_text()
    if file.suffix == ".S":
        parts = re.split(r"^FUNCTION (\w+)$", text, flags=re.M)[1:]
        return {name: flat(body) for name, body in zip(parts[::2], parts[1::2])}
    inner = r"(?:[^;{}()]|\([^;{}()]*\))*"
    form = rf"^(?:\w[^\n]*[ *])?([a-z_]\w*)\({inner}\)(?: [A-Z]+\([^\n]*\))?\n(\{{\n.*?^\}})"
    found = re.findall(form, text, re.M | re.S)
    return {name: flat(body) for name, body in found}


def place(note: str, files: list[str]) -> tuple[str, str, int, int]:
    """Where words are, `FUNCTION: WORDS`, of a function of one of the files."""
    name, _, words = note.partition(": ")
    found = [(f, functions(ROOT / f).get(name)) for f in files]
    found = [(file, body) for file, body in found if body is not None]
    assert len(found) == 1, f"{name}: in {len(found)} of {files}"
    file, body = found[0]
    assert body.count(words) == 1, f"{file}: {name} has {body.count(words)} of: {words}"
    return file, name, body.index(words), body.index(words) + len(words)


def files_of(hart: Hart) -> list[str]:
    return re.findall(r"kernel/[\w/]+\.[chS]", hart.name)


def places(test: Litmus) -> Iterator[tuple[str, str, int, int]]:
    for hart in test.harts:
        for i in hart.program:
            if i.note and files_of(hart):
                yield place(i.note, files_of(hart))
    for line in ALSO[test.name]:
        file, _, note = line.partition(" ")
        yield place(note, [file])


def asked(i: Optional[Instruction]) -> str:
    """The order that a line's words ask for."""
    match = re.search(r"__ATOMIC_(\w+)", i.note) if i else None
    return match[1] if match else ""


def is_fence(i: Optional[Instruction], *kinds: str) -> bool:
    return i is not None and f"{i.before},{i.after}" in kinds


def has_its_order(program: tuple[Instruction, ...], n: int) -> bool:
    """Has a line, with the fences around it, what its words ask for?"""
    i, order = program[n], asked(program[n])
    before = program[n - 1] if n > 0 else None
    after = program[n + 1] if n + 1 < len(program) else None
    acquires = order in ("ACQUIRE", "ACQ_REL", "SEQ_CST")
    releases = order in ("RELEASE", "ACQ_REL", "SEQ_CST")
    if i.op == "fence":
        kinds = {"ACQUIRE": "r,rw", "RELEASE": "rw,w", "SEQ_CST": "rw,rw"}
        return not order or is_fence(i, kinds[order])
    if i.op:  # an amo, or a pair
        good = (i.order == ".aq") == acquires
        return good and (not releases or is_fence(before, "rw,w"))
    if i.loads:
        good = order != "SEQ_CST" or is_fence(before, "rw,rw")
        return good and (not acquires or is_fence(after, "r,rw"))
    return not releases or is_fence(before, "rw,w")


def is_anyones(program: tuple[Instruction, ...], n: int) -> bool:
    """Do the words beside a fence, or a line beside it, ask for it? Or is it the
    spinlock's?"""
    if program[n].note:
        return True
    before, after = program[n - 1] if n else None, program[n + 1]
    return (
        (asked(before) in ("ACQUIRE", "SEQ_CST") and before.loads)
        or (asked(after) == "SEQ_CST" and after.loads)
        or (asked(after) in ("RELEASE", "ACQ_REL", "SEQ_CST") and after.stores)
        or after.at == "held"
    )


@each
def test_it_is_the_kernels(test: Litmus) -> None:
    """Its words are in the source, once, and ask for the orders that it has."""
    assert list(places(test))
    for hart in test.harts:
        for n, i in enumerate(hart.program):
            where = f"{test.name}: {hart.name}: {i.text}"
            assert has_its_order(hart.program, n) or i.at == "held", where
            if i.op == "fence" and files_of(hart):
                assert is_anyones(hart.program, n), f"{where}: of no source"


def test_all_orders_are_there() -> None:
    """Each one of the kernel's stands beside a line."""
    known = {p for test in TESTS for p in places(test)}
    missing = []
    for source in SOURCES:
        file = str(source.relative_to(ROOT))
        for name, body in functions(source).items():
            spans = [(a, b) for f, n, a, b in known if (f, n) == (file, name)]
            for match in ORDER.finditer(body):
                if body[: match.start()].endswith("signal_fence("):
                    continue  # for the compiler, on one hart
                if not any(a <= match.start() < b for a, b in spans):
                    missing.append(f"{file}: {name}: {body[match.start():][:40]}")
    assert not missing


# --- The compiler ------------------------------------------------------------

#: What is used, and what GCC 14 or GCC 12 make of it.
MADE = {
    "__atomic_load_n(p, __ATOMIC_ACQUIRE)": "lw; fence r,rw | lw; fence",
    "__atomic_load_n(p, __ATOMIC_SEQ_CST)":
        "fence rw,rw; lw; fence r,rw | fence; lw; fence",
    "__atomic_store_n(p, x, __ATOMIC_RELEASE)": "fence rw,w; sw | fence iorw,ow; amoswap",
    "__atomic_store_n(p, x, __ATOMIC_SEQ_CST)":
        "fence rw,w; sw; fence rw,rw | fence iorw,ow; amoswap.aq",
    "__atomic_fetch_add(p, x, __ATOMIC_ACQUIRE)": "amoadd.aq",
    "__atomic_fetch_add(p, x, __ATOMIC_RELEASE)": "amoadd.rl | fence iorw,ow; amoadd",
    "__atomic_fetch_add(p, x, __ATOMIC_ACQ_REL)":
        "amoadd.aqrl | fence iorw,ow; amoadd.aq",
    "__atomic_fetch_add(p, x, __ATOMIC_SEQ_CST)":
        "amoadd.aqrl | fence iorw,ow; amoadd.aq",
    "__atomic_compare_exchange_n(p, &x, 2, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)":
        "lr.aq; sc | lr; sc.aq",
    "__atomic_compare_exchange_n(p, &x, 2, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)":
        "lr.aq; sc | lr.aq; sc.aq",
    "__atomic_thread_fence(__ATOMIC_ACQUIRE)": "fence r,rw | fence",
    "__atomic_thread_fence(__ATOMIC_RELEASE)": "fence rw,w | fence",
    "__atomic_thread_fence(__ATOMIC_SEQ_CST)": "fence rw,rw | fence",
}  # fmt: skip

INSTRUCTION = re.compile(
    r"\b(fence|lw|sw|amo\w+|lr|sc)(?:\.[wd])?((?:\.aq|\.rl|\.aqrl)?)\s+([iorw]+,[iorw]+)?"
)


def test_the_compiler_makes_them() -> None:
    """The instructions that the litmus tests have, or stronger ones."""
    command = ["make", "-s", "print-CC"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    command = [done.stdout.strip(), *"-O2 -S -xc - -o -".split()]
    wrong = []
    for words, makes in MADE.items():
        source = f"void f(int *p, int *q, int x) {{ {words}; }}"
        if "load" in words:
            source = f"int f(int *p) {{ return {words}; }}"
        done = subprocess.run(command, input=source, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        code = done.stdout.replace("fence\n", "fence \n")
        made = "; ".join(
            f"fence {kinds}".removesuffix(" iorw,iorw") if op == "fence" else op + order
            for op, order, kinds in INSTRUCTION.findall(code)
        )
        if "compare" in words:  # x is in memory
            made = made.replace("sw; ", "").replace("lw; ", "").removesuffix("; sw")
        if made not in makes.split(" | "):
            wrong.append(f"{words}: {made}")
    assert not wrong


def test_no_exchange_is_to_release() -> None:
    """GCC 12 takes a compare-and-swap's order before it from that of the case
    that it fails, and so makes none: a fence goes before it instead."""
    for source in SOURCES:
        for call in source.read_text().split("compare_exchange_n(")[1:]:
            orders = call[: call.index("))")].partition(";")[0]
            assert not re.search("ACQ_REL|RELEASE|SEQ_CST", orders), f"{source}: {orders}"
