"""A peer that is sent frames that no honest neighbor sends, and the changes they may cause."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.membership import RestoredBackup
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    MOST_ROWS,
    Accept,
    AnyMessage,
    Growth,
    Hello,
    Notice,
    Offer,
    Reject,
    encode,
    generation_name,
)
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.state import Action, Outcome, Save, State
from tests.peer.audit import Violated
from tests.peer.books import QuickMixing
from tests.peer.contexts import (
    SPEC,
    make_context,
    name_of,
    sealed_growth,
    sealed_notice,
    sealed_record,
)

ME, LOW, HIGH, FAR, STRANGER = name_of(1), name_of(0), name_of(2), name_of(3), name_of(9)
LOST = ("x", "y", "z")
"""Members that are gone, or may be: any member on the list can be evicted."""
ROWS = {LOW: 1, ME: 1, HIGH: 2, FAR: 1, **dict.fromkeys(LOST, 1)}
VALUES = {(name, row): (10.0 * k + row,) for k, name in enumerate(ROWS) for row in range(2)}


GROWN = (sealed_growth(FAR, 1, 2),)


def make_victim(
    *, is_asking: bool, generations: int = 0, has_grown: bool = False, rows: int = 1
) -> Exchange:
    """Make a peer that has met its neighbors, perhaps with an offer, or in a later generation."""
    own = tuple(VALUES[ME, row] for row in range(rows))
    context = make_context(ME, (LOW, HIGH), own, {**ROWS, ME: rows}, QuickMixing())
    victim = Exchange(context, first_state(context))
    victim.agreed |= {LOW, HIGH}
    gone = LOST[:generations]
    for count in range(1, generations + 1):
        victim.begin_generation(
            sealed_notice(generation_name(count, gone[:count]), gone[:count], FAR)
        )
    if has_grown:
        generation = generation_name(generations + 1, gone, GROWN)
        victim.begin_generation(sealed_notice(generation, gone, FAR, GROWN))
    for sender in (LOW, HIGH):
        generation = victim.state.generation
        record = sealed_record(sender, 0, generation, VALUES[sender, 0])
        victim.receive(sender, encode(Offer(generation, 5, record, (1.0, 1.0))))
    if is_asking:
        victim.ask(HIGH)
    victim.counts.clear()
    return victim


def notice_of_growth(member: str, first: int, rows: int) -> Notice:
    """Return a genuine notice in which a member says how many rows it has."""
    grown = (sealed_growth(member, first, rows),)
    return sealed_notice(generation_name(1, (), grown), (), FAR, grown)


def honest_frames(state: State) -> list[bytes]:
    """Return frames that a neighbor may have sent, now or earlier."""
    now, later = state.generation, generation_name(7, LOST)
    seq = state.pending[HIGH].seq if state.pending else 1
    record = sealed_record(FAR, 0, now, VALUES[FAR, 0])
    old = sealed_record(FAR, 0, later, VALUES[FAR, 0])
    mass = (3.25, 1.5)
    messages: list[AnyMessage] = [
        Hello(SPEC, "", now, True),
        Hello(SPEC, "text", later, False),
        *(Offer(now, n, record, mass) for n in (4, 5, 6, 1 << 40)),
        Offer(now, 7, old, mass),
        Offer(now, 8, sealed_record(STRANGER, 0, now, (1.0,)), mass),
        Offer(later, 6, old, mass),
        Accept(now, seq, record, mass),
        Accept(now, seq + 1, record, mass),
        Reject(now, seq, "busy"),
        sealed_notice(generation_name(1, ("x",)), ("x",), FAR),
        sealed_notice(generation_name(1, (ME,)), (ME,), FAR),
        sealed_notice(generation_name(1, (STRANGER,)), (STRANGER,), FAR),
        *(notice_of_growth(*one) for one in ((FAR, 1, 2), (HIGH, 2, 9), (ME, 1, 2))),
        Offer(now, 9, sealed_record(FAR, 1, now, VALUES[FAR, 1]), mass),
    ]
    return [encode(message) for message in messages]


def mutate(frame: bytes, chance: random.Random) -> bytes:
    """Flip bits, cut, extend, overwrite with special bytes, or splice."""
    changed = bytearray(frame)
    for _ in range(chance.choice([1, 1, 2, 5])):
        at = chance.randrange(len(changed) + 1)
        how = chance.randrange(6)
        if how == 0 and at < len(changed):
            changed[at] ^= 1 << chance.randrange(8)
        elif how == 1:
            del changed[at:]
        elif how == 2:
            changed += chance.randbytes(chance.randint(1, 20))
        elif how == 3:
            changed[at : at + chance.randint(0, 9)] = chance.choice(TELLING)
        elif how == 4:
            changed[at:at] = chance.choice(TELLING)
        else:
            changed[at : at + chance.randint(1, 9)] = b""
    return bytes(changed)


def twist(frame: bytes, chance: random.Random) -> bytes:
    """Replace one field by something else, and leave the frame well formed."""
    raw = msgspec.msgpack.decode(frame)
    where = raw
    while True:
        at = chance.randrange(len(where))
        if not isinstance(where[at], list) or not where[at] or chance.random() < 0.2:
            break
        where = where[at]
    where[at] = chance.choice(STRANGE)
    return msgspec.msgpack.encode(raw)


STRANGE: list[Any] = [
    *(math.nan, math.inf, -math.inf, 1e308, -1e308, 1e151, -0.0, 0.5, 5e-324),
    *(0, 1, 4, 5, 6, -1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -(1 << 63)),
    *("", "x" * 70, LOW, ME, HIGH, FAR, STRANGER, "hello", "offer", "accept", "notice", "stale"),
    *(b"", b"\x00" * 16, b"\xff" * 64, None, True, [], [1.0], [1.0, 1.0], [1.0, -1.0], {}),
    *([[FAR, 1, 2, b""]], [[HIGH, 2, 1 << 40, b""]], [[ME, 1, 2]], [FAR, 1, 2, b""], 1_000_001),
    *([math.nan, 1.0], [1e300, 1.0], [1.0] * 3, [[[]]], [FAR, 0, 0, [1.0], b""], [LOW, LOW]),
    *(FIRST_GENERATION, generation_name(1, ("x",)), "0" * 72, "f" * 72, "0" * 71, "F" * 72),
    *([FAR, 0, FIRST_GENERATION, [1.0], b""], [STRANGER], ["x"], ["x", STRANGER]),
]
TELLING = [
    b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00",  # NaN
    b"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00",  # infinity
    b"\xcb\x7f\xe1\xcc\xf3\x85\xeb\xc8\xa0",  # 1e308
    b"\xca\x7f\xc0\x00\x00",  # NaN in four bytes
    b"\xcf" + b"\xff" * 8,  # 2**64 - 1
    b"\xd3\x80" + b"\x00" * 7,  # -2**63
    b"\xff",  # -1
    b"\xc0",  # nil
    b"\xdd\xff\xff\xff\xff",  # an array of 2**32 - 1
    b"\xdf\xff\xff\xff\xff",  # a map of as many
    b"\xdb\xff\xff\xff\xff",  # a string of as many
    b"\xc6\xff\xff\xff\xff",  # bytes of as many
    b"\xd9\x04\xff\xfe\xfd\xfc",  # a string that is not UTF-8
    b"\xc7\x08\xff" + b"\x00" * 8,  # an extension type
    b"\x91" * 200,
]


def is_believable(frame: bytes, state: State) -> bool:
    """Return whether an honest neighbor may send a frame, independently of the code under test."""
    try:
        raw: Any = msgspec.msgpack.decode(frame)
        return bool(raw) and JUDGES[raw[0]](state, *raw[1:])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    except (TypeError, KeyError, ValueError, IndexError, AttributeError):
        return False


def _judge_hello(state: State, spec: Any, text: Any, generation: Any, wants: Any) -> bool:
    return (
        spec == SPEC and isinstance(text, str) and _is_name(generation) and wants in (True, False)
    )


def _judge_exchange(state: State, generation: Any, seq: Any, record: Any, mass: Any) -> bool:
    if generation != state.generation or not _whole(seq, 1) or len(mass) != 2:
        return False
    if not all(isinstance(m, int | float) and abs(m) <= 1e150 for m in mass) or mass[1] < 0:
        return False
    origin, row, of, value, signature = record
    rows = {**ROWS, **{one.member: one.rows for one in state.grown}}
    if not 0 <= row < rows.get(origin, 0) or of != generation:
        return False
    genuine = sealed_record(origin, row, of, VALUES[origin, row])
    return tuple(value) == genuine.value and signature == genuine.signature


def _judge_reject(state: State, generation: Any, seq: Any, reason: Any) -> bool:
    asked = [pending.seq for pending in state.pending.values()]
    return generation == state.generation and seq in asked


def _judge_notice(
    state: State, generation: Any, evicted: Any, who: Any, signature: Any, grown: Any = ()
) -> bool:
    told = tuple(Growth(*one) for one in grown)
    said = all(
        ROWS.get(one.member) == one.first < one.rows <= MOST_ROWS
        and one == sealed_growth(one.member, one.first, one.rows)
        for one in told
    )
    genuine = sealed_notice(generation, tuple(evicted), who, told)
    return said and {who, *evicted} <= ROWS.keys() and signature == genuine.signature


def _is_name(entry: Any) -> bool:
    digits = entry.removeprefix("00000000") and entry
    return len(digits) in (0, 72) and not set(digits) - set("0123456789abcdef")


def _whole(entry: Any, least: int) -> bool:
    return isinstance(entry, int) and least <= entry < 1 << 63


JUDGES: dict[Any, Callable[..., bool]] = {
    "hello": _judge_hello,
    "offer": _judge_exchange,
    "accept": _judge_exchange,
    "reject": _judge_reject,
    "notice": _judge_notice,
}


def check_frame(victim: Exchange, sender: str, frame: bytes) -> str:
    """Send a frame; it never raises, and if it is not believable, it changes only one counter."""
    before = victim.state
    victim.counts.clear()
    believable = sender != STRANGER and is_believable(frame, before)
    try:
        actions = victim.receive(sender, frame)
    except RestoredBackup:
        if not believable or victim.state is not before:
            raise Violated(f"stopped by {frame!r}") from None
        return "believed"
    added = victim.counts
    if believable:
        _check_sound(victim.state)
        return "believed"
    if added.total() != 1:
        raise Violated(f"{added} after {frame!r}")
    if victim.state is not before and not _is_rejected_record(
        before, victim.state, sender, actions
    ):
        raise Violated(f"changed by {frame!r}")
    return next(iter(added))


def _is_rejected_record(before: State, after: State, sender: str, actions: list[Action]) -> bool:
    """Return whether a record of no member was rejected, and only that was saved."""
    outcome = after.outcomes.get(sender, Outcome(0, None))
    others = {**before.outcomes, sender: outcome}
    return (
        isinstance(actions[0], Save)
        and outcome.reason == "member"
        and msgspec.structs.replace(before, outcomes=others) == after
    )


def _check_sound(state: State) -> None:
    for node in state.nodes:
        if not all(map(math.isfinite, (*node.mass, *node.private))):
            raise Violated(f"not finite: {node}")
        origin, row = node.record.origin, node.record.row
        if node.record != sealed_record(origin, row, state.generation, VALUES[origin, row]):
            raise Violated(f"not genuine: {node}")


def fuzz(frames: int, seed: int) -> Counter[str]:
    """Send this many mutated frames to peers in all conditions; count the outcomes."""
    chance = random.Random(seed)
    victims = [
        make_victim(is_asking=asking, generations=g, has_grown=grown)
        for asking in (False, True)
        for g, grown in ((0, False), (2, False), (0, True))
    ]
    starts = [(v, v.state, v.context, honest_frames(v.state)) for v in victims]
    verdicts = Counter[str]()
    for k in range(frames):
        victim, state, context, honest = starts[k % len(starts)]
        kind = chance.random()
        frame = chance.randbytes(chance.randint(0, 80)) if kind < 0.1 else chance.choice(honest)
        if kind < 0.5:
            frame = mutate(frame, chance)
        elif kind < 0.95:
            frame = twist(frame, chance)
        sender = chance.choices((LOW, HIGH, STRANGER), (10, 10, 1))[0]
        verdicts[check_frame(victim, sender, frame)] += 1
        victim.state, victim.context = state, context
        victim._waiting.clear()
    return verdicts
