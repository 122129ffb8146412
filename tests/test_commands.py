"""The commands: transcripts in tests/commands, and large inputs against Python.

A transcript (see harness/transcript.py) is named after its command and holds
every option that the command's manual page has.
"""

from __future__ import annotations

import collections
import random
import re
from pathlib import Path
from typing import Iterator

import pytest

from harness import manual, transcript
from harness.guest import Guest, Result
from harness.transcript import Step
from tally import ROOT
from tally.verify import machines

TRANSCRIPTS = sorted((Path(__file__).parent / "commands").glob("*.txt"))
STEPS = [step for file in TRANSCRIPTS for step in transcript.read(file)]

COMMANDS = sorted({file.stem for file in ROOT.glob("user/cmd/*.c")} - {"init"})
# To these an unknown option is text, or the name of something else.
LENIENT = {"echo", "false", "find", "kill", "true"}
STRICT = [command for command in COMMANDS if command not in LENIENT]

WORK = "/tmp/step"


def alone(command: str) -> str:
    """In an empty directory, of which nothing stays."""
    return (
        f"mkdir {WORK}; cd {WORK}; ({command}\n); status=$?; "
        f"cd /; rm -rf {WORK}; exit $status"
    )


# --- Transcripts -------------------------------------------------------------


@pytest.fixture(scope="module")
def results(guest: Guest) -> dict[str, Result]:
    """What all steps did, in one boot."""
    done = guest.batch(alone(step.command) for step in STEPS)
    return {step.name: result for step, result in zip(STEPS, done)}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_transcript(results: dict[str, Result], step: Step) -> None:
    result = results[step.name]
    assert result.out == step.out
    assert result.err == step.err
    assert result.status == step.status


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_tested(command: str) -> None:
    """Each option of the manual page is in the transcript of the command."""
    pages = [page for page in manual.PAGES if page.suffix in (".1", ".8")]
    (page,) = [page for page in pages if command in manual.names(page)]
    steps = [step for step in STEPS if step.name.startswith(f"{command}:")]
    used = "\n".join(step.command for step in steps)
    assert steps
    for options in re.findall(r"^\.It Fl (?!Ar)(.*)", page.read_text(), re.M):
        for option in options.split(" Ar ")[0].split(" , "):
            assert re.search(rf"\b{command} [^|;]*-\w*{option}", used), option


@pytest.fixture(scope="module")
def usages(guest: Guest) -> dict[str, Result]:
    """What each command says of an option that none has."""
    done = guest.batch(f"/bin/{c} -_ a" for c in STRICT)
    return dict(zip(STRICT, done))


@pytest.mark.parametrize("command", STRICT)
def test_unknown_option(usages: dict[str, Result], command: str) -> None:
    result = usages[command]
    complaint, usage = result.err.splitlines()
    assert complaint == f"{command}: unknown option -_"
    assert re.match(rf"usage: {command}( |$)", usage)
    assert (result.out, result.status) == ("", 2)


# --- Large inputs ------------------------------------------------------------


def random_lines(count: int) -> bytes:
    """Lines of three fields, many of them alike; the last has no newline."""
    r = random.Random(7)
    names = [r.randbytes(r.randrange(1, 12)).hex() for _ in range(200)]
    lines = (
        f"{r.choice(names)} {r.randrange(-500, 500)}\t{r.choice('aAbB')}"
        for _ in range(count)
    )
    return "\n".join(lines).encode()


def folded(line: bytes) -> tuple[bytes, bytes]:
    return line.upper(), line


def second_field(line: bytes) -> tuple[int, bytes]:
    return int(line.split()[1]), line


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def dump(data: bytes) -> bytes:
    """As hexdump -Cv has it."""
    rows = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        cells = [f"{byte:02x} " for byte in row] + ["   "] * (16 - len(row))
        text = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        halves = "".join(cells[:8]), "".join(cells[8:])
        rows.append(f"{at:08x}  {halves[0]} {halves[1]} |{text}|\n")
    return "".join(rows).encode() + b"%08x\n" % len(data)


