"""Names as the source has them. Compilers of C++ and Rust write a function's types into
its name; c++filt, which comes with each compiler, reads them out. Without parameters,
as profilers show names: functions that differ in these alone share one."""

from __future__ import annotations

import subprocess
from typing import Iterable

from tally.formats.lines import LIMIT, find_tool

MANGLED = ("_Z", "_R")


def demangled(names: Iterable[str]) -> dict[str, str]:
    """Of those that are mangled, what they mean: of none where there is no c++filt."""
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
