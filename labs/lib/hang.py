"""What a kernel was doing when it came to a bad end: in its last words, or, where it
hangs with interrupts off and has none, in QEMU's registers and the stack."""

from __future__ import annotations

import bisect
import re
from pathlib import Path
from typing import Optional

from lastwords import with_lines
from machine import Boot
from script import Step, Test, cut

SHOWN = 24  # lines
CALLS = 20  # of a hart
MOST = 1 << 16  # bytes of a function

OVER = re.compile(rb"cap: over on hart (\d+) at 0x([0-9a-f]+)\n")
WORD = re.compile(r"0x([0-9a-f]{16})")


class CappedBoot(Boot):
    """One that QEMU's plugin stops after so many instructions (labs/cap): `found` is
    what its hart was doing then, in the form of the kernel's last words."""

    names = ""  # of functions: lines of an address and a name, the lowest first
    found = ""

    def _complain(self, data: bytes) -> None:
        super()._complain(data)
        over = OVER.search(self.complaints)
        if over and not self.found:
            self.found = self._look(int(over[1]), int(over[2], 16))
            self.process.kill()

    def _look(self, hart: int, pc: int) -> str:
        """Its stack is walked as kernel/base/frames.c does. The first function may
        have no frame; then only ra tells who has called it."""
        said = self._ask("info registers", hart)
        found = dict(re.findall(r"(x1/ra|x8/s0) +([0-9a-f]{16})", said))
        lines = [self._place(pc, 0)]
        caller = self._place(int(found["x1/ra"], 16), 1)
        if function(caller) != function(lines[0]):
            lines.append(caller)
        fp, before = int(found["x8/s0"], 16), 0
        while len(lines) <= CALLS and before < fp and fp % 16 == 0:
            words = WORD.findall(self._ask(f"x/2gx {fp - 16:#x}", hart))
            if len(words) < 2:
                break
            frame, back = (int(word, 16) for word in words)
            place = self._place(back, 1)
            lines.append(place)
            # What calls nobody has only its caller's frame, where others return to.
            before, fp = fp, frame if place else back
        return f"hart {hart}: " + "\n  ".join(filter(None, lines))

    def _ask(self, line: str, hart: int) -> str:
        return self.control.ask(
            "human-monitor-command", {"command-line": line, "cpu-index": hart}
        )

    def _place(self, address: int, back: int) -> str:
        """back: 1 for where a call returns to. Empty: it's in no function."""
        functions = [line.split() for line in self.names.splitlines()]
        starts = [int(start, 16) for start, _ in functions]
        i = bisect.bisect(starts, address - back) - 1
        if i < 0 or address - starts[i] > MOST:
            return ""
        return f"{address:#x} {functions[i][1]}+{address - starts[i]:#x}"


def function(place: str) -> str:
    return place.rpartition(" ")[2].partition("+")[0]


def shown(words: str, kernel: Path) -> list[str]:
    """The last words with lines of the source, but for what always waits: harts
    without work, init, and who only waits for a child."""
    lines = with_lines(words.strip().encode(), kernel).decode(errors="replace")
    lines = re.sub(r"0x[0-9a-f]{16} (?=[A-Za-z_])", "", lines)
    blocks = re.findall(r"^\S.*\n?(?:[ \t].*\n?)*", lines, re.M)
    kept = [b for b in blocks if not WAITS.search(b)] or blocks
    text = [x for b in kept for x in b.splitlines() if not ENTRY.match(x)]
    return text if len(text) <= SHOWN else [*text[: SHOWN - 1], "..."]


WAITS = re.compile(r"^hart \d+: idle_\w+\+\S+(?: \(\S+\))?\n?\Z|^thread \d+ \(init\) "
                   r"|^  wait_for\+", re.M)
#: Calls that each thread has.
ENTRY = re.compile(r"  (?:syscall|trap_vector)\+")


def came_to(test: Test, at: Step, answers: dict[str, str]) -> list[str]:
    """Of each process that has not done its steps, at which it is, and what it did
    before: that should have gone on, or have woken somebody. at: what failed."""
    lines = []
    for process in dict.fromkeys(step.process for step in test.steps):
        mine = [step for step in test.steps if step.process == process]
        done = [step for step in mine if step.token in answers]
        if len(done) == len(mine):
            continue
        name = "the first process"
        if process:
            begin = test.steps[test.steps.index(mine[0]) - 1]
            name = " ".join(begin.text.split()[:2])
            if begin.token not in answers:
                continue
        now = mine[len(done)]
        line = f"{name} came " + ("there" if now is at else f"to `{cut(now.text)}`")
        if done:
            last = done[-1]
            line += f", after `{cut(last.text)}`: {cut(answers[last.token])}"
        lines.append(line)
    return lines
