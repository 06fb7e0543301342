"""Sites of a study in one process, whose words are added up without masks or network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.protocol.program import Kind
from pairgossip.peer.signed_report import add_report
from pairgossip.peer.signed_result import SignedResult
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.study.protocol.records import (
    NO_DIGEST,
    AnyRecord,
    Assent,
    Card,
    MemberList,
    Question,
    Statement,
    Yes,
    digest_of,
    encode,
    payload_of,
)
from pairgossip.study.protocol.site import Kept, Save
from pairgossip.study.site.member_site import MemberSite
from pairgossip.study.storage.folder import create_study
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.study.storage.signed import read_answer

AUC = """
kernel = "auc"
columns = ["risk"]
label = "died"
[ranges]
risk = [0, 1]
died = [0, 1]
"""


def canonical(text: str) -> str:
    """Return the canonical text of a specification."""
    return parse_spec(text).text


def draw_rows(seed: int, count: int) -> dict[str, np.ndarray]:
    """Draw rows of a score that predicts a class, with another score, a group and an id."""
    chance = np.random.default_rng(seed)
    died = (chance.random(count) < 0.3).astype(int)
    risk = 1 / (1 + np.exp(-(chance.normal(size=count) + 1.2 * died - 0.8)))
    age = np.clip(chance.normal(60, 12, count) + 4 * died, 0, 120).round(2)
    sex = np.where(chance.random(count) < 0.5, "f", "m")
    ids = [f"{seed}-{at}" for at in range(count)]
    return {"id": np.array(ids), "risk": risk.round(6), "age": age, "sex": sex, "died": died}


def write_rows(path: Path, rows: Mapping[str, np.ndarray]) -> Path:
    """Write columns as CSV."""
    lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def join_rows(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Concatenate the rows of several sites."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@dataclass
class Consortium:
    """Sites with their rows."""

    folder: Path
    rows: list[dict[str, np.ndarray]]
    settings: dict[str, Any] = field(default_factory=dict)
    own: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Settings of single sites."""

    def __post_init__(self) -> None:
        self.homes = []
        for at, rows in enumerate(self.rows):
            source = write_rows(self.folder / f"rows-{at}.csv", rows)
            given = {"rehearsal": True} | self.settings | self.own.get(at, {})
            home = create_study(self.folder / f"site-{at}", f"site-{at}", source, **given)
            self.homes.append(home)
        self.identities = [load_identity(home.folder) for home in self.homes]
        self.cards = {
            one.id: Card(one.id, one.name, one.certificate, None) for one in self.identities
        }
        members = tuple(self.cards[one] for one in sorted(self.cards))
        self.list = MemberList(NO_DIGEST, members)
        self.sites: dict[str, MemberSite] = {}
        self.numbers = 0
        self.open()
        for one in self.identities:
            self.save(self._sign(one.id, Assent(member=one.id, list=self.list)))

    def open(self) -> None:
        """Start all sites, or start them again."""
        self.close()
        for home, one in zip(self.homes, self.identities, strict=True):
            journal = StudyJournal(home.database, home.secrets, power_safe=False)
            self.sites[one.id] = MemberSite(home, one, journal)

    def close(self) -> None:
        for site in self.sites.values():
            site.journal.close()

    @property
    def ids(self) -> list[str]:
        """Return the ids in the order of the sites' rows."""
        return [one.id for one in self.identities]

    def _sign(self, member: str, record: AnyRecord) -> AnyRecord:
        signed = self.identities[self.ids.index(member)].sign(payload_of(record))
        return msgspec.structs.replace(record, signature=signed)

    def save(self, *records: AnyRecord) -> None:
        for site in self.sites.values():
            site.journal.save(Save(tuple(Kept(encode(one)) for one in records)))

    def question(self, text: str, asker: int = 0, **more: Any) -> Question:
        self.numbers += 1
        question = Question(
            member=self.ids[asker],
            list=self.list.digest,
            number=self.numbers,
            text=canonical(text),
            expires=0,
            **more,
        )
        signed = self._sign(question.member, question)
        assert isinstance(signed, Question)
        return signed

    def accept(self, question: Question) -> dict[str, Yes]:
        """Let all say yes."""
        name, yeses = digest_of(question), {}
        self.save(question)
        for one, site in self.sites.items():
            verdict = site.judge(name, question)
            assert verdict.answer in ("yes", "ask"), verdict
            offer = site.offer(name, question)
            yes = Yes(
                member=one,
                question=name,
                list=question.list,
                disclosure=offer.disclosure,
                commitment=offer.commitment,
                pieces=offer.pieces,
                key=bytes(32),
                card=offer.card,
            )
            site.journal.save(Save((Kept(encode(yes)),)))
            yeses[one] = yes
        return yeses

    def programs(self, question: Question, yeses: Mapping[str, Yes]) -> dict[str, Any]:
        name = digest_of(question)
        ordered = {one: yeses[one] for one in sorted(yeses)}
        return {one: site.make_program(name, question, ordered) for one, site in self.sites.items()}

    def contribute(self, question: Question, programs: Mapping[str, Any]) -> None:
        """Carry out the rounds of sums."""
        name, round_ = digest_of(question), 0
        while True:
            asks = {one: program.ask() for one, program in programs.items()}
            assert len(set(asks.values())) == 1
            ask = next(iter(asks.values()))
            if ask is None or ask.kind is not Kind.SUM:
                return
            round_ += 1
            total = np.zeros(ask.words, dtype=np.uint64)
            for one, program in programs.items():
                words = program.contribute(ask)
                assert len(words) == ask.words
                self.sites[one].journal.flush()
                self.sites[one].note_disclosure(name, round_, words.tobytes())
                self.sites[one].journal.flush()
                total += words
            for program in programs.values():
                program.take(ask, total)

    def sign(self, question: Question, programs: Mapping[str, Any]) -> None:
        """Let all sites sign the result, and save it."""
        name = digest_of(question)
        transcript = name if not question.adds else bytes(range(32))
        statements = []
        for one, program in programs.items():
            ask = program.ask()
            assert ask is not None and ask.kind is Kind.STATEMENT
            stated = Statement(
                member=one, question=name, attempt=0, transcript=transcript, public=ask.public
            )
            statements.append(self._sign(one, stated))
        for site in self.sites.values():
            site.finish(name, question, transcript)
        self.save(*statements)
        for site in self.sites.values():
            site.keep_signed()

    def read_with_table(self, name: bytes) -> SignedResult:
        """Return the signed result of a question at the first site, with its report."""
        home = self.homes[0]
        table = (home.tables / f"{name.hex()}.table").read_bytes()
        return add_report(read_answer(home, name), table)

    def answer(self, text: str, **more: Any) -> tuple[Question, dict[str, Any]]:
        """Ask, and let all answer."""
        question = self.question(text, **more)
        yeses = self.accept(question) if question.adds else {}
        if not question.adds:
            self.save(question)
        programs = self.programs(question, yeses)
        self.contribute(question, programs)
        self.sign(question, programs)
        return question, programs
