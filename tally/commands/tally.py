"""scripts/tally: where a command's time goes. See tally-host(1)."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import math
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Optional

from tally.base.cli import Parser, check_put, complain, number, put, script, wrong
from tally.base.errors import ConvertError, SetupError, UsageError
from tally.boot import options as run_options
from tally.boot.machine import Outcome
from tally.boot.session import Session, reported
from tally.build import image
from tally.build.files import Files
from tally.build.programs import joined, of_initrd, of_share, original
from tally.commands.naming import add_name_options
from tally.formats.executable import Image
from tally.formats.program import SIGRETURN, Program, program
from tally.plugins import plugin
from tally.profile import archive, outputs, read_pcs, write_gmon, write_html
from tally.profile.archive import Kept
from tally.profile.exact import Exact, Tree, write_map
from tally.profile.page import TABLES, Model, Page, compared, missing_samples
from tally.profile.profile import IDLE, NANOSECONDS, USER, Unfit
from tally.profile.stacks import MANGLED, Programs, Stacks, lazy_kernel
from tally.profile.waits import Waits, read as read_waits

ME = "tally"
ENDS = " ".join(suffixes[0] for suffixes in outputs.SUFFIXES.values())
HARTS, ICOUNT = 1, 6
FREE_HARTS = 4
HZ, HZ_MAX = 1000, 20_000

# What the guest does for samples. The recording lies in its memory until the
# command has ended, so that only the command is sampled. Then it is sent here over
# the serial line, in the guest's time: a shared folder would take the host's. A file
# goes after a line with its name and size.
COMMAND_FILE = "etc/profiled"
RECORDING = ".tally-recording"
SEND = (
    "for f in /tmp/.tally-*; do\n"
    "echo ${f#/tmp/} $(wc -c <$f); cat $f; done >/dev/hostdata\nexit $status"
)
SAMPLING = f"""echo hz %d >/dev/profclock
echo jitter on >/dev/profclock
getpc -s -o /tmp/{RECORDING} sh /{COMMAND_FILE}
status=$?
{SEND}"""

# For waits, which the guest's own tally reports.
WAITS = ".tally-waits"
NOT_WAITS = ("exact", "sampled", "since", "until", "of", "by")
OF_FILES = ("hz", "inline", "no_demangle")  # also not without -o
WAITING = f"tally -w -o /tmp/{WAITS} sh /{COMMAND_FILE}\nstatus=$?\n{SEND}"

# For a page with both. What was recorded before the command isn't the command's.
BOTH = SAMPLING.replace("getpc", "echo startclr >/dev/waitctl\ngetpc").replace(
    "$?", f"$?\necho stop >/dev/waitctl\ncp /dev/waitdata /tmp/{WAITS}"
)


def gmon(stacks: Stacks) -> bytes:
    """It has room for one executable: the kernel, or a process's, whichever has
    the most samples."""
    of: Counter[str] = Counter()
    for s in stacks.profile.samples:
        if s.mode != IDLE:
            of[str(s.pid) if s.mode == USER else "kernel"] += s.count
    (most, _), *_ = of.most_common(1) or [("kernel", 0)]
    data, lacking = write_gmon.write(stacks, most)
    image = None if most == "kernel" else stacks.image(int(most))
    name = f"{image.name}, process {most}" if image else "the kernel"
    complain("; ".join([f"gmon.out contains only {name}", *lacking]), ME)
    return data


def parser() -> Parser:
    p = run_options.parser()
    p.prog, p.usage = ME, "%(prog)s [OPTIONS] [--] COMMAND"
    p.set_defaults(harts=None)
    p.add_argument(
        "--exact",
        action="store_true",
        help="count every instruction, with a plugin for QEMU",
    )
    p.add_argument(
        "--sampled",
        action="store_true",
        help="with --exact: also take samples, and show both side by side",
    )
    p.add_argument(
        "--waits",
        action="store_true",
        help="show what threads wait for, and who wakes them up",
    )
    p.add_argument(
        "--free",
        action="store_true",
        help="let harts run in parallel; times and shares then reflect QEMU's speed",
    )
    p.add_argument(
        "-r",
        type=number(1, HZ_MAX),
        dest="hz",
        metavar="HZ",
        help=f"take HZ samples a second on each hart ({HZ})",
    )
    p.add_argument(
        "--from",
        type=moment,
        dest="since",
        metavar="S",
        help="use only samples at S seconds and later",
    )
    p.add_argument(
        "--to",
        type=moment,
        dest="until",
        metavar="S",
        help="use only samples before S seconds",
    )
    p.add_argument(
        "--of",
        type=name,
        metavar="FUNCTION",
        help="use only FUNCTION and what it calls",
    )
    p.add_argument(
        "--by",
        choices=TABLES,
        metavar="WHAT",
        help="print only this table, with all its rows: " + " ".join(TABLES),
    )
    add_name_options(p)
    p.add_argument(
        "-o",
        dest="outputs",
        action="append",
        default=[],
        metavar="FILE",
        help="also write a file, whose suffix selects the format; several -o write"
        f" several: {ENDS}",
    )
    return p


def name(text: str) -> str:
    if not text:
        wrong("nothing", "a function's name")
    return text


def moment(text: str) -> float:
    """Seconds from the beginning of the recording."""
    if not re.fullmatch(r"\d+\.?\d*|\.\d+", text):
        wrong(text, "a number of seconds")
    return float(text)


def selected(file: str) -> str:
    """Returns the format that the name selects."""
    format = outputs.selected(file)
    if format is None:
        raise UsageError(
            f"-o {file}: unknown suffix; the name must end with one of {ENDS}"
        )
    return format


@dataclasses.dataclass(frozen=True)
class Options:
    """All that was asked of scripts/tally."""

    boot: run_options.Options
    command: str
    exact: bool  # count instructions
    sampled: bool  # and, or, take samples
    waits: bool  # and, or, record waits
    hz: int
    since: Optional[float]  # seconds
    until: Optional[float]
    of: Optional[str]  # a function
    by: Optional[str]  # a table
    inline: bool  # show inlined functions?
    no_demangle: bool
    outputs: dict[str, str]  # files, and their formats

    def choose_names(self, programs: Programs) -> None:
        programs.inline = self.inline
        programs.demangle = not self.no_demangle

    @property
    def window(self) -> tuple[float, float]:
        """The time that was asked for, in nanoseconds."""
        end = math.inf if self.until is None else self.until * NANOSECONDS
        return (self.since or 0) * NANOSECONDS, end

    @property
    def time(self) -> str:
        """The same, for a reader."""
        if self.since is None and self.until is None:
            return ""
        end = "on" if self.until is None else f"to {self.until:g} s"
        return f" from {self.since or 0:g} s {end}"


def parse(words: list[str]) -> Options:
    chosen, command = run_options.parse(words, parser)
    if command is None:
        raise UsageError("no command")
    chosen.outputs = {file: selected(file) for file in chosen.outputs}
    for file, format in chosen.outputs.items():
        if format == "gmon" and chosen.exact:
            raise UsageError(
                f"-o {file}: a gmon.out holds samples, but --exact takes none"
            )
    if chosen.waits:
        check_waits(chosen)
    timed = chosen.since is not None or chosen.until is not None
    if timed and chosen.exact:
        raise UsageError("--from and --to need samples: --exact records no times")
    if chosen.by == "paths" and not chosen.of:
        raise UsageError("--by paths needs --of FUNCTION")
    if chosen.exact and chosen.hz and not chosen.sampled:
        raise UsageError("-r sets the rate of samples, but --exact takes none")
    if chosen.free and (chosen.exact or chosen.icount is not None):
        raise UsageError("--free can't be combined with --exact, --icount or --races")
    if chosen.harts is None:
        chosen.harts = FREE_HARTS if chosen.free else HARTS
    if not chosen.free and chosen.icount is None:
        chosen.icount = ICOUNT
    return Options(
        run_options.options(chosen, command),
        command,
        chosen.exact,
        chosen.sampled or not (chosen.exact or chosen.waits),
        chosen.waits,
        chosen.hz or HZ,
        chosen.since,
        chosen.until,
        chosen.of,
        chosen.by,
        chosen.inline,
        chosen.no_demangle,
        chosen.outputs,
    )


def check_waits(chosen: argparse.Namespace) -> None:
    """Waits come beside samples in a file, or on a page of their own."""
    for file, format in chosen.outputs.items():
        if format != "html":
            raise UsageError(
                f"-o {file}: --waits can write only a page for a browser (.html)"
            )
    defaults = parser()
    for option in NOT_WAITS if chosen.outputs else NOT_WAITS + OF_FILES:
        if getattr(chosen, option) != defaults.get_default(option):
            raise UsageError(
                "--waits can't be combined with --exact, --sampled, --from, --to, --of"
                " or --by, nor with -r, --inline or --no-demangle if there is no -o"
            )


# --- Exact profiles -----------------------------------------------------------


class Known:
    """What may be executed."""

    def __init__(self, session: Session, folder: Path, command: str) -> None:
        self.folder = folder
        options = session.options
        file = options.kernel_file
        kernel = program("kernel", file.read_bytes(), file)
        if not kernel or not kernel.named:
            raise SetupError(f"{file}: not a kernel with symbols")
        self.kernel = kernel
        self.folders = [image.BUILD / "bin"]
        if options.extra:
            self.folders.insert(0, image.overlay_bin(options.extra))
        self.folders += [file.parent for _, file in session.brought]
        programs = [*of_initrd(session.initrd)]
        if options.machine.share:
            programs += of_share(Path(options.machine.share))
        self.programs = [*joined(programs, command, self.folders), SIGRETURN]

    def file(self, p: Program) -> Path:
        """The host's file, with lines if the host has these."""
        file = p.file or original(p, self.folders)
        if not file:
            file = self.folder / f"program-{self.programs.index(p)}"
            file.write_bytes(p.data)
        return file

    @functools.lru_cache(maxsize=None)
    def image(self, name: str) -> Optional[Image]:
        """With its functions and, if it is known on the host, lines."""
        each = next(p for p in [self.kernel, *self.programs] if p.name == name)
        return Image(self.file(each), name, unnamed=True) if each.functions else None


