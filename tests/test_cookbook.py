"""docs/cookbook.md: what the page shows is what its commands print. And its questions,
asked about programs in which a seed has planted the answers; those of which the page
has no block, always."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest

from harness.cookbook import MACHINE, Variant, run, table, tally
from tally import ROOT
from tally.build import image
from tally.grading.contest import Kernels, plants
from test_labs import pytestmark as needs_sandbox

PAGE = ROOT / "docs" / "cookbook.md"
COUNTS = PAGE.with_name("counts.md")
SEED = int(os.environ.get("COOKBOOK_SEED", 1))
FUNCTIONS, PATHS, CALLED_BY = "its program and source", "innermost first", "called by"

pytestmark = [
    pytest.mark.skipif(image.DEBUG, reason="of the ordinary kernel"),
    pytest.mark.parametrize("seed", [SEED]),
]


@pytest.fixture
def shop(tmp_path: Path, seed: int) -> Variant:
    v = Variant(tmp_path / "src", "shop", seed)
    v.rename("discount", "shipping", "invoice", "catalogue")
    v.number("RULES", 18, 40)
    return v


@pytest.mark.long
def test_which_function_and_line(shop: Variant) -> None:
    page = tally(shop.write(), "--", "shop")
    first, second = table(page, FUNCTIONS)[:2]
    assert first.text.split()[1:3] == [shop["discount"], "[shop]"]
    assert second.text.split()[1:3] == [shop["shipping"], "[shop]"]
    assert first.low > second.high
    line = table(page, "  line")[0].text
    place, text = line.split(" [shop]  ")
    number = int(place.rpartition(":")[2])
    assert "percent = item %" in text and text in shop.text.splitlines()[number - 1]


@pytest.mark.long
def test_on_whose_behalf(shop: Variant) -> None:
    """Three of four items are the invoice's."""
    page = tally(shop.write(), "--of", shop["discount"], "--by", "paths", "--", "shop")
    rows = {row.text.split()[2]: row for row in table(page, PATHS)}
    assert set(rows) == {shop["invoice"], shop["catalogue"]}
    assert rows[shop["invoice"]].low > 60
    assert 10 < rows[shop["catalogue"]].low < rows[shop["catalogue"]].high < 40
    exact = tally(shop.folder, "--exact", "--of", shop["discount"], "--", "shop")
    assert re.search(r"; 240,000 calls, \d+ each$", exact, re.M)


@pytest.mark.long
def test_which_process(shop: Variant) -> None:
    """Many short ones are one row of their program."""
    times = shop.random.randrange(20, 40)
    loop = f"i=0; while [ $i -lt {times} ]; do i=$((i+1)); shop 1 >/tmp/x; done"
    page = tally(shop.write(), "--by", "processes", "--", loop)
    first = table(page, "processes")[0]
    assert first.share > 50 and first.text.endswith(f"shop ({times})")


@pytest.mark.long
def test_kernel_or_user(tmp_path: Path, seed: int) -> None:
    v = Variant(tmp_path / "src", "copybytes", seed)
    v.rename("copy")
    command = "head -c 20000 /usr/share/words >/tmp/a; copybytes /tmp/a /tmp/b"
    page = tally(v.write(), "--", command)
    kernel = table(page, "  time")[0]
    assert kernel.text.startswith("kernel") and kernel.low > 90
    page = tally(v.folder, "--of", "sys_read", "--by", "paths", "--", command)
    ways = table(page, PATHS)
    assert ways[0].share > 80
    assert f"read < {v['copy']} < main < _start [copybytes]" in ways[0].text


@pytest.mark.long
def test_where_page_faults_come_from(tmp_path: Path, seed: int) -> None:
    v = Variant(tmp_path / "src", "pages", seed)
    v.rename("fill_index", "fill_table")
    index, big = v.number("INDEX", 30, 60), v.number("TABLE", 90, 200)
    via = " < ".join(v.deeper("fill_table"))
    page = tally(v.write(), "--exact", "--of", "aspace_fault", "--by", "paths", "--",
                 "pages")
    first, second = table(page, PATHS)[:2]
    assert f"[kernel] < {v['fill_table']} < {via and via + ' < '}main" in first.text
    assert f"[kernel] < {v['fill_index']} < main < _start [pages]" in second.text
    assert first.count / second.count == pytest.approx(big / index, rel=0.1)


@pytest.mark.long
def test_why_a_pipeline_is_slow(tmp_path: Path, seed: int) -> None:
    """Nobody waits less than the stage that all others wait for."""
    v = Variant(tmp_path / "src", "stages", seed)
    v.rename("produce", "refine", "consume")
    page = tally(v.write(), "--harts", 4, "--waits", "--", "stages")
    waits = page.partition("waiting for\n")[2]
    for waiter, what in ("produce", "room in pipe"), ("consume", "bytes in pipe"):
        row = re.search(rf"{what} \d+ \[stages.*\]\n +in \w+ < {v[waiter]} < main.*\n"
                        rf".*\n +woken by (\w+) ", waits)
        assert row and row[1] == v["refine"], waits


