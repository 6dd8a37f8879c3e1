"""The linear program over part of the choices, and how that part grows.

With ``x`` the plan of player 0, ``q`` what each infostate of player 1 costs it at best, and ``F``
the matrices by which plans sum up, player 0 is sure of most by

    maximize q_0   subject to   F0 x = e,   F1' q <= A' x,   x >= 0.

The multipliers of the inequalities are the plan of player 1.

Few choices occur in a solution.  So the program is solved with some of both players' choices, at
least one an infostate; what a best response in the whole game does beside them is added, until
that earns no more.  This is the double oracle method (McMahan, Gordon and Blum 2003) in sequence
form (Bosansky, Kiekintveld, Lisy and Pechoucek 2014).  Departures: the first choices are those of
an approximate solution and not arbitrary, and all setups that earn more are added at a time, each
with its best play, not the best one alone.

McMahan, Gordon, Blum, Planning in the presence of cost functions controlled by an adversary, ICML
2003.  Bosansky et al., An exact double-oracle algorithm for zero-sum extensive-form games with
imperfect information, Journal of Artificial Intelligence Research 51, 2014.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

from solver.lp.model import Player
from solver.lp.plans import best_values, reached

__all__ = ["PartSolution", "add_responses", "first_choices", "solve_part"]

TOLERANCE = 1e-10
"""By which HiGHS may miss a constraint; the least that it takes."""


class PartSolution(NamedTuple):
    """A solution of the program over part of the choices.

    Attributes
    ----------
    plans : pair of ndarray of float64, shape (columns of the player,)
        Setups sum up to 1.
    value : float
        What player 0 earns.
    iterations : int
        Of the simplex or the interior point method.
    """

    plans: tuple[NDArray[np.float64], NDArray[np.float64]]
    value: float
    iterations: int


def solve_part(
    players: tuple[Player, Player],
    payoff: csr_array,
    kept: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    *,
    method: str,
    time_limit: float | None = None,
    goes_on: Callable[[], bool] = lambda: True,
) -> PartSolution | None:
    """Solve the program over the kept columns of both players.

    Returns None when out of time or told to stop, or if HiGHS fails.  Setups sum up to their number
    instead of 1 in the program, so that the tolerance, which is absolute, is small beside how often
    one is placed.

    Parameters
    ----------
    players : pair of Player
    payoff : csr_array, shape (columns of player 0, columns of player 1)
        Player 0's.
    kept : pair of ndarray of bool, shape (columns of the player,)
    method : str
        One of HiGHS, as in :func:`scipy.optimize.linprog`.
    time_limit : float, optional
        Seconds.
    goes_on : callable, optional
        Asked several times a second.
    """
    rows, columns, flows = [], [], []
    for player, choices in zip(players, kept, strict=True):
        row, column = reached(player, choices)
        rows.append(row)
        columns.append(column)
        flows.append(player.flow[row][:, column])
    num_x, num_q = len(columns[0]), len(rows[1])
    scale = float(players[0].num_setups)
    cost = np.zeros(num_x + num_q)
    cost[num_x] = -scale
    right = np.zeros(len(rows[0]))
    right[0] = scale
    low = np.concatenate([np.zeros(num_x), np.full(num_q, -np.inf)])
    gains = payoff[columns[0]][:, columns[1]]
    found = _run_apart(
        goes_on,
        cost,
        A_ub=hstack([-gains.T, flows[1].T]).tocsr(),
        b_ub=np.zeros(len(columns[1])),
        A_eq=hstack([flows[0], csr_array((len(rows[0]), num_q))]).tocsr(),
        b_eq=right,
        bounds=np.stack([low, np.full(len(low), np.inf)], axis=1),
        method=method,
        options={
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
            "time_limit": time_limit,
        },
    )
    if found is None or not found.success:
        return None
    parts = (found.x[:num_x], -found.ineqlin.marginals)
    plans = []
    for player, column, values in zip(players, columns, parts, strict=True):
        plan = np.zeros(len(player.row))
        plan[column] = np.where(values > TOLERANCE, values, 0.0)
        plans.append(plan / plan[: player.num_setups].sum())
    return PartSolution((plans[0], plans[1]), -found.fun / scale**2, int(found.nit))


def _run_apart(goes_on: Callable[[], bool], *arguments: Any, **options: Any) -> Any:
    """Call linprog in a thread of its own, since HiGHS does not hear Ctrl-C; None if told to stop.

    A program that is given up runs on in its thread until it ends or the process does.
    """
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(linprog(*arguments, **options))
        except Exception as error:
            results.append(error)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(0.05)
        if worker.is_alive() and not goes_on():
            return None
    if isinstance(results[0], Exception):
        raise results[0]
    return results[0]


def first_choices(
    player: Player,
    shares: NDArray[np.float64],
    gains: NDArray[np.float64],
    least: float,
) -> NDArray[np.bool_]:
    """Return the columns to begin with, bool of shape (columns,).

    They are those whose share is more than ``least`` (of setups, that part of an even share), and
    where there is none, the best response to what the other does.

    Parameters
    ----------
    player : Player
    shares : ndarray of float64, shape (columns,)
        An approximate solution.
    gains : ndarray of float64, shape (columns,)
        What each column earns at once against the other's.
    least : float
    """
    least_shares = np.full(len(shares), least)
    least_shares[: player.num_setups] /= player.num_setups
    kept = shares > least_shares
    values, best = best_values(player, gains)
    has = np.bincount(player.row[kept], minlength=len(best)) > 0
    return kept | (~has[player.row] & (values == best[player.row]))


def add_responses(
    player: Player,
    gains: NDArray[np.float64],
    value: float,
    tolerance: float,
    kept: NDArray[np.bool_],
) -> int:
    """Add setups that earn more than ``value``, with their best play; return how many columns.

    Parameters
    ----------
    player : Player
        Who responds.
    gains : ndarray of float64, shape (columns,)
        What each column earns at once against the other's plan.
    value : float
        What the player earns with the kept columns.
    tolerance : float
        By how much a setup has to be better.
    kept : ndarray of bool, shape (columns,)
        Modified in place.
    """
    values, best = best_values(player, gains)
    is_better = values > value + tolerance
    # Where a kept column is as good as the best within rounding errors, no other is taken.
    is_best = values >= best[player.row] - tolerance / 1000
    has_kept = np.bincount(player.row[is_best & kept], minlength=len(best)) > 0
    follow = is_best & (kept | ~has_kept[player.row])
    follow[: player.num_setups] = is_better[: player.num_setups]
    _, columns = reached(player, follow)
    num_added = len(columns) - int(np.count_nonzero(kept[columns]))
    kept[columns] = True
    return num_added
