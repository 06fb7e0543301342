"""The tables of a specification's file: how members exchange, learn, stop, and hide their rows."""

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
"""The end of sentences about what sums do not tell."""
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
    """How members exchange."""

    name: Annotated[str, Key(canonical=canonical)] = EXCHANGE
    """Whether rows (or reports) pass from member to member, "exchange", or "sums" alone do. A file
    that names none means sums, where they can tell the answer."""
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
    """How estimates are averaged, "weighted" or "paper"; None with a loss, and with sums."""
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
    """Exchanges per second and link."""
    bins: Annotated[Count | None, Key(SUMS, KERNEL)] = None
    """How many cells a column has, a power of two; None for 256, or 32 in a table of two; with
    noise for 32, or 8."""
    least_cell: Annotated[
        Whole | None,
        Key(
            SUMS,
            KERNEL,
            beside_noise="are two ways to protect rows, blocks of cells or noise",
        ),
    ] = None
    """Without noise, the least number of rows that is counted: 3 unless given. Rows are counted in
    blocks of cells then; 1 counts cells as they are."""
    refine: Annotated[Whole, Key(SUMS)] = 1
    """Always 1; version 0.2 had a second sum on better bins, which is refused now."""
    rounds: Annotated[Count | None, Key(SUMS, LOSS)] = None
    """How many sums become known at most."""


class Learning(Strict, frozen=True):
    """How a model is learned.

    Step sizes of the paper's algorithm shrink with the time, whose unit is that in which a link
    rings once, from the end of the first unit on. A simulation on a graph of m edges counts m times
    as many exchanges, so there the same step is step / sqrt(m) once m exchanges were made; `train
    --spec` takes care of that.
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
    shrinks with the square root of the time."""
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
    """When a peer may say that it is done; running on is always allowed."""

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
    """Whether a gossip error of a tenth of the sampling error will do."""


class Privacy(Strict, frozen=True):
    """How every member reports its rows instead of sending them: by randomized response."""

    epsilon: float
    """The privacy budget of one report."""
    bins: Annotated[Whole | tuple[Whole, ...], _OF_REPORTS]
    """Into how many equal parts the range of each column is cut."""
    rounding: Annotated[str, _OF_REPORTS._replace(canonical=str.lower)] = "bins"
    """To the middle of its bin, "bins", or at random to the ends of it, "stochastic"."""
    classes: Annotated[
        tuple[float, ...] | None,
        _OF_REPORTS._replace(canonical=sort_numbers),
    ] = None
    """The values of the label."""
    together: Annotated[bool | None, _OF_REPORTS] = None
    """Whether all columns are one report at the whole epsilon, or share it, a report each."""


class SumsNoise(Strict, frozen=True):
    """How noise hides rows in sums of counts; the table [privacy] where sums are asked for."""

    epsilon: float
    """The privacy budget of the question."""
    honest: Annotated[Count | None, Key(SUMS, refusal="give 1 member or more.")] = None
    """The least number of honest members, whose noise an observer does not know; None for all but
    one."""
