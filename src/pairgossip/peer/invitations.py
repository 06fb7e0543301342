"""Invitations: everything others need to know of a peer, as one line to copy and paste.

An invitation is signed by the key it tells, so nobody can alter one on its way. Whether it comes
from the right person is for the people who hand it over to see to.
"""

from __future__ import annotations

import base64
import binascii
from os import PathLike
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_bytes
from pairgossip.peer.certificates import id_of_certificate, is_signed
from pairgossip.peer.identity import Identity
from pairgossip.peer.members import Member, Members, check_address, check_member
from pairgossip.peer.spec import LARGEST_TEXT, Spec, differences, hash_of

PREFIX = "pairgossip-invitation-1:"
PURPOSE = b"pairgossip invitation 1\x00"
"""Signed along, so that no signature made for something else is ever taken for one of these."""
LARGEST_INVITATION = 1 << 18
ALTERED = "The invitation is incomplete or altered: copy it again as a whole."


class Invitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a peer tells of itself."""

    name: str
    id: str
    rows: int
    certificate: str
    address: str | None
    spec: str
    """The hash of its specification."""
    text: str
    """Its specification."""

    def member(self, is_neighbor: bool = True) -> Member:
        """Make an entry of the list of members of it."""
        return Member(self.id, self.name, self.rows, self.certificate, self.address, is_neighbor)


class _Sealed(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    body: bytes
    signature: bytes


def invitation(identity: Identity, spec: Spec, rows: int, address: str | None) -> str:
    """Write the invitation of a peer as one line."""
    if address is not None:
        check_address(address)
    told = Invitation(
        identity.name, identity.id, rows, identity.certificate, address, spec.hash, spec.text
    )
    body = msgspec.msgpack.encode(told)
    sealed = msgspec.msgpack.encode(_Sealed(body, identity.sign(PURPOSE + body)))
    return PREFIX + base64.urlsafe_b64encode(sealed).decode()


def read_invitation(text_or_path: str | PathLike[str]) -> Invitation:
    """Read an invitation, pasted or from a file, and check that nobody altered it."""
    sealed = _unwrapped(_line(text_or_path))
    try:
        told = msgspec.msgpack.decode(sealed.body, type=Invitation, strict=True)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(ALTERED) from None
    if id_of_certificate(told.certificate) != told.id or not is_signed(
        told.certificate, PURPOSE + sealed.body, sealed.signature
    ):
        raise InputError(ALTERED)
    if hash_of(told.text) != told.spec or len(told.text) > LARGEST_TEXT:
        raise InputError(ALTERED)
    check_member(told.member())
    return told


def admitted(
    members: Members, me: Identity, spec: Spec, invited: Invitation, is_neighbor: bool = True
) -> Members:
    """Return the list of members with the one invited; refuse oneself, and another run's."""
    if invited.id == me.id:
        raise InputError("This is this peer's own invitation: give it to the others.")
    if invited.name == me.name:
        raise InputError(f"This peer is called '{me.name}' too: one must take another name.")
    if invited.spec != spec.hash:
        reasons = " ".join(differences(spec.text, invited.text))
        raise InputError(f"'{invited.name}' runs another specification: {reasons}")
    return members.with_member(invited.member(is_neighbor))


def _line(text_or_path: str | PathLike[str]) -> str:
    given = str(text_or_path).strip()
    if given.startswith(PREFIX):
        return given
    file = Path(given)
    if not given or len(given) > 1000 or not file.is_file():
        raise InputError(
            f"{given[:40]!r} is neither an invitation nor a file with one: "
            f"an invitation begins with {PREFIX}"
        )
    if file.stat().st_size > LARGEST_INVITATION:
        raise InputError(f"{file} is too long for an invitation.")
    content = read_bytes(file).decode("ascii", errors="replace").strip()
    if not content.startswith(PREFIX):
        raise InputError(f"{file} holds no invitation: it must begin with {PREFIX}")
    return content


def _unwrapped(line: str) -> _Sealed:
    # Mail and chat programs break long lines.
    body = "".join(line.removeprefix(PREFIX).split())
    if len(body) > LARGEST_INVITATION:
        raise InputError("The invitation is too long to be one.")
    try:
        packed = base64.b64decode(body, altchars=b"-_", validate=True)
        sealed = msgspec.msgpack.decode(packed, type=_Sealed, strict=True)
    except (binascii.Error, ValueError, msgspec.MsgspecError, RecursionError):
        raise InputError(ALTERED) from None
    if base64.urlsafe_b64encode(packed).decode() != body:  # bits of the last letter go unread
        raise InputError(ALTERED)
    return sealed
