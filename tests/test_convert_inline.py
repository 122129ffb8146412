"""tally-convert(1), tally-host(1): --inline shows the functions that were inlined at an
address, as its debugging information has them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from harness import elves, profiles as made
from harness.converter import Converter
from harness.page import Page as BrowserPage
from harness.pprof import fields, Pprof
from tally.commands.tally import exact_model
from tally.formats.executable import Image
from tally.formats.lines import Line
from tally.formats.program import Program, program
from tally.profile.exact import Exact, Tree
from tally.profile.page import Model, Page
from tally.profile.read_pprof import read
from test_convert_waits import MS, One, POLL, made as waits_of

SOURCE = """\
#include "sub/in.h"
static long total;
__attribute__((noinline)) void leaf(long n)
{
	__asm__ volatile(".globl in_leaf; in_leaf: nop");
	total += n;
}
static inline __attribute__((always_inline)) long middle(long n)
{
	return inner(n) + 1;
}
__attribute__((noinline)) long work(long n)
{
	return middle(n) + total;
}
void _start(void)
{
	work(3);
	work(4);
}
"""
HEADER = """\
void leaf(long n);
static inline __attribute__((always_inline)) long inner(long n)
{
	__asm__ volatile(".globl in_inner, next; in_inner: nop; next: nop");
	leaf(n);
	__asm__ volatile(".globl back; back: nop");
	return 3 * n;
}
"""
WORK, MIDDLE, INNER = "work", "middle (inlined)", "inner (inlined)"
CALL = Line("in.c", 14), Line("in.c", 10)  # of middle in work, of inner in middle


@pytest.fixture(scope="module")
def image(convert: Converter) -> Image:
    (convert.folder / "sub").mkdir(exist_ok=True)
    (convert.folder / "in.c").write_text(SOURCE)
    (convert.folder / "sub" / "in.h").write_text(HEADER)
    command = [elves.tool("gcc"), "-nostdlib", "-static", "-O2", "-g", "in.c", "-o",
               "in", f"-Wl,-Ttext={elves.PROGRAM_TEXT:#x}"]
    subprocess.run(command, cwd=convert.folder, check=True)
    return Image(convert.folder / "in")


def recording(image: Image) -> bytes:
    """Two samples in the inlined code, at two addresses; one in what it calls."""
    at = {name: image.symbol(name) or 0 for name in ("in_inner", "next", "in_leaf", "back")}
    return made.stream([
        [made.psample(made.USER, at["in_inner"], 3)],
        [made.psample(made.USER, at["next"], 3)],
        [made.psample(made.USER, at["in_leaf"], 3), made.stack(user=[at["back"]])],
    ])


def test_folded(convert: Converter, image: Image) -> None:
    """Only on request. The total stays."""
    data = recording(image)
    assert convert.folded(data, "--program=in") == (
        "in (3);[user];work 2\nin (3);[user];work;leaf 1\n")
    stack = f"in (3);[user];{WORK};{MIDDLE};{INNER}"
    assert convert.folded(data, "--program=in", "--inline") == (
        f"{stack} 2\n{stack};leaf 1\n")


def test_pprof(convert: Converter, image: Image) -> None:
    """A location has a line of each function, innermost first; functions have their
    own names and files, wherever they are inlined."""
    profile = Pprof(convert(recording(image), "pprof", "--program=in", "--inline"))
    lines = []
    for content in profile._every(4):
        found = []
        for line in (dict(fields(v)) for f, v in fields(content) if f == 4):
            function = profile.functions[line[1]]
            found.append((*(profile.strings[function[i]] for i in (2, 3, 4)), line[2]))
        lines.append(found)
    around = [("middle", "middle", "in.c", 10), ("work", "work", "in.c", 14)]
    assert sorted(lines) == sorted([
        [("inner", "inner", "sub/in.h", 4), *around],
        [("inner", "inner", "sub/in.h", 4), *around],
        [("inner", "inner", "sub/in.h", 5), *around],
        [("leaf", "leaf", "in.c", 5)],
    ])
    assert sum(s["values"][0] for s in profile.samples) == 3


def test_tally_diff(convert: Converter, image: Image) -> None:
    """It reads all functions of a location."""
    data = convert(recording(image), "pprof", "--program=in", "--inline")
    stacks = read("x", data).stacks
    assert {tuple(p.function for p in s.places): s.count for s in stacks} == {
        ("inner", "middle", "work"): 2, ("leaf", "inner", "middle", "work"): 1,
    }
    assert {s.places[-2].line for s in stacks} == {10}


def test_callgrind(convert: Converter, image: Image) -> None:
    """Costs are where the code is, calls where functions were inlined."""
    text = convert(recording(image), "callgrind", "--program=in", "--inline").decode()
    parts = [p for p in text.split("\n\n") if "fn=" in p]
    assert sorted(p.partition("fn=")[2].replace("\n", " ") for p in parts) == [
        f"{INNER} 4 2 cob=in cfi=in.c cfn=leaf calls=1 5 5 1",
        "leaf 5 1",
        f"{MIDDLE} cob=in cfi=sub/in.h cfn={INNER} calls=1 0 10 3",
        f"{WORK} cob=in cfi=in.c cfn={MIDDLE} calls=1 0 14 3",
    ]
    assert "fl=sub/in.h\nfn=inner" in text


def test_speedscope(convert: Converter, image: Image) -> None:
    data = convert(recording(image), "speedscope", "--program=in", "--inline")
    frames = json.loads(data)["shared"]["frames"]
    assert [f for f in frames if "(inlined)" in f["name"]] == [
        {"name": MIDDLE, "file": "in.c"}, {"name": INNER, "file": "sub/in.h"},
    ]


def test_browser_page(convert: Converter, image: Image) -> None:
    """Stacks have the inlined functions; the text of a function with a symbol still
    counts all of its code, each sample once."""
    pages = [BrowserPage(convert(recording(image), "html", "--program=in", *words))
             for words in ([], ["--inline"])]
    user = ("in", "[user]", WORK)
    assert pages[1].stacks() == {
        (*user, MIDDLE, INNER): 2, (*user, MIDDLE, INNER, "leaf"): 1,
    }
    assert pages[0].data["functions"] == pages[1].data["functions"]
    sources = {place[0]: place[3] for place in pages[1].data["places"]}
    assert (sources[WORK], sources[INNER]) == ("in.c:13", "sub/in.h")


def test_svg(convert: Converter, image: Image) -> None:
    text = convert(recording(image), "svg", "--program=in", "--inline").decode()
    assert re.findall(r'data-count="(\d)" data-depth="\d" data-name="(\w+ \(inl\w+\))"',
                      text) == [("3", MIDDLE), ("3", INNER)]


# --- Exact profiles --------------------------------------------------------------


def exact(image: Image, of: str = "") -> Model:
    """work's 5 instructions, twice 4 of its inlined code, and 7 of leaf, which was
    called 3 times."""
    file = image.path
    (all,) = [program("in", file.read_bytes(), file)]
    assert all
    at = {name: image.symbol(name) or 0
          for name in ("work", "in_inner", "next", "in_leaf", "leaf", "back", "_start")}
    text = (
        "node -1 1 -1 0 0\n"
        f"node 0 0 1 {at['_start']:x} 1 0:1\n{at['_start']:x} 1\n"
        f"node 1 {at['_start'] + 8:x} 1 {at['work']:x} 2 0:13\n"
        f"{at['work']:x} 5\n{at['in_inner']:x} 4\n{at['next']:x} 4\n"
        f"node 2 {at['back']:x} 1 {at['leaf']:x} 3 0:7\n{at['in_leaf']:x} 7\n"
    )
    none = Program("kernel", b"", 0, b"", {}, None)
    stacks = Exact(Tree(text, none, [all]), lambda p: image)
    stacks.programs.inline = True
    return exact_model(stacks, of or None)


def test_exact(image: Image) -> None:
    """Real calls are counted; an inlined one is a caller without a count."""
    found = exact(image)
    own = {f.name: n for f, n in found.own.items()}
    assert own == {"_start": 1, WORK: 5, INNER: 8, "leaf": 7}
    assert {f.name: n for f, n in found.all.items()} == {
        "_start": 21, WORK: 20, MIDDLE: 15, INNER: 15, "leaf": 7,
    }
    text = Page(found, "x", by="callers").text()
    assert f"from {INNER} [in], 3 calls" in text
    assert f"from {MIDDLE} [in]\n" in text and "from _start [in], 2 calls" in text


def test_of_an_inlined_function(image: Image) -> None:
    """--of: by its name in the source."""
    found = exact(image, of="inner")
    assert (found.busy, found.others) == (15, 6)
    assert [f.name for f in next(iter(found.paths))] == [INNER, MIDDLE, WORK, "_start"]


def test_waits(convert: Converter, image: Image) -> None:
    """In the call stacks of waits, too."""
    kernel, program = Image(convert.folder / "kernel.elf"), Image(image.path, "prog")
    record = One(3, POLL, 30 * MS, 1, user=(image.symbol("back") or 0,))
    (row,) = waits_of((kernel, program), [record], inline=True).rows
    assert [frame.name for frame in row.user] == [INNER, MIDDLE, WORK]


# --- What can go wrong ---------------------------------------------------------------


@pytest.mark.parametrize("filter, said", [
    (None, "finding inlined functions needs addr2line"),
    ("exit 1", "addr2line failed: damaged debugging information"),
    ("echo 0x0000000000000001", "addr2line failed: damaged debugging information"),
])
def test_without_addr2line(
    convert: Converter, image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    filter: str, said: str,
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin" if filter else str(tmp_path))
    monkeypatch.setenv("CROSS", "x-")
    if filter:
        (tmp_path / "x-addr2line").write_text(f"#!/bin/sh\n{filter}\n")
        (tmp_path / "x-addr2line").chmod(0o755)
    (convert.folder / "data").write_bytes(recording(image))
    result = convert.run("--program=in", "--inline", "--to=folded", "data")
    assert result.returncode == 1
    assert result.stderr.decode() == f"tally-convert: in: {said}\n"
    assert convert.folded(recording(image), "--program=in")
