"""Compiled iterations: batches one after another, and the choice of a setup that joins them.

A worker goes through some of the batches with buffers of its own and leaves what the root cells of
each branch are worth.  These are summed in the order of the branches, so that the numbers do not
depend on who worked on which.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.cfr.passes import Rule, State, pull_up, push_down
from solver.tree.build import PublicTree
from solver.tree.flat import Tree
from solver.tree.view import Decisions, open_numbers

__all__ = [
    "Buffers",
    "Groups",
    "Problem",
    "Setups",
    "average_match",
    "average_pay",
    "average_reach",
    "new_buffers",
    "run_alone",
    "run_batches",
    "sum_roots",
    "update_setups",
]

ROUNDING = 1e-12
"""Regrets of setups, in utility, that sum to less are taken for rounding errors."""


class Setups(NamedTuple):
    """What a solver remembers of the choice of a setup; float64 arrays of shape (setups,).

    Attributes
    ----------
    regret, prob, total : ndarray
        Cumulated regrets, current strategy, cumulated weight times probability, in root order.
    """

    regret: NDArray[np.float64]
    prob: NDArray[np.float64]
    total: NDArray[np.float64]


class Groups(NamedTuple):
    """Setups that a side places with a fixed probability in all; which of a group, it chooses.

    One group of all setups where nothing is locked; setups in no group are never placed.

    Attributes
    ----------
    member : ndarray of int64, shape (setups in groups,)
        In root order, group by group.
    start : ndarray of int64, shape (groups + 1,)
        Where each group starts in ``member``.
    share : ndarray of float64, shape (groups,)
        The probability of each.
    """

    member: NDArray[np.int64]
    start: NDArray[np.int64]
    share: NDArray[np.float64]


class Problem(NamedTuple):
    """A tree and all that is remembered about it.

    Attributes
    ----------
    tree : Tree
    one_strategy : bool
        Whether both sides share one choice of setup, updated once an iteration.
    states : pair of State
    setups : pair of Setups
        With one strategy twice the same.
    groups : pair of Groups
    root_value : pair of ndarray of float64, shape (root cells of all branches,)
        What the root cells of each branch are worth to the side.
    value : pair of ndarray of float64, shape (setups,)
        What each setup is worth to the side.
    """

    tree: Tree
    one_strategy: bool
    states: tuple[State, State]
    setups: tuple[Setups, Setups]
    groups: tuple[Groups, Groups]
    root_value: tuple[NDArray[np.float64], NDArray[np.float64]]
    value: tuple[NDArray[np.float64], NDArray[np.float64]]


class Buffers(NamedTuple):
    """What a worker needs for itself; float64, as long as the largest batch's cells and ends.

    Attributes
    ----------
    reach, value : pair of ndarray
        By side.
    """

    reach: tuple[NDArray[np.float64], NDArray[np.float64]]
    value: tuple[NDArray[np.float64], NDArray[np.float64]]


def new_buffers(tree: Tree) -> Buffers:
    """Return buffers for one worker."""
    sizes = [int(side.past_end.max()) for side in tree.sides]
    return Buffers(
        (np.empty(sizes[0]), np.empty(sizes[1])), (np.empty(sizes[0]), np.empty(sizes[1]))
    )


@njit(cache=True, nogil=True)
def run_batches(problem, which, first_side, past_side, rule, buffers):
    """Update sides ``first_side`` to ``past_side - 1`` in the batches ``which`` (int64)."""
    tree, states = problem.tree, problem.states
    for batch in which:
        first, past = tree.batch_start[batch], tree.batch_start[batch + 1]
        for me in range(first_side, past_side):
            other = 1 - me
            reach, value = buffers.reach[other], buffers.value[me]
            start_reach(tree.sides[other], first, past, problem.setups[other].prob, reach)
            push_down(tree.sides[other], first, past, states[other], reach, rule.weight)
            pull_up(tree, first, past, me, states[me], states[other], reach, value, rule)
            keep_roots(tree.sides[me], first, past, value, problem.root_value[me])


@njit(cache=True, nogil=True)
def start_reach(side, first, past, probs, reach):
    """Put a side's distribution over setups at the roots of branches, and clear the rest."""
    for cell in range(side.first_cell[first], side.past_end[past - 1]):
        reach[cell] = 0.0
    for b in range(first, past):
        for setup in range(side.root_first[b], side.root_past[b]):
            reach[side.first_cell[b] + setup - side.root_first[b]] = probs[setup]


@njit(cache=True, nogil=True)
def keep_roots(side, first, past, value, root_value):
    """Copy the values of the branches' root cells to where those of all branches are kept."""
    for b in range(first, past):
        for cell in range(side.root_at[b + 1] - side.root_at[b]):
            root_value[side.root_at[b] + cell] = value[side.first_cell[b] + cell]


@njit(cache=True, nogil=True)
def sum_roots(problem, me):
    """Fill ``problem.value[me]`` with what each setup is worth, branch by branch."""
    total = problem.value[me]
    total[:] = 0.0
    side = problem.tree.sides[me]
    at = 0
    for b in range(side.root_first.shape[0]):
        for setup in range(side.root_first[b], side.root_past[b]):
            total[setup] += problem.root_value[me][at]
            at += 1


