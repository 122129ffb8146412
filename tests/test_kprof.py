"""kprof: /dev/kpctl, /dev/kpdata and the tool, as kprof(3) has them.

What a program can see alone is checked by guest/kprof_device.c, and that every
tick of every hart is counted by guest/kprof_ticks.c.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from harness import elves, kpdata
from harness.guest import Guest, Images
from harness.kernel_image import KernelImage
from tally.verify.machines import CLOCK, MADE, words

HOLD = "echo hold >/dev/profclock\necho startclr >/dev/kpctl\n"
STOP = "echo stop >/dev/kpctl\n"


@pytest.fixture(scope="module")
def kernel(images: Images) -> KernelImage:
    return KernelImage(images)


def samples(mode: str, address: int, count: int) -> str:
    """The command that makes these samples."""
    return f"echo sample {mode} 0 0 0 {address:#x} {count} >/dev/profclock\n"


def functions(kernel: KernelImage) -> str:
    """Commands for samples of some functions, whose percentages must be cut."""
    return (
        samples("kernel", kernel.symbol("sys_read"), 100)
        + samples("kernel", kernel.symbol("sys_read") + 8, 28)
        + samples("kernel", kernel.symbol("memcpy") + 1, 255)
        + samples("intr", kernel.symbol("clock_interrupt") + 8, 64)
        + samples("idle", kernel.symbol("idle_wait"), 512)
        + samples("user", 0x10000, 123)
    )


# --- The device --------------------------------------------------------------


def test_the_size_is_that_of_kernel_text(guest: Guest, kernel: KernelImage) -> None:
    assert len(kernel.text) % kpdata.BUCKET == 0
    data = guest("cat /dev/kpdata").stdout
    assert len(data) == 4 * (2 + len(kernel.text) // kpdata.BUCKET)


def test_before_the_first_start_all_is_zero(guest: Guest) -> None:
    assert set(guest("sleep 1; cat /dev/kpdata").stdout) == {0}


@pytest.mark.machines(MADE)
def test_every_byte(guest: Guest, kernel: KernelImage) -> None:
    """Total, kernel's, and the bucket of each 8 bytes from the base of text."""
    last = kernel.text[-1]
    ticks = {
        kernel.text[0]: 1,
        kernel.text[8]: 0x100,
        kernel.symbol("memcpy"): 0x10203,
        kernel.symbol("idle_wait"): 70_000,
        last: 3,
    }
    made = "".join(samples("kernel", pc, count) for pc, count in ticks.items())
    made += samples("user", 0x10000, 41) + samples("user", kernel.text[0], 1)
    data = guest(HOLD + made + STOP + "cat /dev/kpdata").stdout
    assert data == kpdata.contents(kernel, user=42, ticks=ticks)


def test_parts_are_parts_of_the_whole(guest: Guest) -> None:
    whole = "echo start >/dev/kpctl; sleep 1; echo stop >/dev/kpctl; cat /dev/kpdata"
    parts = ["head -c 13 /dev/kpdata", "tail -c 777 /dev/kpdata"]
    data, *pieces = [result.stdout for result in guest.batch([whole, *parts])]
    assert any(data)
    assert pieces == [data[:13], data[-777:]]


@pytest.mark.machines(CLOCK)
def test_the_manuals_example(guest: Guest, kernel: KernelImage) -> None:
    """Its script, with Tally's names: a test program runs, kprof reports."""
    result = guest(
        "echo start > /dev/kpctl\n"
        f"{words(60_000)} | sort | uniq | wc >/dev/null\n"
        "echo stop > /dev/kpctl\n"
        "kprof /boot/kernel /dev/kpdata >/tmp/report\n"
        "cat /dev/kpdata; cat /tmp/report >&2"
    )
    counts = kpdata.Counts(result.stdout, kernel)
    assert counts.kernel == sum(counts.buckets)
    assert 0 < counts.kernel < counts.total
    first, *lines = result.err.splitlines()
    assert first.partition("\tskipped: ")[0] == (
        f"total: {counts.total}\tin kernel text: {counts.kernel}"
        f"\toutside kernel text: {counts.total - counts.kernel}"
    )
    shown = [int(line.split()[0]) for line in lines]
    assert shown == sorted(shown, reverse=True)
    assert sum(shown) == counts.kernel


# --- The tool ----------------------------------------------------------------


@pytest.mark.machines(MADE)
def test_report(
    guest: Guest, kernel: KernelImage, expected: Callable[[str, str], None]
) -> None:
    made = HOLD + functions(kernel) + STOP
    expected("kprof.txt", guest(made + "kprof; echo; kprof -n 2; echo; kprof -n0").out)


def test_report_of_a_copy(guest: Guest, kernel: KernelImage) -> None:
    made = HOLD + functions(kernel) + STOP
    copies = "cp /boot/kernel /tmp/k; cp /dev/kpdata /tmp/d; echo startclr >/dev/kpctl"
    show = "kprof -n 3 >/tmp/before\n" + copies
    after = "\nkprof -n 3 /tmp/k /tmp/d | cmp - /tmp/before && kprof /tmp/k"
    nothing = "total: 0\tin kernel text: 0\toutside kernel text: 0\n"
    assert guest(made + show + after).out == nothing


def test_a_function_in_pieces(guest: Guest, tmp_path: Path) -> None:
    """The compiler's pieces of a function are the function; other dots stay."""
    elves.build(tmp_path, "made", elves.KERNEL_TEXT, elves.PIECES)
    places = [elves.KERNEL_TEXT + elves.STEP * i for i in range(len(elves.PIECES))]
    made = "".join(samples("kernel", pc, 1 << i) for i, pc in enumerate(places))
    result = guest(f"{HOLD}{made}{STOP}kprof /extra/made | tail -n 3", extra=tmp_path)
    shown = [line.split() for line in result.out.splitlines()]
    counts = [(int(count), name) for count, *_, name in shown]
    assert counts == [(16, "main.open"), (2 + 4 + 8, "open"), (1, "_start")]


def test_tool_errors(guest: Guest) -> None:
    usage = "usage: kprof [-n COUNT] [NAMELIST [DATA]]\n"
    empty = "kprof /boot/kernel /dev/null"
    short = "head -c 4000 /dev/kpdata >/tmp/short; kprof /boot/kernel /tmp/short"
    wanted = {
        "kprof -x": (2, f"kprof: unknown option -x\n{usage}"),
        "kprof -n": (2, f"kprof: option -n needs a value\n{usage}"),
        "kprof -n x": (2, f"kprof: not a number of functions: x\n{usage}"),
        "kprof a b c": (2, f"kprof: one operand too many: c\n{usage}"),
        "kprof /no": (1, "kprof: /no: No such file or directory\n"),
        "kprof /tmp": (1, "kprof: /tmp: Is a directory\n"),
        "kprof /etc/command": (1, "kprof: /etc/command: not a 64-bit executable\n"),
        "kprof /bin/sh": (1, "kprof: /bin/sh: not a kernel: no symbols text_start and etext\n"),
        "kprof /boot/kernel /no": (1, "kprof: /no: No such file or directory\n"),
        short: (1, "kprof: /tmp/short: too short for this kernel\n"),
        empty: (1, "kprof: /dev/null: too short for this kernel\n"),
    }
    results = guest.batch(wanted)
    assert {r.command: (r.status, r.err) for r in results} == wanted
    assert all(r.out == "" for r in results)
