"""What a recording of getpc's tells of itself: <sys/pcs.h>, after PROF_EVENTS.

Every sample has its process, program, thread and time; what can't be told is
counted, and never guessed.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from harness import pcstream as pcs, profiles as made
from harness.guest import Guest
from tally import ROOT
from tally.build import image
from tally.build.files import Files
from tally.formats.digest import digest
from tally.profile import events, read_pcs
from tally.profile.profile import Profile, Sample
from tally.verify.machines import TOGETHER, words

PROGRAMS = Path(__file__).parent / "guest"
FAST = "echo hz 2000 >/dev/profclock; "


def record(guest: Guest, share: Path, commands: str, options: str = "") -> Profile:
    """What getpc has of a shell's commands, with call stacks."""
    (share / "work").write_text(commands)
    command = f"{FAST}getpc -s {options} -o /host/pc.out sh /host/work >/tmp/out"
    guest(command, share=str(share), extra=PROGRAMS)
    return read_pcs.read("pc.out", (share / "pc.out").read_bytes())


def of_processes(profile: Profile) -> list[Sample]:
    """Samples that have a process."""
    return [s for s in profile.samples if s.pid]


@pytest.mark.machines(TOGETHER)
def test_every_sample_explains_itself(guest: Guest, tmp_path: Path) -> None:
    """However short its process lived, and whatever it has become."""
    work = f"{words(30_000)} | sort"
    loop = "for i in 1 2 3 4 5 6 7 8 9 10; do ls /bin; (:); done\n"
    profile = record(guest, tmp_path, f"{loop}{work} | uniq -c\n")
    files = Files(image.BUILD, tmp_path)
    assert profile.hz == 2000
    for s in of_processes(profile):
        assert s.process is not None and s.time is not None
        process = profile.processes[s.process]
        assert process.pid == s.pid
        assert process.begin <= s.time
        assert process.end is None or s.time <= process.end or s.mode != "user"
        if s.user_addresses():
            program = files.find(process.program, process.digest)
            assert program == image.BUILD / process.program[1:]
    names = [p.name for p in profile.processes]
    assert names.count("ls") == 10
    assert {"sort", "uniq", "getpc", "init"} <= set(names)
    assert profile.kernel and files.find("/boot/kernel", profile.kernel)
    ended = [p for p in profile.processes if p.name in ("ls", "sort", "uniq")]
    assert all(p.end for p in ended)


@pytest.mark.machines("4")
def test_threads(guest: Guest, tmp_path: Path) -> None:
    """Samples of one process in several threads."""
    profile = record(guest, tmp_path, "threads\n", "-b 7")
    busy = {s.thread for s in of_processes(profile)
            if profile.processes[s.process].name == "threads"}
    assert len(busy) > 3


@pytest.mark.machines("4")
def test_who_lives_already(guest: Guest, tmp_path: Path) -> None:
    """A process that was there before, and one that is stopped."""
    (tmp_path / "w").write_text("yes >/dev/null &\nyes=$!\n"
                                "getpc -s -o /host/pc.out sleep 0.3\nkill $yes\n")
    guest(f"{FAST}sh /host/w", share=str(tmp_path))
    profile = read_pcs.read("pc.out", (tmp_path / "pc.out").read_bytes())
    names = {profile.processes[s.process].name for s in of_processes(profile)}
    assert "yes" in names
    assert all(p.begin >= 0 for p in profile.processes)


@pytest.mark.machines("4")
def test_removed_and_replaced(guest: Guest, tmp_path: Path) -> None:
    """A program that is removed or written anew is known by what it was when it was
    sampled. Without samples it is measured at the end, and then one that was written
    anew isn't taken for what it was."""
    work = (
        "head -n 20000 /usr/share/words >/tmp/words\n"
        "cp /bin/sort /tmp/gone\n/tmp/gone /tmp/words\nrm /tmp/gone\n"
        "cp /bin/sort /tmp/other\n/tmp/other /tmp/words\n"
        "cp /bin/uniq /tmp/other\n"
    )
    files, sort = Files(image.BUILD), image.BUILD / "bin" / "sort"
    named = {p.name: p for p in record(guest, tmp_path, work).processes}
    assert files.find("/tmp/gone", named["gone"].digest) == sort
    assert files.find("/tmp/other", named["other"].digest) == sort
    only_init = record(guest, tmp_path, work, "-p 1")
    named = {p.name: p for p in only_init.processes}
    assert files.find("/tmp/gone", named["gone"].digest) == sort
    assert named["other"].digest is None


