"""What a swarm will be: one specification, a network, and the rows dealt to its peers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import exact
from pairgossip.peer.rows import Rows
from pairgossip.peer.spec import Spec, parse_spec

if TYPE_CHECKING:
    from pairgossip.graphs import Graph

MOST_PEERS = 500
"""Each peer is a process of some 50 MB."""


@dataclass(frozen=True)
class Plan:
    """Everything about a swarm but where it runs and for how long."""

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

    def exact(self) -> float | None:
        """Return the statistic of all rows together; None if a model is learned instead."""
        if self.spec.kernel is None:
            return None
        table = np.array([row for rows in self.rows for row in rows])
        data = table[:, 0] if table.shape[1] == 1 else table
        return exact(data, self.spec.kernel, self.spec.target)


def make_plan(text: str, rows: Rows, graph: Graph, peers: int, seed: int) -> Plan:
    """Deal rows to peers, as evenly as their number allows, in an order that the seed decides."""
    check_sizes(peers, len(rows), graph)
    spec = parse_spec(text)
    if spec.members not in (None, len(rows)):
        raise InputError(
            f"The specification says members = {spec.members}, but there are {len(rows)} rows: "
            f"correct it, or leave it out."
        )
    order = np.random.default_rng(seed).permutation(len(rows)).tolist()
    dealt = tuple(tuple(rows[row] for row in order[peer::peers]) for peer in range(peers))
    digits = max(2, len(str(peers)))
    names = tuple(f"peer-{number:0{digits}d}" for number in range(1, peers + 1))
    return Plan(text, spec, graph, names, dealt)


def check_sizes(peers: int, rows: int, graph: Graph) -> None:
    """Refuse numbers that do not go together."""
    if not 2 <= peers <= MOST_PEERS:
        raise InputError(f"A swarm has 2 to {MOST_PEERS} peers, not {peers}.")
    if rows < peers:
        raise InputError(
            f"{peers} peers need at least {peers} rows, but there are {rows}: use fewer peers."
        )
    if graph.n != peers:
        raise InputError(
            f"The network has {graph.n} nodes, but there are {peers} peers: give one peer for "
            f"every node."
        )


def kernel_spec(
    kernel: str,
    columns: Sequence[str],
    label: str | None,
    table: FloatArray,
    *,
    target: str = "v",
    rate: float = 10.0,
    mixing: str | None = None,
) -> str:
    """Write the specification for a kernel and a table of all rows, the label in its last column.

    The ranges are those of the data; where peers belong to different people, they would agree on
    ranges without looking.
    """
    names = [*columns, *([] if label is None else [label])]
    lines = [f"kernel = {_quoted(kernel)}", f"columns = [{', '.join(map(_quoted, columns))}]"]
    if label is not None:
        lines.append(f"label = {_quoted(label)}")
    lines += [f"target = {_quoted(target)}", f"members = {len(table)}", "", "[ranges]"]
    for name, column in zip(names, table.T, strict=True):
        low, high = float(column.min()), float(column.max())
        if low == high:
            low, high = low - 1.0, high + 1.0
        lines.append(f"{_quoted(name)} = [{low!r}, {high!r}]")
    lines += ["", "[algorithm]", f"rate = {float(rate)!r}"]
    if mixing is not None:
        lines.append(f"mixing = {_quoted(mixing)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    # A string of JSON is one of TOML, but for the delete character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
