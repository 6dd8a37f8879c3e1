"""The keys that rows of a sampled table stand for: millions of them, in one compiled pass."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from solver.abstraction import DETAILS, FEATURES, detail_sizes, feature_sizes, join_key
from solver.rules import InputError

__all__ = ["keys_of_rows"]

_OUT_OF_STEPS, _WRONG_SHOWN = -1, -2
"""What a row's key is where it cannot be read."""

_THREADS, _ROWS = 2, 2**16
"""Threads that read rows, and how many rows each takes at a time: few enough for the cache."""


def keys_of_rows(
    decisions: pl.DataFrame, num_tiles: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the key of each row of a sampled table's decisions, and whether it is not a finer one.

    Raises
    ------
    InputError
        If a feature or detail is outside its steps.
    """
    columns = [decisions[name].to_numpy() for name in (*FEATURES, *DETAILS, "shown")]
    kind = np.int16 if all(column.dtype == np.int16 for column in columns) else np.int64
    keys = np.empty(decisions.height, np.int64)
    is_coarse = np.empty(decisions.height, np.bool_)
    sizes = np.array(feature_sizes(num_tiles) + detail_sizes(num_tiles))
    lead = len(FEATURES) + DETAILS.index("exact_lead")
    slot = FEATURES.index("slot")

    def read(first: int) -> None:
        rows = slice(first, first + _ROWS)
        steps = np.stack([column[rows] for column in columns]).astype(kind, copy=False)
        _read_rows(steps, sizes, len(FEATURES), lead, slot, num_tiles, keys[rows], is_coarse[rows])

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(read, range(0, decisions.height, _ROWS)))
    worst = keys.min(initial=0)
    if worst == _WRONG_SHOWN:
        raise InputError("decisions.parquet: exact_lead or shown is outside its range")
    if worst == _OUT_OF_STEPS:
        raise InputError("decisions.parquet: a feature is outside its steps")
    return keys, is_coarse


@njit(cache=True, nogil=True)
def _read_rows(steps, sizes, num_features, lead, slot, num_tiles, keys, is_coarse):
    """Fill the key of each row, and whether it is not a finer one, in place."""
    num_steps = sizes.shape[0]
    for row in range(steps.shape[1]):
        shown = np.int64(steps[num_steps, row])
        is_plain = shown == -1
        for step in range(num_features, num_steps):
            is_plain = is_plain and steps[step, row] == -1
        key = detail = np.int64(0)
        is_inside = True
        for step in range(num_steps):
            found = np.int64(steps[step, row])
            if step == slot:
                found -= 1
            if step >= num_features and (is_plain or (step == lead and shown >= 0)):
                found = 0
            is_inside = is_inside and 0 <= found < sizes[step]
            if step < num_features:
                key = key * sizes[step] + found
            else:
                detail = detail * sizes[step] + found
        if shown < -1 or shown >= 1 << num_tiles or (shown >= 0 and steps[lead, row] != -1):
            keys[row] = _WRONG_SHOWN
        elif not is_inside:
            keys[row] = _OUT_OF_STEPS
        elif is_plain:
            keys[row] = key
        else:
            keys[row] = join_key(key, detail, shown)
        is_coarse[row] = is_plain
