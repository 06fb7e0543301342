"""Links that ring at their own rates, which the specification fixes."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.graphs import GivenLaw, Graph, complete
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.rules import WeightedMixing
from pairgossip.peer.service.assembly import assemble
from pairgossip.peer.service.runtime import ExchangeRuntime
from pairgossip.peer.specification.canonical_text import restore_spec
from pairgossip.peer.specification.spec import differences, parse_spec
from pairgossip.swarm.plan import make_plan
from tests.peer.contexts import SealedContext, name_of
from tests.peer.homes import GINI, introduce, introduce_each_other, make_home
from tests.peer.world import World

LINKS = GINI + '\n[links]\n"bob ann" = 3\n"cy ann" = 0.5\n"bob cy" = 1\n'


def test_links_are_agreed_on_whatever_their_spelling() -> None:
    spec, plain = parse_spec(LINKS), parse_spec(GINI)
    assert spec.links == {"ann bob": 3.0, "ann cy": 0.5}
    assert (spec.link_weight("bob", "ann"), spec.link_weight("cy", "bob")) == (3.0, 1.0)
    other = parse_spec(GINI + '\n[links]\n"ann  bob" = 3.0\n"ann cy" = 5e-1\n')
    assert other.hash == spec.hash != plain.hash
    assert restore_spec(spec.text) == spec
    assert "links" not in plain.text
    assert parse_spec(GINI + '\n[links]\n"ann bob" = 1\n').hash == plain.hash
    assert differences(spec.text, plain.text) == [
        "links.ann bob is 3.0 here but absent there.",
        "links.ann cy is 0.5 here but absent there.",
    ]


@pytest.mark.parametrize(
    ("links", "sentence"),
    [
        ('"ann" = 2', "links names 'ann': name the two members of a link"),
        ('"ann ann" = 2', "links names 'ann ann': name the two members"),
        ('"ann bob" = 2\n"bob ann" = 3', "links names 'ann bob' twice"),
        ('"ann bob" = 0', "is 0: give a number from 1e-06 to 1e\\+06"),
        ('"ann bob" = nan', "is nan: give a number"),
        ('"ann bob" = true', "is True: give a number"),
        ('"ann bob" = "often"', "is 'often': give a number"),
    ],
)
def test_links_that_mean_nothing_are_refused(links: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_spec(f"{GINI}\n[links]\n{links}\n")


def test_sums_have_no_links_that_ring() -> None:
    with pytest.raises(InputError, match="links is for algorithm"):
        parse_spec(GINI.replace("exchange", "sums") + '[links]\n"a b" = 2\n')
    with pytest.raises(InputError, match="links must be a table of weights"):
        parse_spec("links = 3\n" + GINI)


def test_peers_ring_and_weigh_by_their_links(tmp_path: Path) -> None:
    homes = [make_home(tmp_path, name, [1.0], LINKS) for name in ("ann", "bob", "cy")]
    introduce_each_other(homes)
    expected = {"ann": 3.5, "bob": 4.0, "cy": 1.5}
    for home in homes:
        parts = assemble(home)
        context, name = parts.context, parts.identity.name
        rule = context.rule
        assert isinstance(rule, WeightedMixing)
        assert rule.weight == pytest.approx(1 / expected[name])
        exchange = Exchange(context, parts.state)
        runtime = ExchangeRuntime(exchange, parts.journal, _Silent(), random.Random(1), 10.0)
        rung: Counter[str] = Counter()
        runtime._ring = lambda to, now, rung=rung: rung.update([to])  # type: ignore[method-assign, misc]
        runtime.start(0.0)
        while runtime.due() < 400.0:
            runtime.advance(runtime.due())
        for neighbor in context.neighbors:
            weight = parse_spec(LINKS).link_weight(name, context.name_member(neighbor))
            assert rung[neighbor] == pytest.approx(400 * 10.0 * weight / 2, rel=0.1)
        parts.close()


@dataclass(frozen=True, kw_only=True)
class _Weighing(SealedContext):
    weights: dict[frozenset[str], float]

    def link_weight(self, neighbor: str) -> float:
        return self.weights[frozenset((self.me, neighbor))]


class _Triangle(World):
    def _make_context(self, number: int, name: str) -> _Weighing:
        return _Weighing(**vars(super()._make_context(number, name)), weights=_weights())


def _weights() -> dict[frozenset[str], float]:
    links = {(0, 1): 4.0, (0, 2): 0.5, (1, 2): 1.5}
    return {frozenset(map(name_of, link)): weight for link, weight in links.items()}


def test_peers_exchange_as_often_as_their_links_weigh() -> None:
    rate, seconds = 0.5, 300.0
    world = _Triangle(complete(3), [[1.0] * 5] * 3, seed=0, rate=rate)
    world.run(seconds)
    made = {name: world.state(name).exchanges for name in world.names}
    for link, weight in _weights().items():
        # Exchanges of two members together are theirs minus those of the third.
        together = sum(made[name] if name in link else -made[name] for name in made) / 2
        due = weight * rate * seconds
        assert together == pytest.approx(due, abs=3 * due**0.5)


def test_links_of_members_that_are_not_neighbors_are_noticed(tmp_path: Path) -> None:
    homes = [make_home(tmp_path, name, [1.0], LINKS) for name in ("ann", "bob", "cy")]
    for one, other, is_neighbor in ((0, 1, True), (0, 2, False), (1, 0, True), (1, 2, True)):
        introduce(homes[one], homes[other], is_neighbor)
    found = []
    for home in homes[:2]:
        parts = assemble(home)
        parts.close()
        found.append(parts.problems)
    assert found[0][0].startswith("links names 'ann cy', who are not neighbors: let them join")
    assert not found[1]  # bob cannot know this
    swarm = LINKS.replace("ann", "peer-01").replace("bob", "peer-02").replace("cy", "peer-03")
    with pytest.raises(InputError, match="links names 'peer-01 peer-03', who are not neighbors"):
        make_plan(swarm, ((1.0,), (2.0,), (3.0,)), pg.graphs.path(3), 3, seed=0)


def test_names_that_no_member_has_are_noticed(tmp_path: Path) -> None:
    homes = [make_home(tmp_path, name, [1.0], LINKS) for name in ("ann", "bob", "cyd")]
    introduce_each_other(homes)
    parts = assemble(homes[0])
    parts.close()
    (problem,) = parts.problems
    assert problem.startswith("links names 'cy', and no member is called so")
    with pytest.raises(InputError, match="links names 'ann', 'bob' and 'cy', and no member"):
        make_plan(LINKS, ((1.0,), (2.0,), (3.0,)), pg.graphs.cycle(3), 3, seed=0)
    swarm = LINKS.replace("ann", "peer-01").replace("bob", "peer-02").replace("cy", "peer-03")
    make_plan(swarm, ((1.0,), (2.0,), (3.0,)), pg.graphs.cycle(3), 3, seed=0)


class _Silent:
    def send(self, to: str, frame: bytes) -> None:
        """Lose it."""


def test_a_best_law_is_told_as_links() -> None:
    names = ["ann", "bob", "cy", "dee"]
    graph = Graph(4, [[0, 1], [1, 2], [2, 3]], names=names)
    law = pg.networks.best_law(graph)
    spec = parse_spec(f"{GINI}\n{pg.networks.link_table(graph, law)}\n")
    weights = [spec.link_weight(names[i], names[j]) for i, j in graph.edges.tolist()]
    assert weights == pytest.approx(3 * law.probabilities, rel=1e-5)
    with pytest.raises(InputError, match="give the graph names"):
        pg.networks.link_table(Graph(2, [[0, 1]]), GivenLaw([1.0]))
    with pytest.raises(InputError, match="names, without spaces"):
        pg.networks.link_table(Graph(2, [[0, 1]], names=["ann b", "cy"]), GivenLaw([1.0]))
    with pytest.raises(InputError, match="link 'bob cy' never rings under this law"):
        ring = Graph(3, [[0, 1], [0, 2], [1, 2]], names=names[:3])
        pg.networks.link_table(ring, GivenLaw([0.5, 0.5, 0.0]))
