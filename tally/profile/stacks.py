"""Turns a sample's program counters into frames with names."""

from __future__ import annotations

import collections
import functools
import os
from pathlib import Path
from typing import Any, Callable, Iterable, NamedTuple, Optional, Protocol

from tally.base.errors import ConvertError
from tally.build.image import BUILD
from tally.formats.demangle import INLINED, is_mangled
from tally.formats.digest import Digest
from tally.formats.executable import Function, Image
from tally.formats.lines import Line
from tally.profile.profile import (
    IDLE,
    INTERRUPT,
    KERNEL,
    USER,
    Process,
    Profile,
    Sample,
)

PROCESS = "process"  # the kind of frames that stand above the code's
CUT = "[cut]"  # stands for unknown callers
#: What a command says if Stacks.mangled.
MANGLED = "names of C++ and Rust stay mangled: c++filt is missing or failed"
KERNEL_FILE = BUILD / "kernel.elf"


class Frame(NamedTuple):
    """One element of a stack. A frame without an address is a heading.

    If functions were inlined at an address, it has several frames: one of the function
    that has a symbol, and, below it, one of each inlined function. Only the innermost
    has that address; the others have the beginning of the function."""

    name: str
    kind: str  # a mode, or PROCESS
    image: Optional[Image] = None
    address: Optional[int] = None
    inlined: str = ""  # the symbol of an inlined function
    call: Optional[Line] = None  # where the next frame's function was inlined

    @property
    def function(self) -> Optional[Function]:
        """The function with a symbol; none for an inlined one."""
        if self.image is None or self.address is None or self.inlined:
            return None
        return self.image.function(self.address)

    @property
    def line(self) -> Optional[Line]:
        if self.image is None or self.address is None:
            return None
        if self.call:
            return self.image.known(self.call) if self.call.number else None
        return self.image.line(self.address)

    @property
    def start(self) -> Optional[Line]:
        """The function's first line. Of an inlined function only the file is known."""
        if self.inlined:
            return Line(self.line.file, 0) if self.line else None
        function = self.function
        return self.image.line(function.start) if self.image and function else None


class Callers:
    """The callers of a sample's own frame, outermost first. Samples with the same
    callers share one object, so objects are compared by identity: hashing all frames
    for each sample would take too long."""

    def __init__(self, frames: list[Frame], code: list[Frame]) -> None:
        self.frames = frames  # with headings for process and modes
        self.code = code  # functions only


#: A pid, and the index in Profile.processes: a process may run several programs.
Whose = tuple[Optional[int], Optional[int]]


class Called(NamedTuple):
    """How often a function was called from one place."""

    caller: Frame  # at that place
    function: Frame
    command: Optional[str]
    count: int  # type: ignore[assignment]  # a tuple has one


class Finder(Protocol):
    """Finds the host's file for the guest's file of that path and contents."""

    def find(self, path: str, wanted: Digest) -> Optional[Path]:
        ...

    def image(self, file: Path, name: str) -> Image:
        """Reads a file that was found, for a program of that name."""
        ...


class Programs:
    """The executables that were named for user code."""

    def __init__(self, files: Optional[Finder] = None) -> None:
        self.files = files  # where to look for files that a recording names
        self.by_pid: dict[int, Image] = {}
        self.names: dict[int, str] = {}  # of processes without an executable
        self.others: list[Image] = []
        self.merged = False  # show all processes of a program as one?
        self.demangle = True  # show functions of C++ and Rust by their source names?
        self.inline = False  # show inlined functions as frames?
        self._images: dict[tuple[Path, str], Image] = {}

    def find(self, address: int) -> Optional[Image]:
        """Returns the only executable with this address; None: there are several."""
        images = [*self.others, *self.by_pid.values()]
        fitting = [image for image in images if image.holds(address)]
        return fitting[0] if len(fitting) == 1 else None

    def find_file(self, process: Process) -> Optional[Image]:
        """Returns the program of a process: the file given for its name, else the file
        with the recorded contents, under the name by which it was executed: several
        programs may have the same contents."""
        name = os.path.basename(process.program)
        for image in self.others:
            if image.name in (process.program, name):
                return image
        if not self.files or not process.digest:
            return None
        path = self.files.find(process.program, process.digest)
        if not path:
            return None
        if (path, name) not in self._images:
            self._images[path, name] = self.files.image(path, name)
        return self._images[path, name]


