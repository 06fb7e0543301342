"""`pairgossip watch`: gossip as it happens, in a browser or in a terminal."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from cyclopts import Parameter

from pairgossip.arguments.argument import on_page
from pairgossip.arguments.estimate import EstimateArguments
from pairgossip.arguments.minimize import MinimizeArguments
from pairgossip.cli.console import one_table, output, tell, write_line
from pairgossip.cli.network import DEFAULT_FAMILY, FamilyParameters, spell
from pairgossip.cli.options import (
    METHOD,
    NETWORK,
    SERVER,
    STATISTIC,
    WATCHED,
    Flag,
    KernelName,
    Seed,
    Whole,
    given_options,
    make_options,
)
from pairgossip.errors import InputError, SlowSchedule, canonical, unknown_name
from pairgossip.families import FAMILIES

if TYPE_CHECKING:
    from pairgossip.watch.peers import Swarm
    from pairgossip.watch.server.requests import View
    from pairgossip.watch.simulation.observations import Uploads


_FIRST_LOOK: dict[str, str | list[str]] = {
    "data": "engel",
    "column": ["income"],
    "kernel": "gini",
    "graph": "watts-strogatz",
}
"""The simulation that a command without options shows."""


@Parameter(name="*", group=WATCHED)
@dataclass(frozen=True)
class _WatchedOptions:
    """Real peers or saved results, besides or instead of a simulation."""

    swarm: Path | None = None
    """The folder of a swarm from `pairgossip swarm run --home`: show its peers, running or not,
    without disturbing them."""
    peers: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None
    """Single peers: their folders, or HOST:PORT of their metrics on this machine."""
    results: list[Path] | None = None
    """A folder of saved runs, such as `pairgossip reproduce` makes; repeat it for several."""
    text: Flag = False
    """Show peers, or the simulation, here in the terminal, without a browser."""


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class SimulatedOptions:
    """The data, statistic and network to simulate."""

    data: str | None = None
    """Your own file, CSV, Parquet or another table, or an embedded data set (see pairgossip
    dataset)."""
    nodes: Whole | None = None
    """The number of rows to take, one per node; by default all."""
    column: list[str] | None = None
    """Column of numbers to use; repeat it for several."""
    label: str | None = None
    """Column of labels."""
    positive: str | None = None
    """The positive one of two labels; by default the higher of two numbers."""
    group_by: str | None = None
    """Column with the site of each row: the nodes of the network are then the sites."""
    kernel: Annotated[KernelName, Parameter(group=STATISTIC)] = None
    loss: str | None = None
    """The loss of a model to learn instead, such as auc-logistic."""
    graph: Annotated[str | None, Parameter(group=NETWORK)] = None
    """Family of the network; `pairgossip graph` lists them."""


@Parameter(name="*", group=METHOD)
@dataclass(frozen=True)
class PaceOptions:
    """The method, order and speed of the simulation."""

    method: str | None = None
    """gosta (default) or another that `pairgossip methods` lists; for a loss dual-averaging
    (default) or sketch."""
    clock: str | None = None
    """sync (default) or async."""
    schedule: str | None = None
    """The order of exchanges: random (default) or ordered; for sketch and averaging also
    continuized or tree. For the sketch of a loss the default is tree."""
    step: float | None = None
    """Step size c of c/sqrt(t) for a loss; by default the adaptive step."""
    seed: Seed | None = None
    """Seed of all randomness; by default 0."""
    speed: str | None = None
    """Iterations per second, or max."""


_ON_PAGE = [
    replace(one, shown=None, is_needed=False)
    for one in {**on_page(MinimizeArguments), **on_page(EstimateArguments)}.values()
    if one.help
]
"""The arguments that have a field on the page; None leaves the page's own default."""
ArgumentOptions: Any = make_options("ArgumentOptions", _ON_PAGE)


