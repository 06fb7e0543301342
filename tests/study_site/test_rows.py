"""A site's rows: frozen, read again, identified by its own names, and released once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.files import parse_toml
from pairgossip.peer.bookkeeping.registers import Release, hold_registers
from pairgossip.peer.identity.identity import load_identity
from pairgossip.study.protocol.records import Assent, MemberList, Piece, digest_of, encode
from pairgossip.study.protocol.site import Kept, Save
from pairgossip.study.site.member_site import MemberSite
from pairgossip.study.site.words import digest_words
from pairgossip.study.storage.folder import StudyHome, create_study, is_study, open_study
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.study.storage.settings import Policy
from pairgossip.study.storage.signed import read_answer
from pairgossip.study.storage.snapshots import find_unheeded
from tests.study_site.consortium import (
    AUC,
    Consortium,
    draw_rows,
    join_rows,
    write_rows,
)
from tests.study_site.test_answers import MODEL, find_model, kept_table, plain_table


def told_of(made: Consortium) -> list[Release]:
    """Return the releases in the first site's register."""
    place = made.folder / "rows-0.csv.releases"
    with hold_registers([place]) as registers:
        return list(registers[place].releases)


def site_of(home: StudyHome, members: MemberList | None = None) -> MemberSite:
    """Open a site, which knows a list of members where one is given."""
    site = MemberSite(home, load_identity(home.folder), StudyJournal(home.database, home.secrets))
    if members is not None:
        known = encode(Assent(member=members.ids[0], list=members))
        site.journal.save(Save((Kept(known),)))
    return site


