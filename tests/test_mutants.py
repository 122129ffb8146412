"""tests/mutants: the lists are sound, and scripts/mutants reads them right.

The mutants themselves are `make mutants'.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tally import ROOT
from tally.verify import mutants
from tally.verify.mutants import Mutant, MutantError
from tally.verify.mutate import Failure

SCRIPT = ROOT / "scripts" / "mutants"

LIST = """\
# Said to nobody.

file kernel/sched/lock.c
tests threads@races

first: is wrong
 a
-b
+c
@@
-d

second: is wrong, too
clause PRF-3 AIX-4
survives Why.
+e
"""


def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[Mutant]:
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    file = tmp_path / "list.txt"
    file.write_text(text)
    return mutants.read(file)[0]


def test_the_lists_are_sound() -> None:
    """Each is of lines that are there once, its tests exist, no clause of the
    five manuals is left out."""
    assert mutants.check() == []


def test_a_list_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = read(tmp_path, monkeypatch, LIST)
    assert (first.name, first.wrong, first.place) == ("first", "is wrong", "list.txt:6")
    assert first.hunks == (("a\nb\n", "a\nc\n"), ("d\n", ""))
    assert first.pytest_ids() == ["test_guest.py::test_guest[threads-races]"]
    assert (second.clauses, second.survives) == (("PRF-3", "AIX-4"), "Why.")
    assert mutants.pytest_id("prf_device") in second.pytest_ids()


@pytest.mark.parametrize(
    "source, told",
    [("a\nb\n", "nowhere"), ("a\nb\nd\nxd\na\nb\n", "2 times"), ("a\nb\nxd\n", "nowhere")],
)
def test_its_lines_are_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, told: str
) -> None:
    first, _ = read(tmp_path, monkeypatch, LIST)
    assert first.apply("x\na\nb\nd\n") == "x\na\nc\n"
    with pytest.raises(MutantError, match=f"list.txt:6: first: .* {told}"):
        first.apply(source)


@pytest.mark.parametrize(
    "text, told",
    [
        ("name\n-a\n", "expected NAME: WHAT IS WRONG"),
        ("name: wrong\n-a\nfile b\n", "expected NAME: WHAT IS WRONG"),
        ("name: wrong\nfyle b\n-a\n", "unknown field fyle; the fields are file"),
        ("name: wrong\n-a\n", "no file is given"),
    ],
)
def test_a_list_that_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    with pytest.raises(MutantError, match=told):
        read(tmp_path, monkeypatch, text)


def test_what_notices_a_clause() -> None:
    """A check that it cites, or the end of a program that has one."""
    other = Failure("test_guest[prf_device-races]", "not ok PRF-6: read back: line 9")
    cited = Failure("test_guest[prf_device-races]", "not ok PRF-5: turn it on: line 9")
    ended = Failure("test_guest[prf_device-no-sstc]", "it stopped early: no last line")
    elsewhere = Failure("test_guest[pipes-4]", "it stopped early: no last line")
    assert [f.notices("PRF-5") for f in (other, cited, ended, elsewhere)] == [
        [], ["PRF-5: turn it on: line 9"], ["stops early"], [],
    ]
    function = Failure("test_report[4]", "assert 1 == 2")
    assert function.notices("KPROF-10") and not function.notices("KPROF-1")
    assert cited.show("PRF-5: turn it on") == "prf_device: PRF-5: turn it on"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [str(SCRIPT), *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_they_can_be_chosen() -> None:
    """By name, file, folder, list or clause; a sample by its seed."""
    assert ": pipe-no-epipe: " in run("--list", "pipe-no-*").stdout
    assert run("--list", "kernel/fs/").stdout.count("\n") > 10
    assert ": prf-linear: " in run("--list", "PRF-41").stdout
    sample = run("--list", "--sample", "3", "--seed", "x").stdout
    assert sample.count("\n") == 3
    assert run("--list", "--sample", "3", "--seed", "x").stdout == sample
    assert run("--list", "--sample", "3", "--seed", "y").stdout != sample


def test_what_can_not_be_chosen() -> None:
    none = run("--list", "no-such")
    assert (none.returncode, none.stdout) == (126, "")
    said = "mutants: no mutant, file, folder, list or clause is called no-such\n"
    assert none.stderr == said
    commit = run("--list", "--changed", "no-such")
    assert (commit.returncode, commit.stdout) == (126, "")
    assert commit.stderr.startswith("mutants: ") and commit.stderr.count("\n") == 1
