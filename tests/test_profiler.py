"""profiler(8): prfld, prfstat, prfsnap, prfdc and prfpr.

What each does on a prompt is in commands/; the device itself is tested by
test_prf.py. A log's records are of known counters: real samples are held, and
synthetic ones take their place.
"""

from __future__ import annotations

import bisect
import random
import re
import struct
from pathlib import Path
from typing import Callable, Iterable

import pytest

from harness import elf
from harness.guest import Guest, Images
from harness.kernel_image import KernelImage
from tally.verify.machines import MADE, Machines

ROOT = Path(__file__).parents[1]
HOLD = "echo hold >/dev/profclock\n"
DAY = 24 * 60 * 60


def words(values: Iterable[int]) -> bytes:
    values = list(values)
    return struct.pack(f"<{len(values)}Q", *values)


def sample(mode: str, pc: int, count: int) -> str:
    return f"echo sample {mode} 0 0 0 {pc:#x} {count} >/dev/profclock\n"


@pytest.fixture(scope="module")
def kernel(images: Images) -> KernelImage:
    return KernelImage(images)


def table_of(kernel: KernelImage) -> list[int]:
    """What prfld loads: 0, and the functions' addresses."""
    symbols = kernel.elf.get_section_by_name(".symtab").iter_symbols()
    functions = {s["st_value"] for s in symbols if s["st_info"]["type"] == "STT_FUNC"}
    return [0, *sorted(functions)]


class Log:
    """A log's bytes, taken apart."""

    def __init__(self, data: bytes) -> None:
        n = struct.unpack_from("<Q", data)[0]
        all_words = struct.unpack(f"<{len(data) // 8}Q", data)
        assert len(data) % 8 == 0 and (len(all_words) - 1 - n) % (n + 3) == 0
        self.addresses = list(all_words[1 : 1 + n])
        rest = all_words[1 + n :]
        records = [rest[i : i + n + 3] for i in range(0, len(rest), n + 3)]
        self.times = [record[0] for record in records]
        self.counters = [list(record[1:]) for record in records]


# --- Loading, collecting -----------------------------------------------------


@pytest.mark.machines(Machines(("8",), ("1", "free", "no-sstc")))
def test_every_byte_of_a_log(guest: Guest, kernel: KernelImage) -> None:
    """PRFLD: the kernel's functions. PRFSNAP: one log, a record each time."""
    table = table_of(kernel)
    wanted = [0] * (len(table) + 2)
    choose = random.Random(1)
    made = ""
    first = list(wanted)
    for count in range(1, 40):
        pc = choose.choice(kernel.text)
        wanted[bisect.bisect_right(table, pc) - 1] += count
        made += sample(choose.choice(["kernel", "intr"]), pc, count)
    wanted[-2:] = [41, 70_000]
    made += sample("user", 0x10000, 41) + sample("idle", kernel.text[0], 70_000)
    result = guest(
        HOLD + "prfld; date +%s >&2; prfsnap log\n"
        f"{made}prfsnap log; date +%s >&2; prfsnap log; prfstat >&2; cat log"
    )
    before, after, *stat = result.err.splitlines()
    assert stat == ["profiling enabled", f"{len(table)} addresses loaded"]
    log = Log(result.stdout)
    assert log.addresses == table
    assert log.counters == [first, wanted, wanted]
    assert int(before) <= log.times[0] <= log.times[1] <= int(after)


def test_a_hart_of_its_own(guest: Guest) -> None:
    """-f: another device, of which the others see nothing."""
    result = guest(
        HOLD + "prfld -f /dev/prf1; prfsnap -f /dev/prf1 log\n"
        "echo sample user 0 0 0 0 3 >/dev/profclock\n"
        "echo sample user 1 0 0 0 5 >/dev/profclock\n"
        "prfsnap -f /dev/prf1 log; cat log\n"
        "(prfstat -f /dev/prf1 off; prfstat; prfstat -f /dev/prf0) >&2\n"
    )
    assert [counters[-2] for counters in Log(result.stdout).counters] == [0, 5]
    lines = result.err.splitlines()
    assert lines[0::2] == ["profiling disabled"] * 3
    assert lines[3::2] == ["0 addresses loaded"] * 2