@pytest.mark.machines("4")
def test_no_room_for_events(guest: Guest, tmp_path: Path) -> None:
    """getpc is stopped while more processes come than there is room for."""
    work = "kill -STOP $PPID; until ps | grep -q ' T .* getpc$'; do :; done\n"
    work += "i=0; while [ $i -lt 3500 ]; do (:); i=$((i + 1)); done\n"
    work += "for i in 1 2 3 4; do ls /bin; done; kill -CONT $PPID\n"
    (tmp_path / "work").write_text(work)
    result = guest("getpc -o /host/pc.out sh /host/work >/tmp/out",
                   share=str(tmp_path), limit=600.0)
    profile = read_pcs.read("pc.out", (tmp_path / "pc.out").read_bytes())
    (warning,) = [w for w in profile.warnings if "events lost" in w]
    lost = int(warning.split()[0])
    assert lost > 0
    assert f"getpc: {lost} process events were lost" in result.stderr.decode()
    for s in of_processes(profile):  # none is somebody else's
        if s.process is not None:
            assert profile.processes[s.process].pid == s.pid


@pytest.mark.machines("4")
def test_the_device_is_plain_again(guest: Guest) -> None:
    """After a close nobody has asked for events: the stream is the manual's."""
    result = guest("getpc -o /tmp/a ls >/dev/null; getpc -m -o /tmp/b ls >/dev/null; "
                   "cat /tmp/b")
    kinds = {record[0] for at in range(0, len(result.stdout), pcs.BSIZE)
             for record in read_pcs.records(result.stdout[at : at + pcs.BSIZE])}
    assert max(kinds) < events.MOMENT


def test_another_rate(guest: Guest, tmp_path: Path) -> None:
    profile = record(guest, tmp_path, "ls /bin\necho hz 500 >/dev/profclock\n")
    assert profile.hz == 2000
    assert profile.warnings == ["the rate changed to 500 Hz during the recording"]


def test_another_kernel(guest: Guest, tmp_path: Path) -> None:
    """Its functions get no wrong names."""
    record(guest, tmp_path, "ls /bin\n")
    stream = (tmp_path / "pc.out").read_bytes()
    at = stream.index(b"/boot/kernel\0") - 8  # the CRC
    changed = stream[:at] + bytes([stream[at] ^ 1]) + stream[at + 1 :]
    (tmp_path / "pc.out").write_bytes(b"".join(pcs.seal(pcs.unseal(changed))))
    result = subprocess.run(
        [ROOT / "scripts" / "tally-convert", tmp_path / "pc.out",
         tmp_path / "x.folded"], capture_output=True, text=True,
    )
    assert result.returncode == 1
    assert "another kernel than" in result.stderr and "--kernel" in result.stderr


# --- Contexts are used again --------------------------------------------------


def test_a_context_that_is_used_again() -> None:
    """The time decides; and another process's of the same number is no answer."""
    sample = pcs.psample(pcs.USER, 5, 0x10100)
    stream = pcs.logbuf(
        pcs.start(1_800_000_000),
        made.born(7, 5, 100), made.execed(7, 5, 110, b"first"),
        made.born(7, 6, 300), made.execed(7, 6, 310, b"other"),
        made.born(7, 5, 500), made.execed(7, 5, 510, b"second"),
    ) + pcs.logbuf(
        made.moment(90), made.at(7, 60) + sample, made.at(7, 440) + sample,
        made.at(8, 1) + sample,
    ) + pcs.logbuf(pcs.stop(1_800_000_001))
    profile = read_pcs.read("made", stream)
    names = [profile.processes[s.process].name if s.process is not None else None
             for s in profile.samples]
    assert names == ["first", "second", None]


def archive(folder: Path, name: str, age: int) -> Path:
    """As a build makes it: one program, and the same with symbols beside it."""
    made = folder / f"{name}.tar"
    program = made.with_suffix(".d") / "bin" / "same"
    program.parent.mkdir(parents=True)
    program.write_bytes(b"the same bytes")
    program.chmod(0o755)
    with tarfile.open(made, "w") as tar:
        tar.add(program, "bin/same")
    os.utime(made, (age, age))
    return program


def test_the_same_program_twice(tmp_path: Path) -> None:
    """Built from two places: the newer one's lines are shown, unless it is known
    which was executed."""
    older, newer = archive(tmp_path, "z", 1), archive(tmp_path, "a", 2)
    same = digest(b"the same bytes")
    assert Files(tmp_path).find("/bin/same", same) == newer
    first = tmp_path / "z.tar"
    assert Files(tmp_path, first=first).find("/bin/same", same) == older
