"""A scripted exchange of three peers; every frame and every row of a journal is recorded.

Folders, databases and runtimes are the real ones; keys, random numbers and times are given. All
numbers result from sums, products, quotients and square roots, which all processors round alike.
"""

from __future__ import annotations

import hashlib
import os
import random
import secrets
import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import numpy.random  # noqa: F401  importing it draws a seed, which must not be of given chance
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.state import Save, State
from pairgossip.peer.service.assembly import assemble
from pairgossip.peer.service.runtime import ExchangeRuntime
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.growth import finish_interrupted_growth, request_growth, take_up_rows
from pairgossip.peer.storage.home import create_home
from pairgossip.peer.storage.journal import SqliteJournal
from tests.peer.homes import AUC, GINI, LOSS, introduce_each_other

RATE = "algorithm.rate = 1.0\n"
INCOMES = ["income", "12.5", "40", "77.25", "3", "91", "60.5", "18", "54.75"]
SCORES = ["score,diseased", *(f"{k / 8},{k % 2}" for k in (1, 2, 5, 7, 4, 6, 3, 0))]
PLACES = ["a,b,class", *(f"{k / 4},{k * k % 7 - 2.5},{k % 2}" for k in (3, 8, 1, 4, 7, 2, 5, 6))]
SCRIPTS = {
    "weighted": (INCOMES, RATE + GINI),
    "paper": (INCOMES, RATE + 'algorithm.mixing = "paper"\n' + GINI),
    "ratio u": (SCORES, RATE + AUC.replace("[ranges]", 'target = "u"\nmembers = 6\n[ranges]')),
    "reports": (INCOMES, RATE + GINI + "[privacy]\nepsilon = 1.0\nbins = 4\n"),
    # There are no exponentials or norms of models, whose last bits depend on the processor.
    "learning": (PLACES, RATE + LOSS.replace("logistic", "hinge").replace("radius = 10.0\n", "")),
}
SHARES = {"ann": slice(1, 4), "bob": slice(4, 6), "cyd": slice(6, 7)}
MORE = slice(7, 9)
DELAY = 1 / 8
LOST_EVERY, REPEATED_EVERY = 9, 14


def play(name: str, folder: Path) -> dict[str, Any]:
    """Run a script in an empty folder, and return all that was sent and stored."""
    table, spec = SCRIPTS[name]
    with closing(Stage(_found(table, spec, folder))) as stage:
        stage.run(until=6.0)
        stage.grow("bob", _write(table, MORE, folder / "more.csv"))
        stage.run(until=12.0)
        stage.cut_off("ann", "bob")
        stage.run(until=15.0)
        stage.restart("bob")
        stage.cut_off()
        stage.run(until=18.0)
        stage.evict("cyd", by="ann")
        stage.run(until=22.0)
        stage.settle()
        return stage.record()


