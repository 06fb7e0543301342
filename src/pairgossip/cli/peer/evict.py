"""`pairgossip peer evict`: going on without a member that is lost."""

from __future__ import annotations

import time
from pathlib import Path

from pairgossip.cli.console import tell
from pairgossip.cli.peer.place import found_home

PATIENCE = 10.0


def evict_command(member: str, /, *, home: Path | None = None) -> None:
    """Go on without a member that is lost for ever; all members begin anew, and it cannot return.

    Only for a peer that will not come back, or whose state was restored from a backup: one that is
    merely switched off is waited for, and nothing is lost. The others hear of it by themselves.
    Every peer puts its own rows back, and counting begins again. There is no way back: the
    same machine can join again as a new peer.

    A running peer does it within a second or so, another as soon as it is started.

    For example:

        pairgossip peer evict clinic-b

    Parameters
    ----------
    member
        The name of the member, or its id.
    home
        The peer's folder; by default this one, or the only peer's in it.
    """
    from pairgossip.peer.evictions import find_member, request_eviction
    from pairgossip.peer.identity import load_identity

    place = found_home(home)
    members = place.read_members()
    lost = find_member(members, load_identity(place.folder).id, member)
    request = request_eviction(place, lost)
    name = members.names()[lost]
    if not place.is_running():
        tell(f"{name} is evicted as soon as this peer is started.")
        return
    end = time.monotonic() + PATIENCE
    while request.exists() and time.monotonic() < end:
        time.sleep(0.05)
    tell(f"{name} {'will be' if request.exists() else 'is'} evicted.")
