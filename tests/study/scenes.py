"""Small histories of a study that were written by hand, for events that are rare at random."""

from __future__ import annotations

from pairgossip.study.protocol.records import Digests, Echo, Ending, Words
from tests.peer.audit import Violated
from tests.peer.contexts import name_of
from tests.study.audit import records_in
from tests.study.forging import ask, inject, make_study, said, sign, view_of
from tests.study.sites import Layout
from tests.study.world import World

A, B, C, D = map(name_of, range(4))
ALL = (A, B, C, D)
RISK, THRICE = Layout("risk"), Layout("risk", rounds=3)


def require_phase(world: World, question: bytes, phase: str, names: tuple[str, ...] = ALL) -> None:
    """Raise unless a question is in this phase at these members."""
    views = {name: view_of(world, name, question) for name in names}
    phases = {name: None if view is None else view.phase for name, view in views.items()}
    if set(phases.values()) != {phase}:
        raise Violated(f"not {phase}, but {phases}")


def hold(world: World, sender: str, *kinds: type) -> None:
    """Withhold a member's records of these kinds from all others, whoever passes them on."""
    world.holds_back = lambda _, to, frame: (
        to != sender
        and any(isinstance(one, kinds) and one.member == sender for one in records_in(frame))
    )


def let_go(world: World, seconds: float = 20.0) -> None:
    """Let all records pass again."""
    world.holds_back = lambda *_: False
    world.run(world.now + seconds)


def run(world: World, seconds: float = 15.0) -> None:
    world.run(world.now + seconds)


def end_after_the_echo() -> None:
    """Let a member end a question after its echo: that proves a lie, and all others name it."""
    world = make_study(4)
    hold(world, D, Words)
    question = ask(world, A, RISK)
    run(world, 8.0)
    late = Ending(member=D, question=question, kind="no", round=1, because="Too late.")
    inject(world, D, (A, B), sign(late))
    let_go(world)
    require_liar(world, question)


def require_liar(world: World, question: bytes) -> None:
    """Raise unless all others name D."""
    for name in (A, B, C):
        view = view_of(world, name, question)
        if view is None or view.lie != D:
            raise Violated(f"{name} does not know the liar: {view}")


def restore_before_the_yes() -> None:
    """Restore a backup from before a yes: the member does not sign a different yes."""
    world = make_study(4)
    world.choose = lambda member, question: "wait" if member == C else "accept"  # type: ignore[method-assign]
    question = ask(world, A, RISK)
    run(world, 4.0)
    world.back_up(C)
    hold(world, C, Words, Echo)
    world.accept(C, question)
    run(world, 6.0)
    world.auditor.is_strict = True
    world.restore(C)
    world.start(C)
    world.accept(C, question)
    let_go(world)


def lose_the_words_of_a_leaver() -> None:
    """Let a leaver lose words that it has echoed: it cannot leave, and the others evict it."""
    world = make_study(4)
    world.back_up(D)
    hold(world, D, Words)
    question = ask(world, A, RISK)
    run(world, 8.0)
    world.leave(D)
    world.restore(D)
    let_go(world)
    require_phase(world, question, "words", (A, B, C))
    world.settle(200.0)
    require_phase(world, question, "ended", (A, B, C))


def restore_after_a_release() -> None:
    """Restore a backup from before a release: the member does not contribute again."""
    world = make_study(4)
    world.back_up(C)
    ask(world, A, RISK)
    run(world)
    world.restore(C)
    run(world)
    question = ask(world, A, Layout("age"))
    run(world)
    line = world.members[C].site.folder.noted
    if not any(noted.name != question for noted in line) and any(n.name == question for n in line):
        raise Violated(f"{C} contributes, and has forgotten what it has released")


def read_what_is_open() -> None:
    """Ask for a table that not all have signed yet: it is not read."""
    world = make_study(4)
    hold(world, D, Words)
    question = ask(world, A, RISK)
    run(world, 8.0)
    reading = ask(world, A, RISK, reads=(question,), adds=False)
    run(world)
    require_phase(world, reading, "ended", (A,))


def repeat_with_more_rows() -> None:
    """Repeat a question with more rows: words are contributed again only for the same rows."""
    world = make_study(4)
    hold(world, D, Digests)
    question = ask(world, A, THRICE)
    world.holds_back = lambda _, to, frame: (
        to != D
        and any(
            isinstance(one, Digests) and one.member == D and one.round > 1
            for one in records_in(frame)
        )
    )
    run(world, 8.0)
    world.stop(D)
    world.members[D].disk.secrets.clear()
    world.start(D)
    world.members[D].site.is_changed = True
    let_go(world)
    world.members[D].site.is_changed = False
    world.add_batch(B)
    run(world)
    ask(world, A, THRICE, repeats=question)
    run(world)


def ask_while_one_joins() -> None:
    """Ask while a newcomer joins: the question goes to the list that all have signed."""
    world = make_study(4, announces=False)
    world.join()
    world.lose_for_ever(name_of(4))
    run(world, 6.0)
    question = ask(world, A, RISK)
    run(world)
    require_phase(world, question, "done")


def evict_two_at_once() -> None:
    """Evict two members at once: they are evicted one after the other."""
    world = make_study(6)
    for name in (name_of(4), name_of(5)):
        world.evict(name, is_lost=True)
    run(world, 30.0)
    study = world.members[A].study
    if study is None or study.members is None or study.members.ids != ALL:
        raise Violated("the evicted are on the list still")


def tell_two_halves() -> None:
    """Show two commitments to two halves: no words are shown, and there is proof of the lie."""
    world = make_study(4)
    forged = bytes(32)
    world.holds_back = lambda sender, to, frame: any(
        isinstance(one, Digests) and one.member == D and (to == A) == (one.words == forged)
        for one in records_in(frame)
    )
    question = ask(world, A, RISK)
    run(world, 6.0)
    (mine,) = [one for one in said(world, Digests, question) if one.member == D]
    inject(
        world,
        D,
        (B, C),
        sign(
            Digests(
                member=D,
                question=question,
                round=1,
                before=mine.before,
                public=mine.public,
                words=forged,
            )
        ),
    )
    run(world, 6.0)
    if {one.member for one in said(world, Echo, question)} < {A, B, C}:
        raise Violated("nobody echoes")
    let_go(world)
    if world.auditor.shown(question):
        raise Violated("words are shown to a liar")
    require_phase(world, question, "ended", (A, B, C))
    require_liar(world, question)


SCENES = {
    scene.__name__: scene
    for scene in (
        end_after_the_echo,
        restore_before_the_yes,
        lose_the_words_of_a_leaver,
        restore_after_a_release,
        read_what_is_open,
        ask_while_one_joins,
        repeat_with_more_rows,
        evict_two_at_once,
        tell_two_halves,
    )
}
