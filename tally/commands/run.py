"""scripts/run: boot Tally for a command, or for a shell. See tally-run(1)."""

from __future__ import annotations

import sys

from tally.base.cli import script
from tally.boot.machine import Outcome
from tally.boot.options import Options, options, parse, parser
from tally.boot.session import Session, reported

ME = "run"


def run(options: Options) -> Outcome:
    session = Session(options, ME)
    session.build(options.command)
    return session.interact() if options.command is None else session.boot()


def main(words: list[str]) -> int:
    return reported(words, lambda: run(options(*parse(words, parser))), ME, parser)


def entry() -> int:
    return script(ME, lambda: main(sys.argv[1:]))
