"""Solving the program over part of the choices until a best response finds nothing better."""

from __future__ import annotations

import time
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from solver.lp.model import Player
from solver.lp.plans import best_shares, best_values, plan_of_shares, shares_of_plan
from solver.lp.program import add_responses, first_choices, solve_part
from solver.progress import Progress

__all__ = ["Found", "Limits", "search"]

LEAST_SHARE = 0.05
"""Shares in the first strategy that make a choice matter."""

LEAST_GAIN = 1e-10
"""What a best response may earn, as a part of the stakes, and is not added."""


class Limits(NamedTuple):
    """How to solve, and when to stop.

    Attributes
    ----------
    stakes : float
        The most that can be won.
    whole, method, time_limit, progress
        As in :func:`solver.lp.solve.solve_lp`.
    """

    stakes: float
    whole: bool
    method: str
    time_limit: float | None
    progress: Progress | None

    def is_over(self, seconds: float) -> bool:
        """Whether the time is."""
        return self.time_limit is not None and seconds >= self.time_limit

    def tell(self, start: float, iterations: int, exploitability: float) -> bool:
        """Tell how far it is; return whether to go on."""
        seconds = time.perf_counter() - start
        return self.progress is None or self.progress(iterations, seconds, exploitability)


class Found(NamedTuple):
    """The least exploitable strategies of a search.

    Attributes
    ----------
    shares : pair of ndarray of float64, shape (columns of the player,)
    iterations : int
        Of HiGHS, in all.
    """

    shares: tuple[NDArray[np.float64], NDArray[np.float64]]
    iterations: int


def search(
    players: tuple[Player, Player],
    payoff: csr_array,
    first: tuple[NDArray[np.float64], NDArray[np.float64]],
    limits: Limits,
    start: float,
) -> Found:
    """Solve a game, from strategies that are nearly solutions.

    Parameters
    ----------
    players : pair of Player
        Twice the same one where one strategy serves both; then its value is 0.
    payoff : csr_array, shape (columns of player 0, columns of player 1)
        Player 0's.
    first : pair of ndarray of float64, shape (columns of the player,)
        Shares to begin with; they also say what to do where nothing else does.
    limits : Limits
    start : float
        When the time began, by ``time.perf_counter``.
    """
    numbers = (0,) if players[0] is players[1] else (0, 1)
    plans = (plan_of_shares(players[0], first[0]), plan_of_shares(players[1], first[1]))
    gains = both_gains(payoff, plans)
    best, best_gap = plans, earned(players, gains)
    kept = [
        np.ones(len(player.row), np.bool_)
        if limits.whole
        else first_choices(player, shares, gain, LEAST_SHARE)
        for player, shares, gain in zip(players, first, gains, strict=True)
    ]
    if len(numbers) == 1:
        kept[1] = kept[0]
    iterations = 0
    while best_gap > LEAST_GAIN * limits.stakes:
        seconds = time.perf_counter() - start
        if limits.is_over(seconds) or not limits.tell(start, iterations, best_gap / 2):
            break
        left = None if limits.time_limit is None else limits.time_limit - seconds
        part = solve_part(
            players,
            payoff,
            (kept[0], kept[1]),
            method=limits.method,
            time_limit=left,
            goes_on=partial(limits.tell, start, iterations, best_gap / 2),
        )
        if part is None:
            break
        iterations += part.iterations
        value = 0.0 if len(numbers) == 1 else part.value
        plans = part.plans if len(numbers) == 2 else (part.plans[0], part.plans[0])
        gains = both_gains(payoff, plans)
        gap = earned(players, gains)
        if gap < best_gap:
            best, best_gap = plans, gap
        num_added = sum(
            add_responses(
                players[k], gains[k], (1 - 2 * k) * value, LEAST_GAIN * limits.stakes / 2, kept[k]
            )
            for k in numbers
        )
        if num_added == 0:
            break
    gains = both_gains(payoff, best)
    shares = []
    for player, plan, gain, otherwise in zip(players, best, gains, first, strict=True):
        response = best_shares(player, best_values(player, gain)[0], otherwise)
        shares.append(shares_of_plan(player, plan, response))
    return Found((shares[0], shares[1]), iterations)


def both_gains(
    payoff: csr_array, plans: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each column of each player earns at once against the other's plan."""
    return payoff @ plans[1], -(payoff.T @ plans[0])


def earned(
    players: tuple[Player, Player], gains: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> float:
    """Return what best responses of both players earn in all; 0 in an equilibrium."""
    return sum(
        float(best_values(player, gain)[1][0]) for player, gain in zip(players, gains, strict=True)
    )
