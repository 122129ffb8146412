"""scripts/mutants: builds wrong versions of the sources, and runs their tests.

Several copies of the checkout, in build/mutants, each take one mutant after
another: the source is changed and built, the mutant's tests run with pytest, and
the source is changed back. The results are read from pytest's report. A mutant
counts as failed if its tests pass and the lists don't explain why, or if it can't be
built.
"""

from __future__ import annotations

import collections
import dataclasses
import fcntl
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Callable, Iterable, Iterator, Optional, TextIO

from tally import ROOT
from tally.base.cli import JOBS, Parser, amount, complain, number, script, utf8
from tally.base.table import Table
from tally.build import image
from tally.verify import mutants
from tally.verify.mutants import Mutant, MutantError

WORK = ROOT / "build" / "mutants"
RESULT = ROOT / "build" / "mutants.txt"
REPORT = "build/report.xml"

# What makes a test's boot end, of the causes that it may show.
ENDS = (
    (r"reason='panic'", "panic"),
    (r"the machine restarted", "restart"),
    (r"reason='limit'", "hangs"),
    (r"reason='timeout'", "doesn't end"),
    (r"stopped early", "stops early"),
)
SHOWN = 60  # characters of what a test says
LIMIT = "60"  # virtual seconds that each boot may take
HANG = "20"  # seconds of the host without progress, at a console


@dataclasses.dataclass(frozen=True)
class Failure:
    """A test that failed: a guest program, or a function of a file."""

    test: str
    text: str

    @property
    def program(self) -> str:
        found = re.fullmatch(r"test_guest\[(\w+)-.+\]", self.test)
        return found[1] if found else ""

    def failed_checks(self) -> list[str]:
        """The names of a program's checks; what follows says why."""
        return re.findall(r"^not ok (.+)$", self.text, re.M)

    def end(self) -> str:
        return next((word for sign, word in ENDS if re.search(sign, self.text)), "")

    def said(self) -> list[str]:
        """Checks that failed, and how it ended; or what a function says."""
        lines = self.failed_checks() + [self.end()] * bool(self.end())
        return lines or [self.text.partition("\n")[0]]

    def notices(self, clause: str) -> list[str]:
        """What it said that the clause cites; an end is all of a program."""
        if not self.program:
            function = self.test.partition("[")[0]
            cited = mutants.cited_tests(clause)
            good = any(word.endswith(f"::{function}") for word in cited)
            return self.said() if good else []
        names = mutants.cited_checks(clause, self.program)
        return [
            line
            for line in self.said()
            if names
            and line == self.end()
            or any(line == name or line.startswith(f"{name}: ") for name in names)
        ]

    def show(self, line: str) -> str:
        return f"{self.program or self.test}: {line}"[:SHOWN]


@dataclasses.dataclass(frozen=True)
class Verdict:
    mutant: Mutant
    kind: str  # killed, explained, SURVIVED or BROKEN
    how: str = ""

    @property
    def bad(self) -> bool:
        return self.kind.isupper()

    def __str__(self) -> str:
        name = " ".join([self.mutant.name, *self.mutant.clauses])
        return f"{self.kind:9} {name:44} {self.how or self.mutant.wrong}"


