"""Call stacks, all the way: the kernel, getpc, the share, tally-convert.

The device's records are checked by guest/pcs_stacks.c and guest/pcs_frames.c;
what is made of them, by test_convert.py.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from harness.converter import CONVERT
from harness.guest import Guest
from tally.verify.machines import Machines

PROGRAMS = Path(__file__).parent / "calltree"
RECORD = (
    "echo hz 400 >/dev/profclock; echo jitter on >/dev/profclock\n"
    "getpc -s -b 7 -o /tmp/pc.out sh -c 'echo $$ tree >/tmp/ps; exec tree'\n"
    "cp /tmp/pc.out /tmp/ps /bin/tree /host"
)
MAIN = "[user];_start;main"
AGAIN = "again;again;again"
# The last of the user's functions, and the whole stack.
CHAINS = {
    "work": f"{MAIN};compute;{AGAIN};work",
    "read": f"{MAIN};reads;{AGAIN};read",
    "write": f"{MAIN};spins;write",
}
# What a compiler leaves of functions between these differs.
IN_KERNEL = {
    "read": r"\[kernel\];trap_vector;.*sys_read;.*copy_out",
    "write": r"\[kernel\];trap_vector;.*sys_write;.*ktest_spin_level1",
}
FEW = 5


def folded(folder: Path, *words: str) -> dict[str, int]:
    """The stacks of the tree, and their samples."""
    command = [CONVERT, "--to=folded", *words, "pc.out"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    lines = re.findall(r"^tree \(\d+\);(.*) (\d+)$", result.stdout, re.M)
    # Before it was the tree it was a shell, whose addresses aren't here.
    return {
        stack: int(count) for stack, count in lines
        if stack.startswith(MAIN) and ";0x" not in stack
    }


@pytest.mark.machines(Machines(("1", "8", "free"), ("2", "4")))
def test_a_known_tree(guest: Guest, tmp_path: Path) -> None:
    """User and kernel in one stack, whose every function is the right one."""
    guest(RECORD, extra=PROGRAMS, share=str(tmp_path))
    stacks = folded(tmp_path, "--program=tree=tree", "--ps=ps")
    seen = dict.fromkeys((*CHAINS, *IN_KERNEL.values()), 0)
    for stack, count in stacks.items():
        user, mode, inside = re.fullmatch(
            r"(\[user\](?:;[^;[]+)*)(?:;(\[\w+\]);(.*))?", stack
        ).groups()
        last = user.rpartition(";")[2]
        if last in CHAINS:
            assert user == CHAINS[last]
            seen[last] += count
        if mode and re.fullmatch(IN_KERNEL.get(last, "-"), f"{mode};{inside}"):
            seen[IN_KERNEL[last]] += count
    assert min(seen.values()) >= FEW, (seen, stacks)
    known = sum(seen[last] for last in CHAINS)
    assert known > 0.7 * sum(stacks.values()), stacks


IDLE = (
    "echo hz 4000 >/dev/profclock; echo jitter on >/dev/profclock\n"
    "getpc -s -b 7 -o /tmp/pc.out sleep 2\n"
    "cp /tmp/pc.out /host"
)


@pytest.mark.machines("4")
def test_what_interrupts_an_idle_hart(guest: Guest, tmp_path: Path) -> None:
    """A handler's stack goes on with idle_wait, where it interrupted, and with
    the function that waits there: all kernel stacks begin where a thread does."""
    guest(IDLE, share=str(tmp_path))
    text = subprocess.run(
        [CONVERT, "--to=folded", "pc.out"], cwd=tmp_path, capture_output=True,
        text=True, check=True,
    ).stdout
    assert "stack_overflow" not in text
    stacks = re.findall(r"^no process;\[interrupt\];(.*) \d+$", text, re.M)
    waiting = [stack for stack in stacks if ";idle_wait;" in stack]
    assert waiting
    for stack in stacks:
        assert re.match(r"(_start|secondary);", stack), stack
    for stack in waiting:
        assert re.search(r";sched_idle;idle_wait;(from_kernel|kernel_return)", stack)
