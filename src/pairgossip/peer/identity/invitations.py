"""Invitations: everything that others need to know of a peer, as one line to copy and paste.

An invitation is signed by the key in it, so nobody can alter it on its way. Whether it comes from
the right person is for the people who hand it over to check. People send it by mail: it is found
between other words, with broken lines and marks of quotation.
"""

from __future__ import annotations

import base64
import contextlib
import quopri
import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_bytes
from pairgossip.peer.identity.certificates import id_of_certificate, is_signed
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.identity.members import Member, Members, check_address, check_member
from pairgossip.peer.specification.local_part import tell_size
from pairgossip.peer.specification.spec import LARGEST_TEXT, Spec, differences, hash_of

_PREFIX = "pairgossip-invitation-1:"
_PURPOSE = b"pairgossip invitation 1\x00"
"""Signed along, so that no signature made for something else is ever taken for one of these."""
_LARGEST_INVITATION = 1 << 18
"""Bytes of a file with invitations, or of one invitation; more are refused."""
_MOST_PIECES = 4_096
"""Pieces between blanks that are tried as parts of an invitation: its lines, and words after it."""
_LONGEST_WORD = 30
"""Letters of a piece; one that is longer was meant to be part of an invitation."""
_ALTERED = "The invitation is incomplete or altered: copy it again as a whole."
_LETTERS = re.compile(r"[A-Za-z0-9_=-]*")
_QUOTED = "<>|\"'`"
"""Marks with which mail and chat programs quote lines."""


class Invitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a peer that others join it by."""

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
    told = tell_size(spec, rows)
    content = Invitation(
        identity.name, identity.id, told, identity.certificate, address, spec.hash, spec.text
    )
    body = msgspec.msgpack.encode(content)
    sealed = msgspec.msgpack.encode(_Sealed(body, identity.sign(_PURPOSE + body)))
    return _PREFIX + base64.urlsafe_b64encode(sealed).decode()


def read_invitation(text_or_path: str | PathLike[str]) -> Invitation:
    """Read the first invitation in a text or a file, and check that nobody altered it."""
    return read_invitations(text_or_path)[0]


def read_invitations(text_or_path: str | PathLike[str]) -> list[Invitation]:
    """Read all invitations in a text or a file, each once, and check that nobody altered them."""
    _, *texts = find_text(text_or_path).split(_PREFIX)
    # Words about invitations may name the prefix.
    meant = [text for text in texts if max(map(len, _split(text)), default=0) > _LONGEST_WORD]
    all_invited = map(_check, map(_find_sealed, meant or texts[:1]))
    return list({invited.id: invited for invited in all_invited}.values())


def add_invited(
    members: Members, me: Identity, spec: Spec, invited: Invitation, is_neighbor: bool = True
) -> Members:
    """Return the list of members with the one invited; refuse oneself, and another run's."""
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


def find_text(text_or_path: str | PathLike[str]) -> str:
    """Return the text given, or that of the file given, which must hold an invitation."""
    text = str(text_or_path).strip()
    if _PREFIX in text:
        return text
    file = Path(text)
    if not text or len(text) > 1000 or not file.is_file():
        raise InputError(
            f"{text[:40]!r} is neither an invitation nor a file with one: "
            f"an invitation begins with {_PREFIX}"
        )
    if file.stat().st_size > _LARGEST_INVITATION:
        raise InputError(f"{file} is too long for an invitation.")
    content = read_bytes(file).decode("ascii", errors="replace")
    if _PREFIX not in content:
        raise InputError(f"{file} holds no invitation: one begins with {_PREFIX}")
    return content


def _split(text: str) -> Iterator[str]:
    """Yield the pieces of letters that may be parts of an invitation, up to other signs.

    Mail and chat programs break long lines, and quote them.
    """
    for piece in text.split():
        letters = piece.lstrip(_QUOTED)
        part = _LETTERS.match(letters)
        assert part is not None  # it may be empty
        if part[0]:
            yield part[0]
        if part[0] != letters:
            return


def _find_sealed(text: str) -> _Sealed:
    """Return what a text after the prefix holds, also as a saved mail encodes it."""
    saved = quopri.decodestring(text.encode("ascii", "replace")).decode("ascii", "replace")
    sealed = _join(list(_split(text))) or _join(list(_split(saved)))
    if sealed is None:
        raise InputError(_ALTERED)
    return sealed


def _join(pieces: list[str]) -> _Sealed | None:
    """Put the pieces together that are one invitation: words that follow may look like others.

    Letters are decoded as they come, so that a long text takes no longer than it is.
    """
    body, read, packed = "", 0, b""
    for piece in pieces[:_MOST_PIECES]:
        body += piece
        if len(body) > _LARGEST_INVITATION:
            raise InputError("The invitation is too long to be one.")
        if len(body) % 4:
            continue
        try:
            packed += base64.b64decode(body[read:], altchars=b"-_", validate=True)
        except ValueError:
            return None
        read = len(body)
        with contextlib.suppress(ValueError, msgspec.MsgspecError, RecursionError):
            sealed = msgspec.msgpack.decode(packed, type=_Sealed, strict=True)
            # Bits of the last letter go unread.
            if base64.urlsafe_b64encode(packed).decode() == body:
                return sealed
    return None


def _check(sealed: _Sealed) -> Invitation:
    """Return the invitation if it is whole and signed by its own key."""
    try:
        invited = msgspec.msgpack.decode(sealed.body, type=Invitation, strict=True)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(_ALTERED) from None
    if (
        id_of_certificate(invited.certificate) != invited.id
        or not is_signed(invited.certificate, _PURPOSE + sealed.body, sealed.signature)
        or hash_of(invited.text) != invited.spec
        or len(invited.text) > LARGEST_TEXT
    ):
        raise InputError(_ALTERED)
    check_member(invited.member())
    return invited
