"""Sampling solver for games too large to list: Monte Carlo CFR on memoryless setups and table keys.

The strategy has two parts: a memoryless setup model (:mod:`solver.memoryless`) and a probability of
matching for each decision key (:mod:`solver.abstraction`).  One table serves both seats.  Each
iteration

1. draws the opponent's setup from the current strategy;
2. draws an own setup, up to one random slot from a mixture of uniform and current strategy and from
   that slot on from the current strategy, and plays it; then tries several uniform actions in that
   slot, each completed from the current strategy, and adds to the action's regret what it scored
   more than the first;
3. plays both actions at every own decision and one, drawn from the current strategy, at the
   opponent's (external sampling: Lanctot and others 2009), and adds the difference of the two to
   the regrets of the decision's key.

Regrets are turned into a strategy by regret matching+ (Tammelin 2014) or plain regret matching; no
importance weights are needed, since own actions are sampled from fixed distributions (compare
ESCHER, McAleer and others 2022).  Early regrets fade as in linear CFR (Brown and Sandholm 2019).
The answer is the linearly weighted average strategy.

Departures: strategies are frozen for a batch of iterations, so that its chunks are independent and
two threads give the same table as one, bit for bit; regrets are cut at 0 once a batch; the setup
average is exact, each row weighted by its probability instead of by samples; and where the
opponent's tile in the last slot is certain the better action is played without a table, as
:func:`solver.strategy.match_prob` does.  A key stands for many infostates, so the guarantees of CFR
do not carry over: only measuring in the unabstracted game says how good a table is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.abstraction import VERSION, num_keys
from solver.coarser import fill_from_coarser
from solver.mccfr.kernels import NUM_GAMES, Frozen, longer_log, new_log, new_work, play_chunk
from solver.mccfr.options import (
    NUM_CHUNKS,
    SamplingOptions,
    batch_for,
    check_sampled,
)
from solver.mccfr.updates import (
    add_average,
    apply_decisions,
    apply_setups,
    new_decisions,
    new_setups,
    refresh_decisions,
    refresh_setups,
)
from solver.memoryless import row_offsets
from solver.rules import Game, InputError
from solver.strategy import KEYED, MEMORYLESS, Strategy, make_strategy

__all__ = ["SampledSolution", "SampledSolver", "solve_sampled"]

_PARTS = 4
"""Parts of the decision tables that are brought up to date independently."""

_TABLE_ARRAYS = ("regret", "weighted_match", "weight", "visits", "match")
_SETUP_ARRAYS = ("regret", "weighted", "cumulative")


@dataclass(frozen=True)
class SampledSolution:
    """The average strategy of a sampled solve, and what is needed to go on.

    Attributes
    ----------
    game : Game
    iterations, games : int
        Iterations played, and the games they took.
    seconds : float
        Time this run took.
    seed : int
    model : ndarray of float32, shape (entries,)
        Setup strategy: see :mod:`solver.memoryless`.
    match : ndarray of float64, shape (keys,)
        Probability of matching for each decision key.
    source : ndarray of uint8, shape (keys,)
        Where each of them came from: ``FROM_TABLE``, ``FROM_COARSER`` or ``FROM_NOTHING``.
    visits : ndarray of int64, shape (keys,)
        How often each key was met.
    abstraction : dict
        ``version`` and parameters of the abstraction.
    options : SamplingOptions
    state : dict of str to ndarray
        For :meth:`SampledSolver.restore`.
    """

    game: Game
    iterations: int
    games: int
    seconds: float
    seed: int
    model: NDArray[np.float32]
    match: NDArray[np.float64]
    source: NDArray[np.uint8]
    visits: NDArray[np.int64]
    abstraction: dict[str, Any]
    options: SamplingOptions
    state: dict[str, NDArray[Any]] = field(repr=False)

    def strategy(self) -> Strategy:
        """Return the strategy in playable form."""
        return _playable(self.game, self.model, self.match, self.source)


class SampledSolver:
    """Monte Carlo CFR in steps.

    Parameters
    ----------
    game : Game
        With ``pulls=latest``.
    seed : int
        The same seed gives the same table, on any number of threads.
    threads : int
    options : SamplingOptions, optional

    Raises
    ------
    InputError
        For ``pulls`` other than ``latest``, and for games whose tables would not fit in memory.

    Examples
    --------
    >>> solver = SampledSolver(Game(2, 3), seed=1)
    >>> solver.run(1000)
    >>> solver.iterations
    1024
    """

    def __init__(
        self,
        game: Game,
        *,
        seed: int = 0,
        threads: int = 1,
        options: SamplingOptions | None = None,
    ) -> None:
        check_sampled(game, seed, threads)
        self.game = game
        self.seed = seed
        self.threads = threads
        self.options = options or SamplingOptions()
        self.batch_size = self.options.batch or batch_for(game)
        self.batches = 0
        self.games = 0
        n, c = game.num_tiles, game.num_chips
        offsets, size = row_offsets(n, c)
        self._decisions = new_decisions(num_keys(n))
        self._setups = new_setups(offsets, size)
        self._starts = np.sort(offsets[offsets >= 0])
        self._logs = [
            new_log(self.batch_size // NUM_CHUNKS, self.options.tried, n) for _ in range(NUM_CHUNKS)
        ]

    @property
    def iterations(self) -> int:
        """Iterations played so far."""
        return self.batches * self.batch_size

    def run(self, iterations: int) -> None:
        """Play at least so many iterations more, in whole batches."""
        self._run_batches(math.ceil(iterations / self.batch_size), lambda: True)

    def _run_batches(self, count: int, go_on: Callable[[], bool]) -> None:
        """Play up to ``count`` batches, as long as ``go_on()`` says so after each."""
        with ThreadPoolExecutor(self.threads) as pool:

            def run_all(tasks: Sequence[Callable[[], None]]) -> object:
                return list(pool.map(lambda task: task(), tasks))

            while count > 0:
                self._run_batch(run_all)
                count -= 1
                if not go_on():
                    return

    def _run_batch(self, run_all: Callable[[Sequence[Callable[[], None]]], object]) -> None:
        """Play one batch against the frozen strategy, then bring the tables up to date."""
        frozen = Frozen(
            self.game.num_chips,
            self.game.is_win,
            self.options.tried,
            float(self.options.uniform_prefix),
            float(self.options.off_weight),
            float(self.options.opponent_epsilon),
            self._setups.offsets,
            self._setups.cumulative,
            self._decisions.match,
        )
        weight = float(self.batches + 1) ** self.options.averaging_power
        run_all([lambda chunk=chunk: self._play(chunk, frozen) for chunk in range(NUM_CHUNKS)])  # type: ignore[misc]
        updates: list[Callable[[], None]] = [lambda: self._update_setups(weight)]
        for part in range(_PARTS):
            updates.append(lambda part=part: self._update_decisions(part, weight))  # type: ignore[misc]
        run_all(updates)
        self.games += sum(int(log.fill[NUM_GAMES]) for log in self._logs)
        self.batches += 1

    def _play(self, chunk: int, frozen: Frozen) -> None:
        """Play a chunk of a batch into its own log, with its own seed."""
        n = self.game.num_tiles
        seeds = np.random.SeedSequence(self.seed, spawn_key=(self.batches, chunk))
        rng = np.random.Generator(np.random.PCG64(seeds))
        work = new_work(n)
        room = (self.options.tried + 1) << n
        self._logs[chunk].fill[:] = 0
        left = self.batch_size // NUM_CHUNKS
        while left > 0:
            left -= play_chunk(work, frozen, self._logs[chunk], rng, left, room)
            if left > 0:
                self._logs[chunk] = longer_log(self._logs[chunk], room)

    def _step(self) -> float:
        """Return what a regret of this batch counts: later ones more, so that early ones fade."""
        return float(self.batches + 1) ** self.options.regret_power

    def _update_setups(self, weight: float) -> None:
        add_average(self._setups, weight)
        for log in self._logs:
            apply_setups(self._setups, log, self._step())
        for log in self._logs:
            refresh_setups(self._setups, log, self.batches, self.options.plus)

    def _update_decisions(self, part: int, weight: float) -> None:
        for log in self._logs:
            apply_decisions(self._decisions, log, part, _PARTS, weight, self._step())
        for log in self._logs:
            refresh_decisions(self._decisions, log, part, _PARTS, self.options.plus)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of everything that :meth:`restore` needs to go on bit for bit."""
        state: dict[str, NDArray[Any]] = {
            "counters": np.array([self.batches, self.games, self.seed, self.batch_size], np.int64)
        }
        for name in _TABLE_ARRAYS:
            state[f"decision_{name}"] = getattr(self._decisions, name).copy()
        for name in _SETUP_ARRAYS:
            state[f"setup_{name}"] = getattr(self._setups, name).copy()
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take over a saved state of the same game.

        Raises
        ------
        InputError
            If a part is missing or belongs to a game of another size.
        """
        targets = {f"decision_{name}": getattr(self._decisions, name) for name in _TABLE_ARRAYS}
        targets |= {f"setup_{name}": getattr(self._setups, name) for name in _SETUP_ARRAYS}
        targets["counters"] = np.zeros(4, np.int64)
        for name, target in targets.items():
            if name not in state or state[name].shape != target.shape:
                found = f"shape {state[name].shape}" if name in state else "nothing"
                raise InputError(
                    f"state: {name} has {found}, but {self.game.name} needs {target.shape}"
                )
        batches, games, seed, batch_size = (int(count) for count in state["counters"])
        if batch_size != self.batch_size:
            raise InputError(
                f"state: saved with batches of {batch_size} iterations, but this solver's have "
                f"{self.batch_size}; give the same options"
            )
        for name, target in targets.items():
            target[:] = state[name]
        self.batches, self.games, self.seed = batches, games, seed
        self._setups.stamp[:] = -1

    def current_strategy(self) -> Strategy:
        """Return the strategy of the last iteration, which is noisier than the average."""
        table = self._decisions
        match, source = fill_from_coarser(
            self.game.num_tiles, table.match.astype(np.float64), table.visits
        )
        return _playable(self.game, self._current_model(), match, source)

    def strategy(self) -> Strategy:
        """Return the average strategy."""
        return _playable(self.game, self.average_model(), *self.average_match())

    def average_match(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return ``(match, source)`` over keys: the average, with coarser answers in the gaps.

        Keys that only the learning side met, never the opponent, have no average; they play the
        current strategy.
        """
        table = self._decisions
        match = table.match.astype(np.float64)
        np.divide(table.weighted_match, table.weight, out=match, where=table.weight > 0.0)
        return fill_from_coarser(self.game.num_tiles, match, table.visits)

    def average_model(self) -> NDArray[np.float32]:
        """Return the average setup strategy; rows of no weight play the current strategy."""
        model = self._current_model()
        if model.size:
            sums = np.add.reduceat(self._setups.weighted, self._starts)
            sums = np.repeat(sums, np.diff(np.append(self._starts, model.size)))
            np.divide(self._setups.weighted, sums, out=model, where=sums > 0.0, casting="same_kind")
        return model

    def _current_model(self) -> NDArray[np.float32]:
        """Return the probabilities whose running sums the setup table holds."""
        cumulative = self._setups.cumulative
        model = np.diff(cumulative, prepend=np.float32(0.0))
        model[self._starts] = cumulative[self._starts]
        return model

    @property
    def visits(self) -> NDArray[np.int64]:
        """How often each key was met; int64, shape (keys,)."""
        return self._decisions.visits


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
        Called after each batch with iterations, seconds and None; returning False stops.
    state : dict, optional
        Go on from a saved state; its seed is kept.
    checkpoint : callable, optional
        Called every ``checkpoint_seconds`` with what ``state`` takes, and the seconds so far.

    Returns
    -------
    SampledSolution

    Examples
    --------
    >>> solution = solve_sampled(Game(2, 3), iterations=1000, seed=1)
    >>> solution.iterations, solution.abstraction["version"]
    (1024, 'coarse-1')
    """
    if iterations is None and time_limit is None:
        raise InputError("neither iterations nor time_limit given: the work would have no end")
    if iterations is not None and iterations < 1:
        raise InputError(f"iterations {iterations}: allowed are 1 and more")
    if time_limit is not None and not time_limit > 0.0:
        raise InputError(f"time_limit {time_limit}: allowed are seconds above 0")
    SampledSolver(Game(2, 2), options=replace(options, batch=0) if options else None).run(1)
    start = time.perf_counter()  # compiling, above, is not counted
    solver = SampledSolver(game, seed=seed, threads=threads, options=options)
    if state is not None:
        solver.restore(state)
    limit = math.inf if time_limit is None else time_limit
    last_saved = time.perf_counter()

    def go_on() -> bool:
        nonlocal last_saved
        now = time.perf_counter()
        wanted = progress is None or progress(solver.iterations, now - start, None)
        if not wanted or now - start >= limit:
            return False
        if checkpoint is not None and now - last_saved >= checkpoint_seconds:
            checkpoint(solver.state(), now - start)
            last_saved = time.perf_counter()
        return True

    left = 2**62 if iterations is None else iterations - solver.iterations
    solver._run_batches(max(0, math.ceil(left / solver.batch_size)), go_on)
    match, source = solver.average_match()
    return SampledSolution(
        game=game,
        iterations=solver.iterations,
        games=solver.games,
        seconds=time.perf_counter() - start,
        seed=solver.seed,
        model=solver.average_model(),
        match=match,
        source=source,
        visits=solver.visits.copy(),
        abstraction={"version": VERSION, "num_tiles": game.num_tiles, "keys": len(match)},
        options=solver.options,
        state=solver.state(),
    )


def _playable(
    game: Game, model: NDArray[np.float32], match: NDArray[np.float64], source: NDArray[np.uint8]
) -> Strategy:
    """Return a strategy of memoryless setups and keyed decisions."""
    return make_strategy(
        game.num_tiles,
        game.num_chips,
        game.is_win,
        setup_kind=MEMORYLESS,
        decision_kind=KEYED,
        model=model,
        offsets=row_offsets(game.num_tiles, game.num_chips)[0],
        match=match,
        source=source,
    )
