from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.kernels import Pairs
from pairgossip.peer.protocol.rules import (
    AdaptiveAveraging,
    DualAveraging,
    PaperMixing,
    WeightedMixing,
)
from pairgossip.peer.specification.local_part import rule_for
from pairgossip.peer.specification.spec import differences, parse_spec, read_spec
from tests.peer.homes import AUC, GINI, LOSS

U = GINI.replace("[ranges]", 'target = "u"\nmembers = 4\n[ranges]')


def test_a_specification_says_what_the_file_says() -> None:
    spec = parse_spec(AUC)
    assert (spec.kernel, spec.columns, spec.label) == ("auc", ("score",), "diseased")
    assert spec.observed == ("score", "diseased")
    assert spec.limits == ((0.0, 1.0), (0.0, 1.0))
    assert (spec.algorithm.mixing, spec.algorithm.rate) == ("weighted", 10.0)
    assert spec.target == "v"
    assert spec.hash == hashlib.sha256(spec.text.encode()).hexdigest()


def test_the_canonical_text_never_changes() -> None:
    # Peers with different versions of this program must compute the same hash.
    assert parse_spec(GINI).text == (
        '{"algorithm":{"bins":null,"mixing":"weighted","name":"exchange","rate":10.0,"refine":1,'
        '"rounds":null},"classes":null,"columns":["income"],"kernel":"gini","label":null,'
        '"learning":null,"loss":null,"members":null,"noise":null,"privacy":null,'
        '"ranges":{"income":[0.0,100.0]},"stop":null,"target":"v"}'
    )


@pytest.mark.parametrize(
    "same",
    [
        """
        # other order, defaults written out, other spelling
        columns = [ "income", ]
        target = "V"
        kernel = "GINI"
        [algorithm]
        name = "Exchange"
        rate = 10
        mixing = "weighted"
        [stop]
        enough = false
        [ranges]
        income = [-0.0, 1e2]
        """,
        GINI.replace("\n", "\r\n"),
    ],
)
def test_files_that_mean_the_same_have_the_same_hash(same: str) -> None:
    assert parse_spec(same).hash == parse_spec(GINI).hash


@pytest.mark.parametrize(
    "other",
    [
        GINI.replace("gini", "variance"),
        GINI.replace("100", "101"),
        GINI.replace("income", "wealth"),
        U,
        "algorithm.rate = 5\n" + GINI,
        'algorithm.mixing = "paper"\n' + GINI,
        GINI + "[stop]\nexchanges = 5",
        GINI + "[stop]\nenough = true",
    ],
)
def test_files_that_mean_something_else_have_another_hash(other: str) -> None:
    assert parse_spec(other).hash != parse_spec(GINI).hash


WORDS = """
algorithm.name = "exchange"
kernel = "auc"
columns = ["score"]
label = "diseased"
classes = ["no", "yes"]
[ranges]
score = [0, 1]
"""


def test_classes_have_an_agreed_order() -> None:
    spec = parse_spec(WORDS)
    assert spec.classes == ("no", "yes") and spec.limits == ((0.0, 1.0), (0.0, 1.0))
    other = parse_spec(WORDS.replace('"no", "yes"', '"yes", "no"'))
    assert spec.hash not in (other.hash, parse_spec(AUC).hash)
    assert differences(spec.text, other.text) == [
        'classes is ["no", "yes"] here but ["yes", "no"] there.'
    ]
    grades = WORDS.replace('"auc"', '"ranking-risk"').replace('"no", "yes"', '"a", "b", "c"')
    assert parse_spec(grades).ranges["diseased"] == (0.0, 2.0)
    private = parse_spec(WORDS + "[privacy]\nepsilon = 1.0\nbins = 2\n").privacy
    assert private is not None and private.classes == (0.0, 1.0) and private.together


