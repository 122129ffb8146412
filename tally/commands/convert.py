"""scripts/tally-convert: see tally-convert(1)."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from pathlib import Path
from typing import Callable, Optional

from tally.base.cli import Parser, complain, put, put_stdout, script
from tally.base.errors import ConvertError
from tally.base.text import clean, plural
from tally.build.image import BUILD
from tally.build.files import Files
from tally.formats.digest import KERNEL as KERNEL_IN_GUEST
from tally.formats.executable import Image
from tally.profile import (
    detect,
    read_counters,
    read_histogram,
    read_pcs,
    write_folded,
    write_gmon,
    write_html,
    write_pprof,
    write_speedscope,
    write_svg,
)
from tally.profile.profile import HZ_MAX, IDLE, KERNEL_BASE, Profile, Unfit, is_kernel
from tally.profile.stacks import KERNEL_FILE, Programs, Stacks, lazy_kernel

ME = "tally-convert"
BIN = BUILD / "bin"
STATUS_ERROR, STATUS_USAGE = 1, 2
INPUT_LIMIT = 1 << 30  # bytes
PIECE = 1 << 20  # read at a time

# Outputs, and how the names of their files end.
ENDINGS = {
    "folded": (".folded", ".txt"),
    "pprof": (".pb.gz", ".pprof"),
    "speedscope": (".json",),
    "gmon": ("gmon.out", ".gmon"),
    "svg": (".svg",),
    "html": (".html",),
}

USAGE = """tally-convert [--from KIND] [--to KIND] [--kernel FILE]
           [--program [PID=|NAME=]FILE] ... [--share DIR] [--ps FILE]
           [--hz N] [--of WHAT] [--title TEXT] [--no-idle] [--no-pids]
           FILE [OUTPUT ...]"""


def rate(text: str) -> int:
    value = int(text)
    if not 0 < value <= HZ_MAX:
        raise ValueError(text)
    return value


rate.__name__ = "number of samples a second"


def parser() -> Parser:
    p = Parser(ME, usage=USAGE)
    p.add_argument(
        "--from",
        choices=detect.KINDS,
        dest="kind",
        help="FILE's format, if its contents don't tell",
    )
    p.add_argument(
        "--to",
        choices=ENDINGS,
        help="OUTPUT's format, if its name doesn't tell (one OUTPUT only)",
    )
    p.add_argument(
        "--kernel",
        type=Path,
        metavar="FILE",
        help="the kernel that was recorded (build/kernel.elf)",
    )
    p.add_argument(
        "--program",
        action="append",
        default=[],
        metavar="[PID=|NAME=]FILE",
        help="the file of a program that was recorded",
    )
    p.add_argument(
        "--share",
        type=Path,
        metavar="DIR",
        help="the folder that was shared as /host, to find its programs",
    )
    p.add_argument("--ps", metavar="FILE", help="the output of ps, to name processes")
    p.add_argument(
        "--hz",
        type=rate,
        metavar="N",
        help="how many samples a second each hart took (100)",
    )
    p.add_argument(
        "--of",
        metavar="WHAT",
        help="for gmon, whose samples: kernel, a process's id or a program's name",
    )
    p.add_argument("--title", metavar="TEXT", help="the title of a page or graph")
    p.add_argument("--no-idle", action="store_true", help="leave idle samples out")
    p.add_argument(
        "--no-pids", action="store_true", help="merge the processes of each program"
    )
    p.add_argument(
        "file", metavar="FILE", nargs="?", help="a recording; - is standard input"
    )
    p.add_argument(
        "outputs",
        metavar="OUTPUT",
        nargs="*",
        help="a file to write; - is standard output",
    )
    return p


@dataclasses.dataclass(frozen=True)
class Options:
    """All that was asked of scripts/tally-convert."""

    kind: Optional[str]
    to: Optional[str]
    kernel: Optional[Path]
    program: list[str]
    share: Optional[Path]
    ps: Optional[str]
    hz: Optional[int]
    of: Optional[str]
    title: Optional[str]
    no_idle: bool
    no_pids: bool
    file: str
    outputs: list[str]
    forms: list[str]  # of each output


def parse(words: list[str]) -> Options:
    p = parser()
    chosen = p.parse(words)
    if chosen.file is None:
        p.error("which file?")
    chosen.outputs = chosen.outputs or ["-"]
    if chosen.to and len(chosen.outputs) > 1:
        p.error("--to sets the format of one output; of several, their names do")
    forms = [chosen.to or form(p, name) for name in chosen.outputs]
    if chosen.of is not None and "gmon" not in forms:
        p.error("--of is for gmon only")
    return Options(forms=forms, **vars(chosen))


def form(p: Parser, output: str) -> str:
    """What to write to an output of this name."""
    name = os.path.basename(output).lower()
    for to, ends in ENDINGS.items():
        if name.endswith(ends):
            return to
    p.error(f"--to is needed: {output} does not tell what to write")


def say(file: object, text: str) -> None:
    complain(f"{file}: {text}", ME)


# --- What goes in -------------------------------------------------------------


def read_input(name: str) -> bytes:
    try:
        with open(0 if name == "-" else name, "rb", closefd=name != "-") as file:
            data = bytearray()
            while len(data) <= INPUT_LIMIT and (piece := file.read(PIECE)):
                data += piece
    except OSError as error:
        raise ConvertError(name, error.strerror or str(error)) from error
    if len(data) > INPUT_LIMIT:
        raise ConvertError(name, f"more than {INPUT_LIMIT:,} bytes")
    return bytes(data)


def is_pid(text: str) -> bool:
    return re.fullmatch("[0-9]{1,9}", text) is not None


def load_program(word: str, programs: Programs) -> None:
    """FILE, PID=FILE or NAME=FILE."""
    who, equals, name = word.partition("=")
    if not equals or os.path.exists(word):
        who, name = "", word
    image = Image(Path(name), None if is_pid(who) else who or None, unnamed=True)
    if image.text[1] > KERNEL_BASE:
        raise ConvertError(name, "not a program: its text has the kernel's addresses")
    if is_pid(who):
        programs.by_pid[int(who)] = image
    else:
        programs.others.append(image)


def load_processes(file: str, programs: Programs) -> None:
    """What ps printed: lines with a process's id first and its name last. A
    later one is right, as a shell becomes the command that it runs."""
    found = {}
    for line in read_input(file).decode(errors="replace").splitlines():
        words = line.split()
        if len(words) > 1 and is_pid(words[0]):
            found[int(words[0])] = clean(words[-1])
    named = {image.name: image for image in programs.others}
    for pid, name in found.items():
        if pid in programs.by_pid:
            continue
        if name not in named and "/" not in name and os.path.isfile(BIN / name):
            named[name] = Image(BIN / name)
        if name in named:
            programs.by_pid[pid] = named[name]
        else:
            programs.names[pid] = name


def read(
    kind: str, file: str, data: bytes, kernel: Callable[[], Image], programs: Programs
) -> Profile:
    def find(address: int) -> Optional[Image]:
        return kernel() if is_kernel(address) else programs.find(address)

    if kind == "pcs":
        return read_pcs.read(file, data)
    if kind == "kpdata":
        return read_counters.read_kpdata(file, data, kernel())
    if kind == "prf":
        return read_counters.read_prf(file, data)
    if kind == "mon":
        return read_histogram.read_mon(file, data, find)
    return read_histogram.read_gmon(file, data, find)


def drop_idle(profile: Profile) -> None:
    busy = [s for s in profile.samples if s.mode != IDLE]
    left_out = profile.total - sum(s.count for s in busy)
    profile.samples = busy
    if left_out:
        profile.notes.append(f"{left_out} idle left out")


def check_kernel(file: str, profile: Profile) -> None:
    """Names of another kernel's functions would be wrong, and look right."""
    if profile.kernel and not Files(BUILD).find(KERNEL_IN_GUEST, profile.kernel):
        raise ConvertError(
            file,
            f"recorded on another kernel than {KERNEL_FILE}:" " name it with --kernel",
        )


