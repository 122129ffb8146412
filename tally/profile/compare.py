"""Two recordings: what grew, what shrank, and what of that may be chance.

Instructions are exact: every difference is real. Counts of samples are estimates. If
nothing had changed, each sample of a function would fall into either recording with a
probability in proportion to its rate. The binomial distribution then gives the
probability of a split as uneven as the one found. As one in twenty functions would
seem to have changed by chance alone, the probabilities are corrected for the number
of functions (Holm).
"""

from __future__ import annotations

import collections
import math
from typing import Callable, NamedTuple, Optional, Union

from tally.base.errors import ConvertError
from tally.profile.read_pprof import Recording, Stack

EXACTLY = 2_000  # samples, up to which no approximation is used
SURE = 0.05


#: What is compared: a function or a line, or a path's functions.
What = Union[str, tuple[str, ...]]


class Change(NamedTuple):
    what: What
    base: float  # in units of the new recording, where the rates differ
    new: float
    chance: float  # the probability of such a change by chance; 0 for instructions

    @property
    def difference(self) -> float:
        return self.new - self.base

    @property
    def percent(self) -> float:
        """The change in percent of the base; infinite if the base has none."""
        if self.base:
            return 100 * self.difference / self.base
        return math.inf if self.new else 0.0

    @property
    def sure(self) -> bool:
        return self.difference != 0 and self.chance < SURE


def by_chance(a: int, b: int, share: float) -> float:
    """Returns the two-sided p-value of a split: of a + b samples, each of which is in
    the first recording with probability share, a are there."""
    n = a + b
    if n == 0:
        return 1.0
    if n > EXACTLY:
        mean, deviation = n * share, math.sqrt(n * share * (1 - share))
        off = max(0.0, abs(a - mean) - 0.5) / deviation
        return math.erfc(off / math.sqrt(2))
    logs = [
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * math.log(share)
        + (n - k) * math.log(1 - share)
        for k in range(n + 1)
    ]
    limit = logs[a] + 1e-9
    return min(1.0, math.fsum(math.exp(p) for p in logs if p <= limit))


def holm(changes: list[Change]) -> list[Change]:
    """Returns the changes with probabilities corrected for their number."""
    order = sorted(range(len(changes)), key=lambda i: changes[i].chance)
    corrected = list(changes)
    least = 0.0
    for rank, i in enumerate(order):
        least = max(least, min(1.0, changes[i].chance * (len(changes) - rank)))
        corrected[i] = changes[i]._replace(chance=least)
    return corrected


Key = Callable[[Stack], set[What]]


def function(stack: Stack) -> set[What]:
    """Returns the innermost function."""
    return {stack.places[0].name} if stack.places else set()


def functions(stack: Stack) -> set[What]:
    """Returns all functions of the stack."""
    return {place.name for place in stack.places}


def path(stack: Stack) -> set[What]:
    return {tuple(place.name for place in reversed(stack.places))}


def whole(_stack: Stack) -> set[What]:
    return {"all"}


class Comparison:
    def __init__(self, base: Recording, new: Recording) -> None:
        if base.unit != new.unit:
            raise ConvertError(
                new.file, f"counts {new.unit}, but {base.file} counts {base.unit}"
            )
        self.base, self.new = base, new
        self.exact = base.unit == "instructions"
        self.scale = base.period / new.period  # new samples for one of base's
        self.share = new.period / (base.period + new.period)

    def _count(self, recording: Recording, key: Key) -> collections.Counter[What]:
        counts: collections.Counter[What] = collections.Counter()
        for stack in recording.stacks:
            for what in key(stack):
                counts[what] += stack.count
        return counts

    def changes(self, key: Key, of_base: Optional[Key] = None) -> list[Change]:
        """Returns all changes, the largest first. of_base: the key for base's stacks,
        if it differs."""
        base = self._count(self.base, of_base or key)
        new = self._count(self.new, key)
        found = [
            Change(
                what,
                base[what] * self.scale,
                new[what],
                0.0 if self.exact else by_chance(base[what], new[what], self.share),
            )
            for what in {**base, **new}
        ]
        found = found if self.exact else holm(found)
        return sorted(found, key=lambda c: (-abs(c.difference), str(c.what)))

    def change(self, key: Key, what: What) -> Change:
        """Returns one change. Its probability is not corrected, as only one was asked
        for."""
        base, new = self._count(self.base, key)[what], self._count(self.new, key)[what]
        chance = 0.0 if self.exact else by_chance(base, new, self.share)
        return Change(what, base * self.scale, new, chance)
