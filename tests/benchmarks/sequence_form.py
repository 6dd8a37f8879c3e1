"""The sequence form of an exported game: evaluation and linear programs in sparse matrices.

A *sequence* is what a player chose so far (von Stengel 1996).  Everything here is read from the
``.efg`` file that the other solvers load, node by node, so that it is the game they play, the
unreduced one; nothing comes from the solver's own tree.  Infosets keep the numbers that the file
gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, csr_matrix, hstack

__all__ = ["SequenceForm", "Side", "in_steps", "read_form", "solve_program"]


@dataclass(frozen=True)
class Side:
    """One player's sequences.

    Attributes
    ----------
    start : ndarray of int64, shape (infosets + 1,)
        Sequences of infoset ``k`` are ``start[k]`` to ``start[k + 1] - 1``, in the order of its
        actions; sequence 0 is the empty one.  Infoset ``k`` has number ``k + 1`` in the file.
    parent : ndarray of int64, shape (infosets,)
        Sequence that leads to the infoset.
    levels : list of ndarray of int64
        Infosets by the number of own choices before them, from none upwards.
    """

    start: NDArray[np.int64]
    parent: NDArray[np.int64]
    levels: list[NDArray[np.int64]]

    @property
    def num_sequences(self) -> int:
        """Number of sequences, the empty one included."""
        return int(self.start[-1])

    @property
    def num_actions(self) -> NDArray[np.int64]:
        """Actions of each infoset, int64 of shape (infosets,)."""
        return np.diff(self.start)

    @property
    def infoset_of(self) -> NDArray[np.int64]:
        """Infoset of each sequence but the empty one, int64 of shape (sequences - 1,)."""
        return np.repeat(np.arange(len(self.parent)), self.num_actions)

    def plan(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the realization plan of a behaviour strategy.

        Parameters
        ----------
        weights : ndarray of float64, shape (sequences,)
            Probability of each sequence's last action, up to a factor for each infoset; where all
            are 0 or not a number, the infoset is played uniformly.
        """
        infoset_of = self.infoset_of
        weights = np.nan_to_num(weights[1:])
        total = np.bincount(infoset_of, weights, len(self.parent))[infoset_of]
        uniform = 1.0 / self.num_actions[infoset_of]
        probs = np.divide(weights, total, out=uniform, where=total > 0)
        result = np.empty(self.num_sequences)
        result[0] = 1.0
        for infosets in self.levels:
            at = sequences_of(self, infosets)
            result[at] = probs[at - 1] * result[self.parent[infoset_of[at - 1]]]
        return result

    def best_value(self, gains: NDArray[np.float64]) -> float:
        """Return the most that ``gains``, float64 of shape (sequences,), can add up to."""
        infoset_of = self.infoset_of
        value = gains.copy()
        best = np.full(len(self.parent), -np.inf)
        for infosets in reversed(self.levels):
            at = sequences_of(self, infosets)
            np.maximum.at(best, infoset_of[at - 1], value[at])
            np.add.at(value, self.parent[infosets], best[infosets])
        return float(value[0])

    def constraints(self) -> tuple[csr_matrix, NDArray[np.float64]]:
        """Return ``E, e`` of ``E x = e``: what follows a sequence sums to it, the empty is 1."""
        num = len(self.parent)
        rows = np.concatenate([[0], np.arange(1, num + 1), self.infoset_of + 1])
        columns = np.concatenate([[0], self.parent, np.arange(1, self.num_sequences)])
        values = np.concatenate([[1.0], np.full(num, -1.0), np.ones(self.num_sequences - 1)])
        right = np.zeros(num + 1)
        right[0] = 1.0
        return coo_matrix((values, (rows, columns)), (num + 1, self.num_sequences)).tocsr(), right


