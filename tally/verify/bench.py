"""scripts/bench: measures the guest instructions of operations.

Without arguments it measures, prints a table beside the figures of xv6 and Linux, and
writes build/bench.json. --check FILE compares with earlier figures of the same
compiler, and fails if any is more than 3 % worse; if FILE has only other compilers'
figures, 15 %. --from FILE reads figures instead of measuring, --save FILE writes them
for later checks. --scaling measures ratios of rates on several harts instead. These
depend on the host, which needs as many processors as there are harts.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, NamedTuple, Optional

from tally import ROOT
from tally.base.cli import Parser, complain, put, script
from tally.base.errors import SetupError, UsageError
from tally.base.table import Table
from tally.boot.machine import Machine, find_qemu
from tally.build import image
from tally.formats.elf import Elf

BENCH = ROOT / "tests" / "bench"
SCALE = ROOT / "tests" / "scale"
RESULT = image.BUILD / "bench.json"
WORSE = 1.03  # a figure that has grown by more fails a check
FOREIGN = 1.15  # the same for figures from another compiler
PAGE = 4096
ONE_HART = ("--icount", "0", "--harts", "1", "--extra", str(BENCH))


class Row(NamedTuple):
    """An operation, with others' figures and a goal; None: unknown."""

    what: str
    xv6: Optional[float]  # compiled -O2
    linux: Optional[float]
    goal: float
    #: The most that it is, by the instructions of a loop on which ticks happen to fall.
    #: On which they do depends on all that was executed before, the boot included.
    most: float = 0


ROWS = {
    "getpid": Row("null system call", 875, 272, 130),
    "pipe_self": Row("pipe, write 1 + read 1", 27_682, 2_648, 900),
    "pipe_rtt": Row("pipe, 1-byte round trip", 65_844, 13_086, 4_000),
    "yield_alone": Row("sched_yield, alone", None, 1_102, 300),
    "fork_exit_wait": Row("fork + exit + wait", 544_747, 104_260, 20_000),
    "fork_256pages": Row("the same, 256 more pages", 12_231_018, 212_185, 45_000),
    "fork_exec": Row("fork + exec + exit + wait", 1_389_624, 231_765, 60_000),
    "heap_page": Row("heap growth, a page", 24_894, 4_504, 1_500),
    "heap_free_page": Row("heap released, a page", 12_557, 1_437, 300),
    "open_close": Row("open + close", 375_866, 7_098, 2_000),
    "write_64k": Row("create + write 64 KiB", 21_341_021, 119_600, 40_000),
    "read_64k": Row("open + read 64 KiB", 2_809_910, 50_400, 25_000),
    "pipe_4096": Row("pipe, 1 MiB by 4096, a byte", 524, 2.06, 0.8),
    "pipe_512": Row("pipe, 1 MiB by 512, a byte", 547, 6.3, 2.5),
    "tick": Row("timer tick over a user loop", 22_090, 4_200, 300),
    "tick_sbi": Row("the same, sstc=off", None, 5_450, 1_200),
    "sample_prf": Row("added per tick, with prf", None, None, 80),
    "sample_kprof": Row("with kprof", None, 46, 25),
    "sample_pcs": Row("with pcs", None, None, 60),
    "sample_profil": Row("with profil", None, None, 120),
    "sample_all": Row("with all four", None, 2_978, 260),
    "sample_prf_kernel": Row(
        "added per tick in a kernel loop, with prf", None, None, 80, 216
    ),
    "sample_kprof_kernel": Row("with kprof", None, None, 25),
    "sample_pcs_kernel": Row("with pcs", None, None, 60, 116),
    "sample_profil_kernel": Row("with profil", None, None, 120, 116),
    "sample_all_kernel": Row("with all four", None, None, 260, 361),
    "boot": Row("first instruction to a shell's command", 20_000_000, None, 5_000_000),
    "image_bytes": Row("the kernel's image, bytes", None, None, 256 << 10),
    "boot_bytes": Row(
        "memory in use at a shell's command, 4 harts, bytes", None, None, 2 << 20
    ),
}


class BenchError(Exception):
    pass


