"""The parts of a lab's check.py: tests, their steps, and the expected answers.

A check.py has a function `setup(t)`, which returns a model of the code that the
student writes, and functions marked with @test, which get the model and add steps:

    def setup(t):
        t.do("open 0 r /dev/ticks", 0)
        return Model(t.params)

    @test("a clear clears")
    def clears(t, model):
        t.do("put 0 clear", 5)
        t.do("read 0 32", model.image())

A step is an operation of guest/observe and its expected answer. Random values come
from t.random, whose seed differs for each test and nonce. Each boot has the setup and
some of the tests, in order. So a test may rely on the model, but not on earlier tests.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import struct
from typing import Any, Callable, Iterator, Optional, Union

#: An expected answer: a number; bytes that are read; a text, such as "-EINVAL" for an
#: error; a function that returns what is wrong with the answer, or None; or None, if
#: the answer is not judged.
Want = Union[int, bytes, str, Callable[[str], Optional[str]], None]
ALL: Any = object()  # expect that all bytes are written
Draw = Callable[["Test", Any], object]  # the setup returns the model

#: Addresses that a kernel must not read or write for a program: unmapped, the kernel's,
#: or neither half's.
NO_ADDRESSES = (
    0,
    0x7000_0000,
    0xFFFF_FFFF_8020_0000,
    0xFFFF_FFFF_8060_0000,
    0x4000_0000_0000_0000,
    0xFFFF_FFFF_FFFF_FFF0,
)

#: Expect no answer: the child is killed during the step.
NEVER = object()

#: A step that notes the count of instructions. Only the first process may have it.
MARK = "mark"

#: Returns a name's address in the judged kernel. LookupError: there is none.
Symbol = Callable[[str], int]

SHOWN = 60  # characters of a step or an answer in a message
SHOWN_BYTES = 8


@dataclasses.dataclass
class Step:
    """An operation, and its expected answer."""

    text: str
    want: Want
    token: str
    process: str  # the process that does it; "": the first

    def wrong(self, got: str) -> Optional[str]:
        """Returns what is wrong with an answer; None: nothing."""
        if self.want is None:
            return None
        if self.want is NEVER:
            return f"`{cut(self.text)}`: expected no answer, got {cut(got)}"
        if callable(self.want):
            try:
                why = self.want(got)
            except (ValueError, LookupError, ArithmeticError, struct.error):
                hoped = "expected no error, " if got.startswith("-E") else ""
                why = f"{hoped}got {cut(got)}"
            return f"`{cut(self.text)}`: {why}" if why else None
        want = expected(self.want)
        if got == want:
            return None
        return f"`{cut(self.text)}`: {difference(want, got)}"


def expected(want: Union[int, bytes, str]) -> str:
    """Returns the text of an expected answer."""
    if isinstance(want, bytes):
        return f"{len(want)} {want.hex()}"
    return str(want)


def cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def data(answer: str) -> bytes:
    """Returns the bytes of an answer; ValueError: it has none."""
    size, _, digits = answer.partition(" ")
    int(size)
    return bytes.fromhex(digits)


def difference(want: str, got: str) -> str:
    """Describes how two answers differ."""
    try:
        left, right = data(want), data(got)
    except ValueError:
        left = right = b""
    if not left or len(left) != len(right) or want.split()[0] != got.split()[0]:
        return f"expected {cut(want)}, got {cut(got)}"
    wrong = [i for i, (a, b) in enumerate(zip(left, right)) if a != b]
    first = wrong[0]
    ends = first + SHOWN_BYTES
    return (
        f"{len(wrong)} of {len(left)} bytes differ, the first at offset {first}:"
        f" from there, expected {left[first:ends].hex(' ')},"
        f" got {right[first:ends].hex(' ')}"
    )


@dataclasses.dataclass
class Cost:
    """Steps that may take `factor` times the solution's time and instructions."""

    name: str
    factor: float
    begin: str  # tokens of two marks
    end: str


class Test:
    """Collects the steps of one test, or of the setup."""

    def __init__(
        self, name: str, params: dict[str, Any], seed: str, symbol: Symbol
    ) -> None:
        self.name = name
        self.params = params
        self.symbol = symbol
        self.random = random.Random(f"{seed}/{name}")
        self._tokens = random.Random(f"{seed}/{name}/tokens")
        self.steps: list[Step] = []
        self.costs: list[Cost] = []
        self.lines: list[str] = []
        self.children: dict[str, str] = {}  # names by process
        self._process = ""

    def do(self, text: str, want: Want = None) -> str:
        """Adds an operation; returns its token."""
        token = f"{self._tokens.getrandbits(60):015x}"
        self.steps.append(Step(text, want, token, self._process))
        self.lines.append(f"{token} {text}")
        return token

    @contextlib.contextmanager
    def child(self, slot: int, sp: int = 0) -> Iterator[None]:
        """The steps inside are those of a child, which exits after the last. The parent
        must wait for it. sp: the stack pointer when it's forked."""
        parent, place = self._process, len(self.lines)
        self.do("child", 0)  # its text is known at the end
        begin = self.steps[-1]
        self._process = f"{self.name} {len(self.children)}"
        self.children[self._process] = f"child {slot}"
        yield
        self._process = parent
        begin.text = f"child {slot} {len(self.lines) - place - 1}"
        begin.text += f" {sp:#x}" if sp else ""
        self.lines[place] = f"{begin.token} {begin.text}"

    def progress(
        self, answers: dict[str, str]
    ) -> Iterator[tuple[str, list[Step], Optional[Step]]]:
        """Yields each process that has begun, the steps that it has answered, and its
        current step (None: it has finished)."""
        for process in dict.fromkeys(step.process for step in self.steps):
            mine = [step for step in self.steps if step.process == process]
            begin = self.steps[self.steps.index(mine[0]) - 1]  # a child's: its fork
            if process and begin.token not in answers:
                continue
            done = [step for step in mine if step.token in answers]
            yield process, done, mine[len(done)] if len(done) < len(mine) else None

    def many(self, slot: int, texts: list[str]) -> None:
        """Writes each text with a call of its own; none may fail."""
        self.do(f"many {slot} {len(texts)}", 0)
        self.lines += texts

    def put(self, slot: int, text: str, want: Want = ALL) -> None:
        """Writes a text. By default all of it is expected to be written."""
        self.do(f"put {slot} {text}", len(text) if want is ALL else want)

    @contextlib.contextmanager
    def cost(self, name: str, factor: float) -> Iterator[None]:
        """The steps inside may cost at most factor times what the solution's cost."""
        if self._process:
            raise ValueError(f"{name}: the costs of a child can't be measured")
        begin = self.do(MARK)
        yield
        self.costs.append(Cost(name, factor, begin, self.do(MARK)))


@dataclasses.dataclass(frozen=True)
class TestKind:
    """A test function, with the arguments of @test."""

    name: str
    points: int
    race: int  # the number of boots with different turns of the harts; 0: no race
    draw: Draw


def test(name: str, points: int = 1, race: int = 0) -> Callable[[Draw], TestKind]:
    def mark(function: Draw) -> TestKind:
        return TestKind(name, points, race, function)

    return mark
