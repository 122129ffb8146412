"""scripts/coverage: which lines of the kernel do the tests reach?

Runs scripts/test with the arguments, with a QEMU that records which kernel
instructions are executed. Prints a summary; build/coverage.html shows the lines that
are never reached, and build/coverage.info has all counts in lcov's format. Exits with
the tests' status.
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
        except KeyboardInterrupt:  # the tests get it, too, and stop their machines
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
