"""The status of a peer for readers outside: its estimate, and the members it has met."""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pairgossip import files
from pairgossip.peer.estimates.errors import Errors, errors_of, readout_of, rows_of_others
from pairgossip.peer.estimates.uncertainty import MassHistory, Uncertainty
from pairgossip.peer.protocol.messages import generation_ordinal
from pairgossip.peer.protocol.state import State

if TYPE_CHECKING:
    from pairgossip.peer.identity.members import PeerContext
    from pairgossip.peer.protocol.context import Context
    from pairgossip.peer.service.shown import Shown


_LARGEST_STATUS = 8 << 20
"""Largest number of bytes of the status file; a longer one is refused."""
_LARGEST_ENDED = 1 << 26
"""Largest number of bytes of the file of ended generations; a longer one is refused."""
_MOST_ENDED = 32
"""Largest number of ended generations that are kept; beyond it the oldest is dropped."""


class Problem(NamedTuple):
    """Something that the operator should look at; it is logged when it is new."""

    sentence: str
    kind: tuple[str, ...] = ()
    """The part that stays the same while numbers in the sentence change; empty if all of it stays.
    """

    @property
    def key(self) -> tuple[str, ...]:
        """The key by which reports recognize a problem."""
        return self.kind or (self.sentence,)


class NeighborStatus(msgspec.Struct, frozen=True):
    """One link."""

    agreed: bool
    """Whether it has said, since this peer started, that it runs the same specification."""
    connected: bool
    heard: float | None
    """The time in seconds since its last frame; None if none came since this peer started."""
    address: str | None
    evicted: bool = False
    other_version: int | None = None
    """The version that it speaks, if that is not this peer's."""
    away: bool = False
    """Whether its connection is gone or it does not answer, so that it is offered nothing."""


class Coverage(msgspec.Struct, frozen=True):
    """The members whose records this peer has met in this generation."""

    members: int
    """The number of members of which a record has passed by, this peer included."""
    of_members: int
    of_rows: int
    """The number of rows of all members that take part, whether they have passed by or not."""


class Ended(Errors, frozen=True):
    """A peer's estimate when a generation ended."""

    generation: int
    """The number of the generation, counted from 1."""
    estimate: tuple[float, ...]
    exchanges: int
    covers: Coverage
    evicted: tuple[str, ...]
    """The members whose rows were not in it, as in `Status`."""
    at: float
    """The time at which it ended, by the clock of this machine."""


class Status(Errors, frozen=True):
    """All that a peer shows of itself; wall-clock times are for display only."""

    name: str
    id: str
    measure: str
    """The name of the kernel or the loss."""
    generation: int
    """The number of the generation, counted from 1."""
    evicted: tuple[str, ...]
    """The names of evicted members, or their ids if the names are unknown."""
    exchanges: int
    """The number of exchanges in this generation."""
    estimate: tuple[float, ...] | None
    """The statistic as the only entry, or a model's parameters; None before the first exchange."""
    covers: Coverage
    staleness: float | None
    """The time in seconds since the last exchange; None without one since the peer started."""
    pending: int
    """The number of offers that wait for their answers, each with a row."""
    neighbors: dict[str, NeighborStatus]
    counts: dict[str, int]
    """The number of events since the peer started, by name."""
    refused: dict[str, int] = msgspec.field(default_factory=dict)
    """The number of those events in which a message was refused."""
    problems: tuple[str, ...] = ()
    pid: int | None = None
    """The number of its process; None if the status was made from the disk."""
    started: float | None = None
    updated: float = 0.0
    heard_of: tuple[str, ...] = ()
    """The ids behind ``covers``, so that a restart does not forget them."""
    stopped: bool = False
    """Whether the peer has stopped on request."""
    done: bool = False
    """Whether the specification's error or exchanges are reached; the peer may still run on."""
    spread: float | None = None
    """The relative change of a node's mass in an exchange."""
    masses: MassHistory | None = None
    """The history behind the gossip error, so that a restart does not forget it."""
    privacy: str | None = None
    """The promise about every row; the gossip error is then about the reports' value."""
    ended: tuple[Ended, ...] = ()
    """The estimates of the generations before, the latest last."""

    @property
    def is_ready(self) -> bool:
        """Whether any neighbor has agreed."""
        return any(one.agreed for one in self.neighbors.values())

    def show(self) -> Shown:
        """Return the numbers for readers of metrics."""
        from pairgossip.peer.service.shown import show

        return show(self)


