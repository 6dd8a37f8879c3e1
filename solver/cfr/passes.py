"""Compiled passes over a batch of branches of the public tree: reaches down, values up.

``push_down`` carries one side's reach probabilities from the setups to all cells and adds to its
average strategy; ``pull_up`` carries counterfactual values back (a cell's value is the sum over the
opponent's cells of their reach times the own utility), updating regrets or choosing best actions on
the way.

Regrets are updated by one formula that covers the algorithms of :mod:`solver.cfr`: add the new
regret, scale what is positive and what is negative, and match the sum of the result and
``predict`` times the new regret.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Rule", "State", "pull_up", "push_down"]


class State(NamedTuple):
    """What a solver remembers of one side's decisions; float64 arrays.

    Attributes
    ----------
    regret_fold, regret_match : ndarray, shape (infostates,)
        Cumulated counterfactual regrets, in own utility.
    match : ndarray, shape (infostates,)
        Current strategy: the probability of matching.
    sum_fold, sum_match : ndarray, shape (infostates,)
        Cumulated weight times own reach times probability of each action.
    pay_regret, pay, pay_sum : ndarray, shape (ways to pay,)
        The same for the ways to pay, once a match is chosen; empty where there is no choice.
    is_locked : ndarray of bool, shape (infostates,) or (0,)
        Whether ``match`` is to stay as it is; empty where nothing is locked.
    """

    regret_fold: NDArray[np.float64]
    regret_match: NDArray[np.float64]
    match: NDArray[np.float64]
    sum_fold: NDArray[np.float64]
    sum_match: NDArray[np.float64]
    pay_regret: NDArray[np.float64]
    pay: NDArray[np.float64]
    pay_sum: NDArray[np.float64]
    is_locked: NDArray[np.bool_]


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
        Weight of the iteration in the average strategy; with 0 nothing is added to it.
    """

    is_best: bool
    positive: float
    negative: float
    predict: float
    weight: float


@njit(cache=True, nogil=True)
def push_down(side, first, past, state, reach, weight):
    """Fill ``reach`` in branches ``first`` to ``past - 1`` of one batch from the roots on.

    ``reach`` (float64, shape (cells and ends of the batch,)) holds the roots' already and is else
    0; it is the side's own reach probability.  Adds to the average strategy.
    """
    edge_from, edge_to = side.edge_from, side.edge_to
    info_cell, info_fold, info_match = side.info_cell, side.info_fold, side.info_match
    match_to, match = side.match_to, state.match
    sum_fold, sum_match = state.sum_fold, state.sum_match
    has_payments = side.info_pay.shape[0] > 1
    for b in range(first, past):
        for slot in range(side.info_start.shape[1] - 1):
            for edge in range(side.edge_start[b, slot], side.edge_start[b, slot + 1]):
                reach[edge_to[edge]] += reach[edge_from[edge]]
            for i in range(side.info_start[b, slot], side.info_start[b, slot + 1]):
                mine = reach[info_cell[i]]
                if mine == 0.0:
                    continue
                matched = mine * match[i]
                folded = mine - matched
                reach[info_fold[i]] += folded
                if has_payments:
                    push_payments(side, state, i, matched, reach, weight)
                else:
                    for k in range(info_match[i], info_match[i + 1]):
                        reach[match_to[k]] += matched
                if weight > 0.0:
                    sum_fold[i] += weight * folded
                    sum_match[i] += weight * matched
    push_blocks(side, first, past, state, reach, weight)


@njit(cache=True, nogil=True)
def push_blocks(side, first, past, state, reach, weight):
    """Carry reaches on from blocks where links remain; add their decisions to the average."""
    num_links = side.info_cell.shape[0]
    block_cell, block_fold, block_match = side.block_cell, side.block_fold, side.block_match
    for i in range(side.block_info_start[first], side.block_info_start[past]):
        mine = reach[block_cell[i]]
        if mine == 0.0:
            continue
        matched = mine * state.match[num_links + i]
        folded = mine - matched
        if block_fold[i] >= 0:
            reach[block_fold[i]] += folded
        for k in range(block_match[i], block_match[i + 1]):
            reach[side.block_to[k]] += matched
        if weight > 0.0:
            state.sum_fold[num_links + i] += weight * folded
            state.sum_match[num_links + i] += weight * matched


@njit(cache=True, nogil=True)
def push_payments(side, state, i, matched, reach, weight):
    """Carry the reach of a match on by the ways to pay."""
    first, past = side.info_pay[i], side.info_pay[i + 1]
    shown = (side.info_match[i + 1] - side.info_match[i]) // (past - first)
    k = side.info_match[i]
    for way in range(first, past):
        paid = matched * state.pay[way]
        for _ in range(shown):
            reach[side.match_to[k]] += paid
            k += 1
        if weight > 0.0:
            state.pay_sum[way] += weight * paid


