"""Plugins of QEMU's TCG, built for the QEMU at hand."""

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
COMMON = HERE / "common"  # QEMU's interface, and what all plugins have
LAYOUT = ROOT / "kernel/base/layout.h"  # the addresses that plugins know
REGISTERS_SINCE = 9  # the QEMU whose plugins read registers


def qemu_major(qemu: str) -> int:
    return int(qemu_version(qemu).partition(".")[0])


def _is_newer(made: Path, *origins: Path) -> bool:
    """Than files, and folders with what is in them."""
    files = [f for origin in origins for f in (origin, *origin.glob("*"))]
    newest = max(file.stat().st_mtime_ns for file in files)
    return made.exists() and made.stat().st_mtime_ns > newest


def option(library: Path, map: Path) -> str:
    """What loads a plugin, for QEMU's option of that name."""
    return f"{quoted(library)},map={quoted(map)}"


def build(name: str, version: int, folder: Path) -> Path:
    """The plugin of that name, of all C files of its folder and the common ones, for a
    QEMU of that version."""
    sources = HERE / name
    if not shutil.which("cc"):
        raise SetupError("no cc: scripts/setup installs it")
    folder.mkdir(exist_ok=True)
    api = 2 if version >= REGISTERS_SINCE else 1
    plugin = folder / f"{name}-{api}.so"
    if _is_newer(plugin, COMMON, sources, LAYOUT, Path(__file__)):
        return plugin
    command = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra"]
    # Replaced as a whole: another QEMU may be loading it.
    new = plugin.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    command += [f"-DAPI={api}", f"-I{COMMON}", f"-I{ROOT}", "-o", str(new)]
    files = [*sorted(COMMON.glob("*.c")), *sorted(sources.glob("*.c"))]
    if subprocess.run([*command, *files]).returncode:
        raise SetupError(f"{sources}: cc can't build QEMU's plugin of that")
    new.replace(plugin)
    return plugin
