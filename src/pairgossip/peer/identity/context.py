"""The context of a real peer: signed with its key, checked against the list of members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pairgossip.peer.identity.certificates import is_signed
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.identity.members import Members
from pairgossip.peer.protocol.context import NO_CHANGES, Context
from pairgossip.peer.protocol.generations import Changes
from pairgossip.peer.protocol.records import Rows
from pairgossip.peer.protocol.rules import Rule
from pairgossip.peer.spec.spec import Spec, rule_for


@dataclass(frozen=True, kw_only=True)
class PeerContext(Context):
    """A context with the peer's identity, the list of members and the specification inside."""

    identity: Identity
    members: Members
    agreed: Spec

    def sign(self, payload: bytes) -> bytes:
        """Sign with the peer's key."""
        return self.identity.sign(payload)

    def verify(self, member: str, payload: bytes, signature: bytes) -> bool:
        """Check a signature against the certificate of a member, or of the peer itself."""
        certificate = self._certificates.get(member)
        return certificate is not None and is_signed(certificate, payload, signature)

    @cached_property
    def _certificates(self) -> Mapping[str, str]:
        return {**self.members.certificates(), self.me: self.identity.certificate}

    def make_rule(self) -> Rule:
        """Weigh updates by the neighbors that are left; pairs are of all rows that there are."""
        degree = sum(neighbor not in self.changes.evicted for neighbor in self.neighbors)
        return rule_for(self.agreed, degree, len(self.own), self.rows_gone())


def make_context(
    identity: Identity,
    spec: Spec,
    own: Rows,
    members: Members,
    draw_seed: int = 0,
    changes: Changes = NO_CHANGES,
) -> PeerContext:
    """Put together everything that a peer exchanges by."""
    context = PeerContext(
        me=identity.id,
        neighbors=tuple(member.id for member in members.neighbors()),
        spec=spec.hash,
        text=spec.text,
        own=own,
        rows={**members.rows(), identity.id: len(own)},
        limits=spec.limits,
        is_private=spec.privacy is not None,
        draw_seed=draw_seed,
        identity=identity,
        members=members,
        agreed=spec,
    )
    return context.with_changes(changes)
