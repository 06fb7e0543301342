"""The result of sums, which all members sign in bytes that are the same everywhere.

Every member sends its signed bytes to all others. They hold the figures, which may differ in their
last digits, and a mere digest of all that is known before: a list of a thousand members is long.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Annotated, Any

import msgspec

from pairgossip.peer.protocol.program import Disagreement
from pairgossip.peer.sums.site_sums import SiteSums, describe_sites
from pairgossip.text import clean_text, join_names

_DIGITS = 12
"""Number of significant digits of a result's numbers; members may differ in later digits."""
_TOLERANCE = 1e-9
"""Largest relative difference of two members' numbers; beyond it their results disagree."""
_MODEL_TOLERANCE = 1e-5
"""Largest relative difference of two members' models, which rounding moves along a feature that
is the sum of others; beyond it their results disagree."""
_WIDE = 8.0
"""Largest width of an interval in standard errors; beyond it the advice is narrower cells. Exact
rows would give about half of it."""
_VERSION_TEXT = re.compile(r"[0-9][0-9A-Za-z.+-]{0,31}")
"""The form of a version; all members sign the one that the lowest id states."""
CROWDED = 0.5
"""The largest share of rows in one cell of a column that needs no warning in a test."""
_GENERATION = re.compile(r"[0-9a-f]{8}([0-9a-f]{64})?")
_LATER = ("p_bracket", "crowded_cells")
_LATER_FACTS = ("left_out", "least_cell", "batches", "table", "heterogeneity")
"""Fields that results of former versions lack; signed bytes have them only if they are set."""
_ALIKE = ("value", "sampling_error", "interval", "bracket")
"""Fields in the units of the value."""

Members = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
"""Ids, at least one: None stands for an empty list, which would be signed in other bytes."""
Shares = Annotated[tuple[float, ...], msgspec.Meta(min_length=1)]
"""Shares of rows, at least one: None stands for an empty list, signed in other bytes."""


