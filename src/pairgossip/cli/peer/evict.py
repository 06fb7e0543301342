"""`pairgossip peer evict`: going on without a member that is lost."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell
from pairgossip.cli.options import Flag
from pairgossip.cli.peer.place import found_home
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.peer.view import View

PATIENCE = 10.0
DECLINED = 1


def evict_command(member: str, /, *, home: Path | None = None, yes: Flag = False) -> int:
    """Go on without a member that is lost for good; all members begin anew, and it cannot return.

    Only for a peer that will not come back, or whose state was restored from a backup: one that is
    merely switched off is waited for, and nothing is lost. The others hear of it by themselves.
    Every peer puts its own rows back, and counting begins again; what was found until then is kept
    and shown by `peer status`. There is no way back: the same machine can join again as a new peer.

    It says what this means and asks first. A running peer then does it within a second or so,
    another as soon as it is started.

    For example:

        pairgossip peer evict clinic-b

    Parameters
    ----------
    member
        The name of the member, or its id.
    home
        The peer's folder; by default this one, or the only peer's in it.
    yes
        Do not ask.
    """
    from pairgossip.peer.evictions import find_member, request_eviction
    from pairgossip.peer.view import view

    place = found_home(home)
    seen = view(place)
    lost = find_member(seen.members, seen.identity.id, member)
    name = seen.members.names()[lost]
    if lost in seen.state.evicted:
        raise InputError(f"'{name}' was evicted before: there is nothing left to do.")
    if not yes and not _is_confirmed(seen, lost, name):
        tell("Nothing was done.")
        return DECLINED
    request = request_eviction(place, lost)
    if not place.is_running():
        tell(f"{name} is evicted as soon as this peer is started.")
        return 0
    end = time.monotonic() + PATIENCE
    while request.exists() and time.monotonic() < end:
        time.sleep(0.05)
    tell(f"{name} {'will be' if request.exists() else 'is'} evicted.")
    return 0


def _is_confirmed(seen: View, lost: str, name: str) -> bool:
    """Say what an eviction means, and ask whether it is meant."""
    if not sys.stdin.isatty():
        raise InputError(
            f"Evicting '{name}' cannot be undone, and there is no terminal to ask on: give --yes."
        )
    from pairgossip.cli.peer.status import found_by
    from pairgossip.peer.status import ended_as

    status, rows = seen.status(), seen.members.rows()[lost]
    tell(f"Evicting {name} cannot be undone:")
    tell(f"- its {rows} row{'s' * (rows != 1)} count no more;")
    tell(f"- all members begin generation {status.generation + 1}, from their own rows alone;")
    tell(f"- {name} can come back only as a new peer, by new invitations.")
    ended = ended_as(status)
    if ended is not None:
        tell(f"Generation {status.generation} then ends with {found_by(ended, status)}.")
    sys.stderr.write(f"Evict {name}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
