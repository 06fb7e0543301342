"""Reports of a peer that computes sums: how far the rounds are, and who is awaited."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import SaveSums
from pairgossip.peer.service.assembly import Assembly
from pairgossip.peer.service.halts import MOST_NAMED, explain_halt
from pairgossip.peer.service.log import Log
from pairgossip.peer.service.reporter import NEVER_AGAIN, UNANSWERED, Reporter
from pairgossip.peer.service.status import Problem, Status, sums_status
from pairgossip.peer.signed_result import SignedResult, replay_rounds, sign_result
from pairgossip.peer.storage.kept_results import keep_result
from pairgossip.text import clean_text, join_first, join_names


class SumsReporter(Reporter):
    """Follows one peer's rounds."""

    def __init__(self, parts: Assembly, rounds: Rounds, log: Log) -> None:
        super().__init__(parts, rounds, log)
        self._rounds = rounds
        self._round = rounds.round
        self._signed: str | None = None
        """The generation whose result all have signed; None if there is none."""
        self._unkept: list[SignedResult] = []
        """Results that are not on the disk yet."""
        self._unwritable = ""
        """Why they are not."""
        self._keep_earlier_result()
        self._last_status = self._describe()

    def _describe(self, **more: Any) -> Status:
        """Describe the peer; it is done once the result is on the disk for good."""
        self._keep_result(self._rounds)
        status = sums_status(self._context, self._rounds, **more)
        return replace(status, done=status.done and not self._unkept)

    def _keep_result(self, rounds: Rounds) -> None:
        """Write the result once all members have signed it; a failure is tried again."""
        generation = rounds.state.generation
        is_stated = rounds.ask is None and rounds.halt is None
        if is_stated and self._signed != generation:
            now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
            self._unkept.append(sign_result(self._context, rounds, now))
            self._signed = generation
        try:
            while self._unkept:
                keep_result(self._parts.home, self._unkept[0])
                del self._unkept[0]
        except InputError as problem:
            self._unwritable = f"{problem} What all members have signed is not kept yet."

    def _keep_earlier_result(self) -> None:
        """Write the result of the list of members as it was before others have joined."""
        if self._rounds.halt is not None:
            self._keep_result(replay_rounds(self._context, self._rounds.state))

    def progress(self) -> dict[str, int]:
        """Return in which round the peer is."""
        return {"round": self._rounds.round}

    @property
    def _is_quiet(self) -> bool:
        return self._rounds.is_settled

    def _status_before(self) -> Status:
        """Describe the peer as it was when a round last ended."""
        return self._last_status

    def _after_save(self, change: SaveSums) -> None:
        if change.added:
            self._changed_at = time.monotonic()
        if change.state.generation != self._generation:
            self._generation = change.state.generation
            self._log_generation(change.state)
            self._round, self._last_status = 0, self._describe(updated=time.time())
        if self._rounds.round != self._round:
            self._round = self._rounds.round
            self._last_status = self._describe(updated=time.time())
            self._log.info(
                "a round ended" if self._rounds.ask is not None else "all rounds ended",
                round=self._round - 1,
                members=len(self._rounds.members),
            )

    def _silences(
        self, now: float, versions: Mapping[str, int], waiting: Mapping[str, float]
    ) -> list[Problem]:
        """Say why the rounds do not go on, if they do not."""
        sentences = [self._unwritable] if self._unkept else []
        if (refusal := self._rounds.refusal()) is not None:
            sentences.append(refusal)
        if (later := self._rounds.describe_next()) is not None:
            sentences.append(later)
        if self._rounds.halt is not None:
            sentences.append(explain_halt(self._rounds.halt, self._name))
        sentences += [self._other_list(*one) for one in sorted(self._rounds.other_lists.items())]
        late = {one: since for one, since in waiting.items() if since > UNANSWERED}
        if sentences or not late:
            return [Problem(sentence) for sentence in sentences]
        awaited = sorted(late)
        names, causes = self._quote(awaited), self._causes(awaited, versions)
        waits = (
            f"Round {self._rounds.round} has waited for {names} for {max(late.values()):.0f} s "
            f"({causes}): nothing is lost, and it goes on once they run; ask their operators, "
            f"whose peer status may say more. {NEVER_AGAIN}"
        )
        # Whoever comes of those that are only counted is no news.
        kind = (*awaited[:MOST_NAMED], *sorted({self._cause(one, versions) for one in awaited}))
        return [Problem(waits, ("a round waits", *kind))]

    def _quote(self, members: list[str]) -> str:
        """Name members, and count those that are too many to name."""
        return join_first([f"'{self._name(one)}'" for one in members[:MOST_NAMED]], len(members))

    def _causes(self, members: list[str], versions: Mapping[str, int]) -> str:
        """Say what is known about each of these members, those of one cause together."""
        causes = dict[str, list[str]]()
        for one in members:
            causes.setdefault(self._cause(one, versions), []).append(one)
        if len(causes) == 1:
            return next(iter(causes))
        return "; ".join(f"{self._quote(some)}: {cause}" for cause, some in causes.items())

    def _connected_cause(self) -> str:
        if self._rounds.state.evicted or self._rounds.state.grown:
            return "connected; its operator may have to agree to a change (pairgossip peer agree)"
        return "connected"

    def _name(self, member: str) -> str:
        return self._context.name_member(member)

    def _show(self, member: str) -> str:
        """Name a member by the text that a neighbor sent, whatever that is."""
        return clean_text(self._name(member), 64)

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
            f"{what} {join_names([self._show(one) for one in sorted(ids)[:MOST_NAMED]])}"
            for what, ids in different.items()
            if ids
        ]
        return f"{said}: {'; '.join(parts)}. Join all members at both (peer join)."
