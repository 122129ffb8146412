"""What has been handed in: folders, whose they are, and when."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import Optional

from tally.grading.lab import Lab, LabError, parse_time
from tally.grading.options import Options
from tally.grading.roster import Roster
from tally.grading.tree import SubmissionError, read_submission

SUBMITTED = "submitted"  # a file in a submission's folder that says when


@dataclasses.dataclass(frozen=True)
class Submission:
    """What a folder has: the lab's files; or why nothing of it is judged."""

    who: str
    lab: Lab  # with the submitter's seed
    files: dict[str, bytes] = dataclasses.field(default_factory=dict)
    submitted: Optional[datetime.datetime] = None
    ended: str = ""  # refused, or missing
    why: str = ""


def submitted_folders(
    options: Options, roster: Optional[Roster]
) -> tuple[dict[str, Optional[Path]], int]:
    """Folders by submitter, in the order of names; None: the roster has a submitter
    who has no folder. With --shard, that part of them. And how many there are in all.
    """
    found = named_folders(options)
    if not found:
        raise LabError(f"{options.all}: no submission there")
    folders: dict[str, Optional[Path]] = {}
    if options.all is not None:
        folders.update((who, None) for who in roster or ())
    folders.update((who, folder.resolve()) for who, folder in found.items())
    part, parts = options.shard
    if part > len(folders):
        raise LabError(
            f"--shard: this part is empty: there are only {len(folders)} submissions"
        )
    mine = {who: folders[who] for who in sorted(folders)[part - 1 :: parts]}
    return mine, len(folders)


def named_folders(options: Options) -> dict[str, Path]:
    """Those that --submission or --all names."""
    place = options.submission if options.all is None else options.all
    folder = Path(place or "")
    if not place or not folder.is_dir():
        raise LabError(f"{place}: no submission there")
    if options.all is None:
        return {options.student or folder.resolve().name: folder}
    return {each.name: each for each in folder.iterdir() if each.is_dir()}


def read(
    lab: Lab,
    who: str,
    folder: Optional[Path],
    roster: Optional[Roster],
    options: Options,
) -> Submission:
    lab = lab_of(lab, who, roster)
    if folder is None:
        return Submission(who, lab, ended="missing", why="nothing was handed in")
    try:
        if roster and roster.refusal(who):
            raise SubmissionError(roster.refusal(who))
        files = read_submission(folder, lab)
        return Submission(who, lab, files, submitted(folder, options))
    except SubmissionError as error:
        return Submission(who, lab, ended="refused", why=str(error))


def lab_of(lab: Lab, who: str, roster: Optional[Roster]) -> Lab:
    """The lab with a submitter's seed."""
    return lab.of(roster.course(who)) if roster else lab


def submitted(folder: Path, options: Options) -> Optional[datetime.datetime]:
    """When it was handed in, if anybody says so."""
    file = folder / SUBMITTED
    if options.submitted:
        return parse_time(options.submitted, "--submitted")
    if not file.is_file() or file.is_symlink():
        return None
    try:
        return parse_time(file.read_text(errors="replace").strip(), SUBMITTED)
    except LabError as error:
        raise SubmissionError(str(error)) from error
