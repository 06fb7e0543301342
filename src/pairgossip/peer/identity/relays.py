"""The address of a relay and the certificate that it shows to members.

The file of a relay has the address in the first line and the certificate below, as PEM. `pairgossip
relay init` writes one; for another router of Zenoh's, an operator writes it by hand.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import NamedTuple

from pairgossip.errors import InputError
from pairgossip.files import read_bytes
from pairgossip.peer.identity.certificates import LARGEST_CERTIFICATE, check_relay_certificate
from pairgossip.peer.identity.members import check_address

_BEGIN = "-----BEGIN CERTIFICATE-----"


class Relay(NamedTuple):
    """A router through which members exchange that cannot call each other."""

    address: str
    certificate: str

    def spell(self) -> str:
        """Return the content of the relay's file, which all members get."""
        return f"{self.address}\n{self.certificate.strip()}\n"


def read_relay(path: str | PathLike[str]) -> Relay:
    """Read a relay's file; raise `InputError` if it is invalid."""
    text = _read_text(Path(path))
    address, begin, rest = text.partition(_BEGIN)
    try:
        if not begin:
            raise InputError(
                "The file of a relay has its address in the first line, and its certificate below: "
                "copy it again as a whole."
            )
        check_address(address.strip())
        return Relay(address.strip(), check_relay_certificate(begin + rest))
    except InputError as problem:
        raise problem.at(path) from None


def refuse_address(address: str | None, relay: str | None) -> None:
    """Refuse an address at which a peer would listen, if it uses a relay."""
    if address is not None and relay is not None:
        raise InputError(
            f"This peer meets others at {relay}, and nobody calls it: leave --address out."
        )


def read_relay_certificate(path: Path) -> str:
    """Read the certificate of the relay that a peer uses."""
    text = _read_text(path)
    try:
        return check_relay_certificate(text)
    except InputError as problem:
        raise problem.at(path) from None


def _read_text(path: Path) -> str:
    try:
        return read_bytes(path, 2 * LARGEST_CERTIFICATE).decode("ascii")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not the file of a relay: copy it again as a whole.") from None
