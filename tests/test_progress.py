from __future__ import annotations

import pytest

from pairgossip import progress
from pairgossip.progress import progress_bar


def test_nobody_watching_means_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("work", 10) as advance:
        assert advance is None
    assert capsys.readouterr().err == ""


def test_quick_work_leaves_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("work", 10, show=True) as advance:
        assert advance is not None
        advance(10)
    assert capsys.readouterr().err == ""


def test_long_work_shows_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER_SECONDS", -1.0)
    with progress_bar("gosta on 12 nodes", 10, show=True) as advance:
        assert advance is not None
        advance(4)
        advance(6)
    shown = capsys.readouterr().err
    assert "gosta on 12 nodes" in shown
    assert "100%" in shown
