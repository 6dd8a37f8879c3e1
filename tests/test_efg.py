"""The exported extensive form, read and judged by OpenSpiel."""

import numpy as np
import pyspiel
import pytest
from random_strategies import all_keys

from solver.efg import efg_lines
from solver.judge import best_response, exploitability
from solver.rules import Game, InputError
from solver.strategy import EXACT, make_strategy


def load(game, folder):
    file = folder / "game.efg"
    file.write_text("".join(line + "\n" for line in efg_lines(game)))
    return pyspiel.load_game(f"efg_game(filename={file})")


def uniform(game):
    """Return the strategy that takes every action with the same probability."""
    keys, ways = all_keys(game)
    ways = np.array(ways)
    return make_strategy(
        game.num_tiles,
        game.num_chips,
        game.is_win,
        pulls=game.pulls_code,
        decision_kind=EXACT,
        keys=keys,
        match=ways / (ways + 1),
        pay_start=np.concatenate([[0], np.cumsum(ways)]),
        pay=np.repeat(1 / ways, ways),
    )


@pytest.mark.parametrize("pulls", ["latest", "tiles", "free"])
@pytest.mark.parametrize(("name", "objective"), [("2x5", "win"), ("3x5", "chips")])
def test_openspiel_and_the_judge_agree_on_the_uniform_policy(name, objective, pulls, tmp_path):
    game = Game.parse(name, pulls=pulls, objective=objective)
    read = load(game, tmp_path)
    found = pyspiel.exploitability(read, pyspiel.UniformRandomPolicy(read))
    assert found == pytest.approx(exploitability(uniform(game), game), abs=1e-12)


@pytest.mark.parametrize(("game", "value"), [(Game(2, 3), 0.5), (Game(3, 6), 0.6)])
def test_uniform_policy_is_as_exploitable_as_by_hand_when_read_by_openspiel(game, value, tmp_path):
    policy = pyspiel.UniformRandomPolicy(load(game, tmp_path))
    assert pyspiel.exploitability(load(game, tmp_path), policy) == pytest.approx(value, abs=1e-12)


def test_ends_and_infostates_have_the_known_counts_at_3x6(tmp_path):
    lines = list(efg_lines(Game(3, 6)))
    ends = [line for line in lines if line.startswith("t ")]
    infostates = {tuple(line.split(maxsplit=4)[2:4]) for line in lines if line.startswith("p ")}
    assert len(ends) == 15_380
    assert len(infostates) == 7_120 + 2  # and the two setups


@pytest.mark.slow
def test_infostates_tell_apart_payments_that_leave_the_same_chips():
    """As in the judge, whose private states are setups with all payments so far."""
    game = Game(4, 6, pulls="tiles")
    lines = (line for line in efg_lines(game) if line.startswith("p "))
    infostates = {tuple(line.split(maxsplit=4)[2:4]) for line in lines}
    decisions = [
        best_response(make_strategy(4, 6, True), game, seat=s).num_infostates for s in (0, 1)
    ]
    assert len(infostates) == sum(decisions) + 2


def test_chips_are_payoffs_when_asked_for():
    lines = [line for line in efg_lines(Game(2, 3, objective="chips")) if line.startswith("t ")]
    payoffs = {line[line.index("{") :] for line in lines}
    assert "{ 3 -3 }" in payoffs


def test_payments_are_actions_named_as_in_the_notation():
    actions = set()
    for line in efg_lines(Game(3, 5, pulls="free")):
        if '"fold"' in line:
            actions.add(line[line.index("{") + 2 : line.index("}") - 1])
    assert '"fold" "match@2-1"' in actions
    assert '"fold" "match@3-1" "match@2-1"' in actions
    assert '"fold" "match@" "match@3-1"' in actions
    with_tiles = "".join(efg_lines(Game(3, 5, pulls="tiles")))
    assert '"match@3-1" "match@2-1"' in with_tiles
    assert '"match@" "match@3-1"' not in with_tiles


def test_large_games_are_refused():
    with pytest.raises(InputError, match=r"10x30.*too many"):
        efg_lines(Game(10, 30))
