"""The tables of a specification's file, for exchanging, learning, stopping and hiding rows."""

from __future__ import annotations

from typing import Annotated

from pairgossip.errors import canonical
from pairgossip.losses import Ball, Proximal, SquaredL2, as_proximal
from pairgossip.losses.steps import AdaptiveStep
from pairgossip.peer.specification.keys import (
    EXCHANGE,
    KERNEL,
    LOSS,
    SUMS,
    Count,
    Key,
    Positive,
    Strict,
    Whole,
    or_none,
    sort_numbers,
)

ADAPTIVE = AdaptiveStep.name
OR_EXCHANGE = 'or let rows travel with algorithm.name = "exchange"'
"""The last advice in errors about what sums cannot give."""
_OF_REPORTS = Key(
    EXCHANGE,
    elsewhere={
        SUMS: "is about reports of rows, and sums have none: remove it, or let reports travel with "
        'algorithm.name = "exchange".'
    },
)


def _canonical_step(step: float | str) -> float | str:
    return canonical(step) if isinstance(step, str) else step


class Algorithm(Strict, frozen=True):
    """The exchanges between members."""

    name: Annotated[str, Key(canonical=canonical)] = EXCHANGE
    """"exchange" if rows (or reports) pass from member to member, "sums" if only sums do. Without a
    name, a file means sums if they give the answer."""
    mixing: Annotated[
        str | None,
        Key(
            EXCHANGE,
            KERNEL,
            {
                SUMS: "is how estimates are averaged when rows travel, and sums have none: remove "
                f"it, {OR_EXCHANGE}.",
                LOSS: "is for a kernel: remove it from a run with a loss.",
            },
        ),
    ] = None
    """The averaging of estimates, "weighted" or "paper"; None with a loss, and with sums."""
    rate: Annotated[
        Positive,
        Key(
            EXCHANGE,
            elsewhere={
                SUMS: "is how often members exchange rows, and sums have none: remove it, "
                f"{OR_EXCHANGE}."
            },
        ),
    ] = 10.0
    """The number of exchanges per second and link."""
    bins: Annotated[Count | None, Key(SUMS, KERNEL)] = None
    """The number of cells of a column, a power of two. None means 256, or 32 in a table of two
    columns; with noise it means 32, or 8."""
    least_cell: Annotated[
        Whole | None,
        Key(
            SUMS,
            KERNEL,
            noise_refusal="are two ways to protect rows, blocks of cells or noise",
        ),
    ] = None
    """The least number of rows to count in a block of cells, 3 by default; 1 counts cells as they
    are. None with noise, and without counts."""
    refine: Annotated[Whole, Key(SUMS)] = 1
    """Always 1; version 0.2 had a second sum on better cells, which is refused now."""
    rounds: Annotated[Count | None, Key(SUMS, LOSS)] = None
    """The largest number of sums that become known."""


class Learning(Strict, frozen=True):
    """The learning of a model.

    The step sizes of the paper's algorithm shrink after the first unit of time, in which each link
    rings once on average. A simulation on a graph of m edges has m exchanges in this unit, so its
    step size is (step / sqrt(m)) / sqrt(t) after t > m exchanges; `train --spec` sees to that.
    """

    step: Annotated[
        Positive | str,
        Key(
            EXCHANGE,
            elsewhere={SUMS: f"is not needed: sums choose their steps; remove it, {OR_EXCHANGE}."},
            canonical=_canonical_step,
        ),
    ] = ADAPTIVE
    """"adaptive", which needs no tuning, or the first step size of the paper's algorithm, which
    shrinks with the square root of time."""
    radius: Positive | None = None
    """The largest norm of a model."""
    l2: Positive | None = None
    """The strength of the penalty on the squared norm."""

    @property
    def proximal(self) -> Proximal:
        """The proximal map of the norm's limit and of the penalty."""
        return as_proximal(
            None if self.radius is None else Ball(self.radius),
            None if self.l2 is None else SquaredL2(self.l2),
        )


class Stop(Strict, frozen=True):
    """The conditions under which a peer may report that it is done; it may always run on."""

    error: Positive | None = None
    """The half-width of the gossip interval, relative to the estimate."""
    exchanges: Count | None = None
    enough: Annotated[
        bool | None,
        Key(
            EXCHANGE,
            KERNEL,
            {
                LOSS: "is for a kernel: a model has no sampling error here; give stop.exchanges "
                "instead."
            },
            canonical=or_none(bool),
        ),
    ] = None
    """Whether a gossip error of a tenth of the sampling error is small enough."""


class Privacy(Strict, frozen=True):
    """The randomized response with which members report their rows instead of sending them."""

    epsilon: float
    """The privacy budget of one report."""
    bins: Annotated[Whole | tuple[Whole, ...], _OF_REPORTS]
    """The number of values that reports of a column may have, for all columns or for each."""
    rounding: Annotated[str, _OF_REPORTS._replace(canonical=str.lower)] = "bins"
    """The rounding of values: "bins" to the middle of a bin, "stochastic" to a nearby point."""
    classes: Annotated[
        tuple[float, ...] | None,
        _OF_REPORTS._replace(canonical=sort_numbers),
    ] = None
    """The values of the label."""
    together: Annotated[bool | None, _OF_REPORTS] = None
    """Whether all columns are one report with the whole epsilon; else each has one with a share."""


class SumsNoise(Strict, frozen=True):
    """The noise that hides rows in sums of counts; the table [privacy] of a run on sums."""

    epsilon: float
    """The privacy budget of the question."""
    honest: Annotated[Count | None, Key(SUMS, refusal="give 1 member or more.")] = None
    """The least number of honest members, whose noise an observer does not know; None for all but
    one."""
