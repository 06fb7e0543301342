"""`pairgossip peer add`: more rows for a peer that exists."""

from __future__ import annotations

import time
from pathlib import Path

from pairgossip.cli.console import tell
from pairgossip.cli.peer.place import found_home

PATIENCE = 10.0


def add_command(
    home: Path | None = None,
    *,
    data: Path,
    ledger: Path | None = None,
    budget: float | None = None,
) -> None:
    """Add rows to a peer; all members begin anew, with these rows among theirs.

    The others hear of it by themselves, and know from then on how many rows this peer has. Every
    peer puts its own rows back, and counting begins again; what was found until then is kept and
    shown by `peer status`. Rows can be added as often as needed; they cannot be taken back. What
    was added twice by mistake counts twice.

    A running peer takes them up within a second or so, another as soon as it is started.

    For example:

        pairgossip peer add clinic-a --data more.csv

    Parameters
    ----------
    home
        The peer's folder; by default this one, or the only peer's in it.
    data
        A CSV file with the columns that the specification names, and none of the rows that the
        peer has already.
    ledger
        Under privacy, where the reports of these rows are kept; by default beside the data.
        Give every data file a ledger of its own.
    budget
        Under privacy, how much epsilon a row may spend in all.
    """
    from pairgossip.peer.growth import request_growth

    place = found_home(home)
    asked = request_growth(place, data, ledger, budget)
    what = f"{asked.added} row{'s' * (asked.added != 1)}"
    if not place.is_running():
        tell(f"{what} will be added as soon as this peer is started: it then has {asked.rows}.")
        return
    end = time.monotonic() + PATIENCE
    while asked.file.exists() and time.monotonic() < end:
        time.sleep(0.05)
    if asked.file.exists():
        tell(f"{what} will be added when the peer comes to it: it then has {asked.rows}.")
    else:
        tell(f"Added {what}: the peer has {asked.rows}, and all members begin a new generation.")
        tell("What the one before has found is kept: see peer status.")
