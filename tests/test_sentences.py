"""Front doors refuse a wrong argument with exactly the recorded sentence."""

from __future__ import annotations

import json

import pytest

from tests.sentences import FILE, calls, refusal

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))
CALLS = {text: call for text, call in calls() if text in RECORDED}


def test_every_recorded_call_is_made() -> None:
    assert RECORDED and CALLS.keys() == RECORDED.keys()


@pytest.mark.parametrize("text", CALLS)
def test_a_wrong_argument_is_refused_in_the_recorded_sentence(text: str) -> None:
    assert refusal(CALLS[text]) == RECORDED[text]
