"""The table [privacy]: what it means, what is wrong with it, and what peers compute under it."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.protocol.rules import PaperMixing, Rule, WeightedMixing
from pairgossip.peer.specification.kinds import ReportsSpec
from pairgossip.peer.specification.local_part import rule_for
from pairgossip.peer.specification.mechanism import declared
from pairgossip.peer.specification.spec import Spec, differences, parse_spec
from pairgossip.peer.storage.rows import read_rows
from tests.peer.homes import AUC, GINI, LOSS, debiased_kernel_of

PRIVATE = GINI + "[privacy]\nepsilon = 1\nbins = 4\n"
PRIVATE_AUC = AUC + "[privacy]\nepsilon = 2.0\nbins = 3\nclasses = [0, 1]\n"
KENDALL = """
algorithm.name = "exchange"
kernel = "kendall"
columns = ["x", "y"]
[ranges]
x = [0, 1]
y = [0, 5]
"""
PLAIN = {"gini": GINI, "auc": AUC}


def parse_reports(text: str) -> ReportsSpec:
    spec = parse_spec(text)
    assert isinstance(spec, ReportsSpec)
    return spec


def test_a_specification_declares_a_mechanism() -> None:
    mechanism = parse_reports(PRIVATE_AUC).mechanism
    assert (mechanism.epsilon, mechanism.bins, mechanism.together) == (2.0, (3, 2), True)
    assert mechanism.representatives.tolist()[:3] == [[1 / 6, 0.0], [1 / 6, 1.0], [0.5, 0.0]]
    split = parse_reports(PRIVATE_AUC + "together = false").mechanism
    assert not split.together
    rounded = parse_reports(PRIVATE + 'rounding = "stochastic"').mechanism
    assert rounded.representatives.tolist() == [0.0, 100 / 3, 200 / 3, 100.0]


def test_what_circulates_are_whole_numbers_within_the_limits_of_a_report() -> None:
    assert parse_spec(PRIVATE).limits == ((0.0, 3.0),)
    assert parse_spec(PRIVATE_AUC).limits == ((0.0, 2.0), (0.0, 1.0))


SAME = [
    PRIVATE.replace("bins = 4", "bins = [4]"),
    PRIVATE.replace("epsilon = 1", "epsilon = 1.0") + 'rounding = "BINS"\n',
    PRIVATE + "together = true\n",
    PRIVATE + "together = false\n",  # with one column there is nothing to share
]


@pytest.mark.parametrize("same", SAME)
def test_tables_that_mean_the_same_have_the_same_hash(same: str) -> None:
    assert parse_spec(same).hash == parse_spec(PRIVATE).hash
    assert declared(parse_reports(same)).mechanism == declared(parse_reports(PRIVATE)).mechanism


def test_classes_come_in_any_order() -> None:
    other = PRIVATE_AUC.replace("[0, 1]\n", "[1.0, -0.0]\n").replace("= [1.0, -0.0]", "= [0, 1]", 2)
    assert parse_spec(other).hash == parse_spec(PRIVATE_AUC).hash


OTHER = [
    GINI,
    PRIVATE.replace("epsilon = 1", "epsilon = 2"),
    PRIVATE.replace("bins = 4", "bins = 5"),
    PRIVATE + 'rounding = "stochastic"',
]


@pytest.mark.parametrize("other", OTHER)
def test_tables_that_mean_something_else_have_another_hash(other: str) -> None:
    assert parse_spec(other).hash != parse_spec(PRIVATE).hash


def test_a_mechanism_does_not_depend_on_what_is_computed_with_it() -> None:
    variance = "algorithm.rate = 3\n" + PRIVATE.replace("gini", "variance")
    assert declared(parse_reports(variance)).mechanism == declared(parse_reports(PRIVATE)).mechanism
    wider = PRIVATE.replace("[0, 100]", "[0, 200]")
    assert declared(parse_reports(wider)).mechanism != declared(parse_reports(PRIVATE)).mechanism


def test_differences_name_the_key() -> None:
    mine = parse_spec(PRIVATE).text
    assert differences(mine, parse_spec(PRIVATE.replace("= 4", "= 5")).text) == [
        "privacy.bins is [4] here but [5] there."
    ]
    told = differences(parse_spec(GINI).text, mine)
    assert "privacy.epsilon is absent here but 1.0 there." in told


WRONG = [
    (PRIVATE.replace("epsilon = 1", "epsilon = 0"), "[privacy]: epsilon is 0: give a number"),
    (PRIVATE.replace("epsilon = 1", 'epsilon = "1"'), "privacy.epsilon must be a number, but it"),
    (PRIVATE.replace("epsilon = 1\n", ""), "privacy.epsilon is missing: add it."),
    (PRIVATE.replace("epsilon", "epsilonn"), "Unknown key 'epsilonn' of [privacy]: did you mean"),
    (PRIVATE.replace("bins = 4\n", ""), "privacy.bins is missing: add it."),
    (PRIVATE.replace("bins = 4", "bins = 4.5"), "privacy.bins must be a whole number, but it is"),
    (PRIVATE.replace("bins = 4", 'bins = "4"'), "privacy.bins must be a whole number, but it is"),
    (PRIVATE.replace("bins = 4", "bins = []"), "privacy.bins lists 0 numbers, but columns names 1"),
    (PRIVATE.replace("bins = 4", "bins = [4, 4]"), "privacy.bins lists 2 numbers, but columns"),
    (PRIVATE + 'rounding = "stocastic"', "Unknown privacy.rounding 'stocastic': did you mean"),
    (PRIVATE + "together = 1", "privacy.together must be true or false, but it is a whole number"),
    (PRIVATE + "classes = [0, 1]", "privacy.classes is for a label, and this run has none"),
    (PRIVATE_AUC.replace("classes = [0, 1]", ""), "privacy.classes is missing: list the values"),
    (
        PRIVATE_AUC.replace("classes = [0, 1]", "classes = [0, 2]"),
        "privacy.classes holds 2, but ranges.diseased is [0, 1]: make the range hold all classes.",
    ),
    (
        PRIVATE_AUC.replace("classes = [0, 1]", "classes = [nan, 1]"),
        "privacy.classes holds nan, but ranges.diseased is [0, 1]",
    ),
    (
        PRIVATE_AUC.replace("classes = [0, 1]", 'classes = ["a", "b"]'),
        "privacy.classes must be a number, but it is text in quotes.",
    ),
    (
        PRIVATE_AUC.replace("classes = [0, 1]", "classes = [0, 0.5, 1]"),
        "needs two classes, but the labels hold 3",
    ),
    (
        PRIVATE.replace("[ranges]\nincome = [0, 100]\n", ""),
        "ranges is missing: add a table [ranges]",
    ),
    ("privacy = 3\n" + GINI, "privacy must be a table, but it is a whole number."),
    (
        KENDALL + "[privacy]\nepsilon = 1\nbins = 60\n",
        "[privacy]: Reports have 3,600 cells (60 x 60)",
    ),
    (
        'algorithm.name = "exchange"\nkernel = "concordance"\ncolumns = ["p", "o", "e"]\n'
        "[ranges]\np = [0, 1]\no = [0, 1]\n"
        "e = [0, 1]\n[privacy]\nepsilon = 1\nbins = [4, 4, 2]\n",
        "[privacy]: The declared columns do not suit the kernel: ",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_wrong_values_get_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(text)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("0.5,2\n", r"Column 'diseased' of .* has 1 value outside the agreed range \[0, 1\]"),
        ("1.5,0\n", r"Column 'score' of .* has 1 value outside the agreed range \[0, 1\], in line"),
        ("0.5,1\n0.1,0.5\n", r"has 1 value outside privacy.classes \(0, 1\), in line 3: correct"),
    ],
)
def test_rows_that_were_not_declared_are_refused(tmp_path: Path, rows: str, sentence: str) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("score,diseased\n" + rows)
    with pytest.raises(InputError, match=sentence):
        read_rows(file, parse_spec(PRIVATE_AUC))


# Rules: what a peer adds for a pair of reports, against expectations computed by hand.

CASES = {
    "gini": PRIVATE,
    "auc": PRIVATE_AUC,
    "auc, a report for each": PRIVATE_AUC + "together = false\n",
    "rounded at random": PRIVATE.replace("gini", "variance") + 'rounding = "stochastic"\n',
    "kendall": KENDALL + "[privacy]\nepsilon = 3\nbins = [3, 2]\n",
}


def chances(spec: Spec) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return P(report | cell) for all cells, from the definition of randomized response."""
    assert spec.privacy is not None
    sizes = [int(high) + 1 for _, high in spec.limits]
    groups = [int(np.prod(sizes))] if spec.privacy.together else sizes
    odds = np.exp(spec.privacy.epsilon / len(groups))
    whole = np.ones((1, 1))
    for k in groups:
        part = (np.ones((k, k)) + (odds - 1) * np.eye(k)) / (odds + k - 1)
        whole = np.kron(whole, part)
    return whole


