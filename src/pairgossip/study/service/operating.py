"""The requests of a study's operator, carried out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import Card, Question, digest_of
from pairgossip.study.protocol.site import Action
from pairgossip.study.protocol.study import Study
from pairgossip.study.service.asking import fill_in
from pairgossip.study.service.invitations import refuse_same_names
from pairgossip.study.service.requests import (
    Accept,
    Add,
    AnyRequest,
    Ask,
    Draft,
    Evict,
    Join,
    Leave,
    Refuse,
    Reply,
    TryOut,
    Withdraw,
)
from pairgossip.study.site.layouts import rows_travel, rule_of
from pairgossip.study.site.member_site import MemberSite
from pairgossip.study.site.words import digest_words
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.study.storage.snapshots import Batch, commit
from pairgossip.text import format_count, join_names

CarryOut = Callable[[Sequence[Action]], None]
_ROOM = "operator"
"""The room of notes on requests that are carried out, and on the question of a request."""
_ASKED_TO_LEAVE = "Asked all others to leave this peer out of the next list."
_LEAVES_VISIBLY = (
    "This peer has already asked to be left out, and now says that its totals may become known: "
    "others can compute them as the difference of tables with and without it."
)
_LEAVES_ALREADY = (
    "This peer has already asked to be left out, and what it said then of its totals stays: the "
    "others have yet to sign a list without it."
)


class Operator:
    """Carries out requests, each once however often the peer is killed meanwhile."""

    def __init__(self, study: Study, site: MemberSite, journal: StudyJournal) -> None:
        self._study, self._site, self._journal = study, site, journal
        self._asked = dict(journal.notes(_ROOM))

    def carry_out(self, key: str, request: AnyRequest, act: CarryOut) -> Reply:
        """Carry out a request by actions; raise `InputError` if that is impossible."""
        match request:
            case Ask():
                return self._ask(key, request, act)
            case Join():
                return self._join(request, act)
            case Evict(member):
                act(self._study.evict(member))
                return Reply("Decided to go on without that member: all others must, too.")
            case Leave(totals_visible):
                has_asked = self._study.lists.card.id in self._study.lists.leavers
                actions = self._study.leave(totals_visible=totals_visible)
                act(actions)
                said = _LEAVES_VISIBLY if has_asked else _ASKED_TO_LEAVE
                return Reply(said if actions else _LEAVES_ALREADY)
            case Draft(text, is_fresh):
                return self._describe(self._draft(text, is_fresh=is_fresh))
            case Accept():
                return self._accept(request, act)
            case Refuse(question, because):
                name = bytes.fromhex(question)
                act(self._study.refuse(name, because))
                return self._reply("Refused question {}: it has ended for all.", name)
            case Withdraw(question, because):
                name = bytes.fromhex(question)
                act(self._study.withdraw(name, because))
                return self._reply("Withdrew question {}.", name)
            case TryOut(question):
                return self._try_out(bytes.fromhex(question))
            case Add(source, totals_visible):
                return self._add(key, Path(source), totals_visible, act)

    def _ask(self, key: str, request: Ask, act: CarryOut) -> Reply:
        """Ask a question, and note in the same transaction that this request has become one."""
        if key in self._asked:  # the peer was killed before it answered
            return self._reply("Asked question {}.", self._asked[key])
        draft = self._draft(request.text, is_fresh=request.is_fresh)
        self._refuse_rival(draft)
        self._check_words(draft, request.words)
        name, actions = self._study.ask(
            draft.text,
            int(time.time()),
            request.expires,
            reads=draft.reads,
            adds=draft.adds,
            corrects=None if request.corrects is None else bytes.fromhex(request.corrects),
            note_visible=self._site.accept_visible if request.is_visible else None,
        )
        self._journal.stage(_ROOM, key, name)  # the first save of these writes it
        act(actions)
        self._asked[key] = name
        how = "" if draft.adds else ", which tables of before can answer"
        return self._reply(f"Asked question {{}}{how}.", name, self._site.say_if_nothing(name))

    def _draft(self, text: str, *, is_fresh: bool) -> Question:
        """Return a text as the question that it would be, except for its number and its end."""
        here = self._study.members
        if here is None:
            raise InputError("No list of members is signed by all yet: nobody can be asked.")
        whole = fill_in(text, rule_of(here))
        reads, adds = self._site.choose_reads(whole, here.ids, is_fresh=is_fresh)
        return Question(
            member=self._site.identity.id,
            list=here.digest,
            number=1,
            text=whole,
            expires=0,
            reads=reads,
            adds=adds,
        )

    def _describe(self, draft: Question) -> Reply:
        """Return what would leave for a question; refuse one that could not be asked."""
        self._study.refuse_hopeless(digest_of(draft), draft)
        return Reply("Nothing was sent.", sentences=tuple(self._site.describe(draft)))

    def _refuse_rival(self, draft: Question) -> None:
        """Refuse a question while another one counts its columns: they would divide the members."""
        for one in self._study.questions:
            is_open = one.ending is None and one.phase not in ("done", "ended")
            if not (is_open and draft.adds and one.question.adds):
                continue
            if rows_travel(draft.text) and rows_travel(one.question.text):
                number = self._journal.number_of(one.name)
                raise InputError(
                    f"Rows travel for question {number}, or will, and they do for one question at "
                    "a time: wait until it has ended."
                )
            if (column := self._site.find_shared(draft.text, one.question.text)) is not None:
                number = self._journal.number_of(one.name)
                raise InputError(
                    f"Question {number} counts column '{column[:64]}', too, and is open: say yes "
                    "to it, or wait until it has ended."
                )

    def _check_words(self, question: Question, read: str | None) -> None:
        """Refuse if the operator has read other words about what would leave."""
        if read is not None and digest_words(self._site.describe(question)).hex() != read:
            raise InputError(
                "What would leave this machine is not what you were shown any more: read it again."
            )

    def announce(self, act: CarryOut) -> None:
        """Inform all others of the rows that this site has frozen, if they do not know them."""
        for batch in self._site.batches:
            self._announce(batch, False, act)

    def _announce(self, batch: Batch, is_visible: bool, act: CarryOut) -> None:
        commitment = commit(self._site.identity, "batch", batch.number, batch.digest)
        facts = batch.number, batch.rounded_rows, commitment
        act(self._study.announce(*facts, totals_visible=is_visible))

    def forget(self, key: str) -> None:
        """Let the next save erase the note of a request that is answered."""
        if self._asked.pop(key, None) is not None:
            self._journal.stage(_ROOM, key, None)

    def _join(self, request: Join, act: CarryOut) -> Reply:
        refuse_same_names(request.cards, self._others())
        for card in request.cards:
            act(self._study.accept_card(card))
        names = join_names([one.name for one in request.cards])
        if missing := self._count_missing():
            least, more = self._study.lists.least_members, format_count(missing, "more member")
            return Reply(f"Accepted {names}: a list takes {least} members, so join {more}.")
        act(self._study.propose())
        return Reply(f"Accepted {names}: they may be members of this study.")

    def _count_missing(self) -> int:
        """Return the number of members that the first list still needs; 0 if it is signed here."""
        lists = self._study.lists
        if lists.head in lists.known:
            return 0
        return max(lists.least_members - len({lists.card.id, *lists.accepted}), 0)

    def _others(self) -> Iterator[Card]:
        """Yield this member, and all that are accepted, or on a list and not evicted here."""
        lists = self._study.lists
        present = () if lists.current is None else (lists.current,)
        yield lists.card
        yield from lists.accepted.values()
        for one in (*present, *lists.proposals):
            yield from (card for card in one.members if card.id not in lists.evicted)

    def _accept(self, request: Accept, act: CarryOut) -> Reply:
        name = bytes.fromhex(request.question)
        if (progress := self._study.question(name)) is not None:
            self._check_words(progress.question, request.words)
        if request.is_visible:
            self._site.accept_visible(name)
        try:
            actions = self._study.accept(name, is_visible=request.is_visible)
        except InputError:
            if request.is_visible:
                self._site.take_back_visible(name)
            raise
        act(actions)
        note = self._site.say_if_nothing(name)
        return self._reply("Accepted question {}, for good.", name, note)

    def _try_out(self, name: bytes) -> Reply:
        progress = self._study.question(name)
        if progress is None:
            raise InputError("This question has come to its end: there is nothing to try.")
        sentences = tuple(self._site.try_out(name, progress.question))
        return Reply("Tried it: nothing was sent, and nothing noted.", sentences=sentences)

    def _add(self, key: str, source: Path, totals_visible: bool, act: CarryOut) -> Reply:
        """Freeze rows, and note in the same transaction that this request has done so."""
        notices: list[str] = []

        def note(sentences: list[str]) -> None:
            notices.extend(sentences)
            if key:
                self._asked[key] = str(len(self._site.batches) + 1).encode()
                self._journal.stage(_ROOM, key, self._asked[key])

        if key in self._asked:  # the peer was killed before it answered; rows must not come twice
            number = int(self._asked[key])
            batch = next(one for one in self._site.batches if one.number == number)
        else:
            batch = self._site.add(source, note)
        self._announce(batch, totals_visible, act)
        self._journal.flush()
        rows = format_count(batch.rows, "row")
        sentence = f"Added {rows} as batch {batch.number}, for questions from now on."
        return Reply(sentence, sentences=tuple(notices))

    def _reply(self, sentence: str, name: bytes, note: str = "") -> Reply:
        number = self._journal.number_of(name)
        return Reply(f"{sentence.format(number)} {note}".rstrip(), number=number)
