"""A family registered at run time is found through every door, with no file edited."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.graphs import FAMILIES, Family, FamilyParameter, Graph, build, register
from pairgossip.graphs.layout import place_nodes
from pairgossip.watch.simulation.build import build_runs
from pairgossip.watch.simulation.frames import make_setup
from pairgossip.watch.simulation.observations import Uploads, list_choices
from pairgossip.watch.simulation.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
INCOMES: dict[str, str | list[str]] = {"kernel": "gini", "column": ["income"], "nodes": "12"}


def wheel(n: int, spoke_count: int) -> Graph:
    """Return a ring around node 0, which is joined to the first nodes of the ring."""
    rim = np.arange(1, n)
    ring = np.column_stack([rim, np.roll(rim, -1)])
    return Graph(n, [*ring.tolist(), *([0, k] for k in range(1, spoke_count + 1))])


SPOKES = FamilyParameter(
    name="spoke_count", kind=int, default=3, least=1, noun="number of spokes", help="spokes"
)
WHEEL = Family(
    "wheel",
    "a ring with spokes",
    (SPOKES,),
    builder=wheel,
    diameter=lambda n, spoke_count: 7_000 + n + spoke_count,  # no other family gives this number
    edges=lambda n, spoke_count: n - 1 + spoke_count,
    layout=lambda graph: np.stack([np.arange(graph.n), np.zeros(graph.n)], axis=1),
)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(WHEEL)
    yield
    del FAMILIES["wheel"]


def test_python_builds_and_runs_it() -> None:
    graph = build("wheel", 12, spoke_count=4)
    assert (graph.family, graph.parameters, graph.edge_count) == ("wheel", {"spoke_count": 4}, 15)
    assert graph.diameter() == 7_016
    assert place_nodes(graph)[5].tolist() == [5, 0]
    run = pg.estimate(np.arange(12.0), "gini", "wheel", iterations=100, seed=0)
    assert (run.graph.family, run.graph.parameters) == ("wheel", {"spoke_count": 3})


def test_a_saved_run_knows_its_family_again(tmp_path: Path) -> None:
    pg.estimate(np.arange(12.0), "gini", "wheel", iterations=9, seed=0).save(tmp_path / "run.npz")
    assert pg.load(tmp_path / "run.npz").graph.diameter() == 7_015


def test_plans_know_it() -> None:
    assert "wheel of 12 nodes" in pg.plan(np.arange(12.0), "gini", "wheel", seed=0).title


def test_the_page_offers_and_draws_it() -> None:
    offered = {each["name"]: each for each in list_choices()["graphs"]}["wheel"]
    assert offered["description"] == "a ring with spokes"
    assert (offered["parameters"], offered["fractions"]) == (["spoke_count"], [])
    assert offered["defaults"] == {"spoke_count": 3}
    fields = {**INCOMES, "graph": "wheel", "graph-spoke_count": "5"}
    (run,) = build_runs(Settings.read(fields), Uploads())
    setup = make_setup(run, ("wheel", 12))
    assert (setup["family"], setup["parameters"]) == ("wheel", {"spoke_count": 5})
    assert setup["edge_count"] == 16
    assert "spoke_count=5" in setup["again"]["python"]
    (whole,) = build_runs(Settings.read({**fields, "nodes": ""}), Uploads())
    assert "--spoke-count 5" in (whole.again.command or "")
    zero = {**fields, "graph-spoke_count": "0"}
    with pytest.raises(InputError, match="'graph-spoke_count' is '0': give a whole number"):
        Settings.read(zero)
    FAMILIES["wheel"] = replace(WHEEL, parameters=(replace(SPOKES, least=0),))
    assert Settings.read(zero).runs[0].parameters == {"spoke_count": 0}


def test_the_page_refuses_too_many_edges() -> None:
    fields = {**INCOMES, "graph": "wheel", "graph-spoke_count": "5"}
    FAMILIES["wheel"] = replace(WHEEL, edges=lambda n, spoke_count: 1e6 * n * spoke_count)
    with pytest.raises(InputError, match="about 60,000,000 edges"):
        build_runs(Settings.read(fields), Uploads())


IN_A_PROGRAM = """
import sys
from tests.graphs.test_registered_family import WHEEL
from pairgossip.graphs import register

