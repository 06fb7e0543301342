"""`pairgossip peer join`: neighbors, by their invitations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.options import Flag
from pairgossip.cli.peer.place import found_home
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.peer.invitations import Invitation


def join_command(*invitations: str, home: Path | None = None, not_a_neighbor: Flag = False) -> None:
    """Take members up, by the invitations they gave: as neighbors, or as those whose rows may pass.

    Both sides of a link must join each other. Every other member of the network must be joined
    too, with --not-a-neighbor: records of those that are not listed are refused. Name, number of
    rows and id are printed; compare the id with what the other side sees. Of several invitations
    either all are taken or none.

    For example:

        pairgossip peer join clinic-b.txt clinic-c.txt

    Parameters
    ----------
    invitations
        What `peer invite` printed, or files that hold it; as many as there are.
    home
        The peer's folder; by default this one, or the only peer's in it.
    not_a_neighbor
        Let their records pass, but do not talk to them.
    """
    from pairgossip.peer.identity import load_identity
    from pairgossip.peer.invitations import admitted

    place = found_home(home)
    if not invitations:
        raise InputError("There is nothing to join: name one or more files with invitations.")
    me, spec, members = load_identity(place.folder), place.read_spec(), place.read_members()
    all_invited = [_read(text, len(invitations)) for text in invitations]
    for invited in all_invited:
        members = admitted(members, me, spec, invited, is_neighbor=not not_a_neighbor)
    members.save(place.members)
    role = "member" if not_a_neighbor else "neighbor"
    for invited in all_invited:
        rows = f"{invited.rows} row{'s' * (invited.rows != 1)}"
        write_line(f"{role} {invited.name}, {rows}, {invited.id}")
    if place.is_running():
        tell("Warning: This peer is running and knows of that after a restart only.")


def _read(text: str, count: int) -> Invitation:
    """Read one of so many invitations, and say which one is wrong."""
    from pairgossip.peer.invitations import read_invitation

    try:
        return read_invitation(text)
    except InputError as problem:
        if count == 1 or text[:40] in str(problem):
            raise
        raise InputError(f"{text[:40]}: {problem}") from None
