"""What a peer's folder says of its place among others: its own card, and the list that it is on."""

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
from pairgossip.study.protocol.site import Kept
from pairgossip.study.site.folder import StudyHome
from pairgossip.text import TLS, parse_address

_LARGEST = 1 << 20
"""Bytes of a file; a longer one is refused."""
EVERYWHERE = ("0.0.0.0", "::")
"""Addresses to listen at that tell nobody where a peer is."""


class _Address(msgspec.Struct, frozen=True):
    address: str | None


class SignedList(msgspec.Struct, frozen=True):
    """The list that a peer is on, and who has signed it."""

    list: MemberList
    signatures: dict[str, bytes]


def find_address(home: StudyHome) -> str | None:
    """Return where others reach this peer, None where they cannot.

    Raise `InputError` if nobody has said so.
    """
    settings, kept = home.read_settings(), _address_file(home)
    if settings.relay is not None:
        return None
    if kept.exists():
        description = "where others reach this peer: run peer invite again"
        return files.read_struct(kept, _LARGEST, _Address, description).address
    listen = settings.listen
    host, port = parse_address(listen, TLS) or ("", 0)
    if host in EVERYWHERE:
        raise InputError(
            f"This peer listens everywhere ({listen}): say where others reach it with peer invite "
            f"--address tls/{home.folder.resolve().name}.example:{port}, or --unreachable."
        )
    return listen


def keep_address(home: StudyHome, address: str | None) -> None:
    """Note where others reach this peer; refuse another address than the list has."""
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
    files.replace(_address_file(home), msgspec.json.encode(_Address(address)))


def find_card(home: StudyHome, identity: Identity) -> Card:
    """Return this peer as it stands on the list, or as it is to stand on one.

    What all have signed stays: its address, and what its operator asked for then.
    """
    signed = read_list(home)
    listed = () if signed is None else signed.list.members
    for card in listed:
        if card.id == identity.id:
            return card
    policy = home.read_settings().policy
    return Card(
        identity.id,
        identity.name,
        identity.certificate,
        find_address(home),
        policy.least_members,
        policy.least_rows,
        policy.least_cell,
    )


def keep_list(home: StudyHome, current: MemberList, records: Iterable[Kept]) -> None:
    """Keep the list with its signatures, for invitations."""
    signatures = {}
    for kept in records:
        record = decode(kept.content)
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


def _address_file(home: StudyHome) -> Path:
    return home.folder / "address.json"


def _list_file(home: StudyHome) -> Path:
    return home.folder / "members.msgpack"
