"""A roster: how it is read, and that a course keeps to it."""

from __future__ import annotations

import csv
import datetime
import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from tally.grading import grade, handout, tree
from tally.grading.lab import Course, LabError, moment, read_course
from tally.grading.roster import Roster, read_roster
from test_labs import TICKS, hand_in, labs, pytestmark as needs_name_spaces, solution

DUE = datetime.datetime(2027, 2, 2, tzinfo=datetime.timezone.utc)
CONF = """\
[course]
name = x
seed = spring
late-per-day = 10
late-days = 5
[ticks]
points = 10
due = 2027-02-01
[pipe]
due = 2027-02-01
[cow]
"""
ROSTER = "name,group\nanna,pair\nben,pair\ncarl,\n"


@pytest.fixture
def course(tmp_path: Path) -> Course:
    file = tmp_path / "course.conf"
    file.write_text(CONF)
    return read_course(file)


def read(tmp_path: Path, course: Course, text: str | bytes) -> Roster:
    file = tmp_path / "roster.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_roster(file, course)


# --- The file ----------------------------------------------------------------


def test_columns_have_names(tmp_path: Path, course: Course) -> None:
    """Neither their order matters, nor other columns, nor how lines end."""
    plain = read(tmp_path, course, "name,group\nanna,\nben,pair\nzoë x,pair\n")
    other = read(tmp_path, course, b"\xef\xbb\xbf" + (
        "group,mail, name ,extension\r\n"
        ' pair ,"z@x\r\nnot this one", zoë x \r\n'
        "\r\n,,,\r\npair,b@x,ben\r\n,a@x,anna,,\r\n"
    ).encode())
    for roster in plain, other:
        assert list(roster) == ["anna", "pair"]
        assert roster.course("anna").members == ("anna",)
        assert roster.course("pair").members == ("ben", "zoë x")
    assert plain.course("anna") == other.course("anna")


