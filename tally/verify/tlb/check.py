"""scripts/tlb-check: does the kernel flush what real harts cache?

Runs guest programs on four harts, with a QEMU plugin that models what the TLB and the
instruction cache of a real hart may hold (docs/testing.md). Prints a line for each
program, and for each access that may have used an old entry or old code. Exits 1 if
there is such an access.

--mutants runs wrong versions of the kernel (tally/verify/tlb/mutants.txt), each of
which must be reported. A mutant's run stops at its first report of the expected kind.
If NAMEs are given, these mutants run to the end, and all reports are shown.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator, NamedTuple, TypeVar

HERE = Path(__file__).resolve().parent

from tally.boot import frames
from tally.build import image
from tally.plugins import plugin
from tally.base.cli import Parser, complain, script
from tally.base.table import Table
from tally.formats.hunks import HunkError
from tally.formats.executable import Image as Executable
from tally.verify.machines import MACHINES
from tally.base.errors import SetupError
from tally.boot.machine import Boot, Machine, find_qemu, memory_bytes
from tally.verify.tlb.wrong import Mutant, read_mutants
from tally.verify.guests import FOLDER, PROGRAMS, machines_of

BUILD = image.BUILD / "tlb"
MUTANTS = HERE / "mutants.txt"
SMALL, LARGER = "32M", "40M"  # QEMU 10 needs room behind the large initrd
FOUR_HARTS = ("4", SMALL)  # names in MACHINES
# Kernel functions that the plugin watches, by the plugin's names for them.
PLACES = {"unlock": "mutex_unlock", "release": "page_release", "switch": "switch_loads"}
TIMEOUT = 3600.0  # seconds of the host's clock, enough on a busy host
MUTANT_LIMIT = 20.0  # virtual seconds, as a wrong kernel may hang
SHOWN = 5  # reports of one kind and cause

# The text of each kind of report, about a hart and another hart's earlier access.
KINDS = {
    "access": "{hart} at {pc} may use the old TLB entry for {va}, which {other} changed"
    " at {cause}",
    "kept": "{hart} may use the old TLB entry for {va}, which {other} changed at"
    " {cause}, after the lock is released at {pc}",
    "freed": "{hart} may use the old TLB entry for {va}, which {other} changed at"
    " {cause}, after its page is freed at {pc}",
    "stale": "{hart} may read the page that {va} had before {other} changed its entry"
    " at {cause}, though others may store to the new page from {pc} on",
    "early": "{hart} at {pc} maps {va} to a page before other harts are sure to see what"
    " {other} stored in that page at {cause}",
    "text": "{hart} may execute, from {pc} on, the old code at {va} that {other}"
    " replaced at {cause}",
}


class CheckError(Exception):
    pass


class Report(NamedTuple):
    kind: str
    hart: int
    pc: int
    va: int
    other: int
    cause: int
    times: int


class Result(NamedTuple):
    """The result of one run."""

    watched: int  # accesses
    changes: int  # changes of page table entries that harts might have cached
    reports: list[Report]
    trouble: str  # how the program failed; "" if it didn't


@dataclasses.dataclass(frozen=True)
class Run:
    name: str
    command: str
    machine: Machine
    shared: bool = False  # has a shared folder
    until: str = ""  # the kind of report that ends it


def runs() -> dict[str, Run]:
    """Returns the guest suite's programs, on four harts; and some copied to other file
    systems. Turns end at random moments: harts themselves would never end a turn while
    others wait for their flush."""
    found = {}
    for program in PROGRAMS:
        names = [n for n in machines_of(program).all if n in FOUR_HARTS]
        if names:
            machine = MACHINES[names[0]]._replace(races=1)
            if names[0] == SMALL:
                machine = machine._replace(mem=LARGER)
            found[program] = Run(program, f"/bin/{program}", machine)
    four = MACHINES["races"]
    found["spread"] = Run("spread", "/bin/spread", four)
    for program in ("spread", "threads"):
        for place in ("tmp", "host"):
            file = f"/{place}/program"
            command = f"cp /bin/{program} {file} && chmod +x {file} && {file}"
            name = f"{program}@{place}"
            found[name] = Run(name, command, four, shared=place == "host")
    return found


class Kernel:
    def __init__(self, path: Path) -> None:
        self.elf = path.read_bytes()
        self.code = Executable(path)

    def places(self) -> Iterator[tuple[str, int]]:
        for name, symbol in PLACES.items():
            address = self.code.symbol(symbol)
            if address is None:
                raise CheckError(f"the kernel has no symbol {symbol}")
            yield name, address

    def place(self, pc: int) -> str:
        """Formats an address, with function and line if it is the kernel's."""
        function, line = self.code.function(pc), self.code.line(pc)
        if function is None:
            return f"{pc:#x}"
        where = f" ({line.file}:{line.number})" if line else ""
        return f"{pc:#x} {function.name}{where}"


