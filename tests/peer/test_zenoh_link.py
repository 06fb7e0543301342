"""Real sessions over TLS on 127.0.0.1: whose frames are received, and whose are not."""

from __future__ import annotations

import dataclasses
import itertools
import socket
import ssl
import threading
import time
from collections.abc import Callable

import pytest
import zenoh

from pairgossip.errors import InputError
from pairgossip.peer.identity.certificates import Sealer
from pairgossip.peer.links.zenoh_link import (
    OVERHEAD,
    Inbox,
    ZenohLink,
    admissible,
    check_place,
    key_between,
)
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.messages import VERSION

from .zenoh_people import (
    LONG_ENOUGH,
    PATIENCE,
    Heard,
    Person,
    bare_session,
    envelope,
    free_address,
    has_connected,
    keep_trying,
    linked,
    put_signed,
    site_of,
    until,
)


def test_one_link_serves_both_ways(people: Callable[..., Person]) -> None:
    a, b = people("a"), people("b")
    place = free_address()
    with (
        linked(a, site_of(a, [b], listen=place)) as (link_a, heard_a),
        linked(b, site_of(b, [a], connect=place)) as (link_b, heard_b),
    ):
        assert until(lambda: heard_a.frames, lambda: link_b.send(a.id, b"to a"))
        assert until(lambda: heard_b.frames, lambda: link_a.send(b.id, b"to b"))
        assert heard_a.frames[0] == (b.id, b"to a")
        assert heard_b.frames[0] == (a.id, b"to b")
        assert link_a.connected() == {b.id} and link_b.connected() == {a.id}
        counted = link_a.counts()
        assert counted[Event.FRAME_RECEIVED] == len(heard_a.frames)
        assert counted[Event.BYTES_RECEIVED] == len(heard_a.frames) * (OVERHEAD + 4)
        assert link_b.counts()[Event.FRAME_SENT] >= counted[Event.FRAME_RECEIVED]


def test_both_may_connect_to_each_other(people: Callable[..., Person]) -> None:
    a, b = people("a"), people("b")
    at_a, at_b = free_address(), free_address()
    with (
        linked(a, site_of(a, [b], listen=at_a, connect=at_b)) as (link_a, heard_a),
        linked(b, site_of(b, [a], listen=at_b, connect=at_a)) as (link_b, heard_b),
    ):
        assert until(lambda: heard_a.frames, lambda: link_b.send(a.id, b"x"))
        assert until(lambda: heard_b.frames, lambda: link_a.send(b.id, b"y"))
        time.sleep(LONG_ENOUGH)  # until both connections are made
        heard_a.frames.clear()
        link_b.send(a.id, b"once")
        assert until(lambda: heard_a.frames)
        time.sleep(0.2)
        assert heard_a.frames == [(b.id, b"once")]


def test_sending_to_an_absent_neighbor_does_not_wait_or_fail(people: Callable[..., Person]) -> None:
    a, b = people("a"), people("b")
    with linked(a, site_of(a, [b], connect=free_address())) as (link_a, _):
        for _ in range(1000):
            link_a.send(b.id, b"x" * 1000)
        assert link_a.connected() == set()


def test_a_stranger_cannot_connect(people: Callable[..., Person]) -> None:
    a, b, stranger = people("a"), people("b"), people("stranger")
    place = free_address()
    with (
        linked(a, site_of(a, [b], listen=place)) as (link_a, heard_a),
        bare_session(stranger, [a], place) as session,
    ):
        names = itertools.cycle([stranger.id, b.id])
        keep_trying(lambda: put_signed(session, stranger, next(names), a))
        assert not has_connected(session)
        assert heard_a.frames == [] and link_a.connected() == set()
        # Others may still connect.
        with linked(b, site_of(b, [a], connect=place)) as (link_b, _):
            assert until(lambda: heard_a.frames, lambda: link_b.send(a.id, b"x"))


def test_an_insider_is_not_heard_under_anothers_name(people: Callable[..., Person]) -> None:
    a, b, insider = people("a"), people("b"), people("insider")
    place = free_address()
    with (
        linked(a, site_of(a, [b, insider], listen=place)) as (link_a, heard_a),
        bare_session(insider, [a], place) as session,
    ):
        assert until(
            lambda: heard_a.frames, lambda: put_signed(session, insider, insider.id, a, b"own")
        )
        heard_a.frames.clear()
        # This even holds for a frame that b really signed earlier.
        keep_trying(lambda: put_signed(session, b, b.id, a))
        assert [frame for frame in heard_a.frames if frame[0] == b.id] == []
        assert link_a.counts()[Event.FRAME_NOT_SIGNED] == 0, "the rules"


