"""tally-convert(1), tally-host(1): names of functions, the same in every output, and
which functions a name given to --of or --only means."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Sequence

import pytest

from harness import elves, profiles as made
from harness.converter import Converter
from harness.page import Page as BrowserPage
from harness.pprof import Pprof
from tally.commands.diff import entry
from tally.formats.executable import Image
from tally.profile.page import Function, Model, Page, is_entry
from tally.profile.profile import USER, Profile, Sample
from tally.profile.stacks import Programs, Stacks

OUTPUTS = ("folded", "svg", "html", "pprof", "speedscope", "callgrind")
PID = 3
#: Functions that begin alike for longer than names are shown.
LONG = ("_start", 2040 * "f" + "a", 2040 * "f" + "b")
#: A function of C++, a clone of it, one that differs in parameters, and one of Rust.
MANGLED = ("_start", "_ZN5shape4growEi", "_ZN5shape4growEi.constprop.0",
           "_ZN5shape4growEl", "_RNvCs1234_7mycrate3foo")
MEANT = ("_start", "shape::grow", "shape::grow [clone .constprop.0]", "shape::grow",
         "mycrate[3c1c0]::foo")
SAID = ("tally-convert: data: names of C++ and Rust stay mangled:"
        " c++filt is missing or failed\n")


def recording(functions: Sequence[str]) -> bytes:
    """A sample in the first function, two in the second, four in the third..."""
    return made.stream(
        [made.psample(made.USER, elves.address(name, functions), PID)] * (1 << i)
        for i, name in enumerate(functions)
    )


def counts(form: str, data: bytes) -> dict[str, int]:
    """The samples of each function itself."""
    found: list[tuple[str, int]] = []
    if form == "folded":
        lines = (line.rpartition(" ") for line in data.decode().splitlines())
        found = [(stack.rpartition(";")[2], int(count)) for stack, _, count in lines]
    elif form == "svg":
        deepest = r'data-count="(\d+)" data-depth="3" data-name="(.*?)">'
        found = [(html.unescape(name), int(count))
                 for count, name in re.findall(deepest, data.decode())]
    elif form == "html":
        page = BrowserPage(data)
        found = [(page.path(n)[-1], count) for n, count in enumerate(page.own) if count]
    elif form == "pprof":
        found = [(s["stack"][0][0], s["values"][0]) for s in Pprof(data).samples]
    elif form == "speedscope":
        file = json.loads(data)
        names = [frame["name"] for frame in file["shared"]["frames"]]
        found = [(names[stack[-1]], 1) for stack in file["profiles"][0]["samples"]]
    else:
        costs = r"^fn=(.*)\n\d+ (\d+)$"
        found = [(n, int(c)) for n, c in re.findall(costs, data.decode(), re.M)]
    total: dict[str, int] = {}
    for name, count in found:
        total[name] = total.get(name, 0) + count
    return total


def build(convert: Converter, functions: Sequence[str]) -> bytes:
    elves.build(convert.folder, "named", elves.PROGRAM_TEXT, functions)
    return recording(functions)


def each(functions: Sequence[str]) -> dict[str, int]:
    total: dict[str, int] = {}
    for i, name in enumerate(functions):
        total[name] = total.get(name, 0) + (1 << i)
    return total


@pytest.mark.parametrize("form", OUTPUTS)
def test_clones(convert: Converter, form: str) -> None:
    """GCC's clones of a function are functions of their own."""
    data = build(convert, elves.PIECES)
    assert counts(form, convert(data, form, "--program=named")) == each(elves.PIECES)


@pytest.mark.parametrize("form", OUTPUTS)
def test_long_names(convert: Converter, form: str) -> None:
    """A cut shows, and functions whose names begin alike stay two."""
    found = counts(form, convert(build(convert, LONG), form, "--program=named"))
    assert sorted(found.values()) == [1, 2, 4]
    for name in set(found) - {"_start"}:
        assert re.fullmatch("f{991}\u2026[0-9a-f]{8}", name)


@pytest.mark.parametrize("form", OUTPUTS)
def test_demangled(convert: Converter, form: str) -> None:
    """As in the source, without parameters; or, on request, the symbols."""
    data = build(convert, MANGLED)
    assert counts(form, convert(data, form, "--program=named")) == each(MEANT)
    plain = convert(data, form, "--program=named", "--no-demangle")
    assert counts(form, plain) == each(MANGLED)


