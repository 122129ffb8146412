"""What keeps the kernel and its programs apart, seen from outside.

QEMU says what each hart has mapped and in its registers. What a program sees
of it: guest/isolation.c, leaks.c and fresh.c.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
from pathlib import Path
from typing import Iterable, Iterator

import pytest

from harness.guest import Guest, Images
from harness.kernel_image import KernelImage
from harness.monitor import Debugger, Monitor
from tally.verify.machines import MACHINES
from tally.verify.patience import wait_for
from test_boot import with_options

SSTATUS_SUM = 1 << 18
DIRECT = 0xFFFFFFFF00000000
FIRMWARE = range(0x80000000, 0x80200000)  # physical: it has no MMU
LOOKS = 25  # at a machine that runs, at least
PAGES = 100  # of users, seen by then
ENTRIES = 300  # into the kernel, if its time is long enough

# Programs that come and go, copy, and write where they share pages.
WORK = """
while :; do sort /usr/share/words | wc; ls -l /bin; done >/dev/null &
while :; do cp /bin/sh /tmp/sh; /tmp/sh -c 'echo $((1 + 1))'; done >/dev/null &
while :; do ( a=1; ( a=2; /bin/true ) ); done &
"""


@contextlib.contextmanager
def watched(
    images: Images, name: str, folder: Path, options: str = ""
) -> Iterator[Monitor]:
    """A machine with work to do, while the caller looks at it."""
    options += f" {Monitor.options(folder)}"
    guest = Guest(with_options(images, folder, options), MACHINES[name])
    with concurrent.futures.ThreadPoolExecutor() as pool:
        boot = pool.submit(guest, WORK + "wait", "limit", limit=3.0)
        monitor = Monitor(folder)
        try:
            wait_for_programs(monitor)
            yield monitor
        except BaseException:
            monitor.command("quit")
            raise
        boot.result()


def wait_for_programs(monitor: Monitor) -> None:
    """Until then the page table of the boot allows everything."""
    wait_for(
        lambda: any("u" in attributes for _, _, attributes in monitor.pages(0)),
        "a page is the user's",
    )


def test_no_page_is_written_and_executed(images: Images, tmp_path: Path) -> None:
    """At many moments, in all page tables that are in use.

    And the kernel's pages are not the user's, nor can it execute theirs; its
    text and constants are not written; user memory is open to the kernel only
    in the code that copies.
    """
    kernel = KernelImage(images)
    allowed = copying(kernel), entering(kernel), FIRMWARE
    constant = range(kernel.symbol("text_start"), kernel.symbol("rodata_end"))
    users, looks = 0, 0
    with watched(images, "free", tmp_path) as monitor:
        while looks < LOOKS or users < PAGES:
            monitor.stop()
            looks += 1
            for hart in range(4):
                users += check_pages(monitor.pages(hart), constant)
                registers = monitor.registers(hart)
                if registers["mstatus"] & SSTATUS_SUM:
                    pc = registers["pc"]
                    assert any(pc in code for code in allowed), hex(pc)
            monitor.go_on()


def check_pages(pages: Iterable[tuple[int, int, str]], constant: range) -> int:
    """How many are the user's."""
    users = 0
    for va, _, attributes in pages:
        assert va not in constant or "w" not in attributes, hex(va)
        assert not {"w", "x"} <= set(attributes), hex(va)
        assert ("u" in attributes) == (va < DIRECT // 2), hex(va)
        users += "u" in attributes
    return users


def copying(kernel: KernelImage) -> range:
    """The code of mm/uaccess.S."""
    return range(kernel.symbol("copy_in"), kernel.symbol("peek_fault") + 64)


def entering(kernel: KernelImage) -> range:
    """The first steps of a trap in the kernel, and the last."""
    return range(kernel.symbol("trap_vector"), kernel.symbol("stack_overflow"))


@pytest.mark.parametrize("entry", ["trap_user", "trap_kernel", "trap_interrupt"])
def test_user_memory_is_closed_at_each_entry(
    images: Images, tmp_path: Path, entry: str
) -> None:
    """Also where a trap interrupts the code that copies."""
    kernel = KernelImage(images)
    copies, at = copying(kernel), kernel.symbol(entry)
    entries, copied = 0, 0
    with watched(images, "free-1", tmp_path, Debugger.options(tmp_path)) as monitor:
        debugger = Debugger(tmp_path)
        debugger.break_at(at)
        while entries < ENTRIES and debugger.go_on():
            registers = monitor.registers(0)
            assert registers["pc"] == at
            assert not registers["mstatus"] & SSTATUS_SUM
            entries += 1
            copied += registers["sepc"] in copies
        if entries == ENTRIES:
            debugger.leave()
    assert entries > 50
    # Exceptions in the kernel come from there, but no system call. (One that was
    # interrupted on its way shows where that was.)
    if entry == "trap_kernel":
        assert copied > entries / 2
    if entry == "trap_user":
        assert copied == 0