def test_a_certificate_issued_in_anothers_name_does_not_help(
    people: Callable[..., Person],
) -> None:
    """TLS and the rules take what a neighbor's key has signed; the frame's signature does not."""
    a, b, insider = people("a"), people("b"), people("insider")
    forged = people("forged", pretended_id=b.id, issuer=insider)
    place = free_address()
    with (
        linked(a, site_of(a, [b, insider], listen=place)) as (link_a, heard_a),
        bare_session(forged, [a], place) as session,
    ):
        refused = Event.FRAME_NOT_SIGNED
        assert until(
            lambda: link_a.counts()[refused] >= 3,
            lambda: put_signed(session, forged, b.id, a),
        )
        assert heard_a.frames == []


def test_who_has_expired_cannot_come_back_by_a_certificate_issued_to_itself(
    people: Callable[..., Person],
) -> None:
    a, b = people("a"), people("b")
    late = people("late", days=(-10, -1))
    forged = people("forged", pretended_id=b.id, issuer=late)
    place = free_address()
    everybody = site_of(a, [b, late], listen=place)
    site = dataclasses.replace(everybody, neighbors=admissible(everybody.neighbors, ()))
    with linked(a, site) as (link_a, _), bare_session(forged, [a], place) as session:
        keep_trying(lambda: put_signed(session, forged, b.id, a))
        assert not has_connected(session)
        with linked(b, site_of(b, [a], connect=place)) as (_, heard_b):
            assert until(lambda: heard_b.frames, lambda: link_a.send(b.id, b"x"))


def test_a_new_session_is_with_those_given_only(people: Callable[..., Person]) -> None:
    a, b, c = people("a"), people("b"), people("c")
    place = free_address()
    both = site_of(a, [b, c], listen=place)
    with (
        linked(a, both) as (link_a, heard_a),
        linked(b, site_of(b, [a], connect=place)) as (link_b, _),
        bare_session(c, [a], place) as session,
    ):
        assert until(lambda: heard_a.frames, lambda: put_signed(session, c, c.id, a))
        link_a.reopen(admissible(both.neighbors, {c.id}))
        assert until(lambda: not has_connected(session))
        heard_a.frames.clear()
        assert until(lambda: (b.id, b"x") in heard_a.frames, lambda: link_b.send(a.id, b"x"))
        keep_trying(lambda: put_signed(session, c, c.id, a))
        assert not has_connected(session)
        link_a.send(c.id, b"not for it any more")
        assert link_a.counts()[Event.FRAME_NOT_SENT] == 1
        assert {sender for sender, _ in heard_a.frames} == {b.id}
        link_a.reopen(())
        assert until(lambda: link_b.connected() == set())
        link_a.send(b.id, b"nobody is left")
        assert link_a.connected() == set()