LONG = "x" * 256


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "1: no column is called 'name'"),
        ("group\nanna\n", "1: no column is called 'name'"),
        ("name;group\nanna;\n", "1: no column is called 'name'"),
        ("name,group,group\nanna\n", "1: two columns are called group"),
        ("name\n", "1: no student"),
        ("name,group\n\n,\n", "3: no student"),
        ("name,group\n,pair\n", "2: no name"),
        ("name\na, b\n", "2: more fields than columns"),
        ("name\nanna\nben\nanna\n", "4: anna is listed before, at roster.csv:2"),
        ("name,group\nanna,ben\nben,\n",
         "2: the group ben has the name of a student who isn't in it"),
        ("name,group\nanna,ben\nben,carl\n",
         "2: the group ben has the name of a student who isn't in it"),
        *((f'name\n"{name}"\n', f"2: {name!r} can't be a folder's name")
          for name in ("a/b", ".", "..", "-a", "a\tb", "a\nb", "a\x7f", LONG)),
        ("name,group\nanna,a/b\n", "2: 'a/b' can't be a folder's name"),
        ('name,mail\nanna,"x\ny"\n.,\n', "4: '.' can't be a folder's name"),
        ('name\nanna\n"ben\n', "3: unexpected end of data"),
        (b"name\nanna\nb\xe9n\n", "3: not UTF-8"),
        *((f"name,extension\nanna,1 {word}\n",
           f"2: extension: {word!r} is not like 2 or pipe:0.5")
          for word in ("x", "-1", "+1", "nan", "1e3", ".5", "pipe:", ":1", "pipe:x")),
        ("name,extension\nanna,none:1\n", "2: extension: the course has no lab none"),
        ("name,extension\nanna,1 2\n", "2: extension: '2' sets days that an earlier word has set"),
        ("name,extension\nanna,pipe:1 pipe:1\n",
         "2: extension: 'pipe:1' sets days that an earlier word has set"),
        ("name,extension\nanna,9999999\n", "2: extension: too many days"),
        (f"name,extension\nanna,{LONG.replace('x', '9')}\n",
         "2: extension: too many days"),
    ],
)
def test_what_is_wrong_is_said(
    text: str | bytes, said: str, tmp_path: Path, course: Course,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With its line; for a record of several lines that is the first."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LabError) as error:
        read(Path(), course, text)
    assert str(error.value) == f"roster.csv:{said}"


def test_seeds(tmp_path: Path, course: Course) -> None:
    """They differ, and stay the same when others join the course."""
    roster = read(tmp_path, course, "name,group\nanna,\nben,pair\nzoë,pair\n")
    seeds = {who: roster.course(who).seed for who in roster}
    assert seeds == {"anna": "c845f67b29716db6", "pair": "81c02c235157da72"}
    assert seeds["anna"] == hashlib.sha256(b"spring/anna").hexdigest()[:16]
    more = read(tmp_path, course, "name,group\nzoë,pair\nben,pair\ncarl,\nanna,\n")
    assert {who: more.course(who).seed for who in roster} == seeds
    assert more.course("anna").roster != roster.course("anna").roster
    assert course.seed not in str([roster.course(who) for who in ("anna", "nobody")])


def test_extensions(tmp_path: Path, course: Course) -> None:
    """Days for one lab replace those for each; of a group the largest count."""
    roster = read(
        tmp_path, course,
        "name,group,extension\nanna,,0.5 pipe:2\nben,pair,1\nzoë,pair,pipe:3 cow:9\n"
        "carl,,\n",
    )
    expected = {"anna": (0.5, 2), "pair": (1, 3), "carl": (0, 0), "nobody": (0, 0)}
    for who, days in expected.items():
        due = roster.course(who).due
        assert due["cow"] is None
        assert (due["ticks"], due["pipe"]) == tuple(
            DUE + datetime.timedelta(days=n) for n in days
        )
    said = TICKS.of(roster.course("anna")).readme()
    assert f"It is due {moment(DUE + datetime.timedelta(days=0.5))}." in said
    late = DUE + datetime.timedelta(days=2)
    assert [roster.course(who).kept("pipe", late) for who in expected] == [
        1, 1, 0.8, 0.8
    ]
    assert roster.course("pair").kept("ticks", late) == 0.9


# --- Hand-outs ---------------------------------------------------------------


@pytest.fixture
def making(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hand-outs for which nothing is measured."""
    monkeypatch.setattr(handout, "Judge", lambda *_: None)
    monkeypatch.setattr(handout, "facts", lambda *_: {})


@pytest.mark.usefixtures("making")
def test_each_gets_a_hand_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its own seed, and not the course's. A call that was ended goes on."""
    roster = read(tmp_path, read_course(seed="a secret"), ROSTER)
    words = ["--seed", "a secret", "--roster", str(tmp_path / "roster.csv"), "ticks"]
    top = tmp_path / "all"
    hand_in(top, "of a call that was ended", ".part/file")
    handout.main([*words, str(top)])
    said = "{}: read labs/ticks/README.md; labs/grade ticks grades it\n"
    assert capsys.readouterr().out == "".join(
        said.format(top / who) for who in ("carl", "pair")
    )
    assert {folder.name for folder in top.iterdir()} == {"carl", "pair"}
    for who in roster:
        conf = top / who / "labs/course.conf"
        assert read_course(conf).seed == roster.course(who).seed
        assert "secret" not in conf.read_text()
        assert not (top / who / "file").exists()
        text = (top / who / "labs/ticks/README.md").read_text()
        assert text == TICKS.of(roster.course(who)).readme()
    (top / "carl").rename(tmp_path / "before")
    handout.main([*words, "--student", "carl", str(top / "carl")])
    handout.main([*words, str(top)])
    assert capsys.readouterr().out == said.format(top / "carl") + "".join(
        f"{top / who}: exists already\n" for who in ("carl", "pair")
    )
    for file in "README.md", "labs/course.conf", "labs/ticks/README.md":
        assert (top / "carl" / file).read_bytes() == (
            tmp_path / "before" / file
        ).read_bytes()
    words[1] = "another"
    with pytest.raises(LabError, match=f"^{top / 'carl'}: exists already, but "):
        handout.main([*words, str(top)])
    with pytest.raises(LabError, match="^--student: anna hands in with the group pair"):
        handout.main([*words, "--student", "anna", str(tmp_path / "anna")])


def test_what_a_hand_out_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that git doesn't know, and of those that it knows what is secret."""
    for name in "Makefile", "roster.csv", "grades.json":
        (tmp_path / name).write_text("")
    for words in ["init", "-q"], ["add", "Makefile", "roster.csv"]:
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    monkeypatch.setattr(handout, "ROOT", tmp_path)
    assert handout.all_files() == ["Makefile", "roster.csv"]
    monkeypatch.setattr(handout, "put_lab", lambda *_, **__: None)
    monkeypatch.setattr(handout, "put_seed", lambda *_: None)
    (tmp_path / "to/labs/ticks").mkdir(parents=True)
    handout.hand_out(TICKS, tmp_path / "to", {tmp_path / "roster.csv"})
    assert {f.name for f in (tmp_path / "to").iterdir()} == {"labs", "Makefile"}


# --- Grades ------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, said",
    [
        (["--roster", "x"], "--roster needs --submission DIR, or --all DIR"),
        (["--all", ".", "--roster", "x", "--trust"],
         "--roster and --trust can't be combined: without the sandbox, a submission could"
         " read the seeds of all students"),
        (["--submission", ".", "--student", "x"],
         "--student needs --submission DIR and --roster FILE"),
        (["--all", ".", "--roster", "x", "--student", "x"],
         "--student needs --submission DIR and --roster FILE"),
    ],
)
def test_options(words: list[str], said: str) -> None:
    with pytest.raises(LabError, match=f"^{said}$"):
        grade.check(grade.parse(["ticks", *words]), TICKS)


@needs_name_spaces
def test_a_course_with_a_roster(tmp_path: Path) -> None:
    """Two are a group, one has handed in nothing, and a stranger something. One run,
    and one of two parts, say the same."""
    course = read_course(seed="a secret")
    text = f"{ROSTER}eve,\n"
    roster = read(tmp_path, course, text)
    all = tmp_path / "all"
    for who in "pair", "eve":
        hand_in(all / who, solution(TICKS.of(roster.course(who))))
    hand_in(all / "dora", solution())
    words = ["ticks", "--all", all, "--roster", tmp_path / "roster.csv", "--seed",
             "a secret", "--nonce", 1, "--test", "what comes back"]
    kinds = ("json", "csv", "html", "junit")
    whole, parts = tmp_path / "whole", [tmp_path / "part-1", tmp_path / "part-2"]
    done = labs("grade", *words, *(f"--{kind}={whole}.{kind}" for kind in kinds))
    assert done.stdout == "3 submissions, 1 missing, 0 with all points; nonce 1\n"
    found = {f["submission"]: f for f in json.loads(Path(f"{whole}.json").read_text())}
    assert {who: (f["ended"], f["why"], f["points"], f["members"], f["seed"])
            for who, f in found.items()} == {
        "carl": ("missing", "nothing was handed in", 0, ["carl"],
                 roster.course("carl").seed),
        "dora": ("refused", "dora isn't in the roster", 0, [],
                 roster.course("dora").seed),
        "eve": ("judged", "", 2, ["eve"], roster.course("eve").seed),
        "pair": ("judged", "", 2, ["anna", "ben"], roster.course("pair").seed),
    }
    table = list(csv.DictReader(Path(f"{whole}.csv").open()))
    assert [(row["name"], row["group"], row["points"]) for row in table] == [
        ("carl", "", "0"), ("dora", "", "0"), ("eve", "", "2"), ("anna", "pair", "2"),
        ("ben", "pair", "2"),
    ]
    page = Path(f"{whole}.html").read_text()
    assert "3 submissions, 1 missing; roster " in page and "2 of 3" in page
    assert "<td>anna, ben</td>" in page
    for kind in kinds:
        assert "a secret" not in Path(f"{whole}.{kind}").read_text()
    # Calls that were ended before they came to all.
    for part, who in zip(parts, ("eve", "pair")):
        part.write_text(json.dumps([found[who]]))
    for i, part in enumerate(parts, 1):
        done = labs("grade", *words, "--shard", f"{i}/2", "--json", part, "--resume")
        assert done.returncode == 0, done.stderr
    first = json.loads(parts[0].read_text())
    assert [facts["submission"] for facts in first] == ["carl", "eve"]
    to = [f"--{kind}={tmp_path / 'merged'}.{kind}" for kind in kinds]
    assert labs("merge", *parts, *to).returncode == 0
    for kind in kinds:
        assert (tmp_path / f"merged.{kind}").read_bytes() == (
            Path(f"{whole}.{kind}").read_bytes()
        )
    (tmp_path / "roster.csv").write_text(f"{text}fred,\n")
    done = labs("grade", *words, "--json", parts[0], "--resume")
    assert done.stderr.startswith(f"grade: {parts[0]}: reports differ in roster: ")
