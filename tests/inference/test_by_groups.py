"""Groups of rows side by side: against separate calls, other software, and resampling."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import RowsDropped
from pairgossip.inference.by_groups import MOST_GROUPS
from pairgossip.inference.group_table import Difference
from pairgossip.inference.projection import project
from pairgossip.kernels import Pairs
from tests.kernels.reference import random_data

SEX = np.random.default_rng(5).choice(["f", "m", "x"], 90)


def rows_of(group: str) -> Any:
    return group == SEX


def scored(n: int = 240, seed: int = 0) -> tuple[FloatArray, Any, Any]:
    """Return scores, deaths and sexes; scores of one sex predict deaths better."""
    random = np.random.default_rng(seed)
    sex, died = random.choice(["f", "m"], n), random.random(n) < 0.4
    return np.round(random.normal(size=n) + died * np.where(sex == "f", 1.5, 0.7), 1), died, sex


def numbers_of(answer: pg.Answer) -> list[float]:
    return [answer.value, answer.error, answer.low, answer.high, answer.level]


@pytest.mark.pairs
@pytest.mark.parametrize("name", ["auc", "gini", "kendall-b", "mmd", "within-cluster-scatter"])
@pytest.mark.parametrize("kind", ["v", "u"])
@pytest.mark.parametrize("interval", [None, 0.9])
@pytest.mark.parametrize("which", ["plain", "weights", "within", "between"])
def test_a_group_is_what_its_rows_are(
    name: str, kind: str, interval: float | None, which: str
) -> None:
    data, n = random_data(name, 90), np.arange(90)
    columns = {"weights": 1 + n % 3, "within": n // 2 % 4, "between": n // 2 % 4}
    how: dict[str, Any] = {which: columns[which]} if which in columns else {}
    table = pg.exact(data, name, kind, by=SEX, interval=interval, **how)
    assert table.groups == ("f", "m", "x") and table.statistic == name
    for group in table.groups:
        some = {key: column[rows_of(group)] for key, column in how.items()}
        alone: Any = pg.exact(data[rows_of(group)], name, kind, interval=interval, **some)
        assert table[group] == pytest.approx(float(alone), rel=1e-12)
        if isinstance(alone, pg.Answer):
            assert numbers_of(table[group]) == pytest.approx(numbers_of(alone), rel=1e-9)
            assert table[group].scale == alone.scale
    assert table.all == pg.exact(data, name, kind, **how)
    assert table.rows == {group: rows_of(group).sum() for group in table}


def test_differences_are_welchs() -> None:
    scores, died, sex = scored()
    table = pg.exact(scores, "auc", labels=died, by=sex, interval=0.9)
    (found,) = table.differences
    f, m = (project(Pairs(scores[sex == one], "auc", labels=died[sex == one])) for one in "fm")
    laws, squares = (f.law(), m.law()), (f.error() ** 2, m.error() ** 2)
    freedoms = [min(law.freedom, law.effective_freedom) for law in laws]
    freedom = sum(squares) ** 2 / sum(s * s / k for s, k in zip(squares, freedoms, strict=True))
    value, error = f.value - m.value, math.sqrt(sum(squares))
    low, high = stats.t.interval(0.9, freedom, value, error)
    p = 2 * stats.t.sf(value / error, freedom)
    expected = (value, error, low, high, p, p)
    assert found[:2] == ("f", "m") and found[2:8] == pytest.approx(expected, rel=1e-9)
    assert table.equality is None


def test_answers_from_elsewhere_are_compared_by_the_normal_law() -> None:
    values, errors = np.array([0.7, 0.75, 0.62, 0.9]), np.array([0.03, 0.02, 0.04, 0.05])
    answers = {
        name: pg.Answer(value, error, 0.5, 0.9, 0.95, "logit")
        for name, value, error in zip("abcd", values, errors, strict=True)
    }
    table = pg.GroupTable(answers, answers["a"])
    gaps = np.array([one.value for one in table.differences])
    sizes = np.array([one.error for one in table.differences])
    pairs = np.triu_indices(4, 1)
    np.testing.assert_allclose(gaps, values[pairs[0]] - values[pairs[1]])
    np.testing.assert_allclose(sizes, np.hypot(errors[pairs[0]], errors[pairs[1]]))
    p = 2 * stats.norm.sf(abs(gaps / sizes))
    np.testing.assert_allclose([one.p for one in table.differences], p, rtol=1e-9)
    lows = [one.low for one in table.differences]
    np.testing.assert_allclose(lows, gaps - 1.959963984540054 * sizes, rtol=1e-9)
    # For independent values, Wald's statistic is Cochran's Q.
    center = np.average(values, weights=errors**-2)
    q = float(np.sum(((values - center) / errors) ** 2))
    found = table.equality
    assert found is not None and found.error_freedom == math.inf
    assert found[:2] == pytest.approx((q / 3, 3), rel=1e-9)
    assert found.p == pytest.approx(stats.chi2.sf(q, 3), rel=1e-9)
    law = f"chi-square = {q:.2f} with 3 degrees of freedom"
    assert f"Test that all groups are equal: {law}" in str(table)
    assert table.worst == "c"


def test_p_are_adjusted_as_holm_does() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    random = np.random.default_rng(2)
    group, shift = random.integers(0, 5, 400), np.array([0.0, 0.0, 0.4, 0.8, 0.1])
    died = random.random(400) < 0.5
    scores = random.normal(size=400) + died * shift[group]
    table = pg.exact(scores, "auc", labels=died, by=group, interval=0.95)
    ps = [one.p for one in table.differences]
    expected = multitest.multipletests(ps, method="holm")[1]
    assert [one.adjusted for one in table.differences] == pytest.approx(list(expected))
    assert len(ps) == 10 and min(ps) < 0.05 < max(ps)


def test_the_error_of_a_difference_is_that_of_the_bootstrap() -> None:
    scores, died, sex = scored(400, seed=3)
    (found,) = pg.exact(scores, "auc", labels=died, by=sex, interval=0.95).differences
    random, drawn = np.random.default_rng(4), []
    strata = [np.flatnonzero((sex == one) & (died == state)) for one in "fm" for state in (0, 1)]
    for _ in range(600):
        rows = np.concatenate([random.choice(part, len(part)) for part in strata])
        f, m = (rows[sex[rows] == one] for one in "fm")
        values = [pg.exact(scores[part], "auc", labels=died[part]) for part in (f, m)]
        drawn.append(values[0] - values[1])
    assert found.error == pytest.approx(np.std(drawn), rel=0.1)


@pytest.mark.parametrize("spans", [True, False])
def test_the_error_with_clusters_is_that_of_leaving_them_out(spans: bool) -> None:
    random = np.random.default_rng(6)
    town = np.repeat(np.arange(60), 6)
    by = np.where(random.random(360) < 0.5, "a", "b") if spans else np.array(["a", "b"])[town % 2]
    shared = random.exponential(size=60)[town]  # a rich town has rich men and women
    incomes = shared * random.exponential(size=360)
    table = pg.exact(incomes, "gini", by=by, groups=town, interval=0.95)
    for name in "ab":
        alone = pg.exact(incomes[by == name], "gini", groups=town[by == name], interval=0.95)
        assert numbers_of(table[name]) == pytest.approx(numbers_of(alone), rel=1e-9)

    def differ(rows: Any) -> float:
        a, b = (incomes[rows & (by == name)] for name in "ab")
        return pg.exact(a, "gini") - pg.exact(b, "gini")

    left_out = np.array([differ(town != one) for one in range(60)])
    jackknife = math.sqrt(59 / 60 * float(np.sum((left_out - left_out.mean()) ** 2)))
    (found,) = table.differences
    assert found.error == pytest.approx(jackknife, rel=0.05)
    apart = math.hypot(table["a"].error, table["b"].error)
    assert (found.error < 0.9 * apart) if spans else found.error == pytest.approx(apart)
    freedom = found.value / found.error, min(table.freedoms.values())
    if spans:
        assert found.p == pytest.approx(2 * stats.t.sf(abs(freedom[0]), freedom[1]), rel=1e-9)


def test_all_groups_are_compared_at_once_where_clusters_reach_into_them() -> None:
    random = np.random.default_rng(7)
    town, by = np.repeat(np.arange(30), 9), np.tile(np.arange(3), 90)
    rows = random.normal(size=270) + random.normal(size=30)[town]
    table = pg.exact(rows, "variance", by=by, groups=town, interval=0.95)
    assert table.covariance is not None and table.equality is not None
    contrast = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])  # different from those of the table
    apart = contrast @ np.array(list(table.values()))
    q = apart @ np.linalg.inv(contrast @ table.covariance @ contrast.T) @ apart
    left = min(table.freedoms.values()) - 1
    ratio = q * left / (left + 1) / 2  # Hotelling's
    expected = (ratio, 2, left, stats.f.sf(ratio, 2, left))
    assert table.equality[:4] == pytest.approx(expected, rel=1e-9)
    few = pg.exact(rows, "variance", by=by, groups=town // 15, interval=0.95)
    assert few.equality is None  # two clusters have one degree of freedom


def test_all_groups_are_compared_at_once_by_welchs_test() -> None:
    """For means, whose errors have one degree of freedom less than rows, this is Welch's test."""
    oneway = pytest.importorskip("statsmodels.stats.oneway")
    random = np.random.default_rng(8)
    parts = [random.normal(0.4 * at, 1 + at, size) for at, size in enumerate((5, 9, 30, 12))]
    answers, freedoms = {}, {}
    for name, part in zip("abcd", parts, strict=True):
        error = float(part.std(ddof=1) / math.sqrt(len(part)))
        answers[name] = pg.Answer(float(part.mean()), error, -9, 9, 0.95, "plain")
        freedoms[name] = len(part) - 1
    table = pg.GroupTable(answers, answers["a"], freedoms=freedoms)
    known = oneway.anova_oneway(parts, use_var="unequal")
    expected = (known.statistic, *known.df, known.pvalue)
    assert table.equality is not None
    assert table.equality[:4] == pytest.approx(expected, rel=1e-9)
    assert f"F = {known.statistic:.2f} with 3 and {known.df[1]:.1f} degrees of f" in str(table)


