"""The exact solvers: what they reach, that they can be continued, and what they hand back."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest

from solver.cfr import (
    Algorithm,
    ExactSolver,
    default_target,
    solve_exact,
    strategy_of,
)
from solver.cfr.iterate import average_reach
from solver.judge import exploitability
from solver.rules import Game, InputError
from solver.setups import count_setups
from solver.strategy import observation_keys
from solver.tree.view import infostate_observations, side_decisions

ALGORITHMS = get_args(Algorithm)
REDUCTIONS = (
    "merge",
    "stop_when_decided",
    "solve_open_endings",
    "one_strategy",
    "drop_dominated",
    "fold_endings",
)

# CFR's average closes in as 1 / sqrt(iterations) to 1 / iterations: 1e-5 in 3x6 takes it about
# 300,000 iterations, the others a few thousand at most.
FAR = [a for a in ALGORITHMS if a != "cfr"]


@pytest.mark.parametrize("algorithm", FAR)
def test_3x6_is_solved_to_1e_5(algorithm):
    solution = solve_exact(Game(3, 6), algorithm=algorithm, target=1e-5, iterations=30_000)
    assert solution.converged
    assert solution.exploitability <= 1e-5
    assert exploitability(strategy_of(solution), Game(3, 6)) == pytest.approx(
        solution.exploitability, abs=1e-10
    )


def test_3x6_is_solved_to_1e_3_when_the_algorithm_is_plain_cfr():
    assert solve_exact(Game(3, 6), algorithm="cfr", target=1e-3, iterations=10_000).converged


@pytest.mark.parametrize("algorithm", [pytest.param(a, marks=pytest.mark.slow) for a in FAR])
def test_4x6_is_solved_to_1e_4(algorithm):
    solution = solve_exact(Game(4, 6), algorithm=algorithm, target=1e-4, iterations=10_000)
    assert solution.converged
    assert exploitability(strategy_of(solution), Game(4, 6)) == pytest.approx(
        solution.exploitability, abs=1e-10
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_chips_are_played_for_when_that_is_the_objective(algorithm):
    game = Game(3, 5, objective="chips")
    solution = solve_exact(game, algorithm=algorithm, target=5e-3, iterations=20_000)
    assert solution.converged
    assert exploitability(strategy_of(solution), game) == pytest.approx(
        solution.exploitability, abs=1e-10
    )


@pytest.mark.parametrize("off", [(), *((name,) for name in REDUCTIONS), REDUCTIONS])
@pytest.mark.parametrize("objective", ["win", "chips"])
def test_every_reduction_can_be_left_out(off, objective):
    game = Game(3, 5, objective=objective)
    solver = ExactSolver(game, **dict.fromkeys(off, False))
    solver.run(1500)
    assert 0.0 <= solver.exploitability() + 1e-12 < 1e-3


@pytest.mark.parametrize("objective", ["win", "chips"])
@pytest.mark.parametrize("name", ["1x1", "1x4", "2x2", "2x3", "3x3", "5x5"])
def test_the_smallest_games_are_solved(name, objective):
    game = Game.parse(name, objective=objective)
    solution = solve_exact(game)
    assert solution.converged
    assert solution.exploitability <= default_target(game)
    strategy = strategy_of(solution)
    assert exploitability(strategy, game) == pytest.approx(solution.exploitability, abs=1e-10)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_solve_continues_bit_for_bit_when_restored(algorithm):
    game = Game(3, 6)
    whole = solve_exact(game, algorithm=algorithm, iterations=60)
    part = solve_exact(game, algorithm=algorithm, iterations=23)
    rest = solve_exact(game, algorithm=algorithm, iterations=60, state=part.state)
    assert rest.iterations == 60
    assert rest.exploitability == whole.exploitability
    assert whole.state.keys() == rest.state.keys()
    for name, array in whole.state.items():
        assert array.tobytes() == rest.state[name].tobytes(), name
    assert (whole.match == rest.match).all()
    assert part.iterations == 23


def test_a_state_of_another_game_is_refused():
    state = solve_exact(Game(2, 3), iterations=2).state
    with pytest.raises(InputError, match="3x6 needs"):
        solve_exact(Game(3, 6), iterations=2, state=state)
    del state["match"]
    with pytest.raises(InputError, match="match is missing"):
        solve_exact(Game(2, 3), iterations=2, state=state)


def test_probabilities_are_probabilities():
    solution = solve_exact(Game(3, 6), iterations=200)
    assert solution.setup_probs.shape == (count_setups(Game(3, 6)),)
    assert solution.setup_probs.min() >= 0
    assert solution.setup_probs.sum() == pytest.approx(1.0)
    assert ((solution.match >= 0) & (solution.match <= 1)).all()
    assert ((solution.reach >= 0) & (solution.reach <= 1 + 1e-12)).all()
    assert solution.observations.shape == (1760, 3, 4)
    assert len(np.unique(observation_keys(solution.observations))) == 1760


def test_reach_is_that_of_the_setups_in_the_first_slot():
    solution = solve_exact(Game(3, 6), iterations=50)
    first = solution.slots == 0
    setups = {}
    for row in np.flatnonzero(first):
        setups.setdefault(solution.observations[row, :, :2].tobytes(), set()).add(
            solution.reach[row]
        )
    assert all(max(reach) - min(reach) < 1e-12 for reach in setups.values())
    assert sum(max(reach) for reach in setups.values()) <= 1 + 1e-9


@pytest.mark.parametrize("algorithm", ["cfr+", "pcfr+"])
def test_the_less_exploitable_seat_is_kept_when_each_has_its_strategy(algorithm):
    solver = ExactSolver(Game(3, 6), algorithm=algorithm, one_strategy=False)
    solver.run(25)
    solution = solver.solution()
    assert solution.exploitability <= solver.exploitability()
    assert len(solution.match) == 1760
    judged = exploitability(strategy_of(solution), Game(3, 6))
    assert judged == pytest.approx(solution.exploitability, abs=1e-12)


def test_progress_is_told_and_can_stop():
    calls = []

    def progress(iterations, seconds, gap):
        calls.append((iterations, seconds, gap))
        return len(calls) < 3

    solution = solve_exact(Game(3, 6), target=0.0, progress=progress)
    assert len(calls) == 3
    assert solution.iterations == calls[-1][0]
    assert not solution.converged
    assert [c[0] for c in calls] == sorted(c[0] for c in calls)


def test_nothing_runs_when_a_limit_is_zero():
    assert solve_exact(Game(2, 3), iterations=0).iterations == 0
    assert solve_exact(Game(2, 3), time_limit=0.0).iterations == 1


@pytest.mark.parametrize("limits", [{"target": -1.0}, {"iterations": -1}, {"time_limit": -0.5}])
def test_limits_below_zero_are_refused(limits):
    with pytest.raises(InputError, match="negative"):
        solve_exact(Game(2, 3), **limits)


def test_unknown_names_and_no_threads_are_refused():
    with pytest.raises(InputError, match=r"'rm'.*pcfr\+"):
        solve_exact(Game(2, 3), algorithm="rm")
    with pytest.raises(InputError, match="threads 0"):
        solve_exact(Game(2, 3), threads=0)


def test_the_smallest_game_is_solved_without_compilation():
    code = (
        "from solver.cfr import solve_exact, strategy_of\n"
        "from solver.rules import Game\n"
        "found = solve_exact(Game(2, 3), iterations=60)\n"
        "strategy_of(found)\n"
        "print(repr(found.exploitability))\n"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    compiled = solve_exact(Game(2, 3), iterations=60).exploitability
    assert float(run.stdout) == pytest.approx(compiled, abs=1e-15)


@pytest.mark.parametrize("algorithm", ["pcfr+", "cfr+"])
def test_threads_do_not_change_a_bit(algorithm, monkeypatch):
    monkeypatch.setattr("solver.cfr.solver.THREADED_WORK", 0)
    monkeypatch.setattr("solver.tree.flat.BATCH_CELLS", 200)
    game = Game(4, 6)
    alone = solve_exact(game, algorithm=algorithm, iterations=30)
    for threads in (2, 3):
        solver = ExactSolver(game, algorithm=algorithm, threads=threads)
        assert len(solver._shares) == threads
        together = solve_exact(game, algorithm=algorithm, iterations=30, threads=threads)
        assert together.exploitability == alone.exploitability
        for name, array in alone.state.items():
            assert np.array_equal(together.state[name], array), name


def test_a_solve_goes_on_from_any_checkpoint_to_the_same_end():
    game = Game(3, 6)
    states = []
    whole = solve_exact(
        game,
        target=1e-4,
        checkpoint=lambda state, seconds: states.append((state, seconds)),
        checkpoint_seconds=0.0,
    )
    assert len(states) > 2
    assert all(seconds > 0 for _, seconds in states)
    for state, _ in (states[0], states[len(states) // 2], states[-1]):
        rest = solve_exact(game, target=1e-4, state=state)
        assert (rest.iterations, rest.exploitability) == (whole.iterations, whole.exploitability)
        assert all(np.array_equal(rest.state[name], whole.state[name]) for name in whole.state)


def test_a_target_of_zero_can_be_reached():
    assert solve_exact(Game(2, 2), target=0.0, iterations=500).iterations == 8


def test_a_solve_that_had_come_to_its_end_stays_there():
    whole = solve_exact(Game(3, 6), target=1e-3)
    assert solve_exact(Game(3, 6), target=1e-3, state=whole.state).iterations == whole.iterations


@pytest.mark.parametrize("algorithm", ["pcfr+", "dcfr"])
@pytest.mark.parametrize(
    "game",
    [
        Game(3, 6, pulls="tiles"),
        Game(3, 6, pulls="free"),
        Game(3, 5, pulls="free", objective="chips"),
        pytest.param(Game(4, 6, pulls="free"), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_games_with_a_choice_of_payment_are_solved(game, algorithm):
    target = 20 * default_target(game)
    solution = solve_exact(game, algorithm=algorithm, target=target, iterations=20_000)
    assert solution.converged
    judged = exploitability(strategy_of(solution), game)
    assert judged == pytest.approx(solution.exploitability, abs=1e-10)
    widths = np.diff(solution.pay_start)
    assert widths.max() > 1
    sums = np.add.reduceat(solution.pay, solution.pay_start[:-1])
    assert sums == pytest.approx(np.ones(len(widths)))


@pytest.mark.parametrize("game", [Game(3, 6), Game(4, 6), Game(3, 5, pulls="free")], ids=str)
def test_reach_is_that_of_own_play_and_0_only_where_all_is_settled(game):
    solver = ExactSolver(game)
    solver.run(50)
    solution = solver.solution()
    rows = dict(zip(observation_keys(solution.observations).tolist(), range(10**6), strict=False))
    whole = ExactSolver(game, drop_dominated=False, fold_endings=False)
    keys = observation_keys(infostate_observations(whole.tree)[0]).tolist()
    played = whole.average_problem()
    for player in range(2):
        found = side_decisions(whole.tree, player)
        mine = np.array([rows[key] for key in keys[: len(found.row)]])
        del keys[: len(found.row)]
        played.states[player].match[found.row] = solution.match[mine]
        played.setups[player].prob[:] = solution.setup_probs[whole.tree.root_setup]
        if game.pulls != "latest":
            ways = [solution.pay[solution.pay_start[i] : solution.pay_start[i + 1]] for i in mine]
            played.states[player].pay[:] = np.concatenate(ways)[found.pay_row >= 0]
        reach = average_reach(played, whole.tree, player, found)
        ours = solution.reach[mine]
        assert reach[ours > 0] == pytest.approx(ours[ours > 0], abs=1e-12)
        assert ((reach > 1e-9) & (ours == 0)).mean() < 0.2
