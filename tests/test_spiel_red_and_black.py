"""python_red_and_black as OpenSpiel sees it, and the odds that the rules give."""

import itertools
import pickle
import random

import numpy as np
import pyspiel
import pytest
from open_spiel.python.tests import games_sim_test

import spiel_game  # noqa: F401  registers the games
from solver.rules import InputError
from spiel_game.red_and_black_table import (
    PAYOUTS,
    Hand,
    RedAndBlackRules,
    apply_move,
    cards_left,
    may_double,
    start,
    table_string,
)

NAME = "python_red_and_black"
VARIANTS = [
    NAME,
    f"{NAME}(players=3,min_bet=2,max_bet=10,ante=1)",
    f"{NAME}(players=3,hands=5,max_bet=9,bet_step=4)",
    f"{NAME}(players=21,hands=1)",
    f"{NAME}(cards_per_colour=3,min_bet=3,max_bet=3)",
]


def deal_odds(rules, num_cards):
    """Return the probability of each sequence of the first cards, from the chance nodes."""
    odds = {}

    def walk(state, prob):
        if state.is_chance_node():
            for card, p in state.chance_outcomes():
                walk(state.child(card), prob * p)
        elif state.table.hand.cards and len(state.table.hand.cards) < num_cards:
            walk(state.child(0), prob)  # not doubled
        else:
            cards = (state.table.hand.cards or state.table.past[0].cards)[:num_cards]
            odds[cards] = odds.get(cards, 0.0) + prob

    first = pyspiel.load_game(NAME, vars(rules)).new_initial_state()
    walk(first.child(0), 1.0)
    return odds


@pytest.mark.parametrize("text", VARIANTS)
def test_open_spiel_accepts_random_games(text):
    pyspiel.random_sim_test(pyspiel.load_game(text), num_sims=5, serialize=True, verbose=False)
    np.random.seed(1)  # noqa: NPY002  the simulation draws from the global state
    games_sim_test.GamesSimTest().sim_game(pyspiel.load_game(text))


@pytest.mark.parametrize("text", VARIANTS)
def test_random_games_sum_to_zero_and_survive_copies(text):
    game = pyspiel.load_game(text)
    rng = random.Random(4)
    state = game.new_initial_state()
    while not state.is_terminal():
        assert sum(state.table.net) == 0
        copies = [
            state.clone(),
            pickle.loads(pickle.dumps(state)),
            pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))[1],
        ]
        for copy in copies:
            assert copy.table == state.table
            assert (str(copy), copy.history()) == (str(state), state.history())
        state.apply_action(rng.choice(state.legal_actions()))
    assert sum(state.returns()) == 0
    assert game.min_utility() <= min(state.returns()) <= max(state.returns()) <= game.max_utility()


def test_defaults_give_everyone_the_bank_once():
    game = pyspiel.load_game(NAME)
    assert game.num_players() == 2
    assert game.get_type().chance_mode == pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
    assert game.rules.num_hands == 2
    state = game.new_initial_state()
    bettors = []
    while not state.is_terminal():
        if not state.is_chance_node() and not state.table.hand.bets:
            bettors.append(state.current_player())
        state.apply_action(state.legal_actions()[0])
    assert bettors == [1, 0]


def test_bets_are_placed_and_cards_dealt_from_the_bankers_left():
    state = pyspiel.load_game(f"{NAME}(players=3,hands=2)").new_initial_state()
    seats = []
    while not state.is_terminal():
        if not state.is_chance_node():
            seats.append(state.current_player())
        cards = state.table.hand.cards
        state.apply_action(len(cards) % 2 if state.is_chance_node() else 0)
    # Cards alternate, so everyone may double: two bets and two choices in each hand.
    assert seats == [1, 2, 1, 2, 2, 0, 2, 0]


def test_a_hand_pays_what_the_table_says():
    for cards in itertools.product((0, 1), repeat=5):
        for bet, is_doubled in itertools.product(range(4), (False, True)):
            rules = RedAndBlackRules(hands=1, ante=3)
            table = apply_move(start(rules), bet)
            for number, card in enumerate(cards):
                if number == 4 and may_double(cards[:4]):
                    table = apply_move(table, int(is_doubled))
                table = apply_move(table, card)
            stake = (1, 1, 2, 2)[bet] * (2 if is_doubled and may_double(cards[:4]) else 1)
            won = stake * PAYOUTS[cards.count(bet % 2)] - 3
            assert table.net == (-won, won)


