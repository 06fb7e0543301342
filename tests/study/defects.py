"""Defects that are planted into the members of a study one at a time, and must be detected."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from pairgossip.study.protocol import questions, ratchet, releases, standing
from pairgossip.study.protocol.desk import Desk
from pairgossip.study.protocol.lists import Lists
from pairgossip.study.protocol.question import Run
from pairgossip.study.protocol.records import Echo, Piece, Statement
from pairgossip.study.protocol.standing import Standing
from tests.study.sites import PlantedSite, SumsProgram
from tests.study.world import World

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]
DEFECTS: dict[str, tuple[Plant, str]] = {}
"""What is planted, by name, and the text of the violation that must be reported."""


def _defect(name: str, said: str) -> Callable[[Plant], Plant]:
    def add(plant: Plant) -> Plant:
        DEFECTS[name] = plant, said
        return plant

    return add


def _wrap(patch: Patch, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Replace a method by a version that is made from it."""
    patch.setattr(owner, name, make(getattr(owner, name)))


def _choose_all(self: releases.Releases, name: bytes, question: Any, offer: Any) -> Any:
    return offer.pieces


@_defect("two questions have one mask", "has used a mask twice")
def reuse_masks(patch: Patch) -> None:
    derive = ratchet.derive_chains
    patch.setattr(World, "_draw_key", lambda world: bytes(range(32)))
    patch.setattr(
        ratchet, "derive_chains", lambda me, private, publics, _: derive(me, private, publics, b"")
    )


@_defect("a yes to one text is taken for a yes to another", "a yes that nobody decided")
def accept_another(patch: Patch) -> None:
    def consider(original: Any) -> Any:
        def answer(self: questions.Questions, run: Run, now: int) -> Any:
            agreed = [one for one in self.runs.values() if one.said("yes", self._desk.me)]
            if agreed and not run.said("yes", self._desk.me) and run.may_speak and not run.ending:
                return self._try_yes(run)
            return original(self, run, now)

        return answer

    _wrap(patch, questions.Questions, "_consider", consider)


@_defect(
    "a question is put to the present list, not to its own",
    "never end|ended what|each member|have not|without everybody",
)
def mix_lists(patch: Patch) -> None:
    def renew(original: Any) -> Any:
        def go_on(self: questions.Questions, names: Any, now: int) -> Any:
            for run in self.runs.values():
                if self._lists.current is not None and run.round == 0:
                    run.members = self._lists.current.ids
            return original(self, names, now)

        return go_on

    _wrap(patch, questions.Questions, "go_on", renew)


@_defect("the result of another question is signed", "other sums than the plain")
def sign_another(patch: Patch) -> None:
    signed: dict[str, bytes] = {}

    def say(original: Any) -> Any:
        def sign(self: Desk, unsigned: Any, *more: Any) -> Any:
            if isinstance(unsigned, Statement):
                public = signed.setdefault(self.me, unsigned.public)
                unsigned = Statement(
                    member=self.me,
                    question=unsigned.question,
                    attempt=unsigned.attempt,
                    transcript=unsigned.transcript,
                    public=public,
                )
            return original(self, unsigned, *more)

        return sign

    _wrap(patch, Desk, "say", say)


@_defect("a member that joins is counted before it has signed", "not all have signed")
def count_early(patch: Patch) -> None:
    def exists(self: Lists, digest: bytes) -> bool:
        known = self.known.get(digest)
        before = None if known is None else self.known.get(known.parent)
        if known is None or before is None:
            return known is not None and self.signers(digest) == set(known.ids)
        return self.signers(digest) >= set(known.ids) & set(before.ids)

    patch.setattr(Lists, "exists", exists)


@_defect("words are shown before all have echoed", "before all have echoed")
def show_early(patch: Patch) -> None:
    def echoes(self: Standing) -> Any:
        own = self.said("echo", self._me, self.round)
        return self._digests() if own else {}

    patch.setattr(Standing, "_echoes", echoes)


@_defect("the key is kept after its digest", "keeps a key")
def keep_keys(patch: Patch) -> None:
    def save(original: Any) -> Any:
        def without_erasing(
            self: Desk, records: Any = (), secrets: Any = None, notes: Any = None
        ) -> Any:
            kept = {name: one for name, one in (secrets or {}).items() if one is not None}
            return original(self, records, kept, notes)

        return without_erasing

    _wrap(patch, Desk, "save", save)


@_defect("the chain is not advanced", "keeps a key")
def stand_still(patch: Patch) -> None:
    patch.setattr(ratchet, "advance", lambda chains, round_: chains)


@_defect("differences are not looked at", "sums tell what")
def skip_differences(patch: Patch) -> None:
    patch.setattr(releases.Releases, "_find_difference", lambda self, run: "")
    patch.setattr(
        releases.Releases, "choose_pieces", lambda self, name, question, offer: offer.pieces
    )


@_defect("pieces without rows are counted", "sums tell what")
def count_zeros(patch: Patch) -> None:
    def all_of(yeses: Any) -> Any:
        return frozenset((yes.member, piece.batch) for yes in yeses for piece in yes.pieces)

    patch.setattr(releases, "pieces_of", all_of)
    patch.setattr(
        releases.Releases, "choose_pieces", lambda self, name, question, offer: offer.pieces
    )


