"""The shell at the console: what someone sees who sits there and types.

Nothing here waits for time to pass: under icount an idle guest's clock runs
ahead. A command is known to run when it has shown something that the echo of
what was typed doesn't, and to be over at the next prompt.
"""

from __future__ import annotations

import fcntl
import pexpect
import re
import sys
import termios
import time
from pathlib import Path
from typing import Iterator

import pytest

from harness.console import Console
from harness.guest import Images
from harness.screen import Screen
from tally.boot.machine import Machine
from tally.verify.patience import wait_for

PROGRAMS = Path(__file__).parent / "console"

LEFT, RIGHT, UP, DOWN = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B"
DELETE, BACKSPACE, ESCAPE = "\x1b[3~", "\x7f", "\x1b"
HOME, END = "\x1b[H", "\x1b[F"

NO_MORE = r"\x1b\[Ktally\$ $"  # more's own prompt is gone, the shell's is there


def control(letters: str) -> str:
    """^X for each letter. Of two ^A QEMU takes one."""
    keys = "".join(chr(ord(letter) & 0x1F) for letter in letters)
    return keys.replace("\x01", "\x01\x01")


@pytest.fixture(scope="module")
def shell(images: Images, machine: Machine) -> Iterator[Console]:
    """One that several tests share, each of which ends at a prompt."""
    shared = Console(machine)
    yield shared
    shared.close()


def start_cat(console: Console) -> None:
    """Start a command that waits for input, and see it run."""
    console.send("cat\r")
    console.send("line\r")
    console.expect(r"\nline\s+line\s")


def fill(console: Console) -> None:
    """Read nothing until the terminal holds no more of what is shown."""
    before, now = -1, 0

    def is_full() -> bool:
        nonlocal before, now
        time.sleep(1)  # in which more would have come
        waiting = fcntl.ioctl(console.tty.child_fd, termios.FIONREAD, bytes(4))
        before, now = now, int.from_bytes(waiting, sys.byteorder)
        return now > 0 and now == before

    wait_for(is_full, "the terminal is full")


# --- Greeting, leaving -------------------------------------------------------


def test_greeting(console: Console) -> None:
    assert re.search(r"\nTally \S+: 4 harts, ", console.boot)
    assert "Type help for help. To leave: poweroff" in console.boot
    assert console.run("echo $HOME $PATH $0") == "/ /bin:/extra sh"


def test_poweroff(console: Console) -> None:
    assert console.run("poweroff x").startswith("poweroff: not a status from 0 to 255: x\n")
    assert console.poweroff("poweroff 42") == 42


def test_exit(console: Console) -> None:
    assert console.poweroff("exit 3") == 3


def test_end_of_input_leaves(console: Console) -> None:
    assert console.run("false") == ""
    console.control("d")
    console.expect(pexpect.EOF)
    console.close()
    assert console.tty.exitstatus == 1


# --- Help --------------------------------------------------------------------


def test_help(console: Console) -> None:
    text = console.run("help")
    assert "  cd [DIR | -]\n" in text
    assert "man NAME describes" in text
    assert console.run("help cd") == "cd [DIR | -]"
    assert console.run("help ls") == "sh: help: ls: not a builtin; try man ls"


def test_manual(console: Console) -> None:
    """By the screen, and with bold letters."""
    console.send("man kprof\r")
    page = console.expect("--More--")
    assert "K\bKP\bPR\bRO\bOF\bF(1)" in page or "KPROF(1)" in page
    assert "print a kernel profile" in page
    console.send("q")
    console.expect(NO_MORE)


def test_ls_has_columns(console: Console) -> None:
    """Names go down each column; a row fits a terminal."""
    console.run("mkdir /tmp/names; cd /tmp/names; touch $(seq 1000 1059)")
    rows = [row.split() for row in console.run("ls").splitlines()]
    assert len(rows[0]) > 5
    names = [row[i] for i in range(len(rows[0])) for row in rows if i < len(row)]
    assert names == [str(n) for n in range(1000, 1060)]
    assert max(map(len, console.run("ls").splitlines())) <= 80


