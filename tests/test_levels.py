"""Nothing hides from the sampler: code at a raised level is charged itself.

What becomes of the ticks' other work is checked by guest/levels.c.
"""

from __future__ import annotations

import pytest

from harness.guest import Guest, Images
from harness.kernel_image import KernelImage
from harness.kpdata import Counts
from tally.verify.machines import Machines

HZ = 500  # eight harts that share the time are too slow for more
SECONDS = 1
SPIN = " ".join(
    f"echo spin {level} {SECONDS * 1_000_000:.0f} >/dev/ktest;" for level in (0, 1, 5)
)


@pytest.mark.machines(Machines(("1", "4", "no-sstc"), ("2", "8")))
def test_each_level_is_charged_in_equal_measure(guest: Guest, images: Images) -> None:
    data = guest(
        f"echo hz {HZ} >/dev/profclock; sleep 0.1; echo startclr >/dev/kpctl; {SPIN}"
        "echo stop >/dev/kpctl; cat /dev/kpdata"
    ).stdout
    kernel = KernelImage(images)
    counts = Counts(data, kernel)
    for level in (0, 1, 5):
        spun = counts.within(kernel.function(f"ktest_spin_level{level}"))
        assert spun == pytest.approx(HZ * SECONDS, rel=0.02), f"level {level}"
