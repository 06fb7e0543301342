"""`pairgossip peer init`, `invite` and `join`: a peer and its neighbors."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.options import Flag, HomeFolder
from pairgossip.errors import InputError
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.peer.identity.members import Invitation
    from pairgossip.peer.storage.folder import Home


def init_command(
    *,
    name: str,
    data: Path,
    spec: Path,
    listen: str | None = None,
    yes: Flag = False,
    home: Path | None = None,
    metrics: str | None = None,
    fast: Flag = False,
    ledger: Path | None = None,
    budget: float | None = None,
) -> None:
    """Make a peer: its key, its certificate, its id and its durable state, in a folder of its own.

    What will leave this machine is said in words, at a terminal before anything is made. The id,
    which stands for the peer's key, is printed. The key never leaves the folder; a copy of the rows
    lies there too, so nobody else should be able to read it. If rows are reported, by a table
    [privacy], the copy is of randomized reports instead, each drawn once and for all.

    For example:

        pairgossip peer init --name clinic-a --data scores.csv --spec auc.toml

    Parameters
    ----------
    name
        What others will call the peer: up to 32 letters, digits, dots, dashes, underscores.
    data
        A CSV file with the columns that the specification names; each row is one observation.
    spec
        The TOML file that says what is computed and how; all members need the same.
    listen
        Where to listen, as tls/HOST:PORT; by default tls/0.0.0.0:7447.
    yes
        Do not ask whether what leaves this machine may do so.
    home
        The folder to make; by default PAIRGOSSIP_HOME, or one called like the peer.
    metrics
        Where to serve metrics for Prometheus on this machine, such as 127.0.0.1:9464.
    fast
        Do not wait for the disk at every exchange: faster, but a loss of power may then make it
        necessary to evict this peer.
    ledger
        Under privacy, the file that keeps every row's report, or the noise of sums, and what it has
        cost, to be found again whenever this data file is used; by default beside it, with .ledger
        at the end.
    budget
        Under privacy, how much epsilon a row may spend in all; by default as much as its first
        report costs, or one run on sums. A new generation of sums costs epsilon again: allow it
        with budget in peer.toml.
    """
    from pairgossip.peer.identity.identity import load_identity
    from pairgossip.peer.spec.spec import read_spec
    from pairgossip.peer.storage.folder import DEFAULT_LISTEN
    from pairgossip.peer.storage.home import accounts, create_home

    agreed = read_spec(spec)
    leaves = agreed.leaves()
    if not yes:
        _ask(leaves)
    made = create_home(
        home or _named_home() or Path(name),
        name,
        spec,
        data,
        listen or DEFAULT_LISTEN,
        power_safe=not fast,
        metrics=metrics,
        ledger=ledger,
        budget=budget,
    )
    tell(f"Made {made.folder} with {format_count(len(made.read_rows()), 'row')}.")
    for sentence in leaves if yes else ():
        tell(sentence)
    for kept in accounts(made):
        tell(
            f"It holds reports of them only. Keep {kept} with the data: it knows every report."
            if agreed.privacy is not None
            else f"Keep {kept} with the data: it knows the noise that is added for these rows."
        )
    tell("Next: pairgossip peer invite, and give what it prints to the neighbors.")
    write_line(load_identity(made.folder).id)


def _ask(leaves: list[str]) -> None:
    """Say what will leave this machine, and go on only if somebody agrees."""
    if not sys.stdin.isatty():
        raise InputError(
            f"{leaves[0]} This must be agreed to, and there is no terminal to ask on: give --yes."
        )
    for sentence in leaves:
        tell(sentence)
    if input("Make this peer? [y/N] ").strip().lower() not in ("y", "yes"):
        raise InputError("Nothing was made: answer y, or give --yes, to make the peer.")


def find_home(folder: Path | None) -> Home:
    """Return the peer in the folder given, in this one, or else in the only one below."""
    from pairgossip.peer.storage.folder import open_home

    return open_home(folder or _named_home() or _only_one())


def _named_home() -> Path | None:
    """Return the folder that the environment names."""
    from pairgossip.peer.storage.folder import HOME_VARIABLE, read_variables

    read_variables(os.environ)  # a name that is mistyped would look like no folder
    named = os.environ.get(HOME_VARIABLE)
    return Path(named) if named else None


def _only_one() -> Path:
    here = Path(".")
    if (here / "peer.toml").is_file():
        return here
    below = sorted(found.parent for found in here.glob("[!.]*/peer.toml"))
    if len(below) == 1:
        return below[0]
    if not below:
        raise InputError("There is no peer in this folder: run peer init, or give --home.")
    names = ", ".join(map(str, below[:5])) + (", ..." if len(below) > 5 else "")
    raise InputError(f"There are several peers in this folder: give --home with one of {names}.")


def invite_command(
    *, home: HomeFolder = None, address: str | None = None, unreachable: Flag = False
) -> None:
    """Print the peer's invitation, one line that neighbors give to `peer join`.

    It holds the peer's name, certificate, number of rows, address and specification, signed; no
    rows and no secrets. Yet let it reach its readers unaltered, by a way you trust: whoever
    replaces it on the way takes the peer's place.

    For example:

        pairgossip peer invite --address tls/clinic-a.example:7447 > clinic-a.txt

    Parameters
    ----------
    address
        Where neighbors reach this peer, as tls/HOST:PORT; by default where it listens.
    unreachable
        Neighbors cannot reach this peer: it connects to them, which is enough for a link.
    """
    from pairgossip.peer.identity.identity import load_identity
    from pairgossip.peer.identity.members import invitation
    from pairgossip.peer.service.assembly import read_snapshot

    place = find_home(home)
    if address is not None and unreachable:
        raise InputError("Give --address or --unreachable, not both.")
    reached = None if unreachable else address or _listening(place.read_settings().listen)
    me = load_identity(place.folder)
    # What it began with: the others learn by its own word, once they meet, that it has more.
    rows = read_snapshot(place).context.rows[me.id]
    write_line(invitation(me, place.read_spec(), rows, reached))


def _listening(listen: str) -> str:
    host, _, port = listen.removeprefix("tls/").rpartition(":")
    if host in ("0.0.0.0", "[::]"):
        raise InputError(
            f"This peer listens everywhere ({listen}): say where neighbors reach it, as in "
            f"--address tls/clinic-a.example:{port}, or give --unreachable."
        )
    return listen


def join_command(*invitations: str, home: HomeFolder = None, not_a_neighbor: Flag = False) -> None:
    """Add members by their invitations, as neighbors or as members whose records may pass.

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
    not_a_neighbor
        Let their records pass, but do not talk to them.
    """
    from pairgossip.peer.identity.identity import load_identity
    from pairgossip.peer.identity.members import add_invited

    place = find_home(home)
    if not invitations:
        raise InputError("There is nothing to join: name one or more files with invitations.")
    me, spec, members = load_identity(place.folder), place.read_spec(), place.read_members()
    all_invited = [_read(text, len(invitations)) for text in invitations]
    for invited in all_invited:
        members = add_invited(members, me, spec, invited, is_neighbor=not not_a_neighbor)
    members.save(place.members)
    role = "member" if not_a_neighbor else "neighbor"
    for invited in all_invited:
        rows = format_count(invited.rows, "row")
        write_line(f"{role} {invited.name}, {rows}, {invited.id}")
    if place.is_running():
        tell("Warning: This peer is running and knows of that after a restart only.")


def _read(text: str, count: int) -> Invitation:
    """Read one of ``count`` invitations, and say which one is wrong."""
    from pairgossip.peer.identity.members import read_invitation

    try:
        return read_invitation(text)
    except InputError as problem:
        if count == 1 or text[:40] in str(problem):
            raise
        raise InputError(f"{text[:40]}: {problem}") from None
