"""Faults on one side of an exchange: half of it lost, and partners who lie.

The functions at the end are compiled or run as written, with the method's own exchange between
them. A liar itself follows the method honestly, so that its own state stays useful to it; its
partner makes the same exchange with the lie. Where two liars meet, they do not lie. After a
half-lost exchange one node has its state from before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence

from pairgossip.algorithms.methods import InPlace
from pairgossip.arrays import PairArray
from pairgossip.engine.schedule import child
from pairgossip.errors import InputError
from pairgossip.faults.attacks import ATTACKS, Network, usual_distance
from pairgossip.faults.gaps import HalfLosses
from pairgossip.faults.network import FaultyNetwork

LARGEST_LIE = 1e100
"""The largest lie; larger ones are cut to it, so that nodes that believe them do not overflow."""
NO_NUMBERS = "Lies turned out to be NaN: let the attack function, and the kernel, return numbers."
_OF_ONE_COMPONENT = (ATTACKS["constant"], ATTACKS["sign"])
"""The attacks that would not change a ratio, or set it to 1, if made on both of its parts."""
_WITHOUT_CLIP = (*_OF_ONE_COMPONENT, ATTACKS["dissensus"])
"""The attacks that do not use the clip, which takes longer to find than all the rest."""


class Spoil:
    """The faults of a trial on one side of its exchanges."""

    def __init__(self, faulty: FaultyNetwork, seed: SeedSequence) -> None:
        self.faulty = faulty
        places, sides = (Generator(SFC64(child(seed, number))) for number in range(2))
        self.half_losses = HalfLosses(faulty.faults.half_loss, places, sides)


class Tools(NamedTuple):
    """The functions that all faulty runs share, compiled or not."""

    run: Any
    """``run(exchange, state, h, block, start, stop, is_liar)`` carries out a part of a block.

    It ends before an exchange in which one of the two nodes lies, if there are liars, and returns
    its place.
    """
    meet: Any
    """``meet(exchange, state, h, block, s)`` carries out one exchange."""
    copy_row: Any


class Actions(NamedTuple):
    """The actions in the exchanges of a method, compiled or not."""

    exchange: Any
    lie: Any
    """`lie_to_partner`, which calls the others."""
    see: Any
    """``see(state)``: all nodes' values."""
    clip: Any
    """``clip(state, z, partner, liar, network)``: the largest useful lie."""
    forge: Any
    """``forge(state, liar, lie)``: put the lie into the liar's state."""


def choose_actions(
    form: InPlace,
    exchange: Any,
    faulty: FaultyNetwork,
    prepare: Callable[..., Any],
    *,
    is_counted: bool,
) -> Actions:
    """Return the actions in the exchanges of a method; ``prepare`` compiles functions, or not.

    The last entry of counted vectors is a number of rows, and liars do not change it.
    """
    if not faulty.network.is_liar.any():
        nothing = prepare(_do_nothing)
        return Actions(exchange, nothing, nothing, nothing, nothing)
    reads_values = form.read is InPlace._field_defaults["read"]
    clip = _usual_clip if form.clip is None else _as_clip(prepare(form.clip))
    if faulty.attack in _WITHOUT_CLIP:
        clip = _unused_clip
    forge: Callable[..., None] = _forge_values
    if form.vectors:
        forge = _forge_sums if is_counted else _forge_vectors
    if _lies_by_column(form, faulty):
        forge = _do_nothing  # the attack has done it
    return Actions(
        exchange,
        prepare(lie_to_partner),
        prepare(_see_values if reads_values else form.read),
        prepare(clip),
        prepare(forge if form.forge is None else _as_forge(prepare(form.forge))),
    )


def choose_attack(
    form: InPlace, faulty: FaultyNetwork, prepare: Callable[..., Any], *, is_counted: bool
) -> Callable[..., Any]:
    """Return the attack; a built-in attack on vectors also writes the lie into the liar's state."""
    attack = faulty.attack
    if not _lies_by_column(form, faulty):
        return attack
    return _as_columns(prepare(attack), 1 if is_counted else 0)


def _lies_by_column(form: InPlace, faulty: FaultyNetwork) -> bool:
    """Return whether an attack on vectors lies value by value, which needs no memory for them."""
    holds_values = form.forge is None and form.read is InPlace._field_defaults["read"]
    return form.vectors and holds_values and faulty.attack in ATTACKS.values()


def network_of(faulty: FaultyNetwork, component: int, components: int, *, vectors: bool) -> Network:
    """Return the network for attacks on one component; some attacks spare all but the first."""
    network = faulty.network
    if vectors:
        return network
    if component > 0 and faulty.attack in _OF_ONE_COMPONENT:
        network = network._replace(is_liar=np.zeros_like(network.is_liar))
    return network._replace(lie=float(np.broadcast_to(network.lie, components)[component]))


def check_liars(method: str, form: InPlace, state: Any) -> None:
    """Raise `InputError` unless nodes send values that liars can replace."""
    if form.forge is None and "z" not in state._fields:
        raise InputError(
            f"Method '{method}' has no values that its liars could replace: name the values that "
            "nodes send z in its state, or give InPlace a function forge(state, k, value)."
        )


