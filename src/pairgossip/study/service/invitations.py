"""Invitations to a study: a member as others put it on their lists, and its own list.

A member that joins by them has seen the study's members, and that these have signed their list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.identity.armored import ALTERED, Sealed, read_armored, write_armored
from pairgossip.peer.identity.certificates import is_signed
from pairgossip.peer.identity.members import Member, check_member
from pairgossip.study.protocol.records import Assent, Card, MemberList, payload_of
from pairgossip.text import join_names

PREFIX = "pairgossip-study-invitation-1:"
_PURPOSE = b"pairgossip study invitation 1\x00"
"""Part of the signed bytes, so that signatures for other purposes are never taken for these."""


class Invitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A member, and its list."""

    card: Card
    list: MemberList | None = None
    """None where the member is on no list yet."""
    signatures: dict[str, bytes] = {}
    """The members' signatures of the list."""

    @property
    def assents(self) -> tuple[Assent, ...]:
        """The signatures as records."""
        if self.list is None:
            return ()
        signed = sorted(self.signatures.items())
        return tuple(Assent(member=one, signature=it, list=self.list) for one, it in signed)


def write_invitation(
    card: Card,
    sign: Callable[[bytes], bytes],
    current: MemberList | None = None,
    signatures: Mapping[str, bytes] | None = None,
) -> str:
    """Write the invitation of a member as one line; signatures are those of the list."""
    check_card(card)
    body = msgspec.msgpack.encode(Invitation(card, current, dict(signatures or {})))
    return write_armored(PREFIX, Sealed(body, sign(_PURPOSE + body)))


def read_invitations(text_or_path: str | PathLike[str]) -> list[Invitation]:
    """Read all invitations in a text or a file, each once, and check all signatures."""
    all_invited = map(_check, read_armored(PREFIX, text_or_path))
    return list({invited.card.id: invited for invited in all_invited}.values())


def as_member(card: Card) -> Member:
    """Return a card as the network takes it; a study knows no numbers of rows beforehand."""
    return Member(card.id, card.name, 1, card.certificate, card.address, True)


def check_card(card: Card) -> None:
    """Raise `InputError` if the parts of a card do not belong together."""
    check_member(as_member(card))


def refuse_same_names(invited: Iterable[Card], others: Iterable[Card]) -> None:
    """Refuse a member with the name of another one: no operator could tell them apart.

    Names that differ in capital letters alone are one name, as folders are on some systems.
    """
    cards = {card.id: card for card in others}
    for new in invited:
        for card in cards.values():
            if card.id != new.id and card.name.casefold() == new.name.casefold():
                raise InputError(_describe_same_names(card, new))
        cards[new.id] = new


def _describe_same_names(before: Card, new: Card) -> str:
    names = (
        f"'{new.name}'"
        if new.name == before.name
        else f"'{before.name}' and '{new.name}', which differ in capital letters alone"
    )
    return (
        f"Two members are called {names} (their ids begin with {before.id[:12]} and "
        f"{new.id[:12]}): one of the two must make its folder anew, with another --name, and "
        "invite all again. If the first is gone for good, evict it before the other joins."
    )


def _check(sealed: Sealed) -> Invitation:
    """Return the invitation if it is whole and signed by its own key, and its list by its
    members."""
    try:
        invited = msgspec.msgpack.decode(sealed.body, type=Invitation, strict=True)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(ALTERED) from None
    check_card(invited.card)
    if not is_signed(invited.card.certificate, _PURPOSE + sealed.body, sealed.signature):
        raise InputError(ALTERED)
    _check_list(invited)
    return invited


def _check_list(invited: Invitation) -> None:
    """Refuse a list that is not signed by all of its members, and by nobody else."""
    cards = {} if invited.list is None else {one.id: one for one in invited.list.members}
    for card in cards.values():
        check_card(card)
    for assent in invited.assents:
        signer = cards.get(assent.member)
        if signer is None or not is_signed(
            signer.certificate, payload_of(assent), assent.signature
        ):
            raise InputError(ALTERED)
    if missing := [card.name for card in cards.values() if card.id not in invited.signatures]:
        raise InputError(
            f"The invitation of '{invited.card.name}' has a list that "
            f"{join_names(sorted(missing))} did not sign: ask for a new invitation."
        )
