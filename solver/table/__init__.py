"""Strategy tables on disk: what stands in them, and how they are written and read.

A table is a folder of a ``manifest.json`` and Parquet files.  :mod:`solver.table.manifest` says
what the manifest holds, :mod:`solver.table.frames` turns solver arrays into the Parquet columns
and back into a playable strategy, :mod:`solver.table.storage` writes and reads folders.
"""

from solver.table.frames import Table, exact_table, sampled_table
from solver.table.manifest import (
    FORMAT_VERSION,
    FolderManifest,
    LockFacts,
    Manifest,
    new_manifest,
)
from solver.table.storage import (
    check_writable,
    load_checkpoint,
    load_folder,
    load_table,
    place_of,
    read_manifest,
    remove_unfinished,
    save_folder,
    save_table,
    save_unfinished,
    unfinished_at,
)

__all__ = [
    "FORMAT_VERSION",
    "FolderManifest",
    "LockFacts",
    "Manifest",
    "Table",
    "check_writable",
    "exact_table",
    "load_checkpoint",
    "load_folder",
    "load_table",
    "new_manifest",
    "place_of",
    "read_manifest",
    "remove_unfinished",
    "sampled_table",
    "save_folder",
    "save_table",
    "save_unfinished",
    "unfinished_at",
]
