"""Words for people: names that others chose, and numbers of things."""

from __future__ import annotations

NAME_MAX = 1000  # characters of a name that are kept


def clean(name: str) -> str:
    """A program's or a function's name, as it can be shown: others chose it."""
    name = name[:NAME_MAX]
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else "?" for c in name)


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
