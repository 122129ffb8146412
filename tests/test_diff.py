"""scripts/tally-diff: tally-diff(1) says what it tells, and when it fails."""

from __future__ import annotations

import gzip
import json
import random
import resource
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from harness import elves, profiles as made
from harness.converter import Converter
from tally import ROOT
from tally.base.errors import ConvertError
from tally.profile import compare, read_pprof
from tally.profile.compare_lines import Lines
from tally.profile.read_pprof import Place, Recording, Stack
from tally.profile.write_pprof import message, number, packed

DIFF = str(ROOT / "scripts" / "tally-diff")
SVG = "{http://www.w3.org/2000/svg}"
KERNEL_TEXT = 0xFFFFFFFF80200000


def pprof(
    stacks: dict[str, int], unit: str = "instructions", period: int = 1, idle: int = 0
) -> bytes:
    """A profile; a stack is names from the outermost on, with ; between."""
    strings = ["", unit, "count", "cpu", "nanoseconds", "/x/bin/work", "idle", "mode"]
    tables, samples = b"", b""
    ids: dict[str, int] = {}

    def string(text: str) -> int:
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    tables += message(3, number(1, 1) + number(5, 5))
    for stack in stacks:
        for name in stack.split(";"):
            if name in ids:
                continue
            ids[name] = len(ids) + 1
            address = KERNEL_TEXT if name.startswith("k_") else 0x10000
            tables += message(5, number(1, ids[name]) + number(2, string(name)))
            tables += message(4, b"".join([
                number(1, ids[name]), number(2, 1), number(3, address + ids[name]),
                message(4, number(1, ids[name]) + number(2, 7)),
            ]))
    for stack, count in stacks.items():
        places = [ids[name] for name in reversed(stack.split(";"))]
        samples += message(2, packed(1, places) + packed(2, [count, count * period]))
    if idle:
        label = message(3, number(1, 7) + number(2, 6))
        samples += message(2, packed(1, [1]) + packed(2, [idle, idle]) + label)
    types = message(1, number(1, 1) + number(2, 2)) + message(1, number(1, 3))
    out = types + samples + tables
    out += b"".join(message(6, text.encode()) for text in strings)
    return gzip.compress(out + number(12, period), mtime=0)


class Diff:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self, base: bytes, new: bytes, *words: str, status: int = 0
    ) -> subprocess.CompletedProcess:
        (self.folder / "base").write_bytes(base)
        (self.folder / "new").write_bytes(new)
        result = subprocess.run(
            [DIFF, *words, "base", "new"], cwd=self.folder, capture_output=True,
            text=True,
        )
        assert result.returncode == status, result
        return result


@pytest.fixture
def diff(tmp_path: Path) -> Diff:
    return Diff(tmp_path)


BASE = {"main;parse": 900_000, "main;decode": 100_000, "main;k_read": 40_000}


def test_an_instruction_more(diff: Diff) -> None:
    """Counts are exact, so the smallest difference is one."""
    out = diff(pprof(BASE), pprof({**BASE, "main;decode": 100_001})).stdout
    lines = [line.split() for line in out.splitlines()]
    assert ["100,000", "100,001", "+0.00", "%", "+0.000", "%", "decode", "[work]"] in lines
    assert "parse" not in out and "k_read" not in out


def test_the_same(diff: Diff) -> None:
    out = diff(pprof(BASE), pprof(BASE), "--fail", "0").stdout
    assert out.splitlines()[1].split()[:5] == [
        "1,040,000", "1,040,000", "+0.00", "%", "+0.000",
    ]
    assert len(out.splitlines()) == 2


def test_new_and_gone(diff: Diff) -> None:
    out = diff(pprof(BASE), pprof({"main;parse": 900_000, "main;k_read;k_new": 50})).stdout
    assert "gone" in out and "decode [work]" in out
    assert "new" in out and "k_new [kernel]" in out
    assert "main [work]; k_read [kernel]; k_new [kernel]" in out


