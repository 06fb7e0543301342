"""What is measured of one method on one graph: relative errors, slopes, prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.results import Run


@dataclass(frozen=True)
class Measured:
    """Curves over checkpoints; errors are relative to the statistic."""

    iterations: IntArray
    messages: IntArray
    error: FloatArray
    """Root mean square over nodes and trials."""
    trial_error: FloatArray
    """Root mean square over nodes, of every trial."""
    mean_error: FloatArray
    """Root mean square over trials, of the mean over all nodes."""
    distance: float
    """Root mean square distance of the final estimates from the statistic itself."""
    relaxation: float
    """|E| / lambda_(n-1) of the graph: bias dies out in about so many iterations."""

    @property
    def trials(self) -> int:
        """Number of trials."""
        return len(self.trial_error)

    @cached_property
    def slope(self) -> float:
        """The exponent with which the error falls at the end."""
        begin = max(self.iterations[-1] / 10, min(self.relaxation, self.iterations[-1] / 2))
        late = self.iterations >= begin
        return float(np.polyfit(np.log(self.iterations[late]), np.log(self.error[late]), 1)[0])

    def error_at(self, messages: IntArray) -> FloatArray:
        """Interpolate the error at numbers of messages, on logarithmic scales."""
        return np.exp(np.interp(np.log(messages), np.log(self.messages), np.log(self.error)))


Found = Mapping[str, Mapping[str, Measured]]
"""What was measured, by graph and method."""


def final_errors(found: Found) -> dict[str, list[float]]:
    """Return by method the errors at the end, from the best to the least connected graph."""
    return {
        method: [float(by_method[method].error[-1]) for by_method in found.values()]
        for method in next(iter(found.values()))
    }


def measured(run: Run, value: float, gap: float) -> Measured:
    """Take from a run what the report needs, relative to the statistic's value."""
    return Measured(
        iterations=run.iterations,
        messages=run.messages,
        error=run.error / value,
        trial_error=run.trial_error / value,
        mean_error=np.sqrt(np.mean((run.trial_mean - value) ** 2, axis=0)) / value,
        distance=float(np.sqrt(np.mean((run.estimates - value) ** 2)) / value),
        relaxation=1.0 / gap,
    )


def reached(m: Measured, level: float) -> int | str:
    """Return the messages after which the error stays below a level, or "not reached"."""
    above = np.flatnonzero(m.error >= level)
    last = int(above[-1]) if len(above) else -1
    if last == len(m.error) - 1:
        return "not reached"
    if last < 0:
        return int(m.messages[0])
    steps = slice(last, last + 2)
    # np.interp wants rising abscissas, and the error falls here.
    errors, messages = np.log(m.error[steps])[::-1], np.log(m.messages[steps])[::-1]
    return round(float(np.exp(np.interp(np.log(level), errors, messages))))
