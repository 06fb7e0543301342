"""From a peer's identity, rows and members to the setting in which it exchanges."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from pairgossip.peer.certificates import is_signed
from pairgossip.peer.exchange import Setting
from pairgossip.peer.identity import Identity
from pairgossip.peer.members import Members
from pairgossip.peer.messages import Notice, frame_limit
from pairgossip.peer.records import Record, RecordCheck, signed_record
from pairgossip.peer.rows import Rows
from pairgossip.peer.spec import Spec, rule_for

PURPOSE = b"pairgossip notice 1\x00"
"""Signed along, so that no signature made for something else is ever taken for a notice's."""


def setting_for(
    identity: Identity,
    spec: Spec,
    own: Rows,
    members: Members,
    draw_seed: int = 0,
    evicted: Collection[str] = (),
) -> Setting:
    """Tie everything together that does not change while a peer runs.

    The rule weighs updates by the neighbors that are left: after an eviction it is made anew.
    """
    me, agreed = identity.id, spec.hash
    certificates = {**members.certificates(), me: identity.certificate}
    rows = {**members.rows(), me: len(own)}
    neighbors = tuple(member.id for member in members.neighbors())
    degree = sum(neighbor not in evicted for neighbor in neighbors)
    evicted_rows = sum(rows.get(member, 0) for member in evicted)
    rule = rule_for(spec, degree, len(own), evicted_rows)

    def verify(member: str, payload: bytes, signature: bytes) -> bool:
        certificate = certificates.get(member)
        return certificate is not None and is_signed(certificate, payload, signature)

    def own_record(row: int, generation: int) -> Record:
        return signed_record(me, row, generation, own[row], agreed, identity.sign)

    def announce(generation: int, evicted: tuple[str, ...]) -> Notice:
        unsigned = Notice(generation, evicted, me, b"")
        signature = identity.sign(notice_payload(unsigned, agreed))
        return msgspec.structs.replace(unsigned, signature=signature)

    def is_notice_of_member(notice: Notice) -> bool:
        return verify(notice.announcer, notice_payload(notice, agreed), notice.signature)

    return Setting(
        me=me,
        neighbors=neighbors,
        spec=agreed,
        text=spec.text,
        own=own,
        rule=rule,
        check=RecordCheck(verify, agreed, spec.limits, rows),
        own_record=own_record,
        announce=announce,
        is_notice_of_member=is_notice_of_member,
        draw_seed=draw_seed,
        frame_limit=frame_limit(len(spec.observed), rule.sizes[0]),
    )


def notice_payload(notice: Notice, spec: str) -> bytes:
    """What the announcer of a generation signs."""
    told = (spec, notice.announcer, notice.generation, notice.evicted)
    return PURPOSE + msgspec.msgpack.encode(told)
