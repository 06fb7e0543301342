"""Errors, their suggestions, missing extras, text and progress."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pairgossip import progress
from pairgossip.errors import InputError, MissingExtra, canonical, needed_for, unknown_name
from pairgossip.progress import progress_bar
from pairgossip.text import format_count, is_loopback, join_names, json_value, parse_address


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


def test_a_name_far_off_is_not_offered() -> None:
    names = ["breast-cancer-wisconsin", "digits", "engel", "wine"]
    assert str(unknown_name("dataset", "iris", names)).endswith(
        f"choose one of {', '.join(names)}."
    )


def test_one_word_of_a_name_offers_it_if_it_is_of_no_other() -> None:
    names = ["goodman-kruskal-gamma", "within-cluster-scatter", "between-cluster-scatter"]
    assert "did you mean 'goodman-kruskal-gamma'?" in str(unknown_name("kernel", "gamma", names))
    assert "choose one of" in str(unknown_name("kernel", "cluster", names))


def test_a_missing_library_is_named_with_what_brings_it() -> None:
    sentence = (
        r"^Telepathy needs no_such_library, which is not installed: "
        r"pip install 'pairgossip\[lab\]'\.$"
    )
    with pytest.raises(MissingExtra, match=sentence), needed_for("Telepathy"):
        import no_such_library.inside  # type: ignore[import-not-found]  # noqa: F401


def test_a_library_that_does_not_load_is_not_called_missing() -> None:
    reason = "libfar.so: failed to map segment\nfrom shared object"
    with pytest.raises(MissingExtra) as refused, needed_for("Telepathy"):
        raise ImportError(reason, name="lib")
    assert str(refused.value) == (
        "Telepathy needs a library that is installed but does not load "
        "(libfar.so: failed to map segment from shared object)."
    )


def test_json_holds_no_arrays_and_no_infinities() -> None:
    given = {1: np.array([0.5, np.nan]), "a": (np.float64(2), float("inf"), np.int32(3), "x", None)}
    assert json_value(given) == {"1": [0.5, None], "a": [2.0, None, 3, "x", None]}


def test_counts_and_names() -> None:
    assert (format_count(1, "row"), format_count(1200, "row")) == ("1 row", "1,200 rows")
    assert join_names(["a"]) == "a"
    assert join_names(["a", "b", "c"], "or") == "a, b or c"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("[::1]:80", ("::1", 80)),
        ("localhost:0", ("localhost", 0)),
        ("host:65536", None),
        ("host:\u0663", None),
        ("host:-1", None),
        (":80", None),
        ("folder", None),
    ],
)
def test_addresses_are_a_host_and_a_port(text: str, address: tuple[str, int] | None) -> None:
    assert parse_address(text) == address


def test_quick_work_leaves_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("work", 10, show=True) as advance:
        assert advance is not None
        advance(10)
    assert capsys.readouterr().err == ""


def test_long_work_shows_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_SHOW_AFTER_SECONDS", -1.0)
    with progress_bar("gosta on 12 nodes", 10, show=True) as advance:
        assert advance is not None
        advance(4)
        advance(6)
    shown = capsys.readouterr().err
    assert "gosta on 12 nodes" in shown
    assert "100%" in shown


def test_a_notice_keeps_its_parts_at_another_place() -> None:
    problem = InputError("Give {argument}.", "engine", "plain", subject="method").at("run.toml")
    assert str(problem) == "run.toml: Give engine='plain'."
    assert (problem.argument, problem.value) == ("engine", "plain")
    assert (problem.place, problem.subject) == ("run.toml", "method")
    assert InputError("Give {argument}.", "engine").subject == "engine"
    assert pickle.loads(pickle.dumps(problem)).spell(lambda name, _: f"--{name}") == (
        "run.toml: Give --engine."
    )


def test_this_machine_and_others() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"]))
    assert not any(map(is_loopback, ["", "10.0.0.1", "0.0.0.0", "localhost.example.org", "::"]))
