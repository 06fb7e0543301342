"""Random tables of few rows with ties, and the statistics of these rows by brute force."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from pairgossip.counts.axes import Axis, Grid, Labels
from pairgossip.counts.bounds import (
    UNKNOWN,
    Blocks,
    Ends,
    bound_coefficient,
    bound_differences,
    bound_order,
    bound_scatter,
    bound_variance,
    place_rows,
    widen,
)
from pairgossip.counts.rank_bounds import bound_class_test, bound_spearman
from pairgossip.counts.tree import lay_tree
from pairgossip.kernels import as_kernel
from pairgossip.kernels.builtin.classes import auc
from pairgossip.order_statistics.statistics import (
    HodgesLehmann,
    Quantile,
    Shift,
    TrimmedMean,
    WinsorizedMean,
)

Array = np.ndarray


class Case(NamedTuple):
    """How a statistic is drawn, its bounds, and its value by brute force."""

    axes: int
    classes: int
    bound: Callable[[Blocks, str], Ends]
    value: Callable[[Array, str], float]
    from_zero: bool = False


def _signs(column: Array) -> Array:
    return np.sign(np.subtract.outer(column, column))


def _mean(values: Array, target: str) -> float:
    n = len(values)
    return float(values.sum() / (n * n if target == "v" else n * (n - 1)))


def _auc(rows: Array, column: int = 0, ties: float = 0.5) -> float:
    low, high = (rows[rows[:, -1] == label, column] for label in (0, 1))
    order = np.sign(np.subtract.outer(high, low))
    return float(np.where(order > 0, 1.0, np.where(order == 0, ties, 0.0)).mean())


def _risk(rows: Array, target: str) -> float:
    return _mean((_signs(rows[:, 0]) * _signs(rows[:, 1]) < 0).astype(float), target)


def _kendall(rows: Array, target: str) -> float:
    return _mean(_signs(rows[:, 0]) * _signs(rows[:, 1]), target)


def _tau_b(rows: Array, target: str) -> float:
    s, t = _signs(rows[:, 0]), _signs(rows[:, 1])
    return float((s * t).sum() / math.sqrt((s != 0).sum() * (t != 0).sum()))


def _somers(rows: Array, target: str) -> float:
    s, t = _signs(rows[:, 0]), _signs(rows[:, 1])
    return float((s * t).sum() / (s != 0).sum())


def _gamma(rows: Array, target: str) -> float:
    s, t = _signs(rows[:, 0]), _signs(rows[:, 1])
    return float((s * t).sum() / np.abs(s * t).sum())


def _concordance(rows: Array, target: str) -> float:
    events = rows[:, 2] if rows.shape[1] == 3 else np.ones(len(rows))
    agreeing = compared = 0.0
    for p, t, event in zip(rows[:, 0], rows[:, 1], events, strict=True):
        later = (rows[:, 1] > t) | ((rows[:, 1] == t) & (events == 0))
        later &= event == 1
        compared += later.sum()
        agreeing += (rows[later, 0] > p).sum() + 0.5 * (rows[later, 0] == p).sum()
    return agreeing / compared


def _gini(rows: Array, target: str) -> float:
    return _mean(np.abs(np.subtract.outer(rows[:, 0], rows[:, 0])), target)


def _variance(rows: Array, target: str) -> float:
    return float(np.var(rows[:, 0], ddof=int(target == "u")))


def _scatter(rows: Array, target: str) -> float:
    together = np.equal.outer(rows[:, -1], rows[:, -1])
    return _mean(together * np.subtract.outer(rows[:, 0], rows[:, 0]) ** 2, target)


def _trimmed(rows: Array, target: str, share: float = 0.2) -> float:
    return float(stats.trim_mean(rows[:, 0], share))


def _winsorized(rows: Array, target: str, share: float = 0.2) -> float:
    ordered, cut = np.sort(rows[:, 0]), int(share * len(rows))
    return float(np.clip(ordered, ordered[cut], ordered[-1 - cut]).mean())


def _hodges_lehmann(rows: Array, target: str) -> float:
    first, second = np.triu_indices(len(rows))
    return float(np.median((rows[first, 0] + rows[second, 0]) / 2))


def _shift(rows: Array, target: str) -> float:
    low, high = (rows[rows[:, -1] == label, 0] for label in (0, 1))
    return float(np.median(np.subtract.outer(high, low)))


def _split(rows: Array) -> tuple[Array, Array]:
    low, high = (rows[rows[:, -1] == label, 0] for label in (0, 1))
    return high, low


def _mann_whitney_p(rows: Array, continuity: bool) -> float:
    found = stats.mannwhitneyu(*_split(rows), method="asymptotic", use_continuity=continuity)
    return float(found.pvalue)


def _brunner_munzel_p(rows: Array) -> float:
    high, low = _split(rows)
    return float(stats.brunnermunzel(low, high).pvalue)


def _gap(rows: Array) -> float:
    return float(stats.ks_2samp(*_split(rows), method="asymp").statistic)


def _gap_p(rows: Array) -> float:
    high, low = _split(rows)
    if not (len(high) and len(low)):
        return math.nan
    error = math.sqrt(1 / len(high) + 1 / len(low))
    return float(stats.kstwobign.sf(_gap(rows) / error))


def _rank_sum(rows: Array) -> float:
    return float(stats.rankdata(rows[:, 0])[rows[:, -1] == 1].sum())


def _order(name: str, axes: int, classes: int, value: Callable[[Array, str], float]) -> Case:
    kernel = as_kernel(name)
    return Case(axes, classes, lambda blocks, target: bound_order(kernel, blocks, target), value)


def bound_monotone(statistic, blocks: Blocks) -> Ends:  # type: ignore[no-untyped-def]
    """Bound a statistic that never falls if a row rises, or one of the lower class falls."""
    if not blocks.by_class.sum(axis=-1).min() > 0:
        return UNKNOWN
    low, high = (float(statistic.value(place_rows(blocks, is_low=side))) for side in (True, False))
    return widen(low, high, float(np.abs(blocks.axes[0].ends).max()))


def _monotone(statistic, value: Callable[[Array, str], float], classes: int = 1) -> Case:  # type: ignore[no-untyped-def]
    return Case(1, classes, lambda blocks, target: bound_monotone(statistic, blocks), value)


def _test(name: str, value: Callable[[Array], float], *, p: bool) -> Case:
    def bound(blocks: Blocks, target: str) -> Ends:
        found = bound_class_test(name, blocks)
        return found.p if p else found.value

    return Case(1, 2, bound, lambda rows, target: value(rows))


CASES: dict[str, Case] = {
    "auc": _order("auc", 1, 2, lambda rows, target: _auc(rows)),
    "auc, ties 0": Case(
        1,
        2,
        lambda blocks, target: bound_order(auc(ties=0.0), blocks, target),
        lambda rows, target: _auc(rows, ties=0.0),
    ),
    "auc-difference": _order(
        "auc-difference", 2, 2, lambda rows, target: _auc(rows) - _auc(rows, 1)
    ),
    "ranking-risk": _order("ranking-risk", 1, 3, _risk),
    "kendall": _order("kendall", 2, 1, _kendall),
    "kendall by grade": _order("kendall", 1, 3, _kendall),
    "kendall-b": _order("kendall-b", 2, 1, _tau_b),
    "kendall-b by grade": _order("kendall-b", 1, 3, _tau_b),
    "somers-d": _order("somers-d", 2, 1, _somers),
    "goodman-kruskal-gamma": _order("goodman-kruskal-gamma", 2, 1, _gamma),
    "concordance": _order("concordance", 2, 1, _concordance),
    "concordance by event": _order("concordance", 2, 2, _concordance),
    "gini": Case(1, 1, bound_differences, _gini),
    "gini-coefficient": Case(
        1,
        1,
        bound_coefficient,
        lambda rows, target: _gini(rows, target) / (2 * rows[:, 0].mean()),
        from_zero=True,
    ),
    "variance": Case(1, 1, bound_variance, _variance),
    "within-cluster-scatter": Case(
        1, 3, lambda blocks, target: bound_scatter([blocks], target), _scatter
    ),
    "quantile": _monotone(Quantile(0.3), lambda rows, target: float(np.quantile(rows[:, 0], 0.3))),
    "trimmed-mean": _monotone(TrimmedMean(0.2), _trimmed),
    "winsorized-mean": _monotone(WinsorizedMean(0.2), _winsorized),
    "hodges-lehmann": _monotone(HodgesLehmann(), _hodges_lehmann),
    "shift": _monotone(Shift(), _shift, classes=2),
    "mann-whitney": _test("mann-whitney", _auc, p=False),
    "mann-whitney, p": _test("mann-whitney", lambda rows: _mann_whitney_p(rows, False), p=True),
    "mann-whitney-continuity, p": _test(
        "mann-whitney-continuity", lambda rows: _mann_whitney_p(rows, True), p=True
    ),
    "wilcoxon-rank-sum": _test("wilcoxon-rank-sum", _rank_sum, p=False),
    "brunner-munzel, p": _test("brunner-munzel", _brunner_munzel_p, p=True),
    "kolmogorov-smirnov": _test("kolmogorov-smirnov", _gap, p=False),
    "kolmogorov-smirnov, p": _test("kolmogorov-smirnov", _gap_p, p=True),
    "spearman": Case(
        2,
        1,
        lambda blocks, target: bound_spearman(blocks).value,
        lambda rows, target: float(stats.spearmanr(rows).statistic),
    ),
    "spearman, p": Case(
        2,
        1,
        lambda blocks, target: bound_spearman(blocks).p,
        lambda rows, target: float(stats.spearmanr(rows).pvalue),
    ),
}
"""Every statistic that has bounds."""


def draw_axis(random: np.random.Generator, cells: int, from_zero: bool = False) -> Axis:
    """Return an axis of whole numbers, or of cells between edges, even or not."""
    low = 0.0 if from_zero else float(random.integers(-3, 2))
    kind = random.integers(3)
    if kind == 0:
        return Labels(low + np.arange(cells, dtype=np.float64))
    steps = np.ones(cells) if kind == 1 else random.exponential(size=cells) + 0.01
    return Grid(low + np.append(0.0, np.cumsum(steps)))


def draw_column(random: np.random.Generator, axis: Axis, rows: int) -> Array:
    """Draw numbers in the cells of an axis; many are tied, and some lie at edges."""
    if isinstance(axis, Labels):
        return random.choice(axis.values, rows)
    values = random.uniform(axis.edges[0], axis.edges[-1], max(rows, 1)) ** random.choice([1, 1, 3])
    values = np.clip(values, axis.edges[0], axis.edges[-1])
    if random.random() < 0.6:
        few = np.append(values[: 1 + rows // 4], random.choice(axis.edges, 2))
        values = random.choice(few, max(rows, 1))
    return values[:rows]


def tabulate(axes: tuple[Axis, ...], classes: int, rows: Array) -> Array:
    """Count rows by class and by the cells of all axes."""
    shape = (classes, *(axis.bins for axis in axes))
    labels = rows[:, -1].astype(int) if classes > 1 else np.zeros(len(rows), dtype=int)
    table = np.zeros(shape, dtype=np.int64)
    places = [axis.find_bins(rows[:, at]) for at, axis in enumerate(axes)]
    np.add.at(table, (labels, *places), 1)
    return table


class Drawn(NamedTuple):
    """The blocks of all sites, rows that they may have contributed, and the rows of each site."""

    blocks: Blocks
    rows: Array
    least: int
    sites: list[Array]


def draw(random: np.random.Generator, case: Case) -> Drawn:
    """Draw sites of different sizes, some of which contribute nothing, or not all classes.

    Two of three tables have few rows per cell; the third has enough for blocks to split repeatedly.
    """
    most = 13 if case.axes == 1 else 6
    axes = tuple(
        draw_axis(random, int(random.integers(1, most)), case.from_zero) for _ in range(case.axes)
    )
    tree = lay_tree(tuple(axis.bins for axis in axes))
    least, whole_sites = int(random.choice([1, 1, 3, 3, 5, 10])), bool(random.integers(2))
    rows_most = 14 if least == 1 else int(random.choice([5, 5, 12])) * least
    counts, kept = np.zeros((case.classes, tree.size), dtype=np.int64), []
    for _ in range(random.integers(1, 5)):
        size = int(random.integers(0, rows_most))
        columns = [draw_column(random, axis, size) for axis in axes]
        if case.classes > 1:
            columns.append(random.integers(0, case.classes, size).astype(float))
        rows = np.column_stack(columns)
        report = tree.report(tabulate(axes, case.classes, rows), least)
        is_filled = report.sum(axis=-1) > 0
        if whole_sites and not is_filled.all():
            continue
        counts += report
        kept.append(rows[is_filled[rows[:, -1].astype(int)]] if case.classes > 1 else rows)
        if case.classes == 1 and not is_filled[0]:
            kept.pop()
    labels = (Labels(np.arange(float(case.classes))),) if case.classes > 1 else ()
    counted = counts if case.classes > 1 else counts[0]
    blocks = Blocks((*axes, *labels), tree, counted.astype(np.float64))
    width = case.axes + (case.classes > 1)
    rows = np.concatenate([np.empty((0, width)), *kept])
    shown = rows if random.random() < 0.4 else move(random, blocks)
    return Drawn(blocks, shown, least, kept)


def move(random: np.random.Generator, blocks: Blocks) -> Array:
    """Return rows with these counts that lie toward the ends of their blocks, or are tied."""
    classes, numbers = np.nonzero(blocks.by_class)
    counts = blocks.by_class[classes, numbers].astype(int)
    classes, numbers = np.repeat(classes, counts), np.repeat(numbers, counts)
    columns, lean = [], _lean(random, classes, numbers, blocks.tree.size)
    for at, axis in enumerate(blocks.axes[: len(blocks.tree.shape)]):
        if at and random.random() < 0.7:
            lean = 1 - lean if random.random() < 0.5 else lean
        elif at:
            lean = _lean(random, classes, numbers, blocks.tree.size)
        first, last = (box[numbers, at] for box in blocks.tree.boxes)
        if isinstance(axis, Labels):
            columns.append(axis.values[first + np.floor(lean * (last - first + 0.999)).astype(int)])
        else:
            low, high = axis.places[first], axis.places[last + 1]
            columns.append(low + (high - low) * np.clip(lean, 0.0, 1 - 1e-7))
    columns += [classes.astype(float)] * (len(blocks.axes) > len(columns))
    return np.column_stack(columns)


def _lean(random: np.random.Generator, classes: Array, numbers: Array, blocks: int) -> Array:
    """Return where in its block every row is, from 0 to 1, by one of several rules."""
    n, kind = len(numbers), random.integers(6)
    if kind == 0:
        lean = np.full(n, random.choice([0.0, 0.5, 1.0]))
    elif kind == 1:
        lean = np.where(classes == random.integers(3), 0.0, 1.0)
    elif kind == 2:
        lean = random.choice([0.0, 1.0], blocks)[numbers]
    elif kind == 3:
        lean = random.choice([0.0, 1.0], n)
    elif kind == 4:
        lean = random.random(blocks)[numbers]
    else:
        lean = random.random(n)
    if random.random() < 0.4:  # none are tied
        lean = np.clip(lean, 0.001, 0.999) + random.uniform(-0.001, 0.001, n)
    return lean


class Outcome(NamedTuple):
    """How many tables were judged, how many values lie outside, and how wide the bounds are."""

    judged: int
    missed: int
    unknown: int
    width: float


def judge(case: Case, tables: int, seed: int) -> Outcome:
    """Draw tables that have a value, and count those outside of their bounds."""
    random, missed, unknown, widths = np.random.default_rng(seed), 0, 0, 0.0
    for _ in range(tables):
        drawn, target, value = draw_judged(random, case)
        low, high = case.bound(drawn.blocks, target)
        if math.isnan(low):
            unknown += 1
        else:
            missed += is_missed(value, (low, high))
            widths += high - low
    return Outcome(tables, missed, unknown, widths / max(tables - unknown, 1))


def draw_judged(random: np.random.Generator, case: Case) -> tuple[Drawn, str, float]:
    """Draw until the rows have a value; return it, and whether it is a U- or a V-statistic."""
    while True:
        drawn, target = draw(random, case), str(random.choice(["u", "v"]))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            value = case.value(drawn.rows, target) if len(drawn.rows) > 2 else math.nan
        if math.isfinite(value):
            return drawn, target, value


def is_missed(value: float, ends: Ends) -> bool:
    """Return whether a value lies outside of its bounds by more than rounding."""
    slack = 1e-9 * max(1.0, abs(value))
    return not (ends[0] - slack <= value <= ends[1] + slack)
