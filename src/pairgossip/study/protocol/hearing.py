"""Records from others: they are taken from frames, and this member acts on them.

A record is taken if it fits the known ones and its signature is right. One that does not fit yet,
such as that of a later round, is not kept: it is requested again at the next contact. So the amount
that a member can make others keep is bounded. Signatures are checked last, and once: held records
are known to be genuine.

After a start nothing new is signed about earlier topics until another member has shown that it has
no record that this one lacks: the folder may be a restored backup. If it is, and this member has
already signed something else, it stops for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pairgossip.errors import InputError
from pairgossip.study.protocol import ratchet
from pairgossip.study.protocol.audience import Audience
from pairgossip.study.protocol.desk import Desk
from pairgossip.study.protocol.lists import Lists
from pairgossip.study.protocol.question import Run
from pairgossip.study.protocol.questions import Questions
from pairgossip.study.protocol.records import (
    NO_DIGEST,
    AnyRecord,
    BadRecord,
    Digests,
    Echo,
    Ending,
    Question,
    Statement,
    Words,
    Yes,
    decode,
    digest_of,
    encode,
    payload_of,
    slot_of,
    topic_of,
)
from pairgossip.study.protocol.site import Action, ContactSoon, Kept, Save, Told
from pairgossip.study.protocol.spreading import Give, Have, Ids, Spreading, Want, decode_frame

MOST_OPEN = 8
"""Largest number of open questions of one member; more are not taken until some have ended."""


class Admission:
    """Decides on records from others."""

    def __init__(self, desk: Desk, lists: Lists, questions: Questions) -> None:
        self._desk, self._lists, self._questions = desk, lists, questions
        self._runs, self._archive = questions.runs, questions.archive

    def look_at(self, record: AnyRecord, now: int) -> AnyRecord | None:
        """Return a record if it is new, fits, and is genuine; otherwise None."""
        about = topic_of(record)
        if about in self._archive.lines or self._desk.store.find(digest_of(record)) is not None:
            return None
        certificate = self._find_certificate(record)
        if certificate is None or not self._fits(record, now):
            return None
        is_genuine = self._desk.keys.verify(certificate, payload_of(record), record.signature)
        return record if is_genuine else None

    def _find_certificate(self, record: AnyRecord) -> str | None:
        run: Run | None
        match record:
            case Question():
                about = record.list
            case Yes() | Ending() | Digests() | Echo() | Words() | Statement():
                run = self._runs.get(record.question)
                if run is None:
                    return None
                about = run.question.list
            case _:
                return self._lists.find_certificate(record)
        named = self._lists.known.get(about)
        if named is None or not self._lists.exists(about):
            return None
        card = named.cards.get(record.member)
        return None if card is None else card.certificate

    def _fits(self, record: AnyRecord, now: int) -> bool:
        if isinstance(record, Question):
            return self._is_in_turn(record) and self._is_asked_here(record, now)
        run = self._runs.get(topic_of(record))
        if run is None:
            return True
        if self._desk.me not in run.members:
            return isinstance(record, Yes)
        return self._fits_phase(record, run)

    def _is_in_turn(self, question: Question) -> bool:
        """Return whether its number is new, and its member does not have too many open."""
        if (question.member, question.number) in self._archive.numbers:
            return False
        own = [one for one in self._runs.values() if one.question.member == question.member]
        if any(one.question.number == question.number for one in own):
            return False
        return sum(one.ending is None and not one.is_done for one in own) < MOST_OPEN

    def _is_asked_here(self, question: Question, now: int) -> bool:
        """Return whether its member may ask this one; of others' questions only the past is
        learned.

        A member that has asked before it has heard of the present list gets a no.
        """
        if self._desk.me not in self._lists.known[question.list].ids:
            return True
        here, asker = self._lists.current, question.member
        is_there = here is not None and asker in here.ids
        return is_there and self._questions.pace.allows(asker, now)

    def _fits_phase(self, record: Any, run: Run) -> bool:
        match record:
            case Yes():
                is_about = run.question.adds and record.list == run.question.list
                is_told = self._questions.releases.are_announced(record)
                return is_about and is_told and ratchet.is_usable(record.key)
            case Ending():
                return record.kind != "withdrawn" or record.member == run.question.member
            case Digests() | Echo():
                return run.question.adds and record.round <= run.round + 1
            case Words():
                return run.is_committed_to(record)
        return True


_HALTED = "halted"
_MOST_REFUSED = 1 << 13
"""Largest number of digests of refused records that are remembered."""
_RESTORED = (
    "This peer has said something else before: its folder is a restored backup, and going on from "
    "it would show what it must not. Stop it for good, have the others evict it, and join anew."
)


class Hearing:
    """Takes records that fit and are genuine, and acts on them."""

    def __init__(
        self,
        desk: Desk,
        lists: Lists,
        questions: Questions,
        audience: Audience,
        spreading: Spreading,
    ) -> None:
        self._desk, self._lists, self._questions = desk, lists, questions
        self._audience, self._spreading = audience, spreading
        self._runs = questions.runs
        self._admission = Admission(desk, lists, questions)
        self._refused: set[bytes] = set()
        """Digests of others' records that were not taken: they do not make this member unsure."""

    def doubt_what_is_known(self) -> None:
        """Sign nothing about topics known before a start, until another has shown its records."""
        unsure = self._questions.unsure
        unsure.update(self._runs)
        if self._desk.store.all_of(NO_DIGEST) and self._audience.others():
            unsure.add(NO_DIGEST)
        self._lists.may_sign = NO_DIGEST not in unsure
        if _HALTED in self._desk.notes:
            self._desk.halted = _RESTORED

    def receive(self, sender: str, frame: bytes, now: int) -> Sequence[Action]:
        """Handle a frame of a member; a bad one changes nothing."""
        message = decode_frame(frame)
        if self._desk.halted is not None or message is None:
            return []
        if sender not in self._audience.others():
            return self._tell_former(sender) if isinstance(message, Have) else []
        match message:
            case Give():
                return self._take_all(message.records, now)
            case Have():
                answers = self._spreading.answer_have(sender, message)
                sure = [
                    one
                    for one in sorted(self._questions.unsure)
                    if message.topics.get(one) == self._desk.store.fingerprint(one)
                ]
            case Ids():
                answers = self._spreading.answer_ids(sender, message)
                sure = [message.topic] if self._has_all(message) else []
            case Want():
                answers = self._spreading.answer_want(sender, message)
                # A member that requests the question itself has no records about it.
                sure = [message.topic] if message.topic in message.digests else []
        if not self._spreading.is_fresh(message):
            return answers
        return [*answers, *self._make_sure(sure, now)]

    def _tell_former(self, sender: str) -> list[Action]:
        """Show a member that has left, or is evicted, the list without it."""
        here = self._lists.current
        if here is None or sender not in self._lists.former:
            return []
        signed = self._desk.store.all_of(NO_DIGEST)
        listed = [one for one in signed if one.slot[:2] == (here.digest, "assent")]
        return self._spreading.give(sender, [one.content for one in listed])

    # Records

    def _take_all(self, contents: Iterable[bytes], now: int) -> list[Action]:
        """Take new records, and act on their topics."""
        actions, touched = list[Action](), dict[bytes, None]()
        for content in contents:
            record = self._look_at(content, now)
            if record is None:
                continue
            if self._is_contradicted(record):
                return [*actions, *self._halt()]
            if saved := self._take(record, now):
                actions.append(saved)
                touched[about := topic_of(record)] = None
                if about in self._runs and self._desk.me not in self._runs[about].members:
                    # At once, so that its asker may have more open.
                    actions += self._questions.go_on([about], now)
        if not touched:
            return actions
        if NO_DIGEST in touched:
            actions += self._lists.sign_what_is_decided()
            actions += self._audience.follow_lists(now)
        return [*actions, *self._questions.go_on(touched, now), ContactSoon()]

    def _look_at(self, content: bytes, now: int) -> AnyRecord | None:
        """Return the records to take, and remember refused ones for a while."""
        try:
            record = decode(content)
        except BadRecord:
            return None
        looked_at = self._admission.look_at(record, now)
        if looked_at is None and record.member != self._desk.me:
            if len(self._refused) >= _MOST_REFUSED:
                self._refused.clear()
            self._refused.add(digest_of(record))
        return looked_at

    def _take(self, record: AnyRecord, now: int) -> Save | None:
        """Hold a record, of others or forgotten by this member."""
        about = topic_of(record)
        if isinstance(record, Words) and record.member == self._desk.me and not self._note(record):
            return None
        held = self._desk.store.add(record)
        if held is None:
            return None
        if isinstance(record, Question):
            self._questions.add(record)
        elif about == NO_DIGEST:
            self._lists.take(held)
        if record.member == self._desk.me:
            # It was forgotten here: so may be more.
            self._questions.unsure.add(about)
            self._lists.may_sign = NO_DIGEST not in self._questions.unsure
            if about in self._runs:
                self._runs[about].note_shown()
        return self._desk.save((Kept(encode(record)),), notes=self._note_taken(record, now))

    def _note_taken(self, record: AnyRecord, now: int) -> Mapping[str, bytes | None]:
        """Return the notes to write with a record."""
        if isinstance(record, Yes):
            return self._questions.releases.note_seen(record)
        if isinstance(record, Question) and self._desk.me in self._runs[digest_of(record)].members:
            return self._questions.pace.spend(record.member, now)
        return {}

    def _note(self, words: Words) -> bool:
        """Record words of this member's that others have: they were shown before a backup."""
        try:
            self._desk.site.note_disclosure(words.question, words.round, words.words)
        except InputError:  # they are given again
            return False
        return True

    def _is_contradicted(self, record: AnyRecord) -> bool:
        """Return whether this member has signed another record than the one here."""
        is_own = record.member == self._desk.me
        return is_own and bool(self._desk.store.said(topic_of(record), slot_of(record)))

    def _halt(self) -> list[Action]:
        """Stop for good, also after a start."""
        self._desk.halted = _RESTORED
        return [self._desk.save(notes={_HALTED: b"yes"}), Told("restored", sentence=_RESTORED)]

    def _has_all(self, ids: Ids) -> bool:
        find, refused = self._desk.store.find, self._refused
        return all(find(one) is not None or one in refused for one in ids.digests)

    def _make_sure(self, topics: Iterable[bytes], now: int) -> list[Action]:
        """Sign again about topics of which this member has forgotten nothing."""
        sure = [topic for topic in topics if topic in self._questions.unsure]
        self._questions.unsure.difference_update(sure)
        self._questions.renew(sure)
        actions: list[Action] = []
        if NO_DIGEST in sure:
            self._lists.may_sign = True
            actions += [*self._lists.sign_what_is_decided(), *self._audience.follow_lists(now)]
        return actions + self._questions.go_on(sure, now)
