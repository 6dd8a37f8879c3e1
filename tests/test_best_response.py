"""The exact judge against known answers and the plain reference."""

from __future__ import annotations

import os
import subprocess
import sys

import naive
import numpy as np
import pytest
from bridge import naive_strategy
from hypothesis import given, settings
from hypothesis import strategies as st
from random_strategies import DECISIONS, SETUPS, random_strategy

from solver.judge import best_response, evaluate, exploitability, is_feasible
from solver.rules import Game, InputError
from solver.setups import Setup, list_setups
from solver.strategy import EXACT, LISTED, Strategy, make_strategy

KINDS = [(setups, decisions) for setups in SETUPS for decisions in DECISIONS]


def uniform(game: Game, match: float) -> Strategy:
    return make_strategy(game.num_tiles, game.num_chips, game.is_win, match_constant=match)


def only(setup: Setup, game: Game, **decisions: object) -> Strategy:
    """Return a strategy that always places one setup."""
    return make_strategy(
        game.num_tiles,
        game.num_chips,
        game.is_win,
        setup_kind=LISTED,
        setup_tiles=np.array([setup.tiles]),
        setup_chips=np.array([setup.chips]),
        setup_cumulative=np.ones(1),
        **decisions,
    )


@pytest.mark.parametrize(
    ("name", "match", "value", "setup"),
    [
        # worked out by hand in the rules of the game
        ("2x3", 0.5, 0.5, "1:2,0:1"),
        ("3x6", 0.5, 0.6, "0:1,2:4,1:1"),
    ],
)
def test_best_response_to_uniform_setups_is_known(name, match, value, setup):
    game = Game.parse(name)
    found = best_response(uniform(game, match), game)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert str(found.setup) == setup
    assert (found.setup_values > value - 1e-9).sum() == 1


def test_best_response_to_a_folder_is_five_sixths_in_3x6():
    game = Game.parse("3x6")
    assert exploitability(uniform(game, 0.0), game) == pytest.approx(5 / 6, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "histories", "infostates"),
    [("3x6", 16_923, 7_120), ("4x6", 271_569, 98_388)],
)
def test_walk_visits_the_whole_unreduced_game(name, histories, infostates):
    found = best_response(uniform(Game.parse(name), 0.5), Game.parse(name))
    assert found.num_histories == histories
    assert 2 * found.num_infostates == infostates  # of both players


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
@pytest.mark.parametrize(
    ("name", "objective"), [("2x3", "win"), ("2x5", "win"), ("2x5", "chips"), ("3x5", "win")]
)
def test_judge_equals_plain_best_response(name, objective, kinds, seat):
    game = Game.parse(name, objective=objective)
    strategy = random_strategy(game, np.random.default_rng(5), *kinds)
    found = best_response(strategy, game, seat=seat)
    setups = naive.setups(game.num_tiles, game.num_chips)
    value, values, _ = naive.best_response(naive_strategy(strategy, game), setups, seat, objective)
    assert found.value == pytest.approx(value, abs=1e-12)
    tiles, chips = list_setups(game)
    for row, setup in enumerate(zip(tiles.tolist(), chips.tolist(), strict=True)):
        expected = values[tuple(setup[0]), tuple(setup[1])]
        assert found.setup_values[row] == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_judge_equals_plain_best_response_in_3x6(kinds):
    test_judge_equals_plain_best_response("3x6", "win", kinds, 0)


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_seats_agree_when_one_strategy_serves_both(kinds):
    game = Game.parse("3x6")
    strategy = random_strategy(game, np.random.default_rng(11), *kinds)
    first, second = (best_response(strategy, game, seat=seat) for seat in (0, 1))
    np.testing.assert_allclose(first.setup_values, second.setup_values, rtol=0, atol=1e-12)
    assert first.num_infostates == second.num_infostates


@pytest.mark.parametrize("objective", ["win", "chips"])
def test_evaluate_equals_plain_expectation(objective):
    game = Game.parse("2x5", objective=objective)
    rng = np.random.default_rng(3)
    a = random_strategy(game, rng, "listed", "exact")
    b = random_strategy(game, rng, "memoryless", "keyed")
    plain = [naive_strategy(s, game) for s in (a, b)]
    found = evaluate(a, b, game)
    assert found.value == pytest.approx(naive.expected_value(*plain, objective), abs=1e-12)
    assert found.win + found.draw + found.loss == pytest.approx(1.0)
    sign = naive.expected_value(*plain, "win")
    assert found.win - found.loss == pytest.approx(sign, abs=1e-12)
    assert evaluate(b, a, game).value == pytest.approx(-found.value, abs=1e-12)


