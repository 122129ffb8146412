"""Memory, as programs see it."""

from __future__ import annotations

import re

import pytest

from harness.checks import assert_checks
from harness.guest import Guest
from tally.verify.machines import Machines


# The less memory there is, the sooner it is used up.
@pytest.mark.machines(Machines(("32M",), ("free-32M",)))
def test_who_gives_way_is_said(guest: Guest) -> None:
    """When memory runs out, guest/exhaust.c checks who ends. The console has who it
    was, how large, and who wanted more."""
    result = guest("exhaust")
    assert_checks(result)
    said = re.findall(rb"out of memory: (.*)\r", result.boot)
    form = (
        rb"killed process (\d+) \(exhaust\), which had \d{4} KiB, "
        rb"because process (\d+) \(exhaust\)"
    )
    each = [re.match(form, line) for line in said]
    assert len(each) == 2 and all(each), said
    assert all(one[1] != one[2] for one in each if one)


FILL = """mkdir /tmp/d; i=0; head -c 8000000 /dev/zero >/tmp/large
while true >/tmp/d/$i; do i=$((i + 1)); done 2>/dev/null
[ $i -gt 5000 ] && rm -r /tmp/d; echo $?; ls /tmp/d"""


@pytest.mark.machines("32M")
def test_a_full_folder_can_be_removed(guest: Guest) -> None:
    """Though there is no memory left for a list of its names."""
    result = guest(FILL)
    assert result.out == "0\n"
    assert result.err == "ls: /tmp/d: No such file or directory\n"
