"""A relay: a Zenoh router that passes frames on between the members on its list.

Everything is refused by default, by the same two locks as at a peer: TLS 1.3 both ways with the
listed certificates, and rules on their common names, which are ids. A member may put frames under
its own id, take those that are for it, and announce its presence. The relay answers no queries.

The folder has a key and a certificate, the file for members, and the certificates of the members,
each in a file that may be removed. They determine the configuration, which any other Zenoh router
can run as well.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip import files
from pairgossip.errors import InputError, needed_for
from pairgossip.files import read_bytes
from pairgossip.peer.identity.certificates import (
    LARGEST_CERTIFICATE,
    id_of_certificate,
    is_expired,
    is_name,
)
from pairgossip.peer.identity.identity import create_identity, load_identity, write_new
from pairgossip.peer.identity.members import check_address
from pairgossip.peer.identity.relays import Relay, read_relay
from pairgossip.peer.links.relay_link import ALL_PRESENT, ASKING_WHO_IS_THERE, presence_of
from pairgossip.peer.links.zenoh_link import _LEASE, _LONGEST_HANDSHAKE, allow, inbox_of
from pairgossip.peer.service.stopping import stop_on_signals
from pairgossip.text import TLS, parse_address

if TYPE_CHECKING:
    from zenoh import Session

_LOOK_SECONDS = 0.5
"""Time in seconds between two looks at the list of members."""
_LARGEST_MESSAGE = (1 << 26) + 1024
"""Largest number of bytes of a message between members; a longer one is not passed on."""


class RelayFolder:
    """The folder of a relay, and the paths of its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "relay.txt"
        self.members = folder / "members"
        self.trusted = folder / "members.pem"
        self.configuration = folder / "relay.json5"

    def read_members(self) -> dict[str, str]:
        """Return the certificates of the members by their names."""
        listed = {one.stem: one for one in sorted(self.members.glob("*.pem")) if is_name(one.stem)}
        return {name: _read_certificate(one) for name, one in listed.items()}

    def configure(self, listen: str | None = None) -> Path:
        """Write the configuration for the present members, and return its file."""
        address = read_relay(self.file).address
        _, port = parse_address(address, TLS) or ("", 0)
        listen = check_address(listen or f"{TLS}0.0.0.0:{port}")
        members = self.read_members()
        valid = {name: one for name, one in members.items() if not is_expired(one)}
        if not valid:  # an empty list would make Zenoh trust every public authority
            raise InputError(
                "This relay lets nobody in: give the invitations of the members to pairgossip "
                "relay allow."
            )
        files.replace(self.trusted, "".join(one.strip() + "\n" for one in valid.values()).encode())
        ids = {name: id_of_certificate(one) for name, one in valid.items()}
        content = relay_configuration(self.folder.absolute(), listen, ids)
        files.replace(self.configuration, (json.dumps(content, indent=2) + "\n").encode())
        return self.configuration


def _read_certificate(file: Path) -> str:
    certificate = read_bytes(file, LARGEST_CERTIFICATE).decode("ascii", "replace")
    try:
        id_of_certificate(certificate)
    except InputError as problem:
        raise problem.at(file) from None
    return certificate


def open_relay(folder: Path) -> RelayFolder:
    """Open a relay's folder; raise `InputError` if it is not one."""
    relay = RelayFolder(folder)
    if not relay.file.is_file():
        raise InputError(f"{folder} is not the folder of a relay: run pairgossip relay init.")
    load_identity(folder)  # refuses a key that others can read
    return relay


def create_relay(folder: Path, address: str) -> RelayFolder:
    """Make the folder of a relay at an address."""
    check_address(address)
    try:
        folder.mkdir(mode=0o700)
        (folder / "members").mkdir()
    except FileExistsError:
        raise InputError(f"{folder} exists already: choose another folder.") from None
    except OSError as problem:
        raise files.unwritable(folder, problem, "make") from None
    identity, relay = create_identity(folder, "relay"), RelayFolder(folder)
    write_new(relay.file, Relay(address, identity.certificate).spell().encode(), 0o644)
    return relay


def relay_configuration(folder: Path, listen: str, members: Mapping[str, str]) -> dict[str, Any]:
    """Return the Zenoh configuration of a relay; ``members`` are ids by names."""
    rules = [
        allow("ask who is there", "ingress", ASKING_WHO_IS_THERE, ALL_PRESENT),
        allow("learn who is there", "egress", ["liveliness_token"], ALL_PRESENT),
    ]
    policies = [{"rules": [one["id"] for one in rules], "subjects": list(members)}]
    for name, member in members.items():
        own = _rules_of(name, member)
        rules += own
        policies.append({"rules": [one["id"] for one in own], "subjects": [name]})
    return {
        "mode": "router",
        "listen": {"endpoints": [f"{listen}#tls_handshake_timeout_ms={_LONGEST_HANDSHAKE}"]},
        "scouting": {"multicast": {"enabled": False}, "gossip": {"enabled": False}},
        "adminspace": {"enabled": False},
        "plugins_loading": {"enabled": False},
        "access_control": {
            "enabled": True,
            "default_permission": "deny",
            "rules": rules,
            "subjects": [
                {"id": name, "cert_common_names": [member]} for name, member in members.items()
            ],
            "policies": policies,
        },
        "transport": {
            "shared_memory": {"enabled": False},
            "unicast": {"accept_timeout": _LONGEST_HANDSHAKE, "compression": {"enabled": False}},
            "link": {
                "protocols": ["tls"],
                "tx": {"lease": _LEASE, "keep_alive": 4},
                "rx": {"max_message_size": _LARGEST_MESSAGE},
                "tls": {
                    "listen_certificate": str(folder / "cert.pem"),
                    "listen_private_key": str(folder / "key.pem"),
                    "root_ca_certificate": str(folder / "members.pem"),
                    "enable_mtls": True,
                    "close_link_on_expiration": True,
                },
            },
        },
    }


def _rules_of(name: str, member: str) -> list[dict[str, Any]]:
    return [
        allow(f"{name} speaks", "ingress", ["put"], f"pairgossip/*/{member}"),
        allow(f"{name} hears", "egress", ["put"], inbox_of(member)),
        allow(f"{name} listens", "ingress", ["declare_subscriber"], inbox_of(member)),
        allow(f"{name} is there", "ingress", ["liveliness_token"], presence_of(member)),
    ]


def run_relay(relay: RelayFolder, listen: str | None = None) -> None:
    """Run a router until SIGTERM or SIGINT; members may be added and removed meanwhile."""
    members, stopped = relay.read_members(), threading.Event()
    with stop_on_signals(stopped.set):  # also while it opens
        session = _open(relay.configure(listen))
        while not stopped.wait(_LOOK_SECONDS):
            with contextlib.suppress(InputError):  # a file is being written, or nobody is left
                if (now := relay.read_members()) != members:
                    configuration, members = relay.configure(listen), now
                    session.close()  # type: ignore[no-untyped-call]
                    session = _open(configuration)
    session.close()  # type: ignore[no-untyped-call]


def _open(configuration: Path) -> Session:
    with needed_for("A relay", "pairgossip"):
        import zenoh

    try:
        return zenoh.open(zenoh.Config.from_file(str(configuration)))
    except zenoh.ZError as problem:
        cause = " ".join(str(problem).split(" at /")[0].split())
        raise InputError(f"Cannot open the relay: {cause[:300].rstrip('.')}.") from None
