"""profil_test, which checks profil and pcsample clause by clause, by itself."""

from __future__ import annotations

from typing import Callable

import pytest

from harness.guest import Guest


@pytest.mark.machines("1", "4", "free", "no-sstc")
def test_every_line(guest: Guest, expected: Callable[[str, str], None]) -> None:
    """It says the same on any machine."""
    result = guest("profil_test")
    expected("profil_test.txt", result.out)
    assert (result.err, result.status) == ("", 0)
