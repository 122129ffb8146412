"""labs/handout NAME DIR: the tree that a student starts from.

It is this checkout, made the lab's, without any lab's solution: with the hand-out
as labs/NAME/README.md, and with labs/grade, which grades the tree as it is. What
the solution takes is measured here and noted, as it won't be there. It builds,
boots, and fails. It is a git repository with one commit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from lab import CONF, LABS, ROOT, Lab, LabError, read_course
import image
from cli import Parser, script, utf8
from grade import WORK, commit, solution
from judge import Judge
from machine import SetupError
from sandbox import TroubleError
from tree import KERNEL, git, put_lab

#: Of a lab's folder and of labs/: what the course keeps.
KEPT = ("solution", "solve", "skeleton", "given", "cut", "wrong.txt", "right.txt")
KEPT_TOOLS = ("handout", "selftest", "rank", "lib/handout.py", "lib/selftest.py",
              "lib/contest.py", "contest/planted.txt", "contest/README.md",
              "contest/workload.sh")


def all_files() -> list[str]:
    """Those of the checkout; of one that isn't git's, those that no build made."""
    listed = git("ls-files", "-co", "--exclude-standard", "-z")
    if listed is not None:
        names = listed.split("\0")
    else:
        made = {"build", "build-debug", "__pycache__", ".git", "reports"}
        names = []
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [f for f in folders if f not in made]
            names += [str((Path(folder) / f).relative_to(ROOT)) for f in files]
    return sorted(n for n in names if n and (ROOT / n).is_file())


def is_kept(name: str, lab: Lab) -> bool:
    """Is a file the course's, or another lab's?"""
    parts = Path(name).parts
    if parts[0] != LABS.name:
        return False
    if "/".join(parts[1:]) in KEPT_TOOLS:
        return True
    if len(parts) > 2 and (LABS / parts[1] / "lab.conf").exists():
        return parts[1] != lab.name or parts[2] in KEPT
    return False


def hand_out(lab: Lab, to: Path) -> None:
    for name in all_files():
        if is_kept(name, lab):
            continue
        copy = to / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy, follow_symlinks=False)
    put_lab(to, lab, whole=False)
    (to / "labs" / lab.name / "README.md").write_text(lab.readme())
    course = (to / "labs" / CONF.name).read_text().splitlines()
    seeded = [
        f"seed = {lab.course.seed}" if line.startswith("seed") else line
        for line in course
    ]
    (to / "labs" / CONF.name).write_text("\n".join(seeded) + "\n")


def facts(lab: Lab, to: Path) -> dict[str, object]:
    """labs/handout.json: what the solution takes, and what only it may change."""
    reference = Judge(lab, 0).measure(solution(lab, WORK / "solution" / lab.name))
    names = [
        str(f.relative_to(to))
        for top in KERNEL
        for f in ([to / top] if (to / top).is_file() else sorted((to / top).rglob("*")))
        if f.is_file()
    ]
    return {
        "lab": lab.name,
        "commit": commit(),
        "reference": {"seconds": reference.seconds, "costs": reference.costs},
        "files": {
            name: hashlib.sha256((to / name).read_bytes()).hexdigest()
            for name in names
            if name not in lab.files
        },
    }


def commit_all(to: Path, lab: Lab) -> None:
    """Where there is git: a repository of one commit, so that a student sees what has
    changed since. Nothing of who calls this counts: no name, no hooks, no key."""
    if shutil.which("git") is None:
        return
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=os.devnull)
    who = ["-c", "user.name=Tally", "-c", "user.email=handout@localhost"]
    for words in (
        ["init", "-q", "--initial-branch=main"],
        ["add", "--all"],
        [*who, "commit", "-q", "-m", f"Start of the lab {lab.name}"],
    ):
        done = subprocess.run(["git", *words], cwd=to, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise LabError(f"git: {done.stderr.strip().splitlines()[-1]}")


def run(options: argparse.Namespace) -> None:
    lab = Lab(options.name, read_course(Path(options.course), options.seed))
    to = Path(options.to)
    if not (lab.folder / "cut").is_file():
        raise LabError(f"{lab.name} has no solution here: this is a hand-out itself")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise LabError(f"{to}: is there already")
    hand_out(lab, to)
    text = json.dumps(facts(lab, to), indent=1)
    (to / "labs" / "handout.json").write_text(f"{text}\n")
    commit_all(to, lab)
    print(f"{to}: read labs/{lab.name}/README.md; labs/grade {lab.name} grades it")


def main(words: list[str]) -> int:
    parser = Parser(
        "handout", usage="%(prog)s [-y] [--seed S] [--course FILE] NAME DIR",
        epilog="-y, the first word: install what is missing without asking",
    )
    parser.add_argument("name", metavar="NAME", help="of the lab")
    parser.add_argument("to", metavar="DIR", help="a folder that isn't there")
    parser.add_argument("--seed", type=utf8, metavar="S",
                        help="of another course")
    parser.add_argument("--course", metavar="FILE", default=str(CONF))
    run(parser.parse(words))
    return 0


if __name__ == "__main__":
    sys.exit(script("handout", lambda: main(sys.argv[1:]), LabError, SetupError,
                    TroubleError, image.BuildError))
