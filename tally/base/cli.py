"""What the host's scripts have in common: their options, what they say when
something is wrong, and writing the files that were asked for."""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import io
import math
import os
import signal
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, NoReturn, Optional, Sequence, Union

from tally.base.errors import MultilineError, UsageError

Name = Union[str, Path]

STATUS_SETUP = 126
STATUS_SIGNAL = 128  # and the signal's number, as a shell has it


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would exit."""

    STRAY = "unexpected argument"

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message.removeprefix("argument "))

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Options and operands in any order."""
        options, rest = self.parse_known_intermixed_args(words)
        if rest:
            raise UsageError(self.unknown(rest))
        return options

    def knows(self, option: str) -> bool:
        """As it is, with its value behind =, or -oVALUE."""
        names = {option, option.partition("=")[0], option[:2]}
        return not names.isdisjoint(self._option_string_actions)

    def takes_word(self, option: str) -> bool:
        """Is its value the next word?"""
        action = self._option_string_actions.get(option)
        return action is not None and action.nargs is None

    def unknown(self, words: Sequence[str]) -> str:
        """What to say of words that are no options."""
        name = words[0].partition("=")[0]
        if not name.startswith("-"):
            return f"{' '.join(words)}: {self.STRAY}"
        import difflib  # as late as that: each script would load it

        near = difflib.get_close_matches(name, self._option_string_actions, 1, 0.75)
        return f"{name}: no such option" + (
            f"; did you mean {near[0]}?" if near else ""
        )


def wrong(text: str, wanted: str) -> NoReturn:
    raise argparse.ArgumentTypeError(f"{text} is not {wanted}")


def number(low: int, high: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        # Of more digits Python may refuse to make a number.
        if not (text.isdecimal() and len(text) < 30 and low <= int(text) <= high):
            wrong(text, f"a number from {low} to {high}")
        return int(text)

    return convert


def utf8(text: str) -> str:
    if text != text.encode(errors="replace").decode():
        wrong(ascii(text), "UTF-8")
    return text


def amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError(text)
    return value


amount.__name__ = "number"

JOBS = number(1, 1024)


def add_jobs(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds -j. what: it says what is done at once."""
    parser.add_argument(
        "-j",
        dest="jobs",
        type=JOBS,
        metavar="N",
        default=os.cpu_count() or 1,
        help=f"{what} at once (default: one per processor)",
    )


def complain(text: str, me: str) -> None:
    """One line, whatever is in a name. Nothing can be said where nobody listens."""
    complain_in_lines(text.replace("\n", "\\n").replace("\r", "\\r"), me)


def complain_in_lines(text: str, me: str) -> None:
    with contextlib.suppress(OSError):
        print(f"{me}: {text}", file=sys.stderr, flush=True)


def explained(error: OSError) -> str:
    return f"{error.filename or 'output'}: {error.strerror or error}"


def script(
    me: str,
    main: Callable[[], int],
    *errors: type[Exception],
    status: int = STATUS_SETUP,
    usage: Optional[int] = None,
) -> int:
    """The status of a script's main. Its errors, and what it can't write to standard
    output, are one line and the given status, or that of wrong options; what is
    printed may have bytes that are no letters."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")
    try:
        try:
            result = main()
        except SystemExit as end:  # --help
            result = int(end.code or 0)
        sys.stdout.flush()
        return result
    except UsageError as error:
        complain(f"{error} ({me} --help lists the options)", me)
        status = usage or status
    except MultilineError as error:
        complain_in_lines(str(error), me)
    except errors as error:
        complain(str(error), me)
    except BrokenPipeError:  # nobody reads our output any more
        status = STATUS_SIGNAL + signal.SIGPIPE
    except OSError as error:
        complain(explained(error), me)
    except MemoryError:
        complain("this host has too little memory", me)
    except KeyboardInterrupt:
        status = STATUS_SIGNAL + signal.SIGINT
    forget_output()
    return status


def forget_output() -> None:
    """What is left in a buffer would fail again when Python ends, with a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def put(name: Name, data: bytes) -> None:
    """Write a file. One that is there is replaced as a whole, so that it stays what
    it was if that fails. What is no regular file, or is a link, is written to: it
    leads where it was made to lead."""
    with _named(name):
        if os.path.lexists(name) and not _is_plain(name):
            _write(name, data)
        else:
            _replace(name, data)


def check_put(name: Name) -> None:
    """Raises what `put` would raise, as far as that is known before there is data."""
    with _named(name):
        if os.path.isdir(name):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not os.path.lexists(name) or _is_plain(name):
            part = _part(name)
            open(part, "wb").close()
            os.unlink(part)


def put_stdout(data: bytes) -> None:
    """The same for -, which stands for standard output."""
    with _named("-"):
        _put_out(1, data)


@contextlib.contextmanager
def _named(name: Name) -> Iterator[None]:
    """Errors say of which file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(name)) from error


def _put_out(fd: int, data: bytes) -> None:
    """Behind what was printed."""
    sys.stdout.flush()
    with open(fd, "wb", closefd=False) as file:
        file.write(data)


def _is_plain(name: Name) -> bool:
    return os.path.isfile(name) and not os.path.islink(name)


def _part(name: Name) -> str:
    """The file beside it that becomes it when it is whole."""
    return os.path.join(os.path.dirname(name), f".{os.getpid()}.part")


def _replace(name: Name, data: bytes) -> None:
    part = _part(name)
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
        _put_out(fd, data)
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
