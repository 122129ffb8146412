"""Programs of others in their sources, as Debian 13 keeps them: fetched once, to
~/.cache/tally/sources, and built for riscv64 Linux, static."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
from pathlib import Path
from typing import NamedTuple

from harness.debian import Unavailable, fetch, mirror
from harness.tools import tool

CC = "riscv64-linux-gnu-gcc"


class Source(NamedTuple):
    """A file below Debian's pool/main; what it has, so that it is no other; and a
    shell's commands that make a program of it: $CC compiles and links."""

    file: str
    sha256: str
    build: str


SOURCES = {
    "lua": Source(
        "l/lua5.4/lua5.4_5.4.7.orig.tar.gz",
        "9fbf5e28ef86c69858f6d3d34eccc32e911c1a28b4120ff3e84aaa70cfbf1e30",
        "rm src/luac.c; $CC -DLUA_USE_POSIX -o lua src/*.c -lm",
    ),
    "bzip2": Source(
        "b/bzip2/bzip2_1.0.8.orig.tar.gz",
        "ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269",
        "$CC -D_FILE_OFFSET_BITS=64 -o bzip2 blocksort.c huffman.c crctable.c"
        " randtable.c compress.c decompress.c bzlib.c bzip2.c",
    ),
    "minigzip": Source(
        "z/zlib/zlib_1.3.dfsg+really1.3.1.orig.tar.gz",
        "60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb",
        "$CC -DHAVE_UNISTD_H -I. -o minigzip *.c test/minigzip.c",
    ),
    "zstd": Source(
        "libz/libzstd/libzstd_1.5.7+dfsg.orig.tar.xz",
        "0c092ef267edce57ba7f3f2645c861f72eaf5e76273c6c3632869423464b90a5",
        'make -s -C programs zstd-nomt CC="$CC" HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0'
        " ZSTD_LEGACY_SUPPORT=0 && mv programs/zstd .",
    ),
    "sqlite3": Source(
        "s/sqlite3/sqlite3_3.46.1.orig.tar.xz",
        "d0cdd2ece271b29e7ce18095745d892517ee26d0f270065b3a25c2e9eb11639c",
        "(unset CC; ./configure && make -s sqlite3.c shell.c) >/dev/null"
        " && $CC -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -w"
        " -o sqlite3 shell.c sqlite3.c -lm",
    ),
    "musl": Source(
        "m/musl/musl_1.2.5.orig.tar.gz",
        "a9a118bbe84d8764da0ea0d28b3ab3fae8477fc7e4085d90102b8596fc7c75e4",
        f"CC={CC} ./configure -q --target=riscv64-linux-gnu --disable-shared --enable-debug"
        ' --prefix="$PWD/musl" && make -s install',
    ),
}


def unpacked(name: str, into: Path) -> Path:
    """The sources' one folder."""
    source = SOURCES[name]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    kept = cache / "tally" / "sources" / Path(source.file).name
    if not kept.is_file():
        data = fetch(f"{mirror()}/pool/main/{source.file}")
        if hashlib.sha256(data).hexdigest() != source.sha256:
            raise Unavailable(f"{source.file}: not what it was")
        kept.parent.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(f".{os.getpid()}")
        new.write_bytes(data)
        new.rename(kept)
    with tarfile.open(kept) as tar:
        tar.extractall(into)
    (folder,) = into.iterdir()
    return folder


def built(name: str, into: Path) -> Path:
    """The program, or musl's folder; in `into`, which is empty."""
    folder = unpacked(name, into)
    compiler = f"{tool(CC)} -static -g -O2"
    done = subprocess.run(
        SOURCES[name].build, shell=True, cwd=folder, text=True, capture_output=True,
        env={**os.environ, "CC": compiler, "MAKEFLAGS": f"-j{os.cpu_count()}"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / name
