"""The page for a browser that scripts/tally-convert makes, read back.

What it does there is for a browser to see: tests/viewers.
"""

from __future__ import annotations

import base64
import collections
import hashlib
import os
import random
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Callable, Optional

import pytest

from harness import elves, lesser, profiles as made
from harness.converter import CONVERT, PROGRAM
from harness.page import Page
from tally.formats.executable import Image
from tally.profile import annotate, write_html
from tally.profile.profile import (
    IDLE,
    INTERRUPT,
    KERNEL,
    USER,
    Process,
    Profile,
    Sample,
)
from tally.profile.stacks import Programs, Stacks

MANY = 100_000
MOST = 2_000_000  # bytes of a page
NASTY = [
    "</script><script>alert(1)</script>", "<!--", "-->", "]]>", "<img src=x onerror=a>",
    "&lt;b&gt;", '" onload="a', "${a}", "\u2028", "\u202etxt", "@DATA@", "@SCRIPT@",
]


class World:
    """A kernel and a program, and profiles of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kernel = Image(elves.kernel(folder))
        self.program = Image(elves.build(folder, "prog", elves.PROGRAM_TEXT, PROGRAM))

    def stacks(self, profile: Profile) -> Stacks:
        programs = Programs()
        programs.others = [self.program]
        return Stacks(profile, lambda: self.kernel, programs)

    def page(self, profile: Profile, title: str = "A title") -> Page:
        return Page(write_html.write(self.stacks(profile), title))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("html"))


def at(function: str, offset: int = 0) -> int:
    return elves.address(function, PROGRAM) + offset


def several() -> Profile:
    """Two harts and two processes for three seconds; idling has no time."""
    profile = Profile("pcs stream", hz=1000)
    profile.processes = [
        Process(3, 1, "/bin/prog", None, 0, 2_000_000_000, "prog"),
        Process(4, 1, "/bin/prog", None, 500_000_000, None, "prog"),
    ]
    for i in range(3000):
        time, process = i * 1_000_000, i // 1000 % 2
        sample = Sample(USER, 1, at("work", 4), 0, process + 3, 0, time=time,
                        process=process, user=(at("main", 4), at("_start", 4)))
        if i % 3 == 1:
            sample = sample._replace(
                mode=KERNEL, pc=elves.address("sys_read"), hart=1,
                user=(at("inner", 4), at("main", 4)))
        if i % 100 == 7:
            sample = sample._replace(
                mode=INTERRUPT, pc=elves.address("clock_interrupt"), user=())
        profile.samples.append(sample)
    profile.samples.append(Sample(IDLE, 70, hart=1))
    return profile


def by_mode(samples: list[Sample]) -> dict[str, int]:
    counts: dict[str, int] = collections.Counter()
    for s in samples:
        counts[s.mode] += s.count
    return dict(counts)


def modes_of(page: Page, span: Optional[tuple[int, int]] = None) -> dict[str, int]:
    counts: dict[str, int] = collections.Counter()
    for node, count in page.chosen(span):
        counts[page.modes[page.frames[node]]] += count
    return dict(counts)


# --- What is in it ---------------------------------------------------------------


def test_totals_are_the_profiles(world: World) -> None:
    profile = several()
    page = world.page(profile)
    assert page.data["about"]["total"] == profile.total == 3070
    assert sum(page.own) == page.total() == profile.total
    assert modes_of(page) == by_mode(profile.samples)
    mine = sum(1 for s in profile.samples if s.mode == USER)
    assert page.stacks()["prog", "[user]", "_start", "main", "work"] == mine
    counts: collections.Counter = collections.Counter()
    for node, count in page.chosen():
        counts[node] += count
    assert [counts[node] for node in range(len(page.own))] == page.own


def test_a_span_has_its_own_samples(world: World) -> None:
    profile = several()
    page = world.page(profile)
    assert (page.bins - 1) * page.width <= 2_999_000_000 < page.bins * page.width
    for span in (0, page.bins), (0, 1), (page.bins // 3, page.bins // 2):
        low, high = (i * page.width for i in span)
        mine = [s for s in profile.samples if s.time is not None and low <= s.time < high]
        assert modes_of(page, span) == by_mode(mine)
    untimed = page.bins, page.bins + 1
    assert modes_of(page, untimed) == {IDLE: 70}


def test_harts_and_processes_are_told_apart(world: World) -> None:
    page = world.page(several())
    assert [(p["name"], p["pid"]) for p in page.data["processes"]] == [
        ("prog", 3), ("prog", 4)]
    assert page.data["processes"][0]["end"] == 2_000_000_000
    found: collections.Counter = collections.Counter()
    for who, count in zip(page.who, page.count):
        found[tuple(page.data["whos"][who])] += count
    expected: collections.Counter = collections.Counter()
    for s in several().samples:
        expected[s.hart, -1 if s.process is None else s.process] += s.count
    assert found == expected


def test_parents_come_first_and_siblings_in_a_row(world: World) -> None:
    """The page relies on both."""
    page = world.page(several())
    assert all(parent < node for node, parent in enumerate(page.parents) if node)
    assert page.parents == sorted(page.parents)


@pytest.mark.parametrize("timed", [True, False])
def test_without_times_and_processes(world: World, timed: bool) -> None:
    profile = several()
    if not timed:
        profile.samples = [s._replace(time=None, process=None) for s in profile.samples]
        profile.processes = []
    page = world.page(profile)
    assert (page.bins > 0) == timed
    assert page.total() == profile.total


def test_instructions(world: World) -> None:
    """More than a sample's 32 bits have room for."""
    profile = Profile("exact profile", unit="instruction")
    profile.samples = [Sample(USER, 5_000_000_007, at("work"), pid=3)]
    page = world.page(profile)
    assert (page.data["unit"], page.total()) == ("instruction", 5_000_000_007)
    assert sum(page.own) == 5_000_000_007


