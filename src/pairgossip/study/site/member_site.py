"""A member's site: its decisions by policy, its rows, its numbers, and its copies of answers."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.releases import retract_release, tell_release
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.sums.sites import flag_site
from pairgossip.study.protocol.records import MemberList, Question, Yes, digest_of
from pairgossip.study.protocol.site import Offer, Reserved, Verdict
from pairgossip.study.rows.journey import Journey, RowsProgram
from pairgossip.study.site.computing import AnyProgram, Computing, tell_releases
from pairgossip.study.site.counting import Counting
from pairgossip.study.site.kinds import describe_question, kind_of
from pairgossip.study.site.layouts import (
    columns_here,
    find_scores,
    layout_of,
    read_text,
    rows_travel,
)
from pairgossip.study.site.offers import Entry, Offers, Prepared
from pairgossip.study.site.policy import judge
from pairgossip.study.site.tryout import try_counting
from pairgossip.study.site.words import Asked, digest_words
from pairgossip.study.storage.disclosures import Disclosures
from pairgossip.study.storage.folder import StudyHome
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.study.storage.settings import StudySettings
from pairgossip.study.storage.signed import keep_signed, list_of
from pairgossip.study.storage.snapshots import (
    Batch,
    Batches,
    commit,
    describe_repeated,
    freeze,
    read_again,
    refuse_few,
)
from pairgossip.study.storage.tables import Answers

_COMPUTATION = "1"
"""Version of the sums of a question; all members must have the same."""
_NOTHING = (
    "It adds no row of this site: peer questions {} --try says why, and if that finds nothing, "
    "rows wait until other members add some with them."
)
_ADDED_NOTHING = (
    "It added no row of this site: its rows were counted or released before, did not fill every "
    "class, had values out of range, or waited for rows of other members."
)
_VISIBLE = "visible"
"""The room of notes on questions whose differences the operator accepts as visible."""
_FORGOTTEN = "forgotten"
"""The room of notes on words that others have given back to a restored folder."""


class MemberSite:
    """The `Site` of a member: its machine, as the protocol uses it.

    Its notes are written with the journal's next save, which is that of the record that they belong
    to; so a crash never leaves one without the other.

    Parameters
    ----------
    home, identity, journal
        The folder, the member's identity, and its open journal.
    """

    def __init__(self, home: StudyHome, identity: Identity, journal: StudyJournal) -> None:
        self.home, self.identity, self.journal = home, identity, journal
        self._lists: dict[bytes, MemberList] = {}
        self._last_settings = home.read_settings()
        self.batches = Batches(journal)
        self.record = Disclosures(home.disclosures, journal)
        self.offers, self.answers = Offers(journal), Answers(journal, home.tables)
        self._visible = set(journal.notes(_VISIBLE))
        self.journeys: dict[bytes, Journey] = {}
        """Questions whose rows travel, or are about to."""
        self._unsigned = self.answers.unsigned
        """Answers whose files of signatures may be missing."""

    # Functions for the protocol

    def judge(self, name: bytes, question: Question) -> Verdict:
        """Return yes or no by policy, or ask the operator; never depending on the rows."""
        settings = self._settings
        declared = frozenset[str]().union(*(one.columns for one in self.batches))
        others = [one for one in self.offers if one.question != name]
        members = self._find_list(question)
        return judge(question, settings, members, declared, others, me=self.identity.id)

    def offer(self, name: bytes, question: Question) -> Offer:
        """Read the rows, and return what this site adds; nothing else leaves yet."""
        entry = self.offers.get(name)
        if entry is None or entry.state == "ended":
            self._refuse_reserved(name, question)
            entry = self._accept(name, question)
        parts = entry.disclosure, entry.commitment, entry.pieces, entry.card
        return Offer(*parts, _COMPUTATION, entry.scores)

    def make_program(
        self, name: bytes, question: Question, yeses: Mapping[str, Yes]
    ) -> AnyProgram | RowsProgram:
        """Return the computation that all members go through."""
        if rows_travel(question.text):
            return RowsProgram(self._go_along(name, question, yeses))
        me, members = self.identity.id, self._find_list(question)
        parts = me, self.offers, self.answers, self._read_rows, members.least_members
        return Computing(*parts).make_program(name, question, yeses, members.ids)

    def note_disclosure(self, name: bytes, round_: int, words: bytes) -> None:
        """Record the next disclosure, with the next save."""
        entry = self.offers.get(name)
        if entry is None:
            self._note_forgotten(name, round_, words)
            return
        if entry.shown >= round_:
            return
        if not entry.shown:  # a crash may have undone the registers' notes of the computation
            tell_releases(self.offers, entry)
        about = self._describe_rows(name)
        if not about:
            numbers = sorted(self.offers.vectors(entry.repeats or name).items())
            about = {"numbers": commit(self.identity, "numbers", numbers).hex()}
        self.offers.change(name, state="shown", shown=round_)
        digest = commit(self.identity, "words", words).hex()
        self.record.add("shown", name, round=round_, words=digest, **about)

    def _describe_rows(self, name: bytes) -> dict[str, Any]:
        """Name the rows that leave as they are, and their readers; empty where sums are
        computed."""
        journey = self.journeys.get(name)
        if journey is None:
            return {}
        others = [one.name for one in journey.members.members if one.id != self.identity.id]
        columns = list(journey.spec.observed)
        return {"rows": len(journey.rows), "columns": columns, "to": sorted(others)}

    def _go_along(self, name: bytes, question: Question, yeses: Mapping[str, Yes]) -> Journey:
        """Return the journey of a question whose rows travel, given the yeses of all."""
        members = self._find_list(question)
        entry = self.offers.take_yes(name, yeses[self.identity.id].pieces)
        journey = Journey(
            name=name,
            spec=read_text(question.text),
            expires=question.expires,
            members=members,
            me=self.identity.id,
            rows=tuple(map(tuple, self._read_rows(entry).tolist())),
            yeses=dict(yeses),
            draws=partial(commit, self.identity, "draws"),
        )
        before = self.journeys.get(name)
        if before is None or before.run != journey.run:
            self.journeys[name] = before = journey
        return before

    def _note_forgotten(self, name: bytes, round_: int, words: bytes) -> None:
        """Record, once, words that others have though this folder, a backup, has no offer of
        them."""
        place = f"{name.hex()} {round_}"
        if self.journal.note(_FORGOTTEN, place) is None:
            self.journal.stage(_FORGOTTEN, place, b"")
            digest = commit(self.identity, "words", words).hex()
            self.record.add("shown", name, round=round_, words=digest, is_forgotten=True)

    def finish(self, name: bytes, question: Question, transcript: bytes) -> None:
        """Take the result that all members have signed: keep the table, end the entry."""
        if self.answers.get(name) is not None:
            return
        answer, entry = self.answers.settle(name), self.offers.get(name)
        is_shown = entry is not None and entry.is_shown
        self._settle(name, is_shown=is_shown)
        self.offers.drop_vectors(name if entry is None else entry.repeats or name)
        self.offers.change(name, state="answered" if is_shown else "ended")
        self._unsigned.append(name)
        result = self.answers.read_result(name)
        self.record.add(
            "answered" if question.adds else "read",
            name,
            transcript=transcript.hex(),
            table=None if answer is None else commit(self.identity, "table", answer.table).hex(),
            result=None if result is None else hashlib.sha256(result).hexdigest(),
        )

    def give_up(self, name: bytes, because: str, *, is_disclosed: bool) -> None:
        """Note that a question ended without a result; words of it may have been shown."""
        self.answers.drop(name)
        entry = self.offers.get(name)
        if entry is None or not entry.is_open:
            return
        is_shown = is_disclosed or entry.is_shown
        self._settle(name, is_shown=is_shown)
        if not is_shown:
            self.offers.drop_vectors(name)
        self.offers.change(name, state="unfinished" if is_shown else "ended")
        self.record.add("not answered", name, because=because, is_disclosed=is_shown)

    def recall(self, name: bytes) -> Sequence[bytes]:
        """Return the archived records of a question, for a member that lacks them."""
        return self.journal.archived(name)

    # Functions for the operator

    def accept_visible(self, name: bytes) -> None:
        """Note, with the next save, that the operator accepts that others can subtract."""
        self._visible.add(name.hex())
        self.journal.stage(_VISIBLE, name.hex(), b"")

    def take_back_visible(self, name: bytes) -> None:
        """Note, with the next save, that the operator's yes had no effect."""
        self._visible.discard(name.hex())
        self.journal.stage(_VISIBLE, name.hex(), None)

    def choose_reads(
        self, text: str, members: Sequence[str], *, is_fresh: bool = False
    ) -> tuple[tuple[bytes, ...], bool]:
        """Return the tables that answer a text for these members, and whether rows must be added.

        These are the `reads` and `adds` of a question. With ``is_fresh``, rows that were added
        since then are counted though a table could answer at once.
        """
        tables = self.answers.find_tables(layout_of(text), members)
        return tuple(one.question for one in tables), is_fresh or not tables

    def describe(self, question: Question) -> list[str]:
        """Return sentences about what would leave this site, whatever its rows are."""
        return self._describe(question, self._settings)

    def _describe(self, question: Question, settings: StudySettings) -> list[str]:
        name = digest_of(question)
        entry = self.offers.get(name)
        if entry is not None and entry.state != "ended":
            batches = [one for one in self.batches if one.number in entry.named]
            settings = replace(settings, columns=entry.columns)
        else:
            batches = self._choose_batches(name, question, settings)
        names = {one.id: one.name for one in self._find_list(question).members}
        is_visible = name.hex() in self._visible
        return describe_question(Asked(question, settings, batches, names, is_visible))

    def try_out(self, name: bytes, question: Question) -> list[str]:
        """Read the source, note nothing, and return sentences about the effect of a yes."""
        if not question.adds:
            return self.describe(question)
        reasons, settings = [], self._settings
        counting = self._count(name, question, settings)
        counted = {one.number for one in counting.batches}
        own = columns_here(read_text(question.text), settings)
        for batch in self.batches:
            if not own <= set(batch.columns):
                reasons.append(f"Batch {batch.number} lacks a column of this question.")
            elif batch.number not in counted:
                reasons.append(f"Batch {batch.number} was counted in these columns before.")
        return try_counting(counting, kind_of(counting.spec), reasons)

    def say_if_nothing(self, name: bytes) -> str:
        """Return what this operator alone is told where this site's yes adds no row; else "".

        All members see that it adds none, and nobody else learns why. A question that has come to
        its end cannot be tried.
        """
        entry = self.offers.get(name)
        if entry is None or entry.state == "ended" or entry.batches:
            return ""
        return _NOTHING.format(self._number(name)) if entry.is_open else _ADDED_NOTHING

    def add(self, source: Path, confirm: Callable[[list[str]], None] = lambda _: None) -> Batch:
        """Freeze the rows of a further source; they are kept when this returns."""
        settings = self._settings
        declared = settings.declared
        batch, table, sentences = freeze(len(self.batches) + 1, source, declared, self.identity)
        refuse_few(batch, settings.policy.least_rows)
        before = [read_again(one, settings, self.identity) for one in self.batches]
        repeated = describe_repeated(table, before, settings.row_id)
        confirm([*sentences, *([] if repeated is None else [repeated])])
        self.batches.add(batch)
        self.journal.flush()
        return batch

    def keep_signed(self) -> None:
        """Write missing files of results that all members have signed by now."""
        self._unsigned = [name for name in self._unsigned if not self._sign(name)]

    def _sign(self, name: bytes) -> bool:
        result = self.answers.read_result(name)
        if result is None:
            return True
        is_kept = keep_signed(self.home, self.journal, name, result)
        if is_kept:
            self.answers.forget_result(name)
        return is_kept

    # The parts

    @property
    def _settings(self) -> StudySettings:
        """Read the operator's settings; return the previous ones while a change cannot be read."""
        with contextlib.suppress(InputError):
            self._last_settings = self.home.read_settings()
        return self._last_settings

    def _find_list(self, question: Question) -> MemberList:
        """Return the list at which a question was asked."""
        members = self._lists.get(question.list) or list_of(self.journal, question.list)
        if members is None:
            raise InputError("This site does not know the list of members that was asked.")
        self._lists[question.list] = members
        return members

    def _read_rows(self, entry: Entry) -> FloatArray:
        """Read the rows again that an entry adds: of the columns that its yes is about."""
        batches = [one for one in self.batches if one.number in entry.batches]
        settings = replace(self._settings, columns=entry.columns)
        return Counting(entry.text, settings, self.identity, batches).matrix()

    def _settle(self, name: bytes, *, is_shown: bool) -> None:
        """Note in the registers the end of a question's releases."""
        entry = self.offers.get(name)
        for key, places in () if entry is None else entry.releases:
            if is_shown:
                tell_release(places, key, "table")
            elif entry is not None and entry.repeats is None:  # otherwise it was released before
                retract_release(places, key)

    def _choose_batches(
        self, name: bytes, question: Question, settings: StudySettings
    ) -> list[Batch]:
        """Return the batches for a question: those whose columns are not released."""
        spec = read_text(question.text)
        scores = find_scores(spec, settings)
        own = columns_here(spec, settings)
        return [
            one
            for one in self.batches
            if own <= set(one.columns) and self.offers.is_free(one.number, scores, name)
        ]

    def _refuse_reserved(self, name: bytes, question: Question) -> None:
        """Let a yes wait while another question may still count these columns: it would add
        less."""
        scores = find_scores(read_text(question.text), self._settings)
        if not scores and (other := self._find_traveling(name)) is not None:
            number = self._number(other)
            raise Reserved(
                f"Rows travel for question {number}, which has your yes, and they do for one at a "
                f"time: wait until it has ended, or end it (peer questions {number}).",
                other,
            )
        rival = self.offers.find_rival(scores, name)
        if rival is not None and question.repeats is None:
            number = self._number(rival.question)
            column = min(rival.scores & scores)
            raise Reserved(
                f"Question {number} has your yes and counts column '{column[:64]}', too: wait "
                f"until it has ended, or end it (peer questions {number}).",
                rival.question,
            )

    def _find_traveling(self, besides: bytes) -> bytes | None:
        """Return another question whose rows travel, or still may."""
        open_ = (one for one in self.offers if one.is_open and one.question != besides)
        return next((one.question for one in open_ if not one.scores), None)

    def _number(self, name: bytes) -> int | str:
        """Return the operator's name of a question; one that is not saved yet has no number."""
        with contextlib.suppress(KeyError):
            return self.journal.number_of(name)
        return name.hex()[:12]

    def find_shared(self, text: str, other: str) -> str | None:
        """Return a score column that two texts have in common here; None if there is none.

        This version may be unable to read the other text, to which nobody here says yes.
        """
        here = find_scores(read_text(text), self._settings)
        with contextlib.suppress(InputError):
            return min(here & find_scores(read_text(other), self._settings), default=None)
        return None

    def _count(self, name: bytes, question: Question, settings: StudySettings) -> Counting:
        return Counting(
            question.text,
            settings,
            self.identity,
            self._choose_batches(name, question, settings),
            check=kind_of(read_text(question.text)).check,
            own=self.offers.keys,
            is_visible=name.hex() in self._visible,
        )

    def _accept(self, name: bytes, question: Question) -> Entry:
        """Count the rows, reserve them, and store what others learn, with the next save."""
        self.answers.read_tables(question.reads, layout_of(question.text))
        if question.repeats is not None:
            return self._repeat(name, question, question.repeats)
        settings, spec = self._settings, read_text(question.text)
        words = self._describe(question, settings)
        counting = self._count(name, question, settings)
        card, prepared = b"", tuple[Prepared, ...]()
        if spec.is_counted:
            prepared = counting.prepare(name.hex(), self.home.tables.absolute())
            for one in counting.adding:
                counts = counting.count(one).astype("<i8").tobytes()
                self.offers.put_counts(name, one.batch.number, counts)
            if spec.heterogeneity and not question.reads:
                cells = counting.count_cells(counting.adding)
                card = bytes([flag_site(spec, cells, is_shown=settings.show)])
        entry = Entry(
            question=name,
            asker=question.member,
            text=question.text,
            pieces=counting.pieces,
            scores=find_scores(spec, settings),
            layout=layout_of(question.text),
            disclosure=digest_words(words),
            commitment=self._commit(counting.batches),
            salt=secrets.token_bytes(32),
            card=card,
            prepared=prepared,
            columns=dict(settings.columns),
        )
        self._note_acceptance(entry, question, words)
        return entry

    def _repeat(self, name: bytes, question: Question, repeats: bytes) -> Entry:
        """Accept the same numbers once more."""
        before = self.offers.get(repeats)
        if before is None or before.state != "unfinished" or before.text != question.text:
            raise InputError(
                f"Question {repeats.hex()[:12]} is not one that this site has left unfinished."
            )
        words = self._describe(question, replace(self._settings, columns=before.columns))
        entry = replace(
            before,
            question=name,
            asker=question.member,
            state="accepted",
            disclosure=digest_words(words),
            shown=0,
            repeats=before.repeats or repeats,
        )
        self._note_acceptance(entry, question, words)
        return entry

    def _note_acceptance(self, entry: Entry, question: Question, words: Sequence[str]) -> None:
        verdict = self.judge(entry.question, question)
        by = "operator"
        if question.member == self.identity.id:
            by = "asker"
        elif verdict.answer == "yes":
            by = "policy"
        self.offers.put(entry)
        self.record.add(
            "accepted",
            entry.question,
            text=question.text,
            asker=question.member,
            list=question.list.hex(),
            words=list(words),
            by=by,
            pieces=[list(one) for one in entry.pieces],
            commitment=entry.commitment.hex(),
            reads=[one.hex() for one in question.reads],
            repeats=None if question.repeats is None else question.repeats.hex(),
        )

    def _commit(self, batches: Sequence[Batch]) -> bytes:
        return commit(self.identity, "rows", [(one.number, one.digest) for one in batches])
