"""What the tests cost: seconds of processors, theirs and of what they start."""

from __future__ import annotations

import resource
from typing import Iterator

import pytest

#: By nodeid, in this session.
costs: dict[str, float] = {}

_used = 0.0


def add(report: pytest.TestReport) -> None:
    """A process that died left none."""
    costs[report.nodeid] = costs.get(report.nodeid, 0) + getattr(report, "cost", 0)


def spent() -> float:
    """Seconds of processors since the last call, of this process and of those that
    it has waited for."""
    global _used
    last, _used = _used, sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(
            resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
    )
    return _used - last


def summary() -> Iterator[str]:
    """The ten dearest tests, the sum of each file, and of all."""
    files: dict[str, float] = {}
    for name, cost in costs.items():
        file = name.partition("::")[0]
        files[file] = files.get(file, 0) + cost
    for what, column in (("tests", costs), ("files", files)):
        yield f"the dearest {what}:"
        dearest = sorted(column, key=lambda name: -column[name])
        yield from (
            f"{column[name]:8.1f} {name}"
            for name in dearest[: 10 if what == "tests" else None]
        )
    yield f"{sum(costs.values()):8.1f} seconds of processors in all"
