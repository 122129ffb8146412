"""tally -w: planted waits, whose causes, numbers and least lengths are known.

The device itself is checked by guest/waits.c.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.guest import Guest
from harness.page import Page
from tally import ROOT
from tally.boot.machine import Machine
from tally.verify.machines import ALL, TOGETHER, Machines

FOLDER = Path(__file__).parent / "waits"
PLANTED, BRANCHES = FOLDER / "planted.c", FOLDER / "branches.c"
STAGES = ROOT / "examples" / "stages.c"
SEEDS = (0, 1, 2) if ALL else (0, 1)  # of what is planted
TICK = 10.0  # ms: a deadline is noticed at the first tick after it
LATE = 100.0  # ms from a call until it sleeps, on a busy host

ROW = re.compile(r" *([\d.]+) +(\d+) +([\d.]+) +([\d.]+|-) (?: *([\d.]+) )?(.*)")


class Row(NamedTuple):
    """Of either table; times are in milliseconds."""

    total: float
    count: int
    longest: float
    at: float
    ran: float
    what: str
    calls: list[str]
    kernel: list[str]
    woken: dict[str, int]


class Report(NamedTuple):
    seconds: float
    records: int
    lost: int
    waits: list[Row]
    runnable: list[Row]

    def by(self, *functions: str) -> Row:
        """The only row whose calls contain these, one after the other."""
        calls = " < ".join(functions)
        (row,) = [r for r in self.waits if calls in " < ".join(r.calls)]
        return row


def rows(text: str, runnable: bool) -> list[Row]:
    found: list[Row] = []
    for line in text.splitlines()[1:]:
        row = ROW.fullmatch(line)
        mode, _, rest = line.strip().partition(" ")
        if row and line[10] in "0123456789":
            total, count, longest, at, ran, what = row.groups()
            assert (ran is not None) == runnable, line
            times = float(longest), 0.0 if at == "-" else float(at), float(ran or 0)
            found.append(Row(float(total), int(count), *times, what, [], [], {}))
        elif mode in ("in", "kernel"):
            names = found[-1].calls if mode == "in" else found[-1].kernel
            names += rest.split(" < ")
        else:
            assert line.strip().startswith(("woken by", "held by")), line
            for one in rest.removeprefix("by").split(", "):
                who, _, count = one.strip().rpartition(" ")
                found[-1].woken[who] = int(count)
    return found


def parse(text: str) -> Report:
    head, *tables = text.split("\n\n")
    numbers = re.search(r"^([\d.]+) s, (\d+) records of waits, (\d+) waits lost",
                        head, re.M)
    assert numbers, head
    waits = [t for t in tables if "waiting for\n" in t]
    others = [t for t in tables if "runnable, not running\n" in t]
    return Report(float(numbers[1]), int(numbers[2]), int(numbers[3]),
                  rows(waits[0], False) if waits else [],
                  rows(others[0], True) if others else [])


def test_a_report_is_read() -> None:
    """Of this file's own code."""
    report = parse(
        "x\n1.500 s, 2 records of waits, 0 waits lost\n\n"
        "         ms   count    longest          at waiting for\n"
        "   1200.000      40     34.000       2.700 poll [x 3]\n"
        "            in poll < f < main\n            kernel poll_wait < sys_ppoll\n"
        "            woken by a timeout 39, f [x 3] 1\n\n"
        "         ms   count    longest          at         ran runnable, not running\n"
        "      0.000       0      0.000           -      43.112 x 3\n"
    )
    assert report.by("f", "main") == Row(
        1200.0, 40, 34.0, 2.7, 0.0, "poll [x 3]", ["poll", "f", "main"],
        ["poll_wait", "sys_ppoll"], {"a timeout": 39, "f [x 3]": 1})
    assert report.runnable[0].ran == 43.112


class Plan(NamedTuple):
    """What a seed makes of planted.c: other names, numbers and lengths."""

    names: dict[str, str]
    times: int
    each: int
    long: int

    @classmethod
    def of(cls, seed: int) -> Plan:
        pick = random.Random(seed)
        old = ("poll_wait", "reconnect", "work", "ledger", "book", "fight",
               "slow_child", "take_orders")
        names = {n: f"{n[::-1]}_{pick.randrange(1000)}" if seed else n for n in old}
        if not seed:
            return cls(names, 40, 27, 407)
        return cls(names, pick.randrange(9, 50), pick.randrange(12, 45),
                   pick.randrange(300, 700))

    def write(self, folder: Path) -> None:
        text = PLANTED.read_text()
        for old, new in self.names.items():
            text = re.sub(rf"\b{old}\b", new, text)
        text = text.replace("i < 40", f"i < {self.times}")
        text = text.replace("0, 27)", f"0, {self.each})")
        text = text.replace("0, 407)", f"0, {self.long})")
        (folder / "planted.c").write_text(text)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.machines(TOGETHER)
