"""All questions at one member: the answers to them, their machines, and their ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from pairgossip.errors import InputError
from pairgossip.study.protocol.archive import Archive, find_rest, line_of
from pairgossip.study.protocol.desk import Desk
from pairgossip.study.protocol.lists import Lists
from pairgossip.study.protocol.pace import Pace
from pairgossip.study.protocol.question import FAILURES, Run, chains_name, key_name
from pairgossip.study.protocol.records import EndingKind, Question, digest_of
from pairgossip.study.protocol.releases import Releases
from pairgossip.study.protocol.site import Action, Reserved, Told
from pairgossip.study.protocol.standing import Progress

_MOST_PAST = 64
"""Largest number of ended questions that are still among the views."""
LONGEST_WAIT = 366 * 86_400
"""Longest time until a question expires, in seconds; a longer one gets a no."""
_DECIDED = "decided/"
_VISIBLE = b"visible"
"""The note on a yes that holds even if differences reveal this member's numbers."""
_GIVES_WAY = (
    "'{}' has asked at the same moment for the same columns, or for rows to travel, and its "
    "question goes first: ask again once that has ended."
)
_ABANDONED = (
    "Its columns were counted for question {}, whose numbers were shown and which is unfinished, "
    "as a member has left since: they are not counted again."
)
_NO_TABLE = (
    "All have signed the result, but this peer has forgotten the sums, as in a restored backup: "
    "it has no table to read again."
)


