"""labs/grade: judge what a student has built. See docs/teaching.md.

    grade NAME                            in a student's tree: the tree as it is
    grade NAME --submission DIR           a folder with the lab's files
    grade NAME --all DIR -j N             each folder in DIR is a submission
    grade NAME --all DIR --roster FILE    and has the name of a student or a group

A submission's files are laid over the lab's tree and built where nothing else can
be read (sandbox.py). All submissions of one call get the same nonce, and so the
same script. With a roster (roster.py) each has a seed of its own, and who hasn't handed
in anything is in the reports, too. Status 0: it has all points, or with --all, all were
judged; 1: it hasn't; 126: it can't be judged here, through no fault of the student's.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import fcntl
import hashlib
import json
import os
import queue
import secrets
import sys
import threading
from pathlib import Path
from typing import Iterator, Optional

if "--debug" in sys.argv:
    os.environ["DEBUG"] = "1"  # image.py asks for it, once

from tally import ROOT
from tally.grading.lab import HANDED_OUT, CompileError, Lab, LabError, read_course
from tally.build import image
from tally.grading import report
from tally.base.cli import STATUS_SETUP, complain, script
from tally.grading.boots import Booter
from tally.grading.debug import debug
from tally.grading.facts import Facts, Grade, check_common, counted
from tally.grading.facts import number as as_number
from tally.grading.facts import read as read_facts
from tally.grading.judge import Judge, Reference, Verdict
from tally.base.errors import SetupError
from tally.grading.options import Options, check, parse
from tally.grading.roster import Roster, read_roster
from tally.grading.sandbox import Sandbox, TroubleError
from tally.grading.submissions import Submission, lab_of, read, submitted_folders
from tally.grading.tree import Built, Kernel, Tree, git, lab_tree, read_kernel

WORK = image.BUILD / "labs"
ME = "grade"


def start(lab: Lab, folder: Path, like: Optional[Path] = None) -> Tree:
    """The tree that submissions are laid over, built: its objects are nobody's. like:
    the same tree for another seed."""
    if HANDED_OUT.exists():
        tree = Tree(folder, lab, None)  # is the lab's already
    else:
        tree = lab_tree(folder, lab, whole=False, like=like)
    built = tree.make()
    if built.kernel is None:
        raise CompileError(
            f"{lab.name}: can't build the starting point: {built.complaint}"
        )
    return tree


@dataclasses.dataclass(frozen=True)
class Grader:
    """Grades submissions that have one seed, each in a tree of its own."""

    judge: Judge
    reference: Reference
    sandbox: Optional[Sandbox]
    like: Tree  # the start, built

    def build(self, files: dict[str, bytes], folder: Path) -> Built:
        """In a fresh copy: a compiler could read what another one has made."""
        tree = Tree(folder, self.like.lab, self.sandbox, like=self.like.path)
        tree.lay(files)
        return tree.make()

    def grade(self, submission: Submission, folder: Path, options: Options) -> Grade:
        built = self.build(submission.files, folder)
        if built.kernel is None:
            return no_point(
                submission, self.judge.nonce, options, "not built", built.complaint
            )
        return graded(
            self.judge,
            built.kernel,
            self.reference,
            options,
            submission.who,
            submission.submitted,
        )


class Graders:
    """Makes the grader for each seed. Without a roster there is one seed, and the first
    grader serves all submissions."""

    def __init__(
        self,
        judge: Judge,
        sandbox: Optional[Sandbox],
        options: Options,
        place: Path,
        first: Lab,
    ) -> None:
        """place: where trees are made. first: the lab with the first seed. Later seeds
        take the objects of its trees, and compile what differs."""
        self.judge = judge
        self.sandbox = sandbox
        self.options = options
        self.place = place
        self.first = self._make(first, place)

    def _make(self, lab: Lab, place: Path, like: Optional[Path] = None) -> Grader:
        """like: the place where another seed's trees are."""
        judge = self.judge.of(lab)
        begin = start(lab, place / "start", like and like / "start")
        reference = reference_of(
            judge, self.options, place / "solution", like and like / "solution"
        )
        return Grader(judge, reference, self.sandbox, begin)

    def grade(self, submission: Submission, place: Path) -> Grade:
        """place: for this submission's trees."""
        try:
            grader = self.first
            if submission.lab.course.seed != grader.judge.lab.course.seed:
                grader = self._make(submission.lab, place, self.place)
            return grader.grade(submission, place / "tree", self.options)
        except (TroubleError, LabError) as error:  # also of this seed's solution
            return no_point(
                submission, self.judge.nonce, self.options, "trouble", str(error)
            )


