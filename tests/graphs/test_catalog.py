from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

from pairgossip.errors import InputError
from pairgossip.graphs import FAMILIES, Graph, build, grid, torus, watts_strogatz


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_built_from_its_name_and_size(name: str) -> None:
    graph = build(name, 36)
    assert (graph.n, graph.family) == (36, name)
    assert FAMILIES[name].description


@pytest.mark.parametrize("name", FAMILIES)
def test_every_entry_lists_what_its_builder_takes(name: str) -> None:
    family = FAMILIES[name]
    takes = tuple(inspect.signature(family.builder).parameters)
    assert takes == (("n", *family.parameters) if family.takes_n else family.parameters)
    assert family.is_random == ("seed" in takes)
    assert set(family.defaults(50)) <= set(family.parameters)
    assert set(family.derived_from_n) <= set(family.parameters)


def test_any_spelling_works() -> None:
    expected = watts_strogatz(50, 4, 0.3, seed=3)
    for name in ("watts-strogatz", "watts_strogatz", "Watts Strogatz", " WATTS-STROGATZ "):
        assert build(name, 50, seed=3) == expected


def test_defaults() -> None:
    assert build("watts-strogatz", 50, seed=0).parameters == {"k": 4, "p": 0.3, "seed": 0}
    assert build("erdos-renyi", 100, seed=0).parameters["p"] == 2 * math.log(100) / 100
    assert build("erdos-renyi", 2, seed=0).parameters["p"] == pytest.approx(math.log(2))
    assert build("erdos-renyi", 3, seed=0).parameters["p"] == pytest.approx(0.7324, abs=1e-4)
    assert build("random-regular", 100, seed=0).parameters["degree"] == 4
    assert build("barabasi-albert", 100, seed=0).parameters["m"] == 2
    radius = build("random-geometric", 100, seed=0).parameters["radius"]
    assert radius == 1.5 * math.sqrt(math.log(100) / (math.pi * 100))
    assert build("watts-strogatz", 50, k=6, p=None).parameters["k"] == 6


def test_rectangles_are_as_square_as_possible() -> None:
    assert build("grid", 12).parameters == {"rows": 3, "cols": 4}
    assert build("torus", 676).parameters == {"rows": 26, "cols": 26}
    assert build("torus", 699).parameters == {"rows": 3, "cols": 233}
    assert build("grid", rows=2, cols=5) == grid(2, 5)
    assert build("grid", 10, rows=2) == grid(2, 5)
    assert build("torus", 12, cols=3) == torus(4, 3)
    assert build("torus", 12, rows=3, cols=4) == torus(3, 4)
    assert build("grid", 7, rows=1) == grid(1, 7)


def refusal_of(name: Any, n: Any = None, **parameters: Any) -> str:
    with pytest.raises(InputError) as refusal:
        build(name, n, **parameters)
    return str(refusal.value)


def test_refusals() -> None:
    assert refusal_of("watts", 9) == "Unknown graph 'watts': did you mean 'watts-strogatz'?"
    assert refusal_of("xyz", 9).startswith("Unknown graph 'xyz': choose one of barabasi-albert, ")
    assert refusal_of(7, 9).startswith("A graph family is one of complete, cycle, ")
    assert refusal_of("star", 9, k=4) == "star takes only n, not k."
    assert refusal_of("watts-strogatz", 9, degree=4) == (
        "watts-strogatz takes n, k, p and seed, not degree."
    )
    assert refusal_of("erdos-renyi") == ("erdos-renyi needs the number of nodes n.")
    assert refusal_of("complete") == "complete needs the number of nodes n."
    assert refusal_of("torus", rows=4) == "torus takes rows and cols, or the number of nodes n."
    assert refusal_of("torus", 10) == (
        "A torus of 10 nodes would need a side shorter than 3; sizes nearby that work: 9 and 12; "
        "or give rows and cols."
    )
    assert refusal_of("torus", 2) == (
        "A torus of 2 nodes would need a side shorter than 3; sizes nearby that work: 9; "
        "or give rows and cols."
    )
    assert refusal_of("grid", 701) == (
        "A grid of 701 nodes would need a side shorter than 2; sizes nearby that work: 700 and "
        "702; or give rows and cols."
    )
    assert refusal_of("grid", 12, rows=5) == (
        "A grid with rows=5 cannot have n=12 nodes; leave one of them out."
    )
    assert refusal_of("grid", 12, rows=3, cols=2) == (
        "A grid with rows=3 and cols=2 cannot have n=12 nodes; leave one of them out."
    )
    assert refusal_of("path", 0) == ("The number of nodes n must be a whole number >= 1, not 0.")


def test_what_is_built_is_a_graph() -> None:
    assert isinstance(build("star", 5), Graph)
