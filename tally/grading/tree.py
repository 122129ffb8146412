"""Makes and builds a lab's tree of sources, with or without a student's files."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import Optional, Protocol, Sequence

from tally import ROOT
from tally.build import image
from tally.build.copies import KERNEL, copy_objects, copy_sources
from tally.grading import stores
from tally.grading.lab import Edit, Lab, LabError
from tally.grading.sandbox import Sandbox

#: Compiles a program for the host, which exits at its first undefined behaviour.
COMPILER = [
    "gcc",
    "-std=gnu2x",
    "-g",
    "-O1",
    "-Wall",
    "-Wextra",
    "-D_GNU_SOURCE",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fsanitize-coverage=trace-pc",
    "-I.",
    "-Ikernel",
]
STEPS = "tally/grading/steps.c"  # counts branches
FILE_MAX = 1 << 20  # bytes of a student's file
HERE = re.compile(r"/\S*/(?=(?:kernel|include|lib)/)")  # the folder of the tree
LINES, COLUMNS = 40, 300  # shown of a compiler's messages


class SubmissionError(Exception):
    """A submission can't be accepted; the text says why, in one line."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    """The judged program: a kernel, or in a lab on the host that lab's program."""

    data: bytes
    own: tuple[range, ...] = ()  # the memory of the student's files


@dataclasses.dataclass(frozen=True)
class Built:
    """The result of a build: a kernel, or the compiler's errors."""

    kernel: Optional[Kernel]
    complaint: str = ""


def git(*words: str) -> Optional[str]:
    """Returns git's output in the checkout; None: no git, or no repository."""
    if shutil.which("git") is None:
        return None
    command = ["git", "-C", str(ROOT), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, errors="surrogateescape"
    )
    return done.stdout if done.returncode == 0 else None


def write(tree: Path, name: str, text: str) -> None:
    file = tree / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def put_lab(tree: Path, lab: Lab, whole: bool) -> None:
    """Turns a copy of the sources into a lab's solution (whole) or its start."""
    for edit in lab.edits(whole):
        edit_file(tree, edit)
    for name, text in lab.parameter_files(whole).items():
        write(tree, name, text)
    for part in ("given", "solution" if whole else "skeleton"):
        folder = lab.folder / part
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                write(tree, str(file.relative_to(folder)), file.read_text())


def edit_file(tree: Path, edit: Edit) -> None:
    file = tree / edit.file
    if not file.is_file():
        raise LabError(f"{edit.place}: there is no {edit.file}")
    before = file.read_text()
    after = edit.apply(before)
    if after == before:
        raise LabError(f"{edit.place}: changes nothing in {edit.file}")
    file.write_text(after)


class Target(Protocol):
    """The lab, or the contest, for which a tree is built."""

    @property
    def host(self) -> Optional[str]:
        """The source of the program that is judged on the host, or None."""

    @property
    def files(self) -> Sequence[str]:
        """The student's files."""


