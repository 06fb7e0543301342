"""A study at one member: its list of members, and all its questions, without any input or output.

Events return actions, which must be carried out in order. No message from others raises; a request
of the operator raises `InputError` if it cannot be carried out.

A question that has ended is archived: one line of it stays in memory, and its remaining records are
kept for `Site.recall`, for members that still request them. So neither memory nor frames nor the
start grow with the number of questions, except by those lines.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from pairgossip.errors import InputError
from pairgossip.study.protocol.archive import Line
from pairgossip.study.protocol.audience import Audience
from pairgossip.study.protocol.desk import Desk, Held, Keys
from pairgossip.study.protocol.hearing import MOST_OPEN, Hearing
from pairgossip.study.protocol.lists import Lists
from pairgossip.study.protocol.pace import MOST_A_DAY
from pairgossip.study.protocol.question import Run
from pairgossip.study.protocol.questions import LONGEST_WAIT, Questions
from pairgossip.study.protocol.records import (
    LONGEST_TEXT,
    Card,
    MemberList,
    Question,
    decode,
    digest_of,
    topic_of,
)
from pairgossip.study.protocol.site import Action, NotYet, Site, State
from pairgossip.study.protocol.spreading import Spreading
from pairgossip.study.protocol.standing import Ended, Phase, Progress

__all__ = ["Ended", "Keys", "Phase", "Progress", "Study"]

LEAST_MEMBERS = 3
"""Least number of members that an operator has accepted by hand, this one included, for
questions."""
_GRACE = 60
"""Seconds after which others end a question that its member should have ended as expired."""
_LARGEST_NUMBER = (1 << 31) - 1


class Study:
    """One member's side of a study."""

    def __init__(
        self,
        me: Card,
        keys: Keys,
        site: Site,
        state: State,
        *,
        least_members: int = LEAST_MEMBERS,
    ) -> None:
        self._desk = Desk(me.id, keys, site, self._publish)
        self._desk.secrets.update(state.secrets)
        self._desk.notes.update(state.notes)
        self._lists = Lists(self._desk, me, least_members)
        self._questions = Questions(self._desk, self._lists)
        self._lists.is_busy = self._questions.needs
        self._runs, self._archive = self._questions.runs, self._questions.archive
        audience = self._audience = Audience(self._desk, self._lists, self._questions)
        self._spreading = Spreading(
            self._desk.store,
            keys.draw_key(),
            audience.visible,
            audience.recall,
            audience.archived_for,
        )
        self._hearing = Hearing(self._desk, self._lists, self._questions, audience, self._spreading)
        self._load(state)

    def _load(self, state: State) -> None:
        questions = list[Question]()
        for kept in state.records:
            held = self._desk.store.add(decode(kept.content), is_shown=kept.is_shown)
            if held is not None and isinstance(held.record, Question):
                questions.append(held.record)
        self._lists.load()
        self._archive.load()
        for question in questions:
            self._questions.add(question)
        self._hearing.doubt_what_is_known()

    # Views

    @property
    def halted(self) -> str | None:
        """The reason why this peer has stopped for good; None if its folder is not a restored
        backup."""
        return self._desk.halted

    @property
    def members(self) -> MemberList | None:
        """The current list; None before the first exists."""
        return self._lists.current

    @property
    def name(self) -> bytes:
        """The name of the study: the digest of its first list; `NO_DIGEST` before it exists."""
        return self._lists.study

    @property
    def proposals(self) -> tuple[MemberList, ...]:
        """Lists that some have signed, and not all."""
        return self._lists.proposals

    @property
    def lists(self) -> Lists:
        """All facts about lists: the accepted members, and the signatures of each list."""
        return self._lists

    @property
    def archived(self) -> dict[bytes, Line]:
        """Questions that have ended, by name."""
        return self._archive.lines

    @property
    def accepted(self) -> tuple[Card, ...]:
        """The members that this operator has accepted by hand, and not evicted."""
        evicted = self._lists.evicted
        return tuple(one for one in self._lists.accepted.values() if one.id not in evicted)

    @property
    def questions(self) -> tuple[Progress, ...]:
        """The last questions that have ended, and all that have not."""
        return (*self._questions.past, *map(self._questions.view, self._runs.values()))

    def question(self, name: bytes) -> Progress | None:
        """Return the state of a question; None if it is unknown, or has long been archived."""
        if name in self._runs:
            return self._questions.view(self._runs[name])
        return next((one for one in self._questions.past if one.name == name), None)

    # Events

    def start(self, now: int) -> Sequence[Action]:
        """Begin, for the first time or again."""
        return [
            *self._questions.erase_stale(),
            *self._questions.go_on(self._runs, now),
            *self._audience.reconnect(),
        ]

    def receive(self, sender: str, frame: bytes, now: int) -> Sequence[Action]:
        """Handle a frame of a member; a bad one changes nothing."""
        return self._hearing.receive(sender, frame, now)

    def contact(self, now: int) -> Sequence[Action]:
        """Send fingerprints to all others: every few seconds, and after `ContactSoon`."""
        if self.halted is not None:
            return []
        stuck = [one for one, run in self._runs.items() if run.trouble]
        actions = [*self._questions.go_on(stuck, now), *self._lists.sign_what_is_decided()]
        if len(actions) > 0:
            actions += self._audience.follow_lists(now)
        return [*actions, *self._spreading.contact(self._audience.others())]

    def tick(self, now: int) -> Sequence[Action]:
        """End questions that have expired before this member has echoed, or signed a result; try
        pending ones."""
        if self.halted is not None:
            return []
        late = [run for run in self._runs.values() if self._is_late(run, now)]
        actions: list[Action] = []
        for run in late:
            actions += run.end("expired", self._describe_expiry(run, now))
        names = [*(run.name for run in late), *sorted(self._questions.reserved)]
        return actions + self._questions.go_on(names, now) if names else []

    def _describe_expiry(self, run: Run, now: int) -> str:
        """Say by whose clock a question has expired: others see if that clock is wrong."""
        due, there = (
            datetime.datetime.fromtimestamp(seconds, datetime.UTC)
            for seconds in (run.question.expires, now)
        )
        return (
            f"It was open until {due:%Y-%m-%d %H:%M} UTC, and not begun when the clock of "
            f"'{self._lists.card.name}' said {there:%Y-%m-%d %H:%M} UTC."
        )

    def _is_late(self, run: Run, now: int) -> bool:
        own = run.question.member == self._desk.me
        is_due = now >= run.question.expires + (0 if own else _GRACE)
        is_mine = self._desk.me in run.members
        is_too_late = run.has_echoed(self._desk.me) or run.has_stated
        return is_due and is_mine and run.may_speak and not is_too_late

    # Requests of the operator

    def accept_card(self, card: Card) -> Sequence[Action]:
        """Accept a member by hand: it may be on this peer's lists from now on."""
        if card.id == self._desk.me:
            raise InputError("That is this peer itself: it is on all of its lists.")
        return [*self._lists.accept(card), *self._audience.follow_lists(0)]

    def propose(self) -> Sequence[Action]:
        """Sign the list of all that this operator has accepted, if none is pending for that."""
        return [*self._lists.propose(), *self._audience.follow_lists(0)]

    def evict(self, member: str) -> Sequence[Action]:
        """Continue without a member: a list without it exists once all others have signed it."""
        return [*self._lists.evict(member), *self._audience.follow_lists(0)]

    def leave(self, *, totals_visible: bool = False) -> Sequence[Action]:
        """Ask the others to leave this member out of the next list."""
        return self._lists.leave(totals_visible=totals_visible)

    def ask(
        self,
        text: str,
        now: int,
        expires: int,
        *,
        reads: Sequence[bytes] = (),
        adds: bool = True,
        repeats: bytes | None = None,
        corrects: bytes | None = None,
        note_visible: Callable[[bytes], None] | None = None,
    ) -> tuple[bytes, Sequence[Action]]:
        """Ask all members, and say yes; return the question's name, too.

        With ``note_visible``, by which the site notes the name, this is done even where differences
        reveal this member's numbers.
        """
        if expires <= now:
            raise InputError("The question would have expired before it is asked: give it time.")
        if expires > now + LONGEST_WAIT:
            raise InputError("A question expires within a year: give it less time.")
        unsigned = Question(
            member=self._desk.me,
            list=self._check_may_ask(text, now),
            number=self._next_number(now),
            text=text,
            expires=expires,
            reads=tuple(reads),
            adds=adds,
            repeats=repeats,
            corrects=corrects,
        )
        name = digest_of(unsigned)
        self.refuse_hopeless(name, unsigned)
        paid = self._desk.save(notes=self._questions.pace.spend(self._desk.me, now))
        actions = [paid, *self._desk.say(unsigned)]
        signed = self._desk.store.find(name)
        assert signed is not None
        self._questions.add(signed.record)
        actions += self._publish(signed)  # nobody might see it before it was there
        if note_visible is not None:
            note_visible(name)
        actions += self._questions.decide(name, is_visible=note_visible is not None)
        return name, [*actions, *self._questions.go_on([name], now)]

    def refuse_hopeless(self, name: bytes, question: Question) -> None:
        """Refuse a question that this member would answer no, or that can come to nothing."""
        verdict = self._desk.site.judge(name, question)
        if verdict.answer == "no":
            raise InputError(verdict.because)
        if because := self._questions.releases.find_hopeless(question):
            raise InputError(because)

    def _check_may_ask(self, text: str, now: int) -> bytes:
        """Return the list at which a question is asked."""
        here, own = self._lists.current, self._desk.me
        if self.halted is not None:
            raise InputError(self.halted)
        if here is None:
            raise InputError("No list of members is signed by all yet: nobody can be asked.")
        if self._lists.evicted_by() is not None:
            raise InputError("The others go on without this peer: it cannot ask them.")
        open_ = [one for one in self._runs.values() if one.question.member == own]
        if sum(one.ending is None for one in open_) >= MOST_OPEN:
            raise InputError(
                f"{MOST_OPEN} questions of this peer are open, and others take no more: wait for "
                "one to end, or withdraw one."
            )
        if not self._questions.pace.allows(own, now):
            raise InputError(
                f"This peer has asked {MOST_A_DAY} questions within a day that added no rows, and "
                "others take no more: ask again in five minutes."
            )
        if len(text) > LONGEST_TEXT:
            raise InputError(f"The question's text is longer than {LONGEST_TEXT:,} characters.")
        return here.digest

    def _next_number(self, now: int) -> int:
        """Return a number that is new even if this folder is a restored backup."""
        used = [number for member, number in self._archive.numbers if member == self._desk.me]
        own = (one.question for one in self._runs.values())
        used += [one.number for one in own if one.member == self._desk.me]
        return max([min(now, _LARGEST_NUMBER - (1 << 20)), *used], default=0) + 1

    def accept(self, name: bytes, *, is_visible: bool = False) -> Sequence[Action]:
        """Say yes; with ``visible``, even where differences reveal this member's numbers."""
        run = self._find_open(name)
        accepted = self._questions.accept(run, is_visible=is_visible)
        return [*accepted, *self._questions.go_on([name], 0)]

    def refuse(self, name: bytes, because: str) -> Sequence[Action]:
        """Say no, which ends the question for all."""
        run = self._find_open(name)
        if run.has_echoed(self._desk.me) and not run.travels:
            raise InputError("Too late: words of this peer may be on their way.")
        return self._end(run, "no", because)

    def withdraw(self, name: bytes, because: str) -> Sequence[Action]:
        """End an own question."""
        run = self._find_open(name)
        if run.question.member != self._desk.me:
            raise InputError("Another member has asked this: refuse it instead.")
        return self._end(run, "withdrawn", because)

    def go_on(self, name: bytes, now: int) -> Sequence[Action]:
        """Continue with a question for which the site has news."""
        return self._questions.go_on([name], now)

    def _end(self, run: Run, kind: str, because: str) -> Sequence[Action]:
        if not run.may_speak:
            raise NotYet
        if run.has_stated:
            raise InputError("Too late: this peer has signed the result, which others may have.")
        return [*run.end(kind, because), *self._questions.go_on([run.name], 0)]  # type: ignore[arg-type]

    def _find_open(self, name: bytes) -> Run:
        run = self._runs.get(name)
        if run is None or run.ending is not None or self._desk.me not in run.members:
            raise InputError("There is no such question that is open: see the list of questions.")
        return run

    def announce(
        self, number: int, rows: int, commitment: bytes, *, totals_visible: bool = False
    ) -> Sequence[Action]:
        """Announce own rows to all others, once, before questions about them."""
        releases = self._questions.releases
        return releases.announce(number, rows, commitment, visible=totals_visible)

    def _publish(self, held: Held) -> list[Action]:
        about = topic_of(held.record)
        others = self._audience.others()
        return self._spreading.publish(
            held, [one for one in others if about in self._audience.visible(one)]
        )
