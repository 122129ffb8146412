"""The kernel flushes what real harts remember: a part of `make tlb-check`, and
that it finds each wrong version of the kernel. docs/testing.md has the whole."""

from __future__ import annotations

import re
import subprocess

import pytest

from tally import ROOT
from tally.boot.machine import find_qemu
from tally.build import image
from tally.formats.hunks import HunkError
from tally.plugins import plugin
from tally.verify.tlb import check
from tally.verify.tlb.wrong import read_mutants

NEW = plugin.qemu_major(find_qemu()) >= plugin.REGISTERS_SINCE
newer = pytest.mark.skipif(not NEW, reason="needs QEMU 9 or later")
ordinary = pytest.mark.skipif(image.DEBUG, reason="of the ordinary kernel")

PROGRAMS = ("spread", "spread@tmp", "spread@host", "threads", "t_cow", "kstacks")
MUTANTS = read_mutants(check.MUTANTS)


def tlb_check(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(ROOT / "scripts" / "tlb-check"), *arguments], capture_output=True, text=True
    )


@newer
@ordinary
def test_no_hart_remembers_too_much() -> None:
    """Where threads on all harts touch, copy and unmap pages, run into new text,
    and sleep on stacks that get other pages."""
    run = tlb_check(*PROGRAMS)
    assert (run.stderr, run.returncode) == ("", 0), run.stdout
    rows = re.findall(r"^(\S+) +([\d,]+) +([\d,]+) +0$", run.stdout, re.MULTILINE)
    assert [name for name, *_ in rows] == list(PROGRAMS)
    for name, accesses, changes in rows:
        assert int(accesses.replace(",", "")) > 1_000_000, name
        assert int(changes.replace(",", "")) > 50, name


@newer
@ordinary
def test_each_wrong_kernel_is_found() -> None:
    """And as what it is."""
    run = tlb_check("--mutants")
    assert (run.stderr, run.returncode) == ("", 0), run.stdout
    names = [line.split()[0] for line in run.stdout.splitlines()[1:]]
    assert names == list(MUTANTS)
    assert "SURVIVES" not in run.stdout


@newer
@ordinary
def test_both_places_are_named() -> None:
    """Of the store that may not have been seen, and of what came after it."""
    said = tlb_check("--mutants", "copy-order").stdout
    places = re.search(
        r"early: hart \d at (.*) maps 0x\w+ to a page before .* what hart \d stored in"
        r" that page at (.*);",
        said,
    )
    assert places, said
    address = "0xffffffff80[0-9a-f]{6}"
    assert re.fullmatch(rf"{address} \w+ \(kernel/mm/fault\.c:\d+\)", places[1])
    assert re.fullmatch(rf"{address} memcpy \(lib/string\.S:\d+\)", places[2])


def test_the_mutants_are_of_this_kernel() -> None:
    """The lines that each changes are there once."""
    for mutant in MUTANTS.values():
        text = (ROOT / mutant.file).read_text()
        assert mutant.apply(text) != text
        with pytest.raises(HunkError, match="2 times"):
            mutant.apply(text + text)


def test_what_is_refused() -> None:
    """In one line."""
    for arguments, complaint in (
        (("none",), "there is no program none; there are alarms, "),
        (("--mutants", "none"), "there is no mutant none; there are copy-order, "),
    ):
        run = tlb_check(*arguments)
        assert (run.stdout, run.returncode) == ("", 126)
        assert run.stderr.startswith(f"tlb-check: {complaint}")
        assert run.stderr.count("\n") == 1


@pytest.mark.skipif(NEW, reason="this QEMU is new enough")
def test_an_older_qemu_is_refused() -> None:
    run = tlb_check("spread")
    assert (run.stdout, run.returncode) == ("", 126)
    assert run.stderr == (
        "tlb-check: QEMU 9 or later is needed, whose plugins read registers;"
        " name one in $QEMU\n"
    )