# --- Editing the line --------------------------------------------------------

EDITS = [
    ("echo ac" + LEFT + "b", "abc"),
    ("echo abc" + LEFT * 2 + RIGHT + "X", "abXc"),
    ("echo ac" + control("B") + "b" + control("F") + "d", "abcd"),
    ("cho abc" + HOME + "e", "abc"),
    ("cho abc" + ESCAPE + "OH" + "e", "abc"),
    ("cho abc" + ESCAPE + "[1~" + "e", "abc"),
    ("cho abc" + control("A") + "e" + control("E") + "d", "abcd"),
    ("cho abc" + HOME + "e" + END + "d", "abcd"),
    ("echo abc def" + LEFT * 4 + control("K"), "abc"),
    ("nonsense" + control("U") + "echo abc", "abc"),
    ("echo no; echo abc" + LEFT * 8 + control("U"), "abc"),
    ("echo one two" + control("W") + "three", "one three"),
    ("echo one two  " + control("WW") + "three", "three"),
    ("echo abX" + BACKSPACE + "c", "abc"),
    ("echo abX" + control("H") + "c", "abc"),
    ("echo aXbc" + LEFT * 3 + DELETE, "abc"),
    ("echo aXbc" + LEFT * 3 + control("D"), "abc"),
    # Nothing lies beyond the ends.
    ("echo abc" + RIGHT * 3 + DELETE + control("K") + "d", "abcd"),
    ("cho abc" + LEFT * 20 + BACKSPACE + control("U") + "e", "abc"),
    # Keys without a meaning have none.
    ("echo abc" + ESCAPE + "[5~" + ESCAPE + "[1;5P" + control("GX"), "abc"),
    ("echo \u00e4\u00f6\u00fc\u20ac", "\u00e4\u00f6\u00fc\u20ac"),
]


@pytest.mark.parametrize("keys, output", EDITS, ids=[repr(e[0]) for e in EDITS])
def test_edit(shell: Console, keys: str, output: str) -> None:
    assert shell.run(keys) == output


def test_history(console: Console) -> None:
    for word in ("one", "two", "three"):
        assert console.run(f"echo {word}") == word
    assert console.run(UP) == "three"
    assert console.run(UP * 3) == "one"
    assert console.run(UP * 4 + DOWN) == "two"
    assert console.run(control("PP")) == "one"
    assert console.run(control("PPPN")) == "two"
    # A line found there can be changed; the one being typed is kept.
    assert console.run(UP + " more") == "two more"
    assert console.run("echo new" + UP * 2 + DOWN * 2) == "new"
    # Blank lines, and one that was the last already, aren't remembered.
    assert console.run("echo same") == console.run("echo same") == "same"
    assert console.run("  ") == ""
    assert console.run(UP * 2) == "new"
    rows = [row.split(None, 1)[1] for row in console.run("history").splitlines()]
    assert rows[-3:] == ["echo same", "echo new", "history"]
    # There is nothing before the first.
    assert console.run(UP * 200 + control("U") + "echo abc") == "abc"


def test_long_line(console: Console) -> None:
    """It takes several rows, and can be edited in each."""
    text = "".join(f"{i:03}" for i in range(150))
    assert console.run("echo " + text).splitlines()[-1] == text
    assert console.run("cho " + text + HOME + "e").splitlines()[-1] == text
    changed = text[:150] + "X" + text[150:]
    keys = "echo " + text + LEFT * 300 + "X"
    assert console.run(keys).splitlines()[-1] == changed


def seen(console: Console, keys: str, size: tuple[int, int]) -> Screen:
    """What an empty screen of that size shows after the keys."""
    console.send(control("L"))
    console.expect(r"\x1b\[2J")
    console.send(keys)
    screen = Screen(*size)
    # The next question for the size comes when all before it was shown.
    console.send(control("L"))
    screen.feed(console.watch(r"\x1b\[999"))
    console.expect(r"\x1b\[2J")
    console.control("c")
    console.wait()
    return screen


