"""labs/grade: judge what a student has built. See docs/teaching.md.

    grade NAME                        in a student's tree: the tree as it is
    grade NAME --submission DIR       a folder with the lab's files
    grade NAME --all DIR -j N         each folder in DIR is a submission

A submission's files are laid over the lab's tree and built where nothing else can
be read (sandbox.py). All submissions of one call get the same nonce, and so the
same script. Status 0: it has all points, or with --all, all were judged; 1: it
hasn't; 126: it can't be judged here, through no fault of the student's.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import hashlib
import json
import os
import queue
import re
import secrets
import sys
import threading
from pathlib import Path
from typing import Optional

if "--debug" in sys.argv:
    os.environ["DEBUG"] = "1"  # image.py asks for it, once

from lab import CONF, LABS, ROOT, CompileError, Course, Lab, LabError, parse_time
from lab import read_course
import image  # noqa: E402 - lab.py says where it is
import report
from cli import JOBS, STATUS_SETUP, Parser, number, script, utf8, wrong
from debug import debug, find_gdb
from facts import Facts, Grade, check_common
from facts import number as as_number
from facts import read as read_facts
from judge import Judge, Reference, Verdict
from machine import SetupError
from options import SEED
from sandbox import Sandbox, TroubleError
from tree import Built, Kernel, SubmissionError, Tree, git, put_lab, read_kernel
from tree import read_submission

NONCE = number(0, 2**64 - 1)
HANDED_OUT = LABS / "handout.json"
WORK = image.BUILD / "labs"
SUBMITTED = "submitted"  # a file in a submission's folder that says when


@dataclasses.dataclass(frozen=True)
class Submission:
    """What a folder has: the lab's files; or why nothing of it is taken."""

    who: str
    files: dict[str, bytes]
    kept: float = 1.0  # what lateness leaves
    refused: str = ""


def read(lab: Lab, folder: Path, options: argparse.Namespace) -> Submission:
    try:
        files = read_submission(folder, lab)
        kept = lab.course.kept(lab.name, submitted(folder, options))
        return Submission(folder.name, files, kept)
    except SubmissionError as error:
        return Submission(folder.name, {}, refused=str(error))


def start(lab: Lab, folder: Path) -> Tree:
    """The tree that submissions are laid over, built: its objects are nobody's."""
    tree = Tree(folder, lab, None)
    if not HANDED_OUT.exists():  # that tree is the lab's already
        put_lab(folder, lab, whole=False)
    built = tree.make()
    if built.kernel is None:
        raise CompileError(f"{lab.name}: the start isn't built: {built.complaint}")
    return tree


class Grader:
    """Grades submissions of one lab, with one nonce, each in a tree of its own."""

    def __init__(
        self, lab: Lab, judge: Judge, reference: Reference, sandbox: Optional[Sandbox],
        like: Tree, folder: Path,
    ) -> None:
        self.lab = lab
        self.judge = judge
        self.reference = reference
        self.sandbox = sandbox
        self.like = like
        self.folder = folder

    def build(self, files: dict[str, bytes]) -> Built:
        """In a fresh copy: a compiler could read what another one has made."""
        tree = Tree(self.folder, self.lab, self.sandbox, like=self.like.path)
        tree.lay(files)
        return tree.make()

    def grade(self, submission: Submission, options: argparse.Namespace) -> Grade:
        who = submission.who
        try:
            built = self.build(submission.files)
            if built.kernel is None:
                return no_point(self.judge, who, options, "not built", built.complaint)
            return graded(self.lab, self.judge, built.kernel, self.reference,
                          options, who, submission.kept)
        except TroubleError as error:
            return no_point(self.judge, who, options, "trouble", str(error))


def failed(lab: Lab, options: argparse.Namespace) -> list[Verdict]:
    """Of all tests that were asked for."""
    kinds = [k for k in lab.tests if options.test in (None, k.name)]
    return [Verdict(kind.name, kind.points, False) for kind in kinds]


def no_point(
    judge: Judge, who: str, options: argparse.Namespace, ended: str, why: str
) -> Grade:
    tests = failed(judge.lab, options)
    return Grade(judge.lab, who, judge.nonce, commit(), tests, ended, why)


def graded(
    lab: Lab, judge: Judge, kernel: Kernel, reference: Reference,
    options: argparse.Namespace, who: str, kept: float = 1.0,
) -> Grade:
    only = chosen(options)
    grading = judge.judge(kernel, reference, only=only, races=options.races)
    ended = "forged" if grading.forged else "judged"
    return Grade(
        lab, who, judge.nonce, commit(), grading.judged(only), ended,
        grading.forged, grading.instructions, kept, grading.stray_stores(),
    )


def chosen(options: argparse.Namespace) -> Optional[list[str]]:
    """The tests that were asked for; None: all."""
    return None if options.test is None else [options.test]


