"""Sites that do not wait for the disk, and compute figures only once per table."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pairgossip.arrays import IntArray
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.sums.figures import find_estimate

_KNOWN: dict[object, object] = {}
"""Figures by specification and table."""


@pytest.fixture(autouse=True, scope="module")
def _write_without_waiting() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True, scope="module")
def _find_figures_once() -> Iterator[None]:
    def find_once(spec: Spec, numbers: IntArray) -> object:
        key = spec.text, numbers.tobytes()
        if key not in _KNOWN:
            _KNOWN[key] = find_estimate(spec, numbers)
        return _KNOWN[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairgossip.peer.sums.tables.find_estimate", find_once)
        yield
