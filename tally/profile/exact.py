"""Exact profiles: a QEMU plugin counts each instruction by its call path
(plugins/counter/tree.c). This module writes the map that the plugin reads, and reads
the plugin's result: each instruction becomes a sample."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Callable, Iterator, NamedTuple, Optional

from tally.base.text import clean
from tally.formats.executable import Image
from tally.formats.program import SIGRETURN, Program
from tally.plugins.landmarks import Code, call_landmarks
from tally.profile.profile import (
    IDLE,
    INTERRUPT,
    KERNEL,
    USER,
    Process,
    Profile,
    Sample,
)
from tally.profile.stacks import (
    PROCESS,
    Called,
    Callers,
    Frame,
    Programs,
    Stacks,
    nowhere,
)

KERNEL_PROGRAM, NO_PROGRAM, ELSEWHERE, FIRMWARE = 0, -1, -2, -3

# Entries of interrupts, which may have interrupted any code.
INTERRUPTS = ("user_interrupt", "from_kernel", "exit_interrupted")
# setjmp and longjmp: their first instruction accesses the jump buffer.
JUMPS = {"setjmp": "setjmp", "longjmp": "longjmp"}
# The modes are the sampler's: interrupt below the handlers, idle in the hart's wait.
MODES = {"trap_interrupt": INTERRUPT, "idle_wait": IDLE}


def write_map(
    folder: Path,
    kernel: Program,
    programs: list[Program],
    result: str,
    sampled: bool = False,
) -> Path:
    """Writes the plugin's map, and the files that it names beside it. sampled: count
    instructions only while the device pcs takes samples."""
    assert kernel.file
    code = Code(kernel.file)
    lines = [f"result {result}", "tree"]
    for i, each in enumerate([kernel, *programs]):
        text = folder / f"text-{i}"
        text.write_bytes(each.text)
        end = each.start + len(each.text)
        lines.append(f"program {each.start:x} {end:x} {text.name}")
        # Code before the first function, such as the PLT, counts as a function.
        for at, name in {each.start: "", **each.functions}.items():
            kind = JUMPS.get(name, "-")
            if i == KERNEL_PROGRAM:
                kind = "interrupts" if name in INTERRUPTS else "-"
            lines.append(f"function {at:x} {kind}")
    lines += [f"{name} {at:x} {to:x}" for name, at, to in call_landmarks(code)]
    # What is executed after this depends on when QEMU stops.
    lines.append(f"end {code.symbols['sbi_poweroff']:x} 0")
    if sampled:
        lines += [
            f"begin {code.symbols['log_ask']:x} 0",
            f"end {code.symbols['log_end']:x} 0",
        ]
    file = folder / "map"
    file.write_text("\n".join(lines) + "\n")
    return file


class Node(NamedTuple):
    """A function below its caller; see tree.c."""

    parent: Optional[Node]  # None: a root
    site: int
    program: int
    function: int  # its address
    calls: int
    mode: str
    user: tuple[int, ...]  # as in a Sample
    kernel: tuple[int, ...]
    root: int  # the process's program


def _node(words: list[str], nodes: list[Node], names: dict[int, str]) -> Node:
    parent, site, program, function, calls = (
        int(words[0]),
        int(words[1], 16),
        int(words[2]),
        int(words[3], 16),
        int(words[4]),
    )
    if parent < 0:
        root = site - (1 << 64) if site >> 63 else site
        return Node(None, 0, NO_PROGRAM, 0, 0, KERNEL, (), (), root)
    above = nodes[parent]
    user, kernel, mode = above.user, above.kernel, USER
    trapped = above.program == NO_PROGRAM or above.mode == USER
    if program in (KERNEL_PROGRAM, FIRMWARE):
        mode = KERNEL if trapped or site & 1 else above.mode
        mode = MODES.get(names.get(function, ""), mode) if not program else above.mode
        mode = KERNEL if mode == USER else mode
        if above.mode == USER:
            user, kernel = (site & ~1, *user), ()
        elif above.program != NO_PROGRAM:
            kernel = (site, *kernel)
    elif above.program != NO_PROGRAM:
        user = (site, *user)
    return Node(above, site, program, function, calls, mode, user, kernel, above.root)


class Tree:
    """The plugin's result."""

    def __init__(self, text: str, kernel: Program, programs: list[Program]) -> None:
        self.programs = [kernel, *programs]
        self.nodes: list[Node] = []
        self.counts: list[tuple[Node, int, int, Optional[int]]] = []
        self.harts: Counter[tuple[int, str]] = Counter()  # by hart and mode
        self.processes: list[tuple[str, int, int]] = []  # user, kernel
        self.used: set[int] = set()  # the numbers of programs in nodes
        self.unfollowed = 0
        self.elsewhere = 0
        hart: Optional[int] = None
        for line in text.splitlines():
            kind, *words = line.split()
            if kind == "node":
                node = _node(words, self.nodes, kernel.functions)
                self.nodes.append(node)
                self.used.update((node.program, node.root))
                for word in words[5:]:
                    number, count = map(int, word.split(":"))
                    self.harts[number, node.mode] += count
                # If several harts executed a node, its samples have no hart.
                hart = int(words[5].split(":")[0]) if len(words) == 6 else None
            elif kind == "process":
                program, user, inside = map(int, words)
                self.processes.append((self.name(program), user, inside))
            elif kind == "unfollowed":
                self.unfollowed = int(words[0])
            else:
                self._count(self.nodes[-1], int(kind, 16), int(words[0]), hart)

    def name(self, program: int) -> str:
        return clean(self.programs[program].name) if program > 0 else ""

    def _count(self, n: Node, at: int, count: int, hart: Optional[int]) -> None:
        if n.program == ELSEWHERE:
            self.elsewhere += count
        self.counts.append((n, at, count, hart))


