"""Requests of a study's operator, and invitations to a study."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import msgspec
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.identity.armored import ALTERED
from pairgossip.peer.identity.identity import Identity, create_identity
from pairgossip.study.protocol.records import (
    NO_DIGEST,
    Assent,
    Card,
    MemberList,
    payload_of,
)
from pairgossip.study.service.invitations import (
    PREFIX,
    read_invitations,
    write_invitation,
)
from pairgossip.study.service.requests import (
    Accept,
    AnyRequest,
    Ask,
    Join,
    Leave,
    Refuse,
    Reply,
    Requests,
)


def identity_of(folder: Path, name: str) -> Identity:
    (folder / name).mkdir()
    return create_identity(folder / name, name)


def card_of(identity: Identity) -> Card:
    return Card(identity.id, identity.name, identity.certificate, "tls/127.0.0.1:7447")


def test_requests_come_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    asked: list[AnyRequest] = [Ask("{}", 7), Accept("ab", True), Refuse("cd", "no"), Leave()]
    keys = [requests.write(one) for one in asked]
    (tmp_path / "requests" / "notes.txt").write_text("mine")
    (tmp_path / "requests" / f".{keys[0]}.json.new").write_text("half of ano")
    assert list(Requests(tmp_path).pending()) == list(zip(keys, asked, strict=True))
    assert requests.count() == 4


def test_a_request_stays_until_its_answer_is_there(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    key = requests.write(Leave())
    assert requests.wait(key, 0.0) is None and requests.count() == 1
    reply = Reply("Asked question 3.", number=3)
    requests.answer(key, reply)
    assert requests.count() == 0
    assert requests.wait(key, 0.0) == reply
    assert requests.wait(key, 0.0) is None  # it was read


def test_an_answer_is_waited_for(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    key = requests.write(Leave())
    threading.Timer(0.2, requests.answer, (key, Reply("Done."))).start()
    assert requests.wait(key, 20.0) == Reply("Done.")


def test_what_is_no_request_is_said_to_be_none(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    key = requests.write(Leave())
    (tmp_path / "requests" / f"{key}.json").write_text('{"request": "dance"}')
    ((_, problem),) = requests.pending()
    assert str(problem) == (
        f"{tmp_path}/requests/{key}.json is not a request of a study's operator: remove it."
    )


def test_old_answers_are_removed(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    old, new = f"{time.time_ns() - 8 * 86_400 * 10**9:020d}-0", requests.write(Leave())
    for key in (old, new):
        requests.answer(key, Reply("Done."))
    requests.clear()
    assert requests.wait(old, 0.0) is None and requests.wait(new, 0.0) == Reply("Done.")


def test_cards_travel_in_requests(tmp_path: Path) -> None:
    ann = card_of(identity_of(tmp_path, "ann"))
    requests = Requests(tmp_path)
    requests.write(Join((ann,)))
    assert [request for _, request in requests.pending()] == [Join((ann,))]


def test_an_invitation_tells_the_list_and_who_has_signed_it(tmp_path: Path) -> None:
    people = [identity_of(tmp_path, name) for name in ("ann", "bob", "cleo")]
    members = MemberList(NO_DIGEST, tuple(sorted(map(card_of, people), key=lambda one: one.id)))
    signatures = {
        one.id: one.sign(payload_of(Assent(member=one.id, list=members))) for one in people
    }
    ann = people[0]
    text = write_invitation(card_of(ann), ann.sign, members, signatures)
    mail = f"Dear all,\n\n> {text[:80]}\n> {text[80:]}\n\nyours, ann"
    (invited,) = read_invitations(mail)
    assert invited.card == card_of(ann) and invited.list == members
    assert {assent.member: assent.signature for assent in invited.assents} == signatures


def test_an_invitation_of_a_new_member_has_no_list(tmp_path: Path) -> None:
    ann = identity_of(tmp_path, "ann")
    file = tmp_path / "ann.txt"
    file.write_text(write_invitation(card_of(ann), ann.sign))
    (invited,) = read_invitations(file)
    assert invited.card == card_of(ann) and invited.list is None and invited.assents == ()


def test_an_altered_invitation_is_refused(tmp_path: Path) -> None:
    ann, bob = identity_of(tmp_path, "ann"), identity_of(tmp_path, "bob")
    with pytest.raises(InputError, match=ALTERED):
        read_invitations(write_invitation(card_of(ann), bob.sign))
    elsewhere = msgspec.structs.replace(card_of(ann), certificate=bob.certificate)
    with pytest.raises(InputError, match="is not that of its id"):
        write_invitation(elsewhere, ann.sign)


def test_a_list_that_was_not_signed_so_is_refused(tmp_path: Path) -> None:
    ann, bob = identity_of(tmp_path, "ann"), identity_of(tmp_path, "bob")
    members = MemberList(NO_DIGEST, (card_of(ann),))
    forged = {ann.id: bob.sign(payload_of(Assent(member=ann.id, list=members)))}
    strange = {bob.id: bob.sign(payload_of(Assent(member=bob.id, list=members)))}
    for signatures in (forged, strange):
        text = write_invitation(card_of(ann), ann.sign, members, signatures)
        with pytest.raises(InputError, match=ALTERED):
            read_invitations(text)


def test_an_invitation_to_a_run_is_none_to_a_study(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"begins with {PREFIX}"):
        read_invitations("pairgossip-invitation-1:" + "A" * 80)


def test_an_inbox_holds_so_many_bytes() -> None:
    from pairgossip.peer.links.zenoh_link import Inbox

    inbox = Inbox(longest=100)
    for _ in range(4):
        inbox.put("ann", b"x" * 60)
    assert inbox.dropped == 2
    assert inbox.get(0) == inbox.get(0) == ("ann", b"x" * 60) and inbox.get(0) is None
    inbox.put("ann", b"x" * 60)  # there is space again
    assert inbox.dropped == 2 and inbox.get(0) == ("ann", b"x" * 60)