@pytest.mark.parametrize(("size", "towns"), [(15, None), (60, 12)])
def test_groups_that_do_not_differ_are_seldom_said_to(size: int, towns: int | None) -> None:
    """Wald's chi-square test would reject 26 and 59 of these 100."""
    rejected = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        by, rows = np.arange(6 * size) % 6, random.normal(size=6 * size)
        how: dict[str, Any] = {}
        if towns is not None:
            how = {"groups": random.integers(0, towns, 6 * size)}
            rows += random.normal(size=towns)[how["groups"]]
        table = pg.exact(np.exp(rows / 2), "gini", by=by, interval=0.95, **how)
        rejected += table.equality is not None and table.equality.p < 0.05
    assert rejected <= 12  # more of 100 would be significantly above 5 %


def test_groups_without_an_error_are_not_said_to_be_equal() -> None:
    answers = {
        name: pg.Answer(value, 0.02, 0.6, 0.9, 0.95, "logit")
        for name, value in {"a": 0.7, "b": 0.75, "c": 0.8, "d": 1.0}.items()
    }
    answers["d"].error = math.nan
    table = pg.GroupTable(answers, answers["a"])
    assert table.equality is not None and table.equality.groups == ("a", "b", "c")
    law = "chi-square = 12.50 with 2 deg"
    assert f"Test that the 3 groups with an error are equal: {law}" in str(table)


