"""Odd recordings: what the page counts, each format has, and what it lacks is said
(tally-convert(1), tally-host(1))."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Callable, Iterable, Iterator, NamedTuple, Optional, Sequence

import pytest

from harness import elves, pcstream as pcs, profiles as made
from harness.converter import PROGRAM, Converter
from harness.elves import address
from harness.page import Page as Html
from harness.pprof import Pprof
from tally import ROOT
from tally.build.files import Files
from tally.build.programs import joined
from tally.formats.digest import Digest, digest
from tally.formats.executable import Image
from tally.formats.program import Program, program
from tally.profile import archive, read_pcs, read_pprof
from tally.profile.archive import Kept
from tally.profile.page import Model, Page
from tally.profile.profile import IDLE, NANOSECONDS
from tally.profile.stacks import Programs, Stacks
from test_convert_svg import frames

ODD_FUNCTIONS = ("a;b 12", "<i>&amp;", "(7) x", "fn=y", "\u03a3\u2028", "_")
ODD_PROGRAMS = ("a;b 1", "<&>'", "(3) z", "\u00e9'\"", "x" * 200)
Sample = Sequence[bytes]  # the records of one


# --- Recordings --------------------------------------------------------------------


def back(function: str) -> int:
    """A return address in a function."""
    return address(function, PROGRAM) + 8


def user(function: str, callers: Iterable[str] = (), pid: int = 3) -> Sample:
    """A sample after a function has set up its frame: ra and the frame lead to its
    caller."""
    returns = [back(caller) for caller in callers]
    stack = made.stack(user=[*returns[:1], *returns])
    return made.psample(made.USER, address(function, PROGRAM) + 4, pid), stack


def nested(chain: Sequence[str]) -> Iterator[Sample]:
    """Four samples at each depth of a chain of calls, which main begins."""
    for depth in range(len(chain)):
        yield from 4 * [user(chain[depth], [*reversed(chain[:depth]), "main"])]


class Process(NamedTuple):
    pid: int
    path: str
    digest: Optional[Digest]
    samples: Iterable[bytes]  # without stacks


def processes(each: Iterable[Process]) -> bytes:
    """What getpc stores of processes: the events, then the samples."""
    told, samples = [], []
    for ino, p in enumerate(each, 1):
        name = p.path.rpartition("/")[2].encode()[:15]
        told.append([made.born(1, p.pid, ino)])
        told.append([made.execed(1, p.pid, ino, name)])
        told.append([made.mapped(1, p.pid, ino, p.path.encode(), ino)])
        if p.digest:
            told.append([made.filed(p.path.encode(), *p.digest, ino)])
        samples += [[made.at(1, 0), sample] for sample in p.samples]
    return made.stream(told) + made.stream(samples)


def at(function: str, pid: int) -> bytes:
    return made.psample(made.USER, address(function, PROGRAM), pid)


class Recording(NamedTuple):
    """A recording, and what must be said about it on standard error."""

    data: Callable[[Path], bytes]
    total: int
    said: str = ""
    names_programs: bool = False  # it has events


def three_hundred(folder: Path) -> bytes:
    known = digest((folder / "prog").read_bytes())
    return processes(
        Process(pid, "/host/prog", known, [at("work", pid)] * (pid % 3 + 1))
        for pid in range(100, 400)
    )


def odd_names(folder: Path) -> bytes:
    for name in ODD_PROGRAMS:
        shutil.copy(folder / "odd", folder / name)
    known = digest((folder / "odd").read_bytes())
    text = elves.PROGRAM_TEXT
    return processes(
        Process(pid, f"/host/{name}", known, [
            made.psample(made.USER, text + elves.STEP * i, pid)
            for i in range(len(ODD_FUNCTIONS))
        ]) for pid, name in enumerate(ODD_PROGRAMS, 3)
    )


def no_symbols(folder: Path) -> bytes:
    return processes(
        Process(pid, f"/host/{name}", digest((folder / name).read_bytes()),
                [at(function, pid) for function in PROGRAM])
        for pid, name in enumerate(("bare", "sectionless"), 3)
    )


def another_build(_folder: Path) -> bytes:
    """Its file is none that there is."""
    return processes([Process(3, "/bin/prog", Digest(5, 5), [at("main", 3)] * 6)])


def mixed(_folder: Path) -> bytes:
    """What has no address, and the kernel's; and in a header, losses."""
    samples = [[made.msample(made.IDLE, 40, 1)], [made.msample(made.MUSER, 30)],
               [made.psample(made.KERNEL, address("sys_read"), 3)],
               [made.psample(made.KERNELI, address("clock_interrupt"), 0, 1)]]
    return made.stream(samples) + made.logbuf([], lost=7)


