"""scripts/tally: where a command's time goes. See tally-host(1)."""

from __future__ import annotations

import argparse
import functools
import os
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Callable, Optional

import image
import options as run_options
import plugin
from convert import (
    read_pcs,
    write_callgrind,
    write_folded,
    write_pprof,
    write_speedscope,
    write_svg,
)
from convert.elf import Image
from convert.files import Files
from convert.main import lazy_kernel, put
from convert.profile import ConvertError, Unfit
from convert.stacks import Programs, Stacks
from exact import SOURCES, Exact, Tree, write_map
from machine import STOP_SIGNALS, Boot, Outcome, SetupError, find_qemu
from page import Model, Page
from programs import of_initrd, of_share, program
from run import BUILDING, attempt, boot, build, complain, machine_of, stop

ME = "tally"
HARTS, EXACT_HARTS = 4, 1
EXACT_ICOUNT = 6
HZ, HZ_MAX = 1000, 20_000

# What the guest does for samples. The recording lies in its memory until the
# command has ended, so that only the command is sampled.
COMMAND_FILE = "etc/profiled"
RECORDING = ".tally-recording"
SAMPLING = f"""echo hz %d >/dev/profclock
echo jitter on >/dev/profclock
getpc -s -o /tmp/{RECORDING} sh /{COMMAND_FILE}
status=$?
cp /tmp/{RECORDING} /host/{RECORDING}
exit $status"""

Writer = Callable[[Stacks, str], bytes]
WRITERS: dict[str, Writer] = {
    ".folded": lambda stacks, _: write_folded.write(stacks),
    ".pb.gz": write_pprof.write,
    ".svg": write_svg.write,
    ".speedscope.json": write_speedscope.write,
    ".callgrind": write_callgrind.write,
}


def parser() -> run_options.Parser:
    p = run_options.parser()
    p.prog, p.usage = ME, "%(prog)s [OPTIONS] -- COMMAND"
    p.set_defaults(harts=None)
    p.add_argument("--exact", action="store_true",
                   help="count every instruction, by a plugin of QEMU's")
    p.add_argument("--sampled", action="store_true",
                   help="with --exact: and sample it, to see both side by side")
    p.add_argument("-r", type=run_options.number(1, HZ_MAX), dest="hz", metavar="HZ",
                   help=f"samples a second on each hart ({HZ})")
    p.add_argument("-o", dest="output", metavar="FILE",
                   help="and write a file, of a kind that its name tells: "
                   + " ".join(WRITERS))
    return p


def writer(name: str) -> Writer:
    for suffix, write in WRITERS.items():
        if name.endswith(suffix):
            return write
    raise run_options.UsageError(
        f"-o {name}: no name of a file that can be written; it ends with one of "
        + " ".join(WRITERS)
    )


def parse(words: list[str]) -> tuple[argparse.Namespace, str]:
    options, command = run_options.parse(words, parser)
    if command is None:
        raise run_options.UsageError("no command: it goes after a --")
    if options.output:
        writer(options.output)
    if options.exact and options.hz and not options.sampled:
        raise run_options.UsageError("-r is for samples, and --exact takes none")
    options.sampled |= not options.exact
    if options.harts is None:
        options.harts = EXACT_HARTS if options.exact else HARTS
    if options.exact and options.icount is None:
        options.icount = EXACT_ICOUNT
    return options, command


# --- Exact profiles -----------------------------------------------------------


class Known:
    """What may be executed."""

    def __init__(
        self, options: argparse.Namespace, initrd: bytes, folder: Path
    ) -> None:
        self.folder = folder
        file = options.kernel or image.BUILD / "kernel.elf"
        kernel = program("kernel", file.read_bytes(), file)
        if not kernel:
            raise SetupError(f"{file}: no kernel with symbols")
        self.kernel = kernel
        folders = [image.BUILD / "bin"]
        if options.extra:
            overlay = image.overlay_path(Path(options.extra))
            folders.insert(0, overlay.with_suffix(".d") / "bin")
        self.programs = [*of_initrd(initrd, folders)]
        if options.share:
            self.programs += of_share(Path(options.share))

    @functools.lru_cache(maxsize=None)
    def image(self, name: str) -> Optional[Image]:
        """With its functions and, if it is known on the host, lines."""
        each = next(p for p in [self.kernel, *self.programs] if p.name == name)
        file = each.file
        if not file:
            file = self.folder / f"program-{self.programs.index(each)}"
            file.write_bytes(each.data)
        return Image(file, name) if each.functions else None


