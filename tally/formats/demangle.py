"""Demangles the names of C++ and Rust functions with c++filt, which comes with each
compiler. Parameters are left out, as profilers do: functions that differ only in these
share a name."""

from __future__ import annotations

import subprocess
from typing import Iterable

from tally.formats.lines import LIMIT, find_tool

MANGLED = ("_Z", "_R")


def demangled(names: Iterable[str]) -> dict[str, str]:
    """Maps each mangled name to its meaning; empty without c++filt."""
    mangled = sorted({n for n in names if n.startswith(MANGLED) and n.isprintable()})
    tool = find_tool("c++filt")
    if not mangled or not tool:
        return {}
    try:
        run = subprocess.run(
            [tool, "--no-params"],
            input="\n".join(mangled),
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return {}
    meant = run.stdout.splitlines()
    return dict(zip(mangled, meant)) if len(meant) == len(mangled) else {}
