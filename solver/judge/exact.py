"""Exact best responses, exploitability and expected values in the real game.

The judge of every strategy, exact or abstracted. For every setup of the judged player,
:mod:`solver.judge.history_walk`, or :mod:`solver.judge.payment_walk` where players choose how to
pay, goes through all public histories of the unreduced game and takes the best action at each of
that player's infostates. The idea of a walk over public histories with
one vector for each player is that of Johanson et al. 2011, "Accelerating best response calculation
in large extensive games"; none of its reductions of the game is used.

An abstracted strategy is judged in the same way, since a strategy is only asked for its setup
probabilities and for what it does with one setup at one history.

The judged player's first-slot branches (own colour and stack) share no numbers, so threads divide
them up and any number of threads gives the same bits.  Memory is O(setups x N) for each
thread, times the ways to pay where there is a choice of them.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solver.judge import history_walk, payment_walk
from solver.judge.history_walk import Judge
from solver.progress import Progress
from solver.rules import LATEST, Game, InputError, Pulls, utility
from solver.setups import Setup, count_setups, list_setups
from solver.strategy import Strategy, in_game, setup_prob

__all__ = [
    "MAX_SETUPS",
    "BestResponse",
    "Evaluation",
    "best_response",
    "evaluate",
    "exploitability",
    "is_feasible",
]

MAX_SETUPS = 20_000
"""Largest number of setups a player for which the walk ends in bearable time.

Public histories grow with the square of the setups, and a million takes about a second: 4x8 (840
setups) has 4 million, 5x8 (4,200) has 103 million, 5x10 (15,120) thirteen times as many."""

MAX_PAYING_SETUPS = 1_500
"""The same where players choose how to pay.

There are more histories, and a million takes about four seconds: with ``free``, 4x8 has 7 million
and 4x9 (1,344 setups) 20 million.
"""


@dataclass(frozen=True)
class BestResponse:
    """A best response to a strategy that plays the other seat.

    Attributes
    ----------
    value : float
        Best-response player's expected utility.  A lower bound if not ``is_complete``.
    setup : Setup
        A setup that earns it: the first in the order of :func:`solver.setups.list_setups`.
    setup_values : ndarray of float64, shape (setups,)
        Best-response player's expected utility with each setup, in the order of
        :func:`solver.setups.list_setups`; NaN where the walk was stopped before.
    num_histories : int
        Public histories walked: starts of a slot and ends.
    num_infostates : int
        Decisions of the best-response player, by own setup and public history.
    is_complete : bool
        False if it was stopped by ``max_seconds`` or ``progress``.
    seconds : float
        Wall time.
    """

    value: float
    setup: Setup
    setup_values: NDArray[np.float64]
    num_histories: int
    num_infostates: int
    is_complete: bool
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """What a strategy in seat 0 earns against another in seat 1.

    Attributes
    ----------
    value : float
        Seat 0's expected utility.
    win, draw, loss : float
        Probabilities that seat 0 ends with more, as many or fewer chips.
    """

    value: float
    win: float
    draw: float
    loss: float


def best_response(
    strategy: Strategy,
    game: Game,
    *,
    seat: int = 0,
    pulls: Pulls | None = None,
    threads: int = 1,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> BestResponse:
    """Return an exact best response of ``seat`` to ``strategy`` in the other seat.

    Parameters
    ----------
    strategy : Strategy
        Any strategy; an abstracted one is judged in the unabstracted game.
    game : Game
        A game that :func:`is_feasible`.
    seat : int
        The best-response player, 0 or 1.  The game is symmetric, so both give one number.
    pulls : {'latest', 'tiles', 'free'}, optional
        The best-response player's rule for paying a gap, if it is not the game's, which then binds
        ``strategy`` alone.  A strategy of listed infostates may meet some that it does not list.
    threads : int
        Threads that share the first-slot branches; changes no bit of the result.
    max_seconds, progress : optional
        Asked after each first-slot branch: time allowed, and ``progress(branches_done, seconds,
        value_so_far)``, which returns False to stop.

    Raises
    ------
    InputError
        If the game is too large, or the strategy belongs to another game.

    Examples
    --------
    >>> from solver.strategy import make_strategy
    >>> found = best_response(make_strategy(2, 3, True, match_constant=0.5), Game(2, 3))
    >>> round(found.value, 12), str(found.setup)
    (0.5, '1:2,0:1')
    """
    own_game = game if pulls is None else replace(game, pulls=pulls)
    _check_size(own_game)
    theirs = _in_game(strategy, game)
    if seat not in (0, 1):
        raise InputError(f"seat {seat}: allowed are 0 and 1")
    if threads < 1:
        raise InputError(f"threads {threads}: at least 1 is needed")
    start = time.perf_counter()
    judge = Judge(seat, True, theirs, theirs, _payoffs(game), own_game.pulls_code)
    values, counts = _walk_branches(
        judge, game, threads=threads, max_seconds=max_seconds, progress=progress
    )
    best = int(np.nanargmax(values))
    tiles, chips = list_setups(game)
    return BestResponse(
        value=float(values[best]),
        setup=Setup.of_rows(tiles[best], chips[best]),
        setup_values=values,
        num_histories=int(counts[0]),
        num_infostates=int(counts[1]),
        is_complete=not np.isnan(values).any(),
        seconds=time.perf_counter() - start,
    )


def exploitability(strategy: Strategy, game: Game, *, threads: int = 1) -> float:
    """Return what a best response earns against ``strategy``, in player utility.

    One strategy serves both seats of a symmetric game, so both seats' best responses earn the
    same, and their mean is either one.

    Examples
    --------
    >>> from solver.strategy import make_strategy
    >>> round(exploitability(make_strategy(3, 6, True, match_constant=0.5), Game(3, 6)), 12)
    0.6
    """
    return best_response(strategy, game, threads=threads).value


def evaluate(a: Strategy, b: Strategy, game: Game, *, threads: int = 1) -> Evaluation:
    """Return exactly what ``a`` in seat 0 earns against ``b`` in seat 1.

    Examples
    --------
    >>> from solver.strategy import make_strategy
    >>> folder, caller = (make_strategy(2, 3, True, match_constant=p) for p in (0.0, 1.0))
    >>> evaluate(folder, folder, Game(2, 3)).value
    0.0
    """
    a, b = _in_game(a, game), _in_game(b, game)
    prob = _setup_probs(a, list_setups(game))
    utilities = _payoffs(game)
    excess = np.arange(len(utilities)) - game.num_chips
    sums = []
    for payoff in (utilities, (excess > 0).astype(float), (excess == 0).astype(float)):
        values, _ = _walk_branches(Judge(0, False, a, b, payoff, a.pulls), game, threads=threads)
        sums.append(float(prob @ values))
    value, win, draw = sums
    return Evaluation(value, win, draw, max(1.0 - win - draw, 0.0))


def is_feasible(game: Game) -> bool:
    """Return whether the exact judge can take a game: not too many setups a player.

    At most ``MAX_SETUPS``, or ``MAX_PAYING_SETUPS`` where players choose how to pay.

    Examples
    --------
    >>> is_feasible(Game(5, 8)), is_feasible(Game(6, 12)), is_feasible(Game(5, 8, pulls="free"))
    (True, False, False)
    """
    return count_setups(game) <= _most_setups(game)


def _most_setups(game: Game) -> int:
    return MAX_SETUPS if game.pulls == "latest" else MAX_PAYING_SETUPS


def _check_size(game: Game) -> None:
    """Refuse a game for which the walk would take too long."""
    if not is_feasible(game):
        raise InputError(
            f"game {game.name}: {count_setups(game):,} setups a player are too many for the exact "
            f"judge, which takes at most {_most_setups(game):,} with pulls={game.pulls}"
        )


def _in_game(strategy: Strategy, game: Game) -> Strategy:
    """Return the strategy for the game's rule of paying; refuse what the walk cannot take."""
    _check_size(game)
    made_for = (strategy.setup_tiles.shape[1], strategy.num_chips)
    if made_for != (game.num_tiles, game.num_chips):
        raise InputError(f"strategy for {made_for[0]}x{made_for[1]}: the game is {game.name}")
    return in_game(strategy, game)


