"""Swarms of peers that report more often and end sooner: whoever waits for that waits less."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairgossip.swarm import processes, running


def use_brisk_peers(patch: pytest.MonkeyPatch) -> None:
    """Let swarms start such peers, and look at them as often."""
    script = Path(__file__).with_name("brisk_peer.py")
    patch.setattr(processes, "PROGRAM", ("-P", str(script)))
    patch.setattr(running, "_SECONDS_BETWEEN_READINGS", 0.1)
