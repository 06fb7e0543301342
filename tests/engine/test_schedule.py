"""The randomness of a trial: seeds, blocks of exchanges and clocks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pairgossip import InputError, graphs
from pairgossip.engine.schedule import Schedule, _PoissonClock, child, root_seed, stream


@pytest.mark.parametrize("law", graphs.LAWS)
@pytest.mark.parametrize("graph", [graphs.star(9), graphs.complete(9), graphs.cycle(9)])
def test_blocks_of_any_size_give_the_same_exchanges(graph: graphs.Graph, law: str) -> None:
    whole = Schedule(graph, law, root_seed(5), 2).draw(500)
    pieces = Schedule(graph, law, root_seed(5), 2)
    parts = [pieces.draw(size) for size in (1, 3, 7, 250, 239)]
    for walk in range(2):
        np.testing.assert_array_equal(np.concatenate([part[walk] for part in parts]), whole[walk])


def test_the_two_walks_are_independent() -> None:
    first, second = Schedule(graphs.cycle(50), "uniform-edges", root_seed(0), 2).draw(2000)
    same = (first == second).all(axis=1).mean()
    assert same < 0.06  # 1/50 expected


def test_a_network_makes_n_exchanges_per_unit_of_time() -> None:
    schedule = Schedule(graphs.star(40), "node-clocks", root_seed(1))
    assert schedule.time_of(0) == 0
    assert schedule.time_of(400_000) == pytest.approx(10_000, rel=0.01)


def test_gaps_are_exponential_within_and_across_blocks() -> None:
    clock = _PoissonClock(root_seed(0), rate=5.0)
    gaps = np.diff([clock.time_of(event) for event in range(9_000)])
    assert (gaps > 0).all()
    assert stats.kstest(gaps, stats.expon(scale=1 / 5.0).cdf).pvalue > 1e-3
    # The last gap of a block and the first of the next have the same law as all others.
    borders = gaps[clock.block - 1 :: clock.block]
    assert borders.mean() == pytest.approx(1 / 5.0, rel=1.0)


def test_block_ends_have_the_law_of_a_sum_of_gaps() -> None:
    ends = [_PoissonClock(root_seed(s), rate=1.0).time_of(_PoissonClock.block) for s in range(400)]
    law = stats.gamma(_PoissonClock.block)
    assert stats.kstest(ends, law.cdf).pvalue > 1e-3


def test_an_event_has_one_time_whoever_asks() -> None:
    asked_late = _PoissonClock(root_seed(3), rate=2.0)
    late = asked_late.time_of(9000)
    asked_often = _PoissonClock(root_seed(3), rate=2.0)
    often = [asked_often.time_of(event) for event in (1, 4096, 4097, 9000)]
    assert often[-1] == late
    assert often == sorted(often)
    assert [asked_late.time_of(event) for event in (1, 4096, 4097)] == often[:3]


def test_children_do_not_depend_on_what_was_asked_before() -> None:
    root = root_seed(1)
    child(root, 0)
    first = stream(root, 3).integers(0, 1 << 30, 5)
    np.testing.assert_array_equal(first, stream(root_seed(1), 3).integers(0, 1 << 30, 5))
    assert not np.array_equal(first, stream(root, 4).integers(0, 1 << 30, 5))


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True])
def test_a_bad_seed_is_refused(seed: object) -> None:
    with pytest.raises(InputError, match="The seed must be a whole number >= 0 or None"):
        root_seed(seed)  # type: ignore[arg-type]
