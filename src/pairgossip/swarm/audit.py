"""The check that records and mass are conserved, from the disks of all peers after they stopped.

An exchange counts as done on both sides as soon as its responder has decided it: the decision is on
the disk, and its initiator can then only learn of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pairgossip.inference.row_products import local_products
from pairgossip.peer.estimates.errors import Errors
from pairgossip.peer.protocol.messages import Mass, Record
from pairgossip.peer.protocol.nodes import picks_per_exchange
from pairgossip.peer.protocol.rules import StatisticRule, WeightedMixing
from pairgossip.peer.protocol.state import Outcome, State
from pairgossip.peer.service.assembly import PeerSnapshot, read_snapshot
from pairgossip.peer.service.status import estimate_of
from pairgossip.peer.storage.folder import Home

_TOLERANCE = 1e-9
"""Largest relative error of sums of hundreds of thousands of rounded numbers; beyond it, mass was
lost."""

_Views = Mapping[str, PeerSnapshot]


@dataclass(frozen=True)
class Finding:
    """The result of one peer."""

    name: str
    estimate: tuple[float, ...] | None
    errors: Errors
    """From its last status, which may be older than its very last exchange."""
    exchanges: int


@dataclass(frozen=True)
class Audit:
    """The books of a network."""

    records: int
    """The number there must be."""
    exchanges: int
    """Whole exchanges, each counted once."""
    parked: int
    """Offers without an answer."""
    decided: int
    """The number of them that the other side has decided already."""
    weight: float | None
    """The total weight; None if the algorithm has no weights."""
    weight_due: float
    """The masses that all exchanges have added."""
    violations: tuple[str, ...]
    """The violations, one sentence each."""
    findings: tuple[Finding, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing was lost or doubled."""
        return not self.violations

    @property
    def due(self) -> int:
        """The number of estimates there must be."""
        return len(self.findings)

    def errors(self, exact: float | None) -> list[float]:
        """Return the relative error of each peer that has an estimate."""
        if exact is None:
            return []
        estimates = [one.estimate[0] for one in self.findings if one.estimate is not None]
        return [abs(value - exact) / (abs(exact) or 1.0) for value in estimates]


def audit(homes: Sequence[Home]) -> Audit:
    """Read all peers' disks; none of them may be running."""
    seen = [read_snapshot(home) for home in homes]
    gone = {member for one in seen for member in one.state.evicted}
    views = {one.identity.id: one for one in seen if one.identity.id not in gone}
    violations = [
        *compare_generations(one.state for one in views.values()),
        *_memories(views),
        *_numbers(views),
        *_updates(views),
    ]
    decided = _decided(views)
    effective = [pair for one in views.values() for pair in _effective(one, decided)]
    violations += _records(views, [record for record, _ in effective])
    total = sum(one.state.exchanges for one in views.values()) + len(decided)
    if total % 2:
        violations.append("An exchange was made by one side only.")
    masses = [mass for _, mass in effective]
    violations += _products(masses, views)
    rules = [(one.context.rule, one) for one in views.values()]
    weighted = [(rule, one) for rule, one in rules if isinstance(rule, WeightedMixing)]
    due = math.fsum(rule.weight * _updates_due(one) for rule, one in weighted)
    weight = None
    if len(weighted) == len(rules):
        weight = math.fsum(mass[rule.averaged - 1] for rule, _ in weighted[:1] for mass in masses)
    if weight is not None and not math.isclose(weight, due, rel_tol=_TOLERANCE):
        violations.append(
            f"The peers hold a weight of {weight!r} in all, but their exchanges gave {due!r}."
        )
    return Audit(
        records=sum(len(one.context.own) for one in views.values()),
        exchanges=total // 2,
        parked=sum(len(one.state.pending) for one in views.values()),
        decided=len(decided),
        weight=weight,
        weight_due=due,
        violations=tuple(violations),
        findings=tuple(
            Finding(
                one.identity.name,
                estimate_of(one.context, one.state),
                Errors(**one.status().as_fields()),
                one.state.exchanges,
            )
            for one in views.values()
        ),
    )


