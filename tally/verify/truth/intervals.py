"""Do the intervals that a page shows contain the true share as often as they should?

A page gives each share of enough samples an interval (tally/profile/page.py). In
theory 95 in 100 contain the true share, if samples are independent. A clock's samples
are not, and rows are shown only because they have samples. So this tests it: a
workload runs with many seeds of the clock, and each row's interval is compared with
the executed instructions of that run.
"""

from __future__ import annotations

from collections import Counter
from typing import Mapping, TypeVar

from tally.base.text import plural
from tally.profile.page import SURE_MIN, wilson

GOAL = 0.94  # the least share of intervals that must contain the true share
#: Bands of a row's samples, by the lowest count of each.
BANDS = {SURE_MIN: f"{SURE_MIN} to 29 samples", 30: "30 to 99", 100: "100 or more"}


Cell = TypeVar("Cell")  # the type of what has samples


def run_of(workload: str, harts: int) -> str:
    """Names a run in messages."""
    return f"{workload} on {plural(harts, 'hart')}"


class Intervals:
    """Counts one workload's intervals, and those that contain the true share."""

    def __init__(self, workload: str, harts: int) -> None:
        self.workload, self.harts = workload, harts
        self.runs = 0
        self.all: Counter[int] = Counter()  # by band
        self.right: Counter[int] = Counter()

    def add(self, sampled: Mapping[Cell, int], executed: Mapping[Cell, int]) -> None:
        """Adds a run."""
        self.runs += 1
        n, total = sum(sampled.values()), sum(executed.values())
        for cell, count in sampled.items():
            if count >= SURE_MIN:
                band = max(b for b in BANDS if b <= count)
                low, high = wilson(count, n)
                self.all[band] += 1
                self.right[band] += low <= executed.get(cell, 0) / total <= high

    def share(self) -> float:
        return sum(self.right.values()) / (sum(self.all.values()) or 1)

    def __str__(self) -> str:
        bands = "".join(
            f"; {self.right[b] / self.all[b]:.4f} of {self.all[b]} with {samples}"
            for b, samples in BANDS.items()
            if self.all[b]
        )
        return (
            f"{run_of(self.workload, self.harts)}, {self.runs} runs:"
            f" {self.share():.4f} of"
            f" {sum(self.all.values())} intervals contain the true share{bands}"
        )

    def verdict(self) -> list[str]:
        """Returns a line if the goal isn't met."""
        if self.share() >= GOAL:
            return []
        return [
            f"{run_of(self.workload, self.harts)}: {self.share():.4f} of the"
            " intervals"
            f" contain the true share; the goal is {GOAL}"
        ]
