"""The kernel's own printf, beside the host's: lib/printf.c."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.tools import tool
from tally import ROOT

PROGRAM = """
#include <limits.h>
#include <stdio.h>
#include <string.h>

int kernel_snprintf(char *buf, size_t size, const char *format, ...);

#define COMPARE(size, ...) do { \\
	char ours[64] = "", theirs[64] = ""; \\
	int n = kernel_snprintf(ours, size, __VA_ARGS__); \\
	int m = snprintf(theirs, size, __VA_ARGS__); \\
	if (n != m || strcmp(ours, theirs) != 0) \\
		printf("line %d: %d %s, not %d %s\\n", __LINE__, n, ours, m, theirs); \\
} while (0)

int
main(void)
{
	COMPARE(64, "%d %d %d", 0, -1, INT_MIN);
	COMPARE(64, "%ld %lu", LONG_MIN, ULONG_MAX);
	COMPARE(64, "%u %x %lx %zu", UINT_MAX, 0xbeef, ULONG_MAX, sizeof(int));
	COMPARE(64, "%c%c %p", 'a', 'b', (void *)0x1234);
	COMPARE(64, "%s %s", (char *)NULL, "text");
	COMPARE(64, "100%%");
	COMPARE(4, "%s", "cut");
	COMPARE(3, "%s", "cut");
	COMPARE(1, "%d", 12345);
	return 0;
}
"""


def test_it_prints_as_the_host_does(tmp_path: Path) -> None:
    """Every letter that it knows, the least number of each size, no string, a
    buffer that is too small."""
    compiler = tool("gcc")
    source, program = tmp_path / "compare.c", tmp_path / "compare"
    source.write_text(PROGRAM)
    renamed = ["-Dsnprintf=kernel_snprintf", "-Dvsnprintf=kernel_vsnprintf"]
    part = tmp_path / "printf.o"
    kernel = [f"-I{ROOT}", *renamed, "-c", str(ROOT / "lib/printf.c")]
    subprocess.run([compiler, "-w", *kernel, "-o", str(part)], check=True)
    subprocess.run([compiler, "-w", str(source), str(part), "-o", str(program)],
                   check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
