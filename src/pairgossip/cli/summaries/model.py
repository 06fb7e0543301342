"""Trained scores on disk: one JSON object, read strictly."""

from __future__ import annotations

import json
import math
import platform
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.arrays import FloatArray


FORMAT = "pairgossip-model"
VERSION = 2


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
    """How it was learned; among others the step size's kind and scale, and the seed."""
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
        """Whether it orders two classes, rather than grades."""
        return self.loss.startswith("auc-")


def versions() -> dict[str, str]:
    """The versions a model was trained with."""
    import numpy as np

    from pairgossip import __version__

    return {
        "pairgossip": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def write_model(model: Model, path: Path) -> None:
    """Write a model; an existing file is replaced only once the new one is complete."""
    from pairgossip.files import write_text

    content = {"format": FORMAT, "version": VERSION, **asdict(model)}
    write_text(path, [json.dumps(content, indent=2, allow_nan=False), "\n"])


def read_model(path: Path) -> Model:
    """Read a model that `pairgossip train` wrote, or say in a sentence what is wrong with it."""
    from pairgossip.files import read_bytes

    try:
        content = json.loads(read_bytes(path), parse_constant=_refuse_constant)
    except InputError:
        raise
    except (ValueError, RecursionError):
        raise _no_model(path) from None
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise _no_model(path)
    version = content.pop("version", None)
    if version != VERSION:
        raise InputError(
            f"{path} is a model in format {version!r}, but this pairgossip reads {VERSION}: "
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


def ordered_share(scores: FloatArray, labels: FloatArray) -> float:
    """The share of pairs of different labels scored in order, ties half: of two, the AUC."""
    import numpy as np

    from pairgossip.kernels.closed_forms import comparable_total, concordant_total

    data = np.column_stack((scores, labels))
    return concordant_total(data, 0.5) / comparable_total(data)


def _is_sound(content: dict[str, Any]) -> bool:
    """Whether every entry is of its kind."""
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
    if not (len(classes) == 2 if content["loss"].startswith("auc-") else not texts):
        return False
    return (
        all(isinstance(name, str) for name in columns)
        and len(set(columns)) == len(columns)
        and all(map(_is_number, theta))
        and (texts or all(map(_is_number, classes)))
        and len(set(classes)) == len(classes)
    )


def _is_training(settings: dict[str, Any]) -> bool:
    """Whether settings tell how a model was learned: by a seed, or by a peer, which has none."""
    if isinstance(settings.get("peer"), str):
        return True
    seed, step = settings.get("seed"), settings.get("step")
    return type(seed) is int and isinstance(step, dict) and _is_number(step.get("scale"))


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
    return InputError(f"{path} is not a model written by pairgossip train.")
