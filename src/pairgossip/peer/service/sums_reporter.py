"""What a peer that computes sums reports: how far the rounds are, and who is awaited."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import SaveSums
from pairgossip.peer.protocol.summation import Halt
from pairgossip.peer.service.assembly import Assembly
from pairgossip.peer.service.log import Log
from pairgossip.peer.service.reporter import UNANSWERED, Reporter
from pairgossip.peer.service.status import Status, sums_status
from pairgossip.text import clean_text, join_names

_MOST_NAMED = 5


class SumsReporter(Reporter):
    """Follows one peer's rounds."""

    def __init__(self, parts: Assembly, rounds: Rounds, log: Log) -> None:
        super().__init__(parts, rounds, log)
        self._rounds = rounds
        self._round = rounds.round
        self._found = self._describe()

    def _describe(self, **more: Any) -> Status:
        return sums_status(self._context, self._rounds, **more)

    def progress(self) -> dict[str, int]:
        """Return in which round the peer is."""
        return {"round": self._rounds.round}

    @property
    def _is_quiet(self) -> bool:
        return self._rounds.is_settled

    def _last_found(self) -> Status:
        """Describe the peer as it was when a round last ended."""
        return self._found

    def _after_save(self, change: SaveSums) -> None:
        if change.added:
            self._changed_at = time.monotonic()
        if change.state.generation != self._generation:
            self._generation = change.state.generation
            self._log_generation(change.state)
            self._round, self._found = 0, self._describe(updated=time.time())
        if self._rounds.round != self._round:
            self._round = self._rounds.round
            self._found = self._describe(updated=time.time())
            self._log.info(
                "a round ended" if self._rounds.ask is not None else "all rounds ended",
                round=self._round - 1,
                members=len(self._rounds.members),
            )

    def _silences(
        self, now: float, versions: Mapping[str, int], waiting: Mapping[str, float]
    ) -> list[str]:
        """Say why the rounds do not go on, if they do not."""
        sentences = []
        if (refusal := self._rounds.refusal()) is not None:
            sentences.append(refusal)
        if self._rounds.halt is not None:
            sentences.append(self._explain(self._rounds.halt))
        sentences += [self._other_list(*one) for one in sorted(self._rounds.other_lists.items())]
        late = {one: since for one, since in waiting.items() if since > UNANSWERED}
        if late and not sentences:
            names = [f"'{self._name(one)}'" for one in sorted(late)]
            more = len(names) - _MOST_NAMED
            said = join_names(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
            sentences.append(
                f"Round {self._rounds.round} has waited for {said} for {max(late.values()):.0f} s: "
                "nothing is lost, and it goes on once they run. If one is gone for good, run: "
                f"pairgossip peer evict {self._name(min(late))}."
            )
        return sentences

    def _name(self, member: str) -> str:
        mine = {self._parts.identity.id: self._parts.settings.name}
        return {**self._names, **mine}.get(member, member)

    def _show(self, member: str) -> str:
        """Name a member that a neighbor has told, whatever that is."""
        return clean_text(self._name(member), 64)

    def _explain(self, halt: Halt) -> str:
        """Say why a generation stands still, and what to do."""
        who = join_names([f"'{self._name(one)}'" for one in halt.members[:_MOST_NAMED]])
        if halt.reason == "lie":
            return (
                f"{who} has signed two different contributions to one round, which proves a lie or "
                f"a copied folder; both are kept. Run: pairgossip peer evict "
                f"{self._name(halt.members[0])}."
            )
        if halt.reason == "rounds":
            return (
                "The rounds that the specification allows are used up: agree on more with "
                "algorithm.rounds."
            )
        if halt.reason == "repeated":
            return (
                f"{who} asks for something else than the others in one round after another: see "
                "that all run the same version of pairgossip, or evict that member."
            )
        if halt.reason == "list":
            return (
                "Sums over another list of members may be known: with those over the present one "
                "everybody could tell what the new ones contribute. Put the list of members "
                "back, or let all begin again from new folders."
            )
        if halt.reason.startswith("version: "):
            return (
                f"This peer has contributed to round {self._rounds.round} what another version of "
                f"pairgossip computes ({halt.reason.removeprefix('version: ')}): run that version "
                "again, or let the others evict this peer."
            )
        why = clean_text(halt.reason, 200)  # it may quote what a member has sent
        if not halt.members:
            return (
                f"The sum cannot be that of the members' rows ({why}): one of them has "
                "contributed something else, and a sum does not tell who."
            )
        return (
            f"{who} asks for something else than this peer computes ({why}): see that all "
            "run the same version of pairgossip."
        )

    def _other_list(self, neighbor: str, theirs: dict[str, int]) -> str:
        """Say how a neighbor's list of members differs."""
        name, mine = self._name(neighbor), self._context.present_rows
        said = f"Neighbor '{name}' has another list of members"
        if not theirs:
            return f"{said}: see that both have joined the same ones."
        different = {
            "it lacks": mine.keys() - theirs.keys(),
            "only it lists": theirs.keys() - mine.keys(),
            "rows differ for": {one for one in mine.keys() & theirs if mine[one] != theirs[one]},
        }
        parts = [
            f"{what} {join_names([self._show(one) for one in sorted(ids)[:_MOST_NAMED]])}"
            for what, ids in different.items()
            if ids
        ]
        return f"{said}: {'; '.join(parts)}. Join all members at both (peer join)."