class Tree:
    """A copy of the kernel's sources that is changed for a lab, and built.

    The objects are copied, too, so that only changed files are compiled. A student's
    files are put in and built in the sandbox, which contains nothing else.
    """

    def __init__(
        self,
        path: Path,
        lab: Target,
        sandbox: Optional[Sandbox],
        like: Optional[Path] = None,
        objects: bool = True,
    ) -> None:
        """like: a built tree of the same lab, which is copied instead of the checkout.
        objects: copy the checkout's objects, too."""
        self.path = path
        self.lab = lab
        self.sandbox = sandbox
        self.build = path / image.BUILD.name
        shutil.rmtree(path, ignore_errors=True)
        if like:
            shutil.copytree(like, path)
            return
        copy_sources([*KERNEL, *([lab.host, STEPS] if lab.host else [])], path)
        if objects:
            copy_objects(self.build)

    def take_objects(self, like: Path) -> None:
        """Copies the objects of a tree that was built for the same lab with another
        seed. make compares times, so equal files get that tree's times, and others the
        current time. This tree must not have objects yet."""
        for folder, _, names in os.walk(self.path):
            for name in names:
                file = Path(folder, name)
                twin = like / file.relative_to(self.path)
                if twin.is_file() and twin.read_bytes() == file.read_bytes():
                    shutil.copystat(twin, file)
                else:
                    file.touch()
        shutil.copytree(like / self.build.name, self.build)

    def lay(self, files: dict[str, bytes]) -> None:
        """Writes files of a submission, or the lab's own, into the tree."""
        for name, data in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            # The current time, as make compares times.
            now = time.time()
            os.utime(file, (now, now))

    def make(self) -> Built:
        """Builds the kernel; a lab on the host returns its program instead."""
        kernel = self.build / "kernel.elf"
        goal = [f"{self.build.name}/kernel.elf"]
        if image.DEBUG:
            goal.append("DEBUG=1")
        command = ["make", f"-j{os.cpu_count()}", *goal]
        why = self._build(command, kernel, map_of(kernel))
        if why:
            return Built(None, why)
        if not self.lab.host:
            return Built(read_kernel(kernel, self.lab))
        program = self.build / "host"
        sources = [self.lab.host, STEPS, *self.lab.files]
        to = f"{self.build.name}/{program.name}"
        why = self._build([*COMPILER, "-o", to, *sources], program)
        return Built(None, why) if why else Built(Kernel(program.read_bytes()))

    def _build(self, command: list[str], *results: Path) -> str:
        """Runs a command in the tree that makes some files; returns why it failed, or
        nothing."""
        for file in results:
            file.unlink(missing_ok=True)
        if self.sandbox:
            status, said = self.sandbox.build(self.path, self.build, command)
        else:
            done = subprocess.run(
                command,
                cwd=self.path,
                env=image.make_environment("DEBUG"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            status, said = done.returncode, done.stdout.decode(errors="replace")
        made = all(file.is_file() and not file.is_symlink() for file in results)
        return "" if status == 0 and made else complaint(said)


def map_of(kernel: Path) -> Path:
    """Returns the kernel's linker map."""
    return kernel.with_suffix(".map")


def read_kernel(file: Path, lab: Target) -> Kernel:
    """Reads a kernel that make has built, and finds the student's memory in it."""
    objects = [f"{file.parent.name}/{name}.o" for name in lab.files]
    said = map_of(file).read_text(errors="replace")
    return Kernel(file.read_bytes(), stores.own(said, objects))


def lab_tree(path: Path, lab: Lab, whole: bool, like: Optional[Path] = None) -> Tree:
    """Makes the tree of a lab's solution (whole) or its start. like: the same tree for
    another seed, built."""
    tree = Tree(path, lab, None, objects=like is None)
    put_lab(path, lab, whole)
    if like:
        tree.take_objects(like)
    return tree


def complaint(said: str) -> str:
    """Returns the errors in a build's output, of the compiler and the linker; without
    any, its first lines."""
    lines = [line for line in said.splitlines() if not line.startswith("  ")]
    errors = [
        line
        for line in lines
        if re.search("error|undefined reference|multiple definition", line, re.I)
    ]
    shown = [HERE.sub("", line)[:COLUMNS] for line in (errors or lines)[:LINES]]
    return "\n".join(shown) or "make said nothing"


def read_submission(folder: Path, lab: Lab) -> dict[str, bytes]:
    """Reads the lab's files in a folder, and no others. Links are refused, as they
    could lead to files that aren't the student's."""
    files: dict[str, bytes] = {}
    for name in lab.files:
        path = folder
        for part in Path(name).parts:
            path = path / part
            if path.is_symlink():
                raise SubmissionError(f"{name} is a link; hand in the file itself")
        if not path.exists():
            continue
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise SubmissionError(f"{name} is no regular file")
        if status.st_size > FILE_MAX:
            raise SubmissionError(f"{name} has more than {FILE_MAX} bytes")
        files[name] = path.read_bytes()
    if not files:
        raise SubmissionError(f"none of {', '.join(lab.files)} was handed in")
    return files
