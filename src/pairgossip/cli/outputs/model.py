"""Files of trained models: linear scores of `train` and of peers, read by `score`."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip.errors import InputError
from pairgossip.files import read_bytes, write_json_file

if TYPE_CHECKING:
    from pairgossip.arrays import FloatArray
    from pairgossip.peer.specification.spec import Spec
    from pairgossip.peer.sums.results import Result


_FORMAT = "pairgossip-model"
_VERSION = 2
_SIGNED = "pairgossip-signed-result"
"""The format of results that members sign, spelled out so that a model loads nothing of peers."""


@dataclass(frozen=True)
class Model:
    """A linear score, and how it was learned."""

    loss: str
    columns: list[str]
    """The columns of features, in the order of theta."""
    theta: list[float]
    label: str
    """The column that held the labels."""
    classes: list[str] | list[float]
    """The labels seen in training, from the lowest to the highest."""
    settings: dict[str, Any]
    """The settings of its training, such as the method, its step or schedule, and the seed."""
    versions: dict[str, str]

    def scores(self, features: FloatArray) -> FloatArray:
        """Return the scores of rows whose columns are those of the model."""
        import numpy as np

        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.asarray(features @ np.array(self.theta))
        if not np.isfinite(scores).all():
            raise InputError("The scores leave the floating range: rescale the features.")
        return scores

    @property
    def is_bipartite(self) -> bool:
        """Whether the score orders two classes, rather than grades."""
        return self.loss.startswith("auc-")


def versions() -> dict[str, str]:
    """Return the versions of the software that trains a model."""
    import numpy as np

    from pairgossip import __version__

    return {
        "pairgossip": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def specified_model(
    spec: Spec, theta: Sequence[float], labels: list[float], settings: dict[str, Any]
) -> Model:
    """Return the model of a run by specification; ``labels`` are its classes if it has none."""
    import msgspec

    assert spec.loss is not None and spec.label is not None
    classes: list[Any] = labels
    if spec.classes is not None:
        classes = list(spec.classes)
    elif spec.loss.startswith("auc-"):
        classes = list(spec.ranges[spec.label])
    elif spec.reported_classes is not None:
        classes = list(spec.reported_classes)
    return Model(
        loss=spec.loss,
        columns=list(spec.columns),
        theta=list(theta),
        label=spec.label,
        classes=classes,
        settings={**settings, "spec": msgspec.to_builtins(spec)},
        versions=versions(),
    )


def signed_model(result: Result, settings: dict[str, Any]) -> Model:
    """Return the model in a result of sums; raise `InputError` if it holds none."""
    from pairgossip.peer.specification.canonical_text import restore_spec
    from pairgossip.peer.sums.labels import label_values

    if result.model is None:
        raise InputError("It holds a statistic and no model: give the result of a run on a loss.")
    spec = restore_spec(result.specification)
    if spec.loss is None or len(result.model) != len(spec.columns):
        raise InputError("Its model does not fit its specification: ask for the original.")
    labels = label_values(spec).tolist()
    return specified_model(spec, result.model, labels, {**settings, "generation": result.ordinal})


def write_model(model: Model, path: Path) -> None:
    """Write a model; an existing file is replaced only once the new one is complete."""
    content = {"format": _FORMAT, "version": _VERSION, **asdict(model)}
    write_json_file(path, content)


def read_model(path: Path) -> Model:
    """Read a model that `pairgossip train` wrote; raise `InputError` if something is wrong with it.

    A model that members of a network have signed is read only if all signatures are genuine.
    """
    try:
        content = json.loads(read_bytes(path), parse_constant=_refuse_constant)
    except InputError:
        raise
    except (ValueError, RecursionError):
        raise _no_model(path) from None
    kind = content.pop("format", None) if isinstance(content, dict) else None
    if kind == _SIGNED:
        return _read_signed_model(path)
    if kind != _FORMAT:
        raise _no_model(path)
    version = content.pop("version", None)
    if version != _VERSION:
        raise InputError(
            f"{path} is a model in format {version!r}, but this pairgossip reads {_VERSION}: "
            "train it again, or upgrade pairgossip."
        )
    if content.keys() != {field.name for field in fields(Model)} or not _is_sound(content):
        raise InputError(f"{path} is a damaged model: train it again with pairgossip train.")
    parameters, columns = len(content["theta"]), len(content["columns"])
    if parameters != columns:
        raise InputError(
            f"{path} has {parameters} parameters for {columns} columns: "
            "train it again with pairgossip train."
        )
    return Model(**content)


def _read_signed_model(path: Path) -> Model:
    """Read the model in a file of `peer result --json`, once its signatures are checked."""
    from pairgossip.peer.signed_result import check_signed

    checked = check_signed(path)
    checked.require_all()
    try:
        return signed_model(checked.result, {"members": len(checked.signed)})
    except InputError as problem:
        raise problem.at(path) from None


def _is_sound(content: dict[str, Any]) -> bool:
    """Return whether every entry of a model file has its type and a possible value."""
    columns, theta, classes = (content[name] for name in ("columns", "theta", "classes"))
    lists = (columns, theta, classes)
    if not all(isinstance(entries, list) and entries for entries in lists):
        return False
    if not all(isinstance(content[name], str) for name in ("loss", "label")):
        return False
    if not all(isinstance(content[name], dict) for name in ("settings", "versions")):
        return False
    if not _is_training(content["settings"]):
        return False
    texts = all(isinstance(entry, str) for entry in classes)
    if content["loss"].startswith("auc-") and len(classes) != 2:
        return False
    return (
        all(isinstance(name, str) for name in columns)
        and len(set(columns)) == len(columns)
        and all(map(_is_number, theta))
        and (texts or all(map(_is_number, classes)))
        and len(set(classes)) == len(classes)
    )


def _is_training(settings: dict[str, Any]) -> bool:
    """Return whether settings name the members that learned a model, or a seed and a step."""
    if isinstance(settings.get("peer"), str) or type(settings.get("members")) is int:
        return True
    if type(settings.get("seed")) is not int:
        return False
    step = settings.get("step")
    has_step = isinstance(step, dict) and _is_number(step.get("scale"))
    return has_step or settings.get("method") == "sketch"


def _is_number(entry: Any) -> bool:
    if isinstance(entry, bool) or not isinstance(entry, int | float):
        return False
    try:
        return math.isfinite(entry)
    except OverflowError:  # a whole number beyond the floating range
        return False


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _no_model(path: Path) -> InputError:
    return InputError(f"{path} is not a model written by pairgossip train or peer result.")


def ordered_share(scores: FloatArray, labels: FloatArray) -> float:
    """Return the share of pairs of different labels in order, ties half; for two labels the AUC."""
    import numpy as np

    from pairgossip.kernels.builtin.ranks import comparable_total, concordant_total

    data = np.column_stack((scores, labels))
    return concordant_total(data, 0.5) / comparable_total(data)
