"""Exact equilibria of small games: the CFR family on the public tree.

All players' infostates are visited in every iteration and nothing is sampled; the choice of a
setup is an infostate too, with all setups as actions.  Sides update in turn: side 0 against side
1's strategy, then side 1 against side 0's new one.

With one strategy for both seats the sides are the two halves of its infostates, each in one part
of the tree, and the setup choice, which both share, is updated once an iteration by what a setup
earns on both sides: an iteration takes half the time and memory, but setups meet their own last
choice instead of the other seat's new one.  The predictive algorithms hardly mind; the others
lose several times more iterations than they save, so :func:`solve_exact` gives them a strategy
for each seat and keeps the better one.

``cfr``     counterfactual regret minimization (Zinkevich et al. 2007), uniform averaging
``cfr+``    regrets cut at 0, linear averaging (Tammelin 2014)
``dcfr``    regrets discounted by t^1.5 / (t^1.5 + 1) above 0 and 1/2 below, averaging weight t^2
            (Brown and Sandholm 2019: alpha 1.5, beta 0, gamma 2)
``pcfr+``   regrets cut at 0, the last regret expected to come again, averaging weight t^2
            (Farina, Kroer and Sandholm 2021)
``pdcfr+``  the same with discounting by t^2.3 / (t^2.3 + 1) and averaging weight t^5
            (Xu et al. 2024)

Departures: alternating updates for all of them; CFR as published updates both at once.
"""

from __future__ import annotations

import math
import time
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from solver.cfr.passes import Setups, State, average_match, iterate, respond
from solver.cfr.solution import ExactSolution
from solver.progress import Progress
from solver.rules import Game, InputError
from solver.tree.build import PublicTree, build_tree
from solver.tree.view import infostate_observations

__all__ = [
    "Algorithm",
    "ExactSolver",
    "best_response_values",
    "default_target",
    "solve_exact",
]

Algorithm = Literal["cfr", "cfr+", "dcfr", "pcfr+", "pdcfr+"]


PREDICTIVE = ("pcfr+", "pdcfr+")
"""The algorithms that do well with one strategy for both seats."""

_CHUNK_SECONDS = 0.2
_EVALUATION_GROWTH = 1.2


def schedule(algorithm: Algorithm, first: int, count: int) -> NDArray[np.float64]:
    """Return the numbers of iterations ``first`` (from 1) on.

    Returns
    -------
    ndarray of float64, shape (count, 4)
        ``positive, negative, predict, weight`` of :class:`solver.cfr.passes.Rule`.
    """
    t = np.arange(first, first + count, dtype=np.float64)
    rows = np.empty((count, 4))
    if algorithm == "cfr":
        rows[:] = 1.0, 1.0, 0.0, 1.0
    elif algorithm == "cfr+":
        rows[:] = 1.0, 0.0, 0.0, 1.0
        rows[:, 3] = t
    elif algorithm == "dcfr":
        rows[:, 0] = t**1.5 / (t**1.5 + 1)
        rows[:, 1] = 0.5
        rows[:, 2] = 0.0
        rows[:, 3] = t**2
    elif algorithm == "pcfr+":
        rows[:] = 1.0, 0.0, 1.0, 1.0
        rows[:, 3] = t**2
    else:
        rows[:, 0] = t**2.3 / (t**2.3 + 1)
        rows[:, 1] = 0.0
        rows[:, 2] = 1.0
        rows[:, 3] = t**5
    return rows


