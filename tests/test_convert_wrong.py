"""scripts/tally-convert: files and options that are wrong."""

from __future__ import annotations

import gzip
import io
import random
import re
import subprocess
from pathlib import Path
from typing import Optional

import pytest
from elftools.elf.elffile import ELFFile

from harness import elves, profiles as made
from harness.converter import PROGRAM, Converter
from tally.base.errors import ConvertError
from tally.formats.executable import Image

BEGIN, END = 1_790_000_000, 1_790_000_003  # seconds since 1970
BUCKETS = elves.STEP * len(elves.KERNEL) // 8

NO_PROFILE = "not a known profile, or damaged; set its format with --from: pcs, kpdata, prf, mon, gmon"
LOW, HIGH = elves.PROGRAM_TEXT, elves.PROGRAM_TEXT + 64
STREAM = made.session(b"", BEGIN, END)
FULL = 4 * (2 + BUCKETS)
WRONG: list[tuple[str, Optional[str], bytes, str]] = [
    ("empty", None, b"", "empty"),
    ("empty, forced", "mon", b"", "empty"),
    ("text", None, b"hello, world\n" * 100, NO_PROFILE),
    ("short text", None, b"hi\n", NO_PROFILE),
    ("an executable", None, b"\x7fELF\2\1\1" + bytes(range(250)), NO_PROFILE),
    ("gzip", None, gzip.compress(b"x" * 1000, mtime=1), NO_PROFILE),
    ("pcs cut", None, STREAM[:-100], "truncated: 412 bytes of buffer 2"),
    *((f"pcs, {n} bytes of a header", None, STREAM[:n], NO_PROFILE) for n in range(1, 5)),
    ("pcs cut early", None, STREAM[:99], "truncated: 99 bytes of buffer 1"),
    ("pcs, then text", None, STREAM + b"x" * 512,
     "not a pcs stream: buffer 3: invalid header: it says that 30840 bytes are unused"),
    ("pcs of no type", None, STREAM + made.logbuf([b"\x63" + bytes(7)]),
     "not a pcs stream: buffer 3: unknown record type 99"),
    ("pcs, stack alone", None, STREAM + made.logbuf([made.stack([1])]),
     "not a pcs stream: buffer 3: a stack without a sample"),
    ("pcs, stack too long", None,
     STREAM + made.logbuf([made.psample(2, 1), b"\x0b\x09" + bytes(6)]),
     "not a pcs stream: buffer 3: its last record is cut off"),
    ("pcs, stack of more kernel", None,
     STREAM + made.logbuf([made.psample(2, 1), b"\x0b\1\2\0" + bytes(4)]),
     "not a pcs stream: buffer 3: invalid stack: 1 frames, 2 of them in the kernel"),
    ("pcs, stack cut for no reason", None,
     STREAM + made.logbuf([made.psample(2, 1), b"\x0b\1\0\6" + bytes(4)]),
     "not a pcs stream: buffer 3: unknown reason for a truncated stack: 0x06"),
    ("not pcs", "pcs", b"hello " * 200, "truncated: 176 bytes of buffer 3"),
    ("kpdata cut", None, made.kpdata([0] * BUCKETS)[:40],
     f"truncated, or from another kernel: 40 bytes, not {FULL}"),
    ("kpdata of another", None, made.kpdata([0] * BUCKETS + [1]),
     f"from another kernel: {FULL + 4} bytes, not {FULL}"),
    ("prf cut", None, made.prf_log([1, 2], [(1, [0] * 4)])[:-8],
     "truncated: 32 bytes of a record after the addresses"),
    ("prf alone", None, made.prf_log([1, 2], []),
     "truncated: no record after the addresses"),
    ("prf, its table cut", None, made.prf_log([0, elves.KERNEL_TEXT, 2**64 - 1], [])[:-8],
     "truncated: 2 of 3 addresses"),
    ("prf unsorted", "prf", made.prf_log([2, 1], [(1, [0] * 4)]),
     "not a prf log: no sorted table of addresses"),
    ("mon cut", None, made.mon(LOW, HIGH, [1])[:-1],
     "truncated: it ends within a counter"),
    ("mon's header cut", "mon", made.mon(LOW, HIGH, [])[:-1],
     "truncated: the header is incomplete"),
    ("mon's cells cut", "mon", made.mon(LOW, HIGH, [], [(1, 2)])[:-1],
     "truncated: too short for its 1 call counts"),
    ("mon upside down", "mon", made.mon(HIGH, LOW, []),
     "not a mon.out: 0x10040 is not below 0x10000"),
    ("gmon cut", None, made.gmon([made.gmon_histogram(LOW, HIGH, [1], 100)])[:-1],
     "truncated: its last record is cut off"),
    ("gmon's header cut", None, b"gmon\1", "truncated: the header is incomplete"),
    ("gmon of version 2", None, made.gmon([], version=2),
     "not a gmon.out of version 1"),
    ("gmon of no tag", None, made.gmon([b"\7"]),
     "not a gmon.out: unknown record tag 7"),
]


