"""Limits that the host sets: a share that is full or read-only, a flood of
output, no input. Those of the guest: guest/limits.c.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.guest import Guest, Images
from harness.tools import tool
from tally import ROOT
from tally.boot import frames, machine
from tally.verify.machines import MACHINES
from tally.verify.patience import wait_for

PROGRAMS = Path(__file__).parent / "console"
LIES = Path(__file__).parent / "malformed" / "preload.c"

FLOOD = 600_000  # bytes
LINES = 20_000


def around(images: Images, folder: Path, script: str) -> Guest:
    """A machine whose QEMU is started by a script: exec "$qemu" "$@"."""
    return Guest(images.started_by(folder, script), MACHINES["4"])


@pytest.fixture
def share(tmp_path: Path) -> Path:
    folder = tmp_path / "share"
    folder.mkdir()
    return folder


def test_read_only_share(images: Images, tmp_path: Path, share: Path) -> None:
    """Each attempt to change something says so; reading goes on."""
    (share / "file").write_text("text\n")
    script = """for a do shift; case $a in
local,path=*) a=$a,readonly=on ;;
esac; set -- "$@" "$a"; done; exec "$qemu" "$@" """
    commands = ("echo x >/host/new", "echo x >>/host/file", "rm /host/file")
    commands += ("mkdir /host/dir", "mv /host/file /host/name")
    guest = around(images, tmp_path, script)
    result = guest("\n".join(commands) + "\ncat /host/file", share=str(share))
    assert result.out == "text\n"
    errors = result.err.splitlines()
    assert len(errors) == len(commands)
    assert all("Read-only file system" in line for line in errors), errors


def test_file_size_limit_of_the_host(
    images: Images, tmp_path: Path, share: Path
) -> None:
    """EFBIG, and the file has what was written before. (QEMU needs files of its
    own, as large as the machine's memory: the limit is above that.)"""
    limit, room = 1 << 30, 100_000
    with open(share / "big", "wb") as file:
        file.truncate(limit - room)
    script = f"trap '' XFSZ; exec prlimit --fsize={limit} \"$qemu\" \"$@\""
    guest = around(images, tmp_path, script)
    result = guest("yes | head -c 1000000 >>/host/big; echo $?", share=str(share))
    assert "File too large" in result.err
    with open(share / "big", "rb") as file:
        file.seek(limit - room)
        assert file.read() == b"y\n" * (room // 2)


def test_full_share(images: Images, tmp_path: Path, share: Path) -> None:
    """ENOSPC, and when something is removed there is room again."""
    inside = f"mount -t tmpfs -o size=1m none {share}"
    try:
        subprocess.run(
            ["unshare", "-rm", "sh", "-c", inside], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system can be mounted here, to be filled")
    script = f'exec unshare -rm sh -c \'{inside} && exec "$@"\' - "$qemu" "$@"'
    guest = around(images, tmp_path, script)
    result = guest(
        "cd /host; yes | head -c 3000000 >big; ls -l big\n"
        "echo more >small; cat small; rm big; echo fits >new; cat new",
        share=str(share),
    )
    assert "No space left on device" in result.err
    assert result.out.splitlines()[-1] == "fits"


def test_a_server_that_contradicts_itself(
    images: Images, tmp_path: Path, share: Path
) -> None:
    """A name isn't there, but can't be created, as it is: an error, and no loop."""
    library = tmp_path / "preload.so"
    subprocess.run([tool("cc"), "-shared", "-fPIC", "-o", library, LIES], check=True)
    (share / "evil").touch()
    guest = around(images, tmp_path, f'LD_PRELOAD={library} exec "$qemu" "$@"')
    result = guest("echo x >/host/evil; echo x >/host/new", share=str(share))
    assert result.err == "sh: /host/evil: Input/output error\n"
    assert (share / "new").read_text() == "x\n"


@pytest.mark.parametrize("name", ["4", "free"])
def test_flood(images: Images, name: str) -> None:
    """As much as one likes, on both channels and from four processes, and no
    byte is lost."""
    each = FLOOD // 4
    writers = f"yes | head -c {each} & yes | head -c {each} >&2 & "
    result = Guest(images, MACHINES[name])(f"{writers}{writers}wait")
    assert len(result.stdout) == len(result.stderr) == 2 * each
    assert set(result.stdout) == set(b"y\n")


@pytest.mark.parametrize("name", ["4", "free"])
def test_flood_that_nobody_hears(
    images: Images, share: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Nothing is read until the guest says, by a file, that its port is full:
    EAGAIN. Then who writes waits, and no line is lost."""
    full = share / "full"

    def hears(channel: str) -> None:
        if channel == frames.STDOUT:
            wait_for(full.exists, "the guest says that its port is full")

    monkeypatch.setattr(machine, "PIPE_SIZE", 4096)
    guest = Guest(images, MACHINES[name], hears)
    command = f"flood /host/full {LINES}"
    result = guest(command, extra=PROGRAMS, share=str(share))
    assert (result.err, result.status) == ("", 0)
    assert result.out.splitlines() == [f"{i:07}" for i in range(LINES)]


def test_no_input() -> None:
    """A shell with nobody at the terminal waits, as for one who thinks; only a
    limit ends that."""
    run = subprocess.run(
        [str(ROOT / "scripts" / "run"), "--limit", "3", "--timeout", "120"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert b"\ntally$ " in run.stdout.replace(b"\r", b"")
    assert b"time limit reached" in run.stdout
    assert run.returncode == 124
