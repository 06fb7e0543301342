"""How far a node lets another one move it, where some may lie.

A node that takes what others send, however far off, is at a liar's mercy. Here moves are bent: the
mean of two nodes asks for a move m, and a node makes m / (1 + (m/c)^2), which is m as long as it is
small against the clip c, c/2 at most, and little again for lies that are far off. The clip falls as
1/N with a node's picks N, and so do the weights of its own values: what a liar can do fades as fast
as estimates settle. Two nodes agree on the smaller of their clips, so that both make the same move
and the sum of honest estimates stays what it is.
"""

from __future__ import annotations


def bend(move: float, clip: float) -> float:
    """Return the share of a move, given by its length, that a node makes."""
    if move > clip:
        ratio = clip / move  # squares of far-off lies would overflow
        return ratio * ratio / (1 + ratio * ratio)
    return 1 / (1 + (move / clip) ** 2) if clip > 0 else 0.0


def expected_picks(picks: int, weight: float, other: float) -> float:
    """Return how often the rarer of two nodes was picked, by the count of the one with ``weight``.

    Weights are one over how often nodes are picked. The network is known to all, so that a liar
    cannot claim to be picked rarely.
    """
    return picks * min(1.0, weight / other)
