"""Fixtures and settings that tests of different rooms share."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.covering import choose_covering

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# This is set before numpy is imported: workers of the tests use all cores, and threads of its
# linear algebra that wait for a core waste ten times the work. Processes started by
# tests inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# The same holds for the threads and processes in which trials run and figures are drawn.
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")
# Workers and the many processes that tests start would each compile the same sources again,
# and pytest would rewrite the asserts of every test file in every worker.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

NEEDS_UNIX = (
    *("deploy/*", "peer/*", "study/*", "sums/*", "swarm/*", "watch/*"),
    *("test_device.py", "test_distribution.py"),
    *("cli/test_interrupt.py", "cli/test_peer*.py", "cli/test_swarm.py"),
    *("test_docs.py", "test_field_docs.py", "test_five_hospitals.py", "test_package.py"),
    *("test_terminal.py", "test_three_machines.py", "test_windows.py"),
)
"""Tests of peers, tests that start or stop processes as Unix does, and checks of the sources."""
collect_ignore_glob = list(NEEDS_UNIX) if sys.platform == "win32" else []

# No test fails for being slow: machines are shared, and profilers slow everything down.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

_NUMBERS = itertools.count()
NO_BROWSER = "no Chromium: install Debian's chromium, or run 'playwright install chromium'"


def pytest_collection_finish() -> None:
    """Keep the garbage collector from scanning imported modules, and run it less often."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # saves a tenth of the time of sweeps of simulated peers


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give every test an empty register of releases, and leave that of the user alone."""
    folder = item.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    os.environ["PAIRGOSSIP_RELEASES"] = str(folder / "released" / str(next(_NUMBERS)))


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Let Ctrl-C interrupt, since a shell makes its background jobs ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the system's Chromium or else Playwright's; without either, the tests are skipped."""
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium") or shutil.which("chromium-browser")
    # Chromium's own sandbox does not work for root, the user of containers.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with contextlib.ExitStack() as stack:
        try:
            playwright = stack.enter_context(sync_playwright())
            chromium = playwright.chromium.launch(executable_path=found, args=arguments)
        except Exception:  # a plain Exception if Playwright itself does not start
            if os.environ.get("CI"):
                raise
            pytest.skip(NO_BROWSER)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def shared_evidence() -> Iterator[None]:
    """Compute the evidence of every erratum once, for all tests of pages that show it."""
    from pairgossip_paper import errata
    from pairgossip_paper.experiments import errata_evidence

    rows = tuple(replace(row, evidence=cache(row.evidence)) for row in errata.ERRATA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errata, "ERRATA", rows)
        patch.setattr(errata_evidence, "ERRATA", rows)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take few cases of large products, and start with the longest test."""
    items[:] = _with_all_pairs(items)
    items.sort(key=lambda item: item.name != "test_the_site_builds")


def _with_all_pairs(items: list[pytest.Item]) -> list[pytest.Item]:
    """Leave out cases of tests marked `pairs`, as long as all pairs of their parameters stay."""
    cases: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("pairs"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for several in cases.values():
        # By identity: graphs and functions among the parameters cannot all be compared.
        values = [[id(value) for value in item.callspec.params.values()] for item in several]
        kept = choose_covering(values)
        left_out |= set(several) - {several[number] for number in kept}
    return [item for item in items if item not in left_out]
