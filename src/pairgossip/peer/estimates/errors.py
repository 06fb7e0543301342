"""The errors of a peer's estimate, which are different things and never added up.

The gossip error is how far this peer still is from the value over the rows that take part: it falls
with messages. The sampling error is how far that value may be from the one of the population that
the rows are drawn from: it falls with rows only. The privacy error is what reporting adds to it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.inference import row_products
from pairgossip.inference.answer import Law, interval
from pairgossip.peer.protocol.rules import StatisticRule, WeightedMixing

if TYPE_CHECKING:
    from pairgossip.peer.estimates.uncertainty import Uncertainty
    from pairgossip.peer.identity.members import PeerContext
    from pairgossip.peer.protocol.context import Context
    from pairgossip.peer.protocol.state import State

_LEVEL = 0.95
"""Confidence level of all intervals of peers."""
_EXCHANGES_PER_ROW = 16
"""Exchanges per row of the member with the most rows, after which a peer can judge itself: its
rows mix by one local exchange at each with a neighbor."""
_MET = 0.9
"""The part of the others' rows whose owners' records must have passed by."""


class Errors(msgspec.Struct, frozen=True, kw_only=True):
    """How sure an estimate is; None where that is not known, and of models."""

    gossip_error: float | None = None
    """The standard error of this peer's estimate of the value over all rows (or reports)."""
    gossip_interval: tuple[float, float] | None = None
    """Where the value over all rows (under privacy, over all reports) is likely to lie."""
    sampling_error: float | None = None
    """The standard error of the value over all rows, as one of the population they come from.

    Under privacy at least this: what the privacy error does not account for; None if it could be
    the whole.
    """
    sampling_interval: tuple[float, float] | None = None
    """Covers the population's value in 95 % of all samples; it allows for the privacy error."""
    privacy_error: float | None = None
    """Under privacy, the largest standard error that reporting instead of sending can bring."""

    def as_fields(self) -> dict[str, Any]:
        """Return the errors by name."""
        return {name: getattr(self, name) for name in Errors.__struct_fields__}


UNKNOWN = Errors()


def errors_of(
    context: PeerContext, state: State, seen: Uncertainty | None, met: Collection[str]
) -> Errors:
    """Judge a peer's estimate by its state, and by what was seen of its masses on the way.

    There is no sampling error before most have been ``met``: rows of members that never ran do not
    count in the estimate, though they are listed.
    """
    rule = context.rule
    if not isinstance(rule, StatisticRule):
        return UNKNOWN
    averages, total, privacy = readout_of(context, state), None, None
    if (kernel := context.agreed.debiased) is not None:
        # Only here, so that nothing of privacy is loaded into a small device.
        from pairgossip.peer.estimates.privacy_noise import bound_noise

        rows = sum(context.present_rows.values())
        privacy = bound_noise(kernel, rows, context.agreed.target, averages)
    if have_met(rows_of_others(context), met):
        total = population_error(context, state, averages)
    errors: dict[str, Any] = {"privacy_error": privacy}
    if seen is not None:
        errors |= {"gossip_error": seen.error(), "gossip_interval": seen.interval()}
    if total is not None:
        reports = privacy or 0.0
        if total > reports:
            errors["sampling_error"] = math.sqrt((total - reports) * (total + reports))
        errors["sampling_interval"] = _interval(rule, averages, total, context)
    return Errors(**errors)


def population_error(context: Context, state: State, averages: FloatArray) -> float | None:
    """Return the standard error of the value over all rows as one of the population.

    ``averages`` are the peer's `readout_of`. Under privacy rows are reports, and their noise is in
    it. None before `fewest_exchanges`, and where rows do not differ in what they add to the
    statistic.
    """
    rule, rows = context.rule, sum(context.present_rows.values())
    if not isinstance(rule, StatisticRule) or rows < 2:
        return None
    if state.exchanges < fewest_exchanges(context.present_rows.values()):
        return None
    tracked = _masses(state)[:, rule.averaged :].mean(axis=0)
    with np.errstate(all="ignore"):
        slopes = rule.kernel.slopes(averages)
        variance = float(row_products.variance(tracked[None], averages[None], slopes[None], 1.0)[0])
    return math.sqrt(variance / (rows - 1)) if 0.0 < variance < math.inf else None


def fewest_exchanges(rows: Iterable[int]) -> int:
    """Return after how many exchanges a peer can judge itself, given all members' rows."""
    return _EXCHANGES_PER_ROW * max(2, *rows)


def have_met(others: Mapping[str, int], met: Iterable[str]) -> bool:
    """Return whether records of members with most of the others' rows have passed by."""
    return sum(others.get(who, 0) for who in met) >= _MET * sum(others.values())


def rows_of_others(context: Context) -> dict[str, int]:
    """Return how many rows each other member has that takes part, by its id."""
    return {who: count for who, count in context.present_rows.items() if who != context.me}


def readout_of(context: Context, state: State) -> FloatArray:
    """Return the components of a statistic, or the model, over all rows of a peer."""
    rule = context.rule
    if isinstance(rule, WeightedMixing):
        # Sums over weights, so that rows that were picked more often count for more.
        return rule.readout(tuple(_masses(state).sum(axis=0).tolist()), ())
    readouts = np.array([rule.readout(node.mass, node.private) for node in state.nodes])
    complete = readouts[~np.isnan(readouts).any(axis=1)]
    return complete.mean(axis=0) if len(complete) else readouts[0]


def _masses(state: State) -> FloatArray:
    """Return the masses of all rows; peers with very many ask every second."""
    entries = chain.from_iterable(node.mass for node in state.nodes)
    return np.fromiter(entries, dtype=np.float64).reshape(len(state.nodes), -1)


def _interval(
    rule: StatisticRule, averages: FloatArray, error: float, context: PeerContext
) -> tuple[float, float] | None:
    """Return the interval; None if it is without bounds, or there are too few reports for one."""
    value, rows = float(rule.kernel.combine(averages)), sum(context.present_rows.values())
    scale = rule.kernel.interval_scale
    if (mechanism := context.agreed.mechanism) is not None:
        from pairgossip.privacy.moments import choose_scale, rows_for_interval

        if rows < rows_for_interval(mechanism):
            return None
        scale = choose_scale(mechanism, rows, scale)
    ends = interval(value, error, _LEVEL, scale, Law(rows - 1))
    return ends if all(map(math.isfinite, ends)) else None
