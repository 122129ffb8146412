"""Tables of plain text: a line for each row, in columns of a fixed width."""

from __future__ import annotations

import re


class Table:
    """Formats lines. A column is a title and the format of its cells, which begins with
    < or > and the width: ("accesses", ">12,"). The last one may have no format."""

    def __init__(self, *columns: tuple[str, str]) -> None:
        self.titles = [title for title, _ in columns]
        self.formats = [format for _, format in columns]
        self.widths = [re.sub(r"(\d)\D.*", r"\1", format) for format in self.formats]
        # Text beside a number needs more room than numbers do.
        right = [format.startswith(">") for format in self.formats] + [True]
        self.gaps = [
            "  " if here and not after else " " for here, after in zip(right, right[1:])
        ]

    def head(self) -> str:
        return self.row(*self.titles)

    def row(self, *cells: object) -> str:
        """Returns a row's line; a cell of text is only padded, None is a dash. The last
        cells may be missing."""
        line = ""
        for cell, number, width, gap in zip(
            cells, self.formats, self.widths, self.gaps
        ):
            text = "-" if cell is None else cell
            line += format(text, width if isinstance(text, str) else number) + gap
        return line.rstrip()
