"""On what machine and with what software a result was computed."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pairgossip

LIBRARIES = ("numpy", "scipy", "numba", "joblib", "scikit-learn", "matplotlib")


@cache
def machine() -> dict[str, str | int]:
    """Describe the machine: what may change speed, and the last bits of results."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.machine(),
        "model": _processor_model(),
        "cores": os.cpu_count() or 1,
        "memory_gb": _memory_gb(),
    }


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python, this package and the libraries that compute for it."""
    found = {"pairgossip": pairgossip.__version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _processor_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    fields = dict(line.partition(":")[::2] for line in lines if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    return named.get("model name") or named.get("CPU part") or platform.processor() or "unknown"


def _memory_gb() -> int:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    return round(pages * size / 2**30)