def test_a_folder_is_made_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "rows.csv", draw_rows(1, 100))
    home = create_study(tmp_path / "a", "a", source, rehearsal=True, policy={"least_cell": 5})
    assert is_study(home.folder) and home.folder.stat().st_mode & 0o777 == 0o700
    assert open_study(home.folder).read_settings().policy.least_cell == 5
    assert home.read_settings().source == str(source)
    (batch,) = site_of(home).batches
    assert (batch.number, batch.rows, batch.rounded_rows) == (1, 100, 100)
    assert not any(source.read_bytes()[:50] in one.read_bytes() for one in home.folder.glob("*.*"))
    with pytest.raises(InputError, match="exists already"):
        create_study(tmp_path / "a", "a", source)
    home.folder.chmod(0o755)
    with pytest.raises(InputError, match="Others can enter"):
        open_study(home.folder)
    with pytest.raises(InputError, match="not the folder of a member of a study"):
        open_study(tmp_path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policy": {"least_rows": 101}}, "100 complete rows"),
        ({"declared": ["risk", "none"]}, "none"),
        ({"policy": {"leest_rows": 1}}, "Unknown setting of policy"),
    ],
)
def test_what_cannot_be_leaves_no_folder(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    source = write_rows(tmp_path / "rows.csv", draw_rows(1, 100))
    with pytest.raises(InputError, match=said):
        create_study(tmp_path / "a", "a", source, **given)
    assert [one.name for one in tmp_path.iterdir()] == ["rows.csv"]


def test_rows_without_an_entry_in_a_declared_column_are_in_no_question(tmp_path: Path) -> None:
    rows = [draw_rows(seed, 140) for seed in range(4)]
    gaps = [rows[0]["age"].astype(str), *(one["age"].astype(str) for one in rows[1:])]
    gaps[0][:7] = ""
    rows = [one | {"age": gap} for one, gap in zip(rows, gaps, strict=True)]
    made = Consortium(tmp_path, rows)
    assert next(iter(made.sites[made.ids[0]].batches)).rows == 133
    question, _ = made.answer(AUC)  # which does not ask for the age
    parts = [{name: one[7:] for name, one in rows[0].items()}, *rows[1:]]
    assert (kept_table(made, digest_of(question)) == plain_table(question.text, parts)).all()
    made.close()
    said: list[str] = []
    create_study(
        tmp_path / "again", "b", tmp_path / "rows-0.csv", rehearsal=True, confirm=said.extend
    )
    assert "7 rows of 140 are left out of all questions" in said[0] and "'age' (7)" in said[0]
    chosen = create_study(
        tmp_path / "chosen", "c", tmp_path / "rows-0.csv", declared=["risk", "died"]
    )
    assert next(iter(site_of(chosen).batches)).rows == 140


def test_settings_that_change_nothing_are_named(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "rows.csv", draw_rows(1, 100))
    home = create_study(tmp_path / "a", "a", source, declared=["risk", "died"])
    batches = list(site_of(home).batches)
    settings = home.read_settings()
    assert not list(find_unheeded(settings, batches, "a"))
    changed = msgspec.structs.replace(
        settings, name="b", declared=("risk", "died", "age"), batch={"2": "/more.csv"}
    )
    assert list(find_unheeded(changed, batches, "a")) == [
        "name in peer.toml is 'b', and this peer's certificate says 'a', by which all others know "
        "it: put that back.",
        "declared in peer.toml is 'risk', 'died' and 'age', and batch 1 was frozen with 'risk' and "
        "'died', which stays: what declared says holds for batches that are added later alone.",
        "[batch] in peer.toml names 2, which changes nothing: the first batch is read from source, "
        "and the last one has number 1.",
    ]
    misplaced = msgspec.structs.replace(settings, columns={"accept": "by-policy", "kernels": "age"})
    assert list(find_unheeded(misplaced, batches, "a")) == [
        f"[columns] in peer.toml says {key}, and no column is called '{own}'. If '{key}' belongs "
        "to the policy, write it below a line [policy]."
        for key, own in (("accept", "by-policy"), ("kernels", "age"))
    ]
    columns = {"accept": "died", "risk2": "age"}  # names that questions may well have
    assert not list(find_unheeded(msgspec.structs.replace(settings, columns=columns), batches, "a"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            'kernels = ["auc"]',
            "ranges.kernels is ['auc']: give two numbers, such as [0, 1]. If 'kernels' belongs to "
            "the policy, write it below a line [policy].",
        ),
        (
            "power_safe = false",
            "ranges.power_safe is False: give two numbers, such as [0, 1]. If 'power_safe' is a "
            "setting of this peer, write it above all lines in brackets.",
        ),
        ("age = [0, 1, 2]", "ranges.age is [0, 1, 2]: give two numbers, such as [0, 1]."),
        ("[columns]\nage = 3", "columns.age is 3: give the name of a column of the source."),
    ],
)
def test_a_value_of_a_wrong_form_is_named_by_its_key(tmp_path: Path, line: str, said: str) -> None:
    source = write_rows(tmp_path / "rows.csv", draw_rows(1, 100))
    home = create_study(tmp_path / "a", "a", source, rehearsal=True, ranges={"risk": (0, 1)})
    whole = home.peer.read_text()
    part, hints = whole.split("\n\n", 1)[0], "[ranges]\nrisk = [0, 1]\n"
    home.peer.write_text(f"{part}\n{hints}{line}\n")
    with pytest.raises(InputError) as refused:
        home.read_settings()
    assert str(refused.value).endswith(said)


def test_columns_have_the_sites_own_names(tmp_path: Path) -> None:
    rows = [draw_rows(seed, 140) for seed in range(4)]
    renamed = dict(rows[2])
    renamed["score_2024"], renamed["dead"] = renamed.pop("risk"), renamed.pop("died")
    made = Consortium(
        tmp_path,
        [*rows[:2], renamed, rows[3]],
        own={2: {"columns": {"risk": "score_2024", "died": "dead"}}},
    )
    question, _ = made.answer(AUC)
    assert (kept_table(made, digest_of(question)) == plain_table(question.text, rows)).all()
    site = made.sites[made.ids[2]]
    words = site.record.entries()[0].about["words"]
    assert any("'risk' is 'score_2024' here and 'died' is 'dead' here" in one for one in words)
    made.close()