def test_the_kernels_functions_only_once(guest: Guest, tmp_path: Path) -> None:
    """In order, whatever the order of the symbols; aliases are one."""
    functions = {"late": 0x3000, "early": 0x1000, "alias": 0x1000, "middle": 0x2000}
    (tmp_path / "made").write_bytes(elf.kernel(functions))
    result = guest("prfld /extra/made; head -c 80 /dev/prf", extra=tmp_path)
    assert result.stdout == words([0, 0x1000, 0x2000, 0x3000] + [0] * 6)


def test_what_prfld_says(guest: Guest, tmp_path: Path) -> None:
    """ENOSPC, E2BIG and EBUSY in words. All leave what was loaded."""
    many = {f"f{i}": 0x1000 + 8 * i for i in range(20_000)}
    (tmp_path / "many").write_bytes(elf.kernel(many))
    (tmp_path / "fits").write_bytes(elf.kernel(dict(list(many.items())[:16382])))
    (tmp_path / "one").write_bytes(elf.kernel({"one": 0x1000}))
    (tmp_path / "user").write_bytes(elf.executable({"main": 0x1000}, {}))
    size = "; prfstat | tail -n 1"
    loaded = "16383 addresses loaded\n"
    wanted = {
        "prfld -f /dev/prf /extra/fits" + size: (loaded, ""),
        "prfld /extra/many" + size: (
            loaded,
            "prfld: /dev/prf: 20001 addresses are too many: the limit is 16383\n",
        ),
        "prfld /extra/one" + size: (
            loaded,
            "prfld: /dev/prf: 2 addresses are too few: 3 are needed\n",
        ),
        "prfstat on >/dev/null; prfld; echo $?" + size: (
            "1\n" + loaded,
            "prfld: /dev/prf: profiling is enabled: prfstat off disables it\n",
        ),
        "prfstat off >/dev/null; prfld /extra/user; echo $?" + size: (
            "1\n" + loaded,
            "prfld: /extra/user: not a kernel: no symbols text_start and etext\n",
        ),
    }
    results = guest.batch(wanted, extra=tmp_path)
    assert {r.command: (r.out, r.err) for r in results} == wanted


def test_a_log_of_other_addresses_is_left_alone(guest: Guest, tmp_path: Path) -> None:
    logs = {
        "other": words([4, 0, 0x1000, 0x2008, 0x3000]) + words([0] * 7),
        "fewer": words([3, 0, 0x1000, 0x2000]) + words([0] * 6),
        "text": b"this is not a log of anything\n",
        "torn": words([4, 0, 0x1000, 0x2000, 0x3000]) + words([0] * 8),
        "header": words([4, 0, 0x1000]),
        "byte": b"\4",
    }
    for name, data in logs.items():
        (tmp_path / name).write_bytes(data)
    functions = {"a": 0x1000, "b": 0x2000, "c": 0x3000}
    (tmp_path / "made").write_bytes(elf.kernel(functions))
    complaints = {
        "other": "its addresses differ from those loaded",
        "fewer": "its addresses differ from those loaded",
        "text": "not a prf log",
        "torn": "ends inside a record",
        "header": "ends inside its addresses",
        "byte": "not a prf log",
    }
    wanted = {
        f"prfld /extra/made; cp /extra/{name} log; prfsnap log || cmp log /extra/{name}"
        "; prfstat | head -n 1": ("profiling disabled\n", f"prfsnap: log: {text}\n")
        for name, text in complaints.items()
    }
    results = guest.batch(wanted, extra=tmp_path)
    assert {r.command: (r.out, r.err) for r in results} == wanted


# --- prfdc -------------------------------------------------------------------