def test_planted_in_a_small_function(diff: Diff) -> None:
    """10 % more in a function that has 2 % of a run: exact counts name it."""
    base = {"main;rest": 980_000, "main;small": 20_000}
    new = {"main;rest": 980_000, "main;small": 22_000}
    result = diff(pprof(base), pprof(new), "--fail", "0.1", "--json", "x", status=1)
    assert result.stderr == "tally-diff: all: +0.20 %, more than the limit of 0.1 %\n"
    told = json.loads((diff.folder / "x").read_text())
    (moved,) = [f for f in told["functions"] if f["base"] != f["new"]]
    assert (moved["what"], moved["base"], moved["new"]) == ("small [work]", 20_000, 22_000)
    assert told["failed"] and told["unit"] == "instructions"


@pytest.mark.parametrize(
    "words, status",
    [
        (["--fail", "10"], 0),
        (["--fail", "9", "--only", "decode"], 1),
        (["--fail", "10", "--only", "decode [work]"], 0),
        (["--fail", "0", "--only", "parse"], 0),
    ],
)
def test_only(diff: Diff, words: list[str], status: int) -> None:
    new = pprof({**BASE, "main;decode": 110_000})
    diff(pprof(BASE), new, *words, "--junit", "junit", status=status)
    suite = ElementTree.parse(diff.folder / "junit").getroot()
    assert int(suite.get("failures", "")) == status
    assert len(suite.findall("testcase/failure")) == status


# --- Samples ------------------------------------------------------------------


def test_chance(diff: Diff) -> None:
    """A shift that samples can't tell is none, however large --fail finds it."""
    base = {"main;rest": 980, "main;small": 20}
    new = {"main;rest": 978, "main;small": 26}
    out = diff(pprof(base, "samples", 1000), pprof(new, "samples", 1000),
               "--fail", "0", "--only", "small").stdout
    assert "(may be chance)" in out
    assert "2 of 2 functions changed, but perhaps by chance" in out


def test_more_than_chance(diff: Diff) -> None:
    base = {"main;rest": 9_000, "main;small": 1_000}
    new = {"main;rest": 9_050, "main;small": 1_400}
    out = diff(pprof(base, "samples", 1000), pprof(new, "samples", 1000),
               "--fail", "10", "--only", "small", status=1).stdout
    assert "small [work]" in out.partition("function, itself")[2]
    assert "rest [work]" not in out


def test_other_rates(diff: Diff) -> None:
    """Twice as many samples at twice the rate are the same time."""
    base = {"main;rest": 5_000, "main;small": 500}
    new = {"main;rest": 10_020, "main;small": 990}
    out = diff(pprof(base, "samples", 1000), pprof(new, "samples", 500)).stdout
    assert out.splitlines()[1].split()[:2] == ["11,000", "11,010"]
    assert "function, itself" not in out


def test_idle_samples_are_left_out(diff: Diff) -> None:
    base, new = (pprof({"main;f": 500}, "samples", 1000, idle) for idle in (9, 9_000))
    assert "function, itself" not in diff(base, new).stdout


@pytest.mark.parametrize(
    "a, b, share, wanted",
    [
        (8, 2, 0.5, 0.109375),
        (10, 0, 0.5, 0.001953125),
        (5, 5, 0.5, 1.0),
        (0, 3, 0.5, 0.25),
        (0, 2, 0.75, 0.0625),
        (0, 0, 0.5, 1.0),
    ],
)
def test_binomial(a: int, b: int, share: float, wanted: float) -> None:
    """Values of the exact test in two tails, as tables have them."""
    assert compare.by_chance(a, b, share) == pytest.approx(wanted)


def test_the_approximation_joins_the_exact_test() -> None:
    n = compare.EXACTLY
    for off in (10, 40, 70):
        a = n // 2 - off
        exact = compare.by_chance(a, n - a, 0.5)
        near = compare.by_chance(a + 1, n - a, 0.5)
        assert near == pytest.approx(exact, rel=0.25)


