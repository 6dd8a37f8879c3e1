"""Sampled solves from start to end: limits, progress, checkpoints, and what comes out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from solver.abstraction import VERSION
from solver.coarser import keyed_strategy
from solver.mccfr.options import SamplingOptions
from solver.mccfr.solver import SampledSolver
from solver.rules import Game, InputError
from solver.strategy import Strategy

__all__ = [
    "Following",
    "Limits",
    "SampledSolution",
    "Solver",
    "check_limits",
    "solution_of",
    "solve_sampled",
    "work",
]

_SAVING = 0.05
"""Checkpoints take at most about this share of the time."""


@dataclass(frozen=True)
class SampledSolution:
    """The average strategy of a sampled solve, and what is needed to go on.

    Attributes
    ----------
    game : Game
    iterations, games, playouts : int
        Iterations played, the games they took, and the ends reached in them.
    seconds : float
        Time this run took.
    seed : int
    model : ndarray of float32, shape (entries,)
        Setup strategy: see :mod:`solver.memoryless`.
    match : ndarray of float64, shape (keys,)
        Probability of matching for each decision key, for decisions without a fine key.
    visits : ndarray of int64, shape (keys,)
        How often each key was met.
    fine_keys, fine_match, fine_visits : ndarray of int64, float64 and int64, shape (fine keys,)
        The fine and shown keys that answer for themselves, in increasing order; visits are rounded
        down to two leading binary digits.
    rounds : ndarray of float64, shape (rounds, 3)
        Of each search for replies: the iterations before it, and the best and the mean value of
        the plans that won.
    kinds : ndarray of float64, shape (kinds, KIND)
        Answers that were given (:mod:`solver.kinds`).
    abstraction : dict
        ``version`` and parameters of the abstraction.
    options : SamplingOptions
    state : dict of str to ndarray
        For :meth:`solver.mccfr.solver.SampledSolver.restore`.
    """

    game: Game
    iterations: int
    games: int
    playouts: int
    seconds: float
    seed: int
    model: NDArray[np.float32]
    match: NDArray[np.float64]
    visits: NDArray[np.int64]
    fine_keys: NDArray[np.int64]
    fine_match: NDArray[np.float64]
    fine_visits: NDArray[np.int64]
    rounds: NDArray[np.float64]
    kinds: NDArray[np.float64]
    abstraction: dict[str, Any]
    options: SamplingOptions
    state: dict[str, NDArray[Any]] = field(repr=False)

    def strategy(self) -> Strategy:
        """Return the strategy in playable form."""
        return keyed_strategy(
            self.game,
            self.model,
            self.match,
            self.visits,
            self.fine_keys,
            self.fine_match,
            self.kinds,
        )


class Solver(Protocol):
    """What can be worked with in batches: one strategy, or those of two seats."""

    @property
    def iterations(self) -> int:
        """Iterations played so far."""

    @property
    def batch_size(self) -> int:
        """Iterations of a batch."""

    def run_batches(self, count: int, go_on: Callable[[], bool]) -> None:
        """Play up to ``count`` batches, as long as ``go_on()`` says so."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what is needed to go on."""

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take over a saved state."""


AnySolver = TypeVar("AnySolver", bound=Solver)


class Limits(NamedTuple):
    """When a solve ends: iterations in all, seconds of this run; None for no limit."""

    iterations: int | None
    time_limit: float | None


class Following(NamedTuple):
    """Who is told of progress and gets checkpoints, and how many seconds apart."""

    progress: Callable[[int, float, float | None], bool] | None
    checkpoint: Callable[[dict[str, NDArray[Any]], float], None] | None
    checkpoint_seconds: float


def solve_sampled(
    game: Game,
    *,
    iterations: int | None = None,
    time_limit: float | None = 60.0,
    seed: int = 0,
    threads: int = 2,
    options: SamplingOptions | None = None,
    progress: Callable[[int, float, float | None], bool] | None = None,
    state: dict[str, NDArray[Any]] | None = None,
    checkpoint: Callable[[dict[str, NDArray[Any]], float], None] | None = None,
    checkpoint_seconds: float = 60.0,
) -> SampledSolution:
    """Solve a game by sampling.

    Parameters
    ----------
    game : Game
        With ``pulls=latest``; either objective.
    iterations : int, optional
        Stop once so many have been played in all, with those of ``state``.
    time_limit : float or None
        Stop after so many seconds; None for no limit, which needs ``iterations``.
    seed, threads, options
        See :class:`SampledSolver`.
    progress : callable, optional
        Called after each batch, and several times a second while replies are looked for, with
        iterations, seconds and None; returning False stops.
    state : dict, optional
        Go on from a saved state; its seed is kept.
    checkpoint : callable, optional
        Called every ``checkpoint_seconds``, or less often if that takes long, with what ``state``
        takes, and the seconds so far.

    Returns
    -------
    SampledSolution

    Examples
    --------
    >>> solution = solve_sampled(Game(2, 3), iterations=1000, seed=1)
    >>> solution.iterations, solution.abstraction["version"]
    (1024, 'shown-1')
    """
    limits = check_limits(iterations, time_limit)
    following = Following(progress, checkpoint, checkpoint_seconds)

    def new() -> SampledSolver:
        return SampledSolver(game, seed=seed, threads=threads, options=options)

    solver, seconds = work(new, options, state, limits, following)
    return solution_of(solver, seconds, solver.state())


def check_limits(iterations: int | None, time_limit: float | None) -> Limits:
    """Return the limits of a solve; raise :class:`InputError` naming a bad one."""
    if iterations is None and time_limit is None:
        raise InputError("neither iterations nor time_limit given: the work would have no end")
    if iterations is not None and iterations < 1:
        raise InputError(f"iterations {iterations}: allowed are 1 and more")
    if time_limit is not None and not time_limit > 0.0:
        raise InputError(f"time_limit {time_limit}: allowed are seconds above 0")
    return Limits(iterations, time_limit)


def work(
    new: Callable[[], AnySolver],
    options: SamplingOptions | None,
    state: dict[str, NDArray[Any]] | None,
    limits: Limits,
    following: Following,
) -> tuple[AnySolver, float]:
    """Return a new solver, run from a saved state to its limits, and the seconds it took.

    Everything is compiled before the clock starts.
    """
    SampledSolver(Game(2, 2), options=replace(options, batch=0) if options else None).run(1)
    start = time.perf_counter()
    solver = new()
    if state is not None:
        solver.restore(state)
    _work_until(solver, limits, following, start)
    return solver, time.perf_counter() - start


def _work_until(solver: Solver, limits: Limits, following: Following, start: float) -> None:
    """Run a solver to its limits; ``start`` is when the clock started."""
    limit = math.inf if limits.time_limit is None else limits.time_limit
    progress, checkpoint, checkpoint_seconds = following
    next_save = time.perf_counter() + checkpoint_seconds

    def go_on() -> bool:
        nonlocal next_save
        now = time.perf_counter()
        wanted = progress is None or progress(solver.iterations, now - start, None)
        if not wanted or now - start >= limit:
            return False
        if checkpoint is not None and now >= next_save:
            checkpoint(solver.state(), now - start)
            saved = time.perf_counter()
            next_save = saved + max(checkpoint_seconds, (saved - now) / _SAVING)
        return True

    left = 2**62 if limits.iterations is None else limits.iterations - solver.iterations
    solver.run_batches(max(0, math.ceil(left / solver.batch_size)), go_on)


def solution_of(
    solver: SampledSolver, seconds: float, state: dict[str, NDArray[Any]]
) -> SampledSolution:
    """Return the average strategy of a solver that has worked for so many seconds."""
    fine_keys, fine_match, fine_visits = solver.average_fine()
    return SampledSolution(
        game=solver.game,
        iterations=solver.iterations,
        games=solver.games,
        playouts=solver.playouts,
        seconds=seconds,
        seed=solver.seed,
        model=solver.average_model(),
        match=solver.average_match(),
        visits=solver.visits.copy(),
        fine_keys=fine_keys,
        fine_match=fine_match,
        fine_visits=fine_visits,
        rounds=solver.rounds,
        kinds=solver.kinds,
        abstraction={
            "version": VERSION,
            "num_tiles": solver.game.num_tiles,
            "keys": len(solver.visits),
            "fine_keys": len(fine_keys),
        },
        options=solver.options,
        state=state,
    )
