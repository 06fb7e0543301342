"""Optional libraries: imported where they are needed, named clearly where they are absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from pairgossip.errors import MissingExtra


@contextmanager
def needed_for(
    feature: str,
    install: str = "pairgossip[lab]",
    argument: str | None = None,
    value: object = None,
) -> Iterator[None]:
    """Turn a failed import inside the block into a sentence that says what to install.

    ``argument`` and ``value`` are what avoids the need, if ``feature`` has ``{argument}``.

    >>> with needed_for("figures"):
    ...     import json
    """
    try:
        yield
    except ImportError as missing:
        library = (missing.name or "a library").partition(".")[0]
        raise MissingExtra(
            f"{feature} needs {library}, which is not installed: pip install '{install}'.",
            argument,
            value,
        ) from missing


def needed_for_speed() -> AbstractContextManager[None]:
    """Turn a failed import of compiled loops into a sentence with the way around them."""
    feature = "The fast engine ({argument} runs without it)"
    return needed_for(feature, argument="engine", value="plain")
