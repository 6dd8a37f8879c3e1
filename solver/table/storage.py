"""Writing and reading table folders, so that a killed run leaves the old table whole.

A table is written to a temporary folder beside its place and renamed.  If a run is killed between
the two renames, the next reader or writer puts the old table back.

A solve in progress is kept in the same way in a folder beside its table's place, ``3x6.unfinished``
for ``3x6``, which holds a manifest and the solver's state.

Where a part of the strategy is locked, the opponent's is a table of its own, in a folder within.
"""

from __future__ import annotations

import glob
import hashlib
import io
import json
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from solver.rules import InputError
from solver.table.frames import Table
from solver.table.manifest import FolderManifest, Manifest, game_of

__all__ = [
    "check_writable",
    "load_checkpoint",
    "load_folder",
    "load_table",
    "place_of",
    "read_manifest",
    "remove_unfinished",
    "save_folder",
    "save_table",
    "save_unfinished",
    "unfinished_at",
]

AnyManifest = TypeVar("AnyManifest", bound=FolderManifest)

_MANIFEST = "manifest.json"
_CHECKPOINT = "checkpoint.npz"
_PARQUET = ("setup", "decisions")
_OPPONENT = "opponent"
_UNFINISHED = ".unfinished"
_TRIES = 20
_STALE_SECONDS = 3600
_FILES = {_MANIFEST, _CHECKPOINT, _OPPONENT, *(f"{name}.parquet" for name in _PARQUET)}


