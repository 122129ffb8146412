"""scripts/expect: what its manual promises, and the folder in examples."""

from __future__ import annotations

import argparse
import os
import pexpect
import re
import signal
import subprocess
import threading
import xml.etree.ElementTree as xml
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from harness.guest import Images
from tally import ROOT
from tally.boot import frames
from tally.boot.machine import Boot, Machine, Outcome
from tally.build import image
from tally.commands import expect
from tally.commands.expect import Script
from tally.boot.session import Stopped
from tally.verify.patience import HANG, wait_for

SCRIPT = str(ROOT / "scripts" / "expect")
EXAMPLES = ROOT / "examples" / "expect"
PAGE = ROOT / "docs" / "expect.md"

pytestmark = pytest.mark.usefixtures("images")  # built once, not in a test


def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *map(str, words)], capture_output=True, text=True,
        stdin=subprocess.DEVNULL, env={**os.environ, **environment},
    )


def write(folder: Path, **files: str) -> Path:
    """NAME=text is NAME.sh."""
    for name, text in files.items():
        (folder / f"{name}.sh").write_text(text)
    return folder


def words(result: subprocess.CompletedProcess[str]) -> list[str]:
    """Its lines on scripts, without the differences."""
    return re.findall(r"^(?:ok|FAIL|new|wrote) .*", result.stdout, re.M)


# --- Good folders ------------------------------------------------------------


def test_the_examples_are_as_expected() -> None:
    result = run(EXAMPLES)
    assert (result.returncode, result.stderr) == (0, "")
    assert words(result) == [
        "ok    kprof on 1 hart", "ok    kprof on 4 harts", "ok    prf on 2 harts",
        "ok    prf on 4 harts", "ok    refused on 4 harts",
    ]
    assert result.stdout.endswith("\nexpect: 5 as expected, 0 not\n")


def test_they_are_also_together() -> None:
    """And on another machine."""
    result = run("--together", "--machine", "8", EXAMPLES)
    assert (result.returncode, result.stderr) == (0, "")
    assert words(result) == [
        "ok    kprof on 8 harts", "ok    prf on 8 harts", "ok    refused on 8 harts"
    ]


def test_the_page_quotes_them() -> None:
    """docs/expect.md shows one; its workflow calls what is there."""
    text = PAGE.read_text()
    for name in ("kprof.sh", "kprof.expected"):
        lines = (EXAMPLES / name).read_text().splitlines()
        assert "".join(f"    {line}\n" for line in lines) in text
    (workflow,) = re.findall(r"```yaml\n(.*?)```", text, re.S)
    for name in re.findall(r"tally/(\S+)", workflow):
        assert os.access(ROOT / name, os.X_OK), name
    for option in re.findall(r" (--\w+)", workflow):
        assert option in run("--help").stdout


# --- What an expected file says ----------------------------------------------

EVERYTHING = r"""
# show: text
# show: bytes
# show: /dev/zero 40
# show: none
echo "== status"; echo; printf 'no end'
echo wrong >&2
echo from $PWD, $(cat data) >text
printf 'a\0\377' >bytes
exit 7
"""
EVERYTHING_EXPECTED = r"""== stdout
| == status
|
| no end
\ no newline at the end
== stderr
| wrong
== status
| 7
== text
| from /expect, some
== bytes (hex)
| 00000000  61 00 ff                                          |a..|
| 00000003
== /dev/zero 40 (hex)
| 00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
| *
| 00000020  00 00 00 00 00 00 00 00                           |........|
| 00000028
== none
== none: stderr
| cat: none: No such file or directory
"""


