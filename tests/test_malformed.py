"""What comes from outside and isn't as it should be, before there are programs.

Device trees, archives and a file server's replies are damaged by the thousand
on the host, where the kernel's own files run under the compiler's sanitizers
(malformed/); some are booted. Damaged programs: guest/damaged.c.
HOSTILE=N makes it N times as much: make hostile.
"""

from __future__ import annotations

import os
import random
import struct
import subprocess
from pathlib import Path
from typing import Callable

import pytest

from harness import devicetree
from harness.devicetree import Node
from harness.guest import Guest, Images
from harness.tools import tool
from tally import ROOT
from tally.build import image
from tally.verify.machines import MACHINES, words
from tally.verify.patience import HANG, WHOLE
from test_boot import with_options

MORE = int(os.environ.get("HOSTILE", "1"))
SEED = int(os.environ.get("HOSTILE_SEED", "1"))
SOURCES = Path(__file__).parent / "malformed"
ROUNDS = {"fdt": 5000, "ustar": 3000, "p9": 1000, "replies": 1000}
BLOCK = 512
DAMAGED_BOOTS = 6

# The thread that runs is in no register on the host; and what doesn't return
# there, does here.
FLAGS = "-std=gnu2x -g -O1 -w --param asan-stack=0 -fno-sanitize-recover=all"
FLAGS += " -fsanitize=address,undefined -Dnoreturn=cold -Dregister=extern"
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1"}


def dump_tree(images: Images, folder: Path, harts: int) -> Node:
    """The tree of QEMU's machine."""
    file = folder / "dump.dtb"
    dump = [images.qemu, "-machine", f"virt,dumpdtb={file}", "-m", "256M"]
    dump += ["-smp", str(harts), "-display", "none"]
    subprocess.run(dump, check=True, capture_output=True)
    return devicetree.parse(file.read_bytes())


# --- By the thousand, on the host --------------------------------------------


@pytest.mark.parametrize("what", ROUNDS)
def test_by_the_thousand(images: Images, tmp_path: Path, what: str) -> None:
    """Read by the kernel's own code, that touches nothing it shouldn't."""
    program, tree = tmp_path / what, tmp_path / "tree"
    command = [tool("gcc"), *FLAGS.split(), "-Dasm(...)=", "-o", str(program)]
    folders = (".", "kernel")
    command += [f"-I{ROOT / folder}" for folder in folders]
    command += [str(SOURCES / f"{what}.c"), "-idirafter", str(ROOT / "include")]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    tree.write_bytes(devicetree.build(dump_tree(images, tmp_path, 4)))
    run = subprocess.run(
        [program, str(ROUNDS[what] * MORE), str(SEED), tree],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=WHOLE * MORE,
    )
    assert run.returncode == 0, run.stdout + run.stderr[-4000:]


# --- Device trees that are booted --------------------------------------------


def reg(*ranges: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">QQ", start, size) for start, size in ranges)


def more_memory(root: Node) -> None:
    """A second node, and a second range, beyond what is mapped."""
    memory = root.find("memory")
    memory.props["reg"] = reg((0x80000000, 256 << 20), (0x1_8000_0000, 1 << 30))
    other = {"device_type": b"memory\0", "reg": reg((0x4_0000_0000, 1 << 32))}
    root.children.append(Node("memory@400000000", other))


def odd_memory(root: Node) -> None:
    """It ends within a page."""
    root.find("memory").props["reg"] = reg((0x80000000, (200 << 20) + 1234))


def no_rng(root: Node) -> None:
    root.find("chosen").props.pop("rng-seed", None)


def strange_nodes(root: Node) -> None:
    """Names without end, properties of no or of any length, deep nesting."""
    node = root
    for i in range(40):
        strange = {"reg": bytes(i), "compatible": b"", "status": b"no end", "": b"x"}
        node.children.append(Node("n" * 6 * i, strange))
        node = node.children[-1]


def no_memory(root: Node) -> None:
    root.find("memory").props["reg"] = reg((0x1_0000_0000, 1 << 30))


