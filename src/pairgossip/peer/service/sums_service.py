"""A running peer that computes sums: when it contacts neighbors, and what it reports."""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import ContactSoon, SaveSums
from pairgossip.peer.protocol.summation import MOST_NAMED, explain_halt
from pairgossip.peer.service.assembly import Assembly
from pairgossip.peer.service.log import Log
from pairgossip.peer.service.reporter import NEVER_AGAIN, UNANSWERED, Reporter
from pairgossip.peer.service.runtime import Runtime
from pairgossip.peer.service.status import Problem, Status, sums_status
from pairgossip.peer.signed_result import SignedResult, replay_rounds, sign_result
from pairgossip.peer.storage.kept_releases import settle_release
from pairgossip.peer.storage.kept_results import keep_result
from pairgossip.peer.storage.kept_tables import keep_table
from pairgossip.peer.sums.programs import SumsProgram
from pairgossip.text import clean_text, join_first, join_names

_SOON = 0.03
"""Seconds in which news is collected before neighbors are told."""
_FIRST_CONTACT = 0.2
"""Seconds from which on the wait between contacts doubles, after news."""
_LONGEST_CONTACT = 5.0
"""Seconds between contacts, at most, while rounds go on."""
_SETTLED_CONTACT = 30.0
"""Seconds between contacts, at most, once neighbors have nothing left to say."""


@dataclass
class RoundsRuntime(Runtime[Rounds]):
    """Drives rounds of sums: neighbors are contacted when there is news, else ever more rarely."""

    contacts_at: float = math.inf
    _wait: float = _FIRST_CONTACT
    _has_news: bool = False
    """Whether something has come since the last contact."""
    _round: tuple[object, int] | None = None
    """Generation and number of the round whose beginning is noted."""
    _since: float = math.inf
    """When this round began, or the peer started in it; never, before the peer has started."""

    def start(self, now: float) -> None:
        """Begin, or go on after a restart."""
        self._since = now  # also if nothing can be carried out, such as on a full disk
        self._carry_out(self.protocol.start(), now)

    def received(self, sender: str, frame: bytes, now: float) -> None:
        """Take a frame from a neighbor."""
        self._carry_out(self.protocol.receive(sender, frame), now)

    def due(self) -> float:
        """When neighbors are to be contacted."""
        return self.contacts_at

    def advance(self, now: float) -> None:
        """Contact the neighbors."""
        has_news, self._has_news = self._has_news, False
        self._carry_out(self.protocol.contact(has_news=has_news), now)
        longest = _SETTLED_CONTACT if self.protocol.is_settled else _LONGEST_CONTACT
        self._wait = min(2 * self._wait, longest)
        # Chance keeps peers from contacting each other in step.
        self.contacts_at = now + self._wait * self.chance.uniform(0.75, 1.25)

    def finish(self, now: float) -> None:
        """Tell what is known once more: the neighbors may need it."""
        self.contacts_at, self._has_news = now, False

    @property
    def in_flight(self) -> set[str]:
        """Nobody's: what has not come is asked for after the next start."""
        return set()

    def waiting(self, now: float) -> dict[str, float]:
        """Return how long this round has waited for each member."""
        me = self.protocol.context.me
        lasted = max(0.0, now - self._since)
        return {one: lasted for one in self.protocol.awaited if one != me}

    def _schedule(self, action: ContactSoon, now: float) -> None:
        self._wait, self._has_news = _FIRST_CONTACT, True
        self.contacts_at = min(self.contacts_at, now + _SOON * self.chance.uniform(0.75, 1.25))

    def _carry_out(self, actions: list[Any], now: float) -> None:
        """Carry out actions, and note when a round began."""
        super()._carry_out(actions, now)
        place = self.protocol.state.generation, self.protocol.round
        if place != self._round:
            self._round, self._since = place, now


