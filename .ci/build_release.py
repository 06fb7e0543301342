"""Build wheel and sdist into dist/, check and try them, and list what they install in build/."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST, BUILD = ROOT / "dist", ROOT / "build"
VENDORED = ROOT / "src/pairgossip/watch/page/vendor/uPlot.iife.min.js"


def main(tag: str | None = None) -> None:
    """Build; a tag must be that of this version, whose date must be known."""
    version = _find(r'^__version__ = "(.+)"$', "src/pairgossip/__init__.py")
    if tag is not None:
        _check_tag(tag, version)
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.rmtree(BUILD, ignore_errors=True)
    # The wheel is built from the sdist, so that both are known to be whole.
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST), str(ROOT))
    made = sorted(DIST.iterdir())
    _run(sys.executable, "-m", "twine", "check", "--strict", *map(str, made))
    (wheel,) = DIST.glob("*.whl")
    python = _install(wheel)
    _try(python, version)
    _write_sbom(python, version, BUILD / "sbom.cdx.json")


def _check_tag(tag: str, version: str) -> None:
    if tag != f"v{version}":
        sys.exit(f"run: the tag is {tag}, but that of version {version} is v{version}")
    date = _find(r"^date-released: (.+)$", "CITATION.cff")
    heading = f"## {version}, {date}"
    if heading not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines():
        sys.exit(f"run: CHANGELOG.md has no '{heading}', the day that CITATION.cff has: mend one")


def _find(pattern: str, file: str) -> str:
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, f"{file} has no {pattern}"
    return found[1]


def _install(wheel: Path) -> Path:
    """Install the wheel, with all that users can ask for, into an empty environment."""
    # Without pip, which would be listed as if the package needed it.
    venv.create(BUILD / "installed", with_pip=False)
    python = BUILD / "installed" / ("Scripts" if os.name == "nt" else "bin") / "python"
    pinned = str(ROOT / ".ci" / "install_pinned.py")
    _run(sys.executable, pinned, "--python", str(python), "watch", "cluster")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    _run(*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    return python


def _try(python: Path, version: str) -> None:
    """Run what was installed, from a folder that has none of the sources."""
    program = str(python.with_name("pairgossip"))
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    assert said.strip() == version, f"{program} is version {said}"
    _run(program, "dataset", "engel", "--out", "incomes.csv", where=BUILD)
    _run(program, "estimate", "incomes.csv", "--column", "income", "--kernel", "gini", where=BUILD)


def _write_sbom(python: Path, version: str, sbom: Path) -> None:
    """List what is installed, and what lies inside the package itself, as CycloneDX."""
    listed = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"]
    listed += ["--pyproject", str(ROOT / "pyproject.toml"), "--output-file", str(sbom), str(python)]
    _run(*listed)
    content = json.loads(sbom.read_text(encoding="utf-8"))
    package, inside = content["metadata"]["component"], _describe_vendored()
    package |= {"version": version, "purl": f"pkg:pypi/pairgossip@{version}"}
    content["components"].append(inside)
    (needs,) = (one for one in content["dependencies"] if one["ref"] == package["bom-ref"])
    needs["dependsOn"].append(inside["bom-ref"])
    content["dependencies"].append({"ref": inside["bom-ref"]})
    sbom.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _describe_vendored() -> dict[str, object]:
    found = re.search(r"\(v([\d.]+)\)", VENDORED.read_text(encoding="utf-8")[:200])
    assert found is not None, f"{VENDORED} does not say its version"
    return {
        "bom-ref": f"uplot@{found[1]}",
        "type": "library",
        "name": "uplot",
        "version": found[1],
        "purl": f"pkg:npm/uplot@{found[1]}",
        "licenses": [{"license": {"id": "MIT"}}],
    }


def _run(*command: str, where: Path = ROOT) -> None:
    if subprocess.run(command, cwd=where, check=False).returncode:
        sys.exit(f"run: this has failed: {' '.join(command)}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit("run: build takes one tag at most, such as ./run build v0.2.0")
    main(*sys.argv[1:])
