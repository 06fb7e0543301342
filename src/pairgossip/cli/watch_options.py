"""The options of `pairgossip watch`: what to look at."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pairgossip.cli.network import DEFAULT_FAMILY, FamilyParameters
from pairgossip.cli.options import METHOD, NETWORK, SERVER, STATISTIC, WATCHED, Flag, Seed, Whole
from pairgossip.cli.refusals import one_table
from pairgossip.errors import InputError, canonical

FIRST_LOOK: dict[str, str | list[str]] = {
    "data": "engel",
    "column": ["income"],
    "kernel": "gini",
    "graph": "watts-strogatz",
}
"""What is simulated if nothing is said."""


@Parameter(name="*", group=WATCHED)
@dataclass(frozen=True)
class WatchedOptions:
    """Real peers or saved results, besides or instead of a simulation."""

    swarm: Path | None = None
    """The folder of a swarm, which `pairgossip swarm run --home` makes: its peers are shown,
    running or not, and never disturbed."""
    peers: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None
    """Single peers: their folders, or HOST:PORT of their metrics on this machine."""
    results: list[Path] | None = None
    """A folder of saved runs, such as `pairgossip reproduce` makes; repeat it for several."""
    text: Flag = False
    """Show it here in the terminal, without a browser."""


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class SimulatedOptions:
    """What is simulated."""

    data: str | None = None
    """An embedded data set, see `pairgossip dataset`, or with --text a CSV file."""
    nodes: Whole | None = None
    """How many rows to take, one per node; all unless given."""
    column: list[str] | None = None
    """Column of numbers to use; repeat it for several."""
    label: str | None = None
    """Column of labels."""
    kernel: str | None = None
    """What is averaged over pairs, such as gini; `pairgossip kernels` lists them."""
    loss: str | None = None
    """What is learned instead, such as auc-logistic."""
    target: str | None = None
    """v (unless given): over all pairs; u: over pairs of different rows."""
    graph: Annotated[str | None, Parameter(group=NETWORK)] = None
    """Family of the network; `pairgossip graph` lists them."""


@Parameter(name="*", group=METHOD)
@dataclass(frozen=True)
class PaceOptions:
    """How it is simulated."""

    method: str | None = None
    """gosta (unless given), weighted-gosta, u1, u2 or averaging."""
    clock: str | None = None
    """sync (unless given) or async."""
    law: str | None = None
    """uniform-edges (unless given) or node-clocks."""
    step: float | None = None
    """Step of a loss; found from the data unless given."""
    iterations: Whole | None = None
    """How long to run; 200 per node unless given."""
    seed: Seed | None = None
    """Seed of all randomness; 0 unless given."""
    speed: str | None = None
    """Iterations per second, or max; with --text half a minute for the whole run unless given."""


@Parameter(name="*", group=SERVER)
@dataclass(frozen=True)
class ServerOptions:
    """Where the page is served."""

    port: Whole | None = None
    """Where to listen; an unused port unless given."""
    host: str = "127.0.0.1"
    """The name or address that viewers type. Another than this machine itself needs a certificate
    and its key, and the address printed then holds a token that lets viewers in."""
    certificate: Path | None = None
    """A certificate for the host, a PEM file."""
    key: Path | None = None
    """The certificate's private key, a PEM file."""
    no_browser: Flag = False
    """Print the address without opening a browser."""


NO_WATCHED = WatchedOptions()
NO_SIMULATED = SimulatedOptions()
NO_PACE = PaceOptions()
ON_THIS_MACHINE = ServerOptions()
Fields = dict[str, str | list[str]]


def simulation_fields(what: SimulatedOptions, family: FamilyParameters, how: PaceOptions) -> Fields:
    """Spell the options as the page's address spells them; empty if none was given."""
    found: Fields = {}
    for options in (what, how):
        for field in fields(options):
            value = getattr(options, field.name)
            if value is not None:
                found[field.name] = value if isinstance(value, list) else str(value)
    found |= {f"graph-{name}": str(value) for name, value in family.given().items()}
    if "column" in found:
        found["column"] = [part for name in found["column"] for part in name.split(",")]
    says_what = {"data", "kernel", "loss", "column", "label"} & set(found)
    needs_pairs = not _averages(str(found.get("method", "gosta")))
    complete = {**FIRST_LOOK, **found} if found and not says_what and needs_pairs else found
    _check_family(str(complete.get("graph", DEFAULT_FAMILY)), family)
    return complete


def _averages(method: str) -> bool:
    """Whether a method averages one value per node; the page refuses an unknown one."""
    from pairgossip.algorithms import METHODS

    return canonical(method) in METHODS and METHODS[canonical(method)].estimates == "mean"


def _check_family(graph: str, family: FamilyParameters) -> None:
    """Refuse what a known family does not take; the page would leave it alone."""
    if not family.given():
        return
    from pairgossip.graphs import FAMILIES

    known = FAMILIES.get(canonical(graph))
    for name in family.given():
        if known is not None and name not in known.parameters:
            raise InputError(f"The family '{canonical(graph)}' takes no --{name}: leave it out.")


def check_watched(watched: WatchedOptions, files: tuple[Path, ...], simulated: Fields) -> None:
    """Refuse what does not go together."""
    if watched.swarm is not None and watched.peers:
        raise InputError("Give --swarm or --peers, not both.")
    table = next((str(file) for file in files if file.suffix.lower() != ".npz"), None)
    if table is not None and "data" in simulated:
        raise InputError(one_table("pairgossip watch", [table]))
    has_peers = watched.swarm is not None or bool(watched.peers)
    if watched.text and (files or watched.results):
        raise InputError(
            "Saved runs are shown in the page: leave out --text, or use 'pairgossip plot'."
        )
    if watched.text and has_peers and simulated:
        name = next(iter(simulated))
        raise InputError(f"A terminal shows peers or a simulation: leave out --{name}.")
    if simulated and not watched.text:
        _check_for_page(simulated)


def _check_for_page(simulated: Fields) -> None:
    """Refuse now what the page would only complain about once it is open."""
    from pairgossip.datasets import CATALOG
    from pairgossip.watch.observations import TWO_NORMALS
    from pairgossip.watch.settings import Settings

    Settings.read(simulated)
    known = [*CATALOG, TWO_NORMALS]
    if str(simulated.get("data", known[0])) not in known:
        raise InputError(
            f"The page opens files itself: leave out --data, or give one of {', '.join(known)}; "
            "a file goes with --text."
        )
