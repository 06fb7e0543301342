from __future__ import annotations

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.specification.spec import differences, parse_spec
from pairgossip.peer.sums.statistics import cells_of
from tests.peer.homes import AUC, GINI
from tests.sums.specs import kernel_spec, sums_text

SUMS = sums_text('kernel = "auc"', ["score"], "ill")
LEARN = sums_text('loss = "auc-logistic"', ["x", "y"], "ill")


def add_lines(text: str, **added: str) -> str:
    """Return a specification with lines added under the table of that name, or above all."""
    for table, lines in added.items():
        if table == "top":
            text = f"{lines}\n{text}"
        elif f"[{table}]" in text:
            text = text.replace(f"[{table}]", f"[{table}]\n{lines}")
        else:
            text = f"{text}\n[{table}]\n{lines}"
    return text


def test_a_run_on_sums_is_read() -> None:
    spec = parse_spec(SUMS)
    assert spec.is_sums and spec.noise is None and spec.privacy is None
    assert (spec.algorithm.refine, spec.algorithm.bins, spec.algorithm.rounds) == (1, None, None)
    assert spec.algorithm.least_cell == 3 and '"least_cell":3' in spec.text
    assert "least_cell" not in parse_spec(LEARN).text
    assert parse_spec(LEARN).algorithm.rounds == 100
    noisy = parse_spec(add_lines(SUMS, privacy="epsilon = 1"))
    assert noisy.noise is not None and noisy.noise.epsilon == 1 and noisy.privacy is None


@pytest.mark.parametrize("measure", ['kernel = "auc"', 'kernel = "median"', 'loss = "auc-hinge"'])
def test_rows_stay_at_home_unless_told_otherwise(measure: str) -> None:
    label = None if "median" in measure else "ill"
    named = sums_text(measure, ["score"], label)
    unnamed = named.replace('[algorithm]\nname = "sums"\n', "")
    assert unnamed != named and parse_spec(unnamed).hash == parse_spec(named).hash
    assert parse_spec(unnamed + "\n[algorithm]\n").is_sums


@pytest.mark.parametrize(
    "measure", ['kernel = "metric-learning-risk"', 'kernel = "mmd"', 'loss = "metric-hinge"']
)
def test_rows_travel_where_sums_tell_nothing(measure: str) -> None:
    text = sums_text(measure, ["score"], "ill").replace('[algorithm]\nname = "sums"\n', "")
    assert not parse_spec(text).is_sums and "Your rows travel" in parse_spec(text).leaves()[0]


def test_names_of_statistics_of_order_are_written_one_way() -> None:
    assert kernel_spec("Median", ["a"]).kernel == "median"
    assert kernel_spec("quantile-.25", ["a"]).hash == kernel_spec("quantile-0.250", ["a"]).hash
    assert kernel_spec("quantile-0.00001", ["a"]).kernel == "quantile-0.00001"
    assert kernel_spec("mann_whitney", ["a"], "l").kernel == "mann-whitney"


def test_differences_name_the_keys_of_the_file() -> None:
    noisy = parse_spec(add_lines(SUMS, privacy="epsilon = 1"))
    (sentence, *sentences) = differences(noisy.text, parse_spec(SUMS).text)
    assert "algorithm.least_cell is absent here but 3 there." in sentence
    assert "privacy.epsilon is 1.0 here but absent there." in sentences
    other = parse_spec(add_lines(SUMS, algorithm="bins = 8"))
    assert differences(other.text, parse_spec(SUMS).text) == [
        "algorithm.bins is 8 here but absent there."
    ]


