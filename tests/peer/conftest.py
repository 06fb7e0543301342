"""What tests of peers share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .zenoh_people import Person


@pytest.fixture
def people(tmp_path: Path) -> Callable[..., Person]:
    def person(name: str, **options: Any) -> Person:
        return Person(tmp_path, name, **options)

    return person