def test_update(tmp_path: Path) -> None:
    """It writes what comes, says what it wrote, and leaves alone what is right."""
    write(tmp_path, all=EVERYTHING, other="echo hello\n")
    (tmp_path / "data").write_text("some\n")
    result = run("--update", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    new = ["new   all on 4 harts: all.expected", "new   other on 4 harts: other.expected"]
    assert words(result) == new
    file = tmp_path / "all.expected"
    assert file.read_text() == EVERYTHING_EXPECTED
    file.write_text(EVERYTHING_EXPECTED.replace("| 7", "| 8"))
    result = run("--update", tmp_path)
    wrote = "wrote all on 4 harts: all.expected"
    assert (words(result), result.returncode) == ([wrote, "ok    other on 4 harts"], 0)
    assert file.read_text() == EVERYTHING_EXPECTED
    assert run(tmp_path).returncode == 0


def test_hexdump() -> None:
    """As the guest's, and the host's, hexdump -C."""
    data = b"0123456789abcdef" * 3 + bytes(range(256)) + bytes(50)
    lines = list(expect.hexdump(data))
    assert lines[0] == "00000000  30 31 32 33 34 35 36 37  " + (
        "38 39 61 62 63 64 65 66  |0123456789abcdef|"
    )
    assert lines[1] == "*" and lines[2].startswith("00000030  00 01 02 ")
    assert lines[-3:] == [
        "*", f"{0x160:08x}  00 00{'':43}  |..|", f"{0x162:08x}",
    ]


# --- What differs ------------------------------------------------------------

DIFFERENCE = """\
FAIL  a on 4 harts: differs from a.expected
--- a.expected
+++ a on 4 harts
@@ -1,4 +1,4 @@
 == stdout
-| 1
+| 2
 == status
 | 0
"""


def test_a_difference(tmp_path: Path) -> None:
    """Shown as a diff, and told with status 1; names select scripts."""
    write(tmp_path, a="echo 1\n", b="echo 1\n")
    run("--update", tmp_path)
    write(tmp_path, a="echo 2\n")
    report = tmp_path / "report.xml"
    report.symlink_to("elsewhere")
    result = run(tmp_path, "--junit", report)
    assert (result.returncode, result.stderr) == (1, "")
    assert report.is_symlink()
    end = "ok    b on 4 harts\nexpect: 1 as expected, 1 not\n"
    assert result.stdout == DIFFERENCE + end
    (suite,) = xml.parse(report).getroot()
    assert suite.get("name") == tmp_path.name
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    bad, good = suite
    assert (bad.get("name"), good.get("name")) == ("a on 4 harts", "b on 4 harts")
    assert (bad[0].get("message"), len(good)) == ("differs from a.expected", 0)
    assert "".join(f"{line}\n" for line in bad[0].text.splitlines()) in DIFFERENCE
    assert words(run(tmp_path, "b.sh")) == ["ok    b on 4 harts"]


def test_a_name_of_any_bytes(tmp_path: Path) -> None:
    """It runs, and where a report can't have the byte there is another character."""
    name = b"a\xff "
    file = os.path.join(os.fsencode(tmp_path), name)
    Path(os.fsdecode(file + b".sh")).write_text("echo 1\n")
    command = [SCRIPT, "--junit", tmp_path / "xml", tmp_path]
    run = subprocess.run(command, capture_output=True)
    first = b"FAIL  " + name + b" on 4 harts: there is no " + name + b".expected"
    assert (run.stdout.startswith(first), run.stderr) == (True, b"")
    (case,) = xml.parse(tmp_path / "xml").getroot().iter("testcase")
    assert case.get("name") == "a?  on 4 harts"


@pytest.mark.parametrize("value, coloured", [("", True), ("1", False)])
def test_colour(tmp_path: Path, value: str, coloured: bool) -> None:
    """On a terminal, unless NO_COLOR says otherwise."""
    write(tmp_path, a="echo 1\n")
    (tmp_path / "a.expected").write_text("== stdout\n== status\n| 0\n")
    environment = {**os.environ, "NO_COLOR": value}
    said, status = pexpect.run(
        f"{SCRIPT} {tmp_path}", env=environment, withexitstatus=True
    )
    assert (b"\x1b[32m+| 1\x1b[m\r\n" in said) == coloured
    assert (b"\x1b" in said, b"+| 1" in said, status) == (coloured, True, 1)


def test_what_is_missing(tmp_path: Path) -> None:
    """An expected file, which is then shown; or a script for one."""
    write(tmp_path, a="echo 1\n")
    (tmp_path / "gone.expected").write_text("")
    result = run(tmp_path)
    assert (result.returncode, result.stderr) == (1, "")
    assert words(result) == [
        "FAIL  gone.expected: it belongs to no script",
        "FAIL  a on 4 harts: there is no a.expected; --update writes it",
    ]
    assert "\n+| 1\n" in result.stdout
    assert not (tmp_path / "a.expected").exists()


# --- Machines ----------------------------------------------------------------


def test_machines(tmp_path: Path) -> None:
    """The same is expected on each, unless one has a file of its own."""
    harts = "# machines: 1 2\nls /dev | grep -c 'prf[0-9]$'\n"
    write(tmp_path, harts=harts, same="# machines: 2 free\necho same\n")
    own = tmp_path / "harts.2.expected"
    result = run("--update", tmp_path)
    new, bad, *same = words(result)
    assert new == "new   harts on 1 hart: harts.expected"
    assert bad.startswith("FAIL  harts on 2 harts: differs from harts.expected, which the")
    assert same == ["new   same on 2 harts: same.expected", "ok    same on 4 harts in parallel"]
    assert not own.exists() and result.returncode == 1
    own.write_text("")
    result = run("--update", tmp_path)
    assert words(result)[:2] == ["ok    harts on 1 hart", f"wrote harts on 2 harts: {own.name}"]
    result = run(tmp_path, "-j", "1", "--machine", "2")
    assert words(result) == ["ok    harts on 2 harts", "ok    same on 2 harts"]
    assert result.returncode == 0


def test_programs(tmp_path: Path) -> None:
    """--extra DIR; and two boots at once print what one after the other does."""
    write(tmp_path, hello="hello you\n", sieve="primes | head -n 3\n")
    extra = ["--extra", ROOT / "examples"]
    assert run("--update", "-j", "2", *extra, tmp_path).returncode == 0
    assert "| Hello, you" in (tmp_path / "hello.expected").read_text()
    result = run("-j", "1", *extra, tmp_path)
    assert (words(result), result.returncode) == (
        ["ok    hello on 4 harts", "ok    sieve on 4 harts"], 0
    )


# --- Machines that die -------------------------------------------------------


@pytest.mark.parametrize("together", [[], ["--together"]])
def test_what_dies(tmp_path: Path, together: list[str]) -> None:
    """It fails, with the kernel's last words; the others don't. Nothing is written
    for it."""
    write(
        tmp_path, a="echo good\n", b="echo before; echo panic on purpose >/dev/ktest\n",
        c="echo partial >&2; sleep 1000\n", d="poweroff\n", e="echo good\n",
    )
    report = tmp_path / "report.xml"
    options = ["--update", "--limit", "2", *together, "--junit", report]
    result = run(*options, tmp_path)
    assert (result.returncode, result.stderr) == (1, "")
    assert words(result) == [
        "new   a on 4 harts: a.expected", "FAIL  b on 4 harts: the kernel panicked",
        "FAIL  c on 4 harts: the limit of 2 s of virtual time is reached",
        "FAIL  d on 4 harts: the machine was turned off before the script's end",
        "new   e on 4 harts: e.expected",
    ]
    for said in ("== the end of stdout\n| before\n", "| panic: requested by a test: on purpose\n",
                 "run_panic+", "== the end of stderr\n| partial\n", "| hart 3: 0x"):
        assert said in result.stdout, said
    written = sorted(file.name for file in tmp_path.glob("*.expected"))
    assert written == ["a.expected", "e.expected"]
    assert "on purpose" in report.read_text()


def test_a_timeout(tmp_path: Path) -> None:
    write(tmp_path, a="while :; do :; done\n")
    result = run(tmp_path, "--timeout", "2", "--machine", "free")
    assert words(result) == [
        "FAIL  a on 4 harts in parallel: the machine was stopped, still running after 2 s"
    ]
    assert result.returncode == 1


def test_a_restart(tmp_path: Path) -> None:
    """Also if the script had come to its end."""
    script = Script(tmp_path / "a.sh", ("4",), ())
    said = {frames.STDOUT: bytearray(b"x\n<m 0>\n"), frames.STDERR: bytearray(b"<m>\n")}
    said.update({frames.PANIC: bytearray(), frames.LIMIT: bytearray()})
    outcome = Outcome(126, "machine", "the machine restarted")
    (result,) = expect.results_of("4", [script], "m", said, outcome)
    assert result.died == "the machine restarted"
    (result,) = expect.results_of("4", [script], "m", said, Outcome(0, "exit"))
    assert (result.died, result.text) == ("", "== stdout\n| x\n== status\n| 0\n")


# --- What can't be run -------------------------------------------------------


@pytest.mark.parametrize(
    "words, told",
    [
        ([], "no folder of scripts given"),
        (["none"], "none: there is no such folder"),
        (["."], "there is no NAME.sh"),
        (["good", "other"], "good: there is no other.sh"),
        (["good", "--machine", "17"], "--machine: 17 is not a number from 1 to 16"),
        (["good", "--updat"], "--updat: no such option; did you mean --update?"),
        (["good", "-j", "x"], "-j: x is not a number"),
        (["dots"], "dots/a.4.sh: the name must have no dot before .sh"),
        (["machines"], "machines/a.sh:2: x is not a number from 1 to 16, and not free"),
        (["show"], "show/a.sh:1: a b is not FILE or FILE BYTES"),
        (["good", "--junit", "none/x"], "none/x: No such file or directory"),
    ],
)
def test_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folders = {"good": "true\n", "machines": "\n# machines: 1 x\n"}
    folders["show"] = "# show: a b"
    for name, text in folders.items():
        (tmp_path / name).mkdir()
        write(tmp_path / name, a=text)
    (tmp_path / "dots").mkdir()
    (tmp_path / "dots" / "a.4.sh").write_text("")
    result = run(*words)
    assert result.returncode == 126
    assert result.stderr.startswith("expect: ") and told in result.stderr
    assert result.stderr.count("\n") == 1


def test_no_qemu(tmp_path: Path) -> None:
    write(tmp_path, a="true\n")
    result = run(tmp_path, QEMU="no-such-qemu")
    assert (result.returncode, result.stdout) == (126, "")
    assert re.fullmatch(r"expect: QEMU=no-such-qemu .*\n", result.stderr)


def test_it_can_be_stopped(tmp_path: Path, images: Images) -> None:
    """With the machines that it has booted: QEMU tells its process ids."""
    write(tmp_path, a="while :; do :; done\n", b="while :; do :; done\n")
    pids = tmp_path / "pids"
    tells = f'[ "$1" = --version ] || echo $$ >>{pids}\nexec "$qemu" "$@"'
    qemu = images.started_by(tmp_path, tells).qemu
    process = subprocess.Popen(
        [SCRIPT, tmp_path, "-j", "2", "--limit", "2000"],
        stderr=subprocess.PIPE, text=True,
        env={**os.environ, "QEMU": qemu},
    )
    try:
        wait_for(
            lambda: pids.exists() and pids.read_text().count("\n") == 2,
            "two machines are booted",
            process,
        )
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=HANG)[1] == "expect: stopped by SIGTERM\n"
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGTERM
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_it_can_be_stopped_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one machine booted, and the other not yet handed to a thread."""
    stopped = threading.Event()

    class Guest:
        options = argparse.Namespace(jobs=2)
        stop = staticmethod(stopped.set)

        def run(self, *job: object) -> list[expect.Result]:
            assert stopped.wait(HANG), "nobody stopped the machine"
            return []

    def submit(self: ThreadPoolExecutor, *words: Any) -> Future:
        if self._work_queue.qsize() or self._threads:
            raise Stopped(signal.SIGTERM)  # as the handler of the signal does
        return started(self, *words)

    started = ThreadPoolExecutor.submit
    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    with pytest.raises(Stopped):
        expect.run_all(Guest(), [("1", []), ("2", [])], lambda result: None)
    assert stopped.is_set()


def test_a_machine_stopped_before_it_starts(images: Images) -> None:
    """As one whose thread had come to its boot when a signal stopped the rest."""
    with image.held(images.initrd("while :; do :; done"), "initrd") as initrd:
        boot = Boot(Machine(timeout=HANG), images.qemu, images.kernel, initrd)
        boot.stop()
        outcome = boot.run(lambda channel, data: None)
    assert outcome.text == "QEMU was killed by signal 9"
