"""Equilibria of small games by linear programming, exact but for rounding errors.

A short run of an algorithm of :mod:`solver.cfr` says which choices matter; the linear program over
them is solved, and what it misses is added (:mod:`solver.lp.program`).  At the end a pass over the
public tree measures what a best response earns.

Where own play never comes, the strategy is a best response to itself; where the opponent never
comes either, so that all actions earn the same, it is that of the short run.  Where own play comes
but the opponent's does not, the program leaves much open: of an equilibrium's answers to mistakes
any that concedes nothing will do.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from solver.cfr.solution import ExactSolution
from solver.cfr.solver import ExactSolver, new_problem, read_off, response_values
from solver.lp.model import make_players
from solver.lp.plans import read_shares, write_shares
from solver.lp.search import Found, Limits, search
from solver.progress import Progress
from solver.rules import Game, InputError, Pulls
from solver.setups import count_setups

__all__ = ["SeatsSolution", "solve_lp", "solve_seats"]

MAX_SETUPS = 6_000
"""Setups a player may have for the program to be tried."""

EXACT = 1e-9
"""Exploitability, as a part of the stakes, that counts as solved."""

FIRST_EXPLOITABILITY = 1e-2
"""Exploitability, as a part of the stakes, at which the short run stops."""

FIRST_ITERATIONS = 50
"""Iterations of the short run until it is measured; from then on by halves more."""


@dataclass(frozen=True)
class SeatsSolution:
    """An equilibrium of a game whose seats differ in how they may pay.

    Attributes
    ----------
    lower, upper : float
        What the strategy of seat 0 is sure of, and what that of seat 1 concedes at most: the
        game's value to seat 0 lies between.
    seats : pair of ExactSolution
        The strategy of each seat; the exploitability is what a best response in the other seat
        earns against it.
    """

    lower: float
    upper: float
    seats: tuple[ExactSolution, ExactSolution]


def solve_lp(
    game: Game,
    *,
    drop_dominated: bool = True,
    whole: bool = False,
    method: str = "highs-ds",
    time_limit: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> ExactSolution:
    """Solve a small game exactly.

    Parameters
    ----------
    game : Game
    drop_dominated : bool
        Whether the tree leaves out what is settled whatever is hidden.
    whole : bool
        Solve one program with all choices, instead of some that grow; much slower.
    method : str
        ``highs-ds`` or ``highs-ipm``.
    time_limit : float, optional
        Seconds, from the end of building the tree; what is best by then is returned.
    threads : int
        For the tree and the short run.
    progress : callable, optional
        Called before each program with iterations, seconds and the exploitability so far; False
        stops.

    Returns
    -------
    ExactSolution
        ``iterations`` are those of HiGHS, ``converged`` says whether the exploitability is at
        most 1e-9 of the stakes, and ``state`` is empty.

    Raises
    ------
    InputError
        If the game is too large, or an argument makes no sense.

    Examples
    --------
    >>> solution = solve_lp(Game(3, 5))
    >>> solution.exploitability <= 1e-9, solution.converged
    (True, True)
    """
    start = time.perf_counter()
    solver = _prepare(game, drop_dominated, None, method, time_limit, threads)
    found = _search(solver, Limits(_stakes(game), whole, method, time_limit, progress))
    problem = new_problem(solver.tree)
    write_shares(found.shares[0], problem, (0, 1))
    exploitability = response_values(problem)[0]
    return ExactSolution(
        game=game,
        algorithm="lp",
        iterations=found.iterations,
        seconds=time.perf_counter() - start,
        exploitability=exploitability,
        converged=exploitability <= EXACT * _stakes(game),
        state={},
        **read_off(solver.tree, problem, (0, 1)),
    )


def solve_seats(
    game: Game,
    seat_pulls: tuple[Pulls, Pulls],
    *,
    drop_dominated: bool = True,
    whole: bool = False,
    method: str = "highs-ds",
    time_limit: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> SeatsSolution:
    """Solve a small game in which each seat may pay a gap in its own way.

    Parameters
    ----------
    game : Game
    seat_pulls : pair of str
        How each seat may pay; its own ``pulls`` do not matter.
    drop_dominated, whole, method, time_limit, threads, progress
        As in :func:`solve_lp`.

    Raises
    ------
    InputError
        If the game is too large, or an argument makes no sense.

    Examples
    --------
    >>> found = solve_seats(Game(3, 5), ("latest", "latest"))
    >>> abs(found.lower) <= 1e-9, abs(found.upper) <= 1e-9
    (True, True)
    """
    start = time.perf_counter()
    solver = _prepare(game, drop_dominated, seat_pulls, method, time_limit, threads)
    found = _search(solver, Limits(_stakes(game), whole, method, time_limit, progress))
    problem = new_problem(solver.tree)
    for p in range(2):
        write_shares(found.shares[p], problem, (p,))
    values = response_values(problem)
    seats = [
        ExactSolution(
            game=replace(game, pulls=seat_pulls[p]),
            algorithm="lp",
            iterations=found.iterations,
            seconds=time.perf_counter() - start,
            exploitability=values[1 - p],
            converged=sum(values) <= EXACT * _stakes(game),
            state={},
            **read_off(solver.tree, problem, (p,)),
        )
        for p in range(2)
    ]
    return SeatsSolution(-values[1], values[0], (seats[0], seats[1]))


def _stakes(game: Game) -> float:
    return 1.0 if game.is_win else float(game.num_chips)


def _prepare(
    game: Game,
    drop_dominated: bool,
    seat_pulls: tuple[Pulls, Pulls] | None,
    method: str,
    time_limit: float | None,
    threads: int,
) -> ExactSolver:
    """Check the arguments and build the tree, with the short run before its first iteration."""
    if method not in ("highs-ds", "highs-ipm"):
        raise InputError(f"method {method}: highs-ds or highs-ipm")
    if time_limit is not None and not time_limit >= 0:
        raise InputError(f"time limit {time_limit}: it cannot be negative")
    if threads < 1:
        raise InputError(f"threads {threads}: at least 1")
    num_setups = count_setups(game)
    if num_setups > MAX_SETUPS:
        raise InputError(
            f"game {game.name}: {num_setups:,} setups a player, but the linear program takes at "
            f"most {MAX_SETUPS:,}"
        )
    return ExactSolver(
        game,
        one_strategy=seat_pulls is None,
        drop_dominated=drop_dominated,
        seat_pulls=seat_pulls,
        threads=threads,
    )


def _search(solver: ExactSolver, limits: Limits) -> Found:
    """Return the best strategies found within the limits, the short run's first."""
    start = time.perf_counter()
    if not limits.whole:
        stop = FIRST_EXPLOITABILITY * limits.stakes
        while (found := solver.exploitability()) > stop and limits.tell(start, 0, found):
            if limits.is_over(time.perf_counter() - start):
                break
            solver.run(max(FIRST_ITERATIONS, solver.iterations // 2))
    problem = solver.average_problem()
    players, payoff = make_players(solver.tree)
    sides = [(0, 1)] if solver.tree.one_strategy else [(0,), (1,)]
    first = [
        read_shares(player, problem, part) for player, part in zip(players, sides, strict=False)
    ]
    return search(players, payoff, (first[0], first[-1]), limits, start)
