"""python_put_and_take as OpenSpiel sees it, and what its cards pay."""

import itertools
import pickle
import random

import numpy as np
import pyspiel
import pytest
from open_spiel.python.tests import games_sim_test

import spiel_game  # noqa: F401  registers the games
from solver.rules import InputError
from spiel_game.put_and_take_rules import SCALES, PutAndTakeRules, card_name, payment

NAME = "python_put_and_take"
VARIANTS = [
    NAME,
    f"{NAME}(scale=easy_go,players=8,ante=0)",
    f"{NAME}(scale=red_and_black,players=3,ante=5)",
    f"{NAME}(scale=river,players=5)",
]
NAMES = {card_name(card): card for card in range(52)}


def naive_payment(scale, turn, turned, hand):
    """Pay by the words of the rules, cards as texts such as 10D."""
    paid = 0
    for card in hand:
        if card[:-1] != turned[:-1]:
            continue
        if scale == "river":
            paid += {"A": 1, "J": 11, "Q": 12, "K": 13}.get(turned[:-1]) or int(turned[:-1])
        else:
            paid += [1, 2, 4, 8, 16][turn]
        if scale == "easy_go" and (card[-1] in "DH") == (turned[-1] in "DH"):
            paid += 1
    if scale == "red_and_black" and [card[-1] for card in hand].count(turned[-1]) >= 3:
        paid += [1, 2, 3, 4, 5][turn]
    return paid


def play(game, cards):
    state = game.new_initial_state()
    for card in cards:
        state.apply_action(card)
    return state


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
        outcomes = state.chance_outcomes()
        assert len(outcomes) == 52 - len(state.history())
        assert sum(prob for _, prob in outcomes) == pytest.approx(1)
        for copy in (state.clone(), pickle.loads(pickle.dumps(state))):
            assert (str(copy), copy.history()) == (str(state), state.history())
        state.apply_action(rng.choice(outcomes)[0])
    assert len(state.history()) == 5 * (game.num_players() - 1) + 10
    assert sum(state.returns()) == 0
    assert game.min_utility() <= min(state.returns()) <= max(state.returns()) <= game.max_utility()


@pytest.mark.parametrize("scale", SCALES)
def test_results_are_those_of_the_words_of_the_rules(scale):
    rng = random.Random(7)
    for players in (2, 4, 8):
        game = pyspiel.load_game(f"{NAME}(scale={scale},players={players},ante=2)")
        for _ in range(50):
            cards = rng.sample(range(52), 5 * (players - 1) + 10)
            texts = [card_name(card) for card in cards]
            hands = [texts[5 * i : 5 * i + 5] for i in range(players - 1)]
            put, take = texts[-10:-5], texts[-5:]
            pool, won = 2 * len(hands), [-2] * len(hands)
            for turn, player in itertools.product(range(5), range(len(hands))):
                paid = naive_payment(scale, turn, put[turn], hands[player])
                taken = naive_payment(scale, turn, take[turn], hands[player])
                won[player] += taken - paid
                pool += paid - taken
            assert play(game, cards).returns() == [pool, *won]


@pytest.mark.parametrize(
    ("scale", "turn", "turned", "hand", "paid"),
    [
        ("doubling", 0, "AS", "AC AD AH 2S 3S", 3),
        ("doubling", 4, "AS", "AC AD AH 2S 3S", 48),
        ("easy_go", 2, "AS", "AC AD AH 2S 3S", 13),
        ("easy_go", 2, "AH", "AC AS KH QH JH", 8),
        ("red_and_black", 3, "AS", "AC 2S 3S 4S 9H", 12),
        ("red_and_black", 3, "AS", "2S 3S 4S 5S 6S", 4),
        ("red_and_black", 3, "AS", "2S 3S 4C 5D 6D", 0),
        ("river", 0, "KS", "KC KD 2S 3S 4S", 26),
        ("river", 4, "AS", "AC AD 2S 3S 4S", 2),
        ("river", 4, "10S", "10C 9D 2S 3S 4S", 10),
    ],
)
def test_a_turned_card_pays(scale, turn, turned, hand, paid):
    cards = [NAMES[name] for name in hand.split()]
    assert payment(scale, turn, NAMES[turned], cards) == paid
    assert naive_payment(scale, turn, turned, hand.split()) == paid


@pytest.mark.parametrize("scale", SCALES)
def test_no_hand_pays_more_than_the_bound(scale):
    rng = random.Random(9)
    rules = PutAndTakeRules(scale)
    for _ in range(2000):
        ranks = rng.sample(range(13), 4)
        cards = rng.sample([4 * rank + suit for rank in ranks for suit in range(4)], 10)
        paid = sum(payment(scale, turn, cards[5 + turn], cards[:5]) for turn in range(5))
        assert paid <= rules.most_paid


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ("players=9", InputError, "players 9: 2 to 8"),
        ("players=1", InputError, "players 1: 2 to 8"),
        ("ante=-1", InputError, "ante -1: allowed are 0 to 1,000,000"),
        ("ante=2000000000", InputError, "ante 2000000000: allowed are 0 to 1,000,000"),
        ("scale=up", InputError, "scale 'up': allowed are doubling, easy_go, red_and_black, river"),
        ("ante=1.5", pyspiel.SpielError, "ante.*kInt"),
        ("decks=2", pyspiel.SpielError, "Unknown parameter 'decks'"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, error, message):
    with pytest.raises(error, match=message):
        pyspiel.load_game(f"{NAME}({parameters})")


def test_a_card_dealt_twice_is_refused():
    state = play(pyspiel.load_game(NAME), [7])
    for card in (7, 52, -1):
        with pytest.raises(ValueError, match=f"action {card}: allowed are cards"):
            state._apply_action(card)
