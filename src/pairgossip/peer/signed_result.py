"""A result that its members have signed, so that anybody can check it offline.

The last round of a run is a statement: every member contributes the figures of the result and the
digest of all else in it, in clear, and signs that as it signs every contribution. So the signatures
exist already; a file of the result holds them with the certificates of the members. Nothing is
handed on before all members have signed it.

Files of version 1 are those of pairgossip 0.2, where the name of a generation was a number. Those
of version 3 are answers to a study's questions, whose members sign statements (`signed_study`).
"""

from __future__ import annotations

import base64
import datetime
import hashlib
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_struct, write_json_file
from pairgossip.peer.identity.certificates import (
    id_of_certificate,
    is_signed,
    name_in_certificate,
)
from pairgossip.peer.signed_study import AskedIn, check_asked, statement_payload
from pairgossip.peer.specification.canonical_text import decode_spec, find_positive_class
from pairgossip.peer.specification.spec import hash_of
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.site_sums import Agreement, are_alike, are_possible, find_agreement
from pairgossip.text import join_first

FORMAT = "pairgossip-signed-result"
_VERSION = 2
"""Version of the files of a run; those from FIRST_VERSION on are read."""
STUDY_VERSION = 3
"""The version of the files of a study's questions."""
FIRST_VERSION = 1
"""The version of the files of pairgossip 0.2, whose sums revealed more than counts."""
_LARGEST_FILE = 1 << 26
"""Largest number of bytes of a file; a longer one is refused."""
_MOST_ROUNDS = 1 << 16
"""Largest number of rounds of one generation; a result of a later round is refused."""
_MOST_NAMED = 5
"""Largest number of members that a sentence names; it counts the rest."""
_MOST_GENERATIONS = 1 << 32
"""Largest number of generations; a result of a later one is refused."""


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One member's signature of the result."""

    certificate: str
    signature: str
    """The signature in base 64."""


class SignedResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A result with its signatures."""

    format: str = FORMAT
    version: int = _VERSION
    result: Result
    positive_class: str | float | None = None
    """The class that high scores indicate, by the specification; None unless there are two classes.
    """
    kept: Annotated[datetime.datetime, msgspec.Meta(tz=True)] | None = None
    """The time at which the writer of this had all signatures, by its clock; nobody signs it."""
    round: Annotated[int, msgspec.Meta(ge=0, le=_MOST_ROUNDS)]
    """The round in which the result was stated; in a study, the first or the second attempt."""
    transcript: str
    """The digest of everything before, in base 64: the same at all members."""
    signatures: dict[str, Signature]
    """The signatures, by the members' ids."""
    asked: AskedIn | None = None
    """The question and the list of members, of a study; None for a run."""
    agreement: Agreement | None = None
    """The agreement of sites, by the signed sums over sites; None without such sums."""
    table: str | None = None
    """The table of the result with its salt, in base 64; None unless its writer published it."""
    report: dict[str, Any] | None = None
    """The figures of the report, all computed from the table; None if the specification asks for
    none, or the table is not here."""


class Checked(NamedTuple):
    """The outcome of the check of a signed result."""

    result: Result
    signed: dict[str, str]
    """The names of the members that have signed, by their ids."""
    missing: list[str]
    """The ids of members that have not."""
    version: int = _VERSION
    """The version of the file."""
    kept: datetime.datetime | None = None
    """The time at which the peer that wrote the file had all signatures, by its clock."""
    asked: AskedIn | None = None
    """The question and the list of members, of a study; None for a run."""

    def require_all(self) -> None:
        """Raise `InputError` unless every member has signed."""
        if self.missing:
            names = join_first([one[:16] for one in self.missing[:_MOST_NAMED]], len(self.missing))
            raise InputError(
                f"{len(self.missing)} of {len(self.result.members)} members have not signed "
                f"({names}): ask for a file that all have signed."
            )


def publish_table(signed: SignedResult, table: bytes) -> SignedResult:
    """Return a result with the table from which it was computed."""
    return msgspec.structs.replace(signed, table=_text(table))


