"""How a result was made: what its manifest says, beside the files themselves."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

__all__ = ["cpu_name", "package_versions", "write_manifest"]

PACKAGES = ("blackwhite", "numba", "numpy", "scipy", "matplotlib")


def cpu_name() -> str:
    """Return the processor's name as the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python and of packages, ``missing`` where there is none.

    Examples
    --------
    >>> package_versions(["numpy", "no such package"])["no such package"]
    'missing'
    """
    versions = {"python": platform.python_version()}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "missing"
    return versions


def write_manifest(folder: Path, **facts: object) -> None:
    """Write ``manifest.json``: the command, the machine, the versions, and ``facts``."""
    data = {
        "command": shlex.join(["python", *sys.argv]),
        "cpu": f"{cpu_name()}, {os.cpu_count()} cores",
        "versions": package_versions(PACKAGES),
        **facts,
    }
    (folder / "manifest.json").write_text(json.dumps(data, indent=2) + "\n")
