"""The profilers against what was executed: a part of `make truth`, and that no
code hides from them. docs/truth.md has the whole of it."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from random import Random
from types import SimpleNamespace

import pytest

from harness.guest import Images
from tally import ROOT
from tally.boot.machine import find_qemu
from tally.build import image
from tally.plugins import plugin
from tally.plugins.landmarks import Code, sie_changes
from tally.verify.machines import ALL
from tally.verify.truth import table, truth as measured
from tally.verify.truth.compare import NOTHING, P_LEAST, Result, compare, gamma_tail
from tally.verify.truth.intervals import GOAL, Intervals
from tally.verify.truth.stacks import Place, goes_on, verdict

pytestmark = pytest.mark.skipif(image.DEBUG, reason="of the ordinary kernel")

WORKLOADS = ["nullcall", "console", *(["faults", "signals"] if ALL else [])]

# Who clears SIE, and why that is no window in which code hides.
CLEARS = {
    "_start": "boot",
    "begin_end": "a panic, or the limit's end",
    "sampleclock_init": "boot",
    "kernel_return_checked": "the last 10 instructions of a trap",
    "icount_wait": "for another hart's turn, under icount: samples are taken after",
    "clock_nap": "a wait for a lock's holder, who runs meanwhile",
    "synthetic_samples": "the sampler, for synthetic samples",
}
# Who writes sstatus with bits from a register, which are never SIE's: those of
# user memory, or what a trap saved, for sret to restore.
WRITES = {
    "exit_user", "from_kernel", "kernel_exception", "kernel_return_checked",
    "copy_in", "copy_out", "copy_in_str", "count_user", "exchange_user", "peek",
}


def truth(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(ROOT / "scripts" / "truth"), *arguments], capture_output=True, text=True
    )


def result() -> dict:
    return json.loads((image.BUILD / "truth.json").read_text())


def test_no_other_code_clears_sie(images: Images) -> None:
    """Code that ran with SIE=0 would be charged to what follows it."""
    kernel = Code(image.BUILD / "kernel.elf")
    changes = [c for c in sie_changes(kernel) if not c.sets]
    certain = {kernel.function(c.address) for c in changes if c.certain}
    others = {kernel.function(c.address) for c in changes if not c.certain}
    assert certain - set(CLEARS) == set()
    assert others - WRITES == set()
    assert set(CLEARS) - certain == set()


@pytest.fixture(scope="module")
def run() -> subprocess.CompletedProcess:
    """Workloads on one hart: system calls, handlers; faults, which enter the kernel
    as calls do; signals, which return by a page that is no program's."""
    return truth("--harts", "1", "--only", "counts", "--least", str(P_LEAST), *WORKLOADS)


def test_samples_are_what_was_executed(run: subprocess.CompletedProcess) -> None:
    """Each profiler, to what chance allows."""
    assert (run.stderr, run.returncode) == ("", 0)
    rows = result()["profiles"]
    assert {row["workload"] for row in rows} == set(WORKLOADS)
    assert {row["profiler"] for row in rows} == {"pcs", "prf", "kprof", "profil"}
    for row in rows:
        assert row["samples"] >= 10_000 and row["p"] >= P_LEAST, row
        assert row["tv"] < 3 * row["ideal"], row
        assert row["jitter"] and row["harts"] == 1, row


def test_the_blind_window(run: subprocess.CompletedProcess) -> None:
    """How many instructions run with SIE=0 where a trap comes and goes."""
    found = re.findall(r"SIE=0: at most +(\d+) instructions from (\w+) to (\w+)\n", run.stdout)
    longest = {(start, end): int(n) for n, start, end in found}
    assert longest.pop(("trap_vector", "trap_vector")) <= 16
    assert longest.pop(("kernel_return_checked",) * 2) <= 12
    for key, most in {
        ("trap_vector", "from_kernel"): 24,
        ("trap_vector", "user_interrupt"): 24,
        ("trap_vector", "exit_interrupted"): 24,
        ("trap_vector", "kernel_exception"): 20,
        ("clock_nap", "clock_nap"): 30,
    }.items():
        assert longest.pop(key, 0) <= most, key
    assert longest == {}


def test_without_jitter_the_clock_is_in_step() -> None:
    """The tool sees a profile that is wrong: a loop is sampled at few places."""
    run = truth("--harts", "1", "--only", "counts", "--no-jitter", "nullcall")
    assert run.returncode == 1
    assert "truth: nullcall on 1 hart: pcs: p = 0 is below " in run.stderr
    (row,) = [
        row for row in result()["profiles"]
        if row["profiler"] == "pcs"
    ]
    assert row["tv"] > 0.1 and not row["jitter"]


def test_call_stacks_are_the_right_ones() -> None:
    """Every one is whole, or cut where it says so: of system calls, and of what
    a signal interrupts, of which little is cut."""
    run = truth("--harts", "1", "--only", "stacks", "--all", "nullcall", "signals")
    assert (run.stderr, run.returncode) == ("", 0), run.stdout
    rows = result()["stacks"]
    assert [row["workload"] for row in rows] == ["nullcall", "signals"]
    for row in rows:
        assert row["exact"] > 1_300 and row["wrong"] == row["unfollowed"] == 0, row
        assert sum(row["cut"].values()) < 0.1 * row["exact"], row


