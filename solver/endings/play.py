"""Passes over the tree of an ending: reaches down, values up, regrets.

A strategy is one array of match probabilities, by infostate of either side; a pass reads those of
one side.  Reaches and values are arrays over the cells of one side.  A side's value of a cell is
counterfactual: its utility, weighted by the other side's reach alone.

The learning pass is predictive regret matching+ (Farina, Kroer, Sandholm 2021, "Faster game solving
via predictive Blackwell approachability").
"""

from __future__ import annotations

import numpy as np
from numba import njit

from solver.endings.grow import EQUAL, FOLDED, HIGHER, LOWER
from solver.endings.states import TILE_MASK
from solver.rules import FOLD, MATCH

__all__ = ["best_values", "learn_values", "spread_reach"]


@njit(cache=True, nogil=True)
def spread_reach(ending, side, match, reach):
    """Fill ``reach`` (float64, by cell of ``side``) from the root's, which it holds, in place.

    A cell's reach is the probability that the side holds it and plays to its node.
    """
    reach[ending.cell_start[side, 1] : ending.cell_start[side, -1]] = 0.0
    for meeting in range(ending.meeting_node.shape[0]):
        is_own = ending.decider[meeting] == side
        info = ending.info_start[meeting] - ending.span[meeting, side, 0]
        for branch in range(ending.branch_start[meeting], ending.branch_start[meeting + 1]):
            if ending.child[branch] < 0:
                continue
            first = ending.part[branch, side, 0]
            move = ending.move_start[branch, side] - first
            for i in range(first, ending.part[branch, side, 1]):
                prob = 1.0
                if is_own:
                    prob = match[info + i]
                    if ending.action[branch] == FOLD:
                        prob = 1.0 - prob
                reach[ending.move[side, move + i]] += reach[i] * prob


@njit(cache=True, nogil=True, forceinline=True)
def _other_reach(ending, meeting, branch, other, match, reach):
    """Return how likely the other side goes a branch's way."""
    total = 0.0
    info = ending.info_start[meeting] - ending.span[meeting, other, 0]
    is_theirs = ending.decider[meeting] == other
    for i in range(ending.part[branch, other, 0], ending.part[branch, other, 1]):
        prob = 1.0
        if is_theirs:
            prob = match[info + i]
            if ending.action[branch] == FOLD:
                prob = 1.0 - prob
        total += reach[i] * prob
    return total


@njit(cache=True, nogil=True, forceinline=True)
def _last_values(ending, meeting, side, match, reach, fold, show):
    """Fill the values of folding and of showing at a meeting in the last slot, by own cell."""
    other = 1 - side
    sign = 1.0 if side == 0 else -1.0
    start, stop = ending.span[meeting, side, 0], ending.span[meeting, side, 1]
    first, last = ending.span[meeting, other, 0], ending.span[meeting, other, 1]
    info = ending.info_start[meeting] - first
    is_theirs = ending.decider[meeting] == other
    pays = ending.pays[meeting]
    fold_sum = 0.0
    if ending.is_folded[meeting]:
        for j in range(first, last):
            prob = 1.0 - match[info + j] if is_theirs else 1.0
            fold_sum += reach[j] * prob
    for i in range(start, stop):
        fold[i - start] = sign * pays[FOLDED] * fold_sum
        show[i - start] = 0.0
    if not ending.is_shown[meeting]:
        return
    higher = pays[HIGHER] if side == 0 else pays[LOWER]
    lower = pays[LOWER] if side == 0 else pays[HIGHER]
    for i in range(start, stop):
        mine = ending.cell[side, i] & TILE_MASK
        total = 0.0
        for j in range(first, last):
            theirs = ending.cell[other, j] & TILE_MASK
            prob = match[info + j] if is_theirs else 1.0
            pay = higher if mine > theirs else (lower if mine < theirs else pays[EQUAL])
            total += reach[j] * prob * pay
        show[i - start] = sign * total


