"""Equilibria by linear programming: exact, and agreed on by all who can judge them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from linear_program import SequenceForm

from solver.cfr import ExactSolution, ExactSolver, strategy_of
from solver.cfr.solver import new_problem, response_values
from solver.judge import exploitability
from solver.lp import solve_lp, solve_seats
from solver.lp.model import Player, make_players
from solver.lp.plans import (
    best_values,
    plan_of_shares,
    reached,
    read_shares,
    shares_of_plan,
    write_shares,
)
from solver.lp.program import first_choices, solve_part
from solver.rules import Game, InputError
from solver.tree import build_tree

GAMES = [
    ("2x3", "win", "latest"),
    ("2x5", "win", "latest"),
    ("3x5", "win", "latest"),
    ("3x5", "chips", "latest"),
    ("3x6", "win", "latest"),
    ("3x6", "chips", "latest"),
    ("3x5", "win", "tiles"),
    ("3x5", "win", "free"),
    ("3x5", "chips", "free"),
]
SEATS = [("latest", "latest"), ("tiles", "latest"), ("latest", "free"), ("free", "tiles")]


@cache
def solved(name: str, objective: str, pulls: str) -> ExactSolution:
    return solve_lp(Game.parse(name, objective=objective, pulls=pulls))


def random_shares(player: Player, seed: int) -> np.ndarray:
    shares = np.random.default_rng(seed).random(len(player.row))
    return shares / np.bincount(player.row, shares)[player.row]


@pytest.mark.parametrize(("name", "objective", "pulls"), GAMES)
def test_solution_is_exact_in_the_tree_and_for_the_judge(name, objective, pulls):
    solution = solved(name, objective, pulls)
    assert solution.converged
    assert solution.exploitability + 1e-12 >= 0
    assert solution.exploitability <= 1e-9
    assert exploitability(strategy_of(solution), solution.game) <= 1e-8


@pytest.mark.parametrize(("name", "objective", "pulls"), GAMES)
def test_solution_is_a_strategy(name, objective, pulls):
    solution = solved(name, objective, pulls)
    assert solution.algorithm == "lp"
    assert solution.iterations > 0 or name.startswith("2x")
    assert solution.setup_probs.min() >= 0
    assert solution.setup_probs.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all((solution.match >= 0) & (solution.match <= 1))
    if pulls != "latest":
        sums = np.add.reduceat(solution.pay, solution.pay_start[:-1])
        assert np.allclose(sums, 1.0, atol=1e-12)


@pytest.mark.parametrize("pulls", ["latest", "tiles", "free"])
@pytest.mark.parametrize("objective", ["win", "chips"])
def test_best_response_by_columns_equals_that_of_the_tree(pulls, objective):
    tree = build_tree(Game.parse("3x6", pulls=pulls, objective=objective))
    (player, _), payoff = make_players(tree)
    problem = new_problem(tree)
    shares = random_shares(player, 1)
    write_shares(shares, problem, (0, 1))
    assert np.allclose(read_shares(player, problem, (0, 1)), shares, atol=1e-14)
    values = response_values(problem)
    _, best = best_values(player, payoff @ plan_of_shares(player, shares))
    assert best[0] == pytest.approx(values[0], abs=1e-12)


@pytest.mark.parametrize("seat_pulls", SEATS)
def test_best_responses_by_columns_equal_those_of_the_tree_for_each_seat(seat_pulls):
    tree = build_tree(Game(3, 6), one_strategy=False, seat_pulls=seat_pulls)
    players, payoff = make_players(tree)
    problem = new_problem(tree)
    plans = []
    for p, player in enumerate(players):
        shares = random_shares(player, p)
        write_shares(shares, problem, (p,))
        assert np.allclose(read_shares(player, problem, (p,)), shares, atol=1e-14)
        plans.append(plan_of_shares(player, shares))
    values = response_values(problem)
    found = [
        best_values(players[0], payoff @ plans[1])[1][0],
        best_values(players[1], -(payoff.T @ plans[0]))[1][0],
    ]
    assert found == pytest.approx(values, abs=1e-12)


def test_payoffs_of_one_strategy_are_skew_symmetric():
    (player, other), payoff = make_players(build_tree(Game(3, 6)))
    assert player is other
    assert abs(payoff + payoff.T).max() == 0


def test_plan_of_shares_sums_up_and_gives_the_shares_back():
    (player, _), _ = make_players(build_tree(Game(3, 6)))
    shares = random_shares(player, 2)
    plan = plan_of_shares(player, shares)
    sums = player.flow @ plan
    assert sums[0] == pytest.approx(1.0)
    assert np.abs(sums[1:]).max() <= 1e-15
    assert np.allclose(shares_of_plan(player, plan, np.zeros(len(plan))), shares, atol=1e-12)


def test_first_choices_leave_no_infostate_without_one():
    (player, _), payoff = make_players(build_tree(Game(3, 6)))
    shares = random_shares(player, 3)
    kept = first_choices(player, shares, payoff @ plan_of_shares(player, shares), 0.9)
    assert kept.sum() < len(kept)
    assert np.all(np.bincount(player.row[kept], minlength=player.leads.shape[0]) > 0)
    rows, columns = reached(player, kept)
    assert np.isin(player.row[columns], rows).all()


@pytest.mark.parametrize("method", ["highs-ds", "highs-ipm"])
def test_whole_program_has_value_0_and_growing_agrees(method):
    game = Game(3, 6)
    players, payoff = make_players(build_tree(game))
    every = np.ones(len(players[0].row), np.bool_)
    part = solve_part(players, payoff, (every, every), method=method)
    assert part.value == pytest.approx(0.0, abs=1e-9)
    for plan in part.plans:
        assert best_values(players[0], payoff @ plan)[1][0] == pytest.approx(0.0, abs=1e-9)
    assert solve_lp(game, whole=True, method=method).exploitability <= 1e-9


@pytest.mark.parametrize("drop_dominated", [True, False])
def test_dropping_what_is_settled_changes_no_value(drop_dominated):
    solution = solve_lp(Game(3, 5), drop_dominated=drop_dominated)
    assert solution.exploitability <= 1e-9
    assert exploitability(strategy_of(solution), Game(3, 5)) <= 1e-8


@pytest.mark.parametrize("seat_pulls", SEATS)
@pytest.mark.parametrize("objective", ["win", "chips"])
def test_value_lies_between_what_each_seat_is_sure_of(seat_pulls, objective):
    game = Game.parse("3x5", objective=objective)
    found = solve_seats(game, seat_pulls)
    assert found.upper - found.lower <= 1e-9
    assert found.lower == -found.seats[0].exploitability
    solver = ExactSolver(game, one_strategy=False, seat_pulls=seat_pulls)
    solver.run(100)
    most0, most1 = solver.best_response_values()
    assert -most1 - 1e-9 <= found.lower
    assert found.upper <= most0 + 1e-9


def test_value_of_seats_equals_that_of_the_unreduced_sequence_form():
    value, _ = SequenceForm(Game(3, 5)).solve()
    found = solve_seats(Game(3, 5), ("latest", "latest"))
    assert found.lower == pytest.approx(value, abs=1e-9)


def test_no_time_and_no_progress_leave_the_first_strategy():
    hurried = solve_lp(Game(3, 6), time_limit=0.0)
    assert hurried.iterations == 0
    assert not hurried.converged
    stopped = solve_lp(Game(3, 6), progress=lambda iterations, seconds, gap: iterations == 0)
    assert stopped.iterations > 0
    for solution in (hurried, stopped):
        judged = exploitability(strategy_of(solution), Game(3, 6))
        assert judged == pytest.approx(solution.exploitability, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "simplex"}, "method simplex"),
        ({"time_limit": -1.0}, "time limit -1.0"),
        ({"threads": 0}, "threads 0"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        solve_lp(Game(3, 5), **options)


def test_game_that_is_too_large_is_refused():
    with pytest.raises(InputError, match=r"10x30: 36,342,450,144,000 setups .* linear program"):
        solve_lp(Game(10, 30))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3x9", "4x6"])
def test_larger_game_is_exact_for_the_judge(name):
    solution = solve_lp(Game.parse(name))
    assert solution.exploitability <= 1e-9
    assert exploitability(strategy_of(solution), solution.game) <= 1e-8
