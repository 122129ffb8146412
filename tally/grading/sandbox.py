"""The sandbox in which a student's files are built, and run by labs on the host: no
network, no privileges, and no files but the compiler's and the tree's.

Sources can make a compiler read files (.incbin, #include), so the sandbox must not
contain any that a student shouldn't see: no solution, no /etc/passwd. bubblewrap
makes it from the kernel's name spaces.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tally.grading.lab import LabError

MEMORY_MAX = 4 << 30  # bytes of memory for each process
OUTPUT_MAX = 256 << 20  # bytes of each written file
SAID_MAX = 1 << 20  # bytes that are read of a build's output
TIME_MAX = 600  # seconds of the whole build, by the clock

SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin")


class TroubleError(Exception):
    """The grading machine has failed, not the submission: grade again."""


LIMITS = ["prlimit", f"--as={MEMORY_MAX}", f"--fsize={OUTPUT_MAX}", "--core=0"]


class Sandbox:
    def __init__(self) -> None:
        """Raises LabError if this machine can't run a sandbox."""
        path = shutil.which("bwrap")
        if path is None:
            raise LabError(
                "bwrap, which isolates the submitted code, is missing: install"
                " bubblewrap, or give --trust if you trust the code"
            )
        self._bwrap = path
        done = subprocess.run(
            self.command(["true"]), capture_output=True, text=True, errors="replace"
        )
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise LabError(
                f"bwrap doesn't work here ({why}): run this where user name spaces"
                " are allowed, or give --trust if you trust the code"
            )

    def command(self, words: list[str], *binds: str) -> list[str]:
        command = [self._bwrap, "--unshare-all", "--die-with-parent", "--new-session"]
        command += ["--clearenv", "--setenv", "PATH", "/usr/bin:/bin"]
        command += ["--uid", "65534", "--gid", "65534", "--hostname", "lab"]
        command += ["--ro-bind", "/usr", "/usr"]
        for name in SYSTEM:
            path = Path(name)
            if path.is_symlink():
                command += ["--symlink", str(path.readlink()), name]
            elif path.is_dir():
                command += ["--ro-bind", name, name]
        if Path("/etc/alternatives").is_dir():
            command += ["--ro-bind", "/etc/alternatives", "/etc/alternatives"]
        command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
        return [*command, *binds, "--", *words]

    def build(self, tree: Path, build: Path, words: list[str]) -> tuple[int, str]:
        """Runs a command in the tree, where only the build folder is writable; returns
        its status and output."""
        binds = ["--ro-bind", str(tree), "/tally", "--chdir", "/tally"]
        binds += ["--bind", str(build), f"/tally/{build.name}"]
        with tempfile.TemporaryFile() as said:
            try:
                done = subprocess.run(
                    [*LIMITS, *self.command(words, *binds)],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    timeout=TIME_MAX,
                )
            except subprocess.TimeoutExpired:
                raise TroubleError(
                    f"the build took over {TIME_MAX} s; grade again"
                ) from None
            said.seek(0)
            return done.returncode, said.read(SAID_MAX).decode(errors="replace")
