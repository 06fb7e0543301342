"""Real sessions over TLS on 127.0.0.1: who can read what is sent."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence

import zenoh

from pairgossip.peer.identity.certificates import Opener, Sealer
from pairgossip.peer.links.zenoh_link import (
    _HEADER,
    configuration,
    inbox_of,
    key_between,
)
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.messages import FIRST_GENERATION, Offer, Record, encode

from .zenoh_people import (
    Person,
    bare_session,
    envelope,
    free_address,
    keep_trying,
    linked,
    site_of,
    until,
)

PLANTED = 1234.56789


def offer() -> bytes:
    record = Record("a" * 64, 0, FIRST_GENERATION, (PLANTED,), bytes(64))
    return encode(Offer(FIRST_GENERATION, 1, record, (PLANTED, 1.0)))


def spell_planted() -> list[bytes]:
    """Return how the planted value, or other parts of an offer, would look in a frame."""
    return [struct.pack(">d", PLANTED), b"offer", b"a" * 64]


def check_unreadable(overheard: list[bytes], curious: Sequence[Person], sender: str) -> None:
    """Check that nothing in the frames is readable, and that none of these people can open them."""
    assert all(sign in offer() for sign in spell_planted())
    for content in overheard:
        assert not any(sign in content for sign in spell_planted())
        for person in curious:
            for pretended in {person.id, *(one.id for one in curious)}:
                opener = Opener(pretended, person.agree)
                assert opener.open(sender, content[_HEADER:]) is None


def test_a_stranger_in_a_neighbors_place_is_told_nothing(people: Callable[..., Person]) -> None:
    a, b, stranger = people("a"), people("b"), people("stranger")
    place = free_address()
    with (
        linked(stranger, site_of(stranger, [a], listen=place)) as (_, fake),
        linked(a, site_of(a, [b], connect=place)) as (link_a, _),
    ):
        keep_trying(lambda: link_a.send(b.id, b"secret"))
        assert fake.frames == [] and link_a.connected() == set()


def test_an_insider_hears_nothing_meant_for_others(people: Callable[..., Person]) -> None:
    a, b, insider = people("a"), people("b"), people("insider")
    place = free_address()
    overheard: list[str] = []
    with (
        linked(a, site_of(a, [b, insider], listen=place)) as (link_a, heard_a),
        linked(b, site_of(b, [a], connect=place)) as (_, heard_b),
        bare_session(insider, [a], place) as session,
    ):
        for key in ("pairgossip/**", inbox_of(b.id), inbox_of(insider.id)):
            session.declare_subscriber(key, lambda sample: overheard.append(str(sample.key_expr)))
        assert until(lambda: overheard, lambda: link_a.send(insider.id, b"own"))
        keep_trying(lambda: link_a.send(b.id, b"secret"))
        assert heard_b.frames
        assert set(overheard) == {key_between(a.id, insider.id)}
        assert heard_a.frames == []


def test_a_forged_listener_cannot_read_what_is_meant_for_another(
    people: Callable[..., Person],
) -> None:
    """TLS and the rules let it listen in the other's name; the seal prevents it from reading."""
    a, b, insider = people("a"), people("b"), people("insider")
    forged = people("forged", pretended_id=b.id, issuer=insider)
    place = free_address()
    overheard: list[bytes] = []
    with (
        linked(a, site_of(a, [b, insider], listen=place)) as (link_a, _),
        linked(b, site_of(b, [a], connect=place)) as (_, heard_b),
        bare_session(forged, [a], place) as session,
    ):
        session.declare_subscriber(inbox_of(b.id), lambda one: overheard.append(bytes(one.payload)))
        assert until(lambda: len(overheard) >= 10, lambda: link_a.send(b.id, offer()))
        assert until(lambda: (a.id, offer()) in heard_b.frames, lambda: link_a.send(b.id, offer()))
        check_unreadable(overheard, [insider, forged], a.id)


def test_a_forged_address_does_not_help_to_read(people: Callable[..., Person]) -> None:
    a, b, insider = people("a"), people("b"), people("insider")
    forged = people("forged", pretended_id=b.id, issuer=insider)
    place = free_address()
    config = configuration(site_of(forged, [a], listen=place))
    config["access_control"] = {"enabled": False}
    overheard: list[bytes] = []
    with (
        zenoh.open(zenoh.Config.from_json5(json.dumps(config))) as session,
        linked(a, site_of(a, [b, insider], connect=place)) as (link_a, _),
    ):
        session.declare_subscriber(inbox_of(b.id), lambda one: overheard.append(bytes(one.payload)))
        assert until(lambda: len(overheard) >= 10, lambda: link_a.send(b.id, offer()))
        check_unreadable(overheard, [insider, forged], a.id)


def test_what_is_sealed_to_another_is_counted(people: Callable[..., Person]) -> None:
    a, b, c = people("a"), people("b"), people("c")
    place = free_address()
    with (
        linked(a, site_of(a, [b], listen=place)) as (link_a, heard_a),
        bare_session(b, [a], place) as session,
    ):
        sealed = Sealer(b.id).seal(c.id, c.certificate, b"hi")
        refused = Event.FRAME_NOT_SEALED
        assert until(
            lambda: link_a.counts()[refused],
            lambda: session.put(key_between(b.id, a.id), envelope(b, b.id, a.id, sealed)),
        )
        assert heard_a.frames == []
