"""Where the kernel lies, and what its pages may be used for; its size."""

from __future__ import annotations

import re
import subprocess

import pytest
from elftools.elf.constants import P_FLAGS, SH_FLAGS

from harness.console import Console
from harness.guest import Images
from harness.kernel_image import KernelImage
from tally import ROOT

DIRECT = 0xFFFFFFFF00000000  # where physical memory is mapped
LOAD = 0x80200000  # where the firmware jumps to
STACKS = range(0xFFFFFFFEC0000000, DIRECT)
STACK_SIZE = 0x4000
PAGE = 0x1000
MONITOR = r"\n\(qemu\) "


@pytest.fixture(scope="module")
def kernel(images: Images) -> KernelImage:
    return KernelImage(images)


# --- The executable ----------------------------------------------------------


def test_linked_and_loaded_where_it_should(kernel: KernelImage) -> None:
    """A virtual address is the physical one with the upper half set."""
    segments = list(kernel.elf.iter_segments("PT_LOAD"))
    assert segments[0]["p_vaddr"] == kernel.symbol("text_start") == DIRECT + LOAD
    for segment in segments:
        assert segment["p_vaddr"] == DIRECT + segment["p_paddr"]


def test_no_segment_is_writable_and_executable(kernel: KernelImage) -> None:
    """Nor do two share a page."""
    end = 0
    for segment in kernel.elf.iter_segments("PT_LOAD"):
        flags = segment["p_flags"]
        assert not (flags & P_FLAGS.PF_W and flags & P_FLAGS.PF_X)
        assert segment["p_vaddr"] // PAGE >= end
        end = -(-(segment["p_vaddr"] + segment["p_memsz"]) // PAGE)


def test_no_section_is_writable_and_executable(kernel: KernelImage) -> None:
    for section in kernel.elf.iter_sections():
        flags = section["sh_flags"]
        both = flags & SH_FLAGS.SHF_WRITE and flags & SH_FLAGS.SHF_EXECINSTR
        assert not both, section.name


# --- The page tables of a running machine ------------------------------------


def mappings(console: Console) -> dict[int, tuple[int, str]]:
    """The size and attributes of all that any hart has mapped."""
    found = {}
    console.control("a")
    console.send("c")
    console.expect(MONITOR)
    for hart in range(4):
        console.send(f"cpu {hart}\r")
        console.expect(MONITOR)
        console.send("info mem\r")
        rows = re.findall(
            r"\n([0-9a-f]{16}) [0-9a-f]{16} ([0-9a-f]{16}) (\S{7})",
            console.expect(MONITOR),
        )
        assert rows
        found.update({int(va, 16): (int(n, 16), attr) for va, n, attr in rows})
    return found


@pytest.mark.machines("free")
def test_pages(console: Console) -> None:
    """None is writable and executable, and the kernel's are not the user's."""
    console.run("yes >/dev/null & yes >/dev/null & yes >/dev/null & yes >/dev/null &")
    pages = mappings(console)
    assert any(va < DIRECT // 2 for va in pages), "a user's are among them"
    for va, (size, attributes) in pages.items():
        assert not {"w", "x"} <= set(attributes), hex(va)
        assert ("u" in attributes) == (va < 1 << 63), hex(va)
        if va in STACKS:  # a guard below each stack
            assert size <= STACK_SIZE and va & STACK_SIZE, hex(va)
    executable = {va for va, (_, a) in pages.items() if va in STACKS and "x" in a}
    assert not executable


# --- Size --------------------------------------------------------------------


def test_make_size() -> None:
    """It prints how many lines each part has: of code, and in all."""
    result = subprocess.run(
        ["make", "-s", "-C", str(ROOT), "size"], capture_output=True, text=True
    )
    parts = re.findall(r"^[Taio].*?\s(\d+) +(\d+) +(?:\d+|-)$", result.stdout, re.M)
    assert result.returncode == 0 and len(parts) == 4
    linux = (ROOT / "kernel/linux").iterdir()
    assert int(parts.pop()[1]) == sum(len(f.read_text().splitlines()) for f in linux)
    code, lines = ([int(part[i]) for part in parts] for i in (0, 1))
    assert code == sorted(code) and lines == sorted(lines)
    files = [
        f for s in "chS" for f in (ROOT / "kernel").rglob(f"*.{s}")
        if not f.name.startswith("check_") and f.name != "ktest.c"
    ]
    boot = [f for f in (ROOT / "boot").iterdir()]
    assert lines[-1] == sum(len(f.read_text().splitlines()) for f in files + boot)
    assert all(0.5 < c / n < 0.95 for c, n in zip(code, lines))
