"""The R package in `r/`: R's own check with the real command, and the page about it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.study.real import SPEC, Site, found_study, running, until

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guide" / "r.md"
BLOCK = re.compile(r"^```r\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
PACKAGES = ("jsonlite", "processx", "ggplot2", "testthat", "knitr", "rmarkdown")
LACKING = f"""
lacking <- Filter(function(one) !requireNamespace(one, quietly = TRUE), c{PACKAGES})
cat(c(lacking, if (nzchar(Sys.which("pandoc")) == FALSE) "pandoc"))
"""
MARK = "=== next block"


def find_lacking() -> str:
    """Return what a check of the package needs but is not installed."""
    if shutil.which("R") is None or shutil.which("Rscript") is None:
        return "R"
    done = subprocess.run(["Rscript", "-e", LACKING], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which R finds this command and does not look for packages online."""
    if lacking := find_lacking():
        pytest.skip(f"The R package is not checked: {lacking} is not installed")
    folder = tmp_path_factory.mktemp("r")
    command, profile = folder / "pairgossip", folder / "profile.R"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m pairgossip "$@"\n')
    command.chmod(0o755)
    (folder / "src" / "contrib").mkdir(parents=True)
    (folder / "src" / "contrib" / "PACKAGES").touch()
    (folder / "library").mkdir()
    profile.write_text(f'options(repos = c(CRAN = "file://{folder}"))\n')
    paths = {"PAIRGOSSIP": command, "R_PROFILE_USER": profile, "R_LIBS": folder / "library"}
    return os.environ | {name: str(path) for name, path in paths.items()}


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Site:
    """Return a member of a study whose first question is answered."""
    folder = tmp_path_factory.mktemp("study")
    sites = found_study(folder, 3, **{"least-cell": 1})
    asker, *others = sites
    (folder / "auc.toml").write_text(SPEC)
    with running(sites):
        until(lambda: all(one.has_members(3) for one in sites), "a list of 3")
        asker.run("ask", str(folder / "auc.toml"))
        for one in others:
            until(one.peer.questions, "the question is heard")
            one.run("accept", "1")
        assert asker.peer.question(1).wait(200).result.value is not None
    return asker


def run_r(words: Sequence[str], folder: Path, environment: dict[str, str]) -> str:
    """Run an R program, and return what it prints."""
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-8000:]
    return done.stdout


@pytest.mark.timeout(1200)
def test_r_checks_the_package(environment: dict[str, str], member: Site, tmp_path: Path) -> None:
    environment = environment | {"PAIRGOSSIP_R_HOME": str(member.folder)}
    run_r(["R", "CMD", "build", str(ROOT / "r")], tmp_path, environment)
    (built,) = tmp_path.glob("pairgossip_*.tar.gz")
    said = run_r(["R", "CMD", "check", "--no-manual", built.name], tmp_path, environment)
    assert re.search(r"^Status: OK$", said, re.MULTILINE), said[-8000:]
    (tests,) = tmp_path.glob("pairgossip.Rcheck/tests/testthat.Rout")
    assert re.search(r"FAIL 0 \| WARN 0 \| SKIP 0 \| PASS \d\d", tests.read_text())


@pytest.mark.timeout(600)
def test_the_page_shows_what_r_prints(
    environment: dict[str, str], member: Site, tmp_path: Path
) -> None:
    run_r(["R", "CMD", "INSTALL", "--no-docs", str(ROOT / "r")], tmp_path, environment)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 4
    shutil.copytree(member.folder, tmp_path / "hospital-1")
    lines = [f'{code}\ncat("\\n{MARK}\\n")\n' for code, _ in blocks]
    (tmp_path / "page.R").write_text("pdf(NULL)\n" + "".join(lines), encoding="utf-8")
    printed = run_r(["Rscript", "page.R"], tmp_path, environment).split(MARK)
    for (code, shown), said in zip(blocks, printed, strict=False):
        if shown:
            assert said.split() == shown.split(), code
