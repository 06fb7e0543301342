from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pytest

from pairgossip_paper import reproduction
from pairgossip_paper.framework import report
from tests.paper.toy import TOY, outline

mpl.use("Agg")


@pytest.fixture
def toy_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduction, "CATALOG", {"toy": TOY})


class Blank:
    """A figure or axes on which nothing is drawn."""

    def __init__(self, **_: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None

    def subplots(self, rows: int, columns: int, **_: Any) -> Any:
        return [[Blank() for _ in range(columns)] for _ in range(rows)]

    def get_legend_handles_labels(self) -> tuple[list[Any], list[str]]:
        return [], []

    def get_xlim(self) -> tuple[float, float]:
        return 1.0, 10.0


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make reports of tests with curves but without figures, which take most of the time.

    Reports of fixtures with module scope are made earlier, with figures.
    """
    monkeypatch.setattr("matplotlib.figure.Figure", Blank)


@pytest.fixture
def outlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip drawing, which takes most of the time of the toy."""
    monkeypatch.setattr(report, "_render", outline)
