"""The agreement of all members of a run: its keys, and what follows from them for any kind of run.

The types in `kinds` add what depends on the kind.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from pairgossip.arrays import FloatArray
from pairgossip.checks import MISSING, REFUSE
from pairgossip.errors import canonical, unknown_name
from pairgossip.kernels import Combination, Kernel, as_kernel
from pairgossip.losses import GeneralLoss, Loss, as_loss
from pairgossip.peer.specification.keys import (
    EXCHANGE,
    KERNEL,
    LOSS,
    SUMS,
    Key,
    Strict,
    Whole,
    or_none,
    sort_numbers,
    sort_values,
)
from pairgossip.peer.specification.tables import Algorithm, Learning, Privacy, Stop, SumsNoise

if TYPE_CHECKING:
    from pairgossip.counts.layouts import OrderQuestion
    from pairgossip.privacy import RandomizedResponse

_MOST_ROWS = 2**40
"""Largest number of rows of all members; more are refused."""
_LARGEST_FACTOR = 64
"""Largest code of a group or stratum, and largest weight, in a record; larger ones are refused."""
_ALWAYS_WRITTEN = frozenset((
    *("kernel", "loss", "label", "classes", "members", "learning", "stop", "privacy", "noise"),
    *("mixing", "bins", "rounds", "radius", "l2", "error", "exchanges", "enough", "together"),
    "honest",
))  # fmt: skip
"""Keys that a canonical text has even if they are absent; later keys would change old hashes."""
_COUNTS = Key(SUMS, KERNEL)
_FACTOR = _COUNTS._replace(
    noise_refusal="do not go together, since noise adds up over groups, strata and weights"
)


def link_name(one: str, other: str) -> str:
    """Return the name of the link of two members."""
    return " ".join(sorted((one, other)))


def _canonical_links(links: dict[str, float]) -> dict[str, float]:
    named = {link_name(*name.split()): weight for name, weight in links.items()}
    return {name: weight for name, weight in named.items() if weight != 1}


def _canonical_missing(text: str) -> str | None:
    missing = canonical(text)
    if missing not in MISSING:
        raise unknown_name("missing", text, MISSING)
    return None if missing == REFUSE else missing


def _canonical_stop(stop: Stop) -> Stop | None:
    return None if stop == Stop() else stop


class Spec(Strict, frozen=True):
    """The agreement of all members of a run; its type is the kind of run."""

    columns: tuple[str, ...]
    ranges: dict[str, tuple[float, float]]
    """The least and the largest value of every column and of the label."""
    kernel: str | None = None
    loss: str | None = None
    label: str | None = None
    classes: tuple[str, ...] | None = None
    """The words of the label, from the lowest to the highest; they stand for 0, 1, ..."""
    whole: Annotated[
        tuple[str, ...] | None,
        _COUNTS._replace(canonical=or_none(sort_values)),
    ] = None
    """The columns of whole numbers only, in which each number has its own cell."""
    by: Annotated[str | None, _FACTOR] = None
    """The column of groups, for each of which statistics are read separately."""
    groups: Annotated[tuple[str, ...] | None, _COUNTS] = None
    """The names of the groups."""
    within: Annotated[str | None, _FACTOR] = None
    """The column of strata; only pairs of rows in the same stratum count."""
    strata: Annotated[tuple[str, ...] | None, _COUNTS] = None
    """The names of the strata."""
    weight: Annotated[str | None, _FACTOR] = None
    """The column with the number of times that each row counts."""
    weights: Annotated[
        tuple[Whole, ...] | None,
        _COUNTS._replace(canonical=sort_values),
    ] = None
    """The values that the weight of a row may have, in ascending order."""
    missing: Annotated[
        str | None,
        Key(
            SUMS,
            canonical=_canonical_missing,
            discloses="Rows without an entry in one of these columns are left out at home, and "
            "nobody is told how many they are.",
        ),
    ] = None
    """"drop" to leave out rows that lack an entry in some column; None to refuse them."""
    report: Annotated[
        str | None,
        _COUNTS._replace(
            canonical=canonical,
            noise_refusal="do not go together, since a report is read from exact counts",
            discloses="The result is a report, '{}', whose file holds the counts that members "
            "learn: whoever is given it learns them too.",
        ),
    ] = None
    """The name of the report to read from the counts; None for no report."""
    thresholds: Annotated[
        tuple[float, ...] | None,
        _COUNTS._replace(canonical=or_none(sort_numbers)),
    ] = None
    """The thresholds of the report, each of which is an edge of a cell."""
    heterogeneity: Annotated[
        bool | None,
        _COUNTS._replace(
            canonical=or_none(bool),
            noise_refusal="do not go together, since noise would have to hide sites too",
        ),
    ] = None
    """Whether three more sums show how much sites differ; for kernel "auc" only."""
    target: Annotated[str, Key(canonical=str.lower)] = "v"
    members: Annotated[
        Annotated[int, msgspec.Meta(ge=2, le=_MOST_ROWS)] | None,
        Key(refusal="a run needs at least 2 rows in all."),
    ] = None
    """The number of rows of all members together."""
    links: Annotated[
        dict[str, float] | None,
        Key(
            EXCHANGE,
            elsewhere={SUMS: 'is for algorithm.name = "exchange", where links ring: remove it.'},
            canonical=or_none(_canonical_links),
        ),
    ] = None
    """The relative rate of each link, by the names of its two members as in "ann bob"; 1 for links
    that are not named. `pairgossip.networks.link_table` writes it.

    All members use the same weights, so no member can change them alone. But the author of the text
    can starve a member with them, and so can a silent neighbor at its heaviest link: SECURITY.md.
    """
    algorithm: Algorithm = Algorithm()
    learning: Annotated[
        Learning | None,
        Key(
            measure=LOSS,
            elsewhere={KERNEL: "is for a loss: remove the table from a run with a kernel."},
        ),
    ] = None
    stop: Annotated[
        Stop | None,
        Key(
            EXCHANGE,
            elsewhere={
                SUMS: "is not needed: sums end by themselves; remove the table, or let rows travel "
                'with algorithm.name = "exchange".'
            },
            canonical=_canonical_stop,
        ),
    ] = None
    privacy: Privacy | None = None
    noise: SumsNoise | None = None
    """The table [privacy] of a run on sums."""

    is_sums: ClassVar[bool] = False
    """Whether only sums over all members' rows become known."""
    is_counted: ClassVar[bool] = False
    """Whether a statistic is read from counts of rows."""
    has_noise: ClassVar[bool] = False
    """Whether members add noise to their counts."""
    is_private: ClassVar[bool] = False
    """Whether reports of rows travel instead of the rows."""

    @abstractmethod
    def check(self) -> None:
        """Raise `InputError` for values that a run of this kind cannot have."""

    @abstractmethod
    def leaves(self) -> list[str]:
        """Return sentences on what leaves a member's machine, and on what others learn."""

    def complete(self) -> Spec:
        """Fill in defaults that depend on other keys."""
        measure = {"kernel": None, "loss": None, KERNEL if self.loss is None else LOSS: self._name}
        ranges = {name: (low + 0.0, high + 0.0) for name, (low, high) in self.ranges.items()}
        if self.classes is not None and self.label is not None:
            ranges[self.label] = (0.0, len(self.classes) - 1.0)
        changes: dict[str, Any] = {**measure, "ranges": ranges}
        if self.loss is not None:
            changes["learning"] = self.learning or Learning()
        return msgspec.structs.replace(self, **changes)

    def with_defaults(self) -> Spec:
        """Fill in defaults that earlier versions did not have."""
        return self

    @property
    def _name(self) -> str:
        """The name of the kernel or the loss, as in the catalog."""
        return self.measure.name

    @property
    def least_sites(self) -> int:
        """The least number of members that count rows in blocks; 0 without blocks."""
        return 0

    @property
    def guarantee(self) -> str | None:
        """The promise about every row, in one sentence; None if there is no such promise."""
        return None

    @property
    def mechanism(self) -> RandomizedResponse | None:
        """The randomized response for every row; None where rows are used as they are."""
        return None

    @property
    def question(self) -> OrderQuestion | None:
        """The order statistic to read from sums; None for a kernel or a loss."""
        return None

    @property
    def least_members(self) -> int:
        """The least number of members of a run; an operator may require more."""
        return 2

    @property
    def reported_classes(self) -> tuple[float, ...] | None:
        """The values of the label that reports may have; None without reports."""
        return None

    def check_rows(self, rows: FloatArray) -> None:
        """Raise `InputError` for rows that cannot be contributed; their columns are `measured`."""
        # Rows of one class are no mistake here: others may have the other class.
        if self.label is None or (rows[1:, -1] != rows[:-1, -1]).any():
            self.measure.check(rows[:, 0] if rows.shape[1] == 1 else rows)

    @property
    def debiased(self) -> Any:
        """The kernel or the loss as a function of reports; None without reports."""
        return None

    @property
    def observed(self) -> tuple[str, ...]:
        """The columns of an observation: `measured`, then the group, the stratum and the weight."""
        return (*self.measured, *self.factors)

    @property
    def epsilon(self) -> float:
        """The epsilon that noise on counts spends; 0 without noise."""
        return 0.0

    @property
    def counted(self) -> tuple[str, ...]:
        """The columns whose values enter sums; none where rows travel."""
        return ()

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns of the kernel or loss in order, the label last."""
        return self.columns if self.label is None else (*self.columns, self.label)

    @property
    def factors(self) -> dict[str, tuple[str, ...] | tuple[int, ...]]:
        """The values of the columns by which rows are counted separately, other than the label."""
        listed = ((self.by, self.groups), (self.within, self.strata), (self.weight, self.weights))
        return {name: values or () for name, values in listed if name is not None}

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The words of the columns of words; they stand for 0, 1, ..."""
        listed = ((self.label, self.classes), (self.by, self.groups), (self.within, self.strata))
        return {name: words for name, words in listed if name is not None and words is not None}

    @property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """The least and the largest value of each entry of a record."""
        others = ((0.0, float(_LARGEST_FACTOR)) for _ in self.factors)
        return (*(self.ranges[name] for name in self.measured), *others)

    @property
    def text(self) -> str:
        """The canonical text: JSON with sorted keys and all defaults."""
        table = _leave_out(msgspec.to_builtins(self))
        return json.dumps(table, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def link_weight(self, one: str, other: str) -> float:
        """Return the relative rate of the link of two members, by their names."""
        return 1.0 if self.links is None else self.links.get(link_name(one, other), 1.0)

    @property
    def hash(self) -> str:
        """The SHA-256 of the canonical text, in hexadecimal."""
        return hash_of(self.text)

    @property
    def has_two_classes(self) -> bool:
        """Whether the kernel or the loss compares exactly two classes."""
        measure = self.measure
        if isinstance(measure, Kernel | Combination):
            return any(part.two_classes for part in measure.components)
        return measure.name.startswith("auc-")

    @property
    def measure(self) -> Kernel | Combination | Loss | GeneralLoss:
        """The kernel or the loss itself."""
        return as_loss(self.loss) if self.kernel is None else as_kernel(self.kernel)

    def value(self, readout: FloatArray) -> float:
        """Return the statistic of the components that a rule reads out; NaN if it has none yet."""
        return float(as_kernel(self.kernel).combine(readout))


def _leave_out(table: dict[str, Any]) -> dict[str, Any]:
    """Return the table without absent keys that earlier versions did not have."""
    return {
        name: _leave_out(value) if isinstance(value, dict) else value
        for name, value in table.items()
        if value is not None or name in _ALWAYS_WRITTEN
    }


def hash_of(text: str) -> str:
    """Return the SHA-256 of a canonical text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