def word_commands(words: bytes) -> Iterator[tuple[str, bytes]]:
    """Commands on a text of a word a line, and what Python makes of it."""
    lines = words.splitlines()
    counts = collections.Counter(lines)
    runs = sorted(counts)
    yield "sort words", joined(sorted(lines))
    yield "sort -r words", joined(sorted(lines, reverse=True))
    yield "sort -f words", joined(sorted(lines, key=folded))
    yield "sort -u words", joined(runs)
    yield "sort words | uniq", joined(runs)
    yield (
        "sort words | uniq -c",
        joined([b"%7d %s" % (counts[line], line) for line in runs]),
    )
    yield (
        "sort words | uniq -d",
        joined([line for line in runs if counts[line] > 1]),
    )
    yield (
        "sort words | uniq -u",
        joined([line for line in runs if counts[line] == 1]),
    )
    yield (
        "wc words",
        b"%7d %7d %7d words\n" % (len(lines), len(words.split()), len(words)),
    )
    yield "tr a-z A-Z <words", words.upper()
    yield "tr -d aeiou <words", words.translate(None, b"aeiou")
    yield "tr -cs a-zA-Z '\\n' <words", re.sub(rb"[^a-zA-Z]+", b"\n", words)
    yield "cut -c 2-4 words", joined([line[1:4] for line in lines])
    yield "head -n 9999 words", joined(lines[:9999])
    yield "tail -n 9999 words", joined(lines[-9999:])
    yield "head -c 99999 words", words[:99999]
    yield "tail -c 99999 words", words[-99999:]
    yield "grep in words", joined([line for line in lines if b"in" in line])
    yield "grep -v in words", joined([li for li in lines if b"in" not in li])
    yield (
        "grep -i '^s.*[aeiou]$' words",
        joined([x for x in lines if re.search(rb"(?i)^s.*[aeiou]$", x)]),
    )
    yield (
        "grep -E '(st|ck)+s?$' words",
        joined([line for line in lines if re.search(rb"(st|ck)+s?$", line)]),
    )
    yield "cat words words", words * 2


def other_commands(table: bytes, data: bytes) -> Iterator[tuple[str, bytes]]:
    """The same on random lines, and on random bytes."""
    rows = table.splitlines()
    yield "sort table", joined(sorted(rows))
    yield "sort -k 2n table", joined(sorted(rows, key=second_field))
    yield (
        "sort -s -k 2,2nr table",
        joined(sorted(rows, key=lambda row: -second_field(row)[0])),
    )
    yield "cut -f 2 table", joined([row.split(b"\t")[1] for row in rows])
    yield "cut -d ' ' -f 1 table", joined([row.split(b" ")[0] for row in rows])
    yield "hexdump -Cv data", dump(data)
    yield "cat data", data
    yield "tee copy <data; cat copy", data * 2
    yield "cp data copy; cat copy", data
    yield "cat data | cat | cat", data
    yield "seq -w 20000", b"".join(b"%05d\n" % i for i in range(1, 20001))
    yield "seq 0 0.01 99", b"".join(b"%.2f\n" % (i / 100) for i in range(9901))


@pytest.fixture(scope="module")
def large(guest: Guest, tmp_path_factory) -> dict[str, Result]:
    """Each command's output compared with Python's, in the guest."""
    folder = tmp_path_factory.mktemp("large")
    inputs = {
        "words": guest(machines.words(60_000)).stdout,
        "table": random_lines(5000),
        "data": random.Random(8).randbytes(50_000),
    }
    commands = dict(word_commands(inputs["words"]))
    commands.update(other_commands(inputs["table"], inputs["data"]))
    for name, content in inputs.items():
        (folder / name).write_bytes(content)
    lines = []
    for i, (command, expected) in enumerate(commands.items()):
        (folder / f"expected.{i}").write_bytes(expected)
        lines.append(f"cd /extra; ({command}) | cmp - expected.{i}")
    # Several minutes of the guest's are seconds here.
    return dict(zip(commands, guest.batch(lines, extra=folder, limit=600.0)))


LARGE = [c for c, _ in [*word_commands(b""), *other_commands(b"", b"")]]


@pytest.mark.parametrize("command", LARGE)
def test_large(large: dict[str, Result], command: str) -> None:
    result = large[command]
    assert (result.out, result.err, result.status) == ("", "", 0)
