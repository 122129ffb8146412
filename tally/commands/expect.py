"""scripts/expect: run scripts in the guest, and compare their output with files.

See tally-expect(1). A boot runs one script or, with --together, all scripts of a
machine. The guest's shell runs a command for each script and one for each file that
the script shows. After each command it prints a mark on stdout and on stderr, which
no script can know: what stands between two marks is what one command wrote.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import difflib
import hashlib
import os
import re
import shlex
import signal
import sys
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Callable, Iterator, Mapping, Optional

from tally.base.cli import (
    STATUS_SIGNAL,
    Parser,
    add_jobs,
    complain,
    put,
    script,
    wrong,
)
from tally.base.errors import SetupError, UsageError
from tally.base.text import plural
from tally.boot import frames
from tally.boot.machine import (
    STOP_SIGNALS,
    Boot,
    Machine,
    Outcome,
    find_qemu,
    hold_kernel,
)
from tally.boot.options import HARTS, ICOUNT, folder, seconds
from tally.boot.session import Stopped, stop
from tally.build import image

ME = "expect"
FREE = "free"  # the machine of 4 harts without icount
PLACE = "expect"  # where the guest has the files of the user's folder
TAIL = 4000  # bytes of an output, shown if the machine died
BUILDING = "expect: building, which takes a while the first time\n"

DIRECTIVE = re.compile(r"# (machines|show):(.*)")
TEXT = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f]*")  # no control characters
NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
COLOURS = {"-": "31", "+": "32", "@": "36", "F": "1;31"}  # by a line's first character


# --- The folder --------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Script:
    file: Path
    machines: tuple[str, ...]
    shows: tuple[str, ...]  # files of the guest, with how much of them: FILE [BYTES]

    @property
    def name(self) -> str:
        return self.file.stem

    def expected(self, machine: str) -> Path:
        """The machine's own file if there is one, or else that of all machines."""
        own = self.file.with_name(f"{self.name}.{machine}.expected")
        return own if own.exists() else self.file.with_suffix(".expected")

    def commands(self) -> list[str]:
        """What the guest's shell runs, in the folder of the scripts."""
        lines = [f"sh -- {shlex.quote(self.file.name)}"]
        for name, *count in map(str.split, self.shows):
            read = f"head -c {count[0]}" if count else "cat"
            lines.append(f"{read} -- {shlex.quote(name)}")
        return lines


def machine_name(text: str) -> str:
    if text != FREE:
        try:
            HARTS(text)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentTypeError(f"{error}, and not {FREE}") from error
    return text


def machine_shown(name: str) -> str:
    return "4 harts in parallel" if name == FREE else plural(int(name), "hart")


def shown_file(text: str) -> str:
    if not re.fullmatch(r"\S+( +[1-9]\d*)?", text):
        wrong(text, "FILE or FILE BYTES")
    return text


def read_script(file: Path, machines: list[str]) -> Script:
    """Machines of the command line replace those that the script names."""
    named: list[str] = []
    shows: list[str] = []
    for i, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1):
        found = DIRECTIVE.fullmatch(line.rstrip())
        try:
            if found and found[1] == "show":
                shows.append(shown_file(found[2].strip()))
            elif found:
                named += map(machine_name, found[2].split())
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{file}:{i}: {error}") from error
    chosen = dict.fromkeys(machines or named or ["4"])
    return Script(file, tuple(chosen), tuple(shows))


@dataclasses.dataclass(frozen=True)
class Options:
    """All that was asked of scripts/expect."""

    folder: Path
    names: list[str]
    update: bool
    machine: list[str]
    together: bool
    extra: Optional[Path]
    icount: int
    limit: float
    timeout: float
    junit: Optional[Path]
    jobs: int


def choose(options: Options) -> tuple[list[Script], list[Verdict]]:
    """The scripts to run. If none is named on the command line these are all, and
    an expected file without a script fails."""
    place = Path(options.folder)
    files = {f.stem: f for f in sorted(place.glob("[!.]*.sh")) if f.is_file()}
    if not files:
        raise UsageError(f"{place}: there is no NAME.sh")
    for name in files:
        if "." in name:  # NAME.4.expected belongs to NAME.sh
            raise UsageError(f"{place}/{name}.sh: the name must have no dot before .sh")
    chosen = {Path(word).name.removesuffix(".sh") for word in options.names}
    for name in sorted(chosen - set(files)):
        raise UsageError(f"{place}: there is no {name}.sh")
    expected = [] if chosen else sorted(place.glob("*.expected"))
    strays = [f.name for f in expected if f.name.partition(".")[0] not in files]
    scripts = [
        read_script(file, options.machine)
        for name, file in files.items()
        if name in chosen or not chosen
    ]
    return scripts, [
        Verdict(name, "FAIL", "it belongs to no script") for name in strays
    ]


