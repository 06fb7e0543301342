from __future__ import annotations

import numpy as np
import pytest

from pairgossip.text import format_count, is_loopback, join_names, json_value, parse_address


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


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "10.0.0.1", "0.0.0.0", "localhost.example.org", "::"])
def test_other_machines(host: str) -> None:
    assert not is_loopback(host)
