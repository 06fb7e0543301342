"""A network of peers that compute sums, on the virtual clock and bad network of `world`."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import msgspec
import numpy as np

import pairgossip as pg
from pairgossip.peer.protocol.messages import FIRST_GENERATION, Contribution, decode
from pairgossip.peer.protocol.program import Ask, Disagreement, Kind, PartialResult, Program, Words
from pairgossip.peer.protocol.rounds import Rounds, first_sums
from pairgossip.peer.protocol.state import Released, SaveSums, SumsState
from pairgossip.peer.protocol.summation import read_next
from pairgossip.peer.service.sums_service import RoundsRuntime
from tests.peer.audit import Violated
from tests.peer.contexts import SPEC, SealedContext, name_of
from tests.peer.disk import Disk
from tests.peer.schedules import (
    BAD,
    GOOD,
    draw_faults,
    draw_graph,
    draw_growths,
    draw_rows,
    plan_evictions,
)
from tests.peer.world import Line, World

WORDS = 3
SUMS = 3
"""Rounds of sums in the test's program; each asks for what follows from the sum before."""


@dataclass
class Powers:
    """Sums of powers of the rows; each round's numbers are multiplied by the last sum's digest."""

    rows: tuple[tuple[float, ...], ...]
    shift: int = 0
    """What this member gets wrong in the last place, as another machine might."""
    sums: list[tuple[int, ...]] = field(default_factory=list)
    factor: int = 1
    longest: int = WORDS
    most_rounds: int = 2 * SUMS + 4

    @property
    def partial_result(self) -> PartialResult | None:
        return PartialResult(tuple(map(float, self.sums[0]))) if self.sums else None

    @property
    def released(self) -> Released:
        return Released()

    def card(self) -> bytes:
        return b""

    def take_cards(self, cards: Mapping[str, bytes]) -> None:
        pass

    def ask(self) -> Ask | None:
        if len(self.sums) == SUMS + 1:
            return None
        if len(self.sums) == SUMS:
            return Ask(Kind.STATEMENT, msgspec.msgpack.encode(self.sums))
        return Ask(Kind.SUM, str(self.factor + self.shift).encode(), WORDS)

    def contribute(self, ask: Ask) -> Words:
        factor, rows = int(ask.public), [int(row[0]) for row in self.rows]
        powers = [factor * sum(row**k for row in rows) for k in range(WORDS)]
        return np.array([power % 2**64 for power in powers], dtype=np.uint64)

    def follow(self, public: bytes, *, is_repeated: bool = True) -> Ask:
        if len(self.sums) >= SUMS:
            raise Disagreement("the sums differ")
        if abs(int(public) - self.factor) > 1:
            raise Disagreement("the factor is another one")
        return Ask(Kind.SUM, public, WORDS)

    def take(self, ask: Ask, total: Words) -> None:
        self.sums.append(tuple(total.tolist()))
        digest = hashlib.sha256(repr((ask.public, self.sums)).encode()).digest()
        self.factor = 1 + digest[0]


def plain(rows: Sequence[tuple[tuple[float, ...], ...]], shift: int = 0) -> list[tuple[int, ...]]:
    """The sums that members must find, computed in one place."""
    alone = Powers(tuple(row for member in rows for row in member), shift)
    while (ask := alone.ask()) is not None:
        alone.take(ask, alone.contribute(ask) if ask.kind is Kind.SUM else np.zeros(0, np.uint64))
    return alone.sums


@dataclass(frozen=True, kw_only=True)
class SumsContext(SealedContext):
    """A context with shared secrets that are quick to make."""

    shift: int = 0
    wrap: Callable[[Program], Program] | None = None

    def agree(self, member: str) -> bytes:
        low, high = sorted((self.me, member))
        return hashlib.sha256(f"{low} and {high}".encode()).digest()

    def make_program(self, generation: str = FIRST_GENERATION, released: object = None) -> Program:
        program = Powers(self.own_rows, self.shift)
        return program if self.wrap is None else self.wrap(program)

    @property
    def frame_limit(self) -> int:
        return 1 << 16