def _payoffs(game: Game) -> NDArray[np.float64]:
    """Return the utility of ending with 0 to 2C winnings."""
    ends = range(2 * game.num_chips + 1)
    return np.array([utility(winnings, game.num_chips, game.is_win) for winnings in ends])


def _setup_probs(
    strategy: Strategy, placed: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Return the probability of every setup, rid of the rounding of stored numbers."""
    prob = np.array([setup_prob(strategy, t, c) for t, c in zip(*placed, strict=True)])
    total = prob.sum()
    if not abs(total - 1.0) < 1e-3:
        raise InputError(f"strategy: its setup probabilities sum to {total:.6g}, not 1")
    return prob / total


def _walk_branches(
    judge: Judge,
    game: Game,
    *,
    threads: int,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Walk the judged player's first-slot branches; return ``(setup values, counts)``.

    Setups of branches that were not reached in time keep NaN.
    """
    is_default = judge.pulls == judge.theirs.pulls == LATEST
    walk_branch = (history_walk if is_default else payment_walk).walk_branch
    placed = tiles, chips = list_setups(game)
    reach = _setup_probs(judge.theirs, placed)
    branch_of = 2 * chips[:, 0] + tiles[:, 0] % 2
    branches = [np.flatnonzero(branch_of == b) for b in np.unique(branch_of)]
    branches.sort(key=len, reverse=True)
    values = np.full(len(tiles), np.nan)
    counts = np.array([1, 0], np.int64)  # the root once; every branch counts it again
    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        jobs = {pool.submit(walk_branch, judge, placed, b, reach): b for b in branches}
        for num_done, job in enumerate(as_completed(jobs), 1):
            values[jobs[job]], branch_counts = job.result()
            counts += branch_counts - (1, 0)
            seconds = time.perf_counter() - start
            is_late = max_seconds is not None and seconds >= max_seconds
            best = float(np.nanmax(values))
            if is_late or (progress is not None and not progress(num_done, seconds, best)):
                pool.shutdown(cancel_futures=True)
                break
    return values, counts
