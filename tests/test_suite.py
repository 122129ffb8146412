"""The suite itself: what it leaves out, and how long it waits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness import guest as harness
from harness.guest import Guest, Images
from tally import ROOT
from tally.verify.machines import MACHINES

#: What a guest program gives up after.
DEADLINES = f"""
#include <stdio.h>
#include "{ROOT}/tests/guest/helpers.h"
#include "{ROOT}/tests/guest/children.h"

int
main(void)
{{
	printf("%d %llu\\n", DEADLINE, (unsigned long long)WAIT_MAX);
	return 0;
}}
"""


def test_patience_is_the_guests_too(
    images: Images, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """TEST_PATIENCE=4 stretches what programs wait for by that."""
    (tmp_path / "flags").write_text(f"-I{ROOT}/tests/guest\n")
    (tmp_path / "deadlines.c").write_text(DEADLINES)
    guest = Guest(images, MACHINES["1"])
    monkeypatch.setattr(harness, "PATIENCE", 1)
    usual = [int(n) for n in guest("/bin/deadlines", extra=tmp_path).out.split()]
    monkeypatch.setattr(harness, "PATIENCE", 4)
    longer = [int(n) for n in guest("/bin/deadlines", extra=tmp_path).out.split()]
    assert usual[0] > 0 and longer == [4 * n for n in usual]


def collected(*words: str) -> tuple[int, int]:
    """How many tests there are of these, and how many are left out."""
    run = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "--collect-only", "-q", "-p",
         "no:cacheprovider", *words],
        cwd=ROOT, env={**os.environ, "TEST_ALL": ""},
        capture_output=True, text=True,
    )
    assert run.returncode == 0, run.stdout
    said = re.search(r"(\d+) tests? collected(?: \((\d+) deselected\))?", run.stdout)
    assert said, run.stdout
    return int(said[1]), int(said[2] or 0)


def test_long_ones_come_by_name() -> None:
    file = "tests/test_cookbook.py"
    every, left_out = collected(file)
    assert 0 < left_out < every
    assert collected(f"{file}::test_what_a_fork_costs") == (1, 0)
    assert collected(file, "-k", "test_what_a_fork_costs") == (every, every - 1)
