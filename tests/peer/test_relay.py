"""Real sessions through a relay on 127.0.0.1: what it passes on, and to whom."""

from __future__ import annotations

import dataclasses
import datetime
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zenoh

from pairgossip.errors import InputError
from pairgossip.peer.identity.members import check_address
from pairgossip.peer.identity.relays import Relay, read_relay
from pairgossip.peer.links.relay_link import ALL_PRESENT, RelayLink, presence_of
from pairgossip.peer.links.zenoh_link import inbox_of, key_between
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.service.relay import RelayFolder, create_relay, open_relay

from .relays import Meeting, settle
from .zenoh_people import Heard, Person, free_address, keep_trying, site_of, until

FIELD = Path(__file__).parents[2] / "docs" / "field"


@pytest.fixture
def meeting(tmp_path: Path, people: Callable[..., Person]) -> Meeting:
    return Meeting(tmp_path, [people(name) for name in "abc"])


def test_frames_pass_between_all(meeting: Meeting) -> None:
    a, b, c = meeting.people
    with meeting.all_joined() as ((link_a, heard_a), (link_b, heard_b), (link_c, heard_c)):
        link_a.send(b.id, b"to b")
        link_b.send(c.id, b"to c")
        link_c.send(a.id, b"to a" * 50_000)
        assert until(lambda: heard_a.frames and heard_b.frames and heard_c.frames)
        assert heard_b.frames == [(a.id, b"to b")] and heard_c.frames == [(b.id, b"to c")]
        assert heard_a.frames == [(c.id, b"to a" * 50_000)]
        sizes = [link.counts()[Event.BYTES_SENT] for link in (link_a, link_b, link_c)]
        assert sizes == [65_536, 65_536, 262_144]
        assert link_a.counts()[Event.BYTES_RECEIVED] == 262_144


def test_the_relay_may_come_late_and_be_gone_for_a_while(meeting: Meeting) -> None:
    a, b, _ = meeting.people
    with meeting.join(a) as (link_a, heard_a), meeting.join(b) as (link_b, heard_b):
        link_a.send(b.id, bytes(1 << 20))  # too long to wait for
        link_a.send(b.id, b"early")  # it waits until there are keys
        assert link_a.counts()[Event.FRAME_NOT_SENT] == 1
        with meeting.open():
            assert until(lambda: heard_b.frames == [(a.id, b"early")])
            assert link_a.connected() == {b.id} and link_b.connected() == {a.id}
        assert until(lambda: link_a.connected() == link_b.connected() == set())
        with meeting.open():
            assert until(
                lambda: (a.id, b"meanwhile") in heard_b.frames,
                lambda: link_a.send(b.id, b"meanwhile"),  # one may be lost: b comes later
            )
            assert until(lambda: heard_a.frames, lambda: link_b.send(a.id, b"back"))


def test_who_starts_again_is_heard_again(meeting: Meeting) -> None:
    a, b, _ = meeting.people
    with meeting.open(), meeting.join(a) as (link_a, heard_a):
        with meeting.join(b) as (link_b, _):
            assert until(lambda: heard_a.frames, lambda: link_b.send(a.id, b"before"))
        assert until(lambda: link_a.connected() == set())
        with meeting.join(b) as (link_b, heard_b):
            link_a.send(b.id, b"x")
            assert until(lambda: heard_b.frames == [(a.id, b"x")])
            # An evicted member no longer has keys, and nothing is sent to it.
            link_a.reopen([])
            assert until(lambda: link_b.connected() == set())
            link_a.send(b.id, b"nobody is left")
            assert link_a.counts()[Event.FRAME_NOT_SENT] == 1


def test_a_frame_too_long_is_refused_and_the_link_goes_on(
    meeting: Meeting,
) -> None:
    a, b, _ = meeting.people
    heard = Heard()
    with meeting.open(), meeting.join(a) as (link_a, _):
        site = dataclasses.replace(site_of(b, [a]), longest_frame=1_000)
        link = RelayLink(site, b.identity, heard, meeting.relay)
        assert until(lambda: heard.frames, lambda: link_a.send(b.id, b"x"))
        link_a.send(b.id, b"x" * 66_000)  # Zenoh itself refuses this
        heard.frames.clear()
        assert until(lambda: (a.id, b"y") in heard.frames, lambda: link_a.send(b.id, b"y"))
        link.close()
    with meeting.open(), meeting.join(b) as (_, heard), meeting.intrude(a) as session:
        site = dataclasses.replace(site_of(b, [a]), longest_frame=1_000)
        link = RelayLink(site, b.identity, heard, meeting.relay)
        whole = bytes(65_536 + 1)
        refused = Event.FRAME_TOO_LONG
        assert until(
            lambda: link.counts()[refused], lambda: session.put(key_between(a.id, b.id), whole)
        )
        link.close()


