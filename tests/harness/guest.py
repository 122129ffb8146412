"""Commands run in a freshly booted guest.

Every boot checks that the firmware and the kernel came up once, that the
kernel did not panic, and that the guest powered itself off, before a
deadline that fails. Where a test wants one of these to go wrong it says so.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import hashlib
import io
import os
import re
import shlex
import tarfile
from pathlib import Path
from typing import Callable, Iterable, Optional, Union

from tally.boot import frames
from tally.boot.machine import Boot, Machine, Outcome, find_qemu, hold_kernel
from tally.build import image
from tally.verify.patience import PATIENCE

FIRMWARE = b"OpenSBI v"
KERNEL = b"Tally on "
LOST_BOOTS = 3  # after which a batch gives up
SHOWN = 4000  # characters of each kind, in a story of what went wrong

#: What the tests build has no warnings; of a mutant that is not asked.
STRICT = f"WERROR={os.environ.get('WERROR', 1)}"


@dataclasses.dataclass(frozen=True)
class Result:
    """What one command did."""

    command: str
    stdout: bytes
    stderr: bytes
    status: int

    @property
    def out(self) -> str:
        return self.stdout.decode()

    @property
    def err(self) -> str:
        return self.stderr.decode()


@dataclasses.dataclass(frozen=True)
class BootResult(Result):
    """And how the boot went that was made for it."""

    outcome: Outcome
    console: bytes  # what programs wrote to it
    boot: bytes  # the firmware's and the kernel's messages
    last_words: bytes  # of a panic, or at the time limit
    qemu: bytes  # what QEMU complained of

    def check(self, reason: str = "exit") -> None:
        """Assert that the boot went as it should, and ended for `reason`."""
        assert self.outcome.reason == reason, self.story()
        assert self.boot.count(FIRMWARE) == 1, self.story()
        assert self.boot.count(KERNEL) == 1, self.story()

    def story(self) -> str:
        """What one wants to see of a boot that went wrong."""
        parts = [f"{self.command[:SHOWN]!r}: {self.outcome}"]
        for name in ("boot", "stdout", "stderr", "console", "last_words", "qemu"):
            text = getattr(self, name).decode(errors="replace").replace("\r", "")
            parts.append(f"--- {name}\n{text[-SHOWN:]}")
        return "\n".join(parts)


#: What was booted last, for the report if the test fails.
last_boots: collections.deque[BootResult] = collections.deque(maxlen=4)


@dataclasses.dataclass(frozen=True)
class Lost(Result):
    """A command of a batch whose boot didn't outlive it: who asks, fails."""

    story: str

    @property
    def out(self) -> str:
        raise AssertionError(self.story)

    @property
    def err(self) -> str:
        raise AssertionError(self.story)


def split(members: bytes) -> dict[str, bytes]:
    """Of an archive, by their files' names."""
    with tarfile.open(fileobj=io.BytesIO(members + image.END)) as tar:
        all = [*tar]
    ends = [member.offset for member in all[1:]] + [len(members)]
    return {
        Path(member.name).name: members[member.offset : end]
        for member, end in zip(all, ends)
    }


class Images:
    """What all guests boot: built once, and held."""

    def __init__(self, programs: Optional[Path] = None) -> None:
        """programs: a folder of guest programs, as scripts/run's --extra."""
        with image.build_lock():
            image.make(STRICT)
            ours = image.overlay(programs, STRICT) if programs else b""
            self.kernel = hold_kernel(image.BUILD / "kernel.elf")
        self.programs = split(ours)
        self.qemu = find_qemu()
        self._extras: dict[Path, bytes] = {}

    def with_qemu(self, qemu: str) -> Images:
        """The same images, for another QEMU."""
        others = copy.copy(self)
        others.qemu = qemu
        return others

    def started_by(self, folder: Path, script: str) -> Images:
        """The same images, for a shell script in folder, whose "$qemu" is ours."""
        wrapper = folder / "qemu"
        wrapper.write_text(f"#!/bin/sh\nqemu={self.qemu}\n{script}\n")
        wrapper.chmod(0o755)
        return self.with_qemu(str(wrapper))

    def extra(self, folder: Path) -> bytes:
        if folder not in self._extras:
            with image.build_lock():
                self._extras[folder] = image.overlay(folder)
        return self._extras[folder]

    def initrd(
        self, command: Optional[str], extra: Optional[Path] = None
    ) -> image.Archive:
        """Of our own programs those that the command names: with all of them the
        smallest machine has no room for a device tree."""

        def is_named(program: str) -> bool:
            return command is None or bool(
                re.search(rf"\b{re.escape(program)}\b", command)
            )

        members = [part for name, part in self.programs.items() if is_named(name)]
        if PATIENCE > 1:
            members.append(image.member("etc/patience", b"%d" % PATIENCE))
        if extra:
            members.append(self.extra(extra))
        return image.initrd(command, b"".join(members))


