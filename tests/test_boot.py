"""From power on to a command or a prompt, on many machines; and leaving."""

from __future__ import annotations

import pexpect
import re
import subprocess
from pathlib import Path
from typing import Iterable

import pytest

from harness.console import Console
from harness.guest import Guest, Images
from tally.boot.machine import Machine
from tally.verify.machines import ALL, MACHINES, words

BENCH = Path(__file__).parent / "bench"
TICK = 10_000_000  # ns
PIPELINE = f"{words(60_000)} | sort | uniq | tail -n 1"


def with_options(images: Images, folder: Path, options: str) -> Images:
    """The same images, for a QEMU that is given more options."""
    return images.started_by(folder, f'exec "$qemu" {options} "$@"')


# --- Harts -------------------------------------------------------------------


@pytest.mark.machines("1", "2", "4", "8", "free", "no-sstc")
def test_every_hart_runs(guest: Guest) -> None:
    """Each has taken an interrupt of its clock, and says where that was."""
    result = guest("sleep 100", "limit", limit=10.0)
    harts = re.findall(rb"hart (\d+): 0x[0-9a-f]{5,}", result.last_words)
    assert harts == [b"%d" % i for i in range(guest.machine.harts)]


def test_no_start_waits_for_a_tick(images: Images) -> None:
    """The firmware drops what interrupts a hart that isn't up yet. It was asked
    to flush, and the first program began when it had looked at its first tick."""
    behind = []
    for harts in (4, 8, 16):
        machine = MACHINES["4"]._replace(harts=harts, icount=0)
        result = Guest(images, machine)("bench boot", extra=BENCH)
        behind.append(int(re.search(r"boot (\d+)", result.out)[1]) % TICK)
    assert max(behind) > TICK / 20, behind


@pytest.mark.machines("1", "4")
@pytest.mark.parametrize("cpu", ["sstc=on", "sstc=off"])
def test_time_passes(guest: Guest, cpu: str) -> None:
    """With either timer: as long as is slept."""
    times = guest("date +%s; sleep 20; date +%s", cpu=cpu).out
    before, after = (int(line) for line in times.splitlines())
    assert after - before in (20, 21)


@pytest.mark.parametrize("cpu, used", [("sstc=on", True), ("sstc=off", False)])
def test_stimecmp_is_used(images: Images, cpu: str, used: bool, tmp_path: Path) -> None:
    """Without it each deadline is a call of the firmware."""
    log = tmp_path / "traps"
    guest = Guest(with_options(images, tmp_path, f"-d int -D {log}"), MACHINES["1"])
    guest("sleep 5", cpu=cpu)
    traps = log.read_text()
    assert traps.count("desc=s_timer") > 500
    assert (traps.count("desc=supervisor_ecall") < 500) == used


@pytest.mark.parametrize("round", range(5 if ALL else 2))
def test_any_hart_may_be_the_first(images: Images, round: int) -> None:
    """Free-running, the firmware starts on the hart that wins a race."""
    guest = Guest(images, MACHINES["free"])
    result = guest(PIPELINE)
    assert result.status == 0 and len(result.out.splitlines()) == 1


def without_harts(images: Images, absent: Iterable[int], folder: Path) -> Images:
    """A device tree that says that these of four harts don't work."""
    tree = folder / "tree.dtb"
    dump = [images.qemu, "-machine", f"virt,dumpdtb={tree}", "-m", "256M"]
    dump += ["-smp", "4", "-display", "none"]
    subprocess.run(dump, check=True, capture_output=True)
    data = bytearray(tree.read_bytes())
    for hart in absent:
        at = data.index(b"okay\0", data.index(b"cpu@%d\0" % hart))
        data[at : at + 4] = b"fail"
    tree.write_bytes(data)
    return with_options(images, folder, f"-dtb {tree}")


@pytest.mark.parametrize("absent", [(0,), (1,), (0, 2), (1, 2, 3)])
def test_sparse_harts(images: Images, absent: tuple[int, ...], tmp_path: Path) -> None:
    """Hart ids with gaps; Tally numbers the others from 0 on."""
    guest = Guest(without_harts(images, absent, tmp_path), MACHINES["4"])
    result = guest(f"{PIPELINE} >/dev/null; sleep 100", "limit", limit=20.0)
    present = 4 - len(absent)
    assert b"Tally on %d hart" % present in result.boot
    harts = re.findall(rb"hart (\d+): 0x[0-9a-f]{5,}", result.last_words)
    assert harts == [b"%d" % i for i in range(present)]


@pytest.mark.parametrize("harts, said", [(16, b""), (18, b"2 harts beyond the limit")])
def test_harts_beyond_the_limit_are_not_started(
    guest: Guest, harts: int, said: bytes
) -> None:
    result = guest("echo up", harts=harts)
    assert result.out == "up\n"
    assert b"Tally on 16 harts" in result.boot and said in result.boot
    assert (b"are not started" in result.boot) == bool(said)


# --- Memory ------------------------------------------------------------------


@pytest.mark.parametrize("mib", [32, 64, 256, 2048])
def test_memory(guest: Guest, mib: int) -> None:
    """All is there but the firmware's, the kernel's, and what pages take."""
    result = guest(f"free; {PIPELINE} | wc -l", mem=f"{mib}M")
    total = int(result.out.splitlines()[1].split()[1])  # KiB
    assert mib * 1024 * 0.9 - 2048 < total < mib * 1024
    assert result.out.splitlines()[2].split() == ["1"]
    assert b"unused" not in result.boot


def test_memory_out_of_reach_stays_unused(guest: Guest) -> None:
    result = guest("free", mem="4G")
    total = int(result.out.splitlines()[1].split()[1])
    assert 1_900_000 < total < 2_097_152
    assert b"\n2048 MiB of memory beyond the kernel's limit are not used" in result.boot


# --- A shell, and leaving it -------------------------------------------------


@pytest.mark.machines("1", "4")
def test_banner(console: Console, machine: Machine) -> None:
    """It says what this is, how to get help, and how to leave."""
    some = "1 hart" if machine.harts == 1 else f"{machine.harts} harts"
    banner = rf"\nTally \S+: {some}, 2\d\d MiB of memory free\.\n"
    assert re.search(banner, console.boot), console.boot
    last = console.boot.rstrip("\n").splitlines()[-1]
    assert last == (
        "Type help for help. To leave: poweroff, or Ctrl-A X, which ends QEMU at once."
    )
    assert "poweroff" in console.run("help")


@pytest.mark.parametrize(
    "command, status",
    [("poweroff", 0), ("poweroff 9", 9), ("exit", 0), ("exit 3", 3), ("false\rexit", 1)],
)
def test_leaving(console: Console, command: str, status: int) -> None:
    assert console.poweroff(command) == status


@pytest.mark.parametrize("key, status", [("d", 0), ("ax", 0)])
def test_leaving_by_key(console: Console, key: str, status: int) -> None:
    """Ctrl-D ends the shell, Ctrl-A X is QEMU's."""
    console.control(key[0])
    console.send(key[1:])
    console.tty.expect(pexpect.EOF)
    console.tty.close()
    assert console.tty.exitstatus == status