def recording(r: random.Random, weights: list[int]) -> Recording:
    counts = [0] * len(weights)
    for i in r.choices(range(len(weights)), weights, k=3_000):
        counts[i] += 1
    places = [Place("work", f"f{i}", "", 0) for i in range(len(weights))]
    stacks = [Stack((place,), n) for place, n in zip(places, counts)]
    return Recording("made", "samples", 1000, stacks)


def test_chance_alone_is_seldom_a_change() -> None:
    """Of 200 pairs of runs of one program, a few: Holm's correction keeps it
    below one in twenty, however many functions there are."""
    r = random.Random(7)
    weights = [1 + i * i for i in range(40)]
    pairs = [(recording(r, weights), recording(r, weights)) for _ in range(200)]
    found = [
        any(c.sure for c in compare.Comparison(a, b).changes(compare.function))
        for a, b in pairs
    ]
    assert sum(found) <= 16  # 10 are expected at most; 16 once in fifty


# --- Lines --------------------------------------------------------------------


def lined(path: str, counts: dict[int, int], unit: str = "instructions") -> Recording:
    stacks = [Stack((Place("work", "f", path, n),), count) for n, count in counts.items()]
    return Recording("made", unit, 1, stacks)


def changed_lines(
    folder: Path, old: str, new: str, base: dict[int, int], now: dict[int, int]
) -> list[tuple]:
    for name, text in (("old", old), ("new", new)):
        (folder / name / "src").mkdir(parents=True)
        (folder / name / "src" / "work.c").write_text(text)
    comparison = compare.Comparison(
        lined("/was/built/src/work.c", base), lined("../other/src/work.c", now)
    )
    lines = Lines(str(folder / "old"), str(folder / "new"))
    return [(c.what, c.base, c.new) for c in lines.changes(comparison) if c.difference]


def test_lines_that_only_moved_have_not_changed(tmp_path: Path) -> None:
    old, new = "a;\nb;\nc;\n", "new;\nlines;\na;\nb;\nc;\n"
    assert not changed_lines(tmp_path, old, new, {1: 5, 2: 50, 3: 9}, {3: 5, 4: 50, 5: 9})


def test_lines_that_do_more(tmp_path: Path) -> None:
    old, new = "a;\nb;\nc;\n", "new;\na;\n  bb;\nc;\n"
    found = changed_lines(tmp_path, old, new, {1: 5, 2: 50, 3: 9}, {2: 6, 3: 55, 4: 9})
    assert found == [("src/work.c:3  bb;", 50, 55), ("src/work.c:2  a;", 5, 6)]


def test_lines_of_one_build_alone(tmp_path: Path) -> None:
    old, new = "a;\ngone;\nc;\n", "a;\nc;\nd;\ne;\n"
    found = changed_lines(tmp_path, old, new, {1: 5, 2: 7, 3: 9}, {1: 5, 2: 9, 4: 8})
    assert found == [("src/work.c:4  e;", 0, 8), ("src/work.c:2 before  gone;", 7, 0)]


def test_files_that_are_not_there_are_one_row(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "work.c").write_text("a;\n")
    lines = Lines(str(tmp_path / "old"), str(tmp_path / "new"))
    base, new = lined("/x/work.c", {1: 3}), lined("/x/work.c", {1: 3, 0: 1})
    base.stacks.append(Stack((Place("work", "g", "/x/other.c", 8),), 4))
    new.stacks.append(Stack((), 6))
    found = {c.what: (c.base, c.new) for c in
             lines.changes(compare.Comparison(base, new))}
    assert found == {"work.c:1  a;": (3, 3), "in unknown lines or missing files": (4, 7)}


@pytest.mark.parametrize("folders, said", [
    (("nowhere", "."), "nowhere: no such folder"),
    ((".", "."), ".: contains no source file of the recordings"),
])
def test_no_sources(diff: Diff, folders: tuple[str, str], said: str) -> None:
    result = diff(pprof(BASE), pprof(BASE), "--sources", *folders, status=2)
    assert (result.stdout, result.stderr) == ("", f"tally-diff: {said}\n")


