from __future__ import annotations

from typing import Any

import pytest

from pairgossip import InputError
from pairgossip.algorithms import gosta_sync
from pairgossip.algorithms.methods import (
    Expectation,
    Method,
    Plain,
    Twin,
    find_method,
)


def test_names_are_forgiving() -> None:
    assert find_method("U1-gossip").name == "u1"
    assert find_method("GoSta").name == "gosta"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            ("boyd",),
            r"^Unknown method 'boyd': choose one of averaging, clipped-averaging, clipped-gosta, ",
        ),
        (("gosta", "asynch"), r"^Unknown clock 'asynch': did you mean 'async'\?$"),
        (("u2", "async"), r"^Method 'u2' has no asynchronous form"),
        (("weighted-gosta",), r"^Method 'weighted-gosta' has no synchronous form: use clock='as"),
        (("u2", "sync", 2), r"^Method 'u2' needs at least 3 nodes, not 2"),
    ],
)
def test_wrong_settings(settings: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        find_method(*settings)  # type: ignore[arg-type]


PLAIN = {"sync": Plain(gosta_sync.init, gosta_sync.step)}


def made(**changes: Any) -> Method:
    given: dict[str, Any] = {
        "name": "mine", "description": "", "plain": PLAIN, "estimates": "statistic",
        "averaged_numbers": 1,
    }  # fmt: skip
    return Method(**(given | changes))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": "My Method"}, "cannot be called 'My Method': choose lower case"),
        ({"name": "my-gossip"}, "not ending in '-gossip'"),
        ({"plain": {}}, r"has no algorithm: .*plain=\{'sync': Plain\(init, step\)\}"),
        ({"plain": {"sync": gosta_sync.step}}, "has no algorithm"),
        ({"plain": {"often": PLAIN["sync"]}}, "clock is 'often' .* must be 'sync' or 'async'"),
        ({"estimates": "median"}, "estimates is 'median' .* must be 'statistic' or 'row-mean'"),
        ({"updates": "never"}, "updates is 'never' .* must be 'first' or 'last' or 'either'"),
        ({"twins": {"async": Twin.OWN_PICKS}}, "clock of a twin is 'async' .* must be 'sync'"),
        ({"expectations": {"async": Expectation.GOSTA}}, "clock of an expectation is 'async'"),
        ({"estimates": "mean"}, "no observations travel: give swaps=False"),
        (
            {"twins": {"sync": Twin.AVERAGING}},
            "not do what its twin AVERAGING does: two nodes take",
        ),
        ({"twins": {"sync": Twin.TWO_WALKS}}, "not do what its twin TWO_WALKS does"),
        ({"twins": {"sync": Twin.WEIGHTED_PICKS}}, "not do what its twin WEIGHTED_PICKS does"),
        ({"twins": {"sync": Twin.COLLECT}}, "not do what its twin COLLECT does"),
        ({"twins": {"sync": Twin.ONE_WALK}, "relaxes": True}, "not do what its twin ONE_WALK does"),
        ({"expectations": {"sync": Expectation.U1}}, "estimates the statistic, which E z"),
        ({"expectations": {"sync": Expectation.AVERAGING}}, "does not converge to: leave"),
    ],
)
def test_a_method_that_cannot_be_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        made(**changes)
