"""Who may connect to a peer and what each may say: Zenoh's configuration, refusing by default.

Four locks, one behind the other:

- TLS 1.3 both ways, trusting the certificates of the neighbors and no other. Evicted neighbors and
  those whose certificates have expired are not among them: see `admissible`.
- Rules on certificates' common names, which are ids: from the neighbor ``b`` only what it puts at
  ``pairgossip/<me>/<b>``, to it only what is put at ``pairgossip/<b>/<me>``; nothing else passes.
- A signature on every frame (`peer.service.zenoh_link`). TLS takes whatever a trusted key has
  signed, so a neighbor could issue a certificate in another neighbor's name, also a long time after
  its own has expired. The first two locks let that through; what it says is refused by the third.
- A seal on every frame (`peer.identity.certificates`), so that such a neighbor cannot read what is
  meant for the other either.

Nothing looks for peers by itself: addresses are those that were given.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pairgossip.errors import InputError
from pairgossip.peer.identity import certificates
from pairgossip.peer.identity.certificates import is_expired

PREFIX = "pairgossip"
LEASE = 3.0
"""Seconds of silence after which a neighbor is disconnected; signs of life come more often."""
LONGEST_HANDSHAKE = 5.0
VERSION_BYTES = 1
SIGNATURE = 64
"""The length of an Ed25519 signature."""
OVERHEAD = VERSION_BYTES + SIGNATURE + certificates.OVERHEAD
"""How many bytes longer a frame is on the network."""
FIRST_RETRY, LONGEST_RETRY = 0.25, 4.0
SLACK = 1024
"""Room for what Zenoh adds to a frame."""


class Neighbor(NamedTuple):
    """One side of a link."""

    id: str
    certificate: str
    """In PEM."""
    address: str | None
    """Such as "tls/clinic-b.example:7447"; None if it can only connect to us."""


@dataclass(frozen=True)
class Site:
    """Where a peer is, and who may come."""

    me: str
    neighbors: Sequence[Neighbor]
    certificate: Path
    key: Path
    listen: str | None = None
    """None: this peer connects to others, and nobody to it."""
    longest_frame: int = 1 << 17


def admissible(neighbors: Sequence[Neighbor], evicted: Collection[str]) -> tuple[Neighbor, ...]:
    """Return the neighbors that may connect now: neither evicted nor expired."""
    return tuple(
        one for one in neighbors if one.id not in evicted and not is_expired(one.certificate)
    )


def inbox_of(peer: str) -> str:
    """The keys that a peer listens to."""
    return f"{PREFIX}/{peer}/*"


def key_between(sender: str, to: str) -> str:
    """The key at which one peer puts what is meant for another."""
    return f"{PREFIX}/{to}/{sender}"


def configuration(site: Site) -> dict[str, Any]:
    """Return Zenoh's configuration of a peer."""
    if not site.neighbors:  # an empty list would make Zenoh trust every public authority
        raise InputError("This peer has no neighbors: add one with pairgossip peer join.")
    return {
        "mode": "peer",
        "listen": {
            "endpoints": [] if site.listen is None else [_endpoint(site.listen)],
            "exit_on_failure": True,
            "timeout_ms": 0,
        },
        "connect": {
            "endpoints": [one.address for one in site.neighbors if one.address is not None],
            "exit_on_failure": False,
            "timeout_ms": -1,  # forever: a neighbor may come up tomorrow
            "retry": {
                "period_init_ms": _milliseconds(FIRST_RETRY),
                "period_max_ms": _milliseconds(LONGEST_RETRY),
                "period_increase_factor": 2,
            },
        },
        "scouting": {
            "delay": 0,
            "multicast": {"enabled": False},
            "gossip": {"enabled": False},
        },
        "open": {"return_conditions": {"connect_scouted": False, "declares": False}},
        "adminspace": {"enabled": False},
        "plugins_loading": {"enabled": False},
        "access_control": access_control(site.me, [one.id for one in site.neighbors]),
        "transport": {
            "shared_memory": {"enabled": False},
            "unicast": {
                "accept_timeout": _milliseconds(LONGEST_HANDSHAKE),
                "open_timeout": _milliseconds(LONGEST_HANDSHAKE),
                "compression": {"enabled": False},
            },
            "link": {
                "protocols": ["tls"],
                "tx": {"lease": _milliseconds(LEASE), "keep_alive": 4},
                "rx": {"max_message_size": site.longest_frame + OVERHEAD + SLACK},
                "tls": _tls(site),
            },
        },
    }


def access_control(me: str, neighbors: Sequence[str]) -> dict[str, Any]:
    """Return the rules: everything is denied but frames between me and each neighbor."""
    return {
        "enabled": True,
        "default_permission": "deny",
        "rules": [rule for neighbor in neighbors for rule in _rules(me, neighbor)],
        "subjects": [{"id": one, "cert_common_names": [one]} for one in neighbors],
        "policies": [
            {"rules": [rule["id"] for rule in _rules(me, one)], "subjects": [one]}
            for one in neighbors
        ],
    }


def _rules(me: str, neighbor: str) -> list[dict[str, Any]]:
    allowed = {
        "hear": ("ingress", "put", key_between(neighbor, me)),
        "say": ("egress", "put", key_between(me, neighbor)),
        "learn what it listens to": ("ingress", "declare_subscriber", inbox_of(neighbor)),
        "tell what I listen to": ("egress", "declare_subscriber", inbox_of(me)),
    }
    return [
        {
            "id": f"{what} {neighbor}",
            "permission": "allow",
            "flows": [flow],
            "messages": [message],
            "key_exprs": [key],
        }
        for what, (flow, message, key) in allowed.items()
    ]


def _endpoint(listen: str) -> str:
    """Where to listen, with a deadline for those who connect and then say nothing."""
    return f"{listen}#tls_handshake_timeout_ms={_milliseconds(LONGEST_HANDSHAKE)}"


def _tls(site: Site) -> dict[str, Any]:
    trusted = "\n".join(one.certificate.strip() for one in site.neighbors) + "\n"
    return {
        "root_ca_certificate_base64": base64.b64encode(trusted.encode()).decode(),
        "listen_certificate": str(site.certificate),
        "listen_private_key": str(site.key),
        "connect_certificate": str(site.certificate),
        "connect_private_key": str(site.key),
        "enable_mtls": True,
        "verify_name_on_connect": False,  # a peer is its key, wherever it is
        "close_link_on_expiration": True,
    }


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)
