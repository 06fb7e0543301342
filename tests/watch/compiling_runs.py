"""Runs whose compilation lasts as long as a test requires."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.extending import overload


def slow_to_compile() -> tuple[Callable[[int], int], threading.Event]:
    """Return a function that numba compiles at its first call, and a function that ends this."""
    released = threading.Event()

    def stub(x: int) -> int:
        raise NotImplementedError

    @overload(stub, strict=False)
    def compile_stub(x: Any) -> Callable[[Any], Any]:
        assert released.wait(60)
        return lambda x: x

    compiled: Callable[[int], int] = njit(lambda x: stub(x))
    return compiled, released