def _sum(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _aside(path: Path) -> Path:
    """Return where the old table stands while the new one is put in its place."""
    return path.with_name(f".{path.name}.old")


def _recover(path: Path) -> None:
    if not path.exists() and _aside(path).exists():
        _aside(path).rename(path)


def _beside(path: Path) -> Path:
    """Return where a solve in progress is kept whose table belongs at ``path``."""
    return path.parent / f"{path.name}{_UNFINISHED}"


def place_of(path: Path) -> Path:
    """Return where the table belongs that ``path``, perhaps a solve in progress, becomes.

    Examples
    --------
    >>> place_of(Path("results/3x6.unfinished")) == place_of(Path("results/3x6"))
    True
    """
    name = path.name.removesuffix(_UNFINISHED)
    return path.with_name(name) if name else path


def unfinished_at(path: Path) -> Path | None:
    """Return the folder of the solve in progress whose table belongs at ``path``, if any."""
    place = _beside(path)
    _recover(place)
    return place if place.exists() else None


def check_writable(path: Path, game_name: str = Manifest.game_name) -> None:
    """Raise :class:`InputError` unless a table of this game can be written at ``path``.

    A folder that is there must be empty or hold a table of this game and nothing else, since it is
    replaced whole; so must the place beside it, where the solve is kept until it is finished.  The
    current folder cannot be replaced: who works in it would be left in one that is gone.
    """
    path = path.absolute()
    if path.resolve() == Path.cwd():
        raise InputError(f"{path}: the current folder; a table needs a folder of its own")
    if place_of(path) != path:
        raise InputError(f"{path}: names that end in {_UNFINISHED} are for solves in progress")
    for place in (path, _beside(path)):
        _check_replaceable(place, game_name)
    parent = path.parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{path}: cannot be written; {parent} is not a writable folder")


def _check_replaceable(path: Path, game_name: str) -> None:
    """Raise :class:`InputError` if ``path`` holds anything but a table or a solve of this game."""
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
        if (path / _OPPONENT).exists():
            _check_replaceable(path / _OPPONENT, game_name)
        found = _game_at(path)
        if found not in {None, game_name}:
            raise InputError(
                f"{path}: holds a table of {found}, and this is one of {game_name}; "
                "choose an empty or a new folder"
            )


def _game_at(path: Path) -> str | None:
    """Return which game the table at ``path`` is of, None where its manifest does not tell."""
    try:
        return game_of(json.loads((path / _MANIFEST).read_bytes()))
    except (OSError, ValueError):
        return None


def save_table(table: Table, path: Path | str) -> Manifest:
    """Write a table, replacing the one at ``path`` whole; return its manifest as written.

    Raises
    ------
    InputError
        If ``path`` cannot be written, or holds something else.
    """
    path = Path(path).absolute()
    check_writable(path)
    return _write_folder(path, table.manifest, _frames_of(table), table.checkpoint, table.opponent)


def _frames_of(table: Table) -> dict[str, pl.DataFrame]:
    return {name: getattr(table, name) for name in _PARQUET}


def save_unfinished(
    path: Path | str, manifest: Manifest, checkpoint: Mapping[str, NDArray]
) -> Manifest:
    """Keep a solve in progress beside ``path``, where its table belongs; return its manifest.

    The one kept before is replaced whole.  The table at ``path``, if any, stays.
    """
    path = Path(path).absolute()
    check_writable(path)
    manifest = manifest.model_copy(update={"finished": False})
    return _write_folder(_beside(path), manifest, {}, checkpoint)


def remove_unfinished(path: Path | str) -> None:
    """Remove the solve in progress that is kept beside ``path``, if any."""
    place = _beside(Path(path).absolute())
    shutil.rmtree(_aside(place), ignore_errors=True)
    if place.exists():
        gone = place.with_name(f".{place.name}.new-removed")
        shutil.rmtree(gone, ignore_errors=True)
        place.rename(gone)  # at once: a part of it must not be taken for the whole
        shutil.rmtree(gone, ignore_errors=True)


def save_folder(
    path: Path | str,
    manifest: AnyManifest,
    frames: Mapping[str, pl.DataFrame],
    checkpoint: Mapping[str, NDArray] | None = None,
) -> AnyManifest:
    """Write the table of any game, replacing the one at ``path``; return its manifest as written.

    ``frames`` are the Parquet files by name, of those that a table may have: ``setup`` and
    ``decisions``.
    """
    path = Path(path).absolute()
    check_writable(path, manifest.game_name)
    return _write_folder(path, manifest, frames, checkpoint)


def _write_folder(
    path: Path,
    manifest: AnyManifest,
    frames: Mapping[str, pl.DataFrame],
    checkpoint: Mapping[str, NDArray] | None,
    opponent: Table | None = None,
) -> AnyManifest:
    """Write a folder and put it at ``path``; return its manifest, with rows and sums."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(path)
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}.new-", dir=path.parent))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    try:
        manifest = _fill_folder(work, manifest, frames, checkpoint)
        if opponent is not None:
            (work / _OPPONENT).mkdir()
            _fill_folder(work / _OPPONENT, opponent.manifest, _frames_of(opponent), None)
        _put(work, path)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return manifest


def _fill_folder(
    folder: Path,
    manifest: AnyManifest,
    frames: Mapping[str, pl.DataFrame],
    checkpoint: Mapping[str, NDArray] | None,
) -> AnyManifest:
    """Write the files of a table into an empty folder; return its manifest, with rows and sums."""
    for name, frame in frames.items():
        file = folder / f"{name}.parquet"
        frame.write_parquet(file, compression="zstd", compression_level=9)
    if checkpoint is not None:
        np.savez(folder / _CHECKPOINT, allow_pickle=False, **checkpoint)
    manifest = manifest.model_copy(
        update={
            "rows": {f"{name}.parquet": frame.height for name, frame in frames.items()},
            "sha256": {file.name: _sum(file) for file in sorted(folder.iterdir())},
        }
    )
    (folder / _MANIFEST).write_bytes((manifest.model_dump_json(indent=2) + "\n").encode())
    folder.chmod(0o755)
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
    """Remove what writers of this table, or beside it, that were killed long ago have left."""
    for name in (path.name, _beside(path).name):
        for left in path.parent.glob(f".{glob.escape(name)}.new-*"):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the table at ``path``; raise :class:`InputError` if there is none."""
    return _read_manifest(path.absolute(), Manifest)


def _read_manifest(path: Path, kind: type[AnyManifest]) -> AnyManifest:
    _recover(path)
    if not path.exists():
        raise InputError(f"{path}: no such table{_hint(path)}")
    if not (path / _MANIFEST).is_file():
        raise InputError(f"{path}: not a table (no {_MANIFEST} in it)")
    return kind.read(path / _MANIFEST)


def _hint(path: Path) -> str:
    """Say so if a solve in progress is kept beside ``path``."""
    if unfinished_at(path) is None:
        return ""
    return f"; an interrupted solve is kept, and `blackwhite solve --resume {path}` goes on from it"


def _read_checked(path: Path, name: str, manifest: FolderManifest) -> bytes:
    file = path / name
    if name not in manifest.sha256:
        raise InputError(f"{path / _MANIFEST}: sha256: no sum for {name}")
    if not file.is_file():
        raise InputError(f"{file}: missing")
    data = file.read_bytes()
    if hashlib.sha256(data).hexdigest() != manifest.sha256[name]:
        raise InputError(f"{file}: wrong checksum; the file is damaged or was changed")
    return data


def load_table(path: Path | str) -> Table:
    """Read and check the table at ``path``.

    The strategy is built and checked too, so that what returns can be played.

    Parameters
    ----------
    path : Path or str
        A folder that ``blackwhite solve`` or :func:`save_table` wrote.

    Returns
    -------
    Table
        With ``game``, ``strategy``, ``visits``, ``manifest``, and what stands on disk as data
        frames, ``setup`` and ``decisions``.

    Raises
    ------
    InputError
        Naming a file that is missing, damaged, changed or of another version.

    Examples
    --------
    >>> load_table("no/such/table")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    solver.rules.InputError: ...no/such/table: no such table
    """
    path = Path(path).absolute()
    manifest = read_manifest(path)
    if not manifest.finished:
        raise InputError(
            f"{path}: an interrupted solve, not a table yet; "
            f"`blackwhite solve --resume {place_of(path)}` goes on from it"
        )
    frames = _read_frames(path, manifest, _PARQUET)
    table = Table(manifest=manifest, setup=frames["setup"], decisions=frames["decisions"])
    try:
        _ = table.strategy
    except InputError as error:
        raise InputError(f"{path}/{error}") from None
    except pl.exceptions.ColumnNotFoundError as error:
        raise InputError(f"{path}: a Parquet file lacks the column {error}") from None
    return table


def load_folder(
    path: Path | str, kind: type[AnyManifest], names: Iterable[str]
) -> tuple[AnyManifest, dict[str, pl.DataFrame]]:
    """Read and check the table of any game: its manifest and the Parquet files of these names.

    Raises
    ------
    InputError
        Naming a file that is missing, damaged or of another kind.
    """
    path = Path(path).absolute()
    manifest = _read_manifest(path, kind)
    return manifest, _read_frames(path, manifest, names)


def _read_frames(
    path: Path, manifest: FolderManifest, names: Iterable[str]
) -> dict[str, pl.DataFrame]:
    frames = {}
    for name in names:
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
    return frames


def load_checkpoint(path: Path) -> dict[str, NDArray]:
    """Read the solver state stored with the table, or the solve in progress, at ``path``."""
    path = path.absolute()
    manifest = read_manifest(path)
    if _CHECKPOINT not in manifest.sha256:
        raise InputError(f"{path}: holds no {_CHECKPOINT}, so it cannot be resumed")
    data = _read_checked(path, _CHECKPOINT, manifest)
    try:
        with np.load(io.BytesIO(data)) as arrays:
            return dict(arrays)
    except (ValueError, OSError, zipfile.BadZipFile):
        raise InputError(f"{path / _CHECKPOINT}: not a solver state") from None
