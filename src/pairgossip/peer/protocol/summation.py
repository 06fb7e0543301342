"""The sums of one generation: a round after the other, from the contributions at hand.

How contributions get from member to member is in `rounds`.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.protocol import masks
from pairgossip.peer.protocol.consent import find_difference, refuse_sum
from pairgossip.peer.protocol.context import Context
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.held import Own
from pairgossip.peer.protocol.membership import Membership
from pairgossip.peer.protocol.messages import (
    Contribution,
    Notice,
    decode,
    encode,
    signed_payload,
    with_signature,
)
from pairgossip.peer.protocol.program import Ask, Disagreement, Kind, OtherTables, Program
from pairgossip.peer.protocol.state import (
    Consent,
    SaveSums,
    Send,
    Standing,
    SumsAction,
    SumsState,
)
from pairgossip.text import clean_text, join_names

COMMITMENT = 32
"""Bytes of the commitment to a member's rows, with which its card begins."""
MOST_NAMED = 5
"""Members that a sentence names; the rest are counted, or left out."""
_CARDS = Ask(Kind.CARDS, b"")


class Halt(NamedTuple):
    """Why a generation cannot go on, and whom that is about."""

    reason: Literal["lie", "list", "rounds", "repeated", "disagreement", "version", "tables"]
    members: tuple[str, ...] = ()
    detail: str = ""
    """The subject of the disagreement; it may quote a member's message."""


def explain_halt(halt: Halt, name: Callable[[str], str]) -> str:
    """Say why a generation stands still, and what to do; ``name`` gives members their names."""
    names = [f"'{name(one)}'" for one in halt.members[:MOST_NAMED]]
    who = join_names(names) if names else ""
    asks = "asks" if len(halt.members) == 1 else "ask"
    why, remedy = clean_text(halt.detail, 200), "see that all run the same version of pairgossip"
    match halt.reason:
        case "lie":
            return (
                f"{who} has signed two different contributions to one round, which proves a lie or "
                f"a copied folder; both are kept. Run: pairgossip peer evict "
                f"{name(halt.members[0])}."
            )
        case "rounds":
            return (
                "The rounds that the specification allows are used up: agree on more with "
                "algorithm.rounds."
            )
        case "repeated":
            return (
                f"{who} {asks} for something else than the others in one round after another: "
                f"{remedy}. What was contributed stands, so that only a new generation "
                "goes on: ask their operators first; pairgossip peer evict --help says what an "
                "eviction means."
            )
        case "list":
            return (
                "Sums over another list of members may be known: with those over the present one "
                "everybody could tell what the new ones contribute. Put the list of members "
                "back, or let all begin again from new folders."
            )
        case "version":
            return (
                "This peer has contributed to the present round what another version of pairgossip "
                f"computes ({why}): run that version again; until then "
                "the others wait, and nothing is lost."
            )
        case "tables":
            return (
                f"{who} {'goes' if len(halt.members) == 1 else 'go'} on from another table of "
                "counts than this peer, so that rows would count twice or never: a folder may be a "
                "restored backup. Results that were signed stay; ask their operators, and begin "
                "again from new folders."
            )
        case "disagreement" if who:
            return f"{who} {asks} for something else than this peer computes ({why}): {remedy}."
        case "disagreement":
            return (
                f"The sum cannot be that of the members' rows ({why}): one of them has contributed "
                "something else, and a sum does not tell who. Let all operators check their data "
                "and their version of pairgossip, and begin again from new folders."
            )


