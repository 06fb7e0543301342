"""The signatures of a study's members on an answer, checked with nothing but a file.

The forms are those of `pairgossip.study.protocol.records`, spelled out, so that a file stays
readable if the protocol changes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.identity.certificates import id_of_certificate, is_signed

if TYPE_CHECKING:
    from pairgossip.peer.sums.results import Result

_RECORD, _LIST = b"pairgossip study record 1\x00", b"pairgossip study list 1\x00"
_FIELDS, _DIGEST_SIZE = 11, 32
"""Number of fields of a question, and of bytes of a digest in one."""
SHORT_NAME = 12
"""Number of digits by which people call a question."""


class AskedIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The question of a study, and the members that were asked."""

    question: str
    """The signed question, in base 64."""
    members: str
    """The list of members, in base 64."""

    @property
    def name(self) -> bytes:
        """The name of the question: the digest of its signed part."""
        return hashlib.sha256(_signed_part(self._fields())).digest()

    @property
    def asker(self) -> str:
        """The id of the member that has asked."""
        return str(self._fields()[-2])

    @property
    def list(self) -> bytes:
        """The digest of the list of members at which it was asked."""
        return bytes(self._fields()[1])

    def describe_relations(self) -> Sequence[tuple[str, str]]:
        """Name the earlier question whose data this one corrects, as its asker says."""
        earlier = self._fields()[-3]
        return [] if earlier is None else [("corrects", f"question {earlier.hex()[:SHORT_NAME]}")]

    def _fields(self) -> Sequence[Any]:
        return _decode(self.question)

    def cards(self) -> dict[str, str]:
        """Return the certificates of the members by their ids."""
        members = _decode(self.members)[1]
        return {str(card[0]): str(card[2]) for card in members}


def check_asked(asked: AskedIn, result: Result) -> str | None:
    """Describe what is wrong with the question of a result; return None if nothing is."""
    try:
        question, cards = _decode(asked.question), asked.cards()
        (kind, members, _, text), (asker, signature) = question[:4], question[-2:]
        if (kind, len(question)) != ("question", _FIELDS) or not _is_relation(question[-3]):
            return "its question cannot be read"
        if members != hashlib.sha256(_LIST + _content(asked.members)).digest():
            return "its question was asked of another list of members"
        if text != result.specification:
            return "its question is another"
        if not result.generation.endswith(asked.name.hex()):  # type: ignore[union-attr]
            return "it answers another question"
        if cards.keys() != result.members.keys():
            return "its members are not those of the list"
        if any(id_of_certificate(it) != member for member, it in cards.items()):
            return "a certificate is not that of its member"
        if not is_signed(cards[asker], _signed_part(question), signature):
            return "its question is not signed by its member"
    except (ValueError, TypeError, LookupError, AttributeError, InputError, msgspec.MsgspecError):
        return "its question cannot be read"
    return None


def _is_relation(field: object) -> bool:
    return field is None or (isinstance(field, bytes) and len(field) == _DIGEST_SIZE)


def statement_payload(
    member: str, question: bytes, attempt: int, transcript: bytes, public: bytes
) -> bytes:
    """Return the bytes that a member signs to state a result."""
    return _signed_part(["statement", question, attempt, transcript, public, member, b""])


def _signed_part(fields: Sequence[Any]) -> bytes:
    return _RECORD + msgspec.msgpack.encode([*fields[:-1], b""])


def _decode(text: str) -> list[Any]:
    fields = msgspec.msgpack.decode(_content(text))
    if not isinstance(fields, list):
        raise ValueError("no record")
    return fields


def _content(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
