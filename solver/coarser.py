"""Answers for decision keys that a table never met, from coarser keys that it did."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.abstraction import FEATURES, feature_sizes
from solver.strategy import FROM_COARSER, FROM_NOTHING, FROM_TABLE

__all__ = ["COARSER", "fill_from_coarser"]

COARSER = (
    ("strength",),
    ("strength", "folded"),
    ("strength", "folded", "stack"),
    ("strength", "folded", "stack", "lead"),
    ("strength", "folded", "stack", "lead", "slot"),
    ("strength", "folded", "stack", "lead", "slot", "gap"),
)
"""Features left out, step by step, until a key never met finds keys that were."""


def fill_from_coarser(
    num_tiles: int, match: NDArray[np.float64], visits: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Answer keys that were never met from the nearest coarser key that was.

    The features in ``COARSER`` are left out step by step; a coarser key's probability is the mean
    of its members', weighted by visits.

    Parameters
    ----------
    match, visits : ndarrays, shape (keys,)

    Returns
    -------
    match : ndarray of float64, shape (keys,)
        As given where met; fold where even the coarsest key was never met.
    source : ndarray of uint8, shape (keys,)
        ``FROM_TABLE``, ``FROM_COARSER`` or ``FROM_NOTHING``.
    """
    sizes = feature_sizes(num_tiles)
    answer = np.where(visits > 0, match, 0.0)
    source = np.where(visits > 0, FROM_TABLE, FROM_NOTHING).astype(np.uint8)
    weights = visits.astype(np.float64).reshape(sizes)
    matched = weights * match.reshape(sizes)
    for left_out in COARSER:
        axes = tuple(FEATURES.index(name) for name in left_out)
        weight = weights.sum(axis=axes, keepdims=True)
        total = matched.sum(axis=axes, keepdims=True)
        mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0.0)
        known = np.broadcast_to(weight > 0.0, sizes).reshape(-1)
        fresh = known & (source == FROM_NOTHING)
        answer[fresh] = np.broadcast_to(mean, sizes).reshape(-1)[fresh]
        source[fresh] = FROM_COARSER
    return answer, source