SMALL = (10, 40)
LINE = "echo " + "".join(f"{i:03}" for i in range(35))  # 3 rows less 3
SHOWN = ["tally$ echo " + LINE[5:33], LINE[33:73], LINE[73:]]
FULL = LINE + "1234567"[:3]

PICTURES = [
    (LINE, SHOWN, (2, 37)),
    (FULL, SHOWN[:2] + [FULL[73:]], (3, 0)),  # a row that is full
    (FULL + "x", SHOWN[:2] + [FULL[73:], "x"], (3, 1)),
    (FULL + "x" + BACKSPACE, SHOWN[:2] + [FULL[73:]], (3, 0)),
    (LINE + HOME, SHOWN, (0, 7)),
    (LINE + HOME + END, SHOWN, (2, 37)),
    (LINE + LEFT * 38, SHOWN, (1, 39)),
    (LINE + LEFT * 38 + RIGHT, SHOWN, (2, 0)),
    (LINE + HOME + control("K") + "a", ["tally$ a"], (0, 8)),
    (LINE + UP + DOWN, SHOWN, (2, 37)),
    ("\t\tif", ["tally$          if"], (0, 18)),
    # A wide character isn't split; a mark belongs to what it is on.
    ("a" * 32 + "\u4e2d\u6587", ["tally$ " + "a" * 32, "\u4e2d\u6587"], (1, 4)),
    ("a\u4e2db" + LEFT * 2 + "c", ["tally$ ac\u4e2db"], (0, 9)),
    ("a\u4e2db" + LEFT + BACKSPACE, ["tally$ ab"], (0, 8)),
    ("xe\u0301\u0308y" + LEFT * 2 + DELETE, ["tally$ xy"], (0, 8)),
    ("xe\u0301y" + LEFT + BACKSPACE, ["tally$ xy"], (0, 8)),
    ("\U0001f600\u20acz" + LEFT * 3 + "\u00e4", ["tally$ \u00e4\U0001f600\u20acz"], (0, 8)),
]


@pytest.fixture(scope="module")
def small(images: Images, machine: Machine) -> Iterator[Console]:
    """A shell on a small terminal, with something in its history."""
    shared = Console(machine, size=SMALL)
    shared.run("true")
    yield shared
    shared.close()


@pytest.mark.parametrize(
    "keys, rows, cursor", PICTURES, ids=[repr(p[0]) for p in PICTURES]
)
def test_picture(
    small: Console, keys: str, rows: list[str], cursor: tuple[int, int]
) -> None:
    screen = seen(small, keys, SMALL)
    assert screen.text() == rows
    assert screen.cursor == cursor


def test_picture_of_a_line_larger_than_the_screen(small: Console) -> None:
    """Rows around the cursor are shown."""
    text = "".join(f"{i:03}" for i in range(160))
    rows = ["tally$ " + text[:33]]
    rows += [text[i : i + 40] for i in range(33, len(text), 40)]
    assert seen(small, text, SMALL).text() == rows[-10:]
    screen = seen(small, text + HOME, SMALL)
    assert screen.text() == rows[:10]
    assert screen.cursor == (0, 7)
    assert seen(small, text + HOME + RIGHT * 420, SMALL).text() == rows[1:11]


# --- The terminal's size -----------------------------------------------------


def test_size(small: Console) -> None:
    """It is that of the terminal in which the machine was started."""
    small.send("seq 60 | more\r")
    page = small.expect("--More--")
    small.send("q")
    small.expect(NO_MORE)
    assert page.split()[-2] == "9"
    small.run("mkdir -p /tmp/names; cd /tmp/names; touch $(seq 1000 1029)")
    widths = [len(row) for row in small.run("ls").splitlines()]
    assert 20 < max(widths) <= 40
    small.run("cd /")


