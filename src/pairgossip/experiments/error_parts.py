"""The three parts of an error: the bias, the nodes' disagreement, their mean's fluctuation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.results import Run


class ErrorParts(NamedTuple):
    """Root mean squares over nodes and trials; their squares add up to that of the error.

    This is so in expectation: `remainder` is what the trials' chance leaves of it.
    """

    bias: FloatArray
    """Of a node's expectation, which is exact."""
    disagreement: FloatArray
    """Of the fluctuation of a node about the network's mean."""
    mean_fluctuation: FloatArray
    """Of the network's mean about its exact expectation."""
    remainder: FloatArray
    """The square of the error minus the squares of the parts."""

    @property
    def fluctuation(self) -> FloatArray:
        """Of a node about its own expectation."""
        return np.asarray(np.hypot(self.disagreement, self.mean_fluctuation))


def error_parts(run: Run, bias: Sequence[float], mean_bias: Sequence[float]) -> ErrorParts:
    """Take a run's error apart, given exact biases: of nodes in root mean square, of the mean.

    Estimates of single nodes are not needed: their spread is recorded, and what of it is the
    spread of their biases is known.
    """
    of_nodes, of_mean = np.asarray(bias), np.asarray(mean_bias)
    about = run.trial_mean - np.mean(run.target) - of_mean
    spread = np.mean(run.trial_spread**2, axis=0) - (of_nodes**2 - of_mean**2)
    fluctuation = np.mean(about**2, axis=0)
    disagreement = np.maximum(spread, 0.0)
    return ErrorParts(
        of_nodes,
        np.sqrt(disagreement),
        np.sqrt(fluctuation),
        run.error**2 - of_nodes**2 - disagreement - fluctuation,
    )
