"""scripts/tally-convert: profiles made by hand, of executables made by hand."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest

from harness import elves, kpdata, profiles as made
from harness.converter import CONVERT, PROGRAM, Converter
from harness.elves import address
from harness.guest import Guest, Images
from harness.kernel_image import KernelImage
from harness.pprof import Pprof
from tally.commands.convert import BIN
from tally.formats import lines
from tally.formats.executable import Image

BEGIN, END = 1_790_000_000, 1_790_000_003  # seconds since 1970
BUCKETS = elves.STEP * len(elves.KERNEL) // 8


def user(function: str, offset: int = 0) -> int:
    return address(function, PROGRAM) + offset


def back(function: str) -> int:
    """A return address: after a call that is a function's last instruction,
    it is the next one's."""
    names = PROGRAM if function in PROGRAM else None
    return address(function, names) + elves.STEP


def pcs_stream() -> bytes:
    """Two processes, handlers, merged samples, stacks, a loss."""
    samples = [
        [made.psample(made.USER, user("work", 4), 3, 0)],
        [made.psample(made.USER, user("work"), 3, 0)],
        [made.psample(made.USER, user("inner"), 3, 1),
         made.stack(user=[back("work"), back("main"), back("_start")])],
        [made.psample(made.KERNEL, address("sys_read"), 3, 0, 1),
         made.stack([back("syscall"), back("trap_vector")],
                    [user("work"), back("main")])],
        [made.psample(made.KERNEL, address("sys_read"), 5, 1, 5)],
        [made.psample(made.KERNELI, address("clock_interrupt"), 0, 1, 5),
         made.stack([back("trap_vector")])],
        [made.msample(made.IDLE, 40, 1)],
        [made.msample(made.MUSER, 30, 0), made.msample(made.MKERNEL, 20, 0)],
        [made.msample(made.MKERNELI, 10, 1)],
        [made.psample(made.USER, 0x7FFFFFF0, 5, 1), made.stack()],
    ]
    body = made.stream(samples)
    body += made.logbuf([made.psample(made.USER, user("main"), 3)] * 2, lost=7)
    requests = [made.isample(0o20, [3, 5]), made.isample(1, [2])]
    return made.session(body, BEGIN, END, requests)


LOST = "tally-convert: data: 7 samples lost\n"
TOTAL = 7 + 40 + 30 + 20 + 10 + 2


# --- pcs, and the forms of output ------------------------------------------------


def test_folded(convert: Converter, expected: Callable[[str, str], None]) -> None:
    expected("convert.folded", convert.folded(
        pcs_stream(), "--program=3=prog", said=LOST
    ))


def test_speedscope(convert: Converter, expected: Callable[[str, str], None]) -> None:
    text = convert(pcs_stream(), "speedscope", "--program=3=prog", said=LOST).decode()
    expected("convert.speedscope.json", text)
    file = json.loads(text)
    assert sum(sum(p["weights"]) for p in file["profiles"]) == TOTAL * 10_000_000


def test_speedscope_is_in_the_order_of_time(convert: Converter) -> None:
    pcs = [user(name) for name in ("work", "main", "work", "inner")]
    data = made.stream([made.psample(made.USER, pc, 3, 2)] for pc in pcs)
    file = json.loads(convert(data, "speedscope", "--program=prog", "--hz=1000"))
    (profile,) = file["profiles"]
    names = [file["shared"]["frames"][s[-1]]["name"] for s in profile["samples"]]
    assert (names, profile["name"]) == (["work", "main", "work", "inner"], "hart 2")
    assert profile["weights"] == [1_000_000] * 4