def test_a_group_without_a_value_says_why() -> None:
    scores, died, sex = scored()
    sex = np.where(np.arange(240) < 20, "x", np.where(np.arange(240) < 30, "y", sex))
    died = np.where(sex == "x", False, np.where(sex == "y", scores > 0.5, died))
    table = pg.exact(scores, "auc", labels=died, by=sex, interval=0.95)
    assert math.isnan(table["x"]) and "one class only (0)" in str(table.reasons["x"])
    assert table["y"] == 1.0 and math.isnan(table["y"].error)
    assert "'auc' is 1 on these rows" in str(table.reasons["y"])
    pairs = {(one.first, one.second): one for one in table.differences}
    assert list(pairs) == [("f", "m"), ("f", "y"), ("m", "y")]
    assert not math.isnan(pairs["f", "m"].p) and math.isnan(pairs["f", "y"].error)
    assert pairs["f", "m"].adjusted == pairs["f", "m"].p  # only one p is known
    assert "none" in str(table) and "Group 'x': Kernel 'auc' needs" in str(table)
    tested = pg.test(scores, "auc", labels=died, by=sex)
    assert set(tested.tests) == {"f", "m", "y"} and tested.tests["y"].p < 0.05


def test_without_an_interval_only_values_are_known() -> None:
    scores, died, sex = scored()
    table = pg.exact(scores, "auc", labels=died, by=sex)
    (found,) = table.differences
    assert found.value == table["f"] - table["m"] and math.isnan(found.error)
    assert math.isnan(table["f"].error) and math.isnan(table.level)
    assert str(table["f"]) == f"{table['f'].value:.3f}"
    assert "interval" not in str(table) and "p adj" not in str(table)
    assert table.to_dict()["groups"]["f"]["value"] == table["f"].value


