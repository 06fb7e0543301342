"""Swarms of peers that report more often and end sooner, which saves waiting time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.swarm import exchange, running, study_crew

if TYPE_CHECKING:
    import pytest

BRISK = ("-P", str(Path(__file__).with_name("brisk_peer.py")))
"""Arguments of Python, before the folder, that run such a peer."""
_MEMBER = ("-P", str(Path(__file__).with_name("brisk_member.py")))
"""The same for a study's member, before the module that runs it."""


def use_brisk_peers(patch: pytest.MonkeyPatch) -> None:
    """Let swarms start such peers, and check them as often."""
    patch.setattr(exchange, "PROGRAM", BRISK)
    patch.setattr(study_crew, "PROGRAM", (*_MEMBER, "pairgossip.study.__main__"))
    patch.setattr(study_crew, "DETOURED", (*_MEMBER, "pairgossip.swarm.member"))
    patch.setattr(running, "_SECONDS_BETWEEN_READINGS", 0.1)
