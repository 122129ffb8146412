"""tally -a: the instructions that it shows are those that objdump shows."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from harness import elves
from harness.guest import Guest
from harness.tools import tool
from tally import ROOT
from tally.build import image

SOURCE = Path(__file__).parent / "disasm" / "lines.c"
FLAGS = "-std=gnu2x -O1 -Wall -Wextra -Werror -fno-sanitize-recover=all"
SANITIZED = "-fsanitize=address,undefined"
WORDS, MAJOR = 30_000, (
    0x03, 0x07, 0x0f, 0x13, 0x17, 0x1b, 0x23, 0x27, 0x2f, 0x33, 0x37, 0x3b, 0x43,
    0x47, 0x4b, 0x4f, 0x53, 0x63, 0x67, 0x6f, 0x73)
FLOAT = 0x53  # of which some rounding modes are reserved
SPECIAL = re.compile(r"unknown|^fcvt\.d\.[sw].*,r|^\.|64\s|^csr|,0$|c\.(addi|lui|li|slli|mv|add)")
ROW = re.compile(r" *([0-9a-f]+):\t([0-9a-f]+) +\t(.*)")


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """disasm.c on the host, with the compiler's sanitizers where it has them."""
    compiler = tool("gcc")
    program = tmp_path_factory.mktemp("disasm") / "lines"
    folder = ROOT / "user" / "cmdlib"
    for more in [SANITIZED], []:
        built = subprocess.run(
            [compiler, *FLAGS.split(), *more, f"-I{folder}", SOURCE,
             folder / "disasm.c", "-o", program], capture_output=True, text=True)
        if "cannot find" not in built.stderr:
            break
    assert built.returncode == 0, built.stderr
    return program


def objdump(file: Path) -> list[tuple[str, str, str]]:
    """Address, number and text of all instructions."""
    text = subprocess.run(
        [elves.tool("objdump"), "-d", "-M", "no-aliases", file], check=True,
        capture_output=True, text=True).stdout
    return [m.groups() for m in map(ROW.fullmatch, text.splitlines()) if m]


def plain(text: str) -> str:
    """Without names of places, and with the operands after a blank."""
    text = re.sub(r"\s*(<[^>]*>|#.*)", "", text).replace("\t", " ").strip()
    if text.startswith(("j", "b", "c.j", "c.b")):
        text = re.sub(r"\b0x(?=[0-9a-f]+$)", "", text)
    return "c.nop" if text == "c.addi zero,0" else text


def compare(lines: Path, rows: list[tuple[str, str, str]]) -> dict[str, tuple]:
    """Mnemonics for which the two differ, with an example."""
    given = "".join(f"{at} {number}\n" for at, number, _ in rows)
    done = subprocess.run([lines], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    differ: dict[str, tuple] = {}
    shown = done.stdout.splitlines()
    assert len(shown) == len(rows)
    for (_, number, text), mine in zip(rows, shown):
        expected, mine = plain(text), mine.partition("\t")[2]
        if expected != mine:
            differ.setdefault(expected.split()[0], (number, expected, mine))
    return differ


def test_all_that_is_built(lines: Path) -> None:
    rows = objdump(image.BUILD / "kernel.elf")
    for file in sorted((image.BUILD / "bin").iterdir()):
        rows += objdump(file)
    assert len(rows) > 100_000
    assert compare(lines, rows) == {}


def test_what_is_not_built(lines: Path, tmp_path: Path) -> None:
    """Random numbers: whatever objdump knows of RV64GC, and nothing else. Reserved
    ones may have no name here, and the names of other control registers are left
    out."""
    rng = random.Random(7)
    words = [rng.getrandbits(32) & ~0x7f | rng.choice(MAJOR) for _ in range(WORDS)]
    # Few random numbers are one of an operation with all its fields.
    for i in range(0, WORDS, 2):
        words[i] &= ~rng.choice((0, 0x7000, 0x1f << 20, 0x7000 | 0x1f << 20))
        words[i] = words[i] & 0x01ffffff | rng.randrange(128) << 25
    halves = [h for h in range(1 << 16) if h & 3 != 3]
    source = tmp_path / "words.S"
    source.write_text("".join([*(f".4byte {w:#x}\n" for w in words),
                               *(f".2byte {h:#x}\n" for h in halves)]))
    made = tmp_path / "words.o"
    subprocess.run([elves.tool("gcc"), "-march=rv64gc", "-mabi=lp64d", "-c", source,
                    "-o", made], check=True)
    # Its marks say that these are data.
    subprocess.run([elves.tool("objcopy"), "--wildcard", "-N", "$*", made], check=True)
    rows = objdump(made)
    known = [row for row in rows if not SPECIAL.search(row[2])]
    assert len(known) > 40_000
    assert compare(lines, known) == {}
    unknown = [(at, number, ".word " + text.split()[1]) for at, number, text in rows
               if text.startswith(".4byte") and int(number, 16) & 0x7f != FLOAT]
    assert len(unknown) > 5_000
    assert compare(lines, unknown) == {}


@pytest.mark.machines("4")
def test_annotated(guest: Guest) -> None:
    """tally -a: each sample of a function is at one of its instructions."""
    extra = ROOT / "examples"
    result = guest("echo seed 3 >/dev/profclock; tally -a discount shop", extra=extra)
    head = re.search(r" discount \[shop \d+\], (\d+) samples in it\n", result.out)
    assert head and not result.err
    rows = re.findall(r"^ *(?:(\d+) +([\d.]+))? +(0x[0-9a-f]+|0)  (.*)$",
                      result.out[head.end():], re.M)
    assert sum(int(count or 0) for count, *_ in rows) == int(head[1]) > 20
    assert sum(float(share or 0) for _, share, *_ in rows) == pytest.approx(100, abs=2)
    texts = [text for *_, text in rows]
    assert any(text.startswith("remuw ") for text in texts)
    assert any(re.fullmatch(r"bne .*<discount\+0x\w+>", text) for text in texts)


def test_nothing_to_annotate(guest: Guest) -> None:
    result = guest("tally -a nosuch true; echo $?")
    assert result.out.endswith("\n1\n")
    assert result.err == "tally: no samples in function nosuch\n"
