"""Answers of a study's sites, against the same computed from all rows in one place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import Disagreement
from pairgossip.peer.result_page import write_page
from pairgossip.peer.signed_report import recompute
from pairgossip.peer.signed_result import check_signed
from pairgossip.peer.sums.statistics import cells_of
from pairgossip.peer.sums.tables import read_summary, read_table
from pairgossip.study.protocol.records import Piece, digest_of
from pairgossip.study.protocol.site import Reserved
from pairgossip.study.site.layouts import read_text
from pairgossip.study.storage.signed import path_of, read_answer
from tests.study_site.consortium import (
    AUC,
    Consortium,
    canonical,
    draw_rows,
    join_rows,
    write_rows,
)

VALIDATION = AUC.replace('kernel = "auc"', 'report = "validation"\nthresholds = [0.3]')
GINI = """
kernel = "gini"
columns = ["age"]
[ranges]
age = [0, 120]
"""
KENDALL = """
kernel = "kendall"
columns = ["risk", "age"]
algorithm.least_cell = 5
[ranges]
risk = [0, 1]
age = [0, 120]
"""
GROUPS = AUC.replace("[ranges]", 'by = "sex"\ngroups = ["f", "m"]\n[ranges]')
NOISY = AUC + "[privacy]\nepsilon = 3\n"
MODEL = """
loss = "auc-logistic"
columns = ["risk", "age"]
label = "died"
[ranges]
risk = [0, 1]
age = [0, 120]
died = [0, 1]
[learning]
l2 = 0.01
[algorithm]
rounds = 12
"""


@pytest.fixture
def five(tmp_path: Path) -> Iterator[Consortium]:
    made = Consortium(tmp_path, [draw_rows(seed, 140 + 10 * seed) for seed in range(5)])
    yield made
    made.close()


def read_columns(text: str, rows: dict[str, np.ndarray]) -> np.ndarray:
    """Return the columns of a text as numbers."""
    spec = read_text(text)
    columns = [
        [spec.words[name].index(word) for word in rows[name]] if name in spec.words else rows[name]
        for name in spec.observed
    ]
    return np.column_stack(columns).astype(float)


def plain_table(text: str, parts: list[dict[str, np.ndarray]]) -> np.ndarray:
    """Count the rows of each part in blocks, and add up."""
    cells = cells_of(read_text(text))
    return np.sum([cells.add_up(read_columns(text, one)) for one in parts], axis=0)


def kept_table(made: Consortium, name: bytes) -> np.ndarray:
    """Return the table that all sites keep."""
    tables = []
    for site in made.sites.values():
        answer = site.answers.get(name)
        assert answer is not None
        tables.append(site.answers.read(answer))
    assert len(set(tables)) == 1
    return read_table(tables[0]).numbers


def value_of(made: Consortium, name: bytes) -> float:
    value = read_answer(made.homes[0], name).result.value
    assert value is not None
    return value


@pytest.mark.parametrize("text", [AUC, GINI, KENDALL, GROUPS, VALIDATION])
def test_the_table_is_that_of_all_rows_and_the_answer_holds_what_is_exact(
    five: Consortium, text: str
) -> None:
    question, _ = five.answer(text)
    name, rows = digest_of(question), join_rows(five.rows)
    assert (kept_table(five, name) == plain_table(question.text, five.rows)).all()
    spec = read_text(question.text)
    values = np.column_stack([rows[one] for one in spec.columns])
    labels = None if spec.label is None else rows[spec.label]
    within = None if spec.by is None else rows[spec.by]
    assert check_signed(path_of(five.homes[0], name)).signed.keys() == set(five.ids)
    assert recompute(five.read_with_table(name), "here") is not None
    for home in five.homes:
        signed = read_answer(home, name)
        assert signed.result.rows == len(rows["risk"])
        bracket = signed.result.bracket
        if bracket is not None and within is None:
            exact = pg.exact(values.squeeze(), str(spec.kernel), labels=labels)
            assert bracket[0] - 1e-12 <= exact <= bracket[1] + 1e-12
    told = {
        one: len(part["risk"]) // 10 * 10 for one, part in zip(five.ids, five.rows, strict=True)
    }
    assert read_answer(five.homes[0], name).result.members == told


def test_summaries_of_single_sites_added_up_answer_the_same(five: Consortium) -> None:
    question, _ = five.answer(AUC.replace("[ranges]", "algorithm.bins = 64\n[ranges]"))
    cells = pg.cells.Even(0, 1, 64)
    parts = [
        pg.summarize(
            one["risk"], "auc", labels=one["died"], cells=cells, least_cell=3, classes=[0, 1]
        )
        for one in five.rows
    ]
    together = parts[0] + parts[1] + parts[2] + parts[3] + parts[4]
    answer, result = together.answer(), read_answer(five.homes[0], digest_of(question)).result
    assert result.value == pytest.approx(answer.value, abs=1e-9)
    assert result.bracket == pytest.approx(answer.bracket, abs=1e-9)


def test_a_further_statistic_is_read_with_nothing_sent(five: Consortium) -> None:
    first, _ = five.answer(AUC)
    spelled = AUC.replace("[ranges]", 'target = "u"\n[ranges]')
    text, site = canonical(spelled), five.sites[five.ids[2]]
    assert site.choose_reads(text, five.ids) == ((digest_of(first),), False)
    assert site.choose_reads(text, five.ids, is_fresh=True) == ((digest_of(first),), True)
    assert site.choose_reads(canonical(GINI), five.ids) == ((), True)
    assert site.choose_reads(text, [*five.ids, "newcomer"]) == ((), True)
    question = five.question(spelled, asker=2, reads=(digest_of(first),), adds=False)
    five.save(question)
    programs = five.programs(question, {})
    five.sign(question, programs)
    result = read_answer(five.homes[1], digest_of(question)).result
    assert (kept_table(five, digest_of(question)) == kept_table(five, digest_of(first))).all()
    assert result.rounds == 1 and result.left_out is None
    assert [one.event for one in site.record.entries()].count("shown") == 1


def test_a_reading_of_another_layout_or_of_no_table_is_refused(five: Consortium) -> None:
    first, _ = five.answer(AUC)
    site = five.sites[five.ids[0]]
    for text, reads, said in (
        (AUC.replace("[0, 1]\ndied", "[0, 2]\ndied"), (digest_of(first),), "other cells"),
        (AUC, (bytes(32),), "has not the table"),
        (AUC, (digest_of(first), digest_of(first)), "the same rows twice"),
        (AUC, (), "reads no table"),
    ):
        question = five.question(text, reads=reads, adds=False)
        with pytest.raises(pg.InputError, match=said):
            site.make_program(digest_of(question), question, {})


def test_a_second_batch_adds_only_its_rows(five: Consortium, tmp_path: Path) -> None:
    first, _ = five.answer(AUC)
    more = [draw_rows(50 + at, 80) for at in range(5)]
    for at, one in enumerate(five.ids):
        source = write_rows(tmp_path / f"more-{at}.csv", more[at])
        batch = five.sites[one].add(source)
        assert (batch.number, batch.rows) == (2, 80)
    five.open()
    reads, adds = five.sites[five.ids[0]].choose_reads(canonical(AUC), five.ids, is_fresh=True)
    question = five.question(AUC, reads=reads, adds=adds)
    yeses = five.accept(question)
    assert all(yes.pieces == (Piece(2, 80),) for yes in yeses.values())
    programs = five.programs(question, yeses)
    five.contribute(question, programs)
    five.sign(question, programs)
    expected = plain_table(question.text, five.rows) + plain_table(question.text, more)
    assert (kept_table(five, digest_of(question)) == expected).all()
    result = read_answer(five.homes[0], digest_of(question)).result
    assert result.batches == 2 and result.rows == expected[0]
    rows = join_rows([*five.rows, *more])
    assert result.bracket is not None
    assert result.bracket[0] <= pg.exact(rows["risk"], "auc", labels=rows["died"])
    both = five.question(AUC, reads=(digest_of(first), digest_of(question)), adds=False)
    with pytest.raises(pg.InputError, match="the same rows twice"):
        five.sites[five.ids[0]].make_program(digest_of(both), both, {})
    assert five.sites[five.ids[0]].choose_reads(canonical(AUC), five.ids) == (
        (digest_of(question),),
        False,
    )


def test_a_column_is_counted_once(five: Consortium) -> None:
    five.answer(AUC)
    again = five.question(AUC)
    yeses = five.accept(again)
    assert all(yes.pieces == () for yes in yeses.values())
    result = five.programs(again, yeses)[five.ids[0]].result
    assert result is not None and result.table is None and result.rounds == 0
    other = five.question(AUC.replace("[0, 1]\ndied", "[-1, 1]\ndied"))
    verdict = five.sites[five.ids[1]].judge(digest_of(other), other)
    assert verdict.answer == "no" and "other cells" in verdict.because


def test_an_open_question_reserves_its_columns_until_it_ends(five: Consortium) -> None:
    first, second = five.question(AUC), five.question(AUC)
    five.accept(first)
    site = five.sites[five.ids[0]]
    sentence = "Question 1 has your yes and counts column 'risk', too: wait until it has ended"
    with pytest.raises(Reserved, match=sentence):
        site.offer(digest_of(second), second)
    five.open()
    site, third = five.sites[five.ids[0]], five.question(AUC)
    with pytest.raises(Reserved, match=sentence):
        site.offer(digest_of(third), third)
    assert site.find_shared(first.text, second.text) == "risk"
    assert site.find_shared(first.text, canonical(GINI)) is None
    assert site.find_shared(first.text, "no specification") is None
    site.give_up(digest_of(first), "withdrawn", is_disclosed=False)
    assert site.offer(digest_of(second), second).pieces == (Piece(1, 140),)


def test_rows_that_fill_no_class_add_nothing_and_nobody_knows_more(tmp_path: Path) -> None:
    rows = [draw_rows(seed, 140) for seed in range(6)]
    rows[3]["died"][:] = 0
    made = Consortium(tmp_path, rows)
    question, _ = made.answer(AUC)
    parts = [one for at, one in enumerate(rows) if at != 3]
    assert (kept_table(made, digest_of(question)) == plain_table(question.text, parts)).all()
    signed = read_answer(made.homes[0], digest_of(question))
    assert signed.result.left_out == (made.ids[3],)
    write_page(signed, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "5 of 6 members, 700 rows together" in page
    assert "site-3: rows are too few to fill every class with 3 rows, lie outside" in page
    made.close()


def test_rows_out_of_range_add_nothing_whatever_they_are(tmp_path: Path) -> None:
    rows = [draw_rows(seed, 140) for seed in range(6)]
    rows[1]["age"][7] = 121
    made = Consortium(tmp_path, rows)
    question = made.question(GINI)
    yeses = made.accept(question)
    assert yeses[made.ids[1]].pieces == (Piece(1, 0),)
    said = made.sites[made.ids[1]].try_out(digest_of(question), question)
    assert any("1 value outside the agreed range" in one for one in said)
    made.close()


def test_fewer_than_four_sites_make_no_table(tmp_path: Path) -> None:
    rows = [draw_rows(seed, 140) for seed in range(4)]
    rows[3]["died"][:] = 0  # so that this site adds no rows
    made = Consortium(tmp_path, rows)
    question, _ = made.answer(AUC)
    result = read_answer(made.homes[0], digest_of(question)).result
    assert result.table is None and result.value is None and result.rounds == 0
    site = made.sites[made.ids[0]]
    assert [one.event for one in site.record.entries()] == ["accepted", "answered"]
    again = made.question(AUC)
    assert site.offer(digest_of(again), again).pieces == (Piece(1, 140),)
    made.close()


def find_model(rows: dict[str, np.ndarray], l2: float) -> np.ndarray:
    """Return the best linear score of all rows, by Newton's method on all pairs."""
    features = np.column_stack([rows["risk"], rows["age"]])
    died = rows["died"] == 1
    apart = (features[died][:, None, :] - features[~died][None, :, :]).reshape(-1, 2)

    model = np.zeros(2)
    for _ in range(10):
        wrong = 1 / (1 + np.exp(apart @ model))
        slope = -apart.T @ wrong / len(died) ** 2 + 2 * l2 * model
        curve = (apart * (wrong * (1 - wrong))[:, None]).T @ apart / len(died) ** 2
        model -= np.linalg.solve(curve + 2 * l2 * np.eye(2), slope)
    assert np.abs(slope).max() < 1e-10
    return model


