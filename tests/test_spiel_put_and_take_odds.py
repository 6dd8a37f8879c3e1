"""Exact odds of the Put and Take pools against plain enumeration and against simulated games."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pyspiel
import pytest

import spiel_game  # noqa: F401  registers the games
from spiel_game.put_and_take_odds import pool_odds, second_moments
from spiel_game.put_and_take_rules import SCALES, PutAndTakeRules, features, net_results

KNOWN = {
    "doubling": Fraction(155, 17),
    "easy_go": Fraction(155, 17) + Fraction(25, 51),
    "red_and_black": Fraction(155, 17) + 15 * Fraction(183117, 2349060),
    "river": Fraction(175, 17),
}


@pytest.fixture(scope="module")
def counted():
    """Return what every hand without the ace of clubs has of its rank, colour and suit.

    The enumeration of 51 choose 5 hands: three arrays of their numbers of aces, of black aces, and
    of clubs.
    """
    cards = np.fromiter(itertools.chain.from_iterable(itertools.combinations(range(1, 52), 5)), int)
    hands = cards.astype(np.int8).reshape(-1, 5)
    return (hands < 4).sum(1), (hands == 3).sum(1), (hands % 4 == 0).sum(1)


def test_put_payments_are_the_known_ones():
    for scale, expected in KNOWN.items():
        assert pool_odds(PutAndTakeRules(scale)).expected_put == expected
    rank, colour, _ = pool_odds(PutAndTakeRules("easy_go")).put_parts
    *_, suit = pool_odds(PutAndTakeRules("red_and_black")).put_parts
    river = pool_odds(PutAndTakeRules("river")).expected_put
    assert [f"{float(part):.2f}" for part in (rank, colour, suit, river)] == [
        "9.12",
        "0.49",
        "1.17",
        "10.29",
    ]


def test_put_payments_are_those_of_every_hand(counted):
    aces, black_aces, clubs = counted
    enumerated = {
        "doubling": (1 + 2 + 4 + 8 + 16) * aces.mean(),
        "easy_go": 31 * aces.mean() + 5 * black_aces.mean(),
        "red_and_black": 31 * aces.mean() + (1 + 2 + 3 + 4 + 5) * (clubs >= 3).mean(),
        "river": 5 * aces.mean() * np.mean([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]),
    }
    for scale, expected in enumerated.items():
        found = pool_odds(PutAndTakeRules(scale)).expected_put
        assert float(found) == pytest.approx(expected, abs=1e-9)


def test_one_cards_second_moments_are_those_of_every_hand(counted):
    aces, black_aces, clubs = counted
    seen = np.stack([aces, black_aces, clubs >= 3]).astype(np.int64)
    (moments,) = second_moments(is_one_card=True)
    expected = seen @ seen.T / seen.shape[1]
    assert np.array(moments.same_hand, float) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("is_one_card", [True, False])
def test_second_moments_are_those_of_every_deal_of_a_small_pack(is_one_card):
    """Three ranks: two hands leave two cards, which are turned."""
    pack = frozenset(range(12))
    sums = {key: np.zeros((2, 3, 3), np.int64) for key in (True, False)}
    num = dict.fromkeys(sums, 0)
    for hand in itertools.combinations(pack, 5):
        rest = pack.difference(hand)
        for left in itertools.combinations(rest, 2):
            other = rest.difference(left)
            for turned, second in itertools.permutations(left):
                again = turned if is_one_card else second
                key = turned // 4 == again // 4
                mine, theirs = features(again, hand), features(again, other)
                sums[key] += np.array(
                    [np.outer(features(turned, hand), found) for found in (mine, theirs)]
                )
                num[key] += 1
    moments = second_moments(is_one_card=is_one_card, num_cards=12)
    assert sum(related.prob for related in moments) == 1
    for key in sums:
        alike = [related for related in moments if related.is_same_rank == key]
        prob = sum(related.prob for related in alike)
        assert float(prob) == pytest.approx(num[key] / sum(num.values()), abs=1e-12)
        found = sum(
            float(related.prob) * np.array([related.same_hand, related.other_hand], float)
            for related in alike
        )
        assert found == pytest.approx(sums[key] / sum(num.values()), abs=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_all_settle_with_the_banker(scale):
    two = pool_odds(PutAndTakeRules(scale, 2, ante=3))
    assert (two.expected_net, two.banker_expected) == (-3, 3)
    assert two.banker_variance == two.variance
    eight = pool_odds(PutAndTakeRules(scale, 8, ante=0))
    assert (eight.variance, eight.put_variance) == (two.variance, two.put_variance)
    assert eight.banker_expected == 0
    assert 7 * two.variance != eight.banker_variance < 49 * two.variance


def test_variances_are_those_of_closed_forms():
    """Doubling and river pay for matches: E m^2 for one card turned, E m m' for two."""
    one = Fraction(5 * 3, 51) + Fraction(5 * 4 * 3 * 2, 51 * 50)
    same_rank = Fraction(5 * 2, 50) + Fraction(5 * 4 * 2 * 1, 50 * 49)
    same, other = Fraction(3, 51) * same_rank, Fraction(48, 51) * Fraction(5 * 4 * 3 * 3, 50 * 49)
    scales = 1 + 4 + 16 + 64 + 256  # squares of 1, 2, 4, 8, 16
    doubling = pool_odds(PutAndTakeRules("doubling"))
    assert doubling.variance == 2 * scales * (one - same - other)
    crossed = 31**2 - scales
    assert doubling.put_variance == scales * one + crossed * (same + other) - KNOWN["doubling"] ** 2
    square = Fraction(sum(rank**2 for rank in range(1, 14)), 13)
    product = (91**2 - 13 * square) / (13 * 12)  # of two ranks that differ
    river = pool_odds(PutAndTakeRules("river"))
    two = square * same + product * other
    assert river.variance == 10 * (square * one - two)
    assert river.put_variance == 5 * square * one + 20 * two - KNOWN["river"] ** 2


@pytest.mark.slow
def test_a_million_simulated_games_agree():
    """Hands dealt in the OpenSpiel game; the other scales read the same cards."""
    num_games, players = 1_000_000, 3
    game = pyspiel.load_game(f"python_put_and_take(scale=red_and_black,players={players})")
    rules = [PutAndTakeRules(scale, players) for scale in SCALES]
    rng = random.Random(12)
    nets = np.zeros((num_games, len(SCALES), players), np.int16)
    for number in range(num_games):
        state = game.new_initial_state()
        for card in rng.sample(range(52), 20):
            state.apply_action(card)
        nets[number] = [net_results(rule, state.cards) for rule in rules]
        assert tuple(state.returns()) == tuple(nets[number, SCALES.index("red_and_black")])
    for which, rule in enumerate(rules):
        odds = pool_odds(rule)
        expected = [odds.banker_expected] + [odds.expected_net] * 2
        variances = [odds.banker_variance] + [odds.variance] * 2
        for seat in range(players):
            won = nets[:, which, seat].astype(np.float64)
            close = 5 * won.std() / math.sqrt(num_games)
            assert won.mean() == pytest.approx(float(expected[seat]), abs=close)
            squares = (won - float(expected[seat])) ** 2
            close = 5 * squares.std() / math.sqrt(num_games)
            assert squares.mean() == pytest.approx(float(variances[seat]), abs=close)
