"""What is settled in a branch whatever is hidden: dominated actions, and nodes with one outcome.

For each private state, from the last slot up: the utility that its owner can be sure of, whatever
the opponent holds and does, and the most that can come of it.  Two things follow.

* An action that can never earn more than another is sure to earn is *dominated*.  Where it leads
  to nothing but ends, the decision is fixed: an equilibrium without the action is one with it, and
  a best response loses nothing by leaving it out.  (Where it leads on, the decision is kept, so
  that the tree still says how to answer a mistake.)
* At a node where one side can be sure of as much as it can get at best with any of its private
  states, the outcome is settled, and the node is as good as an end.  Both sides are then taken to
  play safe below it: the action that is sure of most.

Removing dominated actions: Shoham and Leyton-Brown, Multiagent Systems, 2009, section 3.4.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.tree.branch import Raw
from solver.tree.last import FORCED, SHOWN

__all__ = ["FOLDS", "Verdict", "judge_branch"]

FOLDS = -1
"""In ``Verdict.choice``: fold.  Other choices are numbers of ways to pay."""


class Verdict(NamedTuple):
    """What is settled in a branch.

    Attributes
    ----------
    choice : pair of ndarray of int16, shape (infostates of the side,)
        The safest action, FOLDS or a way to pay; those of the last slot last.
    is_fixed : pair of ndarray of bool, shape (infostates of the side,)
        Whether the other actions are dominated and lead to nothing but ends.
    is_settled : ndarray of bool, shape (nodes,)
        Whether a node has one outcome.
    node_utility : ndarray of float64, shape (nodes,)
        Side 0's utility at settled nodes.
    """

    choice: tuple[NDArray[np.int16], NDArray[np.int16]]
    is_fixed: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    is_settled: NDArray[np.bool_]
    node_utility: NDArray[np.float64]


def judge_branch(raw: Raw, drop_dominated: bool) -> Verdict:
    """Return what is settled in a branch; nothing without ``drop_dominated``."""
    num_infos = [int(side.last_info[-1]) for side in raw.sides]
    num_nodes = len(raw.parent)
    verdict = Verdict(
        (np.zeros(num_infos[0], np.int16), np.zeros(num_infos[1], np.int16)),
        (np.zeros(num_infos[0], np.bool_), np.zeros(num_infos[1], np.bool_)),
        np.zeros(num_nodes, np.bool_),
        np.zeros(num_nodes),
    )
    if drop_dominated:
        sizes = [side.num_cells + len(raw.end_utility) for side in raw.sides]
        sure = (np.empty(sizes[0]), np.empty(sizes[1]))
        best = (np.empty(sizes[0]), np.empty(sizes[1]))
        ends = (np.zeros(sizes[0], np.bool_), np.zeros(sizes[1], np.bool_))
        bound_branch(without_records(raw), verdict, sure, best, ends)
    return verdict


def without_records(raw: Raw) -> Raw:
    """Return a branch without what compiled code does not read: a tuple as long as the game."""
    return raw._replace(levels=(), info_faced=())


@njit(cache=True, nogil=True)
def bound_branch(raw, verdict, sure, best, ends):
    """Fill the verdict; ``sure, best, ends`` are buffers over each side's cells and ends.

    They get the utility a cell's owner is sure of, the most it can get, and whether it is an end
    or stands at a settled node.
    """
    level_start = raw.level_start
    num_slots = level_start.shape[0] - 1
    for side in range(2):
        first_end = raw.sides[side].num_cells
        sign = 1.0 - 2.0 * side
        for cell in range(first_end):
            sure[side][cell] = np.inf
            best[side][cell] = -np.inf
        for end in range(raw.end_utility.shape[0]):
            sure[side][first_end + end] = sign * raw.end_utility[end]
            best[side][first_end + end] = sign * raw.end_utility[end]
            ends[side][first_end + end] = True
    for side in range(2):
        bound_last(raw, side, verdict.choice[side], verdict.is_fixed[side], sure[side], best[side])
    for slot in range(num_slots - 1, 0, -1):
        settle_nodes(raw, level_start[slot], level_start[slot + 1], verdict, sure, best, ends)
        for side in range(2):
            bound_slot(raw.sides[side], slot - 1, side, verdict, sure[side], best[side], ends[side])


@njit(cache=True, nogil=True)
def settle_nodes(raw, first, past, verdict, sure, best, ends):
    """Mark the nodes of a slot whose outcome is settled."""
    for node in range(first, past):
        for side in range(2):
            start = raw.sides[side].node_start
            low, high = np.inf, -np.inf
            for cell in range(start[node], start[node + 1]):
                low = min(low, sure[side][cell])
                high = max(high, best[side][cell])
            if low == high and not verdict.is_settled[node]:
                verdict.is_settled[node] = True
                verdict.node_utility[node] = low * (1.0 - 2.0 * side)
        if verdict.is_settled[node]:
            for side in range(2):
                start = raw.sides[side].node_start
                for cell in range(start[node], start[node + 1]):
                    sure[side][cell] = verdict.node_utility[node] * (1.0 - 2.0 * side)
                    best[side][cell] = sure[side][cell]
                    ends[side][cell] = True


@njit(cache=True, nogil=True)
def bound_slot(part, slot, side, verdict, sure, best, ends):
    """Carry the bounds of one side from the slot after ``slot`` up to it."""
    edge_from, edge_to = part.edge_from, part.edge_to
    for edge in range(part.edge_start[slot], part.edge_start[slot + 1]):
        cell, to = edge_from[edge], edge_to[edge]
        sure[cell] = min(sure[cell], sure[to])
        best[cell] = max(best[cell], best[to])
    choice, is_fixed = verdict.choice[side], verdict.is_fixed[side]
    for info in range(part.info_start[slot], part.info_start[slot + 1]):
        ways = part.info_ways[info]
        shown = (part.info_match[info + 1] - part.info_match[info]) // ways
        at = part.info_match[info]
        match_sure, match_best, match_ends, way_chosen = -np.inf, -np.inf, True, 0
        for way in range(ways):
            low, high = np.inf, -np.inf
            for k in range(at + way * shown, at + (way + 1) * shown):
                to = part.match_to[k]
                low, high = min(low, sure[to]), max(high, best[to])
                match_ends = match_ends and ends[to]
            if low > match_sure:
                match_sure, way_chosen = low, way
            match_best = max(match_best, high)
        fold = part.info_fold[info]
        cell = part.info_cell[info]
        if match_sure >= best[fold]:
            choice[info] = way_chosen
            is_fixed[info] = ways == 1 and ends[fold]
        elif sure[fold] >= match_best:
            choice[info] = FOLDS
            is_fixed[info] = match_ends
        else:
            better = match_sure == sure[fold] and match_best >= best[fold]
            choice[info] = way_chosen if match_sure > sure[fold] or better else FOLDS
        sure[cell] = min(sure[cell], max(match_sure, sure[fold]))
        best[cell] = max(best[cell], max(match_best, best[fold]))


@njit(cache=True, nogil=True)
def bound_last(raw, me, choice, is_fixed, sure, best):
    """Fill the bounds of one side's cells of the last slot."""
    mine, theirs = raw.sides[me], raw.sides[1 - me]
    first_node = raw.level_start[-2]
    start, other_start = mine.node_start[first_node:], theirs.node_start[first_node:]
    tiles, other_tiles = mine.last_tile, theirs.last_tile
    sign = 1.0 - 2.0 * me
    for node in range(raw.last_kind.shape[0]):
        kind = raw.last_kind[node]
        fold = sign * raw.last_utility[node, 0]
        info = mine.last_info[node]
        begin, past = other_start[node], other_start[node + 1]
        while begin < past:
            end = colour_end(other_tiles, begin - other_start[0], past - other_start[0])
            end += other_start[0]
            for cell in range(start[node], start[node + 1]):
                low, high = np.inf, -np.inf
                for other in range(begin, end):
                    place = shown_outcome(
                        tiles[cell - start[0]], other_tiles[other - other_start[0]], me
                    )
                    low = min(low, sign * raw.last_utility[node, place])
                    high = max(high, sign * raw.last_utility[node, place])
                if kind == FORCED:
                    low, high = fold, fold
                elif kind == me:
                    choice[info] = 0 if low > fold or (low == fold and high > fold) else FOLDS
                    is_fixed[info] = fold >= high or fold <= low
                    low, high = max(low, fold), max(high, fold)
                    info += 1
                elif kind != SHOWN:
                    low, high = min(low, fold), max(high, fold)
                sure[cell] = min(sure[cell], low)
                best[cell] = max(best[cell], high)
            begin = end


@njit(cache=True, nogil=True)
def shown_outcome(tile, other_tile, me):
    """Return the column of ``last_utility`` when ``me`` shows ``tile`` against ``other_tile``."""
    if tile == other_tile:
        return 2
    return 1 if (tile > other_tile) == (me == 0) else 3


@njit(cache=True, nogil=True)
def colour_end(tiles, begin, past):
    """Return where the tiles of the colour that begins at ``begin`` end."""
    end = begin + 1
    while end < past and (tiles[end] ^ tiles[begin]) & 1 == 0:
        end += 1
    return end
