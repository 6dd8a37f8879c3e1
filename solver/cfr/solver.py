"""A solve of a small game in progress: the CFR family on the public tree.

All players' infostates are visited in every iteration and nothing is sampled; the choice of a
setup is an infostate too, with all setups as actions.  Sides update in turn: side 0 against side
1's strategy, then side 1 against side 0's new one.

With one strategy for both seats the sides are the two halves of its infostates, each in one part
of the tree, and the setup choice, which both share, is updated once an iteration by what a setup
earns on both sides: an iteration takes half the time and memory.  Setups then meet their own last
choice instead of the other seat's new one.  Without prediction they chase it, and an average takes
10 to 70 times as many iterations; with it, about twice as many as with a strategy for each seat, at
half the cost each.

With several threads the batches of first-slot branches are dealt out once, by size, and each thread
goes through its own; the numbers are the same as with one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from solver.cfr.algorithms import check_algorithm, schedule
from solver.cfr.iterate import (
    Problem,
    Setups,
    average_match,
    average_pay,
    average_reach,
    new_buffers,
    run_alone,
    run_batches,
    sum_roots,
    update_setups,
)
from solver.cfr.passes import Rule, State
from solver.cfr.solution import ExactSolution
from solver.rules import Game, InputError, Pulls
from solver.tree.build import PublicTree, build_tree
from solver.tree.view import infostate_observations, side_decisions

__all__ = [
    "ExactSolver",
    "best_response_values",
    "new_problem",
    "read_off",
    "response_values",
]

THREADED_WORK = 100_000
"""Links and payoffs of a tree up to which a second thread costs more than it brings."""

_BEST = Rule(True, 1.0, 1.0, 0.0, 0.0)


def new_problem(tree: PublicTree) -> Problem:
    """Return a tree before the first iteration: uniform setups, a coin for every decision."""
    arrays = tree.arrays
    states = [_new_state(tree.num_open_infostates[p], _coins(tree, p)) for p in range(2)]
    num = tree.num_setups
    setups = [Setups(np.zeros(num), np.full(num, 1.0 / num), np.zeros(num)) for _ in range(2)]
    if tree.one_strategy:
        setups[1] = setups[0]
    return Problem(
        arrays,
        tree.one_strategy,
        (states[0], states[1]),
        (setups[0], setups[1]),
        (np.empty(arrays.sides[0].root_at[-1]), np.empty(arrays.sides[1].root_at[-1])),
        (np.empty(num), np.empty(num)),
    )


def _new_state(num_infostates: int, pay: NDArray[np.float64]) -> State:
    zeros = [np.zeros(num_infostates) for _ in range(4)]
    match = np.full(num_infostates, 0.5)
    return State(
        zeros[0], zeros[1], match, zeros[2], zeros[3], np.zeros_like(pay), pay, np.zeros_like(pay)
    )


def _coins(tree: PublicTree, player: int) -> NDArray[np.float64]:
    """Return the ways to pay of a side's open infostates, each as likely as the others."""
    if tree.arrays.sides[player].info_pay[-1] == 0:
        return np.zeros(0)
    found = side_decisions(tree, player)
    counts = np.diff(found.pay_start)
    shares = np.repeat(1.0 / counts, counts)
    return shares[found.pay_row >= 0]


