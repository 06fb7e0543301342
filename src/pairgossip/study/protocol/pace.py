"""A limit on the questions of each asker over time, so that nobody fills disks by asking.

Each question costs its asker a part of a day's allowance, which it gets back once words of it were
shown, as all members have said yes to that. A question beyond the allowance is not kept: it is
requested again at each contact, and taken later. So members whose clocks differ take a question at
different times, but all take it; and a member beyond its allowance delays its own questions alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from pairgossip.study.protocol.desk import Desk

MOST_A_DAY = 288
"""Largest number of questions of one member, within a day, whose words are not shown."""
_EACH = 86_400 // MOST_A_DAY
"""Seconds after which one more question is taken."""
_DAY = MOST_A_DAY * _EACH
_NOTE = "asked/"


class Pace:
    """The rest of each asker's allowance, by this member's clock."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def allows(self, member: str, now: int) -> bool:
        """Return whether one more question of a member is taken."""
        return self._wait(member, now) <= _DAY - _EACH

    def spend(self, member: str, now: int) -> Mapping[str, bytes | None]:
        """Return the note for a question that is taken."""
        return self._note(member, now + self._wait(member, now) + _EACH)

    def give_back(self, member: str) -> Mapping[str, bytes | None]:
        """Return the note for a question whose words are shown."""
        return self._note(member, self._until(member) - _EACH)

    def _wait(self, member: str, now: int) -> int:
        """Return the seconds until the allowance is whole; 0 where the clock was set back."""
        left = self._until(member) - now
        return left if 0 < left <= _DAY else 0

    def _until(self, member: str) -> int:
        return int(self._desk.notes.get(_NOTE + member, b"0"))

    def _note(self, member: str, until: int) -> Mapping[str, bytes | None]:
        return {_NOTE + member: b"%d" % until}
