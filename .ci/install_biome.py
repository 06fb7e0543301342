"""Install Biome, which checks the scripts and styles of the page, beside this Python."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from http.client import HTTPException
from pathlib import Path

VERSION = "2.6.6"
# The registry's own checksums; `npm view @biomejs/cli-linux-x64 dist.integrity` prints the newest.
SHA512 = {
    "linux-x64": "l8/aPXc1cz8VpUyd4hb5Pm5zx+X3voQBks4aLYbp5pC8KSchuHyvqDfY5xax39qCHomI/2xn6NKEot+zebG38g==",  # noqa: E501
    "linux-arm64": "UzJdUCg9dbEGpZOuZRyehEPrnwKjx9z4Um7sWLG5x6txu7UjeWdJZuBXVGlyAdD39w2Hx0nZeK1jKC4NFUTCNQ==",  # noqa: E501
}
TARGET = Path(sys.executable).with_name("biome")


def main() -> None:
    """Install the pinned version unless it is there; end quietly where it cannot be had."""
    if TARGET.exists() and VERSION in _ask([str(TARGET), "--version"]):
        return
    TARGET.unlink(missing_ok=True)
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"cli-{platform.system().lower()}-{machine}"
    wanted = SHA512.get(package.removeprefix("cli-"))
    if wanted is None:
        _say(f"no Biome is pinned for {package.removeprefix('cli-')}")
        return
    address = f"{_find_registry()}/@biomejs/{package}/-/{package}-{VERSION}.tgz"
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            archive = answer.read()
    except (OSError, HTTPException) as problem:
        _say(f"{address} cannot be fetched ({problem})")
        return
    if base64.b64encode(hashlib.sha512(archive).digest()).decode() != wanted:
        sys.exit(f"run: {address} is not the pinned file: its checksum differs")
    _unpack(archive)


def _unpack(archive: bytes) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        program = files.extractfile("package/biome")
        assert program is not None
        part = TARGET.with_suffix(".part")
        part.write_bytes(program.read())
    part.chmod(0o755)
    part.replace(TARGET)


def _find_registry() -> str:
    """Return the registry that npm is told to use, else the public one."""
    found = os.environ.get("npm_config_registry", "")  # noqa: SIM112
    if not found and (npm := shutil.which("npm")):
        found = _ask([npm, "config", "get", "registry"])
    return (found if found.startswith("http") else "https://registry.npmjs.org").rstrip("/")


def _ask(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _say(reason: str) -> None:
    sys.stderr.write(f"run: {reason}, so the page's scripts and styles go unchecked\n")


if __name__ == "__main__":
    main()
