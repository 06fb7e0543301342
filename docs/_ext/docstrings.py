"""Docstrings as they are written: plain formulas, and short names for other parts of the package.

A bar in a docstring is a bar, as in |E|, and no markup. Annotations carry the file a class is
defined in (``pairgossip.graphs.graph.Graph``), docstrings its bare name (``Graph``); both lead to
the one page that documents it.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from typing import Any

from docutils import nodes
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode

ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
LITERAL = re.compile(r"(``.*?``)")
BY_LAST_NAME = defaultdict[str, list[str]](list)
"""The documented names, by what comes after their last dot."""


def keep_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape the bars outside of literal text, where reStructuredText sees substitutions."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "..")):
            parts = LITERAL.split(line)
            lines[number] = "".join(
                part if part.startswith("``") else part.replace("|", "\\|") for part in parts
            )


def describe_data(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Take the words below a catalog where it is defined, not those of its type."""
    if what != "data":
        return
    own = name.rsplit(".", 1)[-1]
    lines.clear()
    for module in [m for m in sys.modules if m.startswith("pairgossip.")]:
        if getattr(sys.modules[module], own, None) is obj:
            written = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", own))
            if written:
                lines[:] = written
                return


def name_aliases(
    app: Any, what: str, name: str, obj: Any, options: Any, takes: str | None, gives: str | None
) -> tuple[str | None, str | None]:
    """Write the aliases of conf.py by their names."""
    return tuple(text and ALIAS.sub(r"\1", text) for text in (takes, gives))  # type: ignore[return-value]


def index_names(app: Any, env: Any) -> None:
    """Index what all pages document by last names, once they are read."""
    BY_LAST_NAME.clear()
    for name in env.get_domain("py").objects:
        BY_LAST_NAME[name.rsplit(".", 1)[-1]].append(name)


def resolve(app: Any, env: Any, node: Any, contnode: nodes.TextElement) -> nodes.Node | None:
    """Find the documented object with the same last name, if there is exactly one."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].removeprefix("pg.").removesuffix("()")
    objects = env.get_domain("py").objects
    last = target.rsplit(".", 1)[-1]
    for tail in (target, last):
        found = [name for name in BY_LAST_NAME.get(last, ()) if f".{name}".endswith(f".{tail}")]
        shortest = [name for name in found if name.count(".") == 1] or found
        if len(shortest) == 1 and _may_mean(target, shortest[0]):
            entry = objects[shortest[0]]
            return make_refnode(
                app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, shortest[0]
            )
    # A docstring also puts parameters and expressions between single backticks.
    return contnode if node["reftype"] == "obj" else None


def _may_mean(target: str, name: str) -> bool:
    return "." not in target or target.startswith("pairgossip.") or name.endswith(target)


def setup(app: Any) -> dict[str, bool]:
    """Read docstrings after numpydoc has; look names up after Sphinx has found nothing."""
    app.connect("autodoc-process-docstring", describe_data, priority=100)
    app.connect("autodoc-process-docstring", keep_bars, priority=900)
    app.connect("autodoc-process-signature", name_aliases)
    app.connect("env-updated", index_names)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
