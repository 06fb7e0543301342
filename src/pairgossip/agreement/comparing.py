"""The front door `heterogeneity`, which compares summaries or rows of several sites."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pairgossip.agreement.heterogeneity import Heterogeneity, Site
from pairgossip.agreement.pooling import METHODS
from pairgossip.agreement.readings import (
    Reading,
    are_summaries,
    read_sites,
    split_rows,
    split_summaries,
)
from pairgossip.agreement.scales import go_back
from pairgossip.checks import REFUSE, choice, refuse_given
from pairgossip.errors import InputError
from pairgossip.inference.answer import check_level
from pairgossip.kernels import Combination, Kernel
from pairgossip.text import MOST_NAMED, join_first

_FEWEST, _FEW = 2, 6
"""Smallest number of sites to compare, and the number below which a note asks for caution."""


def heterogeneity(
    data: Any,
    reading: Kernel | Combination | str | None = None,
    *,
    labels: Any = None,
    by: Any = None,
    columns: Sequence[Any] | str | None = None,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    missing: str = REFUSE,
    method: str = "random",
    interval: float = 0.95,
) -> Heterogeneity:
    """Compare a statistic between sites: their differences, and the range for a new site.

    Parameters
    ----------
    data
        A list of summaries, one per site, or a dict of them by the sites' names; or one `Summary`
        whose groups are the sites; or rows, as in `exact`, with ``by``. Files of summaries that
        `load` has read are taken as summaries.
    reading
        A kernel. The default is the first reading of the summaries, and ``"auc"`` for rows.
    labels, columns, classes, positive, missing
        For rows, as in `exact`.
    by
        The site of every row, or the name of its column.
    method
        "random" for weights by the sites' errors and their spread, as usual: DerSimonian and
        Laird's tau, Hartung and Knapp's interval. "equal" for equal weights: Hedges and Olkin's
        tau, and an interval from the spread of the sites alone, which does not need correct errors.
    interval
        The level of all intervals.

    Values are averaged on the scale of the statistic's intervals; for an AUC this is the logit. If
    it is 0 or 1, or a class has one row, half a row of the smaller class is added on either side.
    With equal weights half a row is always added: on average the logit of few rows lies too far
    out, and equal weights do not correct this.

    Examples
    --------
    >>> import pairgossip as pg
    >>> score = [0.1, 0.6, 0.4, 0.9, 0.2, 0.5, 0.3, 0.8, 0.4, 0.7, 0.6, 0.5] * 2
    >>> died = [0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1]
    >>> ward = ["north"] * 8 + ["south"] * 8 + ["west"] * 8
    >>> heterogeneity(score, "auc", labels=died, by=ward)
    site   rows                  auc  weight
    north     8  0.81 (0.11 to 1.00)    36 %
    south     8  0.91 (0.13 to 1.00)    26 %
    west      8  0.62 (0.05 to 1.00)    39 %
    mean of 3 sites: 0.79 (95 %: 0.30 to 0.97; random effects)
    between sites: tau = 0.000 on the logit, I2 = 0 %, Q = 1.1 (p = 0.57)
    a new site: 0.01 to 1.00 (meant for 95 %)
    fewer than 6 sites: they show little of how far sites differ
    """
    method, level = choice("method", method, METHODS), check_level(interval)
    words = {"labels": labels, "columns": columns, "classes": classes, "positive": positive}
    if are_summaries(data):
        why = "Summaries have their columns, classes and sites already"
        refuse_given(words | {"by": by}, why)
        return _compare(split_summaries(data, reading, level), method, level)
    if isinstance(data, Mapping | Sequence) and not len(data):
        raise InputError("No sites are given: give a list of summaries, one per site, or rows.")
    if by is None:
        raise InputError("The rows are of several sites: give the site of each, {argument}.", "by")
    kernel = "auc" if reading is None else reading
    return _compare(split_rows(data, kernel, level, by=by, missing=missing, **words), method, level)


def _compare(
    parts: Mapping[str, Callable[[], Reading]], method: str, level: float
) -> Heterogeneity:
    """Pool the values of sites."""
    found = read_sites(parts)
    placed = {name: one.place(is_centered=method == "equal") for name, one in found.items()}
    taken = {name: found[name] for name, (_, v) in placed.items() if v > 0}
    left_out = tuple(name for name in parts if name not in taken)
    _check_number(len(taken), left_out)
    pooled = METHODS[method](*np.array([placed[name] for name in taken]).T)
    first = next(iter(taken.values()))
    on_scale = [pooled.mean, *pooled.interval(level), *pooled.predict(level)]
    mean, low, high, *new = go_back(first.answer.scale, np.array(on_scale)).tolist()
    return Heterogeneity(
        first.reading,
        method,
        level,
        first.answer.scale,
        tuple(
            Site(name, one.rows, one.answer, one.answer.low, one.answer.high, weight)
            for (name, one), weight in zip(taken.items(), pooled.weights.tolist(), strict=True)
        ),
        mean,
        (low, high),
        pooled.tau,
        pooled.i_squared,
        pooled.q,
        pooled.q_p,
        (new[0], new[1]),
        left_out,
        tuple(_note(taken, left_out)),
    )


def _check_number(sites: int, left_out: Sequence[str]) -> None:
    """Raise `InputError` if there are too few sites to compare."""
    if sites < _FEWEST:
        lost = f", without {join_first(left_out[:MOST_NAMED], len(left_out))}" if left_out else ""
        raise InputError(
            f"{_FEWEST} sites or more are compared, but there {'is' if sites == 1 else 'are'} "
            f"{sites}{lost}: give more sites, each with a value and a sampling error."
        )


def _note(taken: Mapping[str, Reading], left_out: Sequence[str]) -> Iterator[str]:
    """Yield the caveats of the comparison, as sentences."""
    if len(taken) < _FEW:
        yield f"fewer than {_FEW} sites: they show little of how far sites differ"
    if are_open := [name for name, one in taken.items() if one.is_open]:
        yield (
            f"cells leave more than a quarter of the error open at "
            f"{join_first(are_open[:MOST_NAMED], len(are_open))}: finer ones, or more rows, leave "
            "less"
        )
    if alone := [name for name, one in taken.items() if math.isnan(one.answer.error)]:
        yield (
            f"without an error of its own, as a share of the smaller class with half a row more: "
            f"{join_first(alone[:MOST_NAMED], len(alone))}"
        )
    if left_out:
        yield (
            "left out, as they have no value or no error: "
            f"{join_first(left_out[:MOST_NAMED], len(left_out))}"
        )
