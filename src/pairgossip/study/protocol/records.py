"""The signed records of a study: all binding statements of members to one another.

A record has the same bytes wherever it travels, and is identified by their digest. Records spread
by set union. Each has a *slot*, in which its member may sign one record only: two different records
of one member in one slot are proof of a lie. A record holds the digests of all that it depends on,
so no statement about one list, question or phase can be taken for one about another.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

DIGEST = 32
"""Number of bytes of a digest."""
VERSION = 1
"""Version of the records' form and of the rules; all members must have the same."""
MOST_MEMBERS = 100
"""Largest number of members of a study; a longer list is refused."""
LONGEST_TEXT = 60_000
"""Largest number of characters of a question's specification; a longer one is refused."""
LONGEST_SENTENCE = 2_000
"""Largest number of characters of a reason; a longer one is refused."""
MOST_PIECES = 1_000
"""Largest number of pieces of one member's rows in a question; more are refused."""
LONGEST_PUBLIC = 1 << 17
"""Largest clear part of a round, such as a model, in bytes; a longer one is refused."""
LONGEST_WORDS = 1 << 23
"""Largest size of a member's masked words in a round, in bytes; longer ones are refused."""
MOST_ROUNDS = 1 << 12
"""Largest number of rounds of a question; more are refused."""
_PURPOSE = b"pairgossip study record 1\x00"
"""Part of the signed bytes, so that signatures for other purposes are never taken for these."""

Digest = Annotated[bytes, msgspec.Meta(min_length=DIGEST, max_length=DIGEST)]
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Sentence = Annotated[str, msgspec.Meta(max_length=LONGEST_SENTENCE)]
Round = Annotated[int, msgspec.Meta(ge=0, le=MOST_ROUNDS)]
NO_DIGEST = bytes(DIGEST)
"""The absence of an earlier list: the parent of a study's first list."""


class Card(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A member's entry in the list."""

    id: Id
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    certificate: Annotated[str, msgspec.Meta(max_length=4_096)]
    address: Annotated[str, msgspec.Meta(max_length=300)] | None
    """The address at which it listens; None if only it connects to others."""
    least_members: Annotated[int, msgspec.Meta(ge=3, le=MOST_MEMBERS)] = 3
    """The least number of members whose rows are together in any number that becomes known."""
    least_rows: Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)] = 0
    least_cell: Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)] = 0
    """The least rows of a batch and of a cell; a list uses the largest of its cards."""


class MemberList(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, dict=True
):
    """A version of the list of members, which exists once all that it requires have signed it."""

    parent: Digest
    """The digest of the previous list; `NO_DIGEST` for the first."""
    members: Annotated[tuple[Card, ...], msgspec.Meta(max_length=MOST_MEMBERS)]
    """The members, by id."""
    attempt: Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)] = 0
    """Distinguishes it from a list of the same members that some member will never sign."""

    @cached_property
    def digest(self) -> bytes:
        """The name of this list; kept with it, as it is needed often."""
        content = msgspec.msgpack.encode(self)
        return hashlib.sha256(b"pairgossip study list 1\x00" + content).digest()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all members, in their order."""
        return tuple(card.id for card in self.members)

    @property
    def cards(self) -> dict[str, Card]:
        """All cards by id."""
        return {card.id: card for card in self.members}

    @property
    def least_members(self) -> int:
        """The least number of members whose rows are together in any number that becomes known."""
        return max((card.least_members for card in self.members), default=3)


class _Record(
    msgspec.Struct,
    frozen=True,
    array_like=True,
    forbid_unknown_fields=True,
    tag_field="record",
    kw_only=True,
):
    """The base of all records."""

    member: Id
    """The member that signs it."""
    signature: Annotated[bytes, msgspec.Meta(max_length=64)] = b""


class Assent(_Record, frozen=True, tag="assent"):
    """A member signs a list: of all that it signs and that may exist, each leads to the next."""

    list: MemberList


class Question(_Record, frozen=True, tag="question"):
    """A question of one member to all others."""

    list: Digest
    """The list of members at which it is asked."""
    number: Annotated[int, msgspec.Meta(ge=1, lt=1 << 31)]
    """A number that its member has not used before."""
    text: Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
    """The canonical text of the specification."""
    expires: Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)]
    """The time at which its member ends it if it has not begun, in seconds since 1970."""
    reads: tuple[Digest, ...] = ()
    """Completed questions whose tables are added up for the answer."""
    adds: bool = True
    """Whether rows are counted for it; if not, the tables that it reads are enough."""
    repeats: Digest | None = None
    """An unfinished question, whose words are contributed once more."""
    corrects: Digest | None = None
    """A question whose data were corrected since; results show the relation."""


class Piece(NamedTuple):
    """Rows of a member that were added together."""

    batch: Annotated[int, msgspec.Meta(ge=1, le=MOST_PIECES)]
    rows: Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)]
    """Rounded; 0 if it adds nothing, since it has too few rows."""


class Yes(_Record, frozen=True, tag="yes"):
    """A member will contribute; final."""

    question: Digest
    list: Digest
    disclosure: Digest
    """The digest of the words shown to its operator about what leaves."""
    commitment: Digest
    """A commitment to its rows, under its own secret."""
    pieces: Annotated[tuple[Piece, ...], msgspec.Meta(max_length=MOST_PIECES)]
    key: Digest
    """A fresh X25519 public key, for this question alone."""
    card: Annotated[bytes, msgspec.Meta(max_length=256)] = b""
    """Facts that the computation needs from each member beforehand."""
    version: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """The version of the computation."""
    released: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] = 0
    """The number of questions whose words it has shown."""
    seen: Annotated[dict[Id, int], msgspec.Meta(max_length=MOST_MEMBERS)] = {}
    """The largest `released` that it has seen signed by each other member."""
    totals_visible: bool = False
    """Whether the totals of its rows may become known by difference."""


EndingKind = Literal["no", "withdrawn", "expired", "cannot"]


class Ending(_Record, frozen=True, tag="ending"):
    """A member ends a question for all; void if all have echoed its last round."""

    question: Digest
    kind: EndingKind
    round: Round
    """The first round that this member will not echo."""
    because: Sentence


class Digests(_Record, frozen=True, tag="digest"):
    """A member commits to its masked words of a round, before it knows any others."""

    question: Digest
    round: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROUNDS)]
    before: Digest
    """The transcript of all before: the list, the question, all yeses, all rounds."""
    public: Annotated[bytes, msgspec.Meta(max_length=LONGEST_PUBLIC)]
    """The figures for the round's request, the same at all members except for rounding."""
    words: Digest