def best_response_values(
    tree: PublicTree,
    probs: tuple[NDArray[np.float64], NDArray[np.float64]],
    match: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[float, float]:
    """Return what a best response earns in each seat against a strategy in the other.

    Parameters
    ----------
    tree : PublicTree
    probs : pair of ndarray of float64, shape (setups,)
        Setup distribution of each side, in the order of :func:`solver.setups.list_setups`.
    match : pair of ndarray of float64, shape (infostates of the side,)
        Probability of matching.  In a tree of one strategy the two parts are one strategy, and
        both values are the same.
    """
    empty = np.zeros(0)
    states = tuple(State(empty, empty, m, empty, empty) for m in match)
    sizes = [side.num_cells + len(tree.arrays.end_utility) for side in tree.arrays.sides]
    reach = (np.empty(sizes[0]), np.empty(sizes[1]))
    value = (np.empty(sizes[0]), np.empty(sizes[1]))
    root = tuple(np.ascontiguousarray(p[tree.root_setup]) for p in probs)
    respond(tree.arrays, states, root, reach, value)
    n = tree.num_setups
    if tree.one_strategy:
        best = float((value[0][:n] + value[1][:n]).max())
        return best, best
    return float(value[0][:n].max()), float(value[1][:n].max())


class ExactSolver:
    """A solve in progress.

    Parameters
    ----------
    game : Game
        With ``pulls='latest'``, small enough for :func:`solver.tree.build_tree`.
    algorithm : str
        See the head of this module; ``auto`` is the fastest known.
    merge, stop_when_decided, solve_open_endings, one_strategy : bool
        Reductions of the tree.

    Raises
    ------
    InputError
        If the game is too large or the algorithm unknown.

    Examples
    --------
    >>> solver = ExactSolver(Game(2, 3))
    >>> solver.run(200)
    >>> solver.exploitability() < 1e-3
    True
    """

    def __init__(
        self,
        game: Game,
        *,
        algorithm: str = "auto",
        merge: bool = True,
        stop_when_decided: bool = True,
        solve_open_endings: bool = True,
        one_strategy: bool = True,
    ) -> None:
        self.algorithm = check_algorithm(algorithm)
        self.tree = build_tree(
            game,
            merge=merge,
            stop_when_decided=stop_when_decided,
            solve_open_endings=solve_open_endings,
            one_strategy=one_strategy,
        )
        self.iterations = 0
        num0, num1 = self.tree.num_side_infostates
        self._states = (new_state(num0), new_state(num1))
        first = new_setups(self.tree.num_setups)
        self._setups = (first, first if one_strategy else new_setups(self.tree.num_setups))
        ends = len(self.tree.arrays.end_utility)
        sizes = [side.num_cells + ends for side in self.tree.arrays.sides]
        self._reach = (np.empty(sizes[0]), np.empty(sizes[1]))
        self._value = (np.empty(sizes[0]), np.empty(sizes[1]))

    @property
    def num_bytes(self) -> int:
        """Memory of what the solver holds beside the tree."""
        setups = self._setups[: 1 if self.tree.one_strategy else 2]
        parts = [*self._states, *setups, self._reach, self._value]
        return sum(array.nbytes for part in parts for array in part)

    def run(self, iterations: int) -> None:
        """Run this many more iterations."""
        rows = schedule(self.algorithm, self.iterations + 1, iterations)
        iterate(
            self.tree.arrays,
            self.tree.one_strategy,
            self._states,
            self._setups,
            self._reach,
            self._value,
            rows,
        )
        self.iterations += iterations

    def average_setups(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the average setup distribution of each side, float64 of shape (setups,)."""
        result = []
        for setups in self._setups:
            total = setups.total.sum()
            probs = np.empty(self.tree.num_setups)
            probs[self.tree.root_setup] = setups.total / total if total > 0 else setups.prob
            result.append(probs)
        return result[0], result[1]

    def average_matches(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return each side's average probability of matching, float64 of shape (infostates,)."""
        return average_match(self._states[0]), average_match(self._states[1])

    def exploitability(self) -> float:
        """Return the exploitability of the average strategy: NashConv / 2, in utilities."""
        values = best_response_values(self.tree, self.average_setups(), self.average_matches())
        return (values[0] + values[1]) / 2

    def state(self) -> dict[str, NDArray[np.float64]]:
        """Return a copy of all that a later :meth:`restore` needs to continue bit for bit.

        Infostate arrays are those of side 0, then side 1; setup arrays have one row, or one a
        side where each has a strategy of its own.
        """
        arrays = {
            name: np.concatenate([getattr(part, name) for part in self._states])
            for name in State._fields
        }
        strategies = self._setups[: 1 if self.tree.one_strategy else 2]
        for name in Setups._fields:
            arrays[f"setup_{name}"] = np.stack([getattr(part, name) for part in strategies])
        return {"iterations": np.array([self.iterations], np.float64)} | arrays

    def restore(self, state: dict[str, NDArray[np.float64]]) -> None:
        """Continue from what :meth:`state` returned, for the same game and algorithm.

        Raises
        ------
        InputError
            If an array is missing or has another shape than this game needs.
        """
        expected = self.state()
        for name, array in expected.items():
            if name not in state:
                raise InputError(f"solver state: {name} is missing")
            if np.shape(state[name]) != array.shape:
                raise InputError(
                    f"solver state: {name} has shape {np.shape(state[name])}, but "
                    f"{self.tree.game.name} needs {array.shape}"
                )
        self.iterations = int(state["iterations"][0])
        split = self.tree.num_side_infostates[0]
        for name in State._fields:
            getattr(self._states[0], name)[:] = state[name][:split]
            getattr(self._states[1], name)[:] = state[name][split:]
        for row, setups in enumerate(self._setups[: len(expected["setup_prob"])]):
            for name in Setups._fields:
                getattr(setups, name)[:] = state[f"setup_{name}"][row]

    def solution(self, *, seconds: float = 0.0, target: float | None = None) -> ExactSolution:
        """Return the average strategy as a result; of two strategies the less exploitable."""
        observations, slots = infostate_observations(self.tree)
        setup_probs, matches = self.average_setups(), self.average_matches()
        values = best_response_values(self.tree, setup_probs, matches)
        num0 = self.tree.num_side_infostates[0]
        rows = slice(0, None)
        side = 0
        if not self.tree.one_strategy:
            side = 0 if values[1] <= values[0] else 1
            rows = slice(0, num0) if side == 0 else slice(num0, None)
        total = self._setups[side].total.sum()
        reach = np.concatenate([s.sum_fold + s.sum_match for s in self._states])[rows]
        return ExactSolution(
            game=self.tree.game,
            algorithm=self.algorithm,
            iterations=self.iterations,
            seconds=seconds,
            exploitability=values[1 - side],
            converged=target is not None and values[1 - side] <= target,
            setup_probs=setup_probs[side],
            observations=observations[rows],
            slots=slots[rows],
            match=np.concatenate(matches)[rows],
            reach=reach / total if total > 0 else reach,
            state=self.state(),
        )


def check_algorithm(algorithm: str) -> Algorithm:
    """Return the algorithm named; raise InputError if there is none."""
    if algorithm == "auto":
        return "pcfr+"
    if algorithm not in get_args(Algorithm):
        raise InputError(
            f"algorithm {algorithm!r}: allowed are auto, {', '.join(get_args(Algorithm))}"
        )
    return algorithm  # type: ignore[return-value]


def new_state(num_infostates: int) -> State:
    """Return the state before the first iteration: no regrets, a coin for every decision."""
    return State(
        np.zeros(num_infostates),
        np.zeros(num_infostates),
        np.full(num_infostates, 0.5),
        np.zeros(num_infostates),
        np.zeros(num_infostates),
    )


def new_setups(num_setups: int) -> Setups:
    """Return the setup choice before the first iteration: uniform."""
    return Setups(np.zeros(num_setups), np.full(num_setups, 1.0 / num_setups), np.zeros(num_setups))


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
    progress: Progress | None = None,
    state: dict[str, NDArray[np.float64]] | None = None,
) -> ExactSolution:
    """Solve a small game; stop at whichever of the given limits comes first.

    Exploitability is computed at iteration numbers that grow by a fifth, so that it costs little.

    Parameters
    ----------
    game : Game
        With ``pulls='latest'``, small enough for :func:`solver.tree.build_tree`.
    algorithm : str
        ``auto``, ``cfr``, ``cfr+``, ``dcfr``, ``pcfr+`` or ``pdcfr+``.
    iterations : int, optional
        Iterations in all, those before ``state`` included.
    target : float, optional
        Exploitability, in utilities.  Without any limit, :func:`default_target`.
    time_limit : float, optional
        Seconds.
    progress : callable, optional
        Called a few times a second with iterations, seconds and the last exploitability known;
        False stops.
    state : dict of ndarray, optional
        Of an earlier solution, to continue from.

    Raises
    ------
    InputError
        If the game is too large, a limit makes no sense, or the state is of another game.

    Examples
    --------
    >>> solve_exact(Game(2, 3), target=1e-3).converged
    True
    """
    for name, limit in (("target", target), ("time limit", time_limit), ("iterations", iterations)):
        if limit is not None and not limit >= 0:
            raise InputError(f"{name} {limit}: it cannot be negative")
    if iterations is None and target is None and time_limit is None:
        target = default_target(game)
    algorithm = check_algorithm(algorithm)
    one_strategy = algorithm in PREDICTIVE
    small = ExactSolver(Game(2, 3), algorithm=algorithm, one_strategy=one_strategy)
    small.run(1)
    small.exploitability()
    start = time.perf_counter()  # compiling, above, is not counted
    solver = ExactSolver(game, algorithm=algorithm, one_strategy=one_strategy)
    if state is not None:
        solver.restore(state)
        if target is not None and solver.exploitability() <= target:
            return solver.solution(seconds=time.perf_counter() - start, target=target)
    work_until(solver, iterations, target, time_limit, progress, start)
    return solver.solution(seconds=time.perf_counter() - start, target=target)


def work_until(
    solver: ExactSolver,
    iterations: int | None,
    target: float | None,
    time_limit: float | None,
    progress: Progress | None,
    start: float,
) -> None:
    """Run until a limit is reached; clock readings decide only when to look, not what is found."""
    last = math.inf if iterations is None else iterations
    exploitability = None
    evaluate_at = max(8, solver.iterations + 1)
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
            evaluate_at = math.ceil(goal * _EVALUATION_GROWTH)
        seconds = time.perf_counter() - start
        if progress is not None and not progress(solver.iterations, seconds, exploitability):
            return
        if target is not None and exploitability is not None and exploitability <= target:
            return
        if time_limit is not None and seconds >= time_limit:
            return