def failed(lab: Lab, options: Options) -> list[Verdict]:
    """Of all tests that were asked for."""
    kinds = [k for k in lab.tests if options.test in (None, k.name)]
    return [Verdict(kind.name, kind.points, False) for kind in kinds]


def no_point(
    submission: Submission,
    nonce: int,
    options: Options,
    ended: str,
    why: str,
) -> Grade:
    tests = failed(submission.lab, options)
    return Grade(submission.lab, submission.who, nonce, commit(), tests, ended, why)


def graded(
    judge: Judge,
    kernel: Kernel,
    reference: Reference,
    options: Options,
    who: str,
    submitted: Optional[datetime.datetime] = None,
) -> Grade:
    only = chosen(options)
    grading = judge.judge(kernel, reference, only=only, races=options.races)
    ended = "forged" if grading.forged else "judged"
    return Grade(
        judge.lab,
        who,
        judge.nonce,
        commit(),
        grading.judged(only),
        ended,
        grading.forged,
        grading.instructions,
        submitted,
        grading.stray_stores(),
    )


def chosen(options: Options) -> Optional[list[str]]:
    """The tests that were asked for; None: all."""
    return None if options.test is None else [options.test]


def commit() -> str:
    """Of this checkout; that of a hand-out was written down."""
    if HANDED_OUT.exists():
        known: str = json.loads(HANDED_OUT.read_text())["commit"]
        return known
    return (git("rev-parse", "HEAD") or "").strip()


# --- The reference -----------------------------------------------------------


def solution(lab: Lab, folder: Path, like: Optional[Path] = None) -> Kernel:
    """The kernel that does what the lab asks. like: the solution for another seed."""
    built = lab_tree(folder, lab, whole=True, like=like).make()
    if built.kernel is None:
        raise CompileError(f"{lab.name}: can't build the solution: {built.complaint}")
    return built.kernel


def reference_of(
    judge: Judge,
    options: Options,
    folder: Path,
    like: Optional[Path] = None,
) -> Reference:
    """Measured with the same script; in a hand-out, what was measured then."""
    if HANDED_OUT.exists():
        if image.DEBUG:  # that wasn't measured: the limits are wide
            return Reference()
        facts = json.loads(HANDED_OUT.read_text())["reference"]
        return Reference(facts["seconds"], facts["costs"])
    kernel = solution(judge.lab, folder, like)
    return judge.measure(kernel, chosen(options), options.races)


# --- A student's own tree ----------------------------------------------------


def grade_here(lab: Lab, judge: Judge, options: Options) -> Grade:
    """The tree as it is, built as always."""
    if HANDED_OUT.exists():
        for name in changed_elsewhere():
            text = (
                "has changed since it was handed out; the course grades without this"
                " change"
            )
            complain(f"{name} {text}", ME)
    if lab.host:
        built = Tree(WORK / "here" / lab.name, lab, None).make()
        if built.kernel is None:
            raise CompileError(built.complaint)
        kernel = built.kernel
    else:
        kernel = read_kernel(image.BUILD / "kernel.elf", lab)
    reference = reference_of(judge, options, WORK / "solution" / lab.name)
    return graded(judge, kernel, reference, options, "this tree")


def changed_elsewhere() -> list[str]:
    """Files of the kernel, but the student's, that aren't as they were."""
    facts = json.loads(HANDED_OUT.read_text())
    return [
        name
        for name, known in facts["files"].items()
        if not (ROOT / name).is_file()
        or hashlib.sha256((ROOT / name).read_bytes()).hexdigest() != known
    ]


# --- Many --------------------------------------------------------------------


class Reports:
    """What is known so far, in the order of names; the files grow with it."""

    def __init__(
        self,
        names: list[str],
        among: int,
        known: dict[str, Facts],
        options: Options,
    ) -> None:
        """among: how many submissions there are, those of other parts, too."""
        self.names = names
        self.among = among
        self.known = {who: {**facts, "among": among} for who, facts in known.items()}
        self.options = options
        self._lock = threading.Lock()

    def facts(self) -> list[Facts]:
        return [self.known[name] for name in self.names if name in self.known]

    def add(self, grade: Grade) -> None:
        facts = {**grade.facts(), "among": self.among}
        with self._lock:
            self.known[grade.who] = facts
            report.write(self.facts(), self.options.reports)
        if self.options.all is not None:
            text = f"{grade.who}: {as_number(facts['points'])}, {grade.ended}"
            complain(text, ME)


def place(lab: Lab, options: Options) -> Path:
    """Where trees are built; each part has one of its own."""
    return WORK / "grade" / f"{lab.name}-{'of'.join(map(str, options.shard))}"


