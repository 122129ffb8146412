"""Programs that compute, from their sources, static, in C: they do on Tally what they do
on Linux, and a profile names what they did. docs/linux.md, README."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest

from harness import debian, sources
from harness.tools import tool
from tally import ROOT
from tally.verify import machines
from tally.verify.patience import WHOLE

FOLDER = Path(__file__).parent / "sources"
HELLO = FOLDER.parent / "linux" / "hello.c"
ORACLE = "qemu-riscv64"
SIZE = 10 << 20

pytestmark = [
    pytest.mark.skipif(not machines.ALL, reason="scripts/test --all has these"),
    pytest.mark.usefixtures("images"),
]

#: Their commands, in a folder that is /extra in the guest, with an output in another
#: one that is /host there.
COMPRESS = {
    "bzip2": ("{} -c {}/data >{}/out", "{} -dc {}/out"),
    "minigzip": ("{} <{}/data >{}/out", "{} -d <{}/out"),
    "zstd": ("{} -q -c {}/data >{}/out", "{} -q -dc {}/out"),
}
SCRIPTS = {
    "lua": "{} {}/work.lua",
    "sqlite3": "{} :memory: <{}/work.sql",
    "sqlite3 file": "{} {}/x.db <{}/work.sql",
}
#: What each spends its time in.
HOT = {"lua": "luaV_execute", "bzip2": "mainSort", "minigzip": "longest_match",
       "zstd": "ZSTD_", "sqlite3": "sqlite3VdbeExec"}

Program = Callable[[str], Path]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """program(NAME): built once."""
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            try:
                made[name] = sources.built(name, tmp_path_factory.mktemp(name))
            except debian.Unavailable as error:
                pytest.skip(f"no sources: {error}")
        return made[name]

    return get


@pytest.fixture(scope="module")
def extra(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the programs work on."""
    folder = tmp_path_factory.mktemp("extra")
    for script in FOLDER.iterdir():
        shutil.copy(script, folder)
    draw = random.Random(1)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 9)))
             for _ in range(5000)]
    text = " ".join(draw.choices(words, k=SIZE // 6)).encode()
    (folder / "data").write_bytes((text * 2)[:SIZE])
    (folder / "part").write_bytes(text[:300_000])
    return folder


def guest(script: str, program: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(ROOT / "scripts" / script), "--icount", "6", *words], text=True,
        cwd=program.parent, stdin=subprocess.DEVNULL, capture_output=True, timeout=WHOLE,
    )


def here(command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, shell=True, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=WHOLE)


@pytest.mark.parametrize("case", SCRIPTS)
def test_as_on_linux(program: Program, extra: Path, tmp_path: Path, case: str) -> None:
    """Output, errors and status; a database in memory, and in a file of /tmp."""
    file = program(case.split()[0])
    *places, script = [extra] if "file" not in case else [tmp_path, extra]
    there = guest("run", file, "--extra", str(extra), "--", SCRIPTS[case].format(
        f"./{file.name}", *["/tmp" for _ in places], "/extra"))
    theirs = here(SCRIPTS[case].format(f"{tool(ORACLE)} {file}", *places, script))
    assert (there.stdout, there.stderr.replace("/extra", str(extra)),
            there.returncode) == (theirs.stdout, theirs.stderr, theirs.returncode)
    assert len(theirs.stdout.splitlines()) >= 9


@pytest.mark.parametrize("name", COMPRESS)
def test_compresses_as_on_linux(
    program: Program, extra: Path, tmp_path: Path, name: str
) -> None:
    """Ten megabytes become the same bytes, and those become the ten megabytes."""
    file = program(name)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    forth, back = COMPRESS[name]
    command = (f"{forth.format(f'./{name}', '/extra', '/host')} && "
               f"{back.format(f'./{name}', '/host')} | cmp - /extra/data && echo same")
    there = guest("run", file, "--extra", str(extra), "--share", str(ours), "--", command)
    done = here(forth.format(f"{tool(ORACLE)} {file}", extra, theirs))
    assert (there.stdout, there.stderr, there.returncode) == ("same\n", done.stderr, 0)
    assert (ours / "out").read_bytes() == (theirs / "out").read_bytes()


@pytest.mark.parametrize("how", ["exact", "sampled"])
@pytest.mark.parametrize("name", HOT)
def test_is_profiled(program: Program, extra: Path, name: str, how: str) -> None:
    """By function, line and caller."""
    file = program(name)
    command = (SCRIPTS[name] if name in SCRIPTS else COMPRESS[name][0]).format(
        f"./{name}", "/extra", "/tmp").replace("/data", "/part")
    done = guest("tally", file, *(["--exact"] if how == "exact" else []),
                 "--extra", str(extra), "--", command)
    page = done.stdout[done.stdout.index("function, its program and source"):]
    functions, lines, callers = page.split("\n\n")[:3]
    row = rf"{HOT[name]}\w* \[{name}\]  \S+\.[ch]:\d+"
    assert re.search(row, "\n".join(functions.splitlines()[:6]))
    assert re.search(rf"\S+\.[ch]:\d+ \[{name}\]", lines)
    assert re.search(rf" from \w+ \[{name}\]", callers)


@pytest.mark.parametrize("how", ["-static", "-static-pie"])
def test_musl(program: Program, tmp_path: Path, how: str) -> None:
    """Another C library; at an address of its own, or where the kernel puts it."""
    library = program("musl")
    first, *more = (["rcrt1.o", "-fPIE", "-Wl,--no-dynamic-linker"]
                    if how == "-static-pie" else ["crt1.o", "-fno-PIE"])
    lib = library / "lib"
    command = [tool(sources.CC), "-g", "-O2", *more, how, "-nostdinc", "-nostdlib",
               "-isystem", library / "include", "-o", tmp_path / "hello", lib / first,
               lib / "crti.o", HELLO, lib / "libc.a", "-lgcc", lib / "crtn.o"]
    subprocess.run(command, check=True)
    there = guest("run", tmp_path / "hello", "./hello")
    assert (there.stdout, there.stderr, there.returncode) == (
        "hello, 1 argument, 1 environment\n", "malloc: good\n", 3)
    page = guest("tally", tmp_path / "hello", "--exact", "--by", "functions", "./hello")
    assert re.search(r" printf_core \[hello\]  \S+vfprintf\.c:\d+", page.stdout)
