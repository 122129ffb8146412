"""scripts/coverage: which lines of the kernel do the tests reach?

Runs scripts/test with the arguments, by a QEMU that records what is executed of
the kernel. Prints how much that is; build/coverage.html has the lines that are
never reached, build/coverage.info all of it, for lcov and what reads its files.
Exits as the tests do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tally import ROOT
from tally.base.cli import script
from tally.base.errors import SetupError
from tally.boot.machine import find_qemu
from tally.build import image
from tally.verify.coverage import covered
from tally.verify.coverage.record import Recorder

BUILD = image.BUILD / "coverage"


def measure(arguments: list[str]) -> int:
    qemu = find_qemu()
    with image.build_lock():
        image.make()
        kernel = (image.BUILD / "kernel.elf").read_bytes()
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir()
    recorder = Recorder(kernel, qemu, BUILD)
    command = [str(ROOT / "scripts" / "test"), *arguments]
    environment = {**os.environ, "QEMU": str(recorder.qemu)}
    with subprocess.Popen(command, env=environment) as tests:
        try:
            tests.wait()
        except KeyboardInterrupt:  # they hear it, too, and end what they started
            tests.wait()
    boots = recorder.merged()
    files = covered.files(boots)
    texts = {f.name: (ROOT / f.name).read_text().splitlines() for f in files}
    for suffix, text in (
        ("info", covered.lcov(files, str(ROOT))),
        ("html", covered.page(files, boots, texts)),
    ):
        BUILD.with_suffix(f".{suffix}").write_text(text)
    print(covered.summary(files, boots))
    return tests.returncode


def entry() -> int:
    return script(
        "coverage",
        lambda: measure(sys.argv[1:]),
        SetupError,
        image.BuildError,
        subprocess.CalledProcessError,
    )
