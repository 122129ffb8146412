"""Hosts with less installed than this one: a PATH and a Python that lack it."""

from __future__ import annotations

import os
from pathlib import Path

# Before any other module: nothing but Python's own library.
ONLY_PYTHON = 'import sys\nsys.path = [p for p in sys.path if "-packages" not in p]\n'


def without(folder: Path, *commands: str, modules: bool = True) -> dict[str, str]:
    """The environment of a host that lacks these commands, and, unless told
    otherwise, has Python's installed modules."""
    tools = folder / "tools"
    tools.mkdir()
    for place in ("/usr/sbin", "/sbin", "/bin", "/usr/bin"):
        for name in os.listdir(place):
            if name not in commands and not (tools / name).is_symlink():
                (tools / name).symlink_to(f"{place}/{name}")
    environment = {**os.environ, "PATH": str(tools)}
    if not modules:
        (folder / "sitecustomize.py").write_text(ONLY_PYTHON)
        environment["PYTHONPATH"] = str(folder)
    return environment
