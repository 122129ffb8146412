"""prf, as the host sees it: every byte of a table that is the kernel's own
symbols, and the manual's example.

What a program can see alone is checked by guest/prf_device.c, that every sample
is counted by guest/prf_ticks.c. The numbers PRF-1.. are the clauses of
docs/conformance.md.
"""

from __future__ import annotations

import bisect
import random
import struct
from pathlib import Path

import pytest

from harness.guest import Guest, Images
from harness.kernel_image import KernelImage
from tally.verify.machines import MADE

ROOT = Path(__file__).parents[1]

# state 0|1: turn /dev/prf off or on.
STATE = """
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prf.h>

int
main(int argc, char **argv)
{
	return ioctl(open("/dev/prf", O_RDWR), PRF_SETSTATE, atoi(argv[argc - 1]));
}
"""


@pytest.fixture(scope="module")
def kernel(images: Images) -> KernelImage:
    return KernelImage(images)


def words(values: list[int]) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def sample(mode: str, pc: int, count: int) -> str:
    return f"echo sample {mode} 0 0 0 {pc:#x} {count} >/dev/profclock\n"


@pytest.mark.machines(MADE)
def test_every_byte(guest: Guest, kernel: KernelImage, tmp_path: Path) -> None:
    """PRF-3, 10, 11, 18: the kernel's whole symbol table, as prfld loads it."""
    code = kernel.text
    symbols = kernel.elf.get_section_by_name(".symtab").iter_symbols()
    text = (s["st_value"] for s in symbols if s["st_value"] in code)
    table = [0, *sorted(text)]
    counters = [0] * len(table)
    (tmp_path / "table").write_bytes(words(table))
    (tmp_path / "state.c").write_text(STATE)
    choose = random.Random(1)
    made = sample("user", 0x10000, 41) + sample("idle", code[0], 70_000)
    for count in range(1, 60):
        pc = choose.choice(code)
        counters[bisect.bisect_right(table, pc) - 1] += count
        made += sample(choose.choice(["kernel", "intr"]), pc, count)
    size = 8 * (2 * len(table) + 2)
    data = guest(
        "echo hold >/dev/profclock; cat /extra/table >/dev/prf; state 1\n"
        f"{made}state 0; head -c {size} /dev/prf",
        extra=tmp_path,
    ).stdout
    assert data == words([*table, *counters, 41, 70_000])


@pytest.mark.machines("1", "4")
def test_the_pages_example(guest: Guest, tmp_path: Path) -> None:
    page = (ROOT / "man/prf.4").read_text()
    example = page.split(".Bd -literal\n")[1].split(".Ed\n")[0]
    (tmp_path / "slices.c").write_text(example.replace("\\en", "\\n"))
    lines = guest("slices", extra=tmp_path).out.splitlines()
    assert len(lines) == 10
    counts = [int(line.split()[0]) for line in lines]
    assert sum(counts[:8]) > 0
    assert [line.split()[1] for line in lines[8:]] == ["user", "idle"]
