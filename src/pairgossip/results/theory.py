"""The theory of a run: computed for one that was made here, and not for one from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairgossip.algorithms.methods import METHODS
from pairgossip.engine.estimation.trial import Setup
from pairgossip.errors import InputError
from pairgossip.theory import TheoryCurves, theory_curves
from pairgossip.theory.curves import check_known

if TYPE_CHECKING:
    from pairgossip.results.run import Run


def find_theory(run: Run, setup: Setup | None) -> TheoryCurves:
    """Return the exact expectation and the bounds at the checkpoints.

    For a private run it is the expectation over reports and exchanges.
    """
    if setup is None:
        raise _refuse_loaded(run)
    curves = theory_curves(
        setup.problem.expected(),
        run.graph,
        run.iterations,
        method=setup.method,
        clock=run.clock,
        order=run.order,
        course=setup.course,
    )
    if run.privacy is not None:  # the bounds do not know the noise of the reports
        unknown = np.full(len(run.iterations), np.nan)
        curves = curves._replace(deviation_bound=unknown, error=unknown, sampling=unknown)
    return curves


def _refuse_loaded(run: Run) -> InputError:
    """Build the error for a file without curves; raise it if the method has no theory."""
    method, limits = METHODS.get(run.method), ""
    if method is not None:
        check_known(method, run.clock, run.schedule)
    if run.faults is not None:
        limits = "; with faults they are known where exchanges are lost, and no more"
    elif method is not None and method.sketches:
        limits = "; for sketches they are known if no range is flooded and no row is private"
    return InputError(
        "This run was loaded from a file that holds no theory curves: call run.theory() before "
        f"run.save(){limits}."
    )
