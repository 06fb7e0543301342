"""`pairgossip peer run`, `add`, `evict` and `export`: a peer at work."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from pairgossip.cli.console import EXIT_FAILED, tell
from pairgossip.cli.options import Flag, HomeFolder
from pairgossip.cli.outputs.files import check_outputs
from pairgossip.cli.peer.folders import find_home, find_study_folder, is_answered_yes
from pairgossip.cli.peer.init import LedgerOptions, RegisterOptions, refuse_of_studies
from pairgossip.errors import InputError
from pairgossip.files import write_json_file
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.peer.service.assembly import PeerSnapshot

_PATIENCE = 10.0
"""Seconds for which a command waits until a running peer has done it."""


def run_command(*, home: HomeFolder = None) -> int:
    """Run the peer until it is stopped with Ctrl-C or SIGTERM; it may be killed at any moment.

    It exchanges with its neighbors whenever they are there, and goes on after a restart where it
    was. Events are written to standard error, as JSON unless that is a terminal; what it has
    found is shown by `peer status`.

    Exit codes: 0 stopped, 1 something must be repaired before it goes on, 2 something was
    wrong from the start, 3 this peer cannot go on (evicted, or a restored backup).

    For example:

        pairgossip peer run --home clinic-a
    """
    study = find_study_folder(home)
    folder = find_home(home).folder if study is None else study
    if sys.argv[1:3] == ["peer", "run"] and sys.executable:
        # This process is nothing but the command: it may become the peer, without its libraries.
        # -P: modules are not looked for in the folder where it happens to be started.
        kind = "peer" if study is None else "study"
        program = [sys.executable, "-P", "-m", f"pairgossip.{kind}", str(folder)]
        os.execv(program[0], program)
    from pairgossip.peer.service.log import write_logs

    with write_logs():
        if study is not None:
            from pairgossip.study.service.service import run_study
            from pairgossip.study.storage.folder import open_study

            return run_study(open_study(study))
        from pairgossip.peer.service.service import run_peer

        return run_peer(find_home(home))


def add_command(
    what: Path | None = None,
    /,
    *,
    home: HomeFolder = None,
    data: Annotated[Path | None, Parameter(name=("--data", "--source"))] = None,
    yes: Flag = False,
    register: RegisterOptions = RegisterOptions(),
    privacy: LedgerOptions = LedgerOptions(),
) -> int:
    """Add rows to a peer, or to a member of a study.

    A study counts them in questions from then on, and nobody starts again. In a single network
    all members start again, with these rows among theirs.

    The others hear of it by themselves, and know from then on how many rows this peer has: rounded
    down to tens in a study. What was found until then is kept. Rows can be added as often as
    needed; they cannot be taken back, and what is added twice by mistake counts twice.

    A running peer takes them up within a second or so, another as soon as it is started.

    For example:

        pairgossip peer add more.csv --home hospital-1
        pairgossip peer add clinic-a --data more.csv

    Parameters
    ----------
    what
        The file with the rows; or the peer's folder, where --data names the file.
    data
        A table with the columns that the specification names, and none of the rows that the peer
        has already; of any kind that `peer init` reads.
    yes
        Do not ask.
    """
    from pairgossip.peer.storage.growth import request_growth

    if data is None:
        data, what = what, None
    if data is None:
        raise InputError("Name the file with the rows: peer add more.csv.")
    if what is not None and home is not None:
        raise InputError("Two folders are named: leave out the first, or --home.")
    home = home or what
    if (study := find_study_folder(home)) is not None:
        from pairgossip.cli.peer.studies import add_to_study

        add_to_study(study, data, yes=yes, visible=register.visible)
        return 0
    place = find_home(home)
    refuse_of_studies(register)
    asked = request_growth(place, data, privacy.ledger, privacy.budget)
    rows = format_count(asked.added, "row")
    if not place.is_running():
        tell(f"{rows} will be added as soon as this peer is started: it then has {asked.rows:,}.")
        return 0
    if _is_waiting(asked.file):
        tell(f"{rows} will be added when the peer comes to it: it then has {asked.rows:,}.")
    else:
        tell(f"Added {rows}: the peer has {asked.rows:,}, and has begun a new generation.")
        tell("What the one before has found is kept: see peer status.")
    return 0


def _is_waiting(request: Path) -> bool:
    """Give the running peer a while; return whether it still has not taken up a request."""
    end = time.monotonic() + _PATIENCE
    while request.exists() and time.monotonic() < end:
        time.sleep(0.05)
    return request.exists()


def evict_command(member: str, /, *, home: HomeFolder = None, yes: Flag = False) -> int:
    """Go on without a member that is lost for good, and cannot return.

    Only for a peer that will not come back, or whose state was restored from a backup: one that is
    merely switched off is waited for, and nothing is lost. The others hear of it by themselves.
    There is no way back: the same machine can join again as a new peer.

    A study goes on by a list that all others have signed. Rows that were counted together with the
    member are counted in no further column, since a difference could show its numbers: wait for it
    as long as it can come back. In a single network every peer puts its own rows back, and counting
    begins again; what was found until then is kept.

    It says what this means and asks first. A running peer then does it within a second or so,
    another as soon as it is started.

    For example:

        pairgossip peer evict clinic-b

    Parameters
    ----------
    member
        The name of the member, or its id.
    yes
        Do not ask.
    """
    from pairgossip.peer.service.assembly import read_snapshot
    from pairgossip.peer.storage.folder import find_member, request_eviction

    if (study := find_study_folder(home)) is not None:
        from pairgossip.cli.peer.studies import evict_from_study

        evict_from_study(study, member, yes=yes)
        return 0
    place = find_home(home)
    seen = read_snapshot(place)
    lost = find_member(seen.members, seen.identity.id, member)
    name = seen.members.names()[lost]
    if lost in seen.state.evicted:
        raise InputError(f"'{name}' was evicted before: there is nothing left to do.")
    if not yes and not _is_agreed(
        f"Evicting '{name}'", _describe_eviction(seen, lost, name), f"Evict {name}?"
    ):
        return EXIT_FAILED
    request = request_eviction(place, lost)
    if not place.is_running():
        tell(f"{name} is evicted as soon as this peer is started.")
        return 0
    tell(f"{name} {'will be' if _is_waiting(request) else 'is'} evicted.")
    return 0


def _describe_eviction(seen: PeerSnapshot, lost: str, name: str) -> list[str]:
    """Say what an eviction means."""
    from pairgossip.cli.peer.status import describe_ended
    from pairgossip.peer.service.status import ended_generation

    status, rows = seen.status(), seen.context.present_rows.get(lost)
    meaning = [
        f"- its {format_count(rows or 0, 'row')} count no more;",
        f"- generation {status.generation + 1} begins, from the members' own rows alone;",
        f"- {name} can come back only as a new peer, by new invitations.",
    ]
    ended = ended_generation(status)
    if ended is not None:
        meaning.append(f"Generation {status.generation} then ends with {describe_ended(ended)}.")
    return meaning


def _is_agreed(what: str, meaning: list[str], question: str) -> bool:
    """Say what something means that cannot be undone, and ask whether it is meant."""
    refusal = f"{what} cannot be undone, and there is no terminal to ask on: give --yes."
    is_meant = is_answered_yes([f"{what} cannot be undone:", *meaning], question, refusal)
    if not is_meant:
        tell("Nothing was done.")
    return is_meant


def export_command(*, out: Path, home: HomeFolder = None, with_data: Flag = False) -> None:
    """Write the peer's durable state as JSON: whose records it holds, offers, outcomes.

    No observation is written unless asked for, and never the key. The peer may be running.
    This is for looking only: a peer cannot be restored from it.

    For example:

        pairgossip peer export --out state.json

    Parameters
    ----------
    out
        The JSON file to write.
    with_data
        Also write the observations that the peer holds, its own and those of others.
    """
    from pairgossip.peer.storage.journal_file import export

    place = find_home(home)
    check_outputs([out])
    write_json_file(out, export(place.state, private=with_data))
    tell(f"Wrote {out}")