class Questions:
    """The questions that are not archived, and a line of each that is."""

    def __init__(self, desk: Desk, lists: Lists) -> None:
        self._desk, self._lists = desk, lists
        self.runs: dict[bytes, Run] = {}
        self.archive = Archive(desk)
        self.releases = Releases(desk, lists, self.archive, self.runs)
        self.pace = Pace(desk)
        self.past: deque[Progress] = deque(maxlen=_MOST_PAST)
        self.unsure: set[bytes] = set()
        """Topics known before the start for which no other member has shown its records."""
        self._waiting: set[bytes] = set()
        """Questions that wait for this operator."""
        self.reserved: set[bytes] = set()
        """Questions whose yes waits until others have ended."""
        self._now = 0
        self._told_lies: set[tuple[bytes, str]] = set()

    def needs(self, member: str) -> bool:
        """Return whether a question has begun that cannot end without a member."""
        runs = [one for one in self.runs.values() if not one.travels]
        return any(one.round > 0 and member in one.members and not one.ending for one in runs)

    def add(self, question: Question) -> None:
        """Begin with a question whose list is known."""
        name = digest_of(question)
        ids = self._lists.known[question.list].ids
        run = self.runs[name] = Run(self._desk, name, question, ids, self.releases.hinder)
        run.gone = self._gone(run)

    def renew(self, names: Iterable[bytes]) -> None:
        """Go through questions again, with own records that others have given back."""
        for name in names:
            if name in self.runs:
                self.add(self.runs[name].question)

    def view(self, run: Run) -> Progress:
        """Return the state of a question."""
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

    def go_on(self, names: Iterable[bytes], now: int) -> list[Action]:
        """Do all due work on questions, at this time or the last one."""
        actions: list[Action] = []
        if self._desk.halted is not None:
            return actions
        now = self._now = max(self._now, now)
        for run in [self.runs[name] for name in names if name in self.runs]:
            if run.name not in self.runs:
                continue  # it has given way to another of them
            run.may_speak = run.name not in self.unsure
            if self._desk.me not in run.members:
                actions += self._take_history(run)
                continue
            run.trouble = ""
            actions += self._consider(run, now)
            actions += run.proceed()
            actions += self._tell_lie(run)
            if run.is_done or (run.is_final and not run.owes_ending):
                actions += self._close(run)
            actions += _tell_trouble(run)
        return actions

    # Answers

    def _consider(self, run: Run, now: int) -> list[Action]:
        """Answer a question by policy, or note that the operator must be asked."""
        me, here = self._desk.me, self._lists.current
        kinds = ("yes", "ending", "statement")
        is_answered = run.round > 0 or any(run.said(kind, me) for kind in kinds)
        if is_answered or not run.may_speak or run.ending is not None:
            return []
        if here is None or run.question.list != here.digest:
            return run.end("no", "The list of members is another one by now: ask again.")
        if run.said("digests", me, 1):
            return run.forget_yes()
        decided = self._desk.notes.get(_DECIDED + run.name.hex())
        if decided is not None:
            return self._try_yes(run, is_visible=decided == _VISIBLE)
        return [] if run.name in self._waiting else self._judge(run, now)

    def _judge(self, run: Run, now: int) -> list[Action]:
        try:
            verdict = self._desk.site.judge(run.name, run.question)
        except FAILURES as problem:
            return run.end("cannot", run.explain(problem))
        if verdict.answer == "no":
            return run.end("no", verdict.because)
        if run.question.expires > now + LONGEST_WAIT:
            return run.end("no", "It would expire in more than a year: ask for less.")
        if not run.question.adds or now >= run.question.expires:
            return []
        if verdict.answer == "yes":
            return self._try_yes(run)
        self._waiting.add(run.name)
        return [Told("asked", run.name, verdict.because)]

    def _try_yes(self, run: Run, *, is_visible: bool = False) -> list[Action]:
        if not run.question.adds:
            return []
        try:
            return self._say_yes(run, is_visible=is_visible)
        except Reserved as problem:
            if actions := self._give_way(run, problem.rival):
                return actions + self._try_yes(run, is_visible=is_visible)
            if self._is_abandoned(problem.rival):
                return run.end("cannot", _ABANDONED.format(problem.rival.hex()[:12]))
            if run.name in self.reserved:
                return []
            self.reserved.add(run.name)
            return [Told("waits", run.name, str(problem))]
        except FAILURES as problem:
            return run.end("cannot", run.explain(problem))

    def accept(self, run: Run, *, is_visible: bool = False) -> list[Action]:
        """Say yes for the operator, or note that it is due."""
        me = self._desk.me
        if not run.question.adds or run.said("yes", me) or run.said("digests", me, 1):
            return []
        if not run.may_speak:
            return self.decide(run.name, is_visible=is_visible)
        try:
            return self._say_yes(run, is_visible=is_visible)
        except Reserved as problem:
            if actions := self._give_way(run, problem.rival):
                # A withdrawn question stays so, whatever happens to this one.
                return [*actions, *self.decide(run.name, is_visible=is_visible)]
            raise

    def _give_way(self, run: Run, rival: bytes) -> list[Action]:
        """End a question that this one waits for, and that does not go first, before it begins.

        Of two that are asked at once each may have the yes of some, who wait for its end. The one
        with the lower name goes first, so that no two wait for each other.
        """
        second = self.runs.get(rival)
        if second is None or rival < run.name or second.round > 0 or not second.may_speak:
            return []
        name = self._lists.known[run.question.list].cards[run.question.member].name
        kind: EndingKind = "withdrawn" if second.question.member == self._desk.me else "no"
        ended = second.end(kind, _GIVES_WAY.format(name))
        return [*ended, *self.go_on([rival], 0)] if ended else []

    def _is_abandoned(self, rival: bytes) -> bool:
        """Whether a question will hardly end: numbers were shown, and a member is gone."""
        second = self.runs.get(rival)
        return second is not None and bool(second.gone) and second.ending is not None

    def decide(self, name: bytes, *, is_visible: bool = False) -> list[Action]:
        """Note the operator's yes."""
        said = _VISIBLE if is_visible else b"yes"
        return [self._desk.save(notes={_DECIDED + name.hex(): said})]

    def _say_yes(self, run: Run, *, is_visible: bool = False) -> list[Action]:
        releases = self.releases
        if not releases.is_announced(run):
            decided = _DECIDED + run.name.hex()
            is_noted = decided in self._desk.notes
            return [] if is_noted else self.decide(run.name, is_visible=is_visible)
        offer = self._desk.site.offer(run.name, run.question)
        actions = releases.make_visible(offer.pieces) if is_visible else []
        pieces = releases.choose_pieces(run.name, run.question, offer)
        self._waiting.discard(run.name)
        self.reserved.discard(run.name)
        seen = releases.seen(run.members)
        if notes := releases.note_columns(run.name, offer):
            actions.append(self._desk.save(notes=notes))
        offer = offer._replace(pieces=pieces)
        return actions + run.say_yes(offer, releases.count, seen, is_visible=is_visible)

    # Ends

    def _tell_lie(self, run: Run) -> list[Action]:
        lie = run.lie
        if lie is None or (run.name, lie[0]) in self._told_lies:
            return []
        self._told_lies.add((run.name, lie[0]))
        named = self._lists.known[run.question.list].cards[lie[0]]
        sentence = f"'{named.name}' has signed two records that contradict each other ({lie[1]})."
        return [Told("lie", run.name, sentence)]

    def _take_history(self, run: Run) -> list[Action]:
        """Keep the releases of lists that this member was not on."""
        if set(run.yeses) != set(run.members):
            return []
        return self._archive(run, "history", "", is_disclosed=True)

    def _close(self, run: Run) -> list[Action]:
        """Archive a question that has ended, with its result or without."""
        view, ending = self.view(run), run.ending
        try:
            if ending is None and run.has_result:
                self._desk.site.finish(run.name, run.question, run.transcript)
            else:
                because = _NO_TABLE if ending is None else ending.because
                self._desk.site.give_up(run.name, because, is_disclosed=run.is_disclosed)
        except InputError as problem:
            run.trouble = str(problem)
            return []
        self.past.append(view)
        kind, because = ("done", "") if ending is None else (ending.kind, ending.because)
        archived = self._archive(run, kind, because, is_disclosed=run.is_disclosed)
        return [*archived, Told("done" if ending is None else "ended", run.name, because)]

    def _archive(self, run: Run, kind: str, because: str, *, is_disclosed: bool) -> list[Action]:
        name, store, yeses = run.name, self._desk.store, run.yeses.values()
        line = line_of(run.question, kind, because, yeses, is_disclosed=is_disclosed)
        rest = find_rest(store.all_of(name), self._desk.me, kind, is_disclosed=is_disclosed)
        notes = self.releases.forget(name, is_disclosed=is_disclosed)
        if (decided := _DECIDED + name.hex()) in self._desk.notes:
            notes[decided] = None
        if is_disclosed and self._desk.me in run.members:
            notes |= self.pace.give_back(run.question.member)
        secrets = {one: None for one in self._desk.secrets if one.startswith(name.hex())}
        save = self._desk.save(secrets=secrets, notes=notes)
        notes = {**notes, **self.archive.add(name, line)}
        store.drop(name)
        del self.runs[name]
        self._waiting.discard(name)
        self.reserved.discard(name)
        self.unsure.discard(name)
        return [save._replace(notes=notes, forgotten=rest, archived=name)]

    def erase_stale(self) -> list[Action]:
        """Erase used secrets that a crash has left."""
        needed = {one for run in self.runs.values() for one in self._needed(run)}
        stale = {one: None for one in self._desk.secrets if one not in needed}
        return [self._desk.save(secrets=stale)] if stale else []

    def _needed(self, run: Run) -> list[str]:
        """Return the secrets that words of a question may still need."""
        if not run.said("yes", self._desk.me):
            return []
        held = self._desk.store.all_of(run.name)
        mine = [one.slot for one in held if one.slot[3] == self._desk.me]
        last = max((slot[2] for slot in mine if slot[1] == "words"), default=0)
        later = [chains_name(run.name, last + 1)]
        return later if last else [*later, key_name(run.name)]

    # Former members

    def review(self, now: int) -> list[Action]:
        """Apply a new list."""
        here, concerned = self._lists.current, dict[bytes, None]()
        for name, run in self.runs.items():
            gone = self._gone(run)
            is_elsewhere = here is not None and run.question.list != here.digest
            if gone != run.gone or is_elsewhere or _DECIDED + name.hex() in self._desk.notes:
                concerned[name] = None
            run.gone = gone
        return self.go_on(concerned, now)

    def _gone(self, run: Run) -> frozenset[str]:
        """Return the members of a question that are not on the present list any more."""
        here, out = self._lists.current, self._lists.evicted_by()
        if here is None or self._desk.me not in run.members:
            return frozenset()
        return frozenset(run.members) - set((out or here).ids)


def _tell_trouble(run: Run) -> list[Action]:
    """Log once why a question waits for this member."""
    if run.trouble == run.told_trouble:
        return []
    run.told_trouble = run.trouble
    return [Told("trouble", run.name, run.trouble)] if run.trouble else []
