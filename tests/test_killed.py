"""QEMU is killed, at any moment: what was synced is on the host, and whole.

hostile/synced.c writes to /host and says after each fsync what must be there.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from tally import ROOT
from tally.verify.patience import HANG

PROGRAMS = Path(__file__).parent / "hostile"
ROUNDS = int(os.environ.get("KILLED_ROUNDS", "6"))
SEED = int(os.environ.get("SEED", "1"))
RECORD = 16  # bytes of a record of the log


def contents(number: int, size: int) -> bytes:
    """File `number`, as synced.c makes it."""
    period = bytes((number + i) * 13 & 0xFF for i in range(256))
    return (period * (size // 256 + 1))[:size]


def children(pid: int) -> list[int]:
    return [
        int(child)
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


def said_until_killed(share: Path, chance: random.Random) -> list[str]:
    """What the guest has said when QEMU is killed: lines that are whole."""
    command = ["scripts/run", "--share", str(share), "--extra", str(PROGRAMS)]
    if chance.random() < 0.5:
        command += ["--harts", str(chance.choice([1, 2, 8]))]
    command += ["--timeout", str(HANG), "--", f"synced {chance.randrange(1 << 30)}"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as run:
        first = run.stdout.readline()
        time.sleep(chance.random() ** 2)  # the moment, not a condition
        for child in children(run.pid):
            os.kill(child, signal.SIGKILL)
        text = first + run.stdout.read()
        assert run.wait() == 126
    return text.decode().splitlines(keepends=True)


def check_promise(share: Path, line: str) -> None:
    what, *numbers = line.split()
    if what == "file":
        number, size = map(int, numbers)
        assert (share / f"file{number}").read_bytes() == contents(number, size)
    else:
        (n,) = map(int, numbers)
        log = (share / "log").read_bytes()
        assert log[: n * RECORD] == b"".join(b"%15d\n" % i for i in range(n))


def test_what_was_synced_is_there(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    promises = 0
    for number in range(ROUNDS):
        share = tmp_path / str(number)
        share.mkdir()
        lines = said_until_killed(share, chance)
        for line in lines:
            if line.endswith("\n"):
                check_promise(share, line)
                promises += 1
    assert promises >= ROUNDS
    print(f"{ROUNDS} rounds, {promises} promises kept")
