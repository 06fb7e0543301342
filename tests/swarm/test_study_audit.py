"""The audit of a study finds what was planted, and nothing else."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

from pairgossip.peer.identity.identity import load_identity
from pairgossip.study.protocol.records import Question, Yes, decode, digest_of, encode, payload_of
from pairgossip.study.storage.disclosures import Disclosures
from pairgossip.study.storage.folder import StudyHome
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.swarm.row_search import RowSearch
from pairgossip.swarm.running import SwarmOptions, run_swarm
from pairgossip.swarm.study_audit import StudyAudit, audit_study

from .brisk import use_brisk_peers
from .plans import AUC, GINI, study_plan


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run four members that answer three questions, one of them from a table, and stop."""
    above = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        use_brisk_peers(patch)
        options = SwarmOptions(seconds=200.0, power_safe=False)
        plan = study_plan(above, AUC, AUC, GINI)
        report = run_swarm(plan, above / "swarm", options, lambda *_: None)
    assert report.is_sound, (report.books.violations, report.failures)
    return above / "swarm"


@pytest.fixture
def homes(made: Path, tmp_path: Path) -> list[StudyHome]:
    """Return copies of the members, to be damaged."""
    copy = Path(shutil.copytree(made, tmp_path / "copy"))
    homes = [StudyHome(copy / f"peer-{k:02d}") for k in range(1, 5)]
    for home in homes:
        home.peer.write_text(home.peer.read_text().replace(str(made), str(copy)))
    return homes


def audit(homes: list[StudyHome]) -> StudyAudit:
    return audit_study(homes, [home.folder.with_suffix(".log") for home in homes])


def result_of(home: StudyHome, title: str = "auc") -> Path:
    """Return the file of the answer that has added rows."""
    every = [(path, json.loads(path.read_text())["result"]) for path in home.results.iterdir()]
    return next(path for path, it in every if it["question"].startswith(title) and it["rounds"])


def test_honest_members_pass(homes: list[StudyHome]) -> None:
    found = audit(homes)
    assert found.violations == () and found.is_sound
    assert [one.adding for one in found.answers] == [4, 4, 4]
    assert len({one.result.value for one in found.answers}) == 2, "one was read from a table"
    assert found.disclosures == 4 * 7 and found.searched > 300
    assert len(found.errors(None)) == found.due == 3 and max(found.errors(None)) < 0.2


def alter_value(homes: list[StudyHome]) -> None:
    file = result_of(homes[1])
    file.write_text(file.read_text().replace('"rows": 160', '"rows": 161'))


def remove_result(homes: list[StudyHome]) -> None:
    result_of(homes[2]).unlink()


def alter_table(homes: list[StudyHome]) -> None:
    table = next(homes[0].tables.iterdir())
    table.write_bytes(table.read_bytes()[:-1] + b"\x07")


def change_row(homes: list[StudyHome]) -> None:
    source = homes[3].folder.with_suffix(".csv")
    lines = source.read_text().splitlines()
    source.write_text("\n".join([lines[0], lines[2], *lines[2:], ""]))


def remove_line(homes: list[StudyHome]) -> None:
    record = homes[0].disclosures
    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join([*lines[:2], *lines[3:]]))


def remove_last_line(homes: list[StudyHome]) -> None:
    record = homes[0].disclosures
    record.write_bytes(b"".join(record.read_bytes().splitlines(keepends=True)[:-1]))


def forge_record(homes: list[StudyHome]) -> None:
    """Rewrite the record without its first line, chained as if that had never existed."""
    entries, head, lines = Disclosures(homes[0].disclosures).entries()[1:], bytes(32).hex(), []
    for entry in entries:
        lines.append(
            msgspec.json.encode(msgspec.structs.replace(entry, before=head), order="sorted")
        )
        head = hashlib.sha256(lines[-1]).hexdigest()
    homes[0].disclosures.write_bytes(b"\n".join([*lines, b""]))


def show_twice(homes: list[StudyHome]) -> None:
    """Add a line as if a member had shown its words again."""
    home = homes[1]
    journal = StudyJournal(home.database, home.secrets)
    record = Disclosures(home.disclosures, journal)
    shown = next(one for one in record.entries() if one.event == "shown")
    record.add("shown", bytes.fromhex(shown.question), **shown.about)
    journal.flush()
    journal.close()


def keep_key(homes: list[StudyHome]) -> None:
    (homes[2].secrets / "0a.secret").write_bytes(bytes(32))


def use_key_twice(homes: list[StudyHome]) -> None:
    """Make a member's yeses to two questions use the same key, with valid signatures."""
    home = homes[0]
    identity = load_identity(home.folder)
    journal = StudyJournal(home.database, home.secrets)
    records = [
        record
        for name in journal.numbers.values()
        for record in map(decode, journal.records_of(name))
        if isinstance(record, Yes) and record.member == identity.id
    ]
    journal.close()
    first, second = records
    forged = msgspec.structs.replace(second, key=first.key)
    forged = msgspec.structs.replace(forged, signature=identity.sign(payload_of(forged)))
    for one in homes:
        with closing(sqlite3.connect(one.database)) as base, base:
            base.execute(
                "UPDATE records SET digest = ?, content = ? WHERE digest = ?",
                (digest_of(forged), encode(forged), digest_of(second)),
            )