def test_doubling_is_asked_only_at_two_and_two():
    state = pyspiel.load_game(f"{NAME}(hands=1)").new_initial_state()
    for action in (2, 0, 1, 1, 0):
        state.apply_action(action)
    assert [state.action_to_string(action) for action in state.legal_actions()] == [
        "leave",
        "double",
    ]
    state.apply_action(1)
    state.apply_action(0)
    assert str(state) == "2R RBBRxR"
    assert state.returns() == [-4.0, 4.0]


def test_odds_from_a_full_pack_are_those_of_the_rules():
    rules = RedAndBlackRules(hands=1)
    five = deal_odds(rules, 5)
    by_reds = [sum(p for cards, p in five.items() if cards.count(0) == k) for k in range(6)]
    assert [round(p, 4) for p in by_reds[3:]] == [0.3187, 0.1531, 0.0283]
    assert sum(p * pay for p, pay in zip(by_reds, PAYOUTS, strict=True)) == pytest.approx(0)
    four = deal_odds(rules, 4)
    assert sum(p for cards, p in four.items() if may_double(cards)) == pytest.approx(
        0.382, abs=5e-4
    )


def test_cards_come_from_one_pack_shuffled_again_each_hand():
    table = start(RedAndBlackRules(players=3, hands=2))
    for action in (0, 0, *[1] * 10):
        table = apply_move(table, action)
    assert len(table.past) == 1
    assert cards_left(table) == (52, 52)
    tiny = start(RedAndBlackRules(cards_per_colour=3, hands=1))
    for action in (0, 1, 1, 1):
        tiny = apply_move(tiny, action)
    assert cards_left(tiny) == (3, 0)


def test_strings_tell_histories_apart_and_tensors_too():
    game = pyspiel.load_game(f"{NAME}(cards_per_colour=3,hands=2,max_bet=1)")
    strings, tensors = set(), set()

    def walk(state):
        assert str(state) not in strings
        strings.add(str(state))
        if not state.is_terminal():
            tensors.add(bytes(np.array(state.information_state_tensor(0), np.float32)))
            for action in state.legal_actions():
                walk(state.child(action))
        else:
            ends.append(state)

    ends = []
    walk(game.new_initial_state())
    assert len(tensors) == len(strings) - len(ends)
    assert table_string(start(game.rules)) == ""
    assert Hand() == ends[0].table.hand


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ("players=22", InputError, "players 22: 2 to 21 can play with 104 cards"),
        ("players=1", InputError, "players 1: 2 to 21"),
        ("min_bet=3", InputError, "max_bet 2: at least min_bet, 3"),
        ("min_bet=0", InputError, "min_bet 0: allowed are 1 to 1,000,000"),
        ("ante=-1", InputError, "ante -1: allowed are 0 to 1,000,000"),
        ("hands=-1", InputError, "hands -1: allowed are 0 to 10,000"),
        ("bet_step=0", InputError, "bet_step 0: allowed are 1 to 1,000,000"),
        ("cards_per_colour=2", InputError, "cards_per_colour 2: allowed are 3 to 1,0"),
        ("cards_per_colour=2000000000", InputError, "cards_per_colour 2000000000: allowed are 3"),
        ("max_bet=2000000000", InputError, "max_bet 2000000000: allowed are 1 to 1,000,000"),
        ("ante=2000000000", InputError, "ante 2000000000: allowed are 0 to 1,000,000"),
        ("hands=2000000000", InputError, "hands 2000000000: allowed are 0 to 10,000"),
        ("bet_step=2000000000", InputError, "bet_step 2000000000: allowed are 1 to 1,000,000"),
        ("ante=1.5", pyspiel.SpielError, "ante.*kInt"),
        ("decks=2", pyspiel.SpielError, "Unknown parameter 'decks'"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, error, message):
    with pytest.raises(error, match=message):
        pyspiel.load_game(f"{NAME}({parameters})")


def test_illegal_actions_are_refused():
    state = pyspiel.load_game(NAME).new_initial_state()
    with pytest.raises(ValueError, match="action 4: allowed are 0, 1, 2, 3"):
        state.apply_action(4)