def submitted(
    folder: Path, options: argparse.Namespace
) -> Optional[datetime.datetime]:
    """When it was handed in, if anybody says so."""
    file = folder / SUBMITTED
    if options.submitted:
        return parse_time(options.submitted, "--submitted")
    if not file.is_file() or file.is_symlink():
        return None
    try:
        return parse_time(file.read_text(errors="replace").strip(), SUBMITTED)
    except LabError as error:
        raise SubmissionError(str(error)) from error


def commit() -> str:
    """Of this checkout; that of a hand-out was written down."""
    if HANDED_OUT.exists():
        return json.loads(HANDED_OUT.read_text())["commit"]
    return (git("rev-parse", "HEAD") or "").strip()


# --- The reference -----------------------------------------------------------


def solution(lab: Lab, folder: Path) -> Kernel:
    """The kernel that does what the lab asks."""
    tree = Tree(folder, lab, None)
    put_lab(folder, lab, whole=True)
    built = tree.make()
    if built.kernel is None:
        raise CompileError(f"{lab.name}: the solution isn't built: {built.complaint}")
    return built.kernel


def reference_of(
    lab: Lab, judge: Judge, options: argparse.Namespace, folder: Path
) -> Reference:
    """Measured with the same script; in a hand-out, what was measured then."""
    if HANDED_OUT.exists():
        if image.DEBUG:  # that wasn't measured: the limits are wide
            return Reference()
        facts = json.loads(HANDED_OUT.read_text())["reference"]
        return Reference(facts["seconds"], facts["costs"])
    kernel = solution(lab, folder)
    return judge.measure(kernel, chosen(options), options.races)


# --- A student's own tree ----------------------------------------------------


def grade_here(lab: Lab, judge: Judge, options: argparse.Namespace) -> Grade:
    """The tree as it is, built as always."""
    if HANDED_OUT.exists():
        for name in changed_elsewhere():
            complain(f"{name} isn't as it was handed out; nobody grades that")
    if lab.host:
        built = Tree(WORK / "here" / lab.name, lab, None).make()
        if built.kernel is None:
            raise CompileError(built.complaint)
        kernel = built.kernel
    else:
        kernel = read_kernel(image.BUILD / "kernel.elf", lab)
    reference = reference_of(lab, judge, options, WORK / "solution" / lab.name)
    return graded(lab, judge, kernel, reference, options, "this tree")


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
    """What is known so far, in the folders' order; the files grow with it."""

    def __init__(
        self, folders: list[Path], known: dict[str, Facts], options: argparse.Namespace
    ) -> None:
        self.names = [folder.name for folder in folders]
        self.known = known
        self.options = options
        self._lock = threading.Lock()

    def facts(self) -> list[Facts]:
        return [self.known[name] for name in self.names if name in self.known]

    def add(self, grade: Grade) -> None:
        facts = grade.facts()
        with self._lock:
            self.known[grade.who] = facts
            report.write(self.facts(), self.options)
        if self.options.all is not None:
            complain(f"{grade.who}: {as_number(facts['points'])}, {grade.ended}")


def place(lab: Lab, options: argparse.Namespace) -> Path:
    """Where trees are built; each part has one of its own."""
    return WORK / "grade" / f"{lab.name}-{'of'.join(map(str, options.shard))}"


