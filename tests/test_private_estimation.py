"""`pg.estimate(..., privacy=...)`: unbiased, and as noisy as predicted, with any method."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.privacy import PrivacyError, RandomizedResponse
from pairgossip.privacy.estimation import as_record
from tests.problems import skewed

N = 14
DATA = np.random.default_rng(5).random(N) ** 2
LABELS = (np.arange(N) % 3 == 0).astype(float)
MECHANISM = RandomizedResponse(2.0, 4, (0, 1))
ROUNDED = RandomizedResponse(2.0, 3, (0, 1), rounding="stochastic")
LABELED = RandomizedResponse(3.0, 3, (0, 1), classes=(0, 1))
GROUPS = np.arange(N) % 4
SITES = pg.graphs.complete(4)


def private(kernel: Any = "gini", **options: Any) -> pg.Run:
    """Run on few nodes, by default the first trials of seed 1."""
    settings: dict[str, Any] = {"privacy": MECHANISM, "iterations": 400, "trials": 2, "seed": 1}
    return pg.estimate(DATA, kernel, **{**settings, **options})


def within(values: Any, expected: float, errors: float = 4.0) -> bool:
    """Return whether a mean is within this many standard errors."""
    return bool(abs(values.mean() - expected) < errors * values.std() / math.sqrt(len(values)))


@pytest.mark.parametrize(
    ("kernel", "mechanism", "target"),  # every pair of them occurs
    [
        ("gini", MECHANISM, "u"),
        ("gini", ROUNDED, "v"),
        (skewed, MECHANISM, "v"),
        (skewed, ROUNDED, "u"),
    ],
    ids=["gini-bins-u", "gini-rounded-v", "skewed-bins-v", "skewed-rounded-u"],
)
def test_reports_and_estimates_are_unbiased_and_as_noisy_as_predicted(
    kernel: Any, mechanism: RandomizedResponse, target: str
) -> None:
    run = private(
        kernel, privacy=mechanism, target=target, iterations=1000, checkpoints=[1000], trials=400,
        record="summary",
    )  # fmt: skip
    exact = pg.exact(DATA, kernel, target)
    assert run.target == pytest.approx(exact)
    assert run.private_values is not None and run.privacy_error is not None
    assert run.privacy == mechanism
    expected = exact + run.privacy_error.binning_bias
    assert within(run.private_values, expected)
    found = run.private_values.std()
    # The standard error of a standard deviation, whatever the distribution.
    centered = run.private_values - run.private_values.mean()
    kurtosis = np.mean(centered**4) / np.mean(centered**2) ** 2
    uncertain = found * math.sqrt((kurtosis - 1) / 4 / run.trials)
    assert abs(found - run.privacy_error.standard_error) < 4 * uncertain
    # Nodes know only the reports, and gossip adds a bias that theory predicts.
    gossip = run.theory().expected_mean[-1] - expected
    assert within(run.estimates.mean(axis=1), expected + gossip)
    assert abs(gossip) < 0.05 * exact


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize(
    "how",
    [
        {"method": "gosta", "clock": "async"},
        {"method": "gosta", "order": "exchange-first"},
        {"method": "weighted-gosta", "clock": "async"},
        {"method": "u2"},
        {"groups": GROUPS, "graph": SITES},
        {"groups": GROUPS, "graph": SITES, "construction": "blow-up"},
        {"groups": GROUPS, "graph": SITES, "construction": "whole-sets"},
    ],
    ids=lambda how: "-".join(str(v) for k, v in how.items() if k not in ("groups", "graph")),
)
def test_every_method_converges_to_the_statistic_of_its_reports(
    how: dict[str, Any], target: str
) -> None:
    how = {"privacy": RandomizedResponse(0.5, 4, (0, 1)), "target": target, "trials": 3, **how}
    run = private(skewed, iterations=150_000, checkpoints=[150_000], **how)
    short = private(skewed, iterations=3, **how)
    assert run.private_values is not None and short.private_values is not None
    # Reports depend on seed and trial only, not on how they are used.
    assert (run.private_values == short.private_values).all()
    left = np.abs(run.estimates.mean(axis=1) - run.private_values).max()
    assert left < 0.1 * np.ptp(run.private_values)
    assert left < 0.1 * np.abs(run.private_values - run.target).max()


TWINS: list[dict[str, Any]] = [
    {"clock": "sync"},
    {"clock": "async"},
    {"method": "weighted-gosta", "clock": "async"},
    {"method": "u2"},
    {"groups": GROUPS, "graph": SITES},
    {"groups": GROUPS, "graph": SITES, "construction": "whole-sets"},
]


@pytest.mark.parametrize(
    ("how", "kernel", "target"),  # each target occurs with every method and every kernel
    [
        (how, kernel, "uv"[(number + other) % 2])
        for number, how in enumerate(TWINS)
        for other, kernel in enumerate(("gini", skewed, "auc"))
    ],
)
def test_fast_and_plain_engines_agree_on_the_same_reports(
    how: dict[str, Any], kernel: Any, target: str
) -> None:
    if kernel == "auc":
        how = {"labels": LABELS, "privacy": LABELED, **how}
    fast, plain = (private(kernel, target=target, engine=e, **how) for e in ("auto", "plain"))
    assert fast.private_values == pytest.approx(plain.private_values, rel=1e-12)
    np.testing.assert_allclose(fast.estimates, plain.estimates, rtol=1e-12, atol=1e-12)


def test_own_tokens_without_their_rule_would_be_biased() -> None:
    """The debiased kernel is biased at a node's own report, even where h(x, x) = 0."""
    mechanism = RandomizedResponse(1.0, 4, (0, 1))
    debiased = mechanism.debiased("gini").as_kernel()
    run = private(privacy=mechanism, trials=400, iterations=1)
    naive = []
    for number in range(400):
        reports = mechanism.randomize(DATA, np.random.default_rng(number))
        naive.append(pg.exact(reports, debiased, "v"))
    assert run.private_values is not None and run.privacy_error is not None
    expected = float(run.target) + run.privacy_error.binning_bias
    assert within(run.private_values, expected)
    assert not within(np.array(naive), expected, 8)


