"""The user library's fnmatch, beside the host's: user/lib/fnmatch.c."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.tools import tool
from tally import ROOT

PROGRAM = r"""
#define _GNU_SOURCE
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define PATTERN 4 /* characters */
#define TEXT    2

int our_fnmatch(const char *pattern, const char *text, int flags);

static char pattern[PATTERN + 1], text[TEXT + 1];
static int flags;

static void
texts(int n)
{
	int ours = our_fnmatch(pattern, text, flags);

	if (ours != fnmatch(pattern, text, flags))
		printf("%s, %s, %#x: %d\n", pattern, text, flags, ours);
	for (const char *c = "aB].-/!"; n < TEXT && *c; c++) {
		text[n] = *c;
		texts(n + 1);
	}
	text[n] = '\0';
}

/* POSIX doesn't say what [. without its end matches, nor a backslash at the
 * end; and the host's has a star cross a slash that has a backslash. */
static int
is_defined(size_t n)
{
	return !strstr(pattern, "[.") && !strstr(pattern, "\\/") &&
	       !(n > 0 && pattern[n - 1] == '\\');
}

static void
patterns(int n)
{
	if (is_defined(n))
		texts(0);
	for (const char *c = "ab*?[]!-\\./"; n < PATTERN && *c; c++) {
		pattern[n] = *c;
		patterns(n + 1);
	}
	pattern[n] = '\0';
}

int
main(void)
{
	static const int all[] = {
	    0, FNM_PATHNAME, FNM_PERIOD, FNM_PATHNAME | FNM_PERIOD,
	    FNM_NOESCAPE, FNM_LEADING_DIR, FNM_CASEFOLD,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		flags = all[i];
		patterns(0);
	}
	return 0;
}
"""


def test_it_matches_as_the_host_does(tmp_path: Path) -> None:
    """All short patterns, with all short texts: POSIX, fnmatch."""
    compiler = tool("gcc")
    source, program = tmp_path / "compare.c", tmp_path / "compare"
    source.write_text(PROGRAM)
    part = tmp_path / "fnmatch.o"
    ours = ["-Dfnmatch=our_fnmatch", "-c", str(ROOT / "user/lib/fnmatch.c")]
    subprocess.run([compiler, "-O1", "-w", *ours, "-o", str(part)], check=True)
    subprocess.run([compiler, "-w", str(source), str(part), "-o", str(program)],
                   check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