class SumsReporter(Reporter):
    """Follows one peer's rounds."""

    _protocol: Rounds

    def __init__(self, parts: Assembly, rounds: Rounds, log: Log) -> None:
        super().__init__(parts, rounds, log)
        self._round = rounds.round
        self._signed: str | None = None
        """The generation whose result all have signed; None if there is none."""
        self._unkept: list[tuple[SignedResult, bytes | None]] = []
        """Results that are not on the disk yet, with the tables that they are read from."""
        self._unwritable = ""
        """Why they are not."""
        if rounds.halt is not None:  # the result of the members before others have joined
            self._keep_result(replay_rounds(self._context, rounds.state))
        self._last_status = self._describe()

    def _describe(self, **more: Any) -> Status:
        """Describe the peer; it is done once the result is on the disk for good."""
        self._keep_result(self._protocol)
        status = sums_status(self._context, self._protocol, **more)
        return replace(status, done=status.done and not self._unkept)

    def _keep_result(self, rounds: Rounds) -> None:
        """Write the result once all members have signed it; a failure is tried again."""
        generation = rounds.state.generation
        is_stated = rounds.ask is None and rounds.halt is None
        if is_stated and self._signed != generation:
            now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
            signed = sign_result(self._context, rounds, now)
            self._unkept.append((signed, cast(SumsProgram, rounds.program).table))
            self._signed = generation
        try:
            while self._unkept:
                self._keep(*self._unkept[0])
                del self._unkept[0]
        except InputError as problem:
            self._unwritable = f"{problem} What all members have signed is not kept yet."

    def _keep(self, signed: SignedResult, table: bytes | None) -> None:
        """Write a result, and before it the table that it is read from."""
        home, result, released = self._parts.home, signed.result, self._protocol.state.released
        if table is not None:
            keep_table(home, result.generation, table)
            is_in = result.rounds and self._context.me not in (result.left_out or ())
            if is_in and released.waiting <= max(released.parts, default=0):
                settle_release(home, "table")
        elif not result.rounds:  # a model takes a sum at least
            settle_release(home, "no table")
        keep_result(home, signed)

    def progress(self) -> dict[str, int]:
        """Return in which round the peer is."""
        return {"round": self._protocol.round}

    @property
    def _is_quiet(self) -> bool:
        return self._protocol.is_settled

    def _status_before(self) -> Status:
        """Describe the peer as it was when a round last ended."""
        return self._last_status

    def _after_save(self, change: SaveSums, is_new: bool) -> None:
        if change.added:
            self._changed_at = time.monotonic()
        if is_new:
            self._round, self._last_status = 0, self._describe(updated=time.time())
        if self._protocol.round != self._round:
            self._round = self._protocol.round
            self._last_status = self._describe(updated=time.time())
            self._log.info(
                "a round ended" if self._protocol.ask is not None else "all rounds ended",
                round=self._round - 1,
                members=len(self._protocol.members),
            )

    def _silences(self, now: float, waiting: Mapping[str, float]) -> list[Problem]:
        """Say why the rounds do not go on, if they do not."""
        sentences = [self._unwritable] if self._unkept else []
        if (refusal := self._protocol.refusal()) is not None:
            sentences.append(refusal)
        if (later := self._protocol.describe_next()) is not None:
            sentences.append(later)
        if self._protocol.halt is not None:
            sentences.append(explain_halt(self._protocol.halt, self._name))
        sentences += [self._other_list(*one) for one in sorted(self._protocol.other_lists.items())]
        late = {one: since for one, since in waiting.items() if since > UNANSWERED}
        if sentences or not late:
            return [Problem(sentence) for sentence in sentences]
        awaited = sorted(late)
        names, causes = self._quote(awaited), self._causes(awaited)
        waits = (
            f"Round {self._protocol.round} has waited for {names} for {max(late.values()):.0f} s "
            f"({causes}): nothing is lost, and it goes on once they run; ask their operators, "
            f"whose peer status may say more. {NEVER_AGAIN}"
        )
        # Whoever comes of those that are only counted is no news.
        kind = (*awaited[:MOST_NAMED], *sorted({self._cause(one) for one in awaited}))
        return [Problem(waits, ("a round waits", *kind))]

    def _quote(self, members: list[str]) -> str:
        """Name members, and count those that are too many to name."""
        return join_first([f"'{self._name(one)}'" for one in members[:MOST_NAMED]], len(members))

    def _causes(self, members: list[str]) -> str:
        """Say what is known about each of these members, those of one cause together."""
        causes = dict[str, list[str]]()
        for one in members:
            causes.setdefault(self._cause(one), []).append(one)
        if len(causes) == 1:
            return next(iter(causes))
        return "; ".join(f"{self._quote(some)}: {cause}" for cause, some in causes.items())

    def _connected_cause(self) -> str:
        if self._protocol.state.evicted or self._protocol.state.grown:
            return "connected; its operator may have to agree to a change (pairgossip peer agree)"
        return "connected"

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
        parts = []
        for what, ids in different.items():
            # Ids that only a neighbor lists may be any text.
            names = [clean_text(self._name(one), 64) for one in sorted(ids)[:MOST_NAMED]]
            parts += [f"{what} {join_names(names)}"] if ids else []
        return f"{said}: {'; '.join(parts)}. Join all members at both (peer join)."
