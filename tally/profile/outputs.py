"""The formats that a profile can be written in, and the suffixes that select them."""

from __future__ import annotations

import os
from typing import Callable, Optional

from tally.profile import (
    write_callgrind,
    write_folded,
    write_html,
    write_pprof,
    write_speedscope,
    write_svg,
)
from tally.profile.stacks import Stacks

#: The suffixes of each format's files.
SUFFIXES = {
    "folded": (".folded", ".txt"),
    "pprof": (".pb.gz", ".pprof"),
    "speedscope": (".speedscope.json", ".json"),
    "callgrind": (".callgrind",),
    "gmon": (".gmon", "gmon.out"),
    "svg": (".svg",),
    "html": (".html",),
    "tally": (".tally",),  # the recording itself: see archive.py
}

#: Makes a file of a title and a profile. A gmon.out also needs to know of which program:
#: see write_gmon.
WRITERS: dict[str, Callable[[Stacks, str], bytes]] = {
    "folded": lambda stacks, _: write_folded.write(stacks),
    "pprof": write_pprof.write,
    "speedscope": write_speedscope.write,
    "callgrind": write_callgrind.write,
    "svg": write_svg.write,
    "html": write_html.write,
}


def selected(file: str) -> Optional[str]:
    """Returns the format that a file's name selects, or None."""
    name = os.path.basename(file).lower()
    for format, suffixes in SUFFIXES.items():
        if name.endswith(suffixes):
            return format
    return None