def published_table(signed: SignedResult) -> bytes:
    """Return the table that a result is published with; raise `InputError` if there is none."""
    if signed.table is None:
        raise InputError(
            "This file holds no table: ask a member for one of peer result --json --with-table."
        )
    return _bytes(signed.table)


def write_signed(signed: SignedResult, path: Path) -> None:
    """Write a signed result as JSON."""
    write_json_file(path, msgspec.to_builtins(signed))


def check_signed(path: Path) -> Checked:
    """Read a signed result and check every signature, from the file alone."""
    return check_signatures(read_signed(path), str(path))


def read_signed(path: Path) -> SignedResult:
    """Read a signed result; no signature is checked."""
    description = "a signed result: give a file that peer result --json has written"
    signed = read_struct(path, _LARGEST_FILE, SignedResult, description)
    if signed.format != FORMAT or not FIRST_VERSION <= signed.version <= STUDY_VERSION:
        raise InputError(
            f"{path} is no signed result of version {FIRST_VERSION} to {STUDY_VERSION}: check it "
            "with the version of pairgossip that has written it."
        )
    return signed


def check_signatures(signed: SignedResult, where: str) -> Checked:
    """Check every signature; raise `InputError` if one is not of this result."""
    result, names = signed.result, {}
    if not result.members:
        raise altered(where, "it names no members")
    if hash_of(result.specification) != result.hash:
        raise altered(where, "its specification is not that of its hash")
    try:
        decode_spec(result.specification)
    except InputError:
        raise altered(where, "its specification cannot be read") from None
    positive = find_positive_class(result.specification)
    if signed.positive_class != (positive if signed.version > FIRST_VERSION else None):
        raise altered(where, "its positive class is not that of its specification")
    if result.heterogeneity is not None and not are_possible(result.heterogeneity):
        raise altered(where, "no sites have its sums over sites")
    if not are_alike(signed.agreement, find_agreement(result.heterogeneity)):
        raise altered(where, "it says otherwise than its sums over sites")
    try:
        is_sound = 0 < result.ordinal <= _MOST_GENERATIONS
    except ValueError:
        is_sound = False
    if not is_sound:  # refused before anything uses it as a number
        raise altered(where, "its generation has no such name")
    if signed.table is not None:
        digest = hashlib.sha256(_bytes(signed.table)).hexdigest()
        if digest != result.table:
            raise altered(where, "its table is not the one that members have signed")
    if (signed.asked is not None) != (signed.version == STUDY_VERSION):
        raise altered(where, "it is of a study and of a run")
    if signed.asked is not None and (problem := check_asked(signed.asked, result)) is not None:
        raise altered(where, problem)
    for member, signature in signed.signatures.items():
        if member not in result.members:
            raise altered(where, f"{member[:16]} has signed but is no member")
        if not _has_signed(signed, member, signature):
            raise altered(where, f"the signature of {member[:16]} is not of this result")
        names[member] = name_in_certificate(signature.certificate)
    missing = sorted(result.members.keys() - names.keys())
    return Checked(result, names, missing, signed.version, signed.kept, signed.asked)


def altered(where: str, how: str) -> InputError:
    """Build the error for a file that somebody has changed."""
    return InputError(f"{where} was altered ({how}): ask for the original.")


def _has_signed(signed: SignedResult, member: str, entry: Signature) -> bool:
    """Return whether a member's key has signed these bytes."""
    try:
        payload, signature = _payload(signed, member), _bytes(entry.signature)
    except OverflowError:  # numbers that no member can have written
        return False
    return id_of_certificate(entry.certificate) == member and is_signed(
        entry.certificate, payload, signature
    )


def _payload(signed: SignedResult, member: str) -> bytes:
    """Return the bytes that a member signs, by the version of the file."""
    result, transcript = signed.result, _bytes(signed.transcript)
    if signed.asked is not None:
        name = signed.asked.name
        return statement_payload(member, name, signed.round, transcript, result.state())
    version = 1 if signed.version == FIRST_VERSION else 2
    fields = (result.hash, member, result.generation, signed.round, transcript, result.state(), b"")
    return b"pairgossip contribution %d\x00" % version + msgspec.msgpack.encode(fields)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