def test_pprof(convert: Converter) -> None:
    data = convert(pcs_stream(), "pprof", "--program=3=prog", said=LOST)
    profile = Pprof(data)
    assert profile.types == [("samples", "count"), ("cpu", "nanoseconds")]
    assert (profile.period_type, profile.number(12)) == (profile.types[1], 10_000_000)
    assert profile.number(9) == BEGIN * 10**9
    assert profile.number(10) == (END - BEGIN) * 10**9
    assert profile.comments == [
        "Tally: data", "asked for PROF_LIST 3 5, BUF_INCR 2", "7 samples lost",
    ]
    assert sum(s["values"][0] for s in profile.samples) == TOTAL
    assert all(s["values"][1] == s["values"][0] * 10**7 for s in profile.samples)
    found = {
        (tuple(s["stack"]), tuple(sorted(s["labels"].items()))): s["values"][0]
        for s in profile.samples
    }
    k = "kernel.elf.s"
    stack = (
        ("sys_read", address("sys_read"), k, 21),
        ("syscall", address("syscall") + 63, k, 18),
        ("trap_vector", address("trap_vector") + 63, k, 13),
        ("work", user("work"), "prog.s", 16),
        ("main", user("main") + 63, "prog.s", 13),
    )
    labels = {"hart": "0", "mode": "kernel", "pid": "3", "command": "prog",
              "level": "1"}
    assert found[stack, tuple(sorted(labels.items()))] == 1
    merged = (("[idle]", 0, "", 0),), (("hart", "1"), ("mode", "idle"))
    assert found[merged] == 40
    names = {m[1]: profile.strings[m[5]] for m in profile.mappings.values()}
    assert sorted(names.values()) == ["kernel.elf", "prog"]
    for location, entry in profile.locations.items():
        mapping = profile.mappings.get(profile.mapping_of(location))
        if mapping:
            assert mapping[2] <= entry[3] < mapping[3]


def test_the_duration_of_a_recording_with_times(convert: Converter) -> None:
    """From the clock's record to the last event, whatever START and STOP say, which
    have whole seconds."""
    times = [made.clocked(1000, 100, 1_000_000), made.born(1, 7, 2000),
             made.exited(7, 1_601_000)]
    sample = [made.moment(3000), made.at(1, 5),
              made.psample(made.KERNEL, address("sys_read"), 7)]
    data = made.session(made.logbuf(times) + made.logbuf(sample), BEGIN, BEGIN + 2)
    profile = Pprof(convert(data, "pprof"))
    assert profile.number(10) == 1_600_000_000


def test_pprof_adds_up_what_is_alike(convert: Converter) -> None:
    for count in 127, 128, 300:  # 128 is the first that takes two bytes
        data = made.stream([[made.psample(made.USER, user("work"), 3)]] * count)
        (sample,) = Pprof(convert(data, "pprof", "--program=prog")).samples
        assert sample["values"] == [count, count * 10_000_000]


@pytest.mark.parametrize("flags", [
    ["-Wa,-gdwarf-2"], ["-Wa,-gdwarf-3"], ["-Wa,-gdwarf-4"], ["-Wa,-gdwarf-5"],
    ["-g", "-gz=zlib", "-Wl,--compress-debug-sections=zlib"],
], ids=["2", "3", "4", "5", "compressed"])
def test_line_numbers_of_every_dwarf(convert: Converter, flags: list[str]) -> None:
    (convert.folder / "sub").mkdir(exist_ok=True)
    elves.build(convert.folder, "sub/dwarf", elves.PROGRAM_TEXT, PROGRAM, flags)
    data = made.stream([[made.psample(made.USER, user("work", 4), 3)]])
    (sample,) = Pprof(convert(data, "pprof", "--program=sub/dwarf")).samples
    ((name, _, file, line),) = sample["stack"]
    assert (name, file, line) == ("work", "sub/dwarf.s", 17)


def both_ways(executable: Path) -> lines.Rows:
    """Its line table, which readelf tells as pyelftools does."""
    wanted = lines.by_pyelftools(executable, executable.read_bytes())
    assert lines.by_readelf(executable) == wanted
    return wanted