def best_response_values(
    tree: PublicTree,
    probs: tuple[NDArray[np.float64], NDArray[np.float64]],
    match: tuple[NDArray[np.float64], NDArray[np.float64]],
    pay: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> tuple[float, float]:
    """Return what a best response earns in each seat against a strategy in the other.

    Parameters
    ----------
    tree : PublicTree
    probs : pair of ndarray of float64, shape (setups,)
        Setup distribution of each side, in the order of :func:`solver.setups.list_setups`.
    match : pair of ndarray of float64, shape (infostates of the side,)
        Probability of matching, in the order of
        :func:`solver.tree.view.infostate_observations`; where it is settled, it is taken to be
        that.  In a tree of one strategy the two parts are one strategy, and both values are the
        same.
    pay : pair of ndarray of float64, shape (ways to pay,), optional
        Probability of each way to pay, given a match, infostate by infostate; all alike if left
        out.
    """
    problem = new_problem(tree)
    for player in range(2):
        found = side_decisions(tree, player)
        is_open = found.row >= 0
        problem.states[player].match[found.row[is_open]] = match[player][is_open]
        if pay is not None:
            problem.states[player].pay[:] = pay[player][found.pay_row >= 0]
        problem.setups[player].prob[:] = probs[player][tree.root_setup]
    return response_values(problem)


def response_values(problem: Problem) -> tuple[float, float]:
    """Return what a best response earns in each seat against a problem's current strategy."""
    which = np.arange(len(problem.tree.batch_start) - 1)
    run_batches(problem, which, 0, 2, _BEST, new_buffers(problem.tree))
    return root_values(problem)


def root_values(problem: Problem) -> tuple[float, float]:
    """Return the value of the best setup of each side from what the roots are worth."""
    for player in range(2):
        sum_roots(problem, player)
    if problem.one_strategy:
        best = float((problem.value[0] + problem.value[1]).max())
        return best, best
    return float(problem.value[0].max()), float(problem.value[1].max())


class ExactSolver:
    """A solve in progress.

    Parameters
    ----------
    game : Game
        Small enough for :func:`solver.tree.build_tree`.
    algorithm : str
        See :mod:`solver.cfr.algorithms`; ``auto`` is the fastest known.
    merge, stop_when_decided, solve_open_endings, one_strategy, drop_dominated, fold_endings : bool
        Reductions of the tree.
    seat_pulls : pair of str, optional
        How each seat may pay a gap, where they differ; takes ``one_strategy=False``.
    threads : int
        1 or more; the numbers do not depend on it.

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
        drop_dominated: bool = True,
        fold_endings: bool = True,
        seat_pulls: tuple[Pulls, Pulls] | None = None,
        threads: int = 1,
    ) -> None:
        self.algorithm = check_algorithm(algorithm)
        self.tree = build_tree(
            game,
            merge=merge,
            stop_when_decided=stop_when_decided,
            solve_open_endings=solve_open_endings,
            one_strategy=one_strategy,
            drop_dominated=drop_dominated,
            fold_endings=fold_endings,
            seat_pulls=seat_pulls,
            threads=threads,
        )
        self.iterations = 0
        self._problem = new_problem(self.tree)
        self._shares = deal_batches(self.tree, threads)
        self._buffers = [new_buffers(self.tree.arrays) for _ in self._shares]

    def run(self, iterations: int) -> None:
        """Run this many more iterations."""
        rows = schedule(self.algorithm, self.iterations + 1, iterations)
        if len(self._shares) == 1:
            run_alone(self._problem, rows, self._buffers[0])
        else:
            phases = [(0, 2)] if self.tree.one_strategy else [(0, 1), (1, 2)]
            with ThreadPoolExecutor(len(self._shares)) as pool:
                for row in rows:
                    rule = Rule(False, *row.tolist())
                    for first, past in phases:
                        self._run_together(self._problem, first, past, rule, pool)
                        update_setups(self._problem, first, past, rule)
        self.iterations += iterations

    def _run_together(
        self, problem: Problem, first: int, past: int, rule: Rule, pool: ThreadPoolExecutor
    ) -> None:
        """Run sides ``first`` to ``past - 1`` in all batches, each thread its share."""
        jobs = [
            pool.submit(run_batches, problem, share, first, past, rule, buffers)
            for share, buffers in zip(self._shares[1:], self._buffers[1:], strict=True)
        ]
        run_batches(problem, self._shares[0], first, past, rule, self._buffers[0])
        for job in jobs:
            job.result()

    def average_problem(self) -> Problem:
        """Return the same problem with the average strategy as the current one."""
        problem = self._problem
        states = []
        for player, state in enumerate(problem.states):
            pay = average_pay(problem.tree.sides[player], state)
            states.append(state._replace(match=average_match(state), pay=pay))
        setups = []
        for part in problem.setups:
            total = part.total.sum()
            setups.append(part._replace(prob=part.total / total if total > 0 else part.prob))
        return problem._replace(states=(states[0], states[1]), setups=(setups[0], setups[1]))

    def best_response_values(self) -> tuple[float, float]:
        """Return what a best response earns in each seat against the average strategy."""
        average = self.average_problem()
        with ThreadPoolExecutor(len(self._shares)) as pool:
            self._run_together(average, 0, 2, _BEST, pool)
        return root_values(average)

    def exploitability(self) -> float:
        """Return the exploitability of the average strategy: NashConv / 2, in utilities."""
        return sum(self.best_response_values()) / 2

    def state(self) -> dict[str, NDArray[np.float64]]:
        """Return a copy of all that a later :meth:`restore` needs to continue bit for bit.

        Arrays of decisions are those of side 0, then side 1; setup arrays have one row, or one a
        side where each has a strategy of its own.
        """
        arrays = {
            name: np.concatenate([getattr(part, name) for part in self._problem.states])
            for name in State._fields
        }
        strategies = self._problem.setups[: 1 if self.tree.one_strategy else 2]
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
        first, second = self._problem.states
        for name in State._fields:
            split = len(getattr(first, name))
            getattr(first, name)[:] = state[name][:split]
            getattr(second, name)[:] = state[name][split:]
        for row, setups in enumerate(self._problem.setups[: len(expected["setup_prob"])]):
            for name in Setups._fields:
                getattr(setups, name)[:] = state[f"setup_{name}"][row]

    def solution(self, *, seconds: float = 0.0, target: float | None = None) -> ExactSolution:
        """Return the average strategy as a result; of two strategies the less exploitable."""
        values = self.best_response_values()
        side = 0 if self.tree.one_strategy or values[1] <= values[0] else 1
        sides = (0, 1) if self.tree.one_strategy else (side,)
        exploitability = values[1 - side]
        return ExactSolution(
            game=self.tree.game,
            algorithm=self.algorithm,
            iterations=self.iterations,
            seconds=seconds,
            exploitability=exploitability,
            converged=target is not None and exploitability <= target,
            state=self.state(),
            **read_off(self.tree, self.average_problem(), sides),
        )


def deal_batches(tree: PublicTree, threads: int) -> list[NDArray[np.int64]]:
    """Return the batches that each thread works on: the largest first, to who has least."""
    arrays = tree.arrays
    work = np.diff(arrays.payoff_start) + np.diff(arrays.end_start)
    for side in arrays.sides:
        infos = side.info_start[:, [0, -1]]
        work += np.diff(infos)[:, 0] + np.diff(side.edge_start[:, [0, -1]])[:, 0]
        work += np.diff(side.info_match[infos])[:, 0] + np.diff(side.block_info_start)
    work = np.add.reduceat(work, arrays.batch_start[:-1])
    if threads == 1 or work.sum() <= THREADED_WORK:
        return [np.arange(len(work))]
    shares: list[list[int]] = [[] for _ in range(threads)]
    loads = np.zeros(threads)
    for batch in np.argsort(-work, kind="stable"):
        least = int(loads.argmin())
        shares[least].append(int(batch))
        loads[least] += work[batch]
    return [np.sort(np.array(share, np.int64)) for share in shares]


def read_off(tree: PublicTree, average: Problem, sides: tuple[int, ...]) -> dict[str, NDArray]:
    """Return the fields of a solution that hold the strategy of ``sides``, slot by slot."""
    observations, slots = infostate_observations(tree)
    split = tree.num_side_infostates[0]
    parts = {0: slice(0, split), 1: slice(split, None)}
    match, reach, pay, ways = [], [], [], []
    for player in sides:
        found = side_decisions(tree, player)
        state = average.states[player]
        is_open = found.row >= 0
        matches = found.match.copy()
        matches[is_open] = state.match[found.row[is_open]]
        match.append(matches)
        reach.append(average_reach(average, tree, player, found))
        ways.append(np.diff(found.pay_start))
        shares = found.pay.copy()
        shares[found.pay_row >= 0] = state.pay
        pay.append(shares)
    chosen = np.concatenate([slots[parts[player]] for player in sides])
    order = np.argsort(chosen, kind="stable")
    counts = np.concatenate(ways)
    starts = np.concatenate([[0], np.cumsum(counts)])
    moved = np.concatenate([[0], np.cumsum(counts[order])])
    from_ways = np.arange(moved[-1]) + np.repeat(starts[order] - moved[:-1], counts[order])
    root = np.empty(tree.num_setups)
    root[tree.root_setup] = average.setups[sides[0]].prob
    has_payments = tree.pulls != ("latest", "latest")
    return {
        "setup_probs": root,
        "observations": np.concatenate([observations[parts[p]] for p in sides])[order],
        "slots": chosen[order],
        "match": np.concatenate(match)[order],
        "reach": np.concatenate(reach)[order],
        "pay_start": moved if has_payments else np.zeros(1, np.int64),
        "pay": np.concatenate(pay)[from_ways] if has_payments else np.zeros(0),
    }
