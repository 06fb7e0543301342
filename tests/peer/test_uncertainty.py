"""Whether a peer knows its own error: coverage on simulated networks, and its other statements."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.algorithms import weighted_gosta
from pairgossip.kernels.kernel import as_kernel
from pairgossip.peer.estimates.uncertainty import (
    _MOST_BATCHES,
    MassHistory,
    Uncertainty,
    _walk_and_start,
)
from pairgossip.peer.protocol.messages import FIRST_GENERATION, Record, generation_name
from pairgossip.peer.protocol.rules import (
    AdaptiveAveraging,
    DualAveraging,
    Rule,
    WeightedMixing,
)
from pairgossip.peer.protocol.state import Node, State
from pairgossip.peer.service.assembly import read_snapshot
from pairgossip.peer.service.status import follow
from pairgossip.peer.specification.tables import Stop
from tests.peer.coverage import Network, coverage, make_data, pair_values
from tests.peer.homes import make_pair
from tests.peer.test_service import FAST, running
from tests.peer.zenoh_people import until


def make_network(n: int = 8, kernel: str = "gini", seed: int = 1, **more: object) -> Network:
    data = make_data(kernel, n, np.random.default_rng(seed))
    return Network(pg.graphs.complete(n), data, kernel, seed, (0, 1), **more)  # type: ignore[arg-type]


def make_state(top: float, bottom: float, exchanges: int, origin: str = "a") -> State:
    node = Node(Record(origin, 0, FIRST_GENERATION, (), b""), (top, bottom), ())
    return State(
        FIRST_GENERATION, seq=0, nodes=(node,), pending={}, outcomes={}, exchanges=exchanges
    )


def lonely(**others: int) -> Uncertainty:
    """Return what a peer, a, sees, with masses given by a test; others have this many rows."""
    return Uncertainty(WeightedMixing(as_kernel("gini")), make_state(0.0, 0.0, 0), others)


OTHERS = {str(k): 1 for k in range(1, 8)}


def width_of(network: Network, peer: int = 0) -> float:
    width = network.seers[peer].half_width()
    assert width is not None
    return width


def test_the_networks_here_are_those_of_the_algorithm() -> None:
    network = make_network(6, "auc")
    table = pair_values(as_kernel("auc"), network.data)
    state = weighted_gosta.init(6, 2)
    rng = np.random.default_rng(0)
    for _ in range(200):
        i, j = rng.choice(6, 2, replace=False).tolist()
        network.meet(i, j)
        state = weighted_gosta.step(
            state, np.array([[i, j]]), lambda k, held: table[k, held], np.array(network.weights)
        )
    np.testing.assert_allclose(network.mass, state.mass, rtol=0, atol=1e-12)
    assert network.held == state.held.tolist()


RUNS = 24
LEAST = 0.95 - 2.6 * math.sqrt(0.05 * 0.95 / RUNS)
"""Least accepted coverage: a true 95 % falls below it once in a hundred times, by runs."""


@pytest.mark.parametrize(
    ("graph", "n", "kernel", "length", "mixing"),
    [
        ("complete", 16, "gini", 512, "weighted"),
        ("watts-strogatz", 24, "auc", 384, "weighted"),
        ("torus", 16, "variance", 384, "weighted"),
        ("cycle", 12, "gini", 768, "weighted"),
        ("star", 12, "variance", 512, "weighted"),
        ("complete", 4, "gini", 256, "weighted"),
        ("watts-strogatz", 24, "gini", 384, "paper"),
    ],
)
def test_intervals_hold_the_exact_value(
    graph: str, n: int, kernel: str, length: int, mixing: str
) -> None:
    (found,) = coverage(graph, n, kernel, [length], RUNS, watched=2, mixing=mixing)
    assert found.given > 0.9
    assert found.share >= LEAST
    # Intervals must also not be too wide: at most a few standard errors.
    error = float(np.sqrt(np.mean(np.square(found.errors))))
    assert np.median(found.widths) < 6 * error


@pytest.mark.parametrize(
    ("rows", "unlike", "length"),
    [((50, 20, 5, 1), False, 1000), ((20, 5, 5, 5), True, 400)],
)
def test_intervals_of_peers_with_several_rows(
    rows: tuple[int, ...], unlike: bool, length: int
) -> None:
    """Peers with few rows next to one with many change strongly, back and forth, at an exchange."""
    all_found = list(
        coverage("complete", 4, "gini", [length], 16, mixing="weighted", rows=rows, unlike=unlike)
    )
    for found in all_found:
        assert found.given > 0.9
        assert found.share >= LEAST
        assert found.excess < 2.6
    assert [found.rows for found in all_found] == sorted(set(rows), reverse=True)


def test_a_walk_is_judged_by_its_size() -> None:
    """This holds on average over walks that begin and end at 0, as residuals do."""
    for groups in (8, 11, 15):
        times = (np.arange(40 * groups) + 0.5) / (40 * groups)
        law = np.minimum.outer(times, times) - np.outer(times, times)
        averages = law.reshape(groups, 40, groups, 40).mean(axis=(1, 3))
        sizes, walks = np.linalg.eigh(averages)
        judged = [_walk_and_start(0.0, walk.tolist()) for walk in walks.T]
        assert sizes @ judged == pytest.approx(1.0, abs=2e-3)


def test_a_start_is_judged_by_its_size() -> None:
    """A residual that is 1 from the first exchange on is led back to 0 by the estimate."""
    assert _walk_and_start(0.0, [1 - (k + 0.5) / 8 for k in range(8)]) == pytest.approx(1, abs=0.2)


def test_a_swing_is_judged_by_its_size() -> None:
    """A peer that is in turn 5 above and 5 below the others does not know which it is now."""
    seen = lonely()
    for k in range(1, 1025):
        seen.observe(make_state(k + 5.0 * (-1) ** k, float(k), k), (0,))
    width = seen.half_width()
    assert width is not None and 2.4 * 5.0 < 1024 * width < 3 * 5.0


def test_members_with_few_rows_are_not_waited_for() -> None:
    """One row of fifty-two may not arrive for a very long time."""
    seen, waiting = lonely(b=50, c=1), lonely(b=50, c=6)
    for k in range(1, 1000):
        for one in (seen, waiting):
            one.observe(make_state(math.sin(k) + k, float(k), k, "ab"[k % 2]), (0,))
    assert seen.interval() is not None
    assert waiting.interval() is None


def test_a_tenth_of_the_width_would_not_do() -> None:
    """The coverage test can fail."""
    (found,) = coverage("complete", 16, "gini", [512], 12)
    missed = np.abs(found.errors) > np.array(found.widths) / 10
    assert 1 - missed.mean() < LEAST


def test_it_shrinks_with_the_root_of_the_exchanges() -> None:
    early, late = coverage("complete", 8, "gini", [512, 8192], 4)
    ratio = np.median(early.widths) / np.median(late.widths)
    assert 2.8 < ratio < 8  # 4 by the root of 16; faster while the start weighs


def test_a_young_peer_says_not_yet() -> None:
    network = make_network()
    assert network.seers[0].interval() is None
    network.run_until(20)
    assert network.seers[0].interval() is None
    network.run_until(100)
    low, high = network.seers[0].interval() or (0.0, 0.0)
    assert low < network.estimate(0) < high


def test_on_a_long_cycle_it_waits_until_records_have_spread() -> None:
    data = make_data("gini", 64, np.random.default_rng(0))
    network = Network(pg.graphs.cycle(64), data, "gini", 0, (0, 32))
    network.run_until(300)
    assert network.seers[0].interval() is None


def test_when_records_no_longer_come_it_takes_its_word_back() -> None:
    """Two peers that are cut off from the rest converge to each other, at the wrong value."""
    network = make_network(12)
    network.run_until(200)
    assert network.seers[0].interval() is not None
    network.asleep = frozenset(range(2, 12))
    network.run_until(2000)
    assert network.seers[0].interval() is None


def test_all_the_same_gives_no_width() -> None:
    network = Network(pg.graphs.complete(6), np.ones(6), "gini", 0, (0,))
    network.run_until(200)
    assert network.seers[0].interval() == (0.0, 0.0)


def test_two_peers_whose_batches_are_all_equal_do_not_claim_to_be_exact() -> None:
    """Their records alternate, and after an odd number of exchanges the mean is wrong."""
    network = Network(pg.graphs.path(2), np.array([0.0, 1.0]), "gini", 0, (0,))
    network.run(1001)
    low, high = network.seers[0].interval() or (0.0, 0.0)
    assert network.estimate(0) != network.exact
    assert low <= network.exact <= high


def test_a_quotient_without_a_denominator_has_no_interval() -> None:
    seen = lonely()
    for k in range(1, 200):
        seen.observe(make_state(0.0, 0.0, k), (0,))
    assert seen.interval() is None


def test_memory_is_bounded() -> None:
    seen = lonely()
    for k in range(1, 5_001):
        seen.observe(make_state(float(k % 3), float(k), k), (0,))
        assert len(seen.masses.marks) <= _MOST_BATCHES
    assert len(msgspec.json.encode(seen.masses)) < 2_500
    assert len(seen.masses.marks) > _MOST_BATCHES // 2


def test_it_waits_for_the_member_with_the_most_rows() -> None:
    alone, with_one, with_many = lonely(), lonely(b=1), lonely(b=100)
    for k in range(1, 1000):
        for seen in (alone, with_one, with_many):
            seen.observe(make_state(math.sin(k) + k, float(k), k, "ab"[k % 2]), (0,))
    assert alone.interval() == with_one.interval() is not None
    assert with_many.interval() is None


def test_only_one_row_counts_whom_it_has_met() -> None:
    """Many rows together have met everybody at once."""
    rule = WeightedMixing(as_kernel("gini"))

    def state(k: int, first: str, second: str) -> State:
        one = make_state(math.sin(k) + k, float(k), k, first)
        return msgspec.structs.replace(
            one, nodes=(*one.nodes, *make_state(math.cos(k) + k, float(k), k, second).nodes)
        )

    apart, mixed = (Uncertainty(rule, state(0, "a", "b"), {"b": 1}) for _ in range(2))
    for k in range(1, 200):
        apart.observe(state(k, "a", "b"), (0, 1))
        mixed.observe(state(k, "ab"[k % 2], "ba"[k % 2]), (0, 1))
    assert apart.interval() is None
    assert mixed.interval() is not None


def test_an_exchange_told_twice_counts_once() -> None:
    seen, again = lonely(), lonely()
    for k in range(1, 100):
        state = make_state(math.sin(k) + k, float(k), k)
        seen.observe(state, (0,))
        again.observe(state, (0,))
        again.observe(state, (0,))
    assert seen.interval() is not None
    assert seen.interval() == again.interval()


def test_it_goes_on_after_a_restart() -> None:
    network = make_network()
    network.run_until(500)
    old = network.seers[0]
    kept = msgspec.json.decode(msgspec.json.encode(old.masses), type=MassHistory)
    rule = WeightedMixing(as_kernel("gini"))
    origins = [str(k) for k in range(8)]
    new = Uncertainty(rule, network.state(0), OTHERS, kept, origins)
    assert new.half_width() == pytest.approx(width_of(network))
    network.seers[0] = new
    network.run_until(600)
    assert new.interval() is not None


def test_without_its_past_it_waits_until_half_of_the_weight_is_new() -> None:
    network = make_network()
    network.run_until(500)
    rule = WeightedMixing(as_kernel("gini"))
    network.seers[0] = Uncertainty(rule, network.state(0), OTHERS)
    network.run_until(900)
    assert network.seers[0].interval() is None
    network.run_until(1300)
    assert width_of(network) > width_of(network, 1) / 3


def test_a_course_that_ends_before_the_state_is_gone_on_with() -> None:
    """There were few marks a second before the kill, and many exchanges since."""
    seen, rule = lonely(), WeightedMixing(as_kernel("gini"))
    for k in range(1, 11):
        seen.observe(make_state(math.sin(k) + k, float(k), k), (0,))
    new = Uncertainty(rule, make_state(40.0, 40.0, 40), {}, seen.masses)
    for k in range(41, 60):
        new.observe(make_state(math.sin(k) + k, float(k), k), (0,))
        assert new.interval() is not None


def test_a_course_that_a_crash_has_overtaken_is_left_out() -> None:
    network = make_network()
    before = network.state(0)
    network.run_until(500)
    rule = WeightedMixing(as_kernel("gini"))
    new = Uncertainty(rule, before, OTHERS, network.seers[0].masses)
    assert len(new.masses.marks) == 1


def test_a_new_generation_begins_anew() -> None:
    network = make_network()
    network.run_until(500)
    seen, later = network.seers[0], generation_name(1, ("x",))
    seen.observe(msgspec.structs.replace(make_state(0.0, 0.0, 0), generation=later), (0,))
    assert seen.masses.generation == later
    assert seen.interval() is None


def test_stopping() -> None:
    network = make_network()
    network.run_until(500)
    seen, width = network.seers[0], width_of(network) / network.estimate(0)
    assert not seen.should_stop(None)
    assert seen.should_stop(Stop(error=1.01 * width))
    assert not seen.should_stop(Stop(error=0.99 * width))
    assert seen.should_stop(Stop(exchanges=network.picks[0]))
    assert not seen.should_stop(Stop(exchanges=network.picks[0] + 1))
    assert seen.should_stop(Stop(error=1e-9, exchanges=10)), "what comes first"
    assert not lonely().should_stop(Stop(error=1.0))


def test_it_has_enough_at_a_tenth_of_the_sampling_error() -> None:
    network = make_network()
    network.run_until(500)
    seen, enough = network.seers[0], Stop(enough=True)
    error = seen.error()
    assert error is not None
    assert seen.should_stop(enough, 10.1 * error)
    assert not seen.should_stop(enough, 9.9 * error)
    assert not seen.should_stop(enough, None)
    assert not seen.should_stop(Stop(error=1e-9), 100 * error), "it was not asked for"
    assert not lonely().should_stop(enough, 1.0)


def test_a_function_of_several_averages_is_judged_along_its_slopes() -> None:
    """The quotient of its first two masses has no meaning."""
    covered = [0, 0]
    for seed in range(8):
        rng = np.random.default_rng(seed)
        first = rng.integers(0, 4, size=8).astype(float)
        data = np.column_stack([first, first + rng.integers(-1, 3, size=8)])
        network = Network(pg.graphs.complete(8), data, "kendall-b", seed, (0,))
        network.run_until(300)
        low, high = network.seers[0].interval() or (0.0, 0.0)
        covered[0] += low <= network.exact <= high
        covered[1] += 0.02 < high - low < 0.4
    assert covered[0] >= 7 and covered[1] == 8


def test_products_from_a_liar_that_go_to_and_fro_harm_nothing() -> None:
    """They may be as large as squares of averaged values, and their own squares overflow."""
    seen = lonely()
    for k in range(1, 100):
        state = make_state(math.sin(k) + k, float(k), k)
        node = msgspec.structs.replace(state.nodes[0], mass=(*state.nodes[0].mass, k % 2 * 1e200))
        seen.observe(msgspec.structs.replace(state, nodes=(node,)), (0,))
    assert seen.interval() is not None


def test_where_a_liar_has_brought_masses_beyond_all_bounds_there_is_no_interval() -> None:
    seen = lonely()
    for k in range(1, 100):
        seen.observe(make_state(k % 2 * 1e155, float(k), k), (0,))
    assert seen.error() is None and seen.interval() is None


@pytest.mark.parametrize("is_adaptive", [False, True])
def test_a_model_has_no_interval_but_a_spread(is_adaptive: bool) -> None:
    loss = pg.losses.as_loss("auc-logistic")
    rule: Rule = DualAveraging(loss, 2, lambda z, *_: -z, lambda _: 1.0, 1.0)
    if is_adaptive:
        rule = AdaptiveAveraging(loss, 2, lambda z, *_: -z, 4.0, 1.0)
    others, private = rule.begin()
    record = Record("a", 0, FIRST_GENERATION, (), b"")

    def state(z: tuple[float, float], k: int) -> State:
        # Squares may have any size: the spread is that of the gradients only.
        mass = (*z, *(1e6 for _ in others[2:]))
        return State(
            FIRST_GENERATION,
            seq=0,
            nodes=(Node(record, mass, private),),
            pending={},
            outcomes={},
            exchanges=k,
        )

    seen = Uncertainty(rule, state((0.0, 0.0), 0), {})
    assert seen.spread() is None
    for k in range(1, 400):
        seen.observe(state((10.0 + k % 2, 0.0), k), (0,))
    assert seen.interval() is None
    assert seen.spread() == pytest.approx(0.1, abs=0.06)


def test_a_running_peer_shows_it_and_a_restart_does_not_forget(tmp_path: Path) -> None:
    homes = make_pair(tmp_path, [1.0, 3.0], [10.0], FAST + "[stop]\nexchanges = 60\n")
    with running(*homes) as both:
        assert until(lambda: homes[0].status.exists() and bool(both[0].status().gossip_interval))
        assert until(lambda: both[0].status().done)
    told = both[0].status()
    assert told.masses is not None
    kept = read_snapshot(homes[0])
    found = follow(kept.context, kept.state, told).interval()
    assert found == pytest.approx(told.gossip_interval)
    with running(*homes) as both:
        assert until(lambda: both[0].status().exchanges > told.exchanges + 20)
        course = both[0].status().masses
    assert course is not None
    assert course.marks[0] == told.masses.marks[0], "the way begins where it began"