# --- An expected file --------------------------------------------------------


def hexdump(data: bytes) -> Iterator[str]:
    """As hexdump -C has it."""
    before = b""
    starred = False
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        if row != before:
            halves = row[:8].hex(" "), row[8:].hex(" ")
            text = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
            yield f"{at:08x}  {halves[0]:23}  {halves[1]:23}  |{text}|"
        elif not starred:
            yield "*"
        starred = row == before
        before = row
    yield f"{len(data):08x}"


def section(title: str, data: bytes) -> str:
    """Each line of the data follows a bar, so none can be taken for a title."""
    end = ""
    try:
        text = data.decode()
        is_text = TEXT.fullmatch(text) is not None
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        title += " (hex)"
        text = "".join(f"{line}\n" for line in hexdump(data))
    elif text and not text.endswith("\n"):
        text += "\n"
        end = "\\ no newline at the end\n"
    lines = text.split("\n")[:-1]
    body = "".join(f"| {line}\n" if line else "|\n" for line in lines)
    return f"== {title}\n{body}{end}"


Part = tuple[bytes, bytes, bytes]  # a command's stdout, exit status, stderr


def render(script: Script, parts: list[Part]) -> str:
    """What the expected file should say. An empty stderr has no section."""
    (out, status, err), *files = parts
    text = section("stdout", out)
    text += section("stderr", err) if err else ""
    text += section("status", status + b"\n")
    for name, (out, _, err) in zip(script.shows, files):
        text += section(name, out)
        text += section(f"{name}: stderr", err) if err else ""
    return text


# --- The guest ---------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Result:
    """What a script did on a machine."""

    script: Script
    machine: str
    text: str  # as in an expected file
    died: str = ""  # why the machine ended during it; text then has last words


