"""Passes over the tree of an ending: reaches down, values up, regrets.

A strategy is one array of match probabilities, by infostate of either side; a pass reads those of
one side.  Reaches and values are arrays over the cells of one side.  A side's value of a cell is
counterfactual: its utility, weighted by the other side's reach alone.

Kernels that take a tree are called once a pass, not once a meeting: to hand over its many arrays
costs more than a meeting, since references to them are counted.

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


@njit(cache=True, nogil=True)
def best_values(ending, side, match, reach, values, choice):
    """Fill ``values`` (float64, by cell) with what ``side`` gets if it answers best, in place.

    The other side follows ``match`` with ``reach``.  The side's own places in ``choice`` (float64,
    by infostate) become its best choice, 0 or 1.
    """
    worth = _last_worth(ending, side, match, reach)
    paid = _decided_pay(ending, side, match, reach)
    _climb(ending, side, worth, paid, values, choice, np.empty((0, 2)))


@njit(cache=True, nogil=True)
def learn_values(ending, side, match, reach, values, regrets):
    """Fill ``values`` with what ``side`` gets, and improve its part of ``match``, in place.

    ``regrets`` is float64 of shape (infostates, 2), by action.
    """
    worth = _last_worth(ending, side, match, reach)
    paid = _decided_pay(ending, side, match, reach)
    _climb(ending, side, worth, paid, values, match, regrets)


@njit(cache=True, nogil=True)
def _last_worth(ending, side, match, reach):
    """Return the values of a fold and of a match by meeting and own cell, 0 before the last slot.

    Float64 of shape (2, places): the cells of the side's group in the first meeting, then in the
    next.  Where ``side`` does not decide they are sums over what may happen; the value is the sum
    of both.
    """
    other = 1 - side
    sign = 1.0 if side == 0 else -1.0
    higher, lower = (HIGHER, LOWER) if side == 0 else (LOWER, HIGHER)
    worth = np.zeros((2, (ending.span[:, side, 1] - ending.span[:, side, 0]).sum()))
    place = 0
    for meeting in range(ending.meeting_node.shape[0]):
        start, stop = ending.span[meeting, side, 0], ending.span[meeting, side, 1]
        if ending.depth[ending.meeting_node[meeting]] < ending.num_slots - 1:
            place += stop - start
            continue
        first, last = ending.span[meeting, other, 0], ending.span[meeting, other, 1]
        is_theirs = ending.decider[meeting] == other
        info = ending.info_start[meeting] - first
        if ending.is_folded[meeting]:
            total = 0.0
            for j in range(first, last):
                total += reach[j] * (1.0 - match[info + j] if is_theirs else 1.0)
            worth[FOLD, place : place + stop - start] = sign * ending.pays[meeting, FOLDED] * total
        if ending.is_shown[meeting]:
            for i in range(stop - start):
                mine = ending.cell[side, start + i] & TILE_MASK
                total = 0.0
                for j in range(first, last):
                    theirs = ending.cell[other, j] & TILE_MASK
                    result = higher if mine > theirs else (lower if mine < theirs else EQUAL)
                    prob = match[info + j] if is_theirs else 1.0
                    total += reach[j] * prob * ending.pays[meeting, result]
                worth[MATCH, place + i] = sign * total
        place += stop - start
    return worth


@njit(cache=True, nogil=True)
def _decided_pay(ending, side, match, reach):
    """Return what each branch pays with which the game is decided, 0 for others; by branch."""
    other = 1 - side
    sign = 1.0 if side == 0 else -1.0
    paid = np.zeros(ending.child.shape[0])
    for branch in range(ending.child.shape[0]):
        if ending.child[branch] >= 0:
            continue
        meeting = ending.branch_meeting[branch]
        is_theirs = ending.decider[meeting] == other
        info = ending.info_start[meeting] - ending.span[meeting, other, 0]
        total = 0.0
        for j in range(ending.part[branch, other, 0], ending.part[branch, other, 1]):
            prob = 1.0
            if is_theirs:
                prob = match[info + j]
                if ending.action[branch] == FOLD:
                    prob = 1.0 - prob
            total += reach[j] * prob
        paid[branch] = sign * ending.branch_pay[branch] * total
    return paid


@njit(cache=True, nogil=True)
def _climb(ending, side, worth, paid, values, match, regrets):
    """Fill ``values`` from the last meeting to the first, and the side's ``match``, in place.

    ``worth`` and ``paid`` are what the ends of the game give; what later nodes give is added.  With
    ``regrets`` the side follows ``match`` and learns; without any it answers best.
    """
    values[: ending.cell_start[side, -1]] = 0.0
    is_learning = regrets.shape[0] > 0
    place = worth.shape[1]
    for meeting in range(ending.meeting_node.shape[0] - 1, -1, -1):
        start, stop = ending.span[meeting, side, 0], ending.span[meeting, side, 1]
        place -= stop - start
        for branch in range(ending.branch_start[meeting], ending.branch_start[meeting + 1]):
            action, is_over = ending.action[branch], ending.child[branch] < 0
            first = ending.part[branch, side, 0]
            move = ending.move_start[branch, side] - first
            for i in range(first, ending.part[branch, side, 1]):
                value = paid[branch] if is_over else values[ending.move[side, move + i]]
                worth[action, place + i - start] += value
        for i in range(stop - start):
            fold, show = worth[FOLD, place + i], worth[MATCH, place + i]
            info = ending.info_start[meeting] + i
            if ending.decider[meeting] != side:
                values[start + i] += fold + show
            elif is_learning:
                prob = match[info]
                value = (1.0 - prob) * fold + prob * show
                values[start + i] += value
                match[info] = _next_match(regrets[info], fold - value, show - value, prob)
            else:
                match[info] = 1.0 if show > fold else 0.0
                values[start + i] += max(fold, show)


@njit(cache=True, nogil=True)
def _next_match(regrets, gain_fold, gain_show, match):
    """Return the next probability of matching; ``regrets``, by action, change in place."""
    regrets[FOLD] = max(regrets[FOLD] + gain_fold, 0.0)
    regrets[MATCH] = max(regrets[MATCH] + gain_show, 0.0)
    # The same gains are expected again.
    fold = max(regrets[FOLD] + gain_fold, 0.0)
    show = max(regrets[MATCH] + gain_show, 0.0)
    return show / (fold + show) if fold + show > 0.0 else match