def test_the_same_bytes_every_time(world: World) -> None:
    command = [CONVERT, "--kernel=kernel.elf", "--program=3=prog", "data"]
    (world.folder / "data").write_bytes(made.stream(
        [made.psample(made.USER, at(f), pid)] for f in PROGRAM for pid in (3, 4)))
    for seed in "1", "2":
        subprocess.run([*command, f"{seed}.html"], cwd=world.folder, check=True,
                       env={**os.environ, "PYTHONHASHSEED": seed})
    first, second = (world.folder / f"{seed}.html" for seed in "12")
    assert first.read_bytes() == second.read_bytes()
    assert Page(first.read_bytes()).total() == 8


# --- Others' names ----------------------------------------------------------------


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.found.append((tag, dict(attrs)))


def test_names_are_only_text(world: World, tmp_path: Path) -> None:
    """Of functions, programs, processes, source files and their lines."""
    nasty = [name.replace('"', "'") for name in NASTY if name.isprintable()]
    text = ["text_start:"]
    for name in nasty:
        text += [f'.type "{name}", @function', f'"{name}": nop # {NASTY[0]}', "ret"]
    source = tmp_path / "<b>&.s"
    source.write_text("\n".join(text) + "\n")
    subprocess.run(
        [elves.tool("gcc"), "-g", "-march=rv64imac", "-mabi=lp64", "-nostdlib",
         "-static", "-Wl,-e,0", source, "-o", "evil"], cwd=tmp_path, check=True)
    evil = Image(tmp_path / "evil", NASTY[0])
    profile = Profile(NASTY[0], hz=100, notes=list(NASTY), warnings=[NASTY[1]])
    profile.processes = [Process(7, 1, NASTY[0], None, 0, None, name) for name in NASTY]
    for i, function in enumerate(evil.functions):
        profile.samples.append(Sample(USER, 1, function.start, 0, 7, time=i,
                                      process=i % len(NASTY)))
    programs = Programs()
    programs.by_pid[7] = evil
    stacks = Stacks(profile, lambda: world.kernel, programs)
    page = Page(write_html.write(stacks, NASTY[0]))
    plain = world.page(several())
    assert Elements(page.html).found[4:] == Elements(plain.html).found[4:]
    assert {f.name for f in evil.functions} <= set(page.places)
    assert page.data["title"] == NASTY[0]
    assert any(NASTY[0] in line for f in page.data["functions"] for s in f["source"]
               for _, lines in s["runs"] for line in lines)
    assert page.total() == profile.total