@Parameter(name="*", group=SERVER)
@dataclass(frozen=True)
class _ServerOptions:
    """The address at which the page is served."""

    port: Whole | None = None
    """The port; by default an unused one."""
    host: str = "127.0.0.1"
    """The name or address that viewers type. Any other than this machine needs a certificate and
    its key. The printed address then holds a token that lets viewers in."""
    certificate: Path | None = None
    """A certificate for the host, a PEM file."""
    key: Path | None = None
    """The certificate's private key, a PEM file."""
    no_browser: Flag = False
    """Print the address without opening a browser."""


Fields = dict[str, str | list[str]]


def simulation_fields(
    what: SimulatedOptions, family: FamilyParameters, how: PaceOptions, arguments: Any = None
) -> Fields:
    """Spell the options as the page's address spells them; empty if none was given."""
    options = given_options(what, how, arguments or ArgumentOptions())
    named = {name.replace("_", "-"): value for name, value in options.items()}
    named |= {f"graph-{name}": value for name, value in given_options(family).items()}
    fields: Fields = {
        name: value if isinstance(value, list) else str(value) for name, value in named.items()
    }
    if "column" in fields:
        fields["column"] = [part for name in fields["column"] for part in name.split(",")]
    says_what = {"data", "kernel", "loss", "column", "label", "group-by"} & set(fields)
    needs_pairs = not _averages(str(fields.get("method", "gosta")))
    complete = {**_FIRST_LOOK, **fields} if fields and not says_what and needs_pairs else fields
    if set(fields) == {"data"}:  # something to see at once; the page offers the rest
        complete = {**fields, "kernel": "gini", "graph": "watts-strogatz"}
    if given_options(family):
        _check_family(str(complete.get("graph", DEFAULT_FAMILY)), family)
    return complete


def _averages(method: str) -> bool:
    """Return whether a method averages one value per node; the page refuses an unknown one."""
    from pairgossip.algorithms.methods import METHODS

    return canonical(method) in METHODS and METHODS[canonical(method)].estimates == "mean"


def _check_family(graph: str, family: FamilyParameters) -> None:
    """Refuse parameters that a known family does not have; the page would ignore them."""
    taken = FAMILIES.get(canonical(graph))
    for name in given_options(family):
        if taken is not None and name not in taken.parameter_names:
            raise InputError(
                f"The family '{canonical(graph)}' takes no {spell(name)}: leave it out."
            )


def _check_watched(watched: _WatchedOptions, files: tuple[Path, ...], simulated: Fields) -> None:
    """Refuse options that exclude each other."""
    if watched.swarm is not None and watched.peers:
        raise InputError("Give --swarm or --peers, not both.")
    table = next((str(file) for file in files if file.suffix.lower() != ".npz"), None)
    if table is not None and "data" in simulated:
        raise InputError(one_table("pairgossip watch", [table]))
    if table is not None:
        raise InputError(f"{table} is not a saved run, a .npz file: give a table with --data.")
    if watched.text and (files or watched.results):
        raise InputError(
            "Saved runs are shown in the page: leave out --text, or use 'pairgossip plot'."
        )
    if watched.text and simulated and (watched.swarm or watched.peers):
        raise InputError("A terminal shows peers or a simulation: give the options of one of them.")


def _read_data(simulated: Fields) -> Uploads:
    """Read the file to watch, and refuse it now rather than later in the page."""
    from pairgossip.datasets import CATALOG
    from pairgossip.watch.simulation.observations import TWO_NORMALS, Uploads, select_rows
    from pairgossip.watch.simulation.settings import Settings

    if not simulated:
        return Uploads()
    settings = Settings.read(simulated)
    datasets = [*CATALOG, TWO_NORMALS]
    if settings.data in datasets:
        return Uploads()
    if not os.path.exists(settings.data) and not Path(settings.data).suffix:
        raise unknown_name("data set", settings.data, datasets)
    uploads = Uploads([Path(settings.data)])
    select_rows(settings, uploads)
    return uploads


