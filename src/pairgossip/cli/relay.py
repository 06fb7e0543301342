"""`pairgossip relay`: a meeting point for members that cannot call each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from pairgossip.cli.console import tell, write_line
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.study.protocol.records import Card

RelayHome = Annotated[Path, Parameter(name="--home")]
"""The relay's folder."""

_HELP = """Run a relay: members that can only call outward, on port 443, meet at it.

It passes on frames that members have sealed to each other. It learns who talks
to whom, when and how much, and can hold frames back; it can neither read nor
change them. Anyone whom all members can reach may run it. Rows never travel
through it.
Each member makes its peer with peer init --relay relay.txt, the file that
relay init has written, and exchanges invitations with all others as usual.
For example, at relay.example:

    pairgossip relay init --address tls/relay.example:443
    pairgossip relay allow clinic-a.txt clinic-b.txt clinic-c.txt
    pairgossip relay run
"""


def init_command(*, address: str, home: RelayHome = Path("relay")) -> None:
    """Make a relay: its key, its certificate, and the file relay.txt for the members.

    Send that file in a way in which nobody can alter it: peers connect only to the relay it names.

    For example:

        pairgossip relay init --address tls/relay.example:443

    Parameters
    ----------
    address
        Where members reach the relay, as tls/HOST:PORT; most of them reach port 443 only.
    home
        The folder to make.
    """
    from pairgossip.peer.service.relay import create_relay

    file = create_relay(home, address).file
    tell(f"Made {home}: give the members {file}, and their invitations to relay allow.")


def allow_command(*invitations: str, home: RelayHome = Path("relay")) -> None:
    """Let members in by their invitations, whether the relay runs or not.

    To keep a member out, remove its certificate, such as relay/members/clinic-b.pem. A relay that
    runs does so at once, and drops all connections for a moment. If you run another Zenoh router
    in its place, restart it.

    For example:

        pairgossip relay allow clinic-a.txt clinic-b.txt clinic-c.txt

    Parameters
    ----------
    invitations
        Invitations that `peer invite` printed, or files that hold them; one or several.
    home
        The relay's folder.
    """
    from pairgossip.files import replace
    from pairgossip.peer.service.relay import open_relay

    relay = open_relay(home)
    if not invitations:
        raise InputError("No member is named: give one or more files with invitations.")
    members = relay.read_members()
    count = len(invitations)
    everybody = [one for text in invitations for one in _read_invited(text, count)]
    for invited in everybody:
        if members.setdefault(invited.name, invited.certificate) != invited.certificate:
            raise InputError(
                f"Another member is called '{invited.name}': remove "
                f"{relay.members / invited.name}.pem if this one takes its place."
            )
    for invited in everybody:
        replace(relay.members / f"{invited.name}.pem", invited.certificate.encode())
        write_line(f"{invited.name}, {invited.id}")
    relay.configure()


def _read_invited(text: str, count: int) -> list[Card]:
    """Return the cards of the invitations in one of ``count`` texts."""
    from pairgossip.peer.identity.armored import read_one_of
    from pairgossip.study.service.invitations import PREFIX, read_invitations

    return [one.card for one in read_one_of(PREFIX, read_invitations, text, count)]


def run_command(*, home: RelayHome = Path("relay"), listen: str | None = None) -> None:
    """Run the relay until it is stopped by a signal.

    Its configuration is the file relay.json5 in its folder, with which any other Zenoh router can
    take its place: zenohd --config relay/relay.json5.

    For example:

        pairgossip relay run --listen tls/0.0.0.0:8443

    Parameters
    ----------
    home
        The relay's folder.
    listen
        Where to listen, as tls/HOST:PORT; by default on all interfaces, at its address's port.
    """
    from pairgossip.peer.service.relay import open_relay, run_relay

    relay = open_relay(home)
    relay.configure(listen)
    tell(f"Passing frames on between {', '.join(relay.read_members())}.")
    run_relay(relay, listen)


relay_app = App(
    name="relay",
    help=_HELP,
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)
for command in (init_command, allow_command, run_command):
    name = command.__name__.removesuffix("_command")
    relay_app.command(command, name=name, help_format="markdown")
