"""`pairgossip peer init`, `invite` and `join`: a peer and its neighbors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.options import Flag, HomeFolder, Whole
from pairgossip.errors import InputError, canonical, unknown_name
from pairgossip.text import TLS, format_count, join_names, parse_address

if TYPE_CHECKING:
    from pairgossip.peer.identity.invitations import Invitation
    from pairgossip.peer.storage.folder import Home, OperatorSettings
    from pairgossip.peer.storage.old_folder import OldFolder


def init_command(
    *,
    name: str | None = None,
    data: Path,
    spec: Path,
    listen: str | None = None,
    yes: Flag = False,
    home: Path | None = None,
    metrics: str | None = None,
    fast: Flag = False,
    ledger: Path | None = None,
    budget: float | None = None,
    least_rows: Whole | None = None,
    least_cell: Whole | None = None,
    allow: Annotated[tuple[str, ...], Parameter(show_default=False)] = (),
    id_: Annotated[str | None, Parameter(name="--id")] = None,
    same: Annotated[tuple[str, ...], Parameter(show_default=False)] = (),
    register: Path | None = None,
    visible: Flag = False,
    from_: Annotated[Path | None, Parameter(name="--from")] = None,
) -> None:
    """Make a peer: its key, its certificate, its id and its durable state, in a folder of its own.

    What will leave this machine is said in words, at a terminal before anything is made. The id,
    which stands for the peer's key, is printed. The key never leaves the folder; a copy of the rows
    lies there too, so nobody else should be able to read it. If rows are reported, by a table
    [privacy], the copy is of randomized reports instead, each drawn once and for all.

    For example:

        pairgossip peer init --name clinic-a --data scores.csv --spec auc.toml
        pairgossip peer init --from old --home new --data scores.csv --spec auc.toml

    Parameters
    ----------
    name
        What others will call the peer: up to 32 letters, digits, dots, dashes, underscores. With
        --from it keeps its name.
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
    least_rows
        Where sums are computed, the least number of this peer's rows (of one class, if there are
        classes) that a total may be about, and of rows that all members but the largest have
        together; by default 10.
    least_cell
        Where counts are released, the least number of rows that this site lets be counted: a
        specification with less is refused; by default 1.
    allow
        Where sums are computed, a kernel or loss whose sums can locate single rows, and which is
        refused unless it is named here, such as distance; repeat it, or separate names by commas.
    id_
        Where counts are released, the column of the data file that tells who is who, to find rows
        again that were released before; by default they are found by their lines and values.
    same
        Where counts are released, columns that are functions of one another, such as risk,logit:
        they count as one. Repeat it for others.
    register
        Where counts are released, the file that keeps what was released of this data; by default
        beside it, with .releases at the end.
    visible
        Release rows though a table of them went out before: members of both studies can subtract.
    from_
        The folder of a peer of pairgossip 0.2, which is left as it is: the new one takes its key,
        certificate, name, settings of peer.toml and signed result; nothing else.
    """
    from pairgossip.peer.identity.identity import load_identity
    from pairgossip.peer.storage.folder import Home
    from pairgossip.peer.storage.home import make_folder
    from pairgossip.peer.storage.kept_ledgers import accounts
    from pairgossip.peer.storage.kept_releases import ReleaseOptions
    from pairgossip.peer.storage.old_folder import read_old_folder

    old = None if from_ is None else read_old_folder(from_)
    old_ledgers = () if old is None else tuple(accounts(Home(old.folder)))
    settings = _settings(
        old,
        name=name,
        listen=listen,
        power_safe=False if fast else None,
        metrics=metrics,
        least_rows=least_rows,
        least_cell=least_cell,
        allow=_allowed(allow) or None,
        row_id=id_,
        same=tuple(tuple(map(str.strip, one.split(","))) for one in same) or None,
    )
    leaves: list[str] = []
    made = make_folder(
        home or _named_home() or Path(settings.name),
        settings,
        spec,
        data,
        ledger=ledger,
        budget=budget,
        release=ReleaseOptions(register, visible),
        old=old,
        confirm=leaves.extend if yes else _confirm_disclosure,
    )
    tell(f"Made {made.folder} with {format_count(len(made.read_rows()), 'row')}.")
    for sentence in leaves:
        tell(sentence)
    if old is not None:
        tell(_describe_taken(old, old_ledgers))
    agreed = made.read_spec()
    for kept in accounts(made):
        tell(
            f"It holds reports of them only. Keep {kept} with the data: it knows every report."
            if agreed.privacy is not None
            else f"Keep {kept} with the data: it knows the noise that is added for these rows."
        )
    tell("Next: pairgossip peer invite, and give what it prints to the neighbors.")
    write_line(load_identity(made.folder).id)


def _settings(old: OldFolder | None, *, name: str | None, **options: Any) -> OperatorSettings:
    """Return the settings of a new peer: those given, else those of an old folder, or defaults."""
    from msgspec.structs import replace

    from pairgossip.peer.storage.folder import OperatorSettings

    if old is not None:
        settings = old.settings
        if name not in (None, settings.name):
            raise InputError(
                f"The certificate in {old.folder} names its peer '{settings.name}': leave --name "
                "out, or make a new peer without --from."
            )
    elif name is None:
        raise InputError("The peer needs a name that others call it by: give --name.")
    else:
        settings = OperatorSettings(name)
    changes = {key: value for key, value in options.items() if value is not None}
    return replace(settings, **changes)


def _allowed(names: Sequence[str]) -> tuple[str, ...]:
    """Return the kernels and losses that an operator allows, as the catalogs spell them."""
    from pairgossip import kernels, losses

    catalog = {*kernels.CATALOG, *losses.CATALOG}
    allowed = [part for text in names for part in text.split(",")]
    for one in allowed:
        if canonical(one) not in catalog:
            raise unknown_name("kernel or loss in --allow", one.strip(), catalog)
    return tuple(sorted(set(map(canonical, allowed))))


def _describe_taken(old: OldFolder, ledgers: Sequence[str]) -> str:
    """Say what a new folder has of an old one, and what is to be done about the rest."""
    names = [f"results/{name}" for name in sorted(old.results)]
    result = (
        f"signed result ({join_names(names)})"
        if names
        else "no result, since not all members have signed one"
    )
    ledger = f" (pass --ledger {ledgers[0]} as before)" if ledgers else ""
    return (
        f"It has the key, certificate, settings and {result} of {old.folder}, and nothing else: "
        f"its rows are those of --data, exchange invitations again, keep a ledger with its data"
        f"{ledger}, and do not run {old.folder} any more."
    )


def _confirm_disclosure(leaves: list[str]) -> None:
    """Say what will leave this machine, and go on only if somebody agrees."""
    refusal = f"{leaves[0]} This must be agreed to, and there is no terminal to ask on: give --yes."
    if not is_answered_yes(leaves, "Make this peer?", refusal):
        raise InputError("Nothing was made: answer y, or give --yes, to make the peer.")


def is_answered_yes(sentences: Iterable[str], question: str, refusal: str) -> bool:
    """Tell sentences, ask a question about them, and return whether the answer is yes.

    Raise `InputError` with the refusal where there is no terminal to ask on.
    """
    if not sys.stdin.isatty():
        raise InputError(refusal)
    for sentence in sentences:
        tell(sentence)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


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
    below = sorted(path.parent for path in here.glob("[!.]*/peer.toml"))
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
    from pairgossip.peer.identity.invitations import invitation
    from pairgossip.peer.service.assembly import read_snapshot

    place = find_home(home)
    if address is not None and unreachable:
        raise InputError("Give --address or --unreachable, not both.")
    reached = None if unreachable else address or place.read_settings().listen
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

    Let everybody join before the first sum. A peer that has contributed to one says what a longer
    list means for it, and asks first.

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

    place = find_home(home)
    if not invitations:
        raise InputError("There is nothing to join: name one or more files with invitations.")
    me, spec, members = load_identity(place.folder), place.read_spec(), place.read_members()
    listed = members.names()
    all_invited = _read_others(invitations, me.id)
    for invited in all_invited:
        members = add_invited(members, me, spec, invited, is_neighbor=not not_a_neighbor)
    if not yes:
        _confirm_longer_list(place, [one.name for one in all_invited if one.id not in listed])
    members.save(place.members)
    role = "member" if not_a_neighbor else "neighbor"
    for invited in all_invited:
        rows = format_count(invited.rows, "row")
        write_line(f"{role} {invited.name}, {rows}, {invited.id}")
    if place.is_running():
        tell("Warning: This peer is running and knows of that after a restart only.")


def _confirm_longer_list(place: Home, new: Sequence[str]) -> None:
    """Ask before members are added to a list over which this peer has contributed to a sum."""
    from pairgossip.peer.protocol.state import SumsState
    from pairgossip.peer.storage.journal_file import read_saved_state

    state, _ = read_saved_state(place.state)
    if not new or not isinstance(state, SumsState) or not state.summed:
        return
    names = join_names([f"'{name}'" for name in new])
    meaning = (
        "This peer has contributed to a sum: its result so far is kept, but with "
        f"{names} on the list it contributes to no further sum of this folder, since the "
        "difference would show what new members contribute."
    )
    refusal = (
        f"{meaning} Nobody was taken up, since there is no terminal to ask on: give --yes, or "
        "let all members begin again from new folders."
    )
    if not is_answered_yes([meaning], "Take them up all the same?", refusal):
        raise InputError("Nobody was taken up: answer y, or give --yes, to take them up.")


def _read_others(texts: Sequence[str], me: str) -> list[Invitation]:
    """Read all invitations, each once; this peer's own is left out where there are others."""
    invitations = {one.id: (text, one) for text in texts for one in _read(text, len(texts))}
    if me in invitations and len(invitations) > 1:
        text, _ = invitations.pop(me)
        tell(f"Left out {text[:40]}: it is this peer's own invitation.")
    return [invited for _, invited in invitations.values()]


def _read(text: str, count: int) -> list[Invitation]:
    """Read the invitations in one of ``count`` texts, and say which one is wrong."""
    from pairgossip.peer.identity.invitations import find_text, read_invitations

    content = find_text(text)  # whose refusals name the text
    try:
        return read_invitations(content)
    except InputError as problem:
        raise (problem if count == 1 else problem.at(text[:40])) from None