def test_size_is_asked_for(console: Console) -> None:
    """^L asks the terminal, whose answer is no key, and may be late."""
    console.control("l")
    console.expect(r"\x1b\[999;999H\x1b\[6n")
    console.send("seq 60 | " + ESCAPE + "[13;50R" + "more\r")
    page = console.expect("--More--")
    assert page.split()[-2] == "12"
    console.send("q")
    console.expect(NO_MORE)
    # Unasked, it means nothing.
    console.send(ESCAPE + "[20;50R" + "seq 60 | more\r")
    assert console.expect("--More--").split()[-2] == "12"
    console.send("q")
    console.expect(NO_MORE)


# --- History -----------------------------------------------------------------

R = control("R")

SEARCHES = [
    (R + "alph", "alpha beta"),
    (R + "a" + R, "alpha beta"),  # the older one
    (R + "gamma" + BACKSPACE * 5 + "alpha", "alpha beta"),
    (R + "gam" + END + " x", "gamma a x"),  # a key that moves takes it
    ("cho no" + HOME + "e" + R + "gam" + control("G"), "no"),
    ("echo no" + R + "gam" + control("C"), "no"),
    (R + "gammb" + BACKSPACE * 2 + "m", "gamma a"),  # back from a miss
]


@pytest.fixture(scope="module")
def remembering(images: Images, machine: Machine) -> Iterator[Console]:
    shared = Console(machine)
    for word in ("one", "alpha beta", "gamma a"):
        shared.run(f"echo {word}")
    yield shared
    shared.close()


@pytest.mark.parametrize("keys, output", SEARCHES, ids=[repr(e[0]) for e in SEARCHES])
def test_search(remembering: Console, keys: str, output: str) -> None:
    assert remembering.run(keys) == output
    # What was run is the last line now: put the others behind it again.
    for word in ("alpha beta", "gamma a"):
        remembering.run(f"echo {word}")


def test_search_shows_what_it_finds(console: Console) -> None:
    console.run("echo alpha")
    console.send(R + "lph")
    console.expect(r"\(search 'lph'\): echo alpha")
    console.send("x")
    console.expect(r"\(no 'lphx'\): echo alpha")
    console.control("g")
    assert console.run("echo $?") == "0"


def test_history_lasts(images: Images, machine: Machine, tmp_path: Path) -> None:
    """In the shared folder, to the next boot; HISTFILE names another place."""
    machine = machine._replace(share=str(tmp_path))
    console = Console(machine)
    assert console.run("echo one") == "one"
    console.send("cat <<END\r")
    console.expect(r"> $")
    console.run("a text's line\rEND")
    assert console.poweroff() == 0
    file = tmp_path / ".tally_history"
    assert file.read_text() == "echo one\ncat <<END\npoweroff\n"
    file.write_text("echo old\n" + "".join(f"echo {i}\n" for i in range(1200)))
    console = Console(machine)
    assert console.run(UP) == "1199"
    kept = file.read_text().splitlines()
    assert kept == [f"echo {i}" for i in range(700, 1200)]
    console.run("HISTFILE=/tmp/other")
    console.run("true")
    assert console.run("cat /tmp/other") == "true\ncat /tmp/other"
    console.close()


def test_clear_screen(console: Console) -> None:
    console.send("echo abc" + control("L"))
    console.expect(r"\x1b\[H\x1b\[2Jtally\$ ")
    assert console.run("").splitlines()[-1] == "abc"


def test_more_lines(console: Console) -> None:
    """A command that isn't complete gets another prompt."""
    console.send("for i in 1 2; do\r")
    console.expect(r"\n> $")
    console.send("echo $i\r")
    console.expect(r"\n> $")
    assert console.run("done") == "1\n2"
    console.send("echo 'a\r")
    console.expect(r"\n> $")
    assert console.run("b'") == "a\nb"
    console.send("if true; then\r")
    console.expect(r"\n> $")
    console.control("c")
    console.wait()
    assert console.run("echo $?") == "130"


# --- Completion --------------------------------------------------------------