class Exact(Stacks):
    """Makes the frames of a tree. The program of each address is known."""

    def __init__(
        self, tree: Tree, images: Callable[[Program], Optional[Image]]
    ) -> None:
        self.tree = tree
        self._image_of = images
        roots = sorted({n.root for n, *_ in tree.counts})
        order = {root: i for i, root in enumerate(roots)}
        profile = Profile("exact profile", unit="instruction")
        profile.processes = [
            Process(0, None, path, None, 0, None, os.path.basename(path))
            for path in map(tree.name, roots)
        ]
        several = len({hart for hart, _ in tree.harts}) > 1
        profile.samples = [
            Sample(
                n.mode,
                count,
                at,
                None if several else hart,
                kernel=n.kernel,
                user=n.user,
                process=order[n.root],
            )
            for n, at, count, hart in tree.counts
        ]
        if tree.elsewhere:
            profile.warnings.append(
                f"{tree.elsewhere:,} instructions in no known program"
            )
        if tree.unfollowed:
            profile.warnings.append(f"{tree.unfollowed:,} returns matched no call")
        self._programs = [images(tree.programs[r]) if r > 0 else None for r in roots]

        def kernel() -> Image:
            image = images(tree.programs[KERNEL_PROGRAM])
            assert image
            return image

        super().__init__(profile, kernel, Programs())
        self._nodes: dict[tuple[object, ...], Callers] = {}

    def _choose(self, profile: Profile) -> None:
        """Takes the programs from the tree; nothing has to be guessed."""
        self.ambiguous = {}
        self.unknown = Counter()
        self._images = {(None, i): image for i, image in enumerate(self._programs)}
        for s in profile.samples:
            image = self.program(s) if s.mode == USER else None
            if image and not image.named:
                self._count_unnamed(image, s)

    def command(self, sample: Sample) -> Optional[str]:
        assert sample.process is not None
        return self.profile.processes[sample.process].name or None

    def _process(self, s: Sample) -> list[Frame]:
        return [nowhere(self.command(s) or "no process", PROCESS)]

    def split(self, s: Sample) -> tuple[Callers, Frame]:
        """The samples of a node share the tuples of their callers. The tree never frees
        these, so ids tell them apart, which is faster than hashing the addresses."""
        assert s.pc is not None
        image = self.program(s) if s.mode == USER else self.kernel()
        *outer, own = self.with_inlined([self.frame(s.pc, s.mode, image)])
        key = id(s.user), id(s.kernel), s.mode, s.process, *map(id, outer)
        if key not in self._nodes:
            self._nodes[key], _ = super().split(s)
        return self._nodes[key], own

    def _chain(self, pcs: list[int], kind: str, image: Optional[Image]) -> list[Frame]:
        """An odd address is an interrupted one plus 1; an even one is a return
        address. Either way the caller's code is at the address minus 1."""
        callers = [self.frame(pc - 1, kind, image) for pc in reversed(pcs[1:])]
        own = [self.frame(pc, kind, image) for pc in pcs[:1]]
        return self.with_inlined(callers + own)

    def _frame(self, pc: int, kind: str, image: Optional[Image]) -> Frame:
        if pc - SIGRETURN.start in range(len(SIGRETURN.text)):
            return nowhere(SIGRETURN.name, kind)
        if pc > 0:
            return super()._frame(pc, kind, image)
        return nowhere("[elsewhere]" if kind == USER else "[firmware]", kind)

    def calls(self) -> Iterator[Called]:
        for n in self.tree.nodes:
            if n.calls and n.parent and n.parent.parent:
                command = os.path.basename(self.tree.name(n.root)) or None
                yield Called(
                    self.with_inlined([self._of(n.parent, n.site - 1)])[-1],
                    self._of(n, n.function),
                    command,
                    n.calls,
                )

    def _of(self, n: Node, at: int) -> Frame:
        """Returns the frame of an address in a node's function."""
        program = self.tree.programs[max(n.program, 0)]
        return self.frame(at if n.program >= 0 else 0, n.mode, self._image_of(program))
