"""The choice of the engine that runs a method on a problem."""

from __future__ import annotations

from pairgossip.algorithms.methods import Method
from pairgossip.engine.estimation.engine import (
    Engine,
    Flooding,
    LoneNode,
    PlainEngine,
    Procedure,
    plain_spread,
)
from pairgossip.engine.exchanges.engine import ExchangeEngine
from pairgossip.engine.exchanges.spoil import Spoil
from pairgossip.errors import InputError, needed_for_speed
from pairgossip.kernels import Problem


def check_engine(name: str, problem: Problem, method: Method, clock: str) -> None:
    """Raise `InputError` unless the engine can run the method on the problem."""
    is_compiled = clock in method.twins or (name == "fused" and method.compiles(clock))
    if name in ("fused", "tokens") and not is_compiled:
        raise InputError(
            f"Engine '{name}' runs compiled code, but method '{method.name}' has none for "
            f"the {clock} clock: use {{argument}}.",
            "engine",
            "auto",
        )
    knows_kernel = problem.fusible or method.collects or clock not in method.twins
    if name == "fused" and not knows_kernel:
        raise InputError(f"{problem.why_not_fused}: use {{argument}}.", "engine", "tokens")


def build_engine(name: str, problem: Problem, how: Procedure, spoil: Spoil | None = None) -> Engine:
    """Build the engine of this name; "auto" takes the fastest that can run method and problem.

    ``fused`` compiles the kernel into the loop (built-in kernels). ``tokens`` follows the held
    observations and evaluates any NumPy kernel on blocks of pairs. ``plain`` runs the reference
    algorithms one exchange at a time and needs numpy only. ``spoil`` are faults on one side of an
    exchange.
    """
    method = how.method
    check_engine(name, problem, method, how.clock)
    if problem.n == 1:
        return LoneNode(problem)
    assert (how.weights is not None) == method.weighs_by_picks
    if spoil is not None or runs_in_place(name, how):
        engine = ExchangeEngine(problem, how, spoil, compiled=name != "plain")
        return _flooding_first(engine, problem, how, is_plain=name == "plain")
    is_plain = name == "plain" or how.clock not in method.twins
    if is_plain or method.averages:
        return _build_flooding(problem, how, is_plain=is_plain)
    with needed_for_speed():
        from pairgossip.engine.estimation.averages import CollectEngine
        from pairgossip.engine.estimation.fast import FusedEngine, TokenEngine, TrimEngine
    if method.collects:
        return CollectEngine(problem)
    if method.counts_by_rank:
        return TrimEngine(problem, how.clock)
    is_fused = name != "tokens" and problem.fusible
    return (FusedEngine if is_fused else TokenEngine)(problem, how)


def runs_in_place(name: str, how: Procedure) -> bool:
    """Return whether an engine of this name runs the method's own exchange."""
    if how.timetable.name in how.method.schedules or how.clock not in how.method.in_place:
        return False
    forms = how.method.plain if name == "plain" else how.method.twins
    return how.clock not in forms


def _build_flooding(problem: Problem, how: Procedure, *, is_plain: bool) -> Engine:
    """Build an engine whose nodes first learn the numbers that they need, if any."""
    if is_plain:
        return _flooding_first(PlainEngine(problem, how), problem, how, is_plain=True)
    with needed_for_speed():
        from pairgossip.engine.estimation.averages import averaging_engine
    engine = averaging_engine(problem, how.timetable)
    return _flooding_first(engine, problem, how, is_plain=False)


def _flooding_first(engine: Engine, problem: Problem, how: Procedure, *, is_plain: bool) -> Engine:
    """Wrap an engine so that nodes first learn the numbers that they need, if any."""
    numbers = len(problem.holders)
    if not numbers:
        return engine
    spread = plain_spread(problem.n, problem.holders)
    if not is_plain:
        with needed_for_speed():
            from pairgossip.engine.estimation.averages import KnownItems
        spread = KnownItems(problem.n, problem.holders).exchange
    needed = None if how.timetable.messages is None else 2 * problem.n - 2
    return Flooding(engine, numbers, spread, needed)
