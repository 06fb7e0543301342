"""Published files: wheel and sdist are complete, and the wheel works in an empty environment."""

from __future__ import annotations

import re
import runpy
import shutil
import signal
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterable
from email.parser import BytesParser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

import pairgossip as pg
from pairgossip.doctor.installation import TRIED
from pairgossip.files import lock

from .installing import Installed, declared, top_level

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "pairgossip"
NAME = f"pairgossip-{pg.__version__}"
USER_EXTRAS = ("lab", "watch", "cluster", "tables", "sql")
OPTIONAL = {"networkx"}
"""Libraries that are used only with objects of theirs that a user passes."""
IMPORTED = re.compile(
    r"^ *(?:from (\w+)[\w.]* import|import (\w+)[\w.]*(?:$|  #| as ))", re.MULTILINE
)
NOT_BUILT = {"__pycache__", ".ruff_cache", ".mypy_cache", "_build", "generated", "auto_examples"}


class Built:
    """Wheel and sdist, and the wheel that is built from the sdist."""

    def __init__(self, folder: Path) -> None:
        self.wheel = folder / f"{NAME}-py3-none-any.whl"
        self.sdist = folder / f"{NAME}.tar.gz"
        self.again = folder / "again" / self.wheel.name
        if not self.again.exists():
            self._build(folder)
        with zipfile.ZipFile(self.wheel) as archive:
            self.files = set(archive.namelist())
            self._metadata = archive.read(f"{NAME}.dist-info/METADATA")

    def _build(self, folder: Path) -> None:
        hatchling = [sys.executable, "-m", "hatchling", "build", "-d"]
        subprocess.run([*hatchling, str(folder)], cwd=ROOT, check=True, timeout=240)
        with tarfile.open(self.sdist) as archive:
            # Python 3.11.2 has no filters, and later versions require one.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(folder)
        made = [*hatchling, str(self.again.parent), "-t", "wheel"]
        subprocess.run(made, cwd=folder / NAME, check=True, timeout=240)

    def metadata(self) -> Metadata:
        """Return the metadata; raise an error if it is invalid."""
        return Metadata.from_email(self._metadata, validate=True)

    def readme(self) -> str:
        return str(BytesParser().parsebytes(self._metadata).get_payload(decode=False))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Built:
    """Build once for all workers."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder if worker_id == "master" else folder.parent) / "distribution"
    folder.mkdir(exist_ok=True)
    with lock(folder / "lock", wait=240):
        return Built(folder)


def test_the_wheel_holds_both_packages_and_nothing_else(built: Built) -> None:
    package = {
        file.relative_to(SOURCE.parent).as_posix()
        for file in SOURCE.parent.rglob("*")
        if file.is_file()
        and not NOT_BUILT & set(file.parts)
        # Compiled loops are cached beside their sources.
        and file.suffix not in (".nbi", ".nbc")
    }
    about = {name for name in built.files if name.startswith(f"{NAME}.dist-info/")}
    assert built.files - about == package
    assert {
        "pairgossip/py.typed",
        "pairgossip/datasets/engel.csv",
        "pairgossip/datasets/digits.csv.gz",
        "pairgossip/peer/pairgossip-peer.service",
        "pairgossip/watch/page/index.html",
        "pairgossip/watch/page/vendor/uPlot.iife.min.js",
        "pairgossip_paper/framework/page.html",
        "pairgossip_paper/py.typed",
    } <= package
    licenses = {name.rpartition("/")[2] for name in about if "/licenses/" in name}
    assert licenses == {"LICENSE", "LICENSE-uPlot.txt"}


def test_the_sdist_makes_the_same_wheel(built: Built) -> None:
    assert built.again.read_bytes() == built.wheel.read_bytes()


def test_the_sdist_holds_what_is_needed_to_work_on_it(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        files = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    assert not NOT_BUILT & {part for name in files for part in Path(name).parts}
    assert files_of_repository() <= files


def files_of_repository() -> set[str]:
    """Return the files that git tracks; skip the test without git or outside of a repository."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("git is not installed, or this is not a repository, perhaps an sdist itself")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip(f"git cannot list the files: {listed.stderr.splitlines()[0]}")
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


def test_the_metadata_is_complete(built: Built) -> None:
    about = built.metadata()
    assert str(about.version) == pg.__version__
    assert about.license_expression == "BSD-3-Clause AND MIT"
    assert about.description_content_type == "text/markdown"
    assert {"Homepage", "Documentation", "Repository", "Issues", "Changelog"} <= set(
        about.project_urls or {}
    )
    claimed = set(about.classifiers or [])
    assert "Typing :: Typed" in claimed
    versions = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", "\n".join(claimed), re.M)
    assert sorted(versions) == list(TRIED)
    assert [name for name in claimed if name.startswith("Operating System")] == [
        "Operating System :: POSIX :: Linux"
    ]


