"""Writes compile_commands.json for clangd. Standard input is the output of `make -n'.

The flags are the Makefile's flags for GCC without those that Clang doesn't know. If
GCC finds the C library by a specs file, its folder is added.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

COMPILE = re.compile(r"mkdir -p \S+ && (\S.* -c \S+) -o (\S+)\.\S+ && mv ")
# Flags that only GCC knows, and flags that only name outputs.
UNKNOWN = re.compile(
    r"--specs=|--picolibc-|-fcallgraph-info|-fno-schedule-insns2|-msmall-data-limit"
    r"|-ftls-model|-MMD|-MP$"
)
WITH_VALUE = ("-MF", "-MT")


def library_folders(command: list[str]) -> list[str]:
    """Returns the folders with the C library's headers, without GCC's own headers,
    which Clang can't use."""
    specs = [w for w in command if w.startswith(("--specs=", "--picolibc-"))]
    if not specs:
        return []
    said = subprocess.run(
        [command[0], *specs, "-E", "-v", "-x", "c", os.devnull],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C"},
    ).stderr
    found = re.search(r"#include <\.\.\.>.*\n((?: .*\n)*)", said)
    folders = found[1].split() if found else []
    own = re.compile(r"/gcc[^/]*/[^/]+/[\d.]+/include(-fixed)?$")
    return [folder for folder in folders if not own.search(folder)]


def for_clang(command: list[str], folders: list[str]) -> list[str]:
    words, rest = [], iter(command)
    for word in rest:
        if word in WITH_VALUE:
            next(rest)
        elif word.startswith("-march="):
            # Extensions that were split from the base later are part of its old name.
            words.append(word.partition("_")[0])
        elif not UNKNOWN.match(word):
            words.append(word)
    source = words.index("-c")
    searched = [word for folder in folders for word in ("-isystem", folder)]
    return words[:source] + searched + words[source:]


def main() -> int:
    entries: dict[str, dict[str, object]] = {}
    folders: dict[str, list[str]] = {}
    for line in sys.stdin:
        found = COMPILE.match(line)
        if not found:
            continue
        command = shlex.split(found[1])
        if command[0] not in folders:
            folders[command[0]] = library_folders(command)
        # Files of lib/ are built twice; the first command, the kernel's, counts.
        entries.setdefault(
            command[-1],
            {
                "directory": os.getcwd(),
                "file": command[-1],
                "output": found[2],
                "arguments": for_clang(command, folders[command[0]]),
            },
        )
    if not entries:
        print("compile_commands: make printed no compiler commands", file=sys.stderr)
        return 1
    json.dump(list(entries.values()), sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
