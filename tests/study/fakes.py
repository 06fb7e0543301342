"""A site that sums random vectors, and members whose questions run in one process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import Ask, Disagreement, Kind, Words
from pairgossip.study.protocol.desk import Desk, Held, Keys
from pairgossip.study.protocol.question import Run
from pairgossip.study.protocol.records import (
    Card,
    Piece,
    Question,
    Yes,
    decode,
    digest_of,
    topic_of,
)
from pairgossip.study.protocol.site import Action, Kept, Offer, Save, Send, State, Told, Verdict
from pairgossip.study.protocol.study import Progress, Study


class FakeProgram:
    """Sums of random vectors in several rounds, then a statement of a digest of the sums."""

    most_rounds = 20

    def __init__(
        self,
        seed: bytes,
        rounds: int,
        size: int,
        last_digit: str = "",
        *,
        is_stubborn: bool = False,
    ) -> None:
        self._is_stubborn = is_stubborn
        self._seed, self.rounds, self.size, self._last_digit = seed, rounds, size, last_digit
        self.totals: list[Words] = []
        self.is_stated = False
        self._public: bytes | None = None

    def _next_public(self) -> bytes:
        sums = hashlib.sha256(b"".join(one.tobytes() for one in self.totals)).digest()
        return sums + self._last_digit.encode()

    def ask(self) -> Ask | None:
        if self.is_stated:
            return None
        public = self._public if self._public is not None else self._next_public()
        if len(self.totals) == self.rounds:
            return Ask(Kind.STATEMENT, public)
        return Ask(Kind.SUM, public, self.size)

    def contribute(self, ask: Ask) -> Words:
        seed = int.from_bytes(hashlib.sha256(self._seed + ask.public).digest(), "big")
        return np.random.default_rng(seed).integers(0, 2**64, self.size, dtype=np.uint64)

    def follow(self, public: bytes, *, is_repeated: bool = True) -> Ask:
        if public[:32] != self._next_public()[:32]:
            raise Disagreement("another sum")
        self._public = None if self._is_stubborn else public
        ask = self.ask()
        assert ask is not None
        return ask

    def take(self, ask: Ask, total: Words) -> None:
        if ask.kind is Kind.STATEMENT:
            self.is_stated = True
        else:
            self.totals.append(total)
            self._public = None


class FakeSite:
    """A site that says yes to everything, and records what it is told."""

    def __init__(self, seed: bytes, rounds: int = 1, size: int = 7, last_digit: str = "") -> None:
        self.seed, self.rounds, self.size, self.last_digit = seed, rounds, size, last_digit
        self.batches = 1
        self.verdict = Verdict("yes")
        self.programs: dict[bytes, FakeProgram] = {}
        self.disclosed: list[tuple[bytes, int, bytes]] = []
        self.finished: dict[bytes, bytes] = {}
        self.given_up: dict[bytes, tuple[str, bool]] = {}
        self.archive: Callable[[bytes], tuple[bytes, ...]] = lambda name: ()
        self.is_broken = False
        self.is_stubborn = False

    def judge(self, name: bytes, question: Question) -> Verdict:
        return self.verdict

    def offer(self, name: bytes, question: Question) -> Offer:
        pieces = tuple(Piece(batch, 10) for batch in range(1, self.batches + 1))
        commitment = hashlib.sha256(self.seed).digest()
        return Offer(bytes(32), commitment, pieces, columns=frozenset([question.text]))

    def make_program(
        self, name: bytes, question: Question, yeses: Mapping[str, Yes]
    ) -> FakeProgram:
        if self.is_broken:
            raise InputError("The source has changed since: put it back.")
        rounds = self.rounds if question.adds else 0
        self.programs[name] = FakeProgram(
            self.seed + name, rounds, self.size, self.last_digit, is_stubborn=self.is_stubborn
        )
        return self.programs[name]

    def note_disclosure(self, name: bytes, round_: int, words: bytes) -> None:
        self.disclosed.append((name, round_, words))

    def finish(self, name: bytes, question: Question, transcript: bytes) -> None:
        self.finished[name] = transcript

    def give_up(self, name: bytes, because: str, *, is_disclosed: bool) -> None:
        self.given_up[name] = because, is_disclosed

    def recall(self, name: bytes) -> tuple[bytes, ...]:
        return self.archive(name)


def keys_of(seed: int) -> Keys:
    """Return real keys made from a seed; a certificate is the hex of the public key."""
    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"%d" % seed).digest())
    draws = np.random.default_rng(seed)
    return Keys(private.sign, verify, lambda: draws.bytes(32))


def certificate_of(seed: int) -> str:
    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"%d" % seed).digest())
    return private.public_key().public_bytes_raw().hex()


def verify(certificate: str, payload: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(certificate)).verify(signature, payload)
    except Exception:
        return False
    return True


class Peer:
    """One member of a question: its records, its secrets, and its notes."""

    def __init__(self, me: str, seed: int, site: FakeSite) -> None:
        self.me, self.site, self.outbox = me, site, list[bytes]()
        self.desk = Desk(me, keys_of(seed), site, self._publish)
        self.saved: list[Save] = []
        self.hindrance = ""
        self.run: Run

    def _publish(self, held: Held) -> list[Action]:
        return [Send("all", held.content)]

    def carry_out(self, actions: Sequence[Action]) -> None:
        for one in actions:
            if isinstance(one, Save):
                self.saved.append(one)
            elif isinstance(one, Send):
                self.outbox.append(one.frame)

    def join(self, name: bytes, question: Question, members: tuple[str, ...]) -> None:
        self.run = Run(self.desk, name, question, members, lambda run: self.hindrance)

    def take(self, content: bytes) -> None:
        self.desk.store.add(decode(content))
        self.carry_out(self.run.proceed())

    def saved_records(self) -> list[Kept]:
        kept: dict[bytes, Kept] = {}
        for save in self.saved:
            kept.update({one.content: one for one in save.records})
        return list(kept.values())


def ask_all(peers: list[Peer], **facts: Any) -> bytes:
    """Let the first member ask, and all say yes; return the question's name."""
    unsigned = Question(
        member=peers[0].me, list=bytes(32), number=1, text="auc", expires=100, **facts
    )
    question = peers[0].desk.sign(unsigned)
    assert isinstance(question, Question)
    name = digest_of(question)
    for peer in peers:
        peer.join(name, question, tuple(sorted(one.me for one in peers)))
        peer.desk.store.add(question)
        if question.adds:
            peer.carry_out(peer.run.say_yes(peer.site.offer(name, question)))
        peer.carry_out(peer.run.proceed())
    return name


