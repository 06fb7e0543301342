"""What a peer needs to know, with seals that are quick to make in place of signatures."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from pairgossip.peer.protocol.context import Setting
from pairgossip.peer.protocol.generations import Growth, growth_payload, signed_growth
from pairgossip.peer.protocol.messages import Notice, frame_limit
from pairgossip.peer.protocol.records import Record, RecordCheck, signed_record
from pairgossip.peer.protocol.rules import Rule
from pairgossip.peer.protocol.state import State

SPEC = "spec-hash"
RANGE = (-1e6, 1e6)


def seal(member: str, payload: bytes) -> bytes:
    """A cheap stand-in for a signature: what matters here is that it depends on both."""
    return hashlib.blake2b(payload, key=member.encode()[:64], digest_size=16).digest()


def is_sealed(member: str, payload: bytes, signature: bytes) -> bool:
    return signature == seal(member, payload)


def sealed_notice(
    generation: int, evicted: tuple[str, ...], announcer: str, grown: tuple[Growth, ...] = ()
) -> Notice:
    told = repr((generation, evicted, grown)).encode()
    return Notice(generation, evicted, announcer, seal(announcer, told), grown)


def sealed_growth(member: str, first: int, rows: int) -> Growth:
    return signed_growth(member, first, rows, SPEC, lambda told: seal(member, told))


def sealed_record(origin: str, row: int, generation: int, value: tuple[float, ...]) -> Record:
    return signed_record(origin, row, generation, value, SPEC, lambda told: seal(origin, told))


def name_of(number: int) -> str:
    return f"peer-{number:02d}"


def make_setting(
    me: str,
    neighbors: Sequence[str],
    own: tuple[tuple[float, ...], ...],
    rows: Mapping[str, int],
    rule: Rule,
    seed: int = 0,
    rule_of: Callable[[int], Rule] | None = None,
) -> Setting:
    """The setting of one member of a network; ``rows`` says how many rows each began with.

    ``rule_of(rows)`` gives the rule once the member itself has more.
    """

    def is_notice_of_member(notice: Notice) -> bool:
        told = repr((notice.generation, notice.evicted, notice.grown)).encode()
        return notice.announcer in rows and is_sealed(notice.announcer, told, notice.signature)

    def is_growth_of_member(growth: Growth) -> bool:
        told = growth_payload(growth, SPEC)
        return rows.get(growth.member) == growth.first and is_sealed(
            growth.member, told, growth.signature
        )

    return Setting(
        me=me,
        neighbors=tuple(neighbors),
        spec=SPEC,
        text="",
        own=own,
        rows=rows,
        rule=rule,
        check=RecordCheck(is_sealed, SPEC, (RANGE,) * len(own[0]), rows),
        sign_own=lambda row, generation, value: sealed_record(me, row, generation, value),
        announce=lambda generation, evicted, grown: sealed_notice(generation, evicted, me, grown),
        is_notice_of_member=is_notice_of_member,
        claim=lambda first, now: sealed_growth(me, first, now),
        is_growth_of_member=is_growth_of_member,
        rule_with=lambda _, now: rule_of(now) if rule_of else rule,
        draw_seed=seed,
        frame_limit=frame_limit(len(own[0]), rule.sizes[0]),
    )


def held_records(states: Collection[State]) -> Counter[tuple[str, int]]:
    """Count who holds whose record, over peers whose exchanges are all settled."""
    return Counter(
        (node.record.origin, node.record.row) for state in states for node in state.nodes
    )
