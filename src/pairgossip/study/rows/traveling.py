"""The travel of rows for a study's questions: exchanges begin, continue and end at a member."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.study.rows.exchanging import BACKUP, RUN, TAG, ExchangeQuestion, erase_state
from pairgossip.study.rows.journey import Journey, keep_estimate, read_estimate

if TYPE_CHECKING:
    from pairgossip.study.protocol.standing import Progress
    from pairgossip.study.service.assembly import StudyParts

_ROOM = "rows"
"""The room of notes on exchanges, by question: "begun", or "over" before the question ends."""
_LOOK = 1.0
"""Seconds between two readings of the estimate."""
_NO_STATE = "This peer could not begin to exchange rows: its operator finds the cause in its log."
_BY_RELAY = "This site meets the others at a relay, and rows never travel by one."
_LEFT = "A member of its list is not on the list any more: ask again."


@dataclass
class TravelingRows:
    """All questions of a member whose rows travel now: one, except for moments in between.

    Parameters
    ----------
    parts
        The member's folder, opened.
    send
        Sends a frame to a member.
    warn
        Tells the operator why rows do not travel.
    """

    parts: StudyParts
    send: Callable[[str, bytes], None]
    warn: Callable[[str], None]
    _running: dict[bytes, ExchangeQuestion] = field(default_factory=dict, init=False)
    _connected: frozenset[str] = field(default=frozenset(), init=False)
    _look_at: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        notes = self.parts.journal.notes(_ROOM)
        self._noted = {bytes.fromhex(name): content for name, content in notes.items()}

    def due(self) -> float:
        """The time of the next call of `advance`."""
        return min((one.due() for one in self._running.values()), default=float("inf"))

    def advance(self, now: float) -> None:
        """Do all due work."""
        for one in self._running.values():
            one.advance(now)

    def takes(self, sender: str, frame: bytes, now: float) -> bool:
        """Return whether a frame is of an exchange; it is heard if that runs, and from a member."""
        if frame[:1] != TAG:
            return False
        run, content = frame[1 : 1 + RUN], frame[1 + RUN :]
        for one in self._running.values():
            if one.journey.run == run and sender in one.journey.members.ids:
                one.receive(sender, content, now)
        return True

    def follow(self, now: float, connected: set[str]) -> list[bytes]:
        """Begin and end exchanges; return the questions with news."""
        lost, self._connected = self._connected - connected, frozenset(connected)
        for one in self._running.values():
            one.lose(lost)
        is_due = now >= self._look_at
        self._look_at = now + _LOOK if is_due else self._look_at
        journeys = self.parts.site.journeys
        for name in [*self._noted]:
            if name not in journeys and self._find(name) is None:
                self._erase(name)  # it ended just before a crash
        return [one.name for one in [*journeys.values()] if self._follow(one, now, is_due)]

    def _follow(self, journey: Journey, now: float, is_due: bool) -> bool:
        """Begin, read, or end one exchange; return whether the study must hear of it."""
        before = journey.has_enough, journey.failure
        progress, running = self._find(journey.name), self._running.get(journey.name)
        if self._is_over(journey, progress):
            self._end(journey, progress)
        elif running is None and progress is not None and progress.phase == "rows":
            self._begin(journey, now)
        elif running is not None and is_due:
            self._keep(journey, running)
        return (journey.has_enough, journey.failure) != before

    def _find(self, name: bytes) -> Progress | None:
        """Return the state of a question that has not ended."""
        progress = self.parts.study.question(name)
        is_over = progress is None or progress.ending is not None or progress.phase == "done"
        return None if is_over else progress

    def _is_over(self, journey: Journey, progress: Progress | None) -> bool:
        """Whether rows of a question may not travel any more."""
        if progress is None or self._noted.get(journey.name) == b"over":
            return True
        here = self.parts.study.members
        is_whole = here is not None and set(journey.members.ids) <= set(here.ids)
        if progress.phase == "rows" and not is_whole:
            journey.failure = journey.failure or _LEFT
        return bool(journey.failure) or time.time() >= journey.expires

    def _begin(self, journey: Journey, now: float) -> None:
        parts, is_begun = self.parts, journey.name in self._noted
        try:
            if parts.home.read_settings().relay is not None:
                journey.failure = _BY_RELAY
                return
            question = ExchangeQuestion(
                journey,
                parts.identity,
                self._folder(journey.name),
                self.send,
                is_begun=is_begun,
                power_safe=parts.settings.power_safe,
            )
        except InputError as problem:
            self.warn(str(problem))
            journey.failure = BACKUP if is_begun else _NO_STATE
            return
        if not is_begun:  # before anything is sent
            self._note(journey.name, b"begun")
        self._running[journey.name] = question
        question.start(now)

    def _keep(self, journey: Journey, running: ExchangeQuestion) -> None:
        journey.estimate = running.look()
        journey.has_enough = journey.has_enough or running.should_stop()
        keep_estimate(self.parts.home.results, journey.name, journey.estimate)

    def _end(self, journey: Journey, progress: Progress | None) -> None:
        """Keep the estimate for good, and erase the rows of others."""
        if (running := self._running.pop(journey.name, None)) is not None:
            self._keep(journey, running)
            running.close()
        journey.has_enough = True
        noted = self._noted.get(journey.name)
        if noted == b"begun" or (noted is not None and progress is None):
            self._erase(journey.name)
        if progress is None:
            self.parts.site.journeys.pop(journey.name, None)

    def _erase(self, name: bytes) -> None:
        results = self.parts.home.results
        if (estimate := read_estimate(results, name)) is not None and not estimate.is_final:
            keep_estimate(results, name, replace(estimate, is_final=True))
        erase_state(self._folder(name))
        self._note(name, None if self._find(name) is None else b"over")

    def _note(self, name: bytes, content: bytes | None) -> None:
        self.parts.journal.stage(_ROOM, name.hex(), content)
        self.parts.journal.flush()
        self._noted.pop(name, None)
        self._noted |= {} if content is None else {name: content}

    def _folder(self, name: bytes) -> Path:
        return self.parts.home.folder / "rows" / name.hex()

    def close(self) -> None:
        """Release all states; they stay, and continue after the next start."""
        for one in self._running.values():
            with contextlib.suppress(InputError, OSError):  # the disk may have failed
                self._keep(one.journey, one)
            one.close()
        self._running.clear()
