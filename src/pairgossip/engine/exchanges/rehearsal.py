"""A check before a run begins of whether a method's own exchange can be compiled.

Numbers may differ, too: a compiled function does not see changes of variables outside its state,
and draws other random numbers. So the first exchanges are made both ways and compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms.methods import BUILT_IN
from pairgossip.arrays import PairArray
from pairgossip.engine.estimation.building import runs_in_place
from pairgossip.engine.estimation.trial import Setup
from pairgossip.engine.exchanges import written
from pairgossip.engine.exchanges.engine import ExchangeEngine, start_states
from pairgossip.engine.schedule import TRIAL_PROBLEM, child
from pairgossip.errors import InputError, NotCompiled, needed_for_speed, notify
from pairgossip.kernels import Pairs, Problem

COMPARED = 200
"""The number of exchanges that are made both ways."""
_CHECKED_EXCHANGES = 20
"""The number of exchanges checked to change two nodes only."""
_ROUNDING = 1e-9
"""The largest difference that is taken for rounding, relative to the largest number."""


def rehearse(setup: Setup, root: SeedSequence) -> Setup:
    """Return the setup with the engine that can run its method's own exchange, if it has one.

    Warn with `NotCompiled` where the exchange cannot be compiled, so that this is the plain one.
    """
    seed = child(root, 0)
    spoil = setup.spoil(seed) if setup.graph.n > 1 else None
    in_place = spoil is not None or runs_in_place(setup.engine, setup.procedure)
    if setup.graph.n == 1 or not in_place:
        return setup
    problem = setup.problem.for_trial(child(seed, TRIAL_PROBLEM))
    (block,) = setup.schedule(seed).draw(COMPARED)
    is_ours = any(setup.method is method for method in BUILT_IN)
    if spoil is not None and not is_ours:
        _check_alone(setup, problem, block[:_CHECKED_EXCHANGES])
    if setup.engine == "plain":
        return setup
    trusts = is_ours and (spoil is None or isinstance(spoil.faulty.faults.attack, str))
    why = _why_not_compiled(setup, problem, block, seed, trusts=trusts)
    if why is None:
        return setup
    if setup.engine == "fused":
        raise InputError(f"Method '{setup.method.name}' cannot be compiled: {why}.")
    warn_not_compiled(f"Method '{setup.method.name}'", why)
    return replace(setup, engine="plain")


def warn_not_compiled(what: str, why: str) -> None:
    """Warn that a user's function runs as written."""
    text = f"{what} runs as written, many times slower, since {why}; use {{argument}} to"
    notify(NotCompiled(f"{text} choose that.", "engine", "plain"))


def why_not_same(mine: Any, theirs: Any, count: str, depends_on: str) -> str | None:
    """Say why compiled code is not used, if states differ after ``count``; None if they agree."""
    if all(map(_are_same, mine, theirs)):
        return None
    return (
        f"compiled it gives other numbers within {count}: it must depend on {depends_on} alone, "
        "and not on random numbers or variables that change"
    )


def _why_not_compiled(
    setup: Setup, problem: Problem, block: PairArray, seed: SeedSequence, *, trusts: bool
) -> str | None:
    """Say why the run cannot be compiled; None if it can. With ``trusts`` nothing is compared."""
    with needed_for_speed():
        from pairgossip.engine.exchanges import compiled, values
    averages = setup.method.averages
    if not averages and not values.has_compiled_values(problem):
        refusal = _explain_kernel(problem, compiled.explain_refusal)
        if refusal is not None:
            return (
                f"the values of kernel '{problem.name}' at all pairs are stored up to "
                f"{values.LARGEST_TABLE:,} nodes only, and numba does not compile {refusal}"
            )
    elif trusts:
        return None
    how, form = setup.procedure, setup.method.in_place[setup.clock]
    as_written = ExchangeEngine(problem, how, setup.spoil(seed), compiled=False)
    as_written.advance((block,))  # mistakes show here, with their line
    h = None if averages else compiled.kernel_values(problem, len(as_written.states))[0]
    arguments = (as_written.states[0], 0, 0, *([] if h is None else [h]))
    refusal = compiled.explain_refusal(form.exchange, *arguments)
    if refusal is not None:
        return f"numba does not compile {refusal}"
    try:
        fast = ExchangeEngine(problem, how, setup.spoil(seed), compiled=True)
    except InputError:
        raise
    except Exception as refused:  # in functions for faults
        attack = None if setup.faulty is None else setup.faulty.faults.attack
        own = written.prepare(form.exchange).__code__
        where = compiled.explain(refused, getattr(written.prepare(attack), "__code__", own))
        return f"numba does not compile what its faults need: {where}"
    fast.advance((block,))
    count = f"{COMPARED} exchanges"
    return why_not_same(fast.states, as_written.states, count, "the states of its nodes")


def _explain_kernel(problem: Problem, explain: Callable[..., str | None]) -> str | None:
    """Say which part of a user's kernel numba does not accept; None if it accepts all."""
    if type(problem) is not Pairs:
        return "the numbers that nodes add here"
    row = problem.data[:1].copy()
    return next(filter(None, (explain(part.function, row, row) for part in problem.parts)), None)


def _are_same(one: Any, other: Any) -> bool:
    """Return whether all arrays of two states are equal up to rounding."""
    for mine, theirs in zip(one, other, strict=True):
        if mine.dtype.kind not in "biufc":
            if not np.array_equal(mine, theirs):
                return False
            continue
        a, b = mine.astype(np.complex128), theirs.astype(np.complex128)
        size = np.abs(b[np.isfinite(b)]).max(initial=0.0)
        if not np.allclose(a, b, rtol=_ROUNDING, atol=_ROUNDING * size, equal_nan=True):
            return False
    return True


def _check_alone(setup: Setup, problem: Problem, block: PairArray) -> None:
    """Raise `InputError` unless exchanges touch nothing but the two nodes that meet."""
    how, form = setup.procedure, setup.method.in_place[setup.clock]
    state = start_states(problem, how)[0]
    takes_values = not setup.method.averages
    exchange: Callable[..., None] = written.prepare_exchange(
        form.exchange, takes_values=takes_values
    )
    h = written.kernel_values(problem, 1)[0]
    for i, j in block.tolist():
        before = [array.copy() for array in state]
        exchange(state, i, j, h)
        for name, array, old in zip(state._fields, state, before, strict=True):
            others = np.ones(len(array), dtype=np.bool_)
            if len(array) == problem.n:
                others[[i, j]] = False
            if array[others].tobytes() != old[others].tobytes():
                raise InputError(
                    f"Half-lost exchanges and liars need an exchange that changes only the two "
                    f"nodes that meet, but that of method '{setup.method.name}' changes more of "
                    f"'{name}': leave {{argument}} out.",
                    "faults",
                )
