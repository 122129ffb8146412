"""A terminal's screen: what someone sees of what was sent to it.

It knows what Tally's programs send, and wraps as terminals do: after the last
column the cursor waits there for another character.
"""

from __future__ import annotations

import re
import unicodedata

TOKEN = re.compile(r"\x1b\[([\d;]*)([A-Za-z])|(.)", re.S)


class Screen:
    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def feed(self, text: str) -> None:
        for numbers, letter, character in TOKEN.findall(text):
            if letter:
                values = [int(n) for n in numbers.split(";") if n]
                getattr(self, f"_csi_{letter}")(*values)
            else:
                self._put(character)

    def text(self) -> list[str]:
        """Its rows, without blanks at their ends, nor empty rows at the end."""
        rows = ["".join(row).rstrip() for row in self.cells]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def cursor(self) -> tuple[int, int]:
        return self.row, min(self.column, self.columns - 1)

    def _put(self, c: str) -> None:
        if c == "\r":
            self.column = 0
        elif c == "\n":
            self._down()
        elif c == "\b":
            self.column = max(0, self.cursor[1] - 1)
        elif unicodedata.combining(c):
            self.cells[self.row][self.column - 1] += c
        elif c.isprintable():
            self._show(c, 2 if unicodedata.east_asian_width(c) in "WF" else 1)

    def _show(self, c: str, width: int) -> None:
        if self.column + width > self.columns:
            self.column = 0
            self._down()
        cells = [c] + [""] * (width - 1)
        self.cells[self.row][self.column : self.column + width] = cells
        self.column += width

    def _down(self) -> None:
        if self.row + 1 < self.rows:
            self.row += 1
        else:
            self.cells = self.cells[1:] + [[" "] * self.columns]

    def _csi_A(self, n: int = 1) -> None:
        self.row = max(0, self.row - n)

    def _csi_B(self, n: int = 1) -> None:
        self.row = min(self.rows - 1, self.row + n)

    def _csi_C(self, n: int = 1) -> None:
        self.column = min(self.columns - 1, self.cursor[1] + n)

    def _csi_H(self, row: int = 1, column: int = 1) -> None:
        self.row = min(row, self.rows) - 1
        self.column = min(column, self.columns) - 1

    def _csi_J(self, how: int = 0) -> None:
        if how == 0:
            self._csi_K()
        first = self.row + 1 if how == 0 else 0
        for row in range(first, self.rows):
            self.cells[row] = [" "] * self.columns

    def _csi_K(self) -> None:
        column = self.cursor[1]
        self.cells[self.row][column:] = [" "] * (self.columns - column)

    def _csi_m(self, *_: int) -> None:
        pass

    def _csi_n(self, *_: int) -> None:
        pass
