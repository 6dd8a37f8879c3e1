"""Writing and reading table folders, so that a killed run leaves the old table whole.

A table is written to a temporary folder beside its place and renamed.  If a run is killed between
the two renames, the next reader or writer puts the old table back.
"""

from __future__ import annotations

import glob
import hashlib
import io
import os
import shutil
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from solver.rules import InputError
from solver.table.frames import Table
from solver.table.manifest import Manifest

__all__ = ["check_writable", "load_checkpoint", "load_table", "read_manifest", "save_table"]

_MANIFEST = "manifest.json"
_CHECKPOINT = "checkpoint.npz"
_PARQUET = ("setup", "decisions")
_TRIES = 20
_STALE_SECONDS = 3600
_FILES = {_MANIFEST, _CHECKPOINT, *(f"{name}.parquet" for name in _PARQUET)}


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _aside(path: Path) -> Path:
    """Return where the old table stands while the new one is put in its place."""
    return path.with_name(f".{path.name}.old")


def _recover(path: Path) -> None:
    if not path.exists() and _aside(path).exists():
        _aside(path).rename(path)


def check_writable(path: Path) -> None:
    """Raise :class:`InputError` unless a table can be written at ``path``.

    A folder that is there must be empty or hold a table and nothing else, since it is replaced
    whole.
    """
    path = path.absolute()
    _recover(path)
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise InputError(f"{path}: not a folder; a table needs a folder of its own")
    if path.is_dir():
        foreign = sorted(entry.name for entry in path.iterdir() if entry.name not in _FILES)
        if foreign:
            raise InputError(
                f"{path}: holds {foreign[0]!r}, which is no part of a table; "
                "choose an empty or a new folder"
            )
    parent = path.parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{path}: cannot be written; {parent} is not a writable folder")


def save_table(table: Table, path: Path | str) -> Manifest:
    """Write a table, replacing the one at ``path`` whole; return its manifest as written."""
    path = Path(path).absolute()
    check_writable(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(path)
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}.new-", dir=path.parent))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    try:
        files: dict[str, bytes] = {}
        for name in _PARQUET:
            buffer = io.BytesIO()
            getattr(table, name).write_parquet(buffer, compression="zstd", compression_level=9)
            files[f"{name}.parquet"] = buffer.getvalue()
        if table.checkpoint is not None:
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **table.checkpoint)
            files[_CHECKPOINT] = buffer.getvalue()
        manifest = table.manifest.model_copy(
            update={
                "rows": {f"{name}.parquet": getattr(table, name).height for name in _PARQUET},
                "sha256": {name: _sum(data) for name, data in files.items()},
            }
        )
        files[_MANIFEST] = (manifest.model_dump_json(indent=2) + "\n").encode()
        for name, data in files.items():
            (work / name).write_bytes(data)
        work.chmod(0o755)
        _put(work, path)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return manifest


def _put(work: Path, path: Path) -> None:
    """Move a finished folder to its place, and the old table out of the way."""
    aside = _aside(path)
    for _ in range(_TRIES):
        if aside.exists():
            shutil.rmtree(aside)
        if path.exists():
            path.rename(aside)
        try:
            work.rename(path)
            break
        except OSError:  # a reader has put the old table back in between
            if not path.exists():
                raise
    else:
        raise InputError(f"{path}: other programs keep writing there")
    shutil.rmtree(aside, ignore_errors=True)


def _remove_stale(path: Path) -> None:
    """Remove what writers of this table that were killed long ago have left."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.new-*"):
        if time.time() - left.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the table at ``path``; raise :class:`InputError` if there is none."""
    path = path.absolute()
    _recover(path)
    if not path.exists():
        raise InputError(f"{path}: no such table")
    if not (path / _MANIFEST).is_file():
        raise InputError(f"{path}: not a table (no {_MANIFEST} in it)")
    return Manifest.read(path / _MANIFEST)


def _read_checked(path: Path, name: str, manifest: Manifest) -> bytes:
    file = path / name
    if name not in manifest.sha256:
        raise InputError(f"{path / _MANIFEST}: sha256: no sum for {name}")
    if not file.is_file():
        raise InputError(f"{file}: missing")
    data = file.read_bytes()
    if _sum(data) != manifest.sha256[name]:
        raise InputError(f"{file}: wrong checksum; the file is damaged or was changed")
    return data


def load_table(path: Path | str) -> Table:
    """Read and check the table at ``path``; raise :class:`InputError` naming a bad file.

    The strategy is built and checked too, so that what returns can be played.
    """
    path = Path(path).absolute()
    manifest = read_manifest(path)
    frames = {}
    for name in _PARQUET:
        file = f"{name}.parquet"
        data = _read_checked(path, file, manifest)
        try:
            frames[name] = pl.read_parquet(io.BytesIO(data))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{path / file}: not a Parquet file ({error})") from None
        if frames[name].height != manifest.rows.get(file):
            raise InputError(
                f"{path / file}: {frames[name].height} rows, "
                f"but the manifest says {manifest.rows.get(file)}"
            )
        if any(count.item() for count in frames[name].null_count()):
            raise InputError(f"{path / file}: a value is missing")
    table = Table(manifest=manifest, setup=frames["setup"], decisions=frames["decisions"])
    try:
        _ = table.strategy
    except InputError as error:
        raise InputError(f"{path}/{error}") from None
    except pl.exceptions.ColumnNotFoundError as error:
        raise InputError(f"{path}: a Parquet file lacks the column {error}") from None
    return table


def load_checkpoint(path: Path) -> dict[str, NDArray]:
    """Read the solver state stored with the table at ``path``."""
    path = path.absolute()
    manifest = read_manifest(path)
    if _CHECKPOINT not in manifest.sha256:
        raise InputError(f"{path}: holds no {_CHECKPOINT}, so it cannot be resumed")
    try:
        with np.load(io.BytesIO(_read_checked(path, _CHECKPOINT, manifest))) as arrays:
            return dict(arrays)
    except (ValueError, OSError, zipfile.BadZipFile):
        raise InputError(f"{path / _CHECKPOINT}: not a solver state") from None
