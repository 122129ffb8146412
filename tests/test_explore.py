"""scripts/explore: what it draws follows from the seed, and a finding says how to
see it again."""

from __future__ import annotations

import subprocess

import pytest

from tally import ROOT
from tally.verify import explore

SCRIPT = ROOT / "scripts" / "explore"


def listed(*words: str) -> list[str]:
    command = [SCRIPT, "--list", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_seed_draws_the_same() -> None:
    """Of each kind, whichever others there are."""
    drawn = listed("--seed", "7")
    assert len(drawn) == len(explore.KINDS)
    assert drawn == listed("--seed", "7") != listed("--seed", "8")
    assert listed("--seed", "7", "labs") == [d for d in drawn if d.startswith("labs/")]


def test_a_kind_that_is_not_there() -> None:
    done = subprocess.run([SCRIPT, "luck"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (126, 1)
    assert done.stderr.startswith("explore: no kind luck: there")


def test_a_finding_says_how_to_see_it_again(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each kind is tried at least once, the others go on, and all is summed up."""
    monkeypatch.setattr(explore, "KINDS", {
        "good": lambda seed: "true",
        "bad": lambda seed: f"sh -c 'echo why; exit 3' {seed % 1}",
    })  # fmt: skip
    found = explore.explore(1, 0, ["bad", "good"])
    assert [trial.kind for trial in found] == ["bad"]
    assert capfd.readouterr().out.splitlines() == [
        "explore: sh -c 'echo why; exit 3' 0",
        "why",
        "explore: failed: sh -c 'echo why; exit 3' 0",
        "explore: true",
        "explore: seed 1: 2 trials, 1 failed",
        "explore: repeat with: sh -c 'echo why; exit 3' 0",
    ]