class SumsDisk(Disk):
    """A disk of states of peers that compute sums."""

    commits: list[SumsState]  # type: ignore[assignment]

    def save(self, change: SaveSums) -> None:  # type: ignore[override]
        self.point("before the write")
        before = self.load()
        if before is not None and not change.everything:
            assert isinstance(before, SumsState)
            kept = {
                **before.contributions,
                **{p: change.state.contributions[p] for p in change.added},
            }
            if kept != change.state.contributions:
                raise Violated("a save does not name all that changed")
        self.commits.append(change.state)
        self.point("written, not synced")
        if change.sync:
            self.sync()
            self.point("synced")


Change = tuple[str | int, ...]
"""An eviction, the rows of a member, or a generation: what an operator may agree to."""


class SumsAuditor:
    """Looks at every frame: one contribution to a round, stored first, under a mask of its own.

    And one generation is enough: a peer contributes to sums of a further one only with all that
    its operator has agreed to.
    """

    def __init__(self, world: SumsWorld) -> None:
        self._world = world
        self._agreed: dict[str, set[Change]] = {name: set() for name in world.names}
        self._acts: Counter[str] = Counter()
        self._summed: dict[str, list[tuple[str, dict[str, int]]]] = {}
        """By member: the generations to whose sums it has contributed, and the rows in them."""
        self._told: dict[tuple[str, int, str], bytes] = {}
        self._hidden: dict[tuple[str, bytes], bytes] = {}
        self._seen: dict[str, int] = {}
        """How many commits of each peer were looked at."""
        self.checks = 0

    def sent(self, sender: str, to: str, frame: bytes) -> None:
        message = decode(frame)
        if sender not in self._world.liars:
            self._check_stay(sender)
        if not isinstance(message, Contribution) or message.member in self._world.liars:
            return
        place = message.generation, message.round, message.member
        if self._told.setdefault(place, frame) != frame:
            raise Violated(f"two contributions of {message.member} to round {message.round}")
        disk = self._world.disks[sender]
        saved = disk.commits[: disk.safe if message.member == sender else None]
        assert isinstance(saved[-1], SumsState)
        if (message.round, message.member) not in saved[-1].contributions:
            raise Violated(f"{sender} shows a contribution that it has not stored")
        if message.words and message.member == sender:
            self._check_mask(message, saved[-1].rows)
            self._check_consent(sender, saved[-1])

    def agreed(self, name: str, *changes: Change) -> None:
        """Note what the operator of a peer agrees to."""
        self._agreed[name].update(changes)
        self._acts[name] += 1

    def summed(self, name: str) -> int:
        """In how many generations a peer has contributed to a sum."""
        return len(self._summed.get(name, ()))

    def _check_stay(self, name: str) -> None:
        """A generation with a contribution is left only if the peer's own operator has said so."""
        commits = cast(SumsDisk, self._world.disks[name]).commits
        seen = min(self._seen.get(name, 1), len(commits))  # a loss of power takes some back
        self._seen[name] = len(commits)
        for before, state in itertools.pairwise(commits[max(seen - 1, 0) :]):
            if before.summed_in != before.generation or state.generation == before.generation:
                continue
            new: set[Change] = {("generation", state.generation)}
            new |= {("evict", one) for one in state.evicted if one not in before.evicted}
            new |= {("rows", one.member, one.rows) for one in state.grown}
            # Only a peer itself can say that it has more rows, which its operator has added.
            if state.rows == before.rows and not new & self._agreed[name]:
                raise Violated(f"{name} leaves a generation that it has contributed to")

    def _check_consent(self, name: str, state: SumsState) -> None:
        """At most one generation without the agreement of the peer's own operator."""
        rows = {**self._world.rows, **{one.member: one.rows for one in state.grown}}
        rows = {who: count for who, count in rows.items() if who not in state.evicted}
        summed = self._summed.setdefault(name, [])
        if state.generation in [generation for generation, _ in summed]:
            return
        summed.append((state.generation, rows))
        if len(summed) == 1:
            lost: set[Change] = {("evict", who) for who in self._world.rows.keys() - rows.keys()}
            if not lost <= self._agreed[name]:
                raise Violated(f"{name} contributes without consent to a sum that lacks {lost}")
            return
        before = summed[-2][1]
        changes: set[Change] = {("evict", who) for who in before.keys() - rows.keys()}
        changes |= {("rows", who, count) for who, count in rows.items() if before[who] != count}
        agreed = self._agreed[name]
        is_new = bool(changes) and changes <= agreed
        if not (is_new or ("generation", state.generation) in agreed):
            raise Violated(f"{name} contributes to a further sum without consent: {changes}")
        if len(summed) > 1 + self._acts[name]:
            raise Violated(f"{name} contributes without consent to {len(summed)} generations")

    def _check_mask(self, message: Contribution, rows: int) -> None:
        """A mask hides one vector only, and it is there."""
        own = self._world.own[message.member][:rows]
        plain_words = Powers(own).contribute(Ask(Kind.SUM, message.public, WORDS))
        mask = np.frombuffer(message.words, dtype="<u8") - plain_words
        if not mask.any() and self._world.graph.n > 1:
            raise Violated(f"{message.member} shows its numbers")
        vector = plain_words.tobytes()
        if self._hidden.setdefault((message.member, mask.tobytes()), vector) != vector:
            raise Violated(f"{message.member} has used a mask twice")

    def check(self, among: object = None) -> None:
        self.checks += 1


