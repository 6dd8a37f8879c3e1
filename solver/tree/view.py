"""What the infostates of a public tree look like to their owners, and how much memory a tree takes.

The tree itself keeps for each node only what its parent slot showed; a walk down the slots puts
the whole past together.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.infostate import HIDDEN, UNKNOWN
from solver.tree.build import PublicTree
from solver.tree.parts import decode

__all__ = ["infostate_observations", "tree_bytes"]


def infostate_observations(
    tree: PublicTree,
) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return what each infostate's owner sees, and in which slot.

    Returns
    -------
    observations : ndarray of int16, shape (infostates, N, 4)
        As in :func:`solver.infostate.observe`, the owner's view on both sides; infostates of side
        0 first.
    slots : ndarray of int16, shape (infostates,)
    """
    n = tree.game.num_tiles
    observations = np.empty((tree.num_infostates, n, 4), np.int16)
    observations[:, :, 2] = UNKNOWN
    observations[:, :, 3] = 0
    slots = np.empty(tree.num_infostates, np.int16)
    past = np.zeros((1, 0, 4), np.int16)
    first_cell = [0, 0]
    first_info = [0, tree.num_side_infostates[0]]
    for slot, nodes in enumerate(tree.levels):
        if slot > 0:
            past = np.concatenate([past[nodes.parent], nodes.event[:, None, :]], axis=1)
        for player, side in enumerate(tree.arrays.sides):
            if slot == n - 1:
                upper = int(side.info_start[-1])
                stop = first_info[player] + int(side.last_info[-1]) - upper
                seen = observations[first_info[player] : stop]
                node = observe_last(
                    player, side, tree.arrays.last_kind, side.last_info - upper,
                    tree.arrays.sides[1 - player], tree.last_stack, seen,
                )  # fmt: skip
            else:
                here = slice(int(side.info_start[slot]), int(side.info_start[slot + 1]))
                start = nodes.start[player]
                cell = side.info_cell[here] - first_cell[player] + start[0]
                node = np.searchsorted(start, cell, side="right") - 1
                stop = first_info[player] + len(cell)
                seen = observations[first_info[player] : stop]
                faced = tree.info_faced[slot][player]
                observe_cells(tree.codec, slot, nodes.cells, cell, faced, seen)
                first_cell[player] += start[-1] - start[0]
            mine = [0, 1, 2, 3] if player == 0 else [2, 3, 0, 1]
            seen[:, :slot, :] = past[node][:, :, mine]
            slots[first_info[player] : stop] = slot
            first_info[player] = stop
    return observations, slots


@njit(cache=True, nogil=True)
def observe_cells(codec, slot, cells, info_cell, faced, seen):
    """Fill ``seen`` (int16, shape (infostates, N, 4)) from ``slot`` on, before the last slot."""
    tiles = np.empty((1, codec.num_tiles), np.int64)
    chips = np.empty((1, codec.num_tiles), np.int64)
    for i in range(info_cell.shape[0]):
        decode(codec, cells[info_cell[i]], slot, 0, tiles, chips)
        for s in range(slot, codec.num_tiles):
            seen[i, s, 0] = tiles[0, s]
            seen[i, s, 1] = chips[0, s]
        seen[i, slot, 2] = HIDDEN - faced[i] // (codec.num_chips + 1)
        seen[i, slot, 3] = faced[i] % (codec.num_chips + 1)


@njit(cache=True, nogil=True)
def observe_last(player, side, last_kind, last_info, other, last_stack, seen):
    """Fill the last slot of ``seen`` (int16, shape (infostates, N, 4)); return each one's node."""
    slot = seen.shape[1] - 1
    node = np.empty(seen.shape[0], np.int64)
    for k in range(last_kind.shape[0]):
        if last_kind[k] != player:
            continue
        first = side.last_start[k] - side.last_start[0]
        size = side.last_start[k + 1] - side.last_start[k]
        other_first = other.last_start[k] - other.last_start[0]
        other_past = other.last_start[k + 1] - other.last_start[0]
        tint = other.last_tile[other_first] & 1
        for i in range(last_info[k], last_info[k + 1]):
            if i == last_info[k] + size:
                tint = other.last_tile[other_past - 1] & 1
            node[i] = k
            seen[i, slot, 0] = side.last_tile[first + (i - last_info[k]) % size]
            seen[i, slot, 1] = last_stack[k, player]
            seen[i, slot, 2] = HIDDEN - tint
            seen[i, slot, 3] = last_stack[k, 1 - player]
    return node


def tree_bytes(tree: PublicTree) -> int:
    """Return the bytes that a tree's arrays take."""
    total = 0
    stack: list[object] = [tree.arrays, tree.levels, tree.info_faced, tree.last_stack]
    while stack:
        item = stack.pop()
        if isinstance(item, np.ndarray):
            total += item.nbytes
        elif isinstance(item, tuple):
            stack.extend(item)
    return total
