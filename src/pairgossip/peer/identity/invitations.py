"""Invitations: everything that others need to know of a peer, as one line to copy and paste.

An invitation is signed by the key in it, so nobody can alter it on its way. The people who hand it
over must check that it comes from the right person. They may send it by mail: it is recognized
among other words, with broken lines and quotation marks.
"""

from __future__ import annotations

from os import PathLike

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.identity.armored import ALTERED, Sealed, read_armored, write_armored
from pairgossip.peer.identity.certificates import id_of_certificate, is_signed
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.identity.members import Member, Members, check_address, check_member
from pairgossip.peer.specification.spec import LARGEST_TEXT, Spec, differences, hash_of

PREFIX = "pairgossip-invitation-1:"
_PURPOSE = b"pairgossip invitation 1\x00"
"""Part of the signed bytes, so that signatures for other purposes are never taken for these."""


class Invitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a peer with which others join it."""

    name: str
    id: str
    rows: int
    certificate: str
    address: str | None
    spec: str
    """The hash of the specification."""
    text: str
    """The canonical text of the specification."""

    def member(self, is_neighbor: bool = True) -> Member:
        """Return an entry for the list of members."""
        return Member(self.id, self.name, self.rows, self.certificate, self.address, is_neighbor)


def invitation(identity: Identity, spec: Spec, rows: int, address: str | None) -> str:
    """Return the invitation of a peer as one line."""
    if address is not None:
        check_address(address)
    content = Invitation(
        identity.name, identity.id, rows, identity.certificate, address, spec.hash, spec.text
    )
    body = msgspec.msgpack.encode(content)
    return write_armored(PREFIX, Sealed(body, identity.sign(_PURPOSE + body)))


def read_invitation(text_or_path: str | PathLike[str]) -> Invitation:
    """Read the first invitation in a text or a file, and check its signature."""
    return read_invitations(text_or_path)[0]


def read_invitations(text_or_path: str | PathLike[str]) -> list[Invitation]:
    """Read all invitations in a text or a file, each once, and check their signatures."""
    invitations = map(_check, read_armored(PREFIX, text_or_path))
    return list({one.id: one for one in invitations}.values())


def add_invited(
    members: Members, me: Identity, spec: Spec, invited: Invitation, is_neighbor: bool = True
) -> Members:
    """Return the list with an invited member; refuse this peer, its name, and other runs."""
    if invited.id == me.id:
        raise InputError("This is this peer's own invitation: give it to the others.")
    if invited.name == me.name:
        raise InputError(f"This peer is called '{me.name}' too: one must take another name.")
    if invited.spec != spec.hash:
        reasons = " ".join(differences(spec.text, invited.text))
        raise InputError(
            f"'{invited.name}' runs another specification: {reasons} Nobody was taken up: agree on "
            "one file; whoever changes it makes a new peer and gives out a new invitation."
        )
    return members.with_member(invited.member(is_neighbor))


def _check(sealed: Sealed) -> Invitation:
    """Return the invitation in signed contents; refuse one that was altered."""
    try:
        invited = msgspec.msgpack.decode(sealed.body, type=Invitation, strict=True)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(ALTERED) from None
    if (
        id_of_certificate(invited.certificate) != invited.id
        or not is_signed(invited.certificate, _PURPOSE + sealed.body, sealed.signature)
        or hash_of(invited.text) != invited.spec
        or len(invited.text) > LARGEST_TEXT
    ):
        raise InputError(ALTERED)
    check_member(invited.member())
    return invited
