from __future__ import annotations

import msgspec
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.peer.protocol.program import Disagreement, Words
from pairgossip.peer.specification.spec import Spec, parse_spec
from pairgossip.peer.sums.programs import SumsProgram
from tests.sums.running import deal, run_programs, start_and_take, start_programs
from tests.sums.specs import sums_text

FEATURES, LABELS = pg.datasets.breast_cancer_wisconsin()
ROWS = np.column_stack([FEATURES, LABELS])
COLUMNS = [f"x{k}" for k in range(FEATURES.shape[1])]


def loss_spec(loss: str = "auc-logistic", tables: str = "", **more: str) -> Spec:
    ranges = (1, 10)
    text = sums_text(f'loss = "{loss}"', COLUMNS, "y", ranges=ranges, tables=tables, **more)
    return parse_spec(text)


def objective(model: np.ndarray, loss: str, l2: float = 0.0) -> float:
    scores = FEATURES @ model
    margins = np.subtract.outer(scores[LABELS == 1], scores[LABELS == 0])
    values = {
        "auc-logistic": np.logaddexp(0, -margins),
        "auc-squared-hinge": np.maximum(0, 1 - margins) ** 2,
        "auc-squared": (1 - margins) ** 2,
    }[loss]
    return float(values.sum()) / len(LABELS) ** 2 + l2 * float(model @ model)


@pytest.mark.parametrize(
    ("loss", "l2", "off"),
    [
        ("auc-logistic", 0.0, 1e-8),
        ("auc-squared-hinge", 1e-3, 1e-5),  # counts in cells, but no places in cells
        ("auc-squared", 0.0, 1e-8),
    ],
)
def test_the_model_is_within_a_hundred_thousandth_of_the_best(
    loss: str, l2: float, off: float
) -> None:
    spec = loss_spec(loss, f"[learning]\nl2 = {l2}" if l2 else "")
    result = run_programs(start_programs(spec, deal(ROWS, 5)))
    penalty = pg.SquaredL2(l2) if l2 else None
    best = pg.minimize(
        FEATURES, LABELS, loss=loss, penalty=penalty, method="sketch", tolerance=1e-12,
        engine="plain", iterations=300,
    )  # fmt: skip
    assert result.model is not None and result.objective is not None
    assert result.finished and result.rounds <= 50
    reached = objective(np.array(result.model), loss, l2)
    assert reached <= objective(best.model, loss, l2) + off
    assert result.objective == pytest.approx(reached, abs=2 * off)


def test_a_model_that_sums_do_not_tell_is_not_called_the_best() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 20))
    labels = (x.sum(axis=1) + 4 * rng.normal(size=100) > 0).astype(float)
    names = [f"x{k}" for k in range(20)]
    text = sums_text(
        'loss = "auc-logistic"', names, "l", ranges=(-1000, 1000), algorithm="rounds = 3"
    )
    result = run_programs(start_programs(parse_spec(text), deal(np.column_stack([x, labels]), 3)))
    assert result.model is not None
    assert (result.objective, result.finished) == (None, False)
    assert "declare narrower ranges" in result.describe_lack()


def test_several_grades_are_ordered() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, size=(300, 2))
    grades = np.clip(np.floor(4 * (x[:, 0] + 0.2 * rng.normal(size=300))), 0, 2)
    text = sums_text('loss = "ranking-logistic"', ["a", "b"], "g").replace(
        "g = [0, 1]", "g = [0, 2]"
    )
    result = run_programs(start_programs(parse_spec(text), deal(np.column_stack([x, grades]), 3)))
    best = pg.minimize(
        x, grades, loss="ranking-logistic", method="sketch", tolerance=1e-12, engine="plain"
    )
    assert result.model == pytest.approx(tuple(best.model), abs=2e-3)


def test_no_more_sums_become_known_than_are_agreed_on() -> None:
    for rounds in (3, 4, 7):
        totals: list[Words] = []
        spec = loss_spec(algorithm=f"rounds = {rounds}")
        result = run_programs(start_programs(spec, deal(ROWS, 3)), totals)
        assert not result.finished and result.model is not None
        assert "agree on more with algorithm.rounds" in result.describe_lack()
        assert len(totals) == result.rounds <= rounds


