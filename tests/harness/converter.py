"""scripts/tally-convert, run in a folder with executables made by hand."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import BinaryIO, Callable, NoReturn, Optional

from harness import elves
from tally import ROOT
from tally.commands.convert import entry

CONVERT = str(ROOT / "scripts" / "tally-convert")
PROGRAM = ("_start", "main", "work", "inner")


class Converter:
    """convert(FILE CONTENTS, --to, options...) in a folder with executables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        elves.kernel(folder)
        elves.build(folder, "prog", elves.PROGRAM_TEXT, PROGRAM)

    def run(
        self, *words: str, data: bytes = b"", folder: Optional[Path] = None,
        limit: Callable[[], None] = lambda: None,
    ) -> subprocess.CompletedProcess:
        """In a process of its own, which is a fork of this one: to start Python and to
        load all modules takes ten times as long as a conversion. It calls limit."""
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            files[0].write(data)
            files[0].seek(0)
            child = os.fork()
            if child == 0:
                self._be_converter(words, folder or self.folder, limit, *files)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            for file in files:
                file.seek(0)
            _, out, err = (file.read() for file in files)
            return subprocess.CompletedProcess(words, status, out, err)

    @staticmethod
    def _be_converter(
        words: tuple[str, ...], folder: Path, limit: Callable[[], None],
        *files: BinaryIO,
    ) -> NoReturn:
        """As the script does: nothing of the tests is done any more."""
        status = 1
        try:
            os.chdir(folder)
            limit()
            for number, file in enumerate(files):
                os.dup2(file.fileno(), number)
            sys.argv = ["tally-convert", *words]
            sys.stdin, sys.stdout, sys.stderr = (
                io.TextIOWrapper(open(number, mode), line_buffering=number == 2)
                for number, mode in enumerate(("rb", "wb", "wb"))
            )
            status = entry()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(status)

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
