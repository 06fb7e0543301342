"""Whether a peer may contribute to a further sum: one answer means one.

Whoever knows two sums takes one from the other, and is left with the rows that are in only one of
them. Over the same rows, too, a further generation tells more: noise that is drawn anew, or a model
that another member has led elsewhere. So a peer that has contributed to a sum contributes to none
in another generation before its own operator has agreed to all that is different there, whoever
announced it. Without a member's contribution there is no sum: one that does not agree is enough.

It also stays in the generation of that sum, and goes on to serve it, until its operator agrees to
the next one: else a notice at the right moment would take from others a result that is nearly
signed.

Before its first sum, too, a peer contributes to none without a member of its list that its operator
has not evicted: two members could otherwise evict all others but one, and read that one's numbers.

Evicting a member is to agree to that eviction, and adding rows is to agree to these rows; for all
else there is `peer agree`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pairgossip.peer.protocol.state import SumsState
from pairgossip.text import format_count, join_first

_MOST_NAMED = 5
"""Changes that a sentence names; more are only counted."""


class Difference(NamedTuple):
    """How the members and rows of a generation differ from those of the last sum."""

    lost: tuple[str, ...]
    grown: Mapping[str, tuple[int, int]]
    """How many rows members had, and how many they have."""
    joined: tuple[str, ...]


def find_difference(
    state: SumsState, rows: Mapping[str, int], listed: Mapping[str, int]
) -> Difference:
    """Compare the rows of all present members with those in the last sum of a peer.

    Before there is a sum, with those on its list, where rows that were added make no difference.
    """
    before = state.summed or {one: rows.get(one, count) for one, count in listed.items()}
    grown = {
        member: (before[member], count)
        for member, count in rows.items()
        if before.get(member, count) != count
    }
    return Difference(
        tuple(sorted(before.keys() - rows.keys())),
        grown,
        tuple(sorted(rows.keys() - before.keys())),
    )


def is_agreed(state: SumsState, difference: Difference) -> bool:
    """Return whether a peer's operator has agreed to a sum in the peer's present generation."""
    consent = state.consent
    if state.generation in (state.summed_in, consent.generation):
        return True
    if not difference.lost and not difference.grown:
        # Or one agreement would serve any number of generations over the same rows.
        return not state.summed_in
    agreed = dict(consent.rows)
    return set(difference.lost) <= set(consent.evicted) and all(
        agreed.get(member) == count for member, (_, count) in difference.grown.items()
    )


def refuse_sum(
    state: SumsState,
    rows: Mapping[str, int],
    listed: Mapping[str, int],
    name: Callable[[str], str],
    *,
    counts_once: bool = False,
) -> str | None:
    """Say why a peer contributes to no sum in its present generation; None if it may."""
    difference = find_difference(state, rows, listed)
    if difference.joined:
        return (
            f"'{name(difference.joined[0])}' has joined after this peer had contributed to a sum "
            "without it, and a sum with it would show everybody what it contributes: if that may "
            "be known, let all members begin again from new folders."
        )
    if is_agreed(state, difference):
        return None
    clauses = describe_changes(difference, name)
    changes = join_first(clauses[:_MOST_NAMED], len(clauses))
    if not state.summed_in:
        return (
            f"{changes}, and this peer's operator has not agreed: among fewer members its numbers "
            "are easier to read. If that is right, run: pairgossip peer agree."
        )
    return (
        f"Since this peer contributed to a sum, {changes}: a further sum would tell everybody "
        f"{describe_disclosure(difference, counts_once=counts_once)}. If that may be known, run: "
        "pairgossip peer agree."
    )


def describe_disclosure(difference: Difference, *, counts_once: bool) -> str:
    """Say what a further sum tells, where rows count once or else in every generation anew."""
    if not counts_once:
        is_same = not difference.lost and not difference.grown
        return (
            "more about the same rows"
            if is_same
            else ("the numbers of those rows, by the difference")
        )
    told = "the counts of rows that were added since, as a table of their own"
    if not difference.lost:
        return told
    return (
        f"{told}, and where not all have signed the last result, by the difference those of who "
        "was evicted"
    )


def describe_changes(difference: Difference, name: Callable[[str], str]) -> list[str]:
    """Say what has changed since the last sum of a peer, a clause for each member."""
    changes = [f"'{name(member)}' was evicted" for member in difference.lost]
    changes += [
        f"'{name(member)}' has {format_count(now, 'row')} instead of {before:,}"
        for member, (before, now) in sorted(difference.grown.items())
    ]
    return changes or ["the members have begun another generation with the same rows"]