class Stage:
    """Peers on a virtual clock, and a link that loses and repeats some of their frames."""

    def __init__(self, homes: list[Home]) -> None:
        self._now = 0.0
        self._line: deque[tuple[float, str, str, bytes]] = deque()
        self._cut: tuple[str, ...] = ()
        self._frames: list[str] = []
        self._first: dict[str, str] = {}
        self._homes = {home.folder.name: home for home in homes}
        self._parts = {name: assemble(home) for name, home in self._homes.items()}
        self._names = {parts.identity.id: name for name, parts in self._parts.items()}
        self._books = {name: Books(parts.journal) for name, parts in self._parts.items()}
        self._peers: dict[str, ExchangeRuntime] = {}
        for name in self._parts:
            self._start(name)

    def _start(self, name: str) -> None:
        parts, books = self._parts[name], self._books[name]
        exchange, chance = Exchange(parts.context, parts.state), random.Random(name)
        rate = parts.spec.algorithm.rate
        self._peers[name] = ExchangeRuntime(exchange, books, _Line(self, name), chance, rate)
        self._peers[name].start(self._now)

    def run(self, until: float) -> None:
        """Let everything happen up to a time."""
        while (event := self._next())[0] <= until:
            self._now, name = event
            if name:
                self._peers[name].advance(self._now)
            else:
                _, sender, to, frame = self._line.popleft()
                self._peers[to].received(sender, frame, self._now)
        self._now = until

    def _next(self) -> tuple[float, str]:
        """Return the time of the next event, and its peer; no peer if a frame arrives."""
        dues = [(peer.due(), name) for name, peer in self._peers.items()]
        return min([*dues, *((arrives, "") for arrives, *_ in list(self._line)[:1])])

    def send(self, sender: str, to: str, frame: bytes) -> None:
        """Record a frame; lose it, repeat it, or send it once."""
        kind, count = msgspec.msgpack.decode(frame)[0], len(self._frames)
        is_lost = count % LOST_EVERY == 0 or {sender, to} <= set(self._cut)
        copies = 0 if is_lost else 2 if count % REPEATED_EVERY == 0 else 1
        self._first.setdefault(kind, frame.hex())
        self._frames.append(f"{sender}>{to} {kind} {_digest(frame)} x{copies}")
        me = self._parts[sender].identity.id
        self._line.extend([(self._now + DELAY, me, to, frame)] * copies)

    def name_of(self, member: str) -> str:
        return self._names[member]

    def grow(self, name: str, data: Path) -> None:
        """Add the rows of a file to a peer that runs."""
        peer, home = self._peers[name], self._homes[name]
        with _chance(name):
            request_growth(home, data)
        with take_up_rows(home, peer.protocol.context.own) as rows:
            assert rows is not None
            peer.grow(rows, self._now)

    def cut_off(self, *names: str) -> None:
        """Lose every frame between these peers from now on."""
        self._cut = names

    def restart(self, name: str) -> None:
        """Kill a peer with an offer in doubt; restart it from its disk."""
        assert self._peers[name].protocol.state.pending
        self._parts[name].close()
        finish_interrupted_growth(self._homes[name])
        parts = assemble(self._homes[name])
        self._parts[name], self._books[name].journal = parts, parts.journal
        self._start(name)

    def evict(self, name: str, *, by: str) -> None:
        """Let a peer evict another."""
        self._peers[by].evict([self._parts[name].identity.id], self._now)

    def settle(self) -> None:
        """Ring no more, and let every exchange in flight end."""
        for peer in self._peers.values():
            peer.stop_ringing()
        self.run(until=1000.0)

    def record(self) -> dict[str, Any]:
        """Return digests of all frames, the first of each kind in full, and the journals."""
        journals = {name: books.record() for name, books in self._books.items()}
        return {"frames": self._frames, "first": self._first, "journals": journals}

    def close(self) -> None:
        for parts in self._parts.values():
            parts.close()


@dataclass
class _Line:
    stage: Stage
    me: str

    def send(self, to: str, frame: bytes) -> None:
        self.stage.send(self.me, self.stage.name_of(to), frame)


class Books:
    """A journal whose rows are all recorded after every save."""

    def __init__(self, journal: SqliteJournal) -> None:
        self.journal = journal
        self._saves, self._history = 0, hashlib.sha256()

    def load(self) -> State | None:
        state = self.journal.load()
        assert isinstance(state, State)
        return state

    def save(self, change: Save) -> None:
        self.journal.save(change)
        self._saves += 1
        self._history.update(repr((change.sync, self._tables())).encode())

    def record(self) -> dict[str, Any]:
        """Return a digest of the history of all rows, and the last rows of every table."""
        rows = {
            table: [_digest(repr(row).encode()) for row in found] for table, found in self._tables()
        }
        return {"saves": self._saves, "history": self._history.hexdigest()[:16], "rows": rows}

    def _tables(self) -> list[tuple[str, list[Any]]]:
        every = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        with closing(sqlite3.connect(self.journal.path)) as base:
            names = [name for (name,) in base.execute(every)]
            return [(one, list(base.execute(f"SELECT * FROM {one} ORDER BY 1"))) for one in names]


def _found(table: list[str], spec: str, folder: Path) -> list[Home]:
    """Make the folders of peers that are each other's neighbors."""
    file, homes = folder / "spec.toml", []
    file.write_text(spec)
    for name, share in SHARES.items():
        data = _write(table, share, folder / f"{name}.csv")
        with _chance(name):
            homes.append(create_home(folder / name, name, file, data, power_safe=False))
    introduce_each_other(homes)
    return homes


def _write(table: list[str], share: slice, file: Path) -> Path:
    file.write_text("\n".join((table[0], *table[share], "")))
    return file


@contextmanager
def _chance(name: str) -> Iterator[None]:
    """Replace random numbers that a peer draws once: its key, its seed, its reports."""
    key = Ed25519PrivateKey.from_private_bytes(random.Random(name).randbytes(32))
    with (
        mock.patch.object(Ed25519PrivateKey, "generate", lambda: key),
        mock.patch.object(secrets, "randbits", random.Random(name).getrandbits),
        mock.patch.object(os, "urandom", random.Random(name).randbytes),
    ):
        yield


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:8]
