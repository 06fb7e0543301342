"""The same exchanges give peers and the simulator the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.algorithms.descent import gossip_dual_averaging_async
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.cli import main
from pairgossip.cli.data.specified import StepOfPeers
from pairgossip.cli.outputs.model import read_model
from pairgossip.engine.schedule import Schedule, child, root_seed
from pairgossip.graphs import Graph
from pairgossip.losses import Ball, SquaredL2, as_proximal, inverse_sqrt
from pairgossip.losses.learning import LearningProblem
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.messages import encode
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.state import Send
from pairgossip.peer.specification.local_part import rule_for
from pairgossip.peer.specification.spec import Spec, read_spec
from pairgossip.peer.storage.rows import read_rows
from tests.peer.contexts import make_context, name_of
from tests.peer.homes import AUC, GINI, LOSS

EXCHANGES, SEED = 160, 3
GRAPHS = {
    "star": pg.graphs.star(8),
    "watts-strogatz": pg.graphs.watts_strogatz(12, 4, 0.3, seed=SEED),
}
KERNELS = {
    "gini": GINI,
    "gini, u": GINI.replace("[ranges]", 'target = "u"\nmembers = {n}\n[ranges]'),
    "gini, paper": 'algorithm.mixing = "paper"\n' + GINI,
    "auc": AUC,
    "auc, paper": 'algorithm.mixing = "paper"\n' + AUC,
}
ENGINES = ("plain", "tokens", "fused")


class Peers:
    """Peers with one row each, on a network that loses nothing."""

    def __init__(self, graph: Graph, spec: Spec, rows: Sequence[tuple[float, ...]]) -> None:
        names = [name_of(k) for k in range(graph.n)]
        counts = dict.fromkeys(names, 1)
        self.spec = spec
        self.exchanges = {}
        for k, name in enumerate(names):
            neighbors = [names[j] for j in graph.neighbors(k)]
            rule = rule_for(spec, len(neighbors), 1)
            context = make_context(name, neighbors, (rows[k],), counts, rule)
            self.exchanges[name] = Exchange(context, first_state(context))
        for name in names:
            self._carry_out(name, self.exchanges[name].start())

    def exchange(self, pairs: PairArray) -> None:
        """Let the first node of each pair offer the second an exchange."""
        for i, j in pairs.tolist():
            self._carry_out(name_of(i), self.exchanges[name_of(i)].ask(name_of(j)))

    def _carry_out(self, name: str, actions: Sequence[object]) -> None:
        for action in actions:
            if isinstance(action, Send):
                frame = encode(action.message)
                self._carry_out(action.to, self.exchanges[action.to].receive(name, frame))

    def readouts(self) -> FloatArray:
        """Return the readouts of all peers, one row each."""
        return np.array(
            [
                peer.context.rule.readout(node.mass, node.private)
                for peer in self.exchanges.values()
                for node in peer.state.nodes
            ]
        )


def exchanges_of_the_simulator(graph: Graph) -> PairArray:
    """Return the exchanges that the first trial of a run with this seed draws."""
    (pairs,) = Schedule(graph, "uniform-edges", child(root_seed(SEED), 0)).draw(EXCHANGES)
    return pairs


def write(folder: Path, graph: Graph, text: str) -> tuple[Path, Path, Peers]:
    """Write specification and data, and let peers make the simulator's exchanges."""
    spec_path, data_path = folder / "spec.toml", folder / "data.csv"
    spec_path.write_text(text.replace("{n}", str(graph.n)))
    spec = read_spec(spec_path)
    random = np.random.default_rng(SEED)
    data = random.random((graph.n, len(spec.observed)))
    if spec.label is not None:
        data[:, -1] = np.arange(graph.n) % 2
    lines = [",".join(spec.observed), *(",".join(map(repr, row)) for row in data.tolist())]
    data_path.write_text("\n".join(lines))
    peers = Peers(graph, spec, read_rows(data_path, spec))
    peers.exchange(exchanges_of_the_simulator(graph))
    return spec_path, data_path, peers


