"""scripts/test-on: what it refuses, and what it leaves when it is interrupted.

A script stands in for debootstrap. That the commands pass on a bare Debian is
seen by running it, as .ci/run does; here, too, how .ci/run adds up.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Iterator

import pytest

from tally import ROOT
from tally.verify.patience import HANG, wait_for

TEST_ON = str(ROOT / "scripts" / "test-on")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can")


def name_spaces() -> bool:
    command = ["unshare", "--mount", "--pid", "--fork", "true"]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tally" / "trixie"


@pytest.fixture
def debootstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator:
    """debootstrap(SHELL SCRIPT) is what test-on then takes for it: its
    arguments are the release, the folder and the mirror."""
    if not name_spaces():
        pytest.skip("no name spaces for mounts here")
    if not shutil.which("git"):
        pytest.skip("no git")
    folder = tmp_path / "bin"
    folder.mkdir()

    def make(script: str) -> None:
        file = folder / "debootstrap"
        file.write_text(f"#!/bin/sh\nshift 2\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    return make


def run(*words: str, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TEST_ON, *words], capture_output=True, text=True, timeout=HANG, **options
    )


def assert_one_line(result: subprocess.CompletedProcess, text: str) -> None:
    assert result.returncode == 126
    assert result.stderr.startswith("test-on: ") and text in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words, text", [([], "usage: "), (["-x", "13"], "usage: "), (["11"], "there are 12 and 13")]
)
def test_usage(words: list[str], text: str) -> None:
    result = run(*words)
    assert result.returncode == 126
    assert text in result.stderr.splitlines()[-1]


@as_root
def test_not_root(tmp_path: Path) -> None:
    """In a copy, for others may not read the checkout."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    command = [str(tmp_path / "scripts" / "test-on"), "13"]
    result = subprocess.run(command, capture_output=True, text=True, user=65534)
    assert_one_line(result, "only root")


@as_root
def test_what_debootstrap_says(cache: Path, debootstrap) -> None:
    debootstrap("echo I: Retrieving; echo E: no such mirror; exit 1")
    assert_one_line(run("13"), "debootstrap: no such mirror")
    assert not list(cache.glob("root.*"))


@as_root
def test_one_at_a_time(cache: Path, debootstrap) -> None:
    debootstrap("exit 1")
    cache.mkdir(parents=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert_one_line(run("trixie"), "another test-on is running in")


@as_root
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_stays(cache: Path, debootstrap, number: signal.Signals) -> None:
    """No process, no mount, no folder; and what was mounted there is whole."""
    precious = cache.parent / "precious"
    precious.mkdir(parents=True)
    (precious / "file").write_text("text")
    debootstrap(
        f'mkdir -p "$2/mnt"; mount --bind {precious} "$2/mnt"\n'
        f'(setsid sleep 1000 &); touch {cache}/begun; sleep 1000'
    )
    process = subprocess.Popen(
        # Which a shell's job in the background would have ignored.
        ["env", "--default-signal=INT", TEST_ON, "13"], stderr=subprocess.DEVNULL
    )
    wait_for((cache / "begun").exists, "debootstrap is called", process)
    process.send_signal(number)
    expected = -number if number == signal.SIGKILL else 128 + number
    assert process.wait(HANG) == expected
    with open(cache / "lock") as lock:  # every process of its run holds it
        wait_for(lambda: is_free(lock.fileno()), "no process is left")
    assert str(cache) not in Path("/proc/self/mountinfo").read_text()
    if number == signal.SIGKILL:  # the next run does it
        debootstrap("exit 1")
        run("13")
    assert not list(cache.glob("root.*"))
    assert (precious / "file").read_text() == "text"


def is_free(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


CI_PART = "#!/bin/sh\necho '== short test summary info =='\n{}\n"


@pytest.mark.parametrize(
    "here, there, sums",
    [
        ("echo == 5 passed in 0.1s ==", "echo == 7 passed, 1 skipped in 2.0s ==",
         "12 passed, 0 failed, 1 skipped"),
        ("echo == 2 failed, 10 passed, 1 error in 0.1s ==; exit 1",
         "echo == 1 passed, 2 errors in 0.1s ==; exit 1",
         "11 passed, 5 failed, 0 skipped"),
        ("echo == 9 passed in 0.1s ==", "echo test-on: only root >&2; exit 126",
         "9 passed, 1 failed, 0 skipped"),
        ("exit 126", "echo == 5 passed in 0.1s ==; exit 1",
         "5 passed, 2 failed, 0 skipped"),
    ],
)  # fmt: skip
def test_ci_adds_up(tmp_path: Path, here: str, there: str, sums: str) -> None:
    said, status = ci(tmp_path, here, there)
    assert said == sums
    assert (status == 0) == (" 0 failed" in sums)


def test_ci_leaves_nothing_out_in_silence(tmp_path: Path) -> None:
    """Only a word does that, and the last line says so, and what was skipped."""
    here = "echo 'SKIPPED [2] tests/test_a.py:9: no Go'\necho == 5 passed in 0.1s =="
    said = ci(tmp_path, here, "exit 1", without="debian13")
    assert said == ("5 passed, 0 failed, 0 skipped (no Go; without debian13)", 0)


def test_ci_has_no_part_of_that_name(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="ci: WITHOUT=labs: no such part"):
        ci(tmp_path, "exit 0", "exit 0", without="labs")


def ci(folder: Path, here: str, there: str, without: str = "") -> tuple[str, int]:
    """.ci/run's last line, without the time, and its status, with scripts that
    do that."""
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    for name, script in ("scripts/test", here), ("scripts/test-on", there):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(CI_PART.format(script))
        file.chmod(0o755)
    env = {**os.environ, "WITHOUT": without}
    result = subprocess.run(
        [folder / ".ci" / "run"], capture_output=True, text=True, env=env
    )
    assert result.stderr == ""
    last = result.stdout.splitlines()[-1]
    (words,) = re.findall(r"===== (.+) in \d+s(.*) =====", last)
    return "".join(words), result.returncode
