"""Errors of the runs of "faults", as their report reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.results import Run
from pairgossip_paper import framework as fw
from pairgossip_paper.experiments.faults.runs import ATTACKS, NETWORKS

PERCENT = 100.0
WINDOW = (1e-10, 1e-2)
"""Errors of averaging, in sd of the rows, between which its rate is fitted."""


class Curve(NamedTuple):
    """A run, and its error in percent; of averaging, in sd of the rows.

    Where every node is kept the error is the median over honest nodes and trials, otherwise the
    root mean square.
    """

    run: Run
    error: FloatArray
    worst: float = np.nan
    """The largest error of an honest node in the end, in root mean square over trials."""

    @property
    def final(self) -> float:
        """The error in the end."""
        return float(self.error[-1])

    def at(self, share: float) -> float:
        """Return the error after this share of the exchanges."""
        exchanges = self.run.iterations.astype(np.float64)
        return float(np.interp(share * exchanges[-1], exchanges, self.error))


Curves = Mapping[str, Mapping[str, Curve]]
"""By network and way."""


def run_attacks(curves: Curves) -> list[str]:
    """Return the attacks that were run."""
    return [attack for attack in ATTACKS if f"gosta-{attack}-one" in curves[NETWORKS[0]]]


def read_curve(run: Run, key: str) -> Curve:
    """Read the error of a run, of the way with this name."""
    unit = 1.0 if key.startswith("averaging") else PERCENT / abs(float(run.target))
    if run.history is None:
        return Curve(run, np.asarray(run.error * unit))
    honest = slice(None) if run.honest is None else run.honest
    errors = np.abs(run.history[:, :, honest] - run.target) * unit
    worst = np.sqrt((errors[:, -1] ** 2).mean(axis=0)).max()
    return Curve(run, np.median(errors, axis=(0, 2)), float(worst))


def lost_share(run: Run) -> float:
    """Return which part of the exchanges did not take place."""
    return 0.0 if run.lost is None else float(run.lost[-1] / run.iterations[-1])


def fit_rate(curve: Curve) -> float:
    """Fit at which rate per exchange the error of a typical trial of averaging falls."""
    low, high = WINDOW
    typical = np.exp(np.log(np.maximum(curve.run.trial_error, low / 100)).mean(axis=0))
    inside = (typical > low) & (typical < high)
    return -fw.fit_line(curve.run.iterations[inside], np.log(typical[inside])).slope
