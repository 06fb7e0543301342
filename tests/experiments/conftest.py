from __future__ import annotations

import matplotlib as mpl
import pytest

from pairgossip.experiments import reproduction
from tests.experiments.toy import TOY

mpl.use("Agg")


@pytest.fixture
def toy_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduction, "CATALOG", {"toy": TOY})
