"""Solving a small game until a limit: an iteration number, an exploitability, a time.

Exploitability is computed at iteration numbers that grow by a tenth, the same in every solve, so
that one that was interrupted stops where it would have stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.cfr.solution import ExactSolution, LockedSolution
from solver.cfr.solver import ExactSolver
from solver.lock import Lock
from solver.progress import Progress
from solver.rules import Game, InputError

__all__ = ["Checkpoint", "default_target", "solve_exact", "solve_locked"]

Checkpoint = Callable[[dict[str, NDArray[np.float64]], float], None]
"""Gets the state of a solve in progress, and the seconds that it took so far."""

_CHUNK_SECONDS = 0.2
_FIRST_EVALUATION = 8
_EVALUATION_GROWTH = 1.1


def default_target(game: Game) -> float:
    """Return the exploitability at which a solve stops if it is not told: 1e-4 of the stakes."""
    return 1e-4 if game.is_win else 1e-4 * game.num_chips


def solve_exact(
    game: Game,
    *,
    algorithm: str = "auto",
    iterations: int | None = None,
    target: float | None = None,
    time_limit: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    state: dict[str, NDArray[np.float64]] | None = None,
    checkpoint: Checkpoint | None = None,
    checkpoint_seconds: float = 60.0,
) -> ExactSolution:
    """Solve a small game; stop at whichever of the given limits comes first.

    Parameters
    ----------
    game : Game
        Small enough for :func:`solver.tree.build_tree`.
    algorithm : str
        ``auto``, ``cfr``, ``cfr+``, ``dcfr``, ``pcfr+`` or ``pdcfr+``.
    iterations : int, optional
        Iterations in all, those before ``state`` included.
    target : float, optional
        Exploitability, in utilities.  Without any limit, :func:`default_target`.
    time_limit : float, optional
        Seconds.
    threads : int
        1 or more; what is found does not depend on it.
    progress : callable, optional
        Called a few times a second with iterations, seconds and the last exploitability known;
        False stops.
    state : dict of ndarray, optional
        Of an earlier solution or a checkpoint, to continue from.
    checkpoint : callable, optional
        Called every ``checkpoint_seconds`` with what ``state`` takes, and the seconds so far.

    Raises
    ------
    InputError
        If the game is too large, a limit makes no sense, or the state is of another game.

    Examples
    --------
    >>> solve_exact(Game(2, 3), target=1e-3).converged
    True
    """
    limits = _limits(game, iterations, target, time_limit)
    saving = _Saving(checkpoint, checkpoint_seconds)
    solver, seconds = _solve(game, None, algorithm, limits, threads, progress, state, saving)
    return solver.solution(seconds=seconds, target=limits.target)


def solve_locked(
    lock: Lock,
    *,
    algorithm: str = "auto",
    iterations: int | None = None,
    target: float | None = None,
    time_limit: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    state: dict[str, NDArray[np.float64]] | None = None,
    checkpoint: Checkpoint | None = None,
    checkpoint_seconds: float = 60.0,
) -> LockedSolution:
    """Solve a small game for both seats, with a part of one seat's strategy fixed.

    Parameters
    ----------
    lock : Lock
        Of the game to solve.
    target : float, optional
        Half of what best responses of both seats earn in all, the locked seat's within the lock.
    algorithm, iterations, time_limit, threads, progress, state, checkpoint, checkpoint_seconds
        As in :func:`solve_exact`.

    Raises
    ------
    InputError
        As in :func:`solve_exact`, or if an entry of the lock fits nothing.

    Examples
    --------
    >>> from solver.lock import parse_lock
    >>> lock = parse_lock('{"setups": [{"setup": "1:2,0:1"}]}', Game(2, 3))
    >>> round(solve_locked(lock, target=1e-3).locked.exploitability, 2)
    0.0
    """
    limits = _limits(lock.game, iterations, target, time_limit)
    saving = _Saving(checkpoint, checkpoint_seconds)
    solver, seconds = _solve(lock.game, lock, algorithm, limits, threads, progress, state, saving)
    return solver.locked_solution(seconds=seconds, target=limits.target)


class _Limits(NamedTuple):
    """When to stop."""

    iterations: int | None
    target: float | None
    time_limit: float | None


def _limits(
    game: Game, iterations: int | None, target: float | None, time_limit: float | None
) -> _Limits:
    """Return the limits of a solve; without any, the default target."""
    for name, limit in (("target", target), ("time limit", time_limit), ("iterations", iterations)):
        if limit is not None and not limit >= 0:
            raise InputError(f"{name} {limit}: it cannot be negative")
    if iterations is None and target is None and time_limit is None:
        target = default_target(game)
    return _Limits(iterations, target, time_limit)


class _Saving(NamedTuple):
    """Who gets checkpoints, and how many seconds apart."""

    checkpoint: Checkpoint | None
    interval: float


def _solve(
    game: Game,
    lock: Lock | None,
    algorithm: str,
    limits: _Limits,
    threads: int,
    progress: Progress | None,
    state: dict[str, NDArray[np.float64]] | None,
    saving: _Saving,
) -> tuple[ExactSolver, float]:
    """Solve; return the solver, and the seconds that it took."""
    if threads < 1:
        raise InputError(f"threads {threads}: at least 1")
    small = ExactSolver(Game(2, 3), algorithm=algorithm)
    small.run(1)
    small.exploitability()
    start = time.perf_counter()  # compiling, above, is not counted
    solver = ExactSolver(game, algorithm=algorithm, lock=lock, threads=threads)
    if state is not None:
        solver.restore(state)
    if state is None or not _is_done(solver, limits):
        _work_until(solver, limits, progress, _Saver(solver, saving, start))
    return solver, time.perf_counter() - start


@dataclass
class _Saver:
    """Hands out checkpoints; ``start`` is when the clock started."""

    solver: ExactSolver
    saving: _Saving
    start: float
    last: float = field(default_factory=time.perf_counter)

    def look(self) -> None:
        """Hand one out if it is time."""
        now = time.perf_counter()
        checkpoint, interval = self.saving
        if checkpoint is not None and now - self.last >= interval:
            checkpoint(self.solver.state(), now - self.start)
            self.last = time.perf_counter()


def _next_evaluation(iterations: int) -> int:
    """Return the first iteration number after this one at which exploitability is computed."""
    at = _FIRST_EVALUATION
    while at <= iterations:
        at = math.ceil(at * _EVALUATION_GROWTH)
    return at


def _is_done(solver: ExactSolver, limits: _Limits) -> bool:
    """Whether a solve that is to go on had come to its end."""
    done = solver.iterations
    if limits.target is None or done == 0 or _next_evaluation(done - 1) != done:
        return False
    return _is_reached(solver.exploitability(), limits.target)


def _is_reached(exploitability: float | None, target: float | None) -> bool:
    return target is not None and exploitability is not None and exploitability <= target


def _work_until(
    solver: ExactSolver, limits: _Limits, progress: Progress | None, saver: _Saver
) -> None:
    """Run until a limit is reached; clock readings decide only when to look, not what is found."""
    last = math.inf if limits.iterations is None else limits.iterations
    exploitability = None
    evaluate_at = _next_evaluation(solver.iterations)
    speed = 0.0  # iterations a second
    while solver.iterations < last:
        chunk = max(1, int(speed * _CHUNK_SECONDS))
        goal = int(min(last, evaluate_at, solver.iterations + chunk))
        began = time.perf_counter()
        num_run = goal - solver.iterations
        solver.run(num_run)
        speed = num_run / max(time.perf_counter() - began, 1e-6)
        if goal == evaluate_at:
            exploitability = solver.exploitability()
            evaluate_at = _next_evaluation(goal)
        seconds = time.perf_counter() - saver.start
        if progress is not None and not progress(solver.iterations, seconds, exploitability):
            return
        if _is_reached(exploitability, limits.target):
            return
        if limits.time_limit is not None and seconds >= limits.time_limit:
            return
        saver.look()
