"""/host: a folder of the host's, shared with the guest over 9P.

What a program sees is checked by host/host_calls.c; here, what the other side
sees of it, and the folders that a host may have.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from harness.checks import assert_checks
from harness.guest import Guest, Images
from harness.tools import tool
from tally.verify.machines import MACHINES, Machines

PROGRAMS = Path(__file__).parent / "host"
LARGE = 5_000_000  # bytes


@pytest.fixture
def share(tmp_path: Path) -> Path:
    folder = tmp_path / "a, b"  # a comma is special to QEMU
    folder.mkdir()
    return folder


@pytest.mark.machines(Machines(("4", "free"), ("1", "8", "no-sstc")))
def test_calls(guest: Guest, share: Path) -> None:
    assert_checks(guest("/bin/host_calls", extra=PROGRAMS, share=str(share)))
    assert list(share.iterdir()) == []


def test_names_that_are_gone(guest: Guest, share: Path) -> None:
    """host(4): a file that was removed while it was open can still be used."""
    assert_checks(guest("/bin/nameless", extra=PROGRAMS, share=str(share)))
    assert list(share.iterdir()) == []


def test_no_memory(guest: Guest, share: Path) -> None:
    """Each allocation fails once; see guest/no_memory.c."""
    assert_checks(guest("/bin/no_memory /host", share=str(share)))


def test_both_sides_see_the_same(guest: Guest, share: Path) -> None:
    data = random.Random(1).randbytes(LARGE)
    (share / "in").write_bytes(data)
    (share / "folder").mkdir()
    result = guest(
        "cd /host; cp in folder/out; rm in; mkdir new; echo text >new/file\n"
        "echo more >>new/file; chmod 640 new/file; mv new/file new/name\n"
        "cp /bin/echo .; chmod +x echo; ./echo runs",
        share=str(share),
    )
    assert (result.out, result.err) == ("runs\n", "")
    assert (share / "folder" / "out").read_bytes() == data
    assert not (share / "in").exists()
    assert (share / "new" / "name").read_text() == "text\nmore\n"
    assert (share / "new" / "name").stat().st_mode & 0o777 == 0o640


def test_set_id_bits_stay_here(guest: Guest, share: Path) -> None:
    """No program makes one of the host's files run as its owner."""
    result = guest(
        "cd /host; cp /bin/echo .; chmod 6755 echo; ls -l echo | cut -c1-10\n"
        "cp /bin/echo /tmp/f; chmod 4711 /tmp/f\n"
        "cp -p /tmp/f copy; mv /tmp/f moved",
        share=str(share),
    )
    assert (result.out, result.err) == ("-rwxr-xr-x\n", "")
    modes = {f.name: f.stat().st_mode & 0o7777 for f in share.iterdir()}
    assert modes == {"echo": 0o755, "copy": 0o711, "moved": 0o711}


def test_what_isnt_shared(guest: Guest, share: Path) -> None:
    """Pipes and sockets aren't opened. A link leads where it does in the guest,
    and never out of the folder."""
    (share.parent / "secret").write_text("secret")
    (share / "link").symlink_to("../secret")
    (share / "absolute").symlink_to(share.parent / "secret")
    (share / "inside").symlink_to("absolute")
    os.mkfifo(share / "fifo")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(os.path.relpath(share / "socket"))
        result = guest(
            "echo mine >/secret; cd /host\n"
            "cat link absolute inside fifo socket; ls",
            share=str(share),
        )
    assert result.err.splitlines() == [
        "cat: absolute: No such file or directory",
        "cat: inside: No such file or directory",
        "cat: fifo: No such device or address",
        "cat: socket: No such device or address",
    ]
    assert result.out.split() == "mine absolute fifo inside link socket".split()


def test_what_cant_be_run(guest: Guest, share: Path) -> None:
    """It says so, and what can be still is, though the server knows of both."""
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(os.path.relpath(share / "socket"))
        (share / "socket").chmod(0o755)
        result = guest(
            "cd /host; cp /bin/echo .; chmod +x echo; ./socket; ./socket; ./echo runs",
            share=str(share),
        )
    assert result.err == "sh: ./socket: No such device or address\n" * 2
    assert result.out == "runs\n"


def test_what_cant_be_opened(guest: Guest, share: Path) -> None:
    """The host runs it: it can't be written to, each time, and still be read."""
    program = share / "program"
    shutil.copy("/bin/sleep", program)
    process = subprocess.Popen([program, "1000"])
    try:
        result = guest(
            "cd /host; for i in 1 2 3; do echo >program; done; wc -c <program",
            share=str(share),
        )
    finally:
        process.kill()
        process.wait()
    assert result.err == "sh: program: Text file busy\n" * 3
    assert int(result.out) == program.stat().st_size


