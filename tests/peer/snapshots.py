"""Rows of a site, and their releases, for tests of the register."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.registers import Outcome
from pairgossip.peer.bookkeeping.releases import find_releases, prepare_release, tell_release
from pairgossip.peer.bookkeeping.snapshots import Snapshot

ROWS = 140
RNG = np.random.default_rng(8)
RISK, DIED = RNG.random(ROWS), (RNG.random(ROWS) < 0.3).astype(float)
OTHERS = RNG.random(ROWS)


def snapshot(data: Path, risk: FloatArray = RISK, name: str = "risk", **more: object) -> Snapshot:
    return Snapshot(data, {name: risk}, {"died": DIED[: len(risk)]}, **more)  # type: ignore[arg-type]


def prepare(given: Snapshot, study: str = "first", peer: str = "ann", **rule: Any) -> str:
    places, table = registers_of(given.source), "/peer/tables/1"
    return prepare_release(places, given, study, table=table, peer=peer, **rule)


def note(
    given: Snapshot,
    study: str = "first",
    outcome: Outcome = "bit",
    **rule: Any,
) -> str:
    key = prepare(given, study, **rule)
    each: tuple[Outcome, ...] = ("bit", outcome)
    for one in each:
        tell_release(registers_of(given.source), key, one)
    return key


def count(given: Snapshot) -> list[int | None]:
    return [one.rows for one in find_releases(registers_of(given.source), given)]