class AddedNoise(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The noise added to the counts, and its effect."""

    epsilon: float
    """The budget of all rounds together."""
    honest: int
    """The least number of members that must have added their part for that."""
    variance: float
    """The variance of the noise of one count."""
    error: float | None
    """The standard error of the value due to noise; None if unknown."""
    without_interval: str | None = None
    """The reason why noise leaves no interval; None if there is one, or none in any case."""


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result that members have computed, and the rows that it covers."""

    question: str
    """The question in words."""
    members: dict[str, int]
    """The number of rows of each member that it covers."""
    rows: int
    generation: int | str
    """The name of the question, behind eight zeros. Earlier versions had single runs on sums, whose
    generations have such names; in version 0.2 they had numbers."""
    specification: str
    hash: str
    versions: dict[str, str]
    rounds: int
    """The number of sums that became known."""
    value: float | None = None
    sampling_error: float | None = None
    """The standard error of the value as an estimate of the population's; noise is not counted."""
    interval: tuple[float, float] | None = None
    """The interval that covers the population's value in 95 % of all samples, for any rows in the
    cells; it allows for noise."""
    p: float | None = None
    """The p-value of a test."""
    bracket: tuple[float, float] | None = None
    """The interval that certainly holds the value over all rows, for any rows in the cells."""
    p_bracket: tuple[float, float] | None = None
    """The interval that certainly holds the p of a test of all rows, for any rows in the cells; it
    leaves out orders of rows that the test cannot judge."""
    crowded_cells: Shares | None = None
    """The largest share of rows in one cell, for each column of a test; 0 if it is at most a half.
    None if no cell holds more."""
    noise: AddedNoise | None = None
    model: tuple[float, ...] | None = None
    objective: float | None = None
    finished: bool = True
    """Whether the model is at its best. If not, rounds were used up, or the objective is None: by
    the ranges, scores may lie too far apart for the sums to determine it."""
    left_out: Members | None = None
    """The ids of members that added no rows to the table; None if all did."""
    least_cell: int | None = None
    """The least number of rows of a count that is not 0; None for counts of single cells."""
    batches: int | None = None
    """The number of sums in the table; None if there is no table."""
    table: str | None = None
    """The salted digest of the table of all figures, which members keep."""
    heterogeneity: SiteSums | None = None
    """The sums over the sites of the first table, for their agreement; None if the specification
    does not ask for them, or there is no table."""

    def __repr__(self) -> str:
        answer = "a model" if self.model is not None else self.value
        members = f"{len(self.members)} members, {self.rows:,} rows"
        return f"{type(self).__name__}({self.question}: {answer}; {members})"

    @property
    def ordinal(self) -> int:
        """The generation as people count it, from 1; raise `ValueError` for a bad name."""
        name = self.generation
        if isinstance(name, int):
            return 1 + (name >> 32)
        if _GENERATION.fullmatch(name) is None:
            raise ValueError(f"{name[:16]!r} is not the name of a generation")
        return 1 + int(name[:8], 16)

    @property
    def is_of_study(self) -> bool:
        """Whether it answers a study's question, by which its only generation is named."""
        return isinstance(self.generation, str) and len(self.generation) > 8 and self.ordinal == 1

    def describe_lack(self) -> str:
        """Explain why a model is not at its best, and advise what to do."""
        more = "agree on more with algorithm.rounds"
        if self.objective is None:
            return (
                "scores may lie too far apart for the sums to tell: declare narrower ranges, give "
                f"learning.l2, or {more}"
            )
        return f"the sums were used up: {more}"

    @property
    def noise_error(self) -> float | None:
        """The standard error due to noise; None without noise, or if it is unknown."""
        return self.noise.error if self.noise else None

    def advise_bins(self) -> str | None:
        """Advise what to do if cells or blocks leave more open than rows do, or return None."""
        what = "cells"
        advice = (
            "agree on more algorithm.bins, on a narrower range (above 0 for sizes that span much), "
            "or of whole numbers on whole"
        )
        columns = json.loads(self.specification)["columns"] if self.crowded_cells else ()
        if crowded := name_crowded(columns, self.crowded_cells or (), "all rows"):
            return f"{crowded}, so that their order is not known: {advice}"
        if self.least_cell is not None:
            what = "blocks of cells"
            advice = "let sites have more rows, or agree on a smaller algorithm.least_cell"
        opened = 0.0 if self.bracket is None else self.bracket[1] - self.bracket[0]
        if self.sampling_error is None or (self.interval is None and self.p_bracket is None):
            return f"{what} are too wide to tell: {advice}" if opened > _TOLERANCE else None
        error = math.hypot(self.sampling_error, self.noise_error or 0.0)
        # A test has no interval: one would be as wide as its bracket and four errors.
        width = opened + _WIDE / 2 * error
        if self.interval is not None:
            width = self.interval[1] - self.interval[0]
        if width <= _WIDE * error:
            return None
        return f"{what} leave more of it open than rows do: {advice}"

    def describe_table(self, names: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
        """Return facts on the rows that are counted, and how; ``names`` are those of members.

        There are none on a model, and on counts of single cells over the rows of all members.
        """
        facts = []
        if self.least_cell is not None:
            text = f"of at least {self.least_cell} rows each, in blocks of cells"
            facts.append(("counts", text))
        is_new = (self.batches or 1) > 1 or not self.rounds
        if self.left_out is not None:
            name_of = names or {}
            who = join_names([clean_text(name_of.get(one, one[:16])) for one in self.left_out])
            few = "none" if self.least_cell is None else self._describe_few()
            if self.is_of_study:
                cause = f"rows are {'too few' if self.least_cell is None else few}"
                others = "lie outside the ranges, were counted before, or wait for those of others"
                facts.append(("added no rows", f"{who}: {cause}, {others}"))
            elif is_new:
                cause = "" if self.least_cell is None else f", or {few}"
                facts.append(("added no rows", f"{who}: none are new{cause}"))
            else:
                facts.append(("left out", f"{who}: rows are {few}"))
        if not self.rounds and self.model is None:
            text = "of rows added later, since too few members add any"
            if self.table is None:
                text = "since too few members have enough rows: there is no value"
            facts.append(("no table", text))
        if (self.batches or 1) > 1:
            text = "added up; each row counts once, and those of members that have left stay"
            facts.append(("tables", f"{self.batches}, {text}"))
        return facts

    def describe_sites(self) -> list[tuple[str, str]]:
        """Return facts on the agreement of sites; none unless the specification asks for it."""
        if self.heterogeneity is None:
            return []
        is_of_first = (self.batches or 1) > 1
        return describe_sites(self.heterogeneity, self.least_cell or 1, is_of_first=is_of_first)

    def _describe_few(self) -> str:
        """Describe rows that do not fill every class, group and stratum."""
        agreed = json.loads(self.specification)
        names = [agreed[key] for key in ("label", "by", "within", "weight") if agreed.get(key)]
        if not names:
            return f"fewer than {self.least_cell}"
        parts = "class" if names == [agreed.get("label")] else clean_text(names[0])
        if len(names) > 1:
            parts = f"combination of {join_names([clean_text(name) for name in names])}"
        return f"too few to fill every {parts} with {self.least_cell} rows"

    def state(self) -> bytes:
        """Return the bytes that members sign: the figures, and the digest of all else."""
        fields = {name: getattr(self, name) for name in Figures.__struct_fields__ if name != "rest"}
        later = {name: fields[name] or msgspec.UNSET for name in _LATER}
        return Figures(rest=self._digest_rest(), **(fields | later)).encode()

    def _digest_rest(self) -> str:
        names = set(self.__struct_fields__) - set(Figures.__struct_fields__)
        rest = {name: getattr(self, name) for name in names}
        rest = {name: it for name, it in rest.items() if name not in _LATER_FACTS or it is not None}
        return hashlib.sha256(msgspec.json.encode(rest, order="sorted")).hexdigest()

    def take_over(self, figures: Figures) -> Result:
        """Return this result with another member's figures.

        Raise `Disagreement` if question, members, rows or specification differ.
        """
        if figures.rest != self._digest_rest():
            raise Disagreement("a result of other members or rows, or in other words")
        fields = msgspec.structs.asdict(figures)
        del fields["rest"]
        later = {name: fields[name] or None for name in _LATER}
        return msgspec.structs.replace(self, **(fields | later))


class Figures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of a result that members may compute with other last digits; see `Result`."""

    value: float | None
    sampling_error: float | None
    interval: tuple[float, float] | None
    p: float | None
    bracket: tuple[float, float] | None
    noise: AddedNoise | None
    model: tuple[float, ...] | None
    objective: float | None
    finished: bool
    versions: dict[str, str]
    p_bracket: tuple[float, float] | msgspec.UnsetType = msgspec.UNSET
    crowded_cells: Shares | msgspec.UnsetType = msgspec.UNSET
    rest: str
    """The digest of all else."""

    def encode(self) -> bytes:
        """Return the canonical bytes."""
        return msgspec.json.encode(self, order="sorted")


def decode_figures(public: bytes) -> Figures:
    """Read canonical bytes; raise `Disagreement` if they are not."""
    try:
        figures = msgspec.json.decode(public, type=Figures)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Disagreement(f"a result that cannot be read ({problem})") from None
    if figures.encode() != public:
        raise Disagreement("a result that is not in its canonical form")
    versions = figures.versions
    # Otherwise all would sign a text of one member's choice.
    if versions.keys() != {"pairgossip"} or not _VERSION_TEXT.fullmatch(versions["pairgossip"]):
        raise Disagreement("a result that names something else than a version of pairgossip")
    return figures


def follow_result(mine: Result, public: bytes, widths: Sequence[float] = ()) -> Result:
    """Return another member's result if it differs in rounding and version alone.

    ``widths`` are those of the ranges of a model's features.
    """
    theirs = mine.take_over(decode_figures(public))
    size = max(abs(part) for name in _ALIKE for part in _numbers(getattr(mine, name)))
    # A loss is relative to that of the zero model, which is about 1.
    near = dict.fromkeys((*_ALIKE, "noise"), _TOLERANCE * size) | {"objective": _TOLERANCE}
    for name in Figures.__struct_fields__[:-1]:
        one, other = getattr(mine, name), getattr(theirs, name)
        if name == "model" and one is not None and other is not None:
            is_close = _are_models_close(one, other, widths)
        else:
            is_close = name == "versions" or _is_close(one, other, near.get(name, 0.0))
        if not is_close:
            raise Disagreement(f"{name} is {_show(one)} here and {_show(other)} there")
    return theirs


def _numbers(part: float | tuple[float, ...] | None) -> tuple[float, ...]:
    """Return the numbers of a part of a result; 0 if there are none."""
    if part is None:
        return (0.0,)
    return part if isinstance(part, tuple) else (part,)


def _is_close(one: Any, other: Any, near: float) -> bool:
    if isinstance(one, msgspec.Struct) and isinstance(other, msgspec.Struct):
        return _is_close(msgspec.structs.astuple(one), msgspec.structs.astuple(other), near)
    if isinstance(one, tuple) and isinstance(other, tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_is_close(*pair, near) for pair in pairs)
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= max(near, _TOLERANCE * abs(one))
    return bool(one == other)


def _are_models_close(
    one: tuple[float, ...], other: tuple[float, ...], widths: Sequence[float]
) -> bool:
    """Return whether two models give all rows about the same scores."""
    if not len(one) == len(other) == len(widths):
        return False
    apart = sum(abs(a - b) * width for a, b, width in zip(one, other, widths, strict=True))
    return apart <= _MODEL_TOLERANCE * sum(abs(a) * b for a, b in zip(one, widths, strict=True))


def name_crowded(columns: Sequence[str], shares: Sequence[float], rows: str) -> str:
    """Describe the columns in which most rows share a cell; return an empty text without any."""
    crowded = [
        f"{100 * share:.3g} % of {rows} share one cell of '{clean_text(name)}'"
        for name, share in zip(columns, shares, strict=False)
        if share > CROWDED
    ]
    return join_names(crowded) if crowded else ""


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def rounded_or_none(number: float) -> float | None:
    """Return a number of a result, rounded; None for NaN and the infinite."""
    return float(f"{number:.{_DIGITS}g}") if math.isfinite(number) else None


def rounded_bracket(low: float, high: float, digits: int = _DIGITS) -> tuple[float, float] | None:
    """Return a bracket with its ends rounded outward, so that it still holds for certain."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    down, up = (Context(digits, rounding) for rounding in (ROUND_FLOOR, ROUND_CEILING))
    return float(down.create_decimal_from_float(low)), float(up.create_decimal_from_float(high))


def rounded_interval(low: float, high: float) -> tuple[float, float] | None:
    """Return an interval with rounded ends; None if an end is not finite."""
    first, second = rounded_or_none(low), rounded_or_none(high)
    return None if first is None or second is None else (first, second)
