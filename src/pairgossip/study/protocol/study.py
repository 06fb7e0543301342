"""A study at one member: its list of members, and all its questions, without any input or output.

Events return actions, which are to be carried out in their order. Nothing that others send raises;
what the operator requests raises `InputError` where it cannot be.

A question that has come to its end is archived: one line of it stays in memory, and what is left of
its records is kept where `Site.recall` finds it, for members that still ask. So neither memory nor
frames nor the start grow with the number of questions but by those lines.

After a start nothing new is signed about what was known before, until another member has shown that
it knows of nothing that this one has forgotten: the folder may be a restored backup. If it is, and
this member has already said something else, it stops for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pairgossip.errors import InputError
from pairgossip.study.protocol.admission import MOST_OPEN, Admission
from pairgossip.study.protocol.archive import Line
from pairgossip.study.protocol.desk import Desk, Keys
from pairgossip.study.protocol.lists import Lists
from pairgossip.study.protocol.question import Run
from pairgossip.study.protocol.questions import LONGEST_WAIT, Questions
from pairgossip.study.protocol.records import (
    LONGEST_TEXT,
    NO_DIGEST,
    AnyRecord,
    Card,
    MemberList,
    Question,
    Words,
    Yes,
    decode,
    digest_of,
    encode,
    slot_of,
    topic_of,
)
from pairgossip.study.protocol.site import (
    Action,
    ContactSoon,
    Kept,
    Reconnect,
    Save,
    Site,
    State,
    Told,
)
from pairgossip.study.protocol.spreading import (
    ARCHIVE,
    Give,
    Have,
    Ids,
    Spreading,
    Want,
    decode_frame,
)
from pairgossip.study.protocol.standing import Ended, Phase, Progress
from pairgossip.study.protocol.store import Held

__all__ = ["Ended", "Keys", "Phase", "Progress", "Study"]

LEAST_MEMBERS = 3
"""Members that an operator has accepted by hand, this one among them, before anything is asked."""
_GRACE = 60
"""Seconds after which others end a question that its member should have ended as expired."""
_LARGEST_NUMBER = (1 << 31) - 1
_HALTED = "halted"
_RESTORED = (
    "This peer has said something else before: its folder is a restored backup, and going on from "
    "it would show what it must not. Stop it for good, have the others evict it, and join anew."
)


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
        self._connected: tuple[Card, ...] = ()
        self._spreading = Spreading(
            self._desk.store, keys.draw_key(), self._visible, self._recall, self._archived_for
        )
        self._admission = Admission(self._desk, self._lists, self._runs, self._archive)
        self._load(state)

    def _load(self, state: State) -> None:
        questions, unsure = list[Question](), self._questions.unsure
        for kept in state.records:
            held = self._desk.store.add(decode(kept.content), is_shown=kept.is_shown)
            if held is not None and isinstance(held.record, Question):
                questions.append(held.record)
        self._lists.load()
        self._archive.load()
        for question in questions:
            self._questions.add(question)
        unsure.update(self._runs)
        if self._desk.store.all_of(NO_DIGEST) and self._others():
            unsure.add(NO_DIGEST)
        self._lists.may_sign = NO_DIGEST not in unsure
        if _HALTED in self._desk.notes:
            self._desk.halted = _RESTORED

    # Views

    @property
    def halted(self) -> str | None:
        """Why this peer has stopped for good; None unless its folder is a restored backup."""
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
        """All that is known of lists: who is accepted, who has signed which."""
        return self._lists

    @property
    def archived(self) -> dict[bytes, Line]:
        """Questions that have come to their end, by name."""
        return self._archive.lines

    @property
    def accepted(self) -> tuple[Card, ...]:
        """Whom this operator has accepted by hand, and not evicted."""
        evicted = self._lists.evicted
        return tuple(one for one in self._lists.accepted.values() if one.id not in evicted)

    @property
    def questions(self) -> tuple[Progress, ...]:
        """The last questions that have come to their end, and all that have not."""
        return (*self._questions.past, *map(self._questions.view, self._runs.values()))

    def question(self, name: bytes) -> Progress | None:
        """Return how far a question is; None if it is unknown, or has long been archived."""
        if name in self._runs:
            return self._questions.view(self._runs[name])
        return next((one for one in self._questions.past if one.name == name), None)

    # Events

    def start(self, now: int) -> Sequence[Action]:
        """Begin, for the first time or again."""
        return [*self._questions.erase_stale(), *self._go_on(self._runs, now), *self._reconnect()]

    def receive(self, sender: str, frame: bytes, now: int) -> Sequence[Action]:
        """Handle a frame of a member; a bad one changes nothing."""
        message = decode_frame(frame)
        if self.halted is not None or message is None:
            return []
        if sender not in self._others():
            return self._tell_former(sender) if isinstance(message, Have) else []
        match message:
            case Give():
                return self._take_all(message.records, now)
            case Have():
                answers = self._spreading.answer_have(sender, message)
                sure = [
                    one
                    for one in sorted(self._questions.unsure)
                    if message.topics.get(one) == self._desk.store.fingerprint(one)
                ]
            case Ids():
                answers = self._spreading.answer_ids(sender, message)
                sure = [message.topic] if self._has_all(message) else []
            case Want():
                answers = self._spreading.answer_want(sender, message)
                # Who asks for the question itself has nothing that is about it.
                sure = [message.topic] if message.topic in message.digests else []
        if not self._spreading.is_fresh(message):
            return answers
        return [*answers, *self._make_sure(sure, now)]

    def _tell_former(self, sender: str) -> list[Action]:
        """Show a member that has left, or is evicted, the list without it."""
        here = self._lists.current
        if here is None or sender not in self._lists.former:
            return []
        signed = self._desk.store.all_of(NO_DIGEST)
        listed = [one for one in signed if one.slot[:2] == (here.digest, "assent")]
        return [send for one in listed for send in self._spreading.publish(one, [sender])]

    def contact(self, now: int) -> Sequence[Action]:
        """Tell all others what is known here: every few seconds, and after `ContactSoon`."""
        if self.halted is not None:
            return []
        stuck = [one for one, run in self._runs.items() if run.trouble]
        actions = [*self._go_on(stuck, now), *self._lists.sign_what_is_decided()]
        if len(actions) > 0:
            actions += self._after_lists(now)
        return [*actions, *self._spreading.contact(self._others())]

    def tick(self, now: int) -> Sequence[Action]:
        """End questions that have expired before this member has echoed; try those that wait."""
        if self.halted is not None:
            return []
        late = [run for run in self._runs.values() if self._is_late(run, now)]
        actions: list[Action] = []
        for run in late:
            actions += run.end("expired", "It was not begun in time.")
        names = [*(run.name for run in late), *sorted(self._questions.reserved)]
        return actions + self._go_on(names, now) if names else []

    def _is_late(self, run: Run, now: int) -> bool:
        own = run.question.member == self._desk.me
        is_due = now >= run.question.expires + (0 if own else _GRACE)
        is_mine = self._desk.me in run.members
        return is_due and is_mine and run.may_speak and not run.has_echoed(self._desk.me)

    # Requests of the operator

    def accept_card(self, card: Card) -> Sequence[Action]:
        """Accept a member by hand: it may be on this peer's lists from now on."""
        if card.id == self._desk.me:
            raise InputError("That is this peer itself: it is on all of its lists.")
        return [*self._lists.accept(card), *self._after_lists(0)]

    def propose(self) -> Sequence[Action]:
        """Sign the list of all whom this operator has accepted, unless one waits for that."""
        return [*self._lists.propose(), *self._after_lists(0)]

    def evict(self, member: str) -> Sequence[Action]:
        """Sign the list without a member; it exists once all others have signed it."""
        return [*self._lists.evict(member), *self._after_lists(0)]

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

        With ``note_visible``, which the site notes the name by, this is so even where differences
        tell this member's numbers.
        """
        if expires > now + LONGEST_WAIT:
            raise InputError("A question expires within a year: give it less time.")
        unsigned = Question(
            member=self._desk.me,
            list=self._check_may_ask(text),
            number=self._next_number(now),
            text=text,
            expires=expires,
            reads=tuple(reads),
            adds=adds,
            repeats=repeats,
            corrects=corrects,
        )
        name = digest_of(unsigned)
        verdict = self._desk.site.judge(name, unsigned)
        if verdict.answer == "no":
            raise InputError(verdict.because)
        actions = self._desk.say(unsigned)
        signed = self._desk.store.find(name)
        assert signed is not None
        self._questions.add(signed.record)
        if note_visible is not None:
            note_visible(name)
        actions += self._questions.decide(name, is_visible=note_visible is not None)
        return name, [*actions, *self._go_on([name], now)]

    def _check_may_ask(self, text: str) -> bytes:
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
        """Say yes; if visible, even where differences tell this member's numbers."""
        run = self._find_open(name)
        accepted = self._questions.accept(run, is_visible=is_visible)
        return [*accepted, *self._go_on([name], 0)]

    def refuse(self, name: bytes, because: str) -> Sequence[Action]:
        """Say no, which ends the question for all."""
        run = self._find_open(name)
        if run.has_echoed(self._desk.me):
            raise InputError("Too late: words of this peer may be on their way.")
        return self._end(run, "no", because)

    def withdraw(self, name: bytes, because: str) -> Sequence[Action]:
        """End a question of one's own."""
        run = self._find_open(name)
        if run.question.member != self._desk.me:
            raise InputError("Another member has asked this: refuse it instead.")
        return self._end(run, "withdrawn", because)

    def _end(self, run: Run, kind: str, because: str) -> Sequence[Action]:
        if not run.may_speak:
            raise InputError("This peer has not heard from another yet: try again in a moment.")
        return [*run.end(kind, because), *self._go_on([run.name], 0)]  # type: ignore[arg-type]

    def _find_open(self, name: bytes) -> Run:
        run = self._runs.get(name)
        if run is None or run.ending is not None or self._desk.me not in run.members:
            raise InputError("There is no such question that is open: see the list of questions.")
        return run

    def announce(
        self, number: int, rows: int, commitment: bytes, *, totals_visible: bool = False
    ) -> Sequence[Action]:
        """Announce rows of this member's to all others, before they are asked about; once."""
        releases = self._questions.releases
        return releases.announce(number, rows, commitment, visible=totals_visible)

    # Records

    def _take_all(self, contents: Iterable[bytes], now: int) -> list[Action]:
        """Take what is new, and go on with what it is about."""
        actions, touched = list[Action](), dict[bytes, None]()
        for content in contents:
            record = self._admission.look_at(content)
            if record is None:
                continue
            if self._is_contradicted(record):
                return [*actions, *self._halt()]
            if saved := self._take(record):
                actions.append(saved)
                touched[about := topic_of(record)] = None
                if about in self._runs and self._desk.me not in self._runs[about].members:
                    actions += self._go_on([about], now)  # so that its asker may have more open
        if not touched:
            return actions
        if NO_DIGEST in touched:
            actions += self._lists.sign_what_is_decided()
            actions += self._after_lists(now)
        return [*actions, *self._go_on(touched, now), ContactSoon()]

    def _take(self, record: AnyRecord) -> Save | None:
        """Hold a record, of others or forgotten by this member."""
        about = topic_of(record)
        if isinstance(record, Words) and record.member == self._desk.me and not self._note(record):
            return None
        held = self._desk.store.add(record)
        if held is None:
            return None
        if isinstance(record, Question):
            self._questions.add(record)
        elif about == NO_DIGEST:
            self._lists.take(held)
        if record.member == self._desk.me:
            # It was forgotten here: so may be more.
            self._questions.unsure.add(about)
            self._lists.may_sign = NO_DIGEST not in self._questions.unsure
            if about in self._runs:
                self._runs[about].note_shown()
        notes = self._questions.releases.note_seen(record) if isinstance(record, Yes) else {}
        return self._desk.save((Kept(encode(record)),), notes=notes)

    def _note(self, words: Words) -> bool:
        """Record words of this member's that others have: they were shown before a backup."""
        try:
            self._desk.site.note_disclosure(words.question, words.round, words.words)
        except InputError:  # they are given again
            return False
        return True

    def _is_contradicted(self, record: AnyRecord) -> bool:
        """Whether this member has said something else than what is here of it."""
        is_own = record.member == self._desk.me
        return is_own and bool(self._desk.store.said(topic_of(record), slot_of(record)))

    def _halt(self) -> list[Action]:
        """Stop for good, also after a start."""
        self._desk.halted = _RESTORED
        return [self._desk.save(notes={_HALTED: b"yes"}), Told("restored", sentence=_RESTORED)]

    def _has_all(self, ids: Ids) -> bool:
        return all(self._desk.store.find(one) is not None for one in ids.digests)

    def _make_sure(self, topics: Iterable[bytes], now: int) -> list[Action]:
        """Sign again what is about topics of which this member has forgotten nothing."""
        sure = [topic for topic in topics if topic in self._questions.unsure]
        self._questions.unsure.difference_update(sure)
        self._questions.renew(sure)
        actions: list[Action] = []
        if NO_DIGEST in sure:
            self._lists.may_sign = True
            actions += [*self._lists.sign_what_is_decided(), *self._after_lists(now)]
        return actions + self._go_on(sure, now)

    def _go_on(self, names: Iterable[bytes], now: int) -> list[Action]:
        return [] if self.halted is not None else self._questions.go_on(names, now)

    # Lists

    def _after_lists(self, now: int) -> list[Action]:
        """Do what follows from a list that is new."""
        return [*self._questions.review(now), *self._reconnect(), ContactSoon()]

    def _reconnect(self) -> list[Action]:
        cards = tuple(self._cards().values())
        if cards == self._connected:
            return []
        self._connected = cards
        return [Reconnect(cards)]

    def _cards(self) -> dict[str, Card]:
        """Return the others that this member may be connected with, by id."""
        cards = dict(self._lists.accepted)
        for run in self._runs.values():
            if self._desk.me in run.members:
                cards |= self._lists.known[run.question.list].cards
        if self._lists.current is not None:
            cards |= self._lists.current.cards
        hidden = {self._desk.me, *self._lists.evicted}
        return {one: cards[one] for one in sorted(cards) if one not in hidden}

    def _others(self) -> tuple[str, ...]:
        return tuple(self._cards())

    # What others may see

    def _publish(self, held: Held) -> list[Action]:
        about = topic_of(held.record)
        others = [one for one in self._others() if about in self._visible(one)]
        return self._spreading.publish(held, others)

    def _visible(self, other: str) -> list[bytes]:
        """Return the topics that another member may see, and that are not archived."""
        me = self._desk.me
        shared = [
            name for name, run in self._runs.items() if other in run.members and me in run.members
        ]
        return [NO_DIGEST, *shared]

    def _archived_for(self, other: str) -> tuple[bytes, ...]:
        """Return the names of archived questions that only one of two members has gone through."""
        known, both = self._lists.known, {self._desk.me, other}
        shared = {digest for digest, one in known.items() if both <= set(one.ids)}
        return tuple(
            name
            for name, line in self._archive.lines.items()
            if line.is_disclosed and line.list not in shared
        )

    def _recall(self, other: str, topic: bytes) -> Sequence[bytes] | None:
        """Return the archived records of a question that another member may have."""
        line = self._archive.lines.get(topic)
        if topic == ARCHIVE or line is None:
            return None
        contents = self._desk.site.recall(topic)
        if other in self._lists.known[line.list].ids:
            return contents
        if not line.is_disclosed:
            return ()
        return [one for one in contents if isinstance(decode(one), Question | Yes)]
