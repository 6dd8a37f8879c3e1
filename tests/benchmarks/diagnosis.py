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
    was shown and the hidden colours; ``arranged`` keeps the own later slots as well.  ``owned`` is
    the coarse key and the own slots from the one being decided on.
Rivals (``RIVALS``)
    What learns beside the strategy.  Without one, the strategy plays itself, so that its opponents
    share regrets as it does.  A rival has keys of its own and a regret for each setup: the strategy
    learns against opponents who can tell more apart (compare CFR-BR: Johanson and others 2012).
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
from solver.cfr.iterate import Setups, new_buffers, run_batches, sum_roots
from solver.cfr.passes import Rule, State
from solver.cfr.solver import new_problem, response_values
from solver.infostate import HIDDEN, infostate_key
from solver.memoryless import rank_of, row_offsets
from solver.rules import new_board, settle
from solver.setups import list_setups
from solver.tree.build import PublicTree, build_tree
from solver.tree.view import infostate_observations, side_decisions

GAMES = ["4x8", "4x10", "5x7"]
KEYS = ("infostate", "coarse", "fine", "present", "arranged", "owned")
RIVALS = (("coarse", "fine"), ("coarse", "owned"), ("coarse", "infostate"), ("fine", "owned"))
"""Keys of a strategy and of its rival."""
SETUPS = ("listed", "memoryless")
COLUMNS = (
    "game", "key", "num_keys", "rival", "setups", "explore", "iterations",
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
        if kind <= 2 or kind == 5:
            full = decision_full_key(board, slot, 0, num_chips)
            keys[row] = fine_key_of(full) if kind == 2 else key_of_full(full)
            if kind == 5:
                seen[:slot] = 0
                seen[:, 2:] = 0
                keys[row] = infostate_key(seen) ^ (keys[row] * np.uint64(0x9E3779B97F4A7C15))
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


class Learner:
    """What is learned for one strategy, which has one seat of a game, or both.

    ``number`` holds the key's place of each open infostate, for each of its seats.
    """

    def __init__(
        self, tree: PublicTree, seats: tuple[int, ...], key: str, setups: str, explore: float
    ) -> None:
        self.seats = seats
        observations, slots = infostate_observations(tree)
        split = tree.num_side_infostates[0]
        parts = [(slice(0, split), slice(split, None))[seat] for seat in seats]
        keys = [
            keys_of(observations[part], slots[part], tree.game.num_chips, KEYS.index(key))
            for part in parts
        ]
        found, numbers = np.unique(np.concatenate(keys), return_inverse=True)
        self.num_keys = len(found)
        self.number = {}
        for seat, mine in zip(seats, np.split(numbers, [len(keys[0])]), strict=False):
            row = side_decisions(tree, seat).row
            of_open = np.zeros(tree.num_open_infostates[seat], np.int64)
            of_open[row[row >= 0]] = mine[row >= 0]
            self.number[seat] = of_open
        self.explore = explore / tree.num_setups
        self.regret = np.zeros((2, self.num_keys))
        self.match = np.full(self.num_keys, 0.5)
        self.by_time = np.zeros(self.num_keys)
        self.setup_regret = np.zeros(tree.num_setups)
        self.rows = Rows(tree.game, tree.root_setup) if setups == "memoryless" else None
        uniform = np.full(tree.num_setups, 1.0 / tree.num_setups)
        prob = self.rows.probs() if self.rows else uniform
        self.setups = Setups(np.zeros(tree.num_setups), prob, np.zeros(tree.num_setups))

    def match_regrets(self, states: tuple[State, State], reach: dict[int, NDArray]) -> None:
        """Add what an iteration's regrets count for; ``reach`` is that of each own infostate."""
        for seat, number in self.number.items():
            state, weight = states[seat], reach[seat] + self.explore
            for action, new in enumerate((state.regret_fold, state.regret_match)):
                self.regret[action] += np.bincount(number, weight * new, self.num_keys)
        np.maximum(self.regret, 0.0, out=self.regret)
        both = self.regret.sum(axis=0)
        half = np.full(self.num_keys, 0.5)
        self.match = np.divide(self.regret[1], both, out=half, where=both > 0)

    def update_setups(self, value: NDArray[np.float64], weight: float) -> None:
        """Match the regrets of setups; ``value`` by setup, summed over the seats."""
        setups = self.setups
        setups.total[:] += weight * setups.prob
        value = value - setups.prob @ value
        if self.rows:
            self.rows.update(value, weight)
            setups.prob[:] = self.rows.probs()
            return
        self.setup_regret = np.maximum(self.setup_regret + value, 0.0)
        expected = np.maximum(self.setup_regret + value, 0.0)
        total = expected.sum()
        setups.prob[:] = expected / total if total > 1e-12 else 1.0 / len(value)

    def average_by_key(self, states: tuple[State, State]) -> NDArray[np.float64]:
        """Return the average probability of matching by key, over own reach."""
        sums = np.zeros((2, self.num_keys))
        for seat, number in self.number.items():
            state = states[seat]
            sums[0] += np.bincount(number, state.sum_match, self.num_keys)
            sums[1] += np.bincount(number, state.sum_fold + state.sum_match, self.num_keys)
        return np.divide(sums[0], sums[1], out=self.match.copy(), where=sums[1] > 0)


class KeyedSolve:
    """CFR+ with linear averaging, infostates sharing regrets by key.

    A strategy has both seats, or the first against a ``rival`` with other keys; then the tree is
    one of two strategies.
    """

    def __init__(
        self, tree: PublicTree, key: str, setups: str, explore: float, rival: str = ""
    ) -> None:
        seats = (0,) if rival else (0, 1)
        self.mine = Learner(tree, seats, key, setups, explore)
        self.learners = [self.mine]
        if rival:
            self.learners.append(Learner(tree, (1,), rival, "listed", explore))
        self.problem = new_problem(tree)._replace(
            setups=(self.mine.setups, self.learners[-1].setups)
        )
        self.buffers = new_buffers(tree.arrays)
        self.batches = np.arange(len(tree.arrays.batch_start) - 1)
        self.weights, self.iterations = 0.0, 0

    def lay(self) -> None:
        """Put the current answers where the passes look for them, in place."""
        for learner in self.learners:
            for seat, number in learner.number.items():
                self.problem.states[seat].match[:] = learner.match[number]

    def iterate(self) -> None:
        self.iterations += 1
        weight = float(self.iterations)
        self.weights += weight
        for learner in self.learners:
            learner.by_time += weight * learner.match
        states = self.problem.states
        before = [state.sum_fold + state.sum_match for state in states]
        for state in states:
            state.regret_fold[:] = 0.0
            state.regret_match[:] = 0.0
        for side in range(2):  # a pass leaves its own idea of the strategy behind
            self.lay()
            rule = Rule(False, 1.0, 1.0, 0.0, weight)
            run_batches(self.problem, self.batches, side, side + 1, rule, self.buffers)
            sum_roots(self.problem, side)
        reach = {
            seat: (state.sum_fold + state.sum_match - before[seat]) / weight
            for seat, state in enumerate(states)
        }
        for learner in self.learners:
            learner.match_regrets(states, reach)
            value = np.sum([self.problem.value[seat] for seat in learner.seats], axis=0)
            learner.update_setups(value, weight)
        self.lay()

    def exploitability(self, average: str) -> float:
        """Return that of the average strategy; ``average`` is infostate, key or time."""
        mine, states = self.mine, list(self.problem.states)
        by_key = mine.average_by_key(self.problem.states)
        for seat, number in mine.number.items():
            state = states[seat]
            match = (by_key if average == "key" else mine.by_time / self.weights)[number]
            if average == "infostate":
                both = state.sum_fold + state.sum_match
                match = np.divide(state.sum_match, both, out=state.match.copy(), where=both > 0)
            states[seat] = state._replace(match=match)
        played = mine.setups._replace(prob=mine.setups.total / mine.setups.total.sum())
        theirs = played if 1 in mine.seats else self.problem.setups[1]
        problem = self.problem._replace(states=(states[0], states[1]), setups=(played, theirs))
        return response_values(problem)[1]


def main(
    games: Annotated[list[str] | None, typer.Argument(help="NxC")] = None,
    iterations: Annotated[int, typer.Option(min=1)] = 200,
    explore: Annotated[float, typer.Option(min=0.0, help="Uniform share of own setups.")] = 0.2,
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("results/diagnosis"),
) -> None:
    """Measure what keys, setup families, rivals and averages cost."""
    out.mkdir(parents=True, exist_ok=True)
    table = Table(*COLUMNS)
    with (out / "costs.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for name in games or GAMES:
            game = Game.parse(name)
            one = build_tree(game, drop_dominated=False, fold_endings=False)
            two = build_tree(game, drop_dominated=False, fold_endings=False, one_strategy=False)
            cases = [(key, "", setups) for setups in SETUPS for key in KEYS]
            cases += [(*keys, setups) for setups in SETUPS for keys in RIVALS]
            for key, rival, setups in cases:
                start = time.perf_counter()
                solve = KeyedSolve(two if rival else one, key, setups, explore, rival)
                for _ in range(iterations):
                    solve.iterate()
                values = [solve.exploitability(a) for a in ("infostate", "key", "time")]
                seconds = round(time.perf_counter() - start, 1)
                row = (name, key, solve.mine.num_keys, rival, setups, explore, iterations)
                row += (*(round(value, 5) for value in values), seconds)
                writer.writerow(dict(zip(COLUMNS, row, strict=True)))
                file.flush()
                table.add_row(*map(str, row))
    Console().print(table)
    write_manifest(out)


if __name__ == "__main__":
    typer.run(main)
