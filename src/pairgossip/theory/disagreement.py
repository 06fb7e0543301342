"""How far apart the accumulators of gossip dual averaging can drift."""

from __future__ import annotations

import math

from pairgossip.errors import InputError


def disagreement_constant(gap: float, *, printed: bool = False) -> float:
    """K = 1/(1 - sqrt(1 - x/2)), with x the normalized gap; at most 4/x.

    sqrt(1 - x/2) is how much one exchange shrinks disagreement in the root mean square, for
    edges drawn independently on a connected graph. Printed: 1/(1 - sqrt(1 - x)), which
    contradicts the paper's own averaging matrix.
    """
    # On two nodes x = 2; every other graph has x <= 1.
    if not 0 < gap <= (1 if printed else 2):
        raise InputError(f"The normalized gap must be positive and at most 2, not {gap!r}.")
    # 1 - sqrt(1 - y) loses digits for small y.
    shrunk = gap if printed else gap / 2
    return (1 + math.sqrt(1 - shrunk)) / shrunk


def dispersion_bound(
    lipschitz: float, gap: float, *, single_node: int | None = None, printed: bool = False
) -> float:
    """Lemma on dispersion: (1/n) sum_i E||z_i(t) - mean z(t)|| <= L K, at every t.

    It assumes gradients of norm at most L and independent exchanges on a connected graph, and
    is a certificate of scaling.
    ``single_node=n`` bounds one fixed node of n, by sqrt(n) L K.
    """
    if not lipschitz > 0:
        raise InputError(f"The Lipschitz constant must be positive, not {lipschitz!r}.")
    bound = lipschitz * disagreement_constant(gap, printed=printed)
    return bound if single_node is None or printed else math.sqrt(single_node) * bound
