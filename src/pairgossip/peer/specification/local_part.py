"""The local update of a row, by the specification of its run."""

from __future__ import annotations

from pairgossip.kernels import as_kernel
from pairgossip.losses import adaptive, as_loss, inverse_sqrt
from pairgossip.peer.protocol.nodes import picks_per_exchange
from pairgossip.peer.protocol.rules import (
    AdaptiveAveraging,
    DualAveraging,
    PaperMixing,
    Rule,
    WeightedMixing,
)
from pairgossip.peer.specification.spec import Spec


def rule_for(spec: Spec, degree: float, rows: int, evicted_rows: int = 0) -> Rule:
    """Return the local update of a row, for a peer with this number of neighbors and rows.

    If links have weights, ``degree`` is the sum over the peer's links. A row's weight is one over
    the expected number of times that it is picked while a link of weight 1 rings once.
    """
    picks = (degree or 1) / rows * picks_per_exchange(rows)
    if spec.learning is not None:
        loss = as_loss(spec.loss)
        proximal, dimension = spec.learning.proximal, loss.dimension(len(spec.observed))
        if isinstance(spec.learning.step, str):
            scale = adaptive().scale
            return AdaptiveAveraging(loss, dimension, proximal.map_in_metric, scale, 1.0 / picks)
        return DualAveraging(
            loss=loss,
            dimension=dimension,
            prox=proximal.map,
            gamma=inverse_sqrt(spec.learning.step),
            probability=picks,
            debiased=spec.debiased,
        )
    kernel, scale = as_kernel(spec.kernel), 1.0
    counts_own = spec.target == "v"
    if spec.members is not None and not counts_own:
        n = max(spec.members - evicted_rows, 2)
        scale = n / (n - 1)
    debiased = spec.debiased
    if spec.algorithm.mixing == "paper":
        return PaperMixing(kernel, scale, counts_own, debiased)
    return WeightedMixing(kernel, scale, counts_own, debiased, weight=1.0 / picks)
