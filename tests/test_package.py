"""The public names, and examples in docstrings that run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pairgossip as pg
from pairgossip import experiments

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
MODULES = [module.name for module in pkgutil.walk_packages(pg.__path__, "pairgossip.")]
WITH_EXAMPLES = [
    ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for file in sorted(SOURCE.rglob("*.py"))
    if ">>> " in file.read_text(encoding="utf-8")
]


def test_every_public_name_exists() -> None:
    for name in pg.__all__:
        assert getattr(pg, name) is not None
        assert dir(pg).count(name) == 1
    with pytest.raises(AttributeError, match="has no attribute 'estimat'"):
        _ = pg.estimat


def test_tab_completion_offers_public_names_alone() -> None:
    for module in MODULES:  # loading makes each one an attribute
        importlib.import_module(module)
    assert [name for name in dir(pg) if not name.startswith("__")] == sorted(pg.__all__)
    assert {"__version__", "__doc__", "__path__"} <= {*dir(pg)}
    assert pg.arrays is sys.modules["pairgossip.arrays"]
    # Importing a module does not hide a function of the same name.
    assert callable(pg.estimate) and callable(pg.exact) and callable(pg.load)


def test_one_version_everywhere() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["hatch"]["version"]["path"] == "src/pairgossip/__init__.py"
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {pg.__version__}\n" in citation
    assert f"\n## {pg.__version__}, " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_one_address_everywhere() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    home = urls["Repository"]
    assert all(address.startswith(home) for address in urls.values())
    assert f"\nrepository-code: {home}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_docstring_examples(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_the_arrows_point_downward() -> None:
    """The import contracts of pyproject.toml hold."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout


def test_the_library_has_one_door_to_the_paper() -> None:
    """The contracts do not see modules that are imported by name."""
    package = SOURCE / "pairgossip"
    doors = [f for f in package.rglob("*.py") if "pairgossip_paper" in f.read_text("utf-8")]
    assert [file.relative_to(package).as_posix() for file in doors] == ["experiments.py"]


def test_the_door_to_the_paper_opens() -> None:
    names = {name for home in experiments._HOMES.values() for name in home}
    assert {*experiments.__all__} <= names
    for name in names:
        assert getattr(experiments, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'reprodce'"):
        _ = experiments.reprodce


def test_the_picture_of_the_architecture_shows_every_room() -> None:
    package = SOURCE / "pairgossip"
    rooms = {file.parent.relative_to(package) for file in package.rglob("*.py")} - {Path()}
    files = {Path(file.stem) for file in package.glob("[a-z]*.py")}
    assert rooms_in_picture() == rooms | files


def rooms_in_picture() -> set[Path]:
    """Return the rooms and files of CONTRIBUTING's picture; indented ones are inside others."""
    picture = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```")[1]
    shown, above = set(), Path()
    for line in filter(str.strip, picture.splitlines()):
        names = re.split(r" {2,}", line.strip())[0].split(", ")
        if line.startswith(" "):
            shown.add(above / names[0])
        else:
            shown |= set(map(Path, names))
            above = Path(names[0])
    return shown