class Stacks:
    """Makes the frames of one profile's samples."""

    def __init__(
        self, profile: Profile, kernel: Callable[[], Image], programs: Programs
    ) -> None:
        self.profile = profile
        self.programs = programs
        self.kernel = kernel
        self._cache: dict[tuple[Any, ...], Frame] = {}
        self._expanded: dict[int, list[Frame]] = {}  # by the id of a frame
        self._outer: dict[Frame, Frame] = {}
        self._searched: set[Image] = set()  # for inlined functions
        self._callers: dict[tuple[int, ...], Callers] = {}
        self._choose(profile)

    def _choose(self, profile: Profile) -> None:
        """Chooses each process's program: the file given for it, or else the only
        other file that contains all its addresses."""
        self.ambiguous: dict[int, list[str]] = {}
        self.unknown: collections.Counter[str] = collections.Counter()
        self._images: dict[Whose, Optional[Image]] = {}
        addresses: dict[Whose, set[int]] = {}
        for s in profile.samples:
            whose = addresses.setdefault((s.pid, s.process), set())
            whose.update(s.user_addresses())
        for (pid, process), pcs in addresses.items():
            self._images[pid, process] = self._choose_for(pid, process, pcs)
        if profile.processes:
            self._count_unknown()

    def _count_unknown(self) -> None:
        """Counts samples with user code that gets no names, by reason."""
        for s in self.profile.samples:
            image = self._images[s.pid, s.process]
            if not s.user_addresses() or image and image.named:
                continue
            if image:
                self._count_unnamed(image, s)
                continue
            if s.process is None:
                why = f"process {s.pid} is not known" if s.pid else "no process"
            else:
                p = self.profile.processes[s.process]
                why = f"{p.program or p.name}: {self._why_unknown(p)}"
            self.unknown[why] += s.count

    def _why_unknown(self, p: Process) -> str:
        if p.digest:
            return "no file on this host has the same contents"
        if not self.profile.whole:
            return "the part of the recording that identifies its file is missing"
        return "its file was removed or changed during the recording"

    def _count_unnamed(self, image: Image, s: Sample) -> None:
        self.unknown[f"{os.path.basename(image.name)}: no symbols"] += s.count

    def _choose_for(
        self, pid: Optional[int], process: Optional[int], pcs: set[int]
    ) -> Optional[Image]:
        if pid in self.programs.by_pid:
            return self.programs.by_pid[pid]
        if process is not None:
            return self.programs.find_file(self.profile.processes[process])
        if pid in self.programs.names or (self.profile.processes and pid):
            return None
        others = self.programs.others
        if pid is None:
            others = [*others, *self.programs.by_pid.values()]
        fitting = [i for i in others if pcs and all(map(i.holds, pcs))]
        if len(fitting) > 1:
            self.ambiguous[pid or 0] = [image.name for image in fitting]
        return fitting[0] if len(fitting) == 1 else None

    def command(self, sample: Sample) -> Optional[str]:
        """The name of the program that the sample's process ran."""
        if sample.pid is None and not sample.user_addresses():
            return None
        image = self.program(sample)
        if sample.process is not None:
            return self.profile.processes[sample.process].command
        return image.name if image else self.programs.names.get(sample.pid or 0)

    def program(self, sample: Sample) -> Optional[Image]:
        return self._images.get((sample.pid, sample.process))

    def calls(self) -> Iterable[Called]:
        """Returns the counted calls. Samples have none."""
        return ()

    def image(self, pid: Optional[int]) -> Optional[Image]:
        """Returns a process's program; of several, the last."""
        found = [image for (p, _), image in self._images.items() if p == pid and image]
        return found[-1] if found else None

    def split(self, s: Sample) -> tuple[Callers, Frame]:
        """Returns a sample's callers and its own frame, which is its mode if it has no
        address. Frames are made once and never freed, so ids tell them apart."""
        *outer, own = self.frames(s)
        key = tuple(map(id, outer))
        if key not in self._callers:
            code = [*self.user(s), *self._inside(s)]
            self._callers[key] = Callers(outer, code[:-1])
        return self._callers[key], own

    def frames(self, s: Sample) -> list[Frame]:
        """Returns headings for process and modes and, below them, the functions,
        outermost first."""
        frames = self._process(s)
        user, inside = self.user(s), self._inside(s)
        if user or s.mode == USER:
            frames += [nowhere("[user]", USER), *user]
        if s.mode != USER:
            frames += [nowhere(f"[{s.mode}]", s.mode), *inside]
        return frames

    def _process(self, s: Sample) -> list[Frame]:
        command = self.command(s)
        if s.pid and command and self.programs.merged:
            name = command
        elif s.pid:
            name = f"{command} ({s.pid})" if command else f"pid {s.pid}"
        elif s.pid == 0:
            name = "no process"
        elif s.hart is not None and s.pc is None and s.mode != IDLE:
            name = "merged"
        elif command:
            name = command
        else:
            return []
        return [nowhere(name, PROCESS)]

    def user(self, s: Sample) -> list[Frame]:
        chain = self._chain(s.user_addresses(), USER, self.program(s))
        return [nowhere(CUT, USER), *chain] if s.cut_user else chain

    def _inside(self, s: Sample) -> list[Frame]:
        if s.mode == USER or s.pc is None:
            return []
        chain = self._chain([s.pc, *s.kernel], s.mode, self.kernel())
        return [nowhere(CUT, s.mode), *chain] if s.cut_kernel else chain

    def _chain(self, pcs: list[int], kind: str, image: Optional[Image]) -> list[Frame]:
        """Returns the frames of a stack, outermost first. A caller's frame gets the
        address before the return address, which lies in the call instruction."""
        calls: list[int] = []
        interrupted: Optional[int] = None
        for i, pc in enumerate(pcs):
            known, interrupted = interrupted, None
            if i == 0:
                interrupted = pc
            elif pc % 2:
                interrupted = pc - 1
            elif known is not None and self._only_in_ra(
                known, pc, pcs[i + 1 : i + 2] == [pc], image
            ):
                continue
            calls.append(pc - (i > 0))
        return self.with_inlined(
            [self.frame(pc, kind, image) for pc in reversed(calls)]
        )

    @staticmethod
    def _only_in_ra(pc: int, address: int, again: bool, image: Optional[Image]) -> bool:
        """Is the address only a left-over in register ra? The entry after an
        interrupted pc is what ra held. Once the function has set up its frame, ra may
        be stale, and the caller is in the frame; the same address then comes again."""
        if not image:
            return again
        function = image.function(pc)
        if not again and (not function or function != image.function(address - 1)):
            return False
        return image.frame_is_set(pc)

    def with_inlined(self, frames: list[Frame]) -> list[Frame]:
        """Returns frames of functions with symbols, each followed by those of functions
        that were inlined at its address, if these are wanted."""
        if not self.programs.inline:
            return frames
        return [f for frame in frames for f in self._with_inlined(frame)]

    def _with_inlined(self, frame: Frame) -> list[Frame]:
        """Frames are made once and never freed, so that ids tell them apart."""
        if id(frame) not in self._expanded:
            self._expanded[id(frame)] = self._expand(frame)
        return self._expanded[id(frame)]

    def _expand(self, frame: Frame) -> list[Frame]:
        """Makes the frames of an address. Addresses in the same inlined call share all
        frames but the last."""
        if frame.image is None or frame.address is None:
            return [frame]
        if frame.image not in self._searched:
            self._searched.add(frame.image)
            frame.image.find_inlined(self._addresses(frame.image))
        function = frame.function
        assert function  # else the frame would have no program
        frames = []
        for each in frame.image.inlined(frame.address):
            outer = frame._replace(address=function.start, call=each.call)
            frames.append(self._outer.setdefault(outer, outer))
            name = each.name if self.programs.demangle else each.symbol
            frame = frame._replace(name=name + INLINED, inlined=each.symbol)
        return [*frames, frame]

    def _addresses(self, image: Image) -> set[int]:
        """Returns all addresses that frames of an image may have: those of samples, and
        those before them, which lie in call instructions."""
        stacks: set[tuple[int, ...]] = set()
        for s in self.profile.samples:
            if self.program(s) is image:
                stacks.add(tuple(s.user_addresses()))
            if s.mode != USER and (s.pc or s.kernel) and self.kernel() is image:
                stacks.add((s.pc or 0, *s.kernel))
        found = {pc for stack in stacks for pc in stack}
        return found | {pc - 1 for pc in found}

    def frame(self, pc: int, kind: str, image: Optional[Image]) -> Frame:
        """Returns the frame of the function with a symbol at an address."""
        key = pc, kind, image
        if key not in self._cache:
            self._cache[key] = self._frame(pc, kind, image)
        return self._cache[key]

    def _frame(self, pc: int, kind: str, image: Optional[Image]) -> Frame:
        function = image.function(pc) if image else None
        name = self.name(function) if function else f"{pc:#x}"
        return Frame(name, kind, image if function else None, pc)

    def name(self, function: Function) -> str:
        return function.name if self.programs.demangle else function.symbol

    @property
    def mangled(self) -> bool:
        """Has a frame a mangled name only because c++filt is missing or failed?"""
        return self.programs.demangle and any(
            frame.image and not frame.image.demangled and is_mangled(frame.name)
            for frame in self.with_inlined(list(self._cache.values()))
        )


@functools.lru_cache(maxsize=None)
def nowhere(name: str, kind: str) -> Frame:
    """Returns a frame without an address; always the same object."""
    return Frame(name, kind)


def mode_counts(profile: Profile) -> dict[str, int]:
    """Samples of each mode."""
    counts = dict.fromkeys((USER, KERNEL, INTERRUPT, IDLE), 0)
    for s in profile.samples:
        counts[s.mode] += s.count
    return counts


def lazy_kernel(path: Optional[Path]) -> Callable[[], Image]:
    """The kernel, read when it's needed, unless it was named."""
    loaded: list[Image] = [] if path is None else [Image(path)]

    def get() -> Image:
        if not loaded:
            if not KERNEL_FILE.exists():
                raise ConvertError(
                    KERNEL_FILE,
                    "no such file: build it with make, or name another with --kernel",
                )
            loaded.append(Image(KERNEL_FILE))
        return loaded[0]

    return get
