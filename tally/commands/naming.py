"""The options for names of functions, which several commands have."""

from __future__ import annotations

from tally.base.cli import Parser


def add_no_demangle(p: Parser) -> None:
    p.add_argument(
        "--no-demangle",
        action="store_true",
        help="name functions of C++ and Rust by their symbols",
    )


def add_name_options(p: Parser) -> None:
    p.add_argument(
        "--inline",
        action="store_true",
        help="show inlined functions as frames of their own",
    )
    add_no_demangle(p)