def estimate_of(context: PeerContext, state: State) -> tuple[float, ...] | None:
    """Return the estimate or the model of a peer, over all its rows; None if there is none yet."""
    spec, readout = context.agreed, readout_of(context, state)
    values = readout.tolist() if spec.kernel is None else [spec.value(readout)]
    return tuple(values) if all(map(math.isfinite, values)) else None


def follow(context: Context, state: State, before: Status | None) -> Uncertainty:
    """Follow a peer's masses from now on, continuing the history in its last status."""
    masses, met = (None, ()) if before is None else (before.masses, before.heard_of)
    return Uncertainty(context.rule, state, rows_of_others(context), masses, met)


def coverage(context: Context, heard: Collection[str]) -> Coverage:
    """Count the members whose records were met, among those that take part."""
    rows = context.present_rows
    met = sum(one in heard or one == context.me for one in rows)
    return Coverage(met, len(rows), sum(rows.values()))


def status_of(
    context: PeerContext,
    state: State,
    seen: Uncertainty | None = None,
    *,
    met: Collection[str] = (),
    **more: Any,
) -> Status:
    """Describe a peer by its durable state, and by more facts if it runs."""
    heard_of = tuple(sorted({*met, *(node.record.origin for node in state.nodes)}))
    facts = {
        "exchanges": state.exchanges,
        "estimate": estimate_of(context, state),
        "covers": coverage(context, heard_of),
        "pending": len(state.pending),
        "heard_of": heard_of,
        **errors_of(context, state, seen, heard_of).as_fields(),
    }
    spec = context.agreed
    common = {
        "name": context.identity.name,
        "id": context.me,
        "measure": spec.kernel or spec.loss or "",
        "generation": generation_ordinal(state.generation),
        "evicted": tuple(map(context.name_member, state.evicted)),
        "staleness": None,
        "neighbors": {
            one.name: NeighborStatus(False, False, None, one.address, one.id in state.evicted)
            for one in context.members.neighbors()
        },
        "counts": {},
        "privacy": spec.guarantee,
    }
    return Status(**{**common, **facts, **more})


def ended_generation(status: Status) -> Ended | None:
    """Return the record of a generation that ends with this status; None without an estimate."""
    if status.estimate is None:
        return None
    return Ended(
        status.generation,
        status.estimate,
        status.exchanges,
        status.covers,
        status.evicted,
        status.updated,
        **status.as_fields(),
    )


def keep_ended(path: Path, ended: Ended) -> tuple[Ended, ...]:
    """Add the record of a generation to the file, durably, and return all records in it."""
    records = (*read_ended(path, ended.generation), ended)[-_MOST_ENDED:]
    files.replace(path, msgspec.json.encode(records) + b"\n")
    return records


def read_ended(path: Path, generation: int) -> tuple[Ended, ...]:
    """Return the records of the generations before this one.

    A crash before a generation began can leave a record of the present one, which is left out.
    """
    if not path.exists():
        return ()
    description = (
        "what a peer keeps of generations that have ended: put the right file back, or remove it"
    )
    records = files.read_struct(path, _LARGEST_ENDED, tuple[Ended, ...], description)
    return tuple(one for one in records if one.generation < generation)


def write_status(path: Path, status: Status) -> None:
    """Replace the file atomically; a failure leaves the old one, and raises `InputError`."""
    files.replace(path, msgspec.json.encode(status), durable=False)


def read_status(path: Path) -> Status | None:
    """Return the last status that was written; None if there is none."""
    if not path.exists():
        return None
    return files.read_struct(path, _LARGEST_STATUS, Status, "a peer's status: remove it")
