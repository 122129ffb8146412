"""The shell's language: tests/shell/NAME.sh beside NAME.expected.

`scripts/expect --together --update tests/shell` writes the expected files. The
scripts share a boot and a folder: each removes the files that it makes, as the
last one checks.
"""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from harness.guest import Images
from tally import ROOT

SCRIPT = ROOT / "scripts" / "expect"
FOLDER = Path(__file__).parent / "shell"
NAMES = sorted({file.stem for file in FOLDER.iterdir()})


@pytest.fixture(scope="module")
def failures(images: Images, tmp_path_factory) -> dict[str, str]:
    """What scripts/expect reports of each script; nothing where it is as expected."""
    report = tmp_path_factory.mktemp("shell") / "report.xml"
    command = [SCRIPT, "--together", "--junit", report, FOLDER]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stderr
    cases = xml.parse(report).iter("testcase")
    return {case.get("name", ""): why(case.find("failure")) for case in cases}


def why(failure: xml.Element | None) -> str:
    return "" if failure is None else f"{failure.get('message')}\n{failure.text}"


@pytest.mark.parametrize("name", NAMES)
def test_script(failures: dict[str, str], name: str) -> None:
    if failure := failures[f"{name} on 4 harts"]:
        pytest.fail(failure, pytrace=False)
