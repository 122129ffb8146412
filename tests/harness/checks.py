"""Guest programs' lines of checks, and files of expected output.

A guest program (tests/guest/, with its check.h) prints for each check

    ok NAME
    not ok NAME: why

and last `done N`, so that one that stops early is not taken for a success.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Iterable

from harness.costs import costs
from harness.guest import Result

EXPECTED = Path(__file__).resolve().parents[1] / "expected"
PROGRAMS = Path(__file__).resolve().parents[1] / "guest"

#: How tests ended in this session, by file.py::function.
outcomes: dict[str, set[str]] = {}

#: The checks that came out well in this session, by program.
passed: dict[str, set[str]] = {}

#: And in the test that runs.
good: dict[str, set[str]] = {}

#: Do these sessions together run every test? Then what isn't there did not pass.
complete = False

_LITERAL = r'"((?:[^"\\\n]|\\.)*)"'
_CONVERSION = r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[a-zA-Z]"
_CHECK = re.compile(r"(not )?ok (.+)")
_DONE = re.compile(r"done (\d+)")


def read(file: Path) -> None:
    """What an earlier session left there, if one did."""
    *stored, spent = json.loads(file.read_text() or "[{}, {}, {}]")
    for ours, theirs in zip((outcomes, passed), stored):
        for name, words in theirs.items():
            ours.setdefault(name, set()).update(words)
    costs.update(spent)


def write(file: Path) -> None:
    both = [{n: sorted(words) for n, words in d.items()} for d in (outcomes, passed)]
    file.write_text(json.dumps([*both, costs]))


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


def _sources(files: Iterable[Path]) -> str:
    """The text of C files, and of the headers of tests/guest that they include."""
    left, text = list(files), {}
    while left:
        file = left.pop().resolve()
        if file not in text and file.exists():
            text[file] = file.read_text()
            headers = re.findall(r'^#include "(.+)"', text[file], re.M)
            left += [file.parent / header for header in headers]
    return "\n".join(text.values())


@functools.lru_cache(maxsize=None)
def _names(program: str) -> list[re.Pattern[str]]:
    """What a program's checks may be called, as its strings have it."""
    files = [PROGRAMS / f"{program}.c", *(PROGRAMS / program).glob("*.c")]
    text = re.sub(r'"\s*\n\s*"', "", _sources(files))
    patterns = []
    for literal in re.findall(_LITERAL, text):
        parts = re.split(_CONVERSION, literal.replace('\\"', '"'))
        if re.search("[A-Za-z]{2}", "".join(parts)):
            patterns.append(re.compile(".+".join(map(re.escape, parts))))
    return patterns


def passed_all(test: str) -> bool:
    """Has a test passed, each time that it ran? One that wasn't asked for may not
    have run."""
    return outcomes.get(test, set() if complete else {"passed"}) == {"passed"}


def came_out_well(program: str, check: str) -> bool:
    """Has a check passed? If its program wasn't asked for, is there such a check?"""
    if program in passed or complete:
        return check in passed.get(program, ())
    return any(name.fullmatch(check) for name in _names(program))


def assert_checks(result: Result) -> None:
    """Assert that a guest program's checks all came out well."""
    wrong = failures(result.out)
    program = Path(result.command.split()[0]).name
    good.setdefault(program, set()).update(re.findall(r"^ok (.+)$", result.out, re.M))
    if result.status != 0 and not wrong:
        wrong.append(f"status {result.status}")
    assert not wrong, "\n".join([result.command, *wrong, result.err])


def assert_expected(name: str, text: str, update: bool = False) -> None:
    """Assert that text is what tests/expected/NAME holds."""
    file = EXPECTED / name
    if update:
        file.write_text(text)
    assert text == file.read_text()
