"""Guest programs' lines of checks, and files of expected output.

A guest program (tests/guest/, with its check.h) prints for each check

    ok NAME
    not ok NAME: why

and last `done N`, so that one that stops early is not taken for a success.
"""

from __future__ import annotations

import re
from pathlib import Path

from .guest import Result

EXPECTED = Path(__file__).resolve().parents[1] / "expected"

#: How tests ended in this session, by file.py::function.
outcomes: dict[str, set[str]] = {}

#: The checks that came out well in this session, by program.
passed: dict[str, set[str]] = {}

_CHECK = re.compile(r"(not )?ok (.+)")
_DONE = re.compile(r"done (\d+)")


def failures(output: str) -> list[str]:
    """What is wrong with a program's lines."""
    lines = output.splitlines()
    checks = [line for line in lines if _CHECK.fullmatch(line)]
    wrong = [line for line in checks if line.startswith("not ")]
    done = _DONE.fullmatch(lines[-1]) if lines else None
    if not done:
        wrong.append("it stopped early: no last line `done N`")
    elif int(done[1]) != len(checks):
        wrong.append(f"{len(checks)} checks are shown, of {done[1]}")
    elif not checks:
        wrong.append("it checks nothing")
    strange = set(lines[:-1]) - set(checks)
    wrong += [f"strange line: {line}" for line in sorted(strange)]
    return wrong


def assert_checks(result: Result) -> None:
    """Assert that a guest program's checks all came out well."""
    wrong = failures(result.out)
    good = re.findall(r"^ok (.+)$", result.out, re.M)
    program = Path(result.command.split()[0]).name
    passed.setdefault(program, set()).update(good)
    if result.status != 0 and not wrong:
        wrong.append(f"status {result.status}")
    assert not wrong, "\n".join([result.command, *wrong, result.err])


def assert_expected(name: str, text: str, update: bool = False) -> None:
    """Assert that text is what tests/expected/NAME holds."""
    file = EXPECTED / name
    if update:
        file.write_text(text)
    assert text == file.read_text()
