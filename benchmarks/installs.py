"""How large installs are: the base package and its extras, in bytes on the disk.

Each is installed into an empty environment, in the versions of constraints.txt, which fetches the
packages anew. All files that pip writes are counted, including compiled ones (.pyc).

Run with ``python -m benchmarks.installs``; name sets of extras to measure only these, such as
``base`` or ``lab,tables``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from benchmarks.timing import row

ROOT = Path(__file__).parents[1]
SETS = ("base", "tables", "sql", "cluster", "lab", "watch", "watch,cluster,sql")
"""Sets of extras that are installed; the last one is all that users may install."""


def install(extras: Sequence[str], folder: Path) -> Path:
    """Install the package with extras into an environment; return its folder of packages."""
    venv.create(folder, symlinks=True)
    python, script = str(folder / "bin" / "python"), str(ROOT / ".ci" / "install_pinned.py")
    pinned = [sys.executable, script, "--python", python, *extras]
    subprocess.run(pinned, check=True)
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--disable-pip-version-check", str(ROOT)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    return packages


def count_bytes(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def list_largest(packages: Path) -> str:
    """Return the names of the three largest packages."""
    sizes = sorted(((count_bytes(one), one.name) for one in packages.iterdir()), reverse=True)
    return ", ".join(f"{name} {size / 1e6:.0f}" for size, name in sizes[:3])


def main() -> None:
    """Print the size of each install."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", default=SETS)
    for extras in parser.parse_args().sets:
        with tempfile.TemporaryDirectory() as folder:
            packages = install(extras.split(","), Path(folder))
            size, largest = count_bytes(packages), list_largest(packages)
        print(row(extras, f"{size / 1e6:.0f} MB", f"of which {largest}"), flush=True)


if __name__ == "__main__":
    main()
