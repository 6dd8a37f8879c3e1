"""The keys that rows of a sampled table stand for: millions of them, in one compiled pass."""

from __future__ import annotations

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from solver.abstraction import DETAILS, FEATURES, detail_sizes, feature_sizes, join_keys
from solver.rules import InputError

__all__ = ["keys_of_rows"]

_OUT_OF_STEPS, _WRONG_SHOWN = -1, -2
"""What a row's key is where it cannot be read."""


def keys_of_rows(
    decisions: pl.DataFrame, num_tiles: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the key of each row of a sampled table's decisions, and whether it is not a finer one.

    Raises
    ------
    InputError
        If a feature or detail is outside its steps.
    """
    names = (*FEATURES, *DETAILS, "shown")
    steps = np.stack([decisions[name].to_numpy() for name in names])
    if steps.dtype != np.int16:
        steps = steps.astype(np.int64)
    keys, details = (np.empty(steps.shape[1], np.int64) for _ in range(2))
    is_coarse = np.empty(steps.shape[1], np.bool_)
    sizes = np.array(feature_sizes(num_tiles) + detail_sizes(num_tiles))
    lead = len(FEATURES) + DETAILS.index("exact_lead")
    slot = FEATURES.index("slot")
    _pack_rows(steps, sizes, len(FEATURES), lead, slot, num_tiles, keys, details, is_coarse)
    if (keys == _WRONG_SHOWN).any():
        raise InputError("decisions.parquet: exact_lead or shown is outside its range")
    if (keys == _OUT_OF_STEPS).any():
        raise InputError("decisions.parquet: a feature is outside its steps")
    shown = steps[-1].astype(np.int64)
    return np.where(is_coarse, keys, join_keys(keys, details, shown)), is_coarse


@njit(cache=True, nogil=True)
def _pack_rows(steps, sizes, num_features, lead, slot, num_tiles, keys, details, is_coarse):
    """Fill the key and the detail of each row, and whether it has none, in place."""
    num_steps = sizes.shape[0]
    for row in range(steps.shape[1]):
        shown = steps[num_steps, row]
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
            key = np.int64(_WRONG_SHOWN)
        elif not is_inside:
            key = np.int64(_OUT_OF_STEPS)
        keys[row] = key
        details[row] = detail
        is_coarse[row] = is_plain
