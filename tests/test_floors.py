"""The host's package stands on its floors: none imports a higher one.

docs/tour.md names them from the ground up, in a block marked `floors`. The plugins' C
has a floor of its own: what all plugins have in common.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Iterator

from tally import ROOT

PACKAGE = ROOT / "tally"
TOUR = (ROOT / "docs" / "tour.md").read_text()
(DRAWN,) = re.findall(r"```floors\n(.*?)```", TOUR, re.S)
FLOORS = re.findall(r"^\w+", DRAWN, re.M)
MODULES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts): file
    for file in PACKAGE.rglob("*.py")
}
#: Where people and tests enter: these may know all floors.
ENTRIES = [
    *ROOT.glob("scripts/lib/*.py"), *ROOT.glob("tests/**/*.py"),
    *ROOT.glob("labs/*/*.py"),
]


def floor(module: str) -> str:
    return module.split(".")[1]


def imports(file: Path) -> Iterator[str]:
    """The modules of the package that a file names, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import hides the floor"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            while name.startswith("tally.") and name not in MODULES:
                name = name.rpartition(".")[0]  # of a module, what it has
            if name in MODULES:
                yield name


def test_every_folder_is_a_floor() -> None:
    assert [f.name for f in sorted(PACKAGE.iterdir()) if f.is_dir() if
            any(f.glob("**/*.py"))] == sorted(FLOORS)


def test_no_floor_knows_a_higher_one() -> None:
    up = [
        f"{module} imports {other}"
        for module, file in MODULES.items() if module != "tally.__init__"
        for other in imports(file)
        if FLOORS.index(floor(other)) > FLOORS.index(floor(module))
    ]
    assert not up, "\n".join(up)


def test_no_module_comes_back_to_itself() -> None:
    """By no way: who begins at any module reaches it once."""
    known = {module: set(imports(file)) - {module} for module, file in MODULES.items()}
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way, module))
        if module not in done:
            for other in sorted(known[module]):
                visit(other, (*way, module))
            done.add(module)

    for module in sorted(known):
        visit(module, ())


def test_python_is_told_where_the_package_is_once() -> None:
    """scripts/lib/enter.py does, and pytest.ini: no other module changes sys.path."""
    files = [*MODULES.values(), *ENTRIES]
    changes = [
        str(file.relative_to(ROOT))
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "path"
        and isinstance(node.value, ast.Name) and node.value.id == "sys"
    ]
    assert set(changes) == {"scripts/lib/enter.py"}


LAYOUT = "kernel/base/layout.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def test_plugins_share_what_they_have_in_common() -> None:
    """A plugin's C includes its own folder's headers, common's, and the kernel's map of
    addresses; common knows no plugin."""
    home = PACKAGE / "plugins"
    common = {file.name for file in (home / "common").glob("*.h")}
    wrong = [
        f"{file.relative_to(ROOT)} includes {name}"
        for file in home.glob("*/*.[ch]")
        for name in INCLUDE.findall(file.read_text())
        if name not in common | {LAYOUT} | {f.name for f in file.parent.glob("*.h")}
    ]
    assert common and not wrong, "\n".join(wrong)
