"""labs/grade --gdb: repeats the boot in which a step failed, up to that step."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

from tally import ROOT
from tally.boot.machine import free_port
from tally.grading.boots import Booter, Stop, scratch
from tally.grading.lab import LabError

NAMES = ("gdb-multiarch", "riscv64-unknown-elf-gdb", "gdb")


def find_gdb() -> str:
    wanted = os.environ.get("GDB")
    for name in [wanted] if wanted else NAMES:
        if shutil.which(name):
            return name
    raise LabError(
        f"no {wanted or NAMES[0]}: install gdb-multiarch, or set GDB to gdb's name"
    )


def debug(booter: Booter, stop: Stop, sources: Path) -> None:
    """Runs gdb in the terminal; the machine ends with it. sources: the folder where the
    kernel was built."""
    gdb, port = find_gdb(), free_port()
    with scratch() as folder, booter.ready(
        stop.kernel, stop.plan, stop.seconds, stop.step.token, port
    ) as boot:
        kernel = folder / "kernel.elf"
        kernel.write_bytes(stop.kernel.data)
        machine = threading.Thread(target=boot.run, args=(lambda *said: None,))
        machine.start()
        # Leave Ctrl-C to gdb, which stops the machine.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            subprocess.run(
                # The student's kernel file could contain gdb commands.
                [
                    gdb,
                    "-q",
                    "-iex",
                    "set auto-load off",
                    "-ex",
                    f"set $port = {port}",
                    "-x",
                    str(ROOT / "scripts" / "tally.gdb"),
                    "-ex",
                    f"program {booter.observe}",
                    "-ex",
                    "ubreak stop_here",
                    "-ex",
                    "continue",
                    str(kernel),
                ],
                cwd=sources,
            )
        finally:
            signal.signal(signal.SIGINT, before)
            boot.stop()
            machine.join()
