"""What tests of peers share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .zenoh_people import Person


@pytest.fixture
def people(tmp_path: Path) -> Callable[..., Person]:
    def person(name: str, **options: Any) -> Person:
        return Person(tmp_path, name, **options)

    return person


@pytest.fixture(autouse=True, scope="module")
def hasty_services() -> Iterator[None]:
    """Let services in this process look at requests and write their status ten times a second.

    For whole modules: runs that several tests share are made in haste, too.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairgossip.peer.service.service._TICK", 0.1)
        patch.setattr("pairgossip.peer.service.service._LINGER", 0.05)
        yield


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a data file in a folder of its own, for a user without releases."""
    monkeypatch.setenv("PAIRGOSSIP_RELEASES", str(tmp_path / "state" / "releases"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "a.csv"