@pytest.mark.parametrize(
    "keys, output",
    [
        ("unam\t -s", "Tally"),  # a program
        ("expor\tA=1; echo $A", "1"),  # a builtin
        ("true && unam\t-s", "Tally"),  # not only the first of the line
        ("basename /usr/sh\two\t", "words"),
        ("basename us\t", "usr"),  # a directory, and its slash
        ("echo /no\tne", "/none"),  # nothing to find
    ],
)
def test_completion(shell: Console, keys: str, output: str) -> None:
    assert shell.run(keys) == output


def test_completion_shows_choices(console: Console) -> None:
    console.send("basename /usr/s\t")
    assert console.expect(r"tally\$ ").endswith("\n/usr/share/  /usr/src/\n")
    assert console.run("r\t").splitlines()[-1] == "src"


def test_completion_of_what_is_common(console: Console) -> None:
    assert console.run("mkdir /tmp/c; cd /tmp/c; touch longname1 longname2") == ""
    assert console.run("echo lo\t1") == "longname1"
    assert console.run("cd /; rm -r /tmp/c") == ""


# --- Keys that signal --------------------------------------------------------


def test_interrupt_at_the_prompt(console: Console) -> None:
    console.send("echo not this")
    console.control("c")
    assert console.wait().endswith("not this^C")
    assert console.run("echo $?") == "130"


def test_interrupt_of_a_command(console: Console) -> None:
    start_cat(console)
    console.control("c")
    assert console.wait().endswith("^C")
    assert console.run("echo $?") == "130"


@pytest.mark.parametrize("body", [":", "/bin/true", "(:)", "true | true"])
def test_interrupt_of_a_loop(console: Console, body: str) -> None:
    console.send(f"echo star''ted; while :; do {body}; done; echo not this\r")
    console.expect(r"\nstarted")
    console.control("c")
    assert console.wait().strip() == "^C"
    assert console.run("echo $?") == "130"


def test_a_terminal_that_is_full(console: Console) -> None:
    """Who writes waits until it takes more, and nothing is lost."""
    console.send("seq 10000\r")
    fill(console)
    shown = console.wait().partition("\n")[2]
    assert shown.split() == list(map(str, range(1, 10_001)))


def test_interrupt_of_a_pipeline(console: Console) -> None:
    """All of it ends; the shell and what is in the background go on."""
    assert console.run("sleep 100000 &").startswith("[1] ")
    console.send("cat | cat | cat\r")
    console.send("line\r")
    console.expect(r"\nline\s+line\s")
    console.control("c")
    console.wait()
    assert console.run("echo $?") == "130"
    names = [line.split()[-1] for line in console.run("ps").splitlines()[1:]]
    assert names == ["init", "sh", "sleep", "ps"]
    assert console.run("jobs") == "[1] Running sleep 100000"
    assert console.run("kill %1; wait") == ""


def test_interrupt_forgets_what_was_typed(console: Console) -> None:
    start_cat(console)
    console.send("echo not this")
    console.control("c")
    console.wait()
    assert console.run("echo this") == "this"


def test_quit(console: Console) -> None:
    start_cat(console)
    console.control("\\")
    assert console.wait().endswith("sh: killed by SIGQUIT")
    assert console.run("echo $?") == "131"


def test_time_of_an_interrupted_command(console: Console) -> None:
    console.send("/bin/time cat\r")
    console.send("line\r")
    console.expect(r"\nline\s+line\s")
    console.control("c")
    assert [line[:4] for line in console.wait().split("^C\n")[1].splitlines()] == [
        "real",
        "user",
        "sys ",
    ]


# --- Jobs --------------------------------------------------------------------


def report(console: Console, shown: str) -> str:
    """What is shown before one of the next prompts."""
    for _ in range(100):
        if shown:
            break
        shown = console.run("")
    return shown


def start(console: Console, command: str) -> str:
    """Start a job. What is shown before the next prompt, after its number."""
    return "\n".join(console.run(f"{command} &").splitlines()[1:])


def test_background(console: Console) -> None:
    assert console.run("echo behind >/tmp/f &").startswith("[1] ")
    assert console.run("wait; cat /tmp/f; rm /tmp/f").endswith("behind")