def test_every_group_is_tested() -> None:
    scores, died, sex = scored()
    table = pg.test(scores, "auc", labels=died, by=sex, alternative="greater", interval=0.9)
    plain = pg.exact(scores, "auc", labels=died, by=sex, interval=0.9)
    assert table.differences == plain.differences and dict(table) == dict(plain)
    for name in "fm":
        rows = sex == name
        alone = pg.test(scores[rows], "auc", labels=died[rows], alternative="greater", interval=0.9)
        assert table.tests[name] == alone
    assert table.test == pg.test(scores, "auc", labels=died, alternative="greater", interval=0.9)
    assert {"z", "p", "law"} <= set(table.to_dict()["all"])
    spread = pg.test(scores, "energy-distance", labels=died, by=sex)
    sizes = [spread[name].error for name in "fm"]  # not by chance alone
    assert spread.differences[0].error == pytest.approx(math.hypot(*sizes))


def test_groups_are_named_as_they_are() -> None:
    pandas = pytest.importorskip("pandas")
    scores, died, _ = scored(60)
    frame = pandas.DataFrame({"score": scores, "state": np.where(died, "ill", "well")})
    stages = ["mild", "severe", "never"]
    frame["stage"] = pandas.Categorical(
        np.array(stages)[np.arange(60) % 2 * 1], ["severe", "mild", "never"], ordered=True
    )
    table = pg.exact(frame, "auc", labels="state", positive="ill", by="stage", interval=0.95)
    assert table.groups == ("severe", "mild") and table.by == "stage"
    assert table["mild"].positive == table.all.positive == "ill"
    numbers = pg.exact(scores, "auc", labels=died, by=np.arange(60) % 2 * 10.0)
    assert numbers.groups == ("0", "10") and numbers[10] == numbers["10"] and "10" in numbers
    truths = pg.exact(scores, "auc", labels=died, by=list(np.arange(60) % 2 == 1))
    assert truths.groups == ("False", "True") and "True" in truths


def test_labels_mean_the_same_in_every_group() -> None:
    scores, grades = np.arange(12.0), np.array([0, 1, 2, 3] * 3)
    by = np.where(grades < 2, "low", "high")
    table = pg.exact(scores, "concordance", labels=grades, by=by)
    assert table["high"].positive is None  # grades 2 and 3 are two of four
    text = np.array(["a", "b", "c", "d"])[grades]
    named = pg.exact(scores, "within-cluster-scatter", labels=text, by=by)
    assert named["low"] == pg.exact(
        scores[grades < 2], "within-cluster-scatter", labels=text[grades < 2]
    )


