"""What a peer exchanges by: made of its identity, rows and members, and of the generation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import msgspec

from pairgossip.peer.identity.certificates import is_signed
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.identity.members import Members
from pairgossip.peer.protocol.generations import Changes, Growth, growth_payload, signed_growth
from pairgossip.peer.protocol.messages import Notice, frame_limit
from pairgossip.peer.protocol.records import Record, RecordCheck, signed_record
from pairgossip.peer.protocol.rules import Rule
from pairgossip.peer.spec.spec import Spec, rule_for
from pairgossip.peer.storage.rows import Rows

PURPOSE = b"pairgossip notice 1\x00"
"""Signed along, so that no signature made for something else is ever taken for a notice's."""


@dataclass(frozen=True)
class Setting:
    """What does not change while a generation lasts."""

    me: str
    neighbors: tuple[str, ...]
    spec: str
    """The hash of the specification that all members run."""
    text: str
    own: Rows
    """The peer's own rows, as they are used and as they travel."""
    rows: Mapping[str, int]
    """How many rows each member began with, this peer among them."""
    rule: Rule
    check: RecordCheck
    sign_own: Callable[[int, int, tuple[float, ...]], Record]
    """``sign_own(row, generation, value)``: the signed record of one of the peer's own rows."""
    announce: Callable[[int, tuple[str, ...], tuple[Growth, ...]], Notice]
    """``announce(generation, evicted, grown)``: the signed notice of a new generation."""
    is_notice_of_member: Callable[[Notice], bool]
    claim: Callable[[int, int], Growth]
    """``claim(first, rows)``: signed, that this peer has more rows than at first."""
    is_growth_of_member: Callable[[Growth], bool]
    """Whether a member has said so of itself."""
    rule_with: Callable[[Changes, int], Rule]
    """``rule_with(changes, rows)``: the rule of a generation for a peer with so many rows."""
    draw_seed: int = 0
    frame_limit: int = 1 << 20

    def own_record(self, row: int, generation: int) -> Record:
        """Make the signed record of one of the peer's own rows."""
        return self.sign_own(row, generation, self.own[row])

    def with_changes(self, changes: Changes) -> Setting:
        """Return the setting of a generation: its rule, and who has how many rows in it."""
        first = {**self.rows, **changes.first_rows()}
        return replace(
            self,
            rows=first,
            rule=self.rule_with(changes, len(self.own)),
            check=self.check.with_rows({**first, **changes.rows()}),
        )


def setting_for(
    identity: Identity,
    spec: Spec,
    own: Rows,
    members: Members,
    draw_seed: int = 0,
    evicted: Collection[str] = (),
    grown: Collection[Growth] = (),
) -> Setting:
    """Tie everything together that a peer exchanges by."""
    me, agreed = identity.id, spec.hash
    certificates = {**members.certificates(), me: identity.certificate}
    rows = {**members.rows(), me: len(own)}
    neighbors = tuple(member.id for member in members.neighbors())

    def verify(member: str, payload: bytes, signature: bytes) -> bool:
        certificate = certificates.get(member)
        return certificate is not None and is_signed(certificate, payload, signature)

    def sign_own(row: int, generation: int, value: tuple[float, ...]) -> Record:
        return signed_record(me, row, generation, value, agreed, identity.sign)

    def announce(generation: int, evicted: tuple[str, ...], grown: tuple[Growth, ...]) -> Notice:
        unsigned = Notice(generation, evicted, me, b"", grown)
        signature = identity.sign(notice_payload(unsigned, agreed))
        return msgspec.structs.replace(unsigned, signature=signature)

    def is_notice_of_member(notice: Notice) -> bool:
        return verify(notice.announcer, notice_payload(notice, agreed), notice.signature)

    def is_growth_of_member(growth: Growth) -> bool:
        is_as_listed = growth.member == me or growth.first == rows.get(growth.member)
        told = growth_payload(growth, agreed)
        return is_as_listed and verify(growth.member, told, growth.signature)

    def rule_with(changes: Changes, own_rows: int) -> Rule:
        """Updates weigh by the neighbors that are left; pairs are of all rows that there are."""
        degree = sum(neighbor not in changes.evicted for neighbor in neighbors)
        return rule_for(spec, degree, own_rows, rows_gone(rows, changes))

    changes = Changes(tuple(sorted(evicted)), tuple(grown))
    rule = rule_with(changes, len(own))
    setting = Setting(
        me=me,
        neighbors=neighbors,
        spec=agreed,
        text=spec.text,
        own=own,
        rows=rows,
        rule=rule,
        check=RecordCheck(verify, agreed, spec.limits, rows, whole=spec.privacy is not None),
        sign_own=sign_own,
        announce=announce,
        is_notice_of_member=is_notice_of_member,
        claim=lambda first, now: signed_growth(me, first, now, agreed, identity.sign),
        is_growth_of_member=is_growth_of_member,
        rule_with=rule_with,
        draw_seed=draw_seed,
        frame_limit=frame_limit(len(spec.observed), rule.sizes[0], len(rows)),
    )
    return setting.with_changes(changes)


def rows_gone(first: Mapping[str, int], changes: Changes) -> int:
    """How many rows fewer take part than the members began with; negative if there are more."""
    began = {**first, **changes.first_rows()}
    gone = sum(began.get(member, 0) for member in changes.evicted)
    more = sum(one.rows - one.first for one in changes.grown if one.member not in changes.evicted)
    return gone - more


def notice_payload(notice: Notice, spec: str) -> bytes:
    """What the announcer of a generation signs."""
    told = (spec, notice.announcer, notice.generation, notice.evicted)
    # Left out where there is none, so that notices kept by earlier versions stay genuine.
    grown = (notice.grown,) if notice.grown else ()
    return PURPOSE + msgspec.msgpack.encode((*told, *grown))
