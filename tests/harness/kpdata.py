"""The contents of /dev/kpdata, as kprof(3) has it."""

from __future__ import annotations

import struct
from typing import Mapping

from harness.kernel_image import KernelImage

BUCKET = 8  # bytes of text


class Counts:
    """Big-endian words: all ticks, those in the kernel, and the buckets."""

    def __init__(self, data: bytes, kernel: KernelImage) -> None:
        self.total, self.kernel, *self.buckets = struct.unpack(
            f">{len(data) // 4}I", data
        )
        self.text = kernel.text

    def within(self, function: range) -> int:
        """The ticks of a function."""
        first = (function.start - self.text.start) // BUCKET
        end = (function.stop - self.text.start + BUCKET - 1) // BUCKET
        return sum(self.buckets[first:end])


def contents(kernel: KernelImage, user: int, ticks: Mapping[int, int]) -> bytes:
    """The file's bytes, when so many ticks were at each kernel address."""
    buckets = [0] * (len(kernel.text) // BUCKET)
    for address, count in ticks.items():
        buckets[(address - kernel.text.start) // BUCKET] += count
    inside = sum(ticks.values())
    return struct.pack(f">{2 + len(buckets)}I", user + inside, inside, *buckets)
