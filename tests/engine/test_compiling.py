"""Compilation is noticed where and when it happens, and only then."""

from __future__ import annotations

import threading

from numba import njit

from pairgossip.engine.compiling import noticing_compilation


def test_compilation_is_noticed_once() -> None:
    double = njit(lambda x: 2 * x)
    noticed: list[int] = []
    with noticing_compilation(lambda: noticed.append(len(noticed))):
        assert (double(1), double(2)) == (2, 4)
        assert noticed == [0]
        double(1.5)  # for another kind of number
        assert noticed == [0, 1]
    njit(lambda x: 3 * x)(1)
    assert noticed == [0, 1]  # nobody listens any more


def test_other_threads_compile_on_their_own() -> None:
    noticed: list[bool] = []
    with noticing_compilation(lambda: noticed.append(True)):
        thread = threading.Thread(target=lambda: njit(lambda x: 4 * x)(1))
        thread.start()
        thread.join()
    assert noticed == []
