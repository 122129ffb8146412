"""scripts/demo: what it prints, and the files that it leaves in build/demo."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import image
from harness.pprof import Pprof

DEMO = image.ROOT / "scripts" / "demo"
FOLDER = image.ROOT / "build" / "demo"
FILES = {
    "calls", "flame.svg", "folded.txt", "gmon.out", "kpdata", "pc.out",
    "profile.pb.gz", "ps.txt", "speedscope.json",
}


def folded(file: Path) -> dict[str, int]:
    pairs = (line.rsplit(" ", 1) for line in file.read_text().splitlines())
    return {stack: int(count) for stack, count in pairs}


def test_demo() -> None:
    done = subprocess.run(
        [DEMO], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for text in ("The most frequent words", "in kernel text:", "idle_wait"):
        assert text in done.stdout
    assert {file.name for file in FOLDER.iterdir()} == FILES
    for name in FILES:
        assert name in done.stdout
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
    assert ET.parse(FOLDER / "flame.svg").getroot().tag.endswith("svg")
    assert (FOLDER / "gmon.out").read_bytes().startswith(b"gmon")
