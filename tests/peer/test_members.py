"""The list of members and what it refuses, and the invitations that add peers to it."""

from __future__ import annotations

import base64
import json
import quopri
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.identity.armored import ALTERED
from pairgossip.peer.identity.identity import Identity, create_identity
from pairgossip.peer.identity.invitations import (
    _PURPOSE,
    PREFIX,
    Invitation,
    add_invited,
    invitation,
    read_invitation,
    read_invitations,
)
from pairgossip.peer.identity.members import Member, Members, check_address
from pairgossip.peer.protocol.messages import MOST_ROWS
from pairgossip.peer.specification.spec import parse_spec
from tests.peer.homes import AUC, GINI


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[Member]:
    found = []
    for number, name in enumerate(["ann", "bob", "cid"]):
        identity = create_identity(tmp_path_factory.mktemp(name), name)
        found.append(Member(identity.id, name, number + 1, identity.certificate, None, number < 2))
    return found


def test_a_list_reads_back_as_it_was_saved(tmp_path: Path, three: list[Member]) -> None:
    members = Members()
    for member in three:
        members = members.with_member(member)
    members = members.with_member(replace(three[0], address="tls/10.0.0.1:7447"))
    members.save(tmp_path / "members.json")
    assert Members.load(tmp_path / "members.json") == members
    assert [member.name for member in members.listed] == ["ann", "bob", "cid"]
    assert members.listed[0].address == "tls/10.0.0.1:7447"
    assert members.names()[three[2].id] == "cid"
    assert [one.id for one in members.neighbors()] == sorted(one.id for one in three[:2])


def test_two_members_never_share_a_name(tmp_path: Path, three: list[Member]) -> None:
    members, other = Members().with_member(three[0]), create_identity(tmp_path, "ann")
    with pytest.raises(InputError, match="Another member is called 'ann' already"):
        members.with_member(replace(three[0], id=other.id, certificate=other.certificate))