def overhear(session: zenoh.Session, *keys: str) -> list[str]:
    heard: list[str] = []
    for key in keys:
        session.declare_subscriber(key, lambda sample: heard.append(str(sample.key_expr)))
    return heard


def test_a_stranger_is_not_let_in(meeting: Meeting, people: Callable[..., Person]) -> None:
    stranger = people("stranger")
    with meeting.all_joined():
        started = time.monotonic()
        with pytest.raises(zenoh.ZError), meeting.intrude(stranger):
            pass
        assert time.monotonic() - started > 1, "it has tried again and again"


def test_a_member_hears_only_what_is_for_it(meeting: Meeting) -> None:
    a, b, c = meeting.people
    with (
        meeting.open(),
        meeting.join(a) as (link_a, _),
        meeting.join(b) as (_, heard_b),
        meeting.intrude(c) as session,
    ):
        overheard = overhear(session, inbox_of(b.id), "pairgossip/**", "**", inbox_of(c.id))
        assert until(lambda: heard_b.frames, lambda: link_a.send(b.id, b"secret"))
        settle()
        assert {key for key in overheard if key.endswith(f"/{a.id}")} <= {key_between(a.id, c.id)}


def test_a_member_says_nothing_in_anothers_name(meeting: Meeting) -> None:
    a, b, c = meeting.people
    with (
        meeting.open(),
        meeting.join(a) as (link_a, heard_a),
        meeting.join(b) as (link_b, _),
        meeting.intrude(c) as session,
    ):
        assert until(lambda: heard_a.frames, lambda: link_b.send(a.id, b"own"))
        before = link_a.counts()
        keep_trying(lambda: session.put(key_between(b.id, a.id), bytes(65_536)))
        assert link_a.counts()[Event.FRAME_NOT_SEALED] == before[Event.FRAME_NOT_SEALED]
        # It may say this in its own name, and the seal shows who it is.
        refused = Event.FRAME_NOT_SEALED
        assert until(
            lambda: link_a.counts()[refused] > before[refused],
            lambda: session.put(key_between(c.id, a.id), b"\x01" + bytes(65_535)),
        )


def test_a_member_does_not_pretend_that_another_is_there(meeting: Meeting) -> None:
    a, b, c = meeting.people
    with meeting.open(), meeting.join(a) as (link_a, _), meeting.intrude(c) as session:
        seen: list[str] = []
        alive = session.liveliness()
        alive.declare_subscriber(
            ALL_PRESENT, lambda one: seen.append(str(one.key_expr)), history=True
        )
        own = alive.declare_token(presence_of(c.id))
        forged = alive.declare_token(presence_of(b.id))
        assert until(lambda: presence_of(a.id) in seen)
        assert until(lambda: c.id in link_a._present)
        settle()
        assert b.id not in link_a._present
        assert own is not None and forged is not None


def test_the_admin_space_answers_nothing(meeting: Meeting) -> None:
    _, _, c = meeting.people
    with meeting.open() as router, meeting.intrude(c) as session:
        mine, its = str(session.info.zid()), str(router.info.zid())
        assert [str(one) for one in session.info.routers_zid()] == [its]
        for selector in (f"@/{its}/**", f"@/{its}/router", "@/*/router/config/**", "**"):
            answers = [
                str(one.ok.key_expr)
                for one in session.get(selector, timeout=1.0)
                if one.ok is not None
            ]
            assert [one for one in answers if mine not in one] == []
        session.put(f"@/{its}/router/config/access_control/enabled", "false")
        settle()
        assert [one for one in session.get(f"@/{its}/**", timeout=1.0) if one.ok] == []


def test_queries_and_deletions_do_not_pass(meeting: Meeting) -> None:
    a, b, _ = meeting.people
    with meeting.open(), meeting.intrude(a) as session, meeting.intrude(b) as other:
        heard = overhear(other, inbox_of(b.id))
        other.declare_queryable(key_between(a.id, b.id), lambda query: None)
        key = key_between(a.id, b.id)
        assert until(lambda: heard, lambda: session.put(key, b"x"))
        settle()
        heard.clear()
        session.delete(key)
        assert list(session.get(key, timeout=0.5)) == []
        settle()
        assert heard == []


