"""What scripts/tally-convert writes, opened in the viewers it is for.

Run by scripts/test-viewers, which installs them. Pictures of what was to be
seen are left in build/viewers/.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import image
import made_up
from harness import elves

HERE = Path(__file__).parent
CONVERT = image.ROOT / "scripts" / "tally-convert"
HOME = image.BUILD / "viewers"
KERNEL = image.BUILD / "kernel.elf"
PROGRAMS = [f"--program={pid}={image.BUILD}/bin/{name}"
            for pid, name in made_up.COMMANDS.items()]


def run(*words: object, **options: object) -> str:
    result = subprocess.run([str(w) for w in words], capture_output=True, text=True,
                            **options)
    assert result.returncode == 0, result.stderr
    return result.stdout


def browser(*words: object) -> dict:
    return json.loads(run("node", HERE / "browser.mjs", *words, cwd=HOME))


@pytest.fixture(scope="session")
def profile() -> Path:
    """A stream of a busy machine, made up."""
    with image.build_lock():
        image.make()
    HOME.mkdir(exist_ok=True)
    file = HOME / "made-up.pcs"
    file.write_bytes(made_up.stream(KERNEL, image.BUILD / "bin"))
    return file


def converted(profile: Path, name: str, *words: str) -> Path:
    run(CONVERT, *PROGRAMS, *words, profile, HOME / name)
    return HOME / name


def by_mode(profile: Path) -> dict[str, int]:
    """How many samples, by the folded stacks' last heading."""
    counts: dict[str, int] = {}
    for line in converted(profile, "made-up.folded").read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        mode = re.findall(r"\[(\w+)\]", stack)[-1]
        counts[mode] = counts.get(mode, 0) + int(count)
    return counts