class Guest:
    """Boots scripts of a folder, together with its other files."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.qemu = find_qemu()
        with image.build_lock():
            image.make(notice=BUILDING)
            extra = image.overlay(Path(options.extra)) if options.extra else b""
            self.base = image.initrd(None, extra)
            self.kernel = hold_kernel(image.BUILD / "kernel.elf")
        others = sorted(Path(options.folder).glob("[!.]*"))
        self.data = [
            f for f in others if f.is_file() and f.suffix not in (".sh", ".expected")
        ]
        self.boots: list[Boot] = []  # of all threads
        self.stopped = False

    def stop(self) -> None:
        """Kill all machines; those that threads still boot are killed, too."""
        self.stopped = True
        for boot in list(self.boots):
            boot.stop()

    def run(self, machine: str, scripts: list[Script]) -> list[Result]:
        """If the machine dies in a script, those after it get another boot."""
        results: list[Result] = []
        while len(results) < len(scripts):
            results += self._boot(machine, scripts[len(results) :])
        return results

    def _boot(self, name: str, scripts: list[Script]) -> list[Result]:
        """The results up to a script in which the machine dies."""
        harts, icount = (4, None) if name == FREE else (int(name), self.options.icount)
        machine = Machine(
            harts=harts,
            icount=icount,
            limit=self.options.limit,
            timeout=self.options.timeout,
        )
        # Without the other scripts: a larger initrd can change timings.
        used = [*self.data, *(script.file for script in scripts)]
        files = {f"{PLACE}/{file.name}": file.read_bytes() for file in used}
        mark = hashlib.sha256(b"\0".join(files.values())).hexdigest()[:12]
        files[image.COMMAND] = os.fsencode(commands(scripts, mark))
        initrd = self.base.add(*(image.member(*file) for file in files.items()))
        machine.check(initrd.size)
        said: dict[str, bytearray] = collections.defaultdict(bytearray)
        with image.held(initrd, "initrd") as fd:
            boot = Boot(machine, self.qemu, self.kernel, fd)
            self.boots.append(boot)
            if self.stopped:
                boot.stop()
            outcome = boot.run(lambda channel, data: said[channel].extend(data))
        if outcome.reason == "machine" and outcome.text != "the machine restarted":
            raise SetupError(outcome.text)
        return results_of(name, scripts, mark, said, outcome)


def commands(scripts: list[Script], mark: str) -> str:
    lines = [f"mark() {{ echo '<{mark}' $1'>'; echo '<{mark}>' >&2; }}", f"cd /{PLACE}"]
    lines += [f"{line}; mark $?" for script in scripts for line in script.commands()]
    return "\n".join(lines)


def results_of(
    name: str,
    scripts: list[Script],
    mark: str,
    said: Mapping[str, bytearray],
    outcome: Outcome,
) -> list[Result]:
    """A result for each script, up to one in which the machine died."""
    # In turn what a command wrote and its status; at the end, what has no mark yet.
    outs = re.split(rf"<{mark} (\d+)>\n".encode(), bytes(said[frames.STDOUT]))
    errs = bytes(said[frames.STDERR]).split(f"<{mark}>\n".encode())
    parts = list(zip(outs[::2], outs[1::2], errs))
    results: list[Result] = []
    at = 0  # the script's first part
    for script in scripts:
        own = parts[at : at + 1 + len(script.shows)]
        is_whole = len(own) == 1 + len(script.shows)
        # A machine that dies after the last mark didn't end as it should, either.
        if not is_whole or script == scripts[-1] and outcome.reason != "exit":
            died = outcome.text or "the machine was turned off before the script's end"
            ends = b"".join(outs[2 * at :: 2]), b"".join(errs[at:])
            return [*results, Result(script, name, last_words(*ends, said), died)]
        results.append(Result(script, name, render(script, own)))
        at += len(own)
    return results


def last_words(out: bytes, err: bytes, said: Mapping[str, bytearray]) -> str:
    last = {
        "the end of stdout": out[-TAIL:],
        "the end of stderr": err[-TAIL:],
        "the kernel's last words": said[frames.PANIC] + said[frames.LIMIT],
    }
    return "".join(
        section(title, data.replace(b"\r", b"")) for title, data in last.items() if data
    )


def run_all(
    guest: Guest, jobs: list[tuple[str, list[Script]]], take: Callable[[Result], None]
) -> None:
    """Boot the jobs side by side; take gets their results in the order of jobs."""
    with concurrent.futures.ThreadPoolExecutor(guest.options.jobs) as pool:
        try:
            futures = [pool.submit(guest.run, *job) for job in jobs]
            for future in futures:
                # A signal that comes just before a wait is heard only after it.
                while not concurrent.futures.wait([future], timeout=1).done:
                    pass
                for result in future.result():
                    take(result)
        except BaseException:
            # Leaving the pool waits for its threads, and so for their machines.
            pool.shutdown(wait=False, cancel_futures=True)
            guest.stop()
            raise


# --- Verdicts ----------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Of a result, or of an expected file without a script."""

    name: str
    word: str  # ok or FAIL, or with --update new or wrote
    why: str = ""
    lines: tuple[str, ...] = ()  # the difference, or last words

    def __str__(self) -> str:
        head = f"{self.word:5} {self.name}" + (f": {self.why}" if self.why else "")
        return "\n".join([head, *self.lines])


class Judge:
    def __init__(self, update: bool) -> None:
        self.update = update
        self.settled: set[Path] = set()  # files that a machine has agreed with

    def judge(self, result: Result) -> Verdict:
        """With --update, the first machine decides what a file says, and the other
        machines are compared with that."""
        script = result.script
        name = f"{script.name} on {machine_shown(result.machine)}"
        lines = result.text.splitlines()
        if result.died:
            return Verdict(name, "FAIL", result.died, tuple(lines))
        file = script.expected(result.machine)
        exists = file.exists()
        wanted = file.read_text("utf-8", "replace").splitlines() if exists else []
        if exists and wanted == lines:
            self.settled.add(file)
            return Verdict(name, "ok")
        if self.update and file not in self.settled:
            put(file, result.text.encode())
            self.settled.add(file)
            return Verdict(name, "wrote" if exists else "new", file.name)
        why = f"differs from {file.name}"
        if not exists:
            why = f"there is no {file.name}; --update writes it"
        elif self.update:
            own = f"{script.name}.{result.machine}.expected"
            why += ", which the output of another machine matches;"
            why += f" if both outputs are right, add {own}"
        diff = difflib.unified_diff(wanted, lines, file.name, name, lineterm="")
        return Verdict(name, "FAIL", why, tuple(diff))


