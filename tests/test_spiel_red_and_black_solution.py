"""Optimal play of Red and Black: CFR+, MCCFR and plain counting must agree."""

import itertools
import math

import pyspiel
import pytest

import spiel_game  # noqa: F401  registers the games
from solver.rules import InputError
from spiel_game.red_and_black_seats import seat_game, situations
from spiel_game.red_and_black_solution import exact_seat_values, solve_red_and_black
from spiel_game.red_and_black_table import PAYOUTS, RedAndBlackRules


def brute_force_value(num_before, whole):
    """Average, over all orders of colours dealt, of the best a seat can do; bets of 1 on red."""

    def value(cards, left):
        if len(cards) == num_before + 5:
            return PAYOUTS[cards[num_before:].count(0)]
        means = 0.0
        for card in (0, 1):
            if left[card]:
                rest = (left[0] - (card == 0), left[1] - (card == 1))
                means += left[card] / sum(left) * value((*cards, card), rest)
        own = cards[num_before:]
        if len(own) == 4 and sum(own) == 2:
            return max(means, 2 * means)
        return means

    return value((), (whole, whole))


def test_two_players_are_worth_nothing_but_the_ante():
    solution = solve_red_and_black(players=2, ante=1, max_bet=4, mccfr_iterations=100)
    assert solution.seat_values == pytest.approx((-0.25,))
    assert solution.banker_value == pytest.approx(0.25)
    assert solution.match_values == pytest.approx((0.0, 0.0))
    (row,) = solution.double_when
    assert (row.seat, row.own_left, row.other_left, row.gain) == (1, 50, 50, 0.0)
    assert solution.cfr.nash_conv == pytest.approx(0, abs=1e-12)
    assert solution.mccfr.nash_conv == pytest.approx(0, abs=1e-12)


def test_three_players_agree_by_three_ways():
    solution = solve_red_and_black(
        players=3, min_bet=2, max_bet=2, hands=5, cfr_iterations=8, mccfr_iterations=5_000
    )
    exact = exact_seat_values(players=3)
    assert solution.seat_values[0] == pytest.approx(0, abs=1e-12)
    assert solution.seat_values == pytest.approx(exact, abs=3e-4)
    assert solution.mccfr.seat_values == pytest.approx(exact, abs=3e-4)
    for solved in (solution.cfr, solution.mccfr):
        assert 0 <= solved.nash_conv < 6e-4
        assert solved.banker_value == pytest.approx(-sum(solved.seat_values), abs=1e-12)
        short = sum(exact) - sum(solved.seat_values)
        assert solved.nash_conv == pytest.approx(short, abs=1e-12)  # seats do not interact
    assert solution.distance < 6e-4
    for row in solution.double_when:
        if row.gain:
            assert row.gain == (row.own_left - row.other_left) / (row.own_left + row.other_left)
            assert row.cfr == pytest.approx(float(row.gain > 0), abs=0.05)
            assert row.mccfr == pytest.approx(float(row.gain > 0), abs=0.05)
    assert [row.own_left for row in solution.double_when] == [50, 45, 46, 47, 48, 49, 50]
    first, second, banker = *solution.seat_values, solution.banker_value
    # Over five hands seats 0, 1, 2, 0, 1 bank.
    assert solution.match_values == pytest.approx(
        (
            2 * banker + first + 2 * second,
            2 * banker + 2 * first + second,
            banker + 2 * first + 2 * second,
        )
    )


@pytest.mark.parametrize("whole", [3, 5, 7])
def test_counting_agrees_with_dealing_every_order(whole):
    players = 2 * whole // 5 + 1
    expected = [brute_force_value(5 * bettor, whole) for bettor in range(players - 1)]
    found = exact_seat_values(players=players, cards_per_colour=whole)
    assert found == pytest.approx(expected, abs=1e-12)


def test_later_seats_have_seen_more_and_gain_more():
    values = exact_seat_values(players=21)
    assert values[0] == 0
    assert all(early < late for early, late in itertools.pairwise(values))
    with_ante = exact_seat_values(players=21, max_bet=2, ante=1)
    assert with_ante == pytest.approx([value - 0.5 for value in values])


def test_a_seats_own_game_is_worth_what_the_seat_is():
    rules = RedAndBlackRules(players=4, min_bet=1, max_bet=3)
    for bettor in range(3):
        assert math.fsum(s.prob for s in situations(rules, bettor)) == pytest.approx(
            0.382, abs=5e-4
        )
        game = seat_game(rules, bettor)
        solver = pyspiel.CFRPlusSolver(game)
        for _ in range(200):
            solver.evaluate_and_update_policy()
        policy = solver.tabular_average_policy()
        value = pyspiel.expected_returns(game.new_initial_state(), policy, -1, False)[0]
        assert value == pytest.approx(exact_seat_values(players=4)[bettor], abs=1e-5)


def test_the_whole_match_is_worth_the_sum_of_its_hands():
    game = pyspiel.convert_to_cached_tree(
        pyspiel.load_game("python_red_and_black(ante=1,cards_per_colour=3,max_bet=1)")
    )
    solver = pyspiel.CFRPlusSolver(game)
    for _ in range(5):
        solver.evaluate_and_update_policy()
    policy = solver.tabular_average_policy()
    returns = pyspiel.expected_returns(game.new_initial_state(), policy, -1, False)
    solution = solve_red_and_black(max_bet=1, ante=1, cards_per_colour=3, mccfr_iterations=10)
    assert returns == pytest.approx(solution.match_values, abs=1e-12)


def test_same_seed_gives_the_same_numbers():
    runs = [solve_red_and_black(cfr_iterations=2, mccfr_iterations=50, seed=s) for s in (5, 5)]
    assert runs[0] == runs[1]


def test_progress_can_stop_the_work():
    calls = []

    def stop_at_three(iterations, seconds, exploitability):
        calls.append((iterations, exploitability))
        return iterations < 3

    solution = solve_red_and_black(progress=stop_at_three)
    assert calls == [(1, None), (2, None), (3, None)]
    assert (solution.cfr.iterations, solution.mccfr.iterations) == (3, 0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"players": 4}, "players 4: 2 or 3 players"),
        ({"players": 22}, "players 22: 2 to 21"),
        ({"min_bet": 3, "max_bet": 2}, "max_bet 2: at least min_bet, 3"),
        ({"cfr_iterations": 0}, "cfr_iterations 0: at least 1"),
        ({"mccfr_iterations": 0}, "mccfr_iterations 0: at least 1"),
        ({"seed": -1}, "seed -1: 0 to"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, message):
    with pytest.raises(InputError, match=message):
        solve_red_and_black(**parameters)
