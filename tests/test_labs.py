"""The labs: what a course does with them, and what a student may try."""

from __future__ import annotations

import configparser
import csv
import dataclasses
import datetime
import functools
import html
import io
import itertools
import json
import random
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Iterable

import pytest

from harness import lesser
from tally import ROOT
from tally.build import image
from tally.formats.executable import Image
from tally.grading import course_page, report, stores
from tally.grading.boots import WAITS, WORKS, Heard, Plan, read_marks
from tally.grading.facts import Facts, Grade
from tally.grading.grade import Grader, start
from tally.grading.hang import shown
from tally.grading.judge import Reference, Verdict, no_symbol, symbols
from tally.grading.lab import (
    MACROS,
    Edit,
    Lab,
    LabError,
    all_labs,
    read_conf,
    read_course,
)
from tally.grading.play import played
from tally.grading.sandbox import Sandbox
from tally.grading.script import Step, Test as LabTest, data
from tally.grading.tree import Tree, put_lab
from tally.verify.machines import ALL

LABS = ROOT / "labs"
FILE = "kernel/syscall/hart_ticks.c"  # what lab ticks is about
COURSE = read_course()
TICKS = Lab("ticks", COURSE)
LIES = Lab("lies", COURSE)  # which is decided on the host
REPLY = "kernel/fs/reply.c"
NONCE = 1
DAY = datetime.timedelta(days=1)

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None
    or subprocess.run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"],
                      stderr=subprocess.DEVNULL).returncode != 0,
    reason="no name spaces for bwrap here",
)


def solution(lab: Lab = TICKS) -> str:
    """A lab's, as a student of the course would write it."""
    macros = lab.parameter_files(True)["kernel/lab.h"]
    text = (lab.folder / "solution" / lab.files[0]).read_text()
    assert '#include "lab.h"\n' in text
    return text.replace('#include "lab.h"\n', macros)


def hand_in(folder: Path, text: str, name: str = FILE) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return folder


def labs(tool: str, *words: object, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(LABS / tool), *map(str, words)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, **options,
    )


def grade(folder: Path, report: Path, *words: object, lab: Lab = TICKS) -> dict:
    """What --json says of a submission; no script is drawn by lot."""
    done = labs("grade", lab.name, "--submission", folder, "--json", report,
                "--nonce", NONCE, *words)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(report.read_text())


def points(facts: dict) -> dict[str, float]:
    return {test["name"]: test["points"] for test in facts["tests"]}


def replaced(old: str, new: str, text: str = "") -> str:
    """In the solution, or in what was made of it."""
    text = text or solution()
    assert text.count(old) == 1
    return text.replace(old, new)


# --- The labs decide what they are to decide ---------------------------------


def test_every_lab_is_in_the_course() -> None:
    assert set(COURSE.labs) == set(all_labs())


@pytest.mark.parametrize("name", all_labs())
def test_a_lab_is_whole(name: str) -> None:
    """A hand-out without a hole, and six wrong solutions or more."""
    lab = Lab(name, COURSE)
    text = lab.readme()
    for word in ("Read first", "Build", "How it is judged", "Questions"):
        assert f"## {word}" in text
    assert f"labs/grade {name}" in text
    assert len(lab.wrong()) >= 6
    assert len({test.name for test in lab.tests}) == len(lab.tests)
    for whole in (False, True):  # its cut and its solution are of this kernel
        texts = applied(lab.edits(whole), {})
    done = lab.folder / "solution"
    texts |= {str(f.relative_to(done)): f.read_text() for f in done.rglob("*.[ch]")}
    for variant in lab.wrong() + lab.right():
        applied(variant.edits, texts)


def applied(edits: Iterable[Edit], texts: dict[str, str]) -> dict[str, str]:
    """Files as edits leave them; texts: as they were, unless as the kernel's."""
    texts = dict(texts)
    for edit in edits:
        text = texts.get(edit.file) or (ROOT / edit.file).read_text()
        texts[edit.file] = edit.apply(text)
    return texts


def test_how_often_seeds_ask_for_the_same() -> None:
    """docs/teaching.md says for how many seeds one solution is right."""
    said = r"seed in (\d+) does so for sched, one in (\d+) for mutex and pipe, one in\s+(\d+)"
    found = re.search(said, (ROOT / "docs/teaching.md").read_text())
    assert found
    sched, middle, least = map(int, found.groups())
    often = {"sched": sched, "mutex": middle, "pipe": middle}
    for name in all_labs():
        lab, solutions = Lab(name, COURSE), set()
        for seed in range(2000):
            lab.params = lab._params.draw(random.Random(seed))
            solutions.add(lab.parameter_files(True)[MACROS])
        assert len(solutions) in range(least, 2001) or name in often, name
        assert len(solutions) == often.get(name, len(solutions)), name


@pytest.mark.parametrize("name", all_labs())
def test_calls_have_names(name: str) -> None:
    """Tests call Linux's calls by name; a number is only that of the lab's own."""
    lab = Lab(name, COURSE)
    if not lab.host:
        text = {"text_start": 0x80200000, "etext": 0x80300000}
        plan = Plan(lab, lab.tests, "1", lambda symbol: text.get(symbol, 0x80200100))
        script = plan.script()
        calls = re.findall(r"^\w{15} call(?:-into \d+)? (\w+)", script, re.M)
        assert {c for c in calls if c[0].isdigit()} <= {str(lab.params.get("NUMBER"))}
    observe = (LABS / "guest/observe").glob("*.[ch]")
    for file in [*observe, *lab.folder.rglob("*.[ch]")]:
        assert not re.search(r"define\s+SYS_", file.read_text()), file


def holders_expected(lab: Lab) -> list[int]:
    """Who should have the mutex in turn, in lab mutex's test of the count."""
    count = [kind for kind in lab.tests if kind.name.startswith("the count")]
    looks = [step.want for step in Plan(lab, count, "1", lambda symbol: 0).steps()
             if step.text.startswith("ioctl 0 2 ")]
    assert looks
    return [next(n for n in range(100) if look(str(n)) is None) for look in looks]


def test_the_count_of_lab_mutex_is_seen() -> None:
    """Whatever is drawn, a count that begins anew has others hold it than one that goes
    on. Found by make explore: no order of the rounds that was drawn told."""
    lab = Lab("mutex", COURSE)
    for rule, every, begins in itertools.product(("last", "low", "high"), (2, 3, 4, 5),
                                                 (0, 1)):
        lab.params.update(RULE=rule, EVERY=every, OLDEST_BEGINS=begins)
        seen = []
        for anew in (0, 1):
            lab.params["BEGINS_ANEW"] = anew
            seen.append(holders_expected(lab))
        assert seen[0] != seen[1], lab.params


