"""Scripts of a few exchanges, and every way to kill the peers that run them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pairgossip as pg
from pairgossip.peer.service.runtime import ExchangeRuntime
from tests.peer.audit import check_grown, check_settled
from tests.peer.books import QuickMixing
from tests.peer.contexts import name_of
from tests.peer.schedules import NONE, Defect
from tests.peer.world import World

A, B, C = map(name_of, range(3))
MOST_LOST = 3


class Kill(NamedTuple):
    """Kill a peer at its n-th point, and lose some of its last writes."""

    who: str
    point: int
    lost: int | None
    """The number of lost writes; None if the power stays on and nothing is lost."""


class Point(NamedTuple):
    """A place where a peer may be killed, and how many writes it may lose there."""

    who: str
    number: int
    unsafe: int


class Mortal:
    """Counts the points that peers reach, and kills them at the planned ones."""

    def __init__(self, kills: tuple[Kill, ...]) -> None:
        self.left = list(kills)
        self.passed = {A: 0, B: 0, C: 0}
        self.struck: Kill | None = None
        self.ahead: list[Point] = []
        """The points since the last kill, without those where a kill repeats an earlier effect."""
        self._last: tuple[str, int] | None = None

    def comes_to(self, who: str, where: str, turn: int, unsafe: int) -> bool:
        """Return whether a peer is killed at the point that it has reached."""
        self.passed[who] += 1
        point = self.passed[who]
        # Nothing happens between the end of one write or frame and the beginning of the next.
        if not where.startswith("before") or self._last != (who, turn):
            self.ahead.append(Point(who, point, unsafe))
        self._last = who, turn
        for kill in self.left:
            if kill[:2] == (who, point):
                self.left.remove(kill)
                self.struck = kill
                self.ahead.clear()
                return True
        return False


@dataclass
class Stage(World):
    """A world in which clocks ring only on request, and kills happen as planned."""

    kills: tuple[Kill, ...] = ()
    turns: int = field(default=0, init=False)
    """How often a peer was allowed to act."""

    def __post_init__(self) -> None:
        self.plan = Mortal(self.kills)
        super().__post_init__()
        self.run(2.0)  # until all have said hello
        self.mortal = lambda who, where: self.plan.comes_to(
            who, where, self.turns, self.disks[who].unsafe
        )

    def _live(self, name: str, runtime: ExchangeRuntime, what: Callable[[], None]) -> None:
        self.turns += 1
        super()._live(name, runtime, what)

    def stop(self, name: str, *, power: bool = True) -> None:
        kill = self.plan.struck
        assert kill is not None
        self.peers[name] = None
        self._touched[name] = None
        if kill.lost is not None:
            assert kill.lost <= self.disks[name].unsafe
            self.disks[name].lose(kill.lost)


Script = Callable[[Stage], None]


def one_exchange(stage: Stage) -> None:
    stage.ring(A, B)


def two_exchanges(stage: Stage) -> None:
    """Make two exchanges; the second one syncs what the first left unsynced."""
    stage.ring(A, B)
    stage.run(stage.now + 5.0)
    stage.ring(A, B)


def a_rejection(stage: Stage) -> None:
    """Let A and B ask each other; A has the lower id and rejects, and B lets A wait."""
    stage.ring(A, B)
    stage.ring(B, A)


def a_waiting_offer(stage: Stage) -> None:
    """Let B ask C, and let A wait until the answer has arrived."""
    stage.ring(B, C)
    stage.ring(A, B)


def two_offers(stage: Stage) -> None:
    """Let A ask both others at once, if it has enough rows, and let B ask A."""
    stage.ring(A, B)
    stage.ring(A, C)
    stage.ring(B, A)


def an_eviction(stage: Stage) -> None:
    """Begin a generation during an exchange."""
    stage.ring(A, B)
    stage.run(stage.now + 0.03)
    stage.evict_again(B, [C])


def two_evictions(stage: Stage) -> None:
    """Let two peers begin a generation at once, during an exchange."""
    stage.ring(A, B)
    stage.evict_again(A, [C])
    stage.run(stage.now + 0.03)
    stage.evict_again(B, [C])


def a_growth(stage: Stage) -> None:
    """Let a peer add a row during its exchange."""
    stage.ring(A, B)
    stage.run(stage.now + 0.03)
    stage.grow(A, 1)


def two_growths(stage: Stage) -> None:
    """Let two peers add rows at once, and one of them again."""
    stage.grow(A, 1)
    stage.grow(B, 1)
    stage.run(stage.now + 0.03)
    stage.grow(A, 1)


def a_growth_and_an_eviction(stage: Stage) -> None:
    """Let one peer add rows while another evicts a third."""
    stage.ring(A, B)
    stage.grow(A, 2)
    stage.evict_again(B, [C])


CHANGES: list[Script] = [
    an_eviction,
    two_evictions,
    a_growth,
    two_growths,
    a_growth_and_an_eviction,
]
SCRIPTS: dict[str, Script] = {
    script.__name__: script
    for script in (
        one_exchange,
        two_exchanges,
        a_rejection,
        a_waiting_offer,
        two_offers,
        *CHANGES,
    )
}


def run(script: Script, rows: int, kills: tuple[Kill, ...], defect: Defect = NONE) -> Stage:
    """Run a script with these kills; afterward the network must be consistent again."""
    stage = Stage(
        pg.graphs.complete(3),
        [[float(10 * k + r) for r in range(rows)] for k in range(3)],
        seed=rows,
        make_rule=lambda _: QuickMixing(),
        rate=1e-9,
        exchange_class=defect.exchange,
        disk_class=defect.disk,
        settles_safely=defect.settles_safely,
        kills=kills,
        more={0: [100.0, 101.0], 1: [102.0]},
    )
    _play(script, stage)
    assert not stage.plan.left, "a planned kill did not happen"
    return stage


def _play(script: Script, stage: Stage) -> None:
    stage.auditor.check()
    script(stage)
    stage.auditor.check()
    stage.run(stage.now + 100.0)
    if script in CHANGES:
        stage.ring(A, B)  # the next exchange announces the generation, if nothing else did
        stage.ring(B, A)
        stage.run(stage.now + 100.0)
    check_settled(stage)
    check_grown(stage, stage.asked)


def every_kill(stage: Stage) -> Iterator[tuple[Kill, ...]]:
    """Yield the planned kills, each with another of any peer at any point, with any writes lost.

    A power failure that loses nothing is left out: all writes are then safe, so the peer continues
    as after a kill with the power on, and less can be lost later.
    """
    for who, point, unsafe in stage.plan.ahead:
        for lost in (None, *range(1, min(unsafe, MOST_LOST) + 1)):
            yield *stage.kills, Kill(who, point, lost)


def sweep_singly(script: Script, rows: int, defect: Defect = NONE) -> int:
    """Kill one peer once, in every way; return the number of ways."""
    ways = list(every_kill(run(script, rows, (), defect)))
    for kills in ways:
        run(script, rows, kills, defect)
    return len(ways)


def rows_of(script: Script) -> int:
    """Return how many rows a peer needs for a script."""
    return 2 if script is two_offers else 1


def sweep_doubly(script: Script, defect: Defect = NONE, stride: int = 1) -> int:
    """Kill two peers, or one twice, also while it restarts; try every n-th way.

    Every first kill is also run alone, which gives the points for a second one.
    """
    ways, rows = 0, rows_of(script)
    for first, kills in enumerate(every_kill(run(script, rows, (), defect))):
        seconds = list(every_kill(run(script, rows, kills, defect)))
        for both in seconds[first % stride :: stride]:
            run(script, rows, both, defect)
            ways += 1
    return ways
