"""Defects planted into rounds of sums: some schedule must catch each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.peer.protocol import masks
from pairgossip.peer.protocol.consent import refuse_sum
from pairgossip.peer.protocol.membership import Membership
from pairgossip.peer.protocol.messages import Contribution, Notice, with_signature
from pairgossip.peer.protocol.program import Ask, Kind, Program, Words
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import Consent, SaveSums, Send, SumsAction
from tests.peer.audit import Violated
from tests.peer.contexts import SPEC, name_of
from tests.peer.sums import make_world, restore_first, run_sums_schedule


def one_mask_for_all(peer: Rounds) -> list[SumsAction]:
    """Masks that depend on nothing but the pair."""
    kept, peer.transcript = peer.transcript, bytes(32)
    try:
        actions = Rounds._contribute(peer)
    finally:
        peer.transcript = kept
    for action in actions:
        assert isinstance(action, SaveSums)
        (place,) = action.added
        contribution = action.state.contributions[place]
        honest = Contribution(
            contribution.generation,
            contribution.round,
            contribution.member,
            kept,
            contribution.public,
            contribution.words,
            b"",
        )
        signed = with_signature(honest, SPEC, peer.context.sign)
        return [peer._keep(signed, sync=True)]
    return actions


class ReusedMask(Rounds):
    def _contribute(self) -> list[SumsAction]:
        return one_mask_for_all(self)


class ShownFirst(Rounds):
    def _contribute(self) -> list[SumsAction]:
        saves = super()._contribute()
        own = self.contribution(self.context.me)
        shown = [Send(who, own) for who in self.present] if saves and own is not None else []
        return [*shown, *saves]


class NotSynced(Rounds):
    def _contribute(self) -> list[SumsAction]:
        return [
            one._replace(sync=False) if isinstance(one, SaveSums) else one
            for one in super()._contribute()
        ]


class MissingIgnored(Rounds):
    @property
    def awaited(self) -> list[str]:
        missing = super().awaited
        return missing if len(missing) > 1 else []

    def _finish_round(self) -> None:
        everyone, missing = self.members, super().awaited
        self.members = tuple(one for one in everyone if one not in missing)
        super()._finish_round()
        self.members = everyone


class AsksUnseen(Rounds):
    def _next_ask(self, ask: Ask, given: list[Contribution]) -> Ask | None:
        if ask.kind is not Kind.SUM:
            return super()._next_ask(ask, given)
        self.program.take(ask, masks.add_up((one.words for one in given), ask.words))
        return self.program.ask()


class Follows(Rounds):
    """Begins any generation at once, whatever it has contributed to."""

    def _follow(self, notice: Notice) -> list[SumsAction]:
        return Membership._follow(self, notice)


class NeverAsks(Follows):
    def missing_consent(self) -> str | None:
        return None


class AsksOnce(Follows):
    """Takes an agreement to anything for one to all that follows."""

    def missing_consent(self) -> str | None:
        return super().missing_consent() if self.state.consent == Consent() else None


class AsksForNoRows(Follows):
    """Takes added rows for the affair of the member that has added them."""

    def missing_consent(self) -> str | None:
        consent = self.state.consent.with_changes(rows=self.context.present_rows.items())
        state = replace(self.state, consent=consent)
        rows, name = self.context.present_rows, self.context.name_member
        return refuse_sum(state, rows, self.context.rows, name)


UNASKED = "without consent|leaves a generation"
DEFECTS = {
    "a peer contributes to a further generation without consent": (NeverAsks, UNASKED),
    "one agreement is taken for all that follow": (AsksOnce, UNASKED),
    "others' added rows are taken for agreed to": (AsksForNoRows, UNASKED),
    "a peer leaves a sum that it has contributed to": (Follows, "leaves a generation"),
    "a mask is used in two rounds": (ReusedMask, "has used a mask twice"),
    "a contribution is shown before it is stored": (ShownFirst, "has not stored"),
    "a contribution is shown before it is safe": (NotSynced, "has not stored"),
    "a missing member is left out": (MissingIgnored, "found|stands in round"),
    "nobody notices that members ask for different things": (AsksUnseen, "found"),
}
"""What is planted, and what a schedule must say of it."""


@pytest.mark.parametrize("defect", DEFECTS)
def test_planted_defects_are_caught(defect: str) -> None:
    rounds_class, said = DEFECTS[defect]
    with pytest.raises(Violated, match=said):
        for seed in range(60):
            run_sums_schedule(seed, rounds_class)


@dataclass
class DrawnAgain:
    """Adds noise that is drawn anew whenever it is needed."""

    program: Program
    draws = iter(range(10**9))

    def __getattr__(self, name: str) -> object:
        return getattr(self.program, name)

    def contribute(self, ask: Ask) -> Words:
        return self.program.contribute(ask) + np.uint64(next(self.draws))


def test_noise_that_is_drawn_again_after_a_backup_is_caught() -> None:
    world = make_world(3, wrap=DrawnAgain)
    world.finish()
    restore_first(world, name_of(1))
    with pytest.raises(Violated, match="restored backup"):
        world.start(name_of(1))
        world.run(world.now + 60.0)