def at_scores(part: np.ndarray) -> tuple[SumsProgram, bytes]:
    """Return a program that asks for scores at a model, and its question."""
    program = start_and_take(loss_spec(), part)
    ask = program.ask()
    assert ask is not None
    return program, ask.public


def test_all_take_the_model_of_one_member_if_theirs_differ_by_a_rounding() -> None:
    program, public = at_scores(ROWS)
    name, model, *rest = msgspec.msgpack.decode(public)
    assert name == "scores" and [one * 2**40 % 1 for one in model] == [0.0] * len(model)
    assert [np.frexp(one)[0] * 2**20 % 1 for one in rest[:2]] == [0.0, 0.0]
    before = program.contribute(program.ask())  # type: ignore[arg-type]
    moved = msgspec.msgpack.encode((name, [model[0] + 2.0**-35, *model[1:]], *rest))
    followed = program.follow(moved)
    assert followed.public == moved
    assert (program.contribute(followed) != before).any()
    again, _ = at_scores(ROWS)
    assert (again.contribute(again.follow(moved)) == program.contribute(followed)).all()


def test_another_model_is_a_disagreement() -> None:
    program, public = at_scores(ROWS)
    name, model, low, high, order = msgspec.msgpack.decode(public)
    wrong = [
        (name, [model[0] + 1e-3, *model[1:]], low, high, order),
        (name, model, low, high, order + 1),
        (name, model, low, 2 * high, order),
        (name, model[1:], low, high, order),
        ("gradient", model, low, high, order),
        (name, [float("nan"), *model[1:]], low, high, order),
    ]
    unreadable = (b"\xc1", b"\x91\xa2\xff\xfe")  # the second is not UTF-8
    for one in (*map(msgspec.msgpack.encode, wrong), *unreadable):
        with pytest.raises(Disagreement):
            program.follow(one)
    (program,) = start_programs(loss_spec(), [ROWS])  # moments are requested in only one way
    name, model, low, high, order = msgspec.msgpack.decode(program.ask().public)  # type: ignore[union-attr]
    with pytest.raises(Disagreement):
        program.follow(msgspec.msgpack.encode((name, model, low, high + 1e-12, order)))


def test_sums_of_no_rows_stop_the_run_with_a_sentence() -> None:
    text = sums_text('loss = "ranking-logistic"', ["a"], "g").replace("g = [0, 1]", "g = [0, 2]")
    (program,) = start_programs(parse_spec(text), [np.array([[0.2, 0.0], [0.7, 1.0]])])
    ask = program.ask()
    assert ask is not None
    total = program.contribute(ask)
    total[2 * (ask.words // 3) :][:1] -= total[:1] + total[:1]  # grades of 1, 1 and -2 rows
    with pytest.raises(Disagreement, match="a negative number of rows"):
        program.take(ask, total)


def test_rows_of_one_class_have_no_model() -> None:
    result = run_programs(start_programs(loss_spec(), deal(ROWS[LABELS == 0][:30], 3)))
    assert (result.model, result.objective, result.finished) == (None, None, False)


def test_scores_are_not_taken_to_lie_as_far_as_ranges_allow() -> None:
    """Ranges of many columns are ten times as wide as the spread of rows."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 40))
    labels = (x.sum(axis=1) + 3 * rng.normal(size=200) > 0).astype(float)
    names = [f"x{k}" for k in range(40)]
    tables = "[learning]\nl2 = 0.01"
    text = sums_text('loss = "auc-logistic"', names, "l", ranges=(-30, 30), tables=tables)
    spec, rows = parse_spec(text), np.column_stack([x, labels])
    (program,) = start_programs(spec, [rows])
    highest = []
    while (ask := program.ask()) is not None and program.result is None:
        name, model, low, high, _ = msgspec.msgpack.decode(ask.public)
        if name == "scores":
            assert low <= (x @ model / 30).min() and (x @ model / 30).max() <= high
            highest.append(high / np.abs(model).sum())
        program.take(ask, program.contribute(ask))
    assert highest[-1] < 0.5 < highest[0]
    assert program.result is not None and program.result.finished