@njit(cache=True, nogil=True)
def update_setups(problem, first_side, past_side, rule):
    """Sum up what sides ``first_side`` to ``past_side - 1`` earn, and update their setups.

    With one strategy that is both sides, a setup earns what it does on both, and its last regret is
    expected to come again whatever the algorithm: setups meet their own last choice, and would
    else chase it.  Added to the averages are the setups that the branches were just run with:
    those of the opponent.
    """
    add_setups(
        problem.setups[past_side - 1 if problem.one_strategy else 1 - first_side], rule.weight
    )
    for me in range(first_side, past_side):
        sum_roots(problem, me)
    if problem.one_strategy:
        both = problem.value[0]
        for setup in range(both.shape[0]):
            both[setup] += problem.value[1][setup]
    predict = 1.0 if problem.one_strategy else rule.predict
    groups = problem.groups[first_side]
    for group in range(groups.share.shape[0]):
        members = groups.member[groups.start[group] : groups.start[group + 1]]
        match_regrets(
            problem.setups[first_side],
            members,
            groups.share[group],
            problem.value[first_side],
            rule,
            predict,
        )


@njit(cache=True, nogil=True)
def run_alone(problem, rows, buffers):
    """Run one iteration for each row of a schedule (float64, shape (iterations, 4))."""
    which = np.arange(problem.tree.batch_start.shape[0] - 1)
    for row in range(rows.shape[0]):
        rule = Rule(False, rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3])
        first_side = 0
        while first_side < 2:
            past_side = 2 if problem.one_strategy else first_side + 1
            run_batches(problem, which, first_side, past_side, rule, buffers)
            update_setups(problem, first_side, past_side, rule)
            first_side = past_side


@njit(cache=True, nogil=True)
def add_setups(setups, weight):
    """Add the current choice of a setup to its average."""
    for i in range(setups.prob.shape[0]):
        setups.total[i] += weight * setups.prob[i]


@njit(cache=True, nogil=True)
def match_regrets(setups, members, share, value, rule, predict):
    """Update the choice of a setup within a group placed with probability ``share`` in all.

    ``value`` is what each setup earns.  Regrets that are rounding errors count as none: otherwise
    they would pick a setup at random in games where at first all earn the same.
    """
    mean = 0.0
    for i in members:
        mean += setups.prob[i] * value[i]
    mean /= share
    total = 0.0
    for i in members:
        new = value[i] - mean
        regret = setups.regret[i] + new
        regret *= rule.positive if regret > 0.0 else rule.negative
        setups.regret[i] = regret
        setups.prob[i] = max(regret + predict * new, 0.0)
        total += setups.prob[i]
    for i in members:
        within = setups.prob[i] / total if total > ROUNDING else 1.0 / members.shape[0]
        setups.prob[i] = share * within


@njit(cache=True, nogil=True)
def average_match(state):
    """Return the average strategy, float64 of shape (infostates,): the probability of matching.

    Where own play never comes, and where it is locked, the current strategy.
    """
    match = state.match.copy()
    for i in range(match.shape[0]):
        if state.is_locked.shape[0] > 0 and state.is_locked[i]:
            continue  # the same but for rounding
        total = state.sum_fold[i] + state.sum_match[i]
        if total > 0.0:
            match[i] = state.sum_match[i] / total
    return match


@njit(cache=True, nogil=True)
def average_pay(side, state):
    """Return the average way to pay, once a match is chosen, float64 of shape (ways to pay,)."""
    pay = state.pay.copy()
    for i in range(side.info_pay.shape[0] - 1):
        first, past = side.info_pay[i], side.info_pay[i + 1]
        total = state.pay_sum[first:past].sum()
        if total > 0.0:
            pay[first:past] = state.pay_sum[first:past] / total
    return pay


def average_reach(
    average: Problem, tree: PublicTree, p: int, decisions: Decisions
) -> NDArray[np.float64]:
    """Return the own reach of a side's decisions, float64 of shape (infostates,).

    ``average`` is a problem whose current strategy is the average one.  Below settled nodes the
    reach is 0.
    """
    side, match = average.tree.sides[p], average.states[p].match
    reach = new_buffers(average.tree).reach[p]
    found = np.zeros(len(decisions.cell))
    for b, record in enumerate(tree.records):
        start_reach(side, b, b + 1, average.setups[p].prob, reach)
        push_down(side, b, b + 1, average.states[p], reach, 0.0)
        own = reach[side.first_cell[b] : side.past_end[b]]
        late = record.arrivals[p]
        acts = np.ones(len(late.info))
        acted = late.info >= 0
        chosen = match[open_numbers(tree, p, b, late.info[acted])]
        acts[acted] = np.where(late.is_fold[acted], 1.0 - chosen, chosen)
        shares = own[late.source] * acts
        own_late = np.bincount(late.cell, shares, minlength=len(record.last_tile[p]))
        cells = record.cells[p]
        part = found[decisions.branch_start[b] : decisions.branch_start[b + 1]]
        part[cells >= 0] = own[cells[cells >= 0]]
        part[cells < -1] = own_late[-2 - cells[cells < -1]]
    return found
