"""Canonical texts written to files: the same specification is read back."""

from __future__ import annotations

import json

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.specification.canonical_text import (
    find_positive_class,
    restore_spec,
    write_toml,
)
from pairgossip.peer.specification.spec import parse_spec
from tests.peer.homes import AUC, GINI, LOSS

WORDS = """
kernel = "auc"
columns = ["score"]
label = "diseased"
classes = ["no", "yes \\"indeed\\" \\u202E\\u007F 😀"]
target = "U"
[ranges]
score = [-1e-7, 1e60]
"""
STRANGE = """
kernel = "kendall"
columns = ["a.b c\\nd", "größe"]
members = 100
whole = ["größe"]
[ranges]
"a.b c\\nd" = [0.1, 1]
"größe" = [-3, 3]
[algorithm]
bins = 8
"""
NOISY = """
kernel = "median"
columns = ["x"]
ranges.x = [0, 9007199254740993]
[privacy]
epsilon = 0.5
honest = 2
"""
MODEL = """
loss = "ranking-logistic"
columns = ["a", "b"]
label = "grade"
[ranges]
a = [0, 1]
b = [0, 2.5]
grade = [0, 2]
[learning]
l2 = 0.1
"""
REPORTS = """
algorithm.name = "exchange"
kernel = "auc"
columns = ["score"]
label = "sick"
classes = ["no", "yes"]
ranges.score = [0, 1]
[privacy]
epsilon = 1.0
bins = 4
[stop]
enough = true
"""


@pytest.mark.parametrize("given", [AUC, GINI, LOSS, WORDS, STRANGE, NOISY, MODEL, REPORTS])
def test_a_canonical_text_is_read_back(given: str) -> None:
    spec = parse_spec(given)
    written = write_toml(spec.text)
    assert parse_spec(written).hash == spec.hash
    assert restore_spec(spec.text) == spec
    assert all(letter.isprintable() or letter == "\n" for letter in written)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"kernel": {"a": {"b": 1}}}',
        "[" * 100_000,
        '{"a": ' + 400 * "[" + 400 * "]" + "}",
        '{"algorithm": {"name": "sums"}, "learning": 3}',
        "\ud800",
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        restore_spec(text)
    assert find_positive_class(text) is None


def test_a_text_that_is_not_canonical_is_refused() -> None:
    table = json.loads(parse_spec(WORDS).text)
    with pytest.raises(InputError, match="not in its canonical form"):
        restore_spec(json.dumps(table))


def test_the_positive_class_is_the_last() -> None:
    assert find_positive_class(parse_spec(WORDS).text) == 'yes "indeed" \u202e\x7f 😀'
    assert find_positive_class(parse_spec(AUC).text) == 1.0
    assert find_positive_class(parse_spec(LOSS).text) == 1.0
    assert find_positive_class(parse_spec(MODEL).text) is None
    assert find_positive_class(parse_spec(NOISY).text) is None
