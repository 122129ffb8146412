"""scripts/tally --exact: what is executed, counted; tests/exact has programs of
which it is known how much that is."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from harness.page import Page
from harness.pprof import Pprof, fields, numbers
from tally import ROOT
from tally.boot.machine import find_qemu
from tally.build import image
from tally.formats.program import program
from tally.plugins import plugin
from tally.profile.page import between, wilson

pytestmark = pytest.mark.skipif(image.DEBUG, reason="of the ordinary kernel")

EXTRA = ("--extra", str(ROOT / "tests" / "exact"))
MAIN = ("known", "[user]", "_start", "main")


def tally(*words: str, **changes: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(ROOT / "scripts" / "tally"), *words], capture_output=True, text=True,
        cwd=ROOT, env={**os.environ, **changes},
    )


def folded(file: Path) -> Counter:
    found: Counter = Counter()
    for line in file.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(count)
    return found


def known(n: int) -> dict[tuple[str, ...], int]:
    """What tests/exact/known.c executes in functions that it has in assembly."""
    def loop(*numbers: int) -> int:
        return sum(2 * number + 1 for number in numbers)

    deep = n % 10 + 5
    found = {
        (*MAIN, "by_call", "loop"): loop(n, n, n),
        (*MAIN, "by_tail", "leave_for"): 2,
        (*MAIN, "by_tail", "fall_into"): 1,
        (*MAIN, "by_tail", "loop"): loop(n + 1, n + 2),
        (*MAIN, "by_jump", "jump_back", "jump_back", "loop"): loop(n + 3),
        (*MAIN, "by_signal", "tgkill", "on_signal", "loop"): loop(n + 4),
        (*MAIN, "by_signal", "loop"): loop(n + 5),
        (*MAIN, "by_signal_and_jump", "loop"): loop(n + 6),
        ("known", "[user]", "begin", "in_thread", "loop"): loop(n + 7, n + 8),
        (*MAIN, "by_fork", "loop"): loop(n + 9, n + 10),
        (*MAIN, "after_exec", "loop"): loop(11),
        (*MAIN, "by_alarms", "loop"): loop(1000 * n),
    }
    for i in range(1, deep + 2):
        found[(*MAIN, "by_depth", *["depth"] * i)] = 9 if i <= deep else 2
    return found


def in_assembly(found: Counter) -> dict[tuple[str, ...], int]:
    names = ("loop", "depth", "leave_for", "fall_into")
    return {stack: n for stack, n in found.items() if stack[-1] in names}


@pytest.mark.parametrize("n", [7, 431])
def test_known_programs(tmp_path: Path, n: int) -> None:
    """Calls, recursion, tail calls, longjmp, signals and both, threads, fork, exec
    and interrupts: each path has its instructions, no more and no less. Where -o is
    a link, it leads there (tally-host(1))."""
    file = tmp_path / "x.folded"
    file.symlink_to("elsewhere")
    run = tally("--exact", *EXTRA, "-o", str(file), "--", f"known {n}")
    assert (run.stderr, run.returncode) == ("", 0)
    found = folded(tmp_path / "elsewhere")
    assert in_assembly(found) == known(n)
    total = re.search(r"^([\d,]+) instructions, exact$", run.stdout, re.M)
    assert total and int(total[1].replace(",", "")) == sum(found.values())
    assert "elsewhere" not in run.stdout and "returns went" not in run.stdout
    # Counting began with the shell: the boot isn't counted.
    assert ("init", "[user]", "_start") not in found
    assert all("vfs_init" not in stack for stack in found)


def test_the_run_stays_the_same(tmp_path: Path) -> None:
    """In the guest samples are taken at moments that each instruction moves; and
    a second profile has the same bytes."""
    command = "known 20; tally -n 40 sh -c 'seq 100 | sort -r | known 10'"
    options = ["--icount", "6", *EXTRA]
    plain = subprocess.run(
        [str(ROOT / "scripts" / "run"), "--harts", "1", *options, "--", command],
        capture_output=True, text=True,
    )
    runs = []
    for name in "ab":
        file = tmp_path / f"{name}.folded"
        run = tally("--exact", *options, "-o", str(file), "--", command)
        assert (run.stderr, run.returncode) == ("", 0)
        assert run.stdout.startswith(plain.stdout) and plain.stdout.count("\n") > 30
        runs.append((run.stdout, file.read_bytes()))
    assert runs[0] == runs[1]


def test_several_harts(tmp_path: Path) -> None:
    several = plugin.qemu_major(find_qemu()) >= plugin.REGISTERS_SINCE
    file = tmp_path / "x.folded"
    run = tally("--exact", "--harts", "3", *EXTRA, "-o", str(file), "--", "known 321")
    if several:
        assert (run.stderr, run.returncode) == ("", 0)
        assert in_assembly(folded(file)) == known(321)
        assert all("vfs_init" not in stack for stack in folded(file))
        assert re.search(r"^ +[\d,]+ +2 ", run.stdout, re.M)
    else:
        assert run.returncode == 126
        assert run.stderr.startswith("tally: --exact on several harts needs QEMU 9")
        assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words, said",
    [
        (["--exact"], "tally: no command (tally --help"),
        (["--exact", "--"], "tally: no command after --"),
        (["--exact", "-o", "x.doc", "--", "true"], "tally: -o x.doc: unknown suffix"),
        (["--exakt", "--", "true"], "tally: --exakt: no such option; did you mean --exact?"),
        (["--exact", "-o", "/none/x.svg", "--", "true"], "tally: /none/x.svg: No such"),
        (["--exact", "-o", "x.gmon", "--", "true"], "tally: -o x.gmon: a gmon.out "),
        (["--free", "--exact", "--", "true"], "tally: --free can't be combined "),
        (["--free", "--icount", "3", "--", "true"], "tally: --free can't be combined "),
        (["--free", "--races", "3", "--", "true"], "tally: --free can't be combined "),
    ],
)
def test_wrong_words(words: list[str], said: str) -> None:
    run = tally(*words)
    assert run.returncode == 126
    assert run.stderr.startswith(said) and run.stderr.count("\n") == 1, run.stderr


def test_a_qemu_without_plugins(tmp_path: Path) -> None:
    qemu = tmp_path / "qemu"
    qemu.write_text(
        f'#!/bin/sh\ncase "$*" in *-plugin*)\n'
        "echo 'qemu-system-riscv64: -plugin: invalid option' >&2; exit 1 ;;\nesac\n"
        f'exec {find_qemu()} "$@"\n'
    )
    qemu.chmod(0o755)
    run = tally("--exact", "--", "true", QEMU=str(qemu))
    assert run.returncode == 126
    assert run.stderr.startswith(f"tally: {qemu} takes no plugins: install another")
    assert run.stderr.count("\n") == 1


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(plugin.shutil, "which", lambda name: None)
    with pytest.raises(plugin.SetupError, match="no cc: scripts/setup installs it"):
        plugin.build("counter", 7, tmp_path)


def test_a_plugin_is_built_where_a_source_is_newer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sources = tmp_path / "counter"
    shutil.copytree(plugin.HERE / "counter", sources)
    monkeypatch.setattr(plugin, "HERE", tmp_path)

    def built() -> int:
        return plugin.build(sources.name, 7, tmp_path).stat().st_mtime_ns

    first = built()
    assert built() == first
    for changed in (sources / "tree.c", sources):
        now = time.time_ns()
        os.utime(changed, ns=(now, now))
        before, first = first, built()
        assert first > before, changed


def test_callgrind(tmp_path: Path) -> None:
    """Calls are counted, and callgrind_annotate finds the same instructions."""
    n = 90
    file = tmp_path / "x.callgrind"
    run = tally("--exact", *EXTRA, "-o", str(file), "--", f"known {n}")
    assert (run.stderr, run.returncode) == ("", 0)
    text = file.read_text()
    blocks = {
        (object, name): body for object, name, body in re.findall(
            r"^ob=(.*)\nfl=.*\nfn=(.*)\n((?:.+\n)*)", text, re.M
        ) if object.endswith("/known")
    }
    objects = {object for object, _ in blocks}
    (object,) = objects

    def calls(caller: str, callee: str) -> list[tuple[int, int]]:
        found = re.findall(
            rf"^cfn={callee}\ncalls=(\d+) \d+\n\d+ (\d+)\n",
            blocks[object, caller], re.M,
        )
        return [(int(times), int(cost)) for times, cost in found]

    (times, cost), = calls("by_call", "loop")
    assert times == 3 and cost >= 3 * (2 * n + 1)
    assert sum(times for times, _ in calls("by_tail", "loop")) == 2
    assert sum(times for times, _ in calls("depth", "depth")) == n % 10 + 5
    assert calls("tgkill", "on_signal")[0][0] == 1
    own = re.findall(r"^\d+ (\d+)$", re.sub(r"calls=.*\n.*\n", "", text), re.M)
    (total,) = re.findall(r"^summary: (\d+)$", text, re.M)
    assert sum(map(int, own)) == int(total)
    assert "events: Instructions\n" in text
    if not shutil.which("callgrind_annotate"):
        pytest.skip("no callgrind_annotate")
    said = subprocess.run(
        ["callgrind_annotate", "--threshold=100", str(file)],
        capture_output=True, text=True, check=True,
    ).stdout
    loops = sum(count for path, count in known(n).items() if path[-1] == "loop")
    shown = re.search(r"^ *([\d,]+) \([\d. ]+%\)  \S*:loop ", said, re.M)
    assert shown and int(shown[1].replace(",", "")) == loops


def test_units(tmp_path: Path) -> None:
    """Each output says that it has instructions, and has them all."""
    totals = {}
    for suffix in (".pb.gz", ".speedscope.json", ".svg", ".html"):
        file = tmp_path / f"x{suffix}"
        run = tally("--exact", "-o", str(file), "--", "seq 20")
        assert (run.stderr, run.returncode) == ("", 0)
        totals[suffix] = file.read_bytes()
        said = re.search(r"^([\d,]+) instructions, exact$", run.stdout, re.M)
        assert said
    total = int(said[1].replace(",", ""))
    profile = Pprof(totals[".pb.gz"])
    assert profile.types == [profile.period_type] == [("instructions", "count")]
    assert sum(numbers(dict(fields(s))[2])[0] for s in profile._every(2)) == total
    (hart,) = json.loads(totals[".speedscope.json"])["profiles"]
    assert (hart["name"], hart["unit"]) == ("hart 0, instructions", "none")
    assert sum(hart["weights"]) == hart["endValue"] == total
    assert f"{total:,} instructions" in totals[".svg"].decode()
    page = Page(totals[".html"])
    assert (page.data["unit"], page.total()) == ("instruction", total)
    assert any(row[4] for f in page.data["functions"] for row in f["code"])


def test_code_of_no_known_program(tmp_path: Path) -> None:
    """A program that was changed in the guest: its page is in none."""
    wc = (image.BUILD / "bin" / "wc").read_bytes()
    each = program("wc", wc)
    at = next(a for a, name in each.functions.items() if name == "cmd_usage")
    offset = wc.index(each.text) + at - each.start
    command = (
        f"head -c {offset} /bin/wc >/tmp/x; printf x >>/tmp/x;"
        f" tail -c +{offset + 2} /bin/wc >>/tmp/x; chmod 755 /tmp/x;"
        " /tmp/x /etc/command"
    )
    run = tally("--exact", "--", command)
    assert run.returncode == 0
    said = r"^([\d,]+) instructions in no known program"
    unknown = re.search(said, run.stdout, re.M)
    assert unknown and int(unknown[1].replace(",", "")) > 100


def test_shared_programs(tmp_path: Path) -> None:
    """Those of /host are known by their text, and have the name that the command has,
    though a program of the guest has the same text."""
    (tmp_path / "copied").write_bytes((image.BUILD / "bin" / "seq").read_bytes())
    (tmp_path / "copied").chmod(0o755)
    file = tmp_path / "x.folded"
    run = tally("--exact", "--share", str(tmp_path), "-o", str(file), "--",
                "/host/copied 50 >/dev/null")
    assert (run.stderr, run.returncode) == ("", 0)
    assert "elsewhere" not in run.stdout
    assert re.search(r"^ .* print \[copied\]  user/cmd/seq.c:", run.stdout, re.M)


def test_none(tmp_path: Path) -> None:
    """tally-host(1), EXIT STATUS: no page and no file, but a line that says so."""
    file = tmp_path / "x.folded"
    for words, said in (("-r", "1"), ""), (("--from", "99"), " from 99 s on"):
        run = tally(*words, "-o", str(file), "--", "true")
        assert (run.stdout, run.stderr) == ("", f"tally: no samples{said}\n")
        assert run.returncode == 126 and not file.exists()


def test_samples(tmp_path: Path) -> None:
    """Without --exact: the same page, with an interval for each share, of which it says
    how they were tried; the guest's output and status are the command's."""
    file = tmp_path / "x.folded"
    words = ["-r", "2000", "-o", str(file), *EXTRA, "--",
             "known 2000; echo \"it's\" done; false"]
    run = tally(*words)
    assert (run.stderr, run.returncode) == ("", 1)
    assert run.stdout.startswith("it's done\nknown 2000;")
    assert re.search(r"^[\d,]+ samples, at 2000 Hz$", run.stdout, re.M)
    assert re.search(
        r"^ +[\d,]+ +\d+\.\d +\d+\.\d to +\d+\.\d +\d+\.\d\d  loop \[known\]",
        run.stdout, re.M,
    )
    assert folded(file)
    tried = ("in a test of 3,000 runs, 95 % of such intervals contained the true share:"
             " docs/truth.md")
    assert run.stdout.splitlines()[-2:] == [tried, ""]
    assert tally(*words).stdout == run.stdout  # the default machine repeats


def test_processes_without_a_sample_are_counted() -> None:
    """By their births: at 200 Hz few of thirty short ones have a sample."""
    loop = "for i in $(seq 30); do basename x; done >/tmp/x"
    run = tally("-r", "200", "--by", "processes", "--", loop)
    row = re.search(r"^ +(\d+) .*  basename \((\d+)\)$", run.stdout, re.M)
    assert row and int(row[1]) < 30 == int(row[2]), run.stdout


def test_missing_samples_stand_below_each_table() -> None:
    """At most rates there are none; here each share could be another one."""
    run = tally("-r", "20000", "--", "seq 500 | sort >/tmp/x")
    head, *tables = run.stdout.split("\n\n")
    counts = re.findall(r"^([\d,]+) samples? (?:lost|skipped)", head, re.M)
    missing = sum(int(count.replace(",", "")) for count in counts)
    total = int(re.search(r"^([\d,]+) samples, at", head, re.M)[1].replace(",", ""))
    line = (f"{missing:,} samples skipped or lost: each share may be wrong by up to"
            f" {100 * missing / (total + missing):.1f} percentage points")
    said = [table.strip().splitlines()[-1].strip() for table in tables if table.strip()]
    assert missing > total and said.count(line) == 5, run.stdout
    assert "skipped or lost" not in tally("--", "true").stdout


def test_free_harts(tmp_path: Path) -> None:
    """--free: the page says what its shares are worth, in place of intervals; and so
    does what is made of its recording."""
    file = tmp_path / "x.html"
    run = tally("--free", "-o", str(file), *EXTRA, "--", "known 20000")
    assert run.returncode == 0
    line = "the machine ran freely (no -icount): times and shares reflect QEMU's speed"
    assert run.stdout.count(line + "\n") == 1
    assert " interval" not in run.stdout
    assert not re.search(r"\d to +\d", run.stdout)
    assert "tried" not in run.stdout
    assert re.search(r"^ +[\d,]+ +\d+\.\d +\d+\.\d\d  \w+ \[known\]", run.stdout, re.M)
    about = Page(file.read_bytes()).data["about"]
    assert about["free"] == line and line in about["notes"]


def test_gmon(tmp_path: Path) -> None:
    """Of one executable, that with the most samples: the message says which."""
    file = tmp_path / "x.gmon"
    run = tally("-r", "2000", "-o", str(file), *EXTRA, "--", "known 2000")
    said = r"tally: gmon\.out contains only known, process \d+; .*\n"
    assert re.fullmatch(said, run.stderr)
    built = image.overlay_bin(Path(EXTRA[1])) / "known"
    said = subprocess.run(
        [str(ROOT / "scripts" / "tally-convert"), "--program", str(built),
         "--to", "folded", str(file)], capture_output=True, text=True, check=True,
    ).stdout
    rows = dict(line.rsplit(" ", 1) for line in said.splitlines())
    most = max(rows, key=lambda row: int(rows[row]))
    assert most.split(";")[-1] == "loop"


def test_side_by_side(tmp_path: Path) -> None:
    """Of the functions sampled most: the exact share, and whether it is inside the
    interval that samples give. They are as far from it as chance allows, which is
    further than 5.5 times their deviation once in a million. A page for a browser
    says the same."""
    file = tmp_path / "x.html"
    run = tally("--exact", "--sampled", "-r", "1000", "-o", str(file), "--",
                "seq 8000 | sort | wc -l")
    assert run.returncode == 0
    number = r" +([\d.]+)"
    between = rf"(?:{number} to{number}|{' ' * 14})"
    row = rf"^ +([\d,]+){number}{between}{number} +(yes|no|)  (\S+ \[\w+\])$"
    rows = re.findall(row, run.stdout, re.M)
    assert len(rows) >= 15, run.stdout
    told = Page(file.read_bytes()).data
    assert told["unit"] == "instruction"
    for name, _, count, share, low, high, exact, sure, inside in told["beside"]["rows"]:
        expected = count / share * exact
        chance = 5.5 * math.sqrt(expected * (1 - exact)) + 3
        assert abs(count - expected) <= chance, name
        assert sure == (count >= 10), name
        assert inside == (low <= exact <= high), name
    assert rows == [
        (f"{count:,}", f"{100 * share:.1f}", f"{100 * low:.1f}" if sure else "",
         f"{100 * high:.1f}" if sure else "", f"{100 * exact:.2f}",
         ("yes" if inside else "no") if sure else "", f"{name} [{where}]")
        for name, where, count, share, low, high, exact, sure, inside
        in told["beside"]["rows"]
    ]


def test_intervals() -> None:
    """Wilson's, against values of its formula elsewhere."""
    assert wilson(0, 10) == (0.0, pytest.approx(0.2775, abs=1e-3))
    low, high = wilson(5, 10)
    assert low == pytest.approx(0.2366, abs=1e-3)
    assert high == pytest.approx(0.7634, abs=1e-3)
    assert wilson(0, 0) == (0.0, 1.0)
    enough, few = between(10, low, high), between(9, *wilson(9, 20))
    assert enough.split() == ["23.7", "to", "76.3"]
    assert few == " " * len(enough)


def test_a_kernel_without_symbols(tmp_path: Path) -> None:
    """And what is none, before anything is built for it."""
    stripped, far = tmp_path / "stripped", tmp_path / "far"
    objcopy = os.environ.get("CROSS", "riscv64-unknown-elf-") + "objcopy"
    kernel = image.BUILD / "kernel.elf"
    subprocess.run([objcopy, "-S", str(kernel), str(stripped)], check=True)
    far.write_bytes(bytes([255]) * 100)
    whys = {stripped: ": not a kernel with symbols", far: " is not a kernel: "}
    for file, why in whys.items():
        done = tally("--exact", "--kernel", str(file), "--", "true")
        assert (done.returncode, done.stdout) == (126, "")
        assert done.stderr.startswith(f"tally: {file}{why}")
        assert done.stderr.count("\n") == 1
