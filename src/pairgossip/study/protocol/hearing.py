"""What others say: the records in their frames are taken, and this member goes on with them.

After a start nothing new is signed about what was known before, until another member has shown that
it knows of nothing that this one has forgotten: the folder may be a restored backup. If it is, and
this member has already said something else, it stops for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pairgossip.errors import InputError
from pairgossip.study.protocol.admission import Admission
from pairgossip.study.protocol.audience import Audience
from pairgossip.study.protocol.desk import Desk
from pairgossip.study.protocol.lists import Lists
from pairgossip.study.protocol.questions import Questions
from pairgossip.study.protocol.records import (
    NO_DIGEST,
    AnyRecord,
    BadRecord,
    Question,
    Words,
    Yes,
    decode,
    digest_of,
    encode,
    slot_of,
    topic_of,
)
from pairgossip.study.protocol.site import Action, ContactSoon, Kept, Save, Told
from pairgossip.study.protocol.spreading import Give, Have, Ids, Spreading, Want, decode_frame

_HALTED = "halted"
_MOST_REFUSED = 1 << 13
"""Digests of refused records that are remembered."""
_RESTORED = (
    "This peer has said something else before: its folder is a restored backup, and going on from "
    "it would show what it must not. Stop it for good, have the others evict it, and join anew."
)


class Hearing:
    """Takes what fits and is genuine, and tells what follows from it."""

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
        """Digests of records of others that were not taken: they do not make this one unsure."""

    def doubt_what_is_known(self) -> None:
        """Sign nothing of what was known before a start, until another has shown what it has."""
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
                # Who asks for the question itself has nothing that is about it.
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
        return [send for one in listed for send in self._spreading.publish(one, [sender])]

    # Records

    def _take_all(self, contents: Iterable[bytes], now: int) -> list[Action]:
        """Take what is new, and go on with what it is about."""
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
        """Return what is to be taken, and remember for a while what is not."""
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
        """Return what is written down of a record beside itself."""
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
        """Whether this member has said something else than what is here of it."""
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
        """Sign again what is about topics of which this member has forgotten nothing."""
        sure = [topic for topic in topics if topic in self._questions.unsure]
        self._questions.unsure.difference_update(sure)
        self._questions.renew(sure)
        actions: list[Action] = []
        if NO_DIGEST in sure:
            self._lists.may_sign = True
            actions += [*self._lists.sign_what_is_decided(), *self._audience.follow_lists(now)]
        return actions + self._questions.go_on(sure, now)