def rows_of(state: Any, n: int) -> tuple[Any, ...]:
    """Return the memory of each node in every array with a row per node, shape (n, words)."""
    arrays = [array.reshape(n, -1).view(np.uint8) for array in state if len(array) == n]
    is_whole = all(array.shape[1] % 8 == 0 for array in arrays)
    return tuple(array.view(np.uint64 if is_whole else np.uint8) for array in arrays)


def spare_of(rows: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return room for three rows: of both nodes before, and of a liar after an exchange."""
    return tuple(np.empty((3, array.shape[1]), dtype=array.dtype) for array in rows)


# The following functions are also compiled, so they are written for numba.


def _do_nothing(*arguments: Any) -> None:
    """Do nothing, in place of an action."""


def _see_values(state: Any) -> Any:
    return state.z


def cut_lie(value: Any) -> Any:
    """Return the value that is sent, within the limits."""
    # Compiled code that could raise an error here would take twice the time for every lie.
    return np.minimum(np.maximum(value, -LARGEST_LIE), LARGEST_LIE)


def _forge_values(state: Any, k: int, value: Any) -> None:
    state.z[k] = cut_lie(value)


def _forge_vectors(state: Any, k: int, values: Any) -> None:
    for c in range(len(values)):
        state.z[k, c] = cut_lie(values[c])


def _forge_sums(state: Any, k: int, values: Any) -> None:
    for c in range(len(values) - 1):  # a mean is a sum over the last: lies about both cancel
        state.z[k, c] = cut_lie(values[c])


def _as_columns(attack: Any, left_out: int) -> Callable[..., None]:
    def lie_by_column(z, liar, partner, clip, network):  # type: ignore[no-untyped-def]
        for c in range(z.shape[1] - left_out):
            known = Network(network.is_liar, network.indptr, network.indices, network.lie[c])
            z[liar, c] = cut_lie(attack(z[:, c], liar, partner, clip[c], known))

    return lie_by_column


def _as_forge(forge: Any) -> Callable[..., None]:
    def forge_lie(state, k, value):  # type: ignore[no-untyped-def]
        forge(state, k, cut_lie(value))

    return forge_lie


def _usual_clip(state: Any, z: Any, partner: int, liar: int, network: Any) -> Any:
    return usual_distance(z, partner, network)


def _unused_clip(state: Any, z: Any, partner: int, liar: int, network: Any) -> Any:
    return z[partner]


def _as_clip(clip: Any) -> Callable[..., Any]:
    def find_clip(state, z, partner, liar, network):  # type: ignore[no-untyped-def]
        return clip(state, partner, liar)

    return find_clip


def copy_row(source: Any, at: int, target: Any, to: int) -> None:
    """Copy one node's row of every array."""
    for number in range(len(source)):
        for word in range(source[number].shape[1]):
            target[number][to, word] = source[number][at, word]


def lie_to_partner(
    tools: Any, actions: Any, attack: Any, state: Any, h: Any, block: PairArray, s: int, side: int,
    rows: Any, spare: Any, network: Any,
) -> None:  # fmt: skip
    """Make an exchange in which one node lies; spare rows have the states before it."""
    liar, partner = np.intp(block[s, side]), np.intp(block[s, 1 - side])
    tools.meet(actions.exchange, state, h, block, s)
    tools.copy_row(rows, liar, spare, 2)
    tools.copy_row(spare, side, rows, liar)
    tools.copy_row(spare, 1 - side, rows, partner)
    z = actions.see(state)
    clip = actions.clip(state, z, partner, liar, network)
    actions.forge(state, liar, attack(z, liar, partner, clip, network))
    tools.meet(actions.exchange, state, h, block, s)
    tools.copy_row(spare, 2, rows, liar)


def run_spoiled(
    tools: Any, actions: Any, attack: Any, state: Any, h: Any, rows: Any, spare: Any, network: Any,
    block: PairArray, places: Any, sides: Any,
) -> None:  # fmt: skip
    """Carry out a block of exchanges; those at ``places`` are lost on one side."""
    is_liar, looked_for = network.is_liar, None if attack is None else network.is_liar
    start, lost = 0, 0
    while start < len(block):
        stop = places[lost] if lost < len(places) else len(block)
        fault = tools.run(actions.exchange, state, h, block, start, stop, looked_for)
        start = fault + 1
        if fault == len(block):
            break
        i, j = np.intp(block[fault, 0]), np.intp(block[fault, 1])
        tools.copy_row(rows, i, spare, 0)
        tools.copy_row(rows, j, spare, 1)
        if is_liar[i] == is_liar[j]:
            tools.meet(actions.exchange, state, h, block, fault)
        else:
            side = 0 if is_liar[i] else 1
            actions.lie(tools, actions, attack, state, h, block, fault, side, rows, spare, network)
        if lost < len(places) and places[lost] == fault:
            tools.copy_row(spare, sides[lost], rows, i if sides[lost] == 0 else j)
            lost += 1
