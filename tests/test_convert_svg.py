"""scripts/tally-convert's flame graphs, as an XML parser has them.

That they zoom and search is for a browser to see: tests/viewers.
"""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness import elves, profiles as made
from tally import ROOT

CONVERT = str(ROOT / "scripts" / "tally-convert")
SVG = "{http://www.w3.org/2000/svg}"
FUNCTIONS = ("main", "work")
WORK = elves.PROGRAM_TEXT + elves.STEP
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}


def picture(folder: Path, samples: bytes, *words: str) -> ET.Element:
    (folder / "data").write_bytes(samples)
    command = [CONVERT, "--kernel=kernel.elf", *words, "data", "out.svg"]
    subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    return ET.parse(folder / "out.svg").getroot()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> ET.Element:
    folder = tmp_path_factory.mktemp("svg")
    elves.kernel(folder)
    elves.build(folder, "prog", elves.PROGRAM_TEXT, FUNCTIONS)
    read = elves.address("sys_read")
    body = made.stream([
        [made.psample(made.USER, WORK, 3), made.stack(user=[WORK])],
        [made.psample(made.USER, WORK, 3), made.stack(user=[WORK])],
        [made.psample(made.KERNEL, read, 3, 1), made.stack(user=[WORK, WORK])],
        [made.psample(made.KERNELI, elves.address("clock_interrupt"), 0, 1)],
        [made.msample(made.IDLE, 6, 1)],
    ]) + made.logbuf([], lost=5)
    data = made.session(body, 1_790_000_000, 1_790_000_002)
    return picture(folder, data, "--program=3=prog", "--title=A <title> & more")


def frames(root: ET.Element) -> list[dict]:
    found = []
    for group in root.iter(f"{SVG}g"):
        if "frame" in group.get("class", "").split():
            rect = group.find(f"{SVG}rect")
            found.append({
                "name": group.get("data-name"),
                "kind": group.get("class").split()[1],
                "start": int(group.get("data-start")),
                "count": int(group.get("data-count")),
                "depth": int(group.get("data-depth")),
                "title": group.find(f"{SVG}title").text,
                "text": group.find(f"{SVG}text").text or "",
                "box": [float(rect.get(k)) for k in ("x", "y", "width", "height")],
                "fill": rect.get("fill"),
            })
    return found


def test_frames(root: ET.Element) -> None:
    assert [(f["depth"], f["name"], f["kind"], f["start"], f["count"])
            for f in frames(root)] == [
        (0, "all", "process", 0, 10),
        (1, "[idle]", "idle", 0, 6),
        (1, "no process", "process", 6, 1),
        (2, "[interrupt]", "interrupt", 6, 1),
        (3, "clock_interrupt", "interrupt", 6, 1),
        (1, "prog (3)", "process", 7, 3),
        (2, "[user]", "user", 7, 3),
        (3, "main", "user", 7, 3),
        (4, "work", "user", 7, 3),
        (5, "[kernel]", "kernel", 7, 1),
        (6, "sys_read", "kernel", 7, 1),
    ]


def test_what_the_pointer_shows(root: ET.Element) -> None:
    titles = {f["name"]: f["title"] for f in frames(root)}
    assert titles["work"] == "work\n3 samples, 30.00%"
    assert titles["sys_read"] == "sys_read\n1 sample, 10.00%"


def test_boxes_are_in_proportion(root: ET.Element) -> None:
    """A frame stands on its caller, and is as wide as its samples are many."""
    everything = frames(root)
    left, bottom, full, _ = everything[0]["box"]
    scale = (full + 0.6) / 10
    for f in everything:
        x, y, width, height = f["box"]
        assert x == pytest.approx(left + f["start"] * scale, abs=0.02)
        assert width == pytest.approx(f["count"] * scale - 0.6, abs=0.02)
        assert y == bottom - (height + 1) * f["depth"]
        assert len(f["text"]) * 7.3 <= width
    assert 100 < min(f["box"][1] for f in everything) + 1
    assert bottom < float(root.get("height"))


def test_kinds_have_colours_and_a_legend(root: ET.Element) -> None:
    (legend,) = [g for g in root.iter(f"{SVG}g") if g.get("class") == "legend"]
    words = [t.text for t in legend.iter(f"{SVG}text")]
    assert words == ["user 20.00%", "kernel 10.00%", "interrupt 10.00%", "idle 60.00%"]
    hues = [re.match(r"hsl\((\d+)", r.get("fill"))[1] for r in legend.iter(f"{SVG}rect")]
    assert len(set(hues)) == 4
    by_kind = dict(zip(("user", "kernel", "interrupt", "idle"), map(int, hues)))
    for f in frames(root):
        hue = int(re.match(r"hsl\((\d+)", f["fill"])[1])
        assert f["kind"] not in by_kind or abs(hue - by_kind[f["kind"]]) <= 4


def test_title_and_subtitle(root: ET.Element) -> None:
    texts = {t.get("class"): t.text for t in root.iter(f"{SVG}text")}
    assert texts["title"] == "A <title> & more"
    assert texts["subtitle"] == (
        "pcs stream \u00b7 2 harts \u00b7 10 samples at 100 Hz"
        " \u00b7 2026-09-21 14:13:20 to 14:13:22 UTC \u00b7 5 samples lost"
    )


def test_it_needs_no_other_file(root: ET.Element) -> None:
    text = ET.tostring(root, encoding="unicode")
    assert set(re.findall(r"https?://[^\s\"'<)]*", text)) <= NAMESPACES
    for element in root.iter():
        assert not [name for name in element.attrib if "href" in name or name == "src"]
    assert "@import" not in text and "url(" not in text


def test_names_that_xml_must_escape(tmp_path: Path) -> None:
    elves.kernel(tmp_path)
    elves.build(tmp_path, "prog", elves.PROGRAM_TEXT, FUNCTIONS)
    data = made.stream([[made.psample(made.USER, WORK, 3)]])
    root = picture(tmp_path, data, '--program=<&>"\x01=prog')
    assert frames(root)[1]["name"] == '<&>"? (3)'
    assert frames(root)[1]["title"].startswith('<&>"? (3)\n')


def test_long_names_are_clipped(tmp_path: Path) -> None:
    elves.kernel(tmp_path)
    names = ["x" * 300, "y"]
    elves.build(tmp_path, "prog", elves.PROGRAM_TEXT, names)
    data = made.stream([[made.psample(made.USER, WORK - elves.STEP, 3)]])
    last = frames(picture(tmp_path, data, "--program=prog"))[-1]
    assert last["name"] == names[0]
    assert re.fullmatch("x{150,}\\.\\.", last["text"])
