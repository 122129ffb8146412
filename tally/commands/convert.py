"""scripts/tally-convert: see tally-convert(1)."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Callable, Optional

from tally.base.cli import Parser, check_put, complain, put, put_stdout, script
from tally.base.errors import ConvertError
from tally.base.text import clean, plural
from tally.build.image import BUILD
from tally.build.files import Files
from tally.commands.naming import add_name_options
from tally.formats.digest import KERNEL as KERNEL_IN_GUEST
from tally.formats.executable import Image
from tally.profile import (
    detect,
    outputs,
    read_counters,
    read_histogram,
    read_pcs,
    write_gmon,
)
from tally.profile.profile import HZ_MAX, IDLE, KERNEL_BASE, Profile, Unfit, is_kernel
from tally.profile.stacks import (
    KERNEL_FILE,
    MANGLED,
    Programs,
    Stacks,
    lazy_kernel,
)

if TYPE_CHECKING:
    from tally.profile.archive import Archive

ME = "tally-convert"
BIN = BUILD / "bin"
STATUS_ERROR, STATUS_USAGE = 1, 2
INPUT_LIMIT = 1 << 30  # bytes
PIECE = 1 << 20  # read at a time

USAGE = """tally-convert [--from KIND] [--to KIND] [--kernel FILE]
           [--program [PID=|NAME=]FILE] ... [--share DIR] [--ps FILE]
           [--hz N] [--of WHAT] [--title TEXT] [--no-idle] [--no-pids]
           [--inline] [--no-demangle] FILE [OUTPUT ...]"""


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
        help="FILE's format, if its contents don't show it",
    )
    p.add_argument(
        "--to",
        choices=[*outputs.WRITERS, "gmon"],
        help="OUTPUT's format, if its suffix doesn't select it (one OUTPUT only)",
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
        help="the folder that was shared as /host, to find programs in it",
    )
    p.add_argument("--ps", metavar="FILE", help="the output of ps, to name processes")
    p.add_argument(
        "--hz",
        type=rate,
        metavar="N",
        help="the rate: samples per second on each hart (100)",
    )
    p.add_argument(
        "--of",
        metavar="WHAT",
        help="for gmon, the samples to write: kernel, a process ID or a program's name",
    )
    p.add_argument("--title", metavar="TEXT", help="the title of a page or graph")
    p.add_argument("--no-idle", action="store_true", help="omit idle samples")
    p.add_argument(
        "--no-pids", action="store_true", help="merge the processes of each program"
    )
    add_name_options(p)
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
    inline: bool
    no_demangle: bool
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
        p.error("--to needs a single OUTPUT: the names of several select their formats")
    forms = [chosen.to or form(p, name) for name in chosen.outputs]
    if chosen.of is not None and "gmon" not in forms:
        p.error("--of is for gmon only")
    return Options(forms=forms, **vars(chosen))


def form(p: Parser, output: str) -> str:
    """What to write to an output of this name."""
    to = outputs.selected(output)
    if to is not None and to != "tally":
        return to
    p.error(f"--to is needed: the suffix of {output} selects no format")


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
        raise ConvertError(name, "not a program: its code is at kernel addresses")
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
        profile.notes.append(f"{left_out} idle samples omitted")


def check_kernel(file: str, profile: Profile) -> None:
    """Names of another kernel's functions would be wrong, and look right."""
    if profile.kernel and not Files(BUILD).find(KERNEL_IN_GUEST, profile.kernel):
        raise ConvertError(
            file,
            f"recorded on another kernel than {KERNEL_FILE}:"
            " name that one with --kernel",
        )


# --- What comes out -----------------------------------------------------------


def make_output(form: str, stacks: Stacks, title: str, options: Options) -> bytes:
    try:
        if form in outputs.WRITERS:
            return outputs.WRITERS[form](stacks, title)
        data, lacking = write_gmon.write(stacks, options.of)
    except Unfit as error:
        raise ConvertError(options.file, str(error)) from None
    for text in lacking:
        say(options.file, text)
    return data


def read_stacks(
    kind: str, data: bytes, kept: Optional[Archive], options: Options
) -> Stacks:
    """kept: the files of the archive that has the recording; else those of the build."""
    programs = Programs(kept or Files(BUILD, options.share))
    programs.merged = options.no_pids
    kernel = lazy_kernel(options.kernel)
    if kept and options.kernel is None:
        own = kept.image(kept.kernel)
        kernel = lambda: own
    for word in options.program:
        load_program(word, programs)
    if options.ps:
        load_processes(options.ps, programs)
    profile = read(kind, options.file, data, kernel, programs)
    if options.kernel is None and kept is None:
        check_kernel(options.file, profile)
    profile.hz = options.hz or profile.hz
    if options.no_idle:
        drop_idle(profile)
    return Stacks(profile, kernel, programs)


def read_exact(kept: Archive, options: Options) -> Stacks:
    for word in ("kernel", "program", "ps", "hz"):
        if getattr(options, word):
            raise ConvertError(
                options.file,
                f"it counts instructions, and has all programs: --{word} can't apply",
            )
    stacks = kept.exact()
    if options.no_idle:
        drop_idle(stacks.profile)
    return stacks


def convert(options: Options, folder: Path) -> None:
    """folder: for files of a .tally."""
    data = read_input(options.file)
    kind = options.kind or detect.kind(options.file, data)
    if not data:
        raise ConvertError(options.file, "empty")
    name = "standard input" if options.file == "-" else os.path.basename(options.file)
    kept = None
    if kind == "tally":
        from tally.profile.archive import Archive  # few recordings need it

        kept = Archive(options.file, data, folder)
        if options.share:
            raise ConvertError(
                options.file, "it has its own programs: --share can't apply"
            )
        kind, data, name = kept.kind, kept.recording, kept.command
    if kept and kept.is_exact:
        stacks = read_exact(kept, options)
    else:
        stacks = read_stacks(kind, data, kept, options)
    stacks.programs.demangle = not options.no_demangle
    stacks.programs.inline = options.inline
    title = options.title or f"Tally: {name}"
    write(stacks, title, options)


def write(stacks: Stacks, title: str, options: Options) -> None:
    profile = stacks.profile
    if not profile.total and not (profile.calls and set(options.forms) == {"gmon"}):
        none = f"no {profile.unit}s" + " besides idle ones" * options.no_idle
        raise ConvertError(options.file, "; ".join([none, *profile.cautions()]))
    for pid, names in stacks.ambiguous.items():
        say(
            options.file,
            f"process {pid} may be {' or '.join(names)}:"
            f" select one with --program {pid}=FILE",
        )
    for why, count in stacks.unknown.items():
        say(options.file, f"{plural(count, profile.unit)} without names: {why}")
    for caution in profile.cautions():
        say(options.file, caution)
    made = [make_output(form, stacks, title, options) for form in options.forms]
    if stacks.mangled:
        say(options.file, MANGLED)
    for name, data in zip(options.outputs, made):
        if name == "-":
            put_stdout(data)
        else:
            put(name, data)


def run() -> int:
    options = parse(sys.argv[1:])
    for output in options.outputs:
        if output != "-":
            check_put(output)
    try:
        with tempfile.TemporaryDirectory() as folder:
            convert(options, Path(folder))
    except MemoryError:
        raise ConvertError(options.file, "this host has too little memory") from None
    return 0


def entry() -> int:
    return script(ME, run, ConvertError, status=STATUS_ERROR, usage=STATUS_USAGE)
