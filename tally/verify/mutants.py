"""Mutants: small wrong versions of the sources, which the tests must notice.

tests/mutants/*.txt has them, tests/mutants/README says how they are written.
This part reads, checks and chooses them; mutate.py builds them and runs their
tests.
"""

from __future__ import annotations

import dataclasses
import random
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Iterator, Optional

from tally import ROOT
from tally.formats import hunks

FOLDER = ROOT / "tests" / "mutants"
TESTS = ROOT / "tests"
from tally.verify.clauses import CLAUSES
from tally.verify.guests import PROGRAMS, machines_of

#: The manuals whose clauses must all have a mutant.
MANUALS = ("KPROF", "PRF", "PCS", "AIX", "SOL")

FIELDS = ("file", "tests", "clause", "survives")
MACHINE = "4"  # where a guest program runs, if its table has this machine


class MutantError(Exception):
    """An error in the lists; the text is one line."""


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One wrong version: one file with some lines replaced."""

    name: str
    wrong: str
    file: str
    hunks: hunks.Hunks
    tests: tuple[str, ...]
    clauses: tuple[str, ...]
    survives: str  # why no test can notice it; empty: a test must
    place: str  # FILE:LINE of its list
    text: str

    def apply(self, source: str) -> str:
        place = f"{self.place}: {self.name}: {self.file}"
        try:
            return hunks.apply(source, self.hunks, place)
        except hunks.HunkError as error:
            raise MutantError(str(error)) from error

    def pytest_ids(self) -> list[str]:
        """Returns the mutant's tests, or all that its clauses cite."""
        words = list(self.tests)
        if not words:
            words = [w for clause in self.clauses for w in cited_tests(clause)]
        return list(dict.fromkeys(map(pytest_id, words)))


def pytest_id(word: str) -> str:
    """Returns pytest's id of a guest program, PROGRAM or PROGRAM@MACHINE, or of a
    test in a file."""
    if "::" in word:
        return word
    program, _, machine = word.partition("@")
    machines = machines_of(program).chosen
    if not machine:
        machine = MACHINE if MACHINE in machines else machines[0]
    if program not in PROGRAMS or machine not in machines:
        raise MutantError(f"there is no test {word}")
    return f"test_guest.py::test_guest[{program}-{machine}]"


def citations(clause: str) -> list[str]:
    return re.findall(r"`(.+?)`", CLAUSES[clause])


def cited_tests(clause: str) -> list[str]:
    """Returns the programs and tests that a clause cites, each once."""
    words = (c if "::" in c else c.partition(": ")[0] for c in citations(clause))
    return list(dict.fromkeys(words))


def cited_checks(clause: str, program: str) -> set[str]:
    pairs = (c.split(": ", 1) for c in citations(clause) if "::" not in c)
    return {check for name, check in pairs if name == program}


# --- Reading -----------------------------------------------------------------


def read_fields(lines: list[str], place: str) -> dict[str, str]:
    """Reads lines that begin with a field's name; a field may have many lines."""
    fields: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(" ")
        if key not in FIELDS:
            raise MutantError(
                f"{place}: unknown field {key}; the fields are {', '.join(FIELDS)}"
            )
        fields[key] = f"{fields[key]} {value}" if key in fields else value
    return fields


def read(file: Path) -> tuple[list[Mutant], dict[str, str]]:
    """Reads a list: its mutants, and the clauses without mutants, with the reasons."""
    mutants: list[Mutant] = []
    without: dict[str, str] = {}
    common: dict[str, str] = {}
    for place, lines in hunks.stanzas(file, f"{file.relative_to(ROOT)}"):
        head = [line for line in lines if line[0] not in " -+@"]
        patch = lines[len(head) :]
        if not patch and lines[0].startswith("without "):
            clause, _, why = " ".join(lines).removeprefix("without ").partition(": ")
            without[clause] = why
        elif not patch:
            common = read_fields(head, place)
        elif ": " not in head[0] or any(line[0] not in " -+@" for line in patch):
            raise MutantError(f"{place}: expected NAME: WHAT IS WRONG, fields, hunks")
        else:
            own = read_fields(head[1:], place)
            # A mutant without tests of its own has its clauses' tests.
            if "clause" in own:
                own.setdefault("tests", "")
            fields = {"tests": "", "clause": "", "survives": "", **common, **own}
            name, _, wrong = head[0].partition(": ")
            if "file" not in fields:
                raise MutantError(f"{place}: {name}: no file is given")
            mutants.append(
                Mutant(
                    name=name,
                    wrong=wrong,
                    file=fields["file"],
                    hunks=hunks.read(patch),
                    tests=tuple(fields["tests"].split()),
                    clauses=tuple(fields["clause"].split()),
                    survives=fields["survives"],
                    place=place,
                    text="\n".join(lines),
                )
            )
    return mutants, without


