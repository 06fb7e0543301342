"""Folders of peers for tests: made, introduced to each other, and run on a link in memory."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path

from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.identity.invitations import add_invited, invitation, read_invitation
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.state import Save, State
from pairgossip.peer.service.assembly import Assembly, assemble
from pairgossip.peer.service.runtime import ExchangeRuntime
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home
from pairgossip.peer.storage.journal_file import read_saved_state
from pairgossip.peer.storage.row_keeping import count_latest
from pairgossip.privacy import DebiasedKernel

GINI = """
algorithm.name = "exchange"
kernel = "gini"
columns = ["income"]
[ranges]
income = [0, 100]
"""
AUC = """
algorithm.name = "exchange"
kernel = "auc"
columns = ["score"]
label = "diseased"
[ranges]
score = [0, 1]
diseased = [0, 1]
"""
LOSS = """
algorithm.name = "exchange"
loss = "auc-logistic"
columns = ["a", "b"]
label = "class"
[ranges]
a = [-5, 5]
b = [-5, 5]
class = [0, 1]
[learning]
step = 0.5
radius = 10.0
l2 = 0.01
"""


def make_home(
    folder: Path,
    name: str,
    rows: list[float],
    spec: str = GINI,
    listen: str = "tls/127.0.0.1:7447",
) -> Home:
    """Make a peer with one column of rows."""
    spec_path, data_path = folder / f"{name}.toml", folder / f"{name}.csv"
    spec_path.write_text(spec)
    data_path.write_text("income\n" + "".join(f"{value}\n" for value in rows))
    return create_home(folder / name, name, spec_path, data_path, listen)


def introduce(home: Home, other: Home, is_neighbor: bool = True) -> None:
    """Let one peer join another by its invitation."""
    them, me = load_identity(other.folder), load_identity(home.folder)
    address = other.read_settings().listen
    text = invitation(them, other.read_spec(), count_latest(other), address)
    invited = read_invitation(text)
    members = add_invited(home.read_members(), me, home.read_spec(), invited, is_neighbor)
    members.save(home.members)


def introduce_each_other(homes: list[Home]) -> None:
    """Let every peer join every other."""
    for home in homes:
        for other in homes:
            if other is not home:
                introduce(home, other)


def make_pair(
    folder: Path, first: list[float], second: list[float], spec: str = GINI
) -> list[Home]:
    """Make two peers that are each other's neighbors."""
    homes = [make_home(folder, "ann", first, spec), make_home(folder, "bob", second, spec)]
    introduce_each_other(homes)
    return homes


def exchanges(home: Home) -> int:
    """Return how many exchanges a peer has saved, without reading anything else."""
    state, _ = read_saved_state(home.state)
    assert isinstance(state, State)
    return state.exchanges


class Pair:
    """Two assembled peers on a link that keeps order; they can be restarted from disk."""

    def __init__(self, homes: list[Home], *, saves_at_end: bool = False) -> None:
        self.homes = homes
        self._saves_at_end = saves_at_end
        self.now = 0.0
        self.running: dict[str, ExchangeRuntime] = {}
        self.assemblies: dict[str, Assembly] = {}
        self.ids: list[str] = []
        self._frames: deque[tuple[str, str, bytes]] = deque()
        for home in homes:
            self.ids.append(self.start(home))

    def start(self, home: Home) -> str:
        assembly = assemble(home)
        me = assembly.identity.id
        self.assemblies[me] = assembly
        journal = _LastOnly() if self._saves_at_end else assembly.journal
        self.running[me] = ExchangeRuntime(
            Exchange(assembly.context, assembly.state),
            journal,
            _Line(self._frames, me),
            random.Random(me),
            assembly.spec.algorithm.rate,
            is_ringing=False,
        )
        self.running[me].start(self.now)
        return me

    def restart(self, which: int) -> None:
        """Kill a peer, and restart it from its disk."""
        self.assemblies[self.ids[which]].close()
        self.start(self.homes[which])

    def deliver(self) -> None:
        """Deliver all frames to their receivers."""
        while self._frames:
            sender, to, frame = self._frames.popleft()
            self.running[to].received(sender, frame, self.now)

    def lose(self) -> None:
        """Lose all frames in transit."""
        self._frames.clear()

    def ask(self, which: int) -> None:
        """Let one peer offer the other an exchange, without delivering the offer."""
        runtime = self.running[self.ids[which]]
        runtime._carry_out(runtime.protocol.ask(self.ids[1 - which]), self.now)

    def repeat(self) -> None:
        """Let time pass until every offer without an answer is repeated."""
        self.now += 100.0
        for runtime in self.running.values():
            runtime.advance(self.now)
        self.deliver()

    def close(self) -> None:
        for me, assembly in self.assemblies.items():
            if self._saves_at_end:
                state = self.running[me].protocol.state
                assembly.journal.save(Save(state, sync=True, everything=True))
            assembly.close()


class _LastOnly:
    """A journal that ignores saves, for long runs without kills: only the last state is saved."""

    def save(self, change: Save) -> None: ...


class _Line:
    def __init__(self, frames: deque[tuple[str, str, bytes]], me: str) -> None:
        self._frames, self._me = frames, me

    def send(self, to: str, frame: bytes) -> None:
        self._frames.append((self._me, to, frame))


def debiased_kernel_of(spec: Spec) -> DebiasedKernel:
    kernel = spec.debiased
    assert isinstance(kernel, DebiasedKernel)
    return kernel
