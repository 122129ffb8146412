"""/dev/profclock: its words and what it shows.

That the clock keeps what it is told is checked by guest/profclock.c, and by
guest/jitter.c when single samples fall.
"""

from __future__ import annotations

import pytest

from harness.guest import Guest
from tally.verify.machines import ALL

SHOW = "head -n 4 /dev/profclock"  # the settings; what came of them varies
DEFAULTS = "hz 100\njitter off\nseed 1\ngo\n"

BAD_LINES = [
    "hz",
    "hz 0",
    "hz 20001",
    "hz -1",
    "hz 1.5",
    "hz 100x",
    "hz 1f",
    "hz 0x",
    "hz 18446744073709551716",
    "hz 100 100",
    "jitter",
    "jitter 1",
    "jitter ON",
    "jitter on off",
    "seed",
    "seed x",
    "seed 18446744073709551616",
    "hold on",
    "go on",
    "skipped 0",
    "sample",
    "sample user 0 1 0",
    "sample nobody 0 1 0 0",
    "sample kernel 0 0 0 pc",
    "sample kernel 0 0 0 0 1000001",
    "sample kernel 0 0 8 0",
    "sample kernel 4 0 0 0",
    "sample kernel 0 32768 0 0",
    "sample kernel 0 0 0 0 1 1",
    "frequency 100",
    "HZ 100",
    "",
]


def test_reading_says_what_is_set(guest: Guest) -> None:
    command = SHOW
    for line in ("hz 1000", "jitter on", "seed 0x7fffffffffffffff", "hold"):
        command += f"; echo {line} >/dev/profclock"
    changed = "hz 1000\njitter on\nseed 9223372036854775807\nhold\n"
    assert guest(f"{command}; {SHOW}").out == DEFAULTS + changed


def read_account(text: str) -> tuple[dict[str, int], list[dict[str, int]]]:
    """Behind the settings: the whole machine's counts, and each hart's."""
    whole, harts = {}, []
    for line in text.splitlines()[4:]:
        words = line.split()
        if words[0] == "hart":
            assert int(words[1]) == len(harts), "harts in order"
            words = words[2:]
            harts.append(dict(zip(words[::2], map(int, words[1::2]))))
        else:
            whole[words[0]] = int(words[1])
    return whole, harts


@pytest.mark.machines("1", "4", "free")
@pytest.mark.parametrize("hz", [100, 20000])
def test_every_sample_is_accounted_for(guest: Guest, hz: int) -> None:
    """On hold: taken + skipped = due, by hart and in all; the rate reached."""
    before, _, text = guest(
        "echo hold >/dev/profclock; cat /dev/profclock;"
        f" echo hz {hz} >/dev/profclock; echo go >/dev/profclock;"
        " sleep 1; seq 20000 | sort | wc -l;"
        " echo hold >/dev/profclock; cat /dev/profclock; cat /dev/profclock"
    ).out.partition("20000\n")
    whole, harts = read_account(text[: len(text) // 2])
    assert text[: len(text) // 2] == text[len(text) // 2 :], "on hold nothing moves"
    assert whole["due"] >= hz
    turns = guest.machine.icount and len(harts) > 1 and hz != 100
    for hart in harts:
        assert hart["taken"] + hart["skipped"] == hart["due"]
        assert turns or hart["due"] >= hz
    for name in ("due", "taken", "skipped"):
        assert whole[name] == sum(hart[name] for hart in harts)
    since = {name: whole[name] - read_account(before)[0][name] for name in whole}
    assert whole["reached"] == hz * since["taken"] // since["due"]


@pytest.mark.machines("2", "4")
def test_idle_harts_have_their_part(guest: Guest) -> None:
    """Under icount busy harts take turns, and the others idle beside them: while one
    is busy each has as many samples, while n are an nth of them."""
    for busy in range(1, guest.machine.harts):
        spin = "while :; do :; done & "
        result = guest(
            f"echo hold >/dev/profclock; echo hz 1000 >/dev/profclock; {spin * busy}"
            "cat /dev/profclock; echo go >/dev/profclock; sleep 1;"
            " echo hold >/dev/profclock; echo then; cat /dev/profclock"
        )
        before, after = (read_account(part)[1] for part in result.out.split("then\n"))
        counts = [a["due"] - b["due"] for a, b in zip(after, before)]
        strokes = sum(counts) * busy / len(counts)
        # A busy hart has what falls into its turns; an idle one nearly its part.
        counts.sort(key=lambda n: abs(n - strokes / busy))
        idle, ran = counts[: len(counts) - busy], counts[len(counts) - busy :]
        assert 970 < strokes < 1100  # of a second, and of the shell's waits for turns
        assert idle == pytest.approx([strokes / busy] * len(idle), rel=0.03)
        assert sum(ran) == pytest.approx(strokes, rel=0.03)


@pytest.mark.machines("no-sstc")
def test_the_clock_starts_at_any_moment(guest: Guest) -> None:
    """What a boot's first sample costs is all that the clock knows. A hart that
    was too late to say it said 2^64: one boot of a hundred sampled no more."""
    for size in range(100, 160, 1 if ALL else 4):
        result = guest(
            "echo hz 5000 >/dev/profclock; sleep 0.05\n"
            "echo hold >/dev/profclock; cat /dev/profclock",
            mem=f"{size}M",  # boots that begin a little earlier or later
        )
        account, _ = read_account(result.out)
        assert account["taken"] > 100, size


@pytest.mark.parametrize("line", ["hz 1", "hz 20000", "seed 0", "hold", "hz 0x64"])
def test_the_limits_are_good(guest: Guest, line: str) -> None:
    result = guest(f"echo {line} >/dev/profclock")
    assert (result.err, result.status) == ("", 0)


def test_bad_lines_change_nothing(guest: Guest) -> None:
    """Each is EINVAL."""
    set_up = "echo hz 200 >/dev/profclock; echo startclr >/dev/kpctl"
    try_all = [f"echo '{line}' >/dev/profclock; exit $?" for line in BAD_LINES]
    show = f"{SHOW}; kprof -n 0 | cut -f 3"
    hold = "echo hold >/dev/profclock"
    first, *results, last = guest.batch([f"{hold}; {set_up}", *try_all, show])
    accepted = [
        line
        for line, result in zip(BAD_LINES, results)
        if (result.status, result.err) != (1, "sh: echo: Invalid argument\n")
    ]
    assert (first.status, accepted) == (0, [])
    settings = "hz 200\njitter off\nseed 1\nhold\n"
    assert last.out == settings + "outside kernel text: 0\n"


def test_what_is_wrong_is_on_the_console(guest: Guest) -> None:
    boot = guest("echo frequency 1 >/dev/profclock; echo hz >/dev/profclock").boot
    assert b"frequency: unknown control word\r\n" in boot
    assert b"hz: wrong number of arguments\r\n" in boot


def test_kprof_counts_skips_till_it_is_stopped(guest: Guest) -> None:
    """Not those that come later; and there are some."""
    work = "seq 2000 | sort | wc -l"
    shown = guest(
        "echo hz 20000 >/dev/profclock; echo startclr >/dev/kpctl;"
        f" {work}; echo stop >/dev/kpctl; cat /dev/kpctl; grep ^skipped /dev/profclock;"
        f" {work}; cat /dev/kpctl; grep ^skipped /dev/profclock"
    ).out.splitlines()
    counted, before, later, after = (shown[i] for i in (1, 2, 4, 5))
    assert counted == later != "skipped 0"
    assert before != after