def test_averaging_is_unbiased_for_the_mean() -> None:
    for mechanism in (MECHANISM, ROUNDED):
        run = pg.estimate(
            DATA, method="averaging", privacy=mechanism, iterations=400, checkpoints=[400],
            trials=800, seed=3, record="summary",
        )  # fmt: skip
        assert run.target == pytest.approx(DATA.mean())
        error = run.privacy_error
        assert error is not None and run.private_values is not None
        assert within(run.private_values, DATA.mean() + error.binning_bias)
        assert run.private_values.std() == pytest.approx(error.standard_error, rel=0.12)
        assert run.estimates.mean(axis=1) == pytest.approx(run.private_values, abs=1e-9)
    assert error is not None and error.binning_bias == pytest.approx(
        0, abs=1e-12
    )  # random rounding has none
    assert run.theory().expected_mean == pytest.approx(DATA.mean())
    slow = pg.estimate(
        DATA, method="averaging", privacy=ROUNDED, iterations=400, trials=2, seed=3, engine="plain"
    )
    np.testing.assert_allclose(slow.estimates, run.estimates[:2], rtol=1e-12)


def test_private_auc() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    scores = np.clip(0.5 + 0.2 * (labels - 0.5) + 0.15 * rng.normal(size=400), 0, 1)
    mechanism = RandomizedResponse(4.0, 6, (0, 1), classes=(0, 1))
    run = pg.estimate(
        scores, "auc", labels=labels, privacy=mechanism, iterations=1000, checkpoints=[1000],
        trials=200, seed=0, record="summary",
    )  # fmt: skip
    assert run.privacy_error is not None and run.private_values is not None
    assert run.target == pytest.approx(pg.exact(np.column_stack((scores, labels)), "auc", "v"))
    assert run.private_values.std() == pytest.approx(run.privacy_error.standard_error, rel=0.2)
    off = run.private_values.mean() - run.target - run.privacy_error.binning_bias
    # A quotient of unbiased averages is biased by about its variance.
    assert abs(off) < 4 * run.private_values.std() / math.sqrt(200) + run.private_values.var()


def test_text_labels_are_the_declared_classes() -> None:
    names = np.where(LABELS > 0, "yes", "no")
    mechanism = RandomizedResponse(3.0, 3, (0, 1), classes=("no", "yes"))
    named = private("auc", labels=names, privacy=mechanism)
    numbered = private("auc", labels=LABELS, privacy=LABELED)
    assert named.target == numbered.target
    assert (named.estimates == numbered.estimates).all()


def test_seeds_repeat_and_none_asks_the_operating_system() -> None:
    one, again, other = (private(seed=seed) for seed in (1, 1, 2))
    assert (one.estimates == again.estimates).all()
    assert one.private_values is not None and other.private_values is not None
    assert (one.private_values != other.private_values).any()
    secure = private(seed=None, trials=3)
    redrawn = private(seed=secure.seed, trials=3)
    assert secure.private_values is not None and redrawn.private_values is not None
    # The seed of the exchanges, which is in the file, does not reveal the reports.
    assert (secure.private_values != redrawn.private_values).any()
    assert len(np.unique(secure.private_values)) > 1