def show(verdict: Verdict) -> None:
    """In colour on a terminal."""
    lines = str(verdict).split("\n")
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        lines = [f"\033[{COLOURS.get(line[:1], '')}m{line}\033[m" for line in lines]
    print("\n".join(lines), flush=True)


def as_xml(text: str) -> str:
    """Without characters that XML can't have."""
    return NOT_XML.sub("?", text)


def junit(suite: str, verdicts: list[Verdict]) -> str:
    bad = sum(v.word == "FAIL" for v in verdicts)
    counts = {"tests": str(len(verdicts)), "failures": str(bad), "errors": "0"}
    top = xml.Element("testsuites")
    suite = as_xml(suite)
    into = xml.SubElement(top, "testsuite", {"name": suite, **counts})
    for v in verdicts:
        case = xml.SubElement(into, "testcase", classname=suite, name=as_xml(v.name))
        if v.word == "FAIL":
            failure = xml.SubElement(case, "failure", message=as_xml(v.why))
            failure.text = as_xml("\n".join(v.lines))
    return xml.tostring(top, encoding="unicode") + "\n"


# --- The command -------------------------------------------------------------


def parse(words: list[str]) -> Options:
    p = Parser(ME, usage="%(prog)s [OPTIONS] DIR [NAME...]")
    p.add_argument(
        "folder",
        nargs="?",
        type=folder,
        metavar="DIR",
        help="the folder with NAME.sh and NAME.expected",
    )
    p.add_argument("names", nargs="*", metavar="NAME", help="run only these scripts")
    p.add_argument("--update", action="store_true", help="write the expected files")
    p.add_argument(
        "--machine",
        type=machine_name,
        action="append",
        default=[],
        metavar="NAME",
        help="number of harts (4), or free: 4 harts in parallel; may be repeated",
    )
    p.add_argument(
        "--together", action="store_true", help="run all scripts in one boot"
    )
    p.add_argument(
        "--extra",
        type=folder,
        metavar="DIR",
        help="add the programs in DIR to the guest",
    )
    p.add_argument(
        "--icount",
        type=ICOUNT,
        default=6,
        metavar="SHIFT",
        help="an instruction takes 2^SHIFT ns (6)",
    )
    p.add_argument(
        "--limit",
        type=seconds,
        default=60.0,
        metavar="S",
        help="stop a boot after S virtual seconds (60)",
    )
    p.add_argument(
        "--timeout",
        type=seconds,
        default=300.0,
        metavar="S",
        help="stop QEMU after S seconds (300)",
    )
    p.add_argument("--junit", type=Path, metavar="FILE", help="write a report for CI")
    add_jobs(p, "run N boots")
    chosen = p.parse(words)
    if chosen.folder is None:
        raise UsageError("no folder of scripts given")
    return Options(**vars(chosen))


def expect(options: Options) -> int:
    scripts, verdicts = choose(options)
    jobs = [(machine, [script]) for script in scripts for machine in script.machines]
    if options.together:
        groups: dict[str, list[Script]] = {}
        for machine, some in jobs:
            groups.setdefault(machine, []).extend(some)
        jobs = list(groups.items())
    judge = Judge(options.update)

    def take(result: Result) -> None:
        verdicts.append(judge.judge(result))
        show(verdicts[-1])

    for verdict in verdicts:  # on strays
        show(verdict)
    run_all(Guest(options), jobs, take)
    bad = sum(v.word == "FAIL" for v in verdicts)
    print(f"expect: {len(verdicts) - bad} as expected, {bad} not")
    if options.junit is not None:
        suite = Path(options.folder).resolve().name
        put(options.junit, junit(suite, verdicts).encode())
    return 1 if bad else 0


def main(words: list[str]) -> int:
    for signum in STOP_SIGNALS:
        signal.signal(signum, stop)
    try:
        return expect(parse(words))
    except Stopped as stopped:
        complain(f"stopped by {signal.Signals(stopped.number).name}", ME)
        return STATUS_SIGNAL + stopped.number


def entry() -> int:
    return script(ME, lambda: main(sys.argv[1:]), SetupError, image.BuildError)
