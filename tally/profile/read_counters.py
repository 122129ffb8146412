"""Reads counters of the kernel: /dev/kpdata, and the log of prfsnap."""

from __future__ import annotations

import struct
import sys
from array import array

from tally.base.errors import ConvertError
from tally.formats.executable import Image
from tally.profile.profile import (
    IDLE,
    KERNEL,
    KERNEL_BASE,
    LAST_SECOND,
    USER,
    Profile,
    Sample,
)

# --- kpdata: big-endian words: all ticks, the kernel's, and the buckets' ------

BUCKET = 8  # bytes of text
WORD = 4
IDLE_FUNCTION = "idle_wait"  # where a hart with nothing to do is


def looks_like_kpdata(data: bytes) -> bool:
    """Are the parts no more than the whole? A truncated file passes, too."""
    if len(data) < 2 * WORD:
        return False
    total, kernel, *buckets = _words(data)
    return bool(total >= kernel >= sum(buckets))


def _words(data: bytes) -> array[int]:
    words = array("I", data[: len(data) // WORD * WORD])
    if sys.byteorder == "little":
        words.byteswap()
    return words


def read_kpdata(file: str, data: bytes, kernel: Image) -> Profile:
    start, end = kernel.symbol("text_start"), kernel.symbol("etext")
    if start is None or end is None or end < start:
        raise ConvertError(kernel.path, "not a kernel: no symbols text_start and etext")
    buckets = -(-(end - start) // BUCKET)
    wanted = WORD * (2 + buckets)
    if len(data) != wanted:
        short = "truncated, or from another kernel"
        what = short if len(data) < wanted else "from another kernel"
        raise ConvertError(file, f"{what}: {len(data)} bytes, not {wanted}")
    total, inside, *counts = _words(data)
    profile = Profile("kpdata", text=(start, start + buckets * BUCKET))
    if inside != sum(counts) & 0xFFFFFFFF:
        profile.warnings.append(
            "read while the kernel was counting, so its total isn't the sum of"
            " its counts"
        )
    if total > inside:
        profile.samples.append(Sample(USER, total - inside))
    for i, count in enumerate(counts):
        if count:
            low = start + i * BUCKET
            pc = kernel.charged(low, low + BUCKET)
            profile.samples.append(Sample(_mode(kernel, pc), count, pc))
    return profile


def _mode(kernel: Image, pc: int) -> str:
    function = kernel.function(pc)
    return IDLE if function and function.name == IDLE_FUNCTION else KERNEL


# --- prf: 8-byte words: N, N addresses, records of time and N + 2 counters ---

TABLE_LIMIT = 1 << 20  # addresses; the device accepts far fewer


def _addresses(data: bytes) -> tuple[int, tuple[int, ...]]:
    """Returns how many addresses the table should have, and those in the file."""
    if len(data) < 8:
        return 0, ()
    (n,) = struct.unpack_from("<Q", data)
    there = min(n, len(data) // 8 - 1) if n < TABLE_LIMIT else 0
    return n, struct.unpack_from(f"<{there}Q", data, 8)


def looks_like_prf(data: bytes) -> bool:
    n, addresses = _addresses(data)
    whole = len(addresses) == n or addresses[-1:] > (KERNEL_BASE,)
    return len(addresses) > 0 and whole and _ascending(addresses)


def _ascending(addresses: tuple[int, ...]) -> bool:
    return list(addresses) == sorted(addresses)


def read_prf(file: str, data: bytes) -> Profile:
    n, addresses = _addresses(data)
    if not addresses or not _ascending(addresses):
        raise ConvertError(file, "not a prf log: no sorted table of addresses")
    if len(addresses) < n:
        raise ConvertError(file, f"truncated: {len(addresses)} of {n} addresses")
    start = 8 * (1 + len(addresses))
    size = 8 * (len(addresses) + 3)
    if len(data) == start or (len(data) - start) % size:
        cut = (len(data) - start) % size
        what = f"{cut} bytes of a record" if cut else "no record"
        raise ConvertError(file, f"truncated: {what} after the addresses")
    profile = Profile("prf log")
    rows = [
        struct.unpack_from(f"<{size // 8}Q", data, at)
        for at in range(start, len(data), size)
    ]
    if max(rows[0][0], rows[-1][0]) <= LAST_SECOND:
        profile.begin, profile.end = rows[0][0], rows[-1][0]
    else:
        profile.warnings.append(
            "its times are impossible: they are after the year 2262"
        )
    if len(rows) == 1:
        profile.warnings.append(
            "only one record: its counts begin when the table was loaded"
        )
        rows.insert(0, (0,) * len(rows[0]))
    for before, after in zip(rows, rows[1:]):
        _add_difference(profile, addresses, before[1:], after[1:])
    return profile


def _add_difference(
    profile: Profile,
    addresses: tuple[int, ...],
    before: tuple[int, ...],
    after: tuple[int, ...],
) -> None:
    """Adds the samples between two records."""
    if any(a < b for a, b in zip(after, before)):
        before = (0,) * len(after)
        note = "counters decreased, so they are assumed to have restarted at 0"
        if note not in profile.warnings:
            profile.warnings.append(note)
    *kernel, user, idle = (a - b for a, b in zip(after, before))
    for address, count in zip(addresses, kernel):
        if count:
            profile.samples.append(Sample(KERNEL, count, address))
    for mode, count in (USER, user), (IDLE, idle):
        if count:
            profile.samples.append(Sample(mode, count))
