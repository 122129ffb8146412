"""prof, and gmon.out as the host's gprof reads it.

guest/gmon is compiled with -pg: what it does is known, in calls and ticks.
What the files hold is checked by it and by guest/monitor.c.
"""

from __future__ import annotations

import io
import re
import struct
import subprocess
import tarfile
from pathlib import Path
from typing import Callable

import pytest

from harness import elves
from harness.guest import Guest, Images
from tally.verify.machines import ONE

HOLD = "cd /tmp; echo hold >/dev/profclock\n"
KNOWN = " | grep -E '^(name|f[123] )'\n"  # whatever the compiler made of main


@pytest.fixture(scope="module")
def gprof(images: Images, tmp_path_factory) -> Callable[[bytes, str], str]:
    """gprof(gmon, option): what it says of a gmon.out of guest/gmon."""
    folder = tmp_path_factory.mktemp("gprof")
    with tarfile.open(fileobj=io.BytesIO(images.programs["gmon"])) as tar:
        program = folder / "gmon"
        program.write_bytes(tar.extractfile("./bin/gmon").read())

    def run(gmon: bytes, option: str) -> str:
        profile = folder / "gmon.out"
        profile.write_bytes(gmon)
        result = subprocess.run(
            [elves.tool("gprof"), "-b", option, program, profile],
            check=True,
            capture_output=True,
            text=True,
        )
        assert result.stderr == ""
        return result.stdout

    return run


def flat(text: str) -> dict[str, list[str]]:
    """The rows of a flat profile, by name; without the last column."""
    rows = [line.split() for line in text.splitlines()]
    return {row[-1]: row[:-1] for row in rows if row}


# --- On the host -------------------------------------------------------------


@pytest.mark.machines(ONE)
def test_gprof(guest: Guest, gprof: Callable[[bytes, str], str]) -> None:
    """Calls, seconds and percent are exact."""
    made = guest(HOLD + "gmon calls; cat gmon.out")
    assert made.err == ""
    counts = dict(re.findall(r"\((\w+):0x\w+\) (\d+) exec", gprof(made.stdout, "-C")))
    assert (counts["f1"], counts["f2"]) == ("2000", "1000")
    assert (counts["f3"], counts["main"]) == ("1", "1")
    rows = flat(gprof(made.stdout, "-p"))
    assert rows["f1"][:4] == ["75.00", "3.00", "3.00", "2000"]
    assert rows["f2"][:4] == ["25.00", "4.00", "1.00", "1000"]
    assert rows["f3"][:4] == ["0.00", "4.00", "0.00", "1"]


def test_gprof_call_graph(guest: Guest, gprof: Callable[[bytes, str], str]) -> None:
    """Who called whom, and whose time was whose."""
    text = gprof(guest(HOLD + "gmon calls; cat gmon.out").stdout, "-q")
    (entry,) = [e for e in text.split("-" * 47) if re.search(r"^\[\d+\].* f1 ", e, re.M)]
    callers = re.findall(r"(\d+/\d+) +(\w+)", entry)
    assert sorted(callers) == [("1000/2000", "f2"), ("1000/2000", "f3")]


def test_gprof_of_real_ticks(guest: Guest, gprof: Callable[[bytes, str], str]) -> None:
    """The sum of the ticks is the time that the program had."""
    made = guest("cd /tmp; gmon burn; cat gmon.out")
    rows = flat(gprof(made.stdout, "-p"))
    assert float(rows["burn"][0]) > 90
    assert abs(float(rows["burn"][2]) - 0.5) < 0.05


def test_a_full_counter_is_told(guest: Guest) -> None:
    made = guest(HOLD + "gmon full; prof -m gmon.out /bin/gmon" + KNOWN)
    assert made.err == "gmon: gmon.out: 1 counters reached their limit\n"
    assert made.out.splitlines()[1].split()[:3] == ["f1", "99.8", "655.35"]


def test_calls_that_find_no_cell_are_told(guest: Guest) -> None:
    made = guest(HOLD + "gmon few; head -c 24 mon.out")
    assert struct.unpack("<QQQ", made.stdout)[2] == 1
    assert re.fullmatch(r"gmon: mon\.out: \d+ calls were not recorded\n", made.err)


def test_a_file_that_cannot_be_written_is_told(guest: Guest) -> None:
    made = guest("cd /tmp; mkdir gmon.out; gmon calls; echo $?")
    assert (made.out, made.err) == ("0\n", "gmon: can't write the profile: Is a directory\n")


# --- The build ---------------------------------------------------------------

TRIVIAL = "int main(void) { return 0; }\n"


