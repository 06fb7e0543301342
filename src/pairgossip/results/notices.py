"""What the caller of a front door is told of a run whose nodes are not as sure as they could be."""

from __future__ import annotations

import warnings

import numpy as np

from pairgossip.errors import NotEnough
from pairgossip.results.run import Run

_AGREEMENT = 0.25
"""Nodes whose sampling errors differ by more have seen their surroundings only."""


def warn_if_not_enough(run: Run) -> None:
    """Tell the caller of `estimate` that some trials ended before all nodes had enough."""
    if run.enough is None or run.enough.all() or run.status == "interrupted":
        return
    short = int((run.enough == 0).sum())
    which = "The run" if run.trials == 1 else f"{short} of {run.trials} trials"
    notice = NotEnough(
        f"{which} ended before every node's gossip error was a tenth of its sampling error: use "
        "{argument} or more.",
        "iterations",
        4 * int(run.iterations[-1]),
    )
    warnings.warn(notice, stacklevel=3)


def warn_if_unsettled(run: Run) -> None:
    """Tell the caller of `estimate` that nodes do not agree on the sampling error yet."""
    errors = run.sampling_error
    told = run.enough is not None and not run.enough.all()
    if errors is None or told or run.status == "interrupted":
        return
    known = errors[~np.isnan(errors)]
    apart = float(known.std() / known.mean()) if len(known) else np.inf
    if len(known) == errors.size and apart <= _AGREEMENT:
        return
    how = "Not all nodes know" if len(known) < errors.size else f"Nodes differ by {apart:.0%} in"
    why = "since rows have not come around yet: use {argument} or more, or method 'sketch'."
    if not len(known):
        how = "No node knows"
        why = (
            "since rows have not come around yet, or tell none, as where all are tied or classes "
            "are separated or of one row: use {argument} or more, or see what `exact` says."
        )
    notice = NotEnough(
        f"{how} the sampling error, {why}",
        "iterations",
        4 * int(run.iterations[-1]),
    )
    warnings.warn(notice, stacklevel=3)
