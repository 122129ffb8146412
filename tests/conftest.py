"""Fixtures. A test boots with `guest`, types with `console`.

Both are on 4 harts under icount, unless @pytest.mark.machines names others:
then the test runs on each (see harness/guest.py).
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Callable, Iterator

import pytest

from harness import checks, costs
from harness.console import Console
from harness.converter import Converter
from harness.guest import Guest, Images, last_boots
from harness.packing import APART, Packing
from tally.boot.machine import Machine
from tally.verify.machines import ALL, MACHINES, Machines
from tally.verify.patience import WHOLE

#: Files whose place in the order is not that of their names.
_RANK = {**dict.fromkeys(APART, 1), "test_conformance.py": 2}

# The host's scripts are started by the thousand: each module is compiled once, as it is
# for whoever hasn't set this.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

GUEST_PROGRAMS = Path(__file__).parent / "guest"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-expected",
        action="store_true",
        help="write tests/expected anew from what the tests see",
    )
    parser.addoption(
        "--outcomes",
        metavar="FILE",
        help="how the tests of an earlier session ended, and then this one's:"
        " together they are all that there are",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--outcomes"):
        checks.complete = True
        checks.read(Path(config.getoption("--outcomes")))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Where several processes share the tests, only the first one hears of all."""
    if config.getoption("--outcomes") and not hasattr(config, "workerinput"):
        checks.write(Path(config.getoption("--outcomes")))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "machine" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("machines")
        names = marker.args if marker else ("4",)
        if isinstance(names[0], Machines):
            names = names[0].chosen
        machines = [MACHINES[name] for name in names]
        metafunc.parametrize("machine", machines, ids=names, scope="module")


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    return Packing(config, log)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Long ones come with --all, or when they are named. Small pieces of work come
    last, so that no processor is idle at the end. What is said of the others' outcome
    comes after them."""
    named = config.option.keyword or any("::" in word for word in config.args)
    if not ALL and not named:
        long = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)
    items.sort(key=lambda item: _RANK.get(item.path.name, 0))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    costs.add(report)
    name = Path(report.nodeid.partition("[")[0]).name
    if report.when == "call":
        checks.outcomes.setdefault(name, set()).add(report.outcome)
        for program, good in report.checks.items():
            checks.passed.setdefault(program, set()).update(good)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What all sessions cost, in the last one, which has one process."""
    if config.getoption("--outcomes") and not config.getoption("numprocesses"):
        terminalreporter.section("what it cost")
        terminalreporter.write("\n".join(costs.summary()) + "\n")


def pytest_runtest_setup() -> None:
    last_boots.clear()
    checks.good.clear()


def _without_end(_signal: int, _frame: object) -> None:
    pytest.fail(f"no end after {WHOLE} s")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """One that hangs fails, and the others still run."""
    signal.signal(signal.SIGALRM, _without_end)
    signal.alarm(WHOLE)
    yield
    signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo
) -> Iterator[None]:
    """A test that failed shows what its boots printed; a fixture that failed
    for many tests is shown once. Each tells which checks came out well."""
    outcome = yield
    outcome.get_result().cost = costs.spent()
    outcome.get_result().checks = {p: sorted(g) for p, g in checks.good.items()}
    if call.excinfo is None:
        return
    if call.when != "setup":
        stories = [boot.story() for boot in last_boots]
        outcome.get_result().sections += [("boot", story) for story in stories]
        return
    error = call.excinfo.value  # pytest raises the same one again
    first = _shown.setdefault(error, item.nodeid)
    report = outcome.get_result()
    if report.failed and first != item.nodeid:
        report.longrepr = f"its fixture failed, as for {first}"


_shown: dict[BaseException, str] = {}


@pytest.fixture(scope="session", autouse=True)
def images() -> Images:
    """The kernel, the initrd and the guest test programs, built: before any test has
    a script build them, whose warnings would not be errors."""
    return Images(GUEST_PROGRAMS)


@pytest.fixture(scope="module")
def guest(images: Images, machine: Machine) -> Guest:
    """Boots commands: guest("echo hello").out"""
    return Guest(images, machine)


@pytest.fixture(scope="module")
def convert(tmp_path_factory: pytest.TempPathFactory) -> Converter:
    """scripts/tally-convert: convert(bytes, "folded")"""
    return Converter(tmp_path_factory.mktemp("convert"))


@pytest.fixture
def console(images: Images, machine: Machine) -> Iterator[Console]:
    """A shell at a prompt."""
    shell = Console(machine)
    yield shell
    shell.close()


@pytest.fixture
def expected(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """expected(NAME, text) asserts that tests/expected/NAME holds the text."""
    update = request.config.getoption("--update-expected")
    return lambda name, text: checks.assert_expected(name, text, update)
