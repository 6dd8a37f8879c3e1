"""What each part of the sampled solver's recipe costs, measured without sampling.

::

    python tests/benchmarks/diagnosis.py                       # into results/diagnosis
    python tests/benchmarks/diagnosis.py 4x8 --iterations 300 --out /tmp/diagnosis

CFR+ on the whole tree of a small game, in which infostates with one key share their regrets: those
of each infostate count by its own reach, plus ``explore`` as if a share of the setups were drawn
uniformly.  So a table says what a key costs in the end, however many samples are drawn.

Keys (``KEYS``)
    ``infostate`` loses nothing.  ``coarse`` and ``fine`` are those of :mod:`solver.abstraction`.
    ``present`` keeps the own tile and the set of tiles left, all stacks and totals of chips, what
    was shown and the hidden colours; ``arranged`` keeps the own later slots as well.
Setups
    ``listed``: a regret for each setup.  ``memoryless``: a regret for each entry of
    :mod:`solver.memoryless`; a row's values are weighted by the average strategy's reach and a
    tenth uniform, and divided by the weight.
Averages
    Of the decisions: by own reach over infostates (a mixture of the strategies of all iterations),
    by own reach over keys, or over time alone.

Exploitability is that of the average strategy, lifted to all infostates of the full game.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from making import write_manifest
from numba import njit
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from solver import Game
from solver.abstraction import decision_full_key, fine_key_of, key_of_full
from solver.cfr.iterate import new_buffers, run_batches, sum_roots
from solver.cfr.passes import Rule
from solver.cfr.solver import new_problem, response_values
from solver.infostate import HIDDEN, infostate_key
from solver.memoryless import rank_of, row_offsets
from solver.rules import new_board, settle
from solver.setups import list_setups
from solver.tree.build import PublicTree, build_tree
from solver.tree.view import infostate_observations, side_decisions

GAMES = ["4x8", "4x10", "5x7"]
KEYS = ("infostate", "coarse", "fine", "present", "arranged")
SETUPS = ("listed", "memoryless")
COLUMNS = (
    "game", "key", "num_keys", "setups", "explore", "iterations",
    "by_infostate", "by_key", "by_time", "seconds",
)  # fmt: skip


@njit(cache=True)
def lay_board(board, seen, slot, num_chips):
    """Put player 0's observation on a board; the opponent's later chips all on the last tile."""
    n = seen.shape[0]
    board.winnings[:] = 0
    for s in range(n):
        for player in range(2):
            tile = seen[s, 2 * player]
            board.tiles[player, s] = tile if tile >= 0 else (HIDDEN - tile) % 2
            board.chips[player, s] = seen[s, 2 * player + 1]
        board.shown[s] = 0
    for s in range(slot):
        lower = 0 if board.chips[0, s] < board.chips[1, s] else 1
        if seen[s, 2] < 0:
            settle(board, s, lower)
            continue
        gap = abs(board.chips[0, s] - board.chips[1, s])
        board.winnings[lower] -= min(gap, board.winnings[lower])
        settle(board, s, -1)
    total = 2 * num_chips - board.winnings[0] - board.winnings[1]
    for s in range(slot, n):
        total -= board.chips[0, s]
    board.chips[1, n - 1] += total - board.chips[1, slot]


@njit(cache=True)
def blank(seen, slot, is_arranged):
    """Reduce an observation to the present, in place; own later slots in order of their tiles."""
    n = seen.shape[0]
    num_hidden = np.zeros(4, np.int64)
    for s in range(slot):
        if seen[s, 2] < 0:
            num_hidden[HIDDEN - seen[s, 0]] += 1
            num_hidden[2 + HIDDEN - seen[s, 2]] += 1
        seen[s, 1] = 0
        seen[s, 3] = 0
    for column in (0, 2):
        seen[:slot, column] = np.sort(seen[:slot, column])
    if not is_arranged:
        seen[slot + 1 :, 0] = np.sort(seen[slot + 1 :, 0])
        for s in range(slot + 1, n):
            seen[s, 1] = 0


@njit(cache=True)
def keys_of(observations, slots, num_chips, kind):
    """Return the key of each observation; ``kind`` is a place in ``KEYS``."""
    n = observations.shape[1]
    keys = np.empty(observations.shape[0], np.uint64)
    board = new_board(n)
    for row in range(observations.shape[0]):
        seen = observations[row].astype(np.int64)
        slot = slots[row]
        if kind == 0:
            keys[row] = infostate_key(seen)
            continue
        lay_board(board, seen, slot, num_chips)
        if kind <= 2:
            full = decision_full_key(board, slot, 0, num_chips)
            keys[row] = key_of_full(full) if kind == 1 else fine_key_of(full)
            continue
        blank(seen, slot, kind == 4)
        later = board.chips[0, slot + 1 :].sum()
        totals = (board.winnings[0] * 64 + board.winnings[1]) * 64 + later
        keys[row] = infostate_key(seen) ^ (np.uint64(totals) * np.uint64(0x9E3779B97F4A7C15))
    return keys


class Rows:
    """Memoryless rows learned from the values of all setups.

    ``entry`` (int64, shape (setups, N - 1)) is where each slot of a setup stands in the model.
    """

    def __init__(self, game: Game, order: NDArray[np.int64]) -> None:
        tiles, chips = list_setups(game)
        n, c = game.num_tiles, game.num_chips
        offsets, size = row_offsets(n, c)
        self.entry = np.zeros((len(tiles), n - 1), np.int64)
        for i, setup in enumerate(order):
            mask, left = (1 << n) - 1, c
            for s in range(n - 1):
                tile, stack = int(tiles[setup, s]), int(chips[setup, s])
                width = left - (n - s) + 1
                self.entry[i, s] = offsets[mask, left] + rank_of(mask, tile) * width + stack - 1
                mask, left = mask ^ (1 << tile), left - stack
        self.starts = np.sort(offsets[offsets >= 0])
        self.lengths = np.diff(np.append(self.starts, size))
        self.uniform = np.repeat(1.0 / self.lengths, self.lengths)
        self.model = self.uniform.copy()
        self.regret, self.total = np.zeros(size), np.zeros(size)

    def by_row(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over each entry's row, for each entry."""
        return np.repeat(np.add.reduceat(values, self.starts), self.lengths)

    def before(self, model: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of coming to each slot of each setup."""
        probs = np.cumprod(model[self.entry], axis=1)
        return np.concatenate([np.ones((len(probs), 1)), probs[:, :-1]], axis=1)

    def probs(self) -> NDArray[np.float64]:
        return self.model[self.entry].prod(axis=1)

    def update(self, value: NDArray[np.float64], weight: float) -> None:
        """Add the current rows to the average, and match new regrets; ``value`` by setup."""
        size = len(self.model)
        after = np.cumprod(self.model[self.entry][:, ::-1], axis=1)[:, ::-1]  # this slot and on
        arrive = self.before(self.model)
        self.total += weight * np.bincount(self.entry.ravel(), (arrive * after).ravel(), size)
        summed = self.by_row(self.total)
        average = np.divide(self.total, summed, out=self.model.copy(), where=summed > 0)
        reach = 0.9 * self.before(average) + 0.1 * self.before(self.uniform)
        follow = np.concatenate([after[:, 1:], np.ones((len(after), 1))], axis=1) * reach
        gains = np.bincount(self.entry.ravel(), (follow * value[:, None]).ravel(), size)
        weights = np.bincount(self.entry.ravel(), follow.ravel(), size)
        gains = np.divide(gains, weights, out=np.zeros(size), where=weights > 0)
        new = gains - self.by_row(gains * self.model)
        self.regret = np.maximum(self.regret + new, 0.0)
        expected = np.maximum(self.regret + new, 0.0)
        summed = self.by_row(expected)
        self.model = np.divide(expected, summed, out=self.uniform.copy(), where=summed > 1e-14)


class KeyedSolve:
    """CFR+ with linear averaging, infostates sharing regrets by key."""

    def __init__(self, tree: PublicTree, key: str, setups: str, explore: float) -> None:
        self.problem = new_problem(tree)
        self.buffers = new_buffers(tree.arrays)
        self.batches = np.arange(len(tree.arrays.batch_start) - 1)
        observations, slots = infostate_observations(tree)
        keys = keys_of(observations, slots, tree.game.num_chips, KEYS.index(key))
        found, numbers = np.unique(keys, return_inverse=True)
        self.num_keys = len(found)
        split = tree.num_side_infostates[0]
        self.number = []
        for player, part in enumerate((slice(0, split), slice(split, None))):
            row = side_decisions(tree, player).row
            of_open = np.zeros(tree.num_open_infostates[player], np.int64)
            of_open[row[row >= 0]] = numbers[part][row >= 0]
            self.number.append(of_open)
        self.explore = explore / tree.num_setups
        self.regret = np.zeros((2, self.num_keys))
        self.match = np.full(self.num_keys, 0.5)
        self.by_time, self.weights, self.iterations = np.zeros(self.num_keys), 0.0, 0
        self.setup_regret = np.zeros(tree.num_setups)
        self.rows = Rows(tree.game, tree.root_setup) if setups == "memoryless" else None
        if self.rows:
            self.problem.setups[0].prob[:] = self.rows.probs()

    def iterate(self) -> None:
        self.iterations += 1
        weight = float(self.iterations)
        self.by_time += weight * self.match
        self.weights += weight
        states = self.problem.states
        before = [state.sum_fold + state.sum_match for state in states]
        for state in states:
            state.regret_fold[:] = 0.0
            state.regret_match[:] = 0.0
        for side in range(2):  # a pass leaves its own idea of the strategy behind
            for state, number in zip(states, self.number, strict=True):
                state.match[:] = self.match[number]
            rule = Rule(False, 1.0, 1.0, 0.0, weight)
            run_batches(self.problem, self.batches, side, side + 1, rule, self.buffers)
        for state, number, past in zip(states, self.number, before, strict=True):
            state.match[:] = self.match[number]
            reach = (state.sum_fold + state.sum_match - past) / weight + self.explore
            for action, new in enumerate((state.regret_fold, state.regret_match)):
                self.regret[action] += np.bincount(number, reach * new, self.num_keys)
        np.maximum(self.regret, 0.0, out=self.regret)
        both = self.regret.sum(axis=0)
        half = np.full(self.num_keys, 0.5)
        self.match = np.divide(self.regret[1], both, out=half, where=both > 0)
        self._update_setups(weight)

    def _update_setups(self, weight: float) -> None:
        setups = self.problem.setups[0]
        setups.total[:] += weight * setups.prob
        for player in range(2):
            sum_roots(self.problem, player)
        value = self.problem.value[0] + self.problem.value[1]
        value -= setups.prob @ value
        if self.rows:
            self.rows.update(value, weight)
            setups.prob[:] = self.rows.probs()
            return
        self.setup_regret = np.maximum(self.setup_regret + value, 0.0)
        expected = np.maximum(self.setup_regret + value, 0.0)
        total = expected.sum()
        setups.prob[:] = expected / total if total > 1e-12 else 1.0 / len(value)

    def exploitability(self, average: str) -> float:
        """Return that of the average strategy; ``average`` is infostate, key or time."""
        states = self.problem.states
        sums = np.zeros((2, self.num_keys))
        for state, number in zip(states, self.number, strict=True):
            sums[0] += np.bincount(number, state.sum_match, self.num_keys)
            sums[1] += np.bincount(number, state.sum_fold + state.sum_match, self.num_keys)
        by_key = np.divide(sums[0], sums[1], out=self.match.copy(), where=sums[1] > 0)
        judged = []
        for state, number in zip(states, self.number, strict=True):
            match = (by_key if average == "key" else self.by_time / self.weights)[number]
            if average == "infostate":
                both = state.sum_fold + state.sum_match
                match = np.divide(state.sum_match, both, out=state.match.copy(), where=both > 0)
            judged.append(state._replace(match=match))
        setups = self.problem.setups[0]
        setups = setups._replace(prob=setups.total / setups.total.sum())
        problem = self.problem._replace(states=(judged[0], judged[1]), setups=(setups, setups))
        return response_values(problem)[0]


def main(
    games: Annotated[list[str] | None, typer.Argument(help="NxC")] = None,
    iterations: Annotated[int, typer.Option(min=1)] = 200,
    explore: Annotated[float, typer.Option(min=0.0, help="Uniform share of own setups.")] = 0.2,
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("results/diagnosis"),
) -> None:
    """Measure what keys, setup families and averages cost."""
    out.mkdir(parents=True, exist_ok=True)
    table = Table(*COLUMNS)
    with (out / "costs.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for name in games or GAMES:
            tree = build_tree(Game.parse(name), drop_dominated=False, fold_endings=False)
            for setups in SETUPS:
                for key in KEYS:
                    start = time.perf_counter()
                    solve = KeyedSolve(tree, key, setups, explore)
                    for _ in range(iterations):
                        solve.iterate()
                    values = [solve.exploitability(a) for a in ("infostate", "key", "time")]
                    seconds = round(time.perf_counter() - start, 1)
                    row = (name, key, solve.num_keys, setups, explore, iterations)
                    row += (*(round(value, 5) for value in values), seconds)
                    writer.writerow(dict(zip(COLUMNS, row, strict=True)))
                    file.flush()
                    table.add_row(*map(str, row))
    Console().print(table)
    write_manifest(out)


if __name__ == "__main__":
    typer.run(main)
