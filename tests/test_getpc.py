"""getpc, analpc and pcstat: the stream to the byte, and what is told of it.

Their options and errors are in tests/commands.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Callable

import pytest
from elftools.elf.elffile import ELFFile

from harness import pcstream as pcs
from harness.console import Console
from harness.guest import Guest, Images, Result
from harness.kernel_image import KernelImage
from tally.build import image
from tally.verify.machines import MADE, TAKEN, words

KERNEL_PC = 0xFFFFFFFF80201234
USER_PC = 0x12345678
CALLTREE = Path(__file__).parent / "calltree"
HOLD = "echo hold >/dev/profclock\n"


def sample(mode: str, pid: int, level: int, pc: int, count: int) -> str:
    return f"echo sample {mode} 0 {pid} {level} {pc:#x} {count} >/dev/profclock\n"


def times(stream: bytes) -> tuple[int, int]:
    """Of START, and of STOP, which must be where they belong."""
    first, last = stream[4:12], stream[-pcs.BSIZE + 4 :][:8]
    (start, stop) = (struct.unpack("<BxxxI", r) for r in (first, last))
    assert (start[0], stop[0]) == (pcs.START, pcs.STOP)
    return start[1], stop[1]


# --- getpc -------------------------------------------------------------------


@pytest.mark.machines(MADE)
def test_every_byte(guest: Guest) -> None:
    """START and the requests, what the device gave, STOP; nothing more."""
    made = (
        sample("user", 5, 0, USER_PC, 60)
        + sample("intr", 32767, 5, KERNEL_PC, 2)
        + sample("idle", 0, 0, KERNEL_PC, 38)
        + sample("kernel", 0, 1, KERNEL_PC + 2, 63)
        + sample("user", 5, 0, 4, 10)
    )
    result = guest(
        f"{HOLD}getpc -m -ka -b 7 -g 77 -p 7,9 -o /tmp/s sh -c '{made}'; cat /tmp/s"
    )
    begun, ended = times(result.stdout)
    assert begun <= ended <= begun + 60
    wanted = pcs.logbuf(
        pcs.start(begun),
        pcs.request(pcs.BUF_INCR, 7),
        pcs.request(pcs.PROF_KERNEL),
        pcs.request(pcs.PROF_GROUP, 77),
        pcs.request(pcs.PROF_LIST, 7, 9),
        pcs.request(pcs.PROF_ALL),
    )
    wanted += pcs.logbufs(
        [pcs.psample(pcs.USER, 5, USER_PC)] * 60
        + [pcs.psample(pcs.KERNELI, 32767, KERNEL_PC, level=5)] * 2
        + [pcs.msample(pcs.IDLE, 38)]
        + [pcs.psample(pcs.KERNEL, 0, KERNEL_PC + 2, level=1)] * 63
    )
    wanted += pcs.logbuf(*[pcs.psample(pcs.USER, 5, 4)] * 10)
    assert result.stdout == wanted + pcs.logbuf(pcs.stop(ended))
    assert result.err == ""


@pytest.mark.machines("4", "free")
def test_what_was_only_counted(guest: Guest) -> None:
    """It is stored at the end, for each hart."""
    made = sample("user", 5, 0, USER_PC, 200) + sample("idle", 0, 0, USER_PC, 10)
    other = sample("kernel", 5, 0, KERNEL_PC, 7).replace("kernel 0", "kernel 3")
    result = guest(
        f"{HOLD}getpc -m -p 77 -o /tmp/s sh -c '{made}{other}'; cat /tmp/s"
    )
    records = [r for r in pcs.records(result.stdout) if r[0] not in pcs.MADE_BY_GETPC]
    assert records == [
        pcs.msample(pcs.MUSER, 100),
        pcs.msample(pcs.MUSER, 100),
        pcs.msample(pcs.IDLE, 10),
        pcs.msample(pcs.MKERNEL, 7, hart=3),
    ]
    assert result.err == ""


def lost_before(stream: bytes) -> list[int]:
    """What the header of each buffer says."""
    buffers = range(0, len(stream), pcs.BSIZE)
    return [struct.unpack("<HH", stream[i : i + 4])[1] for i in buffers]


@pytest.mark.machines("1", "4", "free")
def test_full_at_the_end(guest: Guest) -> None:
    """Buffers that are full when the command ends are read."""
    made = sample("user", 5, 0, USER_PC, 3 * pcs.NUMSAMPS + 12)
    ended = 'until ps | grep -q "^ *$$ .* Z "; do :; done'
    work = f"kill -STOP $PPID\n{made}({ended}; kill -CONT $PPID) &\nexit 5\n"
    result = guest(
        f"cat >/tmp/work <<'END'\n{work}END\n"
        f"{HOLD}getpc -m -o /tmp/s sh /tmp/work; echo $? >&2; cat /tmp/s"
    )
    assert lost_before(result.stdout) == [0, 0, 0, 0, 12]
    told = "12 of 201 samples were lost"
    assert result.err == f"getpc: {told}\n5\n"


@pytest.mark.machines("1", "4", "free")
def test_lost(guest: Guest) -> None:
    """getpc is stopped for a while; what is lost after the last buffer is told."""
    full = sample("user", 5, 0, USER_PC, 3 * pcs.NUMSAMPS + 12)
    part = sample("user", 5, 0, USER_PC, pcs.NUMSAMPS)
    emptied = "until grep -q '^full 0' /dev/pcstat; do :; done\n"
    command = f"kill -STOP $PPID\n{full}kill -CONT $PPID\n{emptied}"
    result = guest(
        f"cat >/tmp/work <<'END'\n{command}{part}{emptied}{command}END\n"
        f"{HOLD}getpc -m -o /tmp/s sh /tmp/work; cat /tmp/s; analpc /tmp/s >&2"
    )
    assert lost_before(result.stdout) == [0, 0, 0, 0, 12, 0, 0, 0, 12]
    assert "getpc: 24 of 465 samples were lost\n" in result.err
    assert "\nsamples   441\nlost      24\n" in result.err


@pytest.mark.parametrize("stacks", ["", "-s"])
@pytest.mark.machines(TAKEN)
def test_all_is_accounted_for(guest: Guest, stacks: str) -> None:
    """Of real samples: those in the file, and those that are said to be lost."""
    work = f"{words(60_000)} | sort | uniq -c >/tmp/words"
    result = guest(
        "echo hz 1000 >/dev/profclock; echo jitter on >/dev/profclock\n"
        f"getpc -m -b 7 {stacks} sh -c '{work}'; echo hold >/dev/profclock; analpc\n"
        "cat /dev/pcstat >&2"
    )

    def figure(name: str, text: str) -> int:
        return int(re.search(rf"^{name} +(\d+)$", text, re.M)[1])

    seen, lost = (figure(name, result.err) for name in ("seen", "lost"))
    stored = figure("samples", result.out)
    assert stored + lost == seen and stored > 0
    assert figure("lost", result.out) == lost
    told = f"getpc: {lost} of {seen} samples were lost\n" if lost else ""
    if skipped := figure("skipped", result.err):
        told += f"getpc: {skipped} more samples were due, but skipped\n"
    assert result.err.startswith(told + "owner")
    assert (figure("pending", result.err), figure("thrown", result.err)) == (0, 0)
    for table in tables(result.out).values():
        shown = [int(line.split()[0]) for line in table]
        assert shown == sorted(shown, reverse=True)
    for name in ("kind", "hart"):
        rows = tables(result.out)[name]
        assert sum(int(line.split()[0]) for line in rows) == stored


@pytest.mark.parametrize("stacks", ["", "-s"])
@pytest.mark.machines("fine-1", "fine-4")
def test_none_lost(guest: Guest, stacks: str) -> None:
    """20,000 a second, beside processes that only compute: two for each hart, which
    have had as much time as getpc before it begins. Of four harts, one is sampled at
    a time."""
    harts = guest.machine.harts
    result = guest(
        f"for i in $(seq {2 * harts}); do (while :; do :; done) & done\n"
        "sleep 0.1; echo hz 20000 >/dev/profclock\n"
        f"getpc -m {stacks} -o /tmp/s sleep 0.3; cat /dev/pcstat"
    )
    figure = dict(re.findall(r"^(\w+) (\d+)$", result.out, re.M))
    assert int(figure["seen"]) > 5000
    assert figure["lost"] == "0"
    assert "lost" not in result.err


@pytest.mark.machines("1")
def test_none_lost_of_deep_stacks(guest: Guest) -> None:
    """10,000 a second on scripts/tally's machine, where getpc gets the processor for
    what they leave. Of a buffer each fills more than a quarter."""
    result = guest(
        "echo hz 10000 >/dev/profclock\n"
        "getpc -s -o /tmp/s nested 900; cat /dev/pcstat", extra=CALLTREE
    )
    figure = dict(re.findall(r"^(\w+) (\d+)$", result.out, re.M))
    assert int(figure["recorded"]) > 5000
    assert figure["lost"] == "0"
    assert "lost" not in result.err


def test_interrupts(console: Console) -> None:
    """Ctrl-C ends getpc's time, or its command; the stream is whole."""
    armed = "(until grep -q 'requests all' /dev/pcstat; do :; done; echo ar''med)"
    # Not a job of this shell's, which would say at some prompt that it is done.
    console.send(f"({armed} &); getpc\r")
    console.expect("\narmed")
    console.control("c")
    console.wait()
    assert console.run("echo $?; analpc | grep -c stop").split() == ["0", "1"]
    console.send("getpc sh -c 'echo re''ady; sleep 1000'\r")
    console.expect("\nready")
    console.control("c")
    console.wait()
    assert console.run("echo $?; analpc | grep -c stop").split() == ["130", "1"]
    assert console.poweroff() == 0


