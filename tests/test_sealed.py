"""A recording of getpc's survives that parts of it are lost: getpc(1), "The file".

What is left keeps its samples and their programs, and what is lost is counted.
"""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple, Optional

import pytest

from harness import pcstream as pcs, profiles as made
from harness.guest import Guest
from tally import ROOT
from tally.build import image
from tally.build.files import Files
from tally.profile import read_pcs
from tally.profile.profile import Profile, Sample

ACCOUNT = 20
AGAIN = 64  # buffers, after which a context is said again (getpc(1))
WORK = """for i in 1 2 3 4 5 6 7 8; do ls /bin; done
head -n 5000 /usr/share/words >/tmp/words
sort /tmp/words >/tmp/sorted
for i in 1 2 3 4 5 6; do grep -c a /tmp/words; uniq -c </tmp/sorted; wc /tmp/words; done
sort /tmp/words >/tmp/sorted
"""


class Recording(NamedTuple):
    buffers: list[bytes]
    parts: list[list[Sample]]  # of each buffer, as the whole recording has them
    whole: Profile
    folder: Path  # /host of the guest

    def samples(self, buffers: Iterable[int]) -> list[Sample]:
        return [s for i in buffers for s in self.parts[i]]


def count(buffer: bytes) -> int:
    """The buffer's records with samples."""
    return sum(
        r[0] < pcs.START or r[0] in (pcs.KERNELI, pcs.MKERNELI)
        for r in pcs.records(buffer)
    )


def parts(buffers: list[bytes], samples: list[Sample]) -> Iterator[list[Sample]]:
    at = 0
    for n in map(count, buffers):
        yield samples[at : at + n]
        at += n
    assert at == len(samples)


def hits(samples: list[Sample]) -> int:
    return sum(s.count for s in samples)


FILES = Files(image.BUILD)