def test_another_relay_is_not_taken_for_the_one_agreed_on(meeting: Meeting, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Meeting(tmp_path / "other", meeting.people)
    there = Relay(other.relay.address, meeting.relay.certificate)
    with other.open(), pytest.raises(zenoh.ZError), other.intrude(other.people[0], there):
        pass


def test_an_expired_certificate_does_not_get_in(
    tmp_path: Path, people: Callable[..., Person]
) -> None:
    a, b, late = people("a"), people("b"), people("late", days=(-10, -1))
    meeting = Meeting(tmp_path, [a, b, late])
    with meeting.open(), pytest.raises(zenoh.ZError), meeting.intrude(late):
        pass
    assert meeting.folder.trusted.read_text().count("BEGIN") == 2


@pytest.mark.skipif(shutil.which("openssl") is None, reason="it takes openssl")
def test_a_router_set_up_by_hand_is_a_relay(tmp_path: Path, people: Callable[..., Person]) -> None:
    """The commands and the configuration are those of the operating guide."""
    names = ("clinic-a", "clinic-b", "clinic-c")
    a, b, _ = everybody = [people(name) for name in names]
    folder, place = tmp_path / "relay", free_address()
    folder.mkdir()
    for name, one in zip(names, everybody, strict=True):
        (folder / f"{name}.pem").write_text(one.certificate)
    page = (FIELD / "operating.md").read_text(encoding="utf-8")
    found = re.search(r"```text\n(openssl .*?)zenohd --config relay.json5\n```", page, re.DOTALL)
    assert found is not None
    commands = found[1].replace("tls/relay.example:443", place)
    subprocess.run(["sh", "-ec", commands], cwd=folder, check=True, capture_output=True)
    shown = (FIELD / "relay.json5").read_text(encoding="utf-8")
    placeholders = dict.fromkeys(re.findall(r"[0-9a-f]{64}", shown))
    for placeholder, one in zip(placeholders, everybody, strict=True):
        shown = shown.replace(placeholder, one.id)
    shown = shown.replace("/etc/relay", str(folder)).replace("tls/0.0.0.0:443", place)
    (folder / "relay.json5").write_text(shown, encoding="utf-8")
    relay, heard = read_relay(folder / "relay.txt"), Heard()
    router = zenoh.open(zenoh.Config.from_file(str(folder / "relay.json5")))
    link_a = RelayLink(site_of(a, [b]), a.identity, Heard(), relay)
    link_b = RelayLink(site_of(b, [a]), b.identity, heard, relay)
    link_a.send(b.id, b"x")
    assert until(lambda: heard.frames == [(a.id, b"x")])
    for session in (link_a, link_b, router):
        session.close()


def test_a_relay_is_made_once(tmp_path: Path) -> None:
    made = create_relay(tmp_path / "r", "tls/relay.example:443")
    assert made.folder.stat().st_mode & 0o777 == 0o700
    assert read_relay(made.file).address == "tls/relay.example:443"
    with pytest.raises(InputError, match="exists already: choose another folder"):
        create_relay(tmp_path / "r", "tls/relay.example:443")
    with pytest.raises(InputError, match="is not the folder of a relay: run pairgossip relay init"):
        open_relay(tmp_path)
    with pytest.raises(InputError, match="This relay lets nobody in: give the invitations"):
        made.configure()
    with pytest.raises(InputError, match="write it as tls/HOST:PORT"):
        create_relay(tmp_path / "other", "relay.example:443")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda text: text.replace("-----BEGIN", "-----BEG"), "has its address in the first line"),
        (lambda text: text.partition("\n")[2], "is not an address"),
        (lambda text: text[:-100], "The certificate cannot be read"),
        (lambda text: text + text.partition("\n")[2], "has other text before, in or after it"),
        (lambda text: text + "\xe9", "is not the file of a relay"),
    ],
)
def test_a_damaged_file_of_a_relay_is_refused(
    tmp_path: Path, change: Callable[[str], str], sentence: str
) -> None:
    file = create_relay(tmp_path / "r", "tls/relay.example:443").file
    file.write_text(change(file.read_text()))
    with pytest.raises(InputError, match=sentence):
        read_relay(file)


def test_an_authority_is_not_taken_for_a_relay(tmp_path: Path) -> None:
    """OpenSSL makes such certificates by default: their owner could vouch for others."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding

    key, now = Ed25519PrivateKey.generate(), datetime.datetime(2026, 1, 1)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "relay")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now)
        .not_valid_after(now + datetime.timedelta(days=9_999))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, None)
    )
    file = tmp_path / "relay.txt"
    pem = made.public_bytes(Encoding.PEM).decode()
    file.write_text(Relay("tls/relay.example:443", pem).spell())
    with pytest.raises(InputError, match="one of an authority, or signed by one"):
        read_relay(file)


def test_listening_elsewhere_is_written_into_the_configuration(meeting: Meeting) -> None:
    place = check_address(free_address())
    assert place in meeting.folder.configure(place).read_text()
    port = meeting.relay.address.rpartition(":")[2]
    assert f"tls/0.0.0.0:{port}" in meeting.folder.configure().read_text()
    assert list(RelayFolder(meeting.folder.folder).read_members()) == ["0", "1", "2"]