class Images:
    """The parts of a boot except for the kernel."""

    def __init__(self) -> None:
        self.qemu = find_qemu()
        version = plugin.qemu_major(self.qemu)
        if version < plugin.REGISTERS_SINCE:
            raise CheckError(
                f"QEMU {plugin.REGISTERS_SINCE} or later is needed, whose plugins"
                " read registers; name one in $QEMU"
            )
        with image.build_lock():
            image.make()
            self.programs = image.overlay(FOLDER) + image.overlay(HERE / "guest")
            self.kernel = Kernel(image.BUILD / "kernel.elf")
            self.plugin = plugin.build("tlb", version, BUILD)
            self.base = image.initrd(None, self.programs)

    def initrd(self, command: str) -> image.Archive:
        return self.base.add(image.member(image.COMMAND, command.encode()))


# --- One run -----------------------------------------------------------------


def check(images: Images, kernel: Kernel, run: Run) -> Result:
    with tempfile.TemporaryDirectory(dir=BUILD) as name:
        folder = Path(name)
        share = folder / "share"
        share.mkdir()
        machine = run.machine._replace(timeout=TIMEOUT)
        if run.shared:
            machine = machine._replace(share=str(share))
        (folder / "map").write_text(
            "".join(
                f"{word} {value}\n"
                for word, value in (
                    ("harts", f"{machine.harts:x}"),
                    ("memory", f"{memory_bytes(machine.mem) >> 20:x}"),
                    ("result", "result"),
                    *([("until", run.until)] if run.until else []),
                    *((word, f"{at:x}") for word, at in kernel.places()),
                )
            )
        )
        trouble = boot(images, kernel, run, machine, folder / "map")
        if not (folder / "result").exists():
            raise CheckError(f"{run.name}: {trouble}")
        return read_result((folder / "result").read_text(), trouble)


def boot(images: Images, kernel: Kernel, run: Run, machine: Machine, map: Path) -> str:
    """Boots for a run; returns how it failed, or nothing."""
    heard: dict[str, bytearray] = collections.defaultdict(bytearray)

    def sink(channel: str, data: bytes) -> None:
        heard[channel] += data

    with image.held(kernel.elf, "kernel") as elf, image.held(
        images.initrd(run.command), "initrd"
    ) as archive:
        it = Boot(machine, images.qemu, elf, archive)
        it.command += ["-plugin", plugin.option(images.plugin, map)]
        outcome = it.run(sink)
    if not outcome.status:
        return ""
    said = heard[frames.STDOUT] + heard[frames.STDERR] + heard[frames.PANIC]
    bad = [
        line for line in said.decode(errors="replace").splitlines() if line[:3] == "not"
    ]
    last = it.complaints.decode(errors="replace").strip().splitlines()[-1:]
    return "; ".join([outcome.text or f"status {outcome.status}", *bad[:1], *last])


def read_result(text: str, trouble: str) -> Result:
    reports = []
    watched = changes = 0
    for line in text.splitlines():
        word, *rest = line.split()
        if word == "report":
            kind, hart, pc, va, other, cause, times = rest
            reports.append(
                Report(
                    kind,
                    int(hart),
                    int(pc, 16),
                    int(va, 16),
                    int(other),
                    int(cause, 16),
                    int(times),
                )
            )
        elif word == "watched":
            watched, changes = map(int, rest)
    return Result(watched, changes, reports, trouble)


# --- Showing -----------------------------------------------------------------