def deliver(peers: list[Peer], rng: np.random.Generator, loss: float = 0.0) -> None:
    """Deliver what is sent to all others, in any order, and some of it twice."""
    pending = [(to, content) for one in peers for content in one.outbox for to in peers]
    for one in peers:
        one.outbox.clear()
    while pending:
        to, content = pending.pop(int(rng.integers(len(pending))))
        if rng.random() < loss:
            pending.append((to, content))
        to.take(content)
        pending += [(other, sent) for sent in to.outbox for other in peers]
        to.outbox.clear()


class Node:
    """A member with its study, and a disk that keeps what is saved."""

    def __init__(self, number: int, site: FakeSite | None = None) -> None:
        self.id = f"m{number:02}"
        self.card = Card(self.id, f"site-{number}", certificate_of(number), None)
        self.number, self.site = number, site or FakeSite(self.id.encode())
        self.site.archive = self.recall
        self.records: dict[bytes, Kept] = {}
        self.old: dict[bytes, list[bytes]] = {}
        self.secrets: dict[str, bytes] = {}
        self.notes: dict[str, bytes] = {}
        self.outbox: list[Send] = []
        self.told: list[Told] = []
        self.begin()

    def begin(self, least_members: int = 3) -> None:
        """Start from the disk."""
        state = State(tuple(self.records.values()), dict(self.secrets), dict(self.notes))
        keys = keys_of(self.number)
        self.draws = getattr(self, "draws", keys.draw_key)
        keys = keys._replace(draw_key=self.draws)
        self.outbox.clear()
        self.study = Study(self.card, keys, self.site, state, least_members=least_members)
        self.do(self.study.start(0))

    def recall(self, name: bytes) -> tuple[bytes, ...]:
        return tuple(self.old.get(name, ()))

    def view(self, name: bytes) -> Progress:
        """Return the progress of a question that is known here."""
        found = self.study.question(name)
        assert found is not None
        return found

    @property
    def ids(self) -> tuple[str, ...]:
        """Return who is on the present list."""
        return () if self.study.members is None else self.study.members.ids

    def do(self, actions: Sequence[Action]) -> None:
        for one in actions:
            if isinstance(one, Save):
                self._save(one)
            elif isinstance(one, Send):
                self.outbox.append(one)
            elif isinstance(one, Told):
                self.told.append(one)

    def _save(self, save: Save) -> None:
        for kept in save.records:
            self.records[digest_of(decode(kept.content))] = kept
        for digest in save.forgotten:
            self.records.pop(digest, None)
        for where, changes in ((self.secrets, save.secrets), (self.notes, save.notes)):
            for name, content in changes.items():
                if content is None:
                    where.pop(name, None)
                else:
                    where[name] = content
        if save.archived is not None:
            here = {
                d: k
                for d, k in self.records.items()
                if topic_of(decode(k.content)) == save.archived
            }
            self.old[save.archived] = [kept.content for kept in here.values()]
            for digest in here:
                del self.records[digest]


def exchange(nodes: Sequence[Node], seed: int = 0, contacts: int = 3, loss: float = 0.0) -> None:
    """Deliver all frames, in any order, for this many contacts of all members."""
    rng = np.random.default_rng(seed)
    by_id = {one.id: one for one in nodes}
    for _ in range(contacts):
        for node in nodes:
            node.do(node.study.contact(1))
        pending = [(one.id, send) for one in nodes for send in one.outbox]
        for node in nodes:
            node.outbox.clear()
        while pending:
            sender, send = pending.pop(int(rng.integers(len(pending))))
            to = by_id.get(send.to)
            if to is None or rng.random() < loss:
                continue
            to.do(to.study.receive(sender, send.frame, 1))
            pending += [(to.id, one) for one in to.outbox]
            to.outbox.clear()


def accept_each_other(nodes: Sequence[Node]) -> None:
    """Let all operators accept all others by hand."""
    for one in nodes:
        for other in nodes:
            if one is not other:
                one.do(one.study.accept_card(other.card))


def found(count: int) -> list[Node]:
    """Return members of a study whose first list all have signed."""
    nodes = [Node(number) for number in range(count)]
    accept_each_other(nodes)
    for one in nodes:
        one.do(one.study.propose())
    exchange(nodes)
    return nodes


def ask(node: Node, **facts: Any) -> bytes:
    """Let a member ask all others."""
    name, actions = node.study.ask(facts.pop("text", "auc"), 1, 100, **facts)
    node.do(actions)
    return name
