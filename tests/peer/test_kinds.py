"""Kinds of run: each is a type, and what is declared for a key holds wherever it is read."""

from __future__ import annotations

import json

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.specification.agreement import Spec
from pairgossip.peer.specification.canonical_text import decode_spec, restore_spec
from pairgossip.peer.specification.keys import EXCHANGE, KERNEL, LOSS, SUMS, Key, keys_of
from pairgossip.peer.specification.kinds import (
    CountsSpec,
    ModelSpec,
    NoisySpec,
    ReportsSpec,
    RowsSpec,
)
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.specification.tables import Algorithm

STATISTIC = 'kernel = "gini"\ncolumns = ["a"]\n{}\nranges.a = [0, 1]\n'
MODEL = (
    'loss = "auc-logistic"\ncolumns = ["a"]\nlabel = "l"\n{}\nranges = {{a = [0, 1], l = [0, 1]}}\n'
)
REPORTS = 'algorithm.name = "exchange"\nprivacy = {epsilon = 1, bins = 4}'
KINDS = {
    RowsSpec: STATISTIC.format('algorithm.name = "exchange"'),
    ReportsSpec: STATISTIC.format(REPORTS),
    CountsSpec: STATISTIC.format(""),
    NoisySpec: STATISTIC.format("privacy.epsilon = 1"),
    ModelSpec: MODEL.format(""),
}
GIVEN = {
    "whole": '["a"]',
    "missing": '"drop"',
    "links": '{"ann bob" = 2}',
    "heterogeneity": "true",
    "learning": "{radius = 1}",
    "stop": "{exchanges = 1}",
    "thresholds": "[0.5]",
    "mixing": '"paper"',
    "name": '"sums"',
}
RESTRICTED = [
    (f"{prefix}{name}", key)
    for prefix, table in (("", Spec), ("algorithm.", Algorithm))
    for name, key in keys_of(table).items()
    if (key.algorithm or key.measure) and name not in ("report", "by", "within", "weight", "noise")
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_of_its_kind_and_stays_so(kind: type[Spec]) -> None:
    spec = parse_spec(KINDS[kind])
    assert type(spec) is type(decode_spec(spec.text)) is type(restore_spec(spec.text)) is kind
    assert restore_spec(spec.text) == spec and spec.is_sums == ("only" in spec.leaves()[0])


@pytest.mark.parametrize(("place", "key"), RESTRICTED)
def test_a_key_is_refused_by_runs_that_do_not_have_it(place: str, key: Key) -> None:
    name = place.rpartition(".")[2]
    value = GIVEN.get(name, "[1]" if name in ("groups", "strata", "weights") else "5")
    for algorithm in (EXCHANGE, SUMS):
        for measure, text in ((KERNEL, STATISTIC), (LOSS, MODEL)):
            if {key.algorithm or algorithm, key.measure or measure} == {algorithm, measure}:
                continue
            lines = f'{place} = {value}\nalgorithm.name = "{algorithm}"'
            with pytest.raises(InputError, match=f"^{place} is"):
                parse_spec(text.format(lines))


def test_keys_of_later_versions_are_in_no_canonical_text_unless_given() -> None:
    first = {"algorithm", "classes", "columns", "kernel", "label", "learning", "loss", "members"}
    first |= {"noise", "privacy", "ranges", "stop", "target"}
    assert set(json.loads(parse_spec(KINDS[RowsSpec]).text)) == first
    whole = parse_spec(STATISTIC.format('whole = ["a"]'))
    assert set(json.loads(whole.text)) == {*first, "whole"}
