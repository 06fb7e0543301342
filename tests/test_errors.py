from __future__ import annotations

import pytest

from pairgossip.errors import MissingExtra, canonical, unknown_name
from pairgossip.extras import needed_for


@pytest.mark.parametrize("name", ["Watts_Strogatz", " watts-strogatz ", "watts strogatz"])
def test_names_have_one_spelling(name: str) -> None:
    assert canonical(name) == "watts-strogatz"


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("ginni", "did you mean 'gini'?"),
        ("vari", "did you mean 'variance'?"),
        ("fast", "choose one of gini, variance."),
        ("", "choose one of gini, variance."),
    ],
)
def test_the_nearest_name_is_offered(typed: str, hint: str) -> None:
    error = unknown_name("kernel", typed, ["variance", "gini"])
    assert str(error) == f"Unknown kernel '{typed}': {hint}"


def test_a_missing_library_is_named_with_what_brings_it() -> None:
    sentence = (
        r"^Telepathy needs no_such_library, which is not installed: "
        r"pip install 'pairgossip\[lab\]'\.$"
    )
    with pytest.raises(MissingExtra, match=sentence), needed_for("Telepathy"):
        import no_such_library.inside  # type: ignore[import-not-found]  # noqa: F401
