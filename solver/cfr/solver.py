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

Where a part of one seat's strategy is locked (:mod:`solver.lock`), each side has a strategy of its
own, and what is locked stays: it is not learned, and best responses of that seat keep to it.  The
tree is then built without the reductions that take a side to play safe as it may not (``win`` ends
a decided game, and with it the lock).  Private states still merge: a lock treats all with the same
future alike, so it is as well kept by their sum.

With several threads the batches of first-slot branches are dealt out once, by size, and each thread
goes through its own; the numbers are the same as with one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from solver.cfr.algorithms import check_algorithm, schedule
from solver.cfr.iterate import (
    Groups,
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
from solver.cfr.solution import ExactSolution, LockedSolution
from solver.lock import Lock
from solver.rules import Game, InputError, Pulls
from solver.tree.build import PublicTree, build_tree, check_listable
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

_REMEMBERED = tuple(name for name in State._fields if name != "is_locked")
"""What a checkpoint holds of a side's decisions; what is locked is the lock's to say."""

_BEST = Rule(True, 1.0, 1.0, 0.0, 0.0)


def new_problem(tree: PublicTree) -> Problem:
    """Return a tree before the first iteration: uniform setups, a coin for every decision."""
    arrays = tree.arrays
    states = [_new_state(tree.num_open_infostates[p], _coins(tree, p)) for p in range(2)]
    num = tree.num_setups
    setups = [Setups(np.zeros(num), np.full(num, 1.0 / num), np.zeros(num)) for _ in range(2)]
    if tree.one_strategy:
        setups[1] = setups[0]
    every = _every_setup(num)
    return Problem(
        arrays,
        tree.one_strategy,
        (states[0], states[1]),
        (setups[0], setups[1]),
        (every, every),
        (np.empty(arrays.sides[0].root_at[-1]), np.empty(arrays.sides[1].root_at[-1])),
        (np.empty(num), np.empty(num)),
    )


def _every_setup(num_setups: int) -> Groups:
    """Return the one group where nothing is locked."""
    return Groups(np.arange(num_setups), np.array([0, num_setups]), np.ones(1))


def _new_state(num_infostates: int, pay: NDArray[np.float64]) -> State:
    zeros = [np.zeros(num_infostates) for _ in range(4)]
    match = np.full(num_infostates, 0.5)
    return State(
        zeros[0],
        zeros[1],
        match,
        zeros[2],
        zeros[3],
        np.zeros_like(pay),
        pay,
        np.zeros_like(pay),
        np.zeros(0, np.bool_),
    )


def lock_problem(problem: Problem, tree: PublicTree, lock: Lock) -> Problem:
    """Return a problem before its first iteration with one side locked.

    Raises
    ------
    InputError
        If an entry of the lock fits no setup or decision.
    """
    cell_of = np.argsort(tree.root_setup)
    parts = [(share, np.sort(cell_of[members])) for share, members in lock.groups]
    sizes = [len(members) for _, members in parts]
    groups = Groups(
        np.concatenate([members for _, members in parts]),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.array([share for share, _ in parts]),
    )
    problem.setups[lock.seat].prob[:] = 0.0
    for share, members in parts:
        problem.setups[lock.seat].prob[members] = share / len(members)
    is_locked = np.zeros(0, np.bool_)
    if lock.text.answers:
        observations, slots = infostate_observations(tree)
        split = tree.num_side_infostates[0]
        mine = slice(0, split) if lock.seat == 0 else slice(split, None)
        fixed = lock.match_at(observations[mine], slots[mine])
        held = np.flatnonzero(~np.isnan(fixed))
        rows = side_decisions(tree, lock.seat).row[held]
        is_locked = np.zeros(len(problem.states[lock.seat].match), np.bool_)
        is_locked[rows] = True
        problem.states[lock.seat].match[rows] = fixed[held]
    states, sides = list(problem.states), list(problem.groups)
    states[lock.seat] = states[lock.seat]._replace(is_locked=is_locked)
    sides[lock.seat] = groups
    return problem._replace(states=(states[0], states[1]), groups=(sides[0], sides[1]))


def unlocked(problem: Problem) -> Problem:
    """Return the same problem without its locks."""
    every = _every_setup(len(problem.value[0]))
    states = [state._replace(is_locked=np.zeros(0, np.bool_)) for state in problem.states]
    return problem._replace(states=(states[0], states[1]), groups=(every, every))


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
    """Return the value of the best setups of each side from what the roots are worth."""
    for player in range(2):
        sum_roots(problem, player)
    if problem.one_strategy:
        best = _best_of(problem.groups[0], problem.value[0] + problem.value[1])
        return best, best
    first, second = (_best_of(problem.groups[p], problem.value[p]) for p in range(2))
    return first, second


def _best_of(groups: Groups, values: NDArray[np.float64]) -> float:
    """Return what the best setup of each group earns, in all."""
    best = np.maximum.reduceat(values[groups.member], groups.start[:-1])
    return float(groups.share @ best)


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
    lock : Lock, optional
        What one seat's strategy is told to be; overrides the reductions that it would break.
    threads : int
        1 or more; the numbers do not depend on it.

    Raises
    ------
    InputError
        If the game is too large, the algorithm unknown, or an entry of the lock fits nothing.

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
        lock: Lock | None = None,
        threads: int = 1,
    ) -> None:
        self.algorithm = check_algorithm(algorithm)
        if lock is not None:
            check_listable(game)
            _ = lock.groups  # an entry that fits no setup is refused before the tree is built
            one_strategy = False
            if lock.text.answers:
                solve_open_endings = drop_dominated = False
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
        self.lock = lock
        self._problem = new_problem(self.tree)
        if lock is not None:
            self._problem = lock_problem(self._problem, self.tree, lock)
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
        setups = [
            part._replace(prob=_average_setups(part, groups))
            for part, groups in zip(problem.setups, problem.groups, strict=True)
        ]
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
            for name in _REMEMBERED
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
        for name in _REMEMBERED:
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
        return self._solution_of(
            self.average_problem(),
            sides,
            exploitability,
            seconds,
            converged=target is not None and exploitability <= target,
        )

    def locked_solution(
        self, *, seconds: float = 0.0, target: float | None = None
    ) -> LockedSolution:
        """Return the average strategies of both seats of a game with a lock."""
        assert self.lock is not None
        average = self.average_problem()
        seat = self.lock.seat
        values = self.best_response_values()
        converged = target is not None and sum(values) / 2 <= target
        free = response_values(unlocked(average))
        locked, opponent = (
            self._solution_of(average, (side,), free[1 - side], seconds, converged=converged)
            for side in (seat, 1 - seat)
        )
        return LockedSolution(self.lock, locked, opponent, gap=sum(values))

    def _solution_of(
        self,
        average: Problem,
        sides: tuple[int, ...],
        exploitability: float,
        seconds: float,
        *,
        converged: bool,
    ) -> ExactSolution:
        return ExactSolution(
            game=self.tree.game,
            algorithm=self.algorithm,
            iterations=self.iterations,
            seconds=seconds,
            exploitability=exploitability,
            converged=converged,
            state=self.state(),
            **read_off(self.tree, average, sides),
        )


def _average_setups(setups: Setups, groups: Groups) -> NDArray[np.float64]:
    """Return the average choice of a setup; the current one before the first iteration."""
    prob = setups.prob.copy()
    for group, share in enumerate(groups.share):
        members = groups.member[groups.start[group] : groups.start[group + 1]]
        total = setups.total[members].sum()
        if total > 0:
            prob[members] = share * (setups.total[members] / total)
    return prob


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
