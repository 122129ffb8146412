"""scripts/tally --exact: what is executed, counted; tests/exact has programs of
which it is known how much that is."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import image
import plugin
from machine import find_qemu

pytestmark = pytest.mark.skipif(image.DEBUG, reason="of the ordinary kernel")

ROOT = image.ROOT
EXTRA = ("--extra", str(ROOT / "tests" / "exact"))
MAIN = ("known", "[user]", "_start", "main")


def tally(*words: str, **changes: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(ROOT / "scripts" / "tally"), *words], capture_output=True, text=True,
        cwd=ROOT, env={**os.environ, **changes},
    )


def folded(file: Path) -> Counter:
    found: Counter = Counter()
    for line in file.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(count)
    return found


def known(n: int) -> dict[tuple[str, ...], int]:
    """What tests/exact/known.c executes in functions that it has in assembly."""
    def loop(*numbers: int) -> int:
        return sum(2 * number + 1 for number in numbers)

    deep = n % 10 + 5
    found = {
        (*MAIN, "by_call", "loop"): loop(n, n, n),
        (*MAIN, "by_tail", "leave_for"): 2,
        (*MAIN, "by_tail", "fall_into"): 1,
        (*MAIN, "by_tail", "loop"): loop(n + 1, n + 2),
        (*MAIN, "by_jump", "jump_back", "jump_back", "loop"): loop(n + 3),
        (*MAIN, "by_signal", "kill", "on_signal", "loop"): loop(n + 4),
        (*MAIN, "by_signal", "loop"): loop(n + 5),
        (*MAIN, "by_signal_and_jump", "loop"): loop(n + 6),
        ("known", "[user]", "begin", "in_thread", "loop"): loop(n + 7, n + 8),
        (*MAIN, "by_fork", "loop"): loop(n + 9, n + 10),
        (*MAIN, "after_exec", "loop"): loop(11),
        (*MAIN, "by_alarms", "loop"): loop(1000 * n),
    }
    for i in range(1, deep + 2):
        found[(*MAIN, "by_depth", *["depth"] * i)] = 9 if i <= deep else 2
    return found


def in_assembly(found: Counter) -> dict[tuple[str, ...], int]:
    names = ("loop", "depth", "leave_for", "fall_into")
    return {stack: n for stack, n in found.items() if stack[-1] in names}


@pytest.mark.parametrize("n", [7, 431])
def test_known_programs(tmp_path: Path, n: int) -> None:
    """Calls, recursion, tail calls, longjmp, signals and both, threads, fork, exec
    and interrupts: each path has its instructions, no more and no less."""
    file = tmp_path / "x.folded"
    run = tally("--exact", *EXTRA, "-o", str(file), "--", f"known {n}")
    assert (run.stderr, run.returncode) == ("", 0)
    found = folded(file)
    assert in_assembly(found) == known(n)
    total = re.search(r"^([\d,]+) instructions, exact$", run.stdout, re.M)
    assert total and int(total[1].replace(",", "")) == sum(found.values())
    assert "elsewhere" not in run.stdout and "returns went" not in run.stdout


def test_the_run_stays_the_same(tmp_path: Path) -> None:
    """In the guest samples are taken at moments that each instruction moves; and
    a second profile has the same bytes."""
    command = "known 50; tally -n 40 sh -c 'seq 300 | sort -r | known 20'"
    options = ["--icount", "6", *EXTRA]
    plain = subprocess.run(
        [str(ROOT / "scripts" / "run"), "--harts", "1", *options, "--", command],
        capture_output=True, text=True,
    )
    runs = []
    for name in "ab":
        file = tmp_path / f"{name}.folded"
        run = tally("--exact", *options, "-o", str(file), "--", command)
        assert (run.stderr, run.returncode) == ("", 0)
        assert run.stdout.startswith(plain.stdout) and plain.stdout.count("\n") > 30
        runs.append((run.stdout, file.read_bytes()))
    assert runs[0] == runs[1]


def test_several_harts(tmp_path: Path) -> None:
    several = plugin.qemu_version(find_qemu()) >= plugin.REGISTERS_SINCE
    file = tmp_path / "x.folded"
    run = tally("--exact", "--harts", "3", *EXTRA, "-o", str(file), "--", "known 321")
    if several:
        assert (run.stderr, run.returncode) == ("", 0)
        assert in_assembly(folded(file)) == known(321)
        assert re.search(r"^ +[\d,]+ +2 ", run.stdout, re.M)
    else:
        assert run.returncode == 126
        assert run.stderr.startswith("tally: --exact on several harts needs QEMU 9")
        assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words, said",
    [
        (["--exact"], "tally: no command: it goes after a -- (tally --help"),
        (["--exact", "--"], "tally: no command after --"),
        (["--exact", "-o", "x.doc", "--", "true"], "tally: -o x.doc: no name of a file"),
        (["--exakt", "--", "true"], "tally: --exakt: no such option; --exact?"),
        (["--exact", "-o", "/none/x.svg", "--", "true"], "tally: /none/x.svg: No such"),
    ],
)
def test_wrong_words(words: list[str], said: str) -> None:
    run = tally(*words)
    assert run.returncode == 126
    assert run.stderr.startswith(said) and run.stderr.count("\n") == 1, run.stderr


def test_a_qemu_without_plugins(tmp_path: Path) -> None:
    qemu = tmp_path / "qemu"
    qemu.write_text(
        f'#!/bin/sh\ncase "$*" in *-plugin*)\n'
        "echo 'qemu-system-riscv64: -plugin: invalid option' >&2; exit 1 ;;\nesac\n"
        f'exec {find_qemu()} "$@"\n'
    )
    qemu.chmod(0o755)
    run = tally("--exact", "--", "true", QEMU=str(qemu))
    assert run.returncode == 126
    assert run.stderr == f"tally: {qemu} takes no plugins: install another, or name it in $QEMU\n"


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(plugin.shutil, "which", lambda name: None)
    with pytest.raises(plugin.SetupError, match="no cc: scripts/setup installs it"):
        plugin.build(ROOT / "scripts" / "truth" / "counter", 7, tmp_path)
