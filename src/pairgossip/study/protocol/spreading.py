"""The spread of records between members: set union of those that each may see, topic by topic.

At every contact a member sends each other member a fingerprint of each topic that both may see. If
fingerprints differ, the receiver sends the digests of its records (`Ids`); the sender gives the
missing records and requests those that it lacks. Own new records are given to all at once, so
usually nothing has to be requested. Union tolerates loss, repetition, reordering and restarts.

Archived topics are not in fingerprints any more. A member that still has one gets its remaining
records, and the fact that it has ended. The archive is compared as a whole, for members that came
later: they get the questions and yeses, whose releases they must know.

The answers to a member between two contacts are bounded in bytes, however often it asks.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import msgspec

from pairgossip.study.protocol.desk import Held, Store
from pairgossip.study.protocol.records import LONGEST_WORDS, VERSION, Digest, decode, digest_of
from pairgossip.study.protocol.site import Action, Send

LONGEST_FRAME = 1 << 20
"""Largest size of a frame, in bytes, if it does not give one record alone; a longer one is
refused."""
_LONGEST_GIVE = LONGEST_WORDS + 1_024
_MOST_TOPICS = 1 << 13
"""Largest number of topics or digests in a frame; more are refused, or sent later."""
_MOST_DIGESTS = 1 << 14
_MOST_BYTES = 1 << 22
"""Bytes of answers to a member between two contacts; the record that exceeds them is the last."""
_MOST_REPEATS = 3
"""Times that a member is sent the same record, or others are asked for one, between contacts."""
_SESSION = 8
_MOST_STRANGE = 256
"""Largest number of topics unknown here that a member is asked for at once."""
ARCHIVE = b"\xff" * 32
"""The topic that stands for the names of all archived questions."""

_Print = Annotated[bytes, msgspec.Meta(max_length=16)]


class _Frame(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=True):
    """The base of all frames."""


class Have(_Frame, frozen=True, tag="have"):
    """A fingerprint of each topic that a member has."""

    version: int
    topics: Annotated[dict[Digest, _Print], msgspec.Meta(max_length=_MOST_TOPICS)]
    archive: _Print
    session: _Print
    """Drawn at each start of the sender."""
    heard: _Print
    """The receiver's session, as the sender has heard it: so a frame from before a start is never
    taken for an answer after it."""


class Ids(_Frame, frozen=True, tag="ids"):
    """The digests of all records of a topic that a member has."""

    topic: Digest
    digests: Annotated[tuple[Digest, ...], msgspec.Meta(max_length=_MOST_DIGESTS)]
    is_over: bool
    """Whether the topic is archived there, so that its member needs no more of it."""
    heard: _Print


class Want(_Frame, frozen=True, tag="want"):
    """The digests of records that a member requests; for the archive, names of questions."""

    topic: Digest
    digests: Annotated[tuple[Digest, ...], msgspec.Meta(max_length=_MOST_DIGESTS)]
    heard: _Print


class Give(_Frame, frozen=True, tag="give"):
    """Records, each in the bytes that it always has."""

    records: Annotated[tuple[bytes, ...], msgspec.Meta(max_length=_MOST_DIGESTS)]


_DECODER: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Have | Ids | Want | Give)


def decode_frame(frame: bytes) -> Have | Ids | Want | Give | None:
    """Return the contents of a frame; None for bytes that are not a frame."""
    if len(frame) > _LONGEST_GIVE:
        return None
    try:
        message: Have | Ids | Want | Give = _DECODER.decode(frame)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return None
    is_single = isinstance(message, Give) and len(message.records) == 1
    return message if is_single or len(frame) <= LONGEST_FRAME else None


def encode_frame(message: Have | Ids | Want | Give) -> bytes:
    """Return the bytes of a frame."""
    return msgspec.msgpack.encode(message)


class Spreading:
    """All messages of this member to others: fingerprints, requests and records."""

    def __init__(
        self,
        store: Store,
        session: bytes,
        visible: Callable[[str], Iterable[bytes]],
        recall: Callable[[str, bytes], Sequence[bytes] | None],
        names: Callable[[str], Sequence[bytes]],
    ) -> None:
        self._store, self._visible, self._recall, self._names = store, visible, recall, names
        self._session = session[:_SESSION]
        self._sessions: dict[str, bytes] = {}
        self._spent: Counter[str] = Counter()
        self._given: Counter[tuple[str, bytes]] = Counter()
        self._asked: Counter[bytes] = Counter()

    def contact(self, others: Sequence[str]) -> list[Action]:
        """Send all others the fingerprints of this member's topics."""
        self._spent.clear()
        self._given.clear()
        self._asked.clear()
        return [Send(other, encode_frame(self._have(other))) for other in others]

    def _have(self, other: str) -> Have:
        topics = list(self._visible(other))[:_MOST_TOPICS]
        prints = {topic: self._store.fingerprint(topic) for topic in topics}
        heard = self._sessions.get(other, b"")
        return Have(VERSION, prints, self._print_archive(other), self._session, heard)

    def _print_archive(self, other: str) -> bytes:
        return hashlib.sha256(b"".join(sorted(self._names(other)))).digest()[:16]

    def publish(self, held: Held, others: Iterable[str]) -> list[Action]:
        """Give a new record to all that may see its topic."""
        frame = encode_frame(Give((held.content,)))
        return [Send(other, frame) for other in others]

    # Answers

    def answer_have(self, sender: str, have: Have) -> list[Action]:
        """Send the digests of topics that differ."""
        self._sessions[sender] = have.session
        if self._has_enough(sender):
            return []
        answers, mine = list[Action](), dict.fromkeys(self._visible(sender))
        for topic in mine:
            if have.topics.get(topic) != self._store.fingerprint(topic):
                answers += self._send(sender, self._ids(sender, topic, self._store.shown(topic)))
        strange = [topic for topic in have.topics if topic not in mine]
        for topic in strange[:_MOST_STRANGE]:
            answers += self._tell_over(sender, topic)
        if have.archive != self._print_archive(sender):
            answers += self._send(sender, self._ids(sender, ARCHIVE, self._names(sender)))
        return answers

    def _ids(
        self, sender: str, topic: bytes, digests: Sequence[bytes], *, is_over: bool = False
    ) -> Ids:
        heard = self._sessions.get(sender, b"")
        return Ids(topic, tuple(digests)[:_MOST_DIGESTS], is_over, heard)

    def is_fresh(self, message: Have | Ids | Want) -> bool:
        """Return whether a frame was sent after its sender had heard this member since its
        start."""
        return message.heard == self._session

    def _tell_over(self, sender: str, topic: bytes) -> list[Action]:
        """Send that a topic has ended, or that there are no records of it here."""
        left = self._recall(sender, topic)
        digests = () if left is None else tuple(map(_digest, left))
        return self._send(sender, self._ids(sender, topic, digests, is_over=left is not None))

    def answer_ids(self, sender: str, ids: Ids) -> list[Action]:
        """Give the records that are missing there, and request those missing here."""
        if self._has_enough(sender):
            return []
        if ids.topic == ARCHIVE:
            known = {*self._names(sender), *self._visible(sender)}
            return self._want(sender, ids.topic, [one for one in ids.digests if one not in known])
        if (left := self._recall(sender, ids.topic)) is not None:
            theirs = set(ids.digests)
            lacking = [one for one in left if _digest(one) not in theirs]
            return [] if ids.is_over else self.give(sender, lacking)
        answers, theirs = list[Action](), set(ids.digests)
        if ids.topic in set(self._visible(sender)) and not ids.is_over:
            shown = (one for one in self._store.all_of(ids.topic) if one.is_shown)
            answers += self.give(sender, [one.content for one in shown if one.digest not in theirs])
        lacking_here = [one for one in ids.digests if self._store.find(one) is None]
        return answers + self._want(sender, ids.topic, lacking_here)

    def answer_want(self, sender: str, want: Want) -> list[Action]:
        """Give the requested records."""
        if self._has_enough(sender):
            return []
        wanted = set(want.digests)
        if want.topic == ARCHIVE:
            left = [self._recall(sender, name) or () for name in want.digests[:_MOST_STRANGE]]
            return self.give(sender, [content for one in left for content in one])
        if (archived := self._recall(sender, want.topic)) is not None:
            return self.give(sender, [one for one in archived if _digest(one) in wanted])
        if want.topic not in set(self._visible(sender)):
            return []
        held = [one for one in self._store.all_of(want.topic) if one.digest in wanted]
        return self.give(sender, [one.content for one in held if one.is_shown])

    def _want(self, sender: str, topic: bytes, digests: Sequence[bytes]) -> list[Action]:
        """Request records that few others were asked for; one that sends none blocks nobody."""
        asked = [one for one in digests if self._asked[one] < _MOST_REPEATS]
        if not asked:
            return []
        self._asked.update(asked)
        return self._send(sender, Want(topic, tuple(asked), self._sessions.get(sender, b"")))

    def give(self, sender: str, contents: Sequence[bytes]) -> list[Action]:
        """Give records, each a few times between two contacts."""
        answers, together, size = list[Action](), list[bytes](), 0
        for content in contents:
            place = sender, hashlib.sha256(content).digest()
            if self._given[place] >= _MOST_REPEATS:
                continue
            self._given[place] += 1
            if together and size + len(content) > LONGEST_FRAME // 2:
                answers += self._send(sender, Give(tuple(together)))
                together, size = [], 0
            together.append(content)
            size += len(content) + 8
        return answers + (self._send(sender, Give(tuple(together))) if together else [])

    def _send(self, sender: str, message: Have | Ids | Want | Give) -> list[Action]:
        """Send an answer, if its receiver was not sent too much since the last contact."""
        if self._has_enough(sender):
            return []
        frame = encode_frame(message)
        self._spent[sender] += len(frame)
        return [Send(sender, frame)]

    def _has_enough(self, sender: str) -> bool:
        """Return whether a member gets no more before the next contact, so nothing is looked up."""
        return self._spent[sender] > _MOST_BYTES


def _digest(content: bytes) -> bytes:
    return digest_of(decode(content))
