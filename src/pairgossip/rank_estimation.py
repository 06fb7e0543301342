"""The front door to statistics of order: of all rows at once, or by gossip on a graph."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pairgossip.arguments.estimate import EstimateArguments
from pairgossip.arrays import FloatArray
from pairgossip.checks import REFUSE, choice, whole
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.inference.answer import Answer, check_level
from pairgossip.kernels.data import check_data, check_two_classes, two_texts, unknown_positive
from pairgossip.kernels.rows import prepare_rows
from pairgossip.kernels.weighing import are_frequencies, check_weights, warn_of_frequencies
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.order_statistics.ranking import rank_kernel
from pairgossip.order_statistics.statistics import (
    HodgesLehmann,
    Quantile,
    Shift,
    Statistic,
    TrimmedMean,
    WinsorizedMean,
)
from pairgossip.results.run import Run
from pairgossip.run_requests.estimation import EstimationRequest
from pairgossip.run_requests.order import BinsRequest, TrimRequest
from pairgossip.sketches.laying import check_range
from pairgossip.sketches.samples import Sample
from pairgossip.text import format_count, join_names

_BINS = 64
_OWN = {
    *("data", "labels", "graph", "weights", "missing", "classes", "positive", "method", "interval"),
    *("kernel", "target", "sketch", "reference", "within", "between", "order", "privacy"),
    *("construction", "columns"),
}
"""The arguments of `estimate` that the functions here define themselves, or that kernels need."""
_OPTIONS = [each.name for each in fields(EstimateArguments) if each.name not in _OWN]
"""The arguments of `estimate` that apply to all statistics."""


class _DefaultLevel(float):
    """Marks the default level, ignored where there is no interval."""


_USUAL_LEVEL = _DefaultLevel(0.95)


def quantile(
    x: Any,
    share: float = 0.5,
    graph: Graph | str | None = None,
    *,
    interval: float | None = _USUAL_LEVEL,
    weights: Any = None,
    columns: Sequence[Any] | str | None = None,
    missing: str = REFUSE,
    bins: int | None = None,
    range: tuple[float, float] | None = None,
    **options: Any,
) -> Any:
    """Return a quantile of the rows, with an interval that holds for any distribution.

    Parameters
    ----------
    x, weights
        One number per row, and the number of rows that each stands for. Weights that are not all
        whole numbers count by their proportions, and intervals refuse them. As in `exact`, x may be
        a table or a file, and weights the name of a column of it.
    columns
        The name of the column of x to use; by default the column that no other argument names.
    missing
        ``"refuse"`` rows that lack a number or a weight (NaN, None), or ``"drop"`` them, which
        warns (`RowsDropped`).
    share
        The share of rows below the quantile: 0.5 for the median.
    graph
        If given, node k holds row k and learns the quantile by gossip: nodes average the number of
        rows in each bin and their sums. As in `estimate`, also with ``groups``.
    interval
        The level of the interval; None for the number alone. An end of it is infinite if too few
        rows lie beyond the quantile.
    bins, range
        The number of bins, by default 64, and the smallest and largest possible number, if all
        nodes know them; otherwise they first pass on the extremes and a few sampled numbers.
    options
        Arguments of `estimate` about the places of rows, the exchanges and the length of the run,
        such as ``groups``, ``schedule``, ``iterations``, ``until``, ``trials`` and ``seed``.

    Returns
    -------
    Answer or Run
        Without a graph a number with its interval. With one, the result of `estimate`: ``target``
        is the exact quantile, ``sketch_error`` the error of the bins, and ``sampling_error`` and
        ``interval`` are read by every node from the same averages.

    Examples
    --------
    >>> quantile([3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.3, 5.8], 0.5)
    3.5 (95 %: 1.4 to 6.7)
    """
    request = _OrderRequest(x, graph, interval, weights, columns, missing, bins, range, options)
    return request.answer(Quantile(share))


def trimmed_mean(
    x: Any,
    share: float = 0.1,
    graph: Graph | str | None = None,
    *,
    interval: float | None = _USUAL_LEVEL,
    weights: Any = None,
    columns: Sequence[Any] | str | None = None,
    missing: str = REFUSE,
    bins: int | None = None,
    range: tuple[float, float] | None = None,
    method: str = "sketch",
    **options: Any,
) -> Any:
    """Return the mean of the rows that remain when a share is cut off at either end.

    Its interval is that of Tukey and McLaughlin: the winsorized variance and Student's t. Other
    arguments are those of `quantile`.

    Parameters
    ----------
    method
        On a graph ``"sketch"``, which averages bins, or ``"gotrim"``: nodes estimate their own
        ranks, and average the numbers whose ranks count. Its messages carry two numbers, without a
        sampling error: it takes no interval, no bins and no weights.

    Examples
    --------
    >>> trimmed_mean([3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.3, 5.8, 77.0], 0.2)
    4.5 (95 %: 1.4 to 7.5)
    """
    request = _OrderRequest(x, graph, interval, weights, columns, missing, bins, range, options)
    statistic = TrimmedMean(share)
    if request.by_pairs(method, "gotrim"):
        return request.run_request(TrimRequest, method="gotrim", statistic=statistic)
    return request.answer(statistic)


def winsorized_mean(
    x: Any,
    share: float = 0.1,
    graph: Graph | str | None = None,
    *,
    interval: float | None = _USUAL_LEVEL,
    weights: Any = None,
    columns: Sequence[Any] | str | None = None,
    missing: str = REFUSE,
    bins: int | None = None,
    range: tuple[float, float] | None = None,
    **options: Any,
) -> Any:
    """Return the mean after a share at either end is moved to the next remaining row.

    Its interval comes from its influence function, which includes the density at both cuts, and
    from Student's t. Other arguments are those of `quantile`.
    """
    request = _OrderRequest(x, graph, interval, weights, columns, missing, bins, range, options)
    return request.answer(WinsorizedMean(share))


def hodges_lehmann(
    x: Any,
    graph: Graph | str | None = None,
    *,
    labels: Any = None,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    interval: float | None = _USUAL_LEVEL,
    weights: Any = None,
    columns: Sequence[Any] | str | None = None,
    missing: str = REFUSE,
    bins: int | None = None,
    range: tuple[float, float] | None = None,
    **options: Any,
) -> Any:
    """Return the median of the means of all pairs of rows; with labels, the shift of two classes.

    The shift is the median of all differences between a row of the higher class and one of the
    lower; ``classes``, or ``positive``, says which is which, as in `exact`. Intervals hold the
    values that the tests of Wilcoxon, and of Mann and Whitney, do not reject. Other arguments are
    those of `quantile`.
    """
    request = _OrderRequest(
        x,
        graph,
        interval,
        weights,
        columns,
        missing,
        bins,
        range,
        options,
        labels,
        classes,
        positive,
    )
    return request.answer(HodgesLehmann() if labels is None else Shift())


def ranks(
    x: Any,
    graph: Graph | str | None = None,
    *,
    weights: Any = None,
    columns: Sequence[Any] | str | None = None,
    missing: str = REFUSE,
    bins: int | None = None,
    range: tuple[float, float] | None = None,
    method: str = "sketch",
    **options: Any,
) -> Any:
    """Return the mid-rank of every row: 1 for the smallest, and the mean of their ranks for ties.

    With a graph every node learns its own. Dropped rows have no rank. Other arguments are those of
    `quantile`.

    Parameters
    ----------
    method
        On a graph ``"sketch"``, which averages bins, or ``"gorank"``, which is U1-gossip: nodes
        swap numbers and count how many of those they see are smaller.

    Examples
    --------
    >>> ranks([2.0, 7.0, 2.0, 5.0]).tolist()
    [1.5, 4.0, 1.5, 3.0]
    """
    request = _OrderRequest(x, graph, None, weights, columns, missing, bins, range, options)
    by_pairs = request.by_pairs(method, "gorank")
    if not request.on_graph:
        return request.sample.distribution.middle_ranks(request.sample.values)
    if by_pairs:
        kernel = rank_kernel(len(request.sample.values))
        return request.run_request(EstimationRequest, method="u1", kernel=kernel)
    if options.get("groups") is not None:
        raise InputError(
            "With groups a node has several rows, but bins give one rank per node: use {argument}.",
            "method",
            "gorank",
        )
    return request.run(None)


@dataclass
class _OrderRequest:
    """A statistic of order, its arguments checked; `quantile` documents them."""

    x: Any
    graph: Graph | str | None
    interval: float | None
    weights: Any
    columns: Sequence[Any] | str | None
    missing: str
    bins: int | None
    range: tuple[float, float] | None
    options: dict[str, Any]
    """Arguments of `estimate`."""
    labels: Any = None
    classes: Sequence[Any] | None = None
    positive: Any = None

    def __post_init__(self) -> None:
        groups = self.options.get("groups")
        self.on_graph = self.graph is not None or groups is not None
        check_options(self.options, self.on_graph)
        given = {"x": self.x, "labels": self.labels, "weights": self.weights, "groups": groups}
        how = self.missing, self.classes, given, self.positive, self.columns
        self._rows = prepare_rows(*how)
        complete = self._rows.columns
        labels = complete.get("labels")
        if (names := two_texts(labels)) is not None:
            raise unknown_positive("A shift", names)
        data = _check_rows(complete["x"], labels)
        self._weights = check_weights(complete.get("weights"), len(data))
        self.sample = Sample(
            data if labels is None else data[:, 0],
            None if labels is None else data[:, 1],
            _count_rows(self._weights),
        )
        self.level = None if self.interval is None else check_level(self.interval)
        self._bins = whole("The number of bins", self.bins, default=_BINS)
        self._declared = None if self.range is None else check_range(self.range)

    def answer(self, statistic: Statistic) -> float | Run:
        """Return a statistic of all rows, or the run of a network."""
        sample = self.sample.distribution
        if self.level is not None:
            self._check_interval(statistic, sample)
        if self.on_graph:
            return self.run(statistic)
        value = float(statistic.value(sample))
        if self.level is None:
            return value
        error, low, high = map(float, statistic.sampling(sample, self.level)[:3])
        return Answer(value, error, low, high, self.level, "plain", self._rows.positive)

    def _check_interval(self, statistic: Statistic, sample: Distribution) -> None:
        """Raise `InputError` if the rows give no interval."""
        if len(sample.low) == 1:
            raise InputError(
                f"All rows are {sample.low[0]:g}, which says nothing about the spread of other "
                f"rows: "
                "give interval=None for the number alone."
            )
        statistic.check(sample)
        if not are_frequencies(self._weights):
            raise InputError(
                "Weights that are not whole numbers are not frequencies of rows, which intervals "
                "need: give interval=None."
            )
        warn_of_frequencies(self._weights)

    def run(self, statistic: Statistic | None) -> Run:
        """Let a network average the bins of its rows."""
        return self.run_request(
            BinsRequest,
            method="sketch",
            statistic=statistic,
            interval=self.level,
            sample=self.sample,
            bins=self._bins,
            declared=self._declared,
        )

    def by_pairs(self, method: str, name: str) -> bool:
        """Return whether nodes meet in pairs, by the method of this name, instead of by bins."""
        if choice("method", method, ("sketch", name)) == "sketch":
            return False
        if not self.on_graph:
            raise InputError(
                f"Method '{name}' needs a network: give {{argument}}.", "graph", "complete"
            )
        level = None if self.interval is _USUAL_LEVEL else self.interval
        if any(given is not None for given in (level, self._weights, self.bins, self.range)):
            raise InputError(
                f"Method '{name}' has no bins, gives no interval and takes no weights: leave them "
                "out."
            )
        return True

    def run_request(self, kind: type[EstimationRequest], **how: Any) -> Run:
        """Run the request of a network."""
        places = {"groups": self._rows.columns.get("groups")}
        if self.graph is not None:
            places["graph"] = self.graph
        request = kind(data=self.sample.data, **how, **(self.options | places))
        request.positive_class, request.rows_dropped = self._rows.positive, self._rows.dropped
        return request.execute()


def check_options(options: Collection[str], on_graph: bool) -> None:
    """Raise `InputError` for arguments that `estimate` does not take here, or any without a
    graph."""
    for name in options:
        if name not in _OPTIONS:
            raise InputError(
                f"'{name}' is not an argument here: besides the documented ones there are "
                f"{join_names(_OPTIONS)}."
            )
    if options and not on_graph:
        raise InputError(
            f"Without a graph nothing is gossiped, so {join_names(list(options))} has no meaning: "
            "give {argument}, or leave it out.",
            "graph",
            "complete",
        )


def _check_rows(x: Any, labels: Any) -> FloatArray:
    data = check_data(x, labels, "x")
    dimensions = 1 if labels is None else 2
    if data.ndim != dimensions or (dimensions == 2 and data.shape[1] != 2):
        columns = format_count(data.shape[1] - (labels is not None), "column")
        raise InputError(f"Order needs one number per row, but x has {columns}: choose one.")
    if labels is not None:
        check_two_classes("A shift", "two classes at a time", data)
    return data


def _count_rows(weights: FloatArray | None) -> FloatArray | None:
    """Return the number of rows each stands for: whole weights, or others scaled to the rows."""
    if weights is None or are_frequencies(weights):
        return weights
    return weights * (len(weights) / weights.sum())
