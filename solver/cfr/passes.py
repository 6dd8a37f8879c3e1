"""Compiled passes over the public tree: reaches down, values up.

``push_down`` carries one side's reach probabilities from the setups to all cells;
``pull_up`` carries counterfactual values back (a cell's value is the sum over the opponent's cells
of their reach times the own utility), updating regrets or choosing best actions on the way.  In
the last slot, which the tree leaves folded up, ``pull_up`` sums the ends where it stands, and adds
to the opponent's strategy sums there, since it reads the opponent's reach and strategy anyway.

Regrets are updated by one formula that covers the algorithms of :mod:`solver.cfr`: add the new
regret, scale what is positive and what is negative, and match the sum of the result and
``predict`` times the new regret.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.tree.last import FORCED, SHOWN

__all__ = [
    "Rule",
    "Setups",
    "State",
    "average_match",
    "iterate",
    "match_regrets",
    "pull_up",
    "push_down",
    "respond",
]

ROUNDING = 1e-12
"""Regrets of setups, in utility, that sum to less are taken for rounding errors."""


class State(NamedTuple):
    """What a solver remembers of one side's infostates; float64 arrays of shape (infostates,).

    Attributes
    ----------
    regret_fold, regret_match : ndarray
        Cumulated counterfactual regrets, in own utility.
    match : ndarray
        Current strategy: the probability of matching.
    sum_fold, sum_match : ndarray
        Cumulated weight times own reach times probability of each action.
    """

    regret_fold: NDArray[np.float64]
    regret_match: NDArray[np.float64]
    match: NDArray[np.float64]
    sum_fold: NDArray[np.float64]
    sum_match: NDArray[np.float64]


class Setups(NamedTuple):
    """The same for the choice of a setup; float64 arrays of shape (setups,), in root order.

    Attributes
    ----------
    regret, prob, total : ndarray
        Cumulated regrets, current strategy, cumulated weight times probability.
    """

    regret: NDArray[np.float64]
    prob: NDArray[np.float64]
    total: NDArray[np.float64]


class Rule(NamedTuple):
    """How an iteration updates.

    Attributes
    ----------
    is_best : bool
        Take the best action instead of the current strategy, and update nothing.
    positive, negative : float
        Factors on cumulated regrets above and below 0.
    predict : float
        How much of the new regret is expected to come again.
    weight : float
        Weight of the iteration in the average strategy.
    """

    is_best: bool
    positive: float
    negative: float
    predict: float
    weight: float


@njit(cache=True, nogil=True)
def push_down(side, state, reach, weight):
    """Fill ``reach`` from the root on; add the infostates before the last slot to the sums.

    ``reach`` (float64, shape (cells and ends,)) holds the root's already; it is the side's own
    reach probability.  With ``weight`` 0 the sums are left alone.
    """
    edge_from, edge_to = side.edge_from, side.edge_to
    info_cell, info_fold, info_match = side.info_cell, side.info_fold, side.info_match
    match_to, match = side.match_to, state.match
    sum_fold, sum_match = state.sum_fold, state.sum_match
    for slot in range(side.info_start.shape[0] - 1):
        for edge in range(side.edge_start[slot], side.edge_start[slot + 1]):
            reach[edge_to[edge]] += reach[edge_from[edge]]
        for i in range(side.info_start[slot], side.info_start[slot + 1]):
            mine = reach[info_cell[i]]
            if mine == 0.0:
                continue
            matched = mine * match[i]
            folded = mine - matched
            reach[info_fold[i]] += folded
            for k in range(info_match[i], info_match[i + 1]):
                reach[match_to[k]] += matched
            if weight > 0.0:
                sum_fold[i] += weight * folded
                sum_match[i] += weight * matched


@njit(cache=True, nogil=True)
def pull_up(tree, me, state, other_state, other_reach, value, rule):
    """Fill ``value`` with the counterfactual values of one side's cells, and update its strategy.

    Parameters
    ----------
    tree : Tree
    me : int
        The side whose payoff the values are.
    state, other_state : State
        Of this side, modified in place, and of the other, whose sums of the last slot are.
    other_reach : ndarray of float64, shape (other side's cells and ends,)
    value : ndarray of float64, shape (own cells and ends,)
        Overwritten.
    rule : Rule
    """
    mine = tree.sides[me]
    for cell in range(mine.num_cells):
        value[cell] = 0.0
    first_end, other_first_end = mine.num_cells, tree.sides[1 - me].num_cells
    sign = 1.0 - 2.0 * me
    end_utility = tree.end_utility
    for end in range(end_utility.shape[0]):
        value[first_end + end] = sign * end_utility[end] * other_reach[other_first_end + end]
    pull_up_last(tree, me, state, other_state, other_reach, value, rule)
    pull_up_slots(mine, state, value, rule)


@njit(cache=True, nogil=True)
def pull_up_slots(mine, state, value, rule):
    """Carry values from the last slot and the ends up to the root."""
    edge_from, edge_to = mine.edge_from, mine.edge_to
    info_cell, info_fold, info_match = mine.info_cell, mine.info_fold, mine.info_match
    match_to = mine.match_to
    for slot in range(mine.info_start.shape[0] - 2, -1, -1):
        for edge in range(mine.edge_start[slot], mine.edge_start[slot + 1]):
            value[edge_from[edge]] += value[edge_to[edge]]
        for i in range(mine.info_start[slot], mine.info_start[slot + 1]):
            matched = 0.0
            for k in range(info_match[i], info_match[i + 1]):
                matched += value[match_to[k]]
            value[info_cell[i]] += act(state, i, value[info_fold[i]], matched, rule)


@njit(cache=True, nogil=True)
def pull_up_last(tree, me, state, other_state, other_reach, value, rule):
    """Fill the values of the last slot's cells."""
    mine, theirs = tree.sides[me], tree.sides[1 - me]
    start, other_start = mine.last_start, theirs.last_start
    tiles, other_tiles = mine.last_tile, theirs.last_tile
    first_cell, other_first_cell = start[0], other_start[0]
    kinds, utilities = tree.last_kind, tree.last_utility
    values = value[first_cell:]
    reaches = other_reach[other_first_cell:]
    info_start, other_info_start = mine.last_info, theirs.last_info
    sign = 1.0 - 2.0 * me
    for node in range(kinds.shape[0]):
        first, past = start[node] - first_cell, start[node + 1] - first_cell
        other_first = other_start[node] - other_first_cell
        other_past = other_start[node + 1] - other_first_cell
        fold, equal = sign * utilities[node, 0], sign * utilities[node, 2]
        higher = sign * utilities[node, 1 + 2 * me]
        lower = sign * utilities[node, 3 - 2 * me]
        if kinds[node] == SHOWN:
            for i in range(first, past):
                for k in range(other_first, other_past):
                    paid = outcome(tiles[i], other_tiles[k], higher, equal, lower)
                    values[i] += reaches[k] * paid
        elif kinds[node] == FORCED:
            for i in range(first, past):
                for k in range(other_first, other_past):
                    values[i] += reaches[k] * fold
        elif kinds[node] == me:
            info = info_start[node]
            begin = other_first
            while begin < other_past:
                end = colour_end(other_tiles, begin, other_past)
                folded = 0.0
                for k in range(begin, end):
                    folded += reaches[k] * fold
                for i in range(first, past):
                    matched = 0.0
                    for k in range(begin, end):
                        paid = outcome(tiles[i], other_tiles[k], higher, equal, lower)
                        matched += reaches[k] * paid
                    values[i] += act(state, info, folded, matched, rule)
                    info += 1
                begin = end
        else:
            info = other_info_start[node]
            begin = first
            while begin < past:
                end = colour_end(tiles, begin, past)
                for k in range(other_first, other_past):
                    if reaches[k] > 0.0:
                        matched = reaches[k] * other_state.match[info]
                        folded = reaches[k] - matched
                        if rule.weight > 0.0:
                            other_state.sum_fold[info] += rule.weight * folded
                            other_state.sum_match[info] += rule.weight * matched
                        for i in range(begin, end):
                            paid = outcome(tiles[i], other_tiles[k], higher, equal, lower)
                            values[i] += folded * fold + matched * paid
                    info += 1
                begin = end


@njit(cache=True, nogil=True)
def outcome(tile, other_tile, higher, equal, lower):
    """Return the utility of showing ``tile`` against ``other_tile``."""
    if tile > other_tile:
        return higher
    return equal if tile == other_tile else lower


@njit(cache=True, nogil=True)
def colour_end(tiles, begin, past):
    """Return where the tiles of the colour that begins at ``begin`` end."""
    end = begin + 1
    while end < past and (tiles[end] ^ tiles[begin]) & 1 == 0:
        end += 1
    return end


@njit(cache=True, nogil=True)
def act(state, i, fold_value, match_value, rule):
    """Return the value of an infostate; update its regrets and strategy."""
    if rule.is_best:
        return max(fold_value, match_value)
    match = state.match[i]
    gain = match_value - fold_value
    new_fold = -match * gain
    new_match = gain + new_fold
    fold = state.regret_fold[i] + new_fold
    fold *= rule.positive if fold > 0.0 else rule.negative
    state.regret_fold[i] = fold
    expected_fold = max(fold + rule.predict * new_fold, 0.0)
    matched = state.regret_match[i] + new_match
    matched *= rule.positive if matched > 0.0 else rule.negative
    state.regret_match[i] = matched
    expected_match = max(matched + rule.predict * new_match, 0.0)
    total = expected_fold + expected_match
    state.match[i] = expected_match / total if total > 0.0 else 0.5
    return fold_value + match * gain


@njit(cache=True, nogil=True)
def match_regrets(setups, value, rule):
    """Update the choice of a setup; ``value`` (float64) begins with what each setup earns.

    Regrets that are rounding errors count as none: otherwise they would pick a setup at random in
    games where at first all earn the same.
    """
    n = setups.prob.shape[0]
    mean = 0.0
    for i in range(n):
        mean += setups.prob[i] * value[i]
    total = 0.0
    for i in range(n):
        new = value[i] - mean
        regret = setups.regret[i] + new
        regret *= rule.positive if regret > 0.0 else rule.negative
        setups.regret[i] = regret
        setups.prob[i] = max(regret + rule.predict * new, 0.0)
        total += setups.prob[i]
    for i in range(n):
        setups.prob[i] = setups.prob[i] / total if total > ROUNDING else 1.0 / n


@njit(cache=True, nogil=True)
def average_match(state):
    """Return the average strategy, float64 of shape (infostates,): the probability of matching.

    Where own play never comes, the current strategy.
    """
    match = state.match.copy()
    for i in range(match.shape[0]):
        total = state.sum_fold[i] + state.sum_match[i]
        if total > 0.0:
            match[i] = state.sum_match[i] / total
    return match


@njit(cache=True, nogil=True)
def iterate(tree, one_strategy, states, setups, reach, value, rows):
    """Run one iteration for each row of a schedule; modify states and setups in place.

    ``reach`` and ``value`` are pairs of float64 buffers over a side's cells and ends.
    """
    for row in range(rows.shape[0]):
        rule = Rule(False, rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3])
        add_setups(setups[0], rule.weight)
        if not one_strategy:
            add_setups(setups[1], rule.weight)
        for me in range(2):
            start_reach(setups[1 - me].prob, reach[1 - me])
            push_down(tree.sides[1 - me], states[1 - me], reach[1 - me], rule.weight)
            pull_up(tree, me, states[me], states[1 - me], reach[1 - me], value[me], rule)
            if not one_strategy:
                match_regrets(setups[me], value[me], rule)
        if one_strategy:
            both = value[0]
            for i in range(setups[0].prob.shape[0]):
                both[i] += value[1][i]
            match_regrets(setups[0], both, rule)


@njit(cache=True, nogil=True)
def add_setups(setups, weight):
    """Add the current choice of a setup to its average."""
    for i in range(setups.prob.shape[0]):
        setups.total[i] += weight * setups.prob[i]


@njit(cache=True, nogil=True)
def start_reach(probs, reach):
    """Put a distribution over setups at the root and clear the rest."""
    for i in range(probs.shape[0]):
        reach[i] = probs[i]
    for i in range(probs.shape[0], reach.shape[0]):
        reach[i] = 0.0


@njit(cache=True, nogil=True)
def respond(tree, states, probs, reach, value):
    """Fill ``value`` with best-response values against each other's strategies.

    ``states`` is a pair whose ``match`` is the strategy, ``probs`` a pair of setup distributions.
    """
    rule = Rule(True, 1.0, 1.0, 0.0, 0.0)
    for me in range(2):
        start_reach(probs[1 - me], reach[1 - me])
        push_down(tree.sides[1 - me], states[1 - me], reach[1 - me], 0.0)
        pull_up(tree, me, states[me], states[1 - me], reach[1 - me], value[me], rule)
