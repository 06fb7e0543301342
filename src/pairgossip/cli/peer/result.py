"""`pairgossip peer result`: what a peer has found, as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell
from pairgossip.cli.outputs import check_outputs
from pairgossip.cli.peer.setup import find_home
from pairgossip.cli.summaries.model import Model, versions, write_model
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.peer.service.assembly import PeerSnapshot
    from pairgossip.peer.service.status import Ended
    from pairgossip.peer.spec.spec import Spec

FORMAT = "pairgossip-result"


def result_command(*, out: Path, home: Path | None = None, generation: int | None = None) -> None:
    """Write what the peer has found: a statistic, or a model that `pairgossip score` reads.

    It is read from the peer's durable state, so the peer may be running or not; it goes on. What
    earlier generations had found when they ended is in the file too.

    For example:

        pairgossip peer result --out model.json

    Parameters
    ----------
    out
        The JSON file to write.
    home
        The peer's folder; by default this one, or the only peer's in it.
    generation
        Write what this generation had found when it ended; the first is 1. By default what the
        present one has found.
    """
    from pairgossip.files import write_text
    from pairgossip.peer.service.assembly import read_snapshot

    place = find_home(home)
    check_outputs([out])
    seen = read_snapshot(place)
    found = _now(seen) if generation is None else _then(seen, generation)
    if _is_score(seen.spec, found.estimate):
        write_model(_model(seen, found), out)
    else:
        write_text(out, [json.dumps(_told(seen, found), indent=2, allow_nan=False), "\n"])
    tell(f"Wrote {out}")


def _now(seen: PeerSnapshot) -> Ended:
    """Return what the present generation has found so far."""
    import msgspec

    from pairgossip.peer.service.status import ended_generation, interval_of, status_of

    shown = seen.status()
    told = status_of(seen.context, seen.state)
    interval = interval_of(seen.context, seen.state, shown)
    found = ended_generation(msgspec.structs.replace(told, interval=interval, covers=shown.covers))
    if found is None and shown.ended:
        last = shown.ended[-1].generation
        raise InputError(
            f"This peer has made no exchange yet in generation {told.generation}: run it, or give "
            f"--generation {last} for what that one had found."
        )
    if found is None:
        raise InputError("This peer has made no exchange yet: run it, then ask again.")
    return found


def _then(seen: PeerSnapshot, generation: int) -> Ended:
    """Return what a generation had found when it ended."""
    from pairgossip.peer.protocol.messages import ordinal
    from pairgossip.peer.service.status import read_ended

    now = ordinal(seen.state.generation)
    if generation == now:
        return _now(seen)
    ended = {one.generation: one for one in read_ended(seen.home.ended, now)}
    if generation not in ended:
        known = ", ".join(map(str, [*ended, now]))
        raise InputError(f"--generation is {generation}: what is known is of {known}.")
    return ended[generation]


def _is_score(spec: Spec, estimate: tuple[float, ...]) -> bool:
    return spec.loss is not None and len(estimate) == len(spec.columns)


def _told(seen: PeerSnapshot, found: Ended) -> dict[str, object]:
    import msgspec

    spec = seen.spec
    ended = [msgspec.to_builtins(one) for one in seen.status().ended]
    entries = {"kernel": spec.kernel, "loss": spec.loss, "columns": list(spec.columns)}
    return {
        "format": FORMAT,
        "version": 1,
        **{name: value for name, value in entries.items() if value is not None},
        "label": spec.label,
        "target": spec.target,
        "estimate": found.estimate[0] if spec.kernel is not None else list(found.estimate),
        "interval": found.interval,
        "exchanges": found.exchanges,
        "generation": found.generation,
        "evicted": list(found.evicted),
        "covers": msgspec.to_builtins(found.covers),
        "ended": [one for one in ended if one["generation"] < found.generation],
        "spec": spec.hash,
        **_privacy(seen),
        "versions": versions(),
    }


def _privacy(seen: PeerSnapshot) -> dict[str, object]:
    """Say what is promised about the rows, and by how much that may have moved the estimate."""
    if seen.spec.privacy is None:
        return {}
    from pairgossip.peer.service.privacy_noise import noise_of
    from pairgossip.peer.service.status import guarantee_of

    return {"privacy": guarantee_of(seen.spec), "privacy_noise": noise_of(seen)}


def _model(seen: PeerSnapshot, found: Ended) -> Model:
    import msgspec

    spec = seen.spec
    assert spec.loss is not None and spec.label is not None
    # A peer knows its own labels; of two classes all know the range, under privacy of all.
    own = sorted({row[-1] for row in seen.context.own})
    if spec.privacy is not None and spec.privacy.classes is not None:
        own = list(spec.privacy.classes)
    classes = list(spec.ranges[spec.label]) if spec.loss.startswith("auc-") else own
    return Model(
        loss=spec.loss,
        columns=list(spec.columns),
        theta=list(found.estimate),
        label=spec.label,
        classes=classes,
        settings={
            "peer": seen.identity.name,
            "exchanges": found.exchanges,
            "generation": found.generation,
            "spec": msgspec.to_builtins(spec),
        },
        versions=versions(),
    )
