"""Detects the format of a profile from its contents."""

from __future__ import annotations

from tally.base.errors import ConvertError
from tally.profile import read_counters, read_histogram, read_pcs

KINDS = ("pcs", "kpdata", "prf", "mon", "gmon")


def kind(file: str, data: bytes) -> str:
    """Returns one of KINDS; the data may be only the beginning of the file."""
    if not data:
        raise ConvertError(file, "empty")
    if data.startswith(read_histogram.GMON_MAGIC):
        return "gmon"
    if read_pcs.looks_like(data):
        return "pcs"
    if read_counters.looks_like_prf(data):
        return "prf"
    if read_histogram.looks_like_mon(data):
        return "mon"
    if read_counters.looks_like_kpdata(data):
        return "kpdata"
    raise ConvertError(
        file,
        f"no known profile, or damaged; --from sets its format: {', '.join(KINDS)}",
    )
