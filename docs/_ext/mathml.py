"""Formulas as MathML, which browsers draw without a script and without the network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)
# What MathML Core takes for operators that stretch or stand apart: bars of a norm, a bar above.
UPRIGHT = '<mo fence="false" stretchy="false" lspace="0" rspace="0">'
CORRECTIONS = {
    "<mo>&#x02016;</mo>": f"{UPRIGHT}&#x02016;</mo>",
    "<mo>&#x0007C;</mo>": f"{UPRIGHT}&#x0007C;</mo>",
    "<mover><mi>": '<mover accent="true"><mi>',
}


def formula(node: nodes.Element, display: str) -> str:
    """Convert LaTeX; a command that the converter does not know fails the build."""
    made = convert(node.astext(), display=display)
    if "\\" in made or "<mi>&</mi>" in made:
        LOGGER.warning("cannot draw the formula %s", node.astext(), location=node)
    for printed, drawn in CORRECTIONS.items():
        made = made.replace(printed, drawn)
    return made


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(formula(node, "inline"))
    raise nodes.SkipNode


def visit_display(self: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    self.body.append(f'<div class="formula">{formula(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer under the name of this file."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
