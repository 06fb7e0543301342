from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from pairgossip.kernels import exact
from pairgossip.order_statistics.comparisons import TESTS
from pairgossip_paper.experiments.ranks import RANKS, runs
from tests.paper.running import small_results, verdicts, with_errors

pytestmark = pytest.mark.usefixtures("undrawn")


results = small_results(
    RANKS,
    runs,
    _EXCHANGES=(0, 10_000),
    _CHECKPOINTS=(0, 8),
    build=cache(lambda name, plan: runs.RankNetwork(name, 140, plan.seed)),
)


def test_the_rank_sum_is_an_average_over_pairs() -> None:
    """Tracking ranks of one group, and the AUC of bins, are the same rank sum."""
    groups = runs.RankNetwork("complete", 60, 0).groups
    found = TESTS["wilcoxon-rank-sum"](groups)
    assert exact(groups, runs.rank_sum_kernel(60)) == pytest.approx(found.value, rel=1e-12)
    from_auc = 30 * 30 * exact(groups, "auc") + 30 * 31 / 2
    assert from_auc == pytest.approx(found.value, rel=1e-12)


@pytest.mark.parametrize("seed", [13, 21])
def test_no_tied_rows_are_cut_apart(seed: int) -> None:
    """GoTrim would converge elsewhere: in the first draw of these seeds, ties lie at a cut."""
    numbers = np.sort(runs.RankNetwork("complete", 500, seed).contaminated())
    assert numbers[199] < numbers[200] and numbers[299] < numbers[300]


def doctored(results: dict[str, Any], **factors: float) -> dict[str, str]:
    return verdicts(RANKS.report(with_errors(results, **factors)))


def test_other_errors_are_noticed(results: dict[str, Any]) -> None:
    behind = doctored(results, bins=1e6, bins_ordered=1e6)
    assert behind["ranks-ranks"] == behind["ranks-trimmed"] == "does not hold"
    assert behind["ranks-test"] == "holds in part"
    assert doctored(results, bins_tree=1e6)["ranks-tree"] == "does not hold"
    swift = doctored(results, trimmed_async=1e-9, rank_sum_async=1e-9, bins=1e6, bins_ordered=1e6)
    assert swift["ranks-test"] == "does not hold"
    slow = doctored(results, async_in_order=10.0)
    assert slow["ranks-layout"] == "holds in part"  # on the complete graph it should not matter


def test_another_theory_is_noticed(results: dict[str, Any]) -> None:
    facts = results["facts"]
    off = {name: [2.0 * error for error in curve] for name, curve in facts["theory"].items()}
    found = verdicts(RANKS.report(results | {"facts": facts | {"theory": off}}))
    assert found["ranks-theory"] == "does not hold"


def test_another_rate_is_noticed(results: dict[str, Any]) -> None:
    changed = dict(results)
    for key in [key for key in results if "-ranks-" in key and "bins" not in key]:
        run = results[key]
        changed[key] = replace(run, trial_error=np.full_like(run.trial_error, 3.0))
    assert verdicts(RANKS.report(changed))["ranks-rate"] == "does not hold"
