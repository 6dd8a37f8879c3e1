"""A branch without what is settled: :class:`solver.tree.branch.Raw` in, flat arrays out.

Fixed decisions become steps, settled nodes become ends and take what is below them along, ends
that no pair of private states can come to any more are left out, and what is left of the last two
slots is folded up into matrices (:mod:`solver.tree.block`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.tree.block import ENDING, KEPT, PURE, Arrivals, BlockSide, make_blocks
from solver.tree.bounds import Verdict, without_records
from solver.tree.branch import Raw
from solver.tree.flat import Branch, SidePart
from solver.tree.steps import Steps, new_steps, pick_steps, redirect

__all__ = ["Rest", "reduce_branch"]


class Rest(NamedTuple):
    """What is left of a branch, and what became of each infostate.

    Attributes
    ----------
    branch : Branch
    rows : pair of ndarray of int32, shape (infostates of the side,)
        The number of each infostate in the branch, or ``-2 - choice`` where it is settled, with
        ``choice`` as in :class:`solver.tree.bounds.Verdict`.
    cells : pair of ndarray of int32, shape (infostates of the side,)
        The cell in which each is decided; -1 where its node was settled; ``-2 - cell`` where it was
        folded up, with ``cell`` as in ``arrivals``.
    arrivals : pair of Arrivals
    """

    branch: Branch
    rows: tuple[NDArray[np.int32], NDArray[np.int32]]
    cells: tuple[NDArray[np.int32], NDArray[np.int32]]
    arrivals: tuple[Arrivals, Arrivals]


def reduce_branch(raw: Raw, verdict: Verdict, *, has_payments: bool, fold_endings: bool) -> Rest:
    """Return what is left of a branch.

    Endings are not folded up where a gap may be paid in several ways.
    """
    raw = without_records(raw)
    num_slots = len(raw.level_start) - 1
    folds = fold_endings and not has_payments and num_slots > 1
    num_ends, num_nodes = len(raw.end_utility), len(raw.parent)
    fate = np.zeros(num_nodes, np.int8)
    mark_nodes(raw, verdict, folds, fate)
    num_infos = [len(choice) for choice in verdict.choice]
    rows = (np.empty(num_infos[0], np.int32), np.empty(num_infos[1], np.int32))
    cells = (np.empty(num_infos[0], np.int32), np.empty(num_infos[1], np.int32))
    steps, hits, to, num_cells = [], [], [], []
    for p, side in enumerate(raw.sides):
        to.append(np.full(side.num_cells + num_ends, -1, np.int32))
        num_cells.append(number_cells(side.node_start, fate, to[p]))
        steps.append(new_steps(side))
        note_cells(raw, p, fate, to[p], cells[p])
        pick_steps(side, verdict.choice[p], verdict.is_fixed[p], to[p], rows[p], steps[p])
        hits.append(np.zeros(num_ends + num_nodes, np.bool_))
        mark_ends(side, cell_nodes(side), steps[p], hits[p])
    reached = hits[0] & hits[1]
    reached[num_ends:] &= fate == ENDING
    if folds:  # those below the slot before the last go into its matrices
        reached[raw.end_start[-2] : num_ends] = False
        reached[num_ends + raw.level_start[-2] :] = False
    utilities = np.concatenate([raw.end_utility, verdict.node_utility])[reached]
    for p in range(2):
        number_last(raw, p, verdict, fate, int(steps[p].used[0]), rows[p])
    blocks = make_blocks(raw, verdict, fate, (to[0], to[1]), num_cells, (steps[0], steps[1]), folds)
    for p, side in enumerate(raw.sides):
        number_ends(side, reached, num_cells[p], to[p])
        redirect(to[p], steps[p], blocks.sides[p])
    sides = [_side(steps[p], blocks.sides[p], num_cells[p], has_payments) for p in range(2)]
    branch = Branch(
        (sides[0], sides[1]), utilities.astype(np.float32), blocks.payoff, blocks.num_before_last
    )
    return Rest(branch, rows, cells, blocks.arrivals)


def _side(steps: Steps, blocks: BlockSide, num_cells: int, has_payments: bool) -> SidePart:
    """Return what was written, cut to what is used."""
    infos, matches, edges = steps.used
    pays = np.zeros(1, np.int32)
    if has_payments:
        pays = np.concatenate([pays, np.cumsum(steps.info_ways[:infos], dtype=np.int32)])
    return SidePart(
        num_cells,
        int(infos) + len(blocks.cell),
        steps.info_cell[:infos].copy(),
        steps.info_fold[:infos].copy(),
        steps.info_match[: infos + 1].copy(),
        pays,
        steps.match_to[:matches].copy(),
        steps.edge_from[:edges].copy(),
        steps.edge_to[:edges].copy(),
        steps.info_start,
        steps.edge_start,
        *blocks,
    )


@njit(cache=True, nogil=True)
def mark_nodes(raw, verdict, folds, fate):
    """Fill ``fate`` (int8, shape (nodes,)); with ``folds``, nodes of the last slot may be PURE."""
    fate[0] = KEPT
    first_last = raw.level_start[-2]
    for node in range(1, fate.shape[0]):
        if fate[raw.parent[node]] == KEPT:
            fate[node] = ENDING if verdict.is_settled[node] else KEPT
            if folds and node >= first_last and fate[node] == KEPT:
                kind = raw.last_kind[node - first_last]
                fate[node] = PURE
                if kind < 2:
                    starts = raw.sides[kind].last_info
                    for info in range(starts[node - first_last], starts[node - first_last + 1]):
                        if not verdict.is_fixed[kind][info]:
                            fate[node] = KEPT


@njit(cache=True, nogil=True)
def number_cells(node_start, fate, to):
    """Fill ``to`` (int32, shape (cells + ends,)) with kept cells' new numbers; count them."""
    number = 0
    for node in range(fate.shape[0]):
        if fate[node] == KEPT:
            for cell in range(node_start[node], node_start[node + 1]):
                to[cell] = number
                number += 1
    return number


