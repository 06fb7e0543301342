"""The members of a run, an explicit list that no message can change; and a context.

The context is what a real peer exchanges by: signed with its key, checked against the members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

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
from pairgossip.peer.protocol import masks
from pairgossip.peer.protocol.context import NO_CHANGES, Context
from pairgossip.peer.protocol.held import Batch, Held, Own
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    MOST_ROWS,
    Changes,
    sums_frame_limit,
)
from pairgossip.peer.protocol.program import LEAST_MEMBERS as LEAST_MEMBERS
from pairgossip.peer.protocol.rules import Rule
from pairgossip.peer.protocol.state import Released
from pairgossip.peer.specification.local_part import program_for, rule_for
from pairgossip.peer.specification.spec import Spec
from pairgossip.text import TLS, format_count, parse_address

if TYPE_CHECKING:
    from pairgossip.peer.sums.programs import SumsProgram

KeepNoise = Callable[[NDArray[np.float64], Mapping[str, int], bytes, int], NDArray[np.int64]]
"""``keep(rows, members, question, counts)``: what is added to counts in a sum over members."""
LEAST_ROWS = 10
"""Default for the least rows of a site and class behind a total, and of all but the largest
member."""

_LARGEST_ADDRESS = 300
"""Characters of an address; a longer one is refused."""
_LARGEST_FILE = 1 << 26
"""Bytes of a list of members: those of some ten thousand."""


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One member as this peer knows it."""

    id: str
    name: str
    rows: int
    """How many it began with; that it has more by now is known from the generation."""
    certificate: str
    address: str | None
    """Where it listens; None if it is the one that connects."""
    is_neighbor: bool
    """Whether this peer talks to it; the records of other members pass through as well."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    members: tuple[Member, ...]


class Members(msgspec.Struct, frozen=True):
    """All members but this peer itself."""

    listed: tuple[Member, ...] = ()

    @classmethod
    def load(cls, path: Path) -> Members:
        """Read the list, or say what is wrong with it."""
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
        """Write the list so that a failure leaves the one before."""
        write_json_file(path, {"members": msgspec.to_builtins(self.listed)})

    def with_member(self, member: Member) -> Members:
        """Return the list with a member added, or with what is newly known about one."""
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
        """The members that this peer talks to, in the order of their ids."""
        return tuple(
            sorted((one for one in self.listed if one.is_neighbor), key=lambda one: one.id)
        )

    def names(self) -> Mapping[str, str]:
        """The members' names by their ids."""
        return {member.id: member.name for member in self.listed}


def _same_name(name: str) -> InputError:
    return InputError(
        f"Another member is called '{name}' already: one of them must take another name."
    )


def check_member(member: Member) -> None:
    """Raise `InputError` if the parts of a member do not belong together."""
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
    """Return an address where a peer listens, or say what addresses are like."""
    parsed = parse_address(address, TLS) if len(address) <= _LARGEST_ADDRESS else None
    if parsed is None or parsed[1] == 0:
        raise InputError(
            f"{address[:64]!r} is not an address: write it as tls/HOST:PORT, such as "
            f"tls/192.168.1.5:7447."
        )
    return address


def _without_ledger(*_: object) -> NDArray[np.int64]:
    """Draw nothing: only a peer that runs contributes."""
    raise InputError("Noise is drawn by a peer that runs, and kept in its ledger: run it.")


