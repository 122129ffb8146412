"""Programs as Debian ships them for riscv64: fetched, and unpacked aside. They
run in the guest only.

What is fetched lies in ~/.cache/tally/riscv64, and is fetched once.
"""

from __future__ import annotations

import fcntl
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

from tally.verify.patience import HANG

RELEASE = "trixie"  # the first with riscv64
ARCHITECTURE = "riscv64"


class Unavailable(Exception):
    """No package comes from here; says why."""


def mirror() -> str:
    """This machine's own, if it is a Debian."""
    command = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)",
               "Created-By: Packages"]
    try:
        said = subprocess.run(command, capture_output=True, text=True).stdout
    except FileNotFoundError:
        said = ""
    found = [uri for uri in re.findall(r"^Debian (\S+)", said, re.M)
             if "security" not in uri]
    return (found or ["http://deb.debian.org/debian"])[0].rstrip("/")


def fetch(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=HANG) as answer:
            return answer.read()
    except OSError as error:
        raise Unavailable(f"{url}: {error}") from None


def packages(index: str) -> dict[str, dict[str, str]]:
    """What a list of packages says of each."""
    found: dict[str, dict[str, str]] = {}
    for block in index.split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", block, re.M))
        found.setdefault(fields.get("Package", ""), fields)
    return found


def with_needed(wanted: list[str], known: dict[str, dict[str, str]]) -> list[str]:
    """Them, and what they depend on; of alternatives, the first."""
    found: list[str] = []
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in found or name not in known:
            continue
        found.append(name)
        for field in ("Depends", "Pre-Depends"):
            for word in known[name].get(field, "").split(","):
                waiting += re.findall(r"^\s*([\w.+-]+)", word)[:1]
    return found


def root(*wanted: str) -> Path:
    """A folder with the packages, and all that they need, unpacked."""
    if not shutil.which("dpkg-deb"):
        raise Unavailable("no dpkg-deb")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "tally" / ARCHITECTURE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            complete(folder, list(wanted))
    except (OSError, KeyError, lzma.LZMAError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"{type(error).__name__}: {error}") from None
    return folder / "root"


def complete(folder: Path, wanted: list[str]) -> None:
    """Add what isn't in the folder yet; `have` lists what is."""
    have = folder / "have"
    unpacked = have.read_text().split() if have.exists() else []
    if not set(wanted) - set(unpacked):
        return
    base = mirror()
    where = f"{base}/dists/{RELEASE}/main/binary-{ARCHITECTURE}/Packages.xz"
    known = packages(lzma.decompress(fetch(where)).decode())
    missing = [name for name in wanted if name not in known]
    if missing:
        raise Unavailable(f"{base}: no package {missing[0]}")
    for name in with_needed(wanted, known):
        if name not in unpacked:
            unpack(base, known[name], folder / "root")
            unpacked.append(name)
            have.write_text("\n".join(unpacked))


def unpack(base: str, package: dict[str, str], into: Path) -> None:
    data = fetch(f"{base}/{package['Filename']}")
    if hashlib.sha256(data).hexdigest() != package["SHA256"]:
        raise Unavailable(f"{package['Filename']}: not what the list says")
    into.mkdir(exist_ok=True)
    tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", "-"], input=data, check=True,
                         stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", str(into), "--no-same-owner", "--exclude=./dev",
                    "--exclude=./usr/share"], input=tar, check=True)
