"""Memoryless setups: a family of setup strategies for games too large to list.

A setup is drawn slot by slot; the probability of the next (tile, chips) depends only on the set of
tiles not yet placed and the number of chips not yet placed.  The model is one flat array of
probabilities.  ``offsets[mask, chips_left]`` is where the row of a state starts (-1 for a state
that cannot occur); in a row of ``k`` tiles left the entry of the ``r``-th tile left (from the
lowest) with ``c`` chips is ``r * width + c - 1``, ``width = chips_left - k + 1``.  The last tile
takes all chips that are left and has no row.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.setups import count_bits

__all__ = [
    "condition_model",
    "count_entries",
    "draw_memoryless",
    "memoryless_prob",
    "nth_tile",
    "rank_of",
    "row_offsets",
    "row_starts",
    "uniform_model",
]


def count_entries(num_tiles: int, num_chips: int) -> int:
    """Return the length of the model of a game, without building anything.

    Examples
    --------
    >>> count_entries(10, 30)
    1178310
    """
    if num_tiles < 2:
        return 0
    width = num_chips - num_tiles + 1
    per_tile = width * (width + 1) // 2  # a smaller set has rows for stacks of 1 to 1, ..., width
    tiles_in_sets = num_tiles * (2 ** (num_tiles - 1) - 2)  # over all sets of 2 to N - 1 tiles
    return num_tiles * width + tiles_in_sets * per_tile


@njit(cache=True, nogil=True)
def row_offsets(num_tiles, num_chips):
    """Return ``(offsets, size)``: int64 of shape (2**N, C + 1), and the model's length."""
    num_sets = 1 << num_tiles
    offsets = np.full((num_sets, num_chips + 1), -1, np.int64)
    size = 0
    for mask in range(1, num_sets):
        k = 0
        for tile in range(num_tiles):
            k += (mask >> tile) & 1
        if k < 2:
            continue
        placed = num_tiles - k
        low = num_chips if placed == 0 else k
        for chips_left in range(low, num_chips - placed + 1):
            offsets[mask, chips_left] = size
            size += k * (chips_left - k + 1)
    return offsets, size


@njit(cache=True, nogil=True)
def draw_memoryless(model, offsets, rng, tiles, chips):
    """Fill ``tiles`` and ``chips`` (int64, shape (N,)) with a setup drawn from the model."""
    n = tiles.shape[0]
    mask = (1 << n) - 1
    chips_left = offsets.shape[1] - 1
    for slot in range(n - 1):
        k = n - slot
        width = chips_left - k + 1
        row = offsets[mask, chips_left]
        target = rng.random()
        last = k * width - 1
        entry = 0
        total = model[row]
        while total <= target and entry < last:
            entry += 1
            total += model[row + entry]
        while model[row + entry] <= 0.0 and entry > 0:  # rounding can run past the last entry
            entry -= 1
        rank = entry // width
        tiles[slot] = nth_tile(mask, rank)
        chips[slot] = entry - rank * width + 1
        mask ^= 1 << tiles[slot]
        chips_left -= chips[slot]
    tiles[n - 1] = nth_tile(mask, 0)
    chips[n - 1] = chips_left


@njit(cache=True, nogil=True)
def nth_tile(mask, rank):
    """Return the ``rank``-th lowest tile of a set."""
    for _ in range(rank):
        mask &= mask - 1
    tile = 0
    while (mask >> tile) & 1 == 0:
        tile += 1
    return tile


@njit(cache=True, nogil=True)
def rank_of(mask, tile):
    """Return how many tiles of a set are lower than ``tile``."""
    rank = 0
    for lower in range(tile):
        rank += (mask >> lower) & 1
    return rank


@njit(cache=True, nogil=True)
def memoryless_prob(model, offsets, tiles, chips):
    """Return the probability of a whole setup under the model."""
    n = tiles.shape[0]
    mask = (1 << n) - 1
    chips_left = offsets.shape[1] - 1
    prob = 1.0
    for slot in range(n - 1):
        width = chips_left - (n - slot) + 1
        row = offsets[mask, chips_left]
        prob *= model[row + rank_of(mask, tiles[slot]) * width + chips[slot] - 1]
        mask ^= 1 << tiles[slot]
        chips_left -= chips[slot]
    return prob


@njit(cache=True, nogil=True)
def condition_model(model, offsets, tiles, chips):
    """Return ``(model, total)``: a memoryless model given a half-placed board.

    Each entry is weighted by the probability that what follows it fits the board, worked out from
    the last slot back; ``total`` is the probability that a draw fits at all.

    Parameters
    ----------
    model, offsets
        As above: float32 or float64, and of :func:`row_offsets`.
    tiles, chips : ndarray of int64, shape (N,)
        What is placed; -1 where a place is open.
    """
    n = tiles.shape[0]
    num_chips = offsets.shape[1] - 1
    given = np.zeros_like(model)
    fit = np.zeros((offsets.shape[0], num_chips + 1))
    for mask in range(1, offsets.shape[0]):  # a set comes after all of its subsets
        num_left = count_bits(mask)
        slot = n - num_left
        for left in range(num_left, num_chips + 1):
            if num_left == 1:
                last = nth_tile(mask, 0)
                good_tile = tiles[slot] == -1 or tiles[slot] == last
                good_chips = chips[slot] == -1 or chips[slot] == left
                fit[mask, left] = 1.0 if good_tile and good_chips else 0.0
                continue
            row = offsets[mask, left]
            if row < 0:
                continue
            width = left - num_left + 1
            total = 0.0
            for rank in range(num_left):
                tile = nth_tile(mask, rank)
                if tiles[slot] != -1 and tiles[slot] != tile:
                    continue
                for stack in range(1, width + 1):
                    if chips[slot] != -1 and chips[slot] != stack:
                        continue
                    entry = row + rank * width + stack - 1
                    weight = model[entry] * fit[mask ^ (1 << tile), left - stack]
                    given[entry] = weight
                    total += weight
            fit[mask, left] = total
            if total > 0:
                for entry in range(row, row + num_left * width):
                    given[entry] /= total
    return given, fit[offsets.shape[0] - 1, num_chips]


def row_starts(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the rows of a model start, in increasing order."""
    return np.sort(offsets[offsets >= 0])


def uniform_model(num_tiles: int, num_chips: int) -> NDArray[np.float32]:
    """Return the model in which every entry of a row is equally likely."""
    offsets, size = row_offsets(num_tiles, num_chips)
    model = np.zeros(size, np.float32)
    starts = np.append(row_starts(offsets), size)
    model[:] = np.repeat(1.0 / np.diff(starts), np.diff(starts))
    return model
