"""`pairgossip peer run`: a peer at work."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pairgossip.cli.peer.place import found_home


def run_command(*, home: Path | None = None) -> int:
    """Run the peer until it is stopped with Ctrl-C or SIGTERM; it may be killed at any moment.

    It exchanges with its neighbors whenever they are there, and goes on after a restart where it
    was. What happens is told on standard error, as JSON unless that is a terminal; what it has
    found is shown by `peer status`.

    Exit codes: 0 stopped, 1 something must be mended before it goes on, 2 something was wrong
    from the start, 3 this peer cannot go on (evicted, or a restored backup).

    For example:

        pairgossip peer run --home clinic-a

    Parameters
    ----------
    home
        The peer's folder; by default this one, or the only peer's in it.
    """
    place = found_home(home)
    if sys.argv[1:3] == ["peer", "run"] and sys.executable:
        # This process is nothing but the command: it may become the peer, without its libraries.
        # -P: modules are not looked for in the folder where it happens to be started.
        program = [sys.executable, "-P", "-m", "pairgossip.peer", str(place.folder)]
        os.execv(program[0], program)
    from pairgossip.peer.logs import writing_logs
    from pairgossip.peer.service import run_peer

    with writing_logs():
        return run_peer(place)