def grade_all(
    lab: Lab, judge: Judge, folders: list[Path], options: argparse.Namespace,
    sandbox: Optional[Sandbox], known: dict[str, Facts],
) -> list[Facts]:
    """Side by side, but for those that are known."""
    waiting: queue.SimpleQueue = queue.SimpleQueue()
    submissions = [read(lab, f, options) for f in folders if f.name not in known]
    reports = Reports(folders, known, options)
    if not submissions:
        report.write(reports.facts(), options)
    for submission in submissions:
        if submission.refused:
            reports.add(no_point(judge, submission.who, options, "refused",
                                 submission.refused))
        else:
            waiting.put(submission)
    if waiting.empty():
        return reports.facts()
    folder = place(lab, options)
    like = start(lab, folder / "start")
    reference = reference_of(lab, judge, options, folder / "solution")
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            grader = Grader(lab, judge, reference, sandbox, like, folder / str(number))
            while not errors:
                reports.add(grader.grade(waiting.get_nowait(), options))
        except queue.Empty:
            pass
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=work, args=(n,))
        for n in range(min(options.jobs, len(submissions)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return reports.facts()


def earlier(options: argparse.Namespace) -> dict[str, Facts]:
    """--resume: what the report has; but what the machine has failed at is tried
    again."""
    if not options.resume:
        return {}
    if options.json is None:
        raise LabError("--resume needs --json FILE, whose report is gone on with")
    if not os.path.exists(options.json):
        return {}
    return {
        facts["submission"]: facts
        for facts in read_facts(Path(options.json))
        if facts["ended"] != "trouble"
    }


def nonce_of(known: dict[str, Facts], options: argparse.Namespace) -> int:
    """The one that was asked for, that of the report that is gone on with, or any."""
    if options.nonce is not None:
        return options.nonce
    for facts in known.values():
        return facts["nonce"]
    return secrets.randbelow(1 << 48)


# --- The command -------------------------------------------------------------


def shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", text)
    if not found or int(found[1]) > int(found[2]):
        wrong(text, "a part like 2/4")
    return int(found[1]), int(found[2])


def parse(words: list[str]) -> argparse.Namespace:
    parser = Parser("grade", usage="%(prog)s NAME [OPTIONS]")
    parser.add_argument("name", metavar="NAME", help="of the lab")
    parser.add_argument("--submission", metavar="DIR", help="with the lab's files")
    parser.add_argument("--all", metavar="DIR", help="each folder is a submission")
    parser.add_argument("--test", metavar="T", help="judge this one alone")
    parser.add_argument("--show", action="store_true",
                        help="the script of what fails, with its answers")
    parser.add_argument("--gdb", action="store_true",
                        help="go to the first step that fails, with gdb")
    parser.add_argument("--nonce", type=NONCE, metavar="N", help="the script's")
    parser.add_argument("--races", type=SEED, metavar="N", help="a race's seed")
    parser.add_argument("--seed", type=utf8, metavar="S",
                        help="of another course")
    parser.add_argument("--course", metavar="FILE", default=str(CONF))
    parser.add_argument("--debug", action="store_true", help="the debug build")
    parser.add_argument("--trust", action="store_true",
                        help="build without the sandbox")
    parser.add_argument("--submitted", metavar="TIME", help="when")
    parser.add_argument("-j", dest="jobs", type=JOBS, metavar="N",
                        default=os.cpu_count(), help="so many at once")
    parser.add_argument("--shard", type=shard, metavar="I/N", default=(1, 1),
                        help="of all, the Ith of N parts")
    parser.add_argument("--resume", action="store_true",
                        help="leave out what the report of --json has")
    report.add_options(parser, ("json", "csv", "junit", "html", "gradescope"))
    return parser.parse(words)


def folders_of(options: argparse.Namespace) -> list[Path]:
    if options.all is None:
        folders = [Path(options.submission)] if options.submission else []
    else:
        top = Path(options.all)
        found = options.all and top.is_dir()
        folders = sorted(f for f in top.iterdir() if f.is_dir()) if found else []
    if not folders or not all(f.is_dir() for f in folders):
        raise LabError(f"{options.all or options.submission}: no submission there")
    part, parts = options.shard
    if part > len(folders):
        raise LabError(f"--shard: there are only {len(folders)} submissions")
    return [f.resolve() for f in folders[part - 1 :: parts]]


def complain(text: str) -> None:
    print(f"grade: {text}", file=sys.stderr, flush=True)


def run(options: argparse.Namespace) -> int:
    course: Course = read_course(Path(options.course), options.seed)
    lab = Lab(options.name, course)
    names = {None, *(kind.name for kind in lab.tests)}
    if options.test not in names:
        raise LabError(f"{lab.name} has no test {options.test!r}")
    many = options.all is not None
    foreign = many or options.submission is not None
    if many and options.submission is not None:
        raise LabError("--submission DIR or --all DIR, not both")
    if options.gdb and (many or lab.host):
        raise LabError("--gdb is of one kernel")
    if options.gdb:
        find_gdb()
    if options.gradescope and many:
        raise LabError("--gradescope is of one submission")
    if (options.shard != (1, 1) or options.resume) and not many:
        raise LabError("--shard and --resume are of --all")
    if options.shard != (1, 1) and options.nonce is None:
        raise LabError("--shard needs --nonce N, the same one for all parts")
    if options.submitted and not foreign:
        raise LabError("--submitted is of a submission")
    if not foreign and not HANDED_OUT.exists():
        raise LabError("this is no student's tree: --submission DIR, or --all DIR")
    folders = folders_of(options) if foreign else []
    sandbox = Sandbox() if foreign and not options.trust else None
    known = earlier(options)
    nonce = nonce_of(known, options)
    judge = Judge(lab, nonce, sandbox, options.show)
    if known:
        same = Grade(lab, "", nonce, commit(), failed(lab, options)).facts()
        check_common([*known.values(), same], str(options.json))
        strangers = known.keys() - {folder.name for folder in folders}
        if strangers:
            raise LabError(f"{options.json}: {min(strangers)} isn't in this part")
    if foreign:
        found = grade_all(lab, judge, folders, options, sandbox, known)
    else:
        found = [grade_here(lab, judge, options).facts()]
        report.write(found, options)
    if many:
        good = sum(facts["points"] == facts["of"] for facts in found)
        print(f"{len(found)} submissions, {good} with all points; nonce {nonce}")
    else:
        print(report.text(found[0]), end="", flush=True)
    if options.gdb and judge.stop:
        debug(judge.booter, judge.stop, place(lab, options) / "0" if foreign else ROOT)
    elif options.gdb:
        complain("no step failed, before which the machine could stop")
    if any(facts["ended"] == "trouble" for facts in found):
        return STATUS_SETUP
    return 0 if many or all(test["ok"] for test in found[0]["tests"]) else 1


if __name__ == "__main__":
    sys.exit(script("grade", lambda: run(parse(sys.argv[1:])), LabError, SetupError,
                    TroubleError, image.BuildError))
