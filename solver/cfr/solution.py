"""What an exact solve finds, and how compiled code plays it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver.lock import Lock
from solver.rules import Game
from solver.strategy import Strategy, exact_strategy

__all__ = ["ExactSolution", "LockedSolution", "strategy_of"]


@dataclass(frozen=True)
class ExactSolution:
    """A strategy of a whole small game, and how good it is.

    Attributes
    ----------
    game : Game
    algorithm : str
    iterations : int
    seconds : float
        Spent on this call, building the tree included.
    exploitability : float
        What a best response earns against the strategy, in utilities (NashConv / 2 where both
        seats play it).
    converged : bool
        Whether the target was reached (False where none was set).
    setup_probs : ndarray of float64, shape (setups,)
        In the order of :func:`solver.setups.list_setups`.
    observations : ndarray of int16, shape (infostates, N, 4) or (infostates, N, 5)
        What the player to decide sees, as in :func:`solver.infostate.observe`.
    slots : ndarray of int16, shape (infostates,)
        The slot being decided; infostates stand slot by slot.
    match : ndarray of float64, shape (infostates,)
        Average strategy: the probability of matching; where own play never comes, the current
        strategy.
    reach : ndarray of float64, shape (infostates,)
        Probability that the strategy's own choices, setup included, lead there; 0 where the outcome
        was settled earlier.
    pay_start : ndarray of int64, shape (infostates + 1,), or (1,) with ``pulls=latest``
        Where each infostate's ways to pay start in ``pay``.
    pay : ndarray of float64, shape (ways to pay,)
        Probability of each way to pay, given a match, in the order of
        :func:`solver.rules.next_payment`.
    state : dict of ndarray
        For :meth:`ExactSolver.restore`.
    """

    game: Game
    algorithm: str
    iterations: int
    seconds: float
    exploitability: float
    converged: bool
    setup_probs: NDArray[np.float64]
    observations: NDArray[np.int16]
    slots: NDArray[np.int16]
    match: NDArray[np.float64]
    reach: NDArray[np.float64]
    pay_start: NDArray[np.int64]
    pay: NDArray[np.float64]
    state: dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class LockedSolution:
    """Strategies of both seats of a small game in which a part of one is locked.

    Attributes
    ----------
    lock : Lock
    locked : ExactSolution
        The strategy of the locked seat.  Its exploitability is the most that the lock costs.
    opponent : ExactSolution
        The strategy of the other seat.  Its exploitability is what a best response earns that is
        bound to no lock.
    gap : float
        What best responses of both seats earn in all, the locked seat's within the lock: the lock
        costs at least the exploitability of ``locked`` less this.
    """

    lock: Lock
    locked: ExactSolution
    opponent: ExactSolution
    gap: float


def strategy_of(solution: ExactSolution) -> Strategy:
    """Return a solution as a strategy that compiled code can play.

    Raises
    ------
    InputError
        If two of its infostates have the same key.

    Examples
    --------
    >>> from solver.cfr import solve_exact
    >>> strategy_of(solve_exact(Game(2, 3), iterations=10)).match.shape
    (4,)
    """
    has_payments = len(solution.pay_start) > 1
    return exact_strategy(
        solution.game,
        solution.setup_probs,
        solution.observations,
        solution.match,
        pay_start=solution.pay_start if has_payments else None,
        pay=solution.pay if has_payments else None,
    )
