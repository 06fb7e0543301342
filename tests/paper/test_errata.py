"""Every row of the errata page is recomputed here, and the page shows the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

from pairgossip.graphs import Graph, complete, cycle, path
from pairgossip.losses import Ball, Unconstrained, constant, inverse_sqrt, power
from pairgossip.theory import constants, expected_estimates, gosta_expectation_bound
from pairgossip_paper import errata
from pairgossip_paper.errata import ERRATA, erratum, markdown_table
from pairgossip_paper.errata.erratum import ranking_problem
from pairgossip_paper.errata.estimation import _gap, _laplacian, blow_up, lexicographic
from pairgossip_paper.errata.network import newman_watts
from pairgossip_paper.errata.rates import node_jumps
from tests.cli.running import CommandLine

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"
pytestmark = pytest.mark.usefixtures("shared_evidence")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.mark.parametrize("number", range(len(ERRATA)), ids=[row.lines for row in ERRATA])
def test_the_evidence_shows_the_claim_within_the_hypotheses(number: int) -> None:
    row = errata.ERRATA[number]
    evidence = row.evidence()
    assert evidence.shown, evidence.text
    assert dict(evidence.hypotheses) == dict.fromkeys(row.assumed, True)


def test_the_page_holds_the_table_as_computed_now() -> None:
    assert markdown_table() in PAGE.read_text(encoding="utf-8")


def test_the_command_lists_every_row_and_leaves_room_for_the_evidence(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = cli("errata").out
    assert text.count("correct: ") == len(ERRATA)
    assert text.splitlines()[0].index("class") < 14 and "301, 323," in text
    assert cli("errata", "--markdown").out == markdown_table()
    found = cli("errata", "--json").json()
    assert [row["shown"] for row in found.values()] == [True] * len(ERRATA)


def test_gaps_and_remarks_accuse_nobody() -> None:
    """Errata that do not refute a printed statement are of class C, and A is for algorithms."""
    classes = {row.lines: row.severity for row in ERRATA}
    gaps = {row.lines for row in ERRATA if row.correct.startswith("a gap in the proof")}
    assert gaps == {"416, 492", "1860"}
    assert {classes[lines] for lines in (*gaps, "612", "679-682")} == {"C"}
    broken = {lines for lines, severity in classes.items() if severity == "A"}
    assert {lines.split(", ")[0] for lines in broken} == {"390", "1904", "1907", "1916"}


ABOUT_NO_EXAMPLE = {
    "202",  # a loss and an indicator
    "301, 323, 415, 490, 533, 656, 760, 779, 905, 958, 1716, 1766, 1927, 1955",  # a hypothesis
    "583",  # holds for any connected graph, as every Graph is
    "612",  # the data file
    "618",
    "619",
    "617",
    "585, 2251",  # of any connected graph
    "1392, 1404, 1836",  # an identity of arbitrary functions
    "2219, 2229-2234, 2238",  # coefficients
}


def test_only_rows_about_no_example_assume_nothing() -> None:
    assert {row.lines for row in ERRATA if not row.assumed} == ABOUT_NO_EXAMPLE


ASYMMETRIC = np.array([[0.0, 1.0], [2.0, 0.0]])


@pytest.mark.parametrize(
    ("check", "inside", "outside"),
    [
        (erratum.symmetric, (np.eye(2),), (np.eye(2), ASYMMETRIC)),
        (erratum.not_bipartite, (cycle(5), complete(3)), (cycle(5), path(5))),
        (erratum.not_complete, (cycle(5),), (cycle(5), complete(5))),
        (erratum.convex, (ranking_problem(6), 10.0), (ranking_problem(6), 0.1)),
        (erratum.linear, (np.array([1.0, -1.0]), 1.0), (np.array([1.0, -1.1]), 1.0)),
        (erratum.in_ball, (np.ones((3, 1)), 1.0), (np.ones((3, 2)), 1.0)),
        (erratum.mapped_into_ball, (Ball(2.0), 3, 2.0), (Unconstrained(), 3, 2.0)),
        (erratum.not_increasing, (constant(1.0), 9), (np.sqrt, 9)),
        (erratum.power_step, (inverse_sqrt(1.0),), (constant(1.0),)),
        (erratum.asynchronous_step, (power(1.0, 0.6),), (inverse_sqrt(1.0),)),
    ],
)
def test_hypotheses_tell_examples_apart(
    check: Callable[..., dict[str, bool]], inside: tuple[Any, ...], outside: tuple[Any, ...]
) -> None:
    (words,) = check(*inside)
    assert check(*inside) == {words: True} and check(*outside) == {words: False}


def test_a_loss_that_bends_down_is_not_convex(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ranking_problem(6)
    gradient = problem.gradient
    monkeypatch.setattr(problem, "gradient", lambda *arguments: -gradient(*arguments))
    assert erratum.convex(problem, np.inf) == {erratum.CONVEX: False}


def test_a_node_jumps_as_far_as_lists_say() -> None:
    """Line 1860: the example once more, with a new list of accumulators after every exchange."""
    nodes, scale, worst = range(31), 1e-3, 0.0
    slopes = [1.0 if node < 15 else -1.0 for node in nodes]
    z, models = [0.0] * 31, [0.0] * 31
    for t, (i, j) in enumerate(erratum.exchanges(cycle(31), 10_000).tolist(), start=1):
        mean = (z[i] + z[j]) / 2
        z = [(mean if node in (i, j) else z[node]) + slopes[node] for node in nodes]
        moved = [-scale * value / t**0.5 for value in z]
        fall = max(slopes[node] * (models[node] - moved[node]) for node in nodes)
        worst = max(worst, fall / (6 * scale / max(t - 1, 1) ** 0.5))
        models = moved
    assert f"up to {worst:.0f} times" in node_jumps.evidence().text


def small_graphs(largest: int, least: int = 3) -> Iterator[Graph]:
    """Yield all connected graphs of at most this many nodes."""
    for drawn in networkx.graph_atlas_g():
        if least <= drawn.number_of_nodes() <= largest and networkx.is_connected(drawn):
            yield Graph.from_networkx(networkx.convert_node_labels_to_integers(drawn))


def test_the_printed_gosta_bound_holds_for_symmetric_kernels() -> None:
    """Lines 303-308 are right: symmetric kernels have a <= F, so that 2a + F <= a + 2F."""
    rng, worst = np.random.default_rng(0), 0.0
    t = np.array([1, 2, 5, 30, 1_000])
    for graph in islice(small_graphs(6, 6), 0, None, 3):
        for H in (rng.normal(size=(graph.n, graph.n)), np.eye(graph.n)[:, :1] - np.ones(graph.n)):
            H = H + H.T
            c = constants(H, graph)
            assert c.row_mean_spread <= c.within_rows
            for order in ("update-first", "exchange-first"):
                bias = expected_estimates(H - H.mean(), graph, t, order=order)
                bound = gosta_expectation_bound(c, t, printed=True)
                worst = max(worst, float((np.linalg.norm(bias, axis=1) / bound).max()))
    assert 0.2 < worst <= 0.5


@pytest.mark.parametrize("k", [2, 3])
def test_the_proposition_on_several_points_holds_for_the_graph_of_its_proof(k: int) -> None:
    """Lines 660 and 2288 are right: the gap of the blow-up is k lambda unless G is complete."""
    checked = 0
    for graph in small_graphs(6):
        if 2 * graph.edge_count == graph.n * (graph.n - 1):
            continue
        assert _gap(blow_up(graph, k)) == pytest.approx(k * graph.spectral_gap(), abs=1e-9)
        checked += 1
    assert checked == 2 + 6 + 21 + 112 - 4


@pytest.mark.parametrize("k", [2, 3])
def test_exchanges_inside_nodes_attenuate_the_factor(k: int) -> None:
    """Line 664 is right: per network exchange the slowest mode is kept, others decay faster."""
    for graph in small_graphs(5):
        spectra = [
            np.linalg.eigvalsh(_laplacian(adjacency))
            for adjacency in (blow_up(graph, k), lexicographic(graph, k))
        ]
        # Both have the same edges between nodes, whose exchanges are those of the network.
        gained = spectra[1] - spectra[0]
        assert gained.min() > -1e-9 and gained.max() > 0.5
        is_complete = 2 * graph.edge_count == graph.n * (graph.n - 1)
        assert (gained[1] > 1e-9) == is_complete


def test_newman_watts_graphs_are_those_of_networkx() -> None:
    ours = [newman_watts(200, 5, 0.3, seed) for seed in range(30)]
    theirs = [
        Graph.from_networkx(networkx.newman_watts_strogatz_graph(200, 5, 0.3, seed=seed))
        for seed in range(30)
    ]
    for measure in (lambda graph: graph.edge_count, Graph.normalized_gap):
        mean, other = (np.mean([measure(graph) for graph in some]) for some in (ours, theirs))
        assert mean == pytest.approx(other, rel=0.05)
    assert all(graph.degrees.min() >= 4 for graph in ours)


def test_bipartite_graphs_mix_all_connected_graphs_up_to_seven_nodes() -> None:
    """Non-bipartite is sufficient, but not necessary: only two nodes fail."""
    checked = 0
    for graph in small_graphs(7, 2):
        swap = np.linalg.eigvalsh(np.eye(graph.n) - graph.laplacian_dense("uniform-edges"))
        mixes = np.abs(swap[:-1]).max() < 1 - 1e-12
        assert mixes == (graph.n >= 3)
        checked += 1
    assert checked == 995