def test_rows_without_a_group_are_refused_or_dropped() -> None:
    by = ["f", "m", None, "f", "m", "f"]
    with pytest.raises(pg.InputError, match=r"^Values are missing in by \(row 2\)"):
        pg.exact(np.arange(6.0), "gini", by=by)
    with pytest.warns(RowsDropped, match="Left out 1 of 6 rows"):
        table = pg.exact(np.arange(6.0), "gini", by=by, missing="drop")
    assert table.rows == {"f": 3, "m": 2}


def test_rows_alone_in_their_stratum_are_left_out_of_their_group() -> None:
    ward, by = [0, 0, 1, 1, 0, 1, 0], ["f", "f", "f", "m", "m", "m", "m"]
    with pytest.warns(RowsDropped, match="^Left out 1 row of group 'f', alone in its stratum"):
        table = pg.exact(np.arange(7.0), "gini", by=by, within=ward)
    assert table["f"] == pg.exact([0.0, 1.0], "gini", within=[0, 0]) and table.rows["f"] == 2


@pytest.mark.parametrize("clusters", [None, np.arange(22) % 5])
def test_a_group_whose_rows_are_all_alone_has_no_value(clusters: Any) -> None:
    by, ward = ["f"] * 20 + ["m"] * 2, [0, 1] * 11
    how: dict[str, Any] = {} if clusters is None else {"groups": clusters, "interval": 0.9}
    with pytest.warns(RowsDropped, match="^Left out 2 rows of group 'm'"):
        table = pg.exact(np.arange(22.0) ** 2, "gini", by=by, within=ward, **how)
    assert math.isnan(table["m"]) and table["f"] > 0
    assert str(table.reasons["m"]) == "Every row is alone in its stratum, where no pair counts."


def test_a_group_of_one_cluster_has_a_value_without_an_error() -> None:
    rows, town = np.arange(22.0) ** 2, [0, 1, 2] * 6 + [1] * 4
    table = pg.exact(rows, "gini", by=["f"] * 18 + ["m"] * 4, groups=town, interval=0.95)
    assert table["m"] == pg.exact(rows[18:], "gini") and math.isnan(table["m"].error)
    assert "All rows are in one group" in str(table.reasons["m"])
    (found,) = table.differences
    assert found.value == table["f"].value - table["m"].value and math.isnan(found.error)


REFUSALS = [
    ({"by": np.zeros(90)}, "All rows are in one group, so there is nothing to compare: leave by="),
    ({"by": np.arange(90)}, f"A table compares at most {MOST_GROUPS} groups, and there are 90: le"),
    ({"by": [1, 2]}, "The shape of by is (2,) but there are 90 rows: give one group per row."),
    ({"by": "sex"}, "by is the name 'sex', but data has no names of columns: give a table that "
     "has, or the groups themselves."),
    ({"by": SEX, "groups": SEX}, "Groups change the error of a statistic, not its value: give "),
]  # fmt: skip


@pytest.mark.parametrize(("how", "sentence"), REFUSALS)
def test_other_groups_are_refused(how: Any, sentence: str) -> None:
    with pytest.raises(pg.InputError) as caught:
        pg.exact(random_data("gini", 90), "gini", **how)
    assert str(caught.value).startswith(sentence)


def test_what_no_group_has_is_refused() -> None:
    scores, died, sex = scored()
    with pytest.raises(
        pg.InputError, match=r"^No group has a value; group 'False': Kernel 'auc' nee"
    ):
        pg.exact(scores, "auc", labels=died, by=died)
    with pytest.raises(pg.InputError, match="leave by= out, or test kernel 'auc'"):
        pg.test(scores, "mann-whitney", labels=died, by=sex)
    with pytest.raises(
        pg.InputError, match=r"^On a graph nodes do not compare groups: leave by= out"
    ):
        pg.test(scores, "auc", labels=died, by=sex, graph="cycle")
    table = pg.exact(scores, "auc", labels=died, by=sex)
    with pytest.raises(pg.InputError, match=r"^Unknown group 'female': choose one of f, m"):
        table["female"]


