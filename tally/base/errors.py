"""What can go wrong, and is said in a line on standard error (cli.py)."""

from __future__ import annotations


class UsageError(Exception):
    """The command's options or words are wrong."""


class SetupError(Exception):
    """What there is can't be booted; or QEMU is missing or too old."""


class ConvertError(Exception):
    """What is wrong, and with which file."""

    def __init__(self, file: object, text: str) -> None:
        super().__init__(f"{file}: {text}")


class MultilineError(Exception):
    """One line would not say enough: the text has several."""
