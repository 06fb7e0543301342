"""Attacks by liars in a study: none of them reveals rows, and some leave a proof of the lie.

The auditor of the world checks all of them: it raises if words leave that must not.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pairgossip.study.protocol.records import (
    NO_DIGEST,
    Assent,
    Digests,
    Echo,
    MemberList,
    Question,
    Yes,
    digest_of,
)
from pairgossip.study.protocol.releases import Releases
from tests.peer.contexts import name_of
from tests.study.audit import records_in
from tests.study.forging import (
    ask,
    change,
    forge_question,
    inject,
    list_of,
    make_study,
    said,
    sign,
    view_of,
)
from tests.study.sites import Layout
from tests.study.world import World

A, B, C, LIAR = map(name_of, range(4))
HONEST = (A, B, C)
RISK = Layout("risk")


def run(world: World, seconds: float = 15.0) -> None:
    world.run(world.now + seconds)


def phases(world: World, question: bytes, names: Sequence[str] = HONEST) -> list[str | None]:
    views = [view_of(world, name, question) for name in names]
    return [None if view is None else view.phase for view in views]


def make_subset(world: World, *names: str) -> MemberList:
    cards = tuple(world.members[name].card for name in names)
    return MemberList(parent=list_of(world, A).digest, members=cards)


@pytest.mark.parametrize("parent", ["the list", "nothing"])
def test_a_list_of_some_that_they_have_not_signed_is_no_list(parent: str) -> None:
    """Three sums of subsets would reveal the numbers of one member."""
    world = make_study(4)
    subset = make_subset(world, A, B, LIAR)
    if parent == "nothing":
        subset = MemberList(parent=NO_DIGEST, members=subset.members)
    mine = sign(Assent(member=LIAR, list=subset))
    forged = [sign(Assent(member=one, list=subset), LIAR) for one in (A, B, C)]
    question = forge_question(world, LIAR, list=subset.digest)
    inject(world, LIAR, HONEST, mine, *forged, question)
    run(world)
    assert not said(world, Yes, question)
    assert all(list_of(world, name) != subset for name in HONEST)


def test_nobody_asks_in_anothers_name() -> None:
    world = make_study(4)
    question = sign(forge_question(world, A), LIAR)
    inject(world, LIAR, HONEST, question)
    run(world)
    assert phases(world, digest_of(question)) == [None, None, None]


def test_nobody_says_yes_for_another() -> None:
    world = make_study(4)
    world.choose = lambda member, question: "wait" if member == B else "accept"  # type: ignore[method-assign]
    question = ask(world, A, RISK)
    run(world, 5.0)
    (yes,) = [one for one in said(world, Yes, question) if one.member == A]
    inject(world, LIAR, (A, C), sign(change(yes, member=B), LIAR))
    run(world)
    assert phases(world, question) == ["asked"] * 3
    view = view_of(world, A, question)
    assert view is not None
    assert view.awaited == (B,)


def test_a_question_that_is_done_cannot_be_replayed() -> None:
    """Its records change nothing, and any change makes it another question."""
    world = make_study(4)
    question = ask(world, A, RISK)
    run(world)
    assert phases(world, question) == ["done"] * 3
    shown = len(said(world, Yes))
    record = world.auditor.records[question]
    assert isinstance(record, Question)
    for one in (record, sign(record, LIAR), change(record, expires=record.expires + 1)):
        inject(world, LIAR, HONEST, one)
    run(world)
    assert len(said(world, Yes)) == shown


def test_released_rows_are_not_counted_with_other_cells() -> None:
    """The second question adds nothing, or has no result."""
    world = make_study(4)
    question = ask(world, A, RISK)
    run(world)
    again = ask(world, B, Layout("risk", nonce=1))
    run(world)
    assert phases(world, question) == ["done"] * 3
    for yes in said(world, Yes, again):
        assert not any(piece.rows for piece in yes.pieces)


def test_digests_shown_differently_to_two_halves_end_in_no_words() -> None:
    """The two digests are proof of a lie, which all members obtain."""
    world = make_study(4)
    world.holds_back = lambda sender, to, frame: any(
        isinstance(one, Digests) and one.member == LIAR and (to == A) == (one.words == bytes(32))
        for one in records_in(frame)
    )
    question = ask(world, A, RISK)
    run(world, 6.0)
    (mine,) = [one for one in said(world, Digests, question) if one.member == LIAR]
    inject(world, LIAR, (B, C), change(mine, words=bytes(32)))
    run(world, 6.0)
    assert {one.member for one in said(world, Echo, question)} >= set(HONEST)
    world.holds_back = lambda *_: False
    run(world)
    assert not world.auditor.shown(question)
    assert phases(world, question) == ["ended"] * 3
    assert [view_of(world, name, question).lie for name in HONEST] == [LIAR] * 3  # type: ignore[union-attr]


def test_two_successors_of_one_list_are_a_lie() -> None:
    world = make_study(5)
    first, second = make_subset(world, A, B, C, LIAR), make_subset(world, A, B, C, name_of(4))
    for successor in (first, second):
        inject(world, LIAR, HONEST, sign(Assent(member=LIAR, list=successor)))
    run(world)
    assert {list_of(world, name).parent for name in HONEST} == {NO_DIGEST}


def test_a_flood_of_questions_is_not_kept() -> None:
    """A member answers some of them, and stores few more."""
    world = make_study(4)
    flood = [
        forge_question(world, LIAR, number=1 + k, text=Layout("risk", nonce=k).text)
        for k in range(500)
    ]
    for question in flood:
        inject(world, LIAR, HONEST, question)
    run(world)
    for name in HONEST:
        study = world.members[name].study
        assert study is not None
        waiting = [one for one in study.questions if one.phase not in ("done", "ended")]
        assert len(waiting) <= 8
        assert len(world.members[name].disk.decoded) < 200


def test_a_joiner_is_not_told_by_a_difference() -> None:
    """A new column over old rows would reveal the newcomer's class totals, so it waits."""
    world = make_study(4)
    first = ask(world, A, RISK)
    run(world)
    world.join()
    run(world)
    joined = name_of(4)
    assert joined in list_of(world, A).ids
    second = ask(world, A, Layout("age"))
    run(world, 20.0)
    assert phases(world, first) == ["done"] * 3
    adds = {
        yes.member for yes in said(world, Yes, second) if any(piece.rows for piece in yes.pieces)
    }
    assert joined not in adds or phases(world, second) == ["ended"] * 3


@pytest.mark.parametrize("seed", range(3))
def test_sequences_of_lists_tell_nobody_alone(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members come and go between questions; the auditor's algebra checks all sums."""
    # An attacker asks nevertheless.
    monkeypatch.setattr(Releases, "find_hopeless", lambda self, question: "")
    world = make_study(6, seed)
    for number, column in enumerate(("risk", "age", "dose", "height")):
        ask(world, A, Layout(column))
        run(world)
        victim = name_of(5 - number)
        world.leave(victim)
        run(world)
        world.join()
        run(world)
    assert world.auditor.checks
