"""Statistics of order by gossip: every node reads them from averaged bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.inference.answer import Answer
from pairgossip.order_statistics.statistics import (
    HodgesLehmann,
    Quantile,
    Shift,
    Statistic,
    TrimmedMean,
    WinsorizedMean,
)
from pairgossip.results import Run
from pairgossip.sketches.samples import Sample, SketchedColumns, SketchedSample

RNG = np.random.default_rng(0)
SAMPLES = {
    "normal": RNG.normal(size=200),
    "lognormal": RNG.lognormal(size=200),
    "cauchy": RNG.standard_cauchy(200),
}
TIED = RNG.integers(0, 12, 200).astype(float)
LABELS = (RNG.random(200) < 0.4).astype(float)
WEIGHTS = RNG.integers(1, 4, 200).astype(float)

Ask = Callable[..., Any]
FUNCTIONS: dict[str, tuple[Ask, Statistic]] = {
    "median": (lambda x, *a, **how: pg.quantile(x, 0.5, *a, **how), Quantile(0.5)),
    "decile": (lambda x, *a, **how: pg.quantile(x, 0.9, *a, **how), Quantile(0.9)),
    "trimmed": (lambda x, *a, **how: pg.trimmed_mean(x, 0.1, *a, **how), TrimmedMean(0.1)),
    "winsorized": (lambda x, *a, **how: pg.winsorized_mean(x, 0.1, *a, **how), WinsorizedMean(0.1)),
    "hodges-lehmann": (pg.hodges_lehmann, HodgesLehmann()),
    "shift": (lambda x, *a, **how: pg.hodges_lehmann(x, *a, labels=LABELS, **how), Shift()),
}
functions = pytest.mark.parametrize("name", FUNCTIONS)
on_a_tree: dict[str, Any] = {"schedule": "tree", "seed": 0, "checkpoints": 1}


def sketched(name: str, x: FloatArray, **how: Any) -> SketchedSample:
    labels = LABELS if name == "shift" else None
    return SketchedSample(Sample(x, labels, **how), FUNCTIONS[name][1], 64, None)


@functions
@pytest.mark.parametrize("x", SAMPLES.values(), ids=SAMPLES)
def test_bins_cost_little_beside_the_sampling_error(name: str, x: FloatArray) -> None:
    ask, _ = FUNCTIONS[name]
    exact, run = ask(x), ask(x, "complete", **on_a_tree)
    assert isinstance(run, Run)
    assert isinstance(exact, Answer)
    assert run.sketch_error is not None
    assert run.target == pytest.approx(exact.value, rel=1e-12)
    assert run.estimates == pytest.approx(run.sketch_value, rel=1e-9)
    assert run.sketch_error < 0.15 * exact.error
    assert run.level == 0.95
    assert run.sampling_error == pytest.approx(exact.error, rel=0.12)
    for ends, end in zip(run.interval, (exact.low, exact.high), strict=True):
        assert ends.shape == (1, 200)
        assert ends == pytest.approx(end, abs=0.4 * exact.error)


@functions
@pytest.mark.parametrize("power", [-664, 664])
def test_bins_scale_with_the_rows(name: str, power: int) -> None:
    """They scale exactly with powers of two, from 1e-200 to 1e200."""
    x, factor = SAMPLES["cauchy"], 2.0**power
    problem, scaled = sketched(name, x), sketched(name, factor * x)
    mean = problem.features.mean(axis=0, keepdims=True)
    assert scaled.features.mean(axis=0, keepdims=True) == pytest.approx(mean, rel=1e-9)
    assert scaled.sketch.readout(mean) == factor * problem.sketch.readout(mean)
    found, expected = (one.sketch.sampling(mean, 0.95)[:3] for one in (scaled, problem))
    assert np.array_equal(found, factor * np.array(expected))


@pytest.mark.parametrize("name", ["hodges-lehmann", "shift"])
def test_an_outlier_takes_no_digits(name: str) -> None:
    x = np.r_[SAMPLES["normal"][:-1], 1e12]
    problem, exact = sketched(name, x), FUNCTIONS[name][0](x)
    assert problem.limit == pytest.approx(exact.value, abs=0.15 * exact.error)
    found = problem.sampling(problem.features.mean(axis=0, keepdims=True), 0.95)
    assert found.error == pytest.approx(exact.error, rel=0.12)


@functions
def test_few_different_numbers_lose_nothing(name: str) -> None:
    problem, exact = (
        sketched(name, TIED, weights=WEIGHTS),
        FUNCTIONS[name][0](TIED, weights=WEIGHTS),
    )
    assert problem.limit == pytest.approx(exact.value, rel=1e-9)
    mean = problem.features.mean(axis=0, keepdims=True)
    found = [float(part[0]) for part in problem.sampling(mean, 0.95)[:3]]
    assert found == pytest.approx([exact.error, exact.low, exact.high], rel=1e-9, abs=1e-9)


@functions
def test_sites_and_weights(name: str) -> None:
    """A site adds up its rows; a weight of 2 is two rows."""
    ask, x = FUNCTIONS[name][0], SAMPLES["lognormal"]
    sites = np.arange(200) % 7
    run = ask(x, "cycle", groups=sites, weights=WEIGHTS, **on_a_tree)
    assert run.estimates.shape == (1, 7)
    exact = ask(x, weights=WEIGHTS)
    assert run.target == pytest.approx(exact.value, rel=1e-12)
    assert run.estimates == pytest.approx(run.sketch_value, rel=1e-9)
    assert run.sketch_error < 0.15 * exact.error


@functions
@pytest.mark.parametrize("schedule", ["random", "ordered", "continuized"])
def test_gossip_gets_there(name: str, schedule: str) -> None:
    ask, x = FUNCTIONS[name][0], SAMPLES["normal"][:60]
    if name == "shift":
        run = pg.hodges_lehmann(
            x, "torus", labels=LABELS[:60], schedule=schedule, seed=1, checkpoints=1
        )
    else:
        run = ask(x, "torus", schedule=schedule, seed=1, checkpoints=1)
    assert run.estimates == pytest.approx(run.sketch_value, abs=1e-3)


@pytest.mark.filterwarnings("ignore::pairgossip.errors.NotEnough")
@functions
def test_the_plain_engine_gives_the_same(name: str) -> None:
    ask, x = FUNCTIONS[name][0], np.r_[SAMPLES["normal"][:30], SAMPLES["normal"][100:130]]
    how: dict[str, Any] = {"iterations": 400, "seed": 3, "checkpoints": 4}
    if name == "shift":
        ask, how = pg.hodges_lehmann, how | {"labels": np.r_[LABELS[:30], LABELS[100:130]]}
    fast, plain = ask(x, "cycle", **how), ask(x, "cycle", engine="plain", **how)
    assert fast.estimates == pytest.approx(plain.estimates, rel=1e-12, nan_ok=True)
    assert fast.traffic.bytes.tolist() == plain.traffic.bytes.tolist()


@pytest.mark.parametrize("x", SAMPLES.values(), ids=SAMPLES)
def test_every_node_learns_its_own_rank(x: FloatArray) -> None:
    run = pg.ranks(x, "complete", **on_a_tree)
    assert isinstance(run, Run)
    assert np.array_equal(run.target, pg.ranks(x))
    assert run.error[-1] < 0.01 * len(x)
    assert run.sketch_error is None


def test_ranks_of_few_different_numbers_are_exact() -> None:
    run = pg.ranks(TIED, "complete", weights=WEIGHTS, **on_a_tree)
    assert run.estimates[0] == pytest.approx(run.target, rel=1e-9)


def test_a_declared_range_needs_no_flooding() -> None:
    x = SAMPLES["normal"]
    told = pg.quantile(x, 0.5, "complete", range=(-5, 5), **on_a_tree)
    asked = pg.quantile(x, 0.5, "complete", **on_a_tree)
    assert told.iterations[-1] == 2 * 200 - 2 == asked.iterations[-1] / 2
    with pytest.raises(pg.InputError, match=r"range \[-1, 1\] leaves out rows"):
        pg.quantile(x, 0.5, "complete", range=(-1, 1))


def test_a_run_ends_when_nodes_have_enough() -> None:
    run = pg.quantile(SAMPLES["normal"], 0.5, "complete", until="enough", iterations=50_000, seed=0)
    assert 0 < run.enough[0] < 50_000
    assert run.error[-1] < 0.3 * run.sampling_error.max()


def test_numbers_alone_have_no_interval() -> None:
    run = pg.quantile(SAMPLES["normal"], 0.5, "complete", interval=None, **on_a_tree)
    with pytest.raises(pg.InputError, match="no sampling errors"):
        _ = run.interval
    with pytest.raises(pg.InputError, match="leave until= out"):
        pg.ranks(SAMPLES["normal"], "complete", until="enough")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"trials": 3}, "Without a graph nothing is gossiped, so trials has no meaning"),
        ({"graph": "cycle", "kernel": "gini"}, "'kernel' is not an argument here"),
        ({"graph": "cycle", "bins": 0}, "number of bins must be a whole number >= 1"),
        ({"graph": "cycle", "range": (1, 0)}, "two finite numbers, the smaller first"),
        ({"graph": "moebius"}, "moebius"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        pg.quantile(SAMPLES["normal"], 0.5, **options)


def test_slopes_of_a_correlation_of_ranks_say_how_estimates_settle() -> None:
    columns = np.column_stack([SAMPLES["normal"], SAMPLES["normal"] + SAMPLES["cauchy"]])
    problem = SketchedColumns(columns, 8)
    (values, floor), mean = problem.linearized(), problem.features.mean(axis=0)
    step = 1e-4 * (problem.features - mean)
    assert np.ptp(values) > 0.1
    assert np.allclose(problem.read(mean + step) - problem.limit, 1e-4 * values, atol=1e-6)
    assert floor == pytest.approx(abs(problem.limit - problem.exact()))


def test_ties_that_bins_do_not_see_are_told_of() -> None:
    x = np.where(SAMPLES["lognormal"] < 1.5, 0.0, SAMPLES["lognormal"])
    assert str(pg.quantile(x, 0.99)).endswith("to inf)") and "e" not in str(pg.quantile(x, 0.99))
    assert len(np.unique(x)) < 2 * 64  # each has a different place
    pg.quantile(x, 0.5, "complete", **on_a_tree)
    with pytest.warns(pg.CoarseSketch, match="more than the sampling error of 0, .* use more bins"):
        run = pg.quantile(x, 0.5, "complete", bins=16, **on_a_tree)
    assert run.target == 0.0


def test_a_site_has_no_rank() -> None:
    pg.ranks([1.0, 2.0, 3.0, 4.0], "cycle", groups=None, iterations=1)
    with pytest.raises(pg.InputError, match="bins give one rank per node: use method='gorank'"):
        pg.ranks([1.0, 2.0, 3.0, 4.0], "cycle", groups=[0, 0, 1, 2])


@functions
def test_rows_with_gaps_are_refused_or_left_out(name: str) -> None:
    x, whole = SAMPLES["normal"].copy(), np.arange(200) != 5
    ask, labels = FUNCTIONS[name][0], LABELS
    if name == "shift":
        ask = pg.hodges_lehmann
    gaps = np.where(whole, x, np.nan)
    how: dict[str, Any] = {"labels": labels} if name == "shift" else {}
    with pytest.raises(pg.InputError, match=r"missing in x \(row 5\).*missing='drop'"):
        ask(gaps, **how)
    with pytest.warns(pg.RowsDropped, match="Left out 1 of 200 rows"):
        left = ask(gaps, missing="drop", weights=WEIGHTS, **how)
    kept = {key: value[whole] for key, value in how.items()}
    assert left == (ask(x[whole], weights=WEIGHTS[whole], **kept))
    with pytest.warns(pg.RowsDropped):
        run = ask(gaps, "complete", missing="drop", groups=np.arange(200) % 9, **how, **on_a_tree)
    assert run.rows_dropped == 1
    assert run.target == pytest.approx(float(ask(x[whole], **kept)), rel=1e-12)


def test_declared_classes_say_which_way_a_shift_goes() -> None:
    x, text = SAMPLES["normal"], np.where(LABELS == 1, "yes", "no")
    shift = pg.hodges_lehmann(x, labels=LABELS)
    assert pg.hodges_lehmann(x, labels=text, classes=["no", "yes"]) == shift
    turned = pg.hodges_lehmann(x, labels=text, classes=["yes", "no"])
    assert turned.value == pytest.approx(-shift.value, rel=1e-9)
    with pytest.raises(pg.InputError, match="there are no labels"):
        pg.hodges_lehmann(x, classes=["no", "yes"])


@pytest.mark.parametrize("how", [{"interval": 0.95}, {"interval": 0.9}, {"bins": 64}])
def test_what_gotrim_cannot_tell_is_refused(how: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"method": "gotrim", "iterations": 10}
    pg.trimmed_mean(SAMPLES["normal"], 0.1, "complete", interval=None, **asked)
    with pytest.raises(pg.InputError, match="'gotrim' has no bins, gives no interval"):
        pg.trimmed_mean(SAMPLES["normal"], 0.1, "complete", **asked, **how)


def test_nodes_are_read_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    x = SAMPLES["normal"]
    one, ranks = pg.quantile(x, 0.5, "complete", **on_a_tree), pg.ranks(x, "complete", **on_a_tree)
    monkeypatch.setattr(SketchedSample, "nodes_at_once", 7)
    again = pg.quantile(x, 0.5, "complete", **on_a_tree)
    assert again.sampling_error.tolist() == one.sampling_error.tolist()
    assert pg.ranks(x, "complete", **on_a_tree).estimates.tolist() == ranks.estimates.tolist()


def test_nodes_that_have_not_met_both_classes_are_told_of() -> None:
    data, labels = np.random.default_rng(0).normal(size=60), np.arange(60) < 20
    with pytest.warns(pg.errors.NotEnough, match="No node knows the sampling error") as told:
        pg.hodges_lehmann(data, "cycle", labels=labels, iterations=100, seed=0)
    assert told[0].filename == __file__
