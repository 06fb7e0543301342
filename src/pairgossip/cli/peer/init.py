"""`pairgossip peer init`: a peer of its own rows, in a folder of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.options import Flag, Whole
from pairgossip.cli.peer.folders import named_home
from pairgossip.errors import InputError, canonical, unknown_name
from pairgossip.text import format_count, join_names

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from pairgossip.peer.storage.folder import Home
    from pairgossip.peer.storage.old_folder import OldFolder
    from pairgossip.study.storage.folder import StudyHome

_POLICY = Group.create_ordered("What a study's member allows")
_ROWS = Group.create_ordered("The rows of a study's member")
_NETWORK = Group.create_ordered("In a single network with randomized reports")


@Parameter(name="*", group=_POLICY)
@dataclass(frozen=True)
class SumsOptions:
    """The policy for sums."""

    least_rows: Whole | None = None
    """The least number of this peer's rows (of one class, if there are classes) that a total may be
    about, and of rows that all members but the largest have together; by default 10."""
    least_cell: Whole | None = None
    """The least number of rows that this site lets be counted: a specification with less is
    refused; by default 3."""
    allow: Annotated[tuple[str, ...], Parameter(show_default=False)] = ()
    """A kernel or loss whose sums can locate single rows, and which is refused unless it is named
    here, such as distance; repeat it, or separate names by commas."""


@Parameter(name="*", group=_ROWS)
@dataclass(frozen=True)
class RegisterOptions:
    """Facts that the operator states about rows that were released before."""

    register: Path | None = None
    """The file that keeps what was released of this data; by default beside it, with .releases at
    the end."""
    visible: Flag = False
    """Release rows though a table of them went out before: members of both studies can subtract."""


@Parameter(name="*", group=_ROWS)
@dataclass(frozen=True)
class RowsOptions:
    """Marks by which rows that were released before are recognized."""

    id_: Annotated[str | None, Parameter(name="--id")] = None
    """The column of the data file that identifies rows; by default their lines and values do."""
    same: Annotated[tuple[str, ...], Parameter(show_default=False)] = ()
    """Columns that are functions of one another, such as risk,logit: they count as one. Repeat it
    for others."""


@Parameter(name="*", group=_ROWS)
@dataclass(frozen=True)
class StudyOptions:
    """Facts about the rows of a study's member, stated once."""

    columns: Annotated[tuple[str, ...], Parameter(show_default=False)] = ()
    """The columns that questions may be about, as the source calls them; repeat it, or separate
    names by commas; by default all. A row takes part if it has an entry in each."""
    rehearsal: Flag = False
    """All members are on this machine, to try a study: the register of this user, which knows what
    was released of these rows in other studies, is left alone."""

    @property
    def declared(self) -> tuple[str, ...] | None:
        """The columns, each on its own; None for all."""
        names = (part.strip() for text in self.columns for part in text.split(","))
        return tuple(dict.fromkeys(names)) or None


@Parameter(name="*", group=_NETWORK)
@dataclass(frozen=True)
class LedgerOptions:
    """The epsilon that rows spend, and the ledger that counts it."""

    ledger: Path | None = None
    """The file that keeps every row's report and what it has cost, to be found again whenever this
    data file is used; by default beside it, with .ledger at the end. Give every data file a ledger
    of its own."""
    budget: float | None = None
    """The epsilon that a row may spend in all; by default the cost of its first report."""