RECORDS = "[ -s log ] && [ $(prfpr log 2>/dev/null | grep -c ' to ') -ge {} ]"


def until_records(count: int) -> str:
    """Wait until a log has more records than that."""
    return f"until {RECORDS.format(count)}; do sleep 0.1; done\n"


@pytest.mark.machines(Machines(("1", "free"), ("4",)))
@pytest.mark.parametrize("signal", ["HUP", "INT", "TERM"])
def test_prfdc_until_a_signal(guest: Guest, signal: str) -> None:
    """A record at once, one each period, and one at the end."""
    result = guest(
        # A shell's background commands ignore INT.
        f"prfld; (trap - INT; exec prfdc log 0.005 24) &\n"
        + until_records(3)
        + HOLD
        + sample("user", 0, 1_000_000)
        + f"kill -s {signal} $!; wait $!; echo $? >&2; prfstat >&2; cat log"
    )
    status, stat, _ = result.err.splitlines()
    assert (status, stat) == ("0", "profiling enabled")
    log = Log(result.stdout)
    assert len(log.times) >= 5
    assert log.counters[0] == [0] * len(log.counters[0])
    assert log.counters[-1][-2] >= 1_000_000


@pytest.mark.machines("1", "4", "free")
def test_prfdc_long_before_its_period(guest: Guest) -> None:
    """A signal doesn't wait for the ten minutes to be over."""
    made = sample("user", 0, 5)
    result = guest(
        HOLD + "prfld; prfdc log &\nuntil [ -s log ]; do sleep 0.1; done\n"
        "until prfstat | grep -q enabled; do sleep 0.1; done\n"
        f"{made}kill $!; wait $!; cat log",
        limit=100.0,
    )
    assert [counters[-2] for counters in Log(result.stdout).counters] == [0, 5]


def test_prfdc_spares_what_is_ignored(guest: Guest) -> None:
    result = guest(
        "prfld; (trap '' HUP; exec prfdc log 0.005 24) &\n"
        "until [ -s log ]; do sleep 0.1; done\nkill -HUP $!\n"
        f"{until_records(5)}kill $!; wait $!"
    )
    assert result.status == 0


def test_prfdc_sleeps_by_time(guest: Guest) -> None:
    """Each record is a period after the one before, as long as that takes."""
    result = guest(
        f"prfld; prfdc log 0.05 24 &\n{until_records(6)}kill $!; wait $!; cat log"
    )
    times = Log(result.stdout).times[:-1]
    steps = [b - a for a, b in zip(times, times[1:])]
    assert steps == [3] * len(steps)


@pytest.mark.machines("1", "4", "free")
@pytest.mark.parametrize("seconds_before, hour", [(3, 17), (3, 0)])
def test_prfdc_until_its_hour(guest: Guest, seconds_before: int, hour: int) -> None:
    """A zone is made up in which it is soon that hour."""
    result = guest(
        "prfld; now=$(date +%s)\n"
        f"west=$(((now - ({hour * 3600 + DAY - seconds_before})) % {DAY}))\n"
        "export TZ=TST$((west / 3600)):$((west / 60 % 60)):$((west % 60))\n"
        f"prfdc log 0.1 {hour}; echo $((now + {seconds_before})) >&2; cat log"
    )
    log = Log(result.stdout)
    off = int(result.err)
    assert len(log.times) == 2
    assert log.times[0] < off <= log.times[1] <= off + 1


def test_prfdc_that_starts_after_its_hour(guest: Guest) -> None:
    """It goes on until that hour of the next day."""
    result = guest(
        "hour=$(date +%H); prfld; prfdc log 0.02 ${hour#0} &\n"
        f"{until_records(4)}kill $!; wait $!",
        limit=100.0,
    )
    assert (result.status, result.err) == (0, "")


