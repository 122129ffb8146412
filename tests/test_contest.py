"""The contest: what is planted can be found with tally, and mending it wins."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tally import ROOT
from tally.build import image
from tally.grading.contest import Kernels, Plant, planted, plants
from tally.grading.lab import read_course
from tally.grading.tree import Kernel
from test_labs import pytestmark as needs_sandbox

RANK = ROOT / "labs/rank"
PLANTS = {plant.name: plant for plant in plants()}
FIRST = 3  # lines of tally's table of the kernel's functions
TALLY = f"tally -k -n {FIRST} -o /tmp/report sh /extra/workload >/dev/null"

pytestmark = needs_sandbox


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return Kernels(7, None)


@pytest.fixture(scope="module")
def right(kernels: Kernels):
    return kernels.run(Kernel((image.BUILD / "kernel.elf").read_bytes()))


@pytest.mark.parametrize("plant", PLANTS.values(), ids=list(PLANTS))
def test_a_planted_place(kernels: Kernels, right, plant: Plant) -> None:
    """It does the same, in a tenth more instructions at least, and tally has it among
    the first functions of the kernel."""
    kernel = kernels.kernel("planted", plant)
    slow = kernels.run(kernel)
    assert (slow.output, slow.ended) == (right.output, "")
    assert slow.instructions > 1.1 * right.instructions
    report = kernels.run(kernel, f"{TALLY}; cat /tmp/report").output
    table = report.partition(" function\n")[2].partition("\n\n")[0]
    first = [line.split()[-2] for line in table.splitlines()]
    assert len(first) == FIRST and first[0] in plant.shows, report


def seed_of(name: str) -> str:
    """A course's seed that draws this."""
    seeds = (f"seed-{i}" for i in range(1000))
    return next(s for s in seeds if planted(read_course(seed=s)).name == name)


def test_a_ranking(tmp_path: Path) -> None:
    """Who has mended it is before who hasn't; who prints something else is nowhere."""
    pipe = "kernel/fs/pipe.c"
    mended = (ROOT / pipe).read_text()
    slow = PLANTS["pieces"].edit.apply(mended)
    endless = mended.replace("\t\tsize_t rest =", "\t\tif (at > 9000)\n"
                             '\t\t\tasm volatile("1: j 1b");\n\t\tsize_t rest =')
    assert endless != mended
    texts = {"anna": slow, "ben": mended, "carl": "int x = ;\n", "finn": endless,
             "dora": mended.replace("\t\tif (rest > end - at)\n",
                                    "\t\tif (at > 9000)\n\t\t\treturn -EIO;\n"
                                    "\t\tif (rest > end - at)\n")}
    assert texts["dora"] != mended
    for who, text in texts.items():
        file = tmp_path / "all" / who / pipe
        file.parent.mkdir(parents=True)
        file.write_text(text)
    (tmp_path / "all/emil").mkdir()
    done = subprocess.run(
        [RANK, tmp_path / "all", "--seed", seed_of("pieces"), "--nonce", "3",
         "--json", tmp_path / "json"], capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "json").read_text())
    places = {p["who"]: p for p in facts["places"]}
    assert [p["who"][0] for p in facts["places"]] == list("bacdef")
    assert places["ben"]["instructions"] == facts["without"] < facts["handed_out"]
    assert places["anna"]["instructions"] == facts["handed_out"]
    assert places["carl"]["why"].startswith("not built: kernel/fs/pipe.c:1")
    assert places["dora"]["why"] == "the workload's output is wrong"
    assert places["emil"]["why"] == "none of the kernel's files was handed in"
    assert places["finn"]["why"] == "the workload takes more than 1000 million instructions"
    assert done.stdout.splitlines()[2].split()[0] == "ben"


def test_a_students_tree(tmp_path: Path) -> None:
    """The slow place is in it, and nothing that names it."""
    to = tmp_path / "contest"
    done = subprocess.run([RANK, "--handout", to, "--seed", seed_of("clears")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (ROOT / "kernel/mm/page.c").read_text()
    assert (to / "kernel/mm/page.c").read_text() == PLANTS["clears"].edit.apply(page)
    assert sorted(str(f.relative_to(to)) for f in (to / "labs").rglob("*.*")) == [
        "labs/contest/README.md", "labs/contest/workload.sh"
    ]


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "rank: give DIR or --handout DIR\n"),
        (["/none"], "rank: /none: No such file or directory\n"),
        (["--handout", "/tmp"], "rank: /tmp: exists already\n"),
    ],
)
def test_mistakes(words: list[str], said: str) -> None:
    done = subprocess.run([RANK, *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (126, "", said)
