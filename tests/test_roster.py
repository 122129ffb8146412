"""A roster: how it is read, and that a course keeps to it."""

from __future__ import annotations

import datetime
import hashlib
import sys
from pathlib import Path

import pytest

import image

sys.path.append(str(image.ROOT / "labs" / "lib"))

from lab import Course, LabError, read_course  # noqa: E402
from roster import Roster, read_roster  # noqa: E402

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
        ("", "1: no column name"),
        ("group\nanna\n", "1: no column name"),
        ("name;group\nanna;\n", "1: no column name"),
        ("name,group,group\nanna\n", "1: more than one column group"),
        ("name\n", "1: no student"),
        ("name,group\n\n,\n", "3: no student"),
        ("name,group\n,pair\n", "2: no name"),
        ("name\na, b\n", "2: more fields than columns"),
        ("name\nanna\nben\nanna\n", "4: anna is there already, roster.csv:2"),
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
        ("name,extension\nanna,1 2\n", "2: extension: '2' is the second of its kind"),
        ("name,extension\nanna,pipe:1 pipe:1\n",
         "2: extension: 'pipe:1' is the second of its kind"),
        ("name,extension\nanna,9999999\n", "2: extension: more days than there are"),
        (f"name,extension\nanna,{LONG.replace('x', '9')}\n",
         "2: extension: more days than there are"),
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
    late = DUE + datetime.timedelta(days=2)
    assert [roster.course(who).kept("pipe", late) for who in expected] == [
        1, 1, 0.8, 0.8
    ]
    assert roster.course("pair").kept("ticks", late) == 0.9
