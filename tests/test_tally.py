"""tally and tprof: what they tell of samples known in advance, and of real ones.

Their options and errors are in tests/commands.
"""

from __future__ import annotations

import re
from typing import Callable

import pytest
from elftools.elf.elffile import ELFFile

from harness.console import Console
from harness.guest import Guest, Images
from harness.kernel_image import KernelImage
from tally.build import image
from tally.verify import machines

HOLD = "echo hold >/dev/profclock\n"
CLOCK = "hz 100\njitter off\n"


TURNS = "the harts take turns (-icount): elapsed time is the sum of their turns\n"
FREE = "the harts run freely (no -icount): times and shares reflect QEMU's speed\n"


def sample(mode: str, pid: object, pc: int, count: int) -> str:
    return f"echo sample {mode} 0 {pid} 0 {pc:#x} {count} >/dev/profclock\n"


def user_function(program: str, name: str) -> int:
    with open(image.BUILD / "bin" / program, "rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        (symbol,) = table.get_symbol_by_name(name)
        return symbol["st_value"]


def masked(report: str) -> str:
    """Without how long it took, pids that aren't known, and harts that did
    nothing."""
    report = re.sub(r"^\d+\.\d{3} s", "T s", report, flags=re.M)
    report = report.replace(TURNS, "")
    report = re.sub(r"^ +\d+ +0( +0\.0){4} \n", "", report, flags=re.M)
    return re.sub(r"\b(sh|yes|tprof) \d+", r"\1 PID", report)


def free(guest: Guest) -> bool:
    return guest.machine.icount is None


@pytest.fixture(scope="module")
def kernel(images: Images) -> KernelImage:
    return KernelImage(images)


# --- Made-up samples ---------------------------------------------------------


@pytest.mark.machines(machines.CLOCK)
def test_report(
    guest: Guest, kernel: KernelImage, expected: Callable[[str, str], None]
) -> None:
    """Of the command, of a process that lives, of one that does not. An interval
    has a share of ten samples or more, on a machine that counts instructions."""
    read, copy = kernel.symbol("sys_read"), kernel.symbol("memcpy")
    init, sh = user_function("init", "main"), user_function("sh", "main")
    work = [
        sample("user", "$$", sh, 200),
        sample("user", "$$", sh + 2, 100),
        sample("kernel", "$$", read, 60),
        sample("kernel", 1, read + 4, 20),
        sample("kernel", 1, kernel.symbol("etext"), 9),
        sample("user", 1, init, 50),
        sample("user", 1, 0, 10),
        sample("user", 32000, init, 11),
        sample("intr", 0, copy, 30),
        sample("idle", 0, read, 120),
        "echo out; exit 7\n",
    ]
    lines = "".join(work)
    result = guest(
        f"{HOLD}cat >/tmp/w <<'end'\n{lines}end\n"
        "tally sh /tmp/w; echo $?; echo; tally -n 1 -u sh /tmp/w\n"
        "echo; tally -n 2 -k -r 50 sh /tmp/w"
    )
    assert result.err == ""
    expected("tally-free.txt" if free(guest) else "tally.txt", masked(result.out))


@pytest.mark.machines(machines.CLOCK)
def test_tprof_report(guest: Guest, expected: Callable[[str, str], None]) -> None:
    """Only the process's own samples, in user mode."""
    main, write = (user_function("yes", f) for f in ("main", "out_bytes"))
    armed = "until grep -q 'requests list' /dev/pcstat; do :; done\n"
    result = guest(
        f"{HOLD}yes | (read line; sleep 1000) & ps >/tmp/ps\n"
        "until ps | grep -q ' yes$'; do :; done\n"
        "set -- $(ps | grep ' yes$'); yes=$1\n"
        f"tprof $yes 1000 & tprof=$!; {armed}"
        + sample("user", "$yes", write, 30)
        + sample("user", "$yes", main, 40)
        + sample("user", "$yes", main + 2, 25)
        + sample("user", "$yes", 0, 5)
        + sample("user", 1, main, 50)
        + sample("kernel", "$yes", main, 50)
        + "kill $tprof; wait $tprof; echo $?; kill $yes"
    )
    assert result.err == ""
    expected("tprof.txt", masked(result.out))


def test_a_sleeper_is_seen(guest: Guest) -> None:
    """It works just after each tick, where a clock without jitter doesn't look: so
    tprof's has jitter, and getpc's. At their end the clock is as it was."""
    work = "while :; do sleep 0.01; for i in $(seq 20); do :; done; done"
    result = guest(
        f"sh -c '{work}' & tprof $! 3; cat /dev/profclock\n"
        "getpc -o /tmp/s cat /dev/profclock; cat /dev/profclock\n"
        "getpc -m -o /tmp/s cat /dev/profclock; echo jitter on >/dev/profclock\n"
        "getpc -o /tmp/s true; cat /dev/profclock",
        harts=1,
    )
    seen = re.match(r"sh \d+: (\d+) samples in user mode\n", result.out)
    assert seen and int(seen[1]) > 20
    assert re.findall(r"^jitter (\w+)$", result.out, re.M) == [
        "off", "on", "off", "off", "on",
    ]


def test_what_is_lost_is_told(guest: Guest) -> None:
    """tally is stopped, and has ten buffers of 63 for a thousand samples."""
    stop = "kill -STOP $PPID; until ps | grep -q ' T .* tally$'; do :; done\n"
    work = stop + sample("user", 1, 4, 1000) + "kill -CONT $PPID\n"
    result = guest(f"{HOLD}cat >/tmp/w <<'end'\n{work}end\ntally sh /tmp/w")
    assert " Hz, 630 samples, 370 lost (37.0 % of all), 0 skipped\n" in result.out
    assert "     630   100.0 99.3 to 100.0 ############ user\n" in result.out
    assert result.err == ""


@pytest.mark.machines("1", "4", "free")
def test_what_the_time_is(guest: Guest) -> None:
    """Of harts in turn, no measure of what several are good for; of a machine that
    runs freely, not that of instructions, so that no interval is given."""
    out = guest("tally true").out
    assert (TURNS in out) == (not free(guest) and guest.machine.harts > 1)
    assert (FREE in out) == free(guest)
    assert ("95 % interval" in out) == (not free(guest))


def test_names(guest: Guest) -> None:
    """A process may be sampled before it was looked at, or have ended."""
    sh, sleep = (user_function(program, "main") for program in ("sh", "sleep"))
    first = sample("user", "$$", sh, 63) + "sleep 1\n"
    late = "sleep 1 & pid=$!; wait; " + sample("user", "$pid", sleep, 62)
    result = guest(
        f"{HOLD}cat >/tmp/first <<'end'\n{first}end\n"
        f"cat >/tmp/w <<'end'\nsh /tmp/first & wait\n{late}end\ntally sh /tmp/w"
    )
    told = part(result.out, " function")
    names = [(hits, re.sub(r"\d+", "PID", f)) for hits, f in told]
    assert names == [(63, "main [sh PID]"), (62, "main [sleep PID]")]


def test_processes_by_program(guest: Guest) -> None:
    """Many that live shortly are one line, and have their functions; a script has
    its own name. Other processes' samples come in between."""
    result = guest(
        "printf 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do ls -l /bin >/dev/null; "
        "done' >/tmp/w; printf '#!/bin/sh\n. /tmp/w\n. /tmp/w\n' >/tmp/script; "
        "chmod +x /tmp/script; tally -r 20000 sh -c '/tmp/script & sh /tmp/w; wait'",
        limit=600.0,
    )
    rows = [row for _, row in part(result.out, " process")]
    assert any(row.startswith("ls, 36 processes") for row in rows), rows
    assert any(row.startswith("script") for row in rows), rows
    assert not any(row.startswith("process") for row in rows)  # each is known
    assert "[ls, 36 processes]" in result.out


def test_many_places(guest: Guest) -> None:
    """More than the table of pcs begins with, and each is found again."""
    loop = (
        "i=0; while [ $i -lt 1500 ]; do echo sample user 0 1 0 $((i * 8)) "
        ">/dev/profclock; i=$((i + 1)); done"
    )
    result = guest(f"{HOLD}tally sh -c '{loop}; {loop}'", limit=600.0)
    assert " 3000 samples, 0 lost, 0 skipped\n" in result.out
    functions = re.findall(r"^ +(\d+) .* \[init 1\]$", result.out, re.M)
    assert len(functions) < 20  # all are shown
    assert sum(map(int, functions)) == 3000


# --- Real ones ---------------------------------------------------------------


def part(report: str, title: str) -> list[tuple[int, str]]:
    """The rows of a table: hits, and the text."""
    (table,) = [t for t in report.split("\n\n") if t.partition("\n")[0].endswith(title)]
    row = r" *(\d+) +[\d.]+(?: +[\d.]+ to +[\d.]+)? +#* *(.*)"
    rows = [re.match(row, line) for line in table.splitlines()[1:]]
    return [(int(row[1]), row[2]) for row in rows]


@pytest.mark.machines("1", "4", "free")
def test_account(guest: Guest) -> None:
    """All samples are told, each once; who works is known by name."""
    work = f"{machines.words(60_000)} | sort | uniq -c >/tmp/words"
    result = guest(f"tally -n 9999 sh -c '{work}'; head -n 2 /dev/profclock", limit=600)
    assert result.err == ""
    assert result.out.endswith(CLOCK)
    report = result.out[: -len(CLOCK)]
    total = int(re.search(r" Hz, (\d+) samples", report)[1])
    times = part(report, "time")
    assert sum(hits for hits, _ in times) == total
    harts = re.findall(r"^ +\d +(\d+)(?: +[\d.]+){4} [uki.]*$", report, re.M)
    assert sum(map(int, harts)) == total
    busy = sum(hits for hits, state in times if state != "idle")
    assert sum(hits for hits, _ in part(report, " function")) == busy
    assert sum(hits for hits, _ in part(report, " process")) == busy
    assert re.fullmatch(r"sort \d+, in the kernel \d+", part(report, " process")[0][1])
    assert re.search(r"^ +\d+ .* merge_sort \[sort \d+\]$", report, re.M)


@pytest.mark.machines("2", "4")
def test_terminated_as_it_starts(guest: Guest) -> None:
    """Its command ends with it, also one that isn't executed yet."""
    result = guest(
        "for i in $(seq 40); do tally -o /tmp/f sleep 1000 &\n"
        "until grep -q 'hz 1000' /dev/profclock; do :; done\n"
        "seq $((i * 5)) >/dev/null; kill $!; wait $!; echo $?; done | uniq -c"
    )
    assert result.out.split() == ["40", "143"], result.err


# --- At a terminal -----------------------------------------------------------


def frame(console: Console) -> str:
    """What -t shows, whole."""
    console.expect("\x1b\\[H\x1b\\[2J")
    return console.expect(r"(?=\x1b\[H\x1b\[2J)")


def test_live(console: Console) -> None:
    console.run("yes >/dev/null &")
    console.send("tally -t -n 3\r")
    seen = [frame(console) for _ in range(2)]
    console.send("q")
    console.wait()
    for text in seen:
        title, _, head, *rest = text.splitlines()
        assert re.fullmatch(r"tally: \d+ samples, \d+ lost.*, \d+ skipped.*; q quits", title)
        assert head == "hart  samples   user kernel   intr   idle"
        assert [row.split()[0] for row in rest[:4]] == ["0", "1", "2", "3"]
        bars = "".join(row.split()[-1] for row in rest[:4])
        assert bars.count("u") + bars.count("k") > 20, text
        assert rest[5].endswith("function")
        assert re.search(r"\[yes \d+\]$", rest[6])
        assert len(rest) == 9
        assert max(map(len, text.splitlines())) < 80
    assert console.run("echo $?; head -n 2 /dev/profclock") == "0\n" + CLOCK.rstrip()
    # So many seconds, and another clock.
    shown = console.run("tally -t -r 100 2")
    assert shown.count("\x1b[H\x1b[2J") == 2
    assert console.run("head -n 2 /dev/profclock") == CLOCK.rstrip()
    assert console.poweroff() == 0


def test_interrupts(console: Console) -> None:
    """Ctrl-C ends the view, and the command, and the clock is as it was."""
    console.send("tally -t\r")
    frame(console)
    console.control("c")
    console.wait()
    assert console.run("echo $?; head -n 2 /dev/profclock") == "0\n" + CLOCK.rstrip()
    console.send("tally sh -c 'echo re''ady; sleep 1000'\r")
    console.expect("\nready")
    console.control("c")
    assert re.search(r" Hz, \d+ samples, 0 lost, \d+ skipped", console.wait())
    assert console.run("echo $?; head -n 2 /dev/profclock") == "130\n" + CLOCK.rstrip()
    # What is typed is shown again, and is a line, before the shell's editor
    # changes the terminal's settings itself.
    console.send("tally -t; echo re''ady; cat\r")
    frame(console)
    console.send("q")
    console.expect("\nready")
    console.send("line\r")
    console.expect(r"\nline\s+line\s")
    console.control("d")
    console.wait()
    assert console.poweroff() == 0