def init_command(
    *,
    name: str | None = None,
    data: Annotated[Path, Parameter(name=("--data", "--source"))],
    spec: Path | None = None,
    listen: str | None = None,
    yes: Flag = False,
    home: Path | None = None,
    relay: Path | None = None,
    metrics: str | None = None,
    fast: Flag = False,
    from_: Annotated[Path | None, Parameter(name="--from")] = None,
    sums: SumsOptions = SumsOptions(),
    rows: RowsOptions = RowsOptions(),
    register: RegisterOptions = RegisterOptions(),
    study: StudyOptions = StudyOptions(),
    privacy: LedgerOptions = LedgerOptions(),
) -> None:
    """Make a peer: its key, its certificate, its id and its durable state, in a folder of its own.

    It is a member of a study, which answers one question after the other; its rows are frozen as
    they are now, and not copied: peer.toml names their source, which must not change. With --spec
    it is the peer of a single network instead, in which rows travel: its folder has a copy of them,
    so nobody else should be able to read it; or of randomized reports, each drawn once and for all,
    if rows are reported by a table [privacy].

    What will leave this machine is said in words, at a terminal before anything is made. The id,
    which stands for the peer's key, is printed. The key never leaves the folder.

    For example:

        pairgossip peer init --name hospital-1 --source admissions.parquet
        pairgossip peer init --from clinic-a --home new --source admissions.csv
        pairgossip peer init --name clinic-a --data scores.csv --spec exchange.toml

    Parameters
    ----------
    name
        What others will call the peer: up to 32 letters, digits, dots, dashes, underscores. With
        --from it keeps its name.
    data
        A table with the columns that questions or the specification name; each row is one
        observation. It is CSV, a file .parquet, .arrow or .feather, a folder of Parquet files, or
        a query for DuckDB in a file .sql.
    spec
        The TOML file of a single network in which rows travel (algorithm.name = "exchange"); all
        members need the same. Leave it out for a member of a study.
    listen
        Where to listen, as tls/HOST:PORT; by default tls/0.0.0.0:7447.
    yes
        Do not ask whether what leaves this machine may do so.
    home
        The folder to make; by default PAIRGOSSIP_HOME, or one called like the peer.
    relay
        The file of the relay at which members meet that cannot call each other; then nobody calls
        this peer. See pairgossip relay.
    metrics
        Where to serve metrics for Prometheus on this machine, such as 127.0.0.1:9464.
    fast
        Do not wait for the disk at every exchange: faster, but a loss of power may then make it
        necessary to evict this peer.
    from_
        The folder of a peer of a single network or of pairgossip 0.2, left as it is: a member of
        a study takes its name, key and certificate, its settings, and what it has released.
    """
    if spec is None:
        from pairgossip.peer.identity.relays import read_relay

        _refuse_of_networks(register, privacy)
        _make_member(
            name,
            data,
            home,
            from_,
            yes=yes,
            listen=listen,
            metrics=metrics,
            power_safe=False if fast else None,
            row_id=rows.id_,
            same=_read_same(rows) or None,
            register=None if register.register is None else str(register.register.resolve()),
            declared=study.declared,
            rehearsal=study.rehearsal or None,
            policy=_policy(sums),
            relay=None if relay is None else read_relay(relay),
        )
        return
    given = {"--from": from_ is not None, "--relay": relay is not None}
    refuse_of_studies(sums, rows, register, study, **given)
    if name is None:
        raise InputError("The peer needs a name that others call it by: give --name.")
    settings = {"listen": listen, "power_safe": False if fast else None, "metrics": metrics}
    _make_peer(home or named_home() or Path(name), name, spec, data, privacy, settings, yes=yes)


def refuse_of_studies(*options: DataclassInstance, **given: bool) -> None:
    """Refuse options that only a study's member has a use for."""
    for group in options:
        for field in fields(group):
            name = f"--{field.name.rstrip('_').replace('_', '-')}"
            given[name] = getattr(group, field.name) != field.default
    for name, is_given in given.items():
        if is_given:
            raise InputError(
                f"{name} is for a member of a study: leave it out, or leave out --spec."
            )


def _make_peer(
    home: Path,
    name: str,
    spec: Path,
    data: Path,
    privacy: LedgerOptions,
    settings: Mapping[str, Any],
    *,
    yes: bool,
) -> None:
    """Make the folder of a peer of a single network."""
    from pairgossip.cli.peer.studies import confirm_all
    from pairgossip.peer.storage.home import create_home

    leaves: list[str] = []
    with _say_if_made(home):
        made = create_home(
            home,
            name,
            spec,
            data,
            ledger=privacy.ledger,
            budget=privacy.budget,
            confirm=leaves.extend if yes else confirm_all("Make this peer?", "Nothing was made."),
            **{key: value for key, value in settings.items() if value is not None},
        )
        _tell_made(made, leaves)


@contextlib.contextmanager
def _say_if_made(home: Path) -> Iterator[None]:
    """Say after Ctrl-C that the folder is there: it appears as a whole, or not at all."""
    try:
        yield
    except KeyboardInterrupt:
        if not (home / "peer.toml").exists():
            raise
        raise KeyboardInterrupt(
            f"Interrupted, but {home} is made, and complete. Next: pairgossip peer invite."
        ) from None


def _refuse_of_networks(register: RegisterOptions, privacy: LedgerOptions) -> None:
    """Refuse options that a study's member has no use for."""
    if register.visible:
        raise InputError("--visible is about a question of a study: give it to peer accept.")
    if privacy.ledger is not None or privacy.budget is not None:
        raise InputError(
            "A study keeps no ledger: leave --ledger and --budget out, and say in peer.toml how "
            "much epsilon all questions may spend (policy.epsilon)."
        )


