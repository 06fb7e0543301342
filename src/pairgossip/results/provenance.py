"""The origin of a result: the machine, the software, and the problem that it solves.

Only results of the same problem are joined or continued, which fingerprints decide. Names and
parameters are compared as text. Functions are compared by their values at a few pairs of the data,
up to rounding: a function that is written again, in another process or on another machine, is the
same if it gives the same values.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence

import pairgossip
from pairgossip.arrays import FloatArray
from pairgossip.checks import is_number
from pairgossip.engine.descent.engines import Descent
from pairgossip.engine.estimation.trial import Setup
from pairgossip.engine.solver_trials.trial import SolverSetup
from pairgossip.faults.network import FaultyNetwork
from pairgossip.kernels import Combination, Kernel, Means, Pairs, Problem
from pairgossip.kernels.data import column_count
from pairgossip.kernels.exact import scattered_pairs
from pairgossip.kernels.kernel import evaluate
from pairgossip.losses import GeneralLoss, Loss
from pairgossip.losses.steps import AdaptiveStep

_LIBRARIES = ("numpy", "scipy", "numba", "joblib", "scikit-learn", "matplotlib")


@cache
def machine() -> dict[str, str | int]:
    """Describe the machine: the parts that can change speed, and the last bits of results."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.machine(),
        "model": _processor_model(),
        "cores": os.cpu_count() or 1,
        "memory_gb": _memory_gb(),
    }


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python, this package and the libraries that it computes with."""
    found = {"pairgossip": pairgossip.__version__, "python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _processor_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    fields = dict(line.partition(":")[::2] for line in lines if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    return named.get("model name") or named.get("CPU part") or platform.processor() or "unknown"


def _memory_gb() -> int:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    return round(pages * size / 2**30)


_PAIRS = 256
"""Number of pairs at which functions are compared."""
_LARGEST_PROBE = 2**18
"""Largest number of values in a probe of a loss; with large models it takes fewer pairs."""
_TOLERANCE = 1e-9
"""Largest difference of two probes of one function, relative to the size of its values."""
_PROJECTIONS = np.sqrt([2.0, 3.0, 5.0, 7.0])
"""Frequencies of the cosines by which many values are summed up in a few numbers."""
_MARGINS = np.linspace(-3.0, 3.0, 13)
"""Margins at which losses are compared."""
_ITERATIONS = 64
"""Number of iterations for which a method is tried."""


class _Mark(NamedTuple):
    """One part of a problem, such as its kernel."""

    text: str
    """Its name and its parameters."""
    numbers: tuple[float, ...] = ()
    """The values of its functions, summed up."""


Fingerprint = Mapping[str, _Mark]
"""The parts of a problem, by their names in messages."""

_ABSENT = _Mark("none")


class _Difference(NamedTuple):
    """The first difference of two problems."""

    part: str
    how: str
    """In parentheses; empty where only checksums differ."""


class _Delayed(Mapping[str, _Mark]):
    """A fingerprint that is computed when it is needed: few fits are joined or saved."""

    def __init__(self, take: Callable[[], dict[str, _Mark]]) -> None:
        self._take = take

    @cached_property
    def _marks(self) -> dict[str, _Mark]:
        marks = self._take()
        del self._take  # and with it the rows
        return marks

    def __getitem__(self, part: str) -> _Mark:
        return self._marks[part]

    def __iter__(self) -> Iterator[str]:
        return iter(self._marks)

    def __len__(self) -> int:
        return len(self._marks)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self._marks,)


def estimation_fingerprint(problem: Problem) -> Fingerprint:
    """Return the fingerprint of an estimation."""
    data = {"data": _data_mark(problem.data)}
    if problem.kernel is None:
        return data
    return data | {"kernel": _kernel_mark(problem.kernel, problem.data)}


def learning_fingerprint(descent: Descent) -> Fingerprint:
    """Return the fingerprint of learning, without the step size."""
    problem = descent.problem
    marks = {name: _Mark(text) for name, text in problem.marks.items()}
    return {
        "data": _data_mark(problem.data),
        "loss": _loss_mark(problem.loss, problem.data, problem.dimension),
        "penalty or constraint": _Mark(repr(descent.proximal)),
    } | marks


def solving_fingerprint(setup: SolverSetup) -> Fingerprint:
    """Return the fingerprint of a solver's problem, computed from the rows when it is needed."""
    return _Delayed(partial(_solving_marks, setup))


