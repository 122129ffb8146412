"""Builds TCG plugins for the installed QEMU."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path

from tally import ROOT
from tally.base.errors import SetupError
from tally.boot.machine import qemu_version, quoted

HERE = Path(__file__).resolve().parent
COMMON = HERE / "common"  # QEMU's interface, and code that all plugins share
LAYOUT = ROOT / "kernel/base/layout.h"  # addresses, included by plugins
REGISTERS_SINCE = 9  # since this version of QEMU plugins can read registers


def qemu_major(qemu: str) -> int:
    return int(qemu_version(qemu).partition(".")[0])


def _is_newer(made: Path, *origins: Path) -> bool:
    """Is a file newer than others? A folder stands for its files, too."""
    files = [f for origin in origins for f in (origin, *origin.glob("*"))]
    newest = max(file.stat().st_mtime_ns for file in files)
    return made.exists() and made.stat().st_mtime_ns > newest


def option(library: Path, map: Path) -> str:
    """Returns the value of QEMU's option -plugin."""
    return f"{quoted(library)},map={quoted(map)}"


def build(name: str, version: int, folder: Path) -> Path:
    """Builds the plugin of that name, from the C files of its folder and the common
    ones, for a QEMU of that version."""
    sources = HERE / name
    if not shutil.which("cc"):
        raise SetupError("no cc: scripts/setup installs it")
    folder.mkdir(exist_ok=True)
    api = 2 if version >= REGISTERS_SINCE else 1
    plugin = folder / f"{name}-{api}.so"
    if _is_newer(plugin, COMMON, sources, LAYOUT, Path(__file__)):
        return plugin
    command = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra"]
    # Write a new file and rename it: a QEMU may be loading the old one.
    new = plugin.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    command += [f"-DAPI={api}", f"-I{COMMON}", f"-I{ROOT}", "-o", str(new)]
    files = [*sorted(COMMON.glob("*.c")), *sorted(sources.glob("*.c"))]
    if subprocess.run([*command, *files]).returncode:
        raise SetupError(f"{sources}: cc can't compile the plugin {name} for QEMU")
    new.replace(plugin)
    return plugin
