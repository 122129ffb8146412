"""Small executables with known addresses: the same from every compiler."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Optional, Sequence

from harness import tools


PREFIXES = ("riscv64-unknown-elf-", "riscv64-elf-", "riscv64-none-elf-",
            "riscv64-linux-gnu-")
STEP = 64  # bytes from function to function

#: A function that the compiler has split and copied, and one of Go's.
PIECES = ("_start", "open", "open.part.0", "open.isra.0.constprop.1", "main.open")

KERNEL_TEXT = 0xFFFFFFFF80200000
KERNEL = ("_boot", "trap_vector", "syscall", "sys_read", "clock_interrupt",
          "idle_wait")
PROGRAM_TEXT = 0x10000


def tool(name: str) -> str:
    """The cross compiler's."""
    prefixes = filter(None, (os.environ.get("CROSS"), *PREFIXES))
    return tools.tool(*(prefix + name for prefix in prefixes))


def build(
    folder: Path,
    name: str,
    text: int,
    functions: Sequence[str],
    flags: Sequence[str] = ("-g",),
    machine: Sequence[str] = ("-march=rv64imac", "-mabi=lp64"),
) -> Path:
    """Functions of 64 bytes each; the first line of the i-th, counted from 0,
    is 6 + 5i of NAME.s."""
    load = "lw" if "-mabi=ilp32" in machine else "ld"
    lines = [".option norvc", ".text", ".globl text_start, etext", "text_start:"]
    for function in functions:
        lines += [
            f".globl {function}; .type {function}, @function; .balign {STEP}",
            f"{function}: nop",
            f"{load} s0, 0(sp)",  # up to here it has its frame
            "ret",
            f".size {function}, . - {function}; .balign {STEP}",
        ]
    lines.append("etext:")
    (folder / f"{name}.s").write_text("\n".join(lines) + "\n")
    gcc = tool("gcc")
    common = [gcc, *machine, "-nostdlib", "-static", *flags]
    link = [f"-Wl,-Ttext={text:#x}", "-Wl,--build-id=none", "-Wl,-e,text_start"]
    subprocess.run([*common, *link, f"{name}.s", "-o", name], cwd=folder, check=True)
    return folder / name


def kernel(folder: Path, name: str = "kernel.elf", **options: object) -> Path:
    return build(folder, name, KERNEL_TEXT, KERNEL, **options)


def address(function: str, functions: Optional[Sequence[str]] = None) -> int:
    """The kernel's, or where it is among a program's functions."""
    if functions is None:
        return KERNEL_TEXT + STEP * KERNEL.index(function)
    return PROGRAM_TEXT + STEP * functions.index(function)
