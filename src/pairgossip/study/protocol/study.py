"""A study at one member: its list of members, and all its questions, without any input or output.

Events return actions, which are to be carried out in their order. Nothing that others send raises;
what the operator requests raises `InputError` where it cannot be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from pairgossip.study.protocol.records import Card, EndingKind, MemberList, Question
from pairgossip.study.protocol.site import Action, Site, State

LEAST_MEMBERS = 3
"""Members that an operator has accepted by hand, this one among them, before anything is asked."""


class Keys(NamedTuple):
    """What a member signs and checks with."""

    sign: Callable[[bytes], bytes]
    """Sign in the name of this member."""
    verify: Callable[[str, bytes, bytes], bool]
    """Return whether the holder of a certificate (PEM) has signed a payload."""
    draw_key: Callable[[], bytes]
    """Return 32 fresh random bytes, an X25519 private key."""


Phase = Literal["asked", "digests", "echoes", "words", "statements", "done", "ended"]


class Ended(NamedTuple):
    """Why a question has no result."""

    kind: EndingKind | Literal["lie", "left", "unfinished"]
    """"left": a member that is awaited is not on the list any more, and nothing was shown;
    "unfinished": the same after words were shown."""
    who: str
    """The id of the member that has ended it, or is the reason."""
    because: str


class Progress(NamedTuple):
    """How far a question is, as this member sees it."""

    name: bytes
    """The digest of its question."""
    question: Question
    phase: Phase
    yeses: tuple[str, ...]
    """Ids of members that have said yes."""
    awaited: tuple[str, ...]
    """Ids of members whose records are missing in the present phase."""
    round: int
    """0 until all have said yes."""
    ending: Ended | None
    is_disclosed: bool
    """Whether words of it were, or may have been, shown."""
    lie: str | None
    """The id of a member that has contradicted itself."""
    needs_operator: bool
    """Whether it waits for this member's operator."""


class Study:
    """One member's side of a study."""

    def __init__(
        self,
        me: Card,
        keys: Keys,
        site: Site,
        state: State,
        *,
        least_members: int = LEAST_MEMBERS,
    ) -> None:
        raise NotImplementedError

    # Views

    members: MemberList | None
    """The current list; None before the first exists."""
    name: bytes
    """The name of the study: the digest of its first list; `NO_DIGEST` before it exists."""
    halted: str | None
    """Why this peer has stopped for good; None unless its folder is a restored backup."""

    @property
    def proposals(self) -> tuple[MemberList, ...]:
        """Lists that some have signed, and not all."""
        raise NotImplementedError

    @property
    def accepted(self) -> tuple[Card, ...]:
        """Whom this operator has accepted by hand, and not evicted."""
        raise NotImplementedError

    def signers(self, proposal: MemberList) -> tuple[str, ...]:
        """Return the ids of those who have signed a list."""
        raise NotImplementedError

    def find_list(self, digest: bytes) -> MemberList | None:
        """Return a list that has existed here, by its digest."""
        raise NotImplementedError

    @property
    def questions(self) -> tuple[Progress, ...]:
        """Questions that are not archived, in the order in which they came."""
        raise NotImplementedError

    def question(self, name: bytes) -> Progress | None:
        """Return how far a question is; None if it is unknown, or archived."""
        raise NotImplementedError

    # Events

    def start(self, now: int) -> Sequence[Action]:
        """Begin, for the first time or again."""
        raise NotImplementedError

    def receive(self, sender: str, frame: bytes, now: int) -> Sequence[Action]:
        """Handle a frame of a member; a bad one changes nothing."""
        raise NotImplementedError

    def contact(self, now: int) -> Sequence[Action]:
        """Tell all others what is known here: every few seconds, and after `ContactSoon`."""
        raise NotImplementedError

    def tick(self, now: int) -> Sequence[Action]:
        """End own questions that have expired."""
        raise NotImplementedError

    # Requests of the operator

    def accept_card(self, card: Card) -> Sequence[Action]:
        """Accept a member by hand: it may be on this peer's lists from now on."""
        raise NotImplementedError

    def propose(self) -> Sequence[Action]:
        """Sign the list of all whom this operator has accepted, unless one waits for that."""
        raise NotImplementedError

    def evict(self, member: str) -> Sequence[Action]:
        """Sign the list without a member; it exists once all others have signed it."""
        raise NotImplementedError

    def leave(self) -> Sequence[Action]:
        """Ask the others to leave this member out of the next list."""
        raise NotImplementedError

    def ask(
        self,
        text: str,
        now: int,
        expires: int,
        *,
        reads: Sequence[bytes] = (),
        adds: bool = True,
        repeats: bytes | None = None,
        corrects: bytes | None = None,
    ) -> tuple[bytes, Sequence[Action]]:
        """Ask all members, and say yes; return the question's name, too."""
        raise NotImplementedError

    def accept(self, name: bytes, *, is_visible: bool = False) -> Sequence[Action]:
        """Say yes; if visible, even where differences tell this member's numbers."""
        raise NotImplementedError

    def refuse(self, name: bytes, because: str) -> Sequence[Action]:
        """Say no, which ends the question for all."""
        raise NotImplementedError

    def withdraw(self, name: bytes, because: str) -> Sequence[Action]:
        """End a question of one's own."""
        raise NotImplementedError