# --- analpc ------------------------------------------------------------------


def tables(report: str) -> dict[str, list[str]]:
    """The lines of each table."""
    parts = [part.splitlines() for part in report.split("\n\n")[1:]]
    return {title.split("% ")[1]: rows for title, *rows in parts}


@pytest.fixture(scope="module")
def kernel(images: Images) -> KernelImage:
    return KernelImage(images)


def user_function(program: str, name: str) -> int:
    with open(image.BUILD / "bin" / program, "rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        (symbol,) = table.get_symbol_by_name(name)
        return symbol["st_value"]


HEAD = pcs.logbuf(
    pcs.start(0), pcs.request(pcs.PROF_ALL), pcs.request(pcs.PROF_LIST, 3, 4)
)
TAIL = pcs.logbuf(pcs.stop(86400 * 365), lost=3)


def known(kernel: KernelImage) -> bytes:
    """A stream of all types of records, stacks among them."""
    read, copy = kernel.symbol("sys_read"), kernel.symbol("memcpy")
    main = user_function("yes", "main")
    records = [
        pcs.psample(pcs.KERNEL, 7, read, hart=1),
        pcs.stack([copy, read], [main, main]),
        pcs.psample(pcs.KERNEL, 7, read + 8, hart=1, level=5),
        pcs.stack([], []),
        pcs.psample(pcs.KERNELI, 0, copy, hart=15, level=1),
        pcs.psample(pcs.KERNEL, 8, KERNEL_PC & 0xFFFF),
        pcs.psample(pcs.KERNEL, 8, kernel.symbol("etext")),
        pcs.psample(pcs.USER, 7, main),
        pcs.stack([], [main]),
        pcs.psample(pcs.USER, 7, main + 4),
        pcs.psample(pcs.USER, 7, 0),
        pcs.psample(pcs.USER, 8, main),
        pcs.psample(pcs.USER, 32767, main),
        pcs.psample(pcs.USER, 0, main),
        pcs.msample(pcs.IDLE, 50, hart=2),
        pcs.msample(pcs.IDLE, 100, hart=1),
        pcs.msample(pcs.MUSER, 20),
        pcs.msample(pcs.MKERNEL, 30),
        pcs.msample(pcs.MKERNELI, 7),
    ]
    return HEAD + pcs.logbuf(*records[:9], lost=5) + pcs.logbuf(*records[9:]) + TAIL


def test_report(
    guest: Guest,
    kernel: KernelImage,
    tmp_path: Path,
    expected: Callable[[str, str], None],
) -> None:
    (tmp_path / "known").write_bytes(known(kernel))
    names = "/boot/kernel /bin/yes"
    result = guest(
        "cd /extra; analpc known\n"
        f"echo; echo With names; analpc -u 8=/bin/yes known {names} | tail -n +20\n"
        "echo; echo One each; analpc -n 1 known | tail -n +8",
        extra=tmp_path,
    )
    assert result.err == ""
    expected("analpc.txt", result.out)


def test_the_largest_counts(guest: Guest, tmp_path: Path) -> None:
    idle = pcs.msample(pcs.IDLE, 32767)
    stream = HEAD + pcs.logbuf(idle, lost=32767) + pcs.logbuf(pcs.stop(0), lost=1)
    (tmp_path / "s").write_bytes(stream)
    out = guest("analpc /extra/s", extra=tmp_path).out
    assert "\nsamples   32767\nlost      32768 or more\n" in out
    assert "\n   32767   100.0 0, idle 32767\n" in out


def broken() -> dict[str, tuple[bytes, str]]:
    """Streams that can't be, and what is said of each."""
    one = pcs.psample(pcs.USER, 1, 4)
    full = pcs.logbufs([one] * pcs.NUMSAMPS)

    def middle(buffer: bytes) -> bytes:
        return HEAD + full + buffer + TAIL

    def header(unused: int, lost: int) -> bytes:
        return middle(struct.pack("<HH", unused, lost) + full[4:])

    foreign = "not a recording of getpc"
    return {
        "empty": (b"", foreign),
        "text": (b"a text\n" * 100, foreign),
        "zeros": (bytes(4096), foreign),
        "device": (full * 3, foreign),
        "tiny": (HEAD[:4], foreign),
        "nostart": (struct.pack("<HHB", 508, 0, pcs.START) + bytes(507), foreign),
        "types": (middle(pcs.logbuf(one, bytes(8))), "byte 1036: unknown record type 0"),
        "type22": (
            middle(pcs.logbuf(one, b"\x16\1" + bytes(6))),
            "byte 1036: unknown record type 22",
        ),
        "event": (
            middle(pcs.logbuf(one, b"\x0e\2" + bytes(14))),
            "byte 1036: record too short: 16 bytes",
        ),
        "event2": (
            middle(pcs.logbuf(one, b"\x0e\xff" + bytes(22))),
            "byte 1036: the record extends beyond its buffer",
        ),
        "path": (
            middle(pcs.logbuf(one, b"\x10\x08" + bytes(54) + b"/bin/sh!")),
            "byte 1036: unterminated path",
        ),
        "type255": (
            middle(pcs.logbuf(b"\xff" * 8)),
            "byte 1028: unknown record type 255",
        ),
        "unused": (header(509, 0), "byte 1024: invalid header: it says that 509 bytes are unused"),
        "unused2": (header(65535, 0), "byte 1024: invalid header: it says that 65535 bytes are unused"),
        "unused3": (header(5, 0), "byte 1024: invalid header: it says that 5 bytes are unused"),
        "unused4": (header(0, 0), "byte 1024: invalid header: it says that 0 bytes are unused"),
        "lost": (
            header(4, 65535),
            "byte 1024: invalid header: its number of lost records is -1",
        ),
        "pid": (
            middle(pcs.logbuf(pcs.psample(pcs.USER, 32768, 4))),
            "byte 1028: invalid process ID -32768",
        ),
        "count": (
            middle(pcs.logbuf(pcs.msample(pcs.IDLE, 0))),
            "byte 1028: invalid count 0",
        ),
        "count2": (
            middle(pcs.logbuf(pcs.msample(pcs.MUSER, 65535))),
            "byte 1028: invalid count -1",
        ),
        "hart": (
            middle(pcs.logbuf(pcs.msample(pcs.IDLE, 1, hart=16))),
            "byte 1028: invalid hart 16",
        ),
        "stack": (
            middle(pcs.logbuf(one, b"\x0b\xff" + bytes(6))),
            "byte 1036: the record extends beyond its buffer",
        ),
        "stack2": (
            middle(pcs.logbuf(pcs.stack([], [1]))),
            "byte 1028: a stack without a sample",
        ),
        "stack3": (
            middle(pcs.logbuf(one, b"\x0b\x01\x02\x00" + bytes(4))),
            "byte 1036: invalid stack: 1 frames, 2 of them in the kernel",
        ),
        "stack4": (
            middle(pcs.logbuf(one, pcs.stack([], [1], cut=0x60))),
            "byte 1036: unknown reason for a truncated stack: 0x60",
        ),
        "ioctl": (
            middle(pcs.logbuf(pcs.request(pcs.PROF_ALL)[:8])),
            "byte 1028: the record extends beyond its buffer",
        ),
        "start": (
            middle(pcs.logbuf(pcs.start(0))),
            "byte 1028: misplaced START or STOP",
        ),
        "stop": (HEAD + TAIL + full, "byte 1024: data after STOP"),
        "stop2": (
            HEAD + pcs.logbuf(pcs.stop(0), one),
            "byte 516: misplaced START or STOP",
        ),
    }


def test_broken_streams(guest: Guest, tmp_path: Path) -> None:
    """Nothing is said of a stream that can't be trusted."""
    wanted = broken()
    for name, (stream, _) in wanted.items():
        (tmp_path / name).write_bytes(stream)
    results = guest.batch([f"analpc /extra/{n}" for n in wanted], extra=tmp_path)
    for (name, (_, message)), result in zip(wanted.items(), results):
        assert result.err == f"analpc: /extra/{name}: {message}\n"
        assert (result.out, result.status) == ("", 1)


def test_cut_off(guest: Guest, tmp_path: Path) -> None:
    """What is there is told, and that it isn't all."""
    full = pcs.logbufs([pcs.psample(pcs.USER, 1, 4)] * pcs.NUMSAMPS)
    (tmp_path / "within").write_bytes(HEAD + full + full[:-1])
    (tmp_path / "between").write_bytes(HEAD + full)

    def check(result: Result, message: str) -> None:
        assert result.err == f"analpc: /extra/{message}\n"
        assert "\nsamples   63\n" in result.out
        assert result.status == 1

    within, between = guest.batch(
        ["analpc /extra/within", "analpc /extra/between"], extra=tmp_path
    )
    check(within, "within: truncated within a buffer")
    check(between, "between: truncated: no STOP record")


# --- pcstat ------------------------------------------------------------------


def test_pcstat_live(console: Console) -> None:
    """It clears the screen each time, until Ctrl-C."""
    console.send("pcstat -i\r")
    for _ in range(3):
        console.expect("\x1b\\[H\x1b\\[2Jdevice    free")
    console.control("c")
    console.wait()
    assert console.poweroff("echo $?; poweroff") == 0


# --- What it costs ------------------------------------------------------------

# A loop of ten calls deep, and the instructions that passed meanwhile.
LOOP = """
#include <stdio.h>
#include <stdint.h>

static volatile unsigned int sink;

static uint64_t
cycles(void)
{
	uint64_t c;

	asm volatile("rdcycle %0" : "=r"(c));
	return c;
}

static __attribute__((noinline)) void
deep(int n)
{
	if (n > 0)
		deep(n - 1);
	else
		for (unsigned int i = 0; i < 60000000; i++)
			sink = i;
	asm volatile("");
}

int
main(void)
{
	uint64_t begin = cycles();

	deep(10);
	printf("%lu\\n", cycles() - begin);
	return 0;
}
"""


def test_its_own_cost(guest: Guest, tmp_path: Path) -> None:
    """A thousand samples a second with call stacks, and who stores them, take less
    than one instruction in a hundred."""
    (tmp_path / "loop.c").write_text(LOOP)
    result = guest(
        "loop; echo hz 1000 >/dev/profclock; getpc -s -o /tmp/s loop",
        extra=tmp_path, harts=1, icount=0,
    )
    alone, sampled = map(int, result.out.split())
    assert 0 < sampled - alone < alone / 100
