"""scripts/tally-convert, run in a folder with executables made by hand."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import image

from . import elves

CONVERT = str(image.ROOT / "scripts" / "tally-convert")
PROGRAM = ("_start", "main", "work", "inner")


class Converter:
    """convert(FILE CONTENTS, --to, options...) in a folder with executables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        elves.kernel(folder)
        elves.build(folder, "prog", elves.PROGRAM_TEXT, PROGRAM)

    def run(self, *words: str, data: bytes = b"") -> subprocess.CompletedProcess:
        return subprocess.run(
            [CONVERT, *words], cwd=self.folder, input=data, capture_output=True
        )

    def __call__(self, data: bytes, to: str, *words: str, said: str = "") -> bytes:
        (self.folder / "data").write_bytes(data)
        result = self.run("--kernel=kernel.elf", f"--to={to}", *words, "data")
        assert (result.returncode, result.stderr.decode()) == (0, said)
        return result.stdout

    def folded(self, data: bytes, *words: str, said: str = "") -> str:
        return self(data, "folded", *words, said=said).decode()

    def gprof(self, executable: str, gmon: bytes, *words: str) -> str:
        (self.folder / "gmon.out").write_bytes(gmon)
        result = subprocess.run(
            [elves.tool("gprof"), "-b", *words, executable, "gmon.out"],
            cwd=self.folder, capture_output=True, text=True,
        )
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout

    def flat(self, executable: str, gmon: bytes) -> dict[str, float]:
        """gprof's self seconds by function."""
        lines = self.gprof(executable, gmon, "-p").splitlines()
        rows = [line.split() for line in lines if re.match(r" *\d+\.\d", line)]
        return {row[-1]: float(row[2]) for row in rows if float(row[2])}
