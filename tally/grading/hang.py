"""What a kernel was doing when it came to a bad end: in its last words, or, where it
hangs with interrupts off and has none, in QEMU's registers and the stack."""

from __future__ import annotations

import bisect
import contextlib
import re
from pathlib import Path

from tally.boot.lastwords import with_lines
from tally.boot.machine import Boot
from tally.grading.script import Step, Test, cut

SHOWN = 24  # lines
CALLS = 20  # of a hart
MOST = 1 << 16  # bytes of a function
LINES_MOST = 2 << 20  # bytes of line numbers, five times those of the kernel

OVER = re.compile(rb"cap: (over|silent) on hart (\d+) at 0x([0-9a-f]+)\n")
IDLE = re.compile(r" (?:idle_\w+|secondary\w*|boot_main)\+")
WORD = re.compile(r"0x([0-9a-f]{16})")


class CappedBoot(Boot):
    """A boot that a plugin of QEMU's (tally/plugins/cap) ends after a number of
    instructions, or after a number without a trap. `found` is what the harts were doing
    then, in the form of the kernel's last words; empty if it isn't known."""

    names = ""  # of functions: lines of an address and a name, the lowest first
    found = ""
    silent = False  # no trap was taken
    count: Path  # what tally/plugins/cap writes

    def _complain(self, data: bytes) -> None:
        super()._complain(data)
        over = OVER.search(self.complaints)
        if over and not self.found:
            with contextlib.suppress(EOFError, OSError, LookupError):
                self.found = self._look(int(over[2]), int(over[3], 16))
            self.silent = over[1] == b"silent"
            self.stop()

    def _look(self, stopped: int, pc: int) -> str:
        """What each hart was doing. One that was idle has the cause nowhere in its
        calls, and comes last."""
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
        """pc: where it was, if QEMU itself hasn't noted it. The stack is walked by what
        kernel/base/frames.c says of one. The first function may have no frame; then
        only ra tells who has called it."""
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
            # What calls nobody has only its caller's frame, where others return to.
            before, fp = fp, frame if place else back
        return list(filter(None, lines)) or ["outside the kernel"]

    def _ask(self, line: str, hart: int) -> str:
        said: str = self.control.ask(
            "human-monitor-command", {"command-line": line, "cpu-index": hart}
        )
        return said

    def _place(self, address: int, back: int) -> str:
        """back: 1 for where a call returns to. Empty: it's in no function."""
        i = bisect.bisect(self._functions, (address - back + 1,)) - 1
        if i < 0 or address - self._functions[i][0] > MOST:
            return ""
        start, name = self._functions[i]
        return f"{address:#x} {name}+{address - start:#x}"


def function(place: str) -> str:
    return place.rpartition(" ")[2].partition("+")[0]


def shown(words: str, kernel: Path) -> list[str]:
    """The last words with lines of the source, but for what always waits."""
    lines = with_lines(words.strip().encode(), kernel, LINES_MOST)
    text = re.sub(r"0x[0-9a-f]{16} (?=[A-Za-z_])", "", lines.decode(errors="replace"))
    blocks = in_blocks(text)
    kept = [block for block in blocks if not has_nothing_to_do(block)] or blocks
    told = [x for block in kept for x in block.splitlines() if not ENTRY.match(x)]
    return told if len(told) <= SHOWN else [*told[: SHOWN - 1], "..."]


def in_blocks(words: str) -> list[str]:
    """Of a hart or a thread, and its calls."""
    return re.findall(r"^\S.*\n?(?:[ \t].*\n?)*", words, re.M)


def all_idle(words: str) -> bool:
    """The harts, by what the kernel says of each at its time limit."""
    harts = [block for block in in_blocks(words) if block.startswith("hart ")]
    return all(map(has_nothing_to_do, harts))


def has_nothing_to_do(block: str) -> bool:
    """A hart that idles, also where the sampler lets it doze on; init, or a thread that
    only waits for a child."""
    head, *calls = block.splitlines()
    if head.startswith("hart "):
        idle = [IDLE.search(line) for line in block.splitlines()]
        dozes = " doze+" in head
        return any(idle) if dozes else all(idle)
    return head.startswith("thread ") and (
        "(init) sleeps" in head or any(WAITS.match(call) for call in calls)
    )


WAITS = re.compile(r"  wait_for\+\w+ \(kernel/proc/wait\.c:")
#: Calls that each thread has.
ENTRY = re.compile(r"  (?:syscall|trap_vector)\+")


def came_to(test: Test, at: Step, answers: dict[str, str]) -> list[str]:
    """Of each process that has not done its steps, at which it is, and what it did
    before: that should have gone on, or have woken somebody. at: what failed."""
    lines = []
    for process, done, now in test.progress(answers):
        if now is None:
            continue
        name = test.children.get(process, "the first process")
        line = f"{name} came " + ("there" if now is at else f"to `{cut(now.text)}`")
        if done:
            last = done[-1]
            line += f", after `{cut(last.text)}`: {cut(answers[last.token])}"
        lines.append(line)
    return lines
