"""OpenSpiel's own exploitability of tables that we solved, on the registered game."""

import pyspiel
import pytest

import spiel_game  # noqa: F401  (registers the game)
from solver.cfr import solve_exact, strategy_of
from solver.judge import exploitability
from solver.mccfr import solve_sampled
from solver.rules import Game
from solver.strategy import Strategy
from solver.table import exact_table, load_table, save_table
from spiel_game.table_policy import StrategyPolicy


def judged_by_openspiel(strategy: Strategy, game: Game) -> float:
    registered = pyspiel.load_game(
        "python_betting_black_white",
        {
            "num_tiles": game.num_tiles,
            "num_chips": game.num_chips,
            "pulls": game.pulls,
            "objective": game.objective,
        },
    )
    policy = StrategyPolicy(registered, strategy).tabular()
    return pyspiel.exploitability(pyspiel.convert_to_cached_tree(registered), policy)


def test_exact_table_of_3x6_is_judged_alike_after_a_round_trip(tmp_path):
    game = Game(3, 6)
    found = solve_exact(game, target=1e-5)
    table = exact_table(
        game,
        setup_probs=found.setup_probs,
        observations=found.observations,
        slots=found.slots,
        match=found.match,
        reach=found.reach,
        algorithm=found.algorithm,
        iterations=found.iterations,
        seconds=found.seconds,
        exploitability=found.exploitability,
        command="a test",
    )
    save_table(table, tmp_path / "t")
    strategy = load_table(tmp_path / "t").strategy
    ours = exploitability(strategy, game)
    assert 0 <= ours <= 1e-5
    assert judged_by_openspiel(strategy, game) == pytest.approx(ours, abs=1e-9)


@pytest.mark.parametrize("game", [Game(2, 5), Game(3, 5, objective="chips")])
def test_rough_tables_are_judged_alike(game):
    found = solve_exact(game, iterations=5)
    strategy = strategy_of(found)
    assert judged_by_openspiel(strategy, game) == pytest.approx(
        exploitability(strategy, game), abs=1e-9
    )


def test_abstracted_table_lifted_into_the_game_is_judged_alike():
    game = Game(3, 5)
    strategy = solve_sampled(game, iterations=2000, seed=1, threads=1).strategy()
    ours = exploitability(strategy, game)
    assert ours > 0.01
    # The model's probabilities are 32-bit: their sums, and so both judges, are right to 1e-6.
    assert judged_by_openspiel(strategy, game) == pytest.approx(ours, abs=1e-6)
