"""`./run` fetches only files whose hashes are in constraints.txt."""

from __future__ import annotations

import hashlib
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .installing import declared

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "install_pinned.py"
PINNED = runpy.run_path(str(SCRIPT))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]

PROJECT = """[build-system]
requires = []
[project]
name = "own"
dependencies = ["alone>=1"]
"""


def test_every_pin_has_hashes_of_its_files() -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pins = [pin[0] for pin in PINNED["PIN"].finditer(text)]
    assert len(pins) > 100 and len(pins) == text.count("==") - text.count(" == ")
    # Each has a wheel and an sdist, or wheels for several systems.
    for pin in pins:
        hashes = re.findall(r"--hash=sha256:[0-9a-f]{64}\b", pin)
        assert len(hashes) == len(set(hashes)) >= 2, pin


def names_of(*groups: str) -> set[str]:
    return {canonicalize_name(pin.partition("==")[0]) for pin in PINNED["select"](groups)}


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"release"}))
def test_the_pins_of_an_extra_are_what_it_needs_here(extra: str) -> None:
    wanted = [Requirement(text) for text in distribution("pairgossip").requires or []]
    needed, open_ones = set[str](), list(declared(wanted, [extra]))
    seen: set[str] = set()
    while open_ones:
        one = open_ones.pop()
        if str(one) in seen:
            continue
        seen.add(str(one))
        if one.name != "pairgossip":
            needed.add(canonicalize_name(one.name))
        requires = [Requirement(text) for text in distribution(one.name).requires or []]
        open_ones += declared(requires, one.extras)
    assert needed <= names_of(extra)


def test_a_small_device_gets_nothing_of_the_laboratory() -> None:
    base, build = names_of("base"), names_of("build")
    assert {"numpy", "cryptography", "cffi"} <= base < names_of("lab") < names_of("watch")
    assert {"hatchling", "editables", "pathspec"} <= build
    assert not build & base and not {"numba", "scipy", "matplotlib"} & base


def test_what_other_systems_need_is_pinned_too() -> None:
    (pin,) = (pin for pin in PINNED["select"](["lab", "dev"]) if pin.startswith("colorama=="))
    assert "sys_platform == 'win32'" in pin.splitlines()[0]


def test_an_extra_that_is_not_there_is_named() -> None:
    with pytest.raises(SystemExit, match=r"run: there is no extra 'labs', only base, build, "):
        PINNED["select"](["labs"])


def make_wheel(folder: Path, name: str = "alone", more: str = "") -> str:
    """Make a package that is only metadata; return its hash."""
    wheel, about = folder / f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{more}"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{about}/METADATA", metadata)
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def pin_to(digest: str) -> str:
    return f"alone==1.0 \\\n    --hash=sha256:{digest}\n    # via own (pyproject.toml)\n"


def flip(digest: str) -> str:
    return ("1" if digest[0] == "0" else "0") + digest[1:]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a project that needs one package, an index with only that, and an empty environment."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci")
    (tmp_path / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    venv.create(tmp_path / "venv", symlinks=sys.platform != "win32")
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(tmp_path)}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "none"))
    return tmp_path


def install(project: Path, pins: str) -> subprocess.CompletedProcess[str]:
    (project / "constraints.txt").write_text(pins, encoding="utf-8")
    python = project / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    script = str(project / ".ci" / SCRIPT.name)
    return subprocess.run(
        [sys.executable, script, "--python", str(python), "base"],
        capture_output=True,
        text=True,
        timeout=120,
    )


def is_installed(project: Path) -> bool:
    return bool(list((project / "venv").rglob("alone-1.0.dist-info")))


def test_a_file_with_another_hash_is_refused(project: Path) -> None:
    digest = make_wheel(project)
    refused = install(project, pin_to(flip(digest)))
    assert refused.returncode == 1 and not is_installed(project)
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in refused.stderr
    assert "run: pip refuses the packages that constraints.txt pins" in refused.stderr
    accepted = install(project, pin_to(digest))
    assert accepted.returncode == 0 and is_installed(project), accepted.stderr


def test_a_package_without_a_hash_is_refused(project: Path) -> None:
    make_wheel(project)
    refused = install(project, "alone==1.0\n    # via own (pyproject.toml)\n")
    assert refused.returncode == 1 and not is_installed(project)
    assert "Hashes are required in --require-hashes mode" in refused.stderr


def test_a_package_without_a_pin_is_refused(project: Path) -> None:
    """pip also installs what a package needs, whether it is pinned or not."""
    make_wheel(project, "other")
    refused = install(project, pin_to(make_wheel(project, more="Requires-Dist: other\n")))
    assert refused.returncode == 1 and not is_installed(project)
    assert "all requirements must have their versions pinned" in refused.stderr


@pytest.mark.parametrize("file", ["run", "deploy/Containerfile", ".ci/build_release.py"])
def test_nothing_else_fetches_packages(file: str) -> None:
    """Elsewhere pip only installs or builds the package itself, with what is already installed."""
    text = (ROOT / file).read_text(encoding="utf-8").replace("\\\n", " ")
    calls = [
        line
        for line in text.splitlines()
        if re.search(r"\bpip (?:install|wheel)\b|\*pip, \"install\"|\"-m\", \"build\"", line)
    ]
    assert calls and "PIP_CONSTRAINT" not in text
    for call in calls:
        assert "--no-isolation" in call or (
            "--no-deps" in call and re.search("--no-(?:build-isolation|index)", call)
        )
