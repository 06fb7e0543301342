"""Make the site build faster; its pages stay the same, byte for byte."""

from __future__ import annotations

import gc
import logging
from functools import cache
from pathlib import Path
from typing import Any

from bs4 import Tag
from docutils.statemachine import StateWS
from jinja2 import FileSystemLoader
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from pydata_sphinx_theme import toctree
from sphinx.domains.python import PythonDomain
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


class Sidebar:
    """A sidebar of the theme, of which only the entries that changed are written again."""

    def __init__(self, soup: Any) -> None:
        self._soup = soup
        self._links = soup.find_all("a")
        self._written: dict[int, str] = {}

    def find_all(self, name: str, href: str) -> list[Any]:
        """Return the links that lead to a page; ``#`` is the page itself."""
        return [link for link in self._links if link["href"] == href]

    def __str__(self) -> str:
        return "".join(self._text_of(part) for part in self._soup.children)

    def _text_of(self, part: Any) -> str:
        if not isinstance(part, Tag):
            return str(part.output_ready("minimal"))
        if part.name == "ul":
            begin = str(Tag(name="ul", attrs=part.attrs)).removesuffix("</ul>")
            return begin + "".join(map(self._text_of, part.children)) + "</ul>"
        if "current" in (part.get("class") or ""):
            return str(part)
        if id(part) not in self._written:
            self._written[id(part)] = str(part)
        return self._written[id(part)]


def write_entries_once() -> None:
    """Let pages share the text of their sidebars: the theme would write it again for every page."""
    patch = toctree._patch_cached_sidebar

    def patch_sidebar(app: Any, key: Any, *args: Any) -> str | None:
        cached = toctree._sidebar_cache(app).get(key)
        if cached and not isinstance(cached[1], Sidebar):
            cached[1] = Sidebar(cached[1])
        return patch(app, key, *args)

    toctree._patch_cached_sidebar = patch_sidebar


def search_names_by_their_ends() -> None:
    """Look for nothing whose last word ends no name: ``int`` would be compared with all names."""
    find = PythonDomain.find_obj
    ends: dict[int, set[str]] = {}

    def find_obj(self: Any, env: Any, modname: Any, classname: Any, name: str, *args: Any) -> Any:
        if len(self.objects) not in ends:
            ends.clear()
            ends[len(self.objects)] = {each.rpartition(".")[2] for each in self.objects}
        if name.removesuffix("()").rpartition(".")[2] not in ends[len(self.objects)]:
            return []
        return find(self, env, modname, classname, name, *args)

    PythonDomain.find_obj = find_obj  # type: ignore[method-assign,assignment]


def make_transitions_once() -> None:
    """Remember what the states of the parser wait for: every nested text makes all states anew."""
    add = StateWS.add_initial_transitions
    known: dict[type, tuple[list[str], list[tuple[str, Any, str]]]] = {}

    def add_initial_transitions(self: Any) -> None:
        kind = type(self)
        if kind not in known:
            add(self)
            found = [
                (name, pattern, after) for name, (pattern, _, after) in self.transitions.items()
            ]
            known[kind] = self.transition_order[:], found
        order, found = known[kind]
        self.transition_order = order[:]
        self.transitions = {
            name: (pattern, getattr(self, name), after) for name, pattern, after in found
        }

    StateWS.add_initial_transitions = add_initial_transitions


def setup(app: Any) -> dict[str, bool]:
    """Change the programs that build, not what they build."""
    collect_rarely()
    if app.verbosity < 2:
        tell_no_details()
    share_template()
    stem_words_once()
    write_entries_once()
    search_names_by_their_ends()
    make_transitions_once()
    return {"parallel_read_safe": True, "parallel_write_safe": True}