@dataclass
class SumsWorld(World):
    """Peers that compute sums."""

    rounds_class: type[Rounds] = Rounds
    shifts: Sequence[int] = ()
    """By how much each member's questions are off, as by another machine's rounding."""
    liars: Mapping[str, type[Rounds]] = field(default_factory=dict)
    wrap: Callable[[Program], Program] | None = None

    def __post_init__(self) -> None:
        self._has_operators = False
        super().__post_init__()

    def _make_context(self, number: int, name: str) -> SumsContext:
        return SumsContext(
            me=name,
            neighbors=tuple(self.neighbors[name]),
            spec=SPEC,
            text="",
            own=self.own[name],
            rows=self.rows,
            limits=(),
            given=self._rule(number),
            shift=self.shifts[number] if self.shifts else 0,
            wrap=self.wrap,
        )

    def _make_auditor(self) -> SumsAuditor:
        return SumsAuditor(self)

    def _first_save(self, begins: object) -> SaveSums:
        assert isinstance(begins, SumsContext)
        return SaveSums(first_sums(len(begins.own)), True, everything=True)

    def _make_runtime(self, name: str, state: SumsState) -> RoundsRuntime:
        return RoundsRuntime(
            self.liars.get(name, self.rounds_class)(
                self._context(name, state.rows), state, counts=self.counts
            ),
            self.disks[name],
            Line(self, name),
            random.Random(self.chance.random()),
        )

    def evict(self, by: str, members: Sequence[str]) -> None:
        """Let a peer evict others, by which its own operator agrees."""
        self.auditor.agreed(by, *(("evict", one) for one in members))
        super().evict(by, members)

    def evict_again(self, by: str, members: Sequence[str]) -> None:
        if not set(members) <= set(self.state(by).consent.evicted):
            self.evict(by, members)

    def grow(self, name: str, by: int) -> None:
        """Add rows to a peer, by which its own operator agrees to them."""
        super().grow(name, by)
        self.auditor.agreed(name, ("rows", name, self.asked[name]))

    def agree(self, name: str, generation: str | None = None) -> None:
        """Let an operator agree to a generation, the present one unless given, if the peer runs."""
        runtime, state = self.peers[name], self.state(name)
        if runtime is None or name in self.gone:
            return
        notice = read_next(state)
        latest = state if notice is None else notice
        generation = generation or latest.generation
        self._note("agree", name, generation)
        if generation == latest.generation:
            self.counts["agreements"] += 1
            evicted = {("evict", one) for one in latest.evicted}
            grown = {("rows", one.member, one.rows) for one in latest.grown}
            self.auditor.agreed(name, ("generation", generation), *evicted, *grown)
        self._live(name, runtime, lambda: runtime.agree(generation, self.now))

    def let_operators_agree(self) -> None:
        """From now on let every operator look at its peer now and then, and agree to all."""
        if not self._has_operators:
            self._has_operators = True
            for name in self.names:
                self._look_after(name)

    def _look_after(self, name: str) -> None:
        """Let an operator agree to what it sees, which the peer takes up some time later."""
        seen = None if self.peers[name] is None else self.rounds(name).asks_consent
        if seen is not None:
            self._later(self.chance.uniform(0.0, 0.5), lambda: self.agree(name, seen))
        self._later(self.chance.uniform(0.5, 4.0), lambda: self._look_after(name))

    def state(self, name: str) -> SumsState:  # type: ignore[override]
        return cast(SumsState, super().state(name))

    def finish(self, patience: float = 400.0) -> None:
        """Let all that are left come to the end of the last generation."""
        end = self.now + patience
        while self.now < end and not self.is_finished():
            self.run(min(end, self.now + 1.0))

    def remaining(self) -> list[str]:
        """Who is neither gone nor evicted."""
        running = [name for name in self.names if name not in self.gone]
        evicted = {one for name in running for one in self.state(name).evicted}
        return [name for name in running if name not in evicted]

    def rounds(self, name: str) -> Rounds:
        return cast(RoundsRuntime, self.peers[name]).protocol

    def is_finished(self) -> bool:
        return all(
            self.peers[name] is not None and self.rounds(name).ask is None
            for name in self.remaining()
        )

    def check_sums(self) -> None:
        """Raise unless all that are left know the plain sums of their rows."""
        names = self.remaining()
        rows = [self.own[name][: self.state(name).rows] for name in names]
        leader = self.names.index(min(names))
        wanted = plain(rows, self.shifts[leader] if self.shifts else 0)
        for name in names:
            found = self.rounds(name)
            if found.halt is not None or found.ask is not None:
                raise Violated(
                    f"{name} stands in round {found.round}: {found.halt} {found.awaited}"
                )
            assert isinstance(found.program, Powers)
            if found.program.sums[:SUMS] != wanted[:SUMS]:
                raise Violated(f"{name} found {found.program.sums}, not {wanted}")


