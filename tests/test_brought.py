"""Programs on the host that a command names by their path are brought along:
tally-run(1), tally-host(1)."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness import elves
from harness.page import Page
from harness.tools import tool
from tally import ROOT
from tally.build import image, programs
from tally.verify.patience import HANG, WHOLE

SOURCE = Path(__file__).parent / "brought" / "counted.c"
SHAPES = SOURCE.with_name("shapes.cc")
CROSS = "riscv64-linux-gnu-gcc"
CROSS_CXX = "riscv64-linux-gnu-g++"
ORACLE = "qemu-riscv64"  # Linux's calls, on this machine
ROUNDS = 12_345

pytestmark = pytest.mark.usefixtures("images")  # built once, not in a test


def script(name: str, folder: Path, *words: str) -> subprocess.CompletedProcess:
    """Called from a folder, as the user would."""
    return subprocess.run(
        [str(ROOT / "scripts" / name), *words], cwd=folder, text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=WHOLE,
    )


def run(folder: Path, command: str) -> subprocess.CompletedProcess:
    return script("run", folder, "--icount", "6", "--timeout", "300", "--", command)


def counted(folder: Path, *flags: str) -> None:
    """For Linux."""
    command = [tool(CROSS), "-g", "-O2", *flags, "-o", str(folder / "counted")]
    command.append(str(SOURCE))
    subprocess.run(command, check=True)


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    shutil.copy(image.BUILD / "bin" / "echo", tmp_path / "say")
    return tmp_path


def test_by_its_path(echo: Path) -> None:
    """Relative and absolute; quoted; anywhere in the command; from a folder."""
    (echo / "a folder").mkdir()
    shutil.copy(echo / "say", echo / "a folder" / "say")
    done = run(echo, f"./say one; true && {echo}/say two | cat; './a folder/say' 3")
    assert (done.stdout, done.stderr, done.returncode) == ("one\ntwo\n3\n", "", 0)


def test_others_are_the_guests(echo: Path) -> None:
    """A name without a slash, a file that is no program or one of this machine's, one
    that isn't there, one above the folder, one that is no file."""
    (echo / "text").write_text("#!/bin/sh\n")
    shutil.copy("/bin/true", echo / "here")
    (echo / "below").mkdir()
    os.mkfifo(echo / "fifo")
    for word, folder in (("say", echo), ("./text", echo), ("./here", echo),
                         ("./none", echo), ("../say", echo / "below"),
                         ("./fifo", echo)):
        done = run(folder, word)
        assert (done.stderr, done.returncode) == (f"sh: {word}: not found\n", 127)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """One line: a library that is nowhere, a file that is cut."""
    counted(tmp_path)
    file = tmp_path / "counted"
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"libc.so.6", b"lost.so.6"))
    done = run(tmp_path, "./counted 1")
    assert (done.stdout, done.returncode) == ("", 126)
    assert re.fullmatch(r"run: counted needs lost\.so\.6, .*\n", done.stderr)
    file.write_bytes(whole[:100])
    done = run(tmp_path, "./counted 1")
    assert (done.stderr, done.returncode) == ("run: counted: not a whole ELF file\n", 126)


@pytest.mark.parametrize("how", ["-static", "-no-pie", "-pie"])
def test_of_linux(tmp_path: Path, how: str) -> None:
    """What a dynamic one needs comes along, too."""
    counted(tmp_path, how)
    done = run(tmp_path, f"./counted {ROUNDS}")
    assert (done.stdout, done.stderr, done.returncode) == ("counted\n", "", 0)


def test_a_library_that_nobody_needs(tmp_path: Path) -> None:
    """tally-run(1): glibc opens libgcc_s.so.1 itself, to end a thread."""
    (tmp_path / "ends.c").write_text(
        "#include <pthread.h>\n#include <stdio.h>\n"
        "static void *end(void *p) { pthread_exit(p); }\n"
        "int main(void) { pthread_t t; pthread_create(&t, NULL, end, NULL);\n"
        "pthread_join(t, NULL); puts(\"joined\"); return 0; }\n"
    )
    subprocess.run([tool(CROSS), "-O2", "-no-pie", "-pthread", "-o", "ends", "ends.c"],
                   cwd=tmp_path, check=True)
    done = run(tmp_path, "./ends")
    assert (done.stdout, done.stderr, done.returncode) == ("joined\n", "", 0)


def test_damaged_ones(echo: Path) -> None:
    """Whose segments lie further on than any file goes, or have no end."""
    file = echo / "say"
    whole = file.read_bytes()
    for at, value in ((32, 2**64 - 8), (32, 2**62), (54, 3)):
        size = 2 if at == 54 else 8
        file.write_bytes(whole[:at] + value.to_bytes(size, "little") + whole[at + size:])
        done = run(echo, "./say 1")
        assert (done.stdout, done.returncode) != ("1\n", 0)
        assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr


@pytest.mark.parametrize("how", ["-static", "-no-pie", "-pie"])
def test_exact(tmp_path: Path, how: str) -> None:
    """Functions and lines have their names, and what they execute is counted; also below
    an interpreter and a library, which are elsewhere."""
    counted(tmp_path, how)
    done = script("tally", tmp_path, "--exact", "-o", "x.folded",
                  "--", f"./counted {ROUNDS}")
    assert (done.stderr, done.returncode) == ("", 0)
    found = [
        line.rpartition(" ") for line in (tmp_path / "x.folded").read_text().splitlines()
        if re.fullmatch("counted;.*;main;counted;loop", line.rpartition(" ")[0])
    ]
    assert sum(int(count) for _, _, count in found) == 2 * ROUNDS + 1
    assert re.search(r"main \[counted\] +\S*counted\.c:\d+", done.stdout) or (
        "loop [counted]" in done.stdout)


@pytest.mark.parametrize("how", ["-static"])
def test_sampled(tmp_path: Path, how: str) -> None:
    counted(tmp_path, how)
    done = script("tally", tmp_path, "--harts", "1", "--icount", "3",
                  "--", f"./counted {1000 * ROUNDS}")
    assert (done.stderr, done.returncode) == ("", 0)
    share = re.search(r"^ +\d+ +([\d.]+) .*\bloop \[counted\]", done.stdout, re.M)
    assert share and float(share[1]) > 90


@pytest.mark.parametrize("how", ["--exact", "--sampled"])
def test_without_symbols(tmp_path: Path, how: str) -> None:
    """tally-host(1): its functions begin where it calls, and are named by the program
    and their addresses; the page says so, and counts the same."""
    rounds = ROUNDS if how == "--exact" else 1000 * ROUNDS
    counted(tmp_path, "-static")
    nm = subprocess.run([elves.tool("nm"), "counted"], cwd=tmp_path, check=True,
                        capture_output=True, text=True)
    loop = int(re.search(r"^(\w+) T loop$", nm.stdout, re.M)[1], 16)
    counted(tmp_path, "-static", "-s")
    done = script("tally", tmp_path, *(["--exact"] if how == "--exact" else []),
                  "--harts", "1", "--icount", "3", "-o", "x.folded",
                  "--", f"./counted {rounds}")
    assert (done.stderr, done.returncode) == ("", 0)
    folded = (tmp_path / "x.folded").read_text()
    inside = [int(n) for n in re.findall(rf";\[counted\] {loop:#x} (\d+)$", folded, re.M)]
    if how == "--exact":
        assert sum(inside) == 2 * rounds + 1
    else:
        row = rf"^ +\d+ +([\d.]+) .*\[counted\] {loop:#x} *$"
        share = re.search(row, done.stdout, re.M)
        assert share and float(share[1]) > 90
    said = r"^[\d,]+ \w+ without names: counted: no symbols$"
    assert re.search(said, done.stdout, re.M)


CALLS = """
.text; .globl _start
back: ret
_start: nop
jal ra, back
call far      # auipc and jalr, as nothing is relaxed
jal zero, no_call
jal ra, near
near: ret
no_call: c.nop
far: call back
"""


def test_where_functions_begin(tmp_path: Path) -> None:
    """tally-host(1): at each target of a call, before and behind, and at the entry."""
    (tmp_path / "calls.s").write_text(CALLS)
    flags = ["-march=rv64imac", "-mabi=lp64", "-nostdlib", "-Wl,--no-relax",
             "-Wl,-Ttext=0x10000", "-o", "calls"]
    subprocess.run([elves.tool("gcc"), *flags, "calls.s"], cwd=tmp_path, check=True)
    nm = subprocess.run([elves.tool("nm"), "calls"], cwd=tmp_path, check=True,
                        capture_output=True, text=True)
    rows = re.findall(r"^(\w+) . (\w+)$", nm.stdout, re.M)
    address = {name: int(at, 16) for at, name in rows}
    found = programs.program("calls", (tmp_path / "calls").read_bytes())
    assert found and not found.named  # these labels are no functions
    called = sorted(address[name] for name in ("back", "_start", "near", "far"))
    assert list(found.functions) == [found.start, *called]


@pytest.fixture
def anywhere(tmp_path: Path) -> Path:
    """A folder with a program that the kernel puts where it likes."""
    command = [tool(CROSS), "-g", "-O2", "-static-pie", "-fPIE", "-nostdlib",
               "-Wl,--no-dynamic-linker", f"-DROUNDS={1000 * ROUNDS}",
               "-o", str(tmp_path / "anywhere"), str(SOURCE.with_name("anywhere.c"))]
    subprocess.run(command, check=True)
    return tmp_path