def test_background_job_is_reported(console: Console) -> None:
    """Before a prompt after it has ended."""
    console.run("sleep 100000 &")
    assert console.run("jobs") == "[1] Running sleep 100000"
    assert report(console, console.run("kill %1")) == "[1] Terminated sleep 100000"
    assert console.run("jobs") == ""


def test_group_in_the_background(console: Console) -> None:
    """Each job is a process group, which a negative number names."""
    console.run("sleep 100000 | sleep 100001 &")
    console.run("set -- $(ps | grep -w sleep); /bin/kill -- -$3; wait")
    assert console.run("ps | grep -c sleep") == "0"


def test_stop_and_continue(console: Console) -> None:
    start_cat(console)
    console.control("z")
    assert console.wait().endswith("^Z\n[1] Stopped cat")
    assert console.run("echo $?") == "148"
    assert console.run("ps | grep -c ' T .* cat$'") == "1"
    console.send("fg\r")
    console.send("again\r")
    console.expect(r"\nagain\s+again\s")
    console.control("d")
    console.wait()
    assert console.run("jobs") == ""


def test_stop_and_kill(console: Console) -> None:
    start_cat(console)
    console.control("z")
    console.wait()
    assert report(console, console.run("kill -9 %1")) == "[1] Killed  cat"
    assert console.run("jobs") == ""


def test_how_a_job_ended(console: Console) -> None:
    """By its status, once."""
    shown = start(console, "sh -c 'read x </dev/null; exit 3'")
    assert report(console, shown).startswith("[1] Done(3) sh -c ")
    shown = start(console, "sh -c 'exit 0'")
    assert report(console, shown) == "[1] Done    sh -c 'exit 0'"


def test_exit_with_stopped_jobs(console: Console) -> None:
    """It warns once; what was stopped later is warned of again."""
    warning = "sh: there are stopped jobs"
    for leave in ("exit 3\r", control("D")):
        start_cat(console)
        console.control("z")
        console.wait()
        console.send(leave)
        assert console.wait().splitlines()[-1] == warning
    assert console.poweroff("exit 3") == 3


def test_interrupt_that_finds_a_prompt(console: Console) -> None:
    """It doesn't end the command that is typed next."""
    shown = start(console, "kill -INT $$")
    assert report(console, shown).startswith("[1] Done")
    assert console.run("echo this") == "this"


def test_alias_at_the_prompt(console: Console) -> None:
    """A job is known by what the alias stands for."""
    console.run("alias z='sleep 100000'")
    console.run("true; z & true")
    assert console.run("jobs") == "[1] Running sleep 100000"
    console.run("kill %1; wait")


# --- Input -------------------------------------------------------------------


def test_end_of_file(console: Console) -> None:
    start_cat(console)
    console.control("d")
    assert console.wait() == ""
    assert console.run("echo $?") == "0"


def test_end_of_file_in_a_line(console: Console) -> None:
    """After text ^D hands that over, and no more; the next one is the end."""
    console.send("wc -c\r")
    console.send("ab" + control("DD"))
    assert console.wait().endswith("2")
    start_cat(console)
    console.send("ab" + control("D"))
    console.expect("abab")
    console.send("cd\r")
    console.expect(r"cd\s+cd\s")
    console.control("d")
    console.wait()


def test_kernel_edits_lines_too(console: Console) -> None:
    start_cat(console)
    console.send("no" + control("U") + "abX" + BACKSPACE + "c de fg" + control("W") + "h\r")
    console.expect(r"\nabc de h\s")
    console.control("d")
    console.wait()


def test_kernel_hands_over_long_lines(console: Console) -> None:
    """One that takes several rows comes whole."""
    start_cat(console)
    text = "".join(f"{i:03}" for i in range(300))
    console.send(text + "\r")
    console.expect(rf"{text}\s+{text}\s")
    console.control("d")
    console.wait()


def test_read_from_the_terminal(console: Console) -> None:
    console.send("read a b; echo \"<$a> <$b>\"\r")
    console.send("some words here\r")
    assert console.wait().endswith("<some> <words here>")


