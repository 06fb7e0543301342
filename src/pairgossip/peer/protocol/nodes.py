"""A peer's nodes, one for each row of its data: how they freeze, swap, average and update."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from msgspec.structs import replace

from pairgossip.peer.protocol.context import Context
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.membership import Membership
from pairgossip.peer.protocol.messages import FIRST_GENERATION, Mass, Record
from pairgossip.peer.protocol.state import Node, State, Vector, as_vector


def picks_per_exchange(rows: int) -> int:
    """Return how many of a peer's rows one exchange picks: one for a neighbor, and two locally.

    With one or two rows, no two would be free while one is in an offer. With more rows, offers
    rarely freeze all but one; the local exchange is then left out, and counted in the state.
    """
    return 3 if rows > 2 else 1


@dataclass
class Nodes(Membership):
    """The nodes in a peer's state, one for each of its rows."""

    @property
    def free_rows(self) -> int:
        """The number of rows that no offer has frozen."""
        return len(self.state.nodes) - len(self.state.pending)

    def _free_node(self) -> int | None:
        """Draw a node for an answer; None if offers have frozen all."""
        drawn = self._free_nodes("answer", 1)
        return drawn[0] if drawn else None

    def _free_nodes(self, purpose: str, count: int) -> list[int]:
        """Draw different nodes that no offer has frozen; return none if there are too few."""
        free = self.free_rows
        if free < count:
            return []
        # A generator costs more than all the rest, and with a single row there is nothing to draw.
        drawn = self._lots(purpose).sample(range(free), count) if free > 1 else [0]
        for frozen in self.state.frozen:
            # The numbers from a frozen node on stand for the nodes that follow it.
            drawn = [node + (node >= frozen) for node in drawn]
        return drawn

    def _lots(self, purpose: str) -> random.Random:
        """Return a random generator that repeats its draws if a crash undoes their effects.

        Each purpose has its own, or the row exchanged locally would always be the next one offered.
        """
        state = self.state
        drawn = (state.generation, state.seq, state.exchanges)
        return random.Random(repr((self.context.draw_seed, self.context.me, purpose, drawn)))

    def _apply(self, node: int, record: Record, mass: Mass) -> bool:
        """Take the other's record, average both masses, and update; return whether that worked."""
        mine = self.state.nodes[node]
        average = tuple((a + b) / 2 for a, b in zip(mine.mass, mass, strict=True))
        if not self._update({node: Node(record, average, mine.private)}):
            self.counts[Event.UPDATE_NOT_FINITE] += 1
            return False
        self.state = replace(self.state, exchanges=self.state.exchanges + 1)
        return True

    def _exchange_locally(self) -> tuple[int, ...]:
        """Let two rows of this peer exchange, which costs no message; return their nodes."""
        if picks_per_exchange(len(self.state.nodes)) == 1:
            return ()
        drawn = self._free_nodes("local", 2)
        if not drawn:
            # Harmless: this is rare and depends on no value, and estimates are divided by the
            # weight of the updates that were made. These rows are only picked later.
            return self._leave_out(Event.TOO_FEW_FREE)
        i, j = drawn
        first, second = self.state.nodes[i], self.state.nodes[j]
        average = tuple((a + b) / 2 for a, b in zip(first.mass, second.mass, strict=True))
        swapped = {
            i: Node(second.record, average, first.private),
            j: Node(first.record, average, second.private),
        }
        return (i, j) if self._update(swapped) else self._leave_out(Event.LOCAL_NOT_FINITE)

    def _leave_out(self, why: Event) -> tuple[int, ...]:
        self.counts[why] += 1
        self.state = replace(self.state, left_out=self.state.left_out + 1)
        return ()

    def _update(self, exchanged: dict[int, Node]) -> bool:
        """Update nodes that have exchanged; return False, changing none, if a number overflows."""
        updated = {}
        for row, node in exchanged.items():
            is_own = (node.record.origin, node.record.row) == (self.context.me, row)
            own = self.context.own[row]
            mass, private = self.context.rule.update(
                node.mass, node.private, own, node.record.value, is_own
            )
            if not all(map(math.isfinite, (*mass, *private))):
                return False
            updated[row] = Node(node.record, mass, private)
        self.state = replace(self.state, nodes=as_vector(self.state.nodes).replaced(updated))
        return True


def first_state(context: Context) -> State:
    """Return the state of a peer that has never run: every node holds its own record."""
    return State(
        generation=FIRST_GENERATION,
        seq=0,
        nodes=first_nodes(context, FIRST_GENERATION),
        pending={},
        outcomes={},
        exchanges=0,
    )


def first_nodes(context: Context, generation: str) -> Vector[Node]:
    """Return the nodes of a peer when a generation begins."""
    return Vector(
        Node(context.own_record(row, generation), *context.rule.begin())
        for row in range(len(context.own))
    )
