"""What the machine boots: building it, and an initrd for one run.

Any number of runs share one checkout: they build in turns, and boot copies
that no later build can change.
"""

from __future__ import annotations

import contextlib
import fcntl
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
SHELLS = r"[\s\"$&'();<>\\`|]"  # what the shell takes apart in a name
MAKES = r"[\s\"$&'();<>\\`|#%:=]"  # what make does, too
BLOCK = 512  # bytes in a block of a tar archive


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


def make(*arguments: str, verbose: bool = False, notice: str = "") -> None:
    """Run make, showing what it says on stderr if asked, or if it fails.

    The notice is written there if it isn't done at once.
    """
    command = ["make", "-C", str(ROOT), f"-j{os.cpu_count()}", *arguments]
    # A make that called us must not share its jobs or options with this one.
    inherited = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD")
    environment = {k: v for k, v in os.environ.items() if k not in inherited}
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


def check_names(extra: Path) -> None:
    """Of a folder for overlay: what make and the shell take apart, and files without
    an end, which they would wait for."""
    parts = [file for file in extra.iterdir() if not file.name.startswith(".")]
    made = [extra]
    for part in parts:
        sources = list(part.glob("*.c")) if part.is_dir() else []
        made += [part, *sources] if sources or part.suffix == ".c" else []
    taken = [(file, SHELLS) for file in parts] + [(file, MAKES) for file in made]
    for file, special in taken:
        if re.search(special, str(file) if file == extra else file.name):
            raise BuildError(f"make can't work with a name like this: {shown(file)}")
    for part in parts:
        below = os.walk(part, followlinks=True)
        for file in [part, *(Path(d) / f for d, _, files in below for f in files)]:
            if not (file.is_file() or file.is_dir()):
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
    check_names(extra)
    archive = overlay_path(extra)
    where = (f"EXTRA={extra}", f"OVERLAY={archive}")
    make("overlay", *where, *arguments, verbose=verbose)
    return archive.read_bytes()


def boot_files(kernel: Path, verbose: bool = False) -> bytes:
    """What the guest finds under /boot of another kernel than the one built here:
    itself, and the names of its functions. Call with the lock held."""
    archive = BUILD / "kernel-files.tar"
    make("boot-files", f"KERNEL={kernel.resolve()}", f"OVERLAY={archive}",
         verbose=verbose)
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
    base = (BUILD / "initrd.tar").read_bytes()
    last = b"" if command is None else file_archive("etc/command", command.encode())
    parts = [part for part in (base, extra, last) if part]
    return b"".join(map(members, parts[:-1])) + parts[-1]


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
