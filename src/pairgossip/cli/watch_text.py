"""`pairgossip watch --text`: the same in a terminal, for machines without a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell
from pairgossip.cli.watch_options import FIRST_LOOK, Fields, WatchedOptions
from pairgossip.errors import InputError
from pairgossip.files import read_bytes

if TYPE_CHECKING:
    from pairgossip.watch.observations import Uploads
    from pairgossip.watch.swarm_source import Swarm


def show_text(watched: WatchedOptions, simulated: Fields) -> int:
    """Show peers or a simulation until it ends, or until Ctrl-C."""
    swarm = watched_peers(watched)
    if swarm is not None:
        return _show_peers(swarm)
    return _show_simulation(simulated or dict(FIRST_LOOK))


def watched_peers(watched: WatchedOptions) -> Swarm | None:
    """Find the peers to look at, if any were named."""
    from pairgossip.watch.swarm_source import peers_at, swarm_in

    if watched.swarm is not None:
        return swarm_in(watched.swarm)
    return peers_at(watched.peers) if watched.peers else None


def _show_peers(swarm: Swarm) -> int:
    from pairgossip.watch.swarm_lookout import Lookout
    from pairgossip.watch.text_drawing import new_console
    from pairgossip.watch.text_swarm import TextSwarm

    if TextSwarm(Lookout(swarm), new_console()).run():
        tell("The swarm has ended.")
    return 0


def _show_simulation(fields: Fields) -> int:
    from pairgossip.watch.building import build_courses
    from pairgossip.watch.observations import Uploads
    from pairgossip.watch.settings import Settings
    from pairgossip.watch.text_drawing import new_console
    from pairgossip.watch.text_simulation import TextSimulation

    uploads = Uploads()
    settings = Settings.read(_with_file(fields, uploads))
    (course,) = build_courses(settings, uploads)
    shown = TextSimulation(course, settings.speed if "speed" in fields else None, new_console())
    if not shown.run():
        tell(f"Ended at {shown.summary()}")
    return 0


def _with_file(fields: Fields, uploads: Uploads) -> Fields:
    """Read a CSV file where the data is one."""
    from pairgossip.datasets import CATALOG
    from pairgossip.watch.observations import LARGEST_UPLOAD, TWO_NORMALS

    name = str(fields.get("data", ""))
    if not name or name in (*CATALOG, TWO_NORMALS):
        return fields
    path = Path(name)
    if not path.exists():
        raise InputError(
            f"There is no data '{name}': give a CSV file, or one of "
            f"{', '.join([*CATALOG, TWO_NORMALS])}."
        )
    if path.is_file() and path.stat().st_size > LARGEST_UPLOAD:
        raise InputError(f"{path} is larger than {LARGEST_UPLOAD >> 20} MiB: give fewer rows.")
    key, _ = uploads.add(read_bytes(path), path.name)
    return {**fields, "data": key}
