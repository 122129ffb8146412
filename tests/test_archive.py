"""A .tally file: scripts/tally -o writes it, tally-convert(1) reads it, whatever has
become of the build; and several -o in one run."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Callable

import pytest

from harness import elves, profiles as made
from harness.converter import PROGRAM, Converter
from tally.build import image
from tally.formats.digest import digest
from tally.profile import archive
from tally.profile.archive import Kept
from test_exact import EXTRA, tally

needs_ordinary = pytest.mark.skipif(image.DEBUG, reason="of the ordinary kernel")
FORMATS = (".folded", ".pb.gz", ".svg", ".html", ".speedscope.json", ".callgrind")


@needs_ordinary
@pytest.mark.parametrize("how", [(), ("--exact",)])
def test_a_later_conversion_gives_the_same(
    convert: Converter, tmp_path: Path, how: tuple[str, ...]
) -> None:
    """tally-convert(1): byte for byte what -o writes."""
    names = [f"x{end}" for end in FORMATS]
    words = [word for name in ("x.tally", *names) for word in ("-o", tmp_path / name)]
    run = tally(*how, *EXTRA, *map(str, words), "--", "known 321; sort /etc/* | wc")
    assert (run.stderr, run.returncode) == ("", 0)
    later = tmp_path / "later"
    later.mkdir()
    outputs = [str(later / name) for name in names]
    result = convert.run(str(tmp_path / "x.tally"), *outputs)
    assert (result.stderr, result.returncode) == (b"", 0)
    for name in names:
        assert (later / name).read_bytes() == (tmp_path / name).read_bytes(), name


def test_files_are_tried_before_the_run(tmp_path: Path) -> None:
    """tally-host(1): no -o is found to be in vain after the run, and a file that is
    there stays until the run has ended."""
    (tmp_path / "x.svg").write_text("old")
    (tmp_path / "f.html").mkdir()
    for bad in ("none/x.svg", "f.html"):
        words = ("-v", "-o", str(tmp_path / "x.svg"), "-o", str(tmp_path / bad))
        run = tally(*words, "--", "true")
        assert run.returncode == 126
        (line,) = run.stderr.splitlines()
        assert line.startswith(f"tally: {tmp_path / bad}: ")
    assert (tmp_path / "x.svg").read_text() == "old"
    assert sorted(f.name for f in tmp_path.iterdir()) == ["f.html", "x.svg"]


def kept(convert: Converter) -> bytes:
    """A recording of a program of which nothing else is left."""
    program = convert.folder / "prog"
    found = digest(program.read_bytes())
    who = [made.born(1, 7, 5), made.execed(1, 7, 5, b"gone"),
           made.mapped(1, 7, 6, b"/bin/gone"), made.filed(b"/bin/gone", *found)]
    sample = made.psample(made.USER, elves.address("work", PROGRAM), 7)
    stream = made.logbuf(who) + made.logbuf([made.moment(10), made.at(1, 5), sample])
    programs = [Kept("/bin/gone", found, program), Kept("/bin/unused", None, None)]
    kernel = convert.folder / "kernel.elf"
    return archive.write(archive.PCS, "gone 1", stream, kernel, programs)


def changed(whole: bytes, change: Callable[[dict], None]) -> bytes:
    """The archive with another about.json."""
    new = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(new, "w") as to:
        for name in old.namelist():
            data = old.read(name)
            if name == "about.json":
                about = json.loads(data)
                change(about)
                data = json.dumps(about).encode()
            to.writestr(name, data)
    return new.getvalue()


def test_its_own_programs_name_the_samples(convert: Converter) -> None:
    result = convert.run("--to=folded", "-", data=kept(convert))
    assert result.stderr == b""
    assert result.stdout == b"gone (7);[user];work 1\n"
    result = convert.run("--to=folded", "--share=.", "-", data=kept(convert))
    assert result.stderr == (
        b"tally-convert: -: it has its own programs: --share can't apply\n"
    )
    result = convert.run("--to=callgrind", "-", data=kept(convert))
    assert b"\ncmd: Tally: gone 1\n" in result.stdout


@pytest.mark.parametrize("change, said", [
    (lambda a: a.update(version=2), "version 2 of this format is unknown"),
    (lambda a: a.update(kind="perf"), "unknown kind of recording: perf"),
    (lambda a: a.pop("programs"), "damaged .tally file: 'programs'"),
    (lambda a: a["programs"][0].pop("entry"), "damaged .tally file: no kernel"),
    (lambda a: a["programs"][1].update(entry="../.."), "invalid name: '..'"),
    (lambda a: a["programs"][1].update(entry="a"), "There is no item named 'a'"),
    (lambda a: a["programs"][1].update(digest=[1]), "damaged .tally file: "),
    (lambda a: a.update(programs=[]), "damaged .tally file: "),
])
def test_what_no_run_has_written(
    convert: Converter, change: Callable[[dict], None], said: str
) -> None:
    result = convert.run("--to=folded", "-", data=changed(kept(convert), change))
    (line,) = result.stderr.decode().splitlines()
    assert line.startswith("tally-convert: -: ") and said in line
    assert (result.returncode, result.stdout) == (1, b"")


def test_a_cut_archive(convert: Converter) -> None:
    whole = kept(convert)
    for size in (4, 100, len(whole) // 2, len(whole) - 1):
        result = convert.run("--to=folded", "-", data=whole[:size])
        (line,) = result.stderr.decode().splitlines()
        assert line.startswith("tally-convert: -: damaged .tally file: ")
        assert (result.returncode, result.stdout) == (1, b"")


def test_an_exact_one_has_all_it_needs(convert: Converter) -> None:
    """Options that name files or a rate are errors, not ignored."""
    kernel = convert.folder / "kernel.elf"
    tree = b"unfollowed 0\nnode -1 0 -1 0 0 0:1\n0 1\n"
    whole = archive.write(archive.EXACT, "true", tree, kernel, [])
    assert convert.run("--to=folded", "-", data=whole).returncode == 0
    for option in ("--kernel=kernel.elf", "--program=prog", "--hz=10", "--share=."):
        result = convert.run("--to=folded", option, "-", data=whole)
        (line,) = result.stderr.decode().splitlines()
        assert option.partition("=")[0] in line and result.returncode == 1
