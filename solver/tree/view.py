"""What the infostates of a public tree look like to their owners, and what became of them.

The tree itself keeps for each node only what its parent slot showed; a walk down the slots puts
the whole past together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.infostate import HIDDEN, UNKNOWN
from solver.tree.build import PublicTree, Record
from solver.tree.parts import decode

__all__ = [
    "Decisions",
    "array_bytes",
    "infostate_observations",
    "open_numbers",
    "side_decisions",
]


class Decisions(NamedTuple):
    """What became of a side's infostates, settled ones included; in the tree's order.

    Attributes
    ----------
    row : ndarray of int64, shape (infostates,)
        The number among the side's open infostates; -1 where it is settled.
    match : ndarray of float64, shape (infostates,)
        Where it is settled, whether to match: 0 or 1.
    cell : ndarray of int32, shape (infostates,)
        The deciding cell in the branch, or as in :class:`solver.tree.reduce.Rest`.
    branch_start : ndarray of int64, shape (branches + 1,)
        Where the infostates of each branch start.
    pay_start : ndarray of int64, shape (infostates + 1,)
        Where the ways to pay of each infostate start.
    pay_row : ndarray of int64, shape (ways,)
        The number of each among the open ways, or -1.
    pay : ndarray of float64, shape (ways,)
        Where it is settled, whether to pay in this way: 0 or 1.
    """

    row: NDArray[np.int64]
    match: NDArray[np.float64]
    cell: NDArray[np.int32]
    branch_start: NDArray[np.int64]
    pay_start: NDArray[np.int64]
    pay_row: NDArray[np.int64]
    pay: NDArray[np.float64]


def side_decisions(tree: PublicTree, player: int) -> Decisions:
    """Return what became of one side's infostates."""
    counts = [len(record.rows[player]) for record in tree.records]
    branch_start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows = np.concatenate([record.rows[player] for record in tree.records]).astype(np.int64)
    is_open = rows >= 0
    numbers = [open_numbers(tree, player, b, r.rows[player]) for b, r in enumerate(tree.records)]
    choice = np.where(is_open, 0, -2 - rows)
    ways = np.concatenate([_ways(record, player) for record in tree.records])
    pay_start = np.concatenate([[0], np.cumsum(ways)])
    pay = np.zeros(pay_start[-1])
    pay[pay_start[:-1] + np.maximum(choice, 0)] = 1.0
    pay_row = np.full(len(pay), -1)
    if tree.arrays.sides[player].info_pay[-1] > 0:
        # Open ways stand in the order of their infostates.
        of_open = np.repeat(is_open, ways)
        is_last = np.concatenate([_is_last(record, player) for record in tree.records])
        of_open &= ~np.repeat(is_last, ways)
        pay_row[of_open] = np.arange(int(of_open.sum()))
    return Decisions(
        row=np.where(is_open, np.concatenate(numbers), -1),
        match=(choice >= 0).astype(np.float64),
        cell=np.concatenate([record.cells[player] for record in tree.records]),
        branch_start=branch_start,
        pay_start=pay_start,
        pay_row=pay_row,
        pay=pay,
    )


def open_numbers(
    tree: PublicTree, player: int, branch: int, rows: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return the numbers in the tree of open infostates, from their numbers in a branch.

    Within a branch infostates of blocks follow the others; in the tree they all stand last.
    """
    side = tree.arrays.sides[player]
    first, past = side.info_start[branch, 0], side.info_start[branch, -1]
    to_block = len(side.info_cell) + side.block_info_start[branch] - (past - first)
    return rows + np.where(rows < past - first, first, to_block)


def _ways(record: Record, player: int) -> NDArray[np.int64]:
    """Return how many ways to pay each infostate has; in the last slot winnings alone can."""
    num_last = len(record.rows[player]) - len(record.info_ways[player])
    return np.concatenate([record.info_ways[player], np.ones(num_last, np.int64)])


def _is_last(record: Record, player: int) -> NDArray[np.bool_]:
    return np.arange(len(record.rows[player])) >= len(record.info_ways[player])


def infostate_observations(
    tree: PublicTree,
) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return what each infostate's owner sees, and in which slot.

    Returns
    -------
    observations : ndarray of int16, shape (infostates, N, 4) or (infostates, N, 5)
        As in :func:`solver.infostate.observe`, the owner's view on both sides; infostates of side
        0 first, each side's branch by branch.  The fifth column is there with ``pulls=free``.
    slots : ndarray of int16, shape (infostates,)
    """
    n = tree.game.num_tiles
    columns = 5 if "free" in tree.pulls else 4
    observations = np.zeros((tree.num_infostates, n, columns), np.int16)
    observations[:, :, 2] = UNKNOWN
    slots = np.empty(tree.num_infostates, np.int16)
    first = 0
    for player in range(2):
        for record in tree.records:
            past = first + len(record.rows[player])
            view_branch(tree, record, player, observations[first:past], slots[first:past])
            first = past
    return observations, slots


def view_branch(
    tree: PublicTree,
    record: Record,
    player: int,
    observations: NDArray[np.int16],
    slots: NDArray[np.int16],
) -> None:
    """Fill the observations and slots of one side's infostates of a branch."""
    n = tree.game.num_tiles
    columns = observations.shape[2]
    past = np.zeros((1, 0, 5), np.int16)
    mine = ([0, 1, 2, 3] if player == 0 else [2, 3, 0, 1]) + [4] * (columns - 4)
    first_cell, first_info = 0, 0
    for slot, nodes in enumerate(record.levels):
        if slot > 0:
            past = np.concatenate([past[nodes.parent], nodes.event[:, None, :]], axis=1)
        start = nodes.start[player]
        if slot == n - 1:
            last_info = record.last_info[player] - record.last_info[player][0]
            seen = observations[first_info:]
            node = observe_last(
                player, start - start[0], record.last_kind, record.last_tile, last_info,
                nodes.start[1 - player] - nodes.start[1 - player, 0], record.last_stack, seen,
            )  # fmt: skip
        else:
            here = slice(*record.info_start[player][slot : slot + 2])
            cell = record.info_cell[player][here] - first_cell + start[0]
            node = np.searchsorted(start, cell, side="right") - 1
            seen = observations[first_info : first_info + len(cell)]
            observe_cells(
                tree.codec, slot, nodes.cells, cell, record.info_faced[slot][player], seen
            )
            first_cell += start[-1] - start[0]
        seen[:, :slot, :] = past[node][:, :, mine]
        slots[first_info : first_info + len(seen)] = slot
        first_info += len(seen)


@njit(cache=True, nogil=True)
def observe_cells(codec, slot, cells, info_cell, faced, seen):
    """Fill ``seen`` (int16, shape (infostates, N, 4 or 5)) from ``slot`` on, if not the last."""
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
def observe_last(player, start, last_kind, last_tile, last_info, other_start, last_stack, seen):
    """Fill the last slot of ``seen`` (int16, shape (infostates, N, 4 or 5)); return their nodes."""
    slot = seen.shape[1] - 1
    node = np.empty(seen.shape[0], np.int64)
    for k in range(last_kind.shape[0]):
        if last_kind[k] != player:
            continue
        size = start[k + 1] - start[k]
        tint = last_tile[1 - player][other_start[k]] & 1
        for i in range(last_info[k], last_info[k + 1]):
            if i == last_info[k] + size:
                tint = last_tile[1 - player][other_start[k + 1] - 1] & 1
            node[i] = k
            seen[i, slot, 0] = last_tile[player][start[k] + (i - last_info[k]) % size]
            seen[i, slot, 1] = last_stack[k, player]
            seen[i, slot, 2] = HIDDEN - tint
            seen[i, slot, 3] = last_stack[k, 1 - player]
    return node


def array_bytes(*items: object) -> int:
    """Return the bytes of all arrays in (nested) tuples."""
    total = 0
    stack = list(items)
    while stack:
        item = stack.pop()
        if isinstance(item, np.ndarray):
            total += item.nbytes
        elif isinstance(item, tuple):
            stack.extend(item)
    return total