def targeted(text: str, target: str, mixing: str) -> Spec:
    said = text.replace("[ranges]", f'target = "{target}"\nmembers = 5\n[ranges]')
    return parse_spec(f'algorithm.mixing = "{mixing}"\n' + said)


@pytest.mark.parametrize("mixing", ["weighted", "paper"])
@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("name", CASES)
def test_what_a_pair_adds_is_right_on_average(name: str, target: str, mixing: str) -> None:
    spec = targeted(CASES[name], target, mixing)
    rule = rule_for(spec, degree=1, rows=1)
    assert isinstance(rule, WeightedMixing | PaperMixing)
    cells = [*itertools.product(*(range(int(high) + 1) for _, high in spec.limits))]
    reports = [tuple(map(float, cell)) for cell in cells]
    assert spec.mechanism is not None
    meant = spec.mechanism.representatives.reshape(len(cells), -1)
    chance = chances(spec)
    kernel = rule.kernel.components

    def added(own: int, held: int, is_own: bool) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        mass, private = rule.update(*rule.begin(), reports[own], reports[held], is_own)
        return rule.readout(mass, private)

    table = np.array([[added(i, j, False) for j in range(len(cells))] for i in range(len(cells))])
    factor = 1.0 if target == "v" else 5 / 4
    for index, part in enumerate(kernel):
        first, second = np.repeat(meant, len(cells), axis=0), np.tile(meant, (len(cells), 1))
        blocks = (first[:, 0], second[:, 0]) if meant.shape[1] == 1 else (first, second)
        raw = part(*blocks).reshape(len(cells), -1)
        expected = chance @ table[..., index] @ chance.T
        np.testing.assert_allclose(expected, factor * raw, atol=1e-6 * np.abs(raw).max() + 1e-9)
        own = np.array([added(i, i, True)[index] for i in range(len(cells))])
        expected_own = np.diagonal(raw) if target == "v" else np.zeros(len(cells))
        scale = 1e-6 * np.abs(raw).max() + 1e-9
        np.testing.assert_allclose(chance @ own, expected_own, atol=scale)


