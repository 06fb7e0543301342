"""Claims: a statement, what was measured about it, the rule that judges it, and the evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pairgossip_paper.framework.typesetting import mark_fields

Verdict = Literal["holds", "holds in part", "does not hold", "undecided"]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, or of theory, and what was measured about it."""

    name: str
    statement: str
    source: str
    """Who says so: a place of the paper (`paper.cite`), another paper, or "theory"."""
    verdict: Verdict
    evidence: str

    def __post_init__(self) -> None:
        mark_fields(self, "statement", "source", "evidence")


def grade(passed: Iterable[bool]) -> Verdict:
    """Judge a claim: it holds if all of its parts do, and in part if some do."""
    parts = [bool(part) for part in passed]
    if all(parts):
        return "holds"
    return "holds in part" if any(parts) else "does not hold"


class Rule(NamedTuple):
    """What is asked of a number."""

    is_met: Callable[[float], bool]
    limits: Mapping[str, float]
    """By the names under which evidence cites them."""


def at_least(least: float) -> Rule:
    """Ask for a number that is not below a limit, `{least}` in the evidence."""
    return Rule(lambda value: value >= least, {"least": least})


def at_most(most: float) -> Rule:
    """Ask for a number that is not above a limit, `{most}` in the evidence."""
    return Rule(lambda value: value <= most, {"most": most})


def more_than(limit: float) -> Rule:
    """Ask for a number above a limit, `{limit}` in the evidence."""
    return Rule(lambda value: value > limit, {"limit": limit})


def less_than(limit: float) -> Rule:
    """Ask for a number below a limit, `{limit}` in the evidence."""
    return Rule(lambda value: value < limit, {"limit": limit})


def within(tolerance: float, of: float) -> Rule:
    """Ask for a number near another, `{tolerance}` and `{of}` in the evidence."""
    return Rule(lambda value: abs(value - of) <= tolerance, {"tolerance": tolerance, "of": of})


def check(
    name: str,
    statement: str,
    source: str,
    values: Mapping[str, float],
    rule: Rule | Mapping[str, Rule],
    evidence: str,
    **cited: Any,
) -> Claim:
    """Judge a claim by numbers that must meet a rule; those without one are shown alone.

    The evidence may cite ``{values}`` (also with a format, as in ``{values:.1%}``), the ``{low}``
    and ``{high}`` end of them, how many have ``{passed}`` of all ``{judged}``, the limits of a
    single rule, and whatever else is given by its name.
    """
    rules = dict.fromkeys(values, rule) if isinstance(rule, Rule) else rule
    met = [one.is_met(values[key]) for key, one in rules.items()]
    limits = rule.limits if isinstance(rule, Rule) else {}
    low, high = (pick(values.values(), default=math.nan) for pick in (min, max))
    cited |= {"low": low, "high": high, "passed": sum(met), "judged": len(met), **limits}
    text = evidence.format(values=_Listed(values), **cited)
    return Claim(name, statement, source, grade(met), text)


class _Listed(dict[str, float]):
    """Values in a sentence, in the format that it asks for."""

    def __format__(self, style: str) -> str:
        return list_values(self, style or ".3g")


def list_values(values: Mapping[str, float], style: str = ".3g") -> str:
    """Write values out, each with its name in parentheses."""
    return ", ".join(f"{value:{style}} ({name})" for name, value in values.items())
