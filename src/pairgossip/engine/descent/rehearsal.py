"""A check before a run begins of whether a user's own loss can be compiled.

As in `engine.exchanges.rehearsal` for methods, the first iterations are made both ways.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.random import SeedSequence

from pairgossip.engine.descent.engines import Descent
from pairgossip.engine.descent.trial import DescentSetup, build_descent
from pairgossip.engine.exchanges.rehearsal import COMPARED, warn_not_compiled, why_not_same
from pairgossip.engine.schedule import child
from pairgossip.errors import needed_for_speed
from pairgossip.losses import GeneralLoss


def rehearse(setup: DescentSetup, root: SeedSequence) -> DescentSetup:
    """Return the setup with the engine that can run its loss.

    Warn with `NotCompiled` where the loss cannot be compiled, so that this is the plain one.
    """
    descent = setup.descent
    if setup.engine != "auto" or descent.problem.own_slope is None:
        return setup
    with warnings.catch_warnings():  # numba's, on the speed of single rows
        warnings.simplefilter("ignore")
        why = _why_not_compiled(setup, child(root, 0))
    if why is None:
        return setup
    warn_not_compiled(f"Loss '{descent.problem.loss.name}'", why)
    return replace(setup, engine="plain")


def _why_not_compiled(setup: DescentSetup, seed: SeedSequence) -> str | None:
    descent = setup.descent
    # The same number of gradients on either clock.
    count = COMPARED if descent.clock == "async" else max(2, 2 * COMPARED // descent.problem.n)
    block = setup.schedule(seed).draw(count)[0]
    as_written = build_descent("plain", descent)
    as_written.advance(block)  # mistakes show here
    with needed_for_speed():
        from pairgossip.engine.descent import own  # noqa: F401
    try:
        fast = build_descent("auto", descent)
        fast.advance(block)
    except Exception as refused:  # numba has many, and others happen inside it
        why = f"its steps ({str(refused).splitlines()[0]})"
        return f"numba does not compile {_explain_refusal(descent) or why}"
    states = [fast.snapshot()], [as_written.snapshot()]
    return why_not_same(*states, f"{count} iterations", "its arguments")


def _explain_refusal(descent: Descent) -> str | None:
    from pairgossip.engine.exchanges.compiled import explain_refusal

    problem = descent.problem
    model, row = np.zeros(problem.dimension), problem.data[:1].copy()
    arguments = (model, row, row) if isinstance(problem.loss, GeneralLoss) else (model[:1],)
    return explain_refusal(problem.own_slope, *arguments)
