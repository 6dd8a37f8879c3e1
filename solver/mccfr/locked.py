"""Sampled solves for both seats, with a part of one seat's strategy given.

The game is the same for both seats, but what they play is not: two
:class:`solver.mccfr.solver.SampledSolver` learn side by side, one for the locked seat and one for
its opponent, who knows of the lock.  In each batch either plays against the other's strategy as it
stood before.

The locked seat's plans, and all that is drawn from them, complete the board of the lock, if it has
one, and so does the table, slot by slot.  Its locked answers are drawn as given, and nothing is
learned there.  Replies are looked for on both sides, each against the other's average strategy; the
locked seat's lie within the lock.

What a lock costs is not known afterwards: neither side's value is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from solver.lock import Lock, bound_of
from solver.mccfr.options import SamplingOptions, check_sampled
from solver.mccfr.solve import (
    Following,
    SampledSolution,
    check_limits,
    solution_of,
    work,
)
from solver.mccfr.solver import SampledSolver, run_batches
from solver.rules import InputError

__all__ = ["SEATS", "LockedSampledSolver", "SampledLockedSolution", "solve_locked_sampled"]

SEATS = ("locked", "opponent")
"""What the parts of a state belong to, by the beginnings of their names."""


@dataclass(frozen=True)
class SampledLockedSolution:
    """The average strategies of both seats, one of which was locked in part.

    Attributes
    ----------
    locked : SampledSolution
        The locked seat's.  Its ``state`` is that of both, to go on from.
    opponent : SampledSolution
        The other seat's, without a state.
    """

    locked: SampledSolution
    opponent: SampledSolution


class LockedSampledSolver:
    """Monte Carlo CFR in steps, for both seats.

    Parameters
    ----------
    lock : Lock
        Of a game with ``pulls=latest``; see :func:`solver.lock.bound_of`.
    seed, threads, options
        As for :class:`solver.mccfr.solver.SampledSolver`.

    Attributes
    ----------
    locked, opponent : SampledSolver

    Raises
    ------
    InputError
        As there, where two solvers do not fit in memory, and for what a sampled solve cannot keep.

    Examples
    --------
    >>> from solver.lock import parse_lock
    >>> from solver.rules import Game
    >>> lock = parse_lock('{"setups": [{"setup": "1:2"}]}', Game(2, 3))
    >>> solver = LockedSampledSolver(lock, seed=1)
    >>> solver.run_batches(1, lambda: True)
    >>> solver.locked.average_model().tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    def __init__(
        self,
        lock: Lock,
        *,
        seed: int = 0,
        threads: int = 1,
        options: SamplingOptions | None = None,
    ) -> None:
        bound = bound_of(lock)
        check_sampled(lock.game, seed, threads, solvers=len(SEATS))
        common: dict[str, Any] = {"seed": seed, "threads": threads, "options": options}
        self.locked = SampledSolver(lock.game, bound=bound, seat=0, **common)
        self.opponent = SampledSolver(lock.game, seat=1, **common)
        self.threads = threads

    @property
    def iterations(self) -> int:
        """Iterations played so far, by each seat."""
        return self.locked.iterations

    @property
    def batch_size(self) -> int:
        """Iterations of a batch."""
        return self.locked.batch_size

    def run_batches(self, count: int, go_on: Callable[[], bool]) -> None:
        """Play up to ``count`` batches for each seat, as long as ``go_on()`` says so."""
        seats = [(self.locked, self.opponent), (self.opponent, self.locked)]
        run_batches(seats, count, go_on, self.threads)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of all that :meth:`restore` needs to go on bit for bit."""
        return {
            f"{seat}_{name}": part
            for seat in SEATS
            for name, part in getattr(self, seat).state().items()
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take over a saved state of the same game and lock.

        Raises
        ------
        InputError
            As :meth:`solver.mccfr.solver.SampledSolver.restore`.
        """
        for seat in SEATS:
            prefix = f"{seat}_"
            own = {
                name.removeprefix(prefix): part
                for name, part in state.items()
                if name.startswith(prefix)
            }
            try:
                getattr(self, seat).restore(own)
            except InputError as error:
                raise InputError(f"{error} ({seat} seat)") from None


def solve_locked_sampled(
    lock: Lock,
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
) -> SampledLockedSolution:
    """Solve a game by sampling for both seats, with a part of one seat's strategy given.

    Parameters
    ----------
    lock : Lock
        Of the game to solve, with ``pulls=latest``.  At most one board, and answers for kinds of
        decisions.
    iterations, time_limit, seed, threads, options, progress, state, checkpoint, checkpoint_seconds
        As in :func:`solver.mccfr.solve.solve_sampled`.  Iterations are those of each seat.

    Returns
    -------
    SampledLockedSolution

    Raises
    ------
    InputError
        As there, and naming the first entry of the lock that a sampled solve cannot keep.

    Examples
    --------
    >>> from solver.lock import parse_lock
    >>> from solver.rules import Game
    >>> lock = parse_lock('{"answers": [{"gap": 1, "match": 1}]}', Game(3, 6))
    >>> found = solve_locked_sampled(lock, iterations=1000, seed=1)
    >>> found.locked.iterations, found.opponent.iterations
    (1024, 1024)
    """
    limits = check_limits(iterations, time_limit)
    bound_of(lock)  # what is wrong with it is said before anything is compiled
    following = Following(progress, checkpoint, checkpoint_seconds)

    def new() -> LockedSampledSolver:
        return LockedSampledSolver(lock, seed=seed, threads=threads, options=options)

    solver, seconds = work(new, options, state, limits, following)
    return SampledLockedSolution(
        solution_of(solver.locked, seconds, solver.state()),
        solution_of(solver.opponent, seconds, {}),
    )