def test_a_model_is_that_of_the_same_rows_in_one_place(tmp_path: Path) -> None:
    made = Consortium(tmp_path, [draw_rows(seed, 1_000 + seed) for seed in range(4)])
    question, _ = made.answer(MODEL)
    result = read_answer(made.homes[0], digest_of(question)).result
    assert result.model is not None and result.finished
    assert result.rows == 4_006
    assert result.members == dict.fromkeys(sorted(made.ids), 1_000)
    assert result.model == pytest.approx(find_model(join_rows(made.rows), 0.01), rel=1e-3)
    made.close()


def test_a_model_is_found_with_a_site_that_adds_nothing(tmp_path: Path) -> None:
    rows = [draw_rows(seed, 1_000) for seed in range(4)]
    rows[2]["died"][:] = 0
    rows[2]["died"][:3] = 1
    made = Consortium(tmp_path, rows)
    question, _ = made.answer(MODEL)
    result = read_answer(made.homes[0], digest_of(question)).result
    assert result.rows == 3_000 and result.members[made.ids[2]] == 0
    others = join_rows([one for at, one in enumerate(rows) if at != 2])
    assert result.model == pytest.approx(find_model(others, 0.01), rel=1e-3)
    made.close()


def test_too_few_sites_find_no_model(tmp_path: Path) -> None:
    rows = [draw_rows(seed, 400) for seed in range(3)]
    rows[2]["died"][3:] = 0
    made = Consortium(tmp_path, rows)
    question, _ = made.answer(MODEL)
    result = read_answer(made.homes[0], digest_of(question)).result
    assert result.model is None and result.rows == 0 and result.rounds == 0
    made.close()


