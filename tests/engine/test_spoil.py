"""Half-lost exchanges and liars, against nodes that are computed one by one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from pairgossip import Faults, InputError
from pairgossip.algorithms.methods import InPlace, Method, find_method
from pairgossip.arrays import FloatArray
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Engine, Procedure
from pairgossip.engine.exchanges.spoil import LARGEST_LIE, Spoil
from pairgossip.engine.schedule import Schedule, child, root_seed
from pairgossip.faults.attacks import ATTACKS
from pairgossip.faults.network import FaultyNetwork, resolve
from pairgossip.kernels import Pairs
from pairgossip.kernels.problem import Means
from tests.engine.test_exchanges import SMALL_WORLD, method
from tests.problems import rows

N, LIES = SMALL_WORLD.n, np.array([7.0, 3.0])
SEED = child(root_seed(5), 2)


def faulty(faults: Faults, components: int = 1) -> FaultyNetwork:
    return resolve(faults, SMALL_WORLD, np.random.default_rng(0)).with_lies(LIES[:components])


def spoiled(
    engine: str, problem: Any, how: Procedure, faults: Faults, blocks: tuple[int, ...] = (1, 99)
) -> Engine:
    network = faulty(faults, problem.components)
    running = build_engine(engine, problem, how, Spoil(network, SEED))
    schedule = Schedule(SMALL_WORLD, "uniform-edges", root_seed(7))
    for block in blocks:
        running.advance(schedule.draw(block))
    return running


def lost_sides(faults: Faults, exchanges: int) -> dict[int, int]:
    """Return which exchanges are half lost: drawn as in runs, and tested with the draws."""
    (block,) = Schedule(SMALL_WORLD, "uniform-edges", root_seed(7)).draw(exchanges)
    places, sides = Spoil(faulty(faults), SEED).half_losses.take(block)
    return dict(zip(places.tolist(), sides.tolist(), strict=True))


def lie_of(attack: str, z: list[float], liar: int, partner: int, liars: set[int]) -> float:
    neighbors = {int(b) for a, b in SMALL_WORLD.edges if a == partner}
    neighbors |= {int(a) for a, b in SMALL_WORLD.edges if b == partner}
    steps = [z[other] - z[partner] for other in neighbors - liars]
    return {
        "constant": 7.0,
        "sign": -z[liar],
        "inside-the-clip": z[partner] + 1.5 * float(np.sqrt(np.mean(np.square(steps)))),
        "dissensus": z[partner] - 10 * sum(steps),
    }[attack]


def transcription(H: FloatArray, faults: Faults, exchanges: int, averages: bool) -> list[float]:
    """Run GoSta, or average the first column, with each node by itself from what it is sent."""
    liars = set(np.flatnonzero(faulty(faults).network.is_liar).tolist())
    lost = lost_sides(faults, exchanges)
    z = H[:, 0].tolist() if averages else [0.0] * N
    held, picks = list(range(N)), [0] * N
    (block,) = Schedule(SMALL_WORLD, "uniform-edges", root_seed(7)).draw(exchanges)
    for number, (i, j) in enumerate(block.tolist()):
        sent = {i: z[i], j: z[j]}
        for liar, partner in ((i, j), (j, i)):
            if liar in liars and partner not in liars:
                lie = lie_of(str(faults.attack), z, liar, partner, liars)
                sent[liar] = min(max(lie, -1e100), 1e100)
        brought = {i: held[j], j: held[i]}
        before = {k: z[k] for k in (i, j)}
        for side, (k, other) in enumerate(((i, j), (j, i))):
            if lost.get(number) == side:
                continue
            mean = (before[k] + sent[other]) / 2
            held[k] = brought[k]
            picks[k] += 1
            z[k] = mean if averages else mean + (H[k, held[k]] - mean) / picks[k]
    return z


CASES = [
    Faults(half_loss=0.3),
    *(Faults(liars=3, attack=attack) for attack in ATTACKS),
    Faults(half_loss=0.2, liars=4, attack="sign"),
    Faults(half_loss=0.2, liars=[0, 1, 5], attack="dissensus"),
]


def differ(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the values of a user's own kernel, which is not symmetric."""
    return one - other**2