def test_symbols_of_pprof(convert: Converter) -> None:
    """They are its system names."""
    profile = Pprof(convert(build(convert, MANGLED), "pprof", "--program=named"))
    assert {
        (profile.strings[f[3]], profile.strings[f[2]])
        for f in profile.functions.values()
    } == set(zip(MANGLED, MEANT))


@pytest.mark.parametrize("filter", [None, "exit 1", "echo one line"])
def test_without_a_demangler(
    convert: Converter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filter: str
) -> None:
    """c++filt is missing, or fails: one line says so if there is a mangled name."""
    data = build(convert, MANGLED)
    monkeypatch.setenv("PATH", str(tmp_path))
    if filter:
        (tmp_path / "c++filt").write_text(f"#!/bin/sh\n{filter}\n")
        (tmp_path / "c++filt").chmod(0o755)
    assert counts("folded", convert(data, "folded", "--program=named", said=SAID)) == (
        each(MANGLED))
    convert(data, "folded", "--program=named", "--no-demangle")
    convert(data, "folded", "--program=prog")


# --- Functions that are asked for by name ------------------------------------------


def model(folder: Path, functions: Sequence[str], of: str) -> Model:
    """Of samples of each function, called by the one before it."""
    image = Image(elves.build(folder, "prog", elves.PROGRAM_TEXT, functions))
    programs = Programs()
    programs.others = [image]
    at = [elves.address(name, functions) for name in functions]
    samples = [
        Sample(USER, 1 << i, pc, user=tuple(pc + elves.STEP for pc in at[:i][::-1]))
        for i, pc in enumerate(at)
    ]
    profile = Profile("made", samples)
    return Model(Stacks(profile, lambda: image, programs), of)


@pytest.mark.parametrize("of, busy, path", [
    ("open", 14, ("open", "_start")),
    ("open.part.0", 12, ("open.part.0", "open", "_start")),
    ("main", 0, ()),
])
def test_a_function_with_its_clones(
    tmp_path: Path, of: str, busy: int, path: tuple[str, ...]
) -> None:
    """--of: a function has its clones, a clone only itself; a dot of another
    language makes no clone."""
    found = model(tmp_path, ("_start", "open", "open.part.0", "main.open"), of)
    assert found.busy == busy
    assert {tuple(f.name for f in p) for p in found.paths} == ({path} if path else set())
    assert "open.part.0 [prog]" in Page(found, "x").text() or not busy


@pytest.mark.parametrize("caller, function, of, counts", [
    ("main", "open", "open", True),
    ("open", "open.part.0", "open", False),
    ("main", "open.part.0", "open", True),  # the rest of open was inlined in main
    ("open.isra.1", "open.isra.1", "open", True),
    ("open", "open.part.0", "open.part.0", True),
    ("open", "main.open", "open", False),
])
def test_calls_of_a_function_with_clones(
    caller: str, function: str, of: str, counts: bool
) -> None:
    """--exact --of: a call goes on in a part of the function."""
    assert is_entry((Function(caller, "x"), Function(function, "x")), of) == counts


def test_a_function_that_became_a_clone(
    convert: Converter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """tally-diff --only: GCC decides which build has clones."""
    for name, functions in {"base": ("_start", "open"),
                            "new": ("_start", "open.isra.0", "open.part.1")}.items():
        data = convert(build(convert, functions), "pprof", "--program=named")
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)

    def first_row(*words: str) -> list[str]:
        monkeypatch.setattr("sys.argv", ["tally-diff", *words, "base", "new"])
        assert entry() == 0
        return capsys.readouterr().out.splitlines()[1].split()

    assert first_row("--only", "open")[:2] == ["2", "6"]
    assert first_row("--only", "open [named]")[:2] == ["2", "6"]
    assert first_row("--only", "open.isra.0")[:2] == ["0", "2"]


def test_symbols_are_compared(
    convert: Converter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """tally-diff --no-demangle: functions that differ in parameters are two."""
    file = tmp_path / "x.pb.gz"
    data = build(convert, MANGLED)
    file.write_bytes(convert(data, "pprof", "--program=named"))

    def compared(*words: str) -> dict[str, int]:
        out = tmp_path / "x.json"
        words = ("tally-diff", *words, "--json", str(out), str(file), str(file))
        monkeypatch.setattr("sys.argv", list(words))
        assert entry() == 0
        rows = json.loads(out.read_text())["functions"]
        return {row["what"].removesuffix(" [named]"): row["new"] for row in rows}

    assert compared() == each(MEANT)
    assert compared("--no-demangle") == each(MANGLED)
