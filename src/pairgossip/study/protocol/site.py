"""What a study asks of the machine it runs on: a decision, an offer, numbers; and what it asks for.

A site decides by its policy and by what was asked and released before, never by what its rows are:
else its refusals could be bisected for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import Rounds
from pairgossip.study.protocol.records import Card, Piece, Question, Yes


class Reserved(InputError):
    """A yes has to wait for another question's end; the sentence is for this operator alone."""

    def __init__(self, sentence: str, rival: bytes = b"") -> None:
        super().__init__(sentence)
        self.rival = rival
        """The name of that question, where it is known."""


class Verdict(NamedTuple):
    """An answer to a question by a site's operator: by policy, or by hand."""

    answer: Literal["yes", "no", "ask"]
    """"ask" waits for the operator."""
    because: str = ""


class Offer(NamedTuple):
    """The part of a yes that is about a site's rows."""

    disclosure: bytes
    """The digest of the words in which the operator was told what leaves."""
    commitment: bytes
    pieces: tuple[Piece, ...]
    card: bytes = b""
    version: str = ""
    """The version of the computation, which all members must have in common."""
    columns: frozenset[str] = frozenset()
    """The columns that are released of the pieces; a column always has the same name."""


class Site(Protocol):
    """One member's machine, as the rules of a study see it. Every method may raise `InputError`:
    the peer then ends the question with "cannot", or says the sentence to its operator."""

    def judge(self, name: bytes, question: Question) -> Verdict:
        """Say yes or no by policy, or ask the operator; never by what the rows are."""

    def offer(self, name: bytes, question: Question) -> Offer:
        """Read the rows, and say what this site adds; nothing leaves yet but this."""

    def make_program(self, name: bytes, question: Question, yeses: Mapping[str, Yes]) -> Rounds:
        """Return the computation that all members go through; by all yeses, in order of ids."""

    def note_disclosure(self, name: bytes, round_: int, words: bytes) -> None:
        """Write into the record of disclosures what is shown next; durable when it returns."""

    def finish(self, name: bytes, question: Question, transcript: bytes) -> None:
        """Take up the result that all members have signed: keep the table, end the entry."""

    def give_up(self, name: bytes, because: str, *, is_disclosed: bool) -> None:
        """Note that nothing comes of a question; words of it may have been shown."""

    def recall(self, name: bytes) -> Sequence[bytes]:
        """Return the archived records of a question, for a member that lacks them."""


class Kept(NamedTuple):
    """A record as it is kept."""

    content: bytes
    is_shown: bool = True
    """Whether others may have it; words wait until all have echoed."""


class Save(NamedTuple):
    """Write this down, on the disk before anything after it is sent.

    In this order, so that a crash in between loses nothing: secrets that are set; all else in one
    transaction; secrets that are erased.
    """

    records: tuple[Kept, ...] = ()
    """A record that is kept already is written again, in its old place, where it is shown now."""
    secrets: Mapping[str, bytes | None] = {}
    """Outside what is backed up; None erases."""
    forgotten: tuple[bytes, ...] = ()
    """Digests of records that are not needed any more, such as others' words."""
    notes: Mapping[str, bytes | None] = {}
    """Anything else by name, such as who is accepted by hand; None erases."""
    archived: bytes | None = None
    """A question that has come to its end: what is left of its records once those forgotten are
    gone is kept where it is not loaded any more, but for `Site.recall`."""


class State(NamedTuple):
    """All that a study has saved, as it is loaded."""

    records: tuple[Kept, ...] = ()
    """In the order in which they were saved first; none of archived questions."""
    secrets: Mapping[str, bytes] = {}
    notes: Mapping[str, bytes] = {}


class Send(NamedTuple):
    """Send a frame to a member; it may be lost."""

    to: str
    frame: bytes


class ContactSoon(NamedTuple):
    """Call `Study.contact` in a moment: there is news, and more may follow."""


class Reconnect(NamedTuple):
    """The members to be connected with have changed."""

    cards: tuple[Card, ...]


class Told(NamedTuple):
    """Something that operators should hear of."""

    event: str
    question: bytes | None = None
    sentence: str = ""


Action = Save | Send | ContactSoon | Reconnect | Told
Actions = Sequence[Action]
