"""The numbers of a peer for readers of its metrics, with no names but those of neighbors.

One structure is served twice: as ``/status.json``, which other commands of this package read, and
as metrics for Prometheus, which follow from its fields and their types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, get_type_hints

import msgspec

from pairgossip.peer.estimates.errors import Errors

if TYPE_CHECKING:
    from pairgossip.peer.service.status import Status

Ends: TypeAlias = tuple[float, float]
"""The ends of an interval, which become two metrics, ``_low`` and ``_high``."""


def says(text: str, label: str = "", *, counts: bool = False) -> msgspec.Meta:
    """Return the help text of a metric, the label of its samples, and whether it only grows."""
    return msgspec.Meta(description=text, extra={"label": label, "counts": counts})


class ShownNeighbor(msgspec.Struct, frozen=True, omit_defaults=True):
    """One link; its metrics are labeled by the neighbor's name."""

    agreed: Annotated[bool, says("Whether the neighbor has the same specification.")]
    connected: Annotated[bool, says("Whether there is a connection to the neighbor.")]
    away: Annotated[bool, says("Whether the neighbor is known to be away.")]
    silence_seconds: Annotated[float | None, says("Since its last frame.")] = None


class Shown(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A peer in numbers; None for an unknown number."""

    events: Annotated[
        dict[str, int], says("What has happened since the peer started.", "event", counts=True)
    ]
    refused: Annotated[
        dict[str, int], says("Events in which something was refused.", "event", counts=True)
    ] = {}
    estimate: Annotated[
        tuple[float, ...], says("The statistic, or the model's parameters.", "entry")
    ] = ()
    exchanges: Annotated[int, says("Exchanges in this generation.")]
    generation: Annotated[int, says("Which generation this is: the first is 1.")]
    gossip_error: Annotated[float | None, says("Of this peer, to the value over all rows.")] = None
    gossip_interval: Annotated[
        Ends | None, says("Where the value over all rows is likely to lie: from low to high.")
    ] = None
    sampling_error: Annotated[float | None, says("Of the value over all rows.")] = None
    sampling_interval: Annotated[
        Ends | None, says("Covers the population's value at 95 %: from low to high.")
    ] = None
    privacy_error: Annotated[float | None, says("What reports bring at most.")] = None
    members_met: Annotated[int, says("Members whose records were met.")]
    members: Annotated[int, says("Members that take part.")]
    rows: Annotated[int, says("Rows of the members that take part.")]
    staleness_seconds: Annotated[float | None, says("Since the last exchange.")] = None
    pending: Annotated[int, says("Offers that wait for their answers.")] = 0
    problems: Annotated[int, says("Things to look at: see peer status.")] = 0
    status_timestamp_seconds: Annotated[float | None, says("When the status was written.")] = None
    evicted: Annotated[int, says("Members evicted.")] = 0
    neighbor: dict[str, ShownNeighbor] = {}

    @property
    def errors(self) -> Errors:
        """The errors of the estimate."""
        return Errors(**{name: getattr(self, name) for name in Errors.__struct_fields__})


class Sample(NamedTuple):
    """One number, as Prometheus stores it."""

    name: str
    says: str
    """The help text of all numbers of this name."""
    counts: bool
    """Whether they only grow."""
    labels: dict[str, str]
    value: float

    def of(self, kind: str, name: str) -> Sample:
        """Return the number as that of a named part, such as a neighbor."""
        return self._replace(name=f"{kind}_{self.name}", labels={kind: name})


def list_samples(shown: msgspec.Struct) -> Iterator[Sample]:
    """Yield the numbers of a peer, those of the same name in a row."""
    yield from _read_fields(shown)
    for kind, part in msgspec.structs.asdict(shown).items():
        if isinstance(part, msgspec.Struct):
            yield from _read_fields(part)
        elif isinstance(part, dict):
            named = [(who, one) for who, one in part.items() if isinstance(one, msgspec.Struct)]
            samples = [sample.of(kind, who) for who, one in named for sample in _read_fields(one)]
            yield from sorted(samples, key=lambda sample: sample.name)


def _read_fields(part: msgspec.Struct) -> Iterator[Sample]:
    for name, hint in get_type_hints(type(part), include_extras=True).items():
        for meta in getattr(hint, "__metadata__", ()):
            for suffix, labels, value in _split(meta.extra["label"], getattr(part, name)):
                yield Sample(
                    name + suffix, meta.description, meta.extra["counts"], labels, float(value)
                )


def _split(label: str, value: Any) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield the numbers of a field, each with the suffix of its name and with its labels."""
    match value:
        case None | "":
            return
        case dict():
            yield from (("", {label: text}, one) for text, one in sorted(value.items()))
        case str():
            yield "", {label: value}, 1.0
        case tuple() if label:
            yield from (("", {label: str(at)}, one) for at, one in enumerate(value))
        case (low, high):
            yield "_low", {}, low
            yield "_high", {}, high
        case _:
            yield "", {}, value


def show(status: Status) -> Shown:
    """Return the numbers of a peer's status."""
    return Shown(
        events=status.counts,
        refused=status.refused,
        estimate=status.estimate or (),
        exchanges=status.exchanges,
        generation=status.generation,
        members_met=status.covers.members,
        members=status.covers.of_members,
        rows=status.covers.of_rows,
        staleness_seconds=status.staleness,
        pending=status.pending,
        problems=len(status.problems),
        status_timestamp_seconds=status.updated or None,
        evicted=len(status.evicted),
        neighbor={
            name: ShownNeighbor(one.agreed, one.connected, one.away, one.heard)
            for name, one in sorted(status.neighbors.items())
        },
        **status.as_fields(),
    )
