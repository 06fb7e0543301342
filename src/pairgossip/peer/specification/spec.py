"""The specification of a run: what all members agree on, read from one strict TOML file.

Two files that mean the same have the same canonical text, whatever their order, spelling of
numbers and defaults left out; peers compare its hash. Where two differ, `differences` says how.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from pairgossip.arrays import FloatArray
from pairgossip.checks import MISSING, REFUSE
from pairgossip.errors import InputError, canonical, unknown_name
from pairgossip.files import LARGEST_TOML, parse_toml, read_bytes
from pairgossip.kernels import Combination, Kernel, as_kernel
from pairgossip.losses import GeneralLoss, Loss, as_loss
from pairgossip.peer.reports.catalog import name_kernel
from pairgossip.peer.specification.algorithm import (
    FACTORS,
    SUMS,
    check_algorithm_keys,
    check_measure_name,
    choose_algorithm,
)
from pairgossip.peer.specification.checks import (
    MOST_COUNTED,
    check_meaning,
    check_privacy,
    check_table,
    link_name,
    wrong_kind,
)
from pairgossip.peer.specification.differences import NOISE
from pairgossip.peer.specification.differences import differences as differences
from pairgossip.peer.specification.tables import (
    Algorithm,
    Learning,
    Privacy,
    Stop,
    Strict,
    SumsNoise,
    Whole,
)

if TYPE_CHECKING:
    from pairgossip.counts.layouts import OrderQuestion

_DEFAULT_ROUNDS = 100
"""Sums of a run that learns, at most, if the file does not say."""
_LEAST_CELL = 3
"""Least number of rows that is counted if the file does not say."""
LARGEST_TEXT = 60_000
"""Characters of a canonical text, which travels in every hello; a longer one is refused."""
_LATER = (
    *("whole", "links", *FACTORS, *FACTORS.values()),
    *("report", "thresholds", "missing", "heterogeneity"),
)
"""Keys that came later: they are in no canonical text unless given, so that hashes stay."""


class Spec(Strict, frozen=True):
    """The agreement of all members of a run."""

    columns: tuple[str, ...]
    ranges: dict[str, tuple[float, float]]
    """The least and the largest value of every column and of the label."""
    kernel: str | None = None
    loss: str | None = None
    label: str | None = None
    classes: tuple[str, ...] | None = None
    """The words of the label from the lowest to the highest; they count as 0, 1, ..."""
    whole: tuple[str, ...] | None = None
    """With sums and a kernel, columns that hold whole numbers only: each number has a bin."""
    by: str | None = None
    """With sums and a kernel, the column of groups, of which statistics are read by themselves."""
    groups: tuple[str, ...] | None = None
    """The groups, in words."""
    within: str | None = None
    """With sums and a kernel, the column of strata: only pairs of rows in the same one count."""
    strata: tuple[str, ...] | None = None
    """The strata, in words."""
    weight: str | None = None
    """With sums and a kernel, the column that says how often a row counts."""
    weights: tuple[Whole, ...] | None = None
    """How often rows may count, from the least on."""
    report: str | None = None
    """With sums and a kernel, what is published of the counts beside the statistic."""
    thresholds: tuple[float, ...] | None = None
    """Those agreed on for a report, at which cells end."""
    missing: str | None = None
    """"drop" for sums over rows with an entry in every column; None where others are refused."""
    heterogeneity: bool | None = None
    """With sums and kernel "auc", whether three sums over sites say how far these differ."""
    target: str = "v"
    members: Whole | None = None
    """How many rows all members have together."""
    links: dict[str, float] | None = None
    """Where rows travel, how often a link rings beside others, by the names of its two members as
    in "ann bob"; 1 for links that are not named. `pairgossip.networks.link_table` writes it.

    All members run the same weights, so none can change them alone; but whoever writes the text can
    starve a member by them, and whoever holds another's heaviest link can by silence: SECURITY.md.
    """
    algorithm: Algorithm = Algorithm()
    learning: Learning | None = None
    stop: Stop | None = None
    privacy: Privacy | None = None
    noise: SumsNoise | None = None
    """The table [privacy] of a run on sums."""

    @property
    def is_sums(self) -> bool:
        """Whether nothing but sums over all members' rows becomes known."""
        return self.algorithm.name == SUMS

    @property
    def rounds_sizes(self) -> bool:
        """Whether others are told rounded numbers of rows: where rows are counted once."""
        return self.is_sums and self.kernel is not None

    @property
    def observed(self) -> tuple[str, ...]:
        """The columns of an observation in order: the label, the group, the stratum, the weight."""
        return (*self.measured, *self.factors)

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns of the kernel or loss in order, the label last."""
        return self.columns if self.label is None else (*self.columns, self.label)

    @property
    def factors(self) -> dict[str, tuple[str, ...] | tuple[int, ...]]:
        """The values of the columns by which rows are counted apart, beside the label."""
        listed = ((self.by, self.groups), (self.within, self.strata), (self.weight, self.weights))
        return {name: values or () for name, values in listed if name is not None}

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The words of the columns that hold words; they count as 0, 1, ..."""
        listed = ((self.label, self.classes), (self.by, self.groups), (self.within, self.strata))
        return {name: words for name, words in listed if name is not None and words is not None}

    @property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """Between which numbers the entries of a record lie, in their order.

        Under privacy a record holds the whole numbers of a report, one for each column.
        """
        if self.privacy is not None:
            from pairgossip.peer.specification.mechanism import mechanism_of

            return tuple(
                (float(low), float(high)) for low, high in mechanism_of(self).report_limits
            )
        counted = ((0.0, float(MOST_COUNTED)) for _ in self.factors)
        return (*(self.ranges[name] for name in self.measured), *counted)

    @property
    def text(self) -> str:
        """The canonical text: JSON with sorted keys, defaults filled in."""
        table = msgspec.to_builtins(self)
        for later in _LATER:
            if table[later] is None:
                del table[later]
        if table["algorithm"]["least_cell"] is None:
            del table["algorithm"]["least_cell"]
        return json.dumps(table, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def link_weight(self, one: str, other: str) -> float:
        """Return how often the link of two members, by name, rings beside others."""
        return 1.0 if self.links is None else self.links.get(link_name(one, other), 1.0)

    @property
    def hash(self) -> str:
        """The SHA-256 of the canonical text, in hexadecimal."""
        return hash_of(self.text)

    @property
    def has_two_classes(self) -> bool:
        """Whether the kernel or the loss compares two classes, and no more."""
        measure = self.measure
        if isinstance(measure, Kernel | Combination):
            return any(part.two_classes for part in measure.components)
        return measure.name.startswith("auc-")

    @property
    def measure(self) -> Kernel | Combination | Loss | GeneralLoss:
        """The kernel or the loss itself."""
        if self.kernel is None:
            return as_loss(self.loss)
        asked = _order_question(self)
        return as_kernel(self.kernel) if asked is None else asked.column_model

    def leaves(self) -> list[str]:
        """Say in sentences what a run sends from a member's machine."""
        from pairgossip.peer.specification.disclosure import describe_disclosure

        return describe_disclosure(self)

    def value(self, readout: FloatArray) -> float:
        """Combine the components that a rule reads out into the statistic; NaN if nothing yet."""
        return float(as_kernel(self.kernel).combine(readout))


def read_spec(path: str | PathLike[str]) -> Spec:
    """Read a specification, or say in one sentence what is wrong with it."""
    file = Path(path)
    content = read_bytes(file, LARGEST_TOML)
    try:
        return parse_spec(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text: save it as TOML in UTF-8.") from None
    except InputError as problem:
        raise problem.at(file) from None


def parse_unchecked(text: str) -> Spec:
    """Make a canonical specification of TOML text, whether or not this version would run it."""
    table = name_kernel(parse_toml(text))
    chosen = choose_algorithm(table)
    is_sums = chosen == SUMS
    tables = dict(_TABLES)
    if is_sums:
        tables["privacy"] = SumsNoise
    keys_by_table = {name: set(kind.__struct_fields__) for name, kind in tables.items()}
    keys_by_table[""].discard(NOISE)
    check_measure_name(table)
    check_algorithm_keys(table, is_sums=is_sums)
    check_table(table, keys_by_table)
    if isinstance(algorithm := table.get("algorithm", {}), Mapping):
        table = {**table, "algorithm": {"name": chosen, **algorithm}}
    if is_sums and "privacy" in table:
        table = {**table, NOISE: table["privacy"], "privacy": None}
    try:
        spec = msgspec.convert(table, Spec)
    except msgspec.ValidationError as problem:
        raise wrong_kind(problem) from None
    return _canonical(spec)


def parse_spec(text: str) -> Spec:
    """Make a specification of TOML text."""
    spec = parse_unchecked(text)
    if spec.is_sums and spec.kernel is not None and spec.noise is None:
        least = spec.algorithm.least_cell
        least = _LEAST_CELL if least is None else least  # version 0.2 counted cells as they are
        spec = replace(spec, algorithm=replace(spec.algorithm, least_cell=least))
    check_meaning(spec)
    if spec.is_sums:
        from pairgossip.peer.specification.sums_checks import check_sums

        check_sums(spec)
    else:
        check_privacy(spec)
    if len(spec.text) > LARGEST_TEXT:
        raise InputError("The specification is too long to be sent: use fewer or shorter columns.")
    return spec


_TABLES: dict[str, type[Strict]] = {
    "": Spec,
    "algorithm": Algorithm,
    "learning": Learning,
    "stop": Stop,
    "privacy": Privacy,
}


def _canonical(spec: Spec) -> Spec:
    """Write every choice the one way: names as in the catalogs, defaults in full, no minus zero."""
    changes: dict[str, Any] = {
        "ranges": {name: (low + 0.0, high + 0.0) for name, (low, high) in spec.ranges.items()},
        "target": spec.target.lower(),
    }
    if spec.whole is not None:
        changes["whole"] = tuple(sorted(set(spec.whole))) or None
    if spec.weights is not None:
        changes["weights"] = tuple(sorted(set(spec.weights)))
    if spec.heterogeneity is not None:
        changes["heterogeneity"] = spec.heterogeneity or None
    if spec.links is not None:
        links = {link_name(*name.split()): weight for name, weight in spec.links.items()}
        changes["links"] = {name: weight for name, weight in links.items() if weight != 1} or None
    if spec.report is not None:
        changes["report"] = canonical(spec.report)
    if spec.thresholds is not None:
        changes["thresholds"] = tuple(sorted({one + 0.0 for one in spec.thresholds})) or None
    if spec.missing is not None:
        changes["missing"] = _canonical_missing(spec.missing)
    if spec.classes is not None:
        changes["ranges"][spec.label] = (0.0, len(spec.classes) - 1.0)
    if spec.kernel is not None:
        asked = _order_question(spec)
        changes["kernel"] = (asked or as_kernel(spec.kernel)).name
    if spec.loss is not None:
        changes["loss"] = as_loss(spec.loss).name
        learning = spec.learning or Learning()
        step = canonical(learning.step) if isinstance(learning.step, str) else learning.step
        changes["learning"] = replace(learning, step=step)
    changes["algorithm"] = _canonical_algorithm(spec)
    if spec.stop is not None:
        stop = replace(spec.stop, enough=spec.stop.enough or None)
        changes["stop"] = None if stop == Stop() else stop
    if spec.privacy is not None:
        changes["privacy"] = _canonical_privacy(spec, spec.privacy)
    return replace(spec, **changes)


def _order_question(spec: Spec) -> OrderQuestion | None:
    """Return the statistic of order that sums are asked for; None for a kernel."""
    if not spec.is_sums:
        return None  # and nothing of sums is loaded into a small device
    from pairgossip.counts.layouts import find_order_question

    return find_order_question(str(spec.kernel))


def _canonical_missing(given: str) -> str | None:
    missing = canonical(given)
    if missing not in MISSING:
        raise unknown_name("missing", given, MISSING)
    return None if missing == REFUSE else missing


def _canonical_algorithm(spec: Spec) -> Algorithm:
    algorithm = replace(spec.algorithm, name=canonical(spec.algorithm.name))
    if algorithm.name == SUMS:
        rounds = algorithm.rounds or (_DEFAULT_ROUNDS if spec.loss is not None else None)
        return replace(algorithm, rounds=rounds)
    if spec.loss is None and algorithm.mixing is None:
        return replace(algorithm, mixing="weighted")
    return algorithm


def _canonical_privacy(spec: Spec, privacy: Privacy) -> Privacy:
    bins, classes, together = privacy.bins, privacy.classes, privacy.together
    if spec.classes is not None:
        classes = tuple(map(float, range(len(spec.classes))))
    if together is None:
        together = classes is not None
    return replace(
        privacy,
        bins=(bins,) * len(spec.columns) if isinstance(bins, int) else bins,
        rounding=privacy.rounding.lower(),
        classes=None if classes is None else tuple(sorted(one + 0.0 for one in classes)),
        together=together or len(spec.observed) == 1,
    )


def hash_of(text: str) -> str:
    """Return the SHA-256 of a canonical text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