@pytest.mark.parametrize("how", ["--exact", "--sampled"])
def test_one_that_lies_anywhere(anywhere: Path, how: str) -> None:
    """docs/linux.md: "statically linked position-independent ones work, too": functions,
    lines, counts."""
    done = script("tally", anywhere, *(["--exact"] if how == "--exact" else []),
                  "--harts", "1", "--icount", "3", "-o", "x.folded", "--", "./anywhere")
    assert (done.stderr, done.returncode) == ("", 0)
    folded = (anywhere / "x.folded").read_text()
    inside = [int(n) for n in re.findall(r";anywhere;loop (\d+)$", folded, re.M)]
    if how == "--exact":
        assert sum(inside) == 2000 * ROUNDS + 1
    share = re.search(r"^ +[\d,]+ +([\d.]+) .*\bloop \[anywhere\]$",
                      done.stdout, re.M)
    assert share and float(share[1]) > 90


def test_others_know_it(anywhere: Path) -> None:
    """tally-host(1): gprof, which knows the file's own addresses; and a page has the
    instructions."""
    for how in (["--of", "anywhere", "-o", "x.gmon"], ["-o", "x.html"]):
        done = script("tally", anywhere, "--harts", "1", "--icount", "3", *how,
                      "--", "./anywhere")
        assert done.returncode == 0, done.stderr
    gprof = [elves.tool("gprof"), "-b", "-p", "anywhere", "x.gmon"]
    flat = subprocess.run(gprof, cwd=anywhere, capture_output=True, text=True, check=True)
    assert re.search(r"^ *(100\.00|9\d\.\d+) .* loop$", flat.stdout, re.M)
    page = Page((anywhere / "x.html").read_bytes())
    (loop,) = (f for f in page.data["functions"] if f["name"] == "loop")
    jump = next(row[1] for row in loop["code"] if row[1].startswith("bnez"))
    assert loop["disassembled"] and jump.endswith(" <loop>")


def test_the_guest_knows_it(anywhere: Path) -> None:
    """tally(1), in the guest."""
    done = run(anywhere, "tally ./anywhere")
    assert re.search(r"^ +\d+ +[\d.]+ .*\bloop \[anywhere\b.*", done.stdout, re.M)


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program in C++, static."""
    folder = tmp_path_factory.mktemp("shapes")
    command = [tool(CROSS_CXX), "-g", "-O2", "-Wall", "-Wextra", "-static", "-o",
               str(folder / "shapes"), str(SHAPES)]
    subprocess.run(command, check=True)
    return folder


def test_cxx_does_what_linux_does(shapes: Path) -> None:
    """Streams, exceptions and containers; and an exception that nobody catches."""
    there = script("run", shapes, "--icount", "6", "--timeout", "300", "./shapes", "100")
    here = subprocess.run([tool(ORACLE), shapes / "shapes", "100"], text=True,
                          capture_output=True, timeout=HANG)
    assert (there.stdout, there.stderr) == (here.stdout, here.stderr)
    assert "a side below 0" in here.stderr and "area" in here.stdout
    assert (here.returncode, there.returncode) == (-signal.SIGABRT, 128 + signal.SIGABRT)


def test_names_of_cxx(shapes: Path) -> None:
    """tally-host(1): as the source has them. Of the page's long ones <> is left."""
    done = script("tally", shapes, "--exact", "-o", "x.folded", "--by", "functions",
                  "./shapes", str(ROUNDS))
    stacks = (shapes / "x.folded").read_text().splitlines()
    found = [line.rpartition(" ") for line in stacks]
    assert sum(
        int(count) for stack, _, count in found
        if stack.endswith(";main;geometry::box<int>::grow;loop")
    ) == 2 * ROUNDS + 1
    assert "std::basic_string<char, std::char_traits<char>, std::allocator<char> >" in (
        "\n".join(stacks))
    assert re.search(r" std::\S+<\.\.\.>::\S+ \[shapes\]", done.stdout)
    assert "_ZN" not in done.stdout and ";_ZN" not in "\n".join(stacks)


def test_readme_begins_with_a_program_of_linux(tmp_path: Path) -> None:
    """README's first commands give what it shows, but for what the compiler decides."""
    text = (ROOT / "README.md").read_text()
    compiler, command, said = re.findall(r"^    (?:\$ )?(\S.*)$", text, re.M)[:3]
    subprocess.run(f"cd {ROOT} && {compiler} -o {tmp_path}/a.out", shell=True,
                   check=True)
    name, *words = command.removeprefix("scripts/").split()
    page = script(name, tmp_path, *words).stdout
    assert page.splitlines()[:2] == [said, "./a.out"]
    assert re.search(r"^[\d,]+ instructions, exact$", page, re.M)
    first = r"source\n +([\d,]+) +[\d.]+ +[\d.]+  sieve \[a\.out\]  examples/primes/sieve\.c:8\n"
    shown, found = re.search(first, text), re.search(first, page)
    assert shown and found
    count, theirs = (int(m[1].replace(",", "")) for m in (found, shown))
    assert 0.5 < count / theirs < 2