def test_the_policy_allows_what_is_there_and_nothing_else(world: World) -> None:
    page = world.page(several())
    (policy,) = (a["content"] for t, a in Elements(page.html).found
                 if a.get("http-equiv") == "Content-Security-Policy")
    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    assert allowed["default-src"] == "'none'"
    for tag, name in ("style", "style-src"), ("script", "script-src"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page.html, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert allowed[name] == f"'sha256-{digest}'"
    for word in ("eval(", "innerHTML", "outerHTML", "document.write", "new Function",
                 "http:", "https:", "url(", "@import", "import("):
        assert word not in page.html, word


# --- Bounds ------------------------------------------------------------------------


def many(stacks: int, samples: int) -> Profile:
    rng = random.Random(3)
    words = range(0, elves.STEP, 4)
    user = [at(f, n) for f in PROGRAM for n in words]
    kernel = [elves.address(f) + n for f in elves.KERNEL for n in words]
    known = [
        (tuple(rng.choices(kernel, k=rng.randint(1, 9))),
         tuple(rng.choices(user, k=rng.randint(1, 12)))) for _ in range(stacks)
    ]
    profile = Profile("pcs stream", hz=1000)
    profile.processes = [
        Process(pid, 1, "/bin/prog", None, 0, None, f"prog{pid % 7}")
        for pid in range(1000)
    ]
    for i in range(samples):
        inside, outside = known[i * i % stacks]
        pid = i % 999 + 1
        profile.samples.append(
            Sample(KERNEL, 1, inside[0], i % 16, pid, 0, inside[1:], outside,
                   time=i * 62_500, process=pid) if i % 3 else
            Sample(USER, 1, outside[0], i % 16, pid, 0, (), outside[1:],
                   time=i * 62_500, process=pid))
    return profile


def test_a_hundred_thousand_samples(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stack's names are looked up once for each program that has it, not for each
    sample."""
    profile = many(300, MANY)
    stacks = world.stacks(profile)
    asked, frames = [], stacks.frames
    monkeypatch.setattr(stacks, "frames", lambda s: asked.append(1) or frames(s))
    data = write_html.write(stacks, "Many")
    page = Page(data)
    assert len(asked) <= 300 * 2 * 7
    assert len(data) < MOST
    assert page.total() == sum(page.own) == MANY
    assert page.bins <= write_html.BINS and len(page.node) <= write_html.ENTRIES
    assert modes_of(page) == by_mode(profile.samples)


@pytest.mark.parametrize("name, most, measure", [
    ("NODES", 60, lambda page: len(page.own) / 3),
    ("MADE", 60, lambda page: len(page.own) / 3),
    ("ENTRIES", 400, lambda page: len(page.node)),
    ("ENTRIES", 2, lambda page: len(page.data["whos"])),
    ("BINS", 100, lambda page: page.bins),
    ("ROWS", 1, lambda page: len(page.data["processes"]) - 1),
    ("FUNCTIONS", 2, lambda page: len(page.data["functions"])),
    ("TEXT", 2000, lambda page: len(str(page.data["functions"])) / 2),
])
def test_what_is_too_much(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str, most: int,
    measure: Callable[[Page], float],
) -> None:
    """It is left out, or told less finely; no sample is missing."""
    profile = many(100, 3000)
    assert measure(world.page(profile)) > most
    monkeypatch.setattr(write_html, name, most)
    page = world.page(profile)
    assert measure(page) <= most
    assert max(process for _, process in page.data["whos"]) < len(page.data["processes"])
    assert page.total() == sum(page.own) == profile.total
    assert modes_of(page) == by_mode(profile.samples)


def test_what_is_not_told_apart_is_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = many(100, 3000)
    assert world.page(profile).data["samples"]["apart"]
    monkeypatch.setattr(write_html, "ENTRIES", 2)
    page = world.page(profile)
    assert not page.data["samples"]["apart"]
    assert page.data["whos"] == [[None, -1]]


def test_a_late_time(world: World) -> None:
    profile = several()
    profile.samples[0] = profile.samples[0]._replace(time=2**63)
    page = world.page(profile)
    assert page.bins <= write_html.BINS and page.total() == profile.total


# --- Source and instructions ----------------------------------------------------


def function(page: Page, name: str) -> dict:
    (found,) = (f for f in page.data["functions"] if f["name"] == name)
    return found


def test_annotated(world: World) -> None:
    elves.tool("objdump")
    profile = several()
    work = function(world.page(profile), "work")
    mine = sum(s.count for s in profile.samples if s.mode == USER)
    assert work["disassembled"] and work["start"] == f"{at('work'):#x}"
    rows = {row[0]: row for row in work["code"]}
    assert (rows[0][1], rows[4][1]) == ("nop", "ld s0,0(sp)")
    assert (rows[0][4], rows[4][4], rows[4][5]) == (0, mine, mine)
    line = 6 + 5 * PROGRAM.index("work") + 1
    assert [row[1:] for row in work["lines"]] == [[line, mine, mine]]
    (excerpt,) = work["source"]
    text = {first + i: line for first, lines in excerpt["runs"]
            for i, line in enumerate(lines)}
    assert (Path(excerpt["file"]).name, text[line]) == ("prog.s", "ld s0, 0(sp)")


def test_callers_count_as_such(world: World) -> None:
    profile = several()
    main = function(world.page(profile), "main")
    calling = sum(s.count for s in profile.samples if at("main", 4) in s.user)
    assert sum(row[4] for row in main["code"]) == 0
    assert max(row[5] for row in main["code"]) == calling
    assert [row[2:] for row in main["lines"]] == [[0, calling]]


def test_without_objdump_there_are_bytes(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = [f"{prefix}objdump" for prefix in (*elves.PREFIXES, "")]
    monkeypatch.setenv("PATH", lesser.without(tmp_path, *tools)["PATH"])
    monkeypatch.delenv("CROSS", raising=False)
    work = function(world.page(several()), "work")
    assert not work["disassembled"]
    assert work["code"][0][:2] == [0, ".word 0x00000013"]


def test_no_other_files_are_shown(tmp_path: Path) -> None:
    """An executable may name any file as its source."""
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    elves.build(other, "prog", elves.PROGRAM_TEXT, PROGRAM)
    (other / "prog").rename(own / "prog")
    image = Image(own / "prog")
    line = image.line(at("work"))
    sources = annotate.Sources()
    numbers = {line.number}
    assert sources.excerpt(image, line.file, numbers).runs is None
    assert sources.excerpt(image, "../other/prog.s", numbers).runs is None
    (own / "link.s").symlink_to(other / "prog.s")
    assert sources.excerpt(image, "link.s", numbers).runs is None
    (own / "secret").write_text("1\n2\n")
    assert sources.excerpt(image, "secret", {1}).runs is None
    (own / "mine.s").write_text("1\n2\n")
    assert sources.excerpt(image, "mine.s", {1}).runs is not None


def test_a_source_that_has_changed_is_said(tmp_path: Path) -> None:
    image = Image(elves.build(tmp_path, "prog", elves.PROGRAM_TEXT, PROGRAM))
    os.utime(tmp_path / "prog", (2000, 2000))
    for when, newer in (1000, False), (3000, True):
        os.utime(tmp_path / "prog.s", (when, when))
        assert annotate.Sources().excerpt(image, "prog.s", {7}).newer == newer
