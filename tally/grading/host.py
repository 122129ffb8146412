"""Runs a program that contains a student's files on the host, for labs that are judged
there: its script, and the program's answers.

It runs in the sandbox that built it, which has no network and no files but the
compiler's. The compiler's sanitizers end it at its first error. No verdict depends on
the host's speed: steps.c counts branches, and ends endless loops.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Optional

from tally.build import image
from tally.grading.boots import TIMEOUT, Bootable, Heard, Plan, hear, scratch
from tally.grading.sandbox import Sandbox, TroubleError

NEVER = 99  # the status of a program that steps.c has ended
OUTPUT_MAX = 64 << 20  # bytes
LIMITS = ["prlimit", f"--fsize={OUTPUT_MAX}", "--core=0"]
#: Only this option can limit memory: the sanitizer reserves the whole address space.
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:hard_rss_limit_mb=1024",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
SHOWN = re.compile(
    r"ERROR: |runtime error: |^(READ|WRITE) of size |^ +#\d+ .* in \w+ \S*kernel/"
)
HERE = re.compile(r"/\S*/(?=kernel/|labs/)")  # the folder of the tree
#: Process ids and addresses, which differ in each run.
NUMBERS = re.compile(
    r"^==\d+==| 0x\w+ in|( on| at)? (unknown )?address 0x\w+.*" r"| at 0x\w+ thread .*"
)


class Runner:
    """Runs programs for plans, as boots.Booter boots kernels."""

    def __init__(self, sandbox: Optional[Sandbox]) -> None:
        self.sandbox = sandbox
        with image.build_lock():
            image.make()  # trees copy the objects that it builds

    def boot(self, program: Bootable, plan: Plan, _seconds: float) -> Heard:
        with scratch() as folder:
            file = folder / "program"
            file.write_bytes(program.data)
            file.chmod(0o755)
            script, said, words = (folder / n for n in ("script", "stdout", "stderr"))
            script.write_text(plan.script())
            with script.open() as i, said.open("w") as o, words.open("w") as e:
                try:
                    done = subprocess.run(
                        self._command(file),
                        stdin=i,
                        stdout=o,
                        stderr=e,
                        env=OPTIONS,
                        timeout=TIMEOUT,
                    )
                except subprocess.TimeoutExpired:
                    raise TroubleError(
                        f"the program ran for {TIMEOUT:g} s; grade again"
                    ) from None
            answers, forged = hear(said.read_text(errors="replace"), plan)
            why = report(words.read_text(errors="replace"))
            return Heard(answers, forged, died(done.returncode, why), why)

    def _command(self, file: Path) -> list[str]:
        if not self.sandbox:
            return [*LIMITS, str(file)]
        options = [w for name in OPTIONS for w in ("--setenv", name, OPTIONS[name])]
        inside = self.sandbox.command(
            ["/program"], "--ro-bind", str(file), "/program", *options
        )
        return [*LIMITS, *inside]


def report(words: str) -> str:
    """Returns the sanitizers' messages about the student's lines."""
    lines = [
        NUMBERS.sub("", HERE.sub("", line))
        for line in words.splitlines()
        if SHOWN.search(line)
    ]
    return "\n".join(lines)


def died(status: int, why: str) -> str:
    if status == 0:
        return "the program exited before the last step"
    if status == NEVER and not why:
        return "the program never ends"
    return (
        "the sanitizer stopped the program"
        if why
        else f"the program ended with status {status}"
    )
