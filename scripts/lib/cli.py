"""What the host's scripts have in common: writing the files that were asked for."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path
from typing import Optional, Union

Name = Union[str, Path]


def put(name: Name, data: bytes) -> None:
    """Write a file. One that is there is replaced as a whole, so that it stays what
    it was if that fails. What is no regular file, or is a link, is written to: it
    leads where it was made to lead."""
    try:
        if os.path.lexists(name) and not _is_plain(name):
            _write(name, data)
        else:
            _replace(name, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(name)) from error


def put_out(fd: int, data: bytes) -> None:
    """Behind what was printed."""
    sys.stdout.flush()
    with open(fd, "wb", closefd=False) as file:
        file.write(data)


def _is_plain(name: Name) -> bool:
    return os.path.isfile(name) and not os.path.islink(name)


def _replace(name: Name, data: bytes) -> None:
    part = os.path.join(os.path.dirname(name), f".{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            file.write(data)
        os.replace(part, name)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def _write(name: Name, data: bytes) -> None:
    """What is our standard output isn't opened anew: a file would be cut, and a
    socket can't be opened."""
    fd = _output(name)
    if fd is not None:
        put_out(fd, data)
        return
    with open(name, "wb") as file:
        file.write(data)


def _output(name: Name) -> Optional[int]:
    """Which of our outputs this is, if it is one."""
    for fd in (1, 2):
        try:
            if os.path.samestat(os.stat(name), os.fstat(fd)) and _is_writable(fd):
                return fd
        except OSError:
            pass
    return None


def _is_writable(fd: int) -> bool:
    return fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