register(WHEEL)
from pairgossip.cli import main

for line in sys.argv[1:]:
    assert main(line.split()) == 0
"""


def run_commands(*lines: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROGRAM, *lines], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_builds_it_lists_it_and_has_its_options() -> None:
    builds = "graph wheel --nodes 12 --spoke-count 4 --json"
    out = run_commands(builds, "graph", "graph --help", "train --help", "plan --help")
    facts, end = json.JSONDecoder().raw_decode(out)
    assert (facts["parameters"], facts["diameter"]) == ({"spoke_count": 4}, 7_016)
    assert "--nodes --spoke-count (3)" in " ".join(out[end:].split())
    assert out.count("--spoke-count INT") == 3
    assert out.count("Spokes (wheel).") == 3


def test_lists_of_the_docs_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    from registries import list_names  # type: ignore[import-not-found]

    listed, problems = list_names("names", "", "families", 1, None)
    assert problems == []
    assert "".join(node.astext() for node in listed) == ", ".join(FAMILIES)
    described, _ = list_names("described", "", "families", 1, None)
    assert "".join(node.astext() for node in described).endswith(". wheel: a ring with spokes")
    assert "{names}`families`" in (DOCS / "guide" / "choices.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"spoke_count": 0}, "The number of spokes must be a whole number >= 1, not 0."),
        ({"spoke_count": "a"}, "The number of spokes must be a whole number >= 1, not 'a'."),
        ({"k": 4}, "wheel takes n and spoke_count, not k."),
    ],
)
def test_its_declaration_refuses_what_it_cannot_be(parameters: Any, sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        build("wheel", 12, **parameters)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"builder": lambda n, spoke_count: None}, "Graph of 12 nodes, not None"),
        ({"builder": lambda n, spoke_count: wheel(n + 1, 3)}, "not <Graph: 13 nodes"),
        ({"parameters": (replace(SPOKES, default=None),)}, "Give spoke_count=: wheel needs it"),
        ({"layout": "rign"}, "Unknown layout 'rign': did you mean 'ring'"),
    ],
)
def test_a_family_that_does_not_keep_its_word(changes: Any, sentence: str) -> None:
    FAMILIES["wheel"] = replace(WHEEL, **changes)
    with pytest.raises(InputError, match=sentence):
        place_nodes(build("wheel", 12))


def test_a_random_family_gets_and_keeps_its_seed() -> None:
    def draw(n: int, seed: int | None = None) -> Graph:
        order = np.random.default_rng(seed).permutation(n)
        return Graph(n, np.column_stack([order[:-1], order[1:]]))

    try:
        register(Family("drawn-path", "a path in random order", builder=draw, is_random=True))
        first, second = (build("drawn-path", 9, seed=seed) for seed in (1, 2))
        assert first != second
        assert first.parameters == {"seed": 1}
        run = pg.estimate(np.arange(9.0), "gini", "drawn-path", iterations=9, seed=1)
        assert run.graph == first
    finally:
        FAMILIES.pop("drawn-path", None)


@pytest.mark.parametrize(
    ("family", "sentence"),
    [
        (Family("path", "", builder=wheel), "'path' is that of a built-in family"),
        (Family("Big Wheel", "", builder=wheel), "'Big Wheel' is not the name of a family"),
        (Family("empty", ""), "Family 'empty' has no builder: give builder="),
        (
            Family("named", "", (FamilyParameter(name="mode"),), builder=wheel),
            "'mode' of family 'named' must be a number: give it kind=int or kind=float",
        ),
        (
            Family("square", "", (SPOKES,), builder=wheel, takes_n=False),
            "'square' must take n: only rows and cols",
        ),
    ],
)
def test_families_that_cannot_be_entered(family: Family, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        register(family)
    assert FAMILIES.get(family.name) is not family
