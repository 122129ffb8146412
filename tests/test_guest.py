"""Every program of tests/guest, on the machines where what it checks matters.

They are found by listing the folder: a new one runs on four harts, unless the
table says more.
"""

from __future__ import annotations

import pytest

from harness.checks import assert_checks
from harness.guest import Guest, Images
from tally.verify.guests import PROGRAMS, TABLE, machines_of
from tally.verify.machines import MACHINES


@pytest.mark.parametrize(
    "program, name",
    [(program, name) for program in PROGRAMS for name in machines_of(program).chosen],
)
def test_guest(images: Images, program: str, name: str) -> None:
    guest = Guest(images, MACHINES[name])
    assert_checks(guest(f"/bin/{program}"))


def test_the_table_names_programs() -> None:
    assert set(TABLE) <= set(PROGRAMS)
