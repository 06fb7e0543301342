"""What operators are told when rounds of sums stand still."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from pairgossip.peer.protocol.summation import Halt, explain_halt

NAMES = {"1": "clinic-a", "2": "clinic-b"}


def told(halt: Halt) -> str:
    return explain_halt(halt, NAMES.__getitem__)


@pytest.mark.parametrize("reason", get_args(get_type_hints(Halt)["reason"]))
def test_every_reason_is_told_in_a_sentence_that_says_what_to_do(reason: str) -> None:
    said = told(Halt(reason, ("1",), "bins that are elsewhere"))  # type: ignore[arg-type]
    assert said.endswith(".") and ("Run: " in said or ": " in said or "Put " in said)
    assert ("bins that are elsewhere" in said) == (reason in ("disagreement", "version"))


@pytest.mark.parametrize("reason", get_args(get_type_hints(Halt)["reason"]))
def test_an_eviction_is_advised_to_nobody_but_for_a_proven_lie(reason: str) -> None:
    said = told(Halt(reason, ("1",), "bins"))  # type: ignore[arg-type]
    assert ("evict clinic-a" in said) == (reason == "lie")
    assert "evict" not in said.replace("peer evict --help", "") or reason in ("lie", "repeated")


def test_one_member_asks_and_two_ask() -> None:
    for reason in ("repeated", "disagreement"):
        assert told(Halt(reason, ("1",))).startswith("'clinic-a' asks for something else")
        both = told(Halt(reason, ("1", "2")))
        assert both.startswith("'clinic-a' and 'clinic-b' ask for something else")


def test_what_a_member_has_sent_is_shown_without_its_control_characters() -> None:
    assert "\x1b" not in told(Halt("disagreement", ("1",), "\x1b[31mred"))
    assert all(told(Halt(one)) for one in ("rounds", "list", "version"))
    nobody = told(Halt("disagreement", (), "2 rows by their list, but counted 1"))
    assert nobody.startswith("The sum cannot be that of the members' rows (2 rows by")
    assert nobody.endswith("begin again from new folders.")
