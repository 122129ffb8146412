"""Names that others chose, as commands show them: nothing in the name of a file,
a process or a function does anything to a terminal, or makes a line.

What is UTF-8 stays as it is. (`ls -q`: commands/ls.txt.)
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from harness import elf
from harness.console import Console
from harness.guest import Guest

# An escape sequence, a newline, a letter of two bytes, a byte that is none, and
# a control character of two bytes.
EVIL = r"n=$(printf 'n\033[2J\n\303\251\377\302\233.'); n=${n%.}; cd /tmp" "\n"
SHOWN = "n?[2J?\u00e9??"
QUOTED = "'n'$'\\033''[2J'$'\\n''\u00e9'$'\\377\\302\\233'"
FUNCTION = "f\x1b[2J\n\u00e9\x7f\x9b" + 3000 * "x"
FUNCTION_SHOWN = "f?[2J?\u00e9??" + 3000 * "x"
SPIN = "'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'"


def is_harmless(text: str) -> bool:
    return not re.search(r"[^\n -~\u00a0-\U0010ffff]", text)


@pytest.mark.parametrize(
    "command, lines",
    [
        ("$n -c 'ps; :'", [rf"^ .*{re.escape(SHOWN)}$"]),
        (f"tally $n -c {SPIN}", [
            rf"^{re.escape(SHOWN)} -c i=0",
            rf"^ .* \[{re.escape(SHOWN)} \d+\]$",  # functions
            rf"^ .* {re.escape(SHOWN)} \d+, in the kernel",  # processes
        ]),
        ("$n -c 'while :; do :; done' & tprof $! 1", [
            rf"^{re.escape(SHOWN)} \d+: \d+"
        ]),
    ],
    ids=["ps", "tally", "tprof"],
)
def test_processes(guest: Guest, command: str, lines: list[str]) -> None:
    command = command.replace("$n", '"$n"')
    result = guest(f"{EVIL}PATH=/tmp:$PATH; cp /bin/sh \"$n\"; {command}")
    assert is_harmless(result.out), result.stdout
    for line in lines:
        assert re.search(line, result.out, re.M), result.out


def test_functions(guest: Guest, tmp_path: Path) -> None:
    """The symbols of a program, or of a kernel."""
    (tmp_path / "kernel").write_bytes(elf.kernel({FUNCTION: 0x1000}))
    (tmp_path / "kpdata").write_bytes(struct.pack(">3I", 5, 5, 5))
    prf = struct.pack("<16Q", 3, 0, 0x1000, 0x1008, 1, *[0] * 5, 2, 0, 5, 0, 0, 0)
    (tmp_path / "prf").write_bytes(prf)
    mon = struct.pack("<QQQHHHH", 0x1000, 0x1008, 0, 5, 0, 0, 0)
    (tmp_path / "mon").write_bytes(mon)
    commands = ["kprof kernel kpdata", "prfpr prf 0 kernel", "prof -m mon kernel"]
    for result in guest.batch([f"cd /extra; {c}" for c in commands], extra=tmp_path):
        assert (result.err, result.status) == ("", 0), result.command
        assert is_harmless(result.out.replace("\t", " ")), result.stdout
        assert FUNCTION_SHOWN in result.out, result.out


def test_messages(guest: Guest) -> None:
    """Of commands and of the shell: each is one line."""
    result = guest(f'{EVIL}cat "$n"; "$n"; touch "$n"; echo y | rm -i "$n"; ls')
    assert result.err == (
        f"cat: {SHOWN}: No such file or directory\n"
        f"sh: {SHOWN}: not found\n"
        f"remove {SHOWN}? "
    )
    assert result.out == ""


def test_at_a_terminal(console: Console) -> None:
    """ls(1) quotes, and columns are as wide as what is shown; others put a ?."""
    console.run(EVIL.strip())
    console.run('touch "$n" abc \u00e9\u00e9 e')
    width = len(QUOTED) + 2
    rows = [f"{'abc':{width}}{QUOTED}", f"{'e':{width}}\u00e9\u00e9"]
    assert console.run("ls").splitlines() == rows
    assert console.run("ls -1").split() == ["abc", "e", QUOTED, "\u00e9\u00e9"]
    assert console.run("ls -l").splitlines()[2].endswith(f" {QUOTED}")
    assert console.run("ls -1q *J*") == SHOWN
    assert console.run("find").splitlines()[3] == f"./{SHOWN}"
    counted = console.run('wc -c "$n"; grep -c x e "$n"; head "$n" e')
    assert counted.splitlines() == [
        f"0 {SHOWN}",
        "e:0",
        f"{SHOWN}:0",
        f"==> {SHOWN} <==",
        "",
        "==> e <==",
    ]
    console.run('echo a >e; echo b >"$n"')
    assert console.run('cmp "$n" e') == f"{SHOWN} e differ: byte 1, line 1"
    console.run("touch nb 'a b' \"it's\" '~'")
    assert console.run("ls -1 a* i* '~'").split("\n") == [
        "'a b'", "abc", r"'it'\''s'", "'~'"
    ]
    console.send("echo n\t")
    assert console.expect(r"tally\$ ").endswith(f"\n{SHOWN}  nb\n")
    console.control("u")
    assert console.run(r"ls | tr -cd '\033\377' | wc -c") == "2"
