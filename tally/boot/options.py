"""The options of scripts/run, which scripts/tally has, too. Each word becomes a value,
or an error that says what it should have been; all together are one Options."""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import sys
from pathlib import Path
from typing import Callable, Optional

from tally.base.cli import Parser, number, wrong
from tally.base.errors import UsageError
from tally.boot.machine import HARTS_MAX, ICOUNT_MAX, Machine, memory_bytes
from tally.build.image import BUILD

SECONDS_MAX = 10**9  # thirty years; what the kernel can count
# Of the processor, without which nothing would run, nor say so; as QEMU has it.
NEEDED = {"i", "m", "a", "c", "s", "u", "mmu", "zicsr", "zifencei"}
OFF = {"off", "no", "false", "n"}


def seconds(text: str) -> float:
    value = float(text) if re.fullmatch(r"\d+\.?\d*|\.\d+", text) else 0.0
    if not 0 < value <= SECONDS_MAX:
        wrong(text, f"a number of seconds above 0, and at most {SECONDS_MAX}")
    return value


def memory(text: str) -> str:
    if memory_bytes(text) == 0:
        wrong(text, "an amount of memory such as 256M or 1G")
    return text


def cpu(text: str) -> str:
    if not re.fullmatch(r"[\w.-]+=[^,=]+(,[\w.-]+=[^,=]+)*", text):
        wrong(text, "NAME=VALUE,... such as sstc=off")
    for pair in text.split(","):
        name, _, value = pair.partition("=")
        if name.lower() in NEEDED and value in OFF:
            raise argparse.ArgumentTypeError(f"{pair}: firmware and kernel need {name}")
    return text


def folder(text: str) -> Path:
    if not os.path.exists(text):
        raise argparse.ArgumentTypeError(f"{text}: there is no such folder")
    if not os.path.isdir(text):
        wrong(text, "a folder")
    return Path(text)


HARTS = number(1, HARTS_MAX)
ICOUNT = number(0, ICOUNT_MAX)
PORT = number(1, 65535)
SEED = number(0, 2**32 - 1)
RACES_ICOUNT = 5  # 780 instructions in the 25 us that a turn takes on two harts


@dataclasses.dataclass(frozen=True)
class Options:
    """All that was asked of scripts/run."""

    machine: Machine
    command: Optional[str]  # None: an interactive shell
    extra: Optional[Path]  # a folder of programs
    kernel: Optional[Path]  # another kernel than the build's
    verbose: bool

    @property
    def kernel_file(self) -> Path:
        return self.kernel or BUILD / "kernel.elf"


def parser() -> Parser:
    p = Parser("run", usage="%(prog)s [OPTIONS] [[--] COMMAND]")
    p.add_argument(
        "--harts", type=HARTS, default=4, metavar="N", help="number of harts"
    )
    p.add_argument(
        "--mem",
        type=memory,
        default="256M",
        metavar="SIZE",
        help="memory, as for QEMU's -m (256M)",
    )
    p.add_argument(
        "--icount",
        type=ICOUNT,
        metavar="SHIFT",
        help="an instruction takes 2^SHIFT ns; runs are repeatable",
    )
    p.add_argument(
        "--races",
        type=SEED,
        metavar="SEED",
        help="as --icount 5, but harts take turns at random moments, chosen by SEED",
    )
    p.add_argument(
        "--cpu",
        type=cpu,
        metavar="OPTIONS",
        help="pass OPTIONS to QEMU in -cpu rv64,OPTIONS",
    )
    p.add_argument(
        "--extra",
        type=folder,
        metavar="DIR",
        help="add the programs in DIR to the guest",
    )
    p.add_argument(
        "--share", type=folder, metavar="DIR", help="show DIR to the guest as /host"
    )
    p.add_argument(
        "--kernel",
        type=Path,
        metavar="FILE",
        help="boot the kernel FILE instead of build/kernel.elf",
    )
    p.add_argument(
        "--limit",
        type=seconds,
        metavar="S",
        help="stop the kernel after S virtual seconds",
    )
    p.add_argument(
        "--timeout",
        type=seconds,
        metavar="S",
        help="stop QEMU after S seconds",
    )
    p.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write to FILE how the run ended, as JSON",
    )
    p.add_argument(
        "--gdb",
        type=PORT,
        metavar="PORT",
        help="wait for gdb at TCP port PORT before the first instruction",
    )
    p.add_argument(
        "-v",
        action="store_true",
        dest="verbose",
        help="show the build, the boot and QEMU's command line",
    )
    return p


def split(words: list[str], parser: Parser) -> tuple[list[str], Optional[list[str]]]:
    """The options, and the command. This begins after --, or with the first word
    that is neither an option nor an option's value."""
    at = 0
    while at < len(words) and words[at] != "--":
        if not words[at].startswith("-"):
            return words[:at], words[at:]
        # Of a wrong option nobody knows whether it has a value.
        if not parser.knows(words[at]) and "--" in words[at:]:
            at = words.index("--", at)
        elif parser.takes_word(words[at]) and words[at + 1 : at + 2] != ["--"]:
            at += 2
        else:
            at += 1
    return words[:at], words[at + 1 :] if at < len(words) else None


def parse(
    words: list[str], parser: Callable[[], Parser]
) -> tuple[argparse.Namespace, Optional[str]]:
    """What each option is set to, and the command: its words, joined by spaces."""
    p = parser()
    before, command = split(words, p)
    if command == []:
        raise UsageError("no command after --")
    chosen = p.parse(before)
    if chosen.races is not None and chosen.icount is None:
        chosen.icount = RACES_ICOUNT
    return chosen, " ".join(command) if command else None


def options(chosen: argparse.Namespace, command: Optional[str]) -> Options:
    machine = Machine(
        chosen.harts,
        chosen.mem,
        chosen.icount,
        chosen.cpu,
        chosen.races,
        chosen.limit,
        chosen.timeout,
        chosen.gdb,
        None if chosen.share is None else str(chosen.share),
        terminal_size() if command is None else None,
    )
    return Options(machine, command, chosen.extra, chosen.kernel, chosen.verbose)


def terminal_size() -> Optional[os.terminal_size]:
    """That of the terminal from which we were called. Some don't know theirs."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return None
    return size if all(size) else None


def early_report(words: list[str], parser: Callable[[], Parser]) -> Optional[Path]:
    """The report's file, wanted even if the other options are wrong."""
    finder = Parser("", add_help=False)
    finder.add_argument("--report", type=Path)
    try:
        options, _ = finder.parse_known_args(split(words, parser())[0])
        report: Optional[Path] = options.report
        return report
    except UsageError:
        return None