def test_without_a_share(guest: Guest) -> None:
    result = guest("ls -a /host")
    assert result.out.split() == [".", ".."]


def test_what_was_synced_is_there(images: Images, share: Path) -> None:
    """QEMU is killed just after: the file is whole."""
    source = share.parent / "programs"
    source.mkdir()
    (source / "sync.c").write_text(
        "#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n"
        "int main(void) { static char c[100000]; int fd;\n"
        'fd = open("/host/data", O_CREAT | O_WRONLY, 0666);\n'
        "write(fd, c, sizeof(c)); if (fsync(fd) == 0) puts(\"synced\");\n"
        "fflush(stdout); for (;;) ; }\n"
    )
    run = subprocess.Popen(
        ["scripts/run", "--share", share, "--extra", source, "--", "sync"],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert run.stdout and run.stdout.readline() == b"synced\n"
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text()
    for child in children.split():
        os.kill(int(child), signal.SIGKILL)
    assert run.wait() == 126
    assert (share / "data").read_bytes() == bytes(100000)


def test_a_disk_that_is_full(images: Images, share: Path, tmp_path: Path) -> None:
    """A write ends where the host lets it end, and so does its offset."""
    # Blocks of 512 bytes. QEMU 10 has files of its own, of some megabytes.
    limited = f"trap '' XFSZ\nulimit -f {2**30 // 512}\nexec \"$qemu\" \"$@\""
    guest = Guest(images.started_by(tmp_path, limited), MACHINES["4"])
    assert_checks(guest("/bin/host_full", extra=PROGRAMS, share=str(share)))
    with (share / "full").open("rb") as file:
        file.seek(2**30 - 65_537)
        assert file.read() == b"\0" + b"x" * 65_536


# QEMU's answer to a directory is one error, if it can't stat one of its entries.
UNSTATABLE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int
look(const char *function, int dir, const char *name, void *st, int flags)
{
	static int asked;
	int (*next)(int, const char *, void *, int) = dlsym(RTLD_NEXT, function);

	if (strcmp(name, "bad") != 0 && (strcmp(name, "gone") != 0 || asked++ >= 2))
		return next(dir, name, st, flags);
	errno = ENOENT;
	return -1;
}

int
fstatat(int dir, const char *name, struct stat *st, int flags)
{
	return look("fstatat", dir, name, st, flags);
}

int
fstatat64(int dir, const char *name, struct stat64 *st, int flags)
{
	return look("fstatat64", dir, name, st, flags);
}
"""


def test_an_entry_that_has_no_stat(images: Images, share: Path, tmp_path: Path) -> None:
    """host(4): one that has just gone is passed over; of one that stays, what comes
    before it is listed, and nothing is copied by halves."""
    (tmp_path / "unstatable.c").write_text(UNSTATABLE)
    library = tmp_path / "unstatable.so"
    build = ["-shared", "-fPIC", "-w", str(tmp_path / "unstatable.c"), "-o", library]
    subprocess.run([tool("gcc"), *build], check=True)
    for folder in ("left", "lost"):
        (share / folder).mkdir()
        for i in range(400):
            (share / folder / f"name{i:03}").touch()
    (share / "left" / "gone").touch()
    (share / "lost" / "bad").touch()
    preloading = f'LD_PRELOAD={library} exec "$qemu" "$@"'
    guest = Guest(images.started_by(tmp_path, preloading), MACHINES["4"])
    command = "cd /host; ls left | wc -l; ls lost >/tmp/l; echo $?; wc -l /tmp/l"
    result = guest(f"{command}; cp -r lost /tmp/copy; ls /tmp", share=str(share))
    all_left, status, listed, _, *files = result.out.split()
    assert (all_left, status, files) == ("401", "1", ["l"])
    before = os.listdir(share / "lost").index("bad")
    assert before - 16 <= int(listed) <= before  # those of an answer of 512 bytes
    assert result.err == (
        "ls: lost: can't read the whole directory: No such file or directory\n"
        "cp: lost: can't read the whole directory: No such file or directory\n"
    )


def test_no_such_folder() -> None:
    run = subprocess.run(
        ["scripts/run", "--share", "/nowhere", "--", "true"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 126
    assert run.stderr.count("\n") == 1
    assert "/nowhere: there is no such folder" in run.stderr