def test_flags_beside_single_files(guest: Guest, tmp_path: Path) -> None:
    """They are the compiler's, and not a file of the guest's."""
    (tmp_path / "single.c").write_text(TRIVIAL)
    (tmp_path / "flags").write_text("-pg\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "main.c").write_text(TRIVIAL)
    look = "cd /tmp; folder; ls gmon.out; single; ls gmon.out /extra/flags"
    made = guest(look, extra=tmp_path)
    assert made.out == "gmon.out\n"
    assert made.err.count("No such file or directory") == 2


def test_other_programs_have_no_part_of_it(guest: Guest) -> None:
    assert guest("grep -c __gmon_write /bin/sh /bin/cat").out == (
        "/bin/sh:0\n/bin/cat:0\n"
    )


# --- prof --------------------------------------------------------------------


@pytest.mark.machines(ONE)
def test_report(guest: Guest, expected: Callable[[str, str], None]) -> None:
    """Of mon.out and of gmon.out, and at other rates."""
    made = guest(
        HOLD
        + "gmon calls; gmon mon; echo hz 200 >/dev/profclock\n"
        + "prof -m gmon.out /bin/gmon"
        + KNOWN
        + "prof /bin/gmon"
        + KNOWN
        + "cp mon.out other; cp /bin/gmon a.out; prof -r 1000 -m other"
        + KNOWN
    )
    assert made.err == ""
    expected("prof.txt", made.out)


def profile(low: int, high: int, *counters: int) -> str:
    """A command that makes /tmp/m a mon.out."""
    data = struct.pack("<QQQ", low, high, 0)
    data += struct.pack(f"<{len(counters)}H", *counters)
    octal = "".join(f"\\{byte:03o}" for byte in data)
    return f"printf '{octal}' >/tmp/m\n"


def test_nothing_counted(guest: Guest) -> None:
    made = guest(profile(0x10000, 0x10004, 0, 0) + "prof -m /tmp/m /bin/sh")
    assert made.out.split() == "name %time seconds cumsecs #calls ms/call".split()


def test_a_counter_of_several_functions_is_divided(guest: Guest) -> None:
    """f1, f2 and f3 have 64 bytes each: one counter of 192 for all."""
    start = guest(HOLD + "gmon mon; head -c 8 mon.out").stdout
    low = int.from_bytes(start, "little")  # of f1
    command = profile(low, low + 192, 300) + "prof -r 100 -m /tmp/m /bin/gmon"
    made = guest(command)
    seconds = [line.split()[2] for line in made.out.splitlines()[1:]]
    assert seconds == ["1.00", "1.00", "1.00"]


def test_errors(guest: Guest) -> None:
    usage = "usage: prof [-m PROFILE] [-r HZ] [PROGRAM]\n"
    bad = "truncated, or not a profile"
    wanted = {
        "prof -x": (2, f"prof: unknown option -x\n{usage}"),
        "prof -m": (2, f"prof: option -m needs a value\n{usage}"),
        "prof -r 0": (2, f"prof: not a rate in Hz from 1 to 2147483647: 0\n{usage}"),
        "prof a b": (2, f"prof: one operand too many: b\n{usage}"),
        "prof": (1, "prof: a.out: No such file or directory\n"),
        "prof /bin/sh": (1, "prof: mon.out: No such file or directory\n"),
        "prof -m /tmp /bin/sh": (1, "prof: /tmp: Is a directory\n"),
        "prof /etc/command": (1, "prof: /etc/command: not a 64-bit executable\n"),
        "prof -m /dev/null /bin/sh": (1, f"prof: /dev/null: {bad}\n"),
        "prof -m /etc/command /bin/sh": (1, f"prof: /etc/command: {bad}\n"),
        "prof -m /bin/sh /bin/sh": (1, f"prof: /bin/sh: {bad}\n"),
    }
    cut = "cd /tmp; gmon calls; gmon mon; "
    for name, size in (("gmon", 40), ("gmon", 999), ("mon", 20), ("mon", 40), ("mon", 999)):
        command = f"{cut}head -c {size} {name}.out >m; prof -m m /bin/gmon"
        wanted[command] = (1, f"prof: m: {bad}\n")
    odd = f"{cut}(cat gmon.out; echo) >m; prof -m m /bin/gmon"
    wanted[odd] = (1, f"prof: m: {bad}\n")
    version = f"{cut}(printf 'gmon\\002'; tail -c +6 gmon.out) >m; prof -m m /bin/gmon"
    wanted[version] = (1, "prof: m: an unknown version of gmon.out\n")
    results = guest.batch(wanted)
    assert {r.command: (r.status, r.err) for r in results} == wanted
    assert all(r.out == "" for r in results)


def test_a_profile_of_another_program(guest: Guest) -> None:
    """It has no text there, or its functions don't count their calls."""
    far = profile(0x100000, 0x100004, 0, 1) + "prof -m /tmp/m /bin/gmon"
    calls = "cd /tmp; gmon calls; prof -m gmon.out /bin/true"
    no_text, no_calls = guest.batch([far, calls])
    assert (no_text.status, no_text.out) == (1, "")
    said = "prof: /tmp/m: not a profile of /bin/gmon, which has no text at 0x100002\n"
    assert no_text.err == said
    assert (no_calls.status, no_calls.out) == (1, "")
    said = "prof: gmon.out: not a profile of /bin/true, which counts no calls\n"
    assert no_calls.err == said