def test_planted(guest: Guest, machine: Machine, tmp_path: Path, seed: int) -> None:
    plan = Plan.of(seed)
    plan.write(tmp_path)
    report = parse(guest("tally -w planted", extra=tmp_path).out)
    name = plan.names
    assert report.lost == 0

    naps = report.by(name["poll_wait"], name["work"])
    assert naps.woken == {"a timeout": naps.count}
    late = 0.0
    if machine.icount is None:  # a nap may be over before it begins
        late = LATE + (plan.times - naps.count) * plan.each
    assert plan.times - 3 * bool(late) <= naps.count <= plan.times
    assert naps.total >= plan.times * plan.each - late
    assert naps.longest >= plan.each - late
    assert naps.kernel[0] == "poll_wait" and naps.kernel[-1] == "sys_ppoll"
    once = report.by(name["reconnect"])
    assert once.count == 1 and once.total == once.longest >= plan.long - late
    assert once.at >= naps.total  # it comes after the naps
    if machine.icount is not None and machine.harts == 1:
        assert naps.longest <= plan.each + TICK + 1
        assert once.longest <= plan.long + TICK + 1

    mutex = report.by("pthread_mutex_lock", name["book"])
    assert mutex.what.startswith(f"futex {name['ledger']} [planted")
    assert sum(mutex.woken.values()) == mutex.count >= 5
    assert all(who.startswith("pthread_mutex_unlock [planted ") for who in mutex.woken)

    pipe = report.by("read", name["take_orders"])
    assert pipe.what.startswith("bytes in pipe ") and pipe.total >= 140 - late
    (who,) = pipe.woken
    assert who.startswith(f"{name['slow_child']} [planted ")
    # Nothing is left out: the main thread slept, was runnable or ran.
    totals = [r.total for r in report.waits]
    assert totals == sorted(totals, reverse=True)
    assert all(r.total <= r.count * report.seconds * 1000 for r in report.waits)


@pytest.mark.machines("1")
def test_one_process_adds_up(guest: Guest) -> None:
    """On one hart: what a single-threaded command did from its start to its end
    is nearly all of the time; the rest is tally's."""
    report = parse(guest("tally -w sleep 1.3; :").out)
    spent = sum(r.total for r in report.waits) + sum(
        r.total + r.ran for r in report.runnable)
    assert 0 <= report.seconds * 1000 - spent < 25
    (sleep,) = [r for r in report.waits if r.what.startswith("sleep [sleep ")]
    assert 1300 <= sleep.total <= 1300 + TICK + 1


@pytest.mark.machines(TOGETHER)
def test_the_bottleneck_never_waits(guest: Guest, tmp_path: Path) -> None:
    """Of a pipeline of three, the one in the middle; the others wait for it."""
    shutil.copy(STAGES, tmp_path)
    report = parse(guest("tally -w stages 12", extra=tmp_path).out)
    first, last = report.by("write", "produce"), report.by("read", "consume")
    assert first.what.startswith("room in pipe") and first.total > 200
    assert last.what.startswith("bytes in pipe") and last.total > 200
    (refine,) = [who for who in first.woken if who.startswith("refine [stages ")]
    process = refine.removeprefix("refine ")
    assert all(who.endswith(process) for who in {**first.woken, **last.woken})
    middle = sum(r.total for r in report.waits if "refine" in r.calls)
    assert middle < first.total / 4 and middle < last.total / 4


class Piece(NamedTuple):
    """A row of the critical path; times are in milliseconds."""

    time: float
    share: float
    count: int
    saves: float
    what: str
    calls: str


def path_of(text: str) -> tuple[float, list[Piece]]:
    total, table = re.search(
        r"\n +ms +share +count +saves critical path: ([\d.]+) ms\n((?: .*\n)*)", text
    ).groups()
    row = r" +([\d.]+) +([\d.]+)% +(\d+) +([\d.]+) (.*)\n(?: {12}in (.*)\n)?"
    assert re.fullmatch(f"(?:{row})*", table), table
    pieces = [
        Piece(float(time), float(share), int(count), float(saves), *rest)
        for time, share, count, saves, *rest in re.findall(row, table)
    ]
    return float(total), pieces


def assert_path(total: float, pieces: list[Piece]) -> None:
    """What holds of each, if all rows are shown."""
    assert abs(sum(p.time for p in pieces) - total) < 0.001 * (len(pieces) + 1)
    assert all(abs(p.share - 100 * p.time / total) < 0.06 for p in pieces)
    assert all(0 <= p.saves <= p.time + 0.001 and p.count > 0 for p in pieces)
    times = [p.time for p in pieces]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.machines(TOGETHER)
