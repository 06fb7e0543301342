"""`pairgossip peer result`: what a peer has found, as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell
from pairgossip.cli.model_file import Model, versions, write_model
from pairgossip.cli.outputs import check_outputs
from pairgossip.cli.peer.place import found_home
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.peer.spec import Spec
    from pairgossip.peer.view import View

FORMAT = "pairgossip-result"


def result_command(*, out: Path, home: Path | None = None) -> None:
    """Write what the peer has found: a statistic, or a model that `pairgossip score` reads.

    It is read from the peer's durable state, so the peer may be running or not; it goes on.

    For example:

        pairgossip peer result --out model.json

    Parameters
    ----------
    out
        The JSON file to write.
    home
        The peer's folder; by default this one, or the only peer's in it.
    """
    from pairgossip.files import write_text
    from pairgossip.peer.status import estimate_of
    from pairgossip.peer.view import view

    place = found_home(home)
    check_outputs([out])
    seen = view(place)
    estimate = estimate_of(seen.spec, seen.setting, seen.state)
    if estimate is None:
        raise InputError("This peer has made no exchange yet: run it, then ask again.")
    if _is_score(seen.spec, estimate):
        write_model(_model(seen, estimate), out)
    else:
        write_text(out, [json.dumps(_found(seen, estimate), indent=2, allow_nan=False), "\n"])
    tell(f"Wrote {out}")


def _is_score(spec: Spec, estimate: tuple[float, ...]) -> bool:
    return spec.loss is not None and len(estimate) == len(spec.columns)


def _found(seen: View, estimate: tuple[float, ...]) -> dict[str, object]:
    import msgspec

    from pairgossip.peer.status import interval_of, status_of

    spec, state = seen.spec, seen.state
    told = status_of(seen.identity.name, spec, seen.members, seen.setting, state)
    entries = {"kernel": spec.kernel, "loss": spec.loss, "columns": list(spec.columns)}
    return {
        "format": FORMAT,
        "version": 1,
        **{name: value for name, value in entries.items() if value is not None},
        "label": spec.label,
        "target": spec.target,
        "estimate": estimate[0] if spec.kernel is not None else list(estimate),
        "interval": interval_of(seen.members, seen.setting, state, seen.status()),
        "exchanges": state.exchanges,
        "generation": told.generation,
        "evicted": list(told.evicted),
        "covers": msgspec.to_builtins(seen.status().covers),
        "spec": spec.hash,
        **_privacy(seen),
        "versions": versions(),
    }


def _privacy(seen: View) -> dict[str, object]:
    """Say what is promised about the rows, and by how much that may have moved the estimate."""
    if seen.spec.privacy is None:
        return {}
    from pairgossip.peer.privacy_noise import noise_of
    from pairgossip.peer.status import guarantee_of

    return {"privacy": guarantee_of(seen.spec), "privacy_noise": noise_of(seen)}


def _model(seen: View, theta: tuple[float, ...]) -> Model:
    import msgspec

    spec = seen.spec
    assert spec.loss is not None and spec.label is not None
    # A peer knows its own labels; of two classes all know the range, under privacy of all.
    own = sorted({row[-1] for row in seen.setting.own})
    if spec.privacy is not None and spec.privacy.classes is not None:
        own = list(spec.privacy.classes)
    classes = list(spec.ranges[spec.label]) if spec.loss.startswith("auc-") else own
    return Model(
        loss=spec.loss,
        columns=list(spec.columns),
        theta=list(theta),
        label=spec.label,
        classes=classes,
        settings={
            "peer": seen.identity.name,
            "exchanges": seen.state.exchanges,
            "spec": msgspec.to_builtins(spec),
        },
        versions=versions(),
    )
