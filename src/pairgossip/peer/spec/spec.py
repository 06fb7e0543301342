"""The specification of a run: what all members agree on, read from one strict TOML file.

Two files that mean the same have the same canonical text, whatever their order, spelling of
numbers and defaults left out; peers compare its hash. Where two differ, `differences` says how. The
other's text comes from a neighbor: it is read with care, and shown escaped and cut.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError, canonical
from pairgossip.files import LARGEST_TOML, parse_toml, read_bytes
from pairgossip.kernels import Combination, Kernel, as_kernel
from pairgossip.losses import (
    Ball,
    GeneralLoss,
    Loss,
    SquaredL2,
    adaptive,
    as_loss,
    as_proximal,
    inverse_sqrt,
)
from pairgossip.peer.protocol.rules import (
    AdaptiveAveraging,
    DualAveraging,
    PaperMixing,
    Rule,
    WeightedMixing,
)
from pairgossip.peer.protocol.state import picks_per_exchange
from pairgossip.peer.spec.checks import (
    ADAPTIVE,
    check_meaning,
    check_privacy,
    check_table,
    wrong_kind,
)

_MOST_SHOWN = 20
_LONGEST_SHOWN = 60


def differences(mine: str, theirs: str) -> list[str]:
    """Compare two canonical texts: one sentence for every key in which they differ."""
    try:
        other = json.loads(theirs)
    except (ValueError, RecursionError):
        other = None
    if not isinstance(other, dict):
        return ["Their specification cannot be read."]
    ours, others = dict(_entries(json.loads(mine))), dict(_entries(other))
    sentences = [
        f"{_shorten(json.dumps(key)[1:-1])} is {_format(ours.get(key))} here "
        f"but {_format(others.get(key))} there."
        for key in sorted(ours.keys() | others.keys())
        if not _is_same(ours.get(key), others.get(key))
    ]
    if (more := len(sentences) - _MOST_SHOWN) > 0:
        return [*sentences[:_MOST_SHOWN], f"There are {more} more differences."]
    return sentences


def _entries(table: dict[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Name every entry by its path; tables lie two deep in a specification."""
    for key, value in table.items():
        if isinstance(value, dict) and depth < 2:
            yield from _entries(value, f"{prefix}{key}.", depth + 1)
        else:
            yield f"{prefix}{key}", value


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values mean the same: null is as good as absent; true is not 1."""
    return type(one) is type(other) and bool(one == other)


def _format(value: Any) -> str:
    if value is None:
        return "absent"
    try:
        return _shorten(json.dumps(value))
    except (ValueError, RecursionError):
        return "unreadable"


def _shorten(escaped: str) -> str:
    """Cut JSON text, whose escapes leave nothing but delete for a terminal to obey."""
    plain = escaped.replace("\x7f", "?")
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}..."


LARGEST_TEXT = 60_000
"""Canonical text travels in every hello, whose frames have a limit."""
_Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""TOML may hold whole numbers so long that Python neither prints them nor makes floats of them."""


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file; a key it does not know is an error."""


class Algorithm(_Strict, frozen=True):
    """How members exchange."""

    mixing: str | None = None
    """How estimates are averaged, "weighted" or "paper"; None with a loss."""
    rate: float = 10.0
    """Exchanges per second and link."""


class Learning(_Strict, frozen=True):
    """How a model is learned.

    Step sizes of the paper's algorithm shrink with the time, whose unit is that in which a link
    rings once, from the end of the first unit on. A simulation on a graph of m edges counts m times
    as many exchanges, so there the same step is step / sqrt(m) once m exchanges were made; `train
    --spec` takes care of that.
    """

    step: float | str = ADAPTIVE
    """"adaptive", which needs no tuning, or the first step size of the paper's algorithm, which
    shrinks with the square root of the time."""
    radius: float | None = None
    """The largest norm of a model."""
    l2: float | None = None
    """The strength of the penalty on the squared norm."""


class Stop(_Strict, frozen=True):
    """When a peer may say that it is done; running on is always allowed."""

    error: float | None = None
    """The half-width of the gossip interval, relative to the estimate."""
    exchanges: _Whole | None = None
    enough: bool | None = None
    """Whether a gossip error of a tenth of the sampling error will do."""


class Privacy(_Strict, frozen=True):
    """How every member reports its rows instead of sending them: by randomized response."""

    epsilon: float
    """What one report may tell about its row."""
    bins: _Whole | tuple[_Whole, ...]
    """Into how many equal parts the range of each column is cut."""
    rounding: str = "bins"
    """To the middle of its bin, "bins", or at random to the ends of it, "stochastic"."""
    classes: tuple[float, ...] | None = None
    """The values of the label."""
    together: bool | None = None
    """Whether all columns are one report at the whole epsilon, or share it, a report each."""


class Spec(_Strict, frozen=True):
    """What all members of a run agree on."""

    columns: tuple[str, ...]
    ranges: dict[str, tuple[float, float]]
    """The least and the largest value of every column and of the label."""
    kernel: str | None = None
    loss: str | None = None
    label: str | None = None
    classes: tuple[str, ...] | None = None
    """What the label says in words, from the lowest to the highest: they count as 0, 1, ..."""
    target: str = "v"
    members: _Whole | None = None
    """How many rows all members have together."""
    algorithm: Algorithm = Algorithm()
    learning: Learning | None = None
    stop: Stop | None = None
    privacy: Privacy | None = None

    @property
    def observed(self) -> tuple[str, ...]:
        """The columns of an observation in order, the label last."""
        return self.columns if self.label is None else (*self.columns, self.label)

    @property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """Between which numbers the entries of a record lie, in their order.

        Under privacy a record holds the whole numbers of a report, one for each column.
        """
        if self.privacy is not None:
            from pairgossip.peer.spec.mechanism import mechanism_of

            return tuple(
                (float(low), float(high)) for low, high in mechanism_of(self).report_limits
            )
        return tuple(self.ranges[name] for name in self.observed)

    @property
    def text(self) -> str:
        """The canonical text: JSON with sorted keys, defaults filled in."""
        table = msgspec.to_builtins(self)
        return json.dumps(table, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @property
    def hash(self) -> str:
        """The SHA-256 of the canonical text, in hexadecimal."""
        return hash_of(self.text)

    @property
    def measure(self) -> Kernel | Combination | Loss | GeneralLoss:
        """The kernel or the loss itself."""
        return as_loss(self.loss) if self.kernel is None else as_kernel(self.kernel)

    def value(self, readout: FloatArray) -> float:
        """Combine the components that a rule reads out into the statistic; NaN if nothing yet."""
        return float(as_kernel(self.kernel).combine(readout))


def read_spec(path: str | PathLike[str]) -> Spec:
    """Read a specification, or say in one sentence what is wrong with it."""
    file = Path(path)
    try:
        return parse_spec(read_bytes(file, LARGEST_TOML).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text: save it as TOML in UTF-8.") from None
    except InputError as problem:
        if str(file) in str(problem):
            raise
        raise InputError(f"{file}: {problem}") from None


def parse_spec(text: str) -> Spec:
    """Make a specification of TOML text."""
    table = parse_toml(text)
    check_table(table, {name: set(kind.__struct_fields__) for name, kind in _TABLES.items()})
    try:
        spec = msgspec.convert(table, Spec)
    except msgspec.ValidationError as problem:
        raise wrong_kind(problem) from None
    spec = _canonical(spec)
    check_meaning(spec)
    check_privacy(spec)
    if len(spec.text) > LARGEST_TEXT:
        raise InputError("The specification is too long to be sent: use fewer or shorter columns.")
    return spec


_TABLES: dict[str, type[_Strict]] = {
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
    if spec.classes is not None:
        changes["ranges"][spec.label] = (0.0, len(spec.classes) - 1.0)
    if spec.kernel is not None:
        changes["kernel"] = as_kernel(spec.kernel).name
    if spec.loss is not None:
        changes["loss"] = as_loss(spec.loss).name
        changes["learning"] = _canonical_learning(spec.learning or Learning())
    if spec.loss is None and spec.algorithm.mixing is None:
        changes["algorithm"] = msgspec.structs.replace(spec.algorithm, mixing="weighted")
    if spec.stop is not None:
        stop = msgspec.structs.replace(spec.stop, enough=spec.stop.enough or None)
        changes["stop"] = None if stop == Stop() else stop
    if spec.privacy is not None:
        changes["privacy"] = _canonical_privacy(spec, spec.privacy)
    return msgspec.structs.replace(spec, **changes)


def _canonical_learning(learning: Learning) -> Learning:
    step = learning.step
    return msgspec.structs.replace(
        learning, step=canonical(step) if isinstance(step, str) else step
    )


def _canonical_privacy(spec: Spec, privacy: Privacy) -> Privacy:
    bins, classes, together = privacy.bins, privacy.classes, privacy.together
    if spec.classes is not None:
        classes = tuple(map(float, range(len(spec.classes))))
    if together is None:
        together = classes is not None
    return msgspec.structs.replace(
        privacy,
        bins=(bins,) * len(spec.columns) if isinstance(bins, int) else bins,
        rounding=privacy.rounding.lower(),
        classes=None if classes is None else tuple(sorted(one + 0.0 for one in classes)),
        together=together or len(spec.observed) == 1,
    )


def hash_of(text: str) -> str:
    """Return the SHA-256 of a canonical text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _debiased(spec: Spec) -> Any:
    """Return the kernel or the loss as a function of reports; None where rows are no reports."""
    if spec.privacy is None:
        return None  # and nothing of privacy is loaded into a small device
    from pairgossip.peer.spec.mechanism import debias_measure

    return debias_measure(spec)


