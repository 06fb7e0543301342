"""`pairgossip peer init`: a new peer's folder."""

from __future__ import annotations

from pathlib import Path

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.options import Flag


def init_command(
    *,
    name: str,
    data: Path,
    spec: Path,
    home: Path | None = None,
    listen: str | None = None,
    metrics: str | None = None,
    fast: Flag = False,
    ledger: Path | None = None,
    budget: float | None = None,
) -> None:
    """Make a peer: its key, its certificate, its id and its durable state, in a folder of its own.

    The id, which stands for the peer's key, is printed. The key never leaves the folder; a copy of
    the rows lies there too, so nobody else should be able to read it. If the specification has a
    table [privacy], the copy is of randomized reports instead, each drawn once and for ever.

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
    home
        The folder to make; by default one called like the peer.
    listen
        Where to listen, as tls/HOST:PORT; by default tls/0.0.0.0:7447.
    metrics
        Where to serve metrics for Prometheus on this machine, such as 127.0.0.1:9464.
    fast
        Do not wait for the disk at every exchange: faster, but a loss of power may then make it
        necessary to evict this peer.
    ledger
        Under privacy, the file that keeps every row's report and what it has cost, to be found
        again whenever this data file is used; by default beside it, with .ledger at the end.
    budget
        Under privacy, how much epsilon a row may spend in all; by default as much as its first
        report costs.
    """
    from pairgossip.peer.contribution import accounts
    from pairgossip.peer.folder import DEFAULT_LISTEN
    from pairgossip.peer.home import create_home
    from pairgossip.peer.identity import load_identity

    made = create_home(
        Path(name) if home is None else home,
        name,
        spec,
        data,
        listen or DEFAULT_LISTEN,
        power_safe=not fast,
        metrics=metrics,
        ledger=ledger,
        budget=budget,
    )
    rows = len(made.read_rows())
    tell(f"Made {made.folder} with {rows} row{'s' * (rows != 1)}.")
    for kept in accounts(made):
        tell(f"It holds reports of them only. Keep {kept} with the data: it knows every report.")
    tell("Next: pairgossip peer invite, and give what it prints to the neighbors.")
    write_line(load_identity(made.folder).id)
