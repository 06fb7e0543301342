"""`pairgossip watch`: gossip to look at, in a browser."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

from cyclopts import Parameter

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.network import NO_PARAMETERS, FamilyParameters
from pairgossip.cli.options import WATCHED
from pairgossip.cli.watch_options import (
    NO_PACE,
    NO_SIMULATED,
    NO_WATCHED,
    ON_THIS_MACHINE,
    Fields,
    PaceOptions,
    ServerOptions,
    SimulatedOptions,
    WatchedOptions,
    check_watched,
    simulation_fields,
)

if TYPE_CHECKING:
    from pairgossip.watch.views import View


def watch_command(
    *files: Annotated[Path, Parameter(group=WATCHED)],
    watched: WatchedOptions = NO_WATCHED,
    what: SimulatedOptions = NO_SIMULATED,
    family: FamilyParameters = NO_PARAMETERS,
    how: PaceOptions = NO_PACE,
    server: ServerOptions = ON_THIS_MACHINE,
) -> int:
    """Open a web page on this machine in which gossip can be watched.

    Choose data, kernel or loss, network and algorithm in the page, and look on as estimates
    spread, exchange by exchange. The page asks nothing of any other machine, and its address holds
    all settings: whoever opens the same address sees the same run. Ctrl-C ends it.

    The same page shows real peers with --swarm or --peers, and saved runs where files or --results
    are given. With --text a simulation or peers are shown in the terminal instead.

    For example:

        pairgossip watch
        pairgossip watch --data wine --column alcohol --kernel variance
        pairgossip watch --text --data engel --column income --kernel gini

    Parameters
    ----------
    files
        Saved runs, .npz files, to look into.
    """
    from pairgossip.extras import needed_for

    simulated = simulation_fields(what, family, how)
    check_watched(watched, files, simulated)
    if watched.text:
        from pairgossip.cli.watch_text import show_text

        return show_text(watched, simulated)
    with needed_for("The page", "pairgossip[watch]"):
        from pairgossip.watch.server import Place, Service
    place = Place(server.host, server.port or 0, server.certificate, server.key)
    place.check()
    service = Service(place, _views(watched, files))
    address = _with_settings(service.address, simulated)

    def announce() -> None:
        write_line(address)
        tell("Ctrl-C ends it.")
        if not server.no_browser and _has_screen():
            threading.Thread(target=_open, args=(address,), daemon=True).start()

    service.run(announce)
    return 0


def _views(watched: WatchedOptions, files: tuple[Path, ...]) -> list[View]:
    """Make the views that were asked for besides the simulation."""
    from pairgossip.cli.watch_text import watched_peers

    views: list[View] = []
    swarm = watched_peers(watched)
    if files or watched.results:
        from pairgossip.cli.watch_chapters import chapters_of
        from pairgossip.watch.results_files import find_results
        from pairgossip.watch.results_view import ResultsView

        found = find_results(files, watched.results or ())
        views.append(ResultsView(found, chapters_of(found.reproductions)))
    if swarm is not None:  # last, for it starts to look at once
        from pairgossip.watch.swarm_view import SwarmView

        views.insert(0, SwarmView(swarm))
    return views


def _with_settings(address: str, simulated: Fields) -> str:
    if not simulated:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode(simulated, doseq=True)}"


def _has_screen() -> bool:
    """Whether a browser would open a window rather than take the terminal over."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
