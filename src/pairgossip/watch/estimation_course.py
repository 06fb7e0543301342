"""A watched estimation: the same numbers as `pairgossip.estimate` with the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms import Method, weighted_gosta
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.engine.engines import build_engine
from pairgossip.engine.trial import root_mean_square
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from pairgossip.kernels.means import Means
from pairgossip.theory import theory_curves
from pairgossip.watch.course import Course
from pairgossip.watch.following import Follower

LARGEST_THEORY = 750
"""Up to this many nodes the exact expectation takes seconds."""
ORDER = "update-first"


class EstimationCourse(Course):
    """A network that estimates a statistic."""

    curve_names = ("error", "spread")

    def __init__(
        self,
        problem: Pairs | Means,
        graph: Graph,
        method: Method,
        clock: str,
        law: str,
        root: SeedSequence,
        checkpoints: IntArray,
    ) -> None:
        self._problem, self._method, self._clock = problem, method, clock
        self.exchanges_per_iteration = method.exchanges_per_iteration
        self.target = _target(problem, method)
        self.title = f"{method.name} ({clock}) on {graph.family}"
        super().__init__(graph, law, root, checkpoints)

    def _build(self) -> None:
        weights = None
        if self._method.weighs_by_picks:
            weights = weighted_gosta.weights(self.graph.pick_probabilities(self.law))
        self._engine = build_engine(
            "auto", self._problem, self._method, self._clock, ORDER, weights
        )
        self.follower = Follower(self.graph.n) if self._method.swaps else None

    def _carry_out(self, drawn: tuple[PairArray, ...]) -> None:
        self._engine.advance(drawn)

    def values(self) -> FloatArray:
        """Return every node's estimate."""
        if self.done == 0 and not isinstance(self._problem, Means):
            return np.full(self.graph.n, np.nan)
        found = self._engine.estimates()
        if not np.isfinite(found).all():
            raise InputError(
                "The estimates left the floating range: the data are so large that sums of them "
                "overflow; rescale them."
            )
        if isinstance(self._problem, Means):
            return found[:, 0]
        return self._problem.kernel.combine(found)

    def deviations(self, values: FloatArray) -> tuple[FloatArray, float | None]:
        """Return the errors of the estimates, and the exact value if all nodes have the same."""
        return values - self.target, None if np.ndim(self.target) else float(self.target)

    def _curve_point(self) -> tuple[float, ...]:
        numbers = self._measured(self.values())
        return numbers["error"], numbers["spread"]

    def _measured(self, values: FloatArray) -> dict[str, float]:
        """Mean, spread and error over the nodes whose estimates are defined already."""
        defined = ~np.isnan(values)
        deviation = (values - self.target)[defined]
        if not deviation.size:
            return {"mean": np.nan, "error": np.nan, "spread": np.nan}
        differing = deviation if np.ndim(self.target) else values[defined]
        return {
            "mean": float(values[defined].mean()),
            "error": root_mean_square(deviation),
            "spread": root_mean_square(differing - differing.mean()),
        }

    def readouts(self, values: FloatArray) -> dict[str, Any]:
        """Return error, spread and mean."""
        return self._measured(values)

    def described(self) -> dict[str, Any]:
        """Return the kind of run, what colors mean and what the curves are called."""
        exact = None if np.ndim(self.target) else float(self.target)
        return {
            "kind": "estimation",
            "exact": exact,
            "colored": "estimate",
            "middle": "exact value" if exact is not None else "the node's own exact value",
        }

    def theory(self) -> dict[str, Any]:
        """Return the exact bias and the bounds at the checkpoints, or why there are none."""
        if self.graph.n > LARGEST_THEORY:
            return {"absent": f"Theory is computed up to {LARGEST_THEORY:,} nodes."}
        try:
            curves = theory_curves(
                self._problem,
                self.graph,
                self.checkpoints,
                method=self._method,
                clock=self._clock,
                order=ORDER,
                law=self.law,
            )
        except InputError as reason:
            return {"absent": str(reason)}
        on_error = bool(np.isfinite(curves.deviation_bound).any())
        return {
            "expected_error": curves.expected_error,
            "bound": curves.deviation_bound if on_error else curves.expectation_bound,
            "bound_on": "error" if on_error else "bias",
        }


def _target(problem: Pairs | Means, method: Method) -> float | FloatArray:
    if isinstance(problem, Pairs) and method.estimates == "row-mean":
        return problem.row_means()
    return problem.exact()
