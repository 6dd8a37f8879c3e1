"""Equilibria by linear programming, and what judge and solvers say of them."""

from __future__ import annotations

from functools import cache

import naive
import numpy as np
import pytest
from bridge import naive_strategy
from linear_program import SequenceForm
from random_strategies import random_strategy

from solver.cfr import solve_exact, strategy_of
from solver.judge import best_response, exploitability
from solver.rules import Game

GAMES = [("2x3", "win"), ("2x5", "win"), ("2x5", "chips"), ("3x5", "win"), ("3x5", "chips")]


@cache
def sequence_form(name: str, objective: str) -> SequenceForm:
    return SequenceForm(Game.parse(name, objective=objective))


@pytest.mark.parametrize(("name", "objective"), GAMES)
def test_value_is_zero_and_its_strategy_cannot_be_exploited(name, objective):
    form = sequence_form(name, objective)
    value, plan = form.solve()
    assert value == pytest.approx(0.0, abs=1e-9)
    assert form.best_response_value(plan, 1) == pytest.approx(0.0, abs=1e-9)
    assert exploitability(form.strategy(plan), form.game) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("name", "objective"), GAMES)
def test_best_response_by_linear_program_equals_the_judge(name, objective):
    form = sequence_form(name, objective)
    strategy = random_strategy(form.game, np.random.default_rng(4), "listed", "exact")
    for player in (0, 1):
        plan = form.plan_of(naive_strategy(strategy, form.game), 1 - player)
        judged = best_response(strategy, form.game, seat=player).value
        assert form.best_response_value(plan, player) == pytest.approx(judged, abs=1e-9)


@pytest.mark.parametrize(("name", "objective"), GAMES)
def test_exact_solution_is_an_equilibrium(name, objective):
    form = sequence_form(name, objective)
    scale = 1 if form.game.is_win else form.game.num_chips
    solution = solve_exact(form.game, target=1e-5 * scale)
    strategy = strategy_of(solution)
    plan = form.plan_of(naive_strategy(strategy, form.game), 0)
    by_program = form.best_response_value(plan, 1)
    assert by_program <= 1e-5 * scale + 1e-9
    assert by_program == pytest.approx(solution.exploitability, abs=1e-9)
    judged = exploitability(strategy, form.game)
    assert judged == pytest.approx(solution.exploitability, abs=1e-12)


@pytest.mark.parametrize(("name", "objective"), GAMES[:3])
def test_average_of_plain_cfr_approaches_the_value(name, objective):
    form = sequence_form(name, objective)
    tables = naive.Tables(form.setups)
    for iteration in range(1, 61):
        naive.cfr_plus_iteration(tables, iteration, objective)
    gains = [
        form.best_response_value(form.plan_of(tables.average_strategy(1 - p), 1 - p), p)
        for p in (0, 1)
    ]
    assert 0 <= sum(gains) <= 0.05 * (1 if form.game.is_win else form.game.num_chips)