def leaves(profile: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    for line in converted(profile, "made-up.folded").read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        leaf = stack.split(";")[-1]
        counts[leaf] = counts.get(leaf, 0) + int(count)
    return counts


# --- gprof ----------------------------------------------------------------------


def test_gprof(profile: Path) -> None:
    gmon = converted(profile, "gmon.out")
    out = run(elves.tool("gprof"), "-b", "-p", KERNEL, gmon)
    rows = [line.split() for line in out.splitlines() if re.match(r" *\d+\.\d", line)]
    seconds = {row[-1]: float(row[2]) for row in rows}
    ours = leaves(profile)
    for name in "sys_read", "wait_on", "elf_load":
        assert seconds[name] == pytest.approx(ours[name] / 100, abs=0.02)


# --- pprof ----------------------------------------------------------------------


def pprof(*words: object) -> str:
    environment = {**os.environ, "PPROF_TMPDIR": str(HOME), "HOME": str(HOME)}
    return run("go", "tool", "pprof", *words, env=environment)


def test_pprof_top(profile: Path) -> None:
    out = pprof("-top", "-sample_index=samples", "-nodecount=0",
                converted(profile, "made-up.pb.gz"))
    rows = [line.split() for line in out.splitlines() if re.match(r" *\d+ ", line)]
    flat = {row[-1]: int(row[0]) for row in rows}
    ours = leaves(profile)
    for name in "copy_out", "lstep", "merge_sort", "elf_load", "[idle]":
        assert flat[name] == ours[name]
    assert f"of {sum(ours.values())} total" in out
    assert "Duration: 20s" in out


def test_pprof_tells_apart_by_label(profile: Path) -> None:
    file = converted(profile, "made-up.pb.gz")
    counts = by_mode(profile)
    for mode in "user", "kernel", "interrupt", "idle":
        out = pprof("-top", "-sample_index=samples", f"-tagfocus=mode={mode}", file)
        assert re.search(rf"\b{counts[mode]}, [\d.]+% of ", out), out
    tags = pprof("-tags", "-sample_index=samples", file)
    for label in "hart", "mode", "pid", "command", "level":
        assert f" {label}: Total " in tags
    assert "17 samples lost" in pprof("-comments", file)


def test_pprof_knows_lines(profile: Path) -> None:
    out = pprof("-top", "-lines", "-nodecount=0", converted(profile, "made-up.pb.gz"))
    assert re.search(r"\bmerge_sort .*user/cmd/sort\.c:\d+", out)
    assert re.search(r"\bcopy_out .*kernel/mm/\w+\.[cS]:\d+", out)
    out = pprof("-top", "-cum", "-nodecount=0", converted(profile, "made-up.pb.gz"))
    assert re.search(r"\bsyscall$", out, re.M)


# --- speedscope ------------------------------------------------------------------


def test_speedscopes_schema(profile: Path) -> None:
    seen = browser("schema", converted(profile, "made-up.json"))
    assert seen == {"valid": True, "errors": None}


def test_speedscope_imports_it(profile: Path) -> None:
    seen = browser("speedscope", converted(profile, "made-up.json"), HOME)
    assert seen["errors"] == []
    assert "hart 0" in seen["title"] + seen["text"]
    assert "(1/4)" in seen["text"] or "1/4" in seen["title"] + seen["text"]


# --- The flame graph --------------------------------------------------------------


@pytest.fixture(scope="session")
def flame(profile: Path) -> dict:
    file = converted(profile, "made-up.svg")
    return browser("svg", file, "sys", "merge_sort", HOME)


def test_flame_graph_is_one_file_without_errors(flame: dict) -> None:
    assert flame["errors"] == []
    assert [Path(url).name for url in flame["requests"]] == ["made-up.svg"]


def test_flame_graph_names_fit(flame: dict) -> None:
    for view in "whole", "zoom":
        frames = flame[view]["frames"]
        assert [f for f in frames if f["text"] and not f["fits"]] == []
        assert any(f["text"] == f["name"] for f in frames)


def test_flame_graph_hover(flame: dict, profile: Path) -> None:
    frames = flame["whole"]["frames"]
    (mine,) = [f for f in frames if f["name"] == "merge_sort"]
    share = 100 * mine["count"] / frames[0]["count"]
    said = f"merge_sort  \u2014  {mine['count']:,} samples, {share:.2f}%"
    assert (flame["whole"]["details"], flame["hover"]["details"]) == ("", said)


def matching(frames: list[dict]) -> int:
    """Whatever matches is syscall, or called by it: each sample counts once."""
    return sum(f["count"] for f in frames if f["name"] == "syscall")


def test_flame_graph_search(flame: dict) -> None:
    seen = flame["search"]
    assert {f["name"] for f in seen["frames"] if f["match"]} == {
        "syscall", "sys_read", "sys_write", "sys_fork", "sys_execve",
    }
    found, total = matching(seen["frames"]), seen["frames"][0]["count"]
    share = 100 * found / total
    assert seen["matched"] == f"Matched: {share:.2f}% ({found:,} samples)"


def test_flame_graph_zoom(flame: dict) -> None:
    whole, seen = flame["whole"], flame["zoom"]
    assert (whole["reset"], seen["reset"]) == (False, True)
    full = whole["frames"][0]["width"]
    above = [f for f in seen["frames"] if f["above"]]
    assert [f["name"] for f in above] == [
        "all", "sort (3)", "[user]", "_start", "main", "load"]
    mine = seen["frames"][len(above)]
    assert mine["name"] == "merge_sort"
    assert all(f["width"] == pytest.approx(full, abs=1) for f in [*above, mine])
    inside = seen["frames"][len(above) + 1 :]
    for f in inside:
        if f["width"] > 10:
            assert f["width"] == pytest.approx(
                full * f["count"] / mine["count"], abs=1.5)
    found = matching(inside)
    share = 100 * found / mine["count"]
    assert seen["matched"] == f"Matched: {share:.2f}% ({found:,} samples)"


def test_flame_graph_reset(flame: dict) -> None:
    assert flame["reset"] == flame["whole"]
