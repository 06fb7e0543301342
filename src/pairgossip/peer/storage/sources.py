"""The sources of a peer that computes sums: files of its operator, read again and never copied.

The settings name a source for each batch of rows. The state knows each batch by a digest under the
peer's key, so that a source that has changed is noticed, and nobody without the key can try values.
Where a statistic is read from counts, these are in the state too: a peer that has contributed them
to the present generation finishes it, whatever has become of its source. Others need their rows.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.identity.certificates import sealing_key_of
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.protocol.held import Batch, Held
from pairgossip.peer.protocol.state import SumsState
from pairgossip.peer.spec.spec import Spec
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.rows import SiteRows, read_site_rows
from pairgossip.tables import STANDARD_INPUT
from pairgossip.text import format_count

_PERSON = b"pairgossip rows"


def absolute_source(data: Path) -> str:
    """Return how settings name a source; refuse one that cannot be read again."""
    if data == STANDARD_INPUT:
        raise InputError(
            "A peer that computes sums reads its rows again whenever it starts, which standard "
            "input cannot: name a file."
        )
    return str(data.absolute())


def make_batch(given: SiteRows, identity: Identity) -> Batch:
    """Return what the state keeps of rows that were read."""
    counts = given.cells.astype("<i8").tobytes() if given.spec.kernel is not None else b""
    return Batch(len(given), _digest(given.matrix, identity), counts)


def needs_rows(spec: Spec) -> bool:
    """Return whether a peer that runs needs its rows, and not only their counts."""
    return spec.loss is not None or spec.noise is not None


def read_held(home: Home, spec: Spec, identity: Identity, state: SumsState) -> tuple[Held, str]:
    """Read a peer's sources again; return what it holds, and what is wrong, if it can go on so."""
    sources = home.read_settings().sources
    if len(sources) != len(state.batches):
        raise InputError(
            f"{home.peer} names {format_count(len(sources), 'source')}, and the peer's rows came "
            f"from {len(state.batches):,}: name what it began with as source, and what peer add "
            "was given as batch.2, batch.3, ..."
        )
    try:
        read = [
            read_batch(Path(source), spec, identity, batch)
            for source, batch in zip(sources, state.batches, strict=True)
        ]
    except InputError as problem:
        if not needs_rows(spec) and state.summed_in == state.generation:
            until = "Until then this peer finishes what it has begun."
            return Held(state.batches), f"{problem} {until}"
        raise
    return Held(state.batches, np.concatenate(read) if needs_rows(spec) else None), ""


def read_batch(source: Path, spec: Spec, identity: Identity, batch: Batch) -> FloatArray:
    """Read a source again; refuse rows that are not those of the batch."""
    try:
        matrix = read_site_rows(source, spec).matrix
    except InputError as problem:
        how = f"it cannot be read as it was ({str(problem).rstrip('.')})"
        raise _changed(source, how) from None
    if len(matrix) != batch.rows:
        now, then = format_count(len(matrix), "row"), f"{batch.rows:,}"
        raise _changed(source, f"it has {now} now, and had {then}")
    if _digest(matrix, identity) != batch.digest:
        raise _changed(source, "its rows hold other values, or stand in another order")
    return matrix


def _changed(source: Path, how: str) -> InputError:
    return InputError(
        f"The source {source} is not what it was when its rows were taken: {how}. Put back what it "
        "held; give rows that came since to peer add, in a file of their own; or make a new peer "
        "with peer init --visible, if members of both studies may subtract."
    )


def _digest(matrix: FloatArray, identity: Identity) -> bytes:
    secret = identity.agree(sealing_key_of(identity.certificate))
    shape = struct.pack("<qq", *matrix.shape)
    keyed = hashlib.blake2b(shape, digest_size=32, key=secret, person=_PERSON)
    keyed.update(np.ascontiguousarray(matrix, dtype="<f8").data)
    return keyed.digest()


def hold_anew(home: Home, spec: Spec, identity: Identity) -> Held:
    """Read all rows of a peer, whatever its sources hold by now."""
    given = [read_site_rows(one, spec) for one in home.read_settings().sources]
    batches = tuple(make_batch(one, identity) for one in given)
    return Held(batches, np.concatenate([one.matrix for one in given]))
