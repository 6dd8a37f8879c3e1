"""The plain reference against worked examples, and the kernels against the plain reference."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from bridge import all_infostates, key_of

from solver.cfr import ExactSolver
from solver.rules import Game
from solver.setups import list_setups
from solver.strategy import observation_keys
from solver.tree.view import infostate_observations, side_decisions

GAMES = [("2x3", "win"), ("2x5", "chips"), ("3x5", "win")]


def test_number_of_setups_is_known():
    assert [len(naive.setups(n, c)) for n, c in [(2, 3), (2, 5), (3, 5), (3, 6)]] == [4, 8, 36, 60]


def test_best_response_to_uniform_setups_and_a_coin_is_known():
    setups = naive.setups(2, 3)
    uniform = naive.Strategy(dict.fromkeys(setups, 1 / 4), lambda info: 0.5)
    for player in (0, 1):
        value, values, _ = naive.best_response(uniform, setups, player)
        assert value == pytest.approx(0.5)
        assert [s for s in setups if values[s] > 0.4] == [((1, 0), (2, 1))]


@pytest.mark.slow
def test_best_response_in_3x6_is_three_fifths():
    setups = naive.setups(3, 6)
    uniform = naive.Strategy(dict.fromkeys(setups, 1 / 60), lambda info: 0.5)
    value, values, _ = naive.best_response(uniform, setups, 0)
    assert value == pytest.approx(0.6)
    assert [s for s in setups if values[s] > 0.6 - 1e-9] == [((0, 2, 1), (1, 4, 1))]


def test_expected_value_of_equal_strategies_is_zero():
    setups = naive.setups(2, 5)
    strategy = naive.Strategy(dict.fromkeys(setups, 1 / 8), lambda info: 0.3)
    for objective in ("win", "chips"):
        assert naive.expected_value(strategy, strategy, objective) == pytest.approx(0.0)


def test_cfr_average_gets_hard_to_exploit():
    setups = naive.setups(2, 3)
    tables = naive.Tables(setups)
    for _ in range(300):
        naive.cfr_iteration(tables)
    gains = [naive.best_response(tables.average_strategy(1 - p), setups, p)[0] for p in (0, 1)]
    assert 0 <= sum(gains) / 2 < 0.05


class Pair:
    """A solver and the plain tables at the same point: regrets drawn at random.

    From a random start no two actions are exactly equal, so that rounding cannot tip a strategy
    over, as it can in the first iterations from no regrets at all.
    """

    def __init__(self, game: Game, algorithm: str):
        self.solver = ExactSolver(
            game,
            algorithm=algorithm,
            stop_when_decided=False,
            solve_open_endings=False,
            one_strategy=False,
            drop_dominated=False,
        )
        self.tables = naive.Tables(naive.setups(game.num_tiles, game.num_chips))
        tree = self.solver.tree
        keys = observation_keys(infostate_observations(tree)[0]).tolist()
        split, first = tree.num_side_infostates[0], tree.num_open_infostates[0]
        numbers = [side_decisions(tree, 0).row, first + side_decisions(tree, 1).row]
        self.rows = tuple(
            dict(zip(part, rows.tolist(), strict=True))
            for part, rows in zip((keys[:split], keys[split:]), numbers, strict=True)
        )
        listed = [(tuple(t), tuple(c)) for t, c in zip(*list_lists(game), strict=True)]
        self.setups = [listed[number] for number in self.solver.tree.root_setup]
        self.infos = tuple({info: key_of(info) for info in all_infostates(game, p)} for p in (0, 1))

    def start_at_random(self, rng: np.random.Generator, lowest: float) -> None:
        """Draw all regrets, none below ``lowest``."""
        state = self.solver.state()
        for name in ("regret_fold", "regret_match", "setup_regret"):
            state[name] = np.maximum(rng.normal(0.1, 1.0, state[name].shape), lowest)
        fold, match = (np.maximum(state[f"regret_{a}"], 0.0) for a in ("fold", "match"))
        total = fold + match
        state["match"] = np.where(total > 0, match / np.where(total > 0, total, 1.0), 0.5)
        positive = np.maximum(state["setup_regret"], 0.0)
        state["setup_prob"] = positive / positive.sum(axis=1, keepdims=True)
        self.solver.restore(state)
        for player in (0, 1):
            self.tables.regrets[player, None] = [
                state["setup_regret"][player, self.setups.index(s)] for s in self.tables.setups
            ]
            for info, key in self.infos[player].items():
                row = self.rows[player][key]
                regrets = [state["regret_fold"][row], state["regret_match"][row]]
                self.tables.regrets[player, info] = regrets

    def check(self) -> None:
        """Compare regrets and current strategies of both players, at every infostate."""
        state = self.solver.state()
        for player in (0, 1):
            order = [self.setups.index(s) for s in self.tables.setups]
            plain = self.tables.regrets[player, None], self.tables.current(player, None)
            for name, numbers in zip(("setup_regret", "setup_prob"), plain, strict=True):
                np.testing.assert_allclose(state[name][player, order], numbers, atol=1e-10)
            assert set(self.infos[player].values()) == self.rows[player].keys()
            for info, key in self.infos[player].items():
                row = self.rows[player][key]
                found = [state[name][row] for name in ("regret_fold", "regret_match", "match")]
                fold, match = self.tables.regrets[player, info]
                expected = [fold, match, self.tables.current(player, info)[1]]
                np.testing.assert_allclose(found, expected, atol=1e-10)


def list_lists(game: Game) -> tuple[list, list]:
    tiles, chips = list_setups(game)
    return tiles.tolist(), chips.tolist()


@pytest.mark.parametrize("algorithm", ["cfr", "cfr+"])
@pytest.mark.parametrize(("name", "objective"), GAMES)
def test_kernel_iterations_equal_plain_ones(name, objective, algorithm):
    pair = Pair(Game.parse(name, objective=objective), algorithm)
    lowest = 1e-3 if algorithm == "cfr+" else -np.inf
    pair.start_at_random(np.random.default_rng(6), lowest)
    pair.check()
    for iteration in (1, 2):
        if algorithm == "cfr":
            naive.cfr_iteration(pair.tables, objective, in_turn=True)
        else:
            naive.cfr_plus_iteration(pair.tables, iteration, objective)
        pair.solver.run(1)
        pair.check()
