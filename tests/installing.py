"""Empty environments into which only the wheel and its declared dependencies are installed.

Nothing is downloaded: libraries that the wheel declares are linked from the environment of the
tests. A library that it uses but does not declare is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def declared(requirements: Iterable[Requirement], extras: Iterable[str]) -> Iterator[Requirement]:
    """Return the requirements on this system, including these extras."""
    for one in requirements:
        choices = [{"extra": extra} for extra in ("", *extras)]
        if one.marker is None or any(one.marker.evaluate(choice) for choice in choices):
            yield one


class Installed:
    """The wheel in an environment of its own, to which `add` brings libraries."""

    def __init__(self, folder: Path, wheel: Path, metadata: Metadata) -> None:
        venv.create(folder / "venv", symlinks=True)
        self.bin = folder / "venv" / "bin"
        self.libraries = folder / "libraries"
        self.folder = folder / "empty"
        self.libraries.mkdir()
        self.folder.mkdir()
        self._wanted = metadata.requires_dist or []
        self._linked: set[str] = set()
        self._install(wheel)

    def add(self, *extras: str) -> None:
        """Bring what the wheel declares for these extras, or for none."""
        for one in declared(self._wanted, extras):
            self._link(one)

    def _link(self, wanted: Requirement) -> None:
        """Link a library, and recursively what it needs."""
        found = distribution(wanted.name)
        assert wanted.specifier.contains(found.version, prereleases=True), wanted
        key = f"{canonicalize_name(wanted.name)}{sorted(wanted.extras)}"
        if key in self._linked:
            return
        self._linked.add(key)
        for name in top_level(found):
            link = self.libraries / name
            if not link.exists():
                link.symlink_to(Path(str(found.locate_file(name))))
        for one in declared(map(Requirement, found.requires or []), wanted.extras):
            self._link(one)

    def _install(self, wheel: Path) -> None:
        (site,) = self.bin.parent.glob("lib/python*/site-packages")
        (site / "libraries.pth").write_text(f"{self.libraries}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "--isolated"]
        pip += ["install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
        subprocess.run([*pip, "--no-compile", str(wheel)], check=True, timeout=120)

    def start(self, program: str, *words: str) -> subprocess.Popen[str]:
        """Start a program in an empty folder, isolated from the tests' environment."""
        unset = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
        environment = {name: value for name, value in os.environ.items() if name not in unset}
        # Loops are not compiled here, as this takes longer than everything else.
        environment |= {"NUMBA_DISABLE_JIT": "1", "PYTHONUNBUFFERED": "1"}
        return subprocess.Popen(
            [str(self.bin / program), *words],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, command: str, code: int = 0) -> str:
        """Run `pairgossip` with these arguments; return what it prints."""
        process = self.start("pairgossip", *command.split())
        said = "".join(process.communicate(timeout=120))
        assert process.returncode == code, said
        return said


def top_level(found: Distribution) -> set[str]:
    """Return the folders and files of a library that lie directly where modules are found."""
    names = {file.parts[0] for file in found.files or []}
    assert names, f"{found.name} does not say what it has installed"
    return names - {"..", "__pycache__"}