@dataclass(frozen=True, kw_only=True)
class PeerContext(Context):
    """A context with the peer's identity, the list of members and the specification inside."""

    identity: Identity
    members: Members
    agreed: Spec
    least_members: int = LEAST_MEMBERS
    """Fewer members than this are too few to hide among in a sum."""
    least_rows: int = LEAST_ROWS
    """Fewer rows of this site and class, or of all members but the largest, are too few."""
    allow: tuple[str, ...] = ()
    """Losses that the operator allows though their sums can locate a row."""
    show: bool = False
    """Whether this site shows its own line where sites are compared."""
    noise: KeepNoise = _without_ledger
    """Gives the noise of a sum, drawn once and kept, where the specification asks for it."""
    release: Callable[[], None] | None = None
    """Notes that something of the own rows is told, where tables of counts are released."""

    @property
    def most_rows(self) -> int:
        """How many rows a member may have."""
        return self.agreed.most_rows(len(self.rows))

    @property
    def held(self) -> Held:
        """What the peer holds of its own rows, where sums are computed."""
        return cast(Held, self.own)

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The peer's own rows, as far as its state keeps them where sums are computed."""
        return self.held.batches if isinstance(self.own, Held) else ()

    def own_digest(self) -> bytes:
        """Return the digest of the peer's rows, which nobody else is told."""
        return self.held.digest()

    def before_release(self) -> None:
        """Note that something of this peer's rows is told now; raise `InputError` to keep it."""
        if self.release is not None:
            self.release()

    def sign(self, payload: bytes) -> bytes:
        """Sign with the peer's key."""
        return self.identity.sign(payload)

    def verify(self, member: str, payload: bytes, signature: bytes) -> bool:
        """Check a signature against the certificate of a member, or of the peer itself."""
        certificate = self._certificates.get(member)
        return certificate is not None and is_signed(certificate, payload, signature)

    @cached_property
    def _certificates(self) -> Mapping[str, str]:
        certificates = {member.id: member.certificate for member in self.members.listed}
        return {**certificates, self.me: self.identity.certificate}

    @cached_property
    def frame_limit(self) -> int:
        """How long a frame of this run can be."""
        if not self.agreed.is_sums:
            return super().frame_limit
        return sums_frame_limit(self.make_program().longest, len(self.rows))

    def certificate_of(self, member: str) -> str:
        """Return the certificate of a member, or of the peer itself."""
        return self._certificates[member]

    def agree(self, member: str) -> bytes:
        """Return the secret that this peer shares with a member, or with nobody but itself."""
        return self.identity.agree(sealing_key_of(self._certificates[member]))

    def name_member(self, member: str) -> str:
        """Return the name of a member, or its id if it is not listed any more."""
        return self._names.get(member, member)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return {**self.members.names(), self.me: self.identity.name}

    def refusal(self) -> str | None:
        """Say why this peer contributes nothing to a sum over too few."""
        members = len(self.present_rows)
        # A member can claim any number of rows, so the largest does not count.
        rows = sum(self.present_rows.values()) - max(self.present_rows.values(), default=0)
        if members < self.least_members:
            return (
                f"The run has only {format_count(members, 'member')}, and this peer contributes "
                f"among {self.least_members} or more: wait for others to join, or change "
                "least_members in peer.toml."
            )
        if members < (least := self.agreed.least_sites):
            return (
                f"The run has only {format_count(members, 'member')}, and rows are counted in "
                f"blocks among {least} or more: wait for others to join, or agree on "
                "algorithm.least_cell = 1, which counts cells as they are."
            )
        if rows < self.least_rows:
            return (
                f"All members but the largest together have {format_count(rows, 'row')}, and this "
                f"peer contributes among {self.least_rows} or more: wait for more rows, or change "
                "least_rows in peer.toml."
            )
        return self._refuse_own_rows

    @cached_property
    def _refuse_own_rows(self) -> str | None:
        """Say why this site's rows are too few, or would show too much; None if they may count."""
        from pairgossip.peer.sums.disclosure import check_own_rows

        try:
            if self.held.matrix is not None:
                check_own_rows(self.agreed, self.held.matrix, self.least_rows, self.allow)
        except InputError as problem:
            return str(problem)
        return None

    def make_program(
        self, generation: str = FIRST_GENERATION, released: Released | None = None
    ) -> SumsProgram:
        """Return what members compute of sums in this generation, from the beginning."""
        own, members = self.held, self.present_rows

        def noise(first: int, question: bytes, counts: int) -> NDArray[np.int64]:
            return self.noise(own.rows[first:], members, question, counts)

        salt = masks.draw_salt(self._secret, self.spec, generation, members)
        return program_for(
            self.agreed,
            own,
            members,
            generation,
            noise if self.agreed.has_noise else None,
            released=released,
            salt=salt,
            me=self.me,
            shows=self.show,
        )

    @cached_property
    def _secret(self) -> bytes:
        """What this peer shares with nobody but itself."""
        return self.agree(self.me)

    @cached_property
    def rule(self) -> Rule:
        """Weigh updates by the neighbors that are left; pairs are of all rows that there are."""
        left = [one for one in self.neighbors if one not in self.changes.evicted]
        degree = sum(map(self.link_weight, left))
        return rule_for(self.agreed, degree, len(self.own), self.rows_gone())

    def link_weight(self, neighbor: str) -> float:
        """Return how often the link to a neighbor rings beside others."""
        return self.agreed.link_weight(self.identity.name, self.name_member(neighbor))


def make_context(
    identity: Identity,
    spec: Spec,
    own: Own,
    members: Members,
    draw_seed: int = 0,
    changes: Changes = NO_CHANGES,
) -> PeerContext:
    """Put together everything that a peer exchanges by."""
    rows = {**{one.id: one.rows for one in members.listed}, identity.id: len(own)}
    context = PeerContext(
        rounds_sizes=spec.rounds_sizes,
        me=identity.id,
        neighbors=tuple(member.id for member in members.neighbors()),
        spec=spec.hash,
        text=spec.text,
        own=own,
        rows={member: spec.tell_size(count) for member, count in rows.items()},
        limits=spec.limits,
        is_private=spec.is_private,
        draw_seed=draw_seed,
        identity=identity,
        members=members,
        agreed=spec,
    )
    return context.with_changes(changes)
