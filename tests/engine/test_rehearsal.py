"""A user's own methods in `estimate`: what is compiled, what is not, and what notice is given."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest

import pairgossip as pg
from pairgossip import InputError, NotCompiled
from pairgossip.algorithms.methods import METHODS, InPlace, Method, register
from pairgossip.arrays import FloatArray
from pairgossip.engine.exchanges import values
from tests.engine.test_exchanges import SMALL_WORLD, State, init, method
from tests.problems import rows

N = SMALL_WORLD.n


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    with patch.dict(METHODS):
        yield


def estimated(form: Any = None, **settings: Any) -> pg.Run:
    if form is not None:
        register(method(**form))
    chosen = {"kernel": "gini", "graph": SMALL_WORLD, "clock": "async", "seed": 3, "method": "mine",
              "iterations": 300}  # fmt: skip
    return pg.estimate(**({"data": rows(N)} | chosen | settings))  # type: ignore[arg-type]


def with_mixed_keys(state: State, i: int, j: int, h: Any) -> None:
    state.z[i] += h(i, j)
    state.picks[j] = {i: i, "j": j}[i]


def at_random(state: State, i: int, j: int, h: Any) -> None:
    state.z[i] += np.random.random()  # noqa: NPY002


def by_halves(state: State, i: int, j: int, h: Any) -> None:
    for k in range(len(state.z)):
        state.z[k] += h(i, j)


def check_notice(told: Any, what: str, file: str, line: int) -> None:
    """Check that one notice tells the caller what runs uncompiled, and why."""
    (notice,) = told
    sentence = str(notice.message)
    assert sentence.startswith(f"{what} runs as written, many times slower, since numba does")
    assert f"line {line} of {Path(file).name} (" in sentence
    assert sentence.endswith("; use engine='plain' to choose that.")
    assert notice.filename == file


def test_what_numba_refuses_runs_as_written_with_one_notice() -> None:
    line = with_mixed_keys.__code__.co_firstlineno + 2
    with pytest.warns(NotCompiled) as told:
        run = estimated({"exchange": with_mixed_keys}, trials=3)
    check_notice(told, "Method 'mine'", __file__, line)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = estimated(trials=3, engine="plain")
    np.testing.assert_array_equal(run.estimates, plain.estimates)
    with pytest.raises(InputError, match=r"^Method 'mine' cannot be compiled: numba does not comp"):
        estimated(engine="fused")


DRAWS = np.random.default_rng(0)


def shout_at_random(z: Any, liar: int, partner: int, clip: Any, network: Any) -> Any:
    louder = z[partner] + 1.0
    return louder + DRAWS.random()


def test_a_notice_names_the_line_of_an_attack() -> None:
    line = shout_at_random.__code__.co_firstlineno + 2
    with pytest.warns(NotCompiled, match=rf"its faults need: line {line} of test_rehearsal.py \("):
        estimated(method="gosta", faults=pg.Faults(liars=1, attack=shout_at_random))


def test_nodes_may_have_no_estimate_yet() -> None:
    class Sums(NamedTuple):
        total: FloatArray
        weight: FloatArray

    def meet(state: Any, i: int, j: int, h: Any) -> None:
        state.total[i] += h(i, j)
        state.weight[i] += 1

    form = {"init": lambda n: Sums(np.zeros(n), np.zeros(n)), "exchange": meet}
    for engine in ("auto", "plain"):
        run = estimated(
            form | {"read": lambda state: state.total / state.weight}, iterations=5, engine=engine
        )
        assert 0 < np.isnan(run.estimates).sum() < N
        assert np.isfinite(run.error[1:]).all()


def test_numbers_that_differ_run_as_written() -> None:
    with pytest.warns(NotCompiled, match=r"other numbers within 200 exchanges: .* random numbers"):
        estimated({"exchange": at_random})


def test_mistakes_show_as_they_are() -> None:
    def mistaken(state: State, i: int, j: int, h: Any) -> None:
        state.z[i] += h(i)

    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        estimated({"exchange": mistaken})
    with pytest.raises(InputError, match=r"^The state of method 'mine' is of type list: let begin"):
        estimated({"init": begin})
    with pytest.raises(InputError, match=r"^'picks' in the state of method 'mine' is not an array"):
        estimated({"init": lambda n: init(n)._replace(picks=None)})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"reads estimates of shape \(3,\).* shape \(12,\)\.$"):
        estimated({"read": lambda state: state.z[:3]})


def begin(n: int) -> list[float]:
    return [0.0] * n


def test_kernels_that_are_looked_up_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "LARGEST_TABLE", N - 1)

    def own(first: FloatArray, second: FloatArray) -> FloatArray:
        return np.abs(first - second) ** 1.5

    def careful(first: FloatArray, second: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return own(first, second)

    with pytest.warns(
        NotCompiled, match=r"kernel 'careful' at all pairs .* 11 nodes only, and numba .* line \d+ "
    ):
        looked_up = estimated({}, kernel=pg.Kernel(careful, "careful"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimated({})
        compiled = estimated(kernel=pg.Kernel(own, "own"))
        of_others, as_written = (
            estimated(kernel=pg.Kernel(own, "own"), target="u", engine=engine)
            for engine in ("auto", "plain")
        )
    np.testing.assert_allclose(compiled.estimates, looked_up.estimates, rtol=1e-9)
    np.testing.assert_allclose(of_others.estimates, as_written.estimates, rtol=1e-9)


def test_faults_need_an_exchange_of_two_nodes() -> None:
    faults = pg.Faults(half_loss=0.1)
    for engine in ("auto", "plain"):
        with pytest.raises(
            InputError, match=r"that of method 'mine' changes more of 'z': leave fau"
        ):
            estimated({"exchange": by_halves}, faults=faults, engine=engine)


SETTINGS: dict[str, dict[str, Any]] = {
    "trials in threads": {"trials": 4, "n_jobs": 2},
    "ordered": {"schedule": "ordered"},
    "node clocks, every node recorded": {"law": "node-clocks", "record": "nodes"},
    "rows at sites": {"groups": np.arange(N) % 4, "graph": "complete"},
    "whole sets": {"groups": np.arange(N) % 4, "graph": "complete", "construction": "whole-sets"},
    "private": {"privacy": pg.privacy.RandomizedResponse(3.0, bins=4, range=(0, 20))},
    "loss and churn": {"faults": pg.Faults(loss=0.2, churn=pg.Churn(up=5, down=1))},
    "liars and half loss": {"faults": pg.Faults(liars=2, half_loss=0.1)},
    "a kernel of ones own": {"kernel": lambda a, b: a * b**2, "target": "u"},
    "intervals": {"interval": 0.9},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_everything_works_as_for_built_in_methods(settings: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCompiled)
        runs = [estimated({}, **settings), estimated(engine="plain", **settings)]
    built_in = estimated(method="gosta", engine="plain", **settings)
    for run in runs:
        np.testing.assert_allclose(run.estimates, built_in.estimates, rtol=1e-10)
        np.testing.assert_array_equal(run.bytes, built_in.bytes)
        np.testing.assert_array_equal(run.trial_half_lost, built_in.trial_half_lost)


def test_the_synchronous_clock() -> None:
    class Counted(NamedTuple):
        z: FloatArray
        held: Any
        t: Any

    def meet(state: Any, i: int, j: int, h: Any) -> None:
        state.t[0] += 1
        for k in range(len(state.z)):
            state.z[k] += (h(k, state.held[k]) - state.z[k]) / state.t[0]
        state.z[i] = state.z[j] = (state.z[i] + state.z[j]) / 2
        state.held[i], state.held[j] = state.held[j], state.held[i]

    form = InPlace(lambda n: Counted(np.zeros(n), np.arange(n), np.zeros(1)), meet)
    register(
        Method(
            name="together", description="", in_place={"sync": form}, estimates="statistic",
            averaged_numbers=1,
        )
    )  # fmt: skip
    settings = {"clock": "sync", "kernel": "gini"}
    own, built_in = (estimated(method=name, **settings) for name in ("together", "gosta"))
    np.testing.assert_allclose(own.estimates, built_in.estimates, rtol=1e-12)


SCRIPT = """
import sys
import joblib, numpy as np
from typing import NamedTuple
import pairgossip as pg
from pairgossip.algorithms.methods import InPlace, Method, register

