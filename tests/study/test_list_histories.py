"""Random histories of lists of members: one study at every moment, and one list at the end.

Operators accept, propose, evict and leave in any order, while frames are lost and members restart.
Then all decide the same, and propose a few times, as they would.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import NO_DIGEST, MemberList
from pairgossip.study.protocol.site import Action
from tests.study.fakes import Node

MOST_ROUNDS = 12
"""Number of times that all operators propose at the end."""


class History:
    """Some nodes, frames on their way, and chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(f"lists {seed}")
        self.nodes = [Node(number) for number in range(self.chance.randrange(4, 8))]
        self.frames: list[tuple[str, str, bytes]] = []
        self.left: set[str] = set()

    def do(self, node: Node, what: Callable[[], Sequence[Action]]) -> bool:
        """Carry out a request of an operator; return whether it was not refused."""
        try:
            node.do(what())
        except InputError:
            return False
        finally:
            self._post(node)
        return True

    def _post(self, node: Node) -> None:
        self.frames += [(node.id, one.to, one.frame) for one in node.outbox]
        node.outbox.clear()

    def deliver(self, most: int, loss: float = 0.0) -> None:
        """Deliver frames in any order."""
        by_id = {node.id: node for node in self.nodes}
        while self.frames and most:
            most -= 1
            sender, to, frame = self.frames.pop(self.chance.randrange(len(self.frames)))
            if self.chance.random() >= loss:
                by_id[to].do(by_id[to].study.receive(sender, frame, 1))
                self._post(by_id[to])

    def happen(self) -> None:
        """Let one thing happen."""
        one, other = self.chance.sample(self.nodes, 2)
        kinds = ["accept", "propose", "evict", "leave", "contact", "deliver", "restart"]
        kind = self.chance.choices(kinds, [6, 4, 1, 0.5, 4, 10, 0.3])[0]
        if kind == "accept":
            self.do(one, partial(one.study.accept_card, other.card))
        elif kind == "propose":
            self.do(one, one.study.propose)
        elif kind == "evict":
            self.do(one, partial(one.study.evict, other.id))
        elif kind == "leave" and self.do(one, one.study.leave):
            self.left.add(one.id)
        elif kind == "contact":
            self.do(one, partial(one.study.contact, 1))
        elif kind == "deliver":
            self.deliver(self.chance.randrange(1, 12), loss=0.3)
        elif kind == "restart":
            one.begin()
            self._post(one)

    def come_to_one_list(self) -> bool:
        """Let all operators decide the same; return whether all that stay come to one list."""
        stay = [node for node in self.nodes if node.id not in self.left]
        for _ in range(MOST_ROUNDS):
            for node in self.chance.sample(stay, len(stay)):
                self._decide(node, {one.id for one in stay})
                self.do(node, node.study.propose)
                self.do(node, partial(node.study.contact, 1))
            self.deliver(20_000)
            if {node.ids for node in stay} == {tuple(node.id for node in stay)}:
                return True
        return False

    def _decide(self, node: Node, stay: set[str]) -> None:
        lists = node.study.lists
        for other in self.nodes:
            if other.id in stay - {node.id} and other.id not in lists.accepted:
                self.do(node, partial(node.study.accept_card, other.card))
            elif other.id not in stay | lists.evicted:
                self.do(node, partial(node.study.evict, other.id))

    def check(self) -> None:
        """Of two lists that all members have signed, one leads to the other."""
        known = {
            digest: new for node in self.nodes for digest, new in node.study.lists.known.items()
        }
        exist = [new for new in known.values() if self._is_signed(new)]
        for one, two in itertools.combinations(exist, 2):
            if set(one.ids) & set(two.ids):
                assert leads(known, one, two) or leads(known, two, one), (one.ids, two.ids)

    def _is_signed(self, new: MemberList) -> bool:
        signers = {node.id: node.study.lists.signers(new.digest) for node in self.nodes}
        return all(one in signers[one] for one in new.ids)


def leads(known: dict[bytes, MemberList], one: MemberList, new: MemberList) -> bool:
    """Return whether a list is another one, or comes before it."""
    while new.digest != one.digest and new.parent != NO_DIGEST:
        new = known[new.parent]
    return new.digest == one.digest


@pytest.mark.parametrize("seed", [*range(40), 236])
def test_one_study_at_every_moment_and_one_list_at_the_end(seed: int) -> None:
    history = History(seed)
    for _ in range(history.chance.randrange(10, 120)):
        history.happen()
        history.check()
    if len(history.nodes) - len(history.left) < 3:
        history.left.clear()  # nobody leaves a list that would be too short
    assert history.come_to_one_list()
    history.check()
