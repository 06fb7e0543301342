"""The interval of a statistic from its projection, or the reason for having none."""

from __future__ import annotations

import math

from pairgossip.errors import InputError
from pairgossip.inference.answer import UNKNOWN, Answer, interval
from pairgossip.inference.projection import ROUNDING, Projection, project
from pairgossip.kernels import Pairs
from pairgossip.kernels.weighing import are_frequencies, warn_of_frequencies


def answer(projection: Projection, level: float) -> Answer:
    """Return a statistic with the interval on its kernel's scale."""
    value, error, pairs = projection.value, sampling_error(projection), projection.pairs
    scale = pairs.kernel.interval_scale
    ends = interval(value, error, level, scale, projection.law())
    return Answer(value, error, *ends, level, scale, pairs.positive)


def answer_or_value(pairs: Pairs, value: float, level: float) -> Answer:
    """Return a statistic with its interval, or without one if the rows do not show its error."""
    try:
        return answer(project(pairs)._replace(value=value), level)
    except InputError:
        ends, scale = (math.nan, *UNKNOWN), pairs.kernel.interval_scale
        return Answer(value, *ends, level, scale, pairs.positive)


def sampling_error(projection: Projection) -> float:
    """Return the standard error; raise `InputError` where it would be meaningless."""
    pairs, is_clustered = projection.pairs, projection.clusters is not None
    if not is_clustered:
        if not are_frequencies(pairs.weights):
            raise InputError(
                "Weights that are not whole numbers are not frequencies of rows: give {argument}, "
                "one group per row, such as its number, if rows were drawn independently.",
                "groups",
            )
        warn_of_frequencies(pairs.weights)
        if pairs.freedom < 1:
            what = "row" if pairs.classes is None else "row of each class"
            raise InputError(f"A sampling error needs more than one {what}: add rows.")
    if pairs.kernel.interval_scale == "logit" and projection.value in (0.0, 1.0):
        raise degenerate_error(pairs, projection.value, None if is_clustered else pairs.freedom)
    if projection.is_degenerate:
        raise InputError(
            f"The rows do not show how sure '{pairs.kernel.name}' is: every one of them adds the "
            "same to it, as where all are tied or in one order, or where a kernel is degenerate."
        )
    error = projection.error()
    if is_clustered and error <= ROUNDING * projection.size:
        raise InputError(
            f"Every group adds the same to '{pairs.kernel.name}', as where all hold the same rows, "
            "so they do not show how sure it is: leave {argument} out.",
            "groups",
        )
    return error


def degenerate_error(pairs: Pairs, value: float, freedom: float | None) -> InputError:
    """Build the error for rows that give the statistic its largest or smallest value.

    For independent rows of two classes, given the degrees of freedom, there is a bound.
    """
    bound_text, advice = "", "add rows"
    if pairs.classes is not None and freedom is not None:
        bound = 0.05 ** (1 / (freedom + 1))
        side = f"above {bound:.3f}" if value == 1.0 else f"below {1 - bound:.3f}"
        bound_text = f", but with 95 % confidence it is {side}"
        advice = "add rows, or report the bound"
    return InputError(
        f"'{pairs.kernel.name}' is {value:g} on these rows, whose standard error of 0 says "
        f"nothing{bound_text}: {advice}."
    )
