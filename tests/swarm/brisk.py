"""Swarms of peers that report more often and end sooner: whoever waits for that waits less."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.swarm import exchange, running, study_crew

if TYPE_CHECKING:
    import pytest

BRISK = ("-P", str(Path(__file__).with_name("brisk_peer.py")))
"""What Python is given, before the folder, to run such a peer."""
_MEMBER = ("-P", str(Path(__file__).with_name("brisk_member.py")))
"""The same of a study's member, before the module that it is run by."""


def use_brisk_peers(patch: pytest.MonkeyPatch) -> None:
    """Let swarms start such peers, and look at them as often."""
    patch.setattr(exchange, "PROGRAM", BRISK)
    patch.setattr(study_crew, "PROGRAM", (*_MEMBER, "pairgossip.study.__main__"))
    patch.setattr(study_crew, "DETOURED", (*_MEMBER, "pairgossip.swarm.member"))
    patch.setattr(running, "_SECONDS_BETWEEN_READINGS", 0.1)