def watch_command(
    *files: Annotated[Path, Parameter(group=WATCHED)],
    watched: _WatchedOptions = _WatchedOptions(),
    what: SimulatedOptions = SimulatedOptions(),
    family: FamilyParameters = FamilyParameters(),
    how: PaceOptions = PaceOptions(),
    arguments: ArgumentOptions = ArgumentOptions(),
    server: _ServerOptions = _ServerOptions(),
) -> None:
    """Open a web page on this machine that shows gossip as it happens.

    Choose data, kernel or loss, network and algorithm in the page, and watch estimates spread,
    exchange by exchange. The page connects to no other machine, and its address holds all settings:
    the same address shows the same run. Ctrl-C ends it.

    The same page shows real peers with --swarm or --peers, and saved runs with files or --results.
    --text shows peers, or a simulation, in the terminal instead. If nodes average counts for an
    AUC, it also shows their ROC curves.

    For example:

        pairgossip watch
        pairgossip watch --data incomes.csv
        pairgossip watch --data wine --column alcohol --kernel variance
        pairgossip watch --text --data wine --column alcohol --kernel variance

    Parameters
    ----------
    files
        Saved runs to show, .npz files.
    """
    import webbrowser

    from pairgossip.errors import needed_for

    warnings.simplefilter("ignore", SlowSchedule)  # the page shows it beside the run
    simulated = simulation_fields(what, family, how, arguments)
    _check_watched(watched, files, simulated)
    uploads = _read_data(simulated)
    swarm = _find_peers(watched)
    if watched.text and swarm is not None:
        from pairgossip.watch.terminal import TextSwarm

        if TextSwarm(swarm, output()).run():
            tell("The swarm has ended.")
        return
    if watched.text:
        _show_in_terminal(simulated or _FIRST_LOOK, uploads)
        return
    with needed_for("The page", "pairgossip[watch]"):
        from pairgossip.watch.server.server import ServerAddress, Service
    place = ServerAddress(server.host, server.port or 0, server.certificate, server.key)
    place.check()
    service = Service(place, _make_views(swarm, files, watched.results or (), uploads))
    address = service.address
    if simulated:
        address += f"{'&' if '?' in address else '?'}{urlencode(simulated, doseq=True)}"

    def announce() -> None:
        write_line(address)
        tell("Ctrl-C ends it.")
        if not server.no_browser and has_screen():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    service.run(announce)


def _show_in_terminal(fields: Fields, uploads: Uploads) -> None:
    """Show a simulation until it has ended."""
    from pairgossip.watch.simulation.build import build_runs
    from pairgossip.watch.simulation.settings import Settings
    from pairgossip.watch.text_runs import TextRuns

    TextRuns(build_runs(Settings.read(fields), uploads), output()).run()


def _make_views(
    swarm: Swarm | None, files: Sequence[Path], folders: Sequence[Path], uploads: Uploads
) -> list[View]:
    """Return the views: peers and saved results if asked for, then the simulation."""
    from pairgossip.watch.simulation.view import Simulations

    views: list[View] = [Simulations(uploads)]
    if files or folders:
        from pairgossip.watch.results import ResultsView, find_chapters, find_results

        results = find_results(files, folders)
        views.insert(0, ResultsView(results, find_chapters(results.reproductions)))
    if swarm is not None:  # last, because it starts to read peers at once
        from pairgossip.watch.peers_view import SwarmView

        views.insert(0, SwarmView(swarm))
    return views


def has_screen() -> bool:
    """Return whether a browser would open a window rather than take over the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _find_peers(watched: _WatchedOptions) -> Swarm | None:
    """Return the peers to show; None if none were named."""
    from pairgossip.watch.peers import peers_at, swarm_in

    if watched.swarm is not None:
        return swarm_in(watched.swarm)
    return peers_at(watched.peers) if watched.peers else None
