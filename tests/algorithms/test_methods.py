from __future__ import annotations

import pytest

from pairgossip import InputError
from pairgossip.algorithms import METHODS, find_method


def test_names_are_forgiving() -> None:
    assert find_method("U1-gossip").name == "u1"
    assert find_method("GoSta").name == "gosta"


def test_every_method_has_a_description_and_a_clock() -> None:
    for method in METHODS.values():
        assert method.description
        assert method.clocks
        assert method.messages_per_iteration == 2 * method.exchanges_per_iteration


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            ("boyd",),
            r"^Unknown method 'boyd': choose one of averaging, gosta, u1, u2, weighted-gosta\.$",
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
