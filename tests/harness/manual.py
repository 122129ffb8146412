"""The manual's pages."""

from __future__ import annotations

import re
from pathlib import Path

PAGES = sorted((Path(__file__).resolve().parents[2] / "man").glob("*.[1-9]"))


def names(page: Path) -> set[str]:
    """What a page is about: one name, or several."""
    text, _, _ = page.read_text().partition("\n.Nd ")
    return set(re.findall(r"^\.Nm (\S+)", text, re.M))