def test_a_session_that_does_not_end_keeps_nobody(
    people: Callable[..., Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stuck:
        """A session with a neighbor whose cable is unplugged; it waits and then fails."""

        def close(self) -> None:
            may_end.wait(PATIENCE)
            has_ended.set()
            raise zenoh.ZError("close operation timed out!")

    monkeypatch.setattr("pairgossip.peer.links.zenoh_link._LONGEST_CLOSING", 0.05)
    may_end, has_ended = threading.Event(), threading.Event()
    a, b = people("a"), people("b")
    with linked(a, site_of(a, [b])) as (link, _):
        link.close()
        link._session = Stuck()  # type: ignore[assignment]
        link.close()
        assert not has_ended.is_set() and link.connected() == set()
        may_end.set()
        link._session = Stuck()  # type: ignore[assignment]
        link.reopen(())


def test_another_version_is_noticed_and_nothing_else_of_the_frame(
    people: Callable[..., Person],
) -> None:
    a, b = people("a"), people("b")
    place = free_address()
    with (
        linked(a, site_of(a, [b], listen=place)) as (link_a, heard_a),
        bare_session(b, [a], place) as session,
    ):
        to_come = b"whatever a later version may be like"
        later = envelope(b, b.id, a.id, to_come, version=VERSION + 1)
        assert until(link_a.other_versions, lambda: session.put(key_between(b.id, a.id), later))
        assert link_a.other_versions() == {b.id: VERSION + 1}
        assert heard_a.frames == []
        # The version is signed: nobody can make a peer believe that another speaks a new one.
        unsigned = bytes([VERSION + 2]) + later[1:]
        refused = Event.FRAME_NOT_SIGNED
        assert until(
            lambda: link_a.counts()[refused],
            lambda: session.put(key_between(b.id, a.id), unsigned),
        )
        assert link_a.other_versions() == {b.id: VERSION + 1}
        assert until(lambda: heard_a.frames, lambda: put_signed(session, b, b.id, a))
        assert link_a.other_versions() == {}


def test_an_expired_certificate_is_refused(people: Callable[..., Person]) -> None:
    a, b = people("a"), people("b")
    late = people("late", days=(-10, -1))
    place = free_address()
    with (
        linked(a, site_of(a, [b, late], listen=place)) as (link_a, heard_a),
        bare_session(late, [a], place) as session,
    ):
        keep_trying(lambda: put_signed(session, late, late.id, a))
        assert not has_connected(session)
        assert heard_a.frames == [] and link_a.connected() == set()


def test_only_tls_1_3_is_spoken(people: Callable[..., Person]) -> None:
    a, b = people("a"), people("b")
    place = free_address()
    host, port = place.removeprefix("tls/").split(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(b.certificate_file, b.key_file)
    with linked(a, site_of(a, [b], listen=place)):
        with (
            socket.create_connection((host, int(port))) as plain,
            pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"),
        ):
            context.wrap_socket(plain)
        context.maximum_version = ssl.TLSVersion.TLSv1_3
        with (
            socket.create_connection((host, int(port))) as plain,
            context.wrap_socket(plain) as secured,
        ):
            assert secured.version() == "TLSv1.3"


@pytest.mark.parametrize("size", [2_000, 200_000, 3_000_000])
def test_frames_too_long_are_refused_and_the_link_goes_on(
    people: Callable[..., Person], size: int
) -> None:
    a, b = people("a"), people("b")
    place = free_address()
    with (
        linked(a, site_of(a, [b], listen=place, longest_frame=1_000)) as (link_a, heard_a),
        linked(b, site_of(b, [a], connect=place)) as (link_b, _),
    ):
        assert until(lambda: heard_a.frames, lambda: link_b.send(a.id, b"x"))
        for _ in range(3):
            link_b.send(a.id, b"x" * size)
        assert until(lambda: (b.id, b"y") in heard_a.frames, lambda: link_b.send(a.id, b"y"))
        assert max(len(frame) for _, frame in heard_a.frames) == 1
        if size < 10_000:
            # A frame may also be lost in transit.
            assert 1 <= link_a.counts()[Event.FRAME_TOO_LONG] <= 3


def test_what_is_not_signed_is_refused(people: Callable[..., Person]) -> None:
    a, b = people("a"), people("b")
    place = free_address()
    with (
        linked(a, site_of(a, [b], listen=place)) as (link_a, heard_a),
        bare_session(b, [a], place) as session,
    ):
        refused = Event.FRAME_NOT_SIGNED
        key = key_between(b.id, a.id)
        assert until(lambda: link_a.counts()[refused], lambda: session.put(key, b""))
        time.sleep(0.2)  # for what is still in transit
        before = link_a.counts()[refused]
        for size in (1, 63, 64, 400):
            session.put(key, b"x" * size)
        assert until(lambda: link_a.counts()[refused] >= before + 4)
        assert heard_a.frames == []


def test_a_frame_for_another_receiver_is_not_taken(people: Callable[..., Person]) -> None:
    """A neighbor cannot pass on to others a frame that was addressed to itself."""
    a, b, c = people("a"), people("b"), people("c")
    place = free_address()
    with (
        linked(a, site_of(a, [b], listen=place)) as (link_a, heard_a),
        bare_session(b, [a], place) as session,
    ):
        sealed = Sealer(b.id).seal(a.id, a.certificate, b"hi")
        said_to_c = envelope(b, b.id, c.id, sealed)
        assert until(
            lambda: link_a.counts()[Event.FRAME_NOT_SIGNED],
            lambda: session.put(key_between(b.id, a.id), said_to_c),
        )
        assert heard_a.frames == []


def test_an_occupied_port_is_named(people: Callable[..., Person]) -> None:
    a, b = people("a"), people("b")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        site = site_of(a, [b], listen=f"tls/127.0.0.1:{port}")
        with pytest.raises(InputError) as told:
            ZenohLink(site, a.identity, Heard())
    assert str(told.value) == (
        f"Cannot listen: 127.0.0.1:{port} is in use by another program: "
        "stop it, or give another port in peer.toml."
    )


def test_an_address_of_another_machine_is_named(people: Callable[..., Person]) -> None:
    a, b = people("a"), people("b")
    with pytest.raises(InputError, match=r"192\.0\.2\.1:7447 is not an address of this machine"):
        ZenohLink(site_of(a, [b], listen="tls/192.0.2.1:7447"), a.identity, Heard())


def test_a_place_is_checked_before_anybody_connects() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"127.0.0.1:{port} is in use by another program"):
            check_place(f"tls/127.0.0.1:{port}")
    check_place(f"tls/127.0.0.1:{port}")
    with pytest.raises(InputError, match=r"192\.0\.2\.1:7447 is not an address of this machine"):
        check_place("tls/192.0.2.1:7447")
    for name in ("nowhere.invalid", "a..b", "a" * 70):
        with pytest.raises(InputError, match="does not resolve on this machine: give one of"):
            check_place(f"tls/{name}:7447")


def test_a_full_inbox_drops_and_counts() -> None:
    inbox = Inbox(size=2)
    for number in range(5):
        inbox.put("b", bytes([number]))
    assert inbox.dropped == 3
    assert [inbox.get(0) for _ in range(3)] == [("b", b"\x00"), ("b", b"\x01"), None]


def test_a_woken_inbox_returns_at_once() -> None:
    inbox = Inbox()
    inbox.wake()
    assert inbox.get(timeout=1000) is None
    assert inbox.get(timeout=0.001) is None