@dataclass(frozen=True)
class SequenceForm:
    """A game of two players, zero-sum, without chance.

    Attributes
    ----------
    sides : pair of Side
    payoffs : csr_matrix, shape (sequences of player 0, sequences of player 1)
        Player 0's.
    num_nodes, num_ends : int
        Nodes of the file, and those of them where the game ends.
    """

    sides: tuple[Side, Side]
    payoffs: csr_matrix
    num_nodes: int
    num_ends: int

    def exploitability(self, weights0: NDArray[np.float64], weights1: NDArray[np.float64]) -> float:
        """Return NashConv / 2 of two behaviour strategies, given as :meth:`Side.plan` takes them.

        Examples
        --------
        >>> from solver.efg import efg_lines
        >>> from solver.rules import Game
        >>> form = read_form(efg_lines(Game(2, 3)))
        >>> form.exploitability(*(np.ones(side.num_sequences) for side in form.sides))
        0.5
        """
        plan0, plan1 = self.sides[0].plan(weights0), self.sides[1].plan(weights1)
        first = self.sides[0].best_value(self.payoffs @ plan1)
        second = self.sides[1].best_value(-(self.payoffs.T @ plan0))
        return (first + second) / 2


def sequences_of(side: Side, infosets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sequences of some infosets, int64, infoset by infoset."""
    counts = side.num_actions[infosets]
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(side.start[infosets], counts) + offsets


def num_moves(line: str) -> int:
    """Return the number of moves at a node of the file; the end of a game has none."""
    return (line.count('"') - 4) // 2 if line[0] == "p" else 0


def read_form(lines: Iterable[str]) -> SequenceForm:
    """Read the sequence form from the lines of a file of :func:`solver.efg.efg_lines`.

    Raises
    ------
    ValueError
        If the file has a node other than a player's or an end.
    """
    source = iter(lines)
    next(source)  # the title
    # by player: infoset number -> (parent infoset, action that leads on, number of actions)
    infosets: tuple[dict, dict] = ({}, {})
    ends: list[tuple[int, int, int, int, float]] = []
    num_nodes = 0
    # nodes still to be read: the last infoset and action of both players, last node on top
    stack = [(0, 0, 0, 0)]
    for line in source:
        num_nodes += 1
        set0, act0, set1, act1 = stack.pop()
        if line[0] == "t":
            ends.append((set0, act0, set1, act1, float(line[line.rindex("{") + 1 :].split()[0])))
            continue
        if line[0] != "p":
            raise ValueError(f"node {line[:20]!r}: only p and t are read")
        _, _, player, number, _ = line.split(maxsplit=4)
        infoset = int(number)
        moves = num_moves(line)
        if player == "1":
            infosets[0].setdefault(infoset, (set0, act0, moves))
            stack += [(infoset, act, set1, act1) for act in range(moves - 1, -1, -1)]
        else:
            infosets[1].setdefault(infoset, (set1, act1, moves))
            stack += [(set0, act0, infoset, act) for act in range(moves - 1, -1, -1)]
    sides = (make_side(infosets[0]), make_side(infosets[1]))
    at = np.array([end[:4] for end in ends], np.int64).T
    rows, columns = (
        np.where(at[2 * p] > 0, side.start[at[2 * p] - 1] + at[2 * p + 1], 0)
        for p, side in enumerate(sides)
    )
    values = np.array([end[4] for end in ends])
    shape = (sides[0].num_sequences, sides[1].num_sequences)
    payoffs = coo_matrix((values, (rows, columns)), shape).tocsr()  # duplicates are summed
    payoffs.eliminate_zeros()
    return SequenceForm(sides, payoffs, num_nodes, len(ends))


def make_side(infosets: dict[int, tuple[int, int, int]]) -> Side:
    """Return a side from its infosets, each with the infoset and action before it and its moves.

    Infoset number 0 stands for the start of the game.
    """
    table = np.array([infosets[number] for number in range(1, len(infosets) + 1)], np.int64)
    start = np.concatenate([[1], 1 + np.cumsum(table[:, 2])])
    before = table[:, 0] - 1
    parent = np.where(before >= 0, start[before] + table[:, 1], 0)
    levels = [np.flatnonzero(before < 0)]
    while len(levels[-1]):
        levels.append(np.flatnonzero(np.isin(before, levels[-1])))
    return Side(start, parent, levels[:-1])


def in_steps(lines: Iterable[str], branching: int) -> Iterator[str]:
    """Yield the file of the same game with each setup chosen in steps of ``branching`` moves.

    A player sees nothing between the steps, so that strategies, values and exploitability stay
    what they are.  All moves share the labels ``0, 1, ...``, which gives the game ``branching``
    distinct actions in place of one a setup: solvers that keep an entry for every history and
    every distinct action need it.
    """
    source = list(lines)
    num_setups = num_moves(source[1])
    subtrees = []  # first and last line of what follows each pair of setups
    at = 2
    for _ in range(num_setups):
        at += 1  # the second player's setup
        for _ in range(num_setups):
            first, missing = at, 1
            while missing:
                missing += num_moves(source[at]) - 1
                at += 1
            subtrees.append((first, at))
    fold_match = '{ "fold" "match" }'
    used = [0, 0]
    for line in source[2:]:
        if line[0] == "p":
            _, _, player, number, _ = line.split(maxsplit=4)
            used[int(player) - 1] = max(used[int(player) - 1], int(number))
    numbers: tuple[dict, dict] = ({(0, num_setups): 1}, {(0, num_setups): 1})

    def choose(player: int, low: int, high: int, chosen: int) -> Iterator[str]:
        if high - low == 1:
            if player == 0:
                yield from choose(1, 0, num_setups, low)
                return
            first, last = subtrees[chosen * num_setups + low]
            for line in source[first:last]:
                yield line.replace(fold_match, '{ "0" "1" }')
            return
        if (low, high) not in numbers[player]:
            used[player] += 1
            numbers[player][low, high] = used[player]
        cuts = sorted({low + (high - low) * part // branching for part in range(branching + 1)})
        labels = " ".join(f'"{move}"' for move in range(len(cuts) - 1))
        yield f'p "" {player + 1} {numbers[player][low, high]} "" {{ {labels} }} 0'
        for lower, upper in pairwise(cuts):
            yield from choose(player, lower, upper, chosen)

    yield source[0]
    yield from choose(0, 0, num_setups, 0)


def solve_program(
    form: SequenceForm, *, method: str = "highs", time_limit: float | None = None
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]] | None:
    """Solve a game by linear programming; None if the time limit came first.

    Player 0 maximizes ``f' q`` subject to ``F' q <= A' x``, ``E x = e``, ``x >= 0``; player 1's
    plan is the dual solution.

    Returns
    -------
    value : float
        Of the game, to player 0.
    plan0, plan1 : ndarray of float64, shape (sequences of the player,)
        Realization plans; they serve as weights too.

    Raises
    ------
    RuntimeError
        If the program was not solved for another reason.

    Examples
    --------
    >>> from solver.efg import efg_lines
    >>> from solver.rules import Game
    >>> form = read_form(efg_lines(Game(2, 3)))
    >>> value, *plans = solve_program(form)
    >>> abs(value) < 1e-9 and form.exploitability(*plans) < 1e-9
    True
    """
    own, own_right = form.sides[0].constraints()
    other, other_right = form.sides[1].constraints()
    num_x, num_q = own.shape[1], other.shape[0]
    options = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    found = linprog(
        np.concatenate([np.zeros(num_x), -other_right]),
        A_ub=hstack([-form.payoffs.T, other.T]).tocsr(),
        b_ub=np.zeros(other.shape[1]),
        A_eq=hstack([own, csr_matrix((own.shape[0], num_q))]).tocsr(),
        b_eq=own_right,
        bounds=np.array([(0, np.inf)] * num_x + [(-np.inf, np.inf)] * num_q),
        method=method,
        options=options if time_limit is None else options | {"time_limit": time_limit},
    )
    if found.status == 1:  # a limit was reached
        return None
    if not found.success:
        raise RuntimeError(f"linear program: {found.message}")
    plan1 = np.clip(-found.ineqlin.marginals, 0.0, None)
    return float(-found.fun), np.clip(found.x[:num_x], 0.0, None), plan1