@pytest.mark.parametrize("kind, data, text", [w[1:] for w in WRONG],
                         ids=[w[0] for w in WRONG])
def test_wrong_files(
    convert: Converter, tmp_path: Path, kind: Optional[str], data: bytes, text: str
) -> None:
    """One line, and what was there before stays."""
    (tmp_path / "in").write_bytes(data)
    (tmp_path / "x.svg").write_text("before")
    words = [f"--from={kind}"] if kind else []
    result = convert.run(*words, "--kernel=kernel.elf", str(tmp_path / "in"),
                         str(tmp_path / "x.svg"))
    said = f"tally-convert: {tmp_path}/in: {text}\n"
    assert (result.returncode, result.stderr.decode()) == (1, said)
    assert (tmp_path / "x.svg").read_text() == "before"


def test_wrong_executables(convert: Converter) -> None:
    folder = convert.folder
    (folder / "text").write_text("hello\n")
    (folder / "cut").write_bytes((folder / "prog").read_bytes()[:5000])
    narrow = ["-march=rv32imac", "-mabi=ilp32"]
    elves.build(folder, "narrow", elves.PROGRAM_TEXT, PROGRAM, machine=narrow)
    strip = [elves.tool("strip"), "-o", "stripped", "prog"]
    subprocess.run(strip, cwd=folder, check=True)
    (folder / "kp").write_bytes(made.kpdata([0] * BUCKETS))
    wanted = {
        "--kernel=none": "none: No such file or directory",
        "--kernel=.": ".: Is a directory",
        "--kernel=text": "text: not an ELF file",
        "--kernel=cut": "cut: not a whole ELF file",
        "--kernel=narrow": "narrow: not for a 64-bit RISC-V",
        "--kernel=/bin/sh": "/bin/sh: not for a 64-bit RISC-V",
        "--kernel=stripped": "stripped: no symbols",
        "--program=none": "none: No such file or directory",
        "--program=kernel.elf":
            "kernel.elf: not a program: its code is at kernel addresses",
    }
    for word, text in wanted.items():
        result = convert.run("--to=folded", word, "kp")
        said = (result.returncode, result.stderr.decode())
        assert said == (1, f"tally-convert: {text}\n")


def test_damaged_executables(convert: Converter) -> None:
    """Whatever was done to it, it is read or one line says that it can't be."""
    whole = (convert.folder / "prog").read_bytes()
    file = convert.folder / "damaged"
    table = ELFFile(io.BytesIO(whole)).get_section_by_name(".debug_line")
    header, first = range(64), table["sh_offset"]
    places = (header, range(first, first + table["sh_size"]), range(len(whole)))
    pick = random.Random(11)
    complaints = set()

    def damaged() -> bytes:
        data = bytearray(whole)
        for _ in range(pick.choice((1, 2, 8))):
            at = pick.choice(pick.choice(places))
            data[at] = pick.choice((0, 1, 0x7F, 0xFF))
        if pick.random() < 0.2:
            del data[pick.randrange(len(whole)):]
        return bytes(data)

    no_sections = whole[:60] + bytes(2) + whole[62:]
    for data in (no_sections, *(damaged() for _ in range(500))):
        file.write_bytes(data)
        try:
            image = Image(file)
            assert image.function(elves.PROGRAM_TEXT - 1) is None
            image.line(elves.PROGRAM_TEXT)
        except ConvertError as error:
            complaints.add(str(error).rpartition(": ")[2])
    assert complaints == {
        "not an ELF file", "not a whole ELF file", "not for a 64-bit RISC-V",
        "no symbols", "damaged line numbers",
    }


def test_other_errors(convert: Converter) -> None:
    (convert.folder / "data").write_bytes(STREAM + made.logbuf([made.psample(2, 1)]))
    wanted = {
        ("none", "x.svg"): "none: No such file or directory",
        (".", "x.svg"): ".: Is a directory",
        ("data", "none/x.svg"): "none/x.svg: No such file or directory",
        ("--to=gmon", "--of=9", "data", "x.out"): "data: --of 9: no such process",
    }
    for words, text in wanted.items():
        result = convert.run("--kernel=kernel.elf", *words)
        said = (result.returncode, result.stderr.decode())
        assert said == (1, f"tally-convert: {text}\n")
    assert not list(convert.folder.glob("*.part"))


@pytest.mark.parametrize("words", [
    [], ["--to=folded"], ["data"], ["data", "out.xyz"], ["--to=xml", "data"],
    ["--from=x", "data", "x.svg"], ["--hz=0", "data", "x.svg"],
    ["--hz=x", "data", "x.svg"], ["--of=3", "data", "x.svg"],
    ["a", "b", "c.svg"], ["--to=svg", "a", "b", "c.svg"],
    ["--frob", "data", "x.svg"], ["--to"],
])
def test_usage(convert: Converter, words: list[str]) -> None:
    result = convert.run(*words)
    said = rb"tally-convert: .+ \(tally-convert --help lists the options\)\n"
    assert re.fullmatch(said, result.stderr)
    assert (result.returncode, result.stdout) == (2, b"")
