"""Every row of the errata page is recomputed here, and the page shows what was computed."""

from __future__ import annotations

from pathlib import Path

import networkx
import numpy as np
import pytest

from pairgossip.graphs import Graph
from pairgossip.theory.errata import ERRATA, Erratum, markdown_table

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"


@pytest.mark.parametrize("row", ERRATA, ids=lambda row: row.lines)
def test_the_evidence_shows_the_claim(row: Erratum) -> None:
    evidence = row.evidence()
    assert evidence.shown, evidence.text


def test_the_page_holds_the_table_as_computed_now() -> None:
    assert markdown_table() in PAGE.read_text(encoding="utf-8")


def test_bipartite_graphs_mix_all_connected_graphs_up_to_seven_nodes() -> None:
    """The condition that replaces "non-bipartite": only two nodes fail it."""
    checked = 0
    for drawn in networkx.graph_atlas_g():
        n = drawn.number_of_nodes()
        if n < 2 or not networkx.is_connected(drawn):
            continue
        graph = Graph.from_networkx(networkx.convert_node_labels_to_integers(drawn))
        swap = np.linalg.eigvalsh(np.eye(n) - graph.laplacian_dense("uniform-edges"))
        mixes = np.abs(swap[:-1]).max() < 1 - 1e-12
        assert mixes == (n >= 3)
        checked += 1
    assert checked == 995