@njit(cache=True, nogil=True)
def pull_up(tree, first, past, me, state, other_state, other_reach, value, rule):
    """Fill ``value`` with the counterfactual values of one side's cells, and update its strategy.

    Parameters
    ----------
    tree : Tree
    first, past : int
        The branches, of one batch.
    me : int
        The side whose payoff the values are.
    state, other_state : State
        Of this side, modified in place, and of the other.
    other_reach : ndarray of float64, shape (other side's cells and ends of the batch,)
    value : ndarray of float64, shape (own cells and ends of the batch,)
        Overwritten.
    rule : Rule
    """
    mine, theirs = tree.sides[me], tree.sides[1 - me]
    start_values(tree, mine, theirs, first, past, 1.0 - 2.0 * me, other_reach, value)
    if me == 0:
        earn_rows(tree, first, past, other_reach, value)
    else:
        earn_columns(tree, first, past, other_reach, value)
    if theirs.block_info_start[first] < theirs.block_info_start[past]:
        answer_blocks(tree, first, past, me, other_state, other_reach, value)
    for is_last in (True, False):
        decide_blocks(tree, first, past, is_last, me, state, other_reach, value, rule)
    pull_up_slots(mine, first, past, state, value, rule)


@njit(cache=True, nogil=True)
def start_values(tree, mine, theirs, first, past, sign, other_reach, value):
    """Put the values of the ends, and 0 at all cells."""
    for b in range(first, past):
        for cell in range(mine.first_cell[b], mine.first_end[b]):
            value[cell] = 0.0
        other_end = theirs.first_end[b] - mine.first_end[b]
        utility = tree.end_start[b] - mine.first_end[b]
        for end in range(mine.first_end[b], mine.past_end[b]):
            earned = sign * tree.end_utility[utility + end]
            value[end] = earned * other_reach[other_end + end]


@njit(cache=True, nogil=True)
def earn_rows(tree, first, past, reach, value):
    """Add what blocks pay side 0 as if every match came about; ``reach`` is side 1's."""
    start0, start1, payoff = tree.sides[0].block_start, tree.sides[1].block_start, tree.payoff
    place = tree.payoff_start[first]
    for b in range(first, past):
        for block in range(tree.block_at[b] + b, tree.block_at[b + 1] + b):
            begin, end = start1[block], start1[block + 1]
            for i in range(start0[block], start0[block + 1]):
                total = 0.0
                for k in range(begin, end):
                    total += payoff[place + k - begin] * reach[k]
                value[i] = total
                place += end - begin


@njit(cache=True, nogil=True)
def earn_columns(tree, first, past, reach, value):
    """Add what blocks pay side 1 as if every match came about; ``reach`` is side 0's."""
    start0, start1, payoff = tree.sides[0].block_start, tree.sides[1].block_start, tree.payoff
    place = tree.payoff_start[first]
    for b in range(first, past):
        for block in range(tree.block_at[b] + b, tree.block_at[b + 1] + b):
            begin, end = start1[block], start1[block + 1]
            for i in range(start0[block], start0[block + 1]):
                here = reach[i]
                if here != 0.0:
                    for k in range(begin, end):
                        value[k] -= payoff[place + k - begin] * here
                place += end - begin


@njit(cache=True, nogil=True)
def answer_blocks(tree, first, past, me, other_state, other_reach, value):
    """Correct what blocks pay for the opponent's folds."""
    mine, theirs = tree.sides[me], tree.sides[1 - me]
    sign = 1.0 - 2.0 * me
    num_links = theirs.info_cell.shape[0]
    place = tree.payoff_start[first]
    for b in range(first, past):
        for block in range(tree.block_at[b], tree.block_at[b + 1]):
            start, other_start = mine.block_start[block + b], theirs.block_start[block + b]
            width = mine.block_start[block + b + 1] - start
            other_width = theirs.block_start[block + b + 1] - other_start
            for i in range(theirs.block_info[block], theirs.block_info[block + 1]):
                folded = other_reach[theirs.block_cell[i]]
                if folded == 0.0:
                    continue
                folded *= sign * (1.0 - other_state.match[num_links + i])
                at, step = place_of(me == 1, theirs.block_cell[i] - other_start, width, other_width)
                at += place - step * start
                row = theirs.block_row[i] - theirs.block_first[i]
                for k in range(theirs.block_first[i], theirs.block_past[i]):
                    value[k] += folded * (theirs.fold_payoff[row + k] - tree.payoff[at + step * k])
            place += width * other_width


@njit(cache=True, nogil=True)
def place_of(is_row, cell, other_width, width):
    """Return where a decider's payoffs start in a block's matrix, and how far apart they are.

    ``is_row`` says whether the decider is side 0, ``width`` is its number of cells.
    """
    if is_row:
        return cell * other_width, 1
    return cell, width