def slow_clock(root: Node) -> None:
    root.find("cpus").props["timebase-frequency"] = struct.pack(">I", 1000)


def too_large(root: Node) -> None:
    root.children.append(Node("large", {"data": bytes(60_000)}))


@pytest.mark.parametrize("change", [more_memory, odd_memory, no_rng, strange_nodes])
@pytest.mark.parametrize("harts", [4, 16])
def test_device_trees(
    images: Images, tmp_path: Path, change: Callable[[Node], None], harts: int
) -> None:
    """Unusual ones, on which Tally runs all the same."""
    result = boot_tree(images, tmp_path, change, harts)
    assert result.outcome.reason == "exit", result._story()
    assert result.out == "1\n"
    assert b"Tally on %d harts" % harts in result.boot


@pytest.mark.parametrize(
    "change, words",
    [
        (no_memory, b"panic: device tree: no memory node contains the kernel"),
        (slow_clock, b"panic: device tree: timebase-frequency is 1000"),
        (too_large, b"panic: device tree: more than 49152 bytes"),
    ],
)
def test_impossible_device_trees(
    images: Images, tmp_path: Path, change: Callable[[Node], None], words: bytes
) -> None:
    """Those without the essentials end in words that say so."""
    result = boot_tree(images, tmp_path, change, 4)
    assert words in result.boot + result.last_words, result._story()


def boot_tree(
    images: Images, folder: Path, change: Callable[[Node], None], harts: int
):
    """The end of a boot with a tree that was changed, whatever it is."""
    root = dump_tree(images, folder, harts)
    change(root)
    file = folder / "tree.dtb"
    file.write_bytes(devicetree.build(root))
    others = with_options(images, folder, f"-dtb {file}")
    machine = MACHINES["4"]
    machine = type(machine)(harts=harts, icount=6, limit=60.0, timeout=HANG)
    command = f"{words(60_000)} | sort | uniq | tail -n 1 | wc -l"
    return Guest(others, machine)._boot(command, machine, others.initrd(command))


# --- Archives that are booted ------------------------------------------------


def headers(archive: bytes) -> list[int]:
    """Where the members' headers are."""
    at, found = 0, []
    while at + BLOCK <= len(archive):
        if archive[at + 257 : at + 262] != b"ustar":
            at += BLOCK
            continue
        found.append(at)
        size = int(archive[at + 124 : at + 135].strip(b"\0 ") or b"0", 8)
        at += BLOCK + (size + BLOCK - 1) // BLOCK * BLOCK
    return found


def damage(archive: bytearray, at: int, pick: random.Random) -> None:
    """Change bytes of a member's header; often its checksum is right again."""
    for _ in range(pick.randrange(1, 5)):
        archive[at + pick.randrange(257)] = pick.choice(b"\0 /.07x\xff")
    if pick.random() < 0.7:
        archive[at + 148 : at + 156] = b" " * 8
        total = sum(archive[at : at + BLOCK])
        archive[at + 148 : at + 156] = b"%06o\0 " % total


@pytest.mark.parametrize("seed", range(SEED - 1, SEED - 1 + DAMAGED_BOOTS * MORE))
def test_damaged_archives(images: Images, seed: int) -> None:
    """What is whole of it is there; or the kernel says why it can't go on."""
    pick = random.Random(seed)
    command = "echo up; ls -lR / >/dev/null"
    with image.held(images.initrd(command), "initrd") as fd:
        archive = bytearray(Path(f"/proc/self/fd/{fd}").read_bytes())
    for at in pick.sample(headers(bytes(archive)), pick.randrange(1, 4)):
        damage(archive, at, pick)
    if pick.random() < 0.3:
        del archive[pick.randrange(len(archive)) :]
    guest = Guest(images, MACHINES["4"])
    result = guest._boot(
        command, type(guest.machine)(icount=6, limit=10.0, timeout=HANG), bytes(archive)
    )
    assert b"Tally on 4 harts" in result.boot, result._story()
    assert result.outcome.reason in ("exit", "limit", "panic"), result._story()
    if result.outcome.reason == "panic":
        assert b"init" in result.last_words, result._story()
