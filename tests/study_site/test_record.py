"""The record of disclosures: chained, and on the disk before the disclosure."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import digest_of
from pairgossip.study.protocol.site import Save
from pairgossip.study.storage.disclosures import Disclosures
from pairgossip.study.storage.journal import StudyJournal
from tests.study_site.consortium import AUC, Consortium, draw_rows


def open_journal(folder: Path) -> StudyJournal:
    return StudyJournal(folder / "study.sqlite", folder / "secrets", power_safe=False)


def begin(folder: Path) -> tuple[StudyJournal, Disclosures]:
    journal = open_journal(folder)
    return journal, Disclosures(folder / "disclosures.jsonl", journal)


def test_lines_are_written_once_the_journal_is_saved(tmp_path: Path) -> None:
    journal, record = begin(tmp_path)
    record.add("accepted", b"q", text="which")
    assert not record.path.exists() and len(record) == 1
    journal.save(Save())
    record.add("shown", b"q", round=1)
    record.add("answered", b"q")
    journal.save(Save())
    written = Disclosures(record.path)
    assert [one.event for one in written.entries()] == ["accepted", "shown", "answered"]
    assert written.verify(journal) == 3 and written.entries()[0].about == {"text": "which"}
    journal.close()


@pytest.mark.parametrize("line", [0, 1, 2, 3])
def test_a_changed_line_is_found(tmp_path: Path, line: int) -> None:
    journal, record = begin(tmp_path)
    for at in range(4):
        record.add("shown", b"q", round=at)
    journal.flush()
    lines = record.path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b'"round":', b'"rOund":')
    record.path.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=rf"changed in line {line + 1}\b"):
        Disclosures(record.path).verify(journal)
    journal.close()


def test_a_line_taken_out_or_cut_off_is_found(tmp_path: Path) -> None:
    journal, record = begin(tmp_path)
    for at in range(4):
        record.add("shown", b"q", round=at)
        journal.flush()
    journal.close()
    lines = record.path.read_bytes().splitlines(keepends=True)
    record.path.write_bytes(b"".join([*lines[:1], *lines[2:]]))
    journal = open_journal(tmp_path)
    with pytest.raises(InputError, match="changed in line 1"):
        Disclosures(record.path).verify(journal)
    for kept in (1, 3):
        record.path.write_bytes(b"".join(lines[:kept]))
        with pytest.raises(InputError, match=f"has {kept} lines?, and 4 were written"):
            Disclosures(record.path).verify(journal)
    record.path.write_bytes(lines[0])
    with pytest.raises(InputError, match="has 1 line, and 4 were written"):
        Disclosures(record.path, journal)
    journal.close()


@pytest.mark.parametrize("kept", [0, 1, 40, -1])
def test_what_a_loss_of_power_leaves_of_the_file_is_completed(tmp_path: Path, kept: int) -> None:
    journal, record = begin(tmp_path)
    record.add("accepted", b"q")
    journal.flush()
    before = record.path.read_bytes()
    record.add("shown", b"q", round=1)
    record.add("shown", b"q", round=2)
    journal.flush()
    whole = record.path.read_bytes()
    journal.close()
    new = whole[len(before) :]
    record.path.write_bytes(before + new[: len(new) + kept if kept < 0 else kept])
    journal, record = begin(tmp_path)
    assert record.path.read_bytes() == whole
    record.add("answered", b"q")
    journal.flush()
    assert Disclosures(record.path).verify(journal) == 4
    journal.close()


def test_the_end_of_the_file_is_known_however_often_a_peer_was_started(tmp_path: Path) -> None:
    for at in range(4):
        journal, record = begin(tmp_path)
        record.add("shown", b"q", round=at)
        journal.flush()
        assert len(journal.notes("record")) <= 2  # the last line, and one that the next save erases
        journal.close()
    lines = record.path.read_bytes().splitlines(keepends=True)
    record.path.write_bytes(b"".join(lines[:1]))
    journal = open_journal(tmp_path)
    with pytest.raises(InputError, match="has 1 line, and 4 were written"):
        Disclosures(record.path, journal)
    journal.close()


def test_a_question_is_told_from_its_yes_to_its_answer(tmp_path: Path) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    question, _ = made.answer(AUC)
    for one, site in made.sites.items():
        accepted, shown, answered = Disclosures(site.home.disclosures).entries()
        assert {line.question for line in (accepted, shown, answered)} == {
            digest_of(question).hex()
        }
        assert accepted.about["text"] == question.text
        assert accepted.about["list"] == question.list.hex()
        assert accepted.about["by"] == ("asker" if one == question.member else "operator")
        assert accepted.about["pieces"] == [[1, 140]]
        assert any("140 rows" in said for said in accepted.about["words"])
        assert any("accept N --visible" in said for said in accepted.about["words"])
        assert shown.about["round"] == 1
        assert len(shown.about["words"]) == len(answered.about["table"]) == 64
    events = [
        Disclosures(site.home.disclosures).entries()[1].about["words"]
        for site in made.sites.values()
    ]
    assert len(set(events)) == 4
    made.close()


def test_an_ending_before_and_after_words_is_told_apart(tmp_path: Path) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    first = made.question(AUC)
    made.accept(first)
    for site in made.sites.values():
        site.give_up(digest_of(first), "no", is_disclosed=False)
    site = made.sites[made.ids[0]]
    second = made.question(AUC)
    made.accept(second)
    site.note_disclosure(digest_of(second), 1, b"words")
    site.note_disclosure(digest_of(second), 1, b"words")  # once more after a crash
    site.give_up(digest_of(second), "gone", is_disclosed=True)
    site.journal.flush()
    told = [(one.event, one.about.get("is_disclosed")) for one in site.record.entries()]
    assert told == [
        *(("accepted", None), ("not answered", False)),
        *(("accepted", None), ("shown", None), ("not answered", True)),
    ]
    made.close()


def test_words_that_a_restored_folder_does_not_know_are_written_down_once(tmp_path: Path) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(3)])
    question, site = made.question(AUC), made.sites[made.ids[0]]
    made.save(question)
    for _ in range(2):
        site.note_disclosure(digest_of(question), 1, b"words")
        site.journal.flush()
    (shown,) = site.record.entries()
    assert (shown.event, shown.about["is_forgotten"]) == ("shown", True)
    made.close()
