"""Finds the host's file for a program of the guest.

A recording has each program's path in the guest, its size and CRC-32 (if its end is
missing, perhaps only the CRC-32 of some blocks). The guest's files come from archives
in the build folder; beside each archive are the same programs with symbols and source
lines. Files are matched by their contents, so that an old build's program is never
taken for a new one of the same name.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Iterable, Iterator, Optional

from tally.build.image import contents
from tally.formats.digest import KERNEL, Digest, digest, digest_of_blocks
from tally.formats.executable import Image

HOST = "/host/"  # where the guest has the shared folder


def _digests(data: bytes) -> tuple[Digest, Digest]:
    return digest(data), digest_of_blocks(data)


class Files:
    """The programs that builds in a folder have made, and a shared folder."""

    def __init__(
        self,
        build: Path,
        share: Optional[Path] = None,
        first: Optional[Path] = None,
        more: Iterable[Path] = (),
    ) -> None:
        """first: of several archives with the same program, prefer this one; else the
        newest counts. Such programs can differ only in the folder of their source.
        more: programs that boot unstripped."""
        self.build = build
        self.share = share
        self.first = first
        self.more = list(more)
        self._known: Optional[dict[tuple[str, Digest], Path]] = None

    def find(self, path: str, wanted: Digest) -> Optional[Path]:
        """Returns the host's file; None if no file has that content."""
        found = self._find_shared(path, wanted) if path.startswith(HOST) else None
        return found or self._find_built(path, wanted)

    def image(self, file: Path, name: str) -> Image:
        return Image(file, name, unnamed=True)

    def _find_built(self, path: str, wanted: Digest) -> Optional[Path]:
        if self._known is None:
            self._known = {}
            for archive in sorted(self._archives(), key=self._rank):
                self._known.update(self._members(archive))
            for file in self.more:
                for each in _digests(file.read_bytes()):
                    self._known["", each] = file
        return self._known.get((path, wanted)) or self._known.get(("", wanted))

    def _archives(self) -> set[Path]:
        """Returns all archives. Those of --extra are in the ordinary build folder, even
        for the debug kernel."""
        overlays = self.build.with_name("build").glob("overlay-*.tar")
        return {*self.build.glob("*.tar"), *overlays}

    def _rank(self, archive: Path) -> tuple[bool, float, Path]:
        """Returns the sort key of archives, of which the last one counts."""
        try:
            age = archive.stat().st_mtime
        except OSError:
            age = 0.0
        return archive == self.first, age, archive

    def _find_shared(self, path: str, wanted: Digest) -> Optional[Path]:
        if self.share is None:
            return None
        file = self.share / path[len(HOST) :]
        try:
            return file if wanted in _digests(file.read_bytes()) else None
        except OSError:
            return None

    def _members(self, archive: Path) -> Iterator[tuple[tuple[str, Digest], Path]]:
        try:
            with tarfile.open(archive) as tar:
                for member in tar:
                    if not member.isfile() or not member.mode & 0o111:
                        continue
                    path = "/" + str(Path(member.name))
                    file = self._with_symbols(archive, path)
                    if file.is_file():
                        for each in _digests(contents(tar, member)):
                            yield (path, each), file
                            yield ("", each), file  # a copy under any path
        except (OSError, tarfile.TarError):
            return

    def _with_symbols(self, archive: Path, path: str) -> Path:
        """Returns the linked file, with symbols; mkroot packs a stripped copy."""
        if path == KERNEL:
            return self.build / "kernel.elf"
        own = archive.with_suffix(".d")
        return (own if own.is_dir() else self.build) / path[1:]
