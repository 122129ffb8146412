"""Detects the format of a profile from its contents."""

from __future__ import annotations

from tally.base.errors import ConvertError
from tally.profile import read_counters, read_histogram, read_pcs

ZIP_MAGIC = b"PK\3\4"
KINDS = ("pcs", "kpdata", "prf", "mon", "gmon")


def kind(file: str, data: bytes) -> str:
    """Returns one of KINDS, or tally; the data may be only the beginning of the file."""
    if not data:
        raise ConvertError(file, "empty")
    if data.startswith(read_histogram.GMON_MAGIC):
        return "gmon"
    if data.startswith(ZIP_MAGIC):
        return "tally"
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
        "not a known profile, or damaged; set its format with --from:"
        f" {', '.join(KINDS)}",
    )
