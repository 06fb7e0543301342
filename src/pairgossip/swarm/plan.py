"""The plan of a swarm whose rows travel: one specification, a network, rows dealt to peers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.files import unwritable, write_text
from pairgossip.kernels import Pairs
from pairgossip.order_statistics.comparisons import TESTS
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.peer.identity.identity import Identity, load_identity
from pairgossip.peer.identity.invitations import (
    Invitation,
    add_invited,
    invitation,
    read_invitation,
)
from pairgossip.peer.identity.members import Members
from pairgossip.peer.protocol.messages import Rows
from pairgossip.peer.specification.agreement import link_name
from pairgossip.peer.specification.canonical_text import format_toml
from pairgossip.peer.specification.checks import check_link_names
from pairgossip.peer.specification.keys import EXCHANGE, SUMS
from pairgossip.peer.specification.spec import Spec, parse_spec
from pairgossip.peer.storage.accounting import accounting_of
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home
from pairgossip.peer.storage.rows import rows_text
from pairgossip.swarm.exchange import ExchangeCrew, ExchangePeer

if TYPE_CHECKING:
    from pairgossip.graphs import Graph
    from pairgossip.swarm.processes import PeerProcess
    from pairgossip.swarm.running import Place, SwarmOptions


_MOST_PEERS = 500
"""Largest number of peers; each is a process of some 50 MB."""


@dataclass(frozen=True)
class Plan:
    """All facts about a swarm whose rows travel, except its place and its length."""

    algorithm: ClassVar[str] = EXCHANGE
    text: str
    """The specification as the file that every peer is given."""
    spec: Spec
    graph: Graph
    names: tuple[str, ...]
    rows: tuple[Rows, ...]
    """The rows of each peer."""

    @property
    def links(self) -> list[tuple[int, int]]:
        """The pairs of peers that talk to each other, by number."""
        return [(i, j) for i, j in self.graph.edges.tolist()]

    @property
    def measure(self) -> str:
        """The kernel or the loss."""
        return str(self.spec.kernel or self.spec.loss)

    @property
    def has_exact(self) -> bool:
        """Whether there is a value to compare peers with."""
        return self.spec.kernel is not None

    def exact(self) -> float | None:
        """Return the statistic of all rows together; None if a model is learned instead."""
        return exact_value(self.spec, np.array([row for rows in self.rows for row in rows]))

    def describe(self) -> dict[str, Any]:
        """Return its part of the manifest."""
        spec, positions = self.spec, self.graph.positions
        return {
            "measure": self.measure,
            "target": spec.target,
            "spec": spec.hash,
            "family": self.graph.family,
            "positions": None if positions is None else tuple(map(tuple, positions.tolist())),
        }

    def found(self, place: Place, options: SwarmOptions) -> ExchangeCrew:
        """Make the folders of all peers, which know each other."""
        power_safe = options.power_safe
        homes = create_peers(self, place.folder, place.listen, power_safe=power_safe)
        peers: list[PeerProcess] = [
            ExchangePeer(one.name, one.id, home.folder, place.log_of(one.name))
            for home, one in zip(homes, introduce(self, homes, place.reached), strict=True)
        ]
        return ExchangeCrew(self, peers, options.exchanges)


def exact_value(spec: Spec, rows: FloatArray) -> float | None:
    """Return the statistic of rows by all their pairs or ranks; None if a model is learned."""
    if spec.kernel is None:
        return None
    if spec.weight is not None:
        rows = np.repeat(rows, rows[:, -1].astype(np.intp), axis=0)
    table = rows[:, : len(spec.measured)]
    asked = spec.question
    if asked is None:
        strata = None if spec.within is None else rows[:, spec.observed.index(spec.within)]
        return Pairs(table, spec.kernel, spec.target, within=strata).exact()
    if asked.statistic is None:
        return TESTS[asked.name](table).value
    labels = table[:, 1] if table.shape[1] > 1 else None
    return float(asked.statistic.value(Distribution.of(table[:, 0], labels=labels)))


def name_peers(peers: int) -> tuple[str, ...]:
    """Return the names of peers."""
    digits = max(2, len(str(peers)))
    return tuple(f"peer-{number:0{digits}d}" for number in range(1, peers + 1))


def deal(rows: int, peers: int, seed: int) -> list[list[int]]:
    """Return the rows of each peer: as evenly as possible, in an order that the seed decides.

    Refuse fewer rows than peers, and a swarm of one or of too many.
    """
    if not 2 <= peers <= _MOST_PEERS:
        raise InputError(f"A swarm has 2 to {_MOST_PEERS} peers, not {peers}.")
    if rows < peers:
        raise InputError(
            f"{peers} peers need at least {peers} rows, but there are {rows}: use fewer peers."
        )
    order: list[int] = np.random.default_rng(seed).permutation(rows).tolist()
    return [order[peer::peers] for peer in range(peers)]


def make_plan(text: str, rows: Rows, graph: Graph, peers: int, seed: int) -> Plan:
    """Deal rows to peers, as evenly as their number allows, in an order that the seed decides."""
    order = deal(len(rows), peers, seed)
    if graph.n != peers:
        raise InputError(
            f"The network has {graph.n} nodes, but there are {peers} peers: give one peer for "
            f"every node."
        )
    spec = parse_spec(text)
    if spec.members not in (None, len(rows)):
        raise InputError(
            f"The specification says members = {spec.members}, but there are {len(rows)} rows: "
            f"correct it, or leave it out."
        )
    dealt = tuple(tuple(rows[row] for row in own) for own in order)
    names = name_peers(peers)
    if spec.links is not None:
        joined = (link_name(names[i], names[j]) for i, j in graph.edges.tolist())
        check_link_names(spec.links, names, joined)
    return Plan(text, spec, graph, names, dealt)


def kernel_spec(
    kernel: str,
    columns: Sequence[str],
    label: str | None,
    table: FloatArray,
    *,
    target: str = "v",
    rate: float | None = 10.0,
    classes: Sequence[str] | None = None,
) -> str:
    """Write the specification for a kernel and a table of all rows, the label in its last column.

    Rows are exchanged ``rate`` times per second and link; with None sums are computed.

    The ranges are those of the data; peers of different people would agree on ranges before they
    see any rows.
    """
    # If classes are words, these are the possible labels.
    names = [*columns, *([] if label is None or classes is not None else [label])]
    ranges = {}
    for name, column in zip(names, table.T[: len(names)], strict=True):
        low, high = float(column.min()), float(column.max())
        ranges[name] = [low, high] if low < high else [low - 1.0, high + 1.0]
    entries = {
        "kernel": kernel,
        "columns": list(columns),
        "label": label,
        "classes": None if classes is None else list(classes),
        "target": target,
        "members": None if rate is None else len(table),
        "ranges": ranges,
        "algorithm": {"name": SUMS} if rate is None else {"name": EXCHANGE, "rate": rate},
    }
    return format_toml({name: one for name, one in entries.items() if one is not None})


def make_folder(folder: Path) -> None:
    """Make the folder of a new swarm, which only its owner can enter."""
    if os.path.lexists(folder):
        raise InputError(f"{folder} exists already and is left as it is: choose another folder.")
    if not folder.parent.is_dir():
        raise InputError(f"There is no folder {folder.parent}: make it first.")
    try:
        folder.mkdir(mode=0o700)
    except OSError as problem:
        raise unwritable(folder, problem, "make") from None


def create_peers(
    plan: Plan, folder: Path, listen: Sequence[str], *, power_safe: bool = True
) -> list[Home]:
    """Make the folder of every peer, with its key and its rows."""
    spec, copied = folder / "spec.toml", folder / ".rows.csv"
    write_text(spec, [plan.text])
    homes = []
    try:
        for name, rows, address in zip(plan.names, plan.rows, listen, strict=True):
            copied.touch(mode=0o600)
            copied.write_text(rows_text(rows, plan.spec), encoding="utf-8")
            # Equal rows of two peers belong to two people, so each peer has its own ledger.
            keeps_ledger = accounting_of(plan.spec, copied).keeps_ledger
            ledger = folder / f"{name}.ledger" if keeps_ledger else None
            homes.append(
                create_home(
                    folder / name,
                    name,
                    spec,
                    copied,
                    address,
                    power_safe=power_safe,
                    ledger=ledger,
                )
            )
    finally:
        copied.unlink(missing_ok=True)
    return homes


def introduce(plan: Plan, homes: list[Home], reached: Callable[[int, int], str]) -> list[Identity]:
    """Let all peers join each other by invitation: neighbors as such, others as members.

    Peer i finds peer j at the address ``reached(i, j)``.
    """
    identities = [load_identity(home.folder) for home in homes]
    joined = {*plan.links, *((j, i) for i, j in plan.links)}

    def invited(by: int, address: str | None) -> Invitation:
        rows = len(plan.rows[by])
        return read_invitation(invitation(identities[by], plan.spec, rows, address))

    invitations = [invited(peer, None) for peer in range(len(homes))]
    for i, home in enumerate(homes):
        members = Members()
        for j in range(len(homes)):
            if i == j:
                continue
            is_neighbor = (i, j) in joined
            theirs = invited(j, reached(i, j)) if is_neighbor else invitations[j]
            members = add_invited(members, identities[i], plan.spec, theirs, is_neighbor)
        members.save(home.members)
    return identities
