"""A peer's place among others, from its folder: its own card, and its list."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import read_bytes
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.identity.members import check_address
from pairgossip.peer.identity.relays import refuse_address
from pairgossip.study.protocol.records import Assent, Card, MemberList, decode
from pairgossip.study.storage.folder import StudyHome
from pairgossip.text import TLS, parse_address

_LARGEST = 1 << 20
"""Largest size of a file, in bytes; a longer one is refused."""
EVERYWHERE = ("0.0.0.0", "::")
"""Addresses to listen at that do not show where a peer is."""


class _Invited(msgspec.Struct, frozen=True):
    """The contents of an invitation besides the peer's identity."""

    address: str | None
    least: tuple[int, int, int] | None = None
    """The least members, rows and rows of a cell; None before others are invited."""


class SignedList(msgspec.Struct, frozen=True):
    """The list of a peer, and the members that have signed it."""

    list: MemberList
    signatures: dict[str, bytes]


def find_address(home: StudyHome) -> str | None:
    """Return the address at which others reach this peer, None if they cannot.

    Raise `InputError` if it was not declared.
    """
    settings = home.read_settings()
    if settings.relay is not None:
        return None
    if (kept := _read_invited(home)) is not None:
        return kept.address
    listen = settings.listen
    host, port = parse_address(listen, TLS) or ("", 0)
    if host in EVERYWHERE:
        raise InputError(
            f"This peer listens everywhere ({listen}): say where others reach it with peer invite "
            f"--address tls/{home.folder.resolve().name}.example:{port}, or --unreachable."
        )
    return listen


def keep_address(home: StudyHome, address: str | None) -> None:
    """Note the address at which others reach this peer; refuse one that differs from the list's."""
    if address is not None:
        check_address(address)
    settings = home.read_settings()
    refuse_address(address, settings.relay)
    signed, me = read_list(home), settings.name
    for card in () if signed is None else signed.list.members:
        if card.name == me and card.address != address:
            raise InputError(
                f"All members have signed that '{me}' is at {card.address or 'no address'}: leave "
                "--address out, or have the others evict this peer and join again."
            )
    files.replace(_invited_file(home), msgspec.json.encode(_Invited(address)))


def find_card(home: StudyHome, identity: Identity) -> Card:
    """Return this peer as it stands on the list, or as its invitation has it.

    That stays, whatever its policy: otherwise others would wait for a card that nobody signs.
    """
    signed = read_list(home)
    listed = () if signed is None else signed.list.members
    for card in listed:
        if card.id == identity.id:
            return card
    kept = _read_invited(home)
    least = _least_of(home) if kept is None or kept.least is None else kept.least
    return Card(identity.id, identity.name, identity.certificate, find_address(home), *least)


def invite_card(home: StudyHome, identity: Identity) -> Card:
    """Return this peer as others are invited to put it on a list, by its policy of now."""
    invited = _Invited(find_address(home), _least_of(home))
    files.replace(_invited_file(home), msgspec.json.encode(invited))
    return find_card(home, identity)


def _least_of(home: StudyHome) -> tuple[int, int, int]:
    policy = home.read_settings().policy
    return policy.least_members, policy.least_rows, policy.least_cell


def keep_list(home: StudyHome, current: MemberList, records: Iterable[bytes]) -> None:
    """Keep the list with its signatures, which are among the records, for invitations."""
    signatures = {}
    for record in map(decode, records):
        if isinstance(record, Assent) and record.list == current:
            signatures[record.member] = record.signature
    content = msgspec.msgpack.encode(SignedList(current, signatures))
    files.replace(_list_file(home), content)


def read_list(home: StudyHome) -> SignedList | None:
    """Return the list that this peer is on; None before there is one."""
    file = _list_file(home)
    if not file.exists():
        return None
    try:
        return msgspec.msgpack.decode(read_bytes(file, _LARGEST), type=SignedList)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(f"{file} is no list of members: remove it, and run the peer.") from None


def _read_invited(home: StudyHome) -> _Invited | None:
    kept = _invited_file(home)
    if not kept.exists():
        return None
    description = "what others were invited by: remove it, and run peer invite again"
    return files.read_struct(kept, _LARGEST, _Invited, description)


def _invited_file(home: StudyHome) -> Path:
    return home.folder / "invited.json"


def _list_file(home: StudyHome) -> Path:
    return home.folder / "members.msgpack"