class Copy:
    """A copy of the checkout that is built, and built again."""

    def __init__(self, number: int) -> None:
        self.root = WORK / str(number)

    def refresh(self) -> None:
        """As the checkout is; what is the same stays, so that make knows."""
        files = mutants.git("ls-files", "-co", "--exclude-standard").splitlines()
        wanted = {name for name in files if (ROOT / name).is_file()}
        if not self.root.exists():
            built = shutil.ignore_patterns("mutants*", ".lock", "overlay-*")
            shutil.copytree(image.BUILD, self.root / "build", ignore=built)
        for name in wanted:
            source, copy = ROOT / name, self.root / name
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, copy)
            elif copy.read_bytes() != source.read_bytes():
                shutil.copyfile(source, copy)
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders if f not in ("build", "__pycache__")]
            for name in names:
                file = Path(folder) / name
                if str(file.relative_to(self.root)) not in wanted:
                    file.unlink()

    def make(self) -> Optional[str]:
        """What the compiler complains of; None if it's built."""
        done = subprocess.run(
            ["make", "-C", str(self.root)],
            env=image.make_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode == 0:
            return None
        errors = re.findall(r"error: .*", done.stdout)
        return errors[0] if errors else done.stdout[-SHOWN:]

    def test(self, ids: list[str], stop: bool) -> list[Failure]:
        """Run tests, all or until one fails: what failed."""
        report = self.root / REPORT
        report.unlink(missing_ok=True)
        command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += [f"--junitxml={report}", *(["-x"] if stop else [])]
        command += [f"tests/{i}" for i in ids]
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**os.environ, "TEST_LIMIT": LIMIT, "TEST_HANG": HANG, "WERROR": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode not in (0, 1) or not report.exists():
            raise MutantError(f"pytest can't run: {done.stdout.strip()[-300:]}")
        return list(failures(report))

    def judge(self, mutant: Mutant) -> Verdict:
        file = self.root / mutant.file
        sound = file.read_text()
        try:
            wrong = mutant.apply(sound)
        except MutantError as error:
            return Verdict(mutant, "BROKEN", str(error))
        try:
            file.write_text(wrong)
            complaint = self.make()
            if complaint:
                return Verdict(mutant, "BROKEN", complaint)
            failed = self.test(mutant.pytest_ids(), stop=not mutant.clauses)
        finally:
            file.write_text(sound)
        if not failed:
            kind = "explained" if mutant.survives else "SURVIVED"
            return Verdict(mutant, kind, mutant.survives)
        how = failed[0].show(failed[0].said()[0])
        for clause in mutant.clauses:
            cited = [f.show(line) for f in failed for line in f.notices(clause)]
            if not cited:
                return Verdict(
                    mutant,
                    "SURVIVED",
                    f"no failed check names the clause {clause}: {how}",
                )
            how = cited[0]
        return Verdict(mutant, "killed", how)


def failures(report: Path) -> Iterator[Failure]:
    for case in xml.parse(report).getroot().iter("testcase"):
        for outcome in [*case.iter("failure"), *case.iter("error")]:
            text = outcome.get("message", "").removeprefix("AssertionError: ")
            yield Failure(case.get("name", ""), text + "\n" + (outcome.text or ""))


def sound_tests(copies: list[Copy], chosen: list[Mutant]) -> None:
    """A test that fails without a mutant would prove nothing."""
    ids = list(dict.fromkeys(i for m in chosen for i in m.pytest_ids()))
    failed: list[Failure] = []
    share = [ids[i :: len(copies)] for i in range(len(copies))]

    def run(copy: Copy, part: list[str]) -> None:
        complaint = copy.make()
        if complaint:
            failed.append(Failure("make", complaint))
        elif part:
            failed.extend(copy.test(part, stop=False))

    each(run, zip(copies, share))
    if failed:
        first = failed[0]
        raise MutantError(
            f"a test fails even without a mutant: {first.show(first.said()[0])}"
        )


def each(run: Callable[..., None], arguments: Iterable[tuple[object, ...]]) -> None:
    """Call it for each, at once; raise what one of them raised."""
    errors: list[BaseException] = []

    def guarded(*values: object) -> None:
        try:
            run(*values)
        except BaseException as error:  # it is raised below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=a) for a in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def judge_all(
    copies: list[Copy], chosen: list[Mutant], seconds: Optional[float]
) -> list[Verdict]:
    """Verdicts in the order of the lists; shown as they come."""
    left: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in chosen:
        left.put(mutant)
    verdicts: list[Verdict] = []
    end = time.monotonic() + seconds if seconds else None

    def work(copy: Copy) -> None:
        while end is None or time.monotonic() < end:
            try:
                mutant = left.get_nowait()
            except queue.Empty:
                return
            verdict = copy.judge(mutant)
            verdicts.append(verdict)
            print(verdict, flush=True)

    each(work, ((copy,) for copy in copies))
    return sorted(verdicts, key=lambda v: chosen.index(v.mutant))