def simulated(command: str, data: Path, spec: Path, graph: Graph, *tokens: object) -> None:
    graph_file = data.parent / "graph.graphml"
    graph.to_graphml(graph_file)
    tokens = (
        *(command, data, "--spec", spec, "--graph-file", graph_file, *tokens),
        *("--iterations", EXCHANGES, "--trials", 1, "--seed", SEED, "--json"),
    )
    assert main([str(token) for token in tokens]) == 0


# All engines on one graph, and one of them in turn on the other: engines agree on any graph, which
# `tests/engine` tests.
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_estimates(tmp_path: Path, name: str, kernel: str) -> None:
    graph, turn = GRAPHS[name], list(KERNELS).index(kernel) % len(ENGINES)
    spec, data, peers = write(tmp_path, graph, KERNELS[kernel])
    ours = [peers.spec.value(readout) for readout in peers.readouts()]
    assert np.isfinite(ours).all()
    for engine in ENGINES if name == "star" else ENGINES[turn : turn + 1]:
        file = tmp_path / f"{engine}.npz"
        simulated("estimate", data, spec, graph, "--engine", engine, "--save", file)
        run = pg.load(file)
        assert isinstance(run, pg.Run) and run.graph == graph
        np.testing.assert_allclose(run.estimates[0], ours, rtol=1e-12, err_msg=engine)


# Every pair of a graph, a step and a bound of the model occurs, but not every triple.
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(
    ("learning", "steps"),
    [
        ("", ("", "step = 0.5\n")),
        ("radius = 0.02\n", ("step = 0.5\n", "")),
        ("l2 = 0.5\n", ("", "step = 0.5\n")),
        ("l2 = 0.1\nradius = 1\n", ("step = 0.5\n", "")),
    ],
)
def test_models(tmp_path: Path, graph: str, learning: str, steps: tuple[str, str]) -> None:
    step = steps[list(GRAPHS).index(graph)]
    text = f"{LOSS.partition('step')[0]}{step}{learning}"
    spec, data, peers = write(tmp_path, GRAPHS[graph], text)
    file = tmp_path / "model.json"
    simulated("train", data, spec, GRAPHS[graph], "--model", file)
    ours = peers.readouts().mean(axis=0)
    assert np.abs(ours).max() > 1e-3
    np.testing.assert_allclose(read_model(file).theta, ours, rtol=1e-11)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
def test_the_step_size_that_the_plain_algorithm_needs(tmp_path: Path, graph: Graph) -> None:
    """Peers have p = degree, the simulator p = degree/|E|: every node's model agrees."""
    _, data, peers = write(tmp_path, graph, LOSS)
    learning = peers.spec.learning
    assert learning is not None and learning.radius is not None and learning.l2 is not None
    assert isinstance(learning.step, float)
    problem = LearningProblem(np.array(read_rows(data, peers.spec)), "auc-logistic")
    prox = as_proximal(Ball(learning.radius), SquaredL2(learning.l2)).map
    gamma, models = StepOfPeers(learning.step, graph.edge_count), []
    for step in (gamma, inverse_sqrt(learning.step)):
        state = gossip_dual_averaging_async.init(graph.n, problem.dimension)
        for pair in exchanges_of_the_simulator(graph):
            state = gossip_dual_averaging_async.step(
                state, pair[None], problem.gradient, prox, step, graph.pick_probabilities()
            )
        models.append(state.mean)
    right, wrong = models
    np.testing.assert_allclose(right, peers.readouts(), rtol=1e-12, atol=1e-14)
    assert np.abs(wrong - right).max() > 0.02


def test_the_step_size_of_peers_in_the_simulators_time() -> None:
    gamma, times = StepOfPeers(0.5, 24), np.array([24.0, 100.0, 1e6])
    np.testing.assert_allclose(gamma(times), 0.5 / np.sqrt(24) / np.sqrt(times), rtol=1e-14)
    assert gamma(1.0) == gamma(12.0) == gamma(24.0) == pytest.approx(0.5 / 24)