@pytest.mark.parametrize("name", ["kernel.elf", "bin/sort"])
def test_line_numbers_both_ways(images: Images, name: str) -> None:
    assert len(both_ways(BIN.parent / name)) > 3000


SAME_NAMES = {
    "a/a.c": '#include "a.h"\nint main(void) { return inner(9); }\n',
    "a/a.h": '#include "deep er/a.h"\nINNER int inner(int n) { return work(n); }\n',
    "a/deep er/a.h": """#define INNER __attribute__((noinline))
INNER int work(int n) { return n * n; }
__attribute__((section(".text.start"))) int _start(void) { return work(4); }
""",
}


@pytest.mark.parametrize("flags", [["-gdwarf-4"], ["-gdwarf-5"],
                                   ["-gdwarf-5", "-gno-as-loc-support"]])
def test_line_numbers_of_files_of_one_name(tmp_path: Path, flags: list[str]) -> None:
    """In one table, whose sequences begin with the first file again; encoded by
    the assembler or the compiler, which does it otherwise."""
    for name, text in SAME_NAMES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [elves.tool("gcc"), "-nostdlib", "-O2", *flags, "a/a.c", "-o", "a.elf"]
    subprocess.run(command, cwd=tmp_path, check=True)
    found = set(both_ways(tmp_path / "a.elf").values())
    assert {("a/a.c", 2), ("a/a.h", 2), ("a/deep er/a.h", 2), ("a/deep er/a.h", 3),
            None} <= found


def test_lines_of_a_file_that_is_gone(convert: Converter, tmp_path: Path) -> None:
    """As of a wrong kernel's, which scripts/tlb-check removes before its report."""
    file = tmp_path / "prog"
    shutil.copy(convert.folder / "prog", file)
    images = Image(convert.folder / "prog"), Image(file)
    file.unlink()
    there, gone = (image.line(elves.PROGRAM_TEXT) for image in images)
    assert gone == there and there is not None


