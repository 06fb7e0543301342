"""Sites that do not wait for the disk, and that find the same figures from the same table once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pairgossip.arrays import IntArray
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.sums.figures import find_estimate


@pytest.fixture(autouse=True, scope="session")
def _write_without_waiting() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _find_figures_once() -> Iterator[None]:
    known: dict[object, object] = {}

    def find_once(spec: Spec, numbers: IntArray) -> object:
        key = spec.text, numbers.tobytes()
        if key not in known:
            known[key] = find_estimate(spec, numbers)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairgossip.peer.sums.batches.find_estimate", find_once)
        yield
