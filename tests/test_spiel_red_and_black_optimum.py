"""Optimal play of Red and Black agrees with dealing every order, and with OpenSpiel."""

import itertools
from fractions import Fraction

import pyspiel
import pytest

import spiel_game  # noqa: F401  registers the games
from spiel_game.red_and_black_optimum import (
    deal_value,
    doublings,
    own_colour_odds,
    packs,
    solve_red_and_black,
)
from spiel_game.red_and_black_table import PAYOUTS, RedAndBlackRules


def brute_force_value(num_before, whole, may_double=True):
    """Average, over all orders of colours dealt, of the best a seat can do; bets of 1 on red."""

    def value(cards, left):
        if len(cards) == num_before + 5:
            return Fraction(PAYOUTS[cards[num_before:].count(0)])
        means = Fraction(0)
        for card in (0, 1):
            if left[card]:
                rest = (left[0] - (card == 0), left[1] - (card == 1))
                means += Fraction(left[card], sum(left)) * value((*cards, card), rest)
        own = cards[num_before:]
        if may_double and len(own) == 4 and sum(own) == 2:
            return max(means, 2 * means)
        return means

    return value((), (whole, whole))


def chips_of(optimum, rules):
    """Return the match values in chips."""
    return [float(value * rules.largest_bet) for value in optimum.match_values]


@pytest.mark.parametrize("whole", [3, 5, 6, 7])
def test_values_are_those_of_dealing_every_order(whole):
    players = 2 * whole // 5 + 1
    expected = tuple(brute_force_value(5 * bettor, whole) for bettor in range(players - 1))
    found = solve_red_and_black(RedAndBlackRules(players, cards_per_colour=whole))
    assert found.seat_values == expected
    assert found.banker_value == -sum(expected)


def test_full_pack_values_are_those_of_dealing_every_order():
    found = solve_red_and_black(RedAndBlackRules(players=4)).seat_values
    assert found == tuple(brute_force_value(5 * bettor, 52) for bettor in range(3))


def test_full_pack_has_the_figures_of_the_rules():
    assert [float(round(prob, 4)) for prob in own_colour_odds()[3:]] == [0.3187, 0.1531, 0.0283]
    assert sum(own_colour_odds()) == 1
    assert sum(prob * pay for prob, pay in zip(own_colour_odds(), PAYOUTS, strict=True)) == 0
    assert brute_force_value(0, 52, may_double=False) == 0
    assert brute_force_value(10, 52, may_double=False) == 0
    (first,) = doublings(RedAndBlackRules(), 0)
    assert float(first.prob) == pytest.approx(0.382, abs=5e-4)
    assert (first.own_left, first.other_left, first.gain) == (50, 50, 0)
    assert not first.is_double


def test_packs_and_choices_have_probabilities_that_sum_up():
    rules = RedAndBlackRules(players=21)
    (first,) = doublings(rules, 0)
    for bettor in range(rules.num_bettors):
        assert sum(pack.prob for pack in packs(rules, bettor)) == 1
        rows = list(doublings(rules, bettor))
        assert sum(row.prob for row in rows) == first.prob  # seats are exchangeable
        assert sum(row.prob * row.gain for row in rows) == 0


def test_a_choice_gains_what_a_red_card_more_or_less_is_worth():
    for row in solve_red_and_black(RedAndBlackRules(players=21)).double_when:
        own, other = row.own_left, row.other_left
        assert row.gain == Fraction(own - other, own + other)
        assert row.is_double == (own > other)
        assert deal_value(own, other, 2, 2) == row.gain + max(0, row.gain)


def test_later_seats_have_seen_more_and_gain_by_counting_alone():
    found = solve_red_and_black(RedAndBlackRules(players=21))
    assert found.seat_values[0] == 0
    assert all(early < late for early, late in itertools.pairwise(found.seat_values))
    assert found.seat_values[-1] == Fraction(779688, 11100001)
    assert set(found.uncounted_values) == {0}


def test_fewer_players_leave_a_seats_value_as_it_is():
    most = solve_red_and_black(RedAndBlackRules(players=21)).seat_values
    for players in range(2, 21):
        assert solve_red_and_black(RedAndBlackRules(players)).seat_values == most[: players - 1]


def test_fair_ante_makes_the_bank_fair():
    free = solve_red_and_black(RedAndBlackRules(3, 1, 42, cards_per_colour=5))
    assert free.fair_ante == 5
    fair = solve_red_and_black(RedAndBlackRules(3, 1, 42, ante=5, cards_per_colour=5))
    assert (fair.banker_value, fair.fair_ante) == (0, 5)
    assert [free.seat_values[i] - fair.seat_values[i] for i in (0, 1)] == [Fraction(5, 42)] * 2


def test_a_match_is_the_sum_of_its_hands():
    found = solve_red_and_black(RedAndBlackRules(3, hands=5))
    first, second, banker = *found.seat_values, found.banker_value
    # Over five hands seats 0, 1, 2, 0, 1 bank.
    assert found.match_values == (
        2 * banker + first + 2 * second,
        2 * banker + 2 * first + second,
        banker + 2 * first + 2 * second,
    )
    assert set(solve_red_and_black(RedAndBlackRules(21, ante=3)).match_values) == {0}


@pytest.mark.parametrize(
    "text",
    [
        "cards_per_colour=3",
        "ante=2,max_bet=3",
        "players=3,cards_per_colour=5,ante=1,max_bet=3,bet_step=3",
        "players=3,cards_per_colour=6,max_bet=1",
        pytest.param("players=4,cards_per_colour=8,max_bet=1", marks=pytest.mark.slow),
    ],
)
def test_values_are_openspiels_best_responses(text):
    """Seats do not interact, so a best response to anything is worth what optimal play is."""
    plain = pyspiel.load_game(f"python_red_and_black(hands=1,{text})")
    game = pyspiel.convert_to_cached_tree(plain)
    expected = chips_of(solve_red_and_black(plain.rules), plain.rules)
    policy = pyspiel.UniformRandomPolicy(game)
    for seat in range(1, plain.num_players()):
        response = pyspiel.TabularBestResponse(game, seat, policy)
        found = response.value_from_state(game.new_initial_state())
        assert found == pytest.approx(expected[seat], abs=1e-9)


SOLVERS = {
    "CFR+": (pyspiel.CFRPlusSolver, "evaluate_and_update_policy", 40, 1e-3),
    "MCCFR": (pyspiel.ExternalSamplingMCCFRSolver, "run_iteration", 30_000, 0.02),
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("text", ["cards_per_colour=3", "players=3,cards_per_colour=5,max_bet=1"])
def test_openspiels_solvers_come_to_the_same_values(name, text):
    plain = pyspiel.load_game(f"python_red_and_black(hands=1,{text})")
    game = pyspiel.convert_to_cached_tree(plain)
    make, step, iterations, close = SOLVERS[name]
    solver = make(game)  # the average policy of MCCFR reads its tables
    for _ in range(iterations):
        getattr(solver, step)()
    policy = solver.tabular_average_policy() if name == "CFR+" else solver.average_policy()
    found = pyspiel.expected_returns(game.new_initial_state(), policy, -1, False)
    expected = chips_of(solve_red_and_black(plain.rules), plain.rules)
    assert found == pytest.approx(expected, abs=close)
    assert 0 <= pyspiel.nash_conv(game, policy, use_state_get_policy=True) < 2 * close
