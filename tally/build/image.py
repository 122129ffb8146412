"""Builds what the machine boots, and makes an initrd for each run.

Any number of runs can share one checkout: they build in turns, and boot copies, which
later builds don't change.
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
from tally.base.errors import SetupError

# DEBUG=1 in the environment: the debug build, here and for make.
DEBUG = os.environ.get("DEBUG") == "1"
BUILD = ROOT / ("build-debug" if DEBUG else "build")
PROGRAMS = ROOT / "build"  # the programs of both kernels; and the lock of both builds
PATIENCE = 2.0  # seconds until a notice that make is running
END = bytes(2 * 512)  # the end of a tar archive with a blocking factor of 1
COPIED = 1 << 30  # bytes for one sendfile()
COMMAND = "etc/command"  # the command for the guest's first shell
# Characters of a name that are special to make or to the shells that it starts.
ODD = re.compile(r"[^\w@+,./-]")


class BuildError(Exception):
    """make failed; its output has been shown."""


@contextlib.contextmanager
def build_lock() -> Iterator[None]:
    """Locks both builds. Hold it to run make, or to read files that make writes."""
    BUILD.mkdir(exist_ok=True)
    PROGRAMS.mkdir(exist_ok=True)
    with open(PROGRAMS / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_environment(*without: str) -> dict[str, str]:
    """Returns an environment without variables that a make that called us has set."""
    inherited = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD", *without)
    return {k: v for k, v in os.environ.items() if k not in inherited}


def make(
    *arguments: str, verbose: bool = False, notice: str = "", **variables: str
) -> None:
    """Runs make; shows its output on stderr if verbose, or if it fails.

    If it takes longer than PATIENCE, the notice is printed. The variables are put into
    its environment, so that their values need no quoting.
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
    """Returns the path of the archive of a folder of programs. The programs are beside
    it, in a folder with .d for .tar, in bin."""
    name = zlib.crc32(os.fsencode(extra.resolve()))
    return PROGRAMS / f"overlay-{name:08x}.tar"


def overlay_bin(extra: Path) -> Path:
    """Returns the folder where its programs are built, with their symbols."""
    return overlay_path(extra).with_suffix(".d") / "bin"


def check_ends(extra: Path) -> None:
    """Refuses a folder with devices or FIFOs, on which a copy would block."""
    for folder, _, files in os.walk(extra, followlinks=True):
        for file in map(Path(folder).joinpath, files):
            if not file.name.startswith(".") and not file.is_file():
                raise BuildError(f"neither a file nor a folder: {shown(file)}")


def shown(file: Path) -> str:
    """Returns a file's name with printable characters only."""
    return "".join(c if c.isprintable() else "?" for c in str(file))


def overlay(extra: Path, *arguments: str, verbose: bool = False) -> bytes:
    """Builds a user's own programs, and returns them as members of an archive. The
    arguments are make's. Call with build_lock held."""
    extra = extra.resolve()
    if not extra.is_dir():
        raise BuildError(f"no such folder: {extra}")
    for file in [*extra.glob("*.c"), *extra.glob("*/*.c")]:
        if ODD.search(str(file.relative_to(extra))):
            raise BuildError(f"{shown(file)}: make can't compile a file with that name")
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
    """Links to a folder whose name make can't handle; returns the link's path."""
    link.unlink(missing_ok=True)
    link.symlink_to(folder)
    return link.relative_to(ROOT)


def boot_files(kernel: Path, verbose: bool = False) -> bytes:
    """Returns the members of /boot for a kernel that was not built here: the kernel and
    the names of its functions. Call with build_lock held."""
    archive = BUILD / "kernel-files.tar"
    make(
        "boot-files",
        f"OVERLAY={archive.relative_to(ROOT)}",
        verbose=verbose,
        KERNEL=str(kernel.resolve()),
    )
    return read_members(archive)


def member(name: str, data: bytes, mode: int = 0o644) -> bytes:
    """Returns a file as a member of an archive, without a date or owner."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        info.mode = mode
        try:
            tar.addfile(info, io.BytesIO(data))
        except ValueError as error:
            raise SetupError(
                f"/{name}: can't be a file in the guest: {error}"
            ) from None
        return buffer.getvalue()[: tar.offset]


def contents(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Returns the contents of a regular file in an archive."""
    file = tar.extractfile(member)
    assert file is not None, member.name
    return file.read()


def read_members(archive: Path) -> bytes:
    """Returns the members of an archive that make has written, without its end."""
    return archive.read_bytes()[: -len(END)]


class Archive(NamedTuple):
    """An archive that make has written, and more members. The archive isn't read into
    Python: page faults there would cost more than a copy by the kernel."""

    file: BinaryIO  # never changes: make replaces the file by a new one
    members: bytes = b""

    @property
    def size(self) -> int:
        return os.stat(self.file.fileno()).st_size + len(self.members)

    def add(self, *members: bytes) -> Archive:
        """Returns an archive with more members; the last of a name counts."""
        return self._replace(members=b"".join([self.members, *members]))


def initrd(command: Optional[str], members: bytes = b"") -> Archive:
    """Returns the built initrd with a user's programs and the command to run. Call with
    build_lock held, or when no build can run."""
    archive = Archive(open(BUILD / "initrd.tar", "rb"), members)
    if command is None:
        return archive
    return archive.add(member(COMMAND, os.fsencode(command)))


def hold(data: Union[bytes, BinaryIO, Archive], name: str) -> int:
    """Returns a descriptor of a copy in memory, for QEMU; closing it frees the copy."""
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
    """Copies a whole file to a descriptor."""
    offset = 0
    while count := os.sendfile(to, file.fileno(), offset, COPIED):
        offset += count


@contextlib.contextmanager
def held(data: Union[bytes, BinaryIO, Archive], name: str) -> Iterator[int]:
    """Yields a descriptor of hold, and closes it at the end."""
    fd = hold(data, name)
    try:
        yield fd
    finally:
        os.close(fd)
