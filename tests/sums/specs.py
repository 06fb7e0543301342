"""Specifications of runs on sums."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence

from pairgossip.peer.specification.spec import Spec, parse_spec


def sums_text(
    measure: str,
    columns: Sequence[str],
    label: str | None = None,
    *,
    ranges: Sequence[float] = (0, 1),
    top: str = "",
    algorithm: str = "",
    tables: str = "",
) -> str:
    named = [*columns, *([] if label is None else [label])]
    lines = [
        measure,
        f"columns = {json.dumps(list(columns))}",
        "" if label is None else f'label = "{label}"',
        top,
        '[algorithm]\nname = "sums"',
        algorithm,
        tables,
        "[ranges]",
        *(f"{name} = {[0, 1] if name == label else list(ranges)}" for name in named),
    ]
    return "\n".join(lines)


def kernel_spec(kernel: str, columns: Sequence[str], label: str | None = None, **more: str) -> Spec:
    """Return a specification; it counts plain cells by default."""
    algorithm = more.get("algorithm", "")
    if "[privacy]" not in more.get("tables", "") and "least_cell" not in algorithm:
        more["algorithm"] = f"least_cell = 1\n{algorithm}"
    return _parsed(sums_text(f'kernel = "{kernel}"', columns, label, **more))  # type: ignore[arg-type]


_parsed = functools.cache(parse_spec)  # many tests run the same specification many times