def _solving_marks(setup: SolverSetup) -> dict[str, _Mark]:
    problem, data = setup.problem, setup.problem.learning.data
    loss, weights, sites = problem.learning.loss, problem.weights, problem.site_of
    parts = {
        "data": _data_mark(data),
        "loss": _loss_mark(loss, data, problem.learning.dimension),
        "penalty or constraint": _Mark(repr(setup.proximal)),
        "tolerance": _Mark(f"{setup.tolerance:g}, accuracy {setup.accuracy:g}"),
    }
    if weights is not None:
        parts["weights"] = _data_mark(weights)
    if sites is not None:
        parts["groups"] = _data_mark(sites.astype(np.float64))
    return parts


def method_mark(setup: Setup, iterations: int) -> _Mark:
    """Return the mark that distinguishes the method of a run of this length from namesakes.

    For a method without a twin, its steps are applied to other values on the same network.
    """
    method = setup.method
    if setup.clock in method.twins:
        return _Mark(f"{method.name}, {method.twins[setup.clock].name}")
    values = 1.5 + 0.5 * np.cos(np.arange(1.0, setup.graph.n + 1.0))
    probe = replace(
        setup,
        problem=Means(values) if method.averages else Pairs(values, np.divide),
        checkpoints=np.array([min(_ITERATIONS, iterations)]),
        keep_history=False,
        engine="plain",
        privacy_error=None,
        faulty=None,
    )
    with np.errstate(all="ignore"):
        try:
            trial = probe.start(SeedSequence(0))
            trial.run(lambda block: None)
        except Exception:  # a run is not lost because steps only take its own values
            return _Mark(method.name)
    record = trial.record
    return _Mark(method.name, _summarize([record.estimates, record.traffic.astype(np.float64)]))


def attack_marks(faulty: FaultyNetwork | None) -> Fingerprint:
    """Return the marks that distinguish a user's attack from namesakes: the lies that it sends."""
    if faulty is None or isinstance(faulty.faults.attack, str) or not len(faulty.network.indices):
        return {}
    network = faulty.network._replace(lie=1.0)
    liar = int(np.argmax(network.is_liar))
    partner = int(network.indices[network.indptr[liar]])
    values = np.cos(np.arange(1.0, faulty.n + 1.0))
    sent = []
    for z in (values, np.outer(values, _PROJECTIONS)):  # averages of nodes, or their models
        with np.errstate(all="ignore"), suppress(Exception):  # it may take only one of the two
            sent.append(np.asarray(faulty.attack(z, liar, partner, 0.1, network), dtype=float))
    return {"attack": _Mark(faulty.faults.attack_name, _summarize(sent))}


def step_mark(descent: Descent, iterations: int) -> _Mark:
    """Return the mark that distinguishes the step sizes of a run of this length from others."""
    steps = descent.steps
    if isinstance(steps, AdaptiveStep):
        return _Mark(steps.name, _summarize([np.array([steps.scale])]))
    # No node is picked more often than this, and the user's function is not called beyond.
    last = max(1.0, iterations / float(descent.probabilities.min()))
    early = np.arange(1.0, min(16.0, last) + 1.0)
    times = np.unique(np.append(early, np.floor(np.geomspace(1.0, last, 32))))
    name = str(getattr(steps, "name", "custom"))
    return _Mark(name, _summarize([descent.sizes(times)]))


def null_mark(null: float, alternative: str) -> _Mark:
    """Return the mark of the value that a statistic was tested against."""
    return _Mark(f"{alternative}, null {null!r}")