@njit(cache=True, nogil=True, forceinline=True)
def _action_values(ending, meeting, side, match, reach, values, fold, show):
    """Fill the values of a fold and of a match at a meeting, by own cell of its group.

    Where ``side`` does not decide they are sums over what may happen; the value is the sum of both.
    """
    node = ending.meeting_node[meeting]
    if ending.depth[node] == ending.num_slots - 1:
        _last_values(ending, meeting, side, match, reach, fold, show)
        return
    start, stop = ending.span[meeting, side, 0], ending.span[meeting, side, 1]
    fold[: stop - start] = 0.0
    show[: stop - start] = 0.0
    for branch in range(ending.branch_start[meeting], ending.branch_start[meeting + 1]):
        out = fold if ending.action[branch] == FOLD else show
        first, last = ending.part[branch, side, 0], ending.part[branch, side, 1]
        if ending.child[branch] < 0:
            pay = ending.branch_pay[branch] if side == 0 else -ending.branch_pay[branch]
            pay *= _other_reach(ending, meeting, branch, 1 - side, match, reach)
            for i in range(first, last):
                out[i - start] += pay
        else:
            move = ending.move_start[branch, side] - first
            for i in range(first, last):
                out[i - start] += values[ending.move[side, move + i]]


@njit(cache=True, nogil=True)
def _widest(ending, side):
    """Return the size of the largest group of a side."""
    most = 0
    for meeting in range(ending.meeting_node.shape[0]):
        most = max(most, ending.span[meeting, side, 1] - ending.span[meeting, side, 0])
    return most


@njit(cache=True, nogil=True)
def best_values(ending, side, match, reach, values, choice):
    """Fill ``values`` (float64, by cell) with what ``side`` gets if it answers best, in place.

    The other side follows ``match`` with ``reach``.  The side's own places in ``choice`` (float64,
    by infostate) become its best choice, 0 or 1.
    """
    width = _widest(ending, side)
    fold, show = np.empty(width), np.empty(width)
    values[: ending.cell_start[side, -1]] = 0.0
    for meeting in range(ending.meeting_node.shape[0] - 1, -1, -1):
        _action_values(ending, meeting, side, match, reach, values, fold, show)
        start, stop = ending.span[meeting, side, 0], ending.span[meeting, side, 1]
        if ending.decider[meeting] == side:
            info = ending.info_start[meeting]
            for i in range(stop - start):
                choice[info + i] = 1.0 if show[i] > fold[i] else 0.0
                values[start + i] += max(fold[i], show[i])
        else:
            for i in range(stop - start):
                values[start + i] += fold[i] + show[i]


@njit(cache=True, nogil=True)
def learn_values(ending, side, match, reach, values, regrets):
    """Fill ``values`` with what ``side`` gets, and improve its part of ``match``, in place.

    ``regrets`` is float64 of shape (infostates, 2), by action.
    """
    width = _widest(ending, side)
    fold, show = np.empty(width), np.empty(width)
    values[: ending.cell_start[side, -1]] = 0.0
    for meeting in range(ending.meeting_node.shape[0] - 1, -1, -1):
        _action_values(ending, meeting, side, match, reach, values, fold, show)
        start, stop = ending.span[meeting, side, 0], ending.span[meeting, side, 1]
        if ending.decider[meeting] == side:
            info = ending.info_start[meeting]
            for i in range(stop - start):
                prob = match[info + i]
                value = (1.0 - prob) * fold[i] + prob * show[i]
                values[start + i] += value
                gain_fold, gain_show = fold[i] - value, show[i] - value
                regrets[info + i, FOLD] = max(regrets[info + i, FOLD] + gain_fold, 0.0)
                regrets[info + i, MATCH] = max(regrets[info + i, MATCH] + gain_show, 0.0)
                # The same gains are expected again.
                first = max(regrets[info + i, FOLD] + gain_fold, 0.0)
                second = max(regrets[info + i, MATCH] + gain_show, 0.0)
                if first + second > 0.0:
                    match[info + i] = second / (first + second)
        else:
            for i in range(stop - start):
                values[start + i] += fold[i] + show[i]