def _make_member(
    name: str | None, source: Path, home: Path | None, from_: Path | None, *, yes: bool, **more: Any
) -> None:
    """Make the folder of a study's member, of an old folder if there is one."""
    from pairgossip.cli.peer.studies import confirm_all, tell_made
    from pairgossip.peer.storage.old_folder import read_old_folder
    from pairgossip.study.storage.folder import create_study

    old = None if from_ is None else read_old_folder(from_)
    if old is not None:
        name = name or old.identity.name
    if name is None:
        raise InputError("The peer needs a name that others call it by: give --name.")
    settings = {key: value for key, value in more.items() if value is not None}
    home = home or named_home() or Path(name)
    with _say_if_made(home):
        made = create_study(
            home,
            name,
            source,
            old=old,
            confirm=confirm_all("Make this peer?", "Nothing was made.", yes=yes),
            **(settings if old is None else _add_old(settings, old)),
        )
        if old is not None:
            _tell_taken(made, old)
        tell_made(made)


def _add_old(settings: dict[str, Any], old: OldFolder) -> dict[str, Any]:
    """Return settings with those of an old folder that are not given."""
    policy = {**old.settings.get("policy", {}), **settings.get("policy", {})}
    relay = {} if old.relay is None or "listen" in settings else {"relay": old.relay}
    return {**relay, **old.settings, **settings, **({"policy": policy} if policy else {})}


def _tell_taken(made: StudyHome, old: OldFolder) -> None:
    """Say what a new folder has of an old one, and what is to be done about the rest."""
    from pairgossip.peer.identity.identity import load_identity

    is_kept = load_identity(made.folder).certificate == old.identity.certificate
    which = "its certificate" if is_kept else "a new certificate, as its own has expired"
    if made.read_settings().name != old.identity.name:
        which = "a new certificate, with the new name"
    settings = {*old.settings, *old.settings.get("policy", ()), *(["relay"] if old.relay else ())}
    names = join_names(sorted(settings - {"policy"}) or ["no setting"])
    tell(f"Taken from {old.folder}: its key, so its id stays; {which}; {names} of peer.toml.")
    tell(
        f"Left in {old.folder}, which must not run any more: its rows, for --source names those of "
        "this study; its members, who exchange invitations again; and its results, which "
        "pairgossip verify reads."
    )
    if old.has_budget:
        tell(
            "Its budget is not taken: rows have spent of it what their ledger says. Set "
            "policy.epsilon to what is left, or no question with noise is answered."
        )


def _policy(sums: SumsOptions) -> dict[str, Any] | None:
    """Return what options say of a member's policy."""
    given = {
        "least_rows": sums.least_rows,
        "least_cell": sums.least_cell,
        "allow": _allowed(sums.allow) or None,
    }
    return {key: value for key, value in given.items() if value is not None} or None


def _read_same(rows: RowsOptions) -> tuple[tuple[str, ...], ...]:
    """Return the columns that count as one."""
    return tuple(tuple(map(str.strip, one.split(","))) for one in rows.same)


def _tell_made(made: Home, leaves: Sequence[str]) -> None:
    """Say what was made, what leaves this machine and was not said yet, and what to do next."""
    from pairgossip.peer.identity.identity import load_identity
    from pairgossip.peer.storage.accounting import accounts
    from pairgossip.peer.storage.row_keeping import count_latest

    tell(f"Made {made.folder} with {format_count(count_latest(made), 'row')}.")
    for sentence in leaves:
        tell(sentence)
    for kept in accounts(made):
        tell(f"It holds reports of them only. Keep {kept} with the data: it knows every report.")
    tell("Next: pairgossip peer invite, and give what it prints to the neighbors.")
    write_line(load_identity(made.folder).id)


def _allowed(names: Sequence[str]) -> tuple[str, ...]:
    """Return the kernels and losses that an operator allows, as the catalogs spell them."""
    from pairgossip import kernels, losses

    catalog = {*kernels.CATALOG, *losses.CATALOG}
    allowed = [part for text in names for part in text.split(",")]
    for one in allowed:
        if canonical(one) not in catalog:
            raise unknown_name("kernel or loss in --allow", one.strip(), catalog)
    return tuple(sorted(set(map(canonical, allowed))))
