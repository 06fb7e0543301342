"""What a member runs by a specification: the local update of a row, or its part in sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.kernels import as_kernel
from pairgossip.losses import adaptive, as_loss, inverse_sqrt
from pairgossip.peer.protocol.held import Held, Own
from pairgossip.peer.protocol.messages import FIRST_GENERATION
from pairgossip.peer.protocol.nodes import picks_per_exchange
from pairgossip.peer.protocol.rules import (
    AdaptiveAveraging,
    DualAveraging,
    PaperMixing,
    Rule,
    WeightedMixing,
)
from pairgossip.peer.protocol.state import Released
from pairgossip.peer.specification.spec import Spec

if TYPE_CHECKING:
    from pairgossip.arrays import FloatArray
    from pairgossip.peer.sums.noise import Noise
    from pairgossip.peer.sums.programs import SumsProgram


def program_for(
    spec: Spec,
    own: FloatArray | Own,
    members: Mapping[str, int],
    generation: str = FIRST_GENERATION,
    noise: Noise | None = None,
    *,
    released: Released | None = None,
    salt: bytes = bytes(32),
    me: str = "",
    shows: bool = False,
) -> SumsProgram:
    """Make what a member with these rows runs on sums.

    Parameters
    ----------
    spec, own
        The specification, and the member's rows, or what a peer holds of them.
    members, generation
        How many rows each member of this generation has, and its name.
    noise
        Returns what this member adds to the counts of a round: drawn once by `noise_law`, and kept.
    released
        How far the member's rows were released before, where each is counted once.
    salt
        The member's part of the salt of a table, 32 bytes that nobody else knows.
    me, shows
        The member's id, and whether it shows its own line where sites are compared.
    """
    from pairgossip.peer.sums.programs import Generation

    whole = Generation(members, generation)
    held = own if isinstance(own, Held) else np.asarray(own, dtype=np.float64)
    if spec.loss is not None:
        from pairgossip.peer.sums.labels import label_values
        from pairgossip.peer.sums.learning import LearningProgram

        rows = held.matrix if isinstance(held, Held) else held
        if rows is None:  # whoever only looks at sums contributes nothing: any row will do
            features = [spec.ranges[name][0] for name in spec.columns]
            rows = np.array([[*features, label_values(spec)[0]]])
        return LearningProgram(spec, rows, whole)
    from pairgossip.peer.sums.batches import StatisticsProgram

    return StatisticsProgram(
        spec, held, whole, noise, released or Released(), salt, me, shows=shows
    )


def rule_for(spec: Spec, degree: float, rows: int, evicted_rows: int = 0) -> Rule:
    """Make the local update of a row, for a peer with this number of neighbors and rows.

    Where links have weights, ``degree`` is the sum of its own. A row's weight is one over how often
    it is picked while a link of weight 1 rings once.
    """
    picked = (degree or 1) / rows * picks_per_exchange(rows)
    if spec.learning is not None:
        loss = as_loss(spec.loss)
        proximal, dimension = spec.learning.proximal, loss.dimension(len(spec.observed))
        if isinstance(spec.learning.step, str):
            scale = adaptive().scale
            return AdaptiveAveraging(loss, dimension, proximal.map_in_metric, scale, 1.0 / picked)
        return DualAveraging(
            loss=loss,
            dimension=dimension,
            prox=proximal.map,
            gamma=inverse_sqrt(spec.learning.step),
            probability=picked,
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
    return WeightedMixing(kernel, scale, counts_own, debiased, weight=1.0 / picked)