def test_trials_that_were_run_apart_join() -> None:
    whole = private(trials=4)
    halves = [private(trials=part) for part in ([0, 1], [2, 3])]
    joined = pg.join_trials(halves)
    assert whole.private_values is not None and joined.private_values is not None
    assert (joined.private_values == whole.private_values).all()
    with pytest.raises(pg.InputError, match="differ in privacy"):
        pg.join_trials([private(trials=[0]), private(trials=[1], privacy=ROUNDED)])


def test_groups_of_one_row_are_no_groups() -> None:
    plain = private(graph=pg.graphs.cycle(N))
    grouped = private(graph=pg.graphs.cycle(N), groups=np.arange(N))
    assert grouped.estimates == pytest.approx(plain.estimates)


def test_save_and_load(tmp_path: Path) -> None:
    for options in ({}, {"groups": GROUPS, "graph": SITES}):
        run = private(**options)
        run.save(tmp_path / "run.npz")
        back = pg.load(tmp_path / "run.npz")
        assert back.privacy == run.privacy
        assert back.privacy_error == run.privacy_error
        assert (back.private_values == run.private_values).all()
        assert "epsilon 2" in repr(back)
    public = pg.estimate(DATA, "gini", iterations=50, seed=0)
    public.save(tmp_path / "public.npz")
    loaded = pg.load(tmp_path / "public.npz")
    assert (loaded.privacy, loaded.private_values, loaded.privacy_error) == (None, None, None)


@pytest.mark.parametrize(
    "mechanism",
    [
        MECHANISM,
        ROUNDED,
        LABELED,
        RandomizedResponse(1.0, classes=(1, 2, 5)),
        RandomizedResponse(1.0, (2, 3), ((0, 1), (-1, 4)), together=True),
        RandomizedResponse(1.0, 3, (0, 1), classes=("no", "yes"), together=False),
    ],
)
def test_mechanisms_are_recorded(mechanism: RandomizedResponse) -> None:
    assert RandomizedResponse(**as_record(mechanism)) == mechanism


def test_tables_have_the_reports() -> None:
    run = private(trials=3)
    assert run.private_values is not None
    frame, arrays = run.to_pandas(), run.to_xarray()
    assert frame["private_value"].unique().tolist() == run.private_values.tolist()
    assert (arrays["private_values"] == run.private_values).all()
    assert arrays.attrs["epsilon"] == 2.0


def test_plots_say_what_reports_cost() -> None:
    run = private(trials=3)
    labels = [line.get_label() for line in run.plot("error", theory=False).get_lines()]
    assert any("reports" in str(label) for label in labels)
    assert np.isnan(run.theory().deviation_bound).all()
    assert run.plot("estimate") is not None


def test_many_rows_are_predicted_from_the_reference() -> None:
    data = np.random.default_rng(0).random(25_000)
    with pytest.warns(pg.errors.UnknownTarget):
        run = pg.estimate(data, lambda x, y: np.abs(x - y) ** 1.5, privacy=MECHANISM, iterations=10)
    assert run.privacy_error is not None
    assert math.isnan(run.privacy_error.binning_bias)
    assert run.privacy_error.standard_error > 0
    assert math.isnan(run.privacy_error.size)
    assert PrivacyError(3.0, 4.0).size == 5.0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"privacy": 1.0}, "Privacy is a mechanism such as .* not float"),
        ({"method": "u1"}, "Method 'u1' .* depends on one private report"),
        ({"engine": "fused"}, "use engine='tokens'"),
        ({"labels": LABELS}, "declares no classes"),
        ({"privacy": RandomizedResponse(1.0, 4, (0, 0.5))}, r"outside \[0, 0.5\]"),
        ({"kernel": lambda x, y: (x == y) * 1.0}, "asks whether two raw values .* are equal"),
        ({"privacy": LABELED, "kernel": "auc"}, "give the labels as the last column"),
        ({"privacy": RandomizedResponse(1.0, 4, ((0, 1), (0, 1)))}, "declares 2"),
        ({"method": "averaging"}, "takes no kernel and no labels"),
        ({"kernel": None}, "needs a kernel"),
        ({"method": "averaging", "kernel": None, "groups": GROUPS, "graph": SITES,
          "construction": "whole-sets"}, "no whole sets to swap"),
    ],
)  # fmt: skip
def test_refusals(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        private(**options)