def test_a_wrong_stack_is_found() -> None:
    """Of another caller, without one, with one too many, and the end of one that
    doesn't say that it is cut; but what a cut one has is enough."""
    program = SimpleNamespace(
        function=lambda at: f"f{at // 100}", frame_is_set=lambda at: True, symbols={}
    )
    true = [Place(148, False), 250, 350, 450]

    def judged(*said: int, cut: int = 0) -> str:
        return verdict(150, [*said], cut, true[1:], program)

    assert judged(250, 350, 450) == "exact"
    assert judged(104, 250, 350, 450) == "exact"  # ra, of the function itself
    assert judged(250, 250, 350, 450) == "exact"  # and of what comes again
    for said in ([250, 351, 450], [250, 450], [250, 350, 450, 550], [250, 350]):
        assert judged(*said) == "wrong"
    assert judged(250, 350, cut=1) == "full"
    assert judged(250, 450, cut=1) == "wrong"
    place = true[0]
    assert goes_on(150, place, program) and not goes_on(156, place, program)


def tells_harts_apart() -> bool:
    return plugin.qemu_major(find_qemu()) >= plugin.REGISTERS_SINCE


def test_several_harts() -> None:
    """A sample is one of the hart that executes: where harts don't care for each
    other, have handlers, and wait for each other."""
    if not tells_harts_apart():
        pytest.skip("needs QEMU 9 or later")
    names = ["nullcall", "console", "locks"]
    run = truth("--harts", "2,4", "--only", "counts", "--least", str(P_LEAST), *names)
    assert (run.stderr, run.returncode) == ("", 0), run.stdout
    rows = result()["profiles"]
    assert {(row["workload"], row["harts"]) for row in rows} == {
        (name, harts) for name in names for harts in (2, 4)
    }


def test_several_harts_need_a_qemu_that_tells_them_apart() -> None:
    if tells_harts_apart():
        pytest.skip("this one does")
    run = truth("--harts", "2", "nullcall")
    assert run.returncode == 126
    assert run.stderr.startswith("truth: counting instructions on several harts needs QEMU 9")
    assert run.stderr.count("\n") == 1


def verdict_of(result: Result, wrong: int = 0) -> list[str]:
    row = measured.Row("instep", 4, "pcs", 100, True, 10_000, wrong, result)
    return measured.verdict([row])


def test_one_sample_of_a_hart_that_waits_fails() -> None:
    (said,) = verdict_of(Result(10_000, 0.01, 0.01, 1.0), wrong=1)
    assert said == ("instep on 4 harts: 1 of 10000 samples name another hart than the one"
                    " that executed")


def test_too_few_samples_fail() -> None:
    """Whatever their p is, and though harts wait for each other."""
    assert verdict_of(Result(10_000, 0.01, 0.01, 1.0)) == []
    for result in (Result(9_999, 0.0, 0.01, 1.0), NOTHING):
        (said,) = verdict_of(result)
        assert said == (f"instep on 4 harts: pcs: {result.samples} samples to compare,"
                        " 10000 are needed")


def drawn(random: Random, shares: dict[str, float]) -> Counter[str]:
    return Counter(random.choices(list(shares), list(shares.values()), k=1000))


def test_intervals_that_are_too_narrow_fail() -> None:
    """Of independent samples 95 in 100 hold. Not so if some come in threes, or are of
    something else than what was executed."""
    random, shares = Random(1), {"a": 0.5, "b": 0.3, "c": 0.15, "d": 0.05}
    good, threes, wrong = (Intervals("split", 1) for _ in range(3))
    for _ in range(500):
        good.add(drawn(random, shares), shares)
        third = drawn(random, shares)
        threes.add({cell: count * 3 for cell, count in third.items()}, shares)
        wrong.add(drawn(random, {**shares, "a": 0.6}), shares)
    assert good.verdict() == [] and 0.93 < good.share() < 0.97
    assert "500 runs" in str(good) and "of 2000 intervals contain" in str(good)
    for bad in (threes, wrong):
        (said,) = bad.verdict()
        assert said.startswith("split on 1 hart: 0.") and said.endswith(f"the goal is {GOAL}")


def test_intervals_are_tried() -> None:
    """Two seeds are too few for a verdict, but nearly all of their intervals are right."""
    run = truth("--harts", "1", "--intervals", "2", "split")
    found = re.match(r"split on 1 hart, 2 runs: (0\.\d+|1\.0+) of (\d+) intervals contain",
                     run.stdout)
    assert found, run.stderr
    assert float(found[1]) > 0.5 and int(found[2]) >= 6


def test_the_tables_are_of_this_sampler() -> None:
    """docs/truth.md: a figure is of the commit that made it."""
    document = table.DOCUMENT.read_text()
    for name in ("profiles", "stacks"):
        assert table.sum_in(document, name) == table.sum_of_code(), (
            f"the table of {name} is old: QEMU=... make truth-table"
        )


def test_chi_square() -> None:
    """Against values of its table."""
    assert gamma_tail(0.5, 3.841 / 2) == pytest.approx(0.05, rel=1e-3)
    assert gamma_tail(5, 23.209 / 2) == pytest.approx(0.01, rel=1e-3)
    assert gamma_tail(50, 129.561 / 2) == pytest.approx(0.025, rel=1e-3)


def test_comparison() -> None:
    executed = {"a": 500, "b": 300, "c": 200}
    exact = compare({"a": 5000, "b": 3000, "c": 2000}, executed)
    assert (exact.tv, exact.p) == (0.0, pytest.approx(1.0))
    wrong = compare({"a": 3000, "b": 5000, "c": 2000}, executed)
    assert wrong.tv == pytest.approx(0.2) and wrong.p < 1e-9
    unseen = compare({"a": 5000, "b": 3000, "c": 1999, "d": 1}, executed)
    assert unseen.p == 0.0
