"""Arguments are declared once: the check that all of them share, and its consequences."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import pytest

import pairgossip as pg
from pairgossip.arguments.argument import Argument, argument, declared
from pairgossip.arguments.estimate import EstimateArguments
from pairgossip.arguments.exact import ExactArguments, SignificanceArguments
from pairgossip.arguments.minimize import DUAL_AVERAGING, SKETCH, MinimizeArguments
from pairgossip.arguments.summarize import SummarizeArguments
from pairgossip.errors import InputError
from pairgossip.run_requests.estimation import EstimationRequest
from pairgossip.run_requests.learning import LearningRequest
from tests.cli.running import CommandLine

LAW = Argument(name="law", noun="edge law", choices=("uniform-edges", "node-clocks"))
COUNT = Argument(name="bins", noun="number of bins", kind=int, default=8, least=2, most=99)
PART = Argument(name="p", noun="rewired fraction", kind=float, default=0.5, least=0, most=1)


@dataclass(kw_only=True)
class Door:
    """The arguments of a front door that exists only in this test."""

    data: Any = None
    law: str = argument("uniform-edges", choices=("uniform-edges", "node-clocks"))
    bins: int | None = argument(None, kind=int, least=2)


@pytest.mark.parametrize(
    ("one", "value", "expected"),
    [
        (LAW, "Node Clocks", "node-clocks"),
        (LAW, None, None),
        (COUNT, 1e1, 10),
        (PART, 1, 1.0),
        (Argument(name="labels", kind=object), "anything", "anything"),
    ],
)
def test_a_value_is_taken_as_it_is_used(one: Argument, value: object, expected: object) -> None:
    assert one.check(value) == expected


@pytest.mark.parametrize(
    ("one", "value", "sentence"),
    [
        (LAW, "node", "Unknown edge law 'node': did you mean 'node-clocks'?"),
        (COUNT, 1, "The number of bins must be a whole number >= 2, not 1."),
        (COUNT, 100, "The number of bins must be at most 99, not 100."),
        (COUNT, None, "The number of bins must be a whole number >= 2, not None."),
        (PART, 2, "The rewired fraction must be a number between 0 and 1, not 2."),
    ],
)
def test_another_value_is_refused_in_one_sentence(
    one: Argument, value: object, sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        one.check(value)
    assert str(caught.value) == sentence


def test_a_front_door_declares_its_arguments_as_fields() -> None:
    assert list(declared(Door)) == ["law", "bins"]
    assert declared(Door)["law"].default == Door().law
    assert declared(Door)["law"].kind is str


DOORS: list[tuple[Any, Any, Any]] = [
    (pg.estimate, EstimateArguments, EstimationRequest),
    (pg.minimize, MinimizeArguments, LearningRequest),
]


@pytest.mark.parametrize(
    ("function", "door", "more"),
    [
        *((function, door, set()) for function, door, _ in DOORS),
        (pg.exact, ExactArguments, set()),
        (pg.test, SignificanceArguments, {"graph", "options"}),
        (pg.summarize, SummarizeArguments, set()),
    ],
)
def test_signatures_and_docstrings_are_as_declared(
    function: Any, door: Any, more: set[str]
) -> None:
    parameters = inspect.signature(function).parameters
    defaults = {each.name: each.default for each in fields(door)}
    assert set(parameters) - more == set(defaults)
    for name in defaults.keys() - {"data"}:
        is_needed = parameters[name].default is inspect.Parameter.empty
        assert defaults[name] == (MISSING if is_needed else parameters[name].default)
    text = inspect.getdoc(function) or ""
    heads = re.findall(r"^(\w+(?:, \w+)*)$", text.partition("Parameters\n")[2], re.MULTILINE)
    assert {name for head in heads for name in head.split(", ")} >= set(parameters)


@pytest.mark.parametrize(("function", "_", "request_type"), DOORS)
def test_every_argument_reaches_the_request(
    monkeypatch: pytest.MonkeyPatch, function: Any, _: Any, request_type: Any
) -> None:
    monkeypatch.setattr(request_type, "__post_init__", lambda self: None)
    monkeypatch.setattr(request_type, "execute", lambda self: self)
    values = {name: object() for name in inspect.signature(function).parameters}
    if request_type is LearningRequest:
        values["method"] = DUAL_AVERAGING
    request = function(**values)
    assert {name: getattr(request, name) for name in values} == values


def wrong_value(one: Argument) -> Any:
    """Return a value that the declaration does not allow; None if it allows any."""
    if one.choices:
        return "nonsense"
    if one.kind is int and one.least > -float("inf"):
        return int(one.least) - 1
    return 2 * one.most + 1 if one.least > -float("inf") else None


REFUSALS = [
    (function, one, wrong_value(one))
    for function, door in (
        *((function, door) for function, door, _ in DOORS),
        (pg.exact, ExactArguments),
        (pg.test, SignificanceArguments),
        (pg.summarize, SummarizeArguments),
    )
    for one in declared(door).values()
    if wrong_value(one) is not None
]


def begins(one: Argument, value: Any) -> str:
    noun = one.noun or one.name
    return f"Unknown {noun} 'nonsense'" if one.choices else f"The {noun} must be"


@pytest.mark.parametrize(("function", "one", "value"), REFUSALS)
def test_python_refuses_what_is_not_declared(function: Any, one: Argument, value: Any) -> None:
    what: dict[str, Any] = {"labels": [0, 0, 1]} if function is pg.minimize else {"kernel": "gini"}
    if one.belongs_to == SKETCH:
        what["method"] = SKETCH
    with pytest.raises(InputError) as caught:
        function([1.0, 2.0, 4.0], **{**what, one.name: value})
    assert str(caught.value).startswith(begins(one, value))


@pytest.mark.parametrize(("function", "one", "value"), [each for each in REFUSALS if each[1].help])
def test_the_command_line_refuses_it_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, function: Any, one: Argument, value: Any
) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("x,class\n1,0\n2,0\n4,1\n", encoding="utf-8")
    words: list[Any] = ["estimate", file, "--column", "x", "--kernel", "gini"]
    if function is pg.minimize:
        words = ["train", file, "--label", "class", "--model", tmp_path / "model.json"]
    if one.belongs_to == SKETCH:
        words += ["--method", SKETCH]
    option = one.option or f"--{one.name}"
    assert CommandLine(capsys).error(*words, option, value).startswith(begins(one, value))


@pytest.mark.parametrize(
    "one", [each for each in declared(MinimizeArguments).values() if each.belongs_to]
)
def test_an_argument_of_another_method_is_refused(one: Argument) -> None:
    other = DUAL_AVERAGING if one.belongs_to == SKETCH else SKETCH
    value = "async" if one.name == "clock" else next(iter(one.choices), 0.5e-3)
    with pytest.raises(InputError, match=f"leave ({one.name}=|it) out") as caught:
        asked: dict[str, Any] = {"method": other, one.name: value}
        pg.minimize([1.0, 2.0, 4.0], [0, 0, 1], **asked)
    assert caught.value.argument == one.name