def summary(verdicts: list[Verdict], out: TextIO) -> None:
    """The table, and how many of each folder's were killed."""
    folders: dict[str, collections.Counter[str]] = {}
    for verdict in verdicts:
        folder = str(Path(verdict.mutant.file).parent)
        folders.setdefault(folder, collections.Counter())[verdict.kind] += 1
    table = Table(
        ("folder", "<16"),
        ("mutants", ">8"),
        ("killed", ">8"),
        ("explained", ">10"),
    )
    print("", table.head(), sep="\n", file=out)
    for folder, kinds in sorted(folders.items()):
        row = folder, sum(kinds.values()), kinds["killed"], kinds["explained"]
        print(table.row(*row), file=out)


@dataclasses.dataclass(frozen=True)
class Options:
    """All that was asked of scripts/mutants."""

    words: list[str]
    changed: Optional[str]
    sample: Optional[int]
    seed: str
    minutes: Optional[float]
    jobs: int
    list: bool
    check: bool
    trust: bool


def run(options: Options) -> int:
    if options.check:
        wrong = mutants.check()
        for line in wrong:
            complain(line, "mutants")
        return 1 if wrong else 0
    chosen = mutants.choose(
        options.words, options.changed, options.sample, options.seed
    )
    if options.list:
        for mutant in chosen:
            print(f"{mutant.place}: {mutant.name}: {mutant.wrong}")
        return 0
    begun = time.monotonic()
    WORK.mkdir(parents=True, exist_ok=True)
    lock = open(WORK / ".lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise MutantError("another run is using build/mutants") from error
    if options.sample is not None:
        print(f"mutants: sample chosen with seed {options.seed}", flush=True)
    with image.build_lock():
        image.make()
        copies = [Copy(i) for i in range(min(options.jobs, len(chosen)))]
        for copy in copies:
            copy.refresh()
    if not options.trust:
        sound_tests(copies, chosen)
    seconds = 60 * options.minutes if options.minutes else None
    verdicts = judge_all(copies, chosen, seconds)
    with open(RESULT, "w") as table:
        for verdict in verdicts:
            print(verdict, file=table)
        summary(verdicts, table)
    summary(verdicts, sys.stdout)
    if len(verdicts) < len(chosen):
        print(
            f"mutants: {len(chosen) - len(verdicts)} not run, because the time of"
            " --minutes was over"
        )
    kinds = collections.Counter(verdict.kind for verdict in verdicts)
    bad = sum(verdict.bad for verdict in verdicts)
    print(
        f"===== {kinds['killed']} passed, {bad} failed, {kinds['explained']} skipped"
        f" in {time.monotonic() - begun:.2f}s ====="
    )
    return 1 if bad else 0


def main() -> int:
    parser = Parser("mutants", description=__doc__)
    parser.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="run only this mutant, or those of this file, folder, list or clause",
    )
    parser.add_argument(
        "--changed",
        metavar="COMMIT",
        help="only mutants of files that were changed since COMMIT",
    )
    parser.add_argument(
        "--sample",
        type=number(0, 10**6),
        metavar="N",
        help="also run N other mutants, chosen at random",
    )
    parser.add_argument(
        "--seed",
        type=utf8,
        default="1",
        metavar="TEXT",
        help="the seed with which --sample chooses",
    )
    parser.add_argument(
        "--minutes", type=amount, metavar="N", help="start no mutant after N minutes"
    )
    parser.add_argument(
        "--jobs", type=JOBS, default=2, metavar="N", help="run N at once (2)"
    )
    parser.add_argument(
        "--list", action="store_true", help="only print the names of mutants"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="only check the lists of mutants for mistakes",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="skip the first run of the tests, which has no mutant",
    )
    return run(Options(**vars(parser.parse(sys.argv[1:]))))


def entry() -> int:
    return script("mutants", main, MutantError, image.BuildError)
