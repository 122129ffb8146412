"""The cookbook's programs, as a seed changes them: other names, numbers, and
functions in between, so that no answer is known beforehand."""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path
from typing import NamedTuple, Optional

from tally import ROOT

EXAMPLES = ROOT / "examples"
SCRIPTS = ROOT / "scripts"
# As the page has it: one hart, whose clock counts instructions.
MACHINE = ("--harts", "1", "--icount", "3")


class Variant:
    """One program of examples/, in a folder of its own."""

    def __init__(self, folder: Path, name: str, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.name = name
        self.random = random.Random(f"{name} {seed}")
        self.text = (EXAMPLES / f"{name}.c").read_text()
        self.names: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        """What a function or variable is called here."""
        return self.names.get(name, name)

    def rename(self, *names: str) -> None:
        """Seed 0 leaves all as it is on the page."""
        for old in names if self.seed else ():
            new = old[::-1] + f"_{self.random.randrange(1000)}"
            self.text, n = re.subn(rf"\b{old}\b", new, self.text)
            assert n > 1, old
            self.names[old] = new

    def number(self, name: str, low: int, high: int) -> int:
        """Draw one of the program's constants."""
        found = re.search(rf"\b{name} = (\d+)", self.text)
        assert found, name
        value = self.random.randrange(low, high) if self.seed else int(found[1])
        self.text = re.sub(rf"\b{name} = \d+", f"{name} = {value}", self.text)
        return value

    def deeper(self, function: str) -> list[str]:
        """Let a function be called by way of others: its callers' names."""
        names = []
        for i in range(self.random.randrange(1, 4) if self.seed else 0):
            caller = f"via_{i}_{self.random.randrange(1000)}"
            called, names = names[-1] if names else function, [*names, caller]
            head = f"static __attribute__((noinline)) void\n{caller}(void)\n"
            body = f"{{\n\t{self[called]}();\n\tasm volatile(\"\");\n}}\n\n"
            place = self.text.rindex("int\nmain(")
            rest = self.text[place:]
            self.text = self.text[:place] + head + body + rest
        if names:
            place = self.text.rindex("int\nmain(")
            self.text = self.text[:place] + re.sub(
                rf"\b{self[function]}\(", f"{names[-1]}(", self.text[place:]
            )
        return names

    def write(self) -> Path:
        self.folder.mkdir(exist_ok=True)
        (self.folder / f"{self.name}.c").write_text(self.text)
        return self.folder


def run(script: str, *words: object, status: Optional[int] = 0) -> str:
    done = subprocess.run(
        [str(SCRIPTS / script), *map(str, words)], cwd=ROOT,
        capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"},
    )
    assert status is None or done.returncode == status, done.stderr
    return done.stdout


def tally(extra: Path, *words: object) -> str:
    """The page, behind what the command has printed."""
    return run("tally", "--extra", extra, *MACHINE, *words)


class Row(NamedTuple):
    count: int
    share: float
    low: float  # where there is an interval
    high: float
    text: str


ROW = re.compile(r" *([\d,]+) +([\d.]+)(?: +([\d.]+) to +([\d.]+))?  ?(.*)")


def table(page: str, title: str) -> list[Row]:
    """The rows of the table whose head ends with this."""
    rows: Optional[list[Row]] = None
    for line in page.splitlines():
        if line.endswith(title):
            rows = []
        elif rows is not None and not line:
            break
        elif rows is not None:
            found = ROW.fullmatch(line)
            if found:
                count, share, low, high, text = found.groups()
                numbers = float(share), float(low or share), float(high or share)
                rows.append(Row(int(count.replace(",", "")), *numbers, text.strip()))
    assert rows is not None, page
    return rows