def test_a_yes_holds_for_the_columns_that_its_words_name(tmp_path: Path) -> None:
    rows = [draw_rows(seed, 1_000) for seed in range(4)]
    renamed = dict(rows[2])
    renamed["score_2024"], renamed["score_2023"] = rows[2]["risk"], 1 - renamed.pop("risk")
    made = Consortium(
        tmp_path, [*rows[:2], renamed, rows[3]], own={2: {"columns": {"risk": "score_2024"}}}
    )
    question, site = made.question(MODEL), made.sites[made.ids[2]]
    yeses, words = made.accept(question), site.describe(question)
    text = site.home.peer.read_text()
    site.home.peer.write_text(text.replace("score_2024", "score_2023"))
    assert site.home.read_settings().columns == {"risk": "score_2023"}
    made.open()
    site = made.sites[made.ids[2]]
    assert site.describe(question) == words
    programs = made.programs(question, yeses)
    made.contribute(question, programs)
    made.sign(question, programs)
    result = read_answer(made.homes[0], digest_of(question)).result
    assert result.model == pytest.approx(find_model(join_rows(rows), 0.01), rel=1e-3)
    made.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("0-3,", "0-x,", 1),
        lambda text: text + text.splitlines()[1] + "\n",
        lambda text: "\n".join(text.splitlines()[:-1]) + "\n",
        lambda text: text.replace("risk", "score", 1),
        None,
    ],
)
def test_a_changed_source_ends_the_question_and_says_nothing_of_rows(
    tmp_path: Path, change: Any
) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    source = tmp_path / "rows-0.csv"
    if change is None:
        source.unlink()
    else:
        source.write_text(change(source.read_text()))
    question, site = made.question(AUC), made.sites[made.ids[0]]
    with pytest.raises(InputError) as refused:
        site.offer(digest_of(question), question)
    assert str(refused.value) == (
        "The source of this site's batch 1 is not what it was when its rows were frozen, or cannot "
        "be read: its operator has to put back what it held."
    )
    made.close()


def test_the_order_of_rows_is_nothing_to_go_by(tmp_path: Path) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    header, *lines = (tmp_path / "rows-0.csv").read_text().splitlines()
    (tmp_path / "rows-0.csv").write_text("\n".join([header, *reversed(lines)]) + "\n")
    question, _ = made.answer(AUC)
    assert (kept_table(made, digest_of(question)) == plain_table(question.text, made.rows)).all()
    made.close()


def test_few_and_repeated_rows_are_not_added(tmp_path: Path) -> None:
    rows = draw_rows(1, 140)
    home = create_study(
        tmp_path / "a", "a", write_rows(tmp_path / "rows.csv", rows), row_id="id", rehearsal=True
    )
    site = site_of(home)
    few = {name: one[:5] for name, one in draw_rows(2, 140).items()}
    with pytest.raises(InputError, match=r"5 complete rows, and policy\.least_rows is 10"):
        site.add(write_rows(tmp_path / "few.csv", few))
    again = join_rows([draw_rows(2, 40), {name: one[:3] for name, one in rows.items()}])
    with pytest.raises(InputError, match=r"3 rows of .* with ids that were frozen before"):
        site.add(write_rows(tmp_path / "again.csv", again))
    assert len(site.batches) == 1
    home.peer.write_text(home.peer.read_text().replace('row_id = "id"\n', ""))
    said: list[str] = []
    site.add(tmp_path / "again.csv", said.extend)
    assert "3 rows of" in said[0] and "are the same in all columns" in said[0]
    assert [one.rows for one in site_of(home).batches] == [140, 43]


def test_a_question_is_told_in_words_whatever_the_rows_are(tmp_path: Path) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    question = made.question(AUC, asker=1)
    site = made.sites[made.ids[0]]
    words = site.describe(question)
    said = " ".join(words)
    assert "No row leaves this machine" in said and "batch 1 (140 rows)" in said
    assert "'site-0', 'site-1', 'site-2' and 'site-3'" in said
    assert site.offer(digest_of(question), question).disclosure == digest_words(words)
    assert site.describe(question) == words  # releases stay recorded
    reading = made.question(AUC, reads=(digest_of(question),), adds=False)
    assert "Nothing leaves this machine but a signature" in site.describe(reading)[0]
    made.close()


