"""Sites that do not wait for the disk: what is written is read again, but no power is lost here."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def _write_without_waiting() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield
