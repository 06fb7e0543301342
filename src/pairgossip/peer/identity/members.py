"""The members of a run, an explicit list that no message can change, and a real peer's context.

In this context messages are signed with the peer's key and checked against the members' keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_bytes, write_json_file
from pairgossip.peer.identity.certificates import (
    id_of_certificate,
    is_name,
    is_signed,
    name_in_certificate,
    sealing_key_of,
)
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.protocol.context import NO_CHANGES, Context
from pairgossip.peer.protocol.messages import MOST_ROWS, Changes, Rows
from pairgossip.peer.protocol.rules import Rule
from pairgossip.peer.specification.local_part import rule_for
from pairgossip.peer.specification.spec import Spec
from pairgossip.text import LARGEST_PORT, TLS, format_count, parse_address

_LARGEST_ADDRESS = 300
"""Largest number of characters of an address; a longer one is refused."""
_LARGEST_FILE = 1 << 26
"""Largest size of a list of members in bytes, enough for ten thousand; a longer one is refused."""


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A member in the list of another peer."""

    id: str
    name: str
    rows: int
    """The number of rows with which it began; the generation shows whether it has more now."""
    certificate: str
    address: str | None
    """The address at which it listens; None if only it connects to others."""
    is_neighbor: bool
    """Whether the peer exchanges with it; records of all other members pass through as well."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    members: tuple[Member, ...]


class Members(msgspec.Struct, frozen=True):
    """All members but this peer itself."""

    listed: tuple[Member, ...] = ()

    @classmethod
    def load(cls, path: Path) -> Members:
        """Read a list; raise `InputError` if it is invalid."""
        try:
            file = msgspec.json.decode(read_bytes(path, _LARGEST_FILE), type=_File, strict=True)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
            raise InputError(f"{path} is not a list of members: {problem}.") from None
        ids, names = set[str](), set[str]()
        try:
            for member in file.members:
                check_member(member)
                if member.id in ids:
                    raise InputError(f"Member '{member.name}' is listed twice: remove one.")
                if member.name in names:
                    raise _same_name(member.name)
                ids.add(member.id)
                names.add(member.name)
        except InputError as problem:
            raise problem.at(path) from None
        return cls(file.members)

    def save(self, path: Path) -> None:
        """Write the list; a failure leaves the earlier file."""
        write_json_file(path, {"members": msgspec.to_builtins(self.listed)})

    def with_member(self, member: Member) -> Members:
        """Return the list with a new member, or with a new entry of the same member."""
        check_member(member)
        before = next((one for one in self.listed if one.id == member.id), None)
        if before is not None and before.rows != member.rows:
            raise InputError(
                f"Member '{before.name}' began with {format_count(before.rows, 'row')}, not "
                f"{member.rows}: it was "
                f"made again with other rows, so it must join under a new identity."
            )
        if any(one.name == member.name for one in self.listed if one.id != member.id):
            raise _same_name(member.name)
        if before is None:
            return Members((*self.listed, member))
        return Members(tuple(member if one.id == member.id else one for one in self.listed))

    def neighbors(self) -> tuple[Member, ...]:
        """Return the members that this peer exchanges with, in the order of their ids."""
        return tuple(
            sorted((one for one in self.listed if one.is_neighbor), key=lambda one: one.id)
        )

    def names(self) -> Mapping[str, str]:
        """Return the members' names by their ids."""
        return {member.id: member.name for member in self.listed}


def _same_name(name: str) -> InputError:
    return InputError(
        f"Another member is called '{name}' already: one of them must take another name."
    )


def check_member(member: Member) -> None:
    """Raise `InputError` if the fields of a member do not match, or one is not valid."""
    if not is_name(member.name):
        raise InputError(f"{member.name[:64]!r} is not a valid name of a member.")
    try:
        its_id = id_of_certificate(member.certificate)
        its_name = name_in_certificate(member.certificate)
        sealing_key_of(member.certificate)
    except InputError as problem:
        raise problem.at(f"Member '{member.name}'") from None
    if its_id != member.id:
        raise InputError(f"The certificate of member '{member.name}' is not that of its id.")
    if its_name != member.name:
        raise InputError(
            f"Member '{member.name}' is called '{its_name}' in its certificate: use that name, or "
            "ask for a new invitation."
        )
    if not 1 <= member.rows <= MOST_ROWS:
        raise InputError(
            f"Member '{member.name}' has {member.rows} rows: it must have 1 to {MOST_ROWS}."
        )
    if member.address is not None:
        check_address(member.address)


def check_address(address: str) -> str:
    """Return an address at which a peer listens; raise `InputError` if it is not valid."""
    parsed = parse_address(address, TLS) if len(address) <= _LARGEST_ADDRESS else None
    port = address.rpartition(":")[2]
    if parsed is None and port.isdecimal() and len(port) <= 20 and int(port) > LARGEST_PORT:
        raise InputError(
            f"{address[:64]!r} is not an address: give a port from 1 to {LARGEST_PORT}."
        )
    if parsed is None or parsed[1] == 0:
        raise InputError(
            f"{address[:64]!r} is not an address: write it as tls/HOST:PORT, such as "
            f"tls/192.168.1.5:7447."
        )
    return address


@dataclass(frozen=True, kw_only=True)
class PeerContext(Context):
    """A context with the peer's identity, its list of members and the specification."""

    identity: Identity
    members: Members
    agreed: Spec

    def sign(self, payload: bytes) -> bytes:
        """Sign with the peer's key."""
        return self.identity.sign(payload)

    def verify(self, member: str, payload: bytes, signature: bytes) -> bool:
        """Return whether a member, or the peer itself, has signed a payload."""
        certificate = self._certificates.get(member)
        return certificate is not None and is_signed(certificate, payload, signature)

    @cached_property
    def _certificates(self) -> Mapping[str, str]:
        certificates = {member.id: member.certificate for member in self.members.listed}
        return {**certificates, self.me: self.identity.certificate}

    def certificate_of(self, member: str) -> str:
        """Return the certificate of a member, or of the peer itself."""
        return self._certificates[member]

    def name_member(self, member: str) -> str:
        """Return the name of a member, or its id if it is not in the list."""
        return self._names.get(member, member)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return {**self.members.names(), self.me: self.identity.name}

    @cached_property
    def rule(self) -> Rule:
        """The local update of a row, for the neighbors and rows that there are now."""
        left = [one for one in self.neighbors if one not in self.changes.evicted]
        degree = sum(map(self.link_weight, left))
        return rule_for(self.agreed, degree, len(self.own), self.rows_gone())

    def link_weight(self, neighbor: str) -> float:
        """Return the relative rate of the link to a neighbor."""
        return self.agreed.link_weight(self.identity.name, self.name_member(neighbor))


def make_context(
    identity: Identity,
    spec: Spec,
    own: Rows,
    members: Members,
    draw_seed: int = 0,
    changes: Changes = NO_CHANGES,
) -> PeerContext:
    """Return everything that a peer needs for its exchanges."""
    rows = {**{one.id: one.rows for one in members.listed}, identity.id: len(own)}
    context = PeerContext(
        me=identity.id,
        neighbors=tuple(member.id for member in members.neighbors()),
        spec=spec.hash,
        text=spec.text,
        own=own,
        rows=rows,
        limits=spec.limits,
        is_private=spec.is_private,
        draw_seed=draw_seed,
        identity=identity,
        members=members,
        agreed=spec,
    )
    return context.with_changes(changes)
