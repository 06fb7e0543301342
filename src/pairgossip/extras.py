"""Optional libraries: imported where they are needed, named clearly where they are absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pairgossip.errors import MissingExtra


@contextmanager
def needed_for(feature: str, install: str = "pairgossip[lab]") -> Iterator[None]:
    """Turn a failed import inside the block into a sentence that says what to install.

    >>> with needed_for("figures"):
    ...     import json
    """
    try:
        yield
    except ImportError as missing:
        library = (missing.name or "a library").partition(".")[0]
        raise MissingExtra(
            f"{feature} needs {library}, which is not installed: pip install '{install}'."
        ) from missing