def guest(command: str, *options: str) -> dict[str, float]:
    """Returns the figures that a guest prints: lines with a name and a number."""
    run = subprocess.run(
        [str(ROOT / "scripts" / "run"), *options, "--", command],
        stdout=subprocess.PIPE,
        text=True,
    )
    if run.returncode:
        raise BenchError(f"{command!r} failed")
    pairs = (line.split() for line in run.stdout.splitlines())
    return {name: float(value) for name, value in pairs}


def firmware_cycles(machine: Machine) -> int:
    """Returns the firmware's cycles until a kernel's first instruction."""
    stub = image.BUILD / "first.elf"
    source = str(BENCH / "first.S")
    flags = [
        "-nostdlib",
        "-march=rv64imac_zicsr",
        "-mabi=lp64",
        "-Wl,-N,--no-warn-rwx-segments,-Ttext=0x80200000",
    ]
    subprocess.run([*compiler(), *flags, "-o", str(stub), source], check=True)
    arguments = machine.arguments(str(stub), str(image.BUILD / "initrd.tar"), True)
    try:
        said = subprocess.run(
            [find_qemu(), *arguments], capture_output=True, timeout=60
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError("the firmware did not end within 60 s") from error
    digits = re.search(rb"([0-9a-f]{16})$", said.stdout.strip())
    if not digits:
        raise BenchError("the firmware printed no count of cycles")
    return int(digits[1], 16)


def load_sizes(kernel: Path) -> tuple[int, int]:
    """Returns the bytes that a loader reads from the ELF file, and those in memory."""
    loads = Elf(kernel.read_bytes()).loads
    return sum(s.size for s in loads), sum(s.memory for s in loads)


def initrd_bytes() -> int:
    """Returns the bytes of the pages that the initrd's files take in memory."""
    with tarfile.open(image.BUILD / "initrd.tar") as tar:
        return sum((member.size + PAGE - 1) // PAGE * PAGE for member in tar)


def measure() -> dict[str, float]:
    with image.build_lock():
        image.make()
    figures = guest("bench", *ONE_HART)
    figures.update(guest("bench ticks", *ONE_HART))
    figures.update(guest("bench tick_sbi", *ONE_HART, "--cpu", "sstc=off"))
    figures.update(guest("bench boot", *ONE_HART))
    figures["boot"] -= firmware_cycles(Machine(harts=1, icount=0))
    four = guest("bench boot", "--icount", "0", "--extra", str(BENCH))
    in_file, in_memory = load_sizes(image.BUILD / "kernel.elf")
    figures["boot_bytes"] = four["boot_bytes"] + in_memory - initrd_bytes()
    figures["image_bytes"] = in_file
    return {name: figures[name] for name in ROWS}


class Ratio(NamedTuple):
    """Two rates to compare; each is a number of harts and scale's arguments."""

    what: str
    of: tuple[int, str]
    to: tuple[int, str]
    goal: float
    options: tuple[str, ...] = ()


RATIOS = (
    Ratio(
        "getpid on 2 harts, 2 processes relative to 1",
        (2, "getpid 2"),
        (2, "getpid 1"),
        1.9,
    ),
    Ratio(
        "fork + exit + wait, 2 harts, 2 processes relative to 1",
        (2, "fork 2"),
        (2, "fork 1"),
        1.6,
    ),
    Ratio(
        "getpid, 1 process, 4 harts relative to 1",
        (4, "getpid 1"),
        (1, "getpid 1"),
        0.9,
    ),
    Ratio(
        "a loop sampled at 10 kHz, 1 hart, 1 ns an instruction",
        (1, "loop 1 100 10000"),
        (1, "loop 1 100"),
        0.99,
        ("--icount", "0"),
    ),
    Ratio(
        "the same on 4 harts, which take turns",
        (4, "loop 4 100 10000"),
        (4, "loop 4 100"),
        0.99,
        ("--icount", "0"),
    ),
)
TIMES = 5  # the median counts
LASTS = "1000"  # ms


def rate(harts: int, what: str, options: tuple[str, ...]) -> float:
    words = what.split()
    if not options:
        words.append(LASTS)
    boot = ["--harts", str(harts), *options, "--extra", str(SCALE)]
    (figure,) = guest(f"echo rate $(scale {' '.join(words)})", *boot).values()
    return figure


def scaling() -> int:
    """Prints each ratio; returns how many are below their goals."""
    below = 0
    table = Table(("", "<56"), ("", ">6.3f"), ("", ">6.2f"), ("", ""))
    for r in RATIOS:
        pairs = [
            rate(*r.of, r.options) / rate(*r.to, r.options)
            for _ in range(1 if r.options else TIMES)
        ]
        ratio = statistics.median(pairs)
        below += ratio < r.goal
        print(table.row(r.what, ratio, r.goal, "below" * (ratio < r.goal)))
    return below


def number(value: Optional[float]) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if value < 100 and value % 1 else f"{round(value):,}"


def table(figures: dict[str, float]) -> str:
    columns = Table(
        ("", "<40"),
        ("Tally", ">12"),
        ("xv6 -O2", ">12"),
        ("Linux", ">10"),
        ("goal", ">10"),
        ("", ""),
    )
    lines = [columns.head()]
    for name, row in ROWS.items():
        cells = map(number, (figures[name], row.xv6, row.linux, row.goal))
        mark = "" if figures[name] <= row.goal else "over"
        lines.append(columns.row(row.what, *cells, mark))
    return "\n".join(lines)


def compiler() -> list[str]:
    command = ["make", "-s", "-C", str(ROOT), "print-CC"]
    return subprocess.run(command, capture_output=True, text=True).stdout.split()


def compiler_name() -> str:
    """Returns the compiler's name in the checked-in figures."""
    command = [*compiler(), "-dumpversion"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "gcc " + said.split(".")[0].strip()


def worse(
    figures: dict[str, float], known: dict[str, dict[str, float]], name: str
) -> list[str]:
    """Returns lines about figures that have grown too much."""
    allowed = WORSE if name in known else FOREIGN
    baseline = known.get(name) or next(iter(known.values()))
    return [
        f"{key}: {number(figures[key])}, was {number(old)}"
        for key, old in baseline.items()
        if figures[key] > max(old * allowed, ROWS[key].most)
    ]


def read_figures(file: Path) -> dict[str, float]:
    """Reads a number for each operation."""
    figures: dict[str, float] = read_json(file)
    if not is_complete(figures):
        raise BenchError(f"{file}: figures of some operations are missing")
    return figures


def read_known(file: Path) -> dict[str, dict[str, float]]:
    """Reads figures by compiler."""
    known: dict[str, dict[str, float]] = read_json(file)
    good = isinstance(known, dict) and known and all(map(is_complete, known.values()))
    if not good:
        raise BenchError(f"{file}: not a file with figures for each compiler")
    return known


def read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text())
    except ValueError as error:
        raise BenchError(f"{file}: {error}") from error


def is_complete(figures: object) -> bool:
    return (
        isinstance(figures, dict)
        and figures.keys() >= ROWS.keys()
        and all(isinstance(value, (int, float)) for value in figures.values())
    )


def check(figures: dict[str, float], file: Path) -> int:
    found = worse(figures, read_known(file), compiler_name())
    for line in found:
        complain(f"worse: {line}", "bench")
    return 1 if found else 0


def save(figures: dict[str, float], file: Path) -> None:
    known = read_known(file) if file.is_file() else {}
    known[compiler_name()] = figures
    put(file, (json.dumps(known, indent=1, sort_keys=True) + "\n").encode())


def main() -> int:
    parser = Parser("bench", description=__doc__)
    parser.add_argument("--check", type=Path, metavar="FILE")
    parser.add_argument("--save", type=Path, metavar="FILE")
    parser.add_argument("--from", type=Path, metavar="FILE", dest="given")
    parser.add_argument("--scaling", action="store_true")
    options = parser.parse(sys.argv[1:])
    if options.scaling and (options.given or options.save or options.check):
        raise UsageError("--scaling can't be combined with other options")
    if options.scaling:
        with image.build_lock():
            image.make()
        return min(scaling(), 1)
    if options.given:
        figures = read_figures(options.given)
    else:
        figures = measure()
        RESULT.write_text(json.dumps(figures, indent=1) + "\n")
    print(table(figures))
    if options.save:
        save(figures, options.save)
    if options.check:
        return check(figures, options.check)
    return 0


def entry() -> int:
    return script(
        "bench",
        main,
        BenchError,
        SetupError,
        image.BuildError,
        subprocess.CalledProcessError,
    )
