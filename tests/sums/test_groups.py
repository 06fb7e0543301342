"""Groups, strata and weights of a run on sums: agreed, contributed, added up and read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import Disagreement
from pairgossip.peer.specification.canonical_text import restore_spec
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.storage.rows import read_copy, read_rows, rows_text
from pairgossip.peer.sums.plausibility import check_sums
from pairgossip.peer.sums.simulation import run_programs, start_programs
from pairgossip.peer.sums.statistics import (
    cells_of,
    count_combinations,
    summary_of,
)
from pairgossip.peer.sums.tables import StatisticsProgram

TOP = 'kernel = "auc"\ncolumns = ["risk"]\nlabel = "died"\n'
RANGES = "[ranges]\nrisk = [0, 1]\ndied = [0, 1]\n"
BY = 'by = "sex"\ngroups = ["f", "m"]\n'
WITHIN = 'within = "ward"\nstrata = ["a", "b"]\n'
WEIGHT = 'weight = "times"\nweights = [2, 1]\n'


def text(top: str, algorithm: str = "least_cell = 1") -> str:
    return f"{TOP}{top}{RANGES}[algorithm]\n{algorithm}\n"


def draw(seed: int, n: int) -> FloatArray:
    """Draw rows: risk, died, sex, ward, times."""
    random = np.random.default_rng(seed)
    died, sex, ward = random.integers(0, 2, (3, n))
    risk = np.clip(random.normal(0.4 + 0.1 * died + 0.2 * ward, 0.2), 0, 1)
    return np.column_stack([risk, died, sex, ward, random.integers(1, 3, n)])


@pytest.mark.parametrize(("least", "near"), [(1, 0.005), (3, 0.2)])
def test_members_find_the_statistic_within_strata(least: int, near: float) -> None:
    spec = parse_spec(text(BY + WITHIN + WEIGHT, f"least_cell = {least}"))
    sites = {name: draw(seed, 300) for seed, name in enumerate("abcde")}
    rows = {name: tuple(map(tuple, one)) for name, one in sites.items()}
    programs = start_programs(spec, rows)
    result = run_programs(programs)
    risk, died, sex, ward, times = np.concatenate(list(sites.values())).T
    exact = pg.exact(risk, "auc", labels=died, within=ward, weights=times)
    assert result.value == pytest.approx(exact, abs=near) and result.rows == 1500
    assert result.bracket is not None and result.bracket[0] <= exact <= result.bracket[1]
    assert "pairs within ward alone, each as often as times says" in result.question
    assert isinstance(programs[0], StatisticsProgram) and programs[0].summary is not None
    for at, group in enumerate("fm"):
        own = sex == at
        answer = programs[0].summary.answer(0.95, group=group)
        exact = pg.exact(
            risk[own], "auc", labels=died[own], within=ward[own], weights=times[own], interval=0.95
        )
        assert answer.value == pytest.approx(exact.value, abs=near)
        assert answer.bracket[0] <= exact.value <= answer.bracket[1]


def test_a_site_that_lacks_a_combination_contributes_zeros() -> None:
    spec = parse_spec(text(BY, "least_cell = 3"))
    own = draw(0, 200)[:, :3]
    cells = cells_of(spec)
    assert cells.is_filled(cells.count_cells(own)) and cells.add_up(own)[0] == 200
    few = own[(own[:, 1] == 0) | (own[:, 2] == 0)]  # no men who died
    assert not cells.is_filled(cells.count_cells(few)) and not cells.add_up(few).any()
    named = count_combinations(spec, cells.count_cells(few))
    assert named["died 1, sex m"] == 0 and sum(named.values()) == len(few)
    assert list(named) == ["died 0, sex f", "died 0, sex m", "died 1, sex f", "died 1, sex m"]


def test_a_site_that_lacks_a_weight_contributes_zeros() -> None:
    spec, own = parse_spec(text(BY + WITHIN + WEIGHT, "least_cell = 3")), draw(0, 300)
    cells = cells_of(spec)
    assert cells.is_filled(cells.count_cells(own))
    few = own[(own[:, 1:] != (1, 0, 1, 2)).any(axis=1)]  # the others of (1, 0, 1) count once
    assert not cells.is_filled(cells.count_cells(few)) and not cells.add_up(few).any()


def test_weights_alone_count_in_the_result() -> None:
    spec = parse_spec(text(WEIGHT))
    sites = {name: draw(seed, 60)[:, [0, 1, 4]] for seed, name in enumerate("abc")}
    result = run_programs(start_programs(spec, {k: tuple(map(tuple, v)) for k, v in sites.items()}))
    risk, died, times = np.concatenate(list(sites.values())).T
    assert result.bracket is not None and result.rows == 180
    low, high = result.bracket
    assert low <= pg.exact(risk, "auc", labels=died, weights=times) <= high
    assert not low <= pg.exact(risk, "auc", labels=died) <= high


def test_sums_that_members_who_fill_every_combination_cannot_have() -> None:
    spec = parse_spec(text(BY, "least_cell = 3"))
    cells = cells_of(spec)
    total = np.sum([cells.add_up(draw(seed, 100)[:, :3]) for seed in range(4)], axis=0)
    check_sums(cells, cells.read_sums(total), (400, 400), None, members=4)
    parts = cells.split(total[1:].copy())
    parts[0][0, 0, :] = 0
    parts[0][0, 0, 0] = 11
    few = np.append(parts[0].sum(), parts[0])
    with pytest.raises(Disagreement, match="fewer rows than 4 members with 3 or more of each"):
        check_sums(cells, cells.read_sums(few), (0, 400), None, members=4)
    rows = {name: tuple(map(tuple, draw(seed, 100)[:, :3])) for seed, name in enumerate("abcd")}
    run_programs(programs := start_programs(spec, rows))
    assert isinstance(programs[0], StatisticsProgram)
    with pytest.raises(Disagreement, match="fewer rows than 4 members with 3 or more of each"):
        programs[0]._check(few, 0, 400)


def test_the_last_class_is_the_positive_one() -> None:
    assert summary_of(parse_spec(text(BY))).positive == "1"
    words = text('classes = ["yes", "no"]\n' + BY).replace("died = [0, 1]\n", "")
    assert summary_of(parse_spec(words)).positive == "no"


def test_rows_of_words_are_read_and_kept(tmp_path: Path) -> None:
    spec = parse_spec(text(BY + WITHIN + WEIGHT))
    assert restore_spec(spec.text) == spec and spec.weights == (1, 2)
    assert spec.observed == ("risk", "died", "sex", "ward", "times")
    data = tmp_path / "rows.csv"
    data.write_text("times,ward,sex,died,risk\n2,b,f,1,.5\n1,a,m,0,.25\n")
    rows = read_rows(data, spec)
    assert rows == ((0.5, 1.0, 0.0, 1.0, 2.0), (0.25, 0.0, 1.0, 0.0, 1.0))
    data.write_text(rows_text(rows, spec))
    assert read_copy(data, spec) == rows
    for wrong, sentence in (
        ("2,b,x,1,.5", "Column 'sex' of .* holds 'x' in line 2, but the declared groups are 'f'"),
        ("2,c,f,1,.5", "holds 'c' in line 2, but the declared strata are 'a' and 'b'"),
        ("3,b,f,1,.5", "has 1 value outside the listed weights, in line 2"),
        ("2,b,,1,.5", "sex"),
    ):
        data.write_text(f"times,ward,sex,died,risk\n{wrong}\n")
        with pytest.raises(InputError, match=sentence):
            read_rows(data, spec)


def test_what_leaves_is_said_by_group() -> None:
    said = " ".join(parse_spec(text(BY + WITHIN, "least_cell = 3")).leaves())
    assert "256 cells of 'risk' by 2 values of 'died' by 2 values of 'sex' by 2 values" in said
    assert "without 3 rows of every combination of died, sex and ward counts none" in said
    ranges = "[ranges]\nx = [0, 1]\ny = [0, 1]\nseen = [0, 1]\n"
    top = f'kernel = "concordance"\ncolumns = ["x", "y", "seen"]\n{BY}'
    said = " ".join(parse_spec(top + ranges).leaves())
    assert "without 3 rows of every combination of seen and sex counts none" in said


@pytest.mark.parametrize(
    ("top", "sentence"),
    [
        ('by = "sex"\n', "by is given without groups: give both, as in"),
        ('strata = ["a", "b"]\n', "strata is given without within: give both"),
        ('by = 3\ngroups = ["f", "m"]\n', "by must be the name of a column"),
        ('by = "died"\ngroups = ["0", "1"]\n', "'died', which this run has for something else"),
        ('by = "risk"\ngroups = ["0", "1"]\n', "'risk', which this run has for something else"),
        (BY + WITHIN.replace("ward", "sex"), "'sex', which this run has for something else"),
        ('by = "sex"\ngroups = ["f"]\n', "groups must list two words or more"),
        ('by = "sex"\ngroups = ["f", "f"]\n', "groups lists 'f' twice"),
        ('by = "sex"\ngroups = ["f", " m"]\n', "groups lists a word that is empty or has blanks"),
        ('by = "sex"\ngroups = ["f", "m\\u001b"]\n', "groups lists a word that cannot be printed"),
        ('by = "sex"\ngroups = [0, 1]\n', "groups must be a list of words"),
        (
            'weight = "w"\nweights = [1, 17]\n',
            "weights must list how often rows may count, 1 ",
        ),
        ('weight = "w"\nweights = []\n', "weights must list how often"),
        ('weight = "w"\nweights = [1.5]\n', "weights must list how often"),
        (
            f'by = "x"\ngroups = {[str(at) for at in range(33)]}\n'.replace("'", '"'),
            "have 66 combinations, but at most 64",
        ),
    ],
)
def test_refused_texts(top: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_spec(text(top))


def test_refused_beside_other_keys() -> None:
    for key, top in (("by", BY), ("within", WITHIN), ("weight", WEIGHT)):
        noisy = f"{TOP}{top}{RANGES}[privacy]\nepsilon = 1\n"
        with pytest.raises(InputError, match=rf"{key} and \[privacy\] do not go together"):
            parse_spec(noisy)
        with pytest.raises(InputError, match=f'{key} is for algorithm.name = "sums"'):
            parse_spec(text(top, 'name = "exchange"'))
        learned = text(top, 'name = "sums"').replace('kernel = "auc"', 'loss = "auc-logistic"')
        with pytest.raises(InputError, match=f"{key} is for a kernel"):
            parse_spec(learned)
    with pytest.raises(InputError, match="within is for averages over pairs, not for 'mann-wh"):
        parse_spec(text(WITHIN).replace('"auc"', '"mann-whitney"'))
    with pytest.raises(InputError, match="Test 'mann-whitney' is of rows that count once"):
        parse_spec(text(WEIGHT).replace('"auc"', '"mann-whitney"'))
