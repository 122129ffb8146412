"""How the processors share the tests."""

from __future__ import annotations

from pathlib import Path
from xdist.scheduler import LoadScopeScheduling

#: Each test of these files stands alone. The tests of any other file share what
#: one of them has made, a boot or a build, so one processor has the file.
APART = {"test_guest.py", "test_overload.py", "test_panic.py"}


class Packing(LoadScopeScheduling):
    """Gives each processor that is idle the next file, or the next test of one
    whose tests stand alone."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if Path(file).name in APART else file