def show(kernel: Kernel, reports: list[Report]) -> Iterator[str]:
    """Yields a line for each report, but only SHOWN of one kind and cause."""
    seen: collections.Counter[tuple[str, int]] = collections.Counter()
    for r in reports:
        seen[r.kind, r.cause] += 1
        if seen[r.kind, r.cause] > SHOWN:
            continue
        text = KINDS[r.kind].format(
            hart=f"hart {r.hart}",
            other=f"hart {r.other}",
            va=f"{r.va:#x}",
            pc=kernel.place(r.pc),
            cause=kernel.place(r.cause),
        )
        yield f"    {r.kind}: {text}; {r.times} times"
    for (kind, cause), n in seen.items():
        if n > SHOWN:
            more = f"{n - SHOWN} more places with the cause"
            yield f"    {kind}: {more} {kernel.place(cause)}"


def check_all(images: Images, chosen: list[Run]) -> int:
    table = Table(
        ("program", "<18"),
        ("accesses", ">12,"),
        ("changes", ">8,"),
        ("reports", ">8"),
    )
    print(table.head())
    bad = 0

    def one(run: Run) -> Result:
        return check(images, images.kernel, run)

    watched = changes = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for run, result in zip(chosen, pool.map(one, chosen)):
            watched += result.watched
            changes += result.changes
            bad += bool(result.reports or result.trouble)
            row = run.name, result.watched, result.changes, len(result.reports)
            print(table.row(*row))
            if result.trouble:
                print(f"    the program failed: {result.trouble}")
            for line in show(images.kernel, result.reports):
                print(line)
            sys.stdout.flush()
    print(
        f"{len(chosen)} programs, {watched:,} accesses, {changes:,} changes of page "
        "table entries: "
        + (
            f"{bad} failed"
            if bad
            else "no use of an old TLB entry or of old code was found"
        )
    )
    return 1 if bad else 0


def check_mutants(
    images: Images, mutants: list[Mutant], programs: dict[str, Run], shown: bool
) -> int:
    table = Table(
        ("mutant", "<18"),
        ("program", "<12"),
        ("found as", "<10"),
        ("reports", ">8"),
        ("", ""),
    )
    print(table.head())
    survivors = []

    def one(mutant: Mutant) -> tuple[Kernel, Result]:
        run = programs[mutant.program]
        machine = run.machine._replace(limit=MUTANT_LIMIT)
        with tempfile.TemporaryDirectory(dir=BUILD) as name:
            kernel = Kernel(mutant.build(Path(name)))
            until = "" if shown else mutant.kind
            run = dataclasses.replace(run, machine=machine, until=until)
            return kernel, check(images, kernel, run)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, (kernel, result) in zip(mutants, pool.map(one, mutants)):
            kinds = sorted({r.kind for r in result.reports})
            found = mutant.kind in kinds
            row = mutant.name, mutant.program, ", ".join(kinds) or None
            mark = "" if found else "SURVIVES"
            print(table.row(*row, len(result.reports), mark), flush=True)
            for line in show(kernel, result.reports) if shown else ():
                print(line)
            if not found:
                survivors.append(mutant)
    for mutant in survivors:
        text = f"{mutant.name}: no report of kind {mutant.kind}: {mutant.what}"
        complain(text, "tlb-check")
    return 1 if survivors else 0


Chosen = TypeVar("Chosen")  # a mutant or a program


def choose(kind: str, known: dict[str, Chosen], names: list[str]) -> list[Chosen]:
    for name in names:
        if name not in known:
            raise CheckError(f"there is no {kind} {name}; there are {', '.join(known)}")
    return [known[name] for name in names or known]


def main() -> int:
    parser = Parser(
        "tlb-check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse(sys.argv[1:])
    programs = runs()
    mutants = read_mutants(MUTANTS)
    if options.mutants:
        wrong = choose("mutant", mutants, options.names)
        return check_mutants(Images(), wrong, programs, bool(options.names))
    chosen = choose("program", programs, options.names)
    return check_all(Images(), chosen)


def entry() -> int:
    return script(
        "tlb-check",
        main,
        CheckError,
        HunkError,
        SetupError,
        image.BuildError,
        subprocess.CalledProcessError,
    )