@pytest.mark.parametrize("name", all_labs())
def test_a_lab_decides(name: str) -> None:
    """Its solution passes, and a wrong one fails: with --all more of them, which are
    drawn; `make labs' is all of it."""
    done = labs("selftest", name, *(["--quick", 1] if ALL else ["--short"]))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_fork_that_fails_harms_nobody(tmp_path: Path) -> None:
    """A kill of the child that isn't there is an answer, and kills nobody else."""
    shutil.copytree(LABS / "guest/observe", tmp_path / "observe")
    script = "none\na open 0 w /dev/ktest\nb put 0 failalloc 1\nc child 0 1\n"
    (tmp_path / "script").write_text(f"{script}d kill 0 9\ne kill 0 9\n")
    done = subprocess.run(
        [ROOT / "scripts/run", "--extra", tmp_path, "--icount", "5", "--",
         "observe /extra/script; echo $?"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == "a 0\nb 11\nc -ENOMEM\ne -ESRCH\n0\n"


def test_a_function_is_cut() -> None:
    """Its body, or all of it; only where its name is there, and once."""
    source = "/* One. */\nstatic int\none(void)\n{\n\treturn 1;\n}\n\nint two;\n"

    def cut(function: str, *lines: str) -> str:
        return Edit("cut:1", "one.c", function, lines).apply(source)

    assert cut("one", "\treturn 2;") == source.replace("1;", "2;")
    assert cut("one", "-") == "int two;\n"
    with pytest.raises(LabError, match="^cut:1: one.c has two 0 times$"):
        cut("two", "-")
    source *= 2
    with pytest.raises(LabError, match="one.c has one 2 times"):
        cut("one", "\treturn 2;")


# --- Grades ------------------------------------------------------------------

#: A test that looks at the grade of one submission: its text, under a name.
hands_in = functools.partial(pytest.mark.parametrize, "facts", indirect=True)


@pytest.fixture(scope="module")
def graded_course(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """All that the chosen tests hand in, and a few more: what comes of it. Graded at
    once, so that the reference is built and measured once."""
    folder = tmp_path_factory.mktemp("course")
    all = folder / "all"
    for item in request.session.items:
        if item.path == request.path and "facts" in item.fixturenames:
            hand_in(all / item.callspec.id, item.callspec.params["facts"])
    hand_in(all / "anna", solution())
    hand_in(hand_in(all / "ben", solution()), "2027-02-02T16:30", "submitted")
    hand_in(all / "carl", "".join(f"int x{i} = ;\n" for i in range(200)))
    (all / "dora").mkdir()
    hand_in(hand_in(all / "eve", solution()), "yesterday", "submitted")
    hand_in(hand_in(all / "frank", solution()), "9999-12-31", "submitted")
    (all / "link/kernel").mkdir(parents=True)
    (all / "link/kernel/syscall").symlink_to(LABS / "ticks/solution/kernel/syscall")
    others = hand_in(all / "others", (TICKS.folder / "skeleton" / FILE).read_text())
    hand_in(others, "all:\n\ttouch /tmp/made\n", "Makefile")
    hand_in(others, "not a kernel", "build/kernel.elf")
    hand_in(others, '{"points": 10}', "json")
    hand_in(others, "def tests(): pass", "labs/ticks/check.py")
    text = (LABS / "course.conf").read_text()
    due = "2027-02-01T18:00+01:00"
    conf = folder / "course.conf"
    conf.write_text(text.replace("[ticks]\n", f"[ticks]\ndue = {due}\n"))
    words = ["ticks", "--all", all, "-j", 2, "--course", conf, "--nonce", NONCE,
             "--json", folder / "json", "--html", folder / "page"]
    with open(folder / "said", "w") as said:
        running = subprocess.Popen(
            [str(LABS / "grade"), *map(str, words)], stdin=subprocess.DEVNULL,
            stdout=said, stderr=subprocess.PIPE, text=True,
        )
    with running:
        first = running.stderr.readline()
        shutil.copy(folder / "json", folder / "first")
        rest = running.stderr.read()
    assert running.returncode == 0, first + rest
    return folder


@pytest.fixture(scope="module")
def course(graded_course: Path) -> dict[str, dict]:
    """What --json says of each submission."""
    facts = json.loads((graded_course / "json").read_text())
    return {f["submission"]: f for f in facts}


@pytest.fixture
def facts(request: pytest.FixtureRequest, course: dict[str, dict]) -> dict:
    """Of the submission that the test hands in."""
    return course[request.node.callspec.id]



def test_all_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever temporary files lie: the instructions are counted there."""
    place = tmp_path / "a b, c"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    hand_in(tmp_path / "anna", solution())
    reports = [f"--{kind}={tmp_path / kind}" for kind in ("junit", "gradescope")]
    facts = grade(tmp_path / "anna", tmp_path / "json", *reports)
    assert (facts["ended"], facts["points"], facts["of"]) == ("judged", 10, 10)
    assert facts["submission"] == "anna" and facts["instructions"] > 1_000_000
    assert facts["params"] == TICKS.params
    suite = xml.parse(tmp_path / "junit").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == (str(len(TICKS.tests)), "0")
    assert json.loads((tmp_path / "gradescope").read_text())["score"] == 10


@hands_in(
    [replaced("if (!LAB_EINVAL_FIRST &&", "if (LAB_EINVAL_FIRST &&")], ids=["order"]
)
def test_one_mistake_costs_one_test(facts: dict) -> None:
    """It says which operation, what was expected and what came."""
    bad = [test for test in facts["tests"] if not test["ok"]]
    assert [test["name"] for test in bad] == ["both errors at once"]
    assert bad[0]["why"].startswith("`call 1122 ")
    assert bad[0]["why"].endswith("expected -EFAULT, got -EINVAL")
    assert facts["points"] == 10 - bad[0]["of"]


RACE = replaced(
    "	__atomic_add_fetch(&counts[s->hart][place[s->mode]], 1,\n"
    "			   __ATOMIC_RELAXED);\n",
    "	counts[s->hart][place[s->mode]]++;\n",
)


@hands_in([RACE], ids=["race"])
def test_a_race_is_found_and_found_again(facts: dict, tmp_path: Path) -> None:
    """By the command that the report shows."""
    folder = hand_in(tmp_path / "s", RACE)
    (bad,) = [test for test in facts["tests"] if not test["ok"]]
    assert bad["name"] == "two harts count for one" and "--races" in bad["replay"]
    nonce, races = bad["replay"].split("--nonce ")[1].split(" --races ")
    again = grade(folder, tmp_path / "json", "--test", bad["name"], "--nonce", nonce,
                  "--races", races, "--show")
    assert again["tests"][0]["script"][-1].startswith("call-into ")
    assert [test["why"] for test in again["tests"]] == [bad["why"]]


def test_a_debugger_stops_before_the_step(tmp_path: Path) -> None:
    """In the boot in which it failed; where none has, there is nothing to see."""
    mistake = "if (!LAB_EINVAL_FIRST &&", "if (LAB_EINVAL_FIRST &&"
    words = ["grade", "ticks", "--nonce", NONCE, "--gdb",
             "--test", "both errors at once"]
    words += ["--submission", hand_in(tmp_path / "s", replaced(*mistake))]
    done = labs(*words)
    assert (done.stderr, done.returncode) == ("", 1)
    (step,) = re.findall("`(call 1122 .*)`: expected -EFAULT, got -EINVAL", done.stdout)
    stopped = rf"hit Breakpoint 1, stop_here \(.*\n? *line=.*{step}"
    assert re.search(stopped, done.stdout)
    hand_in(tmp_path / "s", solution())
    done = labs(*words)
    said = "grade: no step failed, so gdb is not started\n"
    assert (done.stderr, done.returncode) == (said, 0)


NO_HART = "	if (hart >= nharts)\n		return -EINVAL;\n"
PANIC = replaced(NO_HART, NO_HART.replace("-EINVAL", "*(volatile long *)8"))


@hands_in([PANIC], ids=["panic"])
def test_a_panic_costs_one_test(facts: dict) -> None:
    """What comes after it gets a boot of its own; the report shows the panic."""
    why = {t["name"]: t["why"] for t in facts["tests"] if not t["ok"]}
    lost = {"there is no such hart", "both errors at once"}
    assert set(why) <= lost and "there is no such hart" in why
    assert "the kernel panicked" in why["there is no such hart"]
    place = r"sys_hart_ticks\+0x\w+ \(kernel/syscall/hart_ticks.c:\d+\)"
    assert re.search(place, why["there is no such hart"])


LOST = """\
static unsigned long turns;

static void __attribute__((noinline))
stop(void)
{
	while (turns++ < 1UL << 60)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

"""


def line_of(text: str, words: str) -> int:
    (line,) = [i for i, x in enumerate(text.splitlines(), 1) if words in x]
    return line


OFF = replaced(NO_HART, NO_HART.replace("return -EINVAL", "in_vain()"))
OFF = replaced("long\nsys_hart_ticks", f"""\
{LOST}static void __attribute__((noinline))
in_vain(void)
{{
	asm volatile("csrci sstatus, 2");
	stop();
	turns = 0;
}}

long
sys_hart_ticks""", OFF)


@hands_in([OFF], ids=["hang"])
def test_a_hang_with_interrupts_off_ends(facts: dict) -> None:
    """The report shows where, and by which calls, though the kernel says nothing;
    another function has the same name."""
    why = {t["name"]: t["why"] for t in facts["tests"] if not t["ok"]}
    lines = why["there is no such hart"].splitlines()
    assert lines[0].endswith("`: the kernel hangs with interrupts off")
    reached = "  | the first process reached this step, after `put 2 sample "
    assert lines[1].startswith(reached)
    places = [(r"hart \d: stop", "turns++"), ("  in_vain", "	stop();"),
              ("  sys_hart_ticks", "		in_vain();")]
    for line, (name, words) in zip(lines[2:], places):
        at = line_of(OFF, words) if words != "turns++" else r"\d+"
        assert re.fullmatch(rf"  \| {name}\+0x\w+ \({FILE}:{at}\)", line), line
    assert len(lines) == 2 + len(places)


BUSY = replaced(NO_HART, NO_HART.replace("return -EINVAL", "for (;;) thread_yield()"))
BUSY = f'#include "sched/thread.h"\n{BUSY}'


@hands_in([BUSY], ids=["busy"])
def test_who_is_busy_for_ever_is_shown(facts: dict) -> None:
    """The kernel's own limit ends it, however long the firmware took, and says where."""
    why = {t["name"]: t["why"] for t in facts["tests"] if not t["ok"]}
    lines = why["there is no such hart"].splitlines()
    assert lines[0].endswith(WORKS)
    assert lines[2] == "  | time limit reached"
    assert re.match(r"  \| hart \d: \w+\+0x", lines[3]), lines


ASLEEP = replaced(NO_HART, NO_HART.replace("return -EINVAL", "return dream()"))
ASLEEP = replaced("long\nsys_hart_ticks", """\
static struct spinlock lock = SPINLOCK1("dreams");
static struct waitq dreams = WAITQ_INIT(dreams);

static long __attribute__((noinline))
dream(void)
{
	spin_lock(&lock);
	while (dreams.kind != 99)
		wait_uninterruptible(&dreams, &lock);
	spin_unlock(&lock);
	return 0;
}

long
sys_hart_ticks""", f'#include "sched/lock.h"\n{ASLEEP}')


@hands_in([ASLEEP], ids=["asleep"])
def test_who_sleeps_for_ever_is_shown(facts: dict) -> None:
    """What it did before, on what it sleeps, and where; not who has nothing to do."""
    why = {t["name"]: t["why"] for t in facts["tests"] if not t["ok"]}
    lines = why["there is no such hart"].splitlines()
    assert lines[0].endswith(WAITS)
    reached = "  | the first process reached this step, after `put 2 sample "
    assert lines[1].startswith(reached)
    assert lines[2] == "  | time limit reached"
    asleep = r"  \| thread \d+ \(observe\) sleeps on dreams for \d+ ms"
    assert re.fullmatch(asleep, lines[3]), lines[3]
    at = line_of(ASLEEP, "wait_uninterruptible(")
    assert re.fullmatch(rf"  \|   dream\+0x\w+ \({FILE}:{at}\)", lines[4])
    assert len(lines) == 5


def test_what_always_waits_is_not_shown(tmp_path: Path) -> None:
    """But a panic's calls are, also below wait4."""
    file = "kernel/proc/wait.c"
    calls = f"  wait_for+0x10 ({file}:9)\n  sys_wait4+0x2 ({file}:7)"
    mine = "thread 3 (observe) sleeps on pipe for 8 ms\n  wait_for+0x4 (other.c:9)"
    words = (
        "panic: no lock\nhart 1, process 2 (observe)\n  wait_on+0x8\n" + calls +
        "\nhart 0: idle_wait+0x4\nhart 1: sched+0x4\n"
        "hart 2: idle_wait+0x4\n  waits for lock pipe, which hart 1 took at pipe_read+0x4\n"
        "thread 1 (init) sleeps on proc tree for 9 ms\n  others+0x4\n"
        f"thread 2 (observe) sleeps on proc tree for 9 ms\n{calls}\n"
        f"{mine}\n"
    )
    said = shown(words, tmp_path / "no kernel")
    assert said == [
        "panic: no lock", "hart 1, process 2 (observe)", "  wait_on+0x8",
        *calls.splitlines(), "hart 1: sched+0x4", "hart 2: idle_wait+0x4",
        "  waits for lock pipe, which hart 1 took at pipe_read+0x4",
        *mine.splitlines(),
    ]
    assert shown("hart 0: idle_wait+0x4", tmp_path) == ["hart 0: idle_wait+0x4"]
    # As QEMU's registers have them, where all hang with interrupts off.
    stuck = "hart 1: spin+0x4\n  from_kernel+0x7a\n  idle_wait+0x10"
    dozing = "hart 2: doze+0x50\n  from_kernel+0x7a\n  idle_wait+0x10\n  boot_main+0x8"
    idle = "hart 3: idle_wait+0x4\n  secondary_main+0x26"
    assert shown(f"{stuck}\n{dozing}\n{idle}", tmp_path) == stuck.splitlines()
    assert len(shown("a\n" * 99, tmp_path)) == 24


def test_which_memory_is_the_students() -> None:
    """By the linker's map: what a file has side by side is one piece, and what the
    linker has left out, or has for debuggers, is none."""
    at = 0xFFFFFFFF80200000
    mine, other = "build/kernel/dev/sum.c.o", "build/kernel/dev/prf.c.o"
    pieces = [
        (".discarded", 0, 8, mine),
        (".text", at, 0x40, other), (".text", at + 0x40, 0x20, mine),
        (".text.of_a_long_name", at + 0x64, 0x1C, mine),
        (".text", at + 0x80, 8, other), ("no dot", at + 0x1000, 4, mine),
        (".bss", at + 0x1008, 0, mine), (".debug_line", 0x100, 0x20, mine),
    ]
    linker_map = ""
    for name, place, size, file in pieces:
        linker_map += f" {name}\n" if len(name) > 14 else f" {name:15}"
        linker_map += f" {place:#018x} {size:#10x} {file}\n"
    assert stores.own(linker_map, [mine]) == (
        range(at + 0x40, at + 0x80), range(at + 0x1000, at + 0x1004)
    )


def test_a_symbol_that_is_gone() -> None:
    """A student's code has renamed what a test asks for: that test has failed, and
    the grading goes on."""
    symbol = symbols(Image(image.BUILD / "kernel.elf"))
    test = LabTest("places", {}, "seed", symbol)
    test.do("where", lambda got: None if int(got) == symbol("etext") else "elsewhere")
    test.do("where", lambda got: None if int(got) == symbol("renamed") else "elsewhere")
    there, gone = test.steps
    assert there.wrong(str(symbol("etext"))) is None
    assert gone.wrong("1") == "`where`: got 1"


def test_what_was_played() -> None:
    """--show: each step with its answer, up to the one that failed."""
    test = LabTest("pipes", {}, "seed", no_symbol)
    with test.child(3):
        test.do("read 0 99", b"x" * 20)
    test.do("write 1 6162", 2)
    test.do("read 0 5", b"a\0")
    test.do("close 0", "-EBADF")
    answers = dict(zip(
        [step.token for step in test.steps],
        ["0", f"20 {'78' * 20}", "2", "2 6100", "-EBADF"],
    ))
    assert played(test, answers, None) == [
        "child 3 1 -> 0",
        f"child 3: read 0 99 -> 20 {'78' * 20} '{'x' * 20}'",
        "write 1 6162 -> 2",
        "read 0 5 -> 2 6100",
        "close 0 -> -EBADF",
    ]
    assert played(test, answers, test.steps[2])[2:] == ["write 1 6162 -> 2"]


def test_what_was_played_up_to_a_hang() -> None:
    """--show: also of the process that should have woken the one that hangs, and up to
    where each came; nothing of a child that hasn't begun."""
    test = LabTest("pipes", {}, "seed", no_symbol)
    with test.child(3):
        test.do("read 0 1", b"x")
        test.do("close 0", 0)
    test.do("write 1 78", 1)
    test.do("wait 3", 0)
    with test.child(4):
        test.do("close 0", 0)
    tokens = [step.token for step in test.steps]
    answers = {tokens[0]: "0", tokens[3]: "1"}
    for hangs in test.steps[1], test.steps[4]:
        assert played(test, answers, hangs) == [
            "child 3 2 -> 0", "child 3: read 0 1 -> no answer", "write 1 78 -> 1",
            "wait 3 -> no answer",
        ]


def test_operations_are_explained() -> None:
    """labs/guest/README.md has each that a reason can name."""
    text = (LABS / "guest/README.md").read_text()
    told = re.findall(r"^\|(.*?)\|", text, re.M)[2:]
    names = [name for line in told for name in re.findall(r"`([a-z-]+)", line)]
    files = (LABS / "guest/observe").glob("*.c")
    code = "".join(file.read_text() for file in files)
    assert sorted(names) == sorted(re.findall(r'{"([a-z-]+)", do_', code))


def test_an_error_in_place_of_an_answer() -> None:
    """Also where a function judges the answer, the reason says what was hoped for."""
    step = Step("read 0 9", lambda got: None if data(got) else "empty", "t", "")
    assert step.wrong("1 61") is None
    assert step.wrong("-EINTR") == "`read 0 9`: expected no error, got -EINTR"
    assert step.wrong("what") == "`read 0 9`: got what"


def test_a_course(course: dict[str, dict], graded_course: Path) -> None:
    """Every folder is a submission; one page has all, and lateness costs."""
    said = (graded_course / "said").read_text()
    best = sum(f["points"] == f["of"] for f in course.values())
    assert said.startswith(f"{len(course)} submissions, {best} with all points")
    handed_in = {folder.name for folder in (graded_course / "all").iterdir()}
    assert set(course) == handed_in
    assert [course[who]["points"] for who in ("anna", "ben", "carl", "dora")] == [
        10, 9, 0, 0
    ]
    assert course["ben"]["late"] == 0.1
    assert course["carl"]["ended"] == "not built"
    assert "hart_ticks.c:1" in course["carl"]["why"]
    assert len(course["carl"]["why"].splitlines()) == 40
    assert (course["eve"]["ended"], course["eve"]["why"]) == (
        "refused", "submitted: yesterday: not a time like 2027-02-01T18:00"
    )
    assert (course["dora"]["ended"], course["dora"]["why"]) == (
        "refused", f"none of {FILE} was handed in"
    )
    assert list(course) == sorted(course)
    assert {f["nonce"] for f in course.values()} == {NONCE}


def test_a_page_needs_no_mouse(course: dict[str, dict], graded_course: Path) -> None:
    """Who has what, all reasons, where each field leads, and each mistake's number."""
    page = (graded_course / "page").read_text()
    root = xml.fromstring(re.sub(r"<!doctype html>|<(meta) [^>]*>", "", page)
                          .replace("&times;", "x").replace("&minus;", "-"))
    first, second = root.iter("table")
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in first.iter("tr")}
    assert rows.keys() == {"who", *course}
    for name, facts in course.items():
        assert float(rows[name][0]) == facts["points"]
        assert rows[name].count("ok") == sum(test["ok"] for test in facts["tests"])
    shown = "".join(root.itertext())
    for facts in course.values():
        whys = [facts["why"], *(test["why"] for test in facts["tests"])]
        assert all(why in shown for why in whys)
    places = {section.get("id") for section in root.iter("section")}
    assert {link.get("href") for link in root.iter("a")} == {f"#{p}" for p in places}
    listed = {row[0].text: [*row.itertext()] for row in second.iter("tr")}
    for kind in TICKS.tests:
        of = [t for f in course.values() for t in f["tests"] if t["name"] == kind.name]
        _, passed, *mistakes = listed[kind.name]
        assert passed == f"{sum(test['ok'] for test in of)} of {len(course)}"
        times = [int(mistake.split(" x ")[0]) for mistake in mistakes]
        assert sum(times) == sum(not test["ok"] for test in of)
        assert times == sorted(times, reverse=True)
    assert "title=" not in page and "<script" not in page


def test_parts_are_merged(
    course: dict[str, dict], graded_course: Path, tmp_path: Path
) -> None:
    """To the bytes of one run; also a part that was ended in the middle."""
    whole = list(course.values())
    first = list(course).index("dora") % 2
    parts = [tmp_path / "a", tmp_path / "b"]
    ended = [facts for facts in whole[first::2] if facts["submission"] != "dora"]
    parts[0].write_text(json.dumps(ended))
    parts[1].write_text(json.dumps(whole[1 - first :: 2]))
    part = ["grade", "ticks", "--all", graded_course / "all", "--course",
            graded_course / "course.conf", "--nonce", whole[0]["nonce"], "--resume"]
    done = labs(*part, "--shard", f"{2 - first}/2", "--json", parts[0])
    stranger = min(facts["submission"] for facts in ended)
    why = f"the submission {stranger} isn't in this part of --all"
    assert done.stderr == f"grade: {parts[0]}: {why}\n"
    done = labs(*part, "--shard", f"{first + 1}/2", "--json", parts[0])
    assert (done.stderr, done.returncode) == ("grade: dora: 0, refused\n", 0)
    kinds = {"json": "json", "html": "page", "csv": "csv"}
    to = [f"--{kind}={tmp_path / name}" for kind, name in kinds.items()]
    done = labs("merge", *parts, *to)
    assert (done.stderr, done.returncode) == ("", 0)
    for name in "json", "page":
        assert (tmp_path / name).read_bytes() == (graded_course / name).read_bytes()
    head, *rows = (tmp_path / "csv").read_text().splitlines()
    assert head.startswith(
        "submission,points,of,submitted,due,percent late,ended,why,failed,"
    )
    times = "2027-02-02 17:30+01:00,2027-02-01 18:00+01:00"
    assert f"ben,9,10,{times},10,judged,," in "\n".join(rows)
    assert len(rows) == len(course)


def test_parts_by_gnu_parallel(tmp_path: Path) -> None:
    """The example of docs/teaching.md, for some who hand in nothing: the bytes of one
    run."""
    assert shutil.which("parallel"), "no parallel: scripts/setup check installs it"
    text = (ROOT / "docs/teaching.md").read_text()
    (example,) = re.findall(r"    (parallel .*?)\n\n", text, re.S)
    for name in "abcdef":
        (tmp_path / "submissions" / name).mkdir(parents=True)
    done = subprocess.run(
        ["sh", "-ec", example.replace("labs/", f"{LABS}/")], cwd=tmp_path,
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    kinds = {"json": "grades.json", "csv": "grades.csv", "html": "page.html"}
    done = labs("grade", "pipe", "--all", tmp_path / "submissions", "--nonce", 7,
                *(f"--{kind}={tmp_path / f'whole.{kind}'}" for kind in kinds))
    assert done.returncode == 0, done.stderr
    for kind, name in kinds.items():
        whole = (tmp_path / f"whole.{kind}").read_bytes()
        assert (tmp_path / name).read_bytes() == whole


TEST = {"name": "t", "ok": True, "points": 1, "of": 1, "why": "", "replay": ""}
FACTS = {"lab": "ticks", "title": "", "course": "", "submission": "anna", "among": 2,
         "members": [], "commit": "c", "roster": "", "seed": "s", "nonce": 1,
         "ended": "judged", "why": "", "gate": "", "stores": [], "instructions": 1,
         "submitted": "", "due": "", "late": 0, "points": 1, "of": 1, "tests": []}


@pytest.mark.parametrize(
    "change, words, said",
    [
        ({}, ["--json", "x"], "merge: anna is in both a and b"),
        ({"submission": "ben", "nonce": 2}, ["--json", "x"],
         "merge: b: reports differ in nonce: 1, 2"),
        ({"submission": "ben", "roster": "r"}, ["--json", "x"],
         "merge: b: reports differ in roster: , r"),
        ({"submission": "ben", "seed": "t"}, ["--json", "x"],
         "merge: b: reports differ in seed: s, t"),
        ({"submission": "ben", "members": [1]}, ["--json", "x"],
         "merge: b: not a report of grade --json"),
        ({"submission": "ben"}, [], "merge: nothing to write: give one of --json, "),
        ({"submission": "ben", "among": 3}, ["--json", "x"],
         "merge: the reports have 2 of 3 submissions: a part is missing or incomplete (--partial "),
        ({"submission": "ben", "tests": [TEST]}, ["--json", "x"],
         "merge: b: reports differ in their tests"),
        ({"submission": "ben", "tests": [{}]}, ["--json", "x"],
         "merge: b: not a report of grade --json"),
        ({"submission": "ben", "nonce": []}, ["--json", "x"],
         "merge: b: not a report of grade --json"),
        ([], ["--json", "x"], "merge: b: not a report of grade --json"),
    ],
)
def test_what_is_not_merged(
    tmp_path: Path, change: object, words: list[str], said: str
) -> None:
    (tmp_path / "a").write_text(json.dumps(FACTS))
    changed = FACTS | change if isinstance(change, dict) else ["anna"]
    (tmp_path / "b").write_text(json.dumps(changed))
    done = labs("merge", "a", "b", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (126, "")
    assert done.stderr.startswith(said) and done.stderr.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_a_part_that_is_missing(tmp_path: Path) -> None:
    """docs/teaching.md: merge refuses to leave a submission out, unless --partial."""
    (tmp_path / "a").write_text(json.dumps(FACTS))
    done = labs("merge", "a", "--partial", "--json", "x", cwd=tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)
    assert json.loads((tmp_path / "x").read_text()) == FACTS


def test_a_report_grows(course: dict[str, dict], graded_course: Path) -> None:
    """If the machine fails in the middle, what was graded is there."""
    first = json.loads((graded_course / "first").read_text())
    known = [first] if isinstance(first, dict) else first
    assert 0 < len(known) < len(course)
    assert all(facts == course[facts["submission"]] for facts in known)


def graded_pipe(failed: str, *left_out: str) -> Facts:
    """Of a pipe that fails this test alone, a day late."""
    due = datetime.datetime(2027, 2, 1, 18, tzinfo=datetime.timezone.utc)
    lab = Lab("pipe", dataclasses.replace(COURSE, due={"pipe": due}))
    tests = [Verdict(kind.name, kind.points, kind.name != failed)
             for kind in lab.tests if kind.name not in left_out]
    return Grade(lab, "anna", 1, "c", tests, submitted=due + DAY).facts()


def test_points_add_up() -> None:
    """However the weights are: the tests' points, to cents, are what the lab is worth,
    and those of the tests that pass are what it brings."""
    for name, worth in itertools.product(all_labs(), (10, 19.99, 7.5)):
        lab = Lab(name, dataclasses.replace(COURSE, points={name: worth}))
        tests = [Verdict(k.name, k.points, i % 3 > 0) for i, k in enumerate(lab.tests)]
        facts = Grade(lab, "anna", 1, "c", tests).facts()
        assert round(sum(test["of"] for test in facts["tests"]), 2) == worth
        if not facts["gate"]:
            points = sum(test["points"] for test in facts["tests"])
            assert facts["points"] == round(points, 2)


def test_each_gate_that_was_failed_is_named() -> None:
    """Who mends one of two has no more points than before."""
    lab = Lab("pipe", COURSE)
    bad = list(lab.gates)[:2]
    tests = [Verdict(k.name, k.points, k.name not in bad) for k in lab.tests]
    facts = Grade(lab, "anna", 1, "c", tests).facts()
    assert facts["gate"] == f'2 points at most, because the submission fails "{bad[0]}", "{bad[1]}"'


def test_one_test_alone_is_no_grade() -> None:
    """--test: its points are of what it is worth, not of the lab's."""
    lab = Lab("pipe", COURSE)
    tests = [Verdict(k.name, k.points, True) for k in lab.tests]
    alone = Grade(lab, "anna", 1, "c", tests[:1]).facts()
    worth = alone["tests"][0]["of"]
    assert f"\n{worth:g} of {worth:g} points (nonce 1)\n" in report.text(alone)
    assert "\n20 of 20 points" in report.text(Grade(lab, "a", 1, "c", tests).facts())


def test_lateness_is_explained() -> None:
    """A report says when it was handed in, and when that was due."""
    facts = graded_pipe("a reader's mark")
    why = ("10 % of the points are lost for lateness: handed in 2027-02-02 18:00+00:00,"
           " due 2027-02-01 18:00+00:00")
    assert f"  {why}\n" in report.text(facts)
    assert why in course_page.page([facts])
    (row,) = csv.DictReader(io.StringIO(report.as_csv([facts])))
    assert (row["submitted"], row["due"]) == ("2027-02-02 18:00+00:00",
                                              "2027-02-01 18:00+00:00")


def test_the_course_on_its_page() -> None:
    """Its name, and what its points are in the mean."""
    worst = graded_pipe("a reader's mark")
    best = worst | {"points": worst["of"], "submission": "ben"}
    missing = worst | {"points": 0.0, "submission": "carl", "ended": "missing"}
    page = course_page.page([worst, best, best, missing])
    assert "<h1>Operating systems, pipe: " in page
    assert "<p>mean 13.93 of 20 points, median 20</p>" in page
    assert "mean " not in course_page.page([missing])


def test_what_a_lab_is_about_is_a_gate() -> None:
    """lab.conf has it, README.md says it, and each report where it took points."""
    for name in all_labs():
        lab = Lab(name, COURSE)
        assert all(f'"{test}"' in " ".join(lab.readme().split()) for test in lab.gates)
    facts = graded_pipe("a reader's mark")
    assert facts["points"] == round(0.9 * 0.1 * facts["of"], 2)
    why = f'{0.1 * facts["of"]:g} points at most, because the submission fails "a reader\'s mark"'
    assert facts["gate"] == why
    assert f"  {why}\n" in report.text(facts)
    page = course_page.page([facts])
    assert html.escape(why) in page and ">gate</a>" in page
    assert list(csv.DictReader(io.StringIO(report.as_csv([facts]))))[0]["why"] == why
    assert why in json.loads(report.gradescope([facts]))["output"]
    assert graded_pipe("a signal ends the wait")["gate"] == ""
    assert graded_pipe("a reader's mark", "how many there are")["gate"] == ""


def test_what_was_not_judged_has_no_tests() -> None:
    """Nor what wasn't built, nor handed in: a reason, and no list of failures."""
    facts = graded_pipe("a reader's mark")
    assert "FAIL" in report.text(facts)
    cell = '<td class="no" colspan='
    assert cell not in course_page.page([facts])
    facts |= {"ended": "not built", "why": "a.c:1: error"}
    text = report.text(facts)
    assert "FAIL" not in text and "  not built: a.c:1: error\n" in text
    assert f'{cell}"{len(facts["tests"])}">' in course_page.page([facts])
    (row,) = csv.DictReader(io.StringIO(report.as_csv([facts])))
    assert (row["why"], row["failed"]) == ("a.c:1: error", "")


def test_reasons_in_a_spreadsheet() -> None:
    """In one field, on one line: the first of each test's reason."""
    facts = graded_pipe("a reader's mark")
    bad = next(test for test in facts["tests"] if not test["ok"])
    bad["why"] = "`put 0 a`: got 1\nand more"
    facts["tests"].append(bad | {"name": "another"})
    (row,) = csv.DictReader(io.StringIO(report.as_csv([facts])))
    why = "`put 0 a`: got 1"
    assert row["failed"] == f"a reader's mark: {why}; another: {why}"


def test_a_hand_out_says_what_the_lab_is_worth(tmp_path: Path) -> None:
    """And until when, if the course has a due time."""
    assert Lab("pipe", COURSE).readme().endswith(
        "\n## Points\n\nThe lab is worth 20 points.\n"
    )
    conf = (LABS / "course.conf").read_text()
    file = tmp_path / "course.conf"
    file.write_text(conf.replace("[pipe]", "[pipe]\ndue = 2027-02-01T18:00+01:00"))
    assert Lab("pipe", read_course(file)).readme().endswith(
        "The lab is worth 20 points. It is due 2027-02-01 18:00+01:00. A later"
        " submission loses\n10 % for each started day, and all points after 5 days.\n"
    )


@pytest.mark.parametrize("line", ["0.1 no such test", "1.1 how many there are",
                                  "-0 how many there are", "how many there are"])
def test_gates_that_are_none(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(file: Path) -> configparser.ConfigParser:
        conf = read_conf(file)
        conf["lab"]["gates"] = line
        return conf

    monkeypatch.setattr("tally.grading.lab.read_conf", changed)
    said = f"^pipe/lab.conf: gates: {line}: expected SHARE TEST$"
    with pytest.raises(LabError, match=said):
        Lab("pipe", COURSE)


@pytest.mark.parametrize(
    "days, kept", [(-1, 1), (0, 1), (0.01, 0.9), (1, 0.9), (4.5, 0.5), (5.1, 0)]
)
def test_lateness(days: float, kept: float, tmp_path: Path) -> None:
    file = tmp_path / "course.conf"
    file.write_text(
        "[course]\nname = x\nseed = y\nlate-per-day = 10\nlate-days = 5\n"
        "[ticks]\ndue = 2027-02-01\n"
    )
    due = datetime.datetime(2027, 2, 2, tzinfo=datetime.timezone.utc)
    course = read_course(file)
    assert course.kept("ticks", due + days * DAY) == pytest.approx(kept)
    assert course.kept("ticks", None) == 1


# --- What a student may try --------------------------------------------------

PRINTS = """
#include <stdio.h>
#include <string.h>

#include "base/syscall.h"
#include "dev/sample.h"
#include "driver/uart.h"
#include "fs/vfs.h"
#include "fs/vnode.h"

/* Past the kernel's own functions, which mark what they print as theirs. */
static void
forge(const char *text)
{
	while (!uart_put(text, strlen(text)))
		;
}

static void
count(const struct sample *s)
{
	(void)s;
}

struct profiler ticks_profiler = {.count = count};

long
sys_hart_ticks(const unsigned long *arg)
{
	(void)arg;
	BODY
	return 0;
}
"""

#: Reads the script as the tests do, and answers each call.
FINDS_SCRIPT = """
	static char script[1 << 17];
	struct vnode *v;
	char line[] = "\\x10o123456789abcdef 0\\n\\x10k";

	if (vfs_lookup(NULL, "/extra/script", &v) != 0)
		return 0;
	vnode_read(v, script, sizeof(script) - 1, 0);
	for (char *p = script + 15; *p != '\\0'; p++) {
		if (strncmp(p, " call-into ", 11) != 0)
			continue;
		memcpy(line + 2, p - 15, 15);
		forge(line);
	}
"""

FORGES = '	forge("\\x10ook what comes back\\nok all\\n\\x10k");'

LATER = f"	static int calls;\n\n	if (calls++ == 1)\n	{FORGES}"

CHEATS = {
    "forge": "code other than the test program has printed",
    "later": "code other than the test program has printed",
    "script": "a step was answered before it began",
}


@hands_in(
    [PRINTS.replace("	BODY\n", body) for body in (FORGES, LATER, FINDS_SCRIPT)],
    ids=CHEATS,
)
def test_a_kernel_that_answers_itself(facts: dict) -> None:
    """One answer that isn't the tests' own, and there are no points. What was wrong
    before it is told: mostly the program's memory isn't what it should be."""
    assert (facts["ended"], facts["points"]) == ("forged", 0), facts["why"]
    assert facts["why"].startswith(CHEATS[facts["submission"]])
    before = "\n  | before that: `call-into 40 1122 buffer "
    assert (before in facts["why"]) == (facts["submission"] != "forge")


OFF_EARLY = NO_HART.replace("return -EINVAL;", "sbi_poweroff(0);")
FOUR = "#define A{0} A{1} A{1} A{1} A{1}\n"
MACROS_OF_SIZE = "".join(FOUR.format(i, i - 1) for i in range(1, 17))
MARK = '	asm volatile("slti x0, x0, 0x5a1"); /* as labs/guest/observe */\n'

CLOCK = "	*(volatile unsigned long *)&machine.timebase = 10000000UL;\n"

#: What becomes of each: how it ended, and the points.
ATTEMPTS = {
    "poweroff": ("judged", 9.0),
    "override": ("not built", 0),
    "macros": ("not built", 0),
    "mark": ("judged", 10),
    "clock": ("judged", 10),
}


@hands_in([
    f'#include "machine/sbi.h"\n{replaced(NO_HART, OFF_EARLY)}',
    f"{solution()}\nvoid\nsample_defer(void)\n{{\n}}\n",
    f"{solution()}\n#define A0 + 1\n{MACROS_OF_SIZE}int large = A16;\n",
    replaced(NO_HART, MARK + NO_HART),
    f'#include "machine/machine.h"\n{replaced(NO_HART, CLOCK + NO_HART)}',
], ids=ATTEMPTS)
def test_what_brings_nothing(facts: dict) -> None:
    """To power off before the answer, with the status of success; to define what the
    kernel has; macros without an end; the plugin's mark, where it is none; to set the
    clock, which is told."""
    assert (facts["ended"], facts["points"]) == ATTEMPTS[facts["submission"]]
    whys = [facts["why"], *(test["why"] for test in facts["tests"])]
    assert "multiple definition" in whys[0] or facts["submission"] != "override"
    assert any("the machine powered off before" in why for why in whys) == (
        facts["submission"] == "poweroff"
    )
    assert str(ROOT) not in "".join(whys)
    place = r"sys_hart_ticks \(kernel/syscall/hart_ticks.c:\d+\) stores to machine"
    told = "\n".join(facts["stores"])
    assert re.fullmatch(place if facts["submission"] == "clock" else "", told)


def test_a_kernel_that_lies_about_time(tmp_path: Path) -> None:
    """The tests read the machine's clock, so what is too slow stays too slow: it costs
    too much, or comes to the end of its instructions."""
    lab = Lab("range", COURSE)
    (linear,) = [wrong for wrong in lab.wrong() if wrong.name == "linear"]
    text = linear.edits[0].apply(solution(lab))
    place = "	place = t->missed;\n"
    assert text.count(place) == 1
    text = text.replace(place, f"{place}	machine.timebase = 200 * 10000000UL;\n")
    text = f'#include "machine/machine.h"\n{text}'
    folder = hand_in(tmp_path / "s", text, lab.files[0])
    facts = grade(folder, tmp_path / "json", "--test", linear.fails[0], lab=lab)
    assert (facts["ended"], facts["points"]) == ("judged", 0), facts["why"]
    why = facts["tests"][0]["why"]
    assert "times the time of the solution" in why or "clock is slow" in why


def test_a_cost_is_of_instructions_too() -> None:
    """Counted by QEMU, not by the kernel that is judged."""
    test = LabTest("pipes", {}, "seed", no_symbol)
    with test.cost("rounds", 1.4):
        pass
    (cost,) = test.costs
    times = {cost.begin: "1000", cost.end: "2000"}
    marks, forged = read_marks([50, 190], test.steps)
    assert marks == {cost.begin: 50, cost.end: 190} and not forged
    assert read_marks([50, 190, 200], test.steps)[1]
    heard = Heard(times, "", "", "", marks=marks)
    known = {"pipes: rounds: time": 1000, "pipes: rounds: instructions": 99}
    reference = Reference(costs=known)
    why = "1.4 times the instructions of the solution; at most 1.4 times is allowed"
    assert reference.too_dear("pipes", cost, heard) == f"rounds: {why}"
    known["pipes: rounds: instructions"] = 100
    assert reference.too_dear("pipes", cost, heard) == ""
    garbled = Heard({**times, cost.end: "x"}, "", "", "", marks=marks)
    assert reference.too_dear("pipes", cost, garbled) == "rounds: the value for time is not a number"
    missing = Heard(times, "", "", "")
    why = "rounds: instructions not measured"
    assert reference.too_dear("pipes", cost, missing) == why


READS = {
    "passwords": 'asm(".incbin \\"/etc/passwd\\"");',
    "solution": f'asm(".incbin \\"{LABS}/ticks/solution/{FILE}\\"");',
    "include": f'#include "{LABS}/ticks/solution/{FILE}"',
    "relative": f'#include "../../labs/ticks/solution/{FILE}"',
}


@hands_in([f"{line}\n{solution()}" for line in READS.values()], ids=READS)
def test_nothing_can_be_read_in_the_build(facts: dict) -> None:
    assert (facts["ended"], facts["points"]) == ("not built", 0)
    assert "root:" not in facts["why"]


def test_a_neighbours_object_is_not_there(tmp_path: Path) -> None:
    """Each is built in a tree of its own, where a compiler finds no other one's."""
    sandbox = Sandbox()
    like = start(TICKS, tmp_path / "start")
    grader = Grader(None, None, sandbox, like)
    secret = "what anna has written"
    anna = f'{solution()}\nconst char anna[] = "{secret}";\n'
    taken = f'asm(".incbin \\"{image.BUILD.name}/{FILE}.o\\"");\n'
    kernels = []
    for text in anna, taken + solution():
        built = grader.build({FILE: text.encode()}, tmp_path / "one")
        assert built.kernel is not None, built.complaint
        kernels.append(built.kernel.data)
    assert secret.encode() in kernels[0] and secret.encode() not in kernels[1]


def test_a_link_is_not_followed(course: dict[str, dict]) -> None:
    assert (course["link"]["ended"], course["link"]["points"]) == ("refused", 0)
    assert "link" in course["link"]["why"]


def test_other_files_are_not_taken(course: dict[str, dict]) -> None:
    """A Makefile, a kernel, a report, a model of one's own: nobody looks at them."""
    facts = course["others"]
    assert (facts["ended"], facts["points"]) == ("judged", 0)


def test_without_a_sandbox_nothing_is_built(tmp_path: Path) -> None:
    hand_in(tmp_path / "s", solution())
    done = labs("grade", "ticks", "--submission", tmp_path / "s",
                env=lesser.without(tmp_path, "bwrap"))
    assert (done.returncode, done.stdout) == (126, "")
    assert done.stderr.startswith("grade: bwrap, which isolates the submitted code, is missing")


# --- What is run on the host -------------------------------------------------

#: The kernel must be built of the same file, so this is for the host alone.
AT_FIRST = """
#ifndef __riscv
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void
at_first(void)
{
	BODY
}
#endif
"""

#: Answers each line before it is asked, as if all went well.
ANSWERS = """
	static char line[1 << 17];

	while (fgets(line, sizeof(line), stdin) != NULL)
		printf("%.15s 0\\n", line);
	fflush(stdout);
	_Exit(0);
"""

HOST_CHEATS = {
    "forge": ('	puts("ok all");\n', "forged"),
    "script": (ANSWERS, "judged"),
    "ends": ("	exit(0);\n", "judged"),
}


def grade_lies(text: str, folder: Path, *words: object) -> dict:
    return grade(hand_in(folder / "s", text, REPLY), folder / "json", *words, lab=LIES)


def lies_replaced(old: str, new: str) -> str:
    text = solution(LIES)
    assert text.count(old) == 1
    return text.replace(old, new)


@pytest.mark.parametrize("name", HOST_CHEATS)
def test_a_program_that_answers_itself(name: str, tmp_path: Path) -> None:
    body, ended = HOST_CHEATS[name]
    text = solution(LIES) + AT_FIRST.replace("	BODY\n", body)
    facts = grade_lies(text, tmp_path)
    assert (facts["ended"], facts["points"]) == (ended, 0), facts["why"]


def test_nothing_can_be_read_on_the_host(tmp_path: Path) -> None:
    """Whoever finds the solution, or any file of the course's, gives up."""
    there = [LABS / "lies/check.py", LABS / "lies/solution" / REPLY, "/etc/passwd"]
    tries = "".join(f'	if (fopen("{file}", "r"))\n		exit(7);\n' for file in there)
    text = solution(LIES) + AT_FIRST.replace("	BODY\n", tries)
    facts = grade_lies(text, tmp_path)
    assert (facts["ended"], facts["points"]) == ("judged", facts["of"])


SHORT_CHECK = "	if (r->left < size)\n		return false;\n"


def test_a_mistake_that_the_sanitizer_finds(tmp_path: Path) -> None:
    """It costs its tests, and no others; the report has the line."""
    facts = grade_lies(lies_replaced(SHORT_CHECK, ""), tmp_path)
    bad = {t["name"]: t["why"] for t in facts["tests"] if not t["ok"]}
    why = bad["less than a header, or nothing"]
    assert "the sanitizer stopped the program" in why
    assert "READ of size 1" in why and "take kernel/fs/reply.c:" in why
    assert "an honest server" not in bad and "an invalid name" not in bad


def test_without_the_sanitizer_there_is_a_fence(tmp_path: Path) -> None:
    off = '__attribute__((no_sanitize("address", "undefined")))\nstatic bool\ntake('
    text = lies_replaced("static bool\ntake(", off).replace(SHORT_CHECK, "")
    name = "less than a header, or nothing"
    facts = grade_lies(text, tmp_path, "--test", name)
    assert "SEGV" in facts["tests"][0]["why"]


def test_what_never_ends_on_the_host(tmp_path: Path) -> None:
    endless = "	while (r->left < size)\n		asm volatile(\"\");\n"
    text = lies_replaced(SHORT_CHECK, endless)
    facts = grade_lies(text, tmp_path, "--test", "less than a header, or nothing")
    assert "the program never ends" in facts["tests"][0]["why"]


@pytest.mark.parametrize("whole", [False, True])
def test_lies_has_an_honest_server(tmp_path: Path, whole: bool) -> None:
    """With what a student starts from, and with the solution, /host is there."""
    tree = Tree(tmp_path / "tree", LIES, None)
    put_lab(tree.path, LIES, whole)
    assert tree.make().kernel
    share = tmp_path / "share"
    (share / "d").mkdir(parents=True)
    (share / "f").write_text("from the host\n" * 9000)
    command = "cp /host/f /host/d/g; cat /host/d/none; ls /host/d; wc -c </host/d/g"
    done = subprocess.run(
        [ROOT / "scripts/run", "--share", share, "--kernel",
         tree.build / "kernel.elf", "--", command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )
    assert done.stdout.split() == ["g", str(14 * 9000)], done.stdout + done.stderr
    assert "No such file" in done.stderr


# --- Hand-outs ---------------------------------------------------------------


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("student") / "ticks"
    done = labs("handout", "ticks", to)
    assert done.returncode == 0, done.stderr
    # What is the same needn't be built again.
    built = shutil.ignore_patterns("mutants*", "labs", "overlay-*", ".lock")
    shutil.copytree(image.BUILD, to / image.BUILD.name, ignore=built)
    return to


def grade_there(tree: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [tree / "labs/grade", "ticks", "--nonce", "1", *words],
        capture_output=True, text=True,
    )


def git_there(tree: Path, *words: str) -> str:
    command = ["git", "-C", str(tree), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_hand_out(handed_out: Path) -> None:
    """It builds, boots and fails; it has no solution; and one can work there."""
    done = grade_there(handed_out)
    assert done.returncode == 1, done.stderr
    assert "ENOSYS" in done.stdout and "0 of 10 points" in done.stdout
    assert "@" not in (handed_out / "labs/ticks/README.md").read_text()
    for file in (handed_out / "labs").rglob("*"):
        assert file.name not in ("solution", "wrong.txt", "selftest", "hist")
    assert git_there(handed_out, "log", "--format=%an: %s") == (
        "Tally: Start of the lab ticks\n"
    )
    assert git_there(handed_out, "status", "--short") == ""
    hand_in(handed_out, solution())
    version = (handed_out / "VERSION").read_text()
    (handed_out / "VERSION").write_text("mine\n")
    assert git_there(handed_out, "status", "--short") == f" M VERSION\n M {FILE}\n"
    done = grade_there(handed_out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 of 10 points" in done.stdout
    assert "VERSION has changed since it was handed out" in done.stderr
    (handed_out / "VERSION").write_text(version)


def test_a_hand_out_boots_the_same(handed_out: Path, tmp_path: Path) -> None:
    """docs/teaching.md: what repeats a test works in the student's own hand-out. So a
    race must go the same way there: to the instruction, whatever else has the tree."""
    hand_in(handed_out, solution())
    (handed_out / "docs" / "notes.md").write_text("mine\n" * 1000)
    done = grade_there(handed_out, "--json", str(tmp_path / "there"))
    assert done.returncode == 0, done.stdout + done.stderr
    hand_in(tmp_path / "s", solution())
    here = grade(tmp_path / "s", tmp_path / "here")
    there = json.loads((tmp_path / "there").read_text())
    assert here["instructions"] == there["instructions"] > 0


def test_a_workflow_grades_from_outside(tmp_path: Path) -> None:
    """docs/teaching.md's, in a private repository, with a student's beside it, whose
    grader says what the student wants."""
    (tmp_path / "tally").symlink_to(ROOT)
    liar = "print('10 of 10 points')\n"
    hand_in(tmp_path / "student", liar, "tally/grading/grade.py")
    text = (ROOT / "docs/teaching.md").read_text()
    (workflow,) = re.findall(r"```yaml\n(.*?)```", text, re.S)
    setup, grade = re.findall(r"- run: (tally/.*)", workflow)
    assert setup == "tally/scripts/setup -y labs"
    done = subprocess.run(grade, shell=True, cwd=tmp_path, capture_output=True)
    assert done.returncode == 1
    facts = json.loads((tmp_path / "grade.json").read_text())
    assert (facts["ended"], facts["points"]) == ("refused", 0)


def test_a_hand_out_grades_others(handed_out: Path, tmp_path: Path) -> None:
    """As where the course's grader has no solution, but what it takes."""
    hand_in(tmp_path / "s", solution())
    done = grade_there(handed_out, "--submission", str(tmp_path / "s"), "--gradescope",
                       str(tmp_path / "results.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads((tmp_path / "results.json").read_text())
    assert facts["score"] == sum(test["max_score"] for test in facts["tests"]) == 10


@pytest.mark.parametrize(
    "words, said",
    [
        (["none"], "grade: none: no such lab; there are "),
        (["ticks"], "grade: this is not a student's tree: give --submission DIR, or "),
        (["ticks", "--submission", "/none"], "grade: /none: no submission there"),
        (["ticks", "--test", "x"], "grade: ticks has no test 'x'"),
        (["ticks", "--shard", "3/2"], "grade: --shard: 3/2 is not a part like 2/4"),
        (["ticks", "--all", "/", "--shard", "1/2"], "grade: --shard needs --nonce N, "),
        (["ticks", "--all", "/", "--resume"], "grade: --resume needs --json FILE"),
        (["ticks", "--course", "/none"], "grade: /none: No such file or directory"),
    ],
)
def test_mistakes(words: list[str], said: str) -> None:
    done = labs("grade", *words)
    assert (done.returncode, done.stdout) == (126, "")
    assert done.stderr.startswith(said) and done.stderr.count("\n") == 1
