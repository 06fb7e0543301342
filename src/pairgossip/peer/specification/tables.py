"""The tables of a specification's file: how members exchange, learn, stop, and hide their rows."""

from __future__ import annotations

from typing import Annotated

import msgspec

from pairgossip.losses import Ball, Proximal, SquaredL2, as_proximal
from pairgossip.peer.specification.algorithm import EXCHANGE
from pairgossip.peer.specification.checks import ADAPTIVE

Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""TOML may hold whole numbers so long that Python neither prints them nor makes floats of them."""


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file; a key it does not know is an error."""


class Algorithm(Strict, frozen=True):
    """How members exchange."""

    name: str = EXCHANGE
    """Whether rows (or reports) pass from member to member, "exchange", or "sums" alone do. A file
    that names none means sums, where they can tell the answer."""
    mixing: str | None = None
    """How estimates are averaged, "weighted" or "paper"; None with a loss, and with sums."""
    rate: float = 10.0
    """Exchanges per second and link."""
    bins: Whole | None = None
    """With sums and a kernel, how many cells a column has, a power of two; None for 256, or 32 in a
    table of two; with noise for 32, or 8."""
    least_cell: Whole | None = None
    """With sums, a kernel and no noise, the least number of rows that is counted: 3 unless given.
    Rows are counted in blocks of cells then; 1 counts cells as they are."""
    refine: Whole = 1
    """Always 1; version 0.2 had a second sum on better bins, which is refused now."""
    rounds: Whole | None = None
    """With sums and a loss, how many sums become known at most."""


class Learning(Strict, frozen=True):
    """How a model is learned.

    Step sizes of the paper's algorithm shrink with the time, whose unit is that in which a link
    rings once, from the end of the first unit on. A simulation on a graph of m edges counts m times
    as many exchanges, so there the same step is step / sqrt(m) once m exchanges were made; `train
    --spec` takes care of that.
    """

    step: float | str = ADAPTIVE
    """"adaptive", which needs no tuning, or the first step size of the paper's algorithm, which
    shrinks with the square root of the time."""
    radius: float | None = None
    """The largest norm of a model."""
    l2: float | None = None
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

    error: float | None = None
    """The half-width of the gossip interval, relative to the estimate."""
    exchanges: Whole | None = None
    enough: bool | None = None
    """Whether a gossip error of a tenth of the sampling error will do."""


class Privacy(Strict, frozen=True):
    """How every member reports its rows instead of sending them: by randomized response."""

    epsilon: float
    """The privacy budget of one report."""
    bins: Whole | tuple[Whole, ...]
    """Into how many equal parts the range of each column is cut."""
    rounding: str = "bins"
    """To the middle of its bin, "bins", or at random to the ends of it, "stochastic"."""
    classes: tuple[float, ...] | None = None
    """The values of the label."""
    together: bool | None = None
    """Whether all columns are one report at the whole epsilon, or share it, a report each."""


class SumsNoise(Strict, frozen=True):
    """How noise hides rows in sums of counts; the table [privacy] of a run on sums."""

    epsilon: float
    """The privacy budget of all sums of a generation together."""
    honest: Whole | None = None
    """The least number of honest members, whose noise an observer does not know; None for all but
    one."""