def program(profile: Profile, s: Sample) -> Optional[tuple[str, Optional[Path]]]:
    """What a sample's process executed, and the host's file of it."""
    if s.process is None:
        return None
    process = profile.processes[s.process]
    found = process.digest and FILES.find(process.program, process.digest)
    return process.name, found or None


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("sealed")
    (folder / "work").write_text(WORK)
    command = [
        ROOT / "scripts" / "run",
        "--harts",
        "2",
        "--icount",
        "5",
        "--share",
        folder,
        "--",
        "echo hz 4000 >/dev/profclock; "
        "getpc -s -o /host/pc.out sh /host/work >/tmp/out",
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    stream = (folder / "pc.out").read_bytes()
    buffers = [stream[i : i + pcs.BSIZE] for i in range(0, len(stream), pcs.BSIZE)]
    whole = read_pcs.read("pc.out", stream)
    return Recording(buffers, list(parts(buffers, whole.samples)), whole, folder)


def check(r: Recording, kept: list[int], damaged: bytes) -> Profile:
    """What is read of a damaged stream, of which these buffers are whole."""
    profile = read_pcs.read("damaged", damaged)
    wanted = r.samples(kept)
    assert [s[:3] for s in profile.samples] == [s[:3] for s in wanted]
    last = kept[-1] if kept else -1
    gone = [i for i in range(last) if i not in kept]
    assert profile.lost == r.whole.lost + hits(r.samples(gone))
    gaps = [w for w in profile.warnings if "missing or damaged" in w]
    assert [w.split(" of ")[0] for w in gaps] == [
        f"buffers missing or damaged: {len(gone):,}" for _ in gaps
    ]
    assert bool(gaps) == bool(gone)
    lacking = set(gone)
    unknown = 0
    for s, original in zip(profile.samples, wanted):
        found = program(profile, s)
        assert found in (program(r.whole, original), None) or not found[1]
        unknown += found != program(r.whole, original)
    # The buffers after a gap that may have contexts which aren't said again yet.
    assert unknown <= len(
        r.samples(i for i in kept if not lacking.isdisjoint(range(i - AGAIN - 8, i)))
    )
    return profile


def test_all_is_said(recording: Recording) -> None:
    """The numbers and checksums are those that <sys/pcs.h> describes."""
    buffers = recording.buffers
    assert len(buffers) > 600
    (first,) = {pcs.records(buffer)[-1][2:4] for buffer in buffers}
    number = int.from_bytes(first, "little")
    assert pcs.seal(pcs.unseal(b"".join(buffers)), number) == buffers
    for s in recording.whole.samples:
        if s.user_addresses() and s.process is not None:
            assert program(recording.whole, s)[1]


@pytest.mark.parametrize("part", range(1, 8))
def test_cut(recording: Recording, part: int) -> None:
    """The end is missing: all that is there has its names. That the end is missing is
    said; how much it had, nobody knows."""
    n = len(recording.buffers) * part // 8
    stream = b"".join(recording.buffers)
    for size in (n * pcs.BSIZE, n * pcs.BSIZE + 100, n * pcs.BSIZE + 511):
        profile = check(recording, list(range(n)), stream[:size])
        assert (
            "the recording wasn't stopped: its end may be missing" in profile.warnings
        )
        for s, original in zip(profile.samples, recording.samples(list(range(n)))):
            assert program(profile, s) == program(recording.whole, original)


def test_without_parts(recording: Recording) -> None:
    """The first buffer, or 200 in the middle, or every tenth, or the beginning of a
    program that runs for long."""
    n = len(recording.buffers)
    of_sort = [i for i, part in enumerate(recording.parts)
               if any((program(recording.whole, s) or "-")[0] == "sort" for s in part)]
    begin = range(of_sort[0] - 9, of_sort[0] + 1)
    assert of_sort[90] < of_sort[0] + 200
    for gone in (range(1), range(200, 400), range(3, n - 1, 10), range(1, n - 1), begin):
        kept = [i for i in range(n) if i not in gone]
        check(recording, kept, b"".join(recording.buffers[i] for i in kept))


def test_damaged(recording: Recording) -> None:
    """A changed bit anywhere in a buffer, bytes that are missing or too many, and a
    buffer that is there twice."""
    n = len(recording.buffers)
    events = [i for i, buffer in enumerate(recording.buffers)
              if any(r[0] in (made.BORN, made.EXECED) for r in pcs.records(buffer))]
    for i in range(n - 1):
        buffers = list(recording.buffers)
        at = i * 73 % pcs.BSIZE
        changed = bytearray(buffers[i])
        changed[at] ^= 1 << i % 8
        buffers[i] = bytes(changed)
        if i in events[::3]:
            check(recording, [j for j in range(n) if j != i], b"".join(buffers))
        else:
            assert not read_pcs.logbufs.seal_at(buffers[i], 0)
    rest = recording.buffers
    for stream, gone in (
        (b"".join(rest)[700:], (0, 1)),
        (b"".join([*rest[:99], rest[99][:300], *rest[100:]]), (99,)),
        (b"".join([*rest[:99], b"\x15\2" * 50, *rest[99:]]), ()),
        (b"".join([*rest[:99], rest[98], *rest[99:]]), ()),
    ):
        check(recording, [j for j in range(n) if j not in gone], stream)


def test_tools(recording: Recording, guest: Guest) -> None:
    """tally-convert and analpc take what is left, and say what isn't there."""
    folder = recording.folder
    kept = [i for i in range(len(recording.buffers)) if i not in range(200, 400)]
    left = hits(recording.samples(kept))
    lost = hits(recording.samples(list(range(200, 400))))
    (folder / "pc.gap").write_bytes(b"".join(recording.buffers[i] for i in kept))
    whole = b"".join(recording.buffers)
    (folder / "pc.start").write_bytes(whole[:100] + whole[150:])
    (folder / "pc.more").write_bytes(b"more" + whole)
    message = (
        f"pc.gap: buffers missing or damaged: 200 of the first"
        f" {len(recording.buffers)}, with {lost} samples\n"
    )
    done = subprocess.run(
        [ROOT / "scripts" / "tally-convert", folder / "pc.gap", folder / "gap.folded"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert message in done.stderr.replace(",", "").replace(" with", ", with")
    rows = (folder / "gap.folded").read_text().splitlines()
    assert sum(int(row.rsplit(" ", 1)[1]) for row in rows) == left
    result = guest("analpc -n 1 /host/pc.gap", share=str(folder))
    assert result.status == 1
    assert result.stderr.decode() == f"analpc: /host/{message}"
    assert f"\nsamples   {left}\n" in result.stdout.decode()
    start, more = (
        guest(f"analpc -n 0 /host/pc.{name} 2>&1 | head -n 6", share=str(folder))
        for name in ("start", "more")
    )
    total = hits(recording.whole.samples)
    assert f"\nsamples   {total}\n" in start.stdout.decode()
    assert "pc.start: buffers missing or damaged: 1 of" in start.stdout.decode()
    assert more.stdout.decode().startswith("start ")
    assert f"\nsamples   {total}\n" in more.stdout.decode()


# --- Made streams --------------------------------------------------------------


def sealed(*buffers: bytes) -> list[bytes]:
    return pcs.seal(
        [
            pcs.logbuf(pcs.start(1_800_000_000)),
            *buffers,
            pcs.logbuf(pcs.stop(1_800_000_001)),
        ]
    )


def test_a_context_that_is_said_again() -> None:
    """It is the one of before; the process that its pid has meanwhile is another."""
    sample = pcs.psample(pcs.USER, 5, 0x10100)
    first = pcs.logbuf(made.born(7, 5, 100), made.execed(7, 5, 110, b"first"))
    second = pcs.logbuf(made.execed(8, 5, 500, b"second", of=7))
    again = pcs.logbuf(made.born(7, 5, 110), made.execed(7, 5, 110, b"first"))
    late = pcs.logbuf(
        made.moment(90), made.at(7, 60) + sample, made.at(8, 440) + sample
    )
    for buffers, number in (
        ([first, second, again, late], 2),
        ([second, again, late], 2),
        ([first, again, second, late], 2),
    ):
        profile = read_pcs.read("made", b"".join(sealed(*buffers)))
        names = [
            profile.processes[s.process].name
            for s in profile.samples
            if s.process is not None
        ]
        assert names == ["first", "second"]
        assert len(profile.processes) == number


LATE = [
    pcs.logbuf(made.born(8, 5, 490), made.execed(8, 5, 500, b"second", of=7)),
    pcs.logbuf(made.born(7, 5, 110), made.execed(7, 5, 110, b"first")),
    pcs.logbuf(made.born(9, 5, 600, of=8, parent=5)),
    pcs.logbuf(made.moment(90), made.at(9, 600) + pcs.psample(pcs.USER, 5, 0x10100),
               made.at(0, 610) + pcs.psample(pcs.USER, 5, 0x10100)),
]


def test_a_program_of_before_stays_so() -> None:
    """What a process executed before, and is said late, isn't what it executes now."""
    profile = read_pcs.read("made", b"".join(sealed(*LATE)))
    found = {p.name: (p.begin, p.end) for p in profile.processes}
    assert found["first"][1] == found["second"][0] and found["second"][1] is None
    of_thread = profile.samples[0].process
    assert of_thread is not None and profile.processes[of_thread].name == "second"


def test_analpc_knows_what_is_executed_now(guest: Guest, tmp_path: Path) -> None:
    """analpc(1): the program that a process executed last."""
    without_thread = [LATE[0], LATE[1], LATE[3]]
    (tmp_path / "late").write_bytes(b"".join(sealed(*without_thread)))
    result = guest("analpc /host/late", share=str(tmp_path))
    assert " 5 second, in the kernel 0\n" in result.stdout.decode()


def test_another_recording(recording: Recording) -> None:
    """Buffers of an older recording in the file, which the disk may still have had."""
    other = pcs.seal(pcs.unseal(b"".join(recording.buffers)), 99)
    stream = [*recording.buffers[:50], other[90], *recording.buffers[50:], *other]
    profile = read_pcs.read("mixed", b"".join(stream))
    assert profile.samples == recording.whole.samples
    said = f"buffers of another recording: {len(other) + 1:,}"
    assert said in profile.warnings


def test_losses_in_missing_buffers() -> None:
    """What the device lost is known by the account at the end, also if the buffer whose
    header has it is missing; without that account it is said to be more."""
    sample = pcs.psample(pcs.USER, 5, 0x10100)
    account = made.event(ACCOUNT, 0, 0, 9, struct.pack("<4Q", 107, 0, 0, 0))
    buffers = sealed(pcs.logbuf(sample, sample), pcs.logbuf(sample, lost=100),
                     pcs.logbuf(sample, lost=7), pcs.logbuf(account))
    whole = read_pcs.read("made", b"".join(buffers))
    assert (whole.lost, whole.lost_more) == (107, False)
    gap = read_pcs.read("made", b"".join([*buffers[:2], *buffers[3:]]))
    assert (gap.lost, gap.lost_more) == (108, False)
    without = read_pcs.read("made", b"".join([buffers[0], *buffers[3:4]]))
    assert (without.lost, without.lost_more) == (7 + 3, True)