# --- What comes out -----------------------------------------------------------


def make_output(form: str, stacks: Stacks, options: Options) -> bytes:
    name = "standard input" if options.file == "-" else os.path.basename(options.file)
    title = options.title or f"Tally: {name}"
    try:
        if form == "folded":
            return write_folded.write(stacks)
        if form == "pprof":
            return write_pprof.write(stacks, title)
        if form == "speedscope":
            return write_speedscope.write(stacks, title)
        if form == "svg":
            return write_svg.write(stacks, title)
        if form == "html":
            return write_html.write(stacks, title)
        data, lacking = write_gmon.write(stacks, options.of)
    except Unfit as error:
        raise ConvertError(options.file, str(error)) from None
    for text in lacking:
        say(options.file, text)
    return data


def convert(options: Options) -> None:
    programs = Programs(Files(BUILD, options.share))
    programs.merged = options.no_pids
    kernel = lazy_kernel(options.kernel)
    for word in options.program:
        load_program(word, programs)
    if options.ps:
        load_processes(options.ps, programs)
    data = read_input(options.file)
    kind = options.kind or detect.kind(options.file, data)
    if not data:
        raise ConvertError(options.file, "empty")
    profile = read(kind, options.file, data, kernel, programs)
    if options.kernel is None:
        check_kernel(options.file, profile)
    profile.hz = options.hz or profile.hz
    if options.no_idle:
        drop_idle(profile)
    stacks = Stacks(profile, kernel, programs)
    for pid, names in stacks.ambiguous.items():
        say(
            options.file,
            f"process {pid} may be {' or '.join(names)}:"
            f" --program {pid}=FILE tells",
        )
    for why, count in stacks.unknown.items():
        say(options.file, f"{plural(count, 'sample')} without names: {why}")
    for caution in profile.cautions():
        say(options.file, caution)
    made = [make_output(form, stacks, options) for form in options.forms]
    for name, data in zip(options.outputs, made):
        if name == "-":
            put_stdout(data)
        else:
            put(name, data)


def run() -> int:
    options = parse(sys.argv[1:])
    try:
        convert(options)
    except MemoryError:
        raise ConvertError(options.file, "this host has too little memory") from None
    return 0


def entry() -> int:
    return script(ME, run, ConvertError, status=STATUS_ERROR, usage=STATUS_USAGE)
