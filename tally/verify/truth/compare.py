"""Compares samples with executed instructions: how far they differ, and whether that
can be chance."""

from __future__ import annotations

import math
from typing import Mapping, NamedTuple, TypeVar

FEW = 5.0  # cells with fewer expected samples are merged

# With a hundred rows, one of a hundred right kernels has a p-value as small by chance;
# then try another seed. The test suite uses P_LEAST.
P_GOAL = 1e-4
# A p-value below this isn't chance: with a dozen rows a right kernel fails once in
# 100,000 changes. Errors with p-values between the two pass as chance.
P_LEAST = 1e-6


Cell = TypeVar("Cell")  # the type of what is counted


class Result(NamedTuple):
    samples: int
    tv: float  # total variation distance of sampled and true shares
    ideal: float  # what it is on average for independent samples
    p: float  # the probability of such a chi-square, or a larger one, by chance


NOTHING = Result(0, 1.0, 1.0, 0.0)  # no samples


def shares(counts: Mapping[Cell, float]) -> dict[Cell, float]:
    total = sum(counts.values())
    return {cell: count / total for cell, count in counts.items()}


def gamma_tail(a: float, x: float) -> float:
    """Returns the regularised upper incomplete gamma function Q(a, x)."""
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:  # 1 - P, by its series
        term = total = 1 / a
        n = a
        while term > total * 1e-15:
            n += 1
            term *= x / n
            total += term
        return max(0.0, 1 - scale * total)
    # The continued fraction, by Lentz's method.
    b = x + 1 - a
    c, d = 1e300, 1 / b
    fraction = d
    for i in range(1, 10_000):
        factor = i * (a - i)
        b += 2
        d = 1 / (factor * d + b)
        c = b + factor / c
        fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return scale * fraction


def chi_square(sampled: Mapping[Cell, int], true: Mapping[Cell, float]) -> float:
    """Returns the p-value of the samples, as if they were independent."""
    n = sum(sampled.values())
    cells = [[sampled.get(cell, 0), share * n] for cell, share in true.items()]
    if any(count and not true.get(cell) for cell, count in sampled.items()):
        return 0.0  # a sample of code that was never executed
    cells.sort(key=lambda cell: cell[1])
    pooled = [0, 0.0]
    while cells and (cells[0][1] < FEW or 0 < pooled[1] < FEW):
        observed, expected = cells.pop(0)
        pooled = [pooled[0] + observed, pooled[1] + expected]
    if pooled[1]:
        cells.append(pooled)
    if len(cells) < 2:
        return 1.0
    square = sum((o - e) ** 2 / e for o, e in cells)
    return gamma_tail((len(cells) - 1) / 2, square / 2)


def compare(sampled: Mapping[Cell, int], executed: Mapping[Cell, int]) -> Result:
    n = sum(sampled.values())
    true, seen = shares(executed), shares(sampled)
    cells = set(true) | set(seen)
    tv = sum(abs(seen.get(c, 0.0) - true.get(c, 0.0)) for c in cells) / 2
    ideal = sum(math.sqrt(2 * p * (1 - p) / (math.pi * n)) for p in true.values()) / 2
    return Result(n, tv, ideal, chi_square(sampled, true))
