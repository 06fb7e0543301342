"""Fixtures that tests of peers share."""

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
    """Let services in this process check requests and write their status ten times a second.

    The scope is a module, so that runs that several tests share are also fast.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairgossip.peer.service.service._TICK", 0.1)
        patch.setattr("pairgossip.peer.service.service._LINGER", 0.05)
        yield


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data file in a separate folder, for a user without releases."""
    monkeypatch.setenv("PAIRGOSSIP_RELEASES", str(tmp_path / "state" / "releases"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "a.csv"
