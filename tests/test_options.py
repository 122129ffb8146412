"""Each option of each script on the host: a value that its manual doesn't allow is one
line that says what is wrong, with another status than 0; never a traceback."""

from __future__ import annotations

import importlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Callable, Iterator, NamedTuple

import pytest

from harness import elves, profiles as made
from tally import ROOT
from tally.boot.machine import STOP_SIGNALS
from tally.build import image
from test_diff import BASE, pprof

SCRIPTS = ROOT / "scripts"

LONG = "9" * 5000  # of so many digits Python makes no number
BYTE = "\udcff"  # one that is no letter
NUMBER = ["", "x", "-1", "1.5", LONG, BYTE]
SECONDS = ["", "x", "-1", "0", "1e3", "nan", "inf", LONG, BYTE]
MINUTES = ["", "x", "-1", "nan", "inf", LONG, BYTE]
NO_FILE = ["", "none", "none/x", ".", BYTE]
NO_PLACE = ["", ".", "none/x", "full"]  # for a file; full is a link to /dev/full
NO_FOLDER = ["", "none", "base", BYTE]

MACHINE = {
    "--harts": ["0", "17", *NUMBER],
    "--mem": ["", "0", "x", "-1", "1X", LONG, BYTE],
    "--icount": ["11", *NUMBER],
    "--races": [str(2**32), *NUMBER],
    "--cpu": ["", "x", "=1", "a=b=c", BYTE],
    "--extra": NO_FOLDER,
    "--share": NO_FOLDER,
    "--kernel": NO_FILE,
    "--limit": SECONDS,
    "--timeout": SECONDS,
    "--gdb": ["0", "65536", *NUMBER],
    "--report": [],  # below
    "-v": [],
}


class Script(NamedTuple):
    """Its part in Python, words that it needs anyway, and of each option values that
    can't be: of some there are none."""

    module: str
    before: str
    wrong: dict[str, list[str]]
    after: str = ""


ALL = {
    "run": Script("commands.run", "", MACHINE, "-- true"),
    "tally": Script("commands.tally", "", {
        **MACHINE, "--exact": [], "--sampled": [], "--waits": [], "--free": [],
        "-r": ["0", "20001", *NUMBER], "--from": ["", "x", "-1", "nan", BYTE],
        "--to": ["", "x", "-1", "nan", BYTE], "--of": [""], "--by": ["", "x", BYTE],
        "--inline": [], "--no-demangle": [],
        "-o": ["", "x", "x.doc", BYTE],
    }, "-- true"),
    "expect": Script("commands.expect", "expect", {
        "--update": [], "--machine": ["", "0", "17", "x", BYTE], "--together": [],
        "--extra": NO_FOLDER, "--icount": ["11", *NUMBER], "--limit": SECONDS,
        "--timeout": SECONDS, "--junit": [], "-j": ["0", *NUMBER],
    }),
    "tally-diff": Script("commands.diff", "base base", {
        "--fail": ["", "x", "-1", "nan", "inf", BYTE], "--only": ["", "none", BYTE],
        "--no-demangle": [],
        "-n": NUMBER, "--json": NO_PLACE, "--junit": NO_PLACE,
        "-o": NO_PLACE, "--sources": [],
    }),
    "tally-convert": Script("commands.convert", "base x.folded", {
        "--from": ["", "x", BYTE], "--to": ["", "x", BYTE], "--kernel": NO_FILE,
        "--program": NO_FILE, "--share": [], "--ps": NO_FILE,
        "--hz": ["0", *NUMBER], "--of": ["", "x", BYTE], "--title": [],
        "--no-idle": [], "--no-pids": [], "--inline": [], "--no-demangle": [],
    }),
    "bench": Script("verify.bench", "", {
        "--check": [], "--save": [], "--from": [*NO_FILE, "empty", "list"],
        "--scaling": [],
    }),
    "bench-host": Script("verify.bench_host", "", {}),
    "explore": Script("verify.explore", "--list", {
        "--seed": ["", "x", "1.5", LONG, BYTE], "--minutes": MINUTES, "--list": [],
    }),
    "mutants": Script("verify.mutate", "", {
        "--changed": ["", "none", BYTE], "--sample": NUMBER, "--seed": [BYTE],
        "--minutes": MINUTES, "--jobs": ["0", *NUMBER], "--list": [], "--check": [],
        "--trust": [],
    }),
    "truth": Script("verify.truth.truth", "", {
        "--harts": ["0", "17", "1,,2", "1,x", *NUMBER], "--no-jitter": [], "--all": [],
        "--only": ["", "x", BYTE], "--least": ["", "x", LONG, BYTE], "--table": [],
        "--intervals": ["0", *NUMBER],
    }),
    "tlb-check": Script("verify.tlb.check", "none", {"--mutants": []}),
    "grade": Script("grading.grade", "ticks --trust", {
        "--submission": NO_FOLDER, "--all": ["", "none", "base", BYTE],
        "--test": ["", "none", BYTE], "--nonce": [str(2**64), *NUMBER],
        "--races": [str(2**32), *NUMBER], "--seed": [BYTE],
        "--course": [*NO_FILE, "list"], "--debug": [], "--trust": [],
        "--submitted": [], "-j": ["0", *NUMBER], "--json": [], "--junit": [],
        "--gradescope": [], "--html": [], "--csv": [], "--resume": [],
        "--shard": ["0/2", "3/2", "1/0", "1", f"1/{LONG}", *NUMBER], "--show": [],
        "--gdb": [],
        "--roster": NO_FILE, "--student": ["", "x", BYTE],
    }),
    "merge": Script("grading.merge", "none", {
        "--json": [], "--junit": [], "--html": [], "--csv": [], "--partial": [],
    }),
    "rank": Script("grading.contest", "none --trust", {
        "--handout": ["."], "--json": [], "--nonce": [str(2**64), *NUMBER],
        "--seed": [BYTE], "--course": [*NO_FILE, "list"], "--trust": [],
    }),
    "handout": Script("grading.handout", "ticks .", {
        "--seed": [BYTE], "--course": [*NO_FILE, "list"],
        "--roster": [*NO_FILE, "base", "list"], "--student": ["", "x", BYTE],
    }),
    "selftest": Script("grading.selftest", "none", {
        "--quick": [BYTE], "--short": [], "-j": ["0", *NUMBER],
    }),
}