@pytest.mark.long
def test_which_lock(tmp_path: Path, seed: int) -> None:
    v = Variant(tmp_path / "src", "ledger", seed)
    v.rename("ledger_lock", "index_lock", "book")
    page = tally(v.write(), "--harts", 4, "--waits", "--", "ledger")
    row = r"([\d.]+) +\d+ +[\d.]+ +[\d.]+ futex (\w+) .*\n +in (.*)"
    futexes = re.findall(row, page)
    total = {name: 0.0 for name in ("ledger_lock", "index_lock")}
    for ms, variable, calls in futexes:
        for name in total:
            if variable == v[name]:
                total[name] += float(ms)
                assert name != "ledger_lock" or f"< {v['book']} <" in calls
    assert total["ledger_lock"] > 100 and total["index_lock"] < 20


@pytest.mark.long
def test_what_would_make_it_faster(tmp_path: Path, seed: int) -> None:
    """Without the naps under the lock hardly anything is left."""
    v = Variant(tmp_path / "src", "ledger", seed)
    v.rename("ledger_lock", "index_lock", "book")
    page = tally(v.write(), "--harts", 4, "--waits", "--", "ledger")
    row = re.search(r"critical path: ([\d.]+) ms\n +([\d.]+) +[\d.]+% +40 +([\d.]+) "
                    r"poll \[ledger \d+\]\n +in poll < (\w+) < ", page)
    assert row and row[4] == v["book"], page
    total, time, saves = (float(row[i]) for i in (1, 2, 3))
    assert time > 0.8 * total and 0.9 * time < saves <= time


@pytest.mark.long
def test_what_happened_then(tmp_path: Path, seed: int) -> None:
    v = Variant(tmp_path / "src", "burst", seed)
    v.rename("rebuild_cache", "answer")
    at, long = v.number("BURST_AT", 500, 1600), v.number("BURST", 120, 200)
    v.write()

    def first(*when: object) -> str:
        words = ("--of", "work", "--by", "paths", "--", "burst")
        return table(tally(v.folder, *when, *words), PATHS)[0].text

    # A request is answered first, for some milliseconds.
    inside = "--from", (at + 20) / 1000, "--to", (at + long) / 1000
    assert first(*inside).startswith(f"work < {v['rebuild_cache']} < main")
    assert first("--to", at / 1000).startswith(f"work < {v['answer']} < main")
    after = (at + long + 40) / 1000
    assert first("--from", after).startswith(f"work < {v['answer']} < main")


@pytest.mark.long
def test_how_sure(tmp_path: Path, seed: int) -> None:
    """A hundred samples can't tell; ten thousand can, and instructions are sure."""
    v = Variant(tmp_path / "src", "rivals", seed)
    v.rename("left", "right")
    names = [v["left"], v["right"]]
    less, more = v.number("LEFT", 1000, 1010), v.number("RIGHT", 1120, 1140)

    def shares(*words: object) -> list:
        page = tally(v.folder, *words, "--by", "functions", "--", "rivals")
        rows = {row.text.split()[1]: row for row in table(page, FUNCTIONS)}
        return [rows[name] for name in names]

    v.write()
    few, many, exact = shares("-r", 100), shares("-r", 10000), shares("--exact")
    # By chance alone one seed in ten has a hundred samples whose intervals lie
    # apart. But they are always wider than what is to be told from each other.
    apart = 100 * (more - less) / (more + less)
    assert all(row.high - row.low > 2 * apart for row in few)
    assert many[0].high < many[1].low
    # A store and a count, and little else.
    assert exact[1].count / exact[0].count == pytest.approx(more / less, rel=0.002)


@pytest.mark.long
def test_what_changed(shop: Variant, tmp_path: Path) -> None:
    base, new = tmp_path / "base.pb.gz", tmp_path / "new.pb.gz"
    tally(shop.write(), "--exact", "-o", base, "--", "shop 20")
    shop.folder = tmp_path / "new"
    text = shop.text
    shop.text = "\n\n\n" + text.replace("i < 20", "i < 22")
    assert len(shop.text) == len(text) + 3 and shop.text[3:] != text
    tally(shop.write(), "--exact", "-o", new, "--", "shop 20")
    said = run("tally-diff", base, new, "--fail", 1, status=1)
    rows = [line for line in said.splitlines() if "[shop]" in line]
    assert shop["shipping"] in rows[0] and shop["discount"] not in rows[0]
    assert run("tally-diff", base, new, "--fail", 1, "--only", shop["discount"])
    # All lines have moved by three. Those of the loop have changed.
    said = run("tally-diff", base, new, "--sources", tmp_path / "src", shop.folder)
    rows = said.partition("  line\n")[2].partition("\n\n")[0].splitlines()
    rows = [row for row in rows if "shop.c:" in row]
    assert 0 < len(rows) < 6, said
    assert any("sum += item ^ i;" in row or "i < 22" in row for row in rows[:2])
    assert not any("percent" in row or "before  " in row for row in rows), said


