"""Peers that count rows in tables, and an auditor that knows what is in each of them."""

from __future__ import annotations

import functools
import hashlib
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, cast

import msgspec
import numpy as np

from pairgossip.peer.protocol import masks
from pairgossip.peer.protocol.messages import FIRST_GENERATION, Contribution, decode
from pairgossip.peer.protocol.program import LEAST_MEMBERS, Program
from pairgossip.peer.protocol.state import Released, SumsState
from pairgossip.peer.specification.spec import Spec, parse_spec
from pairgossip.peer.sums.batches import StatisticsProgram, read_table
from pairgossip.peer.sums.programs import Generation
from pairgossip.peer.sums.statistics import cells_of
from tests.peer.audit import Violated
from tests.peer.contexts import SPEC, name_of
from tests.peer.schedules import BAD, GOOD, draw_faults, draw_graph, plan_evictions
from tests.peer.sums import SumsAuditor, SumsContext, SumsDisk, SumsWorld

SALT = 4
"""Words of a contribution that salt the table."""


@functools.cache
def auc_spec(least: int, *, compares: bool = False) -> Spec:
    return parse_spec(f"""
    kernel = "auc"
    heterogeneity = {str(compares).lower()}
    columns = ["score"]
    label = "ill"
    whole = ["score"]
    [ranges]
    score = [0, 31]
    ill = [0, 1]
    [algorithm]
    name = "sums"
    least_cell = {least}
    """)


