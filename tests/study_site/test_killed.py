"""A site that is killed at any point of a question continues as if it had not been."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from pairgossip import files
from pairgossip.study.protocol.records import (
    NO_DIGEST,
    Question,
    Statement,
    Words,
    Yes,
    decode,
    digest_of,
    encode,
)
from pairgossip.study.protocol.site import Kept, Save
from pairgossip.study.rows.exchanging import _read_seen
from pairgossip.study.site.member_site import MemberSite
from pairgossip.study.storage import disclosures as records
from pairgossip.study.storage import journal as journals
from pairgossip.study.storage import writing
from pairgossip.study.storage.disclosures import Disclosures
from pairgossip.study.storage.folder import StudyHome
from pairgossip.study.storage.journal import StudyJournal
from tests.study_site.consortium import AUC, Consortium, draw_rows


class Killed(BaseException):
    """The process is killed here."""


class Mortal:
    """Calls that change the disk, at one of which the process is killed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 0
        for place, name in (
            *((journals, "_put_note"), (StudyJournal, "_write_record"), (StudyJournal, "_write")),
            *((Disclosures, "_write"), (records, "sync_descriptor")),
            *((files, "replace"), (writing, "sync"), (StudyJournal, "save")),
        ):
            monkeypatch.setattr(place, name, self._wrap(getattr(place, name)))

    def _wrap(self, function: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise Killed
            return function(*given, **named)

        return call


class Lone:
    """One site, led through a question by its journal, as the protocol does."""

    def __init__(self, made: Consortium, folder: Path, question: Question, total: Any) -> None:
        self.made, self.question, self.total = made, question, total
        self.home, self.me = StudyHome(folder), made.ids[0]
        self.name = digest_of(question)
        self.sent: dict[str, bytes] = {}
        """What has left this site, by kind: it must never be sent with other contents."""

    def open(self) -> None:
        identity = self.made.identities[0]
        self.journal = StudyJournal(self.home.database, self.home.secrets, power_safe=False)
        self.site = MemberSite(self.home, identity, self.journal)

    def send(self, kind: str, content: bytes) -> None:
        assert self.sent.setdefault(kind, content) == content

    def find(self, kind: type) -> Any:
        held = [decode(one) for one in self.journal.records_of(self.name)]
        own = [one for one in held if isinstance(one, kind) and one.member == self.me]
        return own[0] if own else None

    def run(self, yeses: dict[str, Yes], others: list[Statement]) -> None:
        self.open()
        name, question = self.name, self.question
        self.journal.save(Save((Kept(encode(question)),)))
        if (yes := self.find(Yes)) is None:
            offer = self.site.offer(name, question)
            yes = msgspec.structs.replace(
                yeses[self.me], pieces=offer.pieces, disclosure=offer.disclosure
            )
            self.journal.save(Save((Kept(encode(yes)),)))
        self.send("yes", encode(yes))
        program = self.site.make_program(name, question, yeses | {self.me: yes})
        ask = program.ask()
        assert ask is not None
        if (words := self.find(Words)) is None:
            content = program.contribute(ask).tobytes()
            words = Words(member=self.me, question=name, round=1, words=content)
            self.journal.save(Save((Kept(encode(words), is_shown=False),)))
        shown = self.journal.load().records
        if Kept(encode(words)) not in shown and not self.journal.archived(name):
            self.site.note_disclosure(name, 1, words.words)
            self.journal.save(Save((Kept(encode(words)),)))
        self.send("words", encode(words))
        entries = Disclosures(self.home.disclosures).entries()
        assert [one.event for one in entries[:2]] == ["accepted", "shown"]
        own = np.frombuffer(words.words, "<u8")
        program.take(ask, self.total + own)
        self.finish(program, others)

    def finish(self, program: Any, others: list[Statement]) -> None:
        stated = program.ask()
        statement = Statement(
            member=self.me,
            question=self.name,
            attempt=0,
            transcript=NO_DIGEST,
            public=stated.public,
        )
        if self.find(Statement) is None:
            self.journal.save(Save((Kept(encode(statement)),)))
        self.send("statement", encode(statement))
        self.journal.save(Save(tuple(Kept(encode(one)) for one in others)))
        if not self.journal.archived(self.name):
            self.site.finish(self.name, self.question, NO_DIGEST)
            self.journal.save(Save(archived=self.name))
        self.site.keep_signed()
        self.journal.flush()


def test_a_site_that_is_killed_at_any_point_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    question = made.question(AUC.replace("[ranges]", "algorithm.bins = 16\n[ranges]"))
    made.close()
    whole = tmp_path / "site-0"
    shutil.copytree(whole, tmp_path / "fresh")
    made.open()
    yeses = made.accept(question)
    programs = made.programs(question, yeses)
    ask = next(iter(programs.values())).ask()
    assert ask is not None
    contributed = [programs[one].contribute(ask) for one in made.ids[1:]]
    total = np.sum(contributed, axis=0, dtype=np.uint64)
    made.close()
    mortal = Mortal(monkeypatch)
    for at in range(1, 200):
        folder = tmp_path / f"killed-{at}"
        shutil.copytree(tmp_path / "fresh", folder)
        register = tmp_path / "rows-0.csv.releases"
        lone, mortal.left = Lone(made, folder, question, total), at
        try:
            lone.run(yeses, [])
        except Killed:
            lone.journal.close()
            mortal.left = 0
            lone.run(yeses, [])
        else:
            break
        finally:
            register.unlink(missing_ok=True)
        events = [one.event for one in Disclosures(folder / "disclosures.jsonl").entries()]
        assert events == ["accepted", "shown", "answered"]
        entry = lone.site.offers.get(digest_of(question))
        assert entry is not None and entry.state == "answered"
        answer = lone.site.answers.get(digest_of(question))
        assert answer is not None and lone.site.answers.read(answer)
        lone.journal.close()
    assert 25 < at < 199


@pytest.mark.parametrize("content", [b"", b'{"masses":', None])
def test_facts_about_the_way_that_a_loss_of_power_has_torn_are_forgotten(
    tmp_path: Path, content: bytes | None
) -> None:
    """They are not on the disk at once: the exchange goes on without them."""
    if content is not None:
        (tmp_path / "seen.json").write_bytes(content)
    assert _read_seen(tmp_path) is None