def test_a_dry_run_says_what_a_yes_comes_to_and_notes_nothing(tmp_path: Path) -> None:
    rows = [draw_rows(seed, 140) for seed in range(5)]
    rows[1]["died"][:] = 0
    made = Consortium(tmp_path, rows)
    question = made.question(AUC)
    first, second = (made.sites[one] for one in made.ids[:2])
    said = first.try_out(digest_of(question), question)
    assert "Batch 1 (" in said[0] and "would be shown as 140 rows" in said[0]
    died = int(rows[0]["died"].sum())
    assert any(f"died 0: {140 - died} and died 1: {died}" in one for one in said)
    assert any("cells, and would be shown as" in one and "3 or more" in one for one in said)
    assert "You have looked at the rows now" in said[-1]
    said = second.try_out(digest_of(question), question)
    assert (
        "would add nothing, which members see, but not why: Its rows do not fill every" in said[0]
    )
    assert len(first.record) == 0 and not list(first.offers)
    elsewhere = made.question(AUC.replace("risk", "weight"))
    assert (
        first.try_out(digest_of(elsewhere), elsewhere)[0]
        == "Batch 1 lacks a column of this question."
    )
    assert any("or lacks one of them" in one for one in first.describe(elsewhere))
    made.answer(AUC)
    again = made.question(AUC)
    said = first.try_out(digest_of(again), again)
    assert said[0] == "Batch 1 was counted in these columns before."
    made.close()


def test_rows_that_another_study_has_told_add_nothing_unless_that_is_accepted(
    tmp_path: Path,
) -> None:
    rows = [draw_rows(seed, 140) for seed in range(4)]
    made = Consortium(tmp_path, rows)
    made.answer(AUC)
    home = create_study(tmp_path / "other", "o", tmp_path / "rows-0.csv", rehearsal=True)
    site, question = site_of(home, made.list), made.question(AUC)
    name = digest_of(question)
    assert site.offer(name, question).pieces == (Piece(1, 0),)
    said = " ".join(site.try_out(name, question))
    assert "went out on" in said and "others can subtract" in said
    site.give_up(name, "no", is_disclosed=False)
    site.accept_visible(name)
    site.journal.save(Save())
    assert site.offer(name, question).pieces == (Piece(1, 140),)
    assert "This operator accepts that others can subtract" in " ".join(site.describe(question))
    made.close()


def test_what_others_hear_of_a_register_names_no_file(tmp_path: Path) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    question = made.question(AUC)
    programs = made.programs(question, made.accept(question))
    (tmp_path / "rows-0.csv.releases").unlink()
    program = programs[made.ids[0]]
    ask = program.ask()
    assert ask is not None
    with pytest.raises(InputError) as refused:
        program.contribute(ask)
    assert str(tmp_path) not in str(refused.value) and "dry run" in str(refused.value)
    made.close()


def test_settings_that_cannot_be_read_end_no_question(tmp_path: Path) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    question, site = made.question(AUC, asker=1), made.sites[made.ids[0]]
    whole = site.home.peer.read_text()
    site.home.peer.write_text(whole + "[policy]\nkernels = [")
    assert site.judge(digest_of(question), question).answer == "ask"
    site.home.peer.write_text(whole + '[policy]\nkernels = ["gini"]\n')
    assert site.judge(digest_of(question), question).answer == "no"
    made.close()


def test_settings_explain_what_a_site_may_decide(tmp_path: Path) -> None:
    """Each key of the policy is listed, and every line is valid without its #."""
    source = write_rows(tmp_path / "rows.csv", draw_rows(1, 100))
    settings: dict[str, dict[str, Any]] = {"a": {}, "b": {"policy": {"least_cell": 5}}}
    for name, given in settings.items():
        home = create_study(tmp_path / name, name, source, rehearsal=True, **given)
        assert home.read_settings().policy == Policy(**given.get("policy", {}))
        whole = home.peer.read_text()
        home.peer.write_text(re.sub(r"^# (?=\S+ = |\[)", "", whole, flags=re.MULTILINE))
        changed = home.read_settings()
        assert changed.ranges == {"risk": (0.0, 1.0)} and changed.policy.accept == "by-policy"
        assert set(parse_toml(home.peer.read_text())["policy"]) == set(Policy.__struct_fields__)


