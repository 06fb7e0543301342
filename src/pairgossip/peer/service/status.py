"""The view of a peer from outside: its estimate, and whose records that has met."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pairgossip import files
from pairgossip.peer.protocol.messages import generation_ordinal
from pairgossip.peer.protocol.state import Standing, State, SumsState
from pairgossip.peer.service.errors import Errors, errors_of, readout_of, rows_of_others
from pairgossip.peer.service.uncertainty import MassHistory, Uncertainty

if TYPE_CHECKING:
    from pairgossip.peer.identity.members import PeerContext
    from pairgossip.peer.protocol.context import Context
    from pairgossip.peer.protocol.rounds import Rounds
    from pairgossip.peer.service.shown import Shown
    from pairgossip.peer.sums.results import Result


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


class RoundsStatus(msgspec.Struct, frozen=True):
    """How far a peer is that computes sums."""

    round: int
    """From 0, in which members commit to their rows."""
    most: int
    """How many rounds there are at most."""
    held: int
    """How many contributions to this round are here."""
    awaited: tuple[str, ...]
    """Whose are not: names, or ids of those whose names are not known."""
    is_finished: bool
    """Whether all members have signed the result."""
    bracket: tuple[float, float] | None = None
    """Between which values the statistic of all rows lies for certain."""
    kind: str = ""
    """The purpose of this round, as in `program.Kind`; empty once all rounds have ended."""
    table: tuple[tuple[str, str], ...] = ()
    """Whose rows the table counts that the result is read from, in words, each with its name."""


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
    rounds: RoundsStatus | None = None
    """Where sums are computed: how far that is."""

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
    return _make_status(context, state, {**facts, **more})


def sums_status(context: PeerContext, rounds: Rounds, **more: Any) -> Status:
    """Describe a peer that computes sums by how far its rounds are."""
    awaited, partial = rounds.awaited, rounds.program.partial_result
    is_stated = rounds.ask is None and rounds.halt is None
    here = [one for one in rounds.members if one not in awaited]
    facts: dict[str, Any] = {"estimate": None, "covers": coverage(context, here)}
    result = _find_result(rounds)
    if partial is not None:
        covers = coverage(context, rounds.members)
        if result is not None and result.table is not None:  # members' own numbers are rounded
            covers = msgspec.structs.replace(covers, of_rows=result.rows)
        facts = {
            "estimate": partial.estimate,
            "covers": covers,
            "sampling_error": partial.sampling_error,
            "sampling_interval": partial.sampling_interval,
            "privacy_error": partial.privacy_error,
        }
    facts["rounds"] = RoundsStatus(
        rounds.round,
        rounds.program.most_rounds,
        len(here),
        tuple(map(context.name_member, awaited)),
        is_stated,
        None if partial is None else partial.bracket,
        "" if rounds.ask is None else rounds.ask.kind.value,
        _describe_table(context, result),
    )
    facts |= {"exchanges": 0, "pending": 0, "done": is_stated}
    return _make_status(context, rounds.state, {**facts, **more})


def _find_result(rounds: Rounds) -> Result | None:
    """Return the result that a program on sums has come to; None if there is none yet."""
    from pairgossip.peer.sums.programs import SumsProgram

    return rounds.program.result if isinstance(rounds.program, SumsProgram) else None


def _describe_table(context: PeerContext, result: Result | None) -> tuple[tuple[str, str], ...]:
    if result is None:
        return ()
    return tuple(result.describe_table({one: context.name_member(one) for one in result.members}))


def _make_status(context: PeerContext, state: Standing, facts: Mapping[str, Any]) -> Status:
    """Describe a peer by facts, and by those that all have, whether they run or not."""
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
    return Status(**{**common, **facts})


def describe(context: PeerContext, state: State | SumsState) -> Status:
    """Describe a peer by its disk alone."""
    make: Any = {State: status_of, SumsState: _describe_sums}[type(state)]
    return make(context, state)


def _describe_sums(context: PeerContext, state: SumsState) -> Status:
    from pairgossip.peer.protocol.rounds import Rounds

    return sums_status(context, Rounds(context, state))


def ended_generation(status: Status) -> Ended | None:
    """Return what to keep of a generation that ends with this status; None if it found nothing."""
    if status.estimate is None or not (status.rounds is None or status.rounds.is_finished):
        return None  # what not all members have signed is no result
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
