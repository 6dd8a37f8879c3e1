"""The exact judge where players choose how to pay, against the plain reference."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from bridge import naive_strategy
from random_strategies import DECISIONS, random_strategy

from solver.judge import best_response, evaluate, exploitability, history_walk, payment_walk
from solver.judge.history_walk import Judge
from solver.rules import LATEST, Game, InputError, utility
from solver.setups import list_setups
from solver.strategy import Strategy, in_game, make_strategy


def assert_setup_values(found, values, game):
    for row, (tiles, chips) in enumerate(zip(*list_setups(game), strict=True)):
        expected = values[tuple(tiles.tolist()), tuple(chips.tolist())]
        assert found.setup_values[row] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("pulls", ["tiles", "free"])
@pytest.mark.parametrize(
    ("name", "objective", "decisions", "seat"),
    [
        ("2x4", "win", "exact", 0),
        ("2x5", "chips", "exact", 1),
        ("2x5", "win", "keyed", 0),
        ("3x5", "win", "exact", 0),
        ("3x5", "chips", "constant", 1),
    ],
)
def test_judge_equals_plain_best_response(name, objective, decisions, seat, pulls):
    game = Game.parse(name, objective=objective, pulls=pulls)
    strategy = random_strategy(game, np.random.default_rng(6), "listed", decisions)
    found = best_response(strategy, game, seat=seat)
    setups = naive.setups(game.num_tiles, game.num_chips)
    plain = naive_strategy(strategy, game)
    value, values, _ = naive.best_response(plain, setups, seat, objective, pulls)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert_setup_values(found, values, game)


@pytest.mark.slow
@pytest.mark.parametrize("pulls", ["tiles", "free"])
@pytest.mark.parametrize("decisions", DECISIONS)
def test_judge_equals_plain_best_response_in_larger_games(decisions, pulls):
    for name in ("3x6", "4x5"):
        test_judge_equals_plain_best_response(name, "win", decisions, 1, pulls)


@pytest.mark.parametrize("pulls", ["tiles", "free"])
@pytest.mark.parametrize(("name", "objective"), [("2x5", "win"), ("3x5", "chips")])
def test_evaluate_equals_plain_expectation(name, objective, pulls):
    game = Game.parse(name, objective=objective, pulls=pulls)
    rng = np.random.default_rng(4)
    a, b = (random_strategy(game, rng, "listed", kind) for kind in ("exact", "keyed"))
    plain = [naive_strategy(strategy, game) for strategy in (a, b)]
    found = evaluate(a, b, game)
    expected = naive.expected_value(*plain, objective, pulls)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert evaluate(b, a, game).value == pytest.approx(-found.value, abs=1e-12)
    assert best_response(b, game).value > found.value


@pytest.mark.parametrize("own", ["latest", "tiles", "free"])
@pytest.mark.parametrize("pulls", ["latest", "tiles", "free"])
def test_each_seat_may_have_a_rule_of_its_own(pulls, own):
    game = Game(3, 5, pulls=pulls)
    strategy = random_strategy(game, np.random.default_rng(9), "listed", "exact")
    found = best_response(strategy, game, pulls=own)
    setups = naive.setups(3, 5)
    plain = naive_strategy(strategy, game)
    value, values, _ = naive.best_response(plain, setups, 0, "win", pulls, own)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert_setup_values(found, values, game)


def test_more_ways_to_pay_never_hurt_the_one_who_chooses():
    game = Game(3, 7, pulls="free")
    coin = make_strategy(3, 7, True, match_constant=0.5)
    latest, tiles, free = (
        best_response(coin, game, pulls=own).setup_values for own in ("latest", "tiles", "free")
    )
    assert (latest <= tiles + 1e-12).all()
    assert (tiles <= free + 1e-12).all()
    assert (latest < free - 1e-6).any()


def all_branches(walk, strategy: Strategy, game: Game, *, is_best: bool):
    """Walk all setups at once."""
    placed = list_setups(game)
    payoff = np.array([utility(w, game.num_chips, True) for w in range(2 * game.num_chips + 1)])
    judge = Judge(0, is_best, strategy, strategy, payoff, LATEST)
    rows = np.arange(len(placed[0]))
    return walk.walk_branch(judge, placed, rows, np.full(len(rows), 1 / len(rows)))


@pytest.mark.parametrize("is_best", [True, False])
@pytest.mark.parametrize("name", ["3x6", "4x6"])
def test_both_walks_agree_where_the_default_rule_pays(name, is_best):
    game = Game.parse(name)
    strategy = random_strategy(game, np.random.default_rng(1), "uniform", "keyed")
    (values, counts), (others, other_counts) = (
        all_branches(walk, strategy, game, is_best=is_best) for walk in (history_walk, payment_walk)
    )
    np.testing.assert_allclose(values, others, rtol=0, atol=1e-13)
    assert counts.tolist() == other_counts.tolist()


def test_threads_change_no_bit():
    game = Game(3, 6, pulls="free")
    strategy = random_strategy(game, np.random.default_rng(2), "memoryless", "keyed")
    one, two = (best_response(strategy, game, threads=threads) for threads in (1, 2))
    assert one.setup_values.tobytes() == two.setup_values.tobytes()
    assert one.num_histories == two.num_histories


def test_strategies_for_another_rule_are_refused_unless_the_default_rule_will_do():
    games = [Game(2, 5, pulls=pulls) for pulls in ("latest", "tiles", "free")]
    rng = np.random.default_rng(0)
    for mine in games:
        listed = random_strategy(mine, rng, "uniform", "exact")
        for game in games:
            if game == mine:
                assert in_game(listed, game) is listed
                continue
            with pytest.raises(InputError, match=f"pulls={mine.pulls}: .*pulls={game.pulls}"):
                exploitability(listed, game)
            with pytest.raises(InputError, match=f"pulls={mine.pulls}: .*pulls={game.pulls}"):
                evaluate(make_strategy(2, 5, True), listed, game)
    for kind in ("constant", "keyed"):
        strategy = random_strategy(games[0], rng, "uniform", kind)
        values = [exploitability(strategy, game) for game in games]
        assert values == sorted(values)


def test_best_responder_of_an_unknown_rule_is_refused():
    with pytest.raises(InputError, match="pulls 'any'"):
        best_response(make_strategy(2, 3, True), Game(2, 3), pulls="any")
    with pytest.raises(InputError, match="pulls=tiles"):
        best_response(make_strategy(5, 8, True), Game(5, 8), pulls="tiles")
