"""Agreement of sites in runs on sums: six members in one process, and refusals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.agreement.scales import place_evenly
from pairgossip.agreement.sums import CHOSEN, FEWEST_SITES, Steps, read
from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import Disagreement, Kind, Words
from pairgossip.peer.specification.canonical_text import restore_spec
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.sums.disclosure import describe_small_site
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.simulation import run_programs, start_programs
from pairgossip.peer.sums.site_sums import SiteSums, find_agreement
from pairgossip.peer.sums.sites import Plan, plan_sites, read_sites
from pairgossip.peer.sums.statistics import cells_of
from tests.test_device import on_a_device

TEXT = """
kernel = "auc"
columns = ["score"]
label = "ill"
heterogeneity = true
[ranges]
score = [-5, 8]
ill = [0, 1]
"""
SIZES = (900, 1_500, 1_200, 2_000, 1_000, 3_000)


def draw(sizes: Sequence[int] = SIZES, seed: int = 0) -> dict[str, np.ndarray]:
    """Draw scores that are better at some sites than at others."""
    random, rows = np.random.default_rng(seed), {}
    for number, size in enumerate(sizes):
        ill = np.repeat([0.0, 1.0], [size // 2, size - size // 2])
        score = random.normal(size=size) + (1 + 0.4 * random.normal()) * ill
        rows[f"site {number}"] = np.column_stack([score.clip(-5, 8), ill])
    return rows


def run(rows: dict[str, np.ndarray], shown: Sequence[str] = (), text: str = TEXT) -> Result:
    return run_programs(start_programs(parse_spec(text), rows, shown))


def summarize(rows: np.ndarray, least_cell: int = 3) -> pg.Summary:
    given: dict[str, Any] = {"labels": rows[:, 1].astype(int), "classes": [0, 1]}
    cells = pg.cells.Even(-5, 8, 256)
    return pg.summarize(rows[:, 0], "auc", cells=cells, least_cell=least_cell, **given)


def test_figures_are_those_of_unrounded_numbers_up_to_the_steps() -> None:
    for seed in range(2):
        rows = draw(seed=seed)
        result = run(rows)
        found = find_agreement(result.heterogeneity)
        assert found is not None and result.heterogeneity is not None
        answers = [summarize(own).answer(0.95) for own in rows.values()]
        y, v = np.array([place_evenly(one.value, one.error, 1) for one in answers]).T
        n, logit = len(rows), math.log(found.mean / (1 - found.mean))
        # Each number has an error of at most half a step, and so has their mean; the norm of the
        # errors bounds that of the standard deviation.
        assert abs(logit - y.mean()) <= CHOSEN.logit / 2 + 1e-5
        sums = result.heterogeneity
        s = CHOSEN.logit * math.sqrt((sums.squares - sums.logits**2 / n) / (n - 1))
        assert abs(s - y.std(ddof=1)) <= CHOSEN.logit / 2 * math.sqrt(n / (n - 1)) + 1e-12
        within = CHOSEN.error**2 * sums.errors / n
        assert abs(math.sqrt(within) - math.sqrt(v.mean())) <= CHOSEN.error + 1e-12
        lab = pg.heterogeneity([summarize(own, 1) for own in rows.values()], method="equal")
        assert found.tau == pytest.approx(lab.tau, abs=0.15)
        assert found.mean == pytest.approx(lab.mean, abs=0.03)
        assert found.interval[0] < lab.mean < found.interval[1]


def test_without_rounding_sums_are_the_formulas_of_equal_weights() -> None:
    from pairgossip.agreement.pooling import pool_equally

    random = np.random.default_rng(3)
    y, v = random.normal(1, 0.5, 9), random.uniform(0.01, 0.05, 9)
    fine = Steps(1e-5, 1e-5)
    found, known = read(9, fine.contribute(y, v).sum(axis=0), fine), pool_equally(y, v)
    assert found.mean == pytest.approx(known.mean, abs=1e-5)
    assert found.tau == pytest.approx(known.tau, abs=1e-4)
    assert found.interval == pytest.approx(known.interval(0.95), abs=1e-4)
    assert found.new == pytest.approx(known.predict(0.95), abs=1e-3)
    assert found.i_squared == pytest.approx(known.i_squared, abs=1e-3)


def test_a_site_adds_what_its_counts_tell_and_nothing_else() -> None:
    rows, told = draw(), []
    for moved in (False, True):
        if moved:  # within their cells
            own = rows["site 2"]
            width = 13 / 256
            own[:, 0] = np.floor((own[:, 0] + 5) / width) * width - 5 + width * 0.4
        contributions: list[Any] = []
        programs = start_programs(parse_spec(TEXT), rows)
        run_programs(programs, contributions)
        told.append(contributions[0][2])
    np.testing.assert_array_equal(*told)


def test_fewer_than_six_sites_go_on_without() -> None:
    rows = draw((*SIZES[:5], 400))
    result = run(rows)
    assert result.heterogeneity == SiteSums(sites=5, without="few")
    assert result.value is not None and find_agreement(result.heterogeneity) is None
    ((name, said),) = result.describe_sites()
    assert (name, said) == (
        "between sites",
        "not compared: 5 sites with 300 or more rows of every class, and it takes 6",
    )
    plain = run(rows, text=TEXT.replace("heterogeneity = true\n", ""))
    assert (plain.value, plain.bracket) == (result.value, result.bracket)
    assert plain.heterogeneity is None and plain.describe_sites() == []


def test_a_site_with_more_than_half_of_the_rows_is_said() -> None:
    result = run(draw((*SIZES[:5], 7_000)))
    assert result.heterogeneity == SiteSums(sites=6, without="large")
    ((_, said),) = result.describe_sites()
    assert said == ("not compared: one site has more than half of the rows of the 6 that would be")


def test_sites_of_one_class_or_few_rows_are_not_among_them() -> None:
    rows = draw((*SIZES, 100))
    alone = rows["site 6"].copy()
    alone[:, 1] = 0
    result = run(rows | {"site 7": alone})
    assert result.heterogeneity is not None and result.heterogeneity.sites == FEWEST_SITES
    assert result.left_out == ("site 7",) and result.rows == sum(SIZES) + 100


@pytest.fixture(scope="module")
def unshown() -> SiteSums | None:
    return run(draw()).heterogeneity


@pytest.mark.parametrize("count", [1, 3, 6])
def test_lines_of_those_who_show_theirs(count: int, unshown: SiteSums | None) -> None:
    rows = draw()
    shown = list(rows)[:count]
    sums = run(rows, shown).heterogeneity
    assert sums is not None
    lines = sums.shown or {}
    assert sorted(lines) == ([] if count == 3 else shown)
    for name, line in lines.items():
        known = summarize(rows[name]).answer(0.95)
        assert line == pytest.approx((known.value, known.error), abs=5e-5)
    assert (sums == unshown) is (count == 3)


def test_sums_that_no_sites_have_are_refused() -> None:
    random = np.random.default_rng(1)
    for n in (6, 7, 30):
        for _ in range(200):
            a, w = random.integers(-20, 21, n), random.integers(1, 31, n)
            sums = int(a.sum()), int((a * a).sum()), int((w * w).sum())
            assert CHOSEN.are_possible(n, sums)
    few = {(a * 6, a * a * 6, 6) for a in range(-20, 21)}
    assert all(CHOSEN.are_possible(6, one) for one in few)
    for wrong in (
        (121, 2_500, 6),  # beyond the largest logits
        (0, 2_402, 6),
        (12, 23, 6),  # Cauchy and Schwarz
        (12, 22, 6),
        (13, 27, 6),  # whole numbers cannot be this even
        (12, 25, 6),  # squares of whole numbers have the same parity
        (12, 24, 5),
        (12, 24, 6 * 900 + 1),
        (119, 2_400, 6),  # all at the end but their sum
        (0, -2, 6),
    ):
        with pytest.raises(Disagreement, match="no sites have such logits and errors together"):
            read_sites(Plan(("a",) * 6), np.array(wrong))
    assert CHOSEN.are_possible(6, (13, 29, 6))


def test_all_possible_sums_of_three_small_numbers() -> None:
    steps = Steps(logit=5 / 2, error=1.5)  # at most two steps
    every = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3)).reshape(3, -1).T
    possible = {(int(one.sum()), int((one * one).sum())) for one in every}
    for total in range(-7, 8):
        squares = {q for q in range(-1, 15) if steps.are_possible(3, (total, q, 3))}
        assert {q for t, q in possible if t == total} <= squares
        ends = [q for t, q in possible if t == total]
        assert not ends or (min(squares), max(squares)) == (min(ends), max(ends))


def test_a_line_that_no_site_has_is_refused() -> None:
    plan = Plan(tuple("abcdef"), ("a",))
    for word in (0, -1, 10_001 * 10_001 + 1):
        with pytest.raises(Disagreement, match="none that a site has"):
            read_sites(plan, np.array([12, 24, 6, word]))


def test_liars_halt_the_run() -> None:
    rows = draw()
    programs = start_programs(parse_spec(TEXT), rows)
    ask = programs[0].ask()
    assert ask is not None and ask.kind is Kind.SUM
    parts = [one.contribute(ask) for one in programs]
    total: Words = np.sum(np.array(parts), axis=0, dtype=np.uint64)
    total[-7] += np.uint64(10_000)
    with pytest.raises(Disagreement, match="no sites have such logits and errors together"):
        programs[0].take(ask, total)


def change(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (change('"auc"', '"ranking-risk"'), "heterogeneity is for kernel 'auc', not for"),
        (TEXT + "[privacy]\nepsilon = 1\n", "heterogeneity and [privacy] do not go together"),
        (change('kernel = "auc"', 'loss = "auc-logistic"'), "heterogeneity is for a kernel"),
        (
            change('kernel = "auc"', 'report = "survival"').replace("[-5, 8]", "[0, 8]"),
            "heterogeneity compares the AUCs of sites, and report 'survival' has none: remove one.",
        ),
        (TEXT + '[algorithm]\nname = "exchange"\n', 'is for algorithm.name = "sums": remove it'),
        (change("heterogeneity = true", "heterogeneity = 1"), "heterogeneity must be"),
    ],
)
def test_what_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(text)
    assert sentence in str(caught.value)


def test_old_texts_keep_their_hashes() -> None:
    off = parse_spec(change("true", "false"))
    without = parse_spec(change("heterogeneity = true\n", ""))
    assert off.hash == without.hash and "heterogeneity" not in without.text
    assert parse_spec(TEXT).hash != without.hash
    assert restore_spec(parse_spec(TEXT).text) == parse_spec(TEXT)


def test_operators_are_told_before_they_agree() -> None:
    said = " ".join(parse_spec(TEXT).leaves())
    for part in (
        "Members learn 3 sums more, once, if 6 or more sites have 300 rows of every class",
        "the mean and the standard deviation of the other sites become known",
        "with all but two working together both are",
        "show = true",
    ):
        assert part in said
    assert "standard deviation" not in " ".join(parse_spec(change("true", "false")).leaves())


def test_the_operator_of_a_small_site_is_told() -> None:
    spec, rows = parse_spec(TEXT), draw((599, 600))
    few, enough = (cells_of(spec).count_cells(own) for own in rows.values())
    assert describe_small_site(spec, enough) is None
    assert describe_small_site(spec, few) == (
        "This site has fewer than 300 rows of a class, group or stratum: it would tell all "
        "members so, and is not among the sites that are compared."
    )
    assert describe_small_site(parse_spec(change("true", "false")), few) is None


def test_a_device_reads_sums_with_numpy_alone() -> None:
    on_a_device(
        "import numpy as np; from pairgossip.agreement.sums import read; "
        "import pairgossip.peer.site_parts; read(6, np.array([24.0, 100.0, 30.0]))"
    )


def test_few_sites_a_large_one_and_few_hidden_ones() -> None:
    rows = {f"site {k}": 1_000 for k in range(8)}
    takes_part = dict.fromkeys(rows, 1)
    assert plan_sites(rows, takes_part) == Plan(tuple(rows))
    few = takes_part | {"site 0": 0, "site 1": 0, "site 2": 2}
    assert plan_sites(rows, few).without == "few"
    assert plan_sites(rows | {"site 0": 7_000}, takes_part).without is None
    assert plan_sites(rows | {"site 0": 7_010}, takes_part).without == "large"
    assert plan_sites(rows | {"site 0": 0, "site 1": 0}, takes_part).sites == tuple(rows)[2:]

    def show(count: int) -> int:
        flags = takes_part | {f"site {k}": 3 for k in range(count)}
        return len(plan_sites(rows, flags).shown)

    assert [show(count) for count in range(9)] == [0, 1, 2, 3, 4, 0, 0, 0, 8]
    assert Plan((), without="few").words == 0
