"""scripts/tally-convert: files made to cost it time or memory, or to trip it.

Each becomes output in proportion to its size, or one line says why it can't. The
address space has a limit, and so has what would never end.
"""

from __future__ import annotations

import random
import resource
import struct
import subprocess
import sys
from pathlib import Path
from typing import Optional

import pytest

from harness import elves, profiles as made
from harness.converter import CONVERT, Converter
from tally import ROOT
from tally.verify.patience import HANG

MEMORY = 1 << 30  # bytes of address space
OUTPUTS = ["x.folded", "x.svg", "x.pb.gz", "x.json"]
EXPANSION = 150  # bytes of an output for each of the input,
BASE = 12 << 20  # and what it may have besides

KERNEL, PROGRAM = elves.KERNEL_TEXT, elves.PROGRAM_TEXT
BUCKETS = elves.STEP * len(elves.KERNEL) // 8
MOST = 2**64 - 1
MOST_32 = 2**32 - 1


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (HANG, HANG))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def far_apart() -> bytes:
    return made.stream([[made.psample(made.USER, pc, 3)] for pc in (0, MOST_32)])


def deep_stacks(buffers: int) -> bytes:
    """As much of them as fits, all different."""
    pcs = iter(range(2, 1 << 31, 2))
    return made.stream(
        [made.psample(made.KERNEL, next(pcs), 3),
         made.stack([next(pcs) for _ in range(60)], [next(pcs) for _ in range(61)])]
        for _ in range(buffers)
    )


def known_stacks(buffers: int) -> bytes:
    """What register ra held is looked for in the code of each."""
    text = range(KERNEL & MOST_32, (KERNEL & MOST_32) + elves.STEP, 2)
    return made.stream(
        [made.psample(made.KERNEL, pc, 3), made.stack([pc + 2] * 2)]
        for pc in text for _ in range(buffers)
    )


def many_pids() -> bytes:
    return made.stream(
        [made.psample(made.USER, PROGRAM, pid)] for pid in range(-(1 << 15), 1 << 15, 16)
    )


def every_hart(each: int) -> bytes:
    return made.stream(
        [made.msample(made.IDLE, 32767, hart)] for hart in range(256) for _ in range(each)
    )


def requests() -> bytes:
    return made.stream([made.isample(0o20, [1, 2, 3, 4, 5])] for _ in range(20_000))


def small_records() -> bytes:
    """One address, and counters that go back each time."""
    rows = [(i, [i % 2, 1 - i % 2, 1]) for i in range(20_000)]
    return made.prf_log([KERNEL], rows)


def histograms(count: int, apart: int) -> bytes:
    return made.gmon([
        made.gmon_histogram(PROGRAM + i * apart, PROGRAM + i * apart + 2, [65535], 100)
        for i in range(count)
    ])


NO_RANGE = "a gmon.out can't have a range from {:#x} to {:#x}"
NO_COUNTS = "its counts are too high for pprof"
ODD_RATE = "not a gmon.out: a histogram's range, size or rate is invalid"
CUT = "truncated: its last record is cut off"