def rule_for(spec: Spec, degree: int, rows: int, evicted_rows: int = 0) -> Rule:
    """Make the local update of a row, for a peer with this number of neighbors and rows.

    A row's weight is one over how often it is picked while a link rings once.
    """
    picked = max(degree, 1) / rows * picks_per_exchange(rows)
    if spec.learning is not None:
        loss = as_loss(spec.loss)
        radius, l2 = spec.learning.radius, spec.learning.l2
        proximal = as_proximal(
            None if radius is None else Ball(radius), None if l2 is None else SquaredL2(l2)
        )
        dimension = loss.dimension(len(spec.observed))
        if isinstance(spec.learning.step, str):
            scale = adaptive().scale
            return AdaptiveAveraging(loss, dimension, proximal.map_in_metric, scale, 1.0 / picked)
        return DualAveraging(
            loss=loss,
            dimension=dimension,
            prox=proximal.map,
            gamma=inverse_sqrt(spec.learning.step),
            probability=picked,
            debiased=_debiased(spec),
        )
    kernel, scale = as_kernel(spec.kernel), 1.0
    counts_own = spec.target == "v"
    if spec.members is not None and not counts_own:
        n = max(spec.members - evicted_rows, 2)
        scale = n / (n - 1)
    debiased = _debiased(spec)
    if spec.algorithm.mixing == "paper":
        return PaperMixing(kernel, scale, counts_own, debiased)
    return WeightedMixing(kernel, scale, counts_own, debiased, weight=1.0 / picked)