class Run:
    """One boot for the command, counted or sampled or both."""

    def __init__(self, options: Options, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.sent = bytearray()  # what the guest has, see SEND
        self.session = session = Session(options.boot, ME)
        version = plugin.qemu_major(session.qemu)
        several = options.boot.machine.harts > 1
        if options.exact and several and version < plugin.REGISTERS_SINCE:
            raise SetupError(
                f"--exact on several harts needs QEMU {plugin.REGISTERS_SINCE} or"
                f" newer, this one is {version}; --harts 1 works"
            )
        guest = None
        if options.sampled:
            guest = SAMPLING % options.hz
        elif options.waits:
            guest = BOTH % options.hz if options.outputs else WAITING
        if guest:
            member = image.member(COMMAND_FILE, os.fsencode(options.command))
            session.build(guest, member)
        else:
            session.build(options.command)
        if options.exact:
            self.library = plugin.build("counter", version, image.BUILD / "plugin")

    def counted(self) -> tuple[Outcome, Optional[Model]]:
        """None: it ended too early for a profile."""
        session = self.session
        self.known = known = Known(session, self.folder, self.options.command)
        result = self.folder / "result"
        try:
            written = write_map(
                self.folder,
                known.kernel,
                known.programs,
                result.name,
                self.options.sampled,
            )
        except KeyError as error:
            raise SetupError(
                f"{session.options.kernel_file}: --exact can't follow this kernel:"
                f" it has no symbol {error}"
            ) from None
        arguments = ["-plugin", plugin.option(self.library, written)]
        outcome = session.boot(arguments, self.sent)
        if b"-plugin" in session.complaints:
            raise SetupError(
                f"{session.qemu} takes no plugins: install another, or name it in $QEMU"
            )
        if not result.exists():
            return outcome, None
        self.result = result.read_bytes()
        tree = Tree(self.result.decode(), known.kernel, known.programs)
        exact = Exact(tree, lambda p: known.image(p.name))
        self.options.choose_names(exact.programs)
        return outcome, exact_model(exact, self.options.of)

    def run(self) -> Outcome:
        return self.session.boot(data=self.sent)

    def left(self, name: str) -> Optional[bytes]:
        """A file that the guest has sent, whole."""
        data = bytes(self.sent)
        while data:
            head, _, data = data.partition(b"\n")
            each, _, size = head.decode(errors="replace").rpartition(" ")
            if not size.isdecimal() or int(size) > len(data):
                break
            if each == name:
                return data[: int(size)]
            data = data[int(size) :]
        return None

    def sampled(self) -> Optional[Model]:
        """What the guest has left, once it was booted."""
        recording = self.left(RECORDING)
        if recording is None:
            return None
        profile = read_pcs.read(RECORDING, recording)
        begin, end = self.options.window
        if self.options.time:  # how many samples are missing of a part, nobody knows
            profile.samples = [
                s for s in profile.samples if begin <= (s.time or 0) < end
            ]
        boot = self.options.boot
        first = image.overlay_path(boot.extra) if boot.extra else None
        share = boot.machine.share and Path(boot.machine.share)
        brought = [file for _, file in self.session.brought]
        self.files = Files(image.BUILD, share or None, first, brought)
        programs = Programs(self.files)
        self.options.choose_names(programs)
        stacks = Stacks(profile, lazy_kernel(boot.kernel), programs)
        return sampled_model(stacks, self.options)

    def archive(self, stacks: Stacks) -> bytes:
        """The recording, with the files that give its addresses names."""
        if isinstance(stacks, Exact):
            kind, recording = archive.EXACT, self.result
            used = stacks.tree.used
            programs = [
                Kept(
                    p.name,
                    None,
                    self.known.file(p) if i in used and p.functions else None,
                )
                for i, p in enumerate(self.known.programs, 1)
            ]
        else:
            kind, recording = archive.PCS, self.left(RECORDING) or b""
            found = {(p.program, p.digest) for p in stacks.profile.processes}
            programs = [
                Kept(path, digest, file)
                for path, digest in sorted(found)
                if digest and (file := self.files.find(path, digest))
            ]
        kernel = self.session.options.kernel_file
        return archive.write(kind, self.options.command, recording, kernel, programs)

    def waited(self, stacks: Stacks) -> Waits:
        """What the guest has left beside the recording that these are of."""
        data = read_waits(WAITS, self.left(WAITS) or b"")
        return Waits(data, stacks.profile, stacks.kernel, stacks.programs)


def profile(options: Options) -> Outcome:
    for file in options.outputs:
        check_put(file)
    with tempfile.TemporaryDirectory() as name:
        run = Run(options, Path(name))
        if options.waits and not options.outputs:
            return waits(run)
        if not options.exact:
            outcome = run.run()
            model, beside = run.sampled(), None
        else:
            outcome, model = run.counted()
            beside = run.sampled() if options.sampled else None
        if model and not model.profile.total:
            raise SetupError(
                f"no {model.profile.unit}s{options.time}"
                + f" of {options.of} or what it calls" * bool(options.of)
            )
        if model:
            found = run.waited(model.stacks) if options.waits else None
            report(run, model, beside, found)
        elif not outcome.text:
            raise SetupError("no profile: the machine ended without writing one")
    return outcome


def waits(run: Run) -> Outcome:
    """The guest's report, whose first line names a file of this script's."""
    outcome = run.run()
    page = run.left(WAITS)
    if page:
        _, _, rest = page.decode(errors="replace").partition("\n")
        print(run.options.command, rest, sep="\n", end="", flush=True)
    elif not outcome.text:
        raise SetupError("no report of waits: the machine ended without writing one")
    return outcome


def sampled_model(stacks: Stacks, options: Options) -> Model:
    """A short process may have no sample: so those of a program are all that lived
    meanwhile. Which of them were in the one function that is wanted, samples tell."""
    model = Model(stacks, options.of)
    begin, end = options.window
    for i, p in enumerate(stacks.profile.processes):
        if not options.of and p.begin < end and (p.end is None or begin <= p.end):
            model.processes.setdefault(p.command, set()).add((p.pid, i))
    return model


def exact_model(stacks: Exact, of: Optional[str]) -> Model:
    model = Model(stacks, of)
    model.harts = stacks.tree.harts
    model.processes = {}
    for i, (path, _, _) in enumerate(stacks.tree.processes):
        name = os.path.basename(path) or None
        model.processes.setdefault(name, set()).add((i, None))
    model.calls = Counter()
    for call in stacks.calls():
        caller = model.function(call.caller, call.command)
        model.calls[caller, model.function(call.function, call.command)] += call.count
    return model


def report(
    run: Run, model: Model, beside: Optional[Model], found: Optional[Waits]
) -> None:
    options = run.options
    page = Page(model, options.command, beside, options.by, options.time)
    print(page.text(), flush=True)
    if model.stacks.mangled:
        complain(MANGLED, ME)
    title = f"Tally: {options.command}"
    for file, format in options.outputs.items():
        try:
            if format == "tally":
                put(file, run.archive(model.stacks))
            elif format == "gmon":
                put(file, gmon(model.stacks))
            elif format == "html":
                both = side_by_side(model, beside) if beside else None
                put(file, write_html.write(model.stacks, title, found, both))
            else:
                put(file, outputs.WRITERS[format](model.stacks, title))
        except Unfit as error:
            raise ConvertError(file, str(error)) from None


def side_by_side(model: Model, samples: Model) -> write_html.Object:
    """For a page: shares are of 1."""
    return {
        "missing": missing_samples(samples),
        "rows": [
            [
                row.function.name,
                row.function.where,
                row.count,
                row.share,
                row.low,
                row.high,
                row.exact,
                row.sure,
                row.inside,
            ]
            for row in compared(model, samples)
        ],
    }


def main(words: list[str]) -> int:
    def action() -> Outcome:
        try:
            return profile(parse(words))
        except ConvertError as error:
            raise SetupError(str(error)) from None

    return reported(words, action, ME, parser)


def entry() -> int:
    return script(ME, lambda: main(sys.argv[1:]))
