"""A profile such as a busy machine of four harts gives, made up: stacks of
real functions of the kernel and of programs, the same every time."""

from __future__ import annotations

import random
from pathlib import Path

from elftools.elf.elffile import ELFFile

from harness import profiles as made

COMMANDS = {3: "sort", 4: "grep", 5: "sh"}
SECONDS = 20
HZ = 100

# Callers first; a kernel's stack is below the system call that led to it.
USER = {
    "sort": ["_start", "main", "load", "merge_sort", "compare_keys", "memcmp"],
    "grep": ["_start", "main", "search", "regexec", "lstep"],
    "sh": ["_start", "main", "shell_run", "parse_list", "lex_take"],
}
SYSCALL = ["trap_vector", "trap_user", "syscall"]
KERNEL = {
    "read": ["sys_read", "file_read", "pipe_read", "copy_out", "copy"],
    "write": ["sys_write", "file_write", "pipe_write", "wait_on", "sched"],
    "fork": ["sys_clone", "aspace_fork", "table_share", "page_alloc", "memset"],
    "exec": ["sys_execve", "exec_run", "elf_load", "aspace_map", "kmalloc"],
}
INTERRUPT = ["trap_vector", "trap_kernel", "trap_interrupt", "clock_interrupt"]


class Symbols:
    """Functions by name; one that isn't there is some other, always the same."""

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            self.functions = {
                s.name: s["st_value"]
                for s in table.iter_symbols()
                if s["st_info"]["type"] == "STT_FUNC"
            }
        # No system call, for those are searched for.
        self.names = sorted(n for n in self.functions if not n.startswith("sys"))

    def inside(self, name: str) -> int:
        if name not in self.functions:
            name = self.names[sum(name.encode()) % len(self.names)]
        return self.functions[name] + 4


def stream(kernel: Path, programs: Path) -> bytes:
    """What getpc would have stored."""
    rng = random.Random(7)
    symbols = Symbols(kernel)
    commands = {pid: Symbols(programs / name) for pid, name in COMMANDS.items()}
    samples = []
    for tick in range(SECONDS * HZ):
        for hart in range(4):
            samples.append(_sample(rng, symbols, commands, hart, tick))
    buffers = bytearray(made.stream(s for s in samples if s))
    buffers[3 * made.BUFFER + 2] = 17  # h_numlost
    begin = 1_790_000_000
    requests = [made.isample(4)]
    return made.session(bytes(buffers), begin, begin + SECONDS, requests)


def _sample(rng, symbols, commands, hart: int, tick: int) -> list[bytes]:
    if rng.random() < 0.15 * hart:  # the later harts have less to do
        full = tick % 100 == 99
        return [made.msample(made.IDLE, rng.randint(5, 60), hart)] if full else []
    pid = rng.choices([3, 4, 5], [6, 3, 1])[0]
    path = USER[COMMANDS[pid]]
    depth = rng.randint(2, len(path))
    user = [commands[pid].inside(name) for name in reversed(path[:depth])]
    where = rng.random()
    if where < 0.5:
        sample = made.psample(made.USER, user[0], pid, hart)
        return [sample, made.stack(user=user[1:])]
    if where < 0.93:
        path = SYSCALL + rng.choice(list(KERNEL.values()))
        kind, level = made.KERNEL, rng.choice([0, 0, 5])
    else:
        path = SYSCALL[:2] + INTERRUPT
        kind, level = made.KERNELI, 5
    path = path[: rng.choice([3, *range(3, len(path) + 1)])]
    kernel = [symbols.inside(name) for name in reversed(path)]
    sample = made.psample(kind, kernel[0], pid, hart, level)
    return [sample, made.stack(kernel[1:], user)]