def test_what_a_member_began_with_never_changes(three: list[Member]) -> None:
    members = Members().with_member(three[0])
    with pytest.raises(InputError, match="'ann' began with 1 row, not 5: it was made again with"):
        members.with_member(replace(three[0], rows=5))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "../x"}, "'../x' is not a valid name of a member"),
        ({"name": "bob"}, "Member 'bob' is called 'ann' in its certificate: use that name, or ask"),
        ({"id": "0" * 64}, "The certificate of member 'ann' is not that of its id."),
        ({"certificate": "x"}, "Member 'ann': The certificate cannot be read"),
        ({"rows": 0}, f"Member 'ann' has 0 rows: it must have 1 to {MOST_ROWS}."),
        ({"rows": 10**13}, "Member 'ann' has 10000000000000 rows"),
        ({"address": "tcp/10.0.0.1:7447"}, "'tcp/10.0.0.1:7447' is not an address"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(
    three: list[Member], change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        Members().with_member(replace(three[0], **change))


@pytest.mark.parametrize(
    "edit",
    [
        lambda entry: entry.update(extra=1),
        lambda entry: entry.pop("rows"),
        lambda entry: entry.update(rows="3"),
        lambda entry: entry.update(rows=1.5),
        lambda entry: entry.update(is_neighbor=1),
        lambda entry: entry.update(name=None),
    ],
)
def test_the_file_is_read_strictly(tmp_path: Path, three: list[Member], edit: Any) -> None:
    file = tmp_path / "members.json"
    Members().with_member(three[0]).save(file)
    table = json.loads(file.read_text())
    edit(table["members"][0])
    file.write_text(json.dumps(table))
    with pytest.raises(InputError, match=r"members\.json is not a list of members: "):
        Members.load(file)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", '{"members": NaN}', "[" * 100_000])
def test_what_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "members.json").write_text(text)
    with pytest.raises(InputError, match=r"members\.json is not a list of members: "):
        Members.load(tmp_path / "members.json")


def test_a_member_listed_twice_is_refused(tmp_path: Path, three: list[Member]) -> None:
    file = tmp_path / "members.json"
    Members((three[0], three[0])).save(file)
    with pytest.raises(InputError, match=r"members\.json: Member 'ann' is listed twice"):
        Members.load(file)


def test_a_failed_save_leaves_the_list_before(tmp_path: Path, three: list[Member]) -> None:
    with pytest.raises(InputError, match="Cannot write"):
        Members().save(tmp_path / "absent" / "members.json")


@pytest.mark.parametrize(
    "address", ["tls/10.0.0.1:7447", "tls/[::1]:1", "tls/clinic-b.example.org:65535"]
)
def test_addresses(address: str) -> None:
    assert check_address(address) == address


def test_what_is_no_address() -> None:
    wrong = [
        "10.0.0.1:7447",
        "tls/10.0.0.1",
        "tls/:1",
        "tls/a:0",
        "tls/a:1#x=y",
        "tls/a:1?x",
    ]
    for address in ("", "tls/a:1?x", "tls/a b:1", "tls/" + "a" * 400 + ":1", *wrong):
        with pytest.raises(InputError, match="is not an address: write it as tls/HOST:PORT"):
            check_address(address)
    for address in ("tls/127.0.0.1:65536", "tls/a:99999"):
        with pytest.raises(InputError, match="is not an address: give a port from 1 to 65535"):
            check_address(address)


SPEC = parse_spec(GINI)


@pytest.fixture(scope="module")
def ann(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return create_identity(tmp_path_factory.mktemp("ann"), "ann")


@pytest.fixture(scope="module")
def bob(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return create_identity(tmp_path_factory.mktemp("bob"), "bob")


@pytest.fixture(scope="module")
def text(ann: Identity) -> str:
    return invitation(ann, SPEC, 3, "tls/10.0.0.1:7447")


def sealed(told: Invitation, signer: Identity) -> str:
    body = msgspec.msgpack.encode(told)
    packed = msgspec.msgpack.encode((body, signer.sign(_PURPOSE + body)))
    return PREFIX + base64.urlsafe_b64encode(packed).decode()


def test_an_invitation_tells_what_a_neighbor_needs(ann: Identity, text: str) -> None:
    told = read_invitation(text)
    assert (told.name, told.id, told.rows) == ("ann", ann.id, 3)
    assert (told.certificate, told.address) == (ann.certificate, "tls/10.0.0.1:7447")
    assert (told.spec, told.text) == (SPEC.hash, SPEC.text)
    member = told.member(is_neighbor=False)
    assert (member.id, member.is_neighbor) == (ann.id, False)
    assert text.startswith(PREFIX)
    assert "\n" not in text


def test_it_may_come_by_file_and_with_broken_lines(tmp_path: Path, text: str) -> None:
    file = tmp_path / "ann.txt"
    file.write_text("\n".join(text[i : i + 76] for i in range(0, len(text), 76)) + "\n\n")
    assert read_invitation(file) == read_invitation(text)
    assert read_invitation(str(file)) == read_invitation(text)
    assert read_invitation(f"  {text[:200]} \r\n {text[200:]}\n") == read_invitation(text)


MAIL = """Dear all,

please join me by the line that begins with {prefix} and that you find further down in what Ann
wrote.

On Tue, Nov 17, 2026, Ann wrote:
{quoted}

Best regards
Ann
"""


@pytest.mark.parametrize("mark", ["", "> ", ">", ">> > ", "| ", '"'])
@pytest.mark.parametrize("width", [10_000, 76])
def test_it_is_found_in_a_mail(tmp_path: Path, text: str, mark: str, width: int) -> None:
    """It may be quoted, between words that look like it, and with broken lines."""
    lines = [text[at : at + width] for at in range(0, len(text), width)]
    mail = MAIL.format(prefix=PREFIX, quoted="\n".join(mark + line for line in lines))
    (tmp_path / "mail.txt").write_text(mail)
    assert read_invitation(mail) == read_invitation(text) == read_invitation(tmp_path / "mail.txt")
    with pytest.raises(InputError, match=ALTERED):
        read_invitation(mail.replace(text[-20:-4], ""))
    (tmp_path / "mail.eml").write_bytes(quopri.encodestring(mail.encode()))
    assert read_invitation(tmp_path / "mail.eml") == read_invitation(text)


def test_a_text_may_hold_several(ann: Identity, bob: Identity, text: str) -> None:
    other = invitation(bob, SPEC, 4, None)
    digest = f"({text}), <{other}>. Again: {text}"
    assert [one.name for one in read_invitations(digest)] == ["ann", "bob"]
    with pytest.raises(InputError, match=ALTERED):
        read_invitations(f"{text}\n\n{other[:-30]}\nAnn")
    with pytest.raises(InputError, match=ALTERED):
        read_invitation(f"It begins with {PREFIX} and more.")


def test_no_single_changed_character_passes(text: str) -> None:
    for place in range(len(PREFIX), len(text)):
        changed = "A" if text[place] != "A" else "B"
        with pytest.raises(InputError):
            read_invitation(text[:place] + changed + text[place + 1 :])


def test_nobody_signs_for_another(ann: Identity, bob: Identity, text: str) -> None:
    told = read_invitation(text)
    for signer, false, sentence in (
        (bob, told, ALTERED),
        (bob, replace(told, id=bob.id), ALTERED),
        (bob, replace(told, rows=4), ALTERED),
        (ann, replace(told, id=bob.id), ALTERED),
        (ann, replace(told, text=told.text + " "), ALTERED),
        (ann, replace(told, name="\x1b[2J"), "is not a valid name of a member"),
        (ann, replace(told, name="bob"), "Member 'bob' is called 'ann' in its certificate: use"),
        (ann, replace(told, rows=0), "has 0 rows"),
        (ann, replace(told, address="tcp/1.2.3.4:5"), "is not an address"),
    ):
        with pytest.raises(InputError, match=sentence):
            read_invitation(sealed(false, signer))
    with pytest.raises(InputError, match="is not an address"):
        invitation(ann, SPEC, 3, "10.0.0.1")


def test_what_is_no_invitation(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("hello")
    (tmp_path / "long.txt").write_bytes(bytes(1 << 20))
    for given, sentence in (
        ("hello", "is neither an invitation nor a file with one"),
        ("", "is neither an invitation nor a file with one"),
        (tmp_path, "is neither an invitation nor a file with one"),
        (tmp_path / "other.txt", r"other\.txt holds no invitation: one begins with"),
        (tmp_path / "long.txt", r"long\.txt is too long for an invitation"),
        (PREFIX + "A" * (1 << 20), "too long"),
        (PREFIX + "\u00e9\u00e9", ALTERED),
    ):
        with pytest.raises(InputError, match=sentence):
            read_invitation(given)


def test_joining_adds_a_neighbor_or_a_mere_member(bob: Identity, text: str) -> None:
    told = read_invitation(text)
    members = add_invited(Members(), bob, SPEC, told)
    assert [(one.name, one.is_neighbor) for one in members.listed] == [("ann", True)]
    members = add_invited(members, bob, SPEC, told, is_neighbor=False)
    assert [(one.name, one.is_neighbor) for one in members.listed] == [("ann", False)]


def test_joining_refuses_oneself_and_other_runs(
    ann: Identity, bob: Identity, text: str, tmp_path: Path
) -> None:
    told = read_invitation(text)
    with pytest.raises(InputError, match="this peer's own invitation: give it to the others"):
        add_invited(Members(), ann, SPEC, told)
    with pytest.raises(
        InputError,
        match=r"'ann' runs another specification: columns is .* here but .* there\. "
        r'kernel is "auc" here but "gini" there',
    ):
        add_invited(Members(), bob, parse_spec(AUC), told)
    namesake = create_identity(tmp_path, "ann")
    with pytest.raises(InputError, match="This peer is called 'ann' too"):
        add_invited(Members(), namesake, SPEC, told)
