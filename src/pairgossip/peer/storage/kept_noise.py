"""The noise that a peer adds to its part of a sum: drawn once, kept in its ledger, and paid for.

A draw is for the peer's rows, a list of members and a question: whenever the same is asked again,
after a crash or from a backup, the same noise is added, and no second draw exists.

Another list of members has a draw of its own, although that costs epsilon again. The draws of all
members together make the noise of a sum; if they were used again in a sum without one member, the
difference of the two sums would be hidden by that member's small part alone. Drawn anew, every sum
has all the noise that epsilon asks for, whatever other sums are known beside it; rows that are in
two sums have spent epsilon twice. The same holds for another question on the same rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.ledger import Declared, noise_of, open_account
from pairgossip.peer.protocol.messages import Rows, digest_rows
from pairgossip.peer.specification.kinds import NoisySpec
from pairgossip.peer.specification.mechanism import ledger_rows
from pairgossip.peer.sums.statistics import noise_law


@dataclass(frozen=True)
class KeptNoise:
    """Gives a peer's noise, from its ledger."""

    spec: NoisySpec
    ledger: Path
    budget: float | None = None
    """How much epsilon a row may spend in all; None for what the ledger says."""

    def __call__(
        self, own: FloatArray, members: Mapping[str, int], question: bytes, counts: int
    ) -> NDArray[np.int64]:
        """Return the noise that the rows' owner adds to the counts of a sum over these members."""

        def draw() -> tuple[int, ...]:
            return tuple(noise_law(self.spec, len(members)).draw(counts).tolist())

        rows = tuple(map(tuple, own.tolist()))
        listed = msgspec.msgpack.encode(sorted(members.items()))
        table = {
            "specification": self.spec.hash,
            "members": hashlib.sha256(listed).hexdigest(),
            "question": hashlib.sha256(question).hexdigest(),
            "rows": digest_rows(rows),
        }
        declared = Declared(
            self.spec.observed,
            f"noise {json.dumps(table, sort_keys=True)}",
            _total(self.spec),
            setting="budget = {} in peer.toml, and start the peer again",
            act="another sum over them",
        )
        observations = ledger_rows(rows, self.spec)
        kept = np.array(
            noise_of(self.ledger, observations, declared, draw, self.budget), dtype=np.int64
        )
        if len(kept) != counts:
            raise InputError(
                f"{self.ledger} keeps noise for {len(kept)} counts of this sum, but it has "
                f"{counts}: go on with the version of pairgossip that has drawn it."
            )
        return kept


def check_account(path: Path, rows: Rows, spec: NoisySpec, budget: float | None) -> None:
    """Begin a ledger unless there is one; refuse rows that cannot pay for the sums of a run."""
    declared = Declared(spec.observed, "noise", _total(spec), act="another run")
    open_account(path, ledger_rows(rows, spec), declared, budget)


def _total(spec: NoisySpec) -> Decimal:
    """Return what all sums of a generation cost a row."""
    return Decimal(repr(spec.noise.epsilon))
