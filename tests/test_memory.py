"""Memory, as programs see it."""

from __future__ import annotations

import pytest

from harness.checks import assert_checks
from harness.guest import Guest


@pytest.mark.machines("1", "4", "free")
def test_copy_on_write(guest: Guest) -> None:
    assert_checks(guest("t_cow"))
