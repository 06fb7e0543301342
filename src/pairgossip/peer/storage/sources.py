"""The sources of a peer that computes sums: files of its operator, read again and never copied.

The settings name a source for each batch of rows. The state knows each batch by a digest under the
peer's key, so that a source that has changed is noticed, and nobody without the key can try values.
The order of rows is nothing to go by: a database answers a query in whatever order it likes.
Where a statistic is read from counts, these are in the state too: a peer that has contributed them
to the present generation finishes it, whatever has become of its source. Others need their rows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.identity.certificates import sealing_key_of
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.protocol.held import Batch, Held
from pairgossip.peer.protocol.state import Standing
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.rows import SiteRows, read_site_rows
from pairgossip.summaries.row_digest import RowDigest
from pairgossip.tables import STANDARD_INPUT
from pairgossip.text import format_count

_BLOCK = 1 << 14
"""Rows that are worked on at once, as many as fit into a processor's memory."""


def absolute_source(data: Path) -> str:
    """Return how settings name a source; refuse one that cannot be read again."""
    if data == STANDARD_INPUT:
        raise InputError(
            "A peer that computes sums reads its rows again whenever it starts, which standard "
            "input cannot: name a file."
        )
    _refuse_pipe(data)
    try:
        str(data).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"The name of {str(data)!r} is not UTF-8 text, as settings are: rename it."
        ) from None
    return str(data.absolute())


def _refuse_pipe(data: Path) -> None:
    if data.exists() and not (data.is_file() or data.is_dir()):
        raise InputError(
            f"{data} is a pipe or device, which cannot be read again whenever a peer starts: name "
            "a file."
        )


def make_batch(given: SiteRows, identity: Identity) -> Batch:
    """Return what the state keeps of rows that were read."""
    counts = given.cells.astype("<i8").tobytes() if given.spec.kernel is not None else b""
    return Batch(len(given), _digest(given.matrix, identity), counts)


def read_held(home: Home, spec: Spec, identity: Identity, state: Standing) -> tuple[Held, str]:
    """Read a peer's sources again; return what it holds, and what is wrong, if it can go on so."""
    sources = home.read_settings().sources
    if len(sources) != len(state.batches):
        raise InputError(
            f"{home.peer} names {format_count(len(sources), 'source')}, and the peer's rows came "
            f"from {len(state.batches):,}: name what it began with as source, and what peer add "
            "was given as batch.2, batch.3, ..."
        )
    read = []
    try:
        for source, batch in zip(sources, state.batches, strict=True):
            rows = read_batch(Path(source), spec, identity, batch)
            read += [rows] if spec.needs_rows else []  # else they are read one after the other
    except InputError as problem:
        if not spec.needs_rows and state.summed_in == state.generation:
            until = "Until then this peer finishes what it has begun."
            return Held(state.batches), f"{problem} {until}"
        raise
    return Held(state.batches, np.concatenate(read) if spec.needs_rows else None), ""


def read_batch(source: Path, spec: Spec, identity: Identity, batch: Batch) -> FloatArray:
    """Read a source again; refuse rows that are not those of the batch."""
    try:
        _refuse_pipe(source)
        matrix = read_site_rows(source, spec, is_private=True).matrix
    except InputError as problem:
        how = f"it cannot be read as it was ({str(problem).rstrip('.')})"
        raise _changed(source, how) from None
    if len(matrix) != batch.rows:
        now, then = format_count(len(matrix), "row"), f"{batch.rows:,}"
        raise _changed(source, f"it has {now} now, and had {then}")
    if _digest(matrix, identity) != batch.digest:
        raise _changed(source, "its rows hold other values")
    return _in_order(matrix) if spec.needs_rows else matrix


def _changed(source: Path, how: str) -> InputError:
    return InputError(
        f"The source {source} is not what it was when its rows were taken: {how}. Put back what it "
        "held; give rows that came since to peer add, in a file of their own; or make a new peer "
        "with peer init --visible, if members of both studies may subtract."
    )


def _digest(matrix: FloatArray, identity: Identity) -> bytes:
    digest = RowDigest(identity.agree(sealing_key_of(identity.certificate)))
    for start in range(0, len(matrix), _BLOCK):
        digest.add(list(matrix[start : start + _BLOCK].T))
    return digest.finish()


def _in_order(matrix: FloatArray) -> FloatArray:
    """Return rows in an order of their own, so that sums of floats and noise are the same again."""
    return matrix[np.lexsort(matrix.T)]


def hold_anew(home: Home, spec: Spec, identity: Identity) -> Held:
    """Read all rows of a peer, whatever its sources hold by now."""
    given = [read_site_rows(one, spec) for one in home.read_settings().sources]
    batches = tuple(make_batch(one, identity) for one in given)
    return Held(batches, np.concatenate([_in_order(one.matrix) for one in given]))
