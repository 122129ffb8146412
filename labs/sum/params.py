"""What the seed draws: which totals there are, how a read shows them, and what a
read and a write do to them."""

from __future__ import annotations

import random
import textwrap
from typing import Any

MODES = ("user", "kernel", "intr", "idle")
SAMPLE = {"user": "USER", "kernel": "KERNEL", "intr": "KERNELI", "idle": "IDLE"}
WORDS = ("clear", "zero", "reset", "forget", "again", "anew")


def draw(r: random.Random) -> dict[str, Any]:
    text = r.randrange(2)
    return {
        "TOTALS": draw_totals(r),
        "TEXT": text,
        "WIDTH": r.randrange(10, 16) if text else r.choice((4, 8)),
        # Where one has no meaning it is 0, so that it is no difference either.
        "BIG": r.randrange(2) * (1 - text),
        "ZEROES": r.randrange(2) * text,
        "TAKES": r.randrange(2),
        "WORD": r.choice(("", r.choice(WORDS))),
    }


def draw_totals(r: random.Random) -> list[tuple[str, list[str]]]:
    """The totals in order, and the modes of each."""
    totals = {mode: [mode] for mode in MODES}
    intr = r.choice(("apart", "both", "kernel"))
    if intr != "apart":
        totals["kernel"] = ["kernel", "intr"]
    if intr == "kernel":
        del totals["intr"]
    extra = r.choice(("", "all", "busy"))
    if extra:
        totals[extra] = [m for m in MODES if extra == "all" or m != "idle"]
    order = list(totals.items())
    r.shuffle(order)
    return order


def unit(p: dict[str, Any]) -> int:
    """Bytes of a total: the newline is one."""
    return p["WIDTH"] + p["TEXT"]


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    size = unit(p) * len(p["TOTALS"])
    clear = CLEAR_BY_WORD.format(word=p["WORD"]) if p["WORD"] else CLEAR_BY_WRITE
    return {
        "TOTALS": totals_table(p["TOTALS"]),
        "FILE": item(
            f"**The file** has {size} bytes (stat returns this size): {form(p)}"
        ),
        "READ": item(READ_TAKES if p["TAKES"] else READ_KEEPS),
        "CLEAR": item(clear),
    }


def totals_table(totals: list[tuple[str, list[str]]]) -> str:
    lines = ["| | total | counts the samples of mode |", "|---|---|---|"]
    for i, (name, modes) in enumerate(totals):
        lines.append(f"| {i} | {name} | {', '.join(modes)} |")
    return "\n".join(lines)


def item(text: str) -> str:
    """An item of a list, as wide as README.md."""
    return textwrap.fill(f"- {text}", 88, subsequent_indent="  ")


def form(p: dict[str, Any]) -> str:
    if p["TEXT"]:
        pad = "zeroes" if p["ZEROES"] else "blanks"
        return (
            f"text, a line for each total: the decimal number, padded with {pad} on the"
            f" left to {p['WIDTH']} characters, and a newline."
        )
    first = "most" if p["BIG"] else "least"
    return (
        f"binary, {p['WIDTH']} bytes for each total, the {first} significant byte first,"
        " with nothing between totals."
    )


READ_KEEPS = """\
**read** returns the totals since the last clear, or since boot if there was none,
and changes nothing. It behaves like a read of an ordinary file of that size: any
offset, any length, even from the middle of a total."""

READ_TAKES = """\
**read** at offset 0 returns the totals of samples since the last read or clear, or
since boot if there was none. Each sample appears in one read only, and none is lost
between two reads, however many processes read while harts count. A read into a
buffer that is too short for all totals fails with EINVAL. At any other offset a read
returns 0 bytes. A failed read leaves all samples to the next one."""

CLEAR_BY_WORD = """\
**write** of the word `{word}` clears, that is, sets all totals to 0. The word is
parsed as in all control files (`kernel/fs/ctl.h`); any other write fails with
EINVAL, and changes nothing."""

CLEAR_BY_WRITE = """\
**write** of any bytes clears, that is, sets all totals to 0. The bytes aren't read,
so a bad address is no error. The result is the number of bytes."""


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets: none, README.md says it all."""
    return {}


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    masks = [
        " | ".join(f"1 << SAMPLE_{SAMPLE[mode]}" for mode in modes)
        for _, modes in p["TOTALS"]
    ]
    return {
        "TOTALS": ", ".join(masks),
        "UNIT": unit(p),
        "TEXT": p["TEXT"],
        "BIG": p["BIG"],
        "PAD": "'0'" if p["ZEROES"] else "' '",
        "TAKES": p["TAKES"],
        "BY_WORD": int(p["WORD"] != ""),
        "WORD": f'"{p["WORD"]}"',
    }
