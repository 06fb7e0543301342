"""Real processes that compute sums, undisturbed and disturbed."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.cli.swarm.sums_report import verdict
from pairgossip.swarm.chaos import Faults
from pairgossip.swarm.plan import Plan
from pairgossip.swarm.running import Report, SwarmOptions, run_swarm
from pairgossip.swarm.sums_audit import SumsAudit

from .brisk import use_brisk_peers
from .lines import make_line, run_line
from .plans import cancer_loss, cancer_plan, income_sums_plan

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals as on Unix")


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    use_brisk_peers(monkeypatch)


def run(plan: Plan, folder: Path, **options: object) -> tuple[Report, SumsAudit]:
    how = SwarmOptions(seconds=100.0, power_safe=False, **options)  # type: ignore[arg-type]
    report = run_swarm(plan, folder, how, lambda *_: None)
    assert report.is_sound, (report.books.violations, report.failures)
    assert isinstance(report.books, SumsAudit)
    return report, report.books


def test_faults_change_no_bit(tmp_path: Path) -> None:
    """The audit compares with what undisturbed programs find, bit for bit.

    It adds the noise that the ledgers of the peers have, and draws none itself.
    """
    faults = Faults(kills=2, freezes=0, partitions=1, window=0.0)
    plan = income_sums_plan(3, 60, epsilon=5.0)
    report, audit = run(plan, tmp_path / "swarm", faults=faults)
    assert report.faults == {"kills": 2, "partitions": 1}
    assert report.early_kills >= 1
    assert (audit.rounds, audit.sums, audit.searched) == (3, 1, 60)
    assert audit.result is not None and audit.result.noise is not None
    assert audit.result.noise.epsilon == 5.0
    assert report.errors()[0] < 0.5


@pytest.mark.slow
def test_kills_of_the_middle_change_no_bit(tmp_path: Path) -> None:
    """The audit compares each sum and the result with those of programs that nobody disturbs.

    They learn a model of the cases of all peers that is as good as the best.
    """
    homes = make_line(cancer_plan(3, pg.graphs.path(3)), tmp_path / "line")
    disturbed, held = run_line(homes, kills=3)
    assert disturbed.violations == () and disturbed.result is not None
    assert disturbed.sums == disturbed.result.rounds > 0
    assert held[-1] < 3 * disturbed.rounds, "it was killed before it had all"
    features, labels = pg.datasets.breast_cancer_wisconsin()
    best = pg.minimize(
        features, labels, loss="auc-logistic", method="sketch", tolerance=1e-12, engine="plain"
    )
    assert disturbed.result.model is not None
    assert cancer_loss(np.array(disturbed.result.model)) < cancer_loss(best.model) + 1e-5


def test_a_run_without_a_result_ends_in_time(tmp_path: Path) -> None:
    folder, killed = tmp_path / "swarm", list[int]()

    def kill(*_: object) -> None:
        if not killed:
            told = json.loads((folder / "swarm.json").read_text())
            killed.append(told["peers"][1]["pid"])
            os.kill(killed[0], signal.SIGKILL)

    # With faults, if only none, peers begin together: the first reading is in time.
    none = Faults(kills=0, freezes=0, partitions=0, window=0.0)
    options = SwarmOptions(seconds=1.0, faults=none, power_safe=False)
    report = run_swarm(income_sums_plan(4, 40), folder, options, kill)
    assert report.failures[0].startswith("peer-02 ended by itself (code -9)")
    assert any(
        one.startswith("peer-01 has no result: round ") and " waits for peer-0" in one
        for one in report.books.violations
    )
    assert report.result_after is None and not report.is_sound


def test_an_interrupted_run_is_sound_without_a_result(tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    none = Faults(kills=0, freezes=0, partitions=0, window=0.0)
    options = SwarmOptions(seconds=100.0, faults=none, power_safe=False)
    plan = income_sums_plan(3, 30, epsilon=5.0)
    report = run_swarm(plan, tmp_path / "swarm", options, stop)
    assert report.is_interrupted and report.is_well(None), report.books.violations
    assert isinstance(report.books, SumsAudit)
    early = replace(report, books=replace(report.books, result=None))  # peers may be faster
    assert verdict(early).startswith("interrupted before all peers had the result; what they have")
