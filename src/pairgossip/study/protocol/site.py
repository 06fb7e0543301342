"""A study's view of its machine: a decision, an offer, numbers; and the actions it requests.

A site decides by its policy and by earlier questions and releases, never by its rows: otherwise its
refusals would reveal them by bisection.
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


class NotYet(InputError):
    """A request is refused only until this peer has heard from another.

    Before that it ends no question and signs no new list: it may have forgotten what it has said.
    """

    def __init__(self) -> None:
        super().__init__("This peer has not heard from another yet: try again in a moment.")


class Verdict(NamedTuple):
    """An answer to a question by a site's operator: by policy, or by hand."""

    answer: Literal["yes", "no", "ask"]
    """"ask" waits for the operator."""
    because: str = ""


class Offer(NamedTuple):
    """The part of a yes that is about a site's rows."""

    disclosure: bytes
    """The digest of the words shown to the operator about what leaves."""
    commitment: bytes
    pieces: tuple[Piece, ...]
    card: bytes = b""
    version: str = ""
    """The version of the computation, which all members must have in common."""
    columns: frozenset[str] = frozenset()
    """The columns of the pieces that are released; a column always has the same name."""


class Site(Protocol):
    """One member's machine, as the rules of a study see it. Every method may raise `InputError`:
    the peer then ends the question with "cannot", or shows the sentence to its operator."""

    def judge(self, name: bytes, question: Question) -> Verdict:
        """Return yes or no by policy, or ask the operator; never depending on the rows."""

    def offer(self, name: bytes, question: Question) -> Offer:
        """Read the rows, and return what this site adds; nothing else leaves yet."""

    def make_program(self, name: bytes, question: Question, yeses: Mapping[str, Yes]) -> Rounds:
        """Return the computation that all members go through; from all yeses, in order of ids."""

    def note_disclosure(self, name: bytes, round_: int, words: bytes) -> None:
        """Record the next disclosure; durable when it returns."""

    def finish(self, name: bytes, question: Question, transcript: bytes) -> None:
        """Take the result that all members have signed: keep the table, end the entry."""

    def give_up(self, name: bytes, because: str, *, is_disclosed: bool) -> None:
        """Note that a question ended without a result; words of it may have been shown."""

    def recall(self, name: bytes) -> Sequence[bytes]:
        """Return the archived records of a question, for a member that lacks them."""


class Kept(NamedTuple):
    """A record as it is saved."""

    content: bytes
    is_shown: bool = True
    """Whether others may have it; words wait until all have echoed."""


class Save(NamedTuple):
    """Write this, on the disk before anything after it is sent.

    It is written in this order, so that a crash in between loses nothing: secrets that are set; all
    else in one transaction; secrets that are erased.
    """

    records: tuple[Kept, ...] = ()
    """A saved record is written again, in its old place, if it is shown now."""
    secrets: Mapping[str, bytes | None] = {}
    """Secrets, outside of backups; None erases."""
    forgotten: tuple[bytes, ...] = ()
    """Digests of records that are not needed any more, such as others' words."""
    notes: Mapping[str, bytes | None] = {}
    """All other facts by name, such as members accepted by hand; None erases."""
    archived: bytes | None = None
    """A question that has ended: after `forgotten` ones are dropped, its records are kept for
    `Site.recall`, and not loaded any more."""


class State(NamedTuple):
    """All saved facts of a study, as they are loaded."""

    records: tuple[Kept, ...] = ()
    """The records in the order in which they were first saved; none of archived questions."""
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
    """News for operators."""

    event: str
    question: bytes | None = None
    sentence: str = ""


Action = Save | Send | ContactSoon | Reconnect | Told
Actions = Sequence[Action]