def test_prfdc_when_other_addresses_are_loaded(guest: Guest, tmp_path: Path) -> None:
    """It ends, and what it wrote is whole."""
    (tmp_path / "made").write_bytes(elf.kernel({"a": 0x1000, "b": 0x2000}))
    result = guest(
        f"prfld; prfdc log 0.005 24 & {until_records(1)}"
        "prfstat off >/dev/null; prfld /extra/made; wait $!; echo $? >&2; cat log",
        extra=tmp_path,
    )
    error, status = result.err.splitlines()
    assert error == "prfdc: /dev/prf: other addresses were loaded meanwhile"
    assert status == "1"
    assert len(Log(result.stdout).addresses) > 3


# --- prfpr -------------------------------------------------------------------

FUNCTIONS = {"alpha": 0x1000, "beta": 0x2000, "gamma": 0x3000}
TABLE = [0, 0x1000, 0x2000, 0x2008, 0x3000]
START = 1_790_000_000


def log_bytes(table: list[int], *records: tuple[int, list[int]]) -> bytes:
    """A log of these times, and of counters that each record adds to."""
    sums = [0] * (len(table) + 2)
    data = words([len(table), *table])
    for time, added in records:
        sums = [a + b for a, b in zip(sums, added)]
        data += words([time, *sums])
    return data


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    good = log_bytes(
        TABLE,
        (START, [9, 9, 9, 9, 9, 9, 9]),
        (START + 600, [2, 500, 1, 20, 10, 167, 300]),  # of 1000: 1% is 10
        (START + 1200, [0] * 7),
        (START + 1800, [0, 0, 0, 0, 3, 0, 0]),
        (START + 2400, [0, 0, 0, 0, 0, 1, 2]),
    )
    back = log_bytes(TABLE, (1, [0] * 7), (2, [5] * 7), (3, [-1] * 7), (4, [1] * 7))
    one = log_bytes(TABLE, (START, [0] * 7))
    files = {
        "good": good,
        "back": back,
        "one": one,
        "none": log_bytes(TABLE),
        "torn": good[:-1],
        "torn1": one[:-8],
        "header": words([5, 0, 1]),
        "descends": words([3, 0, 2, 1]) + bytes(12 * 8),
        "huge": words([1 << 61, 0, 1]),
        "empty": b"",
        "text": b"hello, this is no log\n",
        "times": log_bytes(TABLE, (0, [0] * 7), (2**64 - 1, [1] * 7), (2**62, [1] * 7)),
        "kernel": elf.kernel(FUNCTIONS),
        "user": elf.executable(FUNCTIONS, {}),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def test_report(
    guest: Guest, logs: Path, expected: Callable[[str, str], None]
) -> None:
    commands = [
        "prfpr /extra/good 1 /extra/kernel",
        "prfpr /extra/good 0 /extra/kernel",
        "prfpr /extra/good 0.999 /extra/kernel | head -n 8",
        "prfpr /extra/good 50 /extra/kernel | head -n 5",
        "TZ=CET-1CEST prfpr /extra/good 100 /extra/kernel | head -n 1",
    ]
    results = guest.batch(commands, extra=logs)
    assert all((r.err, r.status) == ("", 0) for r in results)
    expected("prfpr.txt", "".join(f"$ {r.command}\n{r.out}" for r in results))


@pytest.mark.machines(MADE)
def test_report_of_this_kernel(guest: Guest, kernel: KernelImage) -> None:
    """Its own names, and the defaults for cutoff and namelist."""
    counts = {"sys_read": 128, "memcpy": 255, "clock_interrupt": 64}
    made = "".join(sample("kernel", kernel.symbol(f) + 4, counts[f]) for f in counts)
    made += sample("kernel", kernel.symbol("sys_write"), 10)  # too few to be shown
    made += sample("idle", kernel.symbol("idle_wait"), 420) + sample("user", 0, 123)
    result = guest(HOLD + f"prfld; prfsnap log\n{made}prfsnap log; prfpr log")
    times, *lines = result.out.splitlines()
    assert re.fullmatch(r"(.{24}) to (.{24})", times)
    order = sorted(counts, key=kernel.symbol)
    wanted = [f"{counts[f] / 10:6.2f} {f}" for f in order]
    assert lines == [*wanted, " 12.30 user", " 42.00 idle"]


def test_prfpr_errors(guest: Guest, logs: Path) -> None:
    foreign = "not a prf log"
    complaints = {
        "one": "needs two records, but has 1",
        "none": "needs two records, but has 0",
        "empty": "needs two records, but has 0",
        "torn1": "needs two records, but has 0\nprfpr: /extra/torn1: ends inside"
        " a record",
        "header": "ends inside its addresses",
        "descends": foreign,
        "huge": foreign,
        "text": foreign,
        "kernel": foreign,
        "no": "No such file or directory",
    }
    wanted = {
        f"prfpr /extra/{name}": f"prfpr: /extra/{name}: {text}\n"
        for name, text in complaints.items()
    }
    wanted["prfpr /tmp"] = "prfpr: /tmp: Is a directory\n"
    for name, text in {
        "/no": "No such file or directory",
        "/extra/text": "not a 64-bit executable",
        "/extra/user": "not a kernel: no symbols text_start and etext",
    }.items():
        wanted[f"prfpr /extra/good 1 {name}"] = f"prfpr: {name}: {text}\n"
    results = guest.batch(wanted, extra=logs)
    assert {r.command: r.err for r in results} == wanted
    assert all((r.out, r.status) == ("", 1) for r in results)


def test_prfpr_prints_what_is_whole(guest: Guest, logs: Path) -> None:
    good, torn, back, times = guest.batch(
        [
            "prfpr /extra/good 1 /extra/kernel",
            "prfpr /extra/torn 1 /extra/kernel",
            "prfpr /extra/back 100 /extra/kernel",
            "prfpr /extra/times 100 /extra/kernel | grep -c ' to '",
        ],
        extra=logs,
    )
    assert torn.status == 1
    assert torn.err == "prfpr: /extra/torn: ends inside a record\n"
    assert torn.out == "\n\n".join(good.out.split("\n\n")[:3]) + "\n"
    assert back.status == 1
    assert back.err == (
        "prfpr: /extra/back: record 3: counters decreased: was prfld run?\n"
    )
    assert back.out.count(" to ") == 2
    assert times.out == "2\n"


# --- All five ----------------------------------------------------------------


@pytest.mark.machines("1", "4")
def test_the_pages_examples(guest: Guest) -> None:
    page = (ROOT / "man/profiler.8").read_text().split(".Sh EXAMPLES")[1]
    first, second = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", page, re.M | re.S)
    result = guest(first + "echo\n" + second)
    assert result.err == ""
    report, *more = re.split(r"\n\n", result.out)
    assert " to " in report and re.search(r"^ *[\d.]+ idle$", report, re.M)
    assert len(more) >= 4
    shares = re.findall(r"^ *(\d+\.\d\d) \w", report, re.M)
    assert 0 < sum(map(float, shares)) <= 100.1


def test_foreign_devices(guest: Guest) -> None:
    """Of another device or file nothing is changed."""
    wanted = {
        "echo a >f; prfld -f f; cat f": "prfld: f: not a prf device\n",
        "prfstat -f /dev/kpctl": "prfstat: /dev/kpctl: not a prf device\n",
        "prfsnap -f /dev/profclock log": "prfsnap: /dev/profclock: not a prf device\n",
        "prfdc -f /dev/null log": "prfdc: /dev/null: not a prf device\n",
        "prfstat -f /dev/pcs": "prfstat: /dev/pcs: Permission denied\n",
        "prfld -f /dev/prf200": "prfld: /dev/prf200: No such device or address\n",
        "prfld -f /no": "prfld: /no: No such file or directory\n",
        "prfld -f /tmp": "prfld: /tmp: Is a directory\n",
    }
    results = guest.batch(wanted)
    assert {r.command: r.err for r in results} == wanted
    assert [r.out for r in results] == ["a\n"] + [""] * 7