# Code that is compiled for them serves most tests.
PAIRS, GOSTA = Pairs(rows(N), differ), Procedure(find_method("gosta"), "async")


@pytest.mark.parametrize(
    ("faults", "engine"),
    [*((faults, "plain") for faults in CASES), *((CASES[at], "auto") for at in (0, 5))],
    ids=str,
)
def test_gosta_with_faults(faults: Faults, engine: str) -> None:
    expected = transcription(PAIRS.matrix(), faults, 100, averages=False)
    running = spoiled(engine, PAIRS, GOSTA, faults)
    np.testing.assert_allclose(running.estimates()[:, 0], expected, rtol=1e-11)


@pytest.mark.parametrize("engine", ["auto", "plain"])
@pytest.mark.parametrize("faults", CASES[6:], ids=str)
def test_averaging_with_faults(faults: Faults, engine: str) -> None:
    problem = Means(rows(N))
    expected = transcription(problem.features, faults, 100, averages=True)
    how = Procedure(find_method("averaging"), "async")
    running = spoiled(engine, problem, how, faults)
    np.testing.assert_allclose(running.estimates()[:, 0], expected, rtol=1e-11)


def test_weights_and_shared_numbers_are_left_alone() -> None:
    faults = Faults(half_loss=0.2, liars=3, attack="dissensus")
    tracking = Procedure(find_method("tracking", "async"), "async")
    compiled, written = (
        spoiled(engine, PAIRS, tracking, faults).estimates() for engine in ("auto", "plain")
    )
    np.testing.assert_allclose(compiled, written, rtol=1e-11)
    weighted = find_method("weighted-gosta", "async")
    how = Procedure(weighted, "async", weights=np.linspace(0.5, 1, N))
    running: Any = spoiled("plain", PAIRS, how, faults)
    np.testing.assert_array_equal(running.states[0].weight, how.weights)
    assert np.abs(compiled).max() > 100 and np.abs(running.estimates()).max() > 100


def test_blocks_do_not_matter() -> None:
    faults = Faults(half_loss=0.1, liars=2, attack="sign")
    sizes = ((500,), (1, 3, 96, 200, 200))
    once, often = (spoiled("auto", PAIRS, GOSTA, faults, blocks).estimates() for blocks in sizes)
    np.testing.assert_array_equal(once, often)


def test_an_attack_that_returns_no_number_is_refused() -> None:
    def divide(z: Any, liar: int, partner: int, clip: float, network: Any) -> float:
        return float(0 * np.log(0 * z[liar]))

    running = spoiled("plain", PAIRS, GOSTA, Faults(liars=2, attack=divide))
    with pytest.raises(InputError, match=r"^Lies turned out to be NaN: let the attack function, "):
        running.estimates()


def test_of_a_ratio_some_attacks_change_one_part() -> None:
    pairs = Pairs(rows(N), "gini-coefficient")
    honest = build_engine("plain", pairs, GOSTA)
    honest.advance(Schedule(SMALL_WORLD, "uniform-edges", root_seed(7)).draw(100))
    for attack, changed in (("sign", 1), ("dissensus", 2)):
        lied = spoiled("plain", pairs, GOSTA, Faults(liars=2, attack=attack)).estimates()
        differs = np.abs(lied - honest.estimates()).max(axis=0) > 1e-6
        assert differs.tolist() == [True, changed == 2]


class Sums(NamedTuple):
    total: FloatArray
    weight: FloatArray


def push(state: Sums, i: int, j: int) -> None:
    total, weight = state.total[i] / 2, state.weight[i] / 2
    state.total[i], state.weight[i] = total, weight
    state.total[j] += total
    state.weight[j] += weight


def forge(state: Sums, k: int, value: float) -> None:
    state.total[k] = value * state.weight[k]


def start(values: FloatArray) -> Sums:
    return Sums(values, np.ones(len(values)))


def share(state: Sums) -> FloatArray:
    return state.total / state.weight


def pushing(**more: Any) -> Method:
    return Method(
        name="push-sum", description="", estimates="mean", averaged_numbers=2, swaps=False,
        in_place={"async": InPlace(start, push, share, **more)},
    )  # fmt: skip


