"""How long a test waits for anything: until it counts as hanging, no less.

No test's verdict is a time: its deadlines only end what would never end. All come
from here, and a slow host stretches them with TEST_PATIENCE=4; the guest
programs' own, too (tests/guest/check.h), where a guest's second is the host's.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any, Callable, Optional

PATIENCE = int(os.environ.get("TEST_PATIENCE", "1"))

#: Seconds without progress. Of mutants many wait for ever: they have fewer.
HANG = int(os.environ.get("TEST_HANG", 120 * PATIENCE))

#: Seconds for a whole boot or test: ten times what the longest takes on a host
#: that has other work, too.
WHOLE = 900 * PATIENCE


def wait_for(
    condition: Callable[[], object],
    what: str,
    process: Optional[subprocess.Popen[Any]] = None,
) -> None:
    """Wait until the condition holds; fail with what didn't happen, or can't any
    more: the process that should do it has ended."""
    end = time.monotonic() + HANG
    while not condition():
        ended = process and process.poll() is not None
        assert not ended or condition(), f"ended before: {what}"
        assert time.monotonic() < end, f"not within {HANG} s: {what}"
        time.sleep(0.01)
