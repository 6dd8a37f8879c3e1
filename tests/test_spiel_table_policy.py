"""Strategies as OpenSpiel policies, judged by OpenSpiel."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability
from random_strategies import random_strategy as mixed_strategy

import spiel_game  # noqa: F401  registers the games
from solver import judge
from solver.memoryless import row_offsets, uniform_model
from solver.rules import Game, InputError
from solver.setups import Setup, count_setups, decode_setup, list_setups
from solver.strategy import (
    BY_TILE,
    EXACT,
    LISTED,
    MEMORYLESS,
    make_strategy,
    setup_prob,
)
from spiel_game.position import PLACE_TILE
from spiel_game.table_policy import StrategyPolicy


def load(num_tiles, num_chips, pulls="latest", objective="win"):
    return pyspiel.load_game(
        "python_betting_black_white",
        {"num_tiles": num_tiles, "num_chips": num_chips, "pulls": pulls, "objective": objective},
    )


def placement_prob(policy, game, setup):
    """Multiply the policy's probabilities along the placing of one setup by player 0."""
    state, prob = game.new_initial_state(), 1.0
    while state.position.player == 0 and not state.position.chips[0]:
        slot = len(state.position.placed[0]) // 2
        is_tile = state.position.phase == PLACE_TILE
        action = (setup.tiles if is_tile else setup.chips)[slot]
        prob *= policy.action_probabilities(state)[action]
        state.apply_action(action)
    return prob


def random_strategy(kind, rules, rng):
    n, c = rules.num_tiles, rules.num_chips
    if kind == MEMORYLESS:
        offsets, size = row_offsets(n, c)
        model = (uniform_model(n, c) * rng.random(size)).astype(np.float32)
        starts = np.append(np.sort(offsets[offsets >= 0]), size)
        sums = np.add.reduceat(model, starts[:-1])
        model /= np.repeat(sums, np.diff(starts))
        return make_strategy(n, c, True, setup_kind=kind, model=model, offsets=offsets)
    if kind == LISTED:
        tiles, chips = list_setups(rules)
        rows = rng.choice(len(tiles), size=7, replace=False)
        probs = rng.dirichlet(np.ones(7))
        return make_strategy(
            n,
            c,
            True,
            setup_kind=kind,
            setup_tiles=tiles[rows],
            setup_chips=chips[rows],
            setup_cumulative=np.cumsum(probs),
        )
    if kind == BY_TILE:
        return make_strategy(n, c, True, setup_kind=kind, tile_chips=np.array([1, 3, 2, 2]))
    return make_strategy(n, c, True)


@pytest.mark.parametrize("kind", [0, LISTED, MEMORYLESS, BY_TILE])
def test_placements_multiply_to_the_probability_of_the_setup(kind):
    rules = Game(4, 8)
    strategy = random_strategy(kind, rules, np.random.default_rng(3))
    game = load(4, 8)
    policy = StrategyPolicy(game, strategy)
    total = 0.0
    for number in range(count_setups(rules)):
        setup = decode_setup(number, rules)
        expected = setup_prob(strategy, np.array(setup.tiles), np.array(setup.chips))
        found = placement_prob(policy, game, setup)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-12)
        total += found
    assert total == pytest.approx(1)


def test_after_a_setup_of_probability_zero_all_actions_are_equally_likely():
    game = load(3, 6)
    only = Setup((0, 1, 2), (1, 2, 3))
    strategy = make_strategy(
        3,
        6,
        True,
        setup_kind=LISTED,
        setup_tiles=np.array([only.tiles]),
        setup_chips=np.array([only.chips]),
        setup_cumulative=np.array([1.0]),
    )
    policy = StrategyPolicy(game, strategy)
    state = game.new_initial_state()
    assert policy.action_probabilities(state) == {0: 1.0, 1: 0.0, 2: 0.0}
    assert policy.action_probabilities(state.child(1)) == dict.fromkeys((1, 2, 3, 4), 0.25)


