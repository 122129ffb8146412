"""The files that the host's scripts write: tally-diff(1), tally-convert(1),
tally-run(1), tally-expect(1) and docs/teaching.md say which options name them."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from harness import elves, profiles as made
from tally import ROOT
from tally.base.cli import put
from tally.grading import report
from test_bench import BASELINE
from test_diff import BASE, pprof

SCRIPTS = ROOT / "scripts"


class Fifo:
    """One with a reader."""

    def __init__(self, file: Path) -> None:
        self.file = file
        os.mkfifo(file)
        self.fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK)

    def read(self) -> bytes:
        """What was written so far; it must still be there."""
        assert stat.S_ISFIFO(self.file.lstat().st_mode)
        return os.read(self.fd, 1 << 20)


@pytest.fixture
def fifo(tmp_path: Path) -> Fifo:
    return Fifo(tmp_path / "fifo")


def test_a_link_leads_where_it_leads(tmp_path: Path, fifo: Fifo) -> None:
    """To a file, which keeps its place; to none yet; to what isn't a file."""
    file = tmp_path / "file"
    file.write_bytes(b"a longer text")
    for to in file, tmp_path / "new", Path("fifo"), Path("/dev/null"):
        link = tmp_path / "link"
        link.symlink_to(to)
        put(link, b"new")
        assert link.readlink() == to
        link.unlink()
    assert (file.read_bytes(), (tmp_path / "new").read_bytes()) == (b"new", b"new")
    assert fifo.read() == b"new"


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """Who reads it has the old one or the new one. No other file is left behind, and
    a name may be as long as one can be."""
    file = tmp_path / ("x" * 255)
    file.write_bytes(b"old")
    with file.open("rb") as reader:
        put(file, b"new")
        assert (reader.read(), file.read_bytes()) == (b"old", b"new")
    assert os.listdir(tmp_path) == [file.name]


@pytest.mark.parametrize("to, text", [
    ("/dev/full", "No space left on device"), (".", "Is a directory"),
    ("none/x", "No such file or directory"),
])
def test_what_cannot_be_written_is_named(tmp_path: Path, to: str, text: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(to)
    with pytest.raises(OSError) as caught:
        put(link, b"new")
    assert (caught.value.filename, caught.value.strerror) == (str(link), text)
    assert os.listdir(tmp_path) == ["link"]


#: Each with a name to write to as its last word, in a folder with what they read.
WRITE = {
    "tally-diff base base --json": b'"unit": "instructions"',
    "tally-diff base base --junit": b"<testsuite",
    "tally-diff base base -o": b"<svg",
    "tally-convert --to folded samples": b"[kernel];",
    "run --harts 0 --report": b'"reason": "usage"',
    "bench --from figures --save": b'"open_close": ',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "base").write_bytes(pprof(BASE))
    sample = made.psample(1, elves.KERNEL_TEXT, pid=5)
    (tmp_path / "samples").write_bytes(made.session(made.logbuf([sample]), 0, 3))
    figures = next(iter(json.loads(BASELINE.read_text()).values()))
    (tmp_path / "figures").write_text(json.dumps(figures))
    return tmp_path


@pytest.mark.parametrize("command", WRITE)
def test_each_script_writes_to_what_is_no_file(
    folder: Path, fifo: Fifo, command: str
) -> None:
    script, *words = command.split()
    (folder / "link").symlink_to("fifo")
    run = subprocess.run([SCRIPTS / script, *words, "link"], cwd=folder)
    assert run.returncode == (126 if script == "run" else 0)
    assert WRITE[command] in fifo.read()
    assert (folder / "link").is_symlink()


def test_a_grade_is_written_to_what_is_no_file(tmp_path: Path, fifo: Fifo) -> None:
    facts = {
        "lab": "ticks", "title": "", "course": "", "submission": "anna", "commit": "",
        "seed": "s", "nonce": 1, "ended": "judged", "why": "", "gate": "", "stores": [],
        "members": [], "among": 1, "roster": "", "instructions": 1,
        "submitted": "", "due": "", "late": 0.0, "points": 1.0, "of": 1.0, "tests": [],
    }
    for kind, said in {
        "json": b"{", "csv": b"submission,", "junit": b"<testsuites", "html": b"<!doc",
    }.items():
        report.write([facts], report.Files(**{kind: str(fifo.file)}))
        assert fifo.read().startswith(said)


def test_standard_output_is_written_to(folder: Path) -> None:
    """A file or a socket: the report comes before the page, and cuts nothing."""
    (folder / "link").symlink_to("/proc/self/fd/1")
    command = [SCRIPTS / "tally-diff", "base", "base", "--junit", "link"]
    with (folder / "out").open("wb") as out:
        out.write(b"before\n")
        out.flush()
        subprocess.run(command, cwd=folder, stdout=out, check=True)
    text = (folder / "out").read_bytes()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        subprocess.run(command, cwd=folder, stdout=theirs, check=True)
        assert b"before\n" + ours.recv(1 << 20) == text
    assert text.index(b"<testsuite") < text.index(b"base -> base")