# --- The picture, and bad input -----------------------------------------------


def test_picture(diff: Diff) -> None:
    """Frames are the new recording's; red ones have grown."""
    diff(pprof(BASE), pprof({**BASE, "main;decode": 200_000}), "-o", "x.svg")
    root = ElementTree.parse(diff.folder / "x.svg").getroot()
    fills = {
        frame.get("data-name"): frame.find(f"{SVG}rect").get("fill")
        for frame in root.iter(f"{SVG}g") if frame.get("data-name")
    }
    assert fills["decode [work]"].startswith("hsl(4,")
    assert fills["parse [work]"].startswith("hsl(210,10%")
    titles = [t.text for t in root.iter(f"{SVG}title")]
    assert any("before 100,000, +100.00 %" in text for text in titles)


@pytest.mark.parametrize(
    "new, text",
    [
        (b"", "empty"),
        (b"text\n" * 50, "not a pprof profile"),
        (pprof(BASE)[:-20], "cut off"),
        (gzip.compress(b"\xff" * 40, mtime=0), "damaged"),
        (gzip.compress(b"", mtime=0), "damaged"),
        pytest.param(gzip.compress(bytes(1 << 25), mtime=0), "more than 16,777,216",
                     id="zeros"),
        (pprof(BASE, "samples", 1000), "counts samples, but base counts instructions"),
    ],
)
def test_what_is_no_profile(diff: Diff, new: bytes, text: str) -> None:
    result = diff(pprof(BASE), new, status=2)
    assert result.stderr.startswith("tally-diff: new: ") and text in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_recording_without_an_end(diff: Diff) -> None:
    """tally-diff(1): at most 256 MiB."""
    (diff.folder / "base").write_bytes(pprof(BASE))
    result = subprocess.run(
        [DIFF, "base", "/dev/zero"], cwd=diff.folder, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)),
    )
    said = "tally-diff: /dev/zero: more than 268,435,456 bytes\n"
    assert (result.stderr, result.returncode) == (said, 2)


def test_damage_is_never_a_traceback() -> None:
    """Bytes changed at random: read all the same, or refused."""
    r = random.Random(3)
    plain = gzip.decompress(pprof(BASE))
    for _ in range(400):
        data = bytearray(plain)
        data[r.randrange(len(data))] = r.randrange(256)
        try:
            read_pprof.read("x", gzip.compress(bytes(data)))
        except ConvertError:
            pass


@pytest.mark.parametrize(
    "words, text",
    [
        (["--only", "none"], "none: no such function in either recording"),
        (["--fail", "-1"], "--fail: invalid number value: '-1'"),
        (["--json", "/none/x"], "/none/x: No such file or directory"),
    ],
)
def test_bad_options(diff: Diff, words: list[str], text: str) -> None:
    result = diff(pprof(BASE), pprof(BASE), *words, status=2)
    assert result.stderr.startswith(f"tally-diff: {text}")


def test_one_name_of_two_programs(diff: Diff) -> None:
    base = pprof({"main;work": 5, "k_main;work": 6, "main;k_f": 1})
    result = diff(base, base, "--only", "main", status=0)
    assert "main [work]" in result.stdout


def test_what_the_converter_writes(tmp_path: Path) -> None:
    """Programs and the kernel are told apart, and idle harts left out."""
    records = [made.psample(2, elves.PROGRAM_TEXT + 64, pid=5)] * 3
    records += [made.psample(1, elves.KERNEL_TEXT + 64, pid=5), made.msample(3, 90)]
    stream = made.session(made.logbuf(records), 0, 3)
    data = Converter(tmp_path)(stream, "pprof", "--program=5=prog", "--hz=500")
    found = read_pprof.read("x", data)
    counts = {stack.places[0].name: stack.count for stack in found.stacks}
    assert counts == {"main [prog]": 3, "trap_vector [kernel]": 1}
    assert (found.unit, found.period) == ("samples", 2_000_000)