@pytest.mark.parametrize(("pulls", "expected"), [("free", 0), ("tiles", 1)])
def test_pulls_follow_the_default_rule(pulls, expected):
    # 4x9: 1,3,3,2 against 4,2,2,1; a gap of 3 and no winnings: 1 from slot 4, then 2 from slot 3.
    game = load(4, 9, pulls=pulls)
    policy = StrategyPolicy(game, make_strategy(4, 9, True, match_constant=1.0))
    state = game.new_initial_state()
    for action in (0, 1, 1, 3, 2, 3, 3, 4, 0, 2, 1, 2):
        state.apply_action(action)
    while state.position.slot == 0:
        probs = policy.action_probabilities(state)
        assert sorted(probs.values())[-1] == 1.0
        state.apply_action(max(probs, key=probs.get))
    result = state.position.results[0]
    assert result.taken == result.default == (0, 0, 2, 1)


def test_2x3_against_a_coin_is_worth_a_half():
    for pulls in ("latest", "tiles", "free"):
        game = load(2, 3, pulls=pulls)
        policy = StrategyPolicy(game, make_strategy(2, 3, True, match_constant=0.5))
        assert exploitability.exploitability(game, policy) == pytest.approx(0.5, abs=1e-12)
        found = exploitability.nash_conv(game, policy, return_only_nash_conv=False)
        assert found.player_improvements == pytest.approx([0.5, 0.5], abs=1e-12)


def test_3x6_bots_are_worth_what_is_known():
    game = load(3, 6)
    cached = pyspiel.convert_to_cached_tree(game)
    for match, expected in ((0.5, 0.6), (0.0, 5 / 6)):
        table = StrategyPolicy(game, make_strategy(3, 6, True, match_constant=match)).tabular()
        assert pyspiel.exploitability(cached, table) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("pulls", ["tiles", "free"])
@pytest.mark.parametrize(("tiles", "chips"), [(2, 5), (3, 5)])
def test_openspiel_and_the_judge_agree_on_random_ways_to_pay(tiles, chips, pulls):
    rules = Game(tiles, chips, pulls=pulls)
    strategy = mixed_strategy(rules, np.random.default_rng(12), "listed", "exact")
    game = load(tiles, chips, pulls=pulls)
    found = pyspiel.exploitability(
        pyspiel.convert_to_cached_tree(game), StrategyPolicy(game, strategy).tabular()
    )
    assert found == pytest.approx(judge.exploitability(strategy, rules), abs=1e-12)


def test_a_strategy_of_another_rule_for_paying_is_refused():
    rules = Game(2, 5, pulls="tiles")
    strategy = mixed_strategy(rules, np.random.default_rng(0), "uniform", "exact")
    with pytest.raises(InputError, match="strategy for pulls=tiles: the game has pulls=free"):
        StrategyPolicy(load(2, 5, pulls="free"), strategy)


@pytest.mark.slow
def test_3x6_against_a_coin_is_worth_the_same_to_open_spiels_python_judge():
    game = load(3, 6)
    policy = StrategyPolicy(game, make_strategy(3, 6, True, match_constant=0.5))
    assert exploitability.exploitability(game, policy) == pytest.approx(0.6, abs=1e-12)
    found = exploitability.nash_conv(game, policy, return_only_nash_conv=False)
    assert found.player_improvements == pytest.approx([0.6, 0.6], abs=1e-12)


def test_seats_are_symmetric_under_one_exact_strategy():
    # An empty table answers last slots whose tile is certain and folds elsewhere.
    game = load(3, 4)
    policy = StrategyPolicy(game, make_strategy(3, 4, True, decision_kind=EXACT))
    found = exploitability.nash_conv(game, policy, return_only_nash_conv=False)
    assert found.player_improvements[0] == pytest.approx(found.player_improvements[1], abs=1e-12)
    assert exploitability.exploitability(game, policy) == pytest.approx(found.nash_conv / 2)


@pytest.mark.parametrize(
    ("game", "text"),
    [((3, 5), "3x5"), ((4, 6), "4x6"), ((3, 6, "latest", "chips"), "objective chips")],
)
def test_a_strategy_of_another_game_is_refused(game, text):
    with pytest.raises(InputError, match=rf"strategy for 3x6 with objective win.*{text}"):
        StrategyPolicy(load(*game), make_strategy(3, 6, True))