@pytest.mark.parametrize("engine", ["auto", "plain"])
def test_lies_of_methods_without_z(engine: str) -> None:
    faults, problem = Faults(liars=[3], attack="sign"), Means(rows(N))
    totals, weights = rows(N).tolist(), [1.0] * N
    (block,) = Schedule(SMALL_WORLD, "uniform-edges", root_seed(7)).draw(100)
    for i, j in block.tolist():
        gift = totals[i] / 2
        totals[j] += -gift if i == 3 else gift
        totals[i], weights[i] = totals[i] / 2, weights[i] / 2
        weights[j] += weights[i]
    found = spoiled(engine, problem, Procedure(pushing(forge=forge), "async"), faults)
    np.testing.assert_allclose(found.estimates()[:, 0], np.divide(totals, weights), rtol=1e-11)
    with pytest.raises(InputError, match=r"^Method 'push-sum' has no values that its liars could"):
        spoiled(engine, problem, Procedure(pushing(), "async"), faults)


@pytest.mark.parametrize("engine", ["auto", "plain"])
def test_a_clip_and_an_attack_of_ones_own(engine: str) -> None:
    def clip(state: Any, k: int, other: int) -> float:
        return 100.0 + k

    def attack(z: Any, liar: int, partner: int, clip: float, network: Any) -> float:
        return clip if partner != 4 else 1e300

    how = Procedure(method(clip=clip), "async")
    running = spoiled(engine, Pairs(rows(N), "gini"), how, Faults(liars=[2], attack=attack), (1,))
    (((i, j),),) = Schedule(SMALL_WORLD, "uniform-edges", root_seed(7)).draw(1)
    assert not running.estimates()[[k for k in range(N) if k not in (i, j)]].any()
    state: Any = running.states[0]  # type: ignore[attr-defined]
    state.picks[:] = 1
    for partner, sent in ((1, 101.0), (4, LARGEST_LIE)):
        state.z[:] = 0.0
        running.advance((np.array([[2, partner]], dtype=np.int32),))
        pair = Pairs(rows(N), "gini").matrix()[partner, state.held[partner]]
        picks = state.picks[partner]
        assert state.z[partner] == pytest.approx(sent / 2 * (1 - 1 / picks) + pair / picks)


def test_arrays_of_any_kind_are_restored() -> None:
    class Mixed(NamedTuple):
        z: FloatArray
        seen: Any
        flags: Any
        shared: Any

    def begin(n: int) -> Mixed:
        flags = np.zeros((n, 3), dtype=np.bool_)
        return Mixed(np.zeros(n), np.zeros((n, 2, 2), dtype=np.int16), flags, np.ones(2))

    def meet(state: Any, i: int, j: int, h: Any) -> None:
        for k in (i, j):
            state.z[k] += h(i, j) + state.shared[1]
            state.seen[k, 1, 0] += 1
            state.flags[k, 2] = not state.flags[k, 2]

    for engine in ("auto", "plain"):
        faults, how = Faults(half_loss=0.5), Procedure(method(init=begin, exchange=meet), "async")
        state: Any = spoiled(engine, Pairs(rows(N), "gini"), how, faults).states[0]  # type: ignore[attr-defined]
        lost = lost_sides(faults, 100)
        (block,) = Schedule(SMALL_WORLD, "uniform-edges", root_seed(7)).draw(100)
        seen = np.zeros(N)
        for number, pair in enumerate(block.tolist()):
            for side, k in enumerate(pair):
                seen[k] += lost.get(number) != side
        np.testing.assert_array_equal(state.seen[:, 1, 0], seen)
        np.testing.assert_array_equal(state.flags[:, 2], seen % 2 == 1)


def test_without_faults_nothing_changes() -> None:
    honest = spoiled("auto", PAIRS, GOSTA, Faults(half_loss=1e-12)).estimates()
    plain = build_engine("plain", PAIRS, GOSTA)
    plain.advance(Schedule(SMALL_WORLD, "uniform-edges", root_seed(7)).draw(100))
    np.testing.assert_allclose(honest, plain.estimates(), rtol=1e-12)