def compare_generations(states: Iterable[State]) -> list[str]:
    """Find peers that have not heard of others' generation."""
    if len({(one.generation, one.evicted) for one in states}) <= 1:
        return []
    return ["Not all peers are in the same generation: let them run until all have heard of it."]


def _memories(views: _Views) -> list[str]:
    """Find peers that remember less than others remember of them."""
    return [
        f"{one.identity.name} has decided an offer of {views[who].identity.name} that the latter "
        f"does not remember."
        for one in views.values()
        for who, outcome in one.state.outcomes.items()
        if who in views and outcome.seq > views[who].state.seq
    ]


def _numbers(views: _Views) -> list[str]:
    return [
        f"{one.identity.name} has a number that is not finite in row {row}."
        for one in views.values()
        for row, node in enumerate(one.state.nodes)
        if not all(map(math.isfinite, (*node.mass, *node.private)))
    ]


def _decided(views: _Views) -> dict[tuple[str, int], Outcome]:
    """Find rows in accepted offers whose peer does not know it yet; and the outcomes."""
    decided = {}
    for me, one in views.items():
        for to, pending in one.state.pending.items():
            outcome = views[to].state.outcomes.get(me) if to in views else None
            if outcome is not None and outcome.seq == pending.seq and outcome.record is not None:
                decided[me, pending.node] = outcome
    return decided


def _effective(
    one: PeerSnapshot, decided: Mapping[tuple[str, int], Outcome]
) -> Iterator[tuple[Record, Mass]]:
    """The records and masses of a peer's rows, with the decisions about them."""
    for row, node in enumerate(one.state.nodes):
        outcome = decided.get((one.identity.id, row))
        if outcome is None or outcome.record is None:
            yield node.record, node.mass
        else:
            mean = tuple((a + b) / 2 for a, b in zip(node.mass, outcome.mass, strict=True))
            yield outcome.record, mean


def _records(views: _Views, records: Sequence[Record]) -> list[str]:
    """Compare the records of peers with those there must be: every row once, as its owner made
    it."""
    sentences = []
    counts = Counter((record.origin, record.row) for record in records)
    for me, one in views.items():
        for row in range(len(one.context.own)):
            if (count := counts.pop((me, row), 0)) != 1:
                how = "is lost" if not count else f"is held {count} times"
                sentences.append(f"Record {row + 1} of {one.identity.name} {how}.")
    sentences += [f"A record of no member is held {count} times." for count in counts.values()]
    for record in records:
        owner = views.get(record.origin)
        if owner is not None and not _is_genuine(record, owner):
            sentences.append(f"A record of {owner.identity.name} is not as its owner made it.")
    return sentences


def _is_genuine(record: Record, owner: PeerSnapshot) -> bool:
    own = owner.context.own
    return (
        0 <= record.row < len(own)
        and record.value == own[record.row]
        and owner.context.check.is_sound(record, owner.state.generation)
    )


def _updates_due(one: PeerSnapshot) -> int:
    """Return the number of updates that a peer's rows have made in its exchanges."""
    picks = picks_per_exchange(len(one.context.own))
    return one.state.exchanges * picks - 2 * one.state.left_out


def _updates(views: _Views) -> list[str]:
    """Find peers whose rows count other updates than their exchanges."""
    return [
        f"{one.identity.name} has counted {count:.0f} updates in {one.state.exchanges} exchanges."
        for one in views.values()
        if (count := sum(node.private[-1] for node in one.state.nodes)) != _updates_due(one)
    ]


def _products(masses: Sequence[Mass], views: _Views) -> list[str]:
    """Compare the products for sampling errors with the sum of the rows' additions to them."""
    rules = [one.context.rule for one in views.values()]
    if not rules or not isinstance(rules[0], StatisticRule):
        return []
    nodes = [node for one in views.values() for node in one.state.nodes]
    added = np.array([local_products(np.array(node.private)) for node in nodes])
    sums = np.array([mass[rules[0].averaged :] for mass in masses])
    scale = (np.abs(added) + np.abs(sums)).sum(axis=0)
    if (np.abs((added - sums).sum(axis=0)) > _TOLERANCE * scale).any():
        return ["The peers hold other products of rows in all than their visits have added."]
    return []
