"""Intervals of noisy counts: given by agreement and not by luck, and as wide as necessary."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pairgossip as pg
from benchmarks.noisy_intervals import Setting, draw_noise, forms_kept, study
from pairgossip.cli.sums import result_facts
from pairgossip.counts.noisy import (
    find_forms,
    find_noisy,
    nearest_shares,
    rows_for_interval,
)
from pairgossip.counts.tables import Layout
from pairgossip.kernels import as_kernel
from pairgossip.peer.result_page import _facts
from pairgossip.peer.sums.statistics import cells_of, explain_no_interval, noise_law
from tests.sums.running import deal, run_programs, start_programs
from tests.sums.specs import kernel_spec

NOISE = "[privacy]\nepsilon = 1"
RNG = np.random.default_rng(3)
VALUES = RNG.beta(2, 3, 4000)
PAIRS = np.column_stack([VALUES, (VALUES + RNG.beta(3, 2, 4000)) / 2])
SCORED = np.column_stack([VALUES, (RNG.random(4000) < VALUES).astype(float)])


@pytest.mark.parametrize(
    ("setting", "samples"),
    [
        (Setting("gini", "normal", 600, 0.5), 100),
        (Setting("gini", "exponential", 600, 0.5), 100),
        (Setting("gini-coefficient", "exponential", 600, 1.0), 100),
        (Setting("auc", "rare class", 2_000, 0.5), 100),
        (Setting("median", "exponential", 600, 0.5), 100),
        (Setting("quantile-0.9", "exponential", 600, 0.5), 100),
    ],
    ids=str,
)
def test_every_sample_has_an_interval_that_covers_as_often_as_it_says(
    setting: Setting, samples: int
) -> None:
    with forms_kept():
        found = study(setting, samples)
    assert found.given == 1
    assert found.covers > 0.95 - 3 * math.sqrt(0.95 * 0.05 / samples)
    assert abs(found.off) < 0.1  # the median, relative to the width


@pytest.mark.parametrize(
    ("kernel", "columns", "label", "rows"),
    [
        ("gini", ["a"], None, VALUES),
        ("variance", ["a"], None, VALUES),
        ("gini-coefficient", ["a"], None, VALUES),
        ("auc", ["a"], "l", SCORED),
        ("kendall", ["a", "b"], None, PAIRS),
        ("kendall-b", ["a", "b"], None, PAIRS),
        ("somers-d", ["a", "b"], None, PAIRS),
        ("goodman-kruskal-gamma", ["a", "b"], None, PAIRS),
        ("concordance", ["a", "b"], None, PAIRS),
        ("ranking-risk", ["a"], "l", SCORED),
    ],
)
def test_forms_of_counts_are_the_statistic_of_the_rows(
    kernel: str, columns: list[str], label: str | None, rows: np.ndarray
) -> None:
    bins = f"bins = {64 // 4 ** (len(columns) - 1)}"
    cells = cells_of(kernel_spec(kernel, columns, label, tables=NOISE, algorithm=bins))
    table = cells.read_sums(cells.add_up(rows.reshape(len(rows), -1)))
    noisy = find_noisy(cells, table, 1e-12)
    assert noisy is not None
    exact = pg.exact(rows, kernel, interval=0.95)
    assert noisy.estimate.value == pytest.approx(float(exact), abs=0.15 * exact.error + 1e-3)
    assert noisy.estimate.error == pytest.approx(exact.error, rel=0.06)
    assert noisy.estimate.low < noisy.estimate.value < noisy.estimate.high


@pytest.mark.parametrize("kernel", ["gini", "variance"])
def test_the_bias_of_noise_is_taken_off_and_its_error_known(kernel: str) -> None:
    """The mean and the spread over many draws of noise in the same counts."""
    spec = kernel_spec(kernel, ["a"], top='target = "u"', tables=NOISE)
    cells, rng, n = cells_of(spec), np.random.default_rng(8), 600
    counts = cells.add_up(VALUES[:n, None])[1:]
    law = noise_law(spec, 5)
    draws = [np.append(n, counts + draw_noise(law, 32, rng)) for _ in range(150)]
    with forms_kept():
        found = [find_noisy(cells, cells.read_sums(one), law.variance) for one in draws]
        plain = find_noisy(cells, cells.read_sums(np.append(n, counts)), 0.0)
    values, errors = np.array([(one.estimate.value, one.noise) for one in found if one]).T
    assert plain is not None
    assert values.mean() == pytest.approx(plain.estimate.value, abs=4 * values.std() / 150**0.5)
    assert values.std() == pytest.approx(np.sqrt((errors**2).mean()), rel=0.2)


def test_a_form_is_the_kernel_averaged_over_pairs_of_cells() -> None:
    spec = kernel_spec("gini", ["a"], top='whole = ["a"]', ranges=(0, 9), tables=NOISE)  # type: ignore[arg-type]
    (block,) = cells_of(spec).tables
    forms = find_forms(block, as_kernel("gini"))
    whole = np.arange(10.0)
    assert forms.pairs[0] == pytest.approx(np.abs(whole[:, None] - whole))
    assert (forms.own == 0).all()


def test_whether_there_is_an_interval_follows_from_what_is_agreed() -> None:
    spec = kernel_spec("gini", ["a"], tables="[privacy]\nepsilon = 0.5")
    cells, law = cells_of(spec), noise_law(spec, 4)
    least = rows_for_interval(cells, law.variance)
    assert explain_no_interval(cells, law.variance, least) is None
    reason = explain_no_interval(cells, law.variance, least - 1)
    assert reason == (
        f"noise is too large beside {least - 1} rows: an interval takes {least} rows, or a larger "
        "privacy.epsilon, or fewer algorithm.bins"
    )
    fewer = kernel_spec("gini", ["a"], algorithm="bins = 8", tables="[privacy]\nepsilon = 0.5")
    assert rows_for_interval(cells_of(fewer), law.variance) == pytest.approx(least / 2, abs=1)


@pytest.mark.parametrize(("n", "is_given"), [(100, False), (600, True)])
def test_a_run_says_why_there_is_no_interval(n: int, is_given: bool) -> None:
    spec = kernel_spec("gini", ["a"], tables=NOISE)
    result = run_programs(start_programs(spec, deal(VALUES[:n], 4)))
    assert result.noise is not None and result.noise.error is not None
    assert (result.noise.epsilon, result.noise.honest) == (1.0, 3)
    assert result.noise.variance == pytest.approx(noise_law(spec, 4).variance)
    assert result.value is not None and result.bracket is None
    assert (result.interval is not None) == is_given
    assert (result.noise.without_interval is None) == is_given
    for facts in (result_facts(result), _facts(result, {})):
        assert ("no interval" in dict(facts)) != is_given


@pytest.mark.parametrize("kernel", ["trimmed-mean-0.1", "hodges-lehmann"])
def test_noise_that_is_not_followed_leaves_an_interval_where_it_is_small(kernel: str) -> None:
    for epsilon, is_given in ((0.5, False), (100, True)):
        spec = kernel_spec(kernel, ["a"], tables=f"[privacy]\nepsilon = {epsilon}")
        result = run_programs(start_programs(spec, deal(VALUES, 4)))
        assert (result.interval is not None) == is_given


def test_what_has_no_interval_without_noise_needs_no_reason() -> None:
    spec = kernel_spec("mann-whitney", ["a"], "l", tables=NOISE)
    result = run_programs(start_programs(spec, deal(SCORED[:100], 4)))
    assert result.interval is None and result.noise is not None
    assert result.noise.without_interval is None


def test_a_quantile_of_whole_numbers_has_an_interval() -> None:
    rows = np.random.default_rng(2).poisson(4, 3000).clip(0, 20).astype(float)
    spec = kernel_spec("median", ["a"], top='whole = ["a"]', ranges=(0, 20), tables=NOISE)  # type: ignore[arg-type]
    result = run_programs(start_programs(spec, deal(rows, 4)))
    assert result.value == 4 and result.interval == (4, 4)


def test_shares_are_the_nearest_that_are_possible() -> None:
    shares = np.array([0.5, -0.2, 0.4, 0.3])
    near = nearest_shares(shares)
    assert near.sum() == pytest.approx(1) and near.min() == 0
    others = np.random.default_rng(0).dirichlet(np.ones(4), 2000)
    assert np.linalg.norm(near - shares) <= np.linalg.norm(others - shares, axis=1).min()


def check_figures(
    cells: Layout, counts: np.ndarray, n: int, variance: float, moves: list[np.ndarray]
) -> None:
    """Check that counts with other last digits have the same figures."""
    found = []
    for move in (np.zeros(1), *moves):
        sums = cells.read_sums(np.append(n, (counts * (1 + move)).ravel()))
        noisy = find_noisy(cells, sums, variance)
        assert noisy is not None
        found.append([noisy.noise, *noisy.estimate[:4]])
    for other in found[1:]:
        assert other == pytest.approx(found[0], rel=1e-9)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("kernel", ["kendall-b", "somers-d"])
def test_other_last_digits_of_a_machine_change_no_figure(kernel: str) -> None:
    """Members sign figures that differ by at most 1e-9, though covariances are singular here."""
    spec = kernel_spec(kernel, ["a", "b"], tables=NOISE, algorithm="bins = 16")
    cells, rng = cells_of(spec), np.random.default_rng(4)
    counts = cells.add_up(PAIRS)[1:] + draw_noise(noise_law(spec, 5), 256, rng)
    moves = [rng.normal(size=(16, 16)) * rounding for rounding in (1e-15, 1e-14)]
    check_figures(cells, counts.reshape(16, 16), len(PAIRS), 10.0, moves)


@pytest.mark.parametrize(
    ("kernel", "counts"),
    [
        ("median", [15, 11, 13, 9, 14, 12, 10, 12]),
        ("median", [2, 0, 0, 0, 0, 0, 2, 0]),
        ("quantile-0.25", [1, 1, 1, 1, 1, 1, 1, 1]),
        ("quantile-0.25", [0, 0, 0, 0, 8, 0, 0, 0]),
    ],
)
@pytest.mark.parametrize("is_whole", [False, True])
def test_a_share_that_is_just_the_level_is_so_on_every_machine(
    kernel: str, counts: list[int], is_whole: bool
) -> None:
    kind = {"top": 'whole = ["a"]'} if is_whole else {"algorithm": "bins = 8"}
    spec = kernel_spec(kernel, ["a"], tables=NOISE, ranges=(0, 7), **kind)  # type: ignore[arg-type]
    signs = np.where(np.arange(8) < 4, 1e-15, -1e-15)
    check_figures(cells_of(spec), np.array(counts), sum(counts), 2.0, [signs, -signs])


@pytest.mark.parametrize("kernel", ["kendall-b", "somers-d"])
def test_a_sampling_error_that_noise_hides_is_unknown_on_every_machine(kernel: str) -> None:
    """Only a rounding error is left: None on one machine and 1e-9 on another would end a run."""
    cells = cells_of(kernel_spec(kernel, ["a", "b"], tables=NOISE, algorithm="bins = 8"))
    rng, errors = np.random.default_rng(5), []
    for _ in range(40):
        table = 4 * np.eye(8) + rng.integers(-3, 4, (8, 8))
        noisy = find_noisy(cells, cells.read_sums(np.append(32, table.ravel())), 2.0)
        assert noisy is not None
        errors.append(noisy.estimate.error / noisy.noise)
    assert np.isnan(errors).any()
    assert np.nanmin(errors) > 1e-6


@pytest.mark.parametrize("kernel", ["gini", "gini-coefficient", "variance"])
@pytest.mark.parametrize("bins", [8, 16, 64])
def test_cells_that_widen_fast_are_read_in_what_they_leave_open(kernel: str, bins: int) -> None:
    rows = np.exp(np.random.default_rng(2).normal(size=20_000))
    more = {"ranges": (1e-3, 1e6), "algorithm": f"bins = {bins}", "tables": NOISE}
    cells = cells_of(kernel_spec(kernel, ["a"], **more))  # type: ignore[arg-type]
    sums = cells.read_sums(cells.add_up(rows[:, None]))
    noisy = find_noisy(cells, sums, 1e-9)
    plain = cells.find(sums)
    assert noisy is not None
    assert plain.bracket[0] <= noisy.estimate.value <= plain.bracket[1]
    assert noisy.estimate.low <= float(pg.exact(rows, kernel)) <= noisy.estimate.high