def test_noise_is_drawn_once_and_paid_from_a_budget(tmp_path: Path) -> None:
    rows = [draw_rows(seed, 2_000) for seed in range(4)]
    made = Consortium(tmp_path, rows, {"policy": {"epsilon": 4.0}})
    question = made.question(NOISY)
    yeses = made.accept(question)
    programs = made.programs(question, yeses)
    ask = next(iter(programs.values())).ask()
    assert ask is not None
    first = {one: program.contribute(ask) for one, program in programs.items()}
    again = made.programs(question, yeses)
    assert all((first[one] == again[one].contribute(ask)).all() for one in first)
    made.contribute(question, programs)
    made.sign(question, programs)
    result = read_answer(made.homes[0], digest_of(question)).result
    assert result.noise is not None and result.noise.epsilon == 3
    exact = pg.exact(join_rows(rows)["risk"], "auc", labels=join_rows(rows)["died"])
    assert result.value == pytest.approx(exact, abs=6 * (result.noise.error or 0) + 0.01)
    table = made.homes[0].tables / f"{digest_of(question).hex()}.table"
    with pytest.raises(InputError, match="Counts with noise are read by the agreed statistic"):
        read_summary(read_text(question.text), table.read_bytes())
    other = made.question(NOISY.replace('"risk"', '"age"').replace("risk =", "age ="))
    verdict = made.sites[made.ids[0]].judge(digest_of(other), other)
    assert verdict.answer == "no" and "epsilon" in verdict.because
    made.close()


def test_sites_are_compared_where_a_question_asks_for_it(tmp_path: Path) -> None:
    text = AUC.replace("[ranges]", "heterogeneity = true\nalgorithm.least_cell = 3\n[ranges]")
    made = Consortium(tmp_path, [draw_rows(seed, 1_200) for seed in range(6)])
    question, _ = made.answer(text)
    signed = read_answer(made.homes[0], digest_of(question))
    assert signed.result.heterogeneity is not None
    assert signed.result.heterogeneity.sites == 6
    assert signed.agreement is not None and 0.6 < signed.agreement.mean < 0.95
    made.close()


def test_another_table_than_the_sum_is_refused(five: Consortium) -> None:
    question = five.question(AUC)
    programs = five.programs(question, five.accept(question))
    program = programs[five.ids[0]]
    ask = program.ask()
    assert ask is not None
    total = np.zeros(ask.words, dtype=np.uint64)
    with pytest.raises(Disagreement):
        program.take(ask, total)