def idle(_folder: Path) -> bytes:
    return made.logbuf([made.msample(made.IDLE, 4)])


def one(_folder: Path) -> bytes:
    return made.stream([user("work")])


RECURSION, MUTUAL = ["work"] * 5, ["work", "inner"] * 3


def recursion(_folder: Path) -> bytes:
    return made.stream(nested(RECURSION))


def mutual(_folder: Path) -> bytes:
    return made.stream(nested(MUTUAL))


def sealed() -> list[bytes]:
    """What getpc stores: twelve buffers of five samples, between START and STOP."""
    part = made.logbuf(5 * user("work", ["inner", "main"]))
    first, last = (made.logbuf([made.ssample(kind, 1_790_000_000)])
                   for kind in (made.START, made.STOP))
    return pcs.seal([first, *12 * [part], last])


def cut(_folder: Path) -> bytes:
    return b"".join(sealed()[:7]) + sealed()[7][:100]


def losses(_folder: Path) -> bytes:
    buffers = sealed()
    return b"".join([*buffers[:4], *buffers[8:]])


SAYS = "tally-convert: data: "
BARE = "".join(
    f"{SAYS}4 samples without names: {name}: no symbols\n"
    for name in ("bare", "sectionless")
)
RECORDINGS = {
    "only idle": Recording(idle, 4),
    "one": Recording(one, 1),
    "recursion": Recording(recursion, 20),
    "mutual recursion": Recording(mutual, 24),
    "300 processes": Recording(three_hundred, 600, "", True),
    "odd names": Recording(odd_names, len(ODD_FUNCTIONS) * len(ODD_PROGRAMS), "", True),
    "no symbols": Recording(no_symbols, 8, BARE, True),
    "another build": Recording(
        another_build, 6, f"{SAYS}6 samples without names: /bin/prog: no file on this"
        " host has the same contents\n", True),
    "mixed": Recording(mixed, 72, f"{SAYS}7 samples lost\n"),
    "cut": Recording(
        cut, 30, f"{SAYS}the recording wasn't stopped: its end may be missing\n"),
    "losses in the middle": Recording(
        losses, 40, f"{SAYS}buffers missing or damaged: 4 of the first 14, with 20"
        f" samples\n{SAYS}20 or more samples lost\n"),
}


# --- How many samples a file has -----------------------------------------------------


def of_folded(data: bytes) -> int:
    return sum(int(line.rpartition(" ")[2]) for line in data.decode().splitlines())


def of_pprof(data: bytes) -> int:
    return sum(s["values"][0] for s in Pprof(data).samples)


def of_speedscope(data: bytes) -> int:
    profiles = json.loads(data)["profiles"]
    assert all(sum(p["weights"]) == p["endValue"] for p in profiles)
    return sum(p["endValue"] for p in profiles) * 100 // NANOSECONDS


def of_callgrind(data: bytes) -> int:
    text = data.decode()
    (total,) = re.findall(r"^totals: (\d+)$", text, re.M)
    own = re.sub(r"^calls=.*\n.*\n", "", text, flags=re.M)
    assert sum(map(int, re.findall(r"^\d+ (\d+)$", own, re.M))) == int(total)
    return int(total)


def of_svg(data: bytes) -> int:
    found = frames(ET.fromstring(data))
    (root,) = (frame for frame in found if frame["depth"] == 0)
    below = sum(frame["count"] for frame in found if frame["depth"] == 1)
    assert below == root["count"]
    return root["count"]


def of_html(data: bytes) -> int:
    page = Html(data)
    assert page.total() == sum(page.own) == page.data["about"]["total"]
    return page.total()