RANKING = SUMS.replace("auc", "ranking-risk")
TWO = sums_text('kernel = "kendall"', ["a", "b"], algorithm="bins = 512")
U_MEDIAN = sums_text('kernel = "median"', ["a"], top='target = "u"')
BELOW = sums_text('kernel = "gini-coefficient"', ["a"], ranges=(-1, 1))
MANY = LEARN.replace("auc-", "ranking-").replace("ill = [0, 1]", "ill = [0, 99]")
WRONG = [
    (add_lines(SUMS, algorithm="mixing = 'paper'"), "mixing is how .*: remove it, or let rows"),
    (add_lines(SUMS, algorithm="rate = 5"), "algorithm.rate is how often .*: remove it"),
    (add_lines(SUMS, algorithm="rounds = 5"), "algorithm.rounds is for a loss"),
    (add_lines(SUMS, algorithm="refine = 3"), "algorithm.refine is no longer offered"),
    (add_lines(SUMS, algorithm="bins = 1"), "algorithm.bins is 1: give a power of two"),
    (add_lines(SUMS, stop="exchanges = 5"), "sums end by themselves"),
    (add_lines(SUMS, privacy="epsilon = 0"), "privacy.epsilon is 0.0: give 0.001 to 100"),
    (add_lines(SUMS, privacy="epsilon = 1\nhonest = 0"), "privacy.honest is 0"),
    (add_lines(SUMS, privacy="epsilon = 1\nbins = 4"), "about reports .*or let reports travel"),
    (add_lines(SUMS, noise="epsilon = 1"), "'noise'"),
    (BELOW, "ranges.a begins below 0, where"),
    (SUMS.replace("auc", "mmd"), "kernel 'mmd' cannot be read from sums over rows: choose another"),
    (SUMS.replace("sums", "sum"), "algorithm.name 'sum'.*sums"),
    (SUMS.replace("auc", "median"), "label is given but"),
    (TWO, "A sum would have 524,288 numbers"),
    (U_MEDIAN, "target is for averages over pairs"),
    (
        add_lines(SUMS, algorithm="bins = 100"),
        "algorithm.bins is 100: give a power of two, 2 to 1,0",
    ),
    (
        add_lines(SUMS, algorithm="least_cell = 2"),
        "algorithm.least_cell is 2: give 3 to 1,000, since",
    ),
    (add_lines(SUMS, algorithm="least_cell = 0"), "or 1 to count cells as they are"),
    (
        add_lines(SUMS, algorithm="least_cell = 3", privacy="epsilon = 1"),
        "blocks of cells or noise",
    ),
    (sums_text('kernel = "distance"', ["a", "b"]), "add noise with .privacy., or let rows travel"),
    (add_lines(LEARN, algorithm="least_cell = 3"), "algorithm.least_cell is for a kernel, whose"),
    ("algorithm.least_cell = 3\n" + GINI, 'algorithm.least_cell is for algorithm.name = "sums"'),
    (add_lines(LEARN, algorithm="bins = 4"), "algorithm.bins is for a kernel, whose"),
    (add_lines(LEARN, algorithm="rounds = 1"), "learning takes 3 sums at least"),
    (add_lines(LEARN, learning="step = 0.1"), "learning.step is not needed"),
    (add_lines(LEARN, privacy="epsilon = 1"), "noise is for counts, and a model is learned"),
    (LEARN.replace("auc-logistic", "metric-hinge"), "is not a function of differences"),
    (MANY, "holds 100 whole numbers, but sums are made for 2 to 32 grades"),
    (RANKING.replace("ill = [0, 1]", "ill = [0, 99]"), "100 whole numbers, but .* for 1 to 64"),
    (RANKING.replace("ill = [0, 1]", "ill = [0, 1e13]"), "10,000,000,000,001 whole numbers"),
    ("algorithm.bins = 4\n" + GINI, 'algorithm.bins is for algorithm.name = "sums"'),
    (GINI.replace("gini", "median"), "median"),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_what_makes_no_sense_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_spec(text)


def test_cells_depend_on_the_text_alone() -> None:
    spec, grades = parse_spec(SUMS), SUMS.replace("ill = [0, 1]", "ill = [1, 64]")
    assert cells_of(spec).words == 1 + 2 * 511
    noisy = sums_text('kernel = "auc"', ["score"], "ill", tables="[privacy]\nepsilon = 1")
    assert cells_of(parse_spec(noisy)).words == 1 + 2 * 32
    assert cells_of(parse_spec(grades.replace("auc", "ranking-risk"))).words == 1 + 64 * 511
    assert cells_of(kernel_spec("kendall", ["a", "b"])).words == 1 + 32 * 32


def test_what_leaves_the_machine_is_said_in_words() -> None:
    assert "Your rows travel" in parse_spec(AUC).leaves()[0]
    private = parse_spec(AUC + "[privacy]\nepsilon = 2\nbins = 4\nclasses = [0, 1]")
    assert "Reports of your rows" in private.leaves()[0]
    assert "epsilon 2" in private.leaves()[0]
    sums = parse_spec(SUMS).leaves()
    assert sums[0].startswith("No row leaves this machine")
    assert "1 sum of 1,023 numbers, all of it and not only the value" in sums[1]
    assert "in each block of 256 cells of 'score' by 2 values of 'ill'." in sums[1]
    assert "1 sum of 511 numbers" in parse_spec(add_lines(SUMS, algorithm="bins = 128")).leaves()[1]
    assert "3 rows or more in each or none" in sums[2]
    plain = parse_spec(add_lines(SUMS, algorithm="least_cell = 1")).leaves()
    assert len(plain) == 4 and "1 sum of 513 numbers" in plain[1]
    assert "at most 100 sums of at most 128 numbers" in parse_spec(LEARN).leaves()[1]
    many = sums_text('loss = "auc-logistic"', [f"x{k}" for k in range(600)], "ill")
    assert "of at most 2,402 numbers" in parse_spec(many).leaves()[1]
    noisy = parse_spec(add_lines(SUMS, privacy="epsilon = 1")).leaves()
    assert "epsilon 1" in noisy[-2] and "fewer than about 188 rows" in noisy[-1]
    scatter = kernel_spec("within-cluster-scatter", ["a", "b"], "l").leaves()[1]
    assert (
        "in each of 256 cells of 'a' by 2 values of 'l'; in each of 256 cells of 'b' by" in scatter
    )
    events = kernel_spec("concordance", ["p", "t", "e"]).leaves()[1]
    assert "32 cells of 'p' by 32 cells of 't' by 2 values of 'e'" in events
    assert (
        "8 cells along each of 32 directions"
        in (kernel_spec("distance", ["a", "b"], tables="[privacy]\nepsilon = 1").leaves()[1])
    )
