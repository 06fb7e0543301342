"""Roles for lists that are a registry's when the site is built: ``{names}`` and ``{described}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docutils import nodes

from pairgossip import kernels, losses
from pairgossip.algorithms.methods import METHODS
from pairgossip.families import FAMILIES

REGISTRIES: Mapping[str, Mapping[str, Any]] = {
    "families": FAMILIES,
    "kernels": kernels.CATALOG,
    "losses": losses.CATALOG,
    "methods": METHODS,
}
"""The registries that pages may list, by what they write in the role."""


def list_names(
    role: str, source: str, text: str, line: int, inliner: Any, *_: Any, **__: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return the names in a registry, with commas between them, or each with its description."""
    if text not in REGISTRIES:
        message = f"There is no registry '{text}': use one of {', '.join(REGISTRIES)}."
        return [], [inliner.reporter.error(message, line=line)]
    listed: list[nodes.Node] = []
    for name, entry in REGISTRIES[text].items():
        said, end = (f": {entry.description}", ". ") if role == "described" else ("", ", ")
        listed += [nodes.literal("", name), nodes.Text(said), nodes.Text(end)]
    return listed[:-1], []


def setup(app: Any) -> dict[str, bool]:
    """Enter the roles."""
    for role in ("names", "described"):
        app.add_role(role, list_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
