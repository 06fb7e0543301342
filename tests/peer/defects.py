"""Peers with one defect each, to check that the simulation and the sweep detect it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as with_fields

from msgspec.structs import replace

from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.messages import (
    Accept,
    Changes,
    Growth,
    Mass,
    Notice,
    Offer,
    Reason,
    Record,
    Rows,
)
from pairgossip.peer.protocol.state import Action, Outcome, Pending, Save, State
from pairgossip.peer.service.runtime import ExchangeRuntime
from tests.peer.disk import Disk
from tests.peer.schedules import Defect


class RingsForEvicted(ExchangeRuntime):
    """A clock that draws among all present and former neighbors."""

    def advance(self, now: float) -> None:
        if now >= self.rings_at:
            self._wind_clock(now)
            to = self.chance.choice(self.protocol.context.neighbors)
            self._carry_out(self.protocol.ring(to), now)
        super().advance(now)


DEFECTS: dict[str, Defect] = {
    "the clock rings for evicted neighbors": Defect(runtime=RingsForEvicted),
    "added rows found half done are taken for safe": Defect(settles_safely=False),
}


def _exchange(name: str) -> Callable[[type[Exchange]], type[Exchange]]:
    def add(defective: type[Exchange]) -> type[Exchange]:
        DEFECTS[name] = Defect(exchange=defective)
        return defective

    return add


def _disk(name: str) -> Callable[[type[Disk]], type[Disk]]:
    def add(defective: type[Disk]) -> type[Disk]:
        DEFECTS[name] = Defect(disk=defective)
        return defective

    return add


def _rows(growth: Growth) -> int:
    return growth.rows


def _unsynced(actions: list[Action]) -> list[Action]:
    return [a._replace(sync=False) if isinstance(a, Save) else a for a in actions]


@_exchange("the offer is sent before it is safe")
class OfferUnsafe(Exchange):
    def ask(self, to: str) -> list[Action]:
        return _unsynced(super().ask(to))


@_exchange("the answer is sent before it is safe")
class AnswerUnsafe(Exchange):
    def _handle_offer(self, sender: str, offer: Offer) -> list[Action]:
        return _unsynced(super()._handle_offer(sender, offer))


@_exchange("the new generation is told before it is safe")
class GenerationUnsafe(Exchange):
    def begin_generation(self, notice: Notice) -> list[Action]:
        return _unsynced(super().begin_generation(notice))


@_exchange("what a killed process had written is told before it is safe")
class StartUnsafe(Exchange):
    def start(self) -> list[Action]:
        return [action for action in super().start() if not isinstance(action, Save)]


@_exchange("the initiator gives up")
class GivesUp(Exchange):
    def repeat(self, to: str) -> list[Action]:
        actions = super().repeat(to)
        self.tries = getattr(self, "tries", 0) + bool(actions)
        if self.tries < 3 or not actions:
            return actions
        self.tries = 0
        self._set_free(to)
        return [Save(self.state, sync=True)]


@_exchange("the responder decides anew")
class DecidesAnew(Exchange):
    def _handle_offer(self, sender: str, offer: Offer) -> list[Action]:
        known = self.state.outcomes.get(sender)
        if known is not None and known.seq == offer.seq:
            self._keep(sender, replace(known, seq=offer.seq - 1))
        return super()._handle_offer(sender, offer)


@_exchange("the responder answers older offers anew")
class AnswersOlder(Exchange):
    def _handle_offer(self, sender: str, offer: Offer) -> list[Action]:
        known = self.state.outcomes.get(sender)
        if known is not None and offer.seq < known.seq:
            self._keep(sender, replace(known, seq=offer.seq - 1))
        return super()._handle_offer(sender, offer)


@_exchange("a rejection is not written down")
class ForgetsRejection(Exchange):
    def _reject(self, sender: str, seq: int, reason: Reason) -> list[Action]:
        before = self.state
        actions = super()._reject(sender, seq, reason)
        self.state = before
        return actions[1:]


@_exchange("the initiator takes any answer for its own")
class TakesAny(Exchange):
    def _pending_offer(self, sender: str, seq: int) -> Pending | None:
        return self.state.pending.get(sender)


@_exchange("the responder accepts without swapping")
class KeepsRecord(Exchange):
    def _apply(self, node: int, record: Record, mass: Mass) -> bool:
        is_asking = node in self.state.frozen
        return super()._apply(node, record if is_asking else self.state.nodes[node].record, mass)


@_exchange("a frozen node answers an offer")
class OffersFrozen(Exchange):
    def _free_node(self) -> int | None:
        return self._lots("answer").randrange(len(self.state.nodes))


@_exchange("two offers freeze the same node")
class FreezesTwice(Exchange):
    def ask(self, to: str) -> list[Action]:
        before = self.state.pending
        self.state = replace(self.state, pending={})
        _, *told = super().ask(to)
        self.state = replace(self.state, pending={**before, **self.state.pending})
        return [Save(self.state, sync=True), *told]


@_exchange("a neighbor is asked again while an offer to it is in doubt")
class AsksTwice(Exchange):
    def ring(self, to: str) -> list[Action]:
        if to in self.state.pending and self.free_rows and to in self.agreed:
            return self.ask(to)
        return super().ring(to)


@_exchange("a neighbor that is away is made new offers")
class AsksTheAbsent(Exchange):
    def ring(self, to: str) -> list[Action]:
        away, self.away = self.away, set()
        actions = super().ring(to)
        self.away = away
        return actions


@_exchange("a frozen node exchanges locally")
class SwapsFrozen(Exchange):
    def _exchange_locally(self) -> tuple[int, ...]:
        pending = self.state.pending
        self.state = replace(self.state, pending={})
        touched = super()._exchange_locally()
        self.state = replace(self.state, pending=pending)
        return touched


@_exchange("the mass is averaged again when an accept is told again")
class AveragesTwice(Exchange):
    def _handle_accept(self, sender: str, answer: Accept) -> list[Action]:
        if not self.state.pending and answer.seq == self.state.seq:
            node = self.state.nodes[0]
            mean = tuple((a + b) / 2 for a, b in zip(node.mass, answer.mass, strict=True))
            nodes = (replace(node, mass=mean), *self.state.nodes[1:])
            self.state = replace(self.state, nodes=nodes)
            return [Save(self.state, sync=False, nodes=(0,))]
        return super()._handle_accept(sender, answer)


@_exchange("the update is not made by the responder")
class UpdateLost(Exchange):
    def _keep(self, sender: str, outcome: Outcome) -> None:
        super()._keep(sender, outcome)
        node = self.state.nodes[0]
        halved = replace(node, mass=tuple(entry / 2 for entry in node.mass))
        self.state = replace(self.state, nodes=(halved, *self.state.nodes[1:]))


@_exchange("a new generation keeps the offer of the old one")
class KeepsPending(Exchange):
    def begin_generation(self, notice: Notice) -> list[Action]:
        pending = self.state.pending
        _, *told = super().begin_generation(notice)
        self.state = replace(self.state, pending=pending)
        return [Save(self.state, sync=True, everything=True), *told]


@_exchange("a new generation keeps the outcomes of the old one")
class KeepsOutcomes(Exchange):
    def begin_generation(self, notice: Notice) -> list[Action]:
        outcomes = self.state.outcomes
        _, *told = super().begin_generation(notice)
        self.state = replace(self.state, outcomes=outcomes)
        return [Save(self.state, sync=True, everything=True), *told]


@_exchange("a new generation keeps the records of the old one")
class KeepsRecords(Exchange):
    def begin_generation(self, notice: Notice) -> list[Action]:
        nodes = self.state.nodes
        _, *told = super().begin_generation(notice)
        self.state = replace(self.state, nodes=nodes)
        return [Save(self.state, sync=True, everything=True), *told]


@_exchange("a notice is followed back to an older generation")
class GoesBack(Exchange):
    def _follow(self, notice: Notice) -> list[Action]:
        return self.begin_generation(notice)


@_exchange("two evictions at once are not joined")
class EvictsApart(Exchange):
    def _follow(self, notice: Notice) -> list[Action]:
        is_news = notice.generation > self.state.generation
        return self.begin_generation(notice) if is_news else []


@_exchange("added rows are told before they are safe")
class GrowthUnsafe(Exchange):
    def grow(self, own: Rows) -> list[Action]:
        return _unsynced(super().grow(own))


@_exchange("a growth is forgotten when two generations are joined")
class ForgetsGrowth(Exchange):
    def _announce(self, changes: Changes, *before: str) -> Notice:
        grown = self.state.grown if before else changes.grown
        return super()._announce(changes._replace(grown=grown), *before)


@_exchange("of two growths of a member the smaller counts")
class Shrinks(Exchange):
    def _follow(self, notice: Notice) -> list[Action]:
        mine, theirs = self.state.changes, notice.changes
        if mine.include(theirs) or theirs.include(mine):
            return super()._follow(notice)
        growths = sorted((*mine.grown, *theirs.grown), key=_rows, reverse=True)
        least = {one.member: one for one in growths}
        grown = tuple(least[member] for member in sorted(least))
        joined = mine.union(theirs)._replace(grown=grown)
        return self.begin_generation(self._announce(joined, notice.generation))


@_exchange("a notice with fewer rows of a member is followed")
class FollowsFewer(Exchange):
    def _follow(self, notice: Notice) -> list[Action]:
        is_news = notice.generation > self.state.generation
        if is_news and set(self.state.evicted) <= set(notice.evicted):
            return self.begin_generation(notice)
        return super()._follow(notice)


@_exchange("a growth is told, and its rows are left out")
class LeavesRowsOut(Exchange):
    def begin_generation(self, notice: Notice) -> list[Action]:
        rows = len(self.state.nodes)
        _, *told = super().begin_generation(notice)
        self.state = replace(self.state, nodes=tuple(self.state.nodes)[:rows])
        return [Save(self.state, sync=True, everything=True), *told]


@_exchange("a growth is claimed again, from what there is by now")
class ClaimsAnew(Exchange):
    def grow(self, own: Rows) -> list[Action]:
        rows = {**self.context.rows, self.context.me: len(self.context.own)}
        self.context = with_fields(self.context, rows=rows)
        return super().grow(own)


@_exchange("messages of another generation are taken for this one's")
class MixesGenerations(Exchange):
    def _handle_out_of_step(self, sender: str, message: object) -> list[Action]:
        if isinstance(message, Offer):
            return self._handle_offer(sender, message)
        return super()._handle_out_of_step(sender, message)  # type: ignore[arg-type]


@_exchange("a save names too little")
class NamesTooLittle(Exchange):
    def _handle_accept(self, sender: str, answer: Accept) -> list[Action]:
        actions = super()._handle_accept(sender, answer)
        return [a._replace(nodes=a.nodes[1:]) if isinstance(a, Save) else a for a in actions]


@_disk("the disk says it is safe and is not")
class Lies(Disk):
    def sync(self) -> None:
        self.safe = max(self.safe, 1)


@_disk("the number of the last offer is forgotten")
class ForgetsSeq(Disk):
    def load(self) -> State | None:
        state = super().load()
        if state is None or state.pending:
            return state
        return replace(state, seq=max(0, state.seq - 1))


@_disk("a write is lost in the middle")
class LosesOne(Disk):
    def lose(self, commits: int) -> None:
        super().lose(commits)
        if len(self.commits) > 2:
            del self.commits[-2:]
            self.safe = len(self.commits)
