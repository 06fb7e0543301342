"""A disk that remembers every commit, and forgets what was not synced when the power fails."""

from __future__ import annotations

import random
from collections.abc import Callable

from msgspec.structs import replace

from pairgossip.peer.protocol.state import Save, State
from tests.peer.audit import Violated


class Killed(Exception):
    """The process ends here, whatever it was about to do."""


class Disk:
    """Every state ever committed, and how many of them are safe from a power failure."""

    def __init__(self) -> None:
        self.commits: list[State] = []
        self.safe = 0
        self.point: Callable[[str], None] = lambda _: None
        """Called at every place where the process may be killed."""

    def load(self) -> State | None:
        return self.commits[-1] if self.commits else None

    def save(self, change: Save) -> None:
        self.point("before the write")
        if written(self.load(), change) != change.state:
            raise Violated(f"a save does not name all that changed: {change}")
        self.commits.append(change.state)
        self.point("written, not synced")
        if change.sync:
            self.sync()
            self.point("synced")

    def sync(self) -> None:
        self.safe = len(self.commits)

    @property
    def unsafe(self) -> int:
        """How many commits a power failure may undo."""
        return len(self.commits) - self.safe

    def lose_power(self, chance: random.Random) -> None:
        """Lose any suffix of what was not synced."""
        self.lose(chance.randint(0, self.unsafe))

    def lose(self, commits: int) -> None:
        """Lose the last commits; what is left is on the disk for good."""
        del self.commits[len(self.commits) - commits :]
        self.safe = len(self.commits)


def written(before: State | None, change: Save) -> State:
    """What a journal holds that writes only what a save names."""
    if before is None or change.everything:
        return change.state
    nodes = list(before.nodes)
    for number in change.nodes:
        nodes[number] = change.state.nodes[number]
    outcomes = dict(before.outcomes)
    if change.outcome_of is not None:
        outcomes[change.outcome_of] = change.state.outcomes[change.outcome_of]
    return replace(change.state, nodes=tuple(nodes), outcomes=outcomes)
