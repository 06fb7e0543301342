"""Scripts of few exchanges, and every way to kill the peers that play them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pairgossip as pg
from tests.peer.audit import check_grown, check_settled
from tests.peer.books import QuickMixing
from tests.peer.contexts import name_of
from tests.peer.schedules import NONE, Defect
from tests.peer.world import World

A, B, C = map(name_of, range(3))
MOST_LOST = 4


class Kill(NamedTuple):
    """Kill a peer at its n-th point, and lose some of its last writes."""

    who: str
    point: int
    lost: int | None
    """None: the power holds, nothing is lost."""


class NothingToLose(Exception):
    """A kill was planned to lose more writes than there were to lose: it cannot happen."""


class Mortal:
    """Counts the points a peer comes to, and kills it at those planned."""

    def __init__(self, kills: tuple[Kill, ...]) -> None:
        self.left = list(kills)
        self.passed = {A: 0, B: 0, C: 0}
        self.struck: Kill | None = None

    def __call__(self, who: str, where: str) -> bool:
        self.passed[who] += 1
        for kill in self.left:
            if kill.who == who and kill.point == self.passed[who]:
                self.left.remove(kill)
                self.struck = kill
                return True
        return False


@dataclass
class Stage(World):
    """A world in which clocks ring only when told, and kills do as planned."""

    kills: tuple[Kill, ...] = ()
    is_over: bool = field(default=False, init=False)
    """Whether the play ended at a kill that cannot happen."""

    def __post_init__(self) -> None:
        self.plan = Mortal(self.kills)
        super().__post_init__()
        self.run(2.0)  # until all have said hello
        self.mortal = self.plan

    def stop(self, name: str, *, power: bool = True) -> None:
        kill = self.plan.struck
        assert kill is not None
        self.peers[name] = None
        if kill.lost is not None:
            if kill.lost > self.disks[name].unsafe:
                raise NothingToLose
            self.disks[name].lose(kill.lost)


Script = Callable[[Stage], None]


def one_exchange(stage: Stage) -> None:
    stage.ring(A, B)


def two_exchanges(stage: Stage) -> None:
    """The second makes what the first left unsynced safe."""
    stage.ring(A, B)
    stage.run(stage.now + 5.0)
    stage.ring(A, B)


def a_rejection(stage: Stage) -> None:
    """B asks A while A asks B; A has the lower id and rejects, and B lets A wait."""
    stage.ring(A, B)
    stage.ring(B, A)


def a_waiting_offer(stage: Stage) -> None:
    """B asks C, and lets A wait until the answer has come."""
    stage.ring(B, C)
    stage.ring(A, B)


def two_offers(stage: Stage) -> None:
    """A asks both others at once, if it has the rows, and B asks A."""
    stage.ring(A, B)
    stage.ring(A, C)
    stage.ring(B, A)


def an_eviction(stage: Stage) -> None:
    """A generation begins while the exchange is on its way."""
    stage.ring(A, B)
    stage.run(stage.now + 0.03)
    stage.evict_again(B, [C])


def two_evictions(stage: Stage) -> None:
    """Two peers begin a generation at once, with an exchange on its way."""
    stage.ring(A, B)
    stage.evict_again(A, [C])
    stage.run(stage.now + 0.03)
    stage.evict_again(B, [C])


def a_growth(stage: Stage) -> None:
    """A peer adds a row while its exchange is on its way."""
    stage.ring(A, B)
    stage.run(stage.now + 0.03)
    stage.grow(A, 1)


def two_growths(stage: Stage) -> None:
    """Two peers add rows at once, and one of them again."""
    stage.grow(A, 1)
    stage.grow(B, 1)
    stage.run(stage.now + 0.03)
    stage.grow(A, 1)


def a_growth_and_an_eviction(stage: Stage) -> None:
    """One adds rows while another evicts a third."""
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
    """Play a script with these kills; afterward everything must be whole again."""
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
    try:
        _play(script, stage)
    except NothingToLose:
        stage.is_over = True
    return stage


def _play(script: Script, stage: Stage) -> None:
    stage.auditor.check()
    script(stage)
    stage.auditor.check()
    stage.run(stage.now + 100.0)
    if script in CHANGES:
        stage.ring(A, B)  # the next exchange tells of the generation, if nothing else did
        stage.ring(B, A)
        stage.run(stage.now + 100.0)
    check_settled(stage)
    check_grown(stage, stage.asked)


def every_kill(script: Script, rows: int, defect: Defect = NONE) -> Iterator[Stage]:
    """Kill every peer at every point, with the power on, and with every number of writes lost."""
    passed = run(script, rows, (), defect).plan.passed
    for who, points in passed.items():
        for point in range(1, points + 1):
            for lost in (None, *range(MOST_LOST)):
                stage = run(script, rows, (Kill(who, point, lost),), defect)
                if stage.is_over:  # and there is no more to lose
                    break
                yield stage


def sweep_singly(script: Script, rows: int, defect: Defect = NONE) -> int:
    """Kill one peer, once; return how many different ways there were."""
    return sum(1 for _ in every_kill(script, rows, defect))


def rows_of(script: Script) -> int:
    """Return how many rows a peer needs to do all that a script asks of it."""
    return 2 if script is two_offers else 1


def sweep_doubly(script: Script, defect: Defect = NONE, stride: int = 1) -> int:
    """Kill two peers, or one twice, also while it starts again; take every n-th way.

    Every first kill is also played alone, which tells how many points there are for another.
    """
    ways, rows = 0, rows_of(script)
    for stage in every_kill(script, rows, defect):
        (first,) = stage.kills
        seconds = list(_second_kills(first, stage.plan.passed))
        for second in seconds[first.point % stride :: stride]:
            ways += not run(script, rows, (first, second), defect).is_over
    return ways


def _second_kills(first: Kill, passed: dict[str, int]) -> Iterator[Kill]:
    for who, points in passed.items():
        after = first.point + 1 if who == first.who else 1
        for point, lost in itertools.product(range(after, points + 1), (None, 0, 1)):
            yield Kill(who, point, lost)
