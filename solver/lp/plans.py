"""Plans of a player, and the strategies that they stand for.

A strategy is written as *shares*: for each column of a :class:`solver.lp.model.Player`, how often
it is chosen where its row is reached.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.cfr.iterate import Problem
from solver.lp.model import Player, num_ways, numbers_of

__all__ = [
    "best_shares",
    "best_values",
    "plan_of_shares",
    "reached",
    "read_shares",
    "shares_of_plan",
    "write_shares",
]

SAME = 1e-13
"""Values that differ by less count as the same: rounding errors of sums of utilities."""


def best_values(
    player: Player, gains: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each column and row is worth to a best response.

    Parameters
    ----------
    player : Player
        Who responds.
    gains : ndarray of float64, shape (columns,)
        What each column earns at once against the other's plan.

    Returns
    -------
    value : ndarray of float64, shape (columns,)
        With the best actions after it; weighted by how often the others come there.
    best : ndarray of float64, shape (rows,)
        The best of a row's columns; in row 0 what a best response earns.
    """
    onward = player.leads.T.tocsr()
    best = np.zeros(player.leads.shape[0])
    while True:
        value = gains + onward @ best
        found = np.full(len(best), -np.inf)
        np.maximum.at(found, player.row, value)
        if np.array_equal(found, best):
            return value, best
        best = found


def plan_of_shares(player: Player, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the plan in which each row takes its columns in the given shares (which sum to 1)."""
    plan = np.zeros(len(shares))
    while True:
        reach = player.leads @ plan
        reach[0] = 1.0
        found = shares * reach[player.row]
        if np.array_equal(found, plan):
            return plan
        plan = found


def shares_of_plan(
    player: Player, plan: NDArray[np.float64], otherwise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how often rows take their columns; ``otherwise`` where the plan never comes."""
    total = np.bincount(player.row, plan, player.leads.shape[0])[player.row]
    return np.where(total > 0.0, plan / np.where(total > 0.0, total, 1.0), otherwise)


def best_shares(
    player: Player, values: NDArray[np.float64], otherwise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a best response as shares; ``otherwise`` in rows whose columns are worth the same.

    ``values`` are those of :func:`best_values`.  Columns that are as good as the best share evenly.
    """
    best = np.full(player.leads.shape[0], -np.inf)
    worst = np.full(player.leads.shape[0], np.inf)
    np.maximum.at(best, player.row, values)
    np.minimum.at(worst, player.row, values)
    is_best = values >= best[player.row] - SAME
    counts = np.bincount(player.row, is_best)
    return np.where((best - worst <= SAME)[player.row], otherwise, is_best / counts[player.row])


def reached(player: Player, kept: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that kept columns lead to, and the kept columns of these rows."""
    is_row = np.zeros(player.leads.shape[0], np.bool_)
    is_row[0] = True
    while True:
        taken = kept & is_row[player.row]
        found = player.leads @ taken.astype(np.float64) > 0.0
        found[0] = True
        if np.array_equal(found, is_row):
            return np.flatnonzero(is_row), np.flatnonzero(taken)
        is_row = found


def read_shares(player: Player, problem: Problem, sides: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a problem's current strategy as shares, for the player of these sides."""
    parts = [problem.setups[sides[0]].prob]
    for p in sides:
        side, state = problem.tree.sides[p], problem.states[p]
        pay = state.pay if len(side.info_pay) > 1 else np.ones(len(side.info_cell))
        num_links = len(side.info_cell)
        link = numbers_of(num_ways(side))
        parts += [1.0 - state.match, state.match[link] * pay, state.match[num_links:]]
    return np.concatenate(parts)


def write_shares(shares: NDArray[np.float64], problem: Problem, sides: tuple[int, ...]) -> None:
    """Put shares into a problem as its current strategy; modified in place."""
    at = len(problem.setups[sides[0]].prob)
    problem.setups[sides[0]].prob[:] = shares[:at]
    for p in sides:
        side, state = problem.tree.sides[p], problem.states[p]
        ways = num_ways(side)
        num_links = len(side.info_cell)
        past_ways = at + len(state.match) + int(ways.sum())
        by_way = shares[at + len(state.match) : past_ways]
        link = numbers_of(ways)
        state.match[:num_links] = np.bincount(link, by_way, num_links)
        past = past_ways + len(state.match) - num_links
        state.match[num_links:] = shares[past_ways:past]
        if len(side.info_pay) > 1:
            matched = state.match[link]
            even = 1.0 / ways[link]
            state.pay[:] = np.where(matched > 0.0, by_way / np.maximum(matched, 1e-300), even)
        at = past
