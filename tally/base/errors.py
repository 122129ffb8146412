"""Errors that cli.py prints as one line on standard error."""

from __future__ import annotations


class UsageError(Exception):
    """The command's options or words are wrong."""


class SetupError(Exception):
    """Nothing bootable was found, or QEMU is missing or too old."""


class ConvertError(Exception):
    """A file that can't be used; the text is the file's name and the reason."""

    def __init__(self, file: object, text: str) -> None:
        super().__init__(f"{file}: {text}")


class MultilineError(Exception):
    """An error whose text has several lines."""
