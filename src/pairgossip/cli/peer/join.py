"""`pairgossip peer join`: a neighbor, by its invitation."""

from __future__ import annotations

from pathlib import Path

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.options import Flag
from pairgossip.cli.peer.place import found_home


def join_command(
    invitation: str, /, *, home: Path | None = None, not_a_neighbor: Flag = False
) -> None:
    """Take a member up, by the invitation it gave: as a neighbor, or as one whose rows may pass.

    Both sides of a link must join each other. Every other member of the network must be joined
    too, with --not-a-neighbor: records of those that are not listed are refused. Its name, number
    of rows and id are printed; compare the id with what the other side sees.

    For example:

        pairgossip peer join clinic-b.txt

    Parameters
    ----------
    invitation
        What `peer invite` printed, or a file that holds it.
    home
        The peer's folder; by default this one, or the only peer's in it.
    not_a_neighbor
        Let its records pass, but do not talk to it.
    """
    from pairgossip.peer.identity import load_identity
    from pairgossip.peer.invitations import admitted, read_invitation

    place = found_home(home)
    invited = read_invitation(invitation)
    me = load_identity(place.folder)
    members = admitted(
        place.read_members(), me, place.read_spec(), invited, is_neighbor=not not_a_neighbor
    )
    members.save(place.members)
    role = "member" if not_a_neighbor else "neighbor"
    rows = f"{invited.rows} row{'s' * (invited.rows != 1)}"
    write_line(f"{role} {invited.name}, {rows}, {invited.id}")
    if place.is_running():
        tell("Warning: This peer is running and knows of it after a restart only.")
