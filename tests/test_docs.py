"""Code in the README and the docs: excerpts equal the source, other code runs; the site builds."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import matplotlib as mpl
import pytest

mpl.use("Agg")

from matplotlib import pyplot

import pairgossip as pg
from pairgossip.algorithms.methods import METHODS
from pairgossip.cli import main
from pairgossip.cli.outputs import files
from pairgossip.families import FAMILIES
from pairgossip.planning import predictions
from pairgossip_paper.framework import report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ESTIMATE = pg.estimate
ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILT = {"_build", "auto_examples", "generated"}
"""Folders of docs/ that a build makes."""
GUIDE = sorted(page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in BUILT)
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *GUIDE]
FENCE = re.compile(
    r"(?:<!-- source: (?P<file>\S+) (?P<name>\w+) -->\n)?```(?P<kind>[\w{}-]*)\n(?P<code>.*?)```",
    re.DOTALL,
)
LINKED = [ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *PAGES]
CODE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)")
HEADING = re.compile(r"^#{1,3} +(.+?) *$", re.MULTILINE)
# Hundreds of pages have thousands of tags: a parser would take a tenth of the build's time.
TAG = re.compile(r"<(link|math|\w+(?=\s[^<>]*\b(?:id|src|srcset)=))([^<>]*)>")
ATTRIBUTE = re.compile(r"\b(id|src|srcset|href)=([\"'])(.*?)\2")
INCLUDED = re.compile(r"^:::\{include\} (\S+)", re.MULTILINE)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def source_of(file: str, name: str) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno]) + "\n"
    raise AssertionError(f"{file} has no {name}")


def blocks_of(page: Path, kind: str) -> list[str]:
    """Return a page's code in one language that is to be run; excerpts of the source are not."""
    blocks = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [block["code"] for block in blocks if block["kind"] == kind and not block["file"]]


def pages_with(kind: str) -> list[Path]:
    return [page for page in PAGES if blocks_of(page, kind)]


def test_excerpts_equal_the_source() -> None:
    excerpts = 0
    for page in PAGES:
        for block in FENCE.finditer(page.read_text(encoding="utf-8")):
            if block["file"]:
                assert block["code"] == source_of(block["file"], block["name"]), page
                excerpts += 1
    assert excerpts > 0