def test_read_to_a_bad_address(images: Images, machine: Machine) -> None:
    """What was typed is still there for the next one."""
    console = Console(machine, extra=PROGRAMS)
    console.send("bad_read\r")
    console.expect("type: ")
    console.send("a line\r")
    assert console.wait().endswith("error 14, then 7: a line")
    console.close()


# --- Typing ahead, pasting ---------------------------------------------------


def some_text(size: int) -> str:
    """Lines of many lengths, with all that an editor might take amiss."""
    words = ["a\tb", "$HOME", "`x`", "\\", "\"'", "\u00e4\u20ac\u4e2d", "!#;", "end "]
    lines, length = [], 0
    while length < size:
        n = len(lines)
        lines.append(" ".join(words[(n * n + i) % 8] for i in range(n % 24)) + f"{n}")
        length += len(lines[-1].encode()) + 1
    return "\n".join(lines) + "\n"


@pytest.mark.machines("1", "4", "free")
def test_paste(console: Console) -> None:
    """A here-document arrives as it was typed, and so do the commands."""
    text = some_text(5_000)
    keys = f"cat >/tmp/f <<'END'\n{text}END\nwc -c </tmp/f; echo all''there\n"
    with console.pasting(keys.replace("\n", "\r")):
        console.expect(r"\nallthere\s")
        console.wait()
    assert console.run("cat /tmp/f") + "\n" == text


@pytest.mark.machines("4", "free")
def test_paste_into_a_program(console: Console) -> None:
    """Lines for a program that was started by the same paste; and ^D ends."""
    text = some_text(5_000)
    keys = f"cat >/tmp/f\n{text}" + control("D") + "echo all''there\n"
    with console.pasting(keys.replace("\n", "\r")):
        console.expect(r"\nallthere\s")
        console.wait()
    assert console.run("cat /tmp/f") + "\n" == text


def test_paste_of_a_very_long_line(console: Console) -> None:
    """sh(1): a line takes as many rows as it needs. What comes at its end is shown
    once, and no command of it keeps a copy of the rest."""
    line = 1_000 * "true && " + "echo d''one"
    with console.pasting(line + "\r"):
        shown = console.wait()
    assert shown.endswith("\ndone")
    assert len(shown) < 2 * len(line)


@pytest.mark.machines("4", "free")
def test_paste_that_nobody_reads(images: Images, machine: Machine) -> None:
    """What the terminal has no room for waits in the port, and outside."""
    text = "".join(f"{i:05} " for i in range(4_000))
    total = 0
    for c in text:
        total = (total * 31 + ord(c)) & 0xFFFFFFFF
    console = Console(machine, extra=PROGRAMS)
    console.send("full 16384\r")
    console.expect("ready")
    with console.pasting(text + "X"):
        console.expect("full: 16384")
        assert console.wait().splitlines()[-1] == f"{len(text)}, {total:08x}"
    console.close()


def test_a_line_longer_than_the_terminal_holds(console: Console) -> None:
    """Then it comes in pieces, and whole."""
    text = "".join(f"{i:05} " for i in range(4_000))
    console.send("echo rea''dy; wc -c\r")
    console.expect(r"\nready\s")
    with console.pasting(text + control("DD")):
        assert console.wait().endswith(str(len(text)))


def test_typed_ahead_of_a_command(console: Console) -> None:
    """Lines are edited by the mode in which they are read."""
    console.send("cat; echo d''one\rnoX" + BACKSPACE + control("U"))
    console.send("abX" + BACKSPACE + "c\r" + control("D"))
    console.expect(r"c\s+abc\s+done\s")
    console.wait()


def test_typed_ahead_of_the_prompt(console: Console) -> None:
    """Here it is echoed and edited, and there it is shown again."""
    console.send("sh -c 'read a; echo \"<$a>\"; read a; echo \"<$a>\"'\r")
    console.send("one\rtwo\recho thXX" + BACKSPACE * 2 + "ree\r")
    console.expect(r"<one>[^<]*<two>")
    console.expect(r"\nthree\s")
    console.wait()


