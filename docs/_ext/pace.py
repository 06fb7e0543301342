"""Make the site build faster; its pages stay the same, byte for byte."""

from __future__ import annotations

import gc
import logging
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx.search import en


def collect_rarely() -> None:
    """Look less often for what can be freed: trees of pages are many objects, and most stay."""
    gc.set_threshold(200_000, 20, 20)


def tell_no_details() -> None:
    """Make no record of every event and file, which only ``-vv`` would show."""
    logging.disable(logging.DEBUG)


def share_template() -> None:
    """Let numpydoc compile its template once: it would do so again for every docstring."""
    folder = Path(docscrape_sphinx.__file__).parent / "templates"
    environment = SandboxedEnvironment(loader=FileSystemLoader(folder))
    docscrape_sphinx.SandboxedEnvironment = lambda loader: environment


def stem_words_once() -> None:
    """Remember the stems of words, which the search index would find again for every page."""
    stem_of = cache(en.SearchEnglish({}).stem)
    en.SearchEnglish.stem = lambda self, word: stem_of(word)  # type: ignore[method-assign]


def setup(app: Any) -> dict[str, bool]:
    """Change the programs that build, not what they build."""
    collect_rarely()
    if app.verbosity < 2:
        tell_no_details()
    share_template()
    stem_words_once()
    return {"parallel_read_safe": True, "parallel_write_safe": True}
