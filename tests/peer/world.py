"""A network of real peers on a virtual clock, with a seeded network and disk that fail.

A peer runs the same code as in the field; only the clock, the random numbers, the network and the
disk are simulated. One seed gives one history, event for event.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.kernels.kernel import as_kernel
from pairgossip.peer.protocol.context import Context
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.membership import RestoredBackup
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.rules import Rule, WeightedMixing
from pairgossip.peer.protocol.state import Save, State
from pairgossip.peer.service.runtime import ExchangeRuntime
from tests.peer.audit import Auditor, Violated, is_in_one_generation, is_settled, remaining
from tests.peer.contexts import make_context, name_of
from tests.peer.disk import Disk, Killed
from tests.timeline import Timeline


@dataclass(frozen=True)
class Faults:
    """The faults of a world, while there are any."""

    loss: float = 0.0
    repetition: float = 0.0
    longest_delay: float = 0.1
    crashes: float = 0.0
    """Power failures per second and peer."""
    kills: float = 0.0
    """Probability of a kill at any write or send; in half of the kills the power also fails."""
    partitions: float = 0.0
    """Partitions per second."""
    freezes: float = 0.0
    """Freezes per second."""
    until: float = math.inf


@dataclass
class World(Timeline):
    """Peers on a graph, and the queue of what will happen."""

    graph: pg.Graph
    values: Sequence[float | Sequence[float]]
    """The row or rows with which each peer begins."""
    seed: int
    faults: Faults = Faults()
    kernel: str = "gini"
    make_rule: Callable[[int], Rule] | None = None
    rule_of: Callable[[int, int], Rule] | None = None
    """``rule_of(peer, rows)``: the rule of a peer once it has this many rows."""
    exchange_class: type[Exchange] = Exchange
    disk_class: type[Disk] = Disk
    runtime_class: type[ExchangeRuntime] = ExchangeRuntime
    rate: float = 1.0
    mortal: Callable[[str, str], bool] | None = None
    """``mortal(peer, point)``: whether a peer is killed at this point."""
    settles_safely: bool = True
    """Whether a peer that finds its growth half done syncs its database first."""
    more: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """Rows that a peer may be given later, by its number."""
    now: float = 0.0
    events: int = 0
    peers: dict[str, ExchangeRuntime | None] = field(default_factory=dict)
    disks: dict[str, Disk] = field(default_factory=dict)
    counts: Counter[Any] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.begin_time(self.seed)
        self._cut: set[frozenset[str]] = set()
        self._frozen_until: dict[str, float] = {}
        self._attended: dict[str, float] = {}
        """When the next event of each running peer is due, as queued."""
        self._touched: dict[str, None] = {}
        """Peers that may have changed since the last audit, in order."""
        self.gone: set[str] = set()
        self.names = [name_of(k) for k in range(self.graph.n)]
        self.own = {
            name: tuple((float(v),) for v in np.atleast_1d(value))
            for name, value in zip(self.names, self.values, strict=True)
        }
        self.rows = {name: len(rows) for name, rows in self.own.items()}
        for number, values in self.more.items():
            self.own[name_of(number)] += tuple((float(value),) for value in values)
        self.asked = dict(self.rows)
        self.files = dict(self.rows)
        self.requests: dict[str, int] = {}
        self.neighbors: dict[str, list[str]] = {name: [] for name in self.names}
        for i, j in self.graph.edges.tolist():
            self.neighbors[name_of(i)].append(name_of(j))
            self.neighbors[name_of(j)].append(name_of(i))
        self.contexts = {name: self._make_context(k, name) for k, name in enumerate(self.names)}
        self.auditor = self._make_auditor()
        for name in self.names:
            self.disks[name] = self.disk_class()
            begins = self._context(name, self.rows[name])
            self.disks[name].save(self._first_save(begins))
            self.disks[name].point = self._points_of(name)
            self.peers[name] = None
        for name in self.names:
            self.start(name)
        if self.faults.partitions:
            self._later(self.chance.expovariate(self.faults.partitions), self._partition)
        if self.faults.freezes:
            self._later(self.chance.expovariate(self.faults.freezes), self._freeze)

    # What depends on the protocol

    def _make_context(self, number: int, name: str) -> Context:
        return make_context(
            name,
            self.neighbors[name],
            self.own[name],
            self.rows,
            self._rule(number),
            self.seed,
            None if self.rule_of is None else lambda rows: self.rule_of(number, rows),  # type: ignore[misc]
        )

    def _make_auditor(self) -> Any:
        return Auditor(self)

    def _first_save(self, begins: Context) -> Any:
        return Save(first_state(begins), True, everything=True)

    def _make_runtime(self, name: str, state: Any) -> Any:
        return self.runtime_class(
            self.exchange_class(self._context(name, state.rows), state, counts=self.counts),
            self.disks[name],
            Line(self, name),
            random.Random(self.chance.random()),
            rate=self.rate,
        )

    def _rule(self, number: int) -> Rule:
        if self.make_rule:
            return self.make_rule(number)
        return WeightedMixing(as_kernel(self.kernel), weight=self.weight(number))

    def _context(self, name: str, rows: int) -> Context:
        """Return the context of a peer whose data file has as many rows as its state."""
        return replace(self.contexts[name], own=self.own[name][:rows])

    def weight(self, number: int) -> float:
        """Return 1 over how often each row of the peer is picked, if all links ring at rate 1."""
        name = name_of(number)
        picks = 1 if self.rows[name] == 1 else 3
        return self.rows[name] / (picks * len(self.neighbors[name]))

    # Life and death

    def start(self, name: str) -> None:
        """Start a peer, or start it again from its disk."""
        if name in self.gone or self.peers[name] is not None:
            return
        state = self.disks[name].load()
        assert state is not None
        self._settle_file(name, state.rows)
        runtime = self._make_runtime(name, state)
        self.peers[name] = runtime
        self._attended.pop(name, None)
        self._touched[name] = None
        self._note("start", name)
        self._live(name, runtime, lambda: runtime.start(self.now))
        if self.faults.crashes and self.is_bad:
            self._later(
                self.chance.expovariate(self.faults.crashes), lambda: self._crash(name, runtime)
            )

    def _live(self, name: str, runtime: ExchangeRuntime, what: Callable[[], None]) -> None:
        """Let a peer do something, until it is done or killed."""
        self._touched[name] = None
        try:
            what()
        except Killed:
            self.stop(name, power=self.chance.random() < 0.5)
            self._later(self.chance.expovariate(1.0), lambda: self.start(name))
        except RestoredBackup as problem:
            raise Violated(f"{name} was taken for a restored backup by {problem}") from problem
        else:
            self._attend(name, runtime)

    def _attend(self, name: str, runtime: ExchangeRuntime) -> None:
        """Call the peer when something of its own is due."""
        due = runtime.due()
        if due < math.inf and self._attended.get(name) != due:
            self._call_at(max(due, self.now), name, runtime, due)

    def _call_at(self, when: float, name: str, runtime: ExchangeRuntime, due: float) -> None:
        self._attended[name] = due
        self._at(when, lambda: self._advance(name, runtime, due))

    def _advance(self, name: str, runtime: ExchangeRuntime, due: float) -> None:
        if self.peers[name] is not runtime:
            return
        if self._attended.get(name) == due:
            del self._attended[name]
        if runtime.due() != due:
            return
        if self._is_frozen(name):
            self._call_at(self._frozen_until[name], name, runtime, due)
            return
        self._note("advance", name)
        self._live(name, runtime, lambda: runtime.advance(self.now))

    def _points_of(self, name: str) -> Callable[[str], None]:
        def point(where: str) -> None:
            if self.peers.get(name) is None:
                raise Killed(where)
            if self.mortal is not None and self.mortal(name, where):
                raise Killed(where)
            if self.faults.kills and self.is_bad and self.chance.random() < self.faults.kills:
                raise Killed(where)

        return point

    def _crash(self, name: str, runtime: ExchangeRuntime) -> None:
        if self.is_bad and self.peers[name] is runtime:
            self.stop(name)
            self._later(self.chance.expovariate(1.0), lambda: self.start(name))

    def stop(self, name: str, *, power: bool = True) -> None:
        """Kill a peer, and cut its power unless told otherwise."""
        self.peers[name] = None
        self._touched[name] = None
        self._note("stop", name)
        if power:
            self.disks[name].lose_power(self.chance)
        self.counts["power failures" if power else "kills"] += 1
        for neighbor in self.neighbors[name]:
            self._later(self.chance.expovariate(1.0), lambda who=neighbor: self._lose(who, name))  # type: ignore[misc]

    def _lose(self, name: str, neighbor: str) -> None:
        """Let a peer notice that a connection broke, perhaps after the neighbor is back."""
        runtime = self.peers[name]
        if runtime is not None:
            self._note("lose", name, neighbor)
            runtime.protocol.away.add(neighbor)

    def lose_for_ever(self, name: str) -> None:
        """Kill a peer that will never start again."""
        self.gone.add(name)
        self.stop(name)

    def evict(self, by: str, members: Sequence[str]) -> None:
        """Let a peer evict others, as soon as it runs."""
        runtime = self.peers[by]
        if runtime is None:
            self._later(0.5, lambda: self.evict(by, members))
            return
        self._note("evict", by, *members)
        self.counts["evictions"] += 1
        self._live(by, runtime, lambda: runtime.evict(members, self.now))
        if self.peers[by] is None:  # killed in between: the operator asks again
            self._later(0.5, lambda: self.evict_again(by, members))

    def evict_again(self, by: str, members: Sequence[str]) -> None:
        """Evict unless it has been done."""
        if not set(members) <= set(self.state(by).evicted):
            self.evict(by, members)

    def grow(self, name: str, by: int) -> None:
        """Add rows to a peer; the request lies in its folder until the peer has taken it up."""
        self._finish_growth(name, self.state(name).rows)
        self.asked[name] += by
        self.requests[name] = self.asked[name]
        self.counts["growths"] += 1
        self._take_up(name)

    def _take_up(self, name: str) -> None:
        runtime, rows = self.peers[name], self.requests.get(name)
        if name in self.gone or rows is None:
            return
        if runtime is not None and not self._is_frozen(name):
            self._note("grow", name, rows)
            self._live(name, runtime, lambda: self._grow(name, runtime, rows))
        self._later(0.5, lambda: self._take_up(name))

    def _grow(self, name: str, runtime: ExchangeRuntime, rows: int) -> None:
        runtime.grow(self.own[name][:rows], self.now)
        self.files[name] = self.requests.pop(name)

    def _settle_file(self, name: str, rows: int) -> None:
        """Settle a starting peer's folder as peers do, and check the result."""
        self._finish_growth(name, rows)
        if self.files[name] != rows:
            raise Violated(f"{name} has a file of {self.files[name]} rows, and a state of {rows}")

    def _finish_growth(self, name: str, rows: int) -> None:
        """Do what `growth.settle` does: the state has the requested rows, and the file follows."""
        if self.requests.get(name) == rows:
            if self.settles_safely:
                self.disks[name].sync()
            self.files[name] = self.requests.pop(name)

    def ring(self, name: str, to: str) -> None:
        """Let a peer ask a neighbor now, if it has a row to offer."""
        runtime = self.peers[name]
        if runtime is None or to in self.state(name).pending or not runtime.protocol.free_rows:
            return
        exchange = runtime.protocol
        event = exchange.ring if to in exchange.away else exchange.ask
        self._live(name, runtime, lambda: runtime._carry_out(event(to), self.now))

    # The network

    @property
    def is_bad(self) -> bool:
        return self.now < self.faults.until

    def transmit(self, sender: str, to: str, frame: bytes) -> None:
        """Lose, repeat or delay a frame."""
        self.disks[sender].point("before sending")
        self.auditor.sent(sender, to, frame)
        if not (self.is_bad and self.chance.random() < self.faults.loss):
            copies = 1 + (self.is_bad and self.chance.random() < self.faults.repetition)
            for _ in range(copies):
                delay = self.chance.uniform(0.001, self.faults.longest_delay)
                self._later(delay, lambda: self._deliver(sender, to, frame))
        self.disks[sender].point("sent")

    def _deliver(self, sender: str, to: str, frame: bytes) -> None:
        runtime = self.peers[to]
        if runtime is None or (self.is_bad and frozenset((sender, to)) in self._cut):
            return
        if self._is_frozen(to):
            self._at(self._frozen_until[to], lambda: self._deliver(sender, to, frame))
            return
        self._note("deliver", sender, to, "")
        self.trace.update(frame)
        self._live(to, runtime, lambda: runtime.received(sender, frame, self.now))

    def _partition(self) -> None:
        if not self.is_bad:
            return
        side = set(self.chance.sample(self.names, self.chance.randint(1, len(self.names) - 1)))
        self._cut = {
            frozenset((a, b))
            for a in self.names
            for b in self.neighbors[a]
            if (a in side) != (b in side)
        }
        self.counts["partitions"] += 1
        self._later(self.chance.expovariate(0.5), self._cut.clear)
        self._later(self.chance.expovariate(self.faults.partitions), self._partition)

    def _freeze(self) -> None:
        if self.is_bad:
            self._frozen_until[self.chance.choice(self.names)] = self.now + self.chance.expovariate(
                0.5
            )
            self.counts["freezes"] += 1
            self._later(self.chance.expovariate(self.faults.freezes), self._freeze)

    def _is_frozen(self, name: str) -> bool:
        return self._frozen_until.get(name, 0.0) > self.now

    # Time

    def run(self, until: float, after_each: Callable[[World], None] | None = None) -> None:
        """Let everything happen up to a time, and audit the network after each event."""
        while self._happen_next(until):
            if self._touched:
                self.auditor.check(self._touched)
                self._touched.clear()
            if after_each is not None:
                after_each(self)
        self.now = until
        self.auditor.check()  # of all, whether they have changed or not

    def heal(self, patience: float = 200.0) -> None:
        """Continue ringing until all know the last generation."""
        end = self.now + patience
        while self.now < end and not (is_in_one_generation(self) and self._has_taken_up()):
            self.run(min(end, self.now + 5.0))

    def _has_taken_up(self) -> bool:
        return not set(self.requests) & set(remaining(self))

    def settle(self, patience: float = 1000.0) -> None:
        """Ring no more, and let every exchange in flight end."""
        for name, runtime in self.peers.items():
            if runtime is not None:
                runtime.stop_ringing()
                self._attend(name, runtime)
        end = self.now + patience
        while self.now < end and not is_settled(self):
            self.run(min(end, self.now + 10.0))

    # What is true

    def state(self, name: str) -> State:
        """Return the peer's state: in memory if it runs, else on its disk."""
        runtime = self.peers[name]
        return self.disks[name].commits[-1] if runtime is None else runtime.protocol.state

    def is_running(self, name: str) -> bool:
        """Return whether the peer has finished all work of the last event."""
        return self.peers[name] is not None

    def is_away(self, name: str, neighbor: str) -> bool:
        """Return whether a peer knows that it must not make a new offer to a neighbor."""
        runtime = self.peers[name]
        return runtime is not None and neighbor in runtime.protocol.away

    def estimates(self) -> FloatArray:
        """Return the estimates of all rows of all peers."""
        return np.array(
            [
                self.contexts[name].rule.readout(node.mass, node.private)[0]
                for name in self.names
                for node in self.state(name).nodes
            ]
        )


class Line:
    def __init__(self, world: World, name: str) -> None:
        self._world, self._name = world, name

    def send(self, to: str, frame: bytes) -> None:
        self._world.transmit(self._name, to, frame)
