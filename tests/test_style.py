"""The sources, scripts and manuals, as the tools that judge them have it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import image
from harness import manual

ROOT = image.ROOT
C_FOLDERS = ("boot", "debug", "kernel", "lib", "include", "user", "examples")
C_FOLDERS += ("labs", "tests", "scripts")
C_FILES = sorted(f for d in C_FOLDERS for f in (ROOT / d).rglob("*.[ch]"))
SHELL = [f for d in ("scripts", "labs") for f in (ROOT / d).iterdir() if f.is_file()]
SHELL = sorted(f for f in SHELL if f.read_text().startswith("#!/bin/sh"))
TEXTS = ("*.[chS]", "*.py", "*.sh", "*.md", "*.ld", "*.[1-9]", "Makefile")
CLANG_FORMAT = 14  # the version whose layout is the reference
ANALYZER = 12  # GCC's, whose findings have been answered
ELSEWHERE = {"mandoc.1"}  # pages that aren't ours

# What it can't know: that asm sets its outputs and reads headers, where the
# linker's symbols lie, which functions don't return.
CPPCHECK_MISTAKES = (
    "missingIncludeSystem",
    "uninitvar",
    "ctuuninitvar",
    "comparePointers",
    "syntaxError",
    "internalAstError",
    "arrayIndexOutOfBoundsCond",
    "unknownEvaluationOrder",
)


def need(tool: str) -> None:
    """Skip a test whose tool isn't there."""
    if not shutil.which(tool):
        pytest.skip(f"no {tool}")


def silent(*command: object) -> None:
    """The command has nothing to say."""
    need(str(command[0]))
    result = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert (result.stdout, result.returncode) == ("", 0)


def test_c_is_formatted() -> None:
    need("clang-format")
    said = subprocess.run(["clang-format", "--version"], capture_output=True, text=True)
    if int(re.search(r"version (\d+)", said.stdout)[1]) != CLANG_FORMAT:
        pytest.skip(f"not clang-format {CLANG_FORMAT}")
    silent("clang-format", "--dry-run", "-Werror", *C_FILES)


def test_cppcheck_finds_nothing() -> None:
    silent(
        *"cppcheck -q --error-exitcode=1 --std=c11 --inline-suppr".split(),
        *("--enable=warning,portability", "-Iinclude", "-Ikernel", "-Idebug"),
        *(f"--suppress={finding}" for finding in CPPCHECK_MISTAKES),
        *("kernel", "debug", "lib", "user", "examples"),
    )


def test_the_compiler_finds_nothing() -> None:
    """Its findings differ from version to version."""
    command = ["make", "-s", "print-CC"]
    compiler = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    need(compiler.stdout.strip())
    command = [compiler.stdout.strip(), "-dumpversion"]
    version = subprocess.run(command, capture_output=True, text=True).stdout
    if version.partition(".")[0] != str(ANALYZER):
        pytest.skip(f"not GCC {ANALYZER}")
    silent("make", "-s", "analyze")


@pytest.mark.parametrize(
    "parts",
    [
        "all overlay EXTRA=tests/guest",
        "overlay EXTRA=examples",
        "all DEBUG=1",
    ],
)
def test_builds_without_a_warning(tmp_path: Path, parts: str) -> None:
    """The kernel, the programs, the examples and the tests' own programs."""
    where = (f"BUILD={tmp_path}", f"OVERLAY={tmp_path}/overlay.tar")
    result = subprocess.run(
        ["make", f"-j{os.cpu_count()}", *where, *parts.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (result.stderr, result.returncode) == ("", 0)


def test_clang_finds_every_lock_held() -> None:
    need("clang")
    silent("make", "-s", "locks")


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
    need("clang")
    source = tmp_path / "wrong.c"
    source.write_text(LOCKS + body)
    result = subprocess.run(
        ["make", "-s", "locks", f"kernel_src={source}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert found in result.stderr
    assert (result.returncode == 0) == (found == ""), result.stderr


def test_shellcheck_finds_nothing() -> None:
    silent("shellcheck", "-S", "warning", *SHELL, ROOT / "scripts/lib/common.sh")


def test_mandoc_finds_nothing() -> None:
    silent("mandoc", "-T", "lint", "-W", "warning", *manual.PAGES)


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
        for pattern in TEXTS
        for file in ROOT.rglob(pattern)
        if not file.relative_to(ROOT).parts[0].startswith("build")
        and "skeleton" not in file.parts
        and mark.search(file.read_bytes())
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