def test_critical_path(
    guest: Guest, machine: Machine, tmp_path: Path, seed: int
) -> None:
    """It goes the longer way; and if a piece of that were gone, the other way would
    soon be as long."""
    pick = random.Random(seed)
    after, long = 90 + 40 * seed, 210 + pick.randrange(100) * bool(seed)
    short = 130 + pick.randrange(60) * bool(seed)
    text = BRANCHES.read_text()
    for name, ms in (("SHORT", short), ("LONG", long), ("AFTER", after)):
        text = re.sub(rf"(#define {name}) +\d+", rf"\1 {ms}", text)
    (tmp_path / "branches.c").write_text(text)
    text = guest("tally -n 99 -w branches", extra=tmp_path).out
    total, pieces = path_of(text)
    assert_path(total, pieces)
    naps = {p.calls.split(" < ")[1]: p for p in pieces if p.what.startswith("poll [")}
    if machine.icount is None:  # which way takes longer is the host's affair
        assert "after_it" in naps and naps.keys() <= {"long_way", "short_way", "after_it"}
        return
    assert set(naps) == {"long_way", "after_it"}
    # It may wait for its hart's turn before it sleeps: a millisecond for each other.
    late = machine.harts - 1.0
    assert naps["long_way"].time >= long - late
    assert naps["after_it"].time >= after - late
    # The rest takes little, and that all of it is on the path isn't sure.
    other = parse(text).by("short_way").total
    rest = total - sum(p.time for p in naps.values())
    assert rest < 25
    for nap in naps.values():
        saved = min(nap.time, total - rest - other)
        assert abs(saved - nap.saves) <= rest


@pytest.mark.machines(Machines(("4", "free-8"), ("1", "2", "8", "races", "free")))
def test_a_stage_that_computes_is_the_path(
    guest: Guest, machine: Machine, tmp_path: Path
) -> None:
    """Of a pipeline of three: who waits is not on it. While it waits for its turn
    among harts that share one clock it runs."""
    shutil.copy(STAGES, tmp_path)
    command = "tally -n 99 -w stages 12"
    if machine.harts > 1:  # or one hart has all turns
        command = f"while :; do :; done & {command}; kill $!"
    total, pieces = path_of(guest(command, extra=tmp_path).out)
    assert_path(total, pieces)
    assert pieces[0].what.startswith("running, ") and " [stages " in pieces[0].what
    runnable = sum(p.time for p in pieces if p.what.startswith("runnable"))
    if machine.icount is not None:
        assert pieces[0].saves > 0.3 * total
    if machine.icount is not None and machine.harts > 2:
        assert runnable < 0.05 * total
    assert not any(p.what.startswith(("bytes in", "room in")) for p in pieces)


@pytest.mark.machines("4")
def test_more_than_the_order_holds(guest: Guest, tmp_path: Path) -> None:
    shutil.copy(FOLDER / "pingpong.c", tmp_path)
    text = guest("tally -w pingpong", extra=tmp_path).out
    assert text.endswith("\ncritical path: unknown: it has more waits than the device"
                         " can store\n")


@pytest.mark.machines("4")
def test_many_short_processes(guest: Guest) -> None:
    """They are one row of their program."""
    loop = "for i in 1 2 3 4 5 6 7 8; do sleep 0.02; sleep 0.03; done"
    report = parse(guest(f"tally -n 3 -u -w sh -c '{loop}'").out)
    assert len(report.waits) == 2 and len(report.runnable) <= 3
    shell, sleeps = report.waits
    assert shell.what.startswith("a child [sh") and shell.count == 16
    assert sleeps.what == "sleep [sleep, 16 processes]" and sleeps.count == 16
    assert not sleeps.kernel and sleeps.calls[-1] == "_start"
    assert 400 <= sleeps.total <= shell.total


@pytest.mark.machines("4")
def test_the_hosts_folder(guest: Guest, tmp_path: Path) -> None:
    """Which requests the host has answered at once is its own affair, so it is
    asked for more until there is one for which the command had to sleep."""
    (tmp_path / "data").write_bytes(bytes(4 << 20))
    disk: list[Row] = []
    for _ in range(50):
        text = guest("tally -w -k -o /tmp/r cat /host/data >/dev/null; cat /tmp/r",
                     share=str(tmp_path)).out
        disk += [r for r in parse(text).waits if r.what.startswith("/host [")]
        if disk:
            break
    assert disk and all(set(r.woken) == {"an interrupt"} for r in disk)
    assert all("p9_call" in r.kernel for r in disk)
    assert not any(r.calls for r in disk)


