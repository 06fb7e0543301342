from __future__ import annotations

import base64
from pathlib import Path

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.identity.members import Member
from pairgossip.peer.links.zenoh_link import (
    Site,
    access_control,
    admissible,
    configuration,
    inbox_of,
    key_between,
)

from .zenoh_people import Person, make_neighbor

ME, B, C = "a" * 64, "b" * 64, "c" * 64


def site(*neighbors: Member, listen: str | None = None) -> Site:
    return Site(ME, neighbors, Path("cert.pem"), Path("key.pem"), listen, longest_frame=5000)


def test_keys_name_receiver_and_sender() -> None:
    assert key_between(B, ME) == f"pairgossip/{ME}/{B}"
    assert inbox_of(ME) == f"pairgossip/{ME}/*"


def test_everything_is_denied_but_frames_with_each_neighbor() -> None:
    rules = access_control(ME, [B, C])
    assert rules["enabled"] and rules["default_permission"] == "deny"
    assert rules["subjects"] == [{"id": one, "cert_common_names": [one]} for one in (B, C)]
    by_id = {rule["id"]: rule for rule in rules["rules"]}
    for policy, neighbor in zip(rules["policies"], (B, C), strict=True):
        assert policy["subjects"] == [neighbor]
        allowed = {
            (*by_id[rule]["flows"], *by_id[rule]["messages"], *by_id[rule]["key_exprs"])
            for rule in policy["rules"]
        }
        assert allowed == {
            ("ingress", "put", f"pairgossip/{ME}/{neighbor}"),
            ("egress", "put", f"pairgossip/{neighbor}/{ME}"),
            ("ingress", "declare_subscriber", f"pairgossip/{neighbor}/*"),
            ("egress", "declare_subscriber", f"pairgossip/{ME}/*"),
        }
    assert {rule["permission"] for rule in rules["rules"]} == {"allow"}
    assert sum(len(policy["rules"]) for policy in rules["policies"]) == len(by_id) == 8


def test_nothing_is_looked_for_and_nothing_is_open() -> None:
    config = configuration(site(make_neighbor(B, "PEM", "tls/b:1"), make_neighbor(C, "PEM", None)))
    assert config["mode"] == "peer"
    assert config["connect"]["endpoints"] == ["tls/b:1"]
    assert config["listen"]["endpoints"] == []
    assert not config["scouting"]["multicast"]["enabled"]
    assert not config["scouting"]["gossip"]["enabled"]
    assert not config["adminspace"]["enabled"]
    transport = config["transport"]
    assert not transport["shared_memory"]["enabled"]
    assert not transport["unicast"]["compression"]["enabled"]
    assert transport["link"]["protocols"] == ["tls"]
    assert transport["link"]["rx"]["max_message_size"] < 7000


def test_only_the_neighbors_certificates_are_trusted() -> None:
    config = configuration(
        site(make_neighbor(B, "ONE\n", None), make_neighbor(C, "TWO", None), listen="tls/x:1")
    )
    tls = config["transport"]["link"]["tls"]
    assert base64.b64decode(tls["root_ca_certificate_base64"]) == b"ONE\nTWO\n"
    assert tls["enable_mtls"] and tls["close_link_on_expiration"]
    assert config["listen"]["endpoints"] == ["tls/x:1#tls_handshake_timeout_ms=5000"]


def test_neither_the_evicted_nor_the_expired_are_admitted(tmp_path: Path) -> None:
    people = [
        Person(tmp_path, name, days=(-9, days))
        for name, days in zip("bcd", (9, 9, -1), strict=True)
    ]
    b, c, expired = (make_neighbor(one.id, one.certificate, None) for one in people)
    assert admissible([b, c, expired], ()) == (b, c)
    assert admissible([b, c, expired], {b.id}) == (c,)
    assert admissible([b, c, expired], {b.id, c.id, "somebody"}) == ()


def test_without_neighbors_there_is_no_start() -> None:
    with pytest.raises(InputError, match="has no neighbors: add one with pairgossip peer join"):
        configuration(site())
