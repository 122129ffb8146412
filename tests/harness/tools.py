"""Tools of the host that tests use."""

from __future__ import annotations

import shutil

import pytest


def tool(*names: str) -> str:
    """The first of these that is here. scripts/setup installs one of them, so that
    a test that can't be run fails."""
    for name in names:
        if shutil.which(name):
            return name
    pytest.fail(f"no {' or '.join(names)}: scripts/setup installs it")
