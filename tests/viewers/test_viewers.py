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

from harness import elves
import made_up
from tally import ROOT
from tally.build import image

HERE = Path(__file__).parent
CONVERT = ROOT / "scripts" / "tally-convert"
HOME = image.BUILD / "viewers"
KERNEL = image.BUILD / "kernel.elf"
LABS = ROOT / "labs"
FILE = "kernel/syscall/hart_ticks.c"
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
        "syscall", "sys_read", "sys_write", "sys_clone", "sys_execve",
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


# --- The page ---------------------------------------------------------------------


def recorded(*words: object) -> Path:
    """By scripts/tally, as a user has it."""
    file = HOME / "page.html"
    run(ROOT / "scripts" / "tally", "--extra", ROOT / "examples", "--harts",
        1, "--icount", 3, *words, "-o", file, "--", "shop; stages 2")
    return file


@pytest.fixture(scope="session", params=["samples", "exact"])
def page(request: pytest.FixtureRequest) -> tuple[bool, dict]:
    exact = request.param == "exact"
    file = recorded(*["--exact"] * exact)
    return exact, browser("html", file, "^disc", "discount", HOME)


def numbers(frames: list[dict], name: str) -> list[int]:
    """Of the frames with this name."""
    found = [f["label"].split(", ") for f in frames]
    return [int(re.sub(r"\D", "", words[1])) for words in found if words[0] == name]


def test_page_is_one_file_without_errors(page: tuple[bool, dict]) -> None:
    _, seen = page
    assert seen["errors"] == []
    assert [Path(url).name for url in seen["requests"]] == ["page.html"]
    assert seen["light"] != seen["dark"]


def test_page_shows_everything(page: tuple[bool, dict]) -> None:
    exact, seen = page
    shown = {f["label"].split(", ")[0] for f in seen["whole"]}
    assert {"all", "shop", "main", "invoice", "discount", "stages"} <= shown
    (whole,) = numbers(seen["whole"], "all")
    assert f"{whole:,} {'instructions' if exact else 'samples'}" in seen["all"]
    assert "percent = item % (rule[i] + 7);" in seen["source"]
    assert "remuw" in seen["source"]
    assert "By mode" in seen["statistics"]


def test_page_annotates_lines(page: tuple[bool, dict]) -> None:
    """With numbers that fit their columns, however large."""
    _, seen = page
    share, own, callees, _, text = seen["hottest"][:5]
    mine, inside = (int(n.replace(",", "")) for n in (own, callees))
    (whole,) = numbers(seen["whole"], "all")
    assert float(share.rstrip("%")) == pytest.approx(100 * mine / whole, abs=0.05)
    assert 0 < mine <= inside and text.strip()
    assert seen["cut"] == []


def test_page_search_zoom_and_span(page: tuple[bool, dict]) -> None:
    exact, seen = page
    matching = {f["label"].split(", ")[0] for f in seen["search"] if f["match"]}
    assert matching == {"discount"} and "%" in seen["matched"]
    width = max(f["width"] for f in seen["whole"])
    (zoomed,) = [f["width"] for f in seen["zoom"] if f["label"].startswith("discount,")]
    assert zoomed == pytest.approx(width, abs=2)
    assert "rule[i]" in seen["ofZoomed"]
    assert seen["reset"] == seen["all"]
    if not exact:  # instructions have no time
        (inside,), (whole,) = (numbers(seen[key], "all") for key in ("inSpan", "whole"))
        assert 0 < inside < whole and seen["span"] != seen["all"]


def test_page_callers(page: tuple[bool, dict]) -> None:
    """discount's callers are below it, and together they are all of it."""
    _, seen = page
    callers = sum(sum(numbers(seen["callers"], name)) for name in ("invoice", "catalogue"))
    assert callers > 0 and numbers(seen["callers"], "discount")


def test_page_with_waits() -> None:
    """The lock that was planted, who waited for it and where, and who gave it back;
    a search leaves what it is about."""
    file = HOME / "waits.html"
    run(ROOT / "scripts" / "tally", "--extra", ROOT / "examples", "--harts",
        1, "--icount", 3, "--waits", "-o", file, "--", "ledger")
    seen = browser("waits", file, "index_lock|pthread_join", HOME)
    assert seen["errors"] == [] and "Waits" in seen["tabs"]
    what, who, ms, count, *_, woken = seen["rows"][0]
    assert what.splitlines()[0] == "futex ledger_lock" and " < book < clerk" in what
    assert who.startswith("ledger ") and float(ms) > 300 and int(count) == 30
    assert re.fullmatch(r"pthread_mutex_unlock \[ledger \d+\]: 30", woken)
    assert re.match(r"\d+ rows of \d+", seen["caption"])
    joins = [row[0] for row in seen["found"] if "\n" in row[0]]
    assert len(joins) == 3 and all("pthread_join" in row for row in joins)


# --- A course's page ----------------------------------------------------------


def test_a_course_without_a_mouse(tmp_path: Path) -> None:
    """labs/grade --html: the keyboard leads to the reasons, and paper has them all."""
    skeleton = LABS / "ticks/skeleton" / FILE
    for name, text in ("anna", skeleton.read_text()), ("ben", "int x = ;\n"):
        file = tmp_path / "all" / name / FILE
        file.parent.mkdir(parents=True)
        file.write_text(text)
    page = HOME / "course.html"
    run(LABS / "grade", "ticks", "--all", tmp_path / "all", "--html", page)
    seen = browser("course", page, HOME)
    assert seen["errors"] == [] and len(seen["requests"]) == 1
    assert seen["light"] != seen["dark"]
    assert seen["reason"].split()[0] == "anna" and "-ENOSYS" in seen["reason"]
    assert "-ENOSYS" in seen["printed"] and "hart_ticks.c:1" in seen["printed"]
