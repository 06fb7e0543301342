"""The rows that may be added together at a member, given all earlier releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import msgspec

from pairgossip.study.protocol.archive import Archive, pieces_of
from pairgossip.study.protocol.desk import Desk
from pairgossip.study.protocol.differences import Pieces, Place, choose, find_lone, members_of
from pairgossip.study.protocol.lists import Lists
from pairgossip.study.protocol.question import Run
from pairgossip.study.protocol.records import NO_DIGEST, Batch, Leave, Piece, Question, Yes
from pairgossip.study.protocol.site import Action, Offer
from pairgossip.text import MOST_NAMED, join_first

_SEEN = "seen"
_COLUMNS = "columns/"
_COUNTS = msgspec.msgpack.Decoder(dict[str, int])
_NAMES = msgspec.msgpack.Decoder(list[str])


class Releases:
    """The pieces that were released, that may still be, and that may not any more."""

    def __init__(
        self, desk: Desk, lists: Lists, archive: Archive, runs: Mapping[bytes, Run]
    ) -> None:
        self._desk, self._lists, self._archive, self._runs = desk, lists, archive, runs

    # Counts that reveal a restored backup

    @property
    def count(self) -> int:
        """The number of questions whose words this member has shown."""
        return self._archive.released + sum(one.is_disclosed for one in self._runs.values())

    def note_seen(self, yes: Yes) -> Mapping[str, bytes | None]:
        """Return the note on a member's signed number of releases."""
        signed = self._signed
        if yes.released <= signed.get(yes.member, 0):
            return {}
        return {_SEEN: msgspec.msgpack.encode({**signed, yes.member: yes.released})}

    @property
    def _signed(self) -> dict[str, int]:
        return _COUNTS.decode(self._desk.notes.get(_SEEN, b"\x80"))

    def seen(self, members: tuple[str, ...]) -> dict[str, int]:
        """Return the number of questions whose words each member must have shown.

        It follows from the numbers that they have signed, and from the results they have signed.
        """
        signed, counts = self._signed, Counter[str]()
        lines = self._archive.lines.values()
        done = Counter(one.list for one in lines if one.kind == "done" and one.is_disclosed)
        for digest, times in done.items():
            counts.update(dict.fromkeys(self._lists.known[digest].ids, times))
        return {one: max(signed.get(one, 0), counts[one]) for one in members}

    # Before a yes

    def announce(self, number: int, rows: int, commitment: bytes, *, visible: bool) -> list[Action]:
        """Announce rows to all others, once."""
        me = self._desk.me
        batch = Batch(
            member=me, number=number, rows=rows, commitment=commitment, totals_visible=visible
        )
        here = [one for one in self._batches() if (one.member, one.number) == (me, number)]
        return [] if any(one.totals_visible >= visible for one in here) else self._desk.say(batch)

    def make_visible(self, offered: tuple[Piece, ...]) -> list[Action]:
        """Announce that the totals of own rows may become known by difference."""
        actions, numbers = list[Action](), {piece.batch for piece in offered}
        for one in self._batches():
            if one.member == self._desk.me and one.number in numbers:
                actions += self.announce(one.number, one.rows, one.commitment, visible=True)
        return actions

    def is_announced(self, run: Run) -> bool:
        """Return whether all members of a question have announced rows, as a yes requires.

        If no member announces rows, all offered ones are chosen.
        """
        announced = {one.member for one in self._batches()}
        return not announced or announced.issuperset(run.members)

    def are_announced(self, yes: Yes) -> bool:
        """Return whether a yes adds only rows that all can know beforehand."""
        announced = {(one.member, one.number) for one in self._batches()}
        return not announced or pieces_of([yes]) <= announced

    def choose_pieces(self, name: bytes, question: Question, offer: Offer) -> tuple[Piece, ...]:
        """Return this member's pieces, without rows in those that must wait for others.

        All members choose alike, from the rows that all have announced.
        """
        announced = {(one.member, one.number) for one in self._batches() if one.rows}
        members = self._lists.known[question.list].ids
        if question.repeats is not None or not announced:
            return offer.pieces
        taken = self._taken(frozenset(offer.columns), name)
        free = frozenset(one for one in announced if one[0] in members and one not in taken)
        chosen = choose(free, self._before(name), self._least(question), self._visible())
        me = self._desk.me
        return tuple(
            piece if (me, piece.batch) in chosen else piece._replace(rows=0)
            for piece in offer.pieces
        )

    def find_hopeless(self, question: Question) -> str:
        """Say why rows of too few members would be added whoever says yes, and to whatever."""
        members, least = self._lists.known[question.list].ids, self._least(question)
        announced = {(one.member, one.number) for one in self._batches() if one.rows}
        free = frozenset(one for one in announced if one[0] in members)
        if members_of(free) != set(members) or not question.adds or question.repeats is not None:
            return ""  # not all is known yet, or nothing new is added
        before = self._archive.releases
        if len(members_of(choose(free, before, least, self._visible() | free))) >= least:
            return ""
        return self._explain_few(members, len(members), least)

    def note_columns(self, name: bytes, offer: Offer) -> Mapping[str, bytes | None]:
        """Return the note with the columns of a question."""
        if not offer.columns:
            return {}
        return {_COLUMNS + name.hex(): msgspec.msgpack.encode(sorted(offer.columns))}

    def forget(self, name: bytes, *, is_disclosed: bool) -> dict[str, bytes | None]:
        """Return the notes to erase for an archived question: its columns are free."""
        columns = _COLUMNS + name.hex()
        return {columns: None} if columns in self._desk.notes and not is_disclosed else {}

    def _taken(self, columns: frozenset[str], besides: bytes) -> Pieces:
        """Return the pieces with one of these columns released, or possibly still to be."""
        taken: set[Place] = set()
        for note, content in self._desk.notes.items():
            if note.startswith(_COLUMNS) and columns.intersection(_NAMES.decode(content)):
                name = bytes.fromhex(note.removeprefix(_COLUMNS))
                taken |= self._pieces(name) if name != besides else frozenset()
        return frozenset(taken)

    def _pieces(self, name: bytes) -> Pieces:
        if name in self._runs:
            return pieces_of(self._runs[name].yeses.values())
        line = self._archive.lines.get(name)
        return frozenset() if line is None else frozenset(line.pieces)

    def _batches(self) -> list[Batch]:
        held = self._desk.store.all_of(NO_DIGEST)
        return [one.record for one in held if isinstance(one.record, Batch)]

    def _least(self, question: Question) -> int:
        return max(self._lists.known[question.list].least_members, self._lists.least_members)

    # Once all have said yes

    def hinder(self, run: Run) -> str:
        """Return why nothing can be contributed to a question to which all have said yes."""
        yeses = run.yeses
        for who, yes in yeses.items():
            if (seen := yes.seen.get(self._desk.me, 0)) > self.count:
                name = self._lists.known[run.question.list].cards[who].name
                return (
                    f"'{name}' has seen more releases of this peer than it remembers ({seen:,}, "
                    f"not {self.count:,}): its folder is a restored backup, or '{name}' is wrong."
                )
        if len({yes.version for yes in yeses.values()}) > 1:
            return "Members run different versions of pairgossip: see that all run the same."
        return self._find_repeated(run) or self._find_difference(run)

    def _find_repeated(self, run: Run) -> str:
        """Return why a question cannot be contributed to once more."""
        repeated = run.question.repeats
        if repeated is None:
            return ""
        before, line = self._runs.get(repeated), self._archive.lines.get(repeated)
        about = line.list if line is not None else NO_DIGEST
        members = self._lists.known[about].ids if about in self._lists.known else ()
        if before is not None:
            members = before.members
        is_same = pieces_of(run.yeses.values()) == self._pieces(repeated)
        if is_same and members == run.members:
            return ""
        return "It repeats a question over other rows, or other members, than that was about."

    def _find_difference(self, run: Run) -> str:
        """Return whose rows the differences of releases would reveal, if any."""
        new, least = pieces_of(run.yeses.values()), self._least(run.question)
        if len(members_of(new)) < least:
            offering = sum(bool(yes.pieces) for yes in run.yeses.values())
            return self._explain_few(run.members, offering, least)
        visible = pieces_of(yes for yes in run.yeses.values() if yes.totals_visible)
        lone = find_lone(new, self._before(run.name), least, self._visible() | visible)
        if lone is None:
            return ""
        names = {card.id: card.name for card in self._lists.known[run.question.list].members}
        whose = sorted(names.get(member, member[:12]) for member in members_of(lone))
        return (
            f"With earlier releases it would reveal the numbers of {', '.join(whose)} "
            f"alone: at least {least} members must add rows together."
        )

    def _explain_few(self, members: Collection[str], offering: int, least: int) -> str:
        """Return that too few would add rows, and the former members that the others' rows need."""
        gone = {one for pieces in self._archive.releases for one in members_of(pieces)}
        gone -= {*members, *members_of(self._visible())}
        if not gone or offering < least:
            return f"Rows of fewer than {least} members would be added: wait for more."
        known = {card.id: card.name for one in self._lists.known.values() for card in one.members}
        names = sorted(known.get(member, member[:12]) for member in gone)
        whose = join_first([f"'{name}'" for name in names[:MOST_NAMED]], len(names))
        return (
            f"Rows of fewer than {least} members would be added, since those that were counted "
            f"together with rows of {whose} are counted in no further column without them: wait "
            f"until {least} members add rows."
        )

    def _before(self, besides: bytes) -> list[Pieces]:
        """Return the pieces of all releases, and of those that may still come."""
        others = [one for name, one in self._runs.items() if name != besides]
        may_be = [one for one in others if self._may_release(one)]
        return [*self._archive.releases, *(pieces_of(one.yeses.values()) for one in may_be)]

    def _may_release(self, run: Run) -> bool:
        is_open = run.ending is None or run.owes_ending
        return run.is_disclosed or (is_open and bool(run.said("digests", self._desk.me, 1)))

    def _visible(self) -> frozenset[Place]:
        """Return the pieces whose members let their totals become known by difference."""
        held = [one.record for one in self._desk.store.all_of(NO_DIGEST)]
        open_ = {one.member for one in held if isinstance(one, Leave) and one.totals_visible}
        shown = {(one.member, one.number) for one in self._batches() if one.totals_visible}
        left = {piece for one in self._archive.releases for piece in one if piece[0] in open_}
        return frozenset(shown | left)
