"""The shell's language: each tests/shell/NAME.sh, run by the guest's shell.

A script starts in an empty directory of its own, and must leave it empty.
NAME.out is what it writes; NAME.err (else nothing) what it writes on standard
error, NAME.status (else 0) its exit status.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.guest import Guest, Result

SCRIPTS = Path(__file__).parent / "shell"
NAMES = sorted(script.stem for script in SCRIPTS.glob("*.sh"))


def contents(name: str, otherwise: str) -> str:
    file = SCRIPTS / name
    return file.read_text() if file.exists() else otherwise


def run_line(name: str) -> str:
    """A script gets a directory, which can be removed if it is empty."""
    home = f"/tmp/{name}"
    return (
        f"mkdir {home}; cd {home}; sh /extra/{name}.sh; status=$?; "
        f"cd /; rmdir {home}; exit $status"
    )


@pytest.fixture(scope="module")
def results(guest: Guest) -> dict[str, Result]:
    """What all scripts did, in one boot."""
    lines = [run_line(name) for name in NAMES]
    return dict(zip(NAMES, guest.batch(lines, extra=SCRIPTS)))


@pytest.mark.machines("4")
@pytest.mark.parametrize("name", NAMES)
def test_script(results: dict[str, Result], name: str) -> None:
    result = results[name]
    assert result.out == contents(f"{name}.out", "")
    assert result.err == contents(f"{name}.err", "")
    assert result.status == int(contents(f"{name}.status", "0"))