def test_a_question_that_ends_with_nothing_shown_frees_its_rows_for_others(
    tmp_path: Path,
) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    question = made.question(AUC)
    name = digest_of(question)
    programs = made.programs(question, made.accept(question))
    for program in programs.values():
        ask = program.ask()
        assert ask is not None
        program.contribute(ask)
    for site in made.sites.values():
        site.give_up(name, "withdrawn", is_disclosed=False)
        site.journal.flush()
    home = create_study(tmp_path / "other", "o", tmp_path / "rows-0.csv", rehearsal=True)
    assert site_of(home, made.list).offer(name, question).pieces == (Piece(1, 140),)
    again, _ = made.answer(AUC)
    assert read_answer(made.homes[0], digest_of(again)).result.rows == 560
    made.close()


def test_pieces_that_wait_for_others_contribute_nothing(tmp_path: Path) -> None:
    rows = [draw_rows(seed, 140) for seed in range(5)]
    made = Consortium(tmp_path, rows)
    source = write_rows(tmp_path / "more.csv", draw_rows(9, 140))
    made.sites[made.ids[0]].add(source)
    question = made.question(AUC)
    yeses = made.accept(question)
    mine = yeses[made.ids[0]]
    assert mine.pieces == (Piece(1, 140), Piece(2, 140))
    waits = (Piece(1, 140), Piece(2, 0))
    yeses[made.ids[0]] = msgspec.structs.replace(mine, pieces=waits)
    programs = made.programs(question, yeses)
    made.contribute(question, programs)
    made.sign(question, programs)
    assert (kept_table(made, digest_of(question)) == plain_table(question.text, rows)).all()
    later = made.question(AUC, reads=(digest_of(question),))
    assert made.sites[made.ids[0]].offer(digest_of(later), later).pieces == (Piece(2, 140),)
    made.close()


def test_a_repeat_contributes_the_very_same_numbers(tmp_path: Path) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 1_000) for seed in range(4)])
    noisy = AUC + "[privacy]\nepsilon = 3\n"
    for home in made.homes:
        home.peer.write_text(home.peer.read_text() + "[policy]\nepsilon = 5.0\n")
    question = made.question(noisy)
    programs = made.programs(question, made.accept(question))
    first = {}
    for one, program in programs.items():
        ask = program.ask()
        assert ask is not None
        first[one] = program.contribute(ask)
        made.sites[one].note_disclosure(digest_of(question), 1, b"")
        made.sites[one].give_up(digest_of(question), "silent", is_disclosed=True)
        made.sites[one].journal.flush()
    made.open()
    refused = made.question(noisy, repeats=digest_of(question))
    made.accept(refused)
    for site in made.sites.values():
        site.give_up(digest_of(refused), "no", is_disclosed=False)
    assert {one.outcome for one in told_of(made)} == {"table"}  # and not withdrawn
    wrong = made.question(noisy.replace("epsilon = 3", "epsilon = 2"), repeats=digest_of(question))
    site = made.sites[made.ids[0]]
    with pytest.raises(InputError, match="not one that this site has left unfinished"):
        site.offer(digest_of(wrong), wrong)
    again = made.question(noisy, repeats=digest_of(question))
    programs = made.programs(again, made.accept(again))
    for one, program in programs.items():
        ask = program.ask()
        assert ask is not None
        assert (program.contribute(ask) == first[one]).all()
    made.contribute(again, programs)
    made.sign(again, programs)
    assert np.isfinite(read_answer(made.homes[0], digest_of(again)).result.value or np.nan)
    events = [(one.event, one.question) for one in site.record.entries()]
    assert ("shown", digest_of(again).hex()) in events
    entry = site.offers.get(digest_of(again))
    assert entry is not None and entry.state == "answered"
    assert not site.offers.vectors(digest_of(question))
    made.close()


def test_a_release_taken_back_before_a_crash_is_told_again_before_words_are_shown(
    tmp_path: Path,
) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 140) for seed in range(4)])
    question = made.question(AUC)
    programs = made.programs(question, made.accept(question))
    site = made.sites[made.ids[0]]
    ask = programs[made.ids[0]].ask()
    assert ask is not None
    words = programs[made.ids[0]].contribute(ask)
    site.journal.flush()
    site.give_up(digest_of(question), "no", is_disclosed=False)  # and the process is killed here
    assert [one.outcome for one in told_of(made)] == ["prepared"]
    made.open()
    site = made.sites[made.ids[0]]
    site.note_disclosure(digest_of(question), 1, words.tobytes())
    assert [one.outcome for one in told_of(made)] == ["bit"]
    made.close()