#: What the file is, its bytes, options; and what is said instead of an output,
#: of gmon and of all the others. None: there is one.
CRAFTED: list[tuple[str, bytes, list[str], Optional[str], Optional[str]]] = [
    ("pcs, addresses far apart", far_apart(), ["--of=3"],
     NO_RANGE.format(0, MOST_32 + 1), None),
    ("pcs, deep stacks", deep_stacks(400), [], None, None),
    ("pcs, stacks of known code", known_stacks(100), [], None, None),
    ("pcs, many processes", many_pids(), [], None, None),
    ("pcs, harts that can't be", every_hart(200), [], None, None),
    ("pcs, requests", requests(), [], "no samples", "no samples"),
    ("kpdata, one counter full", made.kpdata([MOST_32] + [0] * (BUCKETS - 1)), [],
     None, None),
    ("kpdata, all counters full", struct.pack(f">{BUCKETS + 2}I", *[MOST_32] *
     (BUCKETS + 2)), ["--from=kpdata"], "too large for a gmon.out: "
     "its counts fill 3,145,776 records", None),
    ("prf, no time", made.prf_log([KERNEL], [(MOST, [0] * 3), (MOST, [1] * 3)]), [],
     None, None),
    ("prf, a late time", made.prf_log([KERNEL], [(1, [0] * 3), (2**60, [1] * 3)]), [],
     None, None),
    ("prf, full counters", made.prf_log([KERNEL, MOST], [(1, [MOST] * 4)]), [],
     f"too large for a gmon.out: its counts fill {MOST // 65535:,} records", NO_COUNTS),
    ("prf, small records", small_records(), [], None, None),
    ("prf, too many addresses", struct.pack("<4Q", 2**61, 1, 2, 3), ["--from=prf"],
     "not a prf log: no sorted table of addresses",
     "not a prf log: no sorted table of addresses"),
    ("mon of everything", made.mon(0, 2**63, [1]), [], None, None),
    ("mon, unevenly", made.mon(0, 2**63, [1, 2, 3]), [], NO_RANGE.format(0, 2**63),
     None),
    ("mon at the end", made.mon(MOST - 3, MOST, [1, 2]), [],
     NO_RANGE.format(MOST - 3, MOST), None),
    ("mon, cells", struct.pack("<3Q", PROGRAM, PROGRAM + 2, 2**60), ["--from=mon"],
     f"truncated: too short for its {2**60} call counts",
     f"truncated: too short for its {2**60} call counts"),
    ("mon, calls", made.mon(PROGRAM, PROGRAM + 2, [1], [(MOST, MOST)] * 9999), [],
     None, None),
    ("gmon, far apart", histograms(2, 2**40), [],
     NO_RANGE.format(PROGRAM, PROGRAM + 2**40 + 2), None),
    ("gmon, the same again", histograms(20_000, 0), [], None, None),
    ("gmon, one after another", histograms(20_000, 2), [], None, None),
    ("gmon, a rate", made.gmon([made.gmon_histogram(0, 2, [1], MOST_32)]), [], ODD_RATE,
     ODD_RATE),
    ("gmon, bins", made.gmon([struct.pack("<BQQII15sc", 0, 0, 2, MOST_32, 100, b"",
     b"s")]), [], CUT, CUT),
    ("gmon, blocks", made.gmon([struct.pack("<BI", 2, MOST_32)]), [], CUT, CUT),
]


@pytest.mark.parametrize("data, words, gmon, others", [c[1:] for c in CRAFTED],
                         ids=[c[0] for c in CRAFTED])
@pytest.mark.parametrize("outputs", [["x.gmon"], OUTPUTS], ids=["gmon", "others"])
def test_crafted(
    convert: Converter, tmp_path: Path, data: bytes, words: list[str],
    gmon: Optional[str], others: Optional[str], outputs: list[str],
) -> None:
    (tmp_path / "data").write_bytes(data)
    if outputs == OUTPUTS:
        wrong, words = others, [word for word in words if "--of" not in word]
    else:
        wrong = gmon
    result = convert.run(
        f"--kernel={convert.folder / 'kernel.elf'}", *words, "data", *outputs,
        folder=tmp_path, limit=limited,
    )
    if wrong is not None:
        said = result.stderr.decode().splitlines()[-1:]
        assert (result.returncode, said) == (1, [f"tally-convert: data: {wrong}"])
        assert [file.name for file in tmp_path.iterdir()] == ["data"]
        return
    assert result.returncode == 0, result.stderr
    for output in outputs:
        size = (tmp_path / output).stat().st_size
        assert size <= BASE + EXPANSION * len(data), output


def test_an_endless_file(convert: Converter) -> None:
    """It is read as far as any profile goes, or as there is memory."""
    result = subprocess.run([CONVERT, "/dev/zero", "x.svg"], cwd=convert.folder,
                            capture_output=True, text=True, preexec_fn=limited)
    said = "tally-convert: /dev/zero: this host has too little memory\n"
    assert (result.returncode, result.stderr) == (1, said)


def test_what_ps_cannot_have_said(convert: Converter) -> None:
    """Ids and names that no process has."""
    ps = f"{'9' * 5000} x\n\u00b2 x\n3 {'n' * 100_000}\n4 \033[2J\n-5 x\n5 ..\n"
    (convert.folder / "ps").write_text(ps)
    stream = made.stream([[made.psample(made.USER, PROGRAM, pid)] for pid in (3, 4, 5)])
    text = convert.folded(stream, "--ps=ps")
    assert text == "".join(sorted(
        f"{name} ({pid});[user];0x10000 1\n"
        for pid, name in ((3, "n" * 991 + "\u2026f318a926"), (4, "?[2J"), (5, ".."))
    ))


