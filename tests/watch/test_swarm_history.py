"""Estimates kept while peers are read again and again."""

from __future__ import annotations

import pytest

from pairgossip.watch.peers import history
from pairgossip.watch.peers.history import SwarmHistory
from pairgossip.watch.peers.source import Swarm

from .peers_to_watch import Scripted, told


def test_history_is_bounded_and_keeps_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_MOMENTS", 60)
    kept = SwarmHistory(Swarm("test", [Scripted("a", [told(k, float(k)) for k in range(500)])]))
    for _ in range(500):
        kept.read()
        assert len(kept.curves()[0]) <= 60
    seconds, (curve,) = kept.curves()
    assert curve[-1] == 499.0 and sorted(seconds) == seconds and len(seconds) == len(curve) > 25
    assert curve[0] == 0.0 or curve[0] < 60  # the beginning is not forgotten