class Guest:
    """Boots commands on one machine."""

    def __init__(
        self,
        images: Images,
        machine: Machine,
        hears: Callable[[str], None] = lambda channel: None,
    ) -> None:
        """hears(channel) is called when something comes; until it returns no
        more is read."""
        self.images = images
        self.machine = machine
        self.hears = hears

    def __call__(
        self,
        command: str,
        reason: str = "exit",
        extra: Optional[Path] = None,
        **changes: object,
    ) -> BootResult:
        """Boot for the command; changes are of the machine's fields."""
        result = self._boot_for(command, extra, **changes)
        result.check(reason)
        return result

    def batch(self, commands: Iterable[str], **changes: object) -> list[Result]:
        """Run many commands in one boot, each in a shell of its own.

        Their output is apart, but a command that harms the others' files or
        kills the shell spoils the batch. One in which the boot ends (it hangs
        until the limit, or the kernel panics) is lost, and only that one: the
        others go on in another boot.
        """
        rest = list(commands)
        results: list[Result] = []
        for _ in range(LOST_BOOTS):
            mark = _mark(rest)
            lines = [_batch_line(command, mark) for command in rest]
            boot = self._boot_for("\n".join(lines), **changes)
            done, unfinished = _batch_results(rest, boot.stdout)
            results += done
            rest = rest[len(done) :]
            if not rest:
                boot.check()
                return results
            end = dataclasses.replace(boot, command=rest.pop(0), stdout=unfinished)
            results.append(Lost(end.command, b"", b"", -1, end.story()))
        story = f"not run, as {LOST_BOOTS} boots were lost before"
        return results + [Lost(command, b"", b"", -1, story) for command in rest]

    def _boot_for(
        self, command: str, extra: Optional[Path] = None, **changes: object
    ) -> BootResult:
        machine = self.machine._replace(**changes)
        return self._boot(command, machine, self.images.initrd(command, extra))

    def _boot(
        self, command: str, machine: Machine, initrd: Union[bytes, image.Archive]
    ) -> BootResult:
        heard = {name: bytearray() for name in _CHANNELS}

        def hear(channel: str, data: bytes) -> None:
            self.hears(channel)
            heard[channel].extend(data)

        with image.held(initrd, "initrd") as fd:
            boot = Boot(machine, self.images.qemu, self.images.kernel, fd)
            outcome = boot.run(hear)
        result = BootResult(
            command=command,
            stdout=bytes(heard[frames.STDOUT]),
            stderr=bytes(heard[frames.STDERR]),
            status=outcome.status,
            outcome=outcome,
            console=bytes(heard[frames.CONSOLE]),
            boot=bytes(heard[frames.BOOT]),
            last_words=bytes(heard[frames.PANIC] + heard[frames.LIMIT]),
            qemu=bytes(heard[Boot.QEMU]),
        )
        last_boots.append(result)
        return result


_CHANNELS = (
    frames.STDOUT,
    frames.STDERR,
    frames.CONSOLE,
    frames.BOOT,
    frames.PANIC,
    frames.LIMIT,
    Boot.QEMU,
)


def _mark(commands: Iterable[str]) -> str:
    """Stands between a boot's commands: a word that none of them can know. It
    is short, as a command line has room for 128 KiB."""
    return hashlib.sha256("\0".join(commands).encode()).hexdigest()[:12]


def _batch_line(command: str, mark: str) -> str:
    """stdout, <MARK STATUS>, stderr, <MARK end>."""
    return (
        f"sh -c {shlex.quote(command)} 2>/tmp/batch.err; "
        f'echo "<{mark} $?>"; cat /tmp/batch.err; echo "<{mark} end>"'
    )


def _batch_results(
    commands: list[str], stdout: bytes
) -> tuple[list[Result], bytes]:
    """Of the commands that are done, and what the next one wrote."""
    pieces = re.split(rf"<{_mark(commands)} (\w+)>\n".encode(), stdout)
    results = []
    for command, at in zip(commands, range(0, len(pieces) - 4, 4)):
        out, status, err, _ = pieces[at : at + 4]
        results.append(Result(command, out, err, int(status)))
    return results, b"".join(pieces[4 * len(results) :])
