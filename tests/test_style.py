"""The sources, scripts and manuals, as the tools that judge them have it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from harness import manual
from tally import ROOT

C_FOLDERS = ("boot", "kernel", "lib", "include", "user", "examples")
C_FOLDERS += ("labs", "tests", "scripts", "tally")
C_FILES = sorted(f for d in C_FOLDERS for f in (ROOT / d).rglob("*.[ch]"))
TEXTS = ("*.[chS]", "*.py", "*.sh", "*.md", "*.ld", "*.[1-9]", "Makefile")
TEXT_FILES = [f for pattern in TEXTS for f in ROOT.glob(pattern)]
#: Not in build, nor in what graders write: other tests take files away there.
TEXT_FILES += [
    file
    for folder in (*C_FOLDERS, "docs", "man")
    for pattern in TEXTS
    for file in (ROOT / folder).rglob(pattern)
]
ELSEWHERE = {"mandoc.1"}  # pages that aren't ours

CHECKS = re.search(
    r"^checks := ((?:.+\\\n)*.+)$", (ROOT / "Makefile").read_text(), re.M
)[1].replace("\\\n", "")

#: What one says that looks only where its tool has the version whose findings have
#: been answered.
OTHER_VERSION = re.compile(r"no .+ [\d.]+: .+ w(?:as|ere) not .+\n")


def make(*words: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "-s", f"-j{os.cpu_count()}", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


#: GCC's analysis takes as long as the kernel's build.
LONG = {"check-analyze": pytest.mark.long}


@pytest.mark.parametrize(
    "check", [pytest.param(c, marks=LONG.get(c, ())) for c in CHECKS.split()]
)
def test_make_check_finds_nothing(check: str) -> None:
    """A tool that is missing fails."""
    result = make(check)
    if OTHER_VERSION.fullmatch(result.stdout):
        pytest.skip(result.stdout.strip())
    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    "parts",
    [
        "overlay EXTRA=examples",
        "overlay EXTRA=tests/hostile",
    ],
)
def test_builds_without_a_warning(tmp_path: Path, parts: str) -> None:
    """The kernels and what they boot in other tests are built with WERROR=1
    (harness/guest.py, test_debug.py)."""
    where = (f"BUILD={tmp_path}", f"OVERLAY={tmp_path}/overlay.tar")
    result = make(*where, *parts.split())
    assert (result.stderr, result.returncode) == ("", 0)


LOCKS = """
#include "sched/lock.h"
static struct spinlock lock = SPINLOCK1("test");
static int guarded GUARDED_BY(lock);
int f(int a);
"""


@pytest.mark.parametrize(
    "body, found",
    [
        ("int f(int a) { return a + guarded; }", "'guarded' requires holding"),
        ("int f(int a) { spin_lock(&lock); return a; }", "'lock' is still held"),
        (
            "int f(int a) { if (a) spin_lock(&lock); guarded = a;"
            " spin_unlock(&lock); return a; }",
            "'lock' is not held on every path",
        ),
        ("int f(int a) { must_hold(&lock); return guarded + a; }", ""),
        ("UNGUARDED int f(int a) { return a + guarded; }", ""),
    ],
)
def test_clang_finds_a_lock_that_is_not_held(
    tmp_path: Path, body: str, found: str
) -> None:
    source = tmp_path / "wrong.c"
    source.write_text(LOCKS + body)
    result = make("locks", f"kernel_src={source}")
    assert found in result.stderr
    assert (result.returncode == 0) == (found == ""), result.stderr


def test_every_page_referred_to_exists() -> None:
    names = {page.name for page in manual.PAGES} | ELSEWHERE
    missing = set()
    for page in manual.PAGES:
        for name, section in re.findall(r"^\.Xr (\S+) (\d)", page.read_text(), re.M):
            if f"{name}.{section}" not in names:
                missing.add(f"{page.name}: {name}({section})")
    assert not missing


def test_every_command_has_a_page() -> None:
    files = [*(ROOT / "user/cmd").iterdir(), *(ROOT / "user").glob("*.c")]
    commands = {f.stem for f in files} - {"init"}
    assert not commands - {name for page in manual.PAGES for name in manual.names(page)}


def test_nothing_is_left_to_do() -> None:
    """But by students, in what a lab hands out."""
    mark = re.compile(rb"\b(TO" rb"DO|FIX" rb"ME|X" rb"XX)\b")
    unfinished = [
        str(file.relative_to(ROOT))
        for file in TEXT_FILES
        if "skeleton" not in file.parts and mark.search(file.read_bytes())
    ]
    assert not unfinished


def test_lines_are_short() -> None:
    """80 columns in C, with tabs of 8."""
    long = [
        f"{file.relative_to(ROOT)}:{i}"
        for file in C_FILES
        for i, line in enumerate(file.read_text().splitlines(), 1)
        if len(line.expandtabs(8)) > 80
    ]
    assert not long