def tenth_of(run: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    """Limit a run to a tenth of its iterations and to three trials."""

    def briefly(*args: Any, **options: Any) -> Any:
        options = more | options
        if isinstance(options.get("iterations"), int):
            options["iterations"] = -(-options["iterations"] // 10)
        if isinstance(options.get("trials"), int):
            options["trials"] = min(options["trials"], 3)
        return run(*args, **options)

    return briefly


@pytest.fixture
def brief(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw few pixels, and compute little where nothing is asserted about the result.

    Other tests check the quality of results.
    """
    monkeypatch.setitem(mpl.rcParams, "savefig.dpi", 30)
    for written in (files, report):
        monkeypatch.setattr(written, "_DOTS_PER_INCH", 30)
    if not any("assert" in code for code in blocks_of(page, "python")):
        monkeypatch.setattr(pg, "estimate", tenth_of(pg.estimate))
        monkeypatch.setattr(pg, "minimize", tenth_of(pg.minimize, judged=20))
        monkeypatch.setattr(predictions, "_TRIALS", 4)
        monkeypatch.setattr(predictions, "_SLOW_TRIALS", 2)


@pytest.mark.usefixtures("shared_evidence", "brief")
@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    registries = (METHODS, FAMILIES, pg.kernels.CATALOG)
    with ExitStack() as forgetting:  # a page may register its own
        for registry in registries:
            forgetting.enter_context(patch.dict(registry))
        for code in blocks_of(page, "python"):
            exec(compile(code, str(page), "exec"), names)
    pyplot.close("all")
    assert page.name != "README.md" or "run" in names


@pytest.mark.usefixtures("shared_evidence", "brief")
@pytest.mark.parametrize("page", pages_with("sh"), ids=name_of)
def test_commands_run(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = 0
    for code in blocks_of(page, "sh"):
        for line in code.splitlines():
            # A tenth of the iterations are enough to see that a command runs.
            program, *words = shlex.split(re.sub(r"(--iterations \d)e4", r"\1e3", line))
            assert program == "pairgossip"
            assert main(words) == 0, capsys.readouterr().err
            commands += 1
    assert commands >= 4 or page.name not in ("README.md", "command-line.md")


def test_what_is_typed_can_be_copied() -> None:
    """A prompt before a command would be copied with it."""
    for page in PAGES:
        for block in FENCE.finditer(page.read_text(encoding="utf-8")):
            assert not re.search(r"^[\w-]*[$%>] ", block["code"], re.MULTILINE), page


def anchors_of(page: Path) -> set[str]:
    """Return the names under which GitHub and the site link the headings of a page."""
    text = page.read_text(encoding="utf-8")
    found = set[str]().union(*(anchors_of(page.parent / file) for file in INCLUDED.findall(text)))
    # In a heading, code and the words of a link are text.
    text = re.sub(r"^`{3,}.*?^`{3,}$", "", text, flags=re.DOTALL | re.MULTILINE)
    for heading in HEADING.findall(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        assert name not in found, f"{page} has two headings {heading!r}: links find the first only"
        found.add(name)
    return found


def broken_links(page: Path) -> list[str]:
    """Return the links of a page that lead to no file, or to no heading of a file."""
    broken = []
    for file, anchor in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(f"{file}#{anchor}" if anchor else file)
    return broken


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_links_that_lead_nowhere_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text(
        "# One\n\n[a](two.md#a-heading-of-two) [b](two.md#another) [c](three.md) [d](#one)\n"
        "[e](#two) [f](https://example.org/#none)\n\n`[g](none.md)`\n"
    )
    (tmp_path / "two.md").write_text("## A `heading` of two\n\n```text\n# another\n```\n")
    assert broken_links(tmp_path / "one.md") == ["two.md#another", "three.md", "#two"]


class Loaded:
    """The resources that a page loads when it is opened, and the names it can be linked at."""

    def __init__(self, text: str) -> None:
        self.resources: list[str] = []
        self.anchors: set[str] = set()
        self.formulas = 0
        for tag, attributes in TAG.findall(text):
            self._read(tag, {name: value for name, _, value in ATTRIBUTE.findall(attributes)})

    def _read(self, tag: str, given: dict[str, str]) -> None:
        self.anchors.add(given.get("id", ""))
        self.formulas += tag == "math"
        if "src" in given:
            self.resources.append(given["src"])
        self.resources += [part.split()[0] for part in given.get("srcset", "").split(",") if part]
        if tag == "link":
            self.resources.append(given["href"])


def test_what_a_page_loads_is_noticed() -> None:
    page = Loaded(
        '<link rel="a" href="b.css"><img alt=""\n  src="c.png" srcset="d.png, e.png 2x" />'
        '<p id="f">src="none"</p><a href="g"><math display="block"><script src=\'h.js\'></script>'
    )
    assert page.resources == ["b.css", "c.png", "d.png", "e.png", "h.js"]
    assert page.anchors == {"", "f"} and page.formulas == 1


def built_site(copy: Path) -> dict[str, Loaded]:
    """Build the site from a copy of its sources; warnings are errors.

    Examples are included but not run: each has its own test.
    """
    shutil.copytree(DOCS, copy / "docs", ignore=shutil.ignore_patterns(*BUILT))
    shutil.copytree(ROOT / "examples", copy / "examples")
    for page in ROOT.glob("*.md"):
        shutil.copy(page, copy)
    command = "-m sphinx -b html -W --keep-going -q -D plot_gallery=0 docs html"
    done = subprocess.run(
        [sys.executable, *command.split()], cwd=copy, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    pages = {}
    for page in (copy / "html").rglob("*.html"):
        name = page.relative_to(copy / "html").as_posix()
        if not name.startswith("_static/"):  # the theme leaves a template behind
            pages[name] = Loaded(page.read_text(encoding="utf-8"))
    return pages


def check_resources(folder: Path, pages: dict[str, Loaded]) -> None:
    for name, page in pages.items():
        for resource in page.resources:
            assert not re.match(r"(https?:)?//", resource), f"{name} loads {resource}"
            local = (folder / name).parent / re.split("[?#]", resource)[0]
            assert resource.startswith("data:") or local.exists(), f"{name} lacks {resource}"
    for sheet in folder.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", text), sheet


def check_public_names(pages: dict[str, Loaded]) -> None:
    anchors = set[str]().union(*(page.anchors for page in pages.values()))
    for name in pg.__all__:
        assert {f"pairgossip.{name}", f"module-pairgossip.{name}"} & anchors, name
    for module in (pg.datasets, pg.graphs, pg.kernels, pg.learn, pg.losses, pg.theory):
        for name in set(module.__all__) - set(pg.__all__):
            assert f"{module.__name__}.{name}" in anchors, name


def estimate_briefly(*args: Any, trials: int = 1, **options: Any) -> pg.Run:
    """Estimate in at most three trials; more would draw the same curves, but smoother."""
    return ESTIMATE(*args, trials=min(trials, 3), **options)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_draw(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gallery runs examples in this way; the page of an example shows its figures."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pg, "estimate", estimate_briefly)
    exec(compile(example.read_text(encoding="utf-8"), str(example), "exec"), {})
    assert pyplot.get_fignums()
    for number in pyplot.get_fignums():
        pyplot.figure(number).draw_without_rendering()  # all but the pixels
    pyplot.close("all")


def check_header(browser: Browser, index: Path) -> None:
    """Check that all links at the top are on one line, and nothing is wider than the window."""
    for width, are_shown in ((1440, True), (1280, True), (1000, True), (390, False)):
        page = browser.new_page(viewport={"width": width, "height": 700})
        page.goto(index.as_uri())
        links = page.locator(".bd-header li.nav-item").all()
        boxes = [box for link in links if (box := link.bounding_box()) is not None]
        assert len(boxes) == (len(links) if are_shown else 0) and len(links) > 5
        assert len({box["y"] for box in boxes}) <= 1
        assert page.locator(".bd-header li.dropdown").count() == 0  # called "More"
        header = page.locator(".bd-header").bounding_box()
        assert header is not None and header["height"] <= 80, f"two lines at {width}"
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        page.close()


@pytest.mark.timeout(900)
def test_the_site_builds(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """This is one test, so that the site is built once."""
    pages = built_site(tmp_path)
    for page in GUIDE:
        assert page.relative_to(DOCS).with_suffix(".html").as_posix() in pages
    for example in EXAMPLES:
        assert f"auto_examples/{example.stem}.html" in pages
    check_resources(tmp_path / "html", pages)
    check_public_names(pages)
    assert pages["theory.html"].formulas > 20
    assert not any("mathjax" in source.lower() for source in pages["theory.html"].resources)
    # This comes last, as it is skipped without a browser.
    check_header(request.getfixturevalue("browser"), tmp_path / "html" / "index.html")