PART = 0.5

class State(NamedTuple):
    z: np.ndarray
    held: np.ndarray
    picks: np.ndarray

def init(n):
    return State(np.zeros(n), np.arange(n), np.zeros(n, dtype=np.int64))

def middle(one, other):
    return one + PART * (other - one)

def exchange(state, i, j, h):
    state.held[i], state.held[j] = state.held[j], state.held[i]
    mean = middle(state.z[i], state.z[j])
    for k in (i, j):
        state.picks[k] += 1
        state.z[k] = mean + (h(k, state.held[k]) - mean) / state.picks[k]

if __name__ == "__main__":
    register(Method(name="mine", description="", in_place={"async": InPlace(init, exchange)},
                    estimates="statistic", averaged_numbers=1))
    x, settings = np.arange(12.0) ** 2, dict(clock="async", seed=1, iterations=200, trials=3)
    built_in = pg.estimate(x, "gini", "complete", method="gosta", **settings)
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend, n_jobs=2):
            own = pg.estimate(x, "gini", "complete", method="mine", **settings)
        np.testing.assert_allclose(own.estimates, built_in.estimates, rtol=1e-12)
    print("as the built-in one")
"""


def test_without_a_file_in_threads_and_processes() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning:__main__", "-c", SCRIPT],
        capture_output=True, text=True, cwd=Path(pg.__file__).parents[1],
    )  # fmt: skip
    assert done.stdout == "as the built-in one\n", done.stderr
    assert "NotCompiled" not in done.stderr