def test_a_name_that_is_no_text(convert: Converter, tmp_path: Path) -> None:
    """The host's file names are bytes."""
    name = tmp_path / b"\xff.data".decode(errors="surrogateescape")
    name.write_bytes(made.stream([[made.psample(made.USER, PROGRAM, 3)]]))
    program = tmp_path / b"\xfe".decode(errors="surrogateescape")
    program.write_bytes((convert.folder / "prog").read_bytes())
    words = [f"--program=3={program}", str(name)]
    outputs = [str(tmp_path / output) for output in OUTPUTS]
    result = convert.run(*words, *outputs)
    assert (result.returncode, result.stderr) == (0, b"")


def test_no_room_for_output(convert: Converter) -> None:
    (convert.folder / "data").write_bytes(made.logbuf([made.msample(made.IDLE, 4)]))
    with open("/dev/full", "wb") as full:
        result = subprocess.run([CONVERT, "--to=svg", "data"], cwd=convert.folder,
                                stdout=full, stderr=subprocess.PIPE)
    said = b"tally-convert: -: No space left on device\n"
    assert (result.returncode, result.stderr) == (1, said)


# --- At random ---------------------------------------------------------------

ROUNDS = 60  # of each kind

# Converts all files of a folder, in one process: Python's start takes longest.
# It tells of those that become no output, without a line that says why.
RUNNER = """
import contextlib, io, pathlib, sys
from tally.commands import convert

kernel, folder = map(pathlib.Path, sys.argv[1:])
output = folder / "output"
for file in sorted(folder.glob("*.*")):
    words = ["", f"--kernel={kernel}", f"--from={file.suffix[1:]}"]
    for to in ("folded", "svg", "pprof", "speedscope", "callgrind", "gmon"):
        sys.argv = [*words, f"--to={to}", str(file), str(output)]
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = convert.entry()
        made = output.exists()
        output.unlink(missing_ok=True)
        told = f"tally-convert: {file}: " in said.getvalue()
        if (status, made) != (0, True) and (status, made, told) != (1, False, True):
            print(file.name, to, status, made, said.getvalue())
"""

WHOLE = {
    "pcs": made.session(deep_stacks(2) + known_stacks(1)[:1024], 1, 2),
    "kpdata": made.kpdata(list(range(BUCKETS)), user=5),
    "prf": made.prf_log([0, KERNEL, MOST], [(1, [0] * 5), (2, [1, 2, 3, 4, 5])]),
    "mon": made.mon(PROGRAM, PROGRAM + 64, list(range(32)), [(PROGRAM, 1)] * 3),
    "gmon": made.gmon([
        made.gmon_histogram(PROGRAM, PROGRAM + 64, list(range(32)), 100),
        made.gmon_arc(PROGRAM, PROGRAM + 8, 3),
    ]),
}


def damaged(whole: bytes, pick: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(pick.choice((1, 2, 8))):
        near = pick.random() < 0.7  # the beginning, where headers are
        at = pick.randrange(min(len(data), 40) if near else len(data))
        data[at] = pick.choice((0, 1, 0x7F, 0x80, 0xFF, pick.randrange(256)))
    if pick.random() < 0.2:
        at = pick.randrange(len(data))
        data[at : at + 8] = struct.pack("<Q", pick.choice((MOST, 2**63, 2**31, 0)))
    if pick.random() < 0.1:
        del data[pick.randrange(len(data)):]
    return bytes(data)


@pytest.mark.parametrize("kind", WHOLE)
def test_damaged(convert: Converter, tmp_path: Path, kind: str) -> None:
    """Whatever was done to it: there is each output, or one line instead."""
    pick = random.Random(12)
    for i in range(ROUNDS):
        (tmp_path / f"{i}.{kind}").write_bytes(damaged(WHOLE[kind], pick))
    result = subprocess.run(
        [sys.executable, "-c", RUNNER, convert.folder / "kernel.elf", tmp_path],
        cwd=ROOT, capture_output=True, text=True,
        preexec_fn=limited,
    )
    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)