def read_all() -> tuple[list[Mutant], dict[str, str]]:
    mutants: list[Mutant] = []
    without: dict[str, str] = {}
    for file in sorted(FOLDER.glob("*.txt")):
        more, reasons = read(file)
        mutants += more
        without.update(reasons)
    return mutants, without


# --- Checking ----------------------------------------------------------------


def wrong_with(mutant: Mutant) -> Iterator[str]:
    """Yields a line for each reason why a mutant can't be built and judged."""
    about = f"{mutant.place}: {mutant.name}"
    file = ROOT / mutant.file
    if not file.is_file():
        yield f"{about}: there is no {mutant.file}"
        return
    try:
        source = file.read_text()
        if mutant.apply(source) == source:
            yield f"{about}: changes nothing"
    except MutantError as error:
        yield str(error)
    unknown = [clause for clause in mutant.clauses if clause not in CLAUSES]
    if unknown:
        yield f"{about}: there is no clause {' '.join(unknown)}"
        return
    try:
        ids = mutant.pytest_ids()
    except MutantError as error:
        yield f"{about}: {error}"
        return
    if not ids:
        yield f"{about}: no test that must fail is given"
    for name, function in (i.partition("[")[0].split("::") for i in ids):
        test = TESTS / name
        if not test.exists() or f"def {function}(" not in test.read_text():
            yield f"{about}: there is no test {name}::{function}"


def check() -> list[str]:
    """Returns a line for each error in the lists."""
    mutants, without = read_all()
    lines = [line for mutant in mutants for line in wrong_with(mutant)]
    places: dict[str, str] = {}
    for mutant in mutants:
        if mutant.name in places:
            lines.append(
                f"{mutant.place}: {mutant.name} is also in {places[mutant.name]}"
            )
        places[mutant.name] = mutant.place
    have = {clause for mutant in mutants for clause in mutant.clauses}
    for manual in MANUALS:
        wanted = [c for c in CLAUSES if c.startswith(f"{manual}-")]
        bare = [c for c in wanted if c not in have and c not in without]
        if bare:
            lines.append(
                f"clauses with neither a mutant nor a reason: {' '.join(bare)}"
            )
    return lines


# --- Choosing ----------------------------------------------------------------


def named(mutant: Mutant, words: list[str]) -> bool:
    """Does a word match its name, file, folder, list or clause? Words are patterns."""
    names = [mutant.name, mutant.file, *mutant.clauses]
    names += [str(parent) for parent in Path(mutant.file).parents]
    names.append(Path(mutant.place.partition(":")[0]).stem)
    return any(fnmatch(name, word.rstrip("/")) for name in names for word in words)


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments],
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        raise MutantError((done.stderr.strip().splitlines() or ["git failed"])[0])
    return done.stdout


def changed(mutants: list[Mutant], commit: str) -> list[Mutant]:
    """Returns the mutants of files changed since the commit, and new mutants."""
    files = set(git("diff", "--name-only", commit).split())
    before: dict[str, str] = {}
    for mutant in mutants:
        file = mutant.place.partition(":")[0]
        if file in files and file not in before:
            try:
                before[file] = git("show", f"{commit}:{file}")
            except MutantError:
                before[file] = ""  # the list itself is new
    return [
        m
        for m in mutants
        if m.file in files
        or m.text not in before.get(m.place.partition(":")[0], m.text)
    ]


def choose(
    words: list[str], commit: Optional[str], sample: Optional[int], seed: str
) -> list[Mutant]:
    """Returns the named mutants that changed, and a sample of the other named ones."""
    chosen = [m for m in read_all()[0] if not words or named(m, words)]
    if words and not chosen:
        raise MutantError(
            f"no mutant, file, folder, list or clause is called {' '.join(words)}"
        )
    if commit is None and sample is None:
        return chosen
    first = changed(chosen, commit) if commit is not None else []
    rest = [m for m in chosen if m not in first]
    random.Random(seed).shuffle(first)
    return first + random.Random(seed).sample(rest, min(sample or 0, len(rest)))
