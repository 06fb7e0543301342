"""A disk that remembers every commit, and forgets what was not synced when the power fails."""

from __future__ import annotations

import random
from collections.abc import Callable

from pairgossip.peer.protocol.state import Save, State
from tests.peer.audit import Violated


class Killed(Exception):
    """The process is killed here."""


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
        if not is_all_named(self.load(), change):
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


def is_all_named(before: State | None, change: Save) -> bool:
    """Return whether a save names all that differs from the state before."""
    if before is None or change.everything:
        return True
    after, named = change.state, change.outcome_of
    if len(before.nodes) != len(after.nodes):
        return False
    for number, (old, new) in enumerate(zip(before.nodes, after.nodes, strict=True)):
        if old is not new and number not in change.nodes and old != new:
            return False
    outcomes = before.outcomes
    if named is not None:
        outcomes = {**outcomes, named: after.outcomes[named]}
    return outcomes is after.outcomes or outcomes == after.outcomes
