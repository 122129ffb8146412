"""Real programs, as Debian ships them for riscv64 Linux, static and dynamic:
scripts/run brings them and their libraries along. Their scripts, and what these
print on Linux, are in tests/debian."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness import debian
from tally import ROOT
from tally.verify.patience import WHOLE

FOLDER = Path(__file__).parent / "debian"
FILTERS = ["bzip2", "gawk", "grep", "jq", "mawk", "sed", "zstd"]
PACKAGES = [*FILTERS, "bash-static", "busybox-static", "lua5.4", "make", "micropython",
            "quickjs", "sqlite3"]

# What runs a script, by that one's name. Whatever the command names is brought.
COMMANDS = {
    "words.bash": "./usr/bin/bash-static /extra/words.bash",
    "busybox.sh": ": ./usr/bin/busybox; sh /extra/busybox.sh",
    "filters.sh": f": {' '.join(f'./usr/bin/{f}' for f in FILTERS)}; sh /extra/filters.sh",
    "table.lua": "./usr/bin/lua5.4 /extra/table.lua",
    "wal.sql": "./usr/bin/sqlite3 /tmp/x.db </extra/wal.sql",
    # FIFOs have no names here, which is what it would try first.
    "Makefile": "./usr/bin/make -C /tmp --no-print-directory -f /extra/Makefile -j2"
    " --jobserver-style=pipe",
    "big.js": "./usr/bin/qjs -m /extra/big.js",
    "big.py": "./usr/bin/micropython /extra/big.py",
}


@pytest.fixture(scope="module")
def root() -> Path:
    try:
        return debian.root(*PACKAGES)
    except debian.Unavailable as error:
        pytest.skip(f"no packages for riscv64: {error}")


@pytest.mark.usefixtures("images")
@pytest.mark.parametrize("script", COMMANDS)
def test_as_on_linux(root: Path, script: str) -> None:
    done = subprocess.run(
        [str(ROOT / "scripts" / "run"), "--icount", "6", "--extra", str(FOLDER),
         "--", COMMANDS[script]],
        cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=WHOLE,
    )
    expected = (FOLDER / f"{script}.expected").read_text()
    assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0)
