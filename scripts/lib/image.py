"""What the machine boots: building it, and an initrd for one run.

Any number of runs share one checkout: they build in turns, and boot copies
that no later build can change.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import threading
from pathlib import Path
from typing import Callable, Iterator, Optional

ROOT = Path(__file__).resolve().parents[2]
# DEBUG=1 in the environment: the debug build, here and for make.
DEBUG = os.environ.get("DEBUG") == "1"
BUILD = ROOT / ("build-debug" if DEBUG else "build")
PROGRAMS = ROOT / "build"  # what both kernels run; and the lock of both builds
PATIENCE = 2.0  # seconds that make may take without a word
BLOCK = 512  # bytes in a block of a tar archive
# In a name, what means something to make or to the shells that it starts.
ODD = re.compile(r"[^\w@+,./-]")


class BuildError(Exception):
    """make failed; its output has been shown."""


@contextlib.contextmanager
def build_lock() -> Iterator[None]:
    """Held by whoever runs make, of either build, or reads what it makes."""
    BUILD.mkdir(exist_ok=True)
    PROGRAMS.mkdir(exist_ok=True)
    with open(PROGRAMS / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make(
    *arguments: str, verbose: bool = False, notice: str = "", **variables: str
) -> None:
    """Run make, showing what it says on stderr if asked, or if it fails.

    The notice is written there if it isn't done at once. The variables are its
    environment's: a recipe's shell has them, whatever is in them.
    """
    command = ["make", "-C", str(ROOT), f"-j{os.cpu_count()}", *arguments]
    # A make that called us must not share its jobs or options with this one.
    inherited = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD")
    environment = {k: v for k, v in os.environ.items() if k not in inherited}
    environment.update(variables)
    timer = threading.Timer(PATIENCE, sys.stderr.write, [notice])
    timer.start()
    try:
        result = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr if verbose else subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    finally:
        timer.cancel()
    if result.returncode:
        sys.stderr.write((result.stdout or b"").decode(errors="replace"))
        raise BuildError("the build failed")


def overlay_path(extra: Path) -> Path:
    """Where the archive is built; the programs lie in a folder beside it, its
    name with .d for .tar, in bin."""
    name = hashlib.sha256(os.fsencode(extra.resolve())).hexdigest()[:12]
    return PROGRAMS / f"overlay-{name}.tar"


def check_ends(extra: Path) -> None:
    """Of a folder for overlay: no file without an end, which a copy would wait for."""
    for folder, _, files in os.walk(extra, followlinks=True):
        for file in map(Path(folder).joinpath, files):
            if not file.name.startswith(".") and not file.is_file():
                raise BuildError(f"neither a file nor a folder: {shown(file)}")


def shown(file: Path) -> str:
    """Its name, in a line."""
    return "".join(c if c.isprintable() else "?" for c in str(file))


def overlay(extra: Path, *arguments: str, verbose: bool = False) -> bytes:
    """A user's own programs, as an archive; the arguments are make's. Call with the
    lock held."""
    extra = extra.resolve()
    if not extra.is_dir():
        raise BuildError(f"no such folder: {extra}")
    for file in [*extra.glob("*.c"), *extra.glob("*/*.c")]:
        if ODD.search(str(file.relative_to(extra))):
            raise BuildError(f"{shown(file)}: make can't compile a file of that name")
    check_ends(extra)
    archive = overlay_path(extra)
    if ODD.search(str(extra)):
        extra = another_name(extra, archive.with_suffix(".src"))
    make("overlay", f"EXTRA={extra}", f"OVERLAY={archive.relative_to(ROOT)}",
         *arguments, verbose=verbose)
    return archive.read_bytes()


def another_name(folder: Path, link: Path) -> Path:
    """One that make can work with, from the checkout."""
    link.unlink(missing_ok=True)
    link.symlink_to(folder)
    return link.relative_to(ROOT)


def boot_files(kernel: Path, verbose: bool = False) -> bytes:
    """What the guest finds under /boot of another kernel than the one built here:
    itself, and the names of its functions. Call with the lock held."""
    archive = BUILD / "kernel-files.tar"
    make("boot-files", f"OVERLAY={archive.relative_to(ROOT)}", verbose=verbose,
         KERNEL=str(kernel.resolve()))
    return archive.read_bytes()


def members(archive: bytes, wanted: Callable[[str], bool] = lambda name: True) -> bytes:
    """An archive's members without the zeros at its end, so that others can follow;
    those whose names are wanted."""
    parts = []
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            blocks = -(-member.size // BLOCK) if member.isfile() else 0
            if wanted(member.name):
                parts.append(archive[member.offset : member.offset_data + blocks * BLOCK])
    return b"".join(parts)


def file_archive(name: str, data: bytes, mode: int = 0o644) -> bytes:
    """An archive of one file, the same every time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        info.mode = mode
        tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def initrd(command: Optional[str], extra: bytes = b"") -> bytes:
    """The built initrd with a user's programs and the command to run."""
    last = b"" if command is None else file_archive("etc/command", os.fsencode(command))
    others = [part for part in (extra, last) if part]
    if not others:
        return (BUILD / "initrd.tar").read_bytes()
    return b"".join([_base_members(), *map(members, others[:-1]), others[-1]])


def _base_members() -> bytes:
    """Of the built initrd; read once, as many are booted by one process."""
    file = BUILD / "initrd.tar"
    state = file.stat()
    return _members_of(file, state.st_ino, state.st_mtime_ns)


@functools.lru_cache(maxsize=1)
def _members_of(file: Path, _ino: int, _mtime: int) -> bytes:
    return members(file.read_bytes())


def hold(data: bytes, name: str) -> int:
    """A file descriptor to hand to QEMU; nothing to clean up afterwards."""
    fd = os.memfd_create(name, 0)
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    return fd


@contextlib.contextmanager
def held(data: bytes, name: str) -> Iterator[int]:
    """The same for a while."""
    fd = hold(data, name)
    try:
        yield fd
    finally:
        os.close(fd)
