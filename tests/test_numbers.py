"""Numbers that a user gives to the guest's commands: what isn't one, or is out of
bounds, is an error; none is cut to the bits that a command has for it.
"""

from __future__ import annotations

import pytest

from harness.guest import Guest, Result

LONG = 2**63 - 1
INT = 2**31 - 1

#: As the shell has them in double quotes. The sum is a process, if it's cut.
VALUES = {
    "0": 0,
    "-1": -1,
    "2147483648": 2**31,
    "4294968296": 2**32 + 1000,
    "$((4294967296 + $$))": 2**32,
    "40000000077": 0o40000000077,
    "18446744073709551616": 2**64,
    "1e3": None,
    "": None,
    " 5": None,
    "5x": None,
}

#: The numbers that each takes, and succeeds with: from, to.
COMMANDS = {
    "head -n '' /dev/null": (0, LONG),
    "head -c '' /dev/null": (0, LONG),
    "tail -n '' /dev/null": (0, LONG),
    "tail -n +'' /dev/null": (0, LONG),
    "tail -c '' /dev/null": (0, LONG),
    "hexdump -n '' -s '' /dev/null": (0, LONG),
    "cut -c ''- /dev/null": (1, LONG),
    "cut -f 1,''- /dev/null": (1, LONG),
    "sort -k '' /dev/null": (1, LONG),
    "sort -k 1.'' /dev/null": (1, LONG),
    "sort -k 1,'' /dev/null": (1, LONG),
    "seq '' ''": (-999999999, 999999999),
    "kill -0 -- ''": (-1, 0),
    "/bin/kill -0 -- ''": (-1, 0),
    "kill -s '' $$": (0, 0),
    "/bin/kill -s '' $$": (0, 0),
    "chmod '' .": (0, 0o7777),
    "umask ''": (0, 0o777),
    "kprof -n ''": (0, LONG),
    "tally -n '' true": (0, LONG),
    "tally -r '' true": (1, 20000),
    "getpc -o /dev/null -b '' true": (1, 0),
    "getpc -o /dev/null -g '' true": (1, 32767),
    "getpc -o /dev/null -p '' true": (1, 32767),
    "tprof 1 ''": (0, INT),
    "tprof '' 0": (1, 32767),
    "pcstat -i ''": (1, INT),
    "exit ''": (0, INT),
    "shift ''": (0, 0),
    "while break ''; do exit 0; done": (1, INT),
    "true >&''": (0, 9),
    "ulimit -t ''": (1, 0),
    "fg ''": (1, 0),
    "/bin/printf '%.*s' '' x": (-1000000, 1000000),
}


@pytest.fixture(scope="module")
def statuses(guest: Guest) -> dict[str, Result]:
    """What each command exits with for each value, in one boot."""
    values = " ".join(f'"{value}"' for value in VALUES)
    lines = [
        f"for v in {values}; do ({command}) >/dev/null 2>&1; echo $?; done".replace(
            "''", '"$v"'
        )
        for command in COMMANDS
    ]
    return dict(zip(COMMANDS, guest.batch(lines)))


@pytest.mark.parametrize("command", COMMANDS)
def test_number(statuses: dict[str, Result], command: str) -> None:
    """The commands' manual pages: what each is to be given."""
    lowest, highest = COMMANDS[command]
    taken = {
        value: status == "0"
        for value, status in zip(VALUES, statuses[command].out.splitlines())
    }
    assert taken == {
        value: number is not None and lowest <= number <= highest
        for value, number in VALUES.items()
    }