@dataclass
class Summation(Membership[SumsState]):
    """How far a peer is, what it contributes, and what follows from the contributions of all."""

    round: int = 0
    transcript: bytes = b""
    ask: Ask | None = _CARDS
    """The question of the present round; None if all is known."""
    halt: Halt | None = None
    declined: str | None = None
    """Why this peer's numbers could not be made, since the generation began or the peer started."""
    program: Program = field(init=False)
    members: tuple[str, ...] = ()
    _repeated: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._begin()

    def _begin(self) -> None:
        """Begin from the members' list, and go as far as the contributions at hand tell."""
        self.members = tuple(sorted(self.context.present_rows))
        self.program = self.context.make_program(self.state.generation, self.state.released)
        self.round, self.ask, self.halt, self._repeated = 0, _CARDS, None, False
        self.declined = None
        self.transcript = self._first_transcript()
        if self.state.proof is not None:
            self.halt = Halt("lie", (self.state.proof.first.member,))
        elif self._is_of_another_list():
            if any(one.words for one in self.state.contributions.values()):
                self.halt = Halt("list")
            else:
                self.state = replace(self.state, contributions={})
        while self._is_complete():
            self._finish_round()

    def _first_transcript(self) -> bytes:
        roster = tuple(sorted(self.context.present_rows.items()))
        named = (self.context.spec, self.state.generation, roster)
        return hashlib.sha256(b"pairgossip list 2\x00" + msgspec.msgpack.encode(named)).digest()

    def _is_of_another_list(self) -> bool:
        """Return whether members had committed to their rows for another list than the present."""
        cards = [self.contribution(one, 0) for one in self.members]
        return any(one is not None and one.transcript != self.transcript for one in cards)

    def contribution(self, member: str, number: int | None = None) -> Contribution | None:
        """Return what a member has contributed to a round, the present one unless told."""
        return self.state.contributions.get((self.round if number is None else number, member))

    @property
    def awaited(self) -> list[str]:
        """Members whose contributions to this round are not there yet."""
        if self.ask is None:
            return []
        return [one for one in self.members if self.contribution(one) is None]

    def _is_complete(self) -> bool:
        return self.halt is None and self.ask is not None and not self.awaited

    def refusal(self) -> str | None:
        """Say why this peer contributes nothing in this generation; None if it does."""
        return self.declined or self.context.refusal() or self.missing_consent()

    def missing_consent(self) -> str | None:
        """Say what has changed since this peer contributed, unless its operator has agreed."""
        return self._refuse(self.state, self.context)

    def describe_next(self) -> str | None:
        """Say what is different in a later generation that this peer does not follow yet."""
        notice = self.next_notice
        if notice is None:
            return None
        if self._is_leaving:
            name = self.context.name_member(notice.announcer)
            return (
                f"'{name}' has announced a generation without this peer, which goes on with the "
                "present one until all members have signed: stop it if the others have gone on."
            )
        later = replace(self.state, generation=notice.generation, consent=Consent())
        return self._refuse(later, self.context.with_changes(notice.changes))

    def _refuse(self, state: SumsState, context: Context) -> str | None:
        return refuse_sum(
            state,
            context.present_rows,
            context.rows,
            context.name_member,
            counts_once=context.rounds_sizes,
        )

    @property
    def next_notice(self) -> Notice | None:
        """The notice of a later generation, which waits for this peer's operator."""
        return read_next(self.state)

    @property
    def _is_leaving(self) -> bool:
        """Whether this peer is evicted once the present generation has come to its end."""
        notice = self.next_notice
        return notice is not None and self.context.me in notice.evicted

    def _leave(self, notice: Notice) -> list[SumsAction]:
        """Finish a sum that this peer has contributed to: the others need it for their result."""
        if not self._is_needed():
            return super()._leave(notice)
        if self._is_leaving:
            return []
        self.counts[Event.EVICTION_WAITS] += 1
        self.state = replace(self.state, next_notice=encode(notice))
        return [SaveSums(self.state, True)]

    @abstractmethod
    def _is_needed(self) -> bool:
        """Return whether others may need this peer for the result of the present generation."""

    @property
    def asks_consent(self) -> str | None:
        """The generation that waits for this peer's operator; None if none does."""
        if self._is_leaving:
            return None
        if (notice := self.next_notice) is not None:
            return notice.generation
        return None if self.missing_consent() is None else self.state.generation

    @property
    def _latest(self) -> Standing | Notice:
        return self.next_notice or self.state

    def _follow(self, notice: Notice) -> list[SumsAction]:
        """Stay in a generation that this peer has contributed to until its operator agrees."""
        if self.state.summed_in != self.state.generation:
            return super()._follow(notice)
        if self._is_leaving:
            return []
        later = self._combine(notice)
        if later is None:
            return []
        self.counts[Event.NOTICE_WAITS] += 1
        self.state = replace(self.state, next_notice=encode(later))
        # The others hear of it all the same: theirs may agree before this peer's operator does.
        notices = [Send(neighbor, later) for neighbor in self.present]
        return [SaveSums(self.state, True), *notices]

    # What the operator agrees to

    def evict(self, members: Collection[str]) -> list[SumsAction]:
        """Agree to go on without these members, and begin a generation unless others did."""
        consent = self.state.consent.with_changes(evicted=members)
        self.state = replace(self.state, consent=consent)
        return super().evict(members) or [SaveSums(self.state, True), *self._proceed()]

    def grow(self, own: Own) -> list[SumsAction]:
        """Agree to these rows of this peer's own, and begin a generation with them."""
        size = self.context.with_own(own).told_size
        consent = self.state.consent.with_changes(rows=[(self.context.me, size)])
        self.state = replace(self.state, consent=consent)
        return super().grow(own)

    def agree(self, generation: str) -> list[SumsAction]:
        """Agree to all that is different in a generation: the present one, or one that waits.

        Nothing is done if it is neither.
        """
        notice, context = self.next_notice, self.context
        if notice is not None and generation == notice.generation and not self._is_leaving:
            context = context.with_changes(notice.changes)
        elif generation != self.state.generation:
            self.counts[Event.OTHER_AGREEMENT] += 1
            return []
        grown = find_difference(self.state, context.present_rows, context.rows).grown
        rows = [(member, count) for member, (_, count) in grown.items()]
        consent = self.state.consent.with_changes(context.changes.evicted, rows)
        self.state = replace(self.state, consent=consent._replace(generation=generation))
        if notice is not None and generation == notice.generation:
            return self.begin_generation(notice)
        return [SaveSums(self.state, True), *self._proceed()]

    @abstractmethod
    def _proceed(self) -> list[SumsAction]:
        """Contribute and add up as long as all is there; then tell the neighbors."""

    def _finish_round(self) -> None:
        """Take the sum, and see what comes next."""
        assert self.ask is not None
        ask, kept = self.ask, self.state.contributions
        contributions = [kept[self.round, one] for one in self.members]
        digests = b"".join(self._digest(one) for one in contributions)
        self.transcript = hashlib.sha256(self.transcript + digests).digest()
        self.round += 1
        try:
            self.ask = self._next_ask(ask, contributions)
        except OtherTables as problem:
            self.halt = Halt("tables", problem.members)
        except Disagreement as problem:
            self.halt = Halt("disagreement", _ask_otherwise(ask, contributions), str(problem))
        if self.halt is None:
            self._keep_to_own_question()
        if self.ask is not None and self.round >= self.program.most_rounds and self.halt is None:
            self.halt = Halt("rounds")

    def _keep_to_own_question(self) -> None:
        """Ask what this peer has asked in this round before, if it has.

        After an update the same question may come out otherwise in the last digits. What was
        contributed stands: a second contribution would be a lie.
        """
        own = self.contribution(self.context.me)
        if own is None:
            return
        try:
            if self.ask is None:
                raise Disagreement("there is nothing left to ask")
            if own.public != self.ask.public:
                self.ask = self.program.follow(own.public, is_repeated=False)
            if len(own.words) != 8 * self.ask.words:
                raise Disagreement("another number of words")
        except Disagreement as problem:
            self.halt = Halt("version", detail=str(problem))

    def _next_ask(self, ask: Ask, contributions: list[Contribution]) -> Ask | None:
        if ask.kind is Kind.CARDS:
            cards = {one.member: one.public[COMMITMENT:] for one in contributions}
            if cards[self.context.me] != self.program.card():
                self.halt = Halt("version", detail="its own card")
                return ask
            self.program.take_cards(cards)
            return self.program.ask()
        is_different = any(one.public != contributions[0].public for one in contributions)
        if is_different and self._repeated:
            self.halt = Halt("repeated", _ask_otherwise(ask, contributions))
            return ask
        self._repeated = is_different
        if is_different:
            self.counts[Event.ROUND_REPEATED] += 1
            return self.program.follow(contributions[0].public)
        self.program.take(ask, masks.add_up((one.words for one in contributions), ask.words))
        return self.program.ask()

    def _digest(self, one: Contribution) -> bytes:
        return hashlib.sha256(signed_payload(one, self.context.spec)).digest()

    def _contribute(self) -> list[SumsAction]:
        """Make this peer's contribution, once; nothing leaves it before it is on the disk."""
        place = self.round, self.context.me
        if place in self.state.contributions or self.refusal() is not None:
            return []
        if self.round == 0 and not self._is_release_noted():
            return []
        assert self.ask is not None
        public, words = self.ask.public, b""
        if self.ask.kind is Kind.CARDS:
            secret = self.context.agree(self.context.me)
            public = masks.commit(secret, self.context.own_digest()) + self.program.card()
        elif self.ask.kind is Kind.SUM:
            others = [one for one in self.members if one != self.context.me]
            secrets = {one: self.context.agree(one) for one in others}
            asked = hashlib.sha256(self.transcript + self.ask.public).digest()
            hidden = masks.mask(self.context.me, secrets, asked, self.ask.words)
            try:
                numbers = self.program.contribute(self.ask)
            except InputError as problem:  # such as noise that the rows cannot pay for
                self.declined = str(problem)
                return []
            words = masks.pack(numbers + hidden)
            self.state = replace(
                self.state,
                summed_in=self.state.generation,
                summed=dict(self.context.present_rows),
            )
        # In one write with what is told of the rows, so that no crash forgets that they were.
        self.state = replace(self.state, released=self.program.released)
        unsigned = Contribution(
            self.state.generation, *place, self.transcript, public, words, signature=b""
        )
        contribution = with_signature(unsigned, self.context.spec, self.context.sign)
        return [self._keep(contribution, sync=True)]

    def _is_release_noted(self) -> bool:
        """See that it is on the disk that something of this peer's rows is told."""
        try:
            self.context.before_release()
        except InputError as problem:  # such as rows that another study was told of meanwhile
            self.declined = str(problem)
        return self.declined is None

    def _keep(self, contribution: Contribution, *, sync: bool) -> SaveSums:
        place = contribution.round, contribution.member
        kept = {**self.state.contributions, place: contribution}
        self.state = replace(self.state, contributions=kept)
        return SaveSums(self.state, sync, (place,))


def read_next(state: SumsState) -> Notice | None:
    """Return the notice of a later generation that waits for a peer's operator."""
    if not state.next_notice:
        return None
    notice = decode(state.next_notice, len(state.next_notice))
    assert isinstance(notice, Notice)
    return notice


def _ask_otherwise(ask: Ask, contributions: Iterable[Contribution]) -> tuple[str, ...]:
    """Return the members that ask for something else than this peer does."""
    return tuple(one.member for one in contributions if one.public != ask.public)
