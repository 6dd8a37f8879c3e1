"""Links of a branch while they are picked: where private states lead, fixed decisions as steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.tree.bounds import FOLDS
from solver.tree.branch import RawSide

__all__ = ["Steps", "new_steps", "pick_steps", "redirect"]


class Steps(NamedTuple):
    """One side's links while they are picked; targets are still those of the raw branch.

    Attributes
    ----------
    info_cell, info_fold, info_ways : ndarray of int32, shape (infostates before the last slot,)
    info_match : ndarray of int32, shape (infostates before the last slot + 1,)
    match_to, edge_from, edge_to : ndarray of int32
    info_start, edge_start : ndarray of int64, shape (L + 1,)
    used : ndarray of int64, shape (3,)
        Infostates, matches and edges written.
    """

    info_cell: NDArray[np.int32]
    info_fold: NDArray[np.int32]
    info_ways: NDArray[np.int32]
    info_match: NDArray[np.int32]
    match_to: NDArray[np.int32]
    edge_from: NDArray[np.int32]
    edge_to: NDArray[np.int32]
    info_start: NDArray[np.int64]
    edge_start: NDArray[np.int64]
    used: NDArray[np.int64]


def new_steps(side: RawSide) -> Steps:
    """Return room for one side's links."""
    num_infos, num_matches = len(side.info_cell), len(side.match_to)
    num_edges = len(side.edge_to) + num_infos + num_matches
    return Steps(
        np.empty(num_infos, np.int32),
        np.empty(num_infos, np.int32),
        np.empty(num_infos, np.int32),
        np.zeros(num_infos + 1, np.int32),
        np.empty(num_matches, np.int32),
        np.empty(num_edges, np.int32),
        np.empty(num_edges, np.int32),
        np.zeros(len(side.info_start), np.int64),
        np.zeros(len(side.info_start), np.int64),
        np.zeros(3, np.int64),
    )


@njit(cache=True, nogil=True)
def pick_steps(side, choice, is_fixed, to, rows, steps):
    """Fill ``steps`` and ``rows`` with what is kept before the last slot."""
    used = steps.used
    for slot in range(side.info_start.shape[0] - 1):
        for edge in range(side.edge_start[slot], side.edge_start[slot + 1]):
            if to[side.edge_from[edge]] >= 0:
                add_edge(steps, to[side.edge_from[edge]], side.edge_to[edge])
        for info in range(side.info_start[slot], side.info_start[slot + 1]):
            cell = to[side.info_cell[info]]
            first, past = side.info_match[info], side.info_match[info + 1]
            rows[info] = -2 - choice[info]
            if cell < 0:
                continue
            if not is_fixed[info]:
                rows[info] = used[0]
                steps.info_cell[used[0]] = cell
                steps.info_fold[used[0]] = side.info_fold[info]
                steps.info_ways[used[0]] = side.info_ways[info]
                for k in range(first, past):
                    steps.match_to[used[1]] = side.match_to[k]
                    used[1] += 1
                used[0] += 1
                steps.info_match[used[0]] = used[1]
            elif choice[info] == FOLDS:
                add_edge(steps, cell, side.info_fold[info])
            else:
                for k in range(first, past):
                    add_edge(steps, cell, side.match_to[k])
        steps.info_start[slot + 1] = used[0]
        steps.edge_start[slot + 1] = used[2]


@njit(cache=True, nogil=True)
def add_edge(steps, cell, target):
    """Write a step in which nothing is decided."""
    steps.edge_from[steps.used[2]] = cell
    steps.edge_to[steps.used[2]] = target
    steps.used[2] += 1


@njit(cache=True, nogil=True)
def redirect(to, steps, blocks):
    """Give all links their new targets, in place, and leave out steps that lead nowhere."""
    used = steps.used
    for k in range(used[0]):
        steps.info_fold[k] = to[steps.info_fold[k]]
    for k in range(used[1]):
        steps.match_to[k] = to[steps.match_to[k]]
    for k in range(blocks.fold.shape[0]):
        if blocks.fold[k] >= 0:
            blocks.fold[k] = to[blocks.fold[k]]
    for k in range(blocks.to.shape[0]):
        blocks.to[k] = to[blocks.to[k]]
    num = 0
    for slot in range(steps.edge_start.shape[0] - 1):
        first, past = steps.edge_start[slot], steps.edge_start[slot + 1]
        steps.edge_start[slot] = num
        for edge in range(first, past):
            if to[steps.edge_to[edge]] >= 0:
                steps.edge_from[num] = steps.edge_from[edge]
                steps.edge_to[num] = to[steps.edge_to[edge]]
                num += 1
    steps.edge_start[-1] = num
    used[2] = num
