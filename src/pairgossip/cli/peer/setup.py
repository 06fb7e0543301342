"""`pairgossip peer invite` and `join`: a peer and its neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.options import Flag, HomeFolder
from pairgossip.cli.peer.folders import find_home, find_study_folder, leave_out_own
from pairgossip.errors import InputError
from pairgossip.text import TLS, format_count, parse_address

if TYPE_CHECKING:
    from pairgossip.peer.identity.invitations import Invitation


def invite_command(
    *, home: HomeFolder = None, address: str | None = None, unreachable: Flag = False
) -> None:
    """Print the peer's invitation, one line that neighbors give to `peer join`.

    It holds the peer's name, certificate, number of rows, address and specification, signed; no
    rows and no secrets. That of a study's member holds the list of members instead of rows and
    specification. Yet let it reach its readers unaltered, by a way you trust: whoever replaces it
    on the way takes the peer's place.

    For example:

        pairgossip peer invite --address tls/clinic-a.example:7447 > clinic-a.txt

    Parameters
    ----------
    address
        Where neighbors reach this peer, as tls/HOST:PORT; by default where it listens, and
        nowhere if it meets them at a relay.
    unreachable
        Neighbors cannot reach this peer: it connects to them, which is enough for a link.
    """
    from pairgossip.peer.identity.identity import load_identity
    from pairgossip.peer.identity.invitations import invitation
    from pairgossip.peer.service.assembly import read_snapshot

    if address is not None and unreachable:
        raise InputError("Give --address or --unreachable, not both.")
    if (study := find_study_folder(home)) is not None:
        from pairgossip.cli.peer.studies import print_invitation

        print_invitation(study, address, unreachable)
        return
    place = find_home(home)
    settings = place.read_settings()
    reached = None if unreachable else address or settings.listen
    host, port = parse_address(reached or "", TLS) or ("", 0)
    if not address and host in ("0.0.0.0", "::"):
        raise InputError(
            f"This peer listens everywhere ({reached}): say where neighbors reach it, as in "
            f"--address tls/clinic-a.example:{port}, or give --unreachable."
        )
    me = load_identity(place.folder)
    # The number it began with: the others learn by its own word, once they meet, that it has more.
    rows = read_snapshot(place).context.rows[me.id]
    write_line(invitation(me, place.read_spec(), rows, reached))


def join_command(
    *invitations: str,
    home: HomeFolder = None,
    not_a_neighbor: Flag = False,
    yes: Flag = False,
) -> None:
    """Add members by their invitations, as neighbors or as members whose records may pass.

    Both sides of a link must join each other. Every other member of the network must be joined
    too, with --not-a-neighbor: records of those that are not listed are refused. Name, number of
    rows and id are printed; compare the id with what the other side sees. Either all invitations
    are taken or none.

    A study can be joined at any time, also while it runs; it asks first.

    For example:

        pairgossip peer join clinic-b.txt clinic-c.txt

    Parameters
    ----------
    invitations
        What `peer invite` printed, or files that hold it, mails too; as many as there are. This
        peer's own is left out, so that `*.txt` names all of a folder.
    not_a_neighbor
        Let their records pass, but do not talk to them.
    yes
        Do not ask.
    """
    from pairgossip.peer.identity.identity import load_identity
    from pairgossip.peer.identity.invitations import add_invited

    if not invitations:
        raise InputError("There is nothing to join: name one or more files with invitations.")
    if (study := find_study_folder(home)) is not None:
        from pairgossip.cli.peer.studies import join_study

        join_study(study, invitations, yes=yes)
        return
    place = find_home(home)
    me, spec, members = load_identity(place.folder), place.read_spec(), place.read_members()
    all_invited = _read_others(invitations, me.id)
    for invited in all_invited:
        members = add_invited(members, me, spec, invited, is_neighbor=not not_a_neighbor)
    members.save(place.members)
    role = "member" if not_a_neighbor else "neighbor"
    for invited in all_invited:
        rows = format_count(invited.rows, "row")
        write_line(f"{role} {invited.name}, {rows}, {invited.id}")
    if place.is_running():
        tell("Warning: This peer is running and knows of that after a restart only.")


def _read_others(texts: Sequence[str], me: str) -> list[Invitation]:
    """Read all invitations, each once; this peer's own is left out where there are others."""
    by_id = {one.id: (text, one) for text in texts for one in _read(text, len(texts))}
    return leave_out_own(by_id, me)


def _read(text: str, count: int) -> list[Invitation]:
    from pairgossip.peer.identity.armored import read_one_of
    from pairgossip.peer.identity.invitations import PREFIX, read_invitations

    return read_one_of(PREFIX, read_invitations, text, count)
