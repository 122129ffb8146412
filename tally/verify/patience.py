"""The deadlines of tests, after which something counts as hanging.

No verdict depends on time: deadlines only end tests that would never end. All are
defined here, and TEST_PATIENCE=4 makes them longer on a slow host; so it does with the
guest programs' own (tests/guest/check.h), where a guest's second is the host's.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any, Callable, Optional

PATIENCE = int(os.environ.get("TEST_PATIENCE", "1"))

#: Seconds without progress. Many mutants wait for ever, so they get fewer.
HANG = int(os.environ.get("TEST_HANG", 120 * PATIENCE))

#: Seconds for a whole boot or test: ten times the longest one's time on a busy host.
WHOLE = 900 * PATIENCE


def wait_for(
    condition: Callable[[], object],
    what: str,
    process: Optional[subprocess.Popen[Any]] = None,
) -> None:
    """Waits until the condition holds. Fails after the deadline, or if the process that
    should make it true has ended."""
    end = time.monotonic() + HANG
    while not condition():
        ended = process and process.poll() is not None
        assert not ended or condition(), f"ended before: {what}"
        assert time.monotonic() < end, f"not within {HANG} s: {what}"
        time.sleep(0.01)
