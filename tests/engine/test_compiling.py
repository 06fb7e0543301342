"""Compilation is reported where and when it happens, and only then."""

from __future__ import annotations

import threading

import pytest
from numba import njit

from pairgossip.engine.compiling import noticing_compilation
from pairgossip.progress import COMPILING, LateBar, progress_bar


def test_compilation_is_noticed_once() -> None:
    double = njit(lambda x: 2 * x)
    noticed: list[int] = []
    with noticing_compilation(lambda: noticed.append(len(noticed))):
        assert (double(1), double(2)) == (2, 4)
        assert noticed == [0]
        double(1.5)  # for another type of number
        assert noticed == [0, 1]
    njit(lambda x: 3 * x)(1)
    assert noticed == [0, 1]  # there is no listener any longer


def test_other_threads_compile_on_their_own() -> None:
    noticed: list[bool] = []
    with noticing_compilation(lambda: noticed.append(True)):
        thread = threading.Thread(target=lambda: njit(lambda x: 4 * x)(1))
        thread.start()
        thread.join()
    assert noticed == []


def test_a_bar_says_that_it_compiles_until_the_next_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    triple = njit(lambda x: 3 * x)
    with progress_bar("A run", 2, show=True) as bar:
        assert isinstance(bar, LateBar)
        with noticing_compilation(bar.tell_compiling, everywhere=True):
            thread = threading.Thread(target=lambda: triple(1))
            thread.start()
            thread.join()
        assert bar.description == f"A run ({COMPILING})"
        bar(1)
        assert bar.description == "A run"
    assert COMPILING == "compiling, once"
    assert "A run" in capsys.readouterr().err
