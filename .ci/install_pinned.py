"""Install what extras of pairgossip need, in the versions and with the hashes of constraints.txt.

    python .ci/install_pinned.py [--python PYTHON] GROUP...

A group is an extra, `base` for the package without extras, or `build` for what builds the package.
pip does not check hashes that it is given as constraints, so it is given requirements: those pins
that the groups lead to. It then refuses every file with another hash, and everything without one.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PIN = re.compile(r"^([\w.-]+)==.*\n(?: .*\n)*", re.MULTILINE)
"""A package, its hashes, and after them the packages that need it."""
NEEDED_BY = re.compile(r"^    #(?: via|  ) (\S+)", re.MULTILINE)
BUILD_EDITABLE = ["editables"]
"""Names of the packages that hatchling asks for only once it makes an editable install."""


def main(groups: list[str], python: str) -> None:
    """Install these groups into the environment of a Python; end with a sentence if pip fails."""
    # Building others' packages would fetch their build tools, for which there are no hashes.
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--require-hashes"]
    pip += ["--only-binary", ":all:", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "constraints.txt"
        pins.write_text("".join(select(groups)), encoding="utf-8")
        if subprocess.run([*pip, "--requirement", str(pins)], check=False).returncode:
            sys.exit("run: pip refuses the packages that constraints.txt pins, and says why above")


def select(groups: Iterable[str]) -> Iterator[str]:
    """Return the pins of these groups' packages and of all that those need, on any system."""
    pins = list(PIN.finditer((ROOT / "constraints.txt").read_text(encoding="utf-8")))
    names = list_direct(groups)
    while True:
        more = {_normalize(pin[1]) for pin in pins if names & set(NEEDED_BY.findall(pin[0]))}
        if more <= names:
            return (pin[0] for pin in pins if _normalize(pin[1]) in names)
        names |= more


def list_direct(groups: Iterable[str]) -> set[str]:
    """Return the names of the packages that pyproject.toml itself lists for these groups."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    package = content["project"]
    listed = {"base": package["dependencies"]}
    listed |= {"build": content["build-system"]["requires"] + BUILD_EDITABLE}
    for extra, requirements in package.get("optional-dependencies", {}).items():
        listed[extra] = package["dependencies"] + requirements
    names: set[str] = set()
    for group in groups:
        if group not in listed:
            sys.exit(f"run: there is no extra '{group}', only {', '.join(sorted(listed))}")
        for requirement in listed[group]:
            name, extras = re.findall(r"^([\w.-]+)(?:\[(.+?)\])?", requirement)[0]
            own = _normalize(name) == _normalize(package["name"])
            names |= list_direct(extras.split(",")) if own else {_normalize(name)}
    return names


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="install_pinned.py", description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("groups", nargs="+", metavar="GROUP")
    given = parser.parse_args()
    main(given.groups, given.python)