@pytest.mark.long
def test_the_same_in_ci(shop: Variant, tmp_path: Path) -> None:
    """Byte for byte, on a host with other things to do."""
    files = [tmp_path / "1.pb.gz", tmp_path / "2.pb.gz"]
    shop.write()
    for file in files:
        tally(shop.folder, "--exact", "-o", file, "--", "shop 10")
    assert files[0].read_bytes() == files[1].read_bytes()
    run("tally-diff", *files, "--fail", 0.001)


@pytest.mark.long
def test_what_a_fork_costs(tmp_path: Path, seed: int) -> None:
    v = Variant(tmp_path / "src", "forks", seed)
    children = v.number("CHILDREN", 30, 90)
    v.write()

    def cost(command: str) -> int:
        page = tally(v.folder, "--exact", "--of", "sys_clone", "--", command)
        found = re.search(r"; (\d+) calls, ([\d,]+) each$", page, re.M)
        assert found and int(found[1]) == children
        return int(found[2].replace(",", ""))

    small, large = cost("forks"), cost("forks 4000000")
    pages = 4000000 / 4096
    assert small > 3000 and pages * 10 < large - small < pages * 100


@needs_sandbox
def test_what_a_kernels_change_did(tmp_path: Path, seed: int) -> None:
    """Something slow is planted in it; which it is the seed draws."""
    plant = plants()[seed % len(plants())]
    changed = tmp_path / "changed.elf"
    changed.write_bytes(Kernels(7, None).kernel("planted", plant).data)
    files = []
    for kernel in image.BUILD / "kernel.elf", changed:
        files.append(tmp_path / f"{kernel.stem}.pb.gz")
        run("tally", "--exact", *MACHINE, "--kernel", kernel, "-o", files[-1], "--",
            "seq 1000 | sort | wc; ls -R /usr | sort | wc; cp -r /etc /tmp/x")
    said = run("tally-diff", *files)
    rows = [line.split() for line in said.splitlines() if "[kernel]" in line]
    assert any(name in rows[0] for name in plant.shows), said


def test_counts_in_ci(shop: Variant, tmp_path: Path) -> None:
    """docs/counts.md, in a stranger's repository: its own steps."""
    (tmp_path / "tally").symlink_to(ROOT)
    shop.folder = tmp_path / "programs"
    shop.write()
    (workflow,) = re.findall(r"```yaml\n(.*?)```", COUNTS.read_text(), re.S)
    steps = re.findall(r"- run: (.*)", workflow)
    assert [step.split()[0] for step in steps] == [
        f"tally/scripts/{name}" for name in ("setup", "tally", "tally-diff")]

    def status(step: str) -> int:
        return subprocess.run(
            step.replace("NAME", "shop 10").replace("-- shop 10", "-- 'shop 10'")
            .replace("setup -y", "setup -c"),
            shell=True, cwd=tmp_path, stdout=subprocess.DEVNULL,
        ).returncode

    assert [status(step) for step in steps[:2]] == [0, 0]
    (tmp_path / "now.pb.gz").rename(tmp_path / "counts.pb.gz")
    assert [status(step) for step in steps] == [0, 0, 0]
    shop.text = shop.text.replace("i < 20", "i < 21")
    shop.write()
    assert [status(step) for step in steps] == [0, 0, 1]


# --- The page ---


def blocks() -> list[tuple[str, list[str]]]:
    """Commands, and what the page shows of their output."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.M | re.S):
        lines = block.splitlines()
        commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        shown = [line for line in lines if line and not line.startswith("$ ")]
        found.append(("\n".join(commands), shown))
    return found


def shape(line: str) -> str:
    """Without numbers and what follows from them: bars, blanks, and whether a row has
    enough samples for an interval."""
    line = re.sub(r"[\d,.]+ to +[\d,.]+ ", "", line)
    return " ".join(re.sub(r"[\d,.]+", "0", line).rstrip("# ").split())


@pytest.mark.parametrize("block", range(1, len(blocks())))
def test_the_page_is_true(block: int, seed: int) -> None:
    """Its lines come, in this order; the numbers are those of one day, and so is the
    order of two rows beside each other. The seed is for the others: here all is as it
    is in examples/."""
    prelude, _ = blocks()[0]
    commands, shown = blocks()[block]
    done = subprocess.run(
        ["sh", "-e", "-c", f"{prelude}\n{commands}"], cwd=ROOT,
        capture_output=True, text=True,
    )
    lines = [shape(line) for line in done.stdout.splitlines()]
    for more, group in itertools.groupby(shown, lambda line: line == "..."):
        places = []
        for line in () if more else group:
            assert shape(line) in lines, f"{line}\n{done.stdout}{done.stderr}"
            places.append(lines.index(shape(line)))
        del lines[: max(places, default=-1) + 1]