def grade_all(
    judge: Judge,
    submissions: list[Submission],
    reports: Reports,
    options: Options,
    sandbox: Optional[Sandbox],
) -> None:
    """Side by side."""
    waiting: queue.SimpleQueue[Submission] = queue.SimpleQueue()
    for submission in submissions:
        if submission.ended:
            reports.add(
                no_point(
                    submission, judge.nonce, options, submission.ended, submission.why
                )
            )
        else:
            waiting.put(submission)
    if not waiting.empty():
        with alone(place(judge.lab, options)) as folder:
            first = next(s.lab for s in submissions if not s.ended)
            graders = Graders(judge, sandbox, options, folder, first)
            share_out(graders, waiting, reports, min(options.jobs, len(submissions)))


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[Path]:
    """Another call that would make its trees there waits."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield folder


def share_out(
    graders: Graders,
    waiting: queue.SimpleQueue[Submission],
    reports: Reports,
    jobs: int,
) -> None:
    """So many at once."""
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            while not errors:
                submission = waiting.get_nowait()
                reports.add(graders.grade(submission, graders.place / str(number)))
        except queue.Empty:
            pass
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def earlier(options: Options) -> dict[str, Facts]:
    """--resume: what the report has; but what the machine has failed at is tried
    again, and who was missing may have handed in since."""
    if not options.resume:
        return {}
    if options.reports.json is None:
        raise LabError("--resume needs --json FILE, the report to continue")
    if not os.path.exists(options.reports.json):
        return {}
    return {
        facts["submission"]: facts
        for facts in read_facts(Path(options.reports.json))
        if facts["ended"] not in ("trouble", "missing")
    }


def nonce_of(known: dict[str, Facts], options: Options) -> int:
    """The one that was asked for, that of the report that is gone on with, or any."""
    nonce: Optional[int] = options.nonce
    if nonce is None and known:
        nonce = next(iter(known.values()))["nonce"]
    return secrets.randbelow(1 << 48) if nonce is None else nonce


# --- The command -------------------------------------------------------------


def grade_foreign(
    lab: Lab, roster: Optional[Roster], options: Options
) -> tuple[list[Facts], Judge]:
    """What others have handed in, and who has judged it."""
    folders, among = submitted_folders(options, roster)
    sandbox = None if options.trust else Sandbox()
    known = earlier(options)
    judge = Judge(lab, nonce_of(known, options), sandbox, options.show)
    if known:
        mine = lab_of(lab, "", roster)
        same = Grade(mine, "", judge.nonce, commit(), failed(lab, options)).facts()
        check_common([*known.values(), same], str(options.reports.json))
        strangers = known.keys() - folders
        if strangers:
            raise LabError(
                f"{options.reports.json}: the submission {min(strangers)} isn't in this"
                " part of --all"
            )
    reports = Reports(list(folders), among, known, options)
    submissions = [
        read(lab, who, folder, roster, options)
        for who, folder in folders.items()
        if who not in known
    ]
    if not submissions:
        report.write(reports.facts(), options.reports)
    grade_all(judge, submissions, reports, options, sandbox)
    return reports.facts(), judge


def stop_in_gdb(judge: Judge, options: Options) -> None:
    """Before the first step that failed."""
    if not judge.stops:
        complain("no step failed, so gdb is not started", ME)
        return
    tree = ROOT if options.submission is None else place(judge.lab, options) / "0/tree"
    assert isinstance(judge.booter, Booter)  # see check
    debug(judge.booter, judge.stops[0], tree)


def run(options: Options) -> int:
    course = read_course(Path(options.course), options.seed)
    lab = Lab(options.name, course)
    check(options, lab)
    roster = None
    if options.roster is not None:
        roster = read_roster(Path(options.roster), course, options.student)
    many = options.all is not None
    if many or options.submission is not None:
        found, judge = grade_foreign(lab, roster, options)
    else:
        judge = Judge(lab, nonce_of({}, options), None, options.show)
        found = [grade_here(lab, judge, options).facts()]
        report.write(found, options.reports)
    if many:
        good = sum(facts["points"] == facts["of"] for facts in found)
        print(f"{counted(found)}, {good} with all points; nonce {found[0]['nonce']}")
    else:
        print(report.text(found[0]), end="", flush=True)
    if options.gdb:
        stop_in_gdb(judge, options)
    if any(facts["ended"] == "trouble" for facts in found):
        return STATUS_SETUP
    return 0 if many or all(test["ok"] for test in found[0]["tests"]) else 1


def entry() -> int:
    return script(
        ME,
        lambda: run(parse(sys.argv[1:])),
        LabError,
        SetupError,
        TroubleError,
        image.BuildError,
    )