def forge_yes(homes: list[StudyHome]) -> None:
    """Replace a yes, at all members, by one over other rows than its member has signed."""
    with closing(sqlite3.connect(homes[0].database)) as base, base:
        rows = base.execute("SELECT digest, content FROM records").fetchall()
    digest, yes = next(
        (digest, record)
        for digest, record in ((digest, decode(content)) for digest, content in rows)
        if isinstance(record, Yes)
    )
    pieces = tuple(piece._replace(rows=0) for piece in yes.pieces)
    forged = msgspec.structs.replace(yes, pieces=pieces)
    for one in homes:
        with closing(sqlite3.connect(one.database)) as base, base:
            base.execute(
                "UPDATE records SET digest = ?, content = ? WHERE digest = ?",
                (digest_of(forged), encode(forged), digest),
            )


def damage_note(homes: list[StudyHome]) -> None:
    with closing(sqlite3.connect(homes[3].database)) as base, base:
        base.execute("UPDATE notes SET content = x'00' WHERE room = 'batches'")


def forget_questions(homes: list[StudyHome]) -> None:
    for one in homes:
        with closing(sqlite3.connect(one.database)) as base, base:
            rows = base.execute("SELECT digest, content FROM records").fetchall()
            asked = [(digest,) for digest, it in rows if isinstance(decode(it), Question)]
            base.executemany("DELETE FROM records WHERE digest = ?", asked)


def damage_records(homes: list[StudyHome]) -> None:
    with closing(sqlite3.connect(homes[2].database)) as base, base:
        base.execute("UPDATE records SET content = x'00'")


def damage_status(homes: list[StudyHome]) -> None:
    """Damage the status, which the audit reads only if a key is left over."""
    keep_key(homes)
    (homes[2].folder / "questions").mkdir(exist_ok=True)
    (homes[2].folder / "questions" / "1.json").write_text("{")


def sign_otherwise(homes: list[StudyHome]) -> None:
    file = result_of(homes[0])
    content = json.loads(file.read_text())
    one, other = list(content["signatures"])[:2]
    content["signatures"][one]["signature"] = content["signatures"][other]["signature"]
    file.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("plant", "sentence"),
    [
        (alter_value, "was altered"),
        (remove_result, "peer-03 has no answer to 'auc of risk by died', which others have."),
        (alter_table, "at peer-01 is not the one signed."),
        (change_row, "The source of this site's batch 1 is not what it was"),
        (remove_line, "disclosures.jsonl was changed in line 2"),
        (remove_last_line, "disclosures.jsonl has 6 lines, and 7 were written"),
        (forge_record, "disclosures.jsonl has 6 lines, and 7 were written"),
        (show_twice, "peer-02 has shown its words for question "),
        (keep_key, "peer-03 keeps 1 key of questions that are over."),
        (use_key_twice, "has served for two questions."),
        (forge_yes, "A yes is not signed by its member"),
        (damage_note, "study.sqlite is damaged"),
        (damage_records, "A record that peer-03 keeps is damaged."),
        (damage_status, "1.json is not a question's status: remove it."),
        (forget_questions, "No member that has answered it keeps the question itself."),
        (sign_otherwise, "is not of this result"),
    ],
)
def test_what_is_planted_is_found(
    homes: list[StudyHome], plant: Callable[[list[StudyHome]], None], sentence: str
) -> None:
    plant(homes)
    found = audit(homes)
    assert any(sentence in one for one in found.violations), found.violations
    assert not found.is_sound


def planted(homes: list[StudyHome]) -> float:
    """Return a value of a row of the first member."""
    return float(homes[0].folder.with_suffix(".csv").read_text().splitlines()[1].split(",")[1])


@pytest.mark.parametrize("way", ["text", "little end first", "big end first", "log"])
def test_a_row_in_another_folder_is_found(homes: list[StudyHome], way: str) -> None:
    value = planted(homes)
    content = {
        "text": f'{{"note": {value}}}'.encode(),
        "little end first": b"abc" + struct.pack("<d", value),
        "big end first": b"abcde" + struct.pack(">d", value) + b"f",
        "log": f"rows: -1, {value}\n".encode(),
    }[way]
    file = homes[2].folder.with_suffix(".log") if way == "log" else homes[2].folder / "note"
    file.write_bytes(content)
    assert audit(homes).violations == ("The files of peer-03 hold a value of a row of peer-01.",)


def test_what_was_to_happen_and_has_not_is_told(homes: list[StudyHome]) -> None:
    assert audit_study(homes, (), ["Question 9 has no answer."]).violations == (
        "Question 9 has no answer.",
    )


def test_values_that_prove_nothing_are_left_out(tmp_path: Path) -> None:
    ann = np.array([1.0, 0.25, 123456.0, 0.123456789, 0.987654321, -7.7654321])[:, None]
    search = RowSearch({"ann": ann, "bob": np.array([[0.123456789], [2.0]])}, public=[0.987654321])
    assert search.count == 1, "shared, public, short and whole ones are not looked for"
    file = tmp_path / "file"
    file.write_text("0.123456789, 0.987654321, 123456.0, 0.25")
    assert search.find("bob", [file]) == []
    file.write_text("from -7.7654321 to 3")
    assert search.find("bob", [file]) == ["The files of bob hold a value of a row of ann."]
    assert search.find("ann", [file]) == []
