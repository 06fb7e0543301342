"""Seeded runs give the numbers they gave when they were recorded."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from pairgossip.arrays import FloatArray
from tests.golden import FILE, cases, digest, exchange, machine, outline
from tests.peer.golden import SCRIPTS

RECORDED = json.loads(FILE.read_text())
CASES = dict(cases())


def test_every_recorded_run_is_made_again() -> None:
    assert CASES.keys() == RECORDED["results"].keys()
    assert SCRIPTS.keys() == RECORDED["exchanges"].keys()


@pytest.mark.parametrize(("name", "numbers"), CASES.items(), ids=CASES)
def test_a_seeded_run_gives_the_recorded_bits(name: str, numbers: Callable[[], FloatArray]) -> None:
    recorded, found = RECORDED["results"][name], numbers()
    scale = recorded["outline"][1]
    np.testing.assert_allclose(outline(found), recorded["outline"], rtol=0, atol=1e-9 * scale)
    if machine() == RECORDED["machine"]:  # other processors round otherwise
        assert digest(found) == recorded["bits"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_scripted_exchange_gives_the_recorded_frames_and_rows(name: str) -> None:
    assert exchange(name) == RECORDED["exchanges"][name]
