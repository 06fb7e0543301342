"""Requests of an operator to contribute to a further sum, which the peer takes up when it runs.

A request names the generation that the operator saw. It is a file in the peer's folder, so that it
survives a crash, and is there whether or not the peer runs.
"""

from __future__ import annotations

from pathlib import Path

from pairgossip.peer.protocol.messages import is_generation
from pairgossip.peer.storage.folder import Home, list_requests, write_request


def request_agreement(home: Home, generation: str) -> Path:
    """Agree to all changes of a generation; return the file that goes away once it is done."""
    return write_request(home.agreements / generation)


def requested_agreements(home: Home) -> tuple[str, ...]:
    """Return the generations that were agreed to."""
    return list_requests(home.agreements, is_generation)


def forget_agreement(home: Home, generation: str) -> None:
    """Remove a request that was taken up, or came too late."""
    (home.agreements / generation).unlink(missing_ok=True)