@_defect("an ending counts beside an echo of its member", "does not know the liar")
def honor_endings(patch: Patch) -> None:
    def lie(self: Standing) -> tuple[str, str] | None:
        liars = self._desk.store.liars(self.name)
        return next(((who, kind) for who, kind in liars.items() if kind != "yes"), None)

    patch.setattr(Standing, "lie", property(lie))
    patch.setattr(Standing, "is_committed", property(lambda self: False))
    patch.setattr(Standing, "_counts", lambda self, ending: True)


@_defect("an echo names no digests", "as if they were the same")
def echo_anything(patch: Patch) -> None:
    constant = hashlib.sha256(b"any").digest()
    patch.setattr(standing, "digest_all", lambda digests: constant)
    patch.setattr(
        Run,
        "_echo",
        lambda self, digests: self._desk.say(
            Echo(member=self._me, question=self.name, round=self.round, digests=constant)
        ),
    )


@_defect("a digest is shown before its words are saved", "that it has not saved")
def save_late(patch: Patch) -> None:
    def say(original: Any) -> Any:
        def without_words(
            self: Desk, unsigned: Any, secrets: Any = None, hidden: Any = None
        ) -> Any:
            actions = original(self, unsigned, secrets, hidden)
            if hidden is None:
                return actions
            save, *sent = actions
            words, digest = save.records
            return [save._replace(records=(digest,)), *sent, save._replace(records=(words,))]

        return without_words

    _wrap(patch, Desk, "say", say)


@_defect("words are shown that are not in the record of disclosures", "record of disclosures")
def show_unrecorded(patch: Patch) -> None:
    patch.setattr(PlantedSite, "note_disclosure", lambda self, name, round_, words: None)


@_defect("a record is sent before it is saved", "it has not saved")
def send_early(patch: Patch) -> None:
    def say(original: Any) -> Any:
        def reordered(self: Desk, *said: Any) -> Any:
            save, *sent = original(self, *said)
            return [*sent, save]

        return reordered

    _wrap(patch, Desk, "say", say)


@_defect("a question is repeated over other rows", "releases batch|sums tell what")
def repeat_afresh(patch: Patch) -> None:
    def all_batches(self: PlantedSite, name: bytes, column: str, repeats: bytes | None) -> Any:
        return tuple(Piece(batch, 100) for batch in range(1, self.folder.batches + 1))

    patch.setattr(PlantedSite, "_eligible", all_batches)
    patch.setattr(releases.Releases, "_find_repeated", lambda self, run: "")
    patch.setattr(releases.Releases, "_find_difference", lambda self, run: "")
    patch.setattr(
        releases.Releases, "choose_pieces", lambda self, name, question, offer: offer.pieces
    )


@_defect("a table is read that is not finished", "other sums than the plain")
def read_unfinished(patch: Patch) -> None:
    def make(original: Any) -> Any:
        def make_program(self: PlantedSite, name: bytes, question: Any, yeses: Any) -> SumsProgram:
            for read in question.reads:
                self.folder.results.setdefault(read, [(0, 0)])
            return original(self, name, question, yeses)

        return make_program

    _wrap(patch, PlantedSite, "make_program", make)


@_defect("two successors of one list are signed", "may both come to exist")
def sign_twice(patch: Patch) -> None:
    def head(self: Lists) -> bytes:
        return bytes(32) if self.current is None else self.current.digest

    def may_sign(self: Lists, new: Any) -> bool:
        is_new = self.card.id not in self.signers(new.digest) and self.card.id in new.ids
        return is_new and self._is_decided(new, self.known.get(new.parent))

    patch.setattr(Lists, "head", property(head))
    patch.setattr(Lists, "_may_sign", may_sign)
    patch.setattr(Lists, "_must_give_up", lambda self, new: False)


@_defect("one list evicts two members", "evicts two members")
def evict_two(patch: Patch) -> None:
    def evict(self: Lists, member: str) -> Any:
        self.evicted.add(member)
        is_both = len(self.evicted) > 1
        return self._sign_new(lambda one: one.id not in self.evicted) if is_both else []

    patch.setattr(Lists, "evict", evict)
    patch.setattr(Lists, "_is_decided", lambda self, new, parent: True)


@_defect("a restored member contradicts what it has said", "says two things")
def contradict(patch: Patch) -> None:
    def go_on(original: Any) -> Any:
        def surely(self: questions.Questions, names: Any, now: int) -> Any:
            self.unsure.clear()
            return original(self, names, now)

        return surely

    _wrap(patch, questions.Questions, "go_on", go_on)


@_defect("a restored member forgets what it has released", "has forgotten what it has released")
def forget_releases(patch: Patch) -> None:
    patch.setattr(releases.Releases, "hinder", lambda self, run: "")


@_defect("of two questions for one column neither goes first", "never end")
def wait_for_each_other(patch: Patch) -> None:
    patch.setattr(questions.Questions, "_give_way", lambda self, run, rival: [])


@_defect("a proof of a lie ends nothing", "words are shown to a liar|not ended|know the liar")
def ignore_lies(patch: Patch) -> None:
    patch.setattr(Standing, "lie", property(lambda self: None))