def difference(one: Fingerprint, other: Fingerprint) -> _Difference | None:
    """Return the first difference of two problems, None if there is none."""
    for part in dict.fromkeys((*one, *other)):
        mine, theirs = one.get(part, _ABSENT), other.get(part, _ABSENT)
        if mine.text != theirs.text:
            is_checksum = part in ("data", "groups")
            return _Difference(part, "" if is_checksum else f" ({mine.text} and {theirs.text})")
        if not _is_same(mine.numbers, theirs.numbers):
            return _Difference(part, f" ('{mine.text}' gives other values)")
    return None


def as_fingerprint(record: Mapping[str, Any]) -> Fingerprint:
    """Return a fingerprint that was written as JSON."""
    return {str(part): _Mark(str(text), tuple(map(float, n))) for part, (text, n) in record.items()}


def _data_mark(data: FloatArray) -> _Mark:
    digest = hashlib.blake2b(np.ascontiguousarray(data, dtype=np.float64).data, digest_size=16)
    return _Mark(f"{digest.hexdigest()} of shape {data.shape}")


def _kernel_mark(kernel: Kernel | Combination, data: FloatArray) -> _Mark:
    nodes, held = scattered_pairs(len(data), _PAIRS)
    with np.errstate(all="ignore"):
        values = [evaluate(component, data[nodes], data[held]) for component in kernel.components]
    functions = (component.function for component in kernel.components)
    return _Mark(_text(kernel.name, functions), _summarize(values))


def _loss_mark(loss: Loss | GeneralLoss, data: FloatArray, dimension: int) -> _Mark:
    widest = max(dimension, column_count(data))
    nodes, held = scattered_pairs(len(data), max(16, min(_PAIRS, _LARGEST_PROBE // widest)))
    first, second = data[nodes], data[held]
    with np.errstate(all="ignore"):
        if isinstance(loss, GeneralLoss):
            pattern = np.cos(np.arange(1.0, dimension + 1.0))
            models = (np.zeros(dimension), 0.25 * np.abs(pattern), pattern)
            values = [
                function(model, first, second)
                for model in models
                for function in (loss.value, loss.gradient)
            ]
            return _Mark(_text(loss.name, loss.functions), _summarize(values))
        phi = (loss.phi.value(_MARGINS), loss.phi.derivative(_MARGINS))
        values = [*loss.pairs(first, second), *phi]
    parts = filter(None, (loss.features, loss.weights, loss.offsets))
    return _Mark(_text(loss.name, parts), _summarize(values))


def _text(name: str, functions: Iterable[Callable[..., Any]]) -> str:
    """Return a name with the parameters of `functools.partial`."""
    parameters: list[str] = []
    for function in functions:
        if isinstance(function, partial):
            given = [(f"{key}=", value) for key, value in function.keywords.items()]
            given += [("", value) for value in function.args]
            parameters += [f"{key}{value!r}" for key, value in given if _is_plain(value)]
    return ", ".join((name, *dict.fromkeys(parameters)))


def _is_plain(value: object) -> bool:
    return isinstance(value, str) or is_number(value)


def _summarize(arrays: Iterable[FloatArray]) -> tuple[float, ...]:
    """Sum up each array in a few numbers: sums weighted by cosines, its norm, and its finite part.

    With these weights, two functions do not agree by chance, and they need no random numbers, which
    may change from one version of numpy to the next.
    """
    numbers: list[float] = []
    for array in arrays:
        values = np.ravel(array)
        finite = np.isfinite(values)
        known = np.where(finite, values, 0.0)
        waves = np.cos(np.outer(_PROJECTIONS, np.arange(1.0, len(values) + 1.0)))
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.nan_to_num([*(waves @ known), np.linalg.norm(known)])
        numbers += [*sums.tolist(), float(finite.mean())]
    return tuple(numbers)


def _is_same(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    if len(one) != len(other):
        return False
    width = len(_PROJECTIONS) + 2
    a, b = (np.array(numbers).reshape(-1, width) for numbers in (one, other))
    sizes = np.maximum(a[:, -2], b[:, -2])[:, None]
    alike = np.abs(a[:, :-1] - b[:, :-1]) <= _TOLERANCE * sizes
    return bool(alike.all() and np.array_equal(a[:, -1], b[:, -1]))
