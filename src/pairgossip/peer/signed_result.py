"""A result that can be handed on: what members found, signed by each of them, checked offline.

The last round of a run is a statement: every member contributes the canonical bytes of the result,
in clear, and signs them as it signs every contribution. So the signatures are there already; a
file of the result holds them beside the certificates of the members.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import NamedTuple

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_bytes, write_json_file
from pairgossip.peer.identity.certificates import (
    id_of_certificate,
    is_signed,
    name_in_certificate,
)
from pairgossip.peer.identity.members import PeerContext
from pairgossip.peer.protocol.messages import Contribution, signed_payload
from pairgossip.peer.protocol.program import Disagreement
from pairgossip.peer.protocol.state import SumsState
from pairgossip.peer.spec.spec import hash_of
from pairgossip.peer.sums.results import Result, decode_result

_FORMAT = "pairgossip-signed-result"
_VERSION = 1
_LARGEST = 1 << 26


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One member's word for the result."""

    certificate: str
    transcript: str
    """The digest of everything before, in base 64: the same at all members."""
    signature: str
    """In base 64."""


class SignedResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A result, and who has signed it."""

    format: str = _FORMAT
    version: int = _VERSION
    result: Result
    generation: int
    """As members' messages number it."""
    round: int
    """In which the result was stated."""
    signatures: dict[str, Signature]
    """By the members' ids."""


class Checked(NamedTuple):
    """What a check of a signed result has found."""

    result: Result
    signed: dict[str, str]
    """The names of the members that have signed, by their ids."""
    missing: list[str]
    """The ids of members that have not."""


def sign_result(context: PeerContext, state: SumsState) -> SignedResult:
    """Put together what this peer has stated in the last round, and who has stated the same.

    Raise `InputError` if it is not there yet.
    """
    last = max((number for number, _ in state.contributions), default=0)
    own = state.contributions.get((last, context.me))
    try:
        result = None if own is None else decode_result(own.public)
    except Disagreement:
        result = None
    if own is None or result is None:
        raise InputError(
            "Members have not stated their result yet: run the peer until its status says that "
            "the sums are complete."
        )
    return SignedResult(
        result=result,
        generation=state.generation,
        round=last,
        signatures={
            one.member: Signature(
                context.certificate_of(one.member), _text(one.transcript), _text(one.signature)
            )
            for (number, _), one in sorted(state.contributions.items())
            if number == last and one.public == own.public
        },
    )


def write_signed(signed: SignedResult, path: Path) -> None:
    """Write a signed result as JSON."""
    write_json_file(path, msgspec.to_builtins(signed))


def check_signed(path: Path) -> Checked:
    """Read a signed result and check every signature, with nothing but the file."""
    try:
        signed = msgspec.json.decode(read_bytes(path, _LARGEST), type=SignedResult)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(
            f"{path} is not a signed result: give one of peer result --json."
        ) from None
    if (signed.format, signed.version) != (_FORMAT, _VERSION):
        raise InputError(f"{path} is of another format or version: update pairgossip.")
    result = signed.result
    if hash_of(result.specification) != result.hash:
        raise InputError(f"{path} was altered: its specification is not that of its hash.")
    names = {}
    for member, given in signed.signatures.items():
        if member not in result.members:
            raise InputError(f"{path} was altered: {member[:16]} has signed but is no member.")
        if not _has_signed(signed, member, given):
            raise InputError(
                f"{path} was altered: the signature of {member[:16]} is not of this result."
            )
        names[member] = name_in_certificate(given.certificate)
    missing = sorted(result.members.keys() - names.keys())
    return Checked(result, names, missing)


def _has_signed(signed: SignedResult, member: str, given: Signature) -> bool:
    """Return whether a member's key has signed these bytes."""
    stated = Contribution(
        signed.generation,
        signed.round,
        member,
        _bytes(given.transcript),
        signed.result.encode(),
        b"",
        _bytes(given.signature),
    )
    payload = signed_payload(stated, signed.result.hash)
    return id_of_certificate(given.certificate) == member and is_signed(
        given.certificate, payload, stated.signature
    )


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
