"""Names of functions: demangles those of C++ and Rust with c++filt, which comes with
each compiler, and recognizes the clones that GCC makes of functions. Parameters are
left out, as profilers do: functions that differ only in these share a name."""

from __future__ import annotations

import functools
import re
import subprocess
from typing import Iterable, Optional

from tally.formats.lines import LIMIT, find_tool

MANGLED = re.compile(r"_Z|_R\d*[BCIMNXY]")
# Suffixes of the symbols of clones, which GCC makes when it splits or specializes a
# function. Names of other languages have dots of their own.
CLONE = re.compile(r"(?<=.)(?:\.(?:part|isra|constprop|cold|lto_priv)(?:\.\d+)*)+$")
# The same in a demangled name, as c++filt itself writes it.
DEMANGLED_CLONE = re.compile(r" \[clone [^\]]*\]$")


LONGEST = 4_096  # characters of a symbol that is demangled
INLINED = " (inlined)"  # after the name of a function where it is inlined


@functools.lru_cache(1 << 16)
def original(name: str) -> str:
    """Returns the name in the source of a function that was cloned or inlined."""
    return CLONE.sub("", DEMANGLED_CLONE.sub("", name.removesuffix(INLINED)))


def is_mangled(name: str) -> bool:
    return MANGLED.match(name) is not None


def demangled(symbols: Iterable[str]) -> Optional[dict[str, str]]:
    """Maps each mangled symbol to its meaning. Returns None if c++filt is missing or
    fails."""
    stems = {
        s: CLONE.sub("", s)
        for s in symbols
        if is_mangled(s) and s.isprintable() and len(s) <= LONGEST
    }
    mangled = sorted(set(stems.values()))
    meant = _by_filter(mangled) if mangled else []
    if len(meant) != len(mangled):
        return None
    names = dict(zip(mangled, meant))
    return {s: names[stem] + _clone_mark(s) for s, stem in stems.items()}


def _clone_mark(symbol: str) -> str:
    """Returns what c++filt writes after a clone's name, but omits with --no-params."""
    found = CLONE.search(symbol)
    return f" [clone {found[0]}]" if found else ""


def _by_filter(mangled: list[str]) -> list[str]:
    """Returns the lines of c++filt; none if it is missing or fails."""
    tool = find_tool("c++filt")
    if not tool:
        return []
    try:
        run = subprocess.run(
            [tool, "--no-params"],
            input="\n".join(mangled),
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return []
    return run.stdout.splitlines()
