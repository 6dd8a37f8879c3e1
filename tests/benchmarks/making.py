"""How a result was made: what its manifest says, beside the files themselves."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from importlib import metadata
from pathlib import Path

__all__ = ["cpu_name", "write_manifest"]

PACKAGES = ("blackwhite", "numba", "numpy", "scipy", "matplotlib")


def cpu_name() -> str:
    """Return the processor's name as the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def write_manifest(folder: Path, **facts: object) -> None:
    """Write ``manifest.json``: the command, the machine, the versions, and ``facts``."""
    versions = {name: metadata.version(name) for name in PACKAGES}
    data = {
        "command": shlex.join(["python", *sys.argv]),
        "cpu": f"{cpu_name()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version(), **versions},
        **facts,
    }
    (folder / "manifest.json").write_text(json.dumps(data, indent=2) + "\n")
