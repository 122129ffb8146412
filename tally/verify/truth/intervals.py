"""Do the intervals that a page shows contain the truth as often as they say?

A page gives each share of enough samples an interval (tally/profile/page.py). That 95
in 100 contain the true share follows from theory, if samples are independent of each
other. A clock's are not; and a row is shown because it has samples. So it is tried: a
workload runs with many seeds of the clock, and each row's interval is compared with
what was executed in that run.
"""

from __future__ import annotations

from collections import Counter
from typing import Mapping, TypeVar

from tally.profile.page import SURE_MIN, wilson

GOAL = 0.94  # of the intervals
BANDS = (SURE_MIN, 30, 100)  # by a row's samples: from so many to the next


Cell = TypeVar("Cell")  # what has samples


class Intervals:
    """Of one workload: how many there were, and how many contain the truth."""

    def __init__(self, workload: str, harts: int) -> None:
        self.workload, self.harts = workload, harts
        self.runs = 0
        self.all: Counter[int] = Counter()  # by band
        self.right: Counter[int] = Counter()

    def add(self, sampled: Mapping[Cell, int], executed: Mapping[Cell, int]) -> None:
        """A run's."""
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
            f", {self.right[b] / self.all[b]:.4f} of {self.all[b]} from {b} samples on"
            for b in BANDS
            if self.all[b]
        )
        return (
            f"{self.workload:10} {self.harts:5} {self.runs:6} runs:"
            f" {self.share():.4f} of {sum(self.all.values())} intervals hold{bands}"
        )

    def verdict(self) -> list[str]:
        """The goal, if it isn't met."""
        if self.share() >= GOAL:
            return []
        return [
            f"{self.workload} on {self.harts}: {self.share():.4f} of the intervals"
            f" contain the truth, {GOAL} are wanted"
        ]
