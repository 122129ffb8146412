"""Files, pipes, devices and the C library, as programs see them."""

from __future__ import annotations

import pytest

from harness.checks import assert_checks
from harness.guest import Guest


@pytest.mark.machines("1", "4", "8", "free")
@pytest.mark.parametrize(
    "program", ["paths", "dirs", "descriptors", "pipes", "select"]
)
def test_shared(guest: Guest, program: str) -> None:
    """What several processes use at once."""
    assert_checks(guest(program))


@pytest.mark.machines("4", "free")
@pytest.mark.parametrize(
    "program", ["files", "devices", "stdio", "library", "commands"]
)
def test_alone(guest: Guest, program: str) -> None:
    assert_checks(guest(program))


@pytest.mark.machines("32M")
def test_full(guest: Guest) -> None:
    """The less memory there is, the sooner the file system is full."""
    assert_checks(guest("space"))