def test_the_naive_own_pair_would_be_wrong() -> None:
    spec = parse_spec(PRIVATE)
    chance, table = chances(spec), debiased_kernel_of(spec).tables[0]
    naive = chance @ np.diagonal(table)  # a report with itself, as if it were another one
    assert np.abs(naive).min() > 10.0  # although |x - x| = 0


def test_a_liars_report_that_is_not_whole_breaks_nothing() -> None:
    rule = rule_for(parse_spec(PRIVATE), degree=1, rows=1)
    told = rule.update(*rule.begin(), (1.0,), (2.5,), False)
    assert told == rule.update(*rule.begin(), (1.0,), (2.0,), False)


def test_rules_of_one_specification_are_equal() -> None:
    assert rule_for(parse_spec(PRIVATE), 2, 3) == rule_for(parse_spec(PRIVATE), 2, 3)
    assert rule_for(parse_spec(PRIVATE), 2, 3) != rule_for(parse_spec(GINI), 2, 3)


# Models

PRIVATE_LOSS = LOSS + "[privacy]\nepsilon = 3\nbins = 3\nclasses = [0, 1]\n"


@pytest.mark.parametrize("together", ["true", "false"])
def test_a_step_of_learning_is_right_on_average(together: str) -> None:
    """With a fixed model, the expectation of the accumulated gradient is that at the cells."""
    spec = parse_reports(PRIVATE_LOSS + f"together = {together}\n")
    rule, plain = rule_for(spec, 1, 1), rule_for(parse_spec(LOSS), 1, 1)
    cells = [*itertools.product(range(3), range(3), range(2))]
    reports = [tuple(map(float, cell)) for cell in cells]
    meant = [tuple(row) for row in spec.mechanism.representatives.tolist()]
    chance = chances(spec)
    begun = (0.0, 0.0), (0.3, -0.2, 0.0, 0.0, 4.0)

    def added(rule: Rule, rows: list[tuple[float, ...]], i: int, j: int) -> tuple[float, ...]:
        return rule.update(*begun, rows[i], rows[j], i == j and rows is not reports)[0]

    count = len(cells)
    table = np.array([[added(rule, reports, i, j) for j in range(count)] for i in range(count)])
    raw = np.array([[added(plain, meant, i, j) for j in range(count)] for i in range(count)])
    expected = np.einsum("xi,ijp,yj->xyp", chance, table, chance)
    np.testing.assert_allclose(expected, raw, atol=1e-6)
    own = np.array([rule.update(*begun, one, one, True)[0] for one in reports])
    np.testing.assert_allclose(chance @ own, raw[np.arange(count), np.arange(count)], atol=1e-6)


def test_a_loss_of_too_many_cells_says_why() -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(PRIVATE_LOSS.replace("bins = 3", "bins = 20"))
    assert str(caught.value).startswith(
        "[privacy]: There is no affordable debiased gradient here: reports have 800 cells"
    )
