"""scripts/bench: that it measures is shown by its own check; here, what it says
of figures."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tally import ROOT
from tally.build import image
from tally.verify.bench import ROWS

pytestmark = pytest.mark.skipif(image.DEBUG, reason="of the ordinary kernel")

#: In the table of what Linux's interface costs.
BESIDE_LINUX = (
    "fork_exit_wait", "fork_exec", "open_close", "pipe_rtt", "image_bytes",
)

BASELINE = ROOT / "tests" / "bench-baseline.json"


def bench(*arguments: object) -> subprocess.CompletedProcess:
    command = [str(ROOT / "scripts" / "bench"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def figures() -> dict[str, float]:
    return dict(next(iter(json.loads(BASELINE.read_text()).values())))


def test_no_figure_is_worse() -> None:
    """A change that makes one more than 3 % worse is seen: `make bench-check`."""
    run = bench("--check", BASELINE)
    assert (run.stderr, run.returncode) == ("", 0)
    measured = json.loads((ROOT / "build" / "bench.json").read_text())
    assert set(measured) == set(figures())


def test_the_documents_have_these_figures() -> None:
    """README and docs/performance.md have the baseline's. A boot's depends on the
    documents that are in the archive, so it isn't compared to the instruction."""
    now = {name: round(value) for name, value in figures().items()}
    text = (ROOT / "README.md").read_text()
    (said,) = re.findall(
        r"call takes ([\d,]+) instructions.*\n([\d,]+) \(.*exec ([\d,]+) \(.*\n"
        r".*profilers, takes ([\d,]+)\.", text
    )
    wanted = [now["getpid"], now["pipe_rtt"], now["fork_exec"],
              now["tick"] + now["sample_all"]]
    assert list(said) == [f"{n:,}" for n in wanted]
    text = (ROOT / "docs" / "performance.md").read_text()
    table = text.partition("\n## What is over its goal")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([\d,]+) \| [\d,]+ \|", table, re.M)
    over = [name for name, row in ROWS.items() if figures()[name] > row.goal]
    assert rows.pop()[0].startswith("boot") and over.pop() == "boot"
    assert [n for _, n in rows] == [f"{now[name]:,}" for name in over]
    assert f"{len(ROWS)} figures, {len(over) + 1} miss" in text
    rows = re.findall(r"^\| ([^|]+) \| [\d,]+ \| [\d,]+ \| ([\d,]+) \|$", text, re.M)
    beside_linux = {ROWS[n].what: f"{now[n]:,}" for n in BESIDE_LINUX}
    assert dict(rows) == beside_linux


def test_work_that_is_not_done_is_no_figure(tmp_path: Path) -> None:
    """docs/performance.md: "the kernel's own counts must say that the work was
    done". Here nothing is touched, and there is no program to execute."""
    (tmp_path / "guest").symlink_to(ROOT / "tests" / "guest")
    (tmp_path / "bench").mkdir()
    text = (ROOT / "tests" / "bench" / "bench.c").read_text()
    assert text.count("memory[i * PAGE] = 1;") == 1
    text = text.replace("memory[i * PAGE] = 1;", ";")
    (tmp_path / "bench" / "bench.c").write_text(text)
    run = subprocess.run(
        [ROOT / "scripts" / "run", "--icount", "0", "--harts", "1",
         "--extra", tmp_path / "bench", "--", "bench"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )
    assert run.returncode == 1
    assert sorted(set(run.stderr.splitlines())) == [
        "bench: fork_256pages: pages more: 0, not 256",
        "bench: fork_exec: tiny's status: 256, not 0",
        "bench: heap_page: pages more: 0, not 66",
    ]


def test_what_is_worse_is_named(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    file.write_text(json.dumps({**figures(), "open_close": 1_000_000}))
    run = bench("--from", file, "--check", BASELINE)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith("bench: worse: open_close: 1,000,000, was ")


def test_where_ticks_fall_is_not_worse(tmp_path: Path) -> None:
    """docs/performance.md: figures over a kernel's loop "fail only if they also exceed
    the cost at the dearest instruction"."""
    file = tmp_path / "figures.json"
    dearest = ROWS["sample_prf_kernel"].most
    for figure, said in ((dearest, ""), (dearest + 1, "bench: worse: sample_prf_kernel:")):
        file.write_text(json.dumps({**figures(), "sample_prf_kernel": figure}))
        run = bench("--from", file, "--check", BASELINE)
        assert run.stderr.startswith(said)
        assert (run.returncode, run.stderr.count("\n")) == ((1, 1) if said else (0, 0))


def test_the_table_marks_what_is_over_its_goal(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    file.write_text(json.dumps({**figures(), "getpid": 131, "pipe_4096": 0.8}))
    lines = bench("--from", file).stdout.splitlines()
    assert "null system call                                  131          875        272        130  over" in lines
    assert "pipe, 1 MiB by 4096, a byte                      0.80          524       2.06       0.80" in lines


def test_foreign_figures(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    file.write_text("none")
    run = bench("--from", file)
    assert (run.returncode, run.stderr.count("\n")) == (126, 1)
    assert run.stderr.startswith("bench: ")


def test_the_hosts_side_is_measured() -> None:
    """Beside a fixed piece of work: make bench-host. What it costs is no verdict."""
    script = ROOT / "scripts" / "bench-host"
    run = subprocess.run([script, "boot"], capture_output=True, text=True)
    assert (run.stderr, run.returncode) == ("", 0)
    row = re.fullmatch(r"boot to the end of true +([\d.]+) s +([\d.]+)\n", run.stdout)
    assert row and float(row[1]) > 0 and float(row[2]) > 0
    run = subprocess.run([script, "luck"], capture_output=True, text=True)
    assert (run.returncode, run.stderr.count("\n")) == (126, 1)
    assert run.stderr.startswith("bench-host: no cost is called luck: there are ")