class Echo(_Record, frozen=True, tag="echo"):
    """A member has seen this set of digests, all of them, and will show its words."""

    question: Digest
    round: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROUNDS)]
    digests: Digest
    """The digest of all members' `Digests`."""


class Words(_Record, frozen=True, tag="words"):
    """A member's masked words; shown only once all have echoed the same set."""

    question: Digest
    round: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROUNDS)]
    words: Annotated[bytes, msgspec.Meta(max_length=LONGEST_WORDS)]


class Statement(_Record, frozen=True, tag="statement"):
    """A member signs the result."""

    question: Digest
    attempt: Annotated[int, msgspec.Meta(ge=0, le=1)]
    """1 where members' last digits differed, and all sign those of the lowest id."""
    transcript: Digest
    """The transcript of all rounds, or the question's name where tables are only read."""
    public: Annotated[bytes, msgspec.Meta(max_length=LONGEST_PUBLIC)]
    """The figures."""


class Leave(_Record, frozen=True, tag="leave"):
    """A member asks to be left out of the next list."""

    list: Digest
    totals_visible: bool = False
    """Whether its totals may become known by the difference that its leaving makes."""


class Never(_Record, frozen=True, tag="never"):
    """A member has not signed a list, and never will."""

    parent: Digest
    list: Digest


class Batch(_Record, frozen=True, tag="batch"):
    """A member announces rows, before any question is asked of them."""

    number: Annotated[int, msgspec.Meta(ge=1, le=MOST_PIECES)]
    rows: Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)]
    """Rounded."""
    commitment: Digest
    totals_visible: bool = False
    """Whether their totals may become known by difference."""


AnyRecord = (
    Assent | Question | Yes | Ending | Digests | Echo | Words | Statement | Leave | Never | Batch
)

Slot = tuple[bytes, str, int, str]
"""The list or question that a record is about, its kind, round and member."""


def topic_of(record: AnyRecord) -> bytes:
    """Return the topic of a record: a question, or `NO_DIGEST` for the members."""
    if isinstance(record, Question):
        return digest_of(record)
    if isinstance(record, Assent | Leave | Never | Batch):
        return NO_DIGEST
    return record.question


def slot_of(record: AnyRecord) -> Slot:
    """Return the slot of a record, in which its member may sign one record only."""
    kind, about, number = type(record).__name__.lower(), topic_of(record), 0
    match record:
        case Assent():
            about = record.list.digest
        case Never():
            about = record.list
        case Leave():  # that totals may be visible can be added later
            about, number = record.list, int(record.totals_visible)
        case Batch():  # the same
            number = record.number + (record.totals_visible << 16)
        case Digests() | Echo() | Words():
            number = record.round
        case Statement():
            number = record.attempt
    return about, kind, number, record.member


class BadRecord(Exception):
    """Bytes that are not a record; the message has the reason."""


def encode(record: AnyRecord) -> bytes:
    """Return the bytes of a record."""
    return msgspec.msgpack.encode(record)


_DECODER: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(AnyRecord)


def decode(content: bytes) -> AnyRecord:
    """Return the record of these bytes; raise `BadRecord` if they are not exactly its own."""
    try:
        record: AnyRecord = _DECODER.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise BadRecord(str(problem)) from None
    if encode(record) != content:
        raise BadRecord("it is not in its canonical form")
    return record


def digest_of(record: AnyRecord) -> bytes:
    """Return the name of a record; the name of a question identifies all that belongs to it.

    It is the digest of the signed bytes: another signature makes no other record.
    """
    return hashlib.sha256(payload_of(record)).digest()


def payload_of(record: AnyRecord) -> bytes:
    """Return the bytes that the record's member signs."""
    return _PURPOSE + encode(msgspec.structs.replace(record, signature=b""))
