"""How far curves, tests and concordance indices are from those of lifelines and scikit-survival.

Run with ``python -m benchmarks.survival_packages`` where both are installed. They are not in the
development environment: lifelines 0.30 needs a pandas before 3, and scikit-survival 0.28 a package
without wheels for Python 3.13. Draws 300 samples of 4 to 39 rows as the tests do, with ties of
events and censorings, and prints the largest difference of each figure. Medians are compared with
those of exact fractions, since a rounded product may miss 1/2; Uno's index is compared where no
event and censoring have the same time, since scikit-survival weights by the share followed after an
event. Exits with 1 if a figure differs by 1e-9 or more.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray
from tests.survival.rows import draw_rows

LARGEST, FOLLOWED = 1e-9, 0.8


def find_median(time: FloatArray, event: FloatArray) -> float:
    """Return the first time that at most half survive, in exact fractions."""
    share = Fraction(1)
    for one in np.unique(time):
        share *= 1 - Fraction(int(event[time == one].sum()), int((time >= one).sum()))
        if share <= Fraction(1, 2):
            return float(one)
    return np.nan


def compare_curves(time: FloatArray, event: FloatArray) -> Iterator[tuple[str, Any, Any]]:
    """Yield shares, ends of intervals and medians, each with the value of another package."""
    from lifelines import KaplanMeierFitter
    from sksurv.nonparametric import kaplan_meier_estimator

    (curve,) = pg.survival.kaplan_meier(time, event).curves
    times = np.unique(time)
    points, fitted = curve.read(times), KaplanMeierFitter().fit(time, event)
    inside = (points.survival < 1) & (points.survival > 0)
    ends = fitted.confidence_interval_.loc[times].to_numpy()[inside].T
    yield "curve, lifelines", points.survival, fitted.survival_function_at_times(times)
    yield "curve, scikit-survival", points.survival, kaplan_meier_estimator(event > 0, time)[1]
    yield "interval, lifelines", np.array([points.low, points.high])[:, inside], ends
    yield "median, fractions", curve.median.value, find_median(time, event)


def compare_tests(
    time: FloatArray, event: FloatArray, group: FloatArray
) -> Iterator[tuple[str, Any, Any]]:
    """Yield statistics of groups that are all at risk at an event, with those of lifelines."""
    from lifelines.statistics import multivariate_logrank_test

    for kind, weighting in (("log-rank", None), ("gehan", "wilcoxon")):
        try:
            found = pg.survival.log_rank(time, event, by=group, weights=kind)
        except pg.InputError:
            continue
        if found.freedom == len(np.unique(group)) - 1:
            other = multivariate_logrank_test(time, group, event, weightings=weighting)
            yield f"{kind}, lifelines", found.statistic, other.test_statistic
            yield f"{kind}'s p, lifelines", found.p, other.p_value


def compare_indices(
    time: FloatArray, event: FloatArray, risk: FloatArray
) -> Iterator[tuple[str, Any, Any]]:
    """Yield both indices with those of the other packages."""
    from lifelines.utils import concordance_index
    from sksurv.metrics import concordance_index_censored, concordance_index_ipcw

    try:
        value = pg.survival.concordance(time, event, risk, interval=None)
    except pg.InputError:
        return
    other = concordance_index_censored(event > 0, time, risk)[0]
    yield "Harrell's, scikit-survival", value, other
    yield "Harrell's, lifelines", value, concordance_index(time, -risk, event)
    if set(time[event > 0]) & set(time[event == 0]):
        return
    last = float(np.quantile(time, FOLLOWED))
    outcome = np.array(list(zip(event > 0, time, strict=True)), [("event", bool), ("time", float)])
    try:
        value = pg.survival.concordance(
            time, event, risk, interval=None, weights="uno", truncation=last
        )
    except pg.InputError:
        return
    other = concordance_index_ipcw(outcome, outcome, risk, tau=last)[0]
    yield "Uno's, scikit-survival", value, other


def main() -> None:
    """Print the largest difference of each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    differences: dict[str, list[float]] = {}
    for seed in range(options.draws):
        time, event, risk, group = draw_rows(np.random.default_rng(seed))
        for compared in (
            compare_curves(time, event),
            compare_tests(time, event, group),
            compare_indices(time, event, risk),
        ):
            for name, own, other in compared:
                own, other = np.asarray(own, float), np.asarray(other, float)
                apart = np.where(np.isnan(own) & np.isnan(other), 0.0, np.abs(own - other))
                largest = float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))
                differences.setdefault(name, []).append(largest)
    for name, found in differences.items():
        print(f"{name}: {max(found):.1e} at most, {len(found)} samples")
    sys.exit(max(map(max, differences.values())) >= LARGEST)


if __name__ == "__main__":
    main()
