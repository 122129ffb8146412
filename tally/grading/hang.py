"""Shows what a kernel was doing when it failed: from its panic or limit text, or, if it
hangs with interrupts off and prints nothing, from QEMU's registers and the stack."""

from __future__ import annotations

import bisect
import contextlib
import re
from pathlib import Path

from tally.boot.lastwords import with_lines
from tally.boot.machine import Boot
from tally.grading.script import Step, Test, cut

SHOWN = 24  # lines at most
CALLS = 20  # calls of a hart at most
MOST = 1 << 16  # bytes of a function at most
LINES_MOST = 2 << 20  # bytes of line numbers at most: five times the kernel's

OVER = re.compile(rb"cap: (over|silent) on hart (\d+) at 0x([0-9a-f]+)\n")
IDLE = re.compile(r" (?:idle_\w+|secondary\w*|boot_main)\+")
WORD = re.compile(r"0x([0-9a-f]{16})")


class CappedBoot(Boot):
    """A boot that a QEMU plugin (tally/plugins/cap) ends after a number of
    instructions, or of instructions without a trap. `found` says what the harts were
    doing then, in the form of the kernel's limit text; empty if unknown."""

    names = ""  # functions: lines of an address and a name, the lowest first
    found = ""
    silent = False  # no trap was taken
    count: Path  # the report of tally/plugins/cap

    def _complain(self, data: bytes) -> None:
        super()._complain(data)
        over = OVER.search(self.complaints)
        if over and not self.found:
            with contextlib.suppress(EOFError, OSError, LookupError):
                self.found = self._look(int(over[2]), int(over[3], 16))
            self.silent = over[1] == b"silent"
            self.stop()

    def _look(self, stopped: int, pc: int) -> str:
        """Returns the calls of each hart. Idle harts can't be the cause, and come
        last."""
        self._functions = [
            (int(start, 16), name)
            for start, _, name in (x.partition(" ") for x in self.names.splitlines())
            if start
        ]
        harts = [
            f"hart {hart}: "
            + "\n  ".join(self._calls(hart, pc if hart == stopped else 0))
            for hart in range(self.machine.harts)
        ]
        return "\n".join(sorted(harts, key=lambda text: bool(IDLE.search(text))))

    def _calls(self, hart: int, pc: int) -> list[str]:
        """Returns a hart's calls, innermost first. pc: its place; 0: QEMU knows. The
        stack is walked as in kernel/base/frames.c. The innermost function may have no
        frame; then only ra has its caller."""
        said = self._ask("info registers", hart)
        found = dict(re.findall(r"(pc|x1/ra|x8/s0) +([0-9a-f]{16})", said))
        lines = [self._place(pc or int(found["pc"], 16), 0)]
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
            if place != lines[-1]:
                lines.append(place)
            # A leaf function saves only its caller's frame pointer, in the place of a
            # return address.
            before, fp = fp, frame if place else back
        return list(filter(None, lines)) or ["outside the kernel"]

    def _ask(self, line: str, hart: int) -> str:
        said: str = self.control.ask(
            "human-monitor-command", {"command-line": line, "cpu-index": hart}
        )
        return said

    def _place(self, address: int, back: int) -> str:
        """Formats an address; empty if it's in no function. back: 1 for a return
        address, which may belong to the next function, else 0."""
        i = bisect.bisect(self._functions, (address - back + 1,)) - 1
        if i < 0 or address - self._functions[i][0] > MOST:
            return ""
        start, name = self._functions[i]
        return f"{address:#x} {name}+{address - start:#x}"


def function(place: str) -> str:
    return place.rpartition(" ")[2].partition("+")[0]


def shown(words: str, kernel: Path) -> list[str]:
    """Returns the kernel's text with source lines, without idle harts and threads."""
    lines = with_lines(words.strip().encode(), kernel, LINES_MOST)
    text = re.sub(r"0x[0-9a-f]{16} (?=[A-Za-z_])", "", lines.decode(errors="replace"))
    blocks = in_blocks(text)
    kept = [block for block in blocks if not has_nothing_to_do(block)] or blocks
    told = [x for block in kept for x in block.splitlines() if not ENTRY.match(x)]
    return told if len(told) <= SHOWN else [*told[: SHOWN - 1], "..."]


def in_blocks(words: str) -> list[str]:
    """Splits the text into blocks: a hart or a thread, and its calls."""
    return re.findall(r"^\S.*\n?(?:[ \t].*\n?)*", words, re.M)


def all_idle(words: str) -> bool:
    """Were all harts idle? words: the kernel's text at its time limit."""
    harts = [block for block in in_blocks(words) if block.startswith("hart ")]
    return all(map(has_nothing_to_do, harts))


def has_nothing_to_do(block: str) -> bool:
    """Is it an idle hart, even if the sampler has woken it briefly; or init, or a
    thread that only waits for a child?"""
    head, *calls = block.splitlines()
    if head.startswith("hart "):
        idle = [IDLE.search(line) for line in block.splitlines()]
        dozes = " doze+" in head
        return any(idle) if dozes else all(idle)
    return head.startswith("thread ") and (
        "(init) sleeps" in head or any(WAITS.match(call) for call in calls)
    )


WAITS = re.compile(r"  wait_for\+\w+ \(kernel/proc/wait\.c:")
#: Calls that all threads have.
ENTRY = re.compile(r"  (?:syscall|trap_vector)\+")


def came_to(test: Test, at: Step, answers: dict[str, str]) -> list[str]:
    """Describes each unfinished process: the step that it reached, and its last answer,
    which may show what should have happened next. at: the step that failed."""
    lines = []
    for process, done, now in test.progress(answers):
        if now is None:
            continue
        name = test.children.get(process, "the first process")
        step = "this step" if now is at else f"`{cut(now.text)}`"
        line = f"{name} reached {step}"
        if done:
            last = done[-1]
            line += f", after `{cut(last.text)}` returned {cut(answers[last.token])}"
        lines.append(line)
    return lines