@njit(cache=True, nogil=True)
def decide_blocks(tree, first, past, is_last, me, state, other_reach, value, rule):
    """Update the own decisions in blocks, and add up what the deciding cells earn.

    ``is_last`` chooses between the last slot and the one before, whose links lead there.
    """
    mine, theirs = tree.sides[me], tree.sides[1 - me]
    sign = 1.0 - 2.0 * me
    num_links = mine.info_cell.shape[0]
    payoff, fold_payoff = tree.payoff, mine.fold_payoff
    for b in range(first, past):
        place = tree.last_payoff[b] if is_last else tree.payoff_start[b]
        begin = tree.last_at[b] if is_last else tree.block_at[b]
        end = tree.block_at[b + 1] if is_last else tree.last_at[b]
        for block in range(begin, end):
            start, other_start = mine.block_start[block + b], theirs.block_start[block + b]
            width = mine.block_start[block + b + 1] - start
            other_width = theirs.block_start[block + b + 1] - other_start
            for i in range(mine.block_info[block], mine.block_info[block + 1]):
                cell = mine.block_cell[i]
                at, step = place_of(me == 0, cell - start, other_width, width)
                at += place - step * other_start
                row = mine.block_row[i] - mine.block_first[i]
                paid, folded = 0.0, 0.0
                for k in range(mine.block_first[i], mine.block_past[i]):
                    paid += payoff[at + step * k] * other_reach[k]
                    folded += fold_payoff[row + k] * other_reach[k]
                paid, folded = sign * paid, sign * folded
                matched = paid
                if mine.block_fold[i] >= 0:
                    folded += value[mine.block_fold[i]]
                for k in range(mine.block_match[i], mine.block_match[i + 1]):
                    matched += value[mine.block_to[k]]
                value[cell] += act(state, num_links + i, folded, matched, rule) - paid
            place += width * other_width


@njit(cache=True, nogil=True)
def pull_up_slots(mine, first, past, state, value, rule):
    """Carry values from the blocks and the ends up to the roots."""
    edge_from, edge_to = mine.edge_from, mine.edge_to
    info_cell, info_fold, info_match = mine.info_cell, mine.info_fold, mine.info_match
    match_to = mine.match_to
    has_payments = mine.info_pay.shape[0] > 1
    for b in range(first, past):
        for slot in range(mine.info_start.shape[1] - 2, -1, -1):
            for edge in range(mine.edge_start[b, slot], mine.edge_start[b, slot + 1]):
                value[edge_from[edge]] += value[edge_to[edge]]
            for i in range(mine.info_start[b, slot], mine.info_start[b, slot + 1]):
                if has_payments:
                    matched = choose_payment(mine, state, i, value, rule)
                else:
                    matched = 0.0
                    for k in range(info_match[i], info_match[i + 1]):
                        matched += value[match_to[k]]
                value[info_cell[i]] += act(state, i, value[info_fold[i]], matched, rule)


@njit(cache=True, nogil=True)
def choose_payment(side, state, i, value, rule):
    """Return the value of a match at an infostate; update how the gap is paid."""
    first, past = side.info_pay[i], side.info_pay[i + 1]
    at = side.info_match[i]
    shown = (side.info_match[i + 1] - at) // (past - first)
    mean, most = 0.0, -np.inf
    for way in range(first, past):
        earned = way_value(side, value, at + (way - first) * shown, shown)
        mean += state.pay[way] * earned
        most = max(most, earned)
    if rule.is_best:
        return most
    total = 0.0
    for way in range(first, past):
        new = way_value(side, value, at + (way - first) * shown, shown) - mean
        regret = state.pay_regret[way] + new
        regret *= rule.positive if regret > 0.0 else rule.negative
        state.pay_regret[way] = regret
        state.pay[way] = max(regret + rule.predict * new, 0.0)
        total += state.pay[way]
    for way in range(first, past):
        state.pay[way] = state.pay[way] / total if total > 0.0 else 1.0 / (past - first)
    return mean


@njit(cache=True, nogil=True)
def way_value(side, value, at, shown):
    """Return what one way to pay is worth: the sum over the tiles that may be shown."""
    total = 0.0
    for k in range(at, at + shown):
        total += value[side.match_to[k]]
    return total


@njit(cache=True, nogil=True)
def act(state, i, fold_value, match_value, rule):
    """Return the value of an infostate; update its regrets and strategy."""
    match = state.match[i]
    gain = match_value - fold_value
    if state.is_locked.shape[0] > 0 and state.is_locked[i]:
        return fold_value + match * gain
    if rule.is_best:
        return max(fold_value, match_value)
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
