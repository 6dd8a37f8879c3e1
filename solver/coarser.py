"""Answers for decision keys that a table never met, from coarser keys that it did."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.abstraction import FEATURES, feature_sizes
from solver.kinds import NO_KINDS
from solver.memoryless import row_offsets
from solver.places import places_of
from solver.rules import Game
from solver.strategy import (
    FROM_COARSER,
    FROM_NOTHING,
    FROM_TABLE,
    KEYED,
    MEMORYLESS,
    Strategy,
    make_strategy,
)

__all__ = ["COARSER", "fill_from_coarser", "keyed_strategy"]

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
    is_open = (visits <= 0).reshape(sizes)
    answer = np.where(is_open, 0.0, match.reshape(sizes))
    source = np.where(is_open, FROM_NOTHING, FROM_TABLE).astype(np.uint8)
    weight = visits.astype(np.float64).reshape(sizes)
    total = weight * match.reshape(sizes)
    for left_out in COARSER:  # each step leaves out one more
        axis = FEATURES.index(left_out[-1])
        weight = weight.sum(axis=axis, keepdims=True)
        total = total.sum(axis=axis, keepdims=True)
        mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0.0)
        fresh = is_open & (weight > 0.0)
        np.copyto(answer, mean, where=fresh)
        source[fresh] = FROM_COARSER
        is_open &= ~fresh
    return answer.reshape(-1), source.reshape(-1)


def keyed_strategy(
    game: Game,
    model: NDArray[np.float32],
    match: NDArray[np.float64],
    visits: NDArray[np.int64],
    fine_keys: NDArray[np.int64],
    fine_match: NDArray[np.float64],
    kinds: NDArray[np.float64] = NO_KINDS,
) -> Strategy:
    """Return a strategy of memoryless setups and keyed decisions.

    Parameters
    ----------
    model : ndarray of float32, shape (entries,)
    match, visits : ndarray, shape (keys,)
        Probability of matching, and how often the key was met; 0 leaves it to coarser keys.
    fine_keys, fine_match : ndarray of int64 and float64, shape (fine keys,)
        Fine keys that answer for themselves, all different.
    kinds : ndarray of float64, shape (kinds, KIND)
        Fixed answers (:mod:`solver.kinds`).
    """
    match, source = fill_from_coarser(game.num_tiles, match, visits)
    places, at = places_of(fine_keys) if len(fine_keys) else (fine_keys, fine_keys)
    by_place = np.zeros(len(places))
    by_place[at] = fine_match
    return make_strategy(
        game.num_tiles,
        game.num_chips,
        game.is_win,
        setup_kind=MEMORYLESS,
        decision_kind=KEYED,
        model=model,
        offsets=row_offsets(game.num_tiles, game.num_chips)[0],
        match=match,
        source=source,
        fine_keys=places,
        fine_match=by_place,
        kinds=kinds,
    )
