"""Arguments are declared once: the check that all of them share, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pairgossip.arguments.argument import Argument, argument, declared
from pairgossip.errors import InputError

LAW = Argument(name="law", noun="edge law", choices=("uniform-edges", "node-clocks"))
COUNT = Argument(name="bins", noun="number of bins", kind=int, default=8, least=2, most=99)
PART = Argument(name="p", noun="rewired fraction", kind=float, default=0.5, least=0, most=1)


@dataclass(kw_only=True)
class Door:
    """The arguments of a front door that only this test has."""

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
