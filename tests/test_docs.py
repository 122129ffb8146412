"""What docs/ and CONTRIBUTING.md name, the tree has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

import pytest

from tally import ROOT

DOCS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md"]
MADE = ("build", ".git", ".cache")  # what the names of folders made here begin with
FILES = {
    str(f.relative_to(ROOT)): f
    for top in ROOT.iterdir()
    if top.name in (".github", ".gitignore") or not top.name.startswith(MADE)
    for f in ([top] if top.is_file() else top.rglob("*"))
    if f.is_file() and "__pycache__" not in f.parts
}
SOURCES = {name: f for name, f in FILES.items() if f not in DOCS}
FOLDERS = {str(p) for name in FILES for p in Path(name).parents}

#: What others have and Tally hasn't, and what a reader makes.
ELSEWHERE = """
    F_OFD_ MADV_DONTFORK O_ASYNC O_DIRECT O_TMPFILE P_PIDFD SIGHAND __WCLONE
    durations genhtml mknodat run_autograder sbatch splice
    .github/workflows/counts.yml .github/workflows/expect.yml
    .github/workflows/grade.yml origin/main
    tests/device tests/programs
""".split()
PATTERN = re.compile(r"NAME|OWNER|\*|^build/")
PATH = re.compile(r"(?<![\w/.~$-])\.?\w[\w.-]*/[\w./-]+")

LOCK = re.compile(r'\b(SPINLOCK1|SPINLOCK5|MUTEX)\("([^"]+)"')
KINDS = {"SPINLOCK1": "1", "SPINLOCK5": "5", "MUTEX": "mutex"}


def text(file: Path) -> str:
    return file.read_text(errors="replace")


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def quoted(doc: Path) -> Iterator[str]:
    """What stands between back-quotes in a line, outside blocks."""
    shown = re.sub(r"^```.*?^```$", "", text(doc), flags=re.M | re.S)
    shown = re.sub(r"^    .*$", "", shown, flags=re.M)
    yield from re.findall(r"`([^`]+)`", shown)


def has_path(path: str) -> bool:
    """As it stands, or from a folder that the page is about."""
    return any(f"/{name}".endswith(f"/{path}") for name in {*FILES, *FOLDERS})


@pytest.fixture(scope="module")
def known() -> set[str]:
    """The words of all files but the pages themselves, and of the files' names."""
    texts = map(text, SOURCES.values())
    return set().union(*map(words, texts), *map(words, FILES), ELSEWHERE)


@pytest.mark.parametrize("doc", DOCS, ids=lambda doc: doc.stem)
def test_what_is_quoted_exists(doc: Path, known: set[str]) -> None:
    """A word as a word of any file, a path as a file or a folder."""
    spans = [s for s in quoted(doc) if not PATTERN.search(s)]
    gone = {w for s in spans for w in words(s) - known if not w[0].isdigit()}
    paths = {path for s in spans for path in PATH.findall(s)} - set(ELSEWHERE)
    gone |= {path for path in paths if not has_path(path.rstrip("/."))}
    assert not gone


def test_what_is_said_to_be_in_a_file_is_there() -> None:
    """As `name` (`file`), or in `file`."""
    place = r"((?:`[^`\n]+`(?:,? and |, )?)+)\s+(?:in\s+|\()`([\w./]+\.[chSpy]+)`"
    said = [found for doc in DOCS for found in re.findall(place, text(doc))]
    gone = {
        (word, file)
        for names, file in said
        for word in words(names)
        if not any(
            word in words(text(f))
            for name, f in SOURCES.items()
            if f"/{name}".endswith(f"/{file}")
        )
    }
    assert len(said) > 20 and not gone


def test_every_lock_is_listed() -> None:
    """docs/locks.md has "every lock of the kernel", by the name that a panic and
    tally print, and where it is. The words of /dev/ktest misuse others."""
    made = {
        (name, KINDS[kind])
        for file in (ROOT / "kernel").rglob("*.c")
        if file.name not in ("ktest.c", "check_words.c")
        for kind, name in LOCK.findall(text(file))
    }
    row = r"^\| ([^|]+) \| `(?:\w+\.)*(\w+)`[^|]* \| ([^|]+) \| (\w+)[^|]* \| [^|]+ \|$"
    rows = re.findall(row, text(ROOT / "docs/locks.md"), re.M)
    assert {(name, kind) for name, _, _, kind in rows} - {("its mutex's", "1")} == made
    wrong = {
        (name, file)
        for name, lock, files, _ in rows
        for file in re.findall(r"`([^`]+)`", files)
        if lock not in words(text(ROOT / "kernel" / file))
    }
    assert not wrong
