"""Misfortune in due amount: kills, freezes and cut links, at moments that a seed decides."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from pairgossip.errors import InputError
from pairgossip.swarm.links import FaultyLinks, Link
from pairgossip.swarm.processes import DOWN, FROZEN, UP, PeerProcess, may_start

KINDS = ("kills", "freezes", "partitions")
MEAN_ABSENCE = 0.5
MEAN_FREEZE = 2.5
"""Seconds; some freezes are longer than the network takes to give a neighbor up, some shorter."""
MEAN_CUT = 3.0
LONGEST = 12.0


@dataclass(frozen=True)
class Faults:
    """How many misfortunes there will be, and over how many seconds they are spread."""

    kills: int
    freezes: int
    partitions: int
    window: float

    def __post_init__(self) -> None:
        for name in KINDS:
            if getattr(self, name) < 0:
                raise InputError(f"The number of {name} is {getattr(self, name)}: give 0 or more.")


def usual_faults(window: float) -> Faults:
    """Return as many as keep a network from ever being at rest."""
    return Faults(
        kills=max(1, round(window / 2)),
        freezes=max(1, round(window / 5)),
        partitions=max(1, round(window / 10)),
        window=window,
    )


class Chaos:
    """Carries the misfortunes out; `step` is to be called often.

    Parameters
    ----------
    faults
        How many.
    peers, links, edges
        Whom they befall: the peers, the links that can be cut, which peers they join.
    chance
        Draws the moments and the victims.
    begin
        When it begins, in monotonic seconds.
    """

    def __init__(
        self,
        faults: Faults,
        peers: list[PeerProcess],
        links: FaultyLinks | None,
        edges: list[Link],
        chance: random.Random,
        begin: float,
    ) -> None:
        self._peers, self._links, self._edges, self._chance = peers, links, edges, chance
        kinds = ["kills"] * faults.kills + ["freezes"] * faults.freezes
        kinds += ["partitions"] * (faults.partitions if links is not None else 0)
        chance.shuffle(kinds)
        moments = sorted(begin + chance.uniform(0, faults.window) for _ in kinds)
        self._schedule = list(zip(moments, kinds, strict=True))
        self._later: list[tuple[float, int, Callable[[], bool]]] = []
        self._order = itertools.count()
        self._is_cut = False
        self.counts: Counter[str] = Counter()
        self.kills_in_flight = 0
        """How many of the kills left an offer without its answer."""

    @property
    def is_over(self) -> bool:
        """Whether everything has happened, and been mended."""
        return not self._schedule and not self._later

    def step(self, now: float) -> None:
        """Do what is due; what cannot be done yet waits."""
        self._mend(now)
        does = {"kills": self._kill, "freezes": self._freeze, "partitions": self._partition}
        while self._schedule and self._schedule[0][0] <= now:
            kind = self._schedule[0][1]
            if not does[kind](now):
                return
            self.counts[kind] += 1
            self._schedule.pop(0)

    def end(self) -> None:
        """Mend everything at once, but leave those down that are."""
        self._schedule.clear()
        self._later.clear()
        for peer in self._peers:
            peer.thaw()
        self._heal()

    def _mend(self, now: float) -> None:
        """Start, thaw or heal what is due; what is not possible yet is tried again."""
        due = []
        while self._later and self._later[0][0] <= now:
            due.append(heapq.heappop(self._later))
        for entry in due:
            if not entry[2]():
                heapq.heappush(self._later, entry)

    def _kill(self, now: float) -> bool:
        peer = self._victim(UP, FROZEN)
        if peer is None:
            return False
        peer.kill()
        self.kills_in_flight += peer.has_asked()

        def restart() -> bool:
            if not may_start(self._peers):
                return False
            peer.start()
            return True

        self._after(now, MEAN_ABSENCE, restart)
        return True

    def _freeze(self, now: float) -> bool:
        peer = self._victim(UP)
        if peer is None:
            return False
        frozen = peer.pid
        peer.freeze()

        def thaw() -> bool:
            if peer.pid == frozen:  # it may have been killed meanwhile
                peer.thaw()
            return True

        self._after(now, MEAN_FREEZE, thaw)
        return True

    def _partition(self, now: float) -> bool:
        """Part the peers in two; both sides go on, but not with each other."""
        if self._is_cut or self._links is None:
            return False
        numbers = range(len(self._peers))
        side = set(self._chance.sample(numbers, self._chance.randint(1, len(numbers) - 1)))
        self._links.cut((i, j) for i, j in self._edges if (i in side) != (j in side))
        self._is_cut = True
        self._after(now, MEAN_CUT, self._heal)
        return True

    def _heal(self) -> bool:
        if self._links is not None and self._is_cut:
            self._links.heal()
        self._is_cut = False
        return True

    def _victim(self, *states: str) -> PeerProcess | None:
        chosen = [peer for peer in self._peers if peer.state in states]
        return self._chance.choice(chosen) if chosen else None

    def _after(self, now: float, mean: float, what: Callable[[], bool]) -> None:
        delay = min(self._chance.expovariate(1.0 / mean), LONGEST)
        heapq.heappush(self._later, (now + delay, next(self._order), what))


def all_are_up(peers: list[PeerProcess]) -> bool:
    """Whether every peer runs that has not failed."""
    return all(peer.state == UP for peer in peers if peer.failure is None or peer.state != DOWN)
