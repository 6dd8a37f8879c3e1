"""Private states of the last slots, each packed into one integer.

A *cell* holds the tiles and stacks of the present and the later slots, the present one in the
highest bits: ``stack, colour, tile``, then ``stack, tile`` for each later slot.  In sorted order
all cells of one colour and stack, and within them all of one tile, are runs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.rules import Game, chips_after_pulls

__all__ = [
    "MOST_SLOTS",
    "SLOT_BITS",
    "TILE_BITS",
    "TILE_MASK",
    "States",
    "cell_after",
    "fits_packing",
    "merge_states",
    "pack_states",
    "run_end",
    "tile_at",
    "unpack",
    "unpack_into",
]

MOST_SLOTS = 4
"""Slots that a packed cell has room for."""

TILE_BITS, STACK_BITS = 6, 8
SLOT_BITS = TILE_BITS + STACK_BITS
"""Bits of a tile, and of a later slot, in a cell."""

TILE_MASK = (1 << TILE_BITS) - 1
"""The lowest bits of a cell or of a later slot in it: the tile."""


class States(NamedTuple):
    """Private states of one side: the slots left, from the present one.

    Attributes
    ----------
    tiles, chips : ndarray of int64, shape (states, slots)
        Tiles, and chips as they stand now.
    """

    tiles: NDArray[np.int64]
    chips: NDArray[np.int64]


def fits_packing(game: Game, num_slots: int) -> bool:
    """Return whether cells of a game's last slots can be packed.

    Examples
    --------
    >>> fits_packing(Game(10, 30), 4), fits_packing(Game(10, 30), 5)
    (True, False)
    """
    has_room = game.num_tiles <= 1 << TILE_BITS and game.num_chips < 1 << STACK_BITS
    return 1 <= num_slots <= MOST_SLOTS and has_room


def pack_states(states: States) -> NDArray[np.int64]:
    """Return the packed cell of each state, int64 of shape (states,).

    Examples
    --------
    >>> states = States(np.array([[3, 0]]), np.array([[2, 5]]))
    >>> [part.tolist() for part in unpack(pack_states(states), 2)]
    [[[3, 0]], [[2, 5]]]
    """
    tiles, chips = states
    packed = (2 * chips[:, 0] + tiles[:, 0] % 2 << TILE_BITS) | tiles[:, 0]
    for slot in range(1, tiles.shape[1]):
        packed = (packed << SLOT_BITS) | (chips[:, slot] << TILE_BITS) | tiles[:, slot]
    return packed.astype(np.int64)


def merge_states(
    states: States, weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return packed cells, sorted and each once, and the sums of the weights.

    Examples
    --------
    >>> states = States(np.array([[1], [0], [1]]), np.array([[2], [2], [2]]))
    >>> merge_states(states, np.array([0.5, 0.25, 0.25]))[1].tolist()
    [0.25, 0.75]
    """
    cells, which = np.unique(pack_states(states), return_inverse=True)
    return cells, np.bincount(which, weights, len(cells)).astype(np.float64)


def unpack(cells: NDArray[np.int64], num_slots: int) -> States:
    """Return the states that cells of a node with ``num_slots`` left stand for."""
    tiles, chips = (np.empty((len(cells), num_slots), np.int64) for _ in range(2))
    for row, cell in enumerate(cells):
        unpack_into(cell, tiles[row], chips[row], 0)
    return States(tiles, chips)


@njit(cache=True, nogil=True)
def unpack_into(cell, tiles, chips, slot):
    """Write a cell's tiles and chips to ``slot`` and all after it, in place."""
    slot_mask = (1 << SLOT_BITS) - 1
    for s in range(tiles.shape[0] - 1, slot, -1):
        tiles[s] = cell & TILE_MASK
        chips[s] = (cell & slot_mask) >> TILE_BITS
        cell >>= SLOT_BITS
    tiles[slot] = cell & TILE_MASK
    chips[slot] = cell >> (TILE_BITS + 1)


@njit(cache=True, nogil=True)
def cell_after(cell, num_slots, pulled):
    """Return the cell of the later slots, ``num_slots`` of them, once ``pulled`` chips are gone."""
    stack_mask = (1 << STACK_BITS) - 1
    packed = np.int64(0)
    spare = 0
    for later in range(num_slots):
        tile = cell & TILE_MASK
        placed = (cell >> TILE_BITS) & stack_mask
        stack = chips_after_pulls(placed, spare, pulled)
        spare += placed - 1
        if later == num_slots - 1:
            stack = 2 * stack + (tile & 1)
        packed |= ((stack << TILE_BITS) | tile) << (SLOT_BITS * later)
        cell >>= SLOT_BITS
    return packed


@njit(cache=True, nogil=True)
def run_end(cells, start, stop, shift):
    """Return where the run of cells that agree with the first one above ``shift`` bits ends."""
    end = start + 1
    while end < stop and cells[end] >> shift == cells[start] >> shift:
        end += 1
    return end


@njit(cache=True, nogil=True)
def tile_at(cell, shift):
    """Return the tile of the slot to come."""
    return (cell >> shift) & TILE_MASK
