"""Hosts with less installed than this one: a PATH and a Python that lack it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Sequence

# Before any other module: of these it is known that they are not there.
WITHOUT_MODULES = "import sys\nsys.modules.update(dict.fromkeys({!r}))\n"


def without(
    folder: Path, *commands: str, modules: Sequence[str] = ()
) -> dict[str, str]:
    """The environment of a host that lacks these commands and Python's modules
    of these names."""
    tools = folder / "tools"
    tools.mkdir()
    for place in ("/usr/sbin", "/sbin", "/bin", "/usr/bin"):
        for name in os.listdir(place):
            if name not in commands and not (tools / name).is_symlink():
                (tools / name).symlink_to(f"{place}/{name}")
    environment = {**os.environ, "PATH": str(tools)}
    if modules:
        text = WITHOUT_MODULES.format(modules)
        (folder / "sitecustomize.py").write_text(text)
        environment["PYTHONPATH"] = str(folder)
    return environment