def test_value_of_a_setup_is_earned_by_the_decisions_that_the_reference_finds():
    """Play the reference's best decisions against the strategy: the judge's value comes out."""
    game = Game.parse("3x5")
    strategy = random_strategy(game, np.random.default_rng(8), "memoryless", "keyed")
    found = best_response(strategy, game)
    theirs = naive_strategy(strategy, game)
    _, _, decisions = naive.best_response(theirs, naive.setups(3, 5), 0)
    best = naive.Strategy({(found.setup.tiles, found.setup.chips): 1.0}, decisions.__getitem__)
    assert naive.expected_value(best, theirs) == pytest.approx(found.value, abs=1e-12)


@given(
    seed=st.integers(0, 2**32 - 1),
    setups=st.sampled_from(list(SETUPS)),
    decisions=st.sampled_from(list(DECISIONS)),
    objective=st.sampled_from(["win", "chips"]),
)
@settings(max_examples=30, deadline=None)
def test_exploitability_bounds_every_reply(seed, setups, decisions, objective):
    game = Game.parse("3x5", objective=objective)
    rng = np.random.default_rng(seed)
    strategy = random_strategy(game, rng, setups, decisions)
    found = best_response(strategy, game)
    assert found.value >= -1e-12
    reply = random_strategy(game, rng, "listed", "exact")
    assert evaluate(reply, strategy, game).value <= found.value + 1e-12
    assert found.value == found.setup_values.max()


def test_evaluate_of_one_setup_stays_below_its_best_response_value():
    game = Game.parse("3x6")
    strategy = uniform(game, 0.5)
    found = best_response(strategy, game)
    for match in (0.0, 0.5, 1.0):
        held = evaluate(only(found.setup, game, match_constant=match), strategy, game)
        assert held.value <= found.value + 1e-12


def test_threads_change_no_bit():
    game = Game.parse("3x6")
    strategy = random_strategy(game, np.random.default_rng(2), "memoryless", "keyed")
    one, two = (best_response(strategy, game, threads=threads) for threads in (1, 2))
    assert one.setup_values.tobytes() == two.setup_values.tobytes()
    assert (one.num_histories, one.num_infostates) == (two.num_histories, two.num_infostates)


def test_walk_stops_with_a_lower_bound_when_told():
    game = Game.parse("3x6")
    calls = []

    def stop(*report):
        calls.append(report)
        return False

    found = best_response(uniform(game, 0.5), game, progress=stop)
    assert len(calls) == 1
    assert not found.is_complete
    assert np.isnan(found.setup_values).any()
    assert found.value <= 0.6 + 1e-12
    assert not best_response(uniform(game, 0.5), game, max_seconds=0).is_complete


def test_strategy_of_the_other_objective_is_judged_by_the_game():
    win, chips = Game.parse("2x5"), Game.parse("2x5", objective="chips")
    strategy = uniform(win, 0.5)
    assert best_response(strategy, chips).value > best_response(strategy, win).value


@pytest.mark.parametrize(
    ("game", "strategy_game", "message"),
    [
        (Game(6, 12), Game(6, 12), "332,640 setups a player are too many"),
        (Game(5, 8, pulls="free"), Game(5, 8), "4,200 setups a player .* 1,500 with pulls=free"),
        (Game(3, 6), Game(3, 5), "strategy for 3x5: the game is 3x6"),
    ],
)
def test_judge_refuses_what_it_cannot_take(game, strategy_game, message):
    with pytest.raises(InputError, match=message):
        best_response(uniform(strategy_game, 0.5), game)


def test_judge_refuses_setups_that_are_no_distribution():
    game = Game.parse("3x6")
    broken = random_strategy(game, np.random.default_rng(0), "memoryless")
    with pytest.raises(InputError, match="setup probabilities sum to 8, not 1"):
        exploitability(broken._replace(model=broken.model * 2**1.5), game)
    with pytest.raises(InputError, match="seat 2"):
        best_response(uniform(game, 0.5), game, seat=2)
    with pytest.raises(InputError, match="threads 0"):
        best_response(uniform(game, 0.5), game, threads=0)


def test_feasible_games_are_those_with_few_setups():
    assert is_feasible(Game.parse("5x10"))
    assert not is_feasible(Game.parse("5x12"))


def test_judge_runs_without_compilation():
    code = (
        "from solver.rules import Game; from solver.strategy import make_strategy;"
        "from solver.judge import best_response;"
        "found = best_response(make_strategy(2, 3, True, match_constant=0.5), Game(2, 3));"
        "print(found.value, found.setup)"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == ["0.5", "1:2,0:1"]


def test_exact_strategy_folds_where_it_has_no_entry():
    game = Game.parse("3x6")
    empty = uniform(game, 0.5)._replace(decision_kind=EXACT)
    assert exploitability(empty, game) > 0
