"""scripts/demo: what it prints, and the files that it leaves in build/demo."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness import lesser
from harness.page import Page
from harness.pprof import Pprof
from tally import ROOT

DEMO = ROOT / "scripts" / "demo"
CONVERT = ROOT / "scripts" / "tally-convert"
FOLDER = ROOT / "build" / "demo"
FILES = {
    "calls", "flame.svg", "folded.txt", "gmon.out", "index.html", "kpdata",
    "pc.out", "profile.pb.gz", "speedscope.json",
}


def folded(file: Path) -> dict[str, int]:
    pairs = (line.rsplit(" ", 1) for line in file.read_text().splitlines())
    return {stack: int(count) for stack, count in pairs}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess:
    """On a host where neither tests nor its own programs can be built or run,
    nor anything installed: none of that is needed."""
    folder = tmp_path_factory.mktemp("host")
    return subprocess.run(
        [DEMO], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env=lesser.without(folder, "cc", "gcc", "apt-get",
                           modules=("pytest", "pexpect")),
    )


def test_demo(demo: subprocess.CompletedProcess) -> None:
    assert demo.returncode == 0, demo.stderr
    for line in demo.stderr.splitlines():
        assert "sample" in line, line  # lost, or skipped: the host was busy
    for text in ("The most frequent words", "in kernel text:", "idle_wait"):
        assert text in demo.stdout
    assert {file.name for file in FOLDER.iterdir()} == FILES
    for name in FILES:
        assert name in demo.stdout
    stacks = folded(FOLDER / "folded.txt")
    for start, end in (
        ("sort;[user];_start;main;", "merge_sort"),
        ("cat;[user];_start;main;", "copy_out"),
        ("grep;[user];_start;main;", ""),
    ):
        assert any(s.startswith(start) and s.endswith(end) for s in stacks), start
    total = sum(stacks.values())
    samples = Pprof((FOLDER / "profile.pb.gz").read_bytes()).samples
    assert sum(s["values"][0] for s in samples) == total
    profiles = json.loads((FOLDER / "speedscope.json").read_text())["profiles"]
    assert sum(sum(p["weights"]) for p in profiles) == total * 1_000_000
    assert Page((FOLDER / "index.html").read_bytes()).total() == total
    assert ET.parse(FOLDER / "flame.svg").getroot().tag.endswith("svg")
    assert (FOLDER / "gmon.out").read_bytes().startswith(b"gmon")


def test_one_conversion_makes_all_files(
    demo: subprocess.CompletedProcess, tmp_path: Path
) -> None:
    """Stacks are those of the demonstration, whatever is made beside them."""
    data = str(FOLDER / "pc.out")
    names = ("flame.svg", "folded.txt", "profile.pb.gz", "speedscope.json")
    subprocess.run(
        [CONVERT, "--no-idle", "--no-pids", data,
         *(str(tmp_path / name) for name in names)],
        check=True, capture_output=True,
    )
    assert (tmp_path / "folded.txt").read_bytes() == (FOLDER / "folded.txt").read_bytes()