@pytest.mark.machines("races")
def test_spinlocks(guest: Guest) -> None:
    """-k: with the place that wanted the lock, and the one that had taken it. Turns
    end at random moments, also while locks are held."""
    loop = "i=0; while [ $i -lt 40 ]; do i=$((i+1)); (:); done"
    text = guest("echo hz 20000 >/dev/profclock; "
                 f"tally -n 99 -k -w sh -c '({loop}) & ({loop}) & ({loop}) & {loop}; "
                 "wait'; head -n 1 /dev/waitctl").out
    spins = re.findall(r" spinlock (\S.*) \[kernel\]\n +kernel (\w+)\n +held by (.*)\n",
                       text)
    assert spins and text.endswith("\noff\n")
    for _, wanted, held in spins:
        assert wanted != "?" and re.fullmatch(r"\w+ \d+(, \w+ \d+)*", held)


@pytest.mark.machines("4")
def test_no_room(guest: Guest) -> None:
    """Too many different waits: what was lost is said."""
    work = "ls | sort | uniq; ls | sort | cat; sleep 0.1; ls /bin | cat"
    text = guest(f"echo room 16 >/dev/waitctl; tally -o /tmp/r -w sh -c '{work}' "
                 ">/dev/null; cat /tmp/r").out
    report = parse(text)
    assert report.records == 16 and report.lost > 0
    assert re.search(r"lost \(\d+\.\d{3} ms\)", text)


def test_it_is_turned_off(guest: Guest) -> None:
    """Whatever becomes of the command."""
    result = guest("tally -w nosuch; echo $?; tally -w sh -c 'kill -9 $$' >/dev/null; "
                   "echo $?; head -n 1 /dev/waitctl")
    assert [line for line in result.out.splitlines() if line in ("127", "137", "off")
            ] == ["127", "137", "off"]


def test_somebody_else(guest: Guest) -> None:
    result = guest("echo start >/dev/waitctl; tally -w true; echo $?; "
                   "head -n 1 /dev/waitctl")
    assert result.out == "1\non\n"
    assert result.err == "tally: /dev/waitctl: another program is recording waits\n"


def on_host(*words: str) -> subprocess.CompletedProcess:
    command = [str(ROOT / "scripts" / "tally"), "--waits", *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_on_the_host(tmp_path: Path) -> None:
    """scripts/tally --waits: the command's output and status, and the same page."""
    shutil.copy(PLANTED, tmp_path)
    command = "echo it began; planted; exit 3"
    run = on_host("--extra", str(tmp_path), "--", command)
    assert (run.returncode, run.stderr) == (3, "")
    began, page = run.stdout.split("\n", 1)
    assert began == "it began" and page.startswith(f"{command}\n")
    assert parse(page).by("poll_wait", "work", "main").count == 40


def test_in_a_page_for_a_browser(tmp_path: Path) -> None:
    """With samples beside them, and where each call is in the source."""
    source = tmp_path / "src"
    source.mkdir()
    shutil.copy(PLANTED, source)
    file = tmp_path / "x.html"
    run = on_host("--harts", "1", "--icount", "3", "--extra", str(source),
                  "-o", str(file), "--", "planted; exit 3")
    assert (run.returncode, run.stderr) == (3, "")
    assert "samples, at 1000 Hz" in run.stdout
    data = Page(file.read_bytes()).data
    rows = {calls[1][0]: row for row in data["waits"]["rows"]
            for calls in [row[3]] if len(calls) > 1}
    what, who, _, user, kernel, total, count, longest, *_ = rows["poll_wait"]
    # What is recorded wakes up all who poll now and then.
    assert what == "poll" and 40 <= count < 50 and who.startswith("planted ")
    assert total >= 40 * 27 and longest >= 27
    number = 1 + PLANTED.read_text().splitlines().index("\t\tpoll(NULL, 0, 27);")
    assert user[1] == ["poll_wait", f"{source / 'planted.c'}:{number}"]
    assert kernel[0][0] == "poll_wait" and kernel[0][1].startswith("kernel/sched/poll.c:")
    assert 407 <= rows["reconnect"][5] < 407 + 2 * TICK
    (mutex,) = [r for r in data["waits"]["rows"] if r[0] == "futex ledger"]
    assert mutex[6] == sum(n for _, n in mutex[9]) >= 5
    assert all(name.startswith("pthread_mutex_unlock [planted ") for name, _ in mutex[9])


@pytest.mark.parametrize("words, said", [
    (["-o", "x.svg", "--", "true"], "-o x.svg: --waits can write only a page"),
    (["-o", "x.html", "--from", "1", "--", "true"], "--waits can't be combined "),
    (["-r", "50", "--", "true"], "--waits can't be combined "),
    (["--inline", "--", "true"], "--waits can't be combined "),
    (["--exact", "--", "true"], "--waits can't be combined "),
    (["--", "poweroff"], "no report of waits: the machine ended without writing one"),
])
def test_nothing_on_the_host(words: list[str], said: str) -> None:
    run = on_host(*words)
    assert run.returncode and not run.stdout
    assert run.stderr.startswith(f"tally: {said}") and run.stderr.count("\n") == 1