def as_rows(own: tuple[tuple[float, ...], ...]) -> np.ndarray:
    """Rows of score and label: a row of the world has both in one number."""
    values = np.array(own).reshape(-1)
    return np.column_stack([values // 2, values % 2])


@dataclass(frozen=True, kw_only=True)
class CountingContext(SumsContext):
    least: int = 3
    program_class: type[StatisticsProgram] = StatisticsProgram
    compares: bool = False
    shows: bool = False

    def make_program(self, generation: str = FIRST_GENERATION, released: object = None) -> Program:
        members = self.present_rows
        salt = masks.draw_salt(self.agree(self.me), SPEC, generation, members)
        before = released if isinstance(released, Released) else Released()
        named = Generation(members, generation)
        spec = auc_spec(self.least, compares=self.compares)
        rows = as_rows(self.own_rows)
        return self.program_class(spec, rows, named, None, before, salt, self.me, shows=self.shows)


Part = tuple[str, int, int]
"""A member, and where a part of its rows begins and ends."""


class Added(NamedTuple):
    """What a member has contributed to a sum, without its mask."""

    base: bytes
    counts: np.ndarray
    salt: np.ndarray
    parts: tuple[Part, ...]
    sites: np.ndarray
    """What is added about this site, where sites are compared."""


class TableAuditor(SumsAuditor):
    """Knows which rows are in which table, and sees to it that none is counted twice."""

    def __init__(self, world: CountingWorld) -> None:
        super().__init__(world)
        self._added: dict[tuple[str, str], Added] = {}
        self.tables: dict[bytes, frozenset[Part]] = {bytes(32): frozenset()}
        self._few: dict[str, set[int]] = {}
        """By member: numbers of rows of which it has told that they are too few."""

    def sent(self, sender: str, to: str, frame: bytes) -> None:
        super().sent(sender, to, frame)
        message = decode(frame)
        if not isinstance(message, Contribution) or message.round or message.member != sender:
            return
        added = struct.unpack("<32sQ32sQ", message.public[32:112])[1::2]
        disk = cast(SumsDisk, self._world.disks[sender])
        if any(one != 1 and one % 10 for one in added):
            raise Violated(f"{sender} tells how many rows it has exactly")
        if not any(added):
            self._few.setdefault(sender, set()).add(disk.commits[disk.safe - 1].rows)

    def _check_mask(self, message: Contribution, rows: int) -> None:
        world = cast(CountingWorld, self._world)
        me, context = message.member, world.contexts[message.member]
        disk = cast(SumsDisk, world.disks[me])
        state = disk.commits[disk.safe - 1]
        secrets = {one: context.agree(one) for one in world.rows if one not in (me, *state.evicted)}
        asked = hashlib.sha256(message.transcript + message.public).digest()
        words = np.frombuffer(message.words, dtype="<u8")
        plain = words - masks.mask(me, secrets, asked, len(words))
        added = self._look_at(me, plain, msgspec.msgpack.decode(message.public)[1], state)
        for (_, who), before in self._added.items():
            if who == me and before.base == added.base and before.parts != added.parts:
                raise Violated(f"{me} adds other rows to the same table again")
        self._added[message.generation, me] = added

    def _look_at(self, me: str, plain: np.ndarray, base: bytes, state: SumsState) -> Added:
        """Compare a contribution with the parts that a peer says it has released."""
        world, released = cast(CountingWorld, self._world), state.released
        counts, sites = np.split(plain[:-SALT].view(np.int64), [world.words])
        tables = {_digest(one.table): one.rows for one in (released.finished, released.stated)}
        if base not in tables:
            raise Violated(f"{me} adds to a table that it does not know")
        counted = [last for who, _, last in self.tables.get(base, ()) if who == me]
        if base in self.tables and tables[base] != max(counted, default=0):
            raise Violated(f"{me} takes other rows for counted than are")
        last = max(released.parts, default=0)
        if base != _digest(released.stated.table):  # as it was added before
            last = released.stated.rows
        ends = [end for end in released.parts if tables[base] < end <= last]
        parts = tuple((me, *pair) for pair in pairwise([tables[base], *ends]))
        expected = np.zeros_like(counts)
        for part in parts:
            expected += world.count(part)
        if (counts != expected).any():
            raise Violated(f"{me} counts other rows than it says")
        few = (counts > 0) & (counts < world.least)
        if (counts < 0).any() or few.any():
            raise Violated(f"{me} tells of fewer than {world.least} rows")
        for part in parts:
            self._check_overlap(part)
            told = [one for one in self._few.get(me, ()) if part[1] < one < part[2]]
            if told and not world.fills(me, max(told), part[2]):
                raise Violated(f"{me} tells how many rows were missing")
        self._check_sites(me, Added(base, counts, plain[-SALT:], parts, sites))
        return Added(base, counts, plain[-SALT:], parts, sites)

    def _check_sites(self, me: str, added: Added) -> None:
        """Where sites are not compared, nothing is added about them."""
        if len(added.sites):
            raise Violated(f"{me} adds what nobody asks for")

    def _check_overlap(self, part: Part) -> None:
        """A part is the same for ever."""
        me, start, end = part
        for added in self._added.values():
            for who, first, last in added.parts:
                if who == me and first < end and start < last and (first, last) != (start, end):
                    raise Violated(f"{me} counts rows in two parts")

    def check(self, among: object = None) -> None:
        super().check(among)
        for name in cast("dict[str, None]", among or {}):
            runtime = self._world.peers.get(name)
            if runtime is not None and name not in self._world.liars:
                self._check_table(name)

    def _check_table(self, name: str) -> None:
        rounds = cast(CountingWorld, self._world).rounds(name)
        program = rounds.program
        assert isinstance(program, StatisticsProgram)
        if program._stated is None or program.result is None:
            return
        kept, generation = program._stated.table, rounds.state.generation
        digest = _digest(kept)
        if (generation, name) not in self._added:  # it has shown its own to nobody yet
            own = [one for one in rounds.state.contributions.values() if one.words]
            self._check_mask(next(one for one in own if one.member == name), rounds.state.rows)
        added = [self._added[generation, one] for one in rounds.members]
        salt = sum((one.salt for one in added), np.zeros(SALT, dtype=np.uint64))
        if kept[:32] != salt.tobytes() or program.result.table != digest.hex():
            raise Violated(f"{name} states another digest than that of salt and table")
        if digest in self.tables:
            return
        if len({one.base for one in added}) > 1:
            raise Violated("members add to different tables")
        parts = self.tables[added[0].base]
        world = cast(CountingWorld, self._world)
        if sum(bool(one.parts) for one in added) < world.least_sites(bool(parts)):
            raise Violated("a table is made of the rows of few members")
        for one in added:
            for part in one.parts:
                if any(part[0] == who and part[1] < last for who, _, last in parts):
                    raise Violated(f"{part[0]} counts a row twice")
                parts |= {part}
        numbers = sum(map(world.count, parts), np.zeros_like(added[0].counts))
        if (read_table(kept).numbers != numbers).any():
            raise Violated(f"{name} found another table than that of the rows")
        if program.result.rows != sum(end - start for _, start, end in parts):
            raise Violated(f"{name} states another number of rows")
        self.tables[digest] = parts


def _digest(table: bytes) -> bytes:
    return hashlib.sha256(table).digest() if table else bytes(32)


@dataclass
class CountingWorld(SumsWorld):
    """Peers that count rows in tables."""

    least: int = 3
    program_class: type[StatisticsProgram] = StatisticsProgram
    compares: bool = False
    shown: tuple[str, ...] = ()
    _counts: dict[Part, np.ndarray] = field(default_factory=dict)

    def _make_context(self, number: int, name: str) -> SumsContext:
        plain = super()._make_context(number, name)
        facts = {one: getattr(plain, one) for one in plain.__dataclass_fields__}
        return CountingContext(
            **facts,
            least=self.least,
            program_class=self.program_class,
            compares=self.compares,
            shows=name in self.shown,
        )

    @property
    def words(self) -> int:
        """How many words of a contribution are counts."""
        return cells_of(auc_spec(self.least)).words

    def _make_auditor(self) -> SumsAuditor:
        return TableAuditor(self)

    def count(self, part: Part) -> np.ndarray:
        """The number of rows in a part, and their counts."""
        if part not in self._counts:
            member, start, end = part
            rows = as_rows(self.own[member][start:end])
            self._counts[part] = cells_of(auc_spec(self.least)).add_up(rows)
        return self._counts[part]

    def least_sites(self, is_later: bool) -> int:
        """How many members must add rows: with least_cell 1 only to a table that there is."""
        if self.least > 1:
            return LEAST_MEMBERS + 1
        return LEAST_MEMBERS if is_later else 1

    def fills(self, name: str, start: int, end: int) -> bool:
        labels = as_rows(self.own[name][start:end])[:, 1].tolist() if end > start else []
        return min(labels.count(0), labels.count(1)) >= self.least or (
            self.least == 1 and end > start
        )

    def check_sums(self) -> None:
        """Raise unless all that are left have the same table, with all rows that may be in it."""
        names, auditor = self.remaining(), cast(TableAuditor, self.auditor)
        found = set()
        for name in names:
            rounds = self.rounds(name)
            if rounds.halt is not None or rounds.ask is not None:
                raise Violated(f"{name} stands in round {rounds.round}: {rounds.halt}")
            assert isinstance(rounds.program, StatisticsProgram)
            found.add(rounds.program.table)
        if len(found) > 1:
            raise Violated("members have different tables")
        (table,) = found
        parts = auditor.tables[_digest(table or b"")]
        left = [name for name in names if not self._is_counted(name, parts)]
        if len(left) >= self.least_sites(bool(parts)):
            raise Violated(f"rows of {left} are not counted")

    def _is_counted(self, name: str, parts: frozenset[Part]) -> bool:
        """Whether all rows of a peer are in a table that may be.

        After a sum that may be known to some only, rows wait: the generation repeats that sum.
        """
        program = self.rounds(name).program
        assert isinstance(program, StatisticsProgram)
        if program._repeats or program._base != program._before.stated:
            return True
        end = max((last for who, _, last in parts if who == name), default=0)
        state = self.state(name)
        start = max(end, state.released.waiting)
        return not self.fills(name, start, state.rows)


def make_counting_world(seed: int, least: int = 3, **more: object) -> CountingWorld:
    """Draw a network, its rows, its faults, its evictions and growths."""
    chance = random.Random(f"batches {seed}")
    graph = draw_graph(chance, chance.randint(4, 7))

    def draw(count: int) -> list[float]:
        return [float(chance.randrange(64)) for _ in range(count)]

    values = [draw(chance.choice([5, 8, 12, 30])) for _ in range(graph.n)]
    growths = [
        (chance.uniform(0.2, BAD), number, chance.choice([3, 8, 20]))
        for number in range(graph.n)
        for _ in range(chance.choice([0, 1]))
    ]
    if chance.random() < 0.7:  # most add rows once there is a table
        growths += [
            (BAD + GOOD + chance.uniform(0.0, 0.5), number, 20)
            for number in range(graph.n)
            if chance.random() < 0.9
        ]
        growths.sort()
    added: dict[int, list[float]] = {}
    for _, number, by in growths:
        added.setdefault(number, []).extend(draw(by))
    world = CountingWorld(
        graph,
        values,
        seed,
        draw_faults(chance),
        more=added,
        disk_class=SumsDisk,
        least=least,
        **more,  # type: ignore[arg-type]
    )
    world.let_operators_agree()
    plan_evictions(world, chance)
    for when, number, by in growths:
        world._at(when, lambda number=number, by=by: world.grow(name_of(number), by))  # type: ignore[misc]
    return world


def run_counting_schedule(
    seed: int, least: int = 3, watch: Callable[[CountingWorld], None] | None = None, **more: object
) -> CountingWorld:
    """Run one schedule; raise `Violated` if it breaks anything."""
    world = make_counting_world(seed, least, **more)
    world.run(BAD + 2 * GOOD)
    world.finish()
    world.check_sums()
    if watch is not None:
        watch(world)
    return world