def test_interrupt_typed_ahead(console: Console) -> None:
    """It ends what was typed before it, however soon it comes."""
    console.send("sleep 100000; echo n''o\r" + control("C") + "echo th''is\r")
    assert "\nno" not in console.expect(r"\nthis\s")
    console.wait()


def test_interrupt_that_finds_nobody(images: Images, machine: Machine) -> None:
    """The foreground has ended; it is for whoever comes to be there next."""
    console = Console(machine, extra=PROGRAMS)
    console.send("nobody; echo status $?\r")
    console.expect(r"and a line\s")
    console.control("c")
    console.expect(r"\^C\s")
    console.send("\r")
    console.expect(r"it came\s+status 0\s")
    console.close()


def test_interrupt_that_was_erased(images: Images, machine: Machine) -> None:
    """Typed while no key signals, it's a character of the line that is edited."""
    console = Console(machine, extra=PROGRAMS)
    console.send("keys; echo status $?\r")
    console.expect(r"type a\^C\s")
    console.send("a" + control("C"))
    console.expect(r"erase it\s")
    console.send(BACKSPACE * 2 + "\r")
    console.expect(r"it signals nobody\s+status 0\s")
    console.close()


def test_settings_that_no_command_asks_for(images: Images, machine: Machine) -> None:
    """A kill that shows a new line, a word erased with the blanks behind it, a ^C
    typed ahead, a time that counts from the first byte."""
    console = Console(machine, extra=PROGRAMS)
    console.send("edit; echo status $?\r")
    console.expect(r"and kill it\s")
    console.send("abc" + control("U") + "de\r")
    console.expect(r"abc\s+de\s+read de\s")
    console.expect(r"and erase it\s")
    console.send("one two  " + control("W") + "three\r")
    console.expect(r"read one three\s")
    console.expect(r"type ahead\s")
    console.send("a" + control("C"))
    console.expect(r"signals: 1\s")
    console.expect(r"type one\s")
    console.send("x")
    console.expect(r"bytes: 1\s+status 0\s")
    console.close()


@pytest.mark.parametrize("text", ["\u00e4", "\u4e2d", "e\u0301", "\U0001f600"])
def test_kernel_erases_characters(console: Console, text: str) -> None:
    """By their columns: two for what is wide, a mark with what it is on."""
    start_cat(console)
    console.send("a" + text + BACKSPACE + "b\r")
    shown = console.expect(r"\nab\s")
    width = 2 if text in "\u4e2d\U0001f600" else 1
    assert shown.endswith("a" + text + "\b \b" * width + "b")
    console.control("d")
    console.wait()


def test_remove_asks(console: Console) -> None:
    console.send("touch /tmp/f; rm -i /tmp/f\r")
    console.expect(r"remove /tmp/f\? $")
    assert console.run("y") == ""
    assert console.run("ls /tmp/f") == "ls: /tmp/f: No such file or directory"


# --- more --------------------------------------------------------------------


def test_more(console: Console) -> None:
    """A space shows a screen, Return a line, q ends."""
    console.send("seq 60 | more\r")
    pages = [console.expect("--More--")]
    for key in " \r":
        console.send(key)
        pages.append(console.expect("--More--"))
    console.send("q")
    console.expect(NO_MORE)
    shown = [re.findall(r"^(?:\x1b.*K)?(\d+)$", page, re.M) for page in pages]
    numbers = [str(i) for i in range(1, 48)]
    assert shown == [numbers[:23], numbers[23:46], numbers[46:]]


def test_more_ends_by_itself(console: Console) -> None:
    console.send("seq 30 | more\r")
    console.expect("--More--")
    console.send(" ")
    assert console.wait().splitlines()[-1] == "30"


def test_more_is_interrupted(console: Console) -> None:
    """And leaves the terminal as it was."""
    console.send("seq 60 | more\r")
    console.expect("--More--")
    console.control("c")
    console.expect(NO_MORE)
    start_cat(console)
    console.control("d")
    console.wait()
