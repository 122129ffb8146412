"""A .tally file: a recording, and the files that give its addresses names.

It is a zip archive, so it can be converted when the build is gone or another one.
`about.json` has the version of this format, the command, the kind of the recording and
where each program is; `recording` is a stream of pcs or the result of the plugin that
counts instructions; the kernel and the programs have their symbols and lines.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, Iterable, NamedTuple, Optional

from tally.base.errors import ConvertError
from tally.formats.digest import KERNEL, Digest
from tally.formats.executable import Image
from tally.formats.program import Program, program
from tally.profile.exact import Exact, Tree

VERSION = 1
PCS, EXACT = "pcs", "exact"
LIMIT = 1 << 30  # bytes of all entries
BEGINNING = (1980, 1, 1, 0, 0, 0)  # a fixed time, so that equal runs give equal files
#: What zipfile, zlib, json and the use of a wrong value raise for damaged files.
DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    LookupError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    TypeError,
    ValueError,
)


class Kept(NamedTuple):
    """A program: its path in the guest, the digest of the guest's file, and the file
    with symbols and lines; None: the recording doesn't need it."""

    path: str
    digest: Optional[Digest]
    file: Optional[Path]


def write(
    kind: str, command: str, recording: bytes, kernel: Path, programs: Iterable[Kept]
) -> bytes:
    entries = {"recording": recording}
    listed = []
    for i, kept in enumerate([Kept(KERNEL, None, kernel), *programs]):
        row: dict[str, object] = {"path": kept.path, "digest": kept.digest}
        if kept.file is not None:
            row["entry"] = entry = f"{i}/{kept.file.name}"
            row["origin"] = str(kept.file)
            row["mtime"] = kept.file.stat().st_mtime_ns
            entries[entry] = kept.file.read_bytes()
        listed.append(row)
    about = {"version": VERSION, "command": command, "kind": kind, "programs": listed}
    text = json.dumps(about, indent=1) + "\n"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {"about.json": text.encode(), **entries}.items():
            info = zipfile.ZipInfo(name, BEGINNING)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return made.getvalue()


class Archive:
    """An unpacked .tally file."""

    def __init__(self, file: str, data: bytes, folder: Path) -> None:
        self._folder = folder
        self._origins: dict[Path, Path] = {}
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                if sum(i.file_size for i in archive.infolist()) > LIMIT:
                    raise ConvertError(file, f"more than {LIMIT:,} bytes when unpacked")
                about = json.loads(archive.read("about.json"))
                if about["version"] != VERSION:
                    raise ConvertError(
                        file, f"version {about['version']} of this format is unknown"
                    )
                self._read(archive, about)
        except DAMAGES as error:
            raise ConvertError(file, f"damaged .tally file: {error}") from None

    def _read(self, archive: zipfile.ZipFile, about: dict[str, Any]) -> None:
        self.command = str(about["command"])
        self.kind = str(about["kind"])
        if self.kind not in (PCS, EXACT):
            raise ValueError(f"unknown kind of recording: {self.kind}")
        self.recording = archive.read("recording")
        rows = enumerate(about["programs"])
        kernel, *self.programs = (self._unpack(archive, i, row) for i, row in rows)
        if kernel.file is None:
            raise ValueError("no kernel")
        self.kernel = kernel.file

    def _unpack(self, archive: zipfile.ZipFile, i: int, row: dict[str, Any]) -> Kept:
        """Each file has a folder of its own, and keeps its name, which is a program's.
        It keeps its time, too, by which a source that is newer is found."""
        digest = row["digest"] and Digest(*row["digest"])
        if "entry" not in row:
            return Kept(str(row["path"]), digest, None)
        name = os.path.basename(row["entry"])
        if name in ("", ".", "..") or "\0" in name:
            raise ValueError(f"invalid name: {name!r}")
        file = self._folder / str(i) / name
        file.parent.mkdir()
        file.write_bytes(archive.read(row["entry"]))
        os.utime(file, ns=(int(row["mtime"]), int(row["mtime"])))
        self._origins[file] = Path(str(row["origin"]))
        return Kept(str(row["path"]), digest, file)

    @property
    def is_exact(self) -> bool:
        return self.kind == EXACT

    def image(self, file: Path, name: Optional[str] = None) -> Image:
        return Image(file, name, unnamed=True, origin=self._origins.get(file))

    def find(self, path: str, wanted: Digest) -> Optional[Path]:
        """Returns the file of a program that a recording names, as Files does."""
        for kept in self.programs:
            if (kept.path, kept.digest) == (path, wanted):
                return kept.file
        return None

    def exact(self) -> Exact:
        """Returns the profile of an exact recording."""
        kernel = _program(Kept("kernel", None, self.kernel))
        programs = [_program(kept) for kept in self.programs]
        tree = Tree(self.recording.decode(), kernel, programs)
        images: dict[str, Optional[Image]] = {}

        def image(p: Program) -> Optional[Image]:
            if p.name not in images:
                images[p.name] = self.image(p.file, p.name) if p.file else None
            return images[p.name]

        return Exact(tree, image)


def _program(kept: Kept) -> Program:
    found = kept.file and program(kept.path, kept.file.read_bytes(), kept.file)
    return found or Program(kept.path, b"", 0, b"", {}, None)