def test_progress_is_that_of_all_groups() -> None:
    seen: list[float] = []
    pg.exact(np.arange(90.0), "gini", by=SEX, progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == pytest.approx(1.0) and len(seen) >= 4


def read_by_group(cells: Any, least_cell: int, seed: int) -> pg.GroupTable:
    scores, died, sex = scored(seed=seed)
    more: dict[str, Any] = {"classes": [False, True], "groups": ["f", "m"]}
    counted = pg.summarize(
        scores, "auc", labels=died, by=sex, cells=cells, least_cell=least_cell, **more
    )
    answers = {name: counted.answer(group=name) for name in counted.groups or ()}
    return pg.GroupTable(answers, counted.answer(), "auc", "sex", counted.count_groups())


@pytest.mark.parametrize("least_cell", [1, 3, 8])
@pytest.mark.parametrize("cells", [8, 32, 1024])
@pytest.mark.parametrize("seed", range(4))
def test_what_cells_leave_open_is_in_the_bracket(cells: int, least_cell: int, seed: int) -> None:
    scores, died, sex = scored(seed=seed)
    counted = read_by_group(pg.cells.Even(-8, 8, cells), least_cell, seed)
    exact = pg.exact(scores, "auc", labels=died, by=sex, interval=0.95)
    (found,), (true,) = counted.differences, exact.differences
    low, high = found.bracket
    assert low - 1e-12 <= true.value <= high + 1e-12
    margin = 1.959963984540054 * found.error
    assert (found.low, found.high) == pytest.approx((low - margin, high + margin))
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    assert found.p == pytest.approx(2 * stats.norm.sf(nearest / found.error), rel=1e-9)
    assert "what cells leave open" in str(counted)


def test_exact_counts_leave_nothing_open() -> None:
    scores, died, sex = scored()
    whole = pg.summarize(
        np.round(10 * scores), "auc", labels=died, by=sex, cells=pg.cells.Whole(-99, 99)
    )
    answers = {name: whole.answer(group=name) for name in whole.groups or ()}
    (found,) = pg.GroupTable(answers, whole.answer()).differences
    (true,) = pg.exact(scores, "auc", labels=died, by=sex, interval=0.95).differences
    assert found.value == pytest.approx(true.value) and found.error == pytest.approx(true.error)


def test_open_counts_are_not_tested_together() -> None:
    answers = {
        name: pg.Answer(value, 0.02, 0.6, 0.9, 0.95, "logit")
        for name, value in {"a": 0.7, "b": 0.75, "c": 0.8}.items()
    }
    assert pg.GroupTable(answers, answers["a"]).equality is not None
    answers["b"].bracket = (0.74, 0.76)
    assert pg.GroupTable(answers, answers["a"]).equality is None


def test_many_pairs_are_not_printed() -> None:
    random = np.random.default_rng(0)
    by, rows = np.arange(700) % 7, random.normal(size=700)
    table = pg.exact(rows, "variance", by=by, interval=0.95)
    assert len(table.differences) == 21
    assert "differences of 21 pairs are not shown" in str(table)
    assert "Test that all groups are equal" in str(table)


def test_a_table_is_shown_kept_and_sent() -> None:
    scores, died, sex = scored()
    table = pg.test(scores, "auc", labels=died, by=np.where(sex == "f", "<f>", "m"))
    again = pickle.loads(pickle.dumps(table))
    assert str(again) == str(table)
    assert repr(again.differences) == repr(table.differences)
    html = table._repr_html_()
    assert html.count("<table>") == 2 and html.startswith('<div class="pairgossip">')
    assert "&lt;f&gt; - m" in html and "<f>" not in html
    lines = str(table).splitlines()
    assert lines[0].split() == ["group", "rows", "auc", "error", "95", "%", "interval", "p"]
    assert {one.split()[0] for one in lines[1:4]} == {"<f>", "m", "all"}
    frame = table.to_pandas()
    assert list(frame.index) == ["<f>", "m"] and frame.loc["m", "value"] == table["m"].value
    pandas = pytest.importorskip("pandas")
    assert list(pandas.DataFrame(table.differences).columns) == list(Difference._fields)
