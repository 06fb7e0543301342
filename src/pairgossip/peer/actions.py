"""What an exchange asks of the world: to write down, to send, to be reminded."""

from __future__ import annotations

from typing import NamedTuple

from pairgossip.peer.messages import AnyMessage
from pairgossip.peer.state import State


class Send(NamedTuple):
    """Send a message to a neighbor; it may be lost."""

    to: str
    message: AnyMessage


class Save(NamedTuple):
    """Write this state down: the peer's own numbers, these nodes, this neighbor's outcome."""

    state: State
    """As it was when the action was decided: a later event may have changed it since."""
    sync: bool
    """Whether it must be on the disk before the next action."""
    nodes: tuple[int, ...] = ()
    outcome_of: str | None = None
    everything: bool = False
    own: tuple[tuple[float, ...], ...] | None = None
    """All rows of the peer's own from now on; None if they are as before."""


class RepeatLater(NamedTuple):
    """Call `Exchange.repeat` for this neighbor after a while, unless its answer comes first."""

    to: str


Action = Send | Save | RepeatLater
