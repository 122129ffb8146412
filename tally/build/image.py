"""What the machine boots: building it, and an initrd for one run.

Any number of runs share one checkout: they build in turns, and boot copies
that no later build can change.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import re
import subprocess
import sys
import tarfile
import threading
import zlib
from pathlib import Path
from typing import BinaryIO, Iterator, NamedTuple, Optional, Union

from tally import ROOT

# DEBUG=1 in the environment: the debug build, here and for make.
DEBUG = os.environ.get("DEBUG") == "1"
BUILD = ROOT / ("build-debug" if DEBUG else "build")
PROGRAMS = ROOT / "build"  # what both kernels run; and the lock of both builds
PATIENCE = 2.0  # seconds that make may take without a word
END = bytes(2 * 512)  # of a tar archive with a blocking factor of 1
COPIED = 1 << 30  # bytes that Linux copies at once, or fewer
COMMAND = "etc/command"  # what the guest's first shell executes
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


def make_environment(*without: str) -> dict[str, str]:
    """A make that called us must not share its jobs or options with this one."""
    inherited = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD", *without)
    return {k: v for k, v in os.environ.items() if k not in inherited}


def make(
    *arguments: str, verbose: bool = False, notice: str = "", **variables: str
) -> None:
    """Run make, showing what it says on stderr if asked, or if it fails.

    The notice is written there if it isn't done at once. The variables are its
    environment's: a recipe's shell has them, whatever is in them.
    """
    command = ["make", "-C", str(ROOT), f"-j{os.cpu_count()}", *arguments]
    timer = threading.Timer(PATIENCE, sys.stderr.write, [notice])
    timer.start()
    try:
        result = subprocess.run(
            command,
            env={**make_environment(), **variables},
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
    name = zlib.crc32(os.fsencode(extra.resolve()))
    return PROGRAMS / f"overlay-{name:08x}.tar"


def overlay_bin(extra: Path) -> Path:
    """Where its programs are built, with their symbols."""
    return overlay_path(extra).with_suffix(".d") / "bin"


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
    """A user's own programs, as members of an archive; the arguments are make's. Call
    with the lock held."""
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
    make(
        "overlay",
        f"EXTRA={extra}",
        f"OVERLAY={archive.relative_to(ROOT)}",
        *arguments,
        verbose=verbose,
    )
    return read_members(archive)


def another_name(folder: Path, link: Path) -> Path:
    """One that make can work with, from the checkout."""
    link.unlink(missing_ok=True)
    link.symlink_to(folder)
    return link.relative_to(ROOT)


def boot_files(kernel: Path, verbose: bool = False) -> bytes:
    """What the guest finds under /boot of another kernel than the one built here:
    itself, and the names of its functions. Call with the lock held."""
    archive = BUILD / "kernel-files.tar"
    make(
        "boot-files",
        f"OVERLAY={archive.relative_to(ROOT)}",
        verbose=verbose,
        KERNEL=str(kernel.resolve()),
    )
    return read_members(archive)


def member(name: str, data: bytes, mode: int = 0o644) -> bytes:
    """A file of an archive, the same every time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        info.mode = mode
        tar.addfile(info, io.BytesIO(data))
        return buffer.getvalue()[: tar.offset]


def contents(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Of a regular file in an archive."""
    file = tar.extractfile(member)
    assert file is not None, member.name
    return file.read()


def read_members(archive: Path) -> bytes:
    """Of one that make has made, without its end."""
    return archive.read_bytes()[: -len(END)]


class Archive(NamedTuple):
    """One that make has made, and members behind its own. It isn't read: what Python
    touches first costs more, page by page, than the kernel's copy of all."""

    file: BinaryIO  # as it is now: make replaces it, and never changes it
    members: bytes = b""

    @property
    def size(self) -> int:
        return os.stat(self.file.fileno()).st_size + len(self.members)

    def add(self, *members: bytes) -> Archive:
        """With more in it. Of two files of one name the last counts."""
        return self._replace(members=b"".join([self.members, *members]))


def initrd(command: Optional[str], members: bytes = b"") -> Archive:
    """The built one with a user's programs and the command to run. Call with the lock
    held, or when nobody builds."""
    archive = Archive(open(BUILD / "initrd.tar", "rb"), members)
    if command is None:
        return archive
    return archive.add(member(COMMAND, os.fsencode(command)))


def hold(data: Union[bytes, BinaryIO, Archive], name: str) -> int:
    """A file descriptor to hand to QEMU, of a copy; nothing to clean up afterwards."""
    fd = os.memfd_create(name, 0)
    with open(fd, "wb", closefd=False) as file:
        if isinstance(data, bytes):
            file.write(data)
        elif isinstance(data, Archive):
            copy(data.file, fd)
            file.seek(-len(END), os.SEEK_END)
            file.write(data.members + END)
        else:
            copy(data, fd)
    return fd


def copy(file: BinaryIO, to: int) -> None:
    """From its start on."""
    offset = 0
    while count := os.sendfile(to, file.fileno(), offset, COPIED):
        offset += count


@contextlib.contextmanager
def held(data: Union[bytes, BinaryIO, Archive], name: str) -> Iterator[int]:
    """The same for a while."""
    fd = hold(data, name)
    try:
        yield fd
    finally:
        os.close(fd)
