"""Random histories of lists of members: one study at every moment, and one list at the end.

Operators accept, propose, evict, change their minds and leave in any order, while frames are lost
and members restart. Then all decide the same, and propose a few times, as they would.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import MemberList
from pairgossip.study.protocol.site import Action
from tests.study.fakes import Node, accept_each_other

MOST_ROUNDS = 12
"""Number of times that all operators propose at the end."""
MOST_FRAMES = 5_000
"""Number of frames after which members have said all there is to say, unless they never end."""


class History:
    """Some nodes, frames on their way, and chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(f"lists {seed}")
        self.nodes = [Node(number) for number in range(self.chance.randrange(4, 8))]
        self.frames: list[tuple[str, str, bytes]] = []
        self.left: set[str] = set()
        """Those who have asked to leave, or are evicted for good."""
        if self.chance.random() < 0.5:
            self._found(self.nodes[: self.chance.randrange(3, len(self.nodes) + 1)])

    def _found(self, founders: Sequence[Node]) -> None:
        accept_each_other(founders)
        for node in founders:
            self.do(node, node.study.propose)
        self.deliver(MOST_FRAMES)

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
        weights = {"accept": 6, "propose": 4, "evict": 1, "regret": 0.5, "leave": 0.4}
        weights |= {"contact": 4, "deliver": 8, "settle": 1, "restart": 0.3}
        kind = self.chance.choices(list(weights), list(weights.values()))[0]
        if kind == "accept":
            self.do(one, partial(one.study.accept_card, other.card))
        elif kind == "propose":
            self.do(one, one.study.propose)
        elif kind == "evict":
            self.do(one, partial(one.study.evict, other.id))
        elif kind == "regret" and other.id in one.study.lists.evicted:
            self.do(one, partial(one.study.accept_card, other.card))
        elif kind == "leave" and self.do(one, one.study.leave):
            self.left.add(one.id)
        elif kind == "contact":
            self.do(one, partial(one.study.contact, 1))
        elif kind == "deliver":
            self.deliver(self.chance.randrange(1, 12), loss=0.3)
        elif kind == "settle":
            self.settle()
        elif kind == "restart":
            one.begin()
            self._post(one)

    def settle(self) -> None:
        """Let everything arrive that members have to say now."""
        for node in self.nodes:
            self.do(node, partial(node.study.contact, 1))
        self.deliver(MOST_FRAMES)
        assert not self.frames, "they never end"

    def come_to_one_list(self) -> bool:
        """Let all operators decide the same; return whether all that stay come to one list."""
        for node in self.nodes:
            self.do(node, node.study.propose)
        self.settle()
        for _ in range(MOST_ROUNDS):
            self.left |= {node.id for node in self.nodes if self._is_left_out(node)}
            stay = [node for node in self.nodes if node.id not in self.left]
            if len(stay) < 3 or {node.ids for node in stay} == {tuple(node.id for node in stay)}:
                return True
            for node in self.chance.sample(stay, len(stay)):
                self._decide(node, {one.id for one in stay})
                self.do(node, node.study.propose)
            self.settle()
        return False

    def _is_left_out(self, node: Node) -> bool:
        """Return whether a list exists that follows this member's own, without it."""
        known, here = self._known(), node.study.members
        return here is not None and any(
            node.id not in new.ids and leads(known, here, new) and self._is_signed(new)
            for new in known.values()
        )

    def _decide(self, node: Node, stay: set[str]) -> None:
        lists = node.study.lists
        for other in self.nodes:
            if other.id in stay - {node.id} and other.id not in lists.accepted:
                self.do(node, partial(node.study.accept_card, other.card))
            elif other.id not in stay | lists.evicted:
                self.do(node, partial(node.study.evict, other.id))

    def check(self) -> None:
        """Of two lists that all members have signed, one leads to the other."""
        known = self._known()
        exist = [new for new in known.values() if self._is_signed(new)]
        for one, two in itertools.combinations(exist, 2):
            if set(one.ids) & set(two.ids):
                assert leads(known, one, two) or leads(known, two, one), (one.ids, two.ids)

    def _known(self) -> dict[bytes, MemberList]:
        return {
            digest: new for node in self.nodes for digest, new in node.study.lists.known.items()
        }

    def _is_signed(self, new: MemberList) -> bool:
        signers = {node.id: node.study.lists.signers(new.digest) for node in self.nodes}
        return all(one in signers[one] for one in new.ids)


def leads(known: dict[bytes, MemberList], one: MemberList, new: MemberList) -> bool:
    """Return whether a list is another one, or comes before it."""
    while new.digest != one.digest and new.parent in known:
        new = known[new.parent]
    return new.digest == one.digest


@pytest.mark.parametrize("seed", [*range(40), 236])
def test_one_study_at_every_moment_and_one_list_at_the_end(seed: int) -> None:
    history = History(seed)
    for _ in range(history.chance.randrange(10, 120)):
        history.happen()
        history.check()
    assert history.come_to_one_list()
    history.check()
