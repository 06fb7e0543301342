"""`pairgossip peer invite`: what others need to know of a peer."""

from __future__ import annotations

from pathlib import Path

from pairgossip.cli.console import write_line
from pairgossip.cli.options import Flag
from pairgossip.cli.peer.place import found_home
from pairgossip.errors import InputError

EVERYWHERE = ("0.0.0.0", "[::]")


def invite_command(
    *, home: Path | None = None, address: str | None = None, unreachable: Flag = False
) -> None:
    """Print the peer's invitation, one line that neighbors give to `peer join`.

    It holds the peer's name, certificate, number of rows, address and specification, signed; no
    rows and no secrets. Yet let it reach its readers unaltered, by a way you trust: whoever
    replaces it on the way takes the peer's place.

    For example:

        pairgossip peer invite --address tls/clinic-a.example:7447 > clinic-a.txt

    Parameters
    ----------
    home
        The peer's folder; by default this one, or the only peer's in it.
    address
        Where neighbors reach this peer, as tls/HOST:PORT; by default where it listens.
    unreachable
        Neighbors cannot reach this peer: it connects to them, which is enough for a link.
    """
    from pairgossip.peer.identity import load_identity
    from pairgossip.peer.invitations import invitation
    from pairgossip.peer.view import view

    place = found_home(home)
    if address is not None and unreachable:
        raise InputError("Give --address or --unreachable, not both.")
    reached = None if unreachable else address or _listening(place.read_settings().listen)
    me = load_identity(place.folder)
    # What it began with: the others learn by its own word, once they meet, that it has more.
    rows = view(place).setting.rows[me.id]
    write_line(invitation(me, place.read_spec(), rows, reached))


def _listening(listen: str) -> str:
    host, _, port = listen.removeprefix("tls/").rpartition(":")
    if host in EVERYWHERE:
        raise InputError(
            f"This peer listens everywhere ({listen}): say where neighbors reach it, as in "
            f"--address tls/clinic-a.example:{port}, or give --unreachable."
        )
    return listen
