"""What kind of file is it? Its contents tell."""

from __future__ import annotations

from tally.base.errors import ConvertError
from tally.profile import read_counters, read_histogram, read_pcs

KINDS = ("pcs", "kpdata", "prf", "mon", "gmon")


def kind(file: str, data: bytes) -> str:
    """One of KINDS, by what a beginning of it looks like."""
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
        file, f"no profile, or a damaged one; --from can name it: {', '.join(KINDS)}"
    )
