"""The view of a peer from outside: its estimate, and whose records that has met."""

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
"""Bytes of the status file; a longer one is refused."""
_LARGEST_ENDED = 1 << 26
"""Bytes of the file of ended generations; a longer one is refused."""
_MOST_ENDED = 32
"""Generations of which the results are kept."""


class Problem(NamedTuple):
    """Something that the operator should look at; it is logged when it is new."""

    sentence: str
    kind: tuple[str, ...] = ()
    """The part that stays while a number or a time in the sentence changes; empty for a sentence
    without such a part."""

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for two problems that are the same one."""
        return self.kind or (self.sentence,)


class NeighborStatus(msgspec.Struct, frozen=True):
    """One link."""

    agreed: bool
    """Whether it has said, since this peer started, that it runs the same specification."""
    connected: bool
    heard: float | None
    """Seconds since its last frame; None if there was none since this peer started."""
    address: str | None
    evicted: bool = False
    other_version: int | None = None
    """The version that it speaks, if that is not this peer's."""
    away: bool = False
    """Whether its connection is gone or it does not answer: it is offered nothing meanwhile."""


class Coverage(msgspec.Struct, frozen=True):
    """Whose records this peer has met in this generation."""

    members: int
    """Members of which at least one record has passed by; this peer is one of them."""
    of_members: int
    of_rows: int
    """Rows of all members that take part; how many of them have passed by is not counted."""


class Ended(Errors, frozen=True):
    """A peer's estimate when a generation ended."""

    generation: int
    """The first is 1."""
    estimate: tuple[float, ...]
    exchanges: int
    covers: Coverage
    evicted: tuple[str, ...]
    """Whose rows were not in it, as in `Status`."""
    at: float
    """When it ended, by the clock of this machine."""


class Status(Errors, frozen=True):
    """Everything shown of a peer; wall-clock times are for display only."""

    name: str
    id: str
    measure: str
    """The kernel, or the loss, by name."""
    generation: int
    """The first is 1."""
    evicted: tuple[str, ...]
    """Names, or ids of those whose names are not known."""
    exchanges: int
    """In this generation."""
    estimate: tuple[float, ...] | None
    """The statistic as the only entry, or a model's parameters; None before the first exchange."""
    covers: Coverage
    staleness: float | None
    """Seconds since the last exchange; None if there was none since the peer started."""
    pending: int
    """How many offers wait for their answers, each with a row."""
    neighbors: dict[str, NeighborStatus]
    counts: dict[str, int]
    """Events since the peer started, by name."""
    refused: dict[str, int] = msgspec.field(default_factory=dict)
    """Those of them in which something that was received was refused."""
    problems: tuple[str, ...] = ()
    pid: int | None = None
    """None when made from the disk of a peer that does not run."""
    started: float | None = None
    updated: float = 0.0
    heard_of: tuple[str, ...] = ()
    """The ids behind ``covers``, so that a restart does not forget them."""
    stopped: bool = False
    """Whether the peer has ended as it was asked to."""
    done: bool = False
    """Whether the specification's error or exchanges are reached; running on is allowed."""
    spread: float | None = None
    """How much an exchange changes a node's mass, in parts of it."""
    masses: MassHistory | None = None
    """The history behind the gossip error, so that a restart does not forget it."""
    privacy: str | None = None
    """The promise about every row; the gossip error is then about the reports' value."""
    ended: tuple[Ended, ...] = ()
    """The estimates of the generations before, the latest last."""

    @property
    def is_ready(self) -> bool:
        """Whether some neighbor has agreed."""
        return any(one.agreed for one in self.neighbors.values())

    def show(self) -> Shown:
        """Return what is shown of it where metrics are read."""
        from pairgossip.peer.service.shown import show

        return show(self)


def estimate_of(context: PeerContext, state: State) -> tuple[float, ...] | None:
    """Return the estimate or the model of a peer, over all its rows; None if there is none yet."""
    spec, readout = context.agreed, readout_of(context, state)
    values = readout.tolist() if spec.kernel is None else [spec.value(readout)]
    return tuple(values) if all(map(math.isfinite, values)) else None


def follow(context: Context, state: State, before: Status | None) -> Uncertainty:
    """Judge a peer by its masses from now on, and by those that its last status has kept."""
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
    """Describe a peer by its durable state, and by what else is known if it runs."""
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
    """Return what to keep of a generation that ends with this status; None if it found nothing."""
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
    """Add what a generation has found to the file, on the disk before this returns."""
    kept = (*read_ended(path, ended.generation), ended)[-_MOST_ENDED:]
    files.replace(path, msgspec.json.encode(kept) + b"\n")
    return kept


def read_ended(path: Path, generation: int) -> tuple[Ended, ...]:
    """Return what the generations before this one had found.

    A crash before a generation began can leave what the present one had found until then.
    """
    if not path.exists():
        return ()
    description = (
        "what a peer keeps of generations that have ended: put the right file back, or remove it"
    )
    kept = files.read_struct(path, _LARGEST_ENDED, tuple[Ended, ...], description)
    return tuple(one for one in kept if one.generation < generation)


def write_status(path: Path, status: Status) -> None:
    """Replace the file at once; a failure leaves the one before, and raises `InputError`."""
    files.replace(path, msgspec.json.encode(status), durable=False)


def read_status(path: Path) -> Status | None:
    """Return the status last written, None if there is none."""
    if not path.exists():
        return None
    return files.read_struct(path, _LARGEST_STATUS, Status, "a peer's status: remove it")
