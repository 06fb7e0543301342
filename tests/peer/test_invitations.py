from __future__ import annotations

import base64
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import Identity, create_identity
from pairgossip.peer.identity.members import (
    _ALTERED,
    _PREFIX,
    _PURPOSE,
    Invitation,
    Members,
    add_invited,
    invitation,
    read_invitation,
)
from pairgossip.peer.spec.spec import parse_spec
from tests.peer.homes import AUC, GINI

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
    return _PREFIX + base64.urlsafe_b64encode(packed).decode()


def test_an_invitation_tells_what_a_neighbor_needs(ann: Identity, text: str) -> None:
    told = read_invitation(text)
    assert (told.name, told.id, told.rows) == ("ann", ann.id, 3)
    assert (told.certificate, told.address) == (ann.certificate, "tls/10.0.0.1:7447")
    assert (told.spec, told.text) == (SPEC.hash, SPEC.text)
    member = told.member(is_neighbor=False)
    assert (member.id, member.is_neighbor) == (ann.id, False)
    assert text.startswith(_PREFIX)
    assert "\n" not in text


def test_it_may_come_by_file_and_with_broken_lines(tmp_path: Path, text: str) -> None:
    file = tmp_path / "ann.txt"
    file.write_text("\n".join(text[i : i + 76] for i in range(0, len(text), 76)) + "\n\n")
    assert read_invitation(file) == read_invitation(text)
    assert read_invitation(str(file)) == read_invitation(text)
    assert read_invitation(f"  {text[:200]} \r\n {text[200:]}\n") == read_invitation(text)


def test_no_single_changed_character_passes(text: str) -> None:
    for place in range(len(_PREFIX), len(text)):
        changed = "A" if text[place] != "A" else "B"
        with pytest.raises(InputError):
            read_invitation(text[:place] + changed + text[place + 1 :])


def test_an_incomplete_one_says_so(text: str) -> None:
    for length in range(len(_PREFIX), len(text), 41):
        with pytest.raises(InputError, match=_ALTERED):
            read_invitation(text[:length])


def test_nobody_signs_for_another(ann: Identity, bob: Identity, text: str) -> None:
    told = read_invitation(text)
    for false in (told, replace(told, id=bob.id), replace(told, rows=4)):
        with pytest.raises(InputError, match=_ALTERED):
            read_invitation(sealed(false, bob))
    with pytest.raises(InputError, match=_ALTERED):
        read_invitation(sealed(replace(told, id=bob.id), ann))
    with pytest.raises(InputError, match=_ALTERED):
        read_invitation(sealed(replace(told, text=told.text + " "), ann))


def test_what_it_tells_is_checked(ann: Identity, text: str) -> None:
    told = read_invitation(text)
    with pytest.raises(InputError, match="is not a valid name of a member"):
        read_invitation(sealed(replace(told, name="\x1b[2J"), ann))
    with pytest.raises(InputError, match="has 0 rows"):
        read_invitation(sealed(replace(told, rows=0), ann))
    with pytest.raises(InputError, match="is no address"):
        read_invitation(sealed(replace(told, address="tcp/1.2.3.4:5"), ann))
    with pytest.raises(InputError, match="is no address"):
        invitation(ann, SPEC, 3, "10.0.0.1")


def test_what_is_no_invitation(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is neither an invitation nor a file with one"):
        read_invitation("hello")
    with pytest.raises(InputError, match="is neither an invitation nor a file with one"):
        read_invitation("")
    with pytest.raises(InputError, match="is neither an invitation nor a file with one"):
        read_invitation(tmp_path)
    (tmp_path / "other.txt").write_text("hello")
    with pytest.raises(InputError, match=r"other\.txt holds no invitation: it must begin with"):
        read_invitation(tmp_path / "other.txt")
    (tmp_path / "long.txt").write_bytes(bytes(1 << 20))
    with pytest.raises(InputError, match=r"long\.txt is too long for an invitation"):
        read_invitation(tmp_path / "long.txt")
    with pytest.raises(InputError, match="too long"):
        read_invitation(_PREFIX + "A" * (1 << 20))
    with pytest.raises(InputError, match=_ALTERED):
        read_invitation(_PREFIX + "\u00e9\u00e9")


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
