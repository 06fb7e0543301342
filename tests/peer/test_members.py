from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import create_identity
from pairgossip.peer.identity.members import Member, Members, check_address


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


def test_two_members_never_share_a_name(three: list[Member]) -> None:
    members = Members().with_member(three[0])
    with pytest.raises(InputError, match="Another member is called 'ann' already"):
        members.with_member(replace(three[1], name="ann"))


def test_what_a_member_began_with_never_changes(three: list[Member]) -> None:
    members = Members().with_member(three[0])
    with pytest.raises(InputError, match="'ann' began with 1 rows, not 5: it was made anew with"):
        members.with_member(replace(three[0], rows=5))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "../x"}, "'../x' is not a valid name of a member"),
        ({"id": "0" * 64}, "The certificate of member 'ann' is not that of its id."),
        ({"certificate": "x"}, "Member 'ann': The certificate cannot be read"),
        ({"rows": 0}, "Member 'ann' has 0 rows: it must have 1 to 1000000."),
        ({"rows": 10**9}, "Member 'ann' has 1000000000 rows"),
        ({"address": "tcp/10.0.0.1:7447"}, "'tcp/10.0.0.1:7447' is no address"),
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


@pytest.mark.parametrize(
    "address",
    [
        "",
        "10.0.0.1:7447",
        "tls/10.0.0.1",
        "tls/:1",
        "tls/a:0",
        "tls/a:65536",
        "tls/a:1#x=y",
        "tls/a:1?x",
        "tls/a b:1",
        "tls/" + "a" * 400 + ":1",
    ],
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(InputError, match="is no address: write it as tls/HOST:PORT"):
        check_address(address)
