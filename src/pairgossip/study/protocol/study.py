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

from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from pairgossip.errors import InputError
from pairgossip.study.protocol.admission import MOST_OPEN, Admission
from pairgossip.study.protocol.archive import Archive, Line, find_rest, line_of, pieces_of
from pairgossip.study.protocol.desk import Desk, Keys
from pairgossip.study.protocol.differences import find_lone
from pairgossip.study.protocol.lists import Lists
from pairgossip.study.protocol.question import Run, chains_name, key_name
from pairgossip.study.protocol.records import (
    LONGEST_TEXT,
    NO_DIGEST,
    AnyRecord,
    Batch,
    Card,
    MemberList,
    Question,
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
_MOST_PAST = 64
"""Questions that have come to their end, and are still among the views."""
_GRACE = 60
"""Seconds after which others end a question that its member should have ended as expired."""
_LARGEST_NUMBER = (1 << 31) - 1
_DECIDED = "decided/"
_SEEN = "seen"
_RESTORED = (
    "This peer has said something else before: its folder is a restored backup, and going on from "
    "it would show what it must not. Stop it for good, have the others evict it, and join anew."
)
_COUNTS = msgspec.msgpack.Decoder(dict[str, int])


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
        self.halted: str | None = None
        """Why this peer has stopped for good; None unless its folder is a restored backup."""
        self._desk = Desk(me.id, keys, site, self._publish)
        self._desk.secrets.update(state.secrets)
        self._desk.notes.update(state.notes)
        self._lists = Lists(self._desk, me, least_members)
        self._archive = Archive(self._desk)
        self._runs: dict[bytes, Run] = {}
        self._past: deque[Progress] = deque(maxlen=_MOST_PAST)
        self._waiting: dict[bytes, str] = {}
        """Questions that wait for this operator, or why a yes was not possible."""
        self._unsure: set[bytes] = set()
        """Topics known before the start of which no other member has shown what it has."""
        self._connected: tuple[Card, ...] = ()
        self._told_lies: set[tuple[bytes, str]] = set()
        self._spreading = Spreading(
            self._desk.store, self._visible, self._recall, self._archived_for
        )
        self._admission = Admission(self._desk, self._lists, self._runs, self._archive)
        self._load(state)

    def _load(self, state: State) -> None:
        store = self._desk.store
        questions = []
        for kept in state.records:
            held = store.add(decode(kept.content), is_shown=kept.is_shown)
            if held is not None and isinstance(held.record, Question):
                questions.append(held.record)
        self._lists.load()
        self._archive.load()
        for question in questions:
            self._add_run(question)
        self._unsure = {run.name for run in self._runs.values()}
        if store.all_of(NO_DIGEST) and len(self._others()) > 0:
            self._unsure.add(NO_DIGEST)
        self._lists.may_sign = NO_DIGEST not in self._unsure

    def _add_run(self, question: Question) -> Run:
        name = digest_of(question)
        ids = self._lists.known[question.list].ids
        run = self._runs[name] = Run(self._desk, name, question, ids, self._hinder)
        run.gone = self._gone(run)
        return run

    # Views

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
        raise NotImplementedError

    def signers(self, proposal: MemberList) -> tuple[str, ...]:
        """Return the ids of those who have signed a list."""
        raise NotImplementedError

    def find_list(self, digest: bytes) -> MemberList | None:
        """Return a list that has existed here, by its digest."""
        raise NotImplementedError

    @property
    def questions(self) -> tuple[Progress, ...]:
        """The last questions that have come to their end, and all that have not."""
        return (*self._past, *(self._view(run) for run in self._runs.values()))

    def question(self, name: bytes) -> Progress | None:
        """Return how far a question is; None if it is unknown, or has long been archived."""
        return next((one for one in self.questions if one.name == name), None)

    def _view(self, run: Run) -> Progress:
        ending, lie = run.ending, run.lie
        return Progress(
            run.name,
            run.question,
            run.phase,
            tuple(run.yeses),
            run.awaited,
            run.round,
            ending,
            run.is_disclosed,
            None if lie is None else lie[0],
            ending is None and run.name in self._waiting,
        )

    # Events

    def start(self, now: int) -> Sequence[Action]:
        """Begin, for the first time or again."""
        return [*self._erase_stale(), *self._go_on(self._runs, now), *self._reconnect()]

    def receive(self, sender: str, frame: bytes, now: int) -> Sequence[Action]:
        """Handle a frame of a member; a bad one changes nothing."""
        message = decode_frame(frame)
        if self.halted is not None or message is None or sender not in self._others():
            return []
        match message:
            case Give():
                return self._take_all(message.records, now)
            case Have():
                answers = self._spreading.answer_have(sender, message)
                sure = [
                    one
                    for one in self._unsure
                    if message.topics.get(one) == self._desk.store.fingerprint(one)
                ]
            case Ids():
                answers = self._spreading.answer_ids(sender, message)
                sure = [message.topic] if self._has_all(message) else []
            case Want():
                answers = self._spreading.answer_want(sender, message)
                # Who asks for the question itself has nothing that is about it.
                sure = [message.topic] if message.topic in message.digests else []
        return [*answers, *self._make_sure(sure, now)]

    def contact(self, now: int) -> Sequence[Action]:
        """Tell all others what is known here: every few seconds, and after `ContactSoon`."""
        if self.halted is not None:
            return []
        stuck = [one for one, run in self._runs.items() if run.trouble]
        return [*self._go_on(stuck, now), *self._spreading.contact(self._others())]

    def tick(self, now: int) -> Sequence[Action]:
        """End questions that have expired, before this member has echoed anything."""
        late = [run for run in self._runs.values() if self._is_late(run, now)]
        if self.halted is not None or not late:
            return []
        actions: list[Action] = []
        for run in late:
            actions += run.end("expired", "It was not begun in time.")
        return actions + self._go_on([run.name for run in late], now)

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
    ) -> tuple[bytes, Sequence[Action]]:
        """Ask all members, and say yes; return the question's name, too."""
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
        self._add_run(unsigned)
        actions += self._decide(name)
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
        if not run.question.adds or run.said("yes", self._desk.me):
            return []
        if run.may_speak:
            return [*self._say_yes(run), *self._go_on([name], 0)]
        return self._decide(name)

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

    def _decide(self, name: bytes) -> list[Action]:
        return [self._desk.save(notes={_DECIDED + name.hex(): b"yes"})]

    # Records

    def _take_all(self, contents: Iterable[bytes], now: int) -> list[Action]:
        """Take what is new, and go on with what it is about."""
        actions, touched = list[Action](), dict[bytes, None]()
        for content in contents:
            record = None if self.halted is not None else self._admission.look_at(content)
            saved = None if record is None else self._take(record)
            if record is not None and saved is not None:
                actions.append(saved)
                touched[topic_of(record)] = None
        if not touched or self.halted is not None:
            return actions + self._tell_halt()
        if NO_DIGEST in touched:
            actions += self._lists.sign_what_is_decided()
            actions += self._after_lists(now)
        return [*actions, *self._go_on(touched, now), ContactSoon()]

    def _take(self, record: AnyRecord) -> Save | None:
        """Hold a record, of others or forgotten by this member."""
        about = topic_of(record)
        if record.member == self._desk.me and self._desk.store.said(about, slot_of(record)):
            self.halted = _RESTORED
            return None
        held = self._desk.store.add(record)
        if held is None:
            return None
        if isinstance(record, Question):
            self._add_run(record)
        elif about == NO_DIGEST:
            self._lists.take(held)
        if isinstance(record, Yes):
            self._note_seen(record)
        if about in self._runs and record.member == self._desk.me:
            self._runs[about].note_shown()
        return Save((Kept(encode(record)),))

    def _tell_halt(self) -> list[Action]:
        return [] if self.halted is None else [Told("restored", sentence=self.halted)]

    def _note_seen(self, yes: Yes) -> None:
        """Remember how much a member has released, as it has signed itself."""
        seen = self._seen
        if yes.released > seen.get(yes.member, 0):
            seen[yes.member] = yes.released
            self._desk.notes[_SEEN] = msgspec.msgpack.encode(seen)

    @property
    def _seen(self) -> dict[str, int]:
        return _COUNTS.decode(self._desk.notes.get(_SEEN, b"\x80"))

    def _has_all(self, ids: Ids) -> bool:
        return all(self._desk.store.find(one) is not None for one in ids.digests)

    def _make_sure(self, topics: Iterable[bytes], now: int) -> list[Action]:
        """Sign again what is about topics of which this member has forgotten nothing."""
        sure = [topic for topic in topics if topic in self._unsure]
        self._unsure.difference_update(sure)
        actions: list[Action] = []
        if NO_DIGEST in sure:
            self._lists.may_sign = True
            actions += [*self._lists.sign_what_is_decided(), *self._after_lists(now)]
        return actions + self._go_on(sure, now)

    # Questions

    def _go_on(self, names: Iterable[bytes], now: int) -> list[Action]:
        """Do what is to be done about questions."""
        actions: list[Action] = []
        for run in [self._runs[name] for name in names if name in self._runs]:
            run.may_speak = run.name not in self._unsure and self.halted is None
            if self._desk.me not in run.members:
                actions += self._take_history(run)
                continue
            actions += self._consider(run, now)
            actions += run.proceed()
            actions += self._tell_lie(run)
            if run.is_done or run.is_final:
                actions += self._close(run)
        return actions

    def _consider(self, run: Run, now: int) -> list[Action]:
        """Answer a question by policy, or note that the operator is to be asked."""
        me, site = self._desk.me, self._desk.site
        kinds = ("yes", "ending", "statement")
        is_answered = run.round > 0 or any(run.said(kind, me) for kind in kinds)
        if is_answered or not run.may_speak or run.ending is not None:
            return []
        if self._lists.current is None or run.question.list != self._lists.current.digest:
            return run.end("no", "The list of members is another one by now: ask again.")
        if _DECIDED + run.name.hex() in self._desk.notes:
            return self._try_yes(run)
        if run.name in self._waiting:
            return []
        try:
            verdict = site.judge(run.name, run.question)
        except InputError as problem:
            return run.end("cannot", str(problem))
        if verdict.answer == "no":
            return run.end("no", verdict.because)
        if not run.question.adds or now >= run.question.expires > 0:
            return []
        if verdict.answer == "yes":
            return self._try_yes(run)
        self._waiting[run.name] = verdict.because
        return [Told("asked", run.name, verdict.because)]

    def _try_yes(self, run: Run) -> list[Action]:
        if not run.question.adds:
            return []
        try:
            return self._say_yes(run)
        except InputError as problem:
            return run.end("cannot", str(problem))

    def _say_yes(self, run: Run) -> list[Action]:
        offer = self._desk.site.offer(run.name, run.question)
        self._waiting.pop(run.name, None)
        seen = {one: many for one, many in self._seen.items() if one in run.members}
        return run.say_yes(offer, self._released, seen)

    @property
    def _released(self) -> int:
        """Of how many questions this member has shown words."""
        return self._archive.released + sum(one.is_disclosed for one in self._runs.values())

    def _hinder(self, run: Run) -> str:
        """Say why nothing can be contributed to a question to which all have said yes."""
        me, yeses = self._desk.me, run.yeses
        if any(yes.seen.get(me, 0) > self._released for yes in yeses.values()):
            return "It has released more than it remembers: its folder is a restored backup."
        if len({yes.version for yes in yeses.values()}) > 1:
            return "Members run different versions of pairgossip: see that all run the same."
        return self._find_repeated(run) or self._find_difference(run)

    def _find_repeated(self, run: Run) -> str:
        """Say why a question cannot be contributed to once more."""
        repeated = run.question.repeats
        if repeated is None:
            return ""
        now, line = pieces_of(run.yeses.values()), self._archive.lines.get(repeated)
        before = None if line is None else frozenset(line.pieces)
        if repeated in self._runs:
            before = pieces_of(self._runs[repeated].yeses.values())
        is_same = before is not None and now == before
        return "" if is_same else "It repeats a question over other rows than that was about."

    def _find_difference(self, run: Run) -> str:
        """Say whose rows the differences of releases would tell, if they would."""
        others = [one for one in self._runs.values() if one is not run and self._may_release(one)]
        before = [*self._archive.releases, *(pieces_of(one.yeses.values()) for one in others)]
        named = self._lists.known[run.question.list]
        least = max(named.least_members, self._lists.least_members)
        lone = find_lone(pieces_of(run.yeses.values()), before, least, self._visible_pieces())
        if lone is None:
            return ""
        names = {card.id: card.name for card in named.members}
        whose = sorted({names.get(member, member[:12]) for member, _ in lone})
        return (
            f"With what was released before it would tell the numbers of {', '.join(whose)} "
            f"alone: at least {least} members must add rows together."
        )

    def _may_release(self, run: Run) -> bool:
        """Whether this member may yet show, or has shown, words of a question."""
        me = self._desk.me
        return run.is_disclosed or (bool(run.said("digests", me, 1)) and run.ending is None)

    def _visible_pieces(self) -> set[tuple[str, int]]:
        held = self._desk.store.all_of(NO_DIGEST)
        batches = [one.record for one in held if isinstance(one.record, Batch)]
        return {(one.member, one.number) for one in batches if one.totals_visible}

    def _take_history(self, run: Run) -> list[Action]:
        """Keep what was released on lists that this member was not on."""
        if set(run.yeses) != set(run.members):
            return []
        return self._archive_run(run, "history", "", is_disclosed=True)

    def _tell_lie(self, run: Run) -> list[Action]:
        lie = run.lie
        if lie is None or (run.name, lie[0]) in self._told_lies:
            return []
        self._told_lies.add((run.name, lie[0]))
        named = self._lists.known[run.question.list].cards[lie[0]]
        sentence = f"'{named.name}' has signed two records that contradict each other ({lie[1]})."
        return [Told("lie", run.name, sentence)]

    def _close(self, run: Run) -> list[Action]:
        """Archive a question that has come to its end, with its result or without."""
        site, ending = self._desk.site, run.ending
        self._past.append(self._view(run))
        if ending is None:
            try:
                site.finish(run.name, run.question, run.transcript)
            except InputError as problem:
                run.trouble = str(problem)
                self._past.pop()
                return [Told("trouble", run.name, str(problem))]
            archived = self._archive_run(run, "done", "", is_disclosed=run.is_disclosed)
            return [*archived, Told("done", run.name)]
        site.give_up(run.name, ending.because, is_disclosed=run.is_disclosed)
        archived = self._archive_run(
            run, ending.kind, ending.because, is_disclosed=run.is_disclosed
        )
        return [*archived, Told("ended", run.name, ending.because)]

    def _archive_run(
        self, run: Run, kind: str, because: str, *, is_disclosed: bool
    ) -> list[Action]:
        name, store = run.name, self._desk.store
        line = line_of(run.question, kind, because, run.yeses.values(), is_disclosed=is_disclosed)
        rest = find_rest(store.all_of(name), kind, is_disclosed=is_disclosed)
        decided = _DECIDED + name.hex()
        notes = self._archive.add(name, line) | ({decided: None} if self._is_noted(decided) else {})
        secrets = {one: None for one in self._desk.secrets if one.startswith(name.hex())}
        save = self._desk.save(secrets=secrets, notes=notes)
        store.drop(name)
        del self._runs[name]
        self._waiting.pop(name, None)
        self._unsure.discard(name)
        return [save._replace(forgotten=rest, archived=name)]

    def _is_noted(self, note: str) -> bool:
        return note in self._desk.notes

    def _erase_stale(self) -> list[Action]:
        """Erase what a crash left of secrets that have served."""
        store, stale = self._desk.store, dict[str, bytes | None]()
        served = set()
        for run in self._runs.values():
            rounds = [
                one.slot[2]
                for one in store.all_of(run.name)
                if one.slot[1] == "words" and one.slot[3] == self._desk.me
            ]
            served |= {chains_name(run.name, number) for number in rounds}
            if run.said("yes", self._desk.me):
                served.add("" if not rounds else key_name(run.name))
            else:
                served.add(key_name(run.name))
        names = {name.hex() for name in self._runs}
        for secret in self._desk.secrets:
            if secret in served or secret.partition("-")[0] not in names:
                stale[secret] = None
        return [self._desk.save(secrets=stale)] if stale else []

    # Lists

    def _after_lists(self, now: int) -> list[Action]:
        """Do what follows from a list that is new."""
        changed = [run for run in self._runs.values() if run.gone != self._gone(run)]
        for run in changed:
            run.gone = self._gone(run)
        current = self._lists.current
        elsewhere = [
            name
            for name, run in self._runs.items()
            if current is not None and run.question.list != current.digest
        ]
        actions = self._go_on(dict.fromkeys([*(run.name for run in changed), *elsewhere]), now)
        return [*actions, *self._reconnect(), ContactSoon()]

    def _gone(self, run: Run) -> frozenset[str]:
        """Return the members of a question that are not on the present list any more."""
        here = self._lists.current
        if here is None or self._desk.me not in run.members:
            return frozenset()
        out = self._lists.evicted_by()
        if out is not None:
            return frozenset(run.members) - {self._desk.me} - set(out.ids) | {self._desk.me}
        return frozenset(run.members) - set(here.ids)

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
        known, me = self._lists.known, self._desk.me
        return tuple(
            name
            for name, line in self._archive.lines.items()
            if line.is_disclosed and not {me, other} <= set(known[line.list].ids)
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