COUNTS: dict[str, Callable[[bytes], int]] = {
    "folded": of_folded, "pprof": of_pprof, "speedscope": of_speedscope,
    "callgrind": of_callgrind, "svg": of_svg, "html": of_html,
}


def of_gmon(data: bytes) -> int:
    found, where = 0, 20
    while where < len(data):
        assert data[where] == 0
        (bins,) = struct.unpack_from("<I", data, where + 17)
        where += 41
        found += sum(struct.unpack_from(f"<{bins}H", data, where))
        where += 2 * bins
    return found


# --- Tests ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(convert: Converter) -> Path:
    """Beside the converter's: a program with odd names of functions, and two without
    symbols, of which one has no sections either."""
    folder = convert.folder
    quoted = ['"{}"'.format(name.replace('"', r"\"")) for name in ODD_FUNCTIONS]
    elves.build(folder, "odd", elves.PROGRAM_TEXT, quoted)
    strip = [elves.tool("strip"), "-o", "bare", "prog"]
    subprocess.run(strip, cwd=folder, check=True)
    bare = (folder / "bare").read_bytes()
    (folder / "sectionless").write_bytes(
        bare[:40] + bytes(8) + bare[48:60] + bytes(4) + bare[64:])
    return folder


def page_of(recording: Recording, folder: Path, by: Optional[str] = None) -> str:
    programs = Programs(Files(folder, folder))
    programs.others = [] if recording.names_programs else [Image(folder / "prog")]
    profile = read_pcs.read("data", recording.data(folder))
    stacks = Stacks(profile, lambda: Image(folder / "kernel.elf"), programs)
    return Page(Model(stacks), "command", by=by).text()


def head(page: str) -> int:
    return int(re.search(r"^([\d,]+) samples?, at", page, re.M)[1].replace(",", ""))


def sums(page: str) -> int:
    """The first column of a page with a single table."""
    rows = re.findall(r"^ {0,14}([\d,]+) +\d+\.\d ", page, re.M)
    return sum(int(row.replace(",", "")) for row in rows)


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_total_is_the_pages(convert: Converter, folder: Path, name: str) -> None:
    """Also gmon.out's, with the samples that it is said to omit."""
    recording = RECORDINGS[name]
    data = recording.data(folder)
    (folder / "data").write_bytes(data)
    samples = read_pcs.read("data", data).samples
    assert head(page_of(recording, folder)) == recording.total
    assert sums(page_of(recording, folder, "time")) == recording.total
    busy = sum(s.count for s in samples if s.mode != IDLE)
    assert sums(page_of(recording, folder, "processes")) == busy
    words = ["--kernel=kernel.elf", "--share=.", "data"]
    words += [] if recording.names_programs else ["--program=prog"]
    outputs = {to: f"out.{to}" for to in COUNTS}
    outputs.update(pprof="out.pb.gz", speedscope="out.json")
    result = convert.run(*words, *outputs.values())
    assert (result.returncode, result.stderr.decode()) == (0, recording.said)
    files = {to: (folder / file).read_bytes() for to, file in outputs.items()}
    assert {to: COUNTS[to](data) for to, data in files.items()} == dict.fromkeys(
        COUNTS, recording.total)
    assert read_pprof.read("x", files["pprof"]).total == busy
    result = convert.run(*words, "--to=gmon")
    assert result.returncode == 0
    omits = re.search(r"omits ([\d,]+) sample", result.stderr.decode())
    omitted = int(omits[1].replace(",", "")) if omits else 0
    assert of_gmon(result.stdout) + omitted == recording.total


def test_recursion_keeps_its_depth(convert: Converter, folder: Path) -> None:
    for make, chain in (recursion, RECURSION), (mutual, MUTUAL):
        said = convert.folded(make(folder), "--program=3=prog")
        depths = range(1, len(chain) + 1)
        wanted = [";".join(["prog (3)", "[user]", "main", *chain[:n]]) for n in depths]
        assert said.splitlines() == sorted(f"{stack} 4" for stack in wanted)


def test_odd_names_stay_apart(convert: Converter, folder: Path) -> None:
    """Each function of each program has its one sample."""
    (folder / "data").write_bytes(odd_names(folder))
    result = convert.run("--kernel=kernel.elf", "--share=.", "--to=pprof", "data")
    samples = Pprof(result.stdout).samples
    assert len(samples) == len(ODD_FUNCTIONS) * len(ODD_PROGRAMS)
    names = {s["stack"][0][0] for s in samples}
    assert names == {name.replace("\u2028", "?") for name in ODD_FUNCTIONS}


