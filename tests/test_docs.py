"""Code in the README and the docs: excerpts equal the source, the rest runs."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")

from matplotlib import pyplot

from pairgossip.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(
    r"(?:<!-- source: (?P<file>\S+) (?P<name>\w+) -->\n)?```(?P<kind>\w*)\n(?P<code>.*?)```",
    re.DOTALL,
)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def source_of(file: str, name: str) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno]) + "\n"
    raise AssertionError(f"{file} has no {name}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_excerpts_equal_the_source(page: Path) -> None:
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        if block["file"]:
            assert block["code"] == source_of(block["file"], block["name"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        if block["kind"] == "python" and not block["file"]:
            exec(compile(block["code"], str(page), "exec"), names)
    pyplot.close("all")
    assert page.name != "README.md" or "run" in names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = 0
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        lines = block["code"].splitlines() if block["kind"] == "console" else []
        for line in lines:
            program, *words = shlex.split(line.removeprefix("$ "))
            assert program == "pairgossip"
            assert main(words) == 0, capsys.readouterr().err
            commands += 1
    assert commands >= 4 or page.name != "README.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