class Accepted(Exception):
    """It would have gone to work."""


def work(*_words: object, **_options: object) -> None:
    raise Accepted


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Call]:
    """call(NAME, *words) is a script's status, and what it said, in a folder with some
    files. It is called here, as many Pythons would take a minute to start."""
    (tmp_path / "base").write_bytes(pprof(BASE))
    (tmp_path / "full").symlink_to("/dev/full")
    (tmp_path / "empty").write_text("{}")
    (tmp_path / "list").write_text("[]")
    (tmp_path / "expect").mkdir()
    (tmp_path / "expect" / "x.sh").write_text("true\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(image, "make", work)
    handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    stdout = os.dup(1)

    def run(name: str, *words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", [name, *words])
        try:
            with pytest.raises(SystemExit) as end:
                sys.exit(importlib.import_module(f"tally.{ALL[name].module}").entry())
        finally:
            sys.stdout.flush()
            os.dup2(stdout, 1)
        return (end.value.code, *capfd.readouterr())

    yield run
    os.close(stdout)
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("name", ALL)
def test_what_is_wrong_is_one_line(call: Call, name: str) -> None:
    script = ALL[name]
    before, after = script.before.split(), script.after.split()
    cases = [
        [*before, option, value, *after]
        for option, values in script.wrong.items() for value in values
    ]
    cases.append([*before, "--none", *after])
    if not after:  # a word more would be a command's
        cases.append([*before, BYTE, BYTE, BYTE])
    cases += [
        [*before, option] for option, values in script.wrong.items() if values
    ]
    for words in cases:
        try:
            status, _, said = call(name, *words)
        except Accepted:
            pytest.fail(f"{words} was accepted")
        shown = [word[:20] for word in words]
        assert status not in (0, None), shown
        assert re.fullmatch(rf"{name}: .+\n", said), (shown, said)


@pytest.mark.parametrize("script", ["run", "tally-diff", "expect", "explore"])
def test_what_cannot_be_printed_is_one_line(script: str) -> None:
    """On a full disk, and where standard output is closed; before Python's last word."""
    for to, why in (">/dev/full", "No space left on device"), (
        ">&-", "Bad file descriptor"
    ):
        command = ["/bin/sh", "-c", f'"$0" --help {to}', SCRIPTS / script]
        run = subprocess.run(command, capture_output=True, text=True)
        status = 2 if script == "tally-diff" else 126
        said = f"{script}: output: {why}\n"
        assert (run.returncode, run.stderr) == (status, said)
    command = ["/bin/sh", "-c", '"$0" --none 2>/dev/full', SCRIPTS / script]
    assert subprocess.run(command).returncode == status


def test_names_of_any_bytes(call: Call, tmp_path: Path) -> None:
    """Of files and in titles: a page shows them somehow."""
    name = f"a{BYTE}\n.pb.gz"
    os.rename("base", name)
    outputs = ["x.svg", "x.json", "x.xml"]
    status, said, _ = call("tally-diff", "-o", outputs[0], "--json", outputs[1],
                           "--junit", outputs[2], name, name)
    assert (status, said.count("1,040,000")) == (0, 2)
    sample = made.psample(1, elves.KERNEL_TEXT, pid=5)
    Path(name).write_bytes(made.session(made.logbuf([sample]), 0, 3))
    outputs += ["x.folded", "x.pb.gz", "x.html", "y.svg", "gmon.out", "x.speedscope.json"]
    assert call("tally-convert", "--title", BYTE, name, *outputs[3:])[0] == 0
    assert call("tally-convert", name, *outputs[3:])[0] == 0
    assert all((tmp_path / output).stat().st_size for output in outputs)
    status, _, said = call("tally-diff", name, "none\n" + BYTE)
    assert (status, said.count("\n")) == (2, 1)


@pytest.mark.parametrize("name", ALL)
def test_no_option_is_left_out(call: Call, name: str) -> None:
    """--help has them all."""
    _, said, _ = call(name, "--help")
    found = set(re.findall(r"^  (--?[\w-]+)", said.partition("options:")[2], re.M))
    assert found - {"-h", "--help"} == set(ALL[name].wrong)