def make_world(n: int = 4, **more: object) -> SumsWorld:
    """Return members that all know each other, with two rows each."""
    values = [[float(k + 1), float(2 * k)] for k in range(n)]
    return SumsWorld(pg.graphs.complete(n), values, 0, disk_class=SumsDisk, **more)  # type: ignore[arg-type]


def restore_first(world: SumsWorld, name: str) -> None:
    """Stop a peer, and put the first state back that it ever saved."""
    world.stop(name, power=False)
    disk = world.disks[name]
    del disk.commits[1:]
    disk.safe = 1


def update_in_first_sum(
    world: SumsWorld, name: str, **changes: object
) -> dict[tuple[int, str], Contribution]:
    """Stop a peer once it has contributed, start it as another version; return what it had."""
    while (1, name) not in world.state(name).contributions:
        world.run(world.now + 0.002)
    before = dict(world.state(name).contributions)
    world.stop(name, power=True)
    for attribute, value in changes.items():
        object.__setattr__(world.contexts[name], attribute, value)
    world.start(name)
    return before


def make_sums_world(
    seed: int,
    rounds_class: type[Rounds] = Rounds,
) -> SumsWorld:
    """Draw a network, its rows, its faults, its evictions and growths."""
    chance = random.Random(f"sums {seed}")
    graph = draw_graph(chance, chance.randint(2, 8))
    values = [[chance.randint(0, 9) for _ in range(chance.randint(1, 3))] for _ in range(graph.n)]
    growths = draw_growths(chance, graph.n)
    rounded = chance.random() < 0.25
    world = SumsWorld(
        graph,
        values,
        seed,
        draw_faults(chance),
        more=draw_rows(chance, growths),
        disk_class=SumsDisk,
        rounds_class=rounds_class,
        shifts=[chance.randint(0, 1) for _ in range(graph.n)] if rounded else (),
    )
    world.let_operators_agree()
    plan_evictions(world, chance)
    for when, number, by in growths:
        world._at(when, lambda number=number, by=by: world.grow(name_of(number), by))  # type: ignore[misc]
    return world


def run_sums_schedule(
    seed: int,
    rounds_class: type[Rounds] = Rounds,
) -> SumsWorld:
    """Run one schedule; raise `Violated` if it breaks anything."""
    world = make_sums_world(seed, rounds_class)
    world.run(BAD + GOOD)
    world.finish()
    world.check_sums()
    return world