SCORED = 'columns = ["score"]\nlabel = "ill"\n[ranges]\nscore = [1, 10]\nill = [0, 1]'
SUMMED = 'kernel = "median"\ncolumns = ["score"]\n[ranges]\nscore = [1, 10]'
LONG = "0x" + "f" * 5000
"""A number with too many digits for Python to print."""
WRONG = [
    (WORDS.replace('["no", "yes"]', '"no"'), "classes must be a list of words, as in classes"),
    (WORDS.replace('["no", "yes"]', "[0, 1]"), "classes must be a list of words, as in classes"),
    (WORDS.replace('["no", "yes"]', '["no"]'), "classes must list two labels or more"),
    (WORDS.replace('["no", "yes"]', '["no", "no"]'), "classes lists 'no' twice: list it once."),
    (WORDS.replace('"yes"', '" yes"'), "classes lists a word that is empty or has blanks"),
    (WORDS.replace('"yes"', '"yes", "so"'), "classes lists 3 labels, but kernel 'auc' takes two"),
    (WORDS.replace('label = "diseased"', ""), "classes are those of a label: name its column"),
    (WORDS + "diseased = [0, 1]", "ranges.diseased is not needed: classes say what it can be"),
    (WORDS + "[privacy]\nepsilon = 1\nbins = 2\nclasses = [0, 1]", "privacy.classes is not needed"),
    ("", 'kernel is missing: name what to estimate, as in kernel = "auc", or what to learn'),
    (GINI + 'loss = "x"', "loss stands under [ranges]: move it above all tables."),
    ("algorithm.members = 3\n" + GINI, "members stands under [algorithm]: move it above all"),
    ('loss = "auc-logistic"' + GINI, "kernel and loss are both given: keep the one"),
    (
        AUC.replace('"auc"', '"hand-till"'),
        "Kernel 'hand-till' has a column of scores for each class",
    ),
    (GINI.replace("gini", "ginni"), "Unknown kernel 'ginni': did you mean 'gini'?"),
    # A typo is reported before keys that are only allowed with the intended word.
    (f'kernel = "aucc"\nwhole = ["score"]\n{SCORED}', "Unknown kernel 'aucc': did you mean 'auc'?"),
    (f'loss = "auc-hing"\nwhole = ["score"]\n{SCORED}', "Unknown loss 'auc-hing': did you mean"),
    (
        GINI.replace("gini", "distance").replace("[r", 'whole = ["income"]\n[r'),
        "whole is for algor",
    ),
    (SUMMED.replace("median", "quantile"), "Unknown kernel 'quantile': did you mean 'quantile-0.5"),
    (SUMMED.replace("median", "log-rank"), "Unknown kernel 'log-rank': choose one of auc, "),
    (GINI.replace("columns", "colums"), "Unknown key 'colums': did you mean 'columns'?"),
    ("algorithm.rat = 3\n" + GINI, "Unknown key 'rat' of [algorithm]: did you mean 'rate'?"),
    (GINI.replace('"gini"', "3"), "kernel must be text in quotes, but it is a whole number."),
    (GINI.replace('["income"]', '"income"'), "columns must be a list of names"),
    (GINI.replace('["income"]', "[]"), "columns is empty: name at least one column."),
    (GINI.replace('["income"]', '["income", ""]'), "A column has an empty name"),
    (GINI.replace('["income"]', '["income", "income"]'), "columns names 'income' twice"),
    (AUC.replace('["score"]', '["score", "diseased"]'), "label 'diseased' is also among columns"),
    (AUC.replace('"diseased"', '["diseased"]'), "label must be the name of a column, as in label"),
    (
        AUC.replace('label = "diseased"', ""),
        "ranges.diseased is for no column of this run: if it is the label, add label = "
        '"diseased"; else remove it, or name the column.',
    ),
    (GINI + "other = [0, 1]", "ranges.other is for no column of this run: remove it, or name"),
    (
        AUC.replace('label = "diseased"', "").replace("diseased = [0, 1]", ""),
        "label is missing: kernel 'auc' needs one, so name its column.",
    ),
    (GINI.replace("[ranges]", 'label = "l"\n[ranges]\nl = [0, 1]'), "label is given but kernel"),
    (AUC.replace('["score"]', '["score", "x"]') + "x = [0, 1]", "columns names 2, but kernel"),
    ('kernel = "kendall"\ncolumns = ["x"]\n[ranges]\nx = [0, 1]', "columns names 1, but kernel"),
    (GINI.replace("income = [0, 100]", ""), "ranges.income is missing: say between which values"),
    (GINI.partition("[ranges]")[0], "ranges is missing: add a table [ranges]"),
    (GINI.replace("[0, 100]", "[100, 0]"), "ranges.income is [100, 0]: the first bound must be"),
    (GINI.replace("[0, 100]", "[0, inf]"), "ranges.income is [0, inf]: both bounds must be finite"),
    (GINI.replace("[0, 100]", "[nan, 1]"), "ranges.income is [nan, 1]: both bounds must be finite"),
    (GINI.replace("100", "1e300"), "ranges.income goes beyond 1e+60: rescale the column."),
    (GINI.replace("100", "1" + "0" * 400), "ranges.income goes beyond 1e+60: rescale the column."),
    (GINI.replace("[0, 100]", "[0]"), "ranges.income must be two numbers, as in income = [0, 1]."),
    (GINI.replace("[0, 100]", "[false, true]"), "ranges.income must be two numbers"),
    ("algorithm.rate = 0\n" + GINI, "algorithm.rate is 0: give a finite number > 0."),
    ("algorithm.rate = nan\n" + GINI, "algorithm.rate is nan: give a finite number > 0."),
    ('algorithm.rate = "3"\n' + GINI, "algorithm.rate must be a number, but it is text in"),
    ("algorithm.rate = true\n" + GINI, "algorithm.rate must be a number, but it is true or"),
    ("algorithm.rate = 1" + "0" * 400 + GINI, "algorithm.rate "),
    ("algorithm = 3\n" + GINI.partition("\n")[2].partition("\n")[2], "algorithm must be a table,"),
    ('algorithm.mixing = "wieghted"\n' + GINI, "Unknown algorithm.mixing 'wieghted': did you"),
    ('algorithm.mixing = "paper"\n' + LOSS, "algorithm.mixing is for a kernel: remove it"),
    (GINI + "[learning]\nstep = 1", "learning is for a loss: remove the table"),
    (LOSS.replace("0.5", '"adaptiv"'), "Unknown learning.step 'adaptiv': did you mean 'adaptive'?"),
    (
        LOSS.replace("step = 0.5", "") + "[privacy]\nepsilon = 3\nbins = 3\nclasses = [0, 1]\n",
        "learning.step is adaptive, also where it is left out, and that takes the noise of reports",
    ),
    (LOSS.replace("step = 0.5", "step = 0"), "learning.step is 0: give a finite number > 0."),
    (LOSS.replace("10.0", "inf"), "learning.radius is inf: give a finite number > 0."),
    (LOSS.replace("0.01", "-0.01"), "learning.l2 is -0.01: give a finite number > 0."),
    (U.replace("members = 4", ""), 'target = "u" needs members: say how many rows'),
    (U.replace("= 4", "= 1"), "members is 1: a run needs at least 2 rows in all."),
    (U.replace("= 4", f"= {LONG}"), "members is a whole number beyond 64 bits: give another."),
    (GINI + f"[stop]\nexchanges = {LONG}", "stop.exchanges is a whole number beyond 64 bits"),
    (GINI + f"[stop]\nexchanges = -1{'0' * 400}", "stop.exchanges is a whole number beyond 64"),
    (GINI + f"[privacy]\nepsilon = 1\nbins = [{LONG}]", "privacy.bins is a whole number beyond 64"),
    (U.replace("= 4", "= 4.5"), "members must be a whole number, but it is a number."),
    (U.replace('"u"', '"w"'), 'target is "w": choose "v" or "u".'),
    (LOSS.replace("[ranges]", 'target = "u"\n[ranges]'), 'target = "u" is for a kernel: remove it'),
    (GINI + "[stop]\nerror = 0.0", "stop.error is 0.0: give a finite number > 0."),
    (GINI + "[stop]\nexchanges = 0", "stop.exchanges is 0: give a finite number > 0."),
    (LOSS + "[stop]\nenough = true", "stop.enough is for a kernel: a model has no sampling error"),
    (GINI + "[stop]\nenough = 1", "stop.enough must be true or false, but it is a whole number"),
    ("kernel = ", "This is not valid TOML: "),
    (GINI.replace("income", "i" * 70_000), "The specification is too long to be sent"),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_wrong_values_get_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(text)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_reading_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    with pytest.raises(InputError, match=r"There is no file .*run\.toml: check"):
        read_spec(file)
    file.write_text(GINI.replace("gini", "gin"))
    with pytest.raises(InputError, match=r"run\.toml: Unknown kernel 'gin': did you mean 'gini'"):
        read_spec(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"run\.toml is not UTF-8 text"):
        read_spec(file)
    file.write_text("\ufeff" + AUC)
    assert read_spec(file) == parse_spec(AUC)


def test_differences_are_told_key_by_key() -> None:
    mine = parse_spec(AUC).text
    theirs = parse_spec(AUC.replace("score = [0, 1]", "score = [0, 2]") + "[stop]\nerror = 0.1")
    assert differences(mine, theirs.text) == [
        "ranges.score is [0.0, 1.0] here but [0.0, 2.0] there.",
        "stop.error is absent here but 0.1 there.",
    ]
    assert differences(mine, mine) == []
    assert 'kernel is "auc" here but "gini" there.' in differences(mine, parse_spec(GINI).text)


@pytest.mark.parametrize("theirs", ["", "[]", "3", "{", "[" * 100_000, '{"a":' * 50_000, "\x00"])
def test_a_specification_that_cannot_be_read_is_told_as_such(theirs: str) -> None:
    assert differences(parse_spec(GINI).text, theirs) == ["Their specification cannot be read."]


def test_what_a_neighbor_wrote_is_escaped_and_cut() -> None:
    hostile: dict[str, object] = {"\x1b[31m" + "k" * 500: "v" * 500}
    hostile["kernel"] = "\x1b]0;owned\x07\x7f\u202e"
    hostile |= {f"key{i}": i for i in range(100)}
    told = differences(parse_spec(GINI).text, json.dumps(hostile))
    assert len(told) == 21
    assert told[-1].startswith("There are ")
    assert all(len(sentence) < 250 for sentence in told)
    assert all(character.isprintable() and character.isascii() for s in told for character in s)


# Rules


def test_rules_follow_the_specification() -> None:
    weighted = rule_for(parse_spec(GINI), degree=4, rows=1)
    assert isinstance(weighted, WeightedMixing)
    assert (weighted.weight, weighted.scale, weighted.counts_own) == (1 / 4, 1.0, True)
    paper = rule_for(parse_spec('algorithm.mixing = "paper"\n' + GINI), degree=4, rows=1)
    assert isinstance(paper, PaperMixing)
    adaptive = rule_for(parse_spec(LOSS.partition("[learning]")[0]), degree=4, rows=6)
    assert isinstance(adaptive, AdaptiveAveraging)
    assert (adaptive.dimension, adaptive.sizes) == (2, (7, 3))
    assert (adaptive.scale, adaptive.weight) == (4.0, 0.5)
    learned = rule_for(parse_spec(LOSS), degree=4, rows=6)
    assert isinstance(learned, DualAveraging)
    assert (learned.dimension, learned.sizes) == (2, (2, 5))
    assert learned.probability == 2.0
    assert learned.gamma(4.0) == 0.25
    # the penalty shrinks by 1 + 2 l2 t gamma, the ball holds the rest
    far = learned.prox(np.array([-1e9, 0.0]), 0.25, 4.0)
    assert np.allclose(far, [10.0, 0.0])
    near = learned.prox(np.array([-1.0, 0.0]), 0.25, 4.0)
    assert np.allclose(near, [0.25 / 1.02, 0.0])


@pytest.mark.parametrize(
    ("degree", "rows", "weight"), [(1, 1, 1.0), (3, 1, 1 / 3), (3, 6, 2 / 3), (2, 2, 1.0)]
)
def test_a_row_weighs_one_over_its_picks(degree: int, rows: int, weight: float) -> None:
    rule = rule_for(parse_spec(GINI), degree, rows)
    assert isinstance(rule, WeightedMixing)
    assert rule.weight == pytest.approx(weight)


SCORES = [(0.1, 0.0), (0.4, 1.0), (0.35, 0.0), (0.8, 1.0), (0.4, 0.0)]


@pytest.mark.parametrize(
    ("text", "data", "exact"),
    [
        (U, [(1.0,), (4.0,), (6.0,), (50.0,)], Pairs([1.0, 4.0, 6.0, 50.0], "gini", "u").exact()),
        (AUC, SCORES, Pairs(SCORES, "auc").exact()),
    ],
)
@pytest.mark.parametrize("mixing", ["weighted", "paper"])
def test_the_statistic_comes_out_of_all_pairs(
    text: str, data: list[tuple[float, ...]], exact: float, mixing: str
) -> None:
    spec = parse_spec(f'algorithm.mixing = "{mixing}"\n' + text)
    rule = rule_for(spec, degree=1, rows=1)
    mass, private = rule.begin()
    assert math.isnan(spec.value(rule.readout(mass, private)))
    for k, own in enumerate(data):
        for other, record in enumerate(data):
            mass, private = rule.update(mass, private, own, record, k == other)
    assert spec.value(rule.readout(mass, private)) == pytest.approx(exact)


def test_the_u_statistic_counts_who_is_left() -> None:
    rule = rule_for(parse_spec(U), degree=1, rows=1, evicted_rows=1)
    assert isinstance(rule, WeightedMixing)
    assert rule.scale == 3 / 2


def test_the_adaptive_step_is_the_default_of_a_loss() -> None:
    bare, _, _ = LOSS.partition("[learning]")
    spelled = parse_spec(bare + '[learning]\nstep = "Adaptive"\n')
    assert parse_spec(bare).text == parse_spec(bare + "[learning]\n").text == spelled.text
    assert spelled.learning is not None and spelled.learning.step == "adaptive"
