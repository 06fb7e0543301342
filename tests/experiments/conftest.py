from __future__ import annotations

import matplotlib as mpl
import pytest

from pairgossip.experiments import reproduction
from pairgossip.experiments.framework import report
from tests.experiments.toy import TOY, outline

mpl.use("Agg")


@pytest.fixture
def toy_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduction, "CATALOG", {"toy": TOY})


@pytest.fixture
def outlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw nothing, which takes most of the time of the toy."""
    monkeypatch.setattr(report, "_render", outline)