@njit(cache=True, nogil=True)
def note_cells(raw, me, fate, to, cells):
    """Fill ``cells`` with where each infostate is decided, as in :class:`Rest`."""
    side = raw.sides[me]
    for info in range(side.info_cell.shape[0]):
        cells[info] = to[side.info_cell[info]]
    first_last = raw.level_start[-2]
    start = side.node_start[first_last:]
    for node in range(raw.last_kind.shape[0]):
        width = start[node + 1] - start[node]
        first = side.last_info[node]
        for info in range(first, side.last_info[node + 1]):
            cell = start[node] + (info - first) % width
            if fate[first_last + node] == PURE:
                cells[info] = -2 - (cell - start[0])
            else:
                cells[info] = to[cell]


@njit(cache=True, nogil=True)
def cell_nodes(side):
    """Return the node of each cell, int64 of shape (cells,)."""
    nodes = np.empty(side.num_cells, np.int64)
    for node in range(side.node_start.shape[0] - 1):
        nodes[side.node_start[node] : side.node_start[node + 1]] = node
    return nodes


@njit(cache=True, nogil=True)
def mark_ends(side, nodes, steps, hits):
    """Mark the raw ends, then nodes (bool, shape (ends + nodes,)), that the side can come to."""
    num_ends = hits.shape[0] - (side.node_start.shape[0] - 1)
    used = steps.used
    for part, num in (
        (steps.info_fold, used[0]), (steps.match_to, used[1]), (steps.edge_to, used[2]),
    ):  # fmt: skip
        for k in range(num):
            if part[k] >= side.num_cells:
                hits[part[k] - side.num_cells] = True
            else:
                hits[num_ends + nodes[part[k]]] = True


@njit(cache=True, nogil=True)
def number_ends(side, reached, number, to):
    """Number the ends in ``to``, behind the cells; the cells of a settled node become one end."""
    num_ends = reached.shape[0] - (side.node_start.shape[0] - 1)
    for key in range(reached.shape[0]):
        if not reached[key]:
            continue
        if key < num_ends:
            to[side.num_cells + key] = number
        else:
            to[side.node_start[key - num_ends] : side.node_start[key - num_ends + 1]] = number
        number += 1


@njit(cache=True, nogil=True)
def number_last(raw, me, verdict, fate, number, rows):
    """Fill ``rows`` for the last slot; its open infostates are numbered from ``number`` on."""
    first_last = raw.level_start[-2]
    starts = raw.sides[me].last_info
    for node in range(raw.last_kind.shape[0]):
        is_kept = fate[first_last + node] == KEPT
        for info in range(starts[node], starts[node + 1]):
            rows[info] = -2 - verdict.choice[me][info]
            if is_kept and not verdict.is_fixed[me][info]:
                rows[info] = number
                number += 1