WITHOUT = ("folded", "pprof", "speedscope", "callgrind", "svg", "html", "gmon")


@pytest.mark.parametrize("data, words, said", [
    (made.session(b"", 5, 6), [], "no samples"),
    (made.session(made.logbuf([], lost=7), 5, 6), [], "no samples; 7 samples lost"),
    (made.logbuf([made.msample(made.IDLE, 0)]), [], "no samples"),
    (idle(Path()), ["--no-idle"], "no samples besides idle ones"),
    (made.kpdata([0] * (elves.STEP * len(elves.KERNEL) // 8)), ["--from=kpdata"],
     "no samples"),
    (made.mon(elves.PROGRAM_TEXT, elves.PROGRAM_TEXT + 64, [0] * 32), [], "no samples"),
], ids=["none", "all lost", "a count of 0", "idle", "kpdata", "mon"])
def test_none_is_an_error(
    convert: Converter, data: bytes, words: list[str], said: str
) -> None:
    """tally-convert(1), EXIT STATUS: an output that exists stays as it is."""
    (convert.folder / "data").write_bytes(data)
    for to in WITHOUT:
        (convert.folder / "old").write_text("before")
        result = convert.run("--kernel=kernel.elf", *words, f"--to={to}", "data", "old")
        assert (result.returncode, result.stderr.decode()) == (1, f"{SAYS}{said}\n")
        assert (convert.folder / "old").read_text() == "before"


def test_no_table_is_only_a_heading(folder: Path) -> None:
    for by in "functions", "lines", "callers", "processes":
        page = page_of(RECORDINGS["only idle"], folder, by)
        assert re.search(r"^ +samples .*\n +none$", page, re.M)


def test_nothing_to_compare(convert: Converter, folder: Path) -> None:
    """tally-diff(1), EXIT STATUS: neither recording may be of idle harts only."""
    for name in "only idle", "one":
        data = RECORDINGS[name].data(folder)
        (folder / f"{name}.pb.gz").write_bytes(convert(data, "pprof", "--program=prog"))
    for pair in ("one", "only idle"), ("only idle", "one"):
        run = subprocess.run(
            [str(ROOT / "scripts" / "tally-diff"), *(f"{name}.pb.gz" for name in pair)],
            cwd=folder, capture_output=True, text=True,
        )
        said = "tally-diff: only idle.pb.gz: no samples besides idle ones\n"
        assert (run.returncode, run.stdout, run.stderr) == (2, "", said)


def test_calls_alone_are_worth_a_gmon(convert: Converter) -> None:
    """A program too short for a sample: gprof shows how often functions were called."""
    main, work = (address(name, PROGRAM) for name in ("main", "work"))
    data = made.gmon([made.gmon_arc(main + 4, work, 3)])
    assert convert(data, "gmon", "--program=prog").endswith(
        made.gmon_arc(main + 4, work, 3))


# --- Programs without symbols, and with the bytes of another ------------------------


def test_no_symbols_in_every_format(convert: Converter, folder: Path) -> None:
    """All addresses of a program that calls nothing are one function, from its entry
    on, named by the program and that address."""
    data = no_symbols(folder)
    name = f"[bare] {elves.PROGRAM_TEXT:#x}"
    (folder / "data").write_bytes(data)
    words = ["--kernel=kernel.elf", "--share=.", "data"]
    for to in COUNTS:
        text = convert.run(*words, f"--to={to}").stdout
        if to == "pprof":
            stacks = [s["stack"][0][0] for s in Pprof(text).samples]
            assert stacks.count(name) == 4
        elif to == "html":
            assert name in Html(text).places
        else:
            assert name in text.decode(), to
    page = page_of(RECORDINGS["no symbols"], folder)
    assert re.search(rf"^ +4 .* {re.escape(name)}$", page, re.M)
    result = convert.run(*words, "--to=gmon", "--of=bare")
    assert (result.returncode, of_gmon(result.stdout)) == (0, 4)


def test_no_symbols_in_an_exact_recording(convert: Converter, folder: Path) -> None:
    """Not each of its addresses is a function, whether or not it has sections."""
    start = elves.PROGRAM_TEXT
    tree = f"node -1 1 -1 0 0 0:0\nnode 0 1 1 {start:x} 1 0:3\n"
    tree += f"{start:x} 1\n{start + 4:x} 2\n"
    for name in "bare", "sectionless":
        programs = [Kept(f"/host/{name}", None, folder / name)]
        kept = archive.write(archive.EXACT, name, f"unfollowed 0\n{tree}".encode(),
                             folder / "kernel.elf", programs)
        result = convert.run("--to=folded", "-", data=kept)
        assert result.stdout.decode() == f"{name};[user];[{name}] {start:#x} 3\n"
        said = f"tally-convert: -: 3 instructions without names: {name}: no symbols\n"
        assert result.stderr.decode() == said


def test_the_name_is_that_which_was_executed(convert: Converter, folder: Path) -> None:
    """Of two files with the same contents, each process has its own's name."""
    shutil.copy(folder / "prog", folder / "copy")
    known = digest((folder / "prog").read_bytes())
    data = processes([
        Process(pid, f"/host/{name}", known, [at("work", pid)])
        for pid, name in ((3, "prog"), (4, "copy"))
    ])
    (folder / "data").write_bytes(data)
    words = ["--kernel=kernel.elf", "--share=.", "data"]
    callgrind = convert.run(*words, "--to=callgrind").stdout.decode()
    assert re.findall(r"^ob=(.*)$", callgrind, re.M) == ["copy", "prog"]
    pprof = convert.run(*words, "--to=pprof").stdout
    names = [stack.places[0].name for stack in read_pprof.read("x", pprof).stacks]
    assert names == ["work [prog]", "work [copy]"]
    assert convert.run(*words, "--to=gmon", "--of=copy").returncode == 0
    # One that was copied in the guest, where the host has only the original.
    programs = Programs(Files(folder, more=[folder / "prog"]))
    (process,) = read_pcs.read("x", processes([
        Process(3, "/tmp/copied", known, [at("work", 3)])
    ])).processes
    assert programs.find_file(process).name == "copied"


def test_programs_that_nothing_tells_apart(folder: Path) -> None:
    """tally-host(1), --exact: the command's name, or else all names."""
    data = (folder / "prog").read_bytes()
    other = (folder / "odd").read_bytes()
    known = [program(f"/bin/{name}", data) for name in ("prog", "copy")]
    known += [program("/host/copy", data), program("/bin/odd", other)]

    def names(command: str) -> list[str]:
        found: list[Program] = [*joined(filter(None, known), command, [folder])]
        assert found[0].file == folder / "prog" or found[0].name == "/bin/copy"
        return [p.name for p in found]

    assert names("x | /host/copy 3") == ["/bin/copy", "/bin/odd"]
    assert names("(prog; copy)>y") == ["/bin/prog or copy", "/bin/odd"]
    assert names("sh progs") == ["/bin/prog or copy", "/bin/odd"]


def test_gprof_shows_many_callers(convert: Converter) -> None:
    """1,000 functions with 20 callers each: gprof has each one's share and calls."""
    names = [f"f{i}" for i in range(1000)]
    elves.build(convert.folder, "many", elves.PROGRAM_TEXT, names)
    where = [address(name, names) for name in names]
    high = where[-1] + elves.STEP
    bins = [0] * ((high - where[0]) // 2)
    for i, start in enumerate(where):
        bins[(start - where[0]) // 2] = 100 * (i % 7 + 1)
    arcs = [made.gmon_arc(where[(i + k * 13 + 1) % 1000] + 4, where[i], k + 1)
            for i in range(1000) for k in range(20)]
    data = made.gmon([made.gmon_histogram(where[0], high, bins, 100), *arcs])
    written = convert(data, "gmon", "--program=many")
    assert convert.flat("many", written) == {
        name: float(i % 7 + 1) for i, name in enumerate(names)}
    calls = convert.gprof("many", written, "-p")
    assert set(re.findall(r"^ +[\d.]+ +[\d.]+ +[\d.]+ +(\d+) ", calls, re.M)) == {"210"}