def check(options: argparse.Namespace, version: int) -> None:
    if options.exact and options.harts > 1 and version < plugin.REGISTERS_SINCE:
        raise SetupError(
            f"--exact on several harts needs QEMU {plugin.REGISTERS_SINCE} or newer,"
            f" this one is {version}; --harts 1 works"
        )


class Run:
    """One boot for the command, counted or sampled or both."""

    def __init__(
        self, options: argparse.Namespace, command: str, folder: Path
    ) -> None:
        self.options = options
        self.folder = folder
        self.qemu = find_qemu()
        version = plugin.qemu_version(self.qemu)
        check(options, version)
        if options.sampled and not options.share:
            options.share = str(folder)
        machine = machine_of(options, command)
        notice = BUILDING if sys.stderr.isatty() else ""
        guest = SAMPLING % (options.hz or HZ) if options.sampled else command
        self.kernel, self.initrd = build(options, guest, notice)
        if options.sampled:
            self.initrd = image.members(self.initrd) + image.file_archive(
                COMMAND_FILE, command.encode()
            )
        machine.check(len(self.initrd))
        self.file = options.kernel or image.BUILD / "kernel.elf"
        fds = image.hold(self.kernel, "kernel"), image.hold(self.initrd, "initrd")
        self.boot = Boot(machine, self.qemu, *fds)
        if options.exact:
            self.library = plugin.build(SOURCES, version, image.BUILD / "plugin")

    def counted(self) -> tuple[Outcome, Optional[Model]]:
        """None: it ended too early for a profile."""
        known = Known(self.options, self.initrd, self.folder)
        result = self.folder / "result"
        try:
            written = write_map(
                self.folder, known.kernel, known.programs, result, self.options.sampled
            )
        except KeyError as error:
            raise SetupError(
                f"{self.file}: not a kernel that can be followed: it has no {error}"
            ) from None
        self.boot.command += ["-plugin", f"{self.library},map={written}"]
        outcome = boot(self.boot, self.options.verbose, self.file)
        if b"-plugin" in self.boot.complaints:
            raise SetupError(
                f"{self.qemu} takes no plugins: install another, or name it in $QEMU"
            )
        if not result.exists():
            return outcome, None
        tree = Tree(result.read_text(), known.kernel, known.programs)
        return outcome, exact_model(Exact(tree, lambda p: known.image(p.name)))

    def sampled(self) -> Optional[Model]:
        """What the guest has left, once it was booted."""
        share = Path(self.options.share)
        file = share / RECORDING
        if not file.exists():
            return None
        profile = read_pcs.read(RECORDING, file.read_bytes())
        file.unlink()
        programs = Programs(Files(image.BUILD, share))
        return Model(Stacks(profile, lazy_kernel(self.options.kernel), programs))


def profile(options: argparse.Namespace, command: str) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        run = Run(options, command, Path(name))
        if not options.exact:
            outcome = boot(run.boot, options.verbose, run.file)
            model, beside = run.sampled(), None
        else:
            outcome, model = run.counted()
            beside = run.sampled() if options.sampled else None
        if model:
            report(model, beside, options, command)
        elif not outcome.text:
            raise SetupError("no profile: the machine ended without leaving one")
    return outcome


def exact_model(stacks: Exact) -> Model:
    model = Model(stacks)
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
    model: Model, beside: Optional[Model], options: argparse.Namespace, command: str
) -> None:
    print(Page(model, command, beside).text(), flush=True)
    try:
        if options.output:
            data = writer(options.output)(model.stacks, f"Tally: {command}")
            put(options.output, data)
    except Unfit as error:
        raise ConvertError(options.output, str(error)) from None


def main(words: list[str]) -> int:
    for number in STOP_SIGNALS:
        signal.signal(number, stop)

    def action() -> Outcome:
        try:
            return profile(*parse(words))
        except ConvertError as error:
            raise SetupError(str(error)) from None

    outcome = attempt(action, ME)
    if outcome.text:
        complain(outcome.text, ME)
    return outcome.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
