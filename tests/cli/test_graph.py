from __future__ import annotations

from pathlib import Path

import pytest

import pairgossip as pg
from pairgossip.errors import InputError

from .running import CommandLine


def test_the_report_of_a_torus(cli: CommandLine) -> None:
    answer = cli("graph", "torus", "--rows", 26, "--cols", 26)
    assert answer.code == 0
    for part in ("torus (rows=26, cols=26)", "676", "1,352", "4, 4, 4", "node-clocks"):
        assert part in answer.out


def test_json_is_what_the_graph_says(cli: CommandLine) -> None:
    found = cli(
        "graph", "watts-strogatz", "--nodes", 60, "--k", 4, "--p", 0.3, "--seed", 7, "--json"
    ).json()
    graph = pg.graphs.watts_strogatz(60, 4, 0.3, seed=7)
    assert found["parameters"] == {"k": 4, "p": 0.3, "seed": 7}
    assert (found["nodes"], found["edges"]) == (60, graph.edge_count)
    assert found["spectral_gap"] == graph.spectral_gap()
    assert found["exact_mixing_time"] == graph.exact_mixing_time(0.01)
    assert found["diameter"] == graph.diameter()
    assert found["delta_tilde"] == graph.delta_tilde().value
    for law, facts in found["laws"].items():
        assert facts["normalized_gap"] == graph.normalized_gap(law)
        assert facts["exchanges_per_efold"] == 1 / graph.normalized_gap(law)
        assert facts["mixing_time_bound"] == graph.mixing_time(0.01, law)
        assert facts["pick_max"] == graph.pick_probabilities(law).max()


def test_what_is_too_costly_is_left_out(cli: CommandLine) -> None:
    answer = cli("graph", "watts-strogatz", "--nodes", 5001, "--p", 0.01)
    assert answer.code == 0
    assert answer.out.count("not computed above 5,000 nodes") == 2
    assert "not computed above 1,500 nodes" in answer.out
    found = cli("graph", "watts-strogatz", "--nodes", 5001, "--p", 0.01, "--json").json()
    assert found["diameter"] is None and found["exact_mixing_time"] is None


def test_families_with_formulas_know_more(cli: CommandLine) -> None:
    found = cli("graph", "cycle", "--nodes", 10_001, "--json").json()
    assert found["diameter"] == 5000


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_the_smallest_graphs(cli: CommandLine, nodes: int) -> None:
    answer = cli("graph", "complete", "--nodes", nodes)
    assert answer.code == 0
    assert ("undefined" in answer.out) == (nodes < 3)


def test_a_complete_graph_of_any_size_is_reported_from_formulas(cli: CommandLine) -> None:
    found = cli("graph", "complete", "--nodes", "2e9", "--json").json()
    n = 2_000_000_000
    assert found["degree_min"] == found["degree_max"] == found["degree_mean"] == n - 1
    assert (found["diameter"], found["spectral_gap"]) == (1, n)
    for facts in found["laws"].values():
        assert facts["pick_min"] == facts["pick_max"] == 2 / n
    assert cli("graph", "complete", "--nodes", "2e9").code == 0


def test_a_gap_out_of_reach_is_not_called_undefined(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> float:
        raise InputError("The spectral gap is too small to be computed.")

    monkeypatch.setattr(pg.graphs.Graph, "spectral_gap", refuse)
    answer = cli("graph", "watts-strogatz", "--nodes", 60)
    assert "not computed" in answer.out
    assert "undefined" not in answer.out


@pytest.mark.parametrize("name", ["net.graphml", "net.xml", "edges.txt"])
def test_a_saved_graph_reports_the_same(cli: CommandLine, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    wrote = cli("graph", "star", "--nodes", 9, "--save-edges", file, "--json")
    assert wrote.err == f"Wrote {file}\n"
    assert ("<graphml" in file.read_text()) == (file.suffix != ".txt")
    found = cli("graph", "--file", file, "--json").json()
    for law, facts in wrote.json()["laws"].items():
        assert found["laws"][law] == pytest.approx(facts)


def test_without_a_name_it_lists_the_families(cli: CommandLine) -> None:
    answer = cli("graph")
    assert answer.code == 0
    for name in pg.graphs.FAMILIES:
        assert name in answer.out
    assert "--k (4) --p (0.3)" in answer.out
    assert list(cli("graph", "--json").json()) == list(pg.graphs.FAMILIES)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["cycle"], "How many nodes? Say so, as in 'pairgossip graph cycle --nodes 100'."),
        (["--nodes", "5"], "Which network? Name a family, as in 'pairgossip graph cycle --nodes "),
        (["cycle", "--nodes", "5", "--save-edges", "no/where.txt"], "Cannot write no/where.txt: "),
        (["cycle", "--file", "net.txt"], "The network is read from net.txt: leave out its family "),
        (["--file", "net.txt", "--k", "4"], "The network is read from net.txt: leave out --k."),
        (["--file", "none.txt"], "There is no file none.txt: check the path."),
    ],
)
def test_mistakes(cli: CommandLine, tokens: list[str], message: str) -> None:
    assert cli.error("graph", *tokens).startswith(message)


def test_advice_compares_with_better_networks(cli: CommandLine, tmp_path: Path) -> None:
    network = ("watts-strogatz", "--nodes", "30", "--seed", "1")
    graph = pg.graphs.build("watts-strogatz", 30, seed=1)
    out = tmp_path / "advice.png"
    found = cli("graph", *network, "--advise", "--out", out, "--json").json()["advice"]
    best = pg.networks.best_law(graph)
    assert [option["name"] for option in found][:3] == ["as it is", "law: node-clocks", "law: best"]
    assert found[2]["gain"] == pytest.approx(best.gain)
    assert found[2]["bound"] == pytest.approx(best.bound)
    assert out.read_bytes().startswith(b"\x89PNG")
    text = cli("graph", *network, "--advise").out
    assert "better networks" in text and "random-regular overlay (4)" in text
    assert "add --advise" in cli.error("graph", *network, "--out", out)
    assert "Which network?" in cli.error("graph", "--advise")