def test_lines_of_the_build_are_kept(
    convert: Converter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as the executable is the same one; of others nothing is kept."""
    program = convert.folder / "prog"

    def of(file: Path) -> lines.Lines:
        return lines.Lines(file, file.read_bytes())

    known = of(program)
    assert known.starts and lines._kept_file(program) is None
    monkeypatch.setattr(lines, "ROOT", tmp_path)
    mine = tmp_path / "build" / "bin" / "prog"
    mine.parent.mkdir(parents=True)
    shutil.copy(program, mine)
    found = [of(mine)]
    (kept,) = (tmp_path / "build" / "lines").iterdir()
    monkeypatch.setattr(lines, "by_readelf", lambda path: {16: None})
    found.append(of(mine))
    for each in found:
        assert each.starts == known.starts
        assert all(each.find(pc) == known.find(pc) for pc in known.starts)
    whole = kept.read_bytes()
    for damaged in (b"", whole[:100], b"N"):
        kept.write_bytes(damaged)
        assert of(mine).starts == [16]
    kept.write_bytes(whole)
    shutil.copy(program, tmp_path / "another")
    (tmp_path / "another").replace(mine)
    assert of(mine).starts == [16]


@pytest.mark.parametrize("readelf", [
    "exit 1", "echo nothing", "echo '  Offset: 0'",
    "{} \"$@\" | sed s/Copy/Duplicate/", "{} \"$@\"; exit 1",
    "{} \"$@\"; echo doubts >&2",
])
def test_line_numbers_without_readelf(
    convert: Converter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readelf: str
) -> None:
    """Or with one that fails, or writes something else."""
    data = made.stream([[made.psample(made.USER, user("work", 4), 3)]])
    wanted = convert(data, "pprof", "--program=prog")
    (tmp_path / "x-readelf").write_text(
        f"#!/bin/sh\n{readelf.format(elves.tool('readelf'))}\n"
    )
    (tmp_path / "x-readelf").chmod(0o755)
    monkeypatch.setenv("CROSS", f"{tmp_path}/x-")
    assert lines.by_readelf(convert.folder / "prog") is None
    assert convert(data, "pprof", "--program=prog") == wanted


def test_without_line_numbers(convert: Converter) -> None:
    elves.build(convert.folder, "bare", elves.PROGRAM_TEXT, PROGRAM, flags=[])
    data = made.stream([[made.psample(made.USER, user("work", 4), 3)]])
    profile = Pprof(convert(data, "pprof", "--program=bare"))
    (sample,) = profile.samples
    assert sample["stack"] == [("work", user("work", 4), "", 0)]
    assert not any(8 in m or 9 in m for m in profile.mappings.values())


def test_the_same_bytes_every_time(convert: Converter) -> None:
    for to in "folded", "pprof", "speedscope", "callgrind", "svg", "gmon":
        said = LOST
        if to == "gmon":
            text = "the histogram omits 106 samples of other code, 40 of them idle"
            said += f"tally-convert: data: {text}\n"
        twice = [convert(pcs_stream(), to, said=said) for _ in range(2)]
        assert twice[0] == twice[1]


def test_kernel_addresses_are_extended(convert: Converter) -> None:
    """Of 32 bits; a user's aren't, and a stack's in the kernel are."""
    low = 0x80300000
    data = made.stream([
        [made.psample(made.KERNEL, low, 3), made.stack([low + 8])],
        [made.psample(made.USER, low, 3)],
    ])
    assert convert.folded(data) == (
        "pid 3;[kernel];0xffffffff80300007;0xffffffff80300000 1\n"
        "pid 3;[user];0x80300000 1\n"
    )


def test_a_buffer_full_of_stacks(convert: Converter) -> None:
    """Of every length, so that their sizes are what readers must know."""
    samples = [
        [made.psample(made.USER, user("work"), 3), made.stack(user=[1] * n)]
        for n in range(100)
    ]
    out = convert.folded(made.stream(samples), "--program=3=prog")
    assert sum(int(line.split()[-1]) for line in out.splitlines()) == 100


def test_idle_can_be_left_out(convert: Converter) -> None:
    data = made.stream([[made.msample(made.IDLE, 9)], [made.msample(made.MUSER, 1)]])
    assert convert.folded(data) == "[idle] 9\nmerged;[user] 1\n"
    assert convert.folded(data, "--no-idle") == "merged;[user] 1\n"


def test_losses_at_the_limit(convert: Converter) -> None:
    data = made.logbuf([made.msample(made.IDLE, 1)], lost=32767)
    said = "tally-convert: data: 32767 or more samples lost\n"
    convert.folded(data, said=said)
    assert Pprof(convert(data, "pprof", said=said)).comments[-1] in said


def test_a_stream_without_its_end(convert: Converter) -> None:
    sample = made.logbuf([made.msample(made.IDLE, 4)])
    data = made.logbuf([made.ssample(made.START, BEGIN)]) + sample
    said = "tally-convert: data: the recording wasn't stopped: its end may be missing\n"
    assert convert.folded(data, said=said) == "[idle] 4\n"


# --- Call stacks ---------------------------------------------------------------


def test_what_ra_held(convert: Converter) -> None:
    """The first address may be the interrupted function's own, where its mode
    begins; only there, and then it is no caller."""
    inner, work = user("inner"), back("inner")
    own = user("inner", 8)
    system = address("sys_read")
    tail = [back("work"), back("main")]
    samples = [
        # In user mode: left out; kept, as it's another's; kept, as it's second.
        [made.psample(made.USER, inner, 3), made.stack(user=[own, *tail])],
        [made.psample(made.USER, inner, 3), made.stack(user=tail)],
        [made.psample(made.USER, inner, 4),
         made.stack(user=[back("work"), own, back("main")])],
        # A call that is the last instruction is its function's all the same.
        [made.psample(made.USER, inner, 5), made.stack(user=[work, *tail])],
        # In the kernel: both parts have one, the user's after where it was.
        [made.psample(made.KERNEL, system, 6),
         made.stack([system + 4, back("syscall")], [inner, own, *tail])],
        [made.psample(made.KERNEL, system, 6),
         made.stack([back("syscall")], [inner, *tail])],
        # Nothing of the kernel's, or of the user's.
        [made.psample(made.KERNEL, system, 7), made.stack([], [inner, own, *tail])],
        [made.psample(made.KERNEL, system, 8), made.stack([system + 4])],
        [made.psample(made.USER, inner, 9), made.stack(user=[own])],
    ]
    stack = "[user];main;work;inner"
    assert convert.folded(made.stream(samples), "--program=prog") == (
        "pid 8;[kernel];sys_read 1\n"
        f"prog (3);{stack} 2\n"
        "prog (4);[user];main;inner;work;inner 1\n"
        f"prog (5);{stack} 1\n"
        f"prog (6);{stack};[kernel];syscall;sys_read 2\n"
        f"prog (7);{stack};[kernel];sys_read 1\n"
        "prog (9);[user];inner 1\n"
    )


def test_what_ra_held_at_the_end(convert: Converter) -> None:
    """Where a function that called itself has taken its frame away, ra is its
    caller; and it comes again where the first frame has it, too."""
    inner, at_ret = user("inner"), user("inner", 8)
    own, tail = user("inner", 8), [back("work"), back("main")]
    samples = [
        [made.psample(made.USER, at_ret, 3), made.stack(user=[own, *tail])],
        [made.psample(made.USER, inner, 4), made.stack(user=[tail[0], *tail])],
        [made.psample(made.USER, at_ret, 5), made.stack(user=[own, own, *tail])],
    ]
    assert convert.folded(made.stream(samples), "--program=prog") == (
        "prog (3);[user];main;work;inner;inner 1\n"
        "prog (4);[user];main;work;inner 1\n"
        "prog (5);[user];main;work;inner;inner;inner 1\n"
    )


def test_what_was_interrupted(convert: Converter) -> None:
    """An odd address is one more than where a trap or a signal interrupted;
    what ra held then comes after it."""
    read, wait = address("sys_read"), address("idle_wait")
    inner, own = user("inner"), user("inner", 8)
    samples = [
        # The first instruction of a function is still that function's.
        [made.psample(made.KERNELI, address("clock_interrupt"), 0, 1, 5),
         made.stack([back("trap_vector"), wait + 1, back("_boot")])],
        [made.psample(made.KERNELI, address("clock_interrupt"), 0, 1, 5),
         made.stack([back("trap_vector"), read + 1, read + 8, back("syscall")])],
        [made.psample(made.USER, user("work"), 4),
         made.stack(user=[back("main"), inner + 1, own, back("_start")])],
    ]
    assert convert.folded(made.stream(samples), "--program=prog") == (
        "no process;[interrupt];_boot;idle_wait;trap_vector;clock_interrupt 1\n"
        "no process;[interrupt];syscall;sys_read;trap_vector;clock_interrupt 1\n"
        "prog (4);[user];_start;inner;main;work 1\n"
    )


def test_a_cut_stack_says_so(convert: Converter) -> None:
    """Of either part: it begins with [cut], not with a function."""
    read, inner = address("sys_read"), user("inner")
    samples = [
        [made.psample(made.USER, inner, 3), made.stack(user=[back("work")], cut=0x05)],
        [made.psample(made.KERNEL, read, 4),
         made.stack([back("syscall")], [inner], cut=0x02)],
        [made.psample(made.KERNEL, read, 5),
         made.stack([back("syscall")], cut=0x11)],
    ]
    assert convert.folded(made.stream(samples), "--program=prog") == (
        "pid 5;[user];[cut];[kernel];[cut];syscall;sys_read 1\n"
        "prog (3);[user];[cut];work;inner 1\n"
        "prog (4);[user];[cut];inner;[kernel];syscall;sys_read 1\n"
    )


# --- Which program? ------------------------------------------------------------


def test_a_program_for_all_that_fit(convert: Converter) -> None:
    data = made.stream([
        [made.psample(made.USER, user("work"), 3)],
        [made.psample(made.USER, user("work"), 4)],
        [made.psample(made.USER, 0x5000, 4)],
    ])
    assert convert.folded(data, "--program=prog") == (
        "pid 4;[user];0x10080 1\npid 4;[user];0x5000 1\nprog (3);[user];work 1\n"
    )


def test_programs_by_pid_and_name(convert: Converter) -> None:
    elves.build(convert.folder, "other", elves.PROGRAM_TEXT, ("a", "b", "c", "d"))
    data = made.stream([[made.psample(made.USER, user("work"), p)] for p in (3, 4, 5)])
    words = ["--program=4=other", "--program=name=prog"]
    assert convert.folded(data, *words) == (
        "name (3);[user];work 1\nname (5);[user];work 1\nother (4);[user];c 1\n"
    )
    which = "may be prog or other: select one with --program"
    assert convert.folded(
        data[:], "--program=prog", "--program=other", "--program=3=prog",
        said=f"tally-convert: data: process 4 {which} 4=FILE\n"
        f"tally-convert: data: process 5 {which} 5=FILE\n",
    ) == (
        "pid 4;[user];0x10080 1\npid 5;[user];0x10080 1\nprog (3);[user];work 1\n"
    )


def test_what_ps_said(convert: Converter) -> None:
    """A process's last line counts; build/bin has a program of that name."""
    elves.build(convert.folder, "other", elves.PROGRAM_TEXT, ("a", "b", "c", "d"))
    text = "  PID S NAME\n 3 R sh\n\n 4 R x/y\n 5 S sh\n 6 S mine\n 3 R mine\nx\n"
    (convert.folder / "ps").write_text(text)
    main = Image(BIN / "sh").symbol("main")
    data = made.stream([
        *([made.psample(made.USER, user("work"), pid)] for pid in (3, 4, 6, 7)),
        [made.psample(made.USER, main, 5)],
        [made.psample(made.KERNEL, address("syscall"), 4)],
    ])
    words = ["--ps=ps", "--program=mine=prog", "--program=6=other"]
    assert convert.folded(data, *words) == (
        "mine (3);[user];work 1\nmine (7);[user];work 1\nother (6);[user];c 1\n"
        "sh (5);[user];main 1\nx/y (4);[kernel];syscall 1\n"
        "x/y (4);[user];0x10080 1\n"
    )
    assert convert.folded(data, *words, "--no-pids") == (
        "mine;[user];work 2\nother;[user];c 1\nsh;[user];main 1\n"
        "x/y;[kernel];syscall 1\nx/y;[user];0x10080 1\n"
    )


# --- Counters and histograms -----------------------------------------------------


def buckets(counts: dict[int, int]) -> list[int]:
    words = [0] * BUCKETS
    for pc, count in counts.items():
        words[(pc - elves.KERNEL_TEXT) // 8] += count
    return words


def test_kpdata(convert: Converter) -> None:
    counts = {address("syscall"): 5, address("syscall") + 60: 3,
              address("idle_wait") + 8: 70000}
    data = made.kpdata(buckets(counts), user=11)
    assert convert.folded(data) == (
        "[idle];idle_wait 70000\n[kernel];syscall 8\n[user] 11\n"
    )
    said = "tally-convert: data: the histogram omits 11 samples of other code\n"
    gmon = convert(data, "gmon", said=said)
    assert convert.flat("kernel.elf", gmon) == {"idle_wait": 700.0, "syscall": 0.08}


@pytest.mark.machines("4")
def test_kpdata_agrees_with_kprof(guest: Guest, images: Images) -> None:
    kernel = KernelImage(images)
    counts = {kernel.symbol(name): 7 + i for i, name in enumerate(
        ("memcpy", "sys_read", "idle_wait", "trap_vector", "exit_user"))}
    made_up = "".join(
        f"echo sample kernel 0 0 0 {pc + 6:#x} {n} >/dev/profclock\n"
        for pc, n in counts.items()
    )
    result = guest(
        "echo hold >/dev/profclock\necho startclr >/dev/kpctl\n" + made_up
        + "echo stop >/dev/kpctl; cat /dev/kpdata; kprof >&2"
    )
    out = subprocess.run(
        [CONVERT, "--to=folded", "-"], input=result.stdout, capture_output=True
    ).stdout.decode()
    ours = {tuple(re.split("[; ]", line)[1:]) for line in out.splitlines()}
    rows = [line.split() for line in result.err.splitlines()[1:]]
    assert ours == {(name, count) for count, _, name in rows}
    assert kpdata.Counts(result.stdout, kernel).kernel == sum(counts.values())


def test_prf(convert: Converter) -> None:
    """What was counted from the first record to the last."""
    table = [0, address("_boot"), address("sys_read")]
    data = made.prf_log(table, [
        (BEGIN, [1, 2, 3, 4, 5]), (BEGIN + 60, [1, 2, 10, 5, 9]),
        (BEGIN + 120, [2, 2, 11, 5, 10]),
    ])
    assert convert.folded(data) == (
        "[idle] 5\n[kernel];0x0 1\n[kernel];sys_read 8\n[user] 1\n"
    )
    file = json.loads(convert(data, "speedscope"))
    assert [w // 10**7 for w in file["profiles"][0]["weights"]] == [7, 1, 4, 1, 1, 1]
    assert Pprof(convert(data, "pprof")).number(10) == 120 * 10**9


def test_prf_of_one_record_or_loaded_again(convert: Converter) -> None:
    table = [address("sys_read")]
    one = made.prf_log(table, [(BEGIN, [3, 0, 2])])
    said = "only one record: its counts begin when the table was loaded"
    said = f"tally-convert: data: {said}\n"
    assert convert.folded(one, said=said) == "[idle] 2\n[kernel];sys_read 3\n"
    again = made.prf_log(table, [(BEGIN, [9, 9, 9]), (END, [1, 0, 2])])
    said = (
        "tally-convert: data: counters decreased, so they are assumed to have restarted at 0\n"
    )
    assert convert.folded(again, said=said) == "[idle] 2\n[kernel];sys_read 1\n"


def test_mon(convert: Converter) -> None:
    low, high = user("_start"), user("inner") + elves.STEP
    counters = [0] * ((high - low) // 4)
    counters[(user("work") - low) // 4] = 65535
    counters[(user("inner") - low) // 4 + 1] = 3
    data = made.mon(low, high, counters, [(user("work"), 12), (0, 0)])
    assert convert.folded(data, "--program=name=prog") == (
        "name;[user];inner 3\nname;[user];work 65535\n"
    )
    assert convert.folded(data) == "[user];0x10080 65535\n[user];0x100c4 3\n"
    gmon = convert(data, "gmon", "--program=prog", "--hz=1000")
    assert convert.flat("prog", gmon) == {"work": pytest.approx(65.535, abs=0.01)}
    assert re.search(r" 65\.5\d +12 .* work$", convert.gprof("prog", gmon, "-p"), re.M)


def test_mon_whose_counters_do_not_fit_evenly(convert: Converter) -> None:
    """The last function that begins before a counter's end has it."""
    low, high = user("_start"), user("inner") + elves.STEP
    data = made.mon(low, high, [1, 2, 4])  # 85 and a third bytes each
    assert convert.folded(data, "--program=prog") == (
        "prog;[user];inner 4\nprog;[user];main 1\nprog;[user];work 2\n"
    )


def test_gmon(convert: Converter) -> None:
    low, high = user("_start"), user("inner") + elves.STEP
    bins = [0] * ((high - low) // 2)
    bins[(user("main") - low) // 2] = 65535
    histogram = made.gmon_histogram(low, high, bins, 250)
    arc = made.gmon_arc(user("main"), user("work"), 77)
    data = made.gmon([histogram, arc, histogram])
    assert convert.folded(data, "--program=prog") == "prog;[user];main 131070\n"
    assert Pprof(convert(data, "pprof")).number(12) == 4_000_000
    # The one that is too high for a record has records of its own.
    at = user("main")
    made_of = [(low, at, [0] * ((at - low) // 2)), (at, at + 2, [65535])]
    made_of += [made_of[1], (at + 2, high, [0] * ((high - at) // 2 - 1))]
    records = [made.gmon_histogram(*args, 250) for args in made_of]
    again = convert(data, "gmon")
    assert again == made.gmon([*records, arc])
    assert convert.flat("prog", again) == {"main": 524.28}


def test_gmon_of_the_kernel_or_of_a_process(convert: Converter) -> None:
    samples = [[made.psample(made.KERNEL, address("sys_read"), 3)]] * 70_000
    samples += [[made.psample(made.USER, user("work"), 3)]] * 5
    data = made.stream(samples)
    said = "tally-convert: data: the histogram omits 5 samples of other code\n"
    kernel = convert(data, "gmon", said=said)
    assert convert.flat("kernel.elf", kernel) == {"sys_read": 700.0}
    for of in "3", "prog":
        process = convert(data, "gmon", "--program=prog", f"--of={of}",
                          said=said.replace("5", "70,000", 1))
        assert convert.flat("prog", process) == {"work": 0.05}
    assert convert.flat("prog", convert(
        data, "gmon", "--of=3", said=said.replace("5", "70,000", 1)
    )) == {"work": 0.05}


# --- Files ----------------------------------------------------------------------


def test_the_outputs_name_tells(convert: Converter, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(made.logbuf([made.msample(made.IDLE, 4)]))
    begins = {"x.folded": b"[idle] 4\n", "x.txt": b"[idle]", "x.json": b"{",
              "x.svg": b"<?xml", "x.pb.gz": b"\x1f\x8b", "x.gmon": b"gmon",
              "x.callgrind": b"# callgrind", "y.SVG": b"<?xml",
              "gmon.out": b"gmon"}
    for name, begin in begins.items():
        result = convert.run("--kernel=kernel.elf", str(tmp_path / "data"),
                             str(tmp_path / name))
        assert (result.returncode, result.stdout) == (0, b"")
        assert (tmp_path / name).read_bytes().startswith(begin)
    assert sorted(f.name for f in tmp_path.iterdir()) == sorted([*begins, "data"])


def test_several_outputs(convert: Converter, tmp_path: Path) -> None:
    """Each is what it is alone, and what there is to say is said once."""
    names = ["x.svg", "x.txt", "x.pb.gz", "x.json"]
    alone = [convert(pcs_stream(), to, "--program=prog", "--title=t", said=LOST)
             for to in ("svg", "folded", "pprof", "speedscope")]
    outputs = [str(tmp_path / name) for name in names]
    result = convert.run("--kernel=kernel.elf", "data", "--program=prog", *outputs,
                         "--title=t")
    assert (result.returncode, result.stderr.decode()) == (0, LOST)
    assert [(tmp_path / name).read_bytes() for name in names] == alone


def test_standard_input_and_output(convert: Converter) -> None:
    data = made.logbuf([made.msample(made.IDLE, 4)])
    result = convert.run("--to=folded", "-", data=data)
    assert (result.stdout, result.stderr) == (b"[idle] 4\n", b"")