def test_links_of_the_readme_lead_out_of_the_package(built: Built) -> None:
    links = re.findall(r"\]\(([^)]+)\)", built.readme())
    assert len(links) > 15
    for link in links:
        found = re.match(r"https://[\w.]+/pairgossip/pairgossip/(?:blob/)?v([\w.]+)/(.+)", link)
        assert found and found[1] == pg.__version__, link
        assert (ROOT / found[2].partition("#")[0]).exists(), link


@pytest.mark.parametrize(
    ("tag", "day", "refusal"),
    [
        ("v0.2.0", "2026-11-17", None),
        ("0.2.0", "2026-11-17", "run: the tag is 0.2.0, but that of version 0.2.0 is v0.2.0"),
        ("v0.2.0", "2026-11-18", "run: CHANGELOG.md has no '## 0.2.0, 2026-11-18', the day that"),
    ],
)
def test_a_tag_is_that_of_the_version_and_there_is_one_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str, day: str, refusal: str | None
) -> None:
    script = runpy.run_path(str(ROOT / ".ci" / "build_release.py"))
    check_tag = script["_check_tag"]
    monkeypatch.setitem(check_tag.__globals__, "ROOT", tmp_path)
    (tmp_path / "CITATION.cff").write_text(f"version: 0.2.0\ndate-released: {day}\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 0.2.0, 2026-11-17\n\nMuch.\n")
    if refusal is None:
        check_tag(tag, "0.2.0")
        return
    with pytest.raises(SystemExit, match=re.escape(refusal)):
        check_tag(tag, "0.2.0")


def test_every_library_that_is_imported_is_declared_and_no_other(built: Built) -> None:
    wanted = built.metadata().requires_dist or []
    modules = {file: imports_of(file) for file in SOURCE.parent.rglob("*.py")}
    of_all, of_others = set[str](), set[str]()
    for file, names in modules.items():
        of_all |= names
        of_others |= set() if file.is_relative_to(SOURCE / "watch") else names
    assert of_others == modules_of(declared(wanted, ["lab", "cluster", "tables", "sql"]), of_others)
    assert of_all == modules_of(declared(wanted, USER_EXTRAS), of_all)


def modules_of(requirements: Iterable[Requirement], used: set[str]) -> set[str]:
    """Return the modules of these libraries that are used, or the name of an unused library."""
    found: set[str] = set()
    for one in requirements:
        found |= (top_level(distribution(one.name)) & used) or {one.name}
    return found


def imports_of(file: Path) -> set[str]:
    """Return the libraries that a module imports anywhere."""
    found = IMPORTED.findall(file.read_text(encoding="utf-8"))
    names = {first or second for first, second in found}
    names -= {"pairgossip", "pairgossip_paper", "_typeshed"}
    return names - sys.stdlib_module_names - OPTIONAL


def test_the_wheel_runs_where_nothing_else_is(built: Built, tmp_path: Path) -> None:
    """This is one test, so that the wheel is installed once; each extra adds libraries."""
    here = Installed(tmp_path, built.wheel, built.metadata())
    here.add()
    run_a_peer(here)
    here.add("lab")
    run_the_laboratory(here)
    here.add("watch")
    run_the_page(here)


def run_a_peer(here: Installed) -> None:
    here.run("dataset engel --out incomes.csv")
    said = here.run("peer init --name clinic-a --source incomes.csv --rehearsal --yes")
    assert "235 rows" in said
    assert f"ExecStart={here.bin / 'pairgossip'} peer run --home" in here.run("peer unit")
    said = here.run("estimate incomes.csv --column income --kernel gini", code=1)
    assert "needs joblib, which is not installed: pip install 'pairgossip[lab]'." in said


def run_the_laboratory(here: Installed) -> None:
    said = here.run(
        "estimate incomes.csv --column income --kernel gini --iterations 20 --plot gini.png"
    )
    assert "gini" in said
    assert (here.folder / "gini.png").read_bytes().startswith(b"\x89PNG")
    assert "Spectral gaps" in here.run("reproduce --list")
    said = here.run("watch --no-browser", code=1)
    assert "which is not installed: pip install 'pairgossip[watch]'." in said


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return bytes(answer.read())


def run_the_page(here: Installed) -> None:
    process = here.start("pairgossip", "watch", "--no-browser", "--port", "0")
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip().rstrip("/")
        named = re.findall(r'(?:src|href)="(/\w{16})(/[^"]+)"', fetch(address + "/").decode())
        assert "/main.js" in [name for _, name in named]
        for folder, name in named:
            page = SOURCE / "watch" / "page" / name.lstrip("/")
            assert fetch(address + folder + name) == page.read_bytes()
    finally:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode in (0, 130), told
