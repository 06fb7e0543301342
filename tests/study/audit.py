"""Invariants of a study under any faults, checked at every save, at every frame, and at the end.

The checks are independent of the protocol: they use the records that members have saved, the
streams that they have drawn, and the numbers that the world has planted.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import pytest

from pairgossip.peer.protocol.program import Words as Vector
from pairgossip.study.protocol import ratchet
from pairgossip.study.protocol.records import (
    NO_DIGEST,
    AnyRecord,
    Assent,
    Digests,
    Echo,
    MemberList,
    Never,
    Question,
    Slot,
    Statement,
    Words,
    Yes,
    decode,
    digest_of,
    slot_of,
)
from pairgossip.study.protocol.spreading import Give, decode_frame
from tests.peer.audit import Violated
from tests.study.algebra import Piece, tell_few
from tests.study.sites import Contributed, Table, plain_sums, read_layout, read_table

if TYPE_CHECKING:
    from pairgossip.study.protocol.study import Study
    from tests.study.operators import Member
    from tests.study.world import World

LEAST_MEMBERS = 3

R = TypeVar("R", Yes, Digests, Echo, Words)

Place = tuple[bytes, int]
"""A question and a round."""


class Auditor:
    """Checks all that members save and send, and remembers it even if members forget it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.checks = 0
        self.is_strict = False
        """Whether restored members that hear from others must not contradict themselves either."""
        self.records: dict[bytes, AnyRecord] = {}
        """All records that honest members have ever saved of their own, by digest."""
        self._lists: dict[bytes, MemberList] = {}
        self._said: dict[Slot, bytes] = {}
        """The digest of what a member has saved, by slot."""
        self._agreed: set[tuple[str, bytes]] = set()
        self.visible: set[bytes] = set()
        """Questions that an operator accepts although differences reveal its numbers."""
        self._echoed: dict[bytes, frozenset[bytes]] = {}
        """The digests seen by members that send this echo."""
        self.contributed: list[Contributed] = []
        """All vectors that members have made, in order."""
        self._hidden: dict[tuple[str, bytes], bytes] = {}
        """The vector that a stream hides, by member and key."""
        self._chains: dict[tuple[str, bytes, int], set[bytes]] = defaultdict(set)
        self._privates: dict[bytes, bytes] = {}
        """Private keys, by the public ones."""
        self._shown: dict[Place, set[str]] = defaultdict(set)
        """Members that have sent their own words."""
        self._vectors: dict[tuple[str, int, str], bytes] = {}
        """The rows' vector that was released of a piece, by member, batch and column."""
        self._releases: dict[bytes, frozenset[Piece]] = {}
        self._committed: set[bytes] = set()
        """Commitments that their members have shown."""
        self._seen_frames: set[tuple[str, bytes]] = set()
        self._finished: dict[bytes, set[str]] = defaultdict(set)
        self._ended: dict[bytes, set[str]] = defaultdict(set)

    # What operators do

    def agreed(self, member: str, question: bytes) -> None:
        """Record that an operator asks a question, or accepts it."""
        self._agreed.add((member, question))

    def shown(self, question: bytes) -> set[str]:
        """Return the members that have shown words of a question."""
        return {
            who for place, members in self._shown.items() if place[0] == question for who in members
        }

    # What members save

    def committed(self, member: Member, record: AnyRecord) -> None:
        """Check a record that is now on the disk of a member."""
        if record.member == member.id and member.id not in self._world.liars:
            self._check_own(member, record)

    def _check_own(self, member: Member, record: AnyRecord) -> None:
        digest = digest_of(record)
        if digest in self.records:
            return
        self.checks += 1
        slot = slot_of(record)
        if self._said.setdefault(slot, digest) != digest and (
            self.is_strict or not member.was_restored
        ):
            raise Violated(f"{member.id} says two things: {slot}")
        if isinstance(record, Assent | Never):
            self._check_list_of(member, record)
        if isinstance(record, Assent):
            self._lists.setdefault(record.list.digest, record.list)
        self.records[digest] = record
        if isinstance(record, Yes):
            self._check_yes(member, record)
        elif isinstance(record, Echo):
            self._check_echo(member, record)
        elif isinstance(record, Words):
            self._check_hidden(member, record)
        elif isinstance(record, Statement):
            self._check_table(record.member, record.question, read_table(record.public))

    def _check_list_of(self, member: Member, record: Assent | Never) -> None:
        """Check that lists a member signs follow each other, unless one of them was given up."""
        refused = record.list if isinstance(record, Never) else None
        signed = [
            one.list
            for one in self.records.values()
            if isinstance(one, Assent) and one.member == member.id
        ]
        refused_lists = {one.list for one in member.disk.decoded.values() if isinstance(one, Never)}
        if any(one.digest == refused for one in signed):
            raise Violated(f"{member.id} will never sign a list that it has signed")
        if isinstance(record, Never) or member.was_restored:
            return
        new = record.list
        alive = [one for one in signed if one.digest not in refused_lists and one != new]
        if not all(self._leads(one, new) or self._leads(new, one) for one in alive):
            raise Violated(f"{member.id} signs two lists that may both come to exist")
        self._check_changes(member, new)

    def _leads(self, one: MemberList, new: MemberList) -> bool:
        """Return whether a list equals another one, or precedes it."""
        here: MemberList | None = new
        while here is not None and here != one:
            here = self._lists.get(here.parent)
        return here == one

    def _check_rivals(self) -> None:
        """Check that of any two lists that all have signed, one leads to the other."""
        signed = defaultdict[bytes, set[str]](set)
        for record in self.records.values():
            if isinstance(record, Assent):
                signed[record.list.digest].add(record.member)
        lists = [self._lists[digest] for digest in signed]
        exist = [one for one in lists if signed[one.digest] | self._world.liars >= set(one.ids)]
        for one, two in itertools.combinations(exist, 2):
            both = set(one.ids) & set(two.ids) - self._world.liars
            forgetful = {who for who in both if self._world.members[who].was_restored}
            is_line = self._leads(one, two) or self._leads(two, one)
            if not is_line and not (both and both == forgetful):
                raise Violated(f"two rival lists exist: {one.ids} and {two.ids}")

    def _check_changes(self, member: Member, new: MemberList) -> None:
        """Check that a list changes only what operators decided, and evicts at most one member."""
        newcomers = set(new.ids) - self._known_ids(new) - {member.id}
        if not newcomers <= member.accepted:
            raise Violated(f"{member.id} signs a list with members that nobody has accepted")
        gone = self._known_ids(new) - set(new.ids)
        if any(self._world.members[one].is_wanted for one in gone):
            raise Violated(f"{member.id} signs a list without a member that is to stay")
        if len(gone & self._world.evicted) > 1:
            raise Violated(f"{member.id} signs a list that evicts two members")
        if gone and set(new.ids) - self._known_ids(new):
            raise Violated(f"{member.id} signs a list with two kinds of change")

    def _known_ids(self, new: MemberList) -> set[str]:
        """Return the members of the preceding list."""
        return set() if new.parent == NO_DIGEST else set(self._list(new.parent).ids)

    def _check_yes(self, member: Member, yes: Yes) -> None:
        question = self._question(member, yes.question)
        policy = member.site.verdicts.get(read_layout(question).column)
        if policy != "yes" and (member.id, yes.question) not in self._agreed:
            raise Violated(f"{member.id} says a yes that nobody decided")
        if yes.list != question.list or member.id not in self._list(question.list).ids:
            raise Violated(f"{member.id} says yes to a question of another list")
        self._check_list(question.list)

    def _check_echo(self, member: Member, echo: Echo) -> None:
        """Check that members that send the same echo have seen the same digests."""
        place = echo.question, echo.round
        held = self._held(member, Digests, *place)
        seen = frozenset(digest_of(one) for one in held)
        ids = self._list(self._question(member, echo.question).list).ids
        if sorted(one.member for one in held) != sorted(ids):
            raise Violated(f"{member.id} echoes digests that are not one of each member")
        if self._echoed.setdefault(echo.digests, seen) != seen:
            raise Violated(f"{member.id} echoes other digests as if they were the same")

    def _check_hidden(self, member: Member, words: Words) -> None:
        question = self._question(member, words.question)
        if len(words.words) != 8 * read_layout(question).words:
            raise Violated(f"{member.id} contributes too little or too much")

    # Streams and chains

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Observe every stream, and every chain from which it is made, within this block."""
        derive, stream, draw = ratchet._derive, ratchet._stream, ratchet.public_key

        def watch_derive(secret: bytes, info: bytes, salt: bytes | None = None) -> bytes:
            if info.startswith(ratchet._MASK):
                hidden = self.contributed[-1]
                round_ = int.from_bytes(info.removeprefix(ratchet._MASK), "big")
                self._chains[hidden.member, hidden.question, round_].add(secret)
            return derive(secret, info, salt)

        def watch_stream(key: bytes, words: int) -> Vector:
            self._use(key)
            return stream(key, words)

        def watch_key(private: bytes) -> bytes:
            self._privates[draw(private)] = private
            return draw(private)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ratchet, "_derive", watch_derive)
            patch.setattr(ratchet, "_stream", watch_stream)
            patch.setattr(ratchet, "public_key", watch_key)
            yield

    def _use(self, key: bytes) -> None:
        """Record that a stream hides a vector; check that it hides no other."""
        hidden = self.contributed[-1]
        if self._hidden.setdefault((hidden.member, key), hidden.vector) != hidden.vector:
            raise Violated(f"{hidden.member} has used a mask twice")

    # What members send

    def sent(self, member: Member, to: str, frame: bytes) -> None:
        """Check what leaves a member for the first time."""
        key = member.id, hashlib.blake2b(frame, digest_size=16).digest()
        if key in self._seen_frames:
            return
        self._seen_frames.add(key)
        for record in records_in(frame):
            digest = digest_of(record)
            if digest not in member.disk.decoded:
                raise Violated(f"{member.id} sends a {type(record).__name__} it has not saved")
            if record.member != member.id:
                continue
            if isinstance(record, Digests) and digest not in self._committed:
                self._committed.add(digest)
                self._check_digest(member, record)
            elif isinstance(record, Words):
                self._check_words(member, record)

    def _check_digest(self, member: Member, digests: Digests) -> None:
        """Check that words are saved and their keys erased before their digest is shown."""
        place = digests.question, digests.round
        self.checks += 1
        if not [one for one in self._held(member, Words, *place) if one.member == member.id]:
            raise Violated(f"{member.id} shows a digest of words that it has not saved")
        secrets = b"\x00".join(member.disk.secrets.values())
        own = self._own_yes(member, digests.question)
        keys = [self._privates[one.key] for one in own if one.key in self._privates]
        if any(key in secrets for key in (*keys, *self._chains[member.id, *place])):
            raise Violated(f"{member.id} keeps a key whose digest it has shown")

    def _check_words(self, member: Member, words: Words) -> None:
        """Check that words are shown only after all yeses and echoes, and after their record."""
        place = words.question, words.round
        self.checks += 1
        question = self._question(member, words.question)
        ids = self._list(question.list).ids
        self._check_list(question.list)
        yeses = self._held(member, Yes, words.question)
        agreed = [one.member for one in yeses if one.list == question.list]
        if sorted(agreed) != sorted(ids):
            raise Violated(f"{member.id} shows words without everybody's yes: {agreed}")
        echoes = self._held(member, Echo, *place)
        if sorted(one.member for one in echoes) != sorted(ids) or len(_digests(echoes)) != 1:
            raise Violated(f"{member.id} shows words before all have echoed the same digests")
        relied_on: list[AnyRecord] = [*yeses, *echoes]
        for one in relied_on:
            if digest_of(one) not in self.records and one.member not in self._world.liars:
                raise Violated(f"{one.member} has not said what {member.id} goes by")
        told = hashlib.sha256(words.words).digest()
        if (*place, told) not in member.site.folder.noted:
            raise Violated(f"{member.id} shows words that are not in its record of disclosures")
        self._shown[place].add(member.id)
        self._check_vectors(member, words.question)
        self._release(words.question, yeses)

    def _check_vectors(self, member: Member, question: bytes) -> None:
        """Check that a piece adds to a column in one question only, or with the same vector."""
        column = read_layout(self._question(member, question)).column
        own = self._own_yes(member, question)
        batches = [piece.batch for yes in own for piece in yes.pieces if piece.rows]
        place = member.id, question, 1
        made = [one for one in self.contributed if (one.member, one.question, one.round) == place]
        for hidden in made[-1:]:  # a kill may have undone the yes of earlier ones
            for batch in batches:
                known = self._vectors.setdefault((member.id, batch, column), hidden.rows)
                if known != hidden.rows:
                    raise Violated(f"{member.id} releases batch {batch} twice for {column}")

    def _own_yes(self, member: Member, question: bytes) -> list[Yes]:
        held = self._held(member, Yes, question)
        return [one for one in held if one.member == member.id]

    def _release(self, question: bytes, yeses: Iterable[Yes]) -> None:
        """Check that no combination of sums refers to fewer members than allowed."""
        if question in self._releases:
            return
        pieces = frozenset(
            (yes.member, piece.batch) for yes in yeses for piece in yes.pieces if piece.rows
        )
        self._releases[question] = pieces
        few = tell_few(list(self._releases.values()), LEAST_MEMBERS)
        if few is not None and not self.visible:
            raise Violated(f"sums tell what {few} have together")

    # What is known about lists and questions

    def _question(self, member: Member, name: bytes) -> Question:
        record = member.disk.decoded.get(name)
        if not isinstance(record, Question):
            raise Violated(f"{member.id} goes by a question that it has not saved")
        return record

    def _held(self, member: Member, kind: type[R], question: bytes, round_: int = 0) -> list[R]:
        return [
            one
            for one in member.disk.decoded.values()
            if isinstance(one, kind)
            and one.question == question
            and getattr(one, "round", 0) == round_
        ]

    def _list(self, digest: bytes) -> MemberList:
        if digest not in self._lists:
            raise Violated("a list that nobody has signed")
        return self._lists[digest]

    def _check_list(self, digest: bytes) -> None:
        """Check that a question's list was signed by all of its members."""
        signed = {
            one.member
            for one in self.records.values()
            if isinstance(one, Assent) and one.list.digest == digest
        }
        if not signed | self._world.liars >= set(self._list(digest).ids):
            raise Violated(f"a question of a list that not all have signed: {signed}")

    # Outcomes of questions

    def closed(
        self, member: str, question: bytes, table: Sequence[Table] | None, is_disclosed: bool
    ) -> None:
        """Check a result against the plain sums, or record that a question ended without one."""
        if table is not None:
            self._finished[question].add(member)
            self._check_table(member, question, table)
        elif not is_disclosed and not self._world.members[member].was_restored:
            self._ended[question].add(member)

    def restored(self, member: str, archived: Iterable[bytes]) -> None:
        """Record that a backup has undone what a member ended after it: it may decide again.

        If any member had received the ending, all others would have ended, too.
        """
        for question in self._ended.keys() - set(archived):
            self._ended[question].discard(member)

    def _check_table(self, member: str, question: bytes, table: Sequence[Table]) -> None:
        if list(table) != self._expected(question):
            raise Violated(f"{member} has other sums than the plain ones")

    def _expected(self, name: bytes) -> list[Table]:
        question = self.records[name]
        assert isinstance(question, Question)
        read = [self._expected(one)[0] for one in question.reads]
        yeses = {
            one.member: one
            for one in self.records.values()
            if isinstance(one, Yes) and one.question == name
        }
        lowest = min(self._list(question.list).ids)
        shift = self._world.members[lowest].site.shift
        return plain_sums(read_layout(question), yeses, read, shift)

    def look(self, member: Member, study: Study) -> None:
        """Check what a member knows after an event."""
        is_strange = member.was_restored or member.id in self._world.liars
        if study.halted is not None and not is_strange:
            raise Violated(f"{member.id} takes itself for a restored backup: {study.halted}")

    def check_end(self) -> None:
        """Check the invariants once nothing is open."""
        self._check_rivals()
        for question, members in self._ended.items():
            if self._finished[question] and members:
                raise Violated(f"{members} ended what {self._finished[question]} finished")
        for member in self._world.running():
            assert member.study is not None
            self._check_disclosures(member)
            for view in member.study.questions:
                liar = view.lie
                if liar is not None and not self._world.members[liar].was_restored:
                    raise Violated(f"{member.id} takes {liar} for a liar")

    def _check_disclosures(self, member: Member) -> None:
        """Check that all words that a member has shown are in its record of disclosures."""
        for digest, kept in member.disk.journal.records.items():
            record = member.disk.decoded[digest]
            if kept.is_shown and isinstance(record, Words) and record.member == member.id:
                told = hashlib.sha256(record.words).digest()
                if (record.question, record.round, told) not in member.site.folder.noted:
                    raise Violated(f"{member.id} has shown words that it has not recorded")


def _digests(echoes: Iterable[AnyRecord]) -> set[bytes]:
    return {one.digests for one in echoes if isinstance(one, Echo)}


def records_in(frame: bytes) -> Iterator[AnyRecord]:
    """Return the records that a frame carries."""
    message = decode_frame(frame)
    if isinstance(message, Give):
        yield from map(decode, message.records)
