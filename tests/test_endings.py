"""Endings solved anew, held to the judge, to a linear program, and to plain enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from ending_program import Program
from random_situations import some_situations
from random_strategies import random_strategy

from solver.advice import query
from solver.advice.ending import EVENLY, mirrored, possible_states, resolve_decision
from solver.advice.posterior import weigh_setups
from solver.cfr import solve_exact, strategy_of
from solver.endings.blueprint import blueprint_match
from solver.endings.combine import combine, list_roots
from solver.endings.resolve import resolve, spread_range, villain_values
from solver.endings.states import States, merge_states, pack_states, unpack
from solver.endings.tree import build_ending
from solver.judge import best_response, exploitability
from solver.rules import Game, InputError, new_board
from solver.setups import list_setups
from solver.situation import parse_situation
from solver.strategy import match_prob, setup_prob


def keyed(game: Game, seed: int = 0, setups: str = "memoryless"):
    return random_strategy(game, np.random.default_rng(seed), setups, "keyed")


def some_endings(game: Game, first: int, count: int):
    """Return endings with positive reach, the blueprint there and both ranges."""
    strategy = keyed(game)
    roots = [root for root in list_roots(strategy, game, first) if root.ranges[0].sum() > 0.0]
    rng = np.random.default_rng(3)
    found = []
    for number in rng.permutation(len(roots)):
        root = roots[number]
        winnings = tuple(root.board.winnings.tolist())
        slots = game.num_tiles - first
        ending = build_ending(root.cells, slots, winnings, game.num_chips, game.is_win, limit=10**6)
        if ending.num_infos < 6:
            continue
        match = blueprint_match(ending, strategy, root.board, first, 0)
        mine = root.ranges[0] / root.ranges[0].sum()
        found.append((ending, match, mine, spread_range(root.ranges[1], 0.5)))
        if len(found) == count:
            return found
    raise AssertionError("too few endings")


@pytest.mark.parametrize("objective", ["win", "chips"])
@pytest.mark.parametrize("name", ["2x5", "3x6"])
def test_ending_that_is_the_whole_game_has_the_judges_values(name, objective):
    game = Game.parse(name, objective=objective)
    strategy = keyed(game)
    tiles, chips = list_setups(game)
    probs = np.array([setup_prob(strategy, *row) for row in zip(tiles, chips, strict=True)])
    cells, weights = merge_states(States(tiles, chips), probs / probs.sum())
    ending = build_ending(
        (cells, cells), game.num_tiles, (0, 0), game.num_chips, game.is_win, limit=10**6
    )
    for hero in range(2):
        match = blueprint_match(ending, strategy, new_board(game.num_tiles), 0, hero)
        values = villain_values(ending, hero, weights, match)
        judged = best_response(strategy, game, seat=1 - hero).setup_values
        order = np.argsort(pack_states(States(tiles, chips)))
        np.testing.assert_allclose(values, judged[order], atol=1e-12)


def test_cells_say_what_was_packed():
    rng = np.random.default_rng(0)
    states = States(
        np.array([rng.permutation(10)[:4] for _ in range(50)]), rng.integers(1, 30, (50, 4))
    )
    for packed, given in zip(unpack(pack_states(states), 4), states, strict=True):
        np.testing.assert_array_equal(packed, given)


def test_ending_that_needs_more_room_than_allowed_is_not_built():
    cells = pack_states(States(*list_setups(Game(3, 6))))
    assert build_ending((np.sort(cells),) * 2, 3, (0, 0), 6, True, limit=1000) is None


@pytest.mark.parametrize(("game", "first"), [(Game(3, 6), 0), (Game(4, 6), 1), (Game(4, 6), 2)])
def test_resolved_endings_reach_the_linear_programs_optimum_within_its_bounds(game, first):
    for ending, blueprint, mine, theirs in some_endings(game, first, 4):
        found = resolve(ending, 0, (mine, theirs), blueprint, iterations=3000)
        least, _ = Program(ending, 0).solve(mine, theirs, found.before)
        assert found.excess < 2e-3
        assert theirs @ found.after == pytest.approx(least, abs=2e-3)
        assert theirs @ found.before > least - 1e-9


def test_without_the_bound_an_ending_is_solved_further():
    gains = []
    for ending, blueprint, mine, theirs in some_endings(Game(4, 6), 1, 6):
        safe = resolve(ending, 0, (mine, theirs), blueprint, iterations=2000)
        free = resolve(ending, 0, (mine, theirs), blueprint, iterations=2000, penalty=0.0)
        least, _ = Program(ending, 0).solve(mine, theirs, free.before + 10)
        assert theirs @ free.after == pytest.approx(least, abs=2e-3)
        gains.append(free.excess - safe.excess)
    assert max(gains) > 0.01


@pytest.mark.parametrize("setups", ["uniform", "memoryless", "listed"])
def test_strategy_whose_endings_all_stay_is_the_same_strategy(setups):
    game = Game(3, 6)
    strategy = keyed(game, setups=setups)
    same = combine(strategy, game, 1, least_reach=2.0)
    assert same.num_taken == 0
    assert exploitability(same.strategy, game) == pytest.approx(exploitability(strategy, game))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("objective", ["win", "chips"])
def test_exploitability_falls_when_endings_are_resolved(first, objective):
    game = Game(3, 6, objective=objective)
    strategy = keyed(game)
    combined = combine(strategy, game, first, iterations=1000)
    before, after = exploitability(strategy, game), exploitability(combined.strategy, game)
    assert combined.num_taken > 0.9 * combined.num_endings
    assert after < before - 0.01


def test_endings_of_a_random_table_lower_exploitability_of_4x6():
    game = Game(4, 6)
    strategy = keyed(game, seed=5)
    combined = combine(strategy, game, 1, iterations=300)
    assert exploitability(combined.strategy, game) < exploitability(strategy, game) - 0.01


def test_combining_refuses_endings_that_do_not_fit():
    game = Game(5, 6)
    with pytest.raises(InputError, match="endings of 5 slots"):
        combine(keyed(game), game, 0)


@pytest.mark.parametrize("game", [Game(3, 6), Game(4, 6)])
def test_mirrored_situation_is_the_same_game_from_the_other_side(game):
    for situation in some_situations(game, keyed(game), 30):
        for board, other in zip(situation.boards(), mirrored(situation).boards(), strict=True):
            np.testing.assert_array_equal(board.winnings, other.winnings[::-1])
            np.testing.assert_array_equal(board.pulled, other.pulled[::-1])
            np.testing.assert_array_equal(board.shown, other.shown)
        slot = situation.slot
        np.testing.assert_array_equal(board.chips[:, : slot + 1], other.chips[::-1, : slot + 1])
        np.testing.assert_array_equal(board.chips.sum(axis=1), other.chips.sum(axis=1)[::-1])


def test_possible_states_are_those_of_all_setups_that_fit():
    game = Game(4, 7)
    tiles, chips = list_setups(game)
    for situation in some_situations(game, keyed(game), 40):
        held = weigh_setups(situation, None, tiles, chips, np.ones(len(tiles)))
        states = States(held.tiles[:, situation.slot :], held.chips[:, situation.slot :])
        expected, _ = merge_states(states, held.weights)
        found = np.sort(pack_states(possible_states(situation)))
        np.testing.assert_array_equal(found, expected)


def test_decision_of_a_situation_is_that_of_the_strategy_with_all_endings_resolved():
    game = Game(3, 6)
    strategy = keyed(game, setups="uniform")
    combined = combine(strategy, game, 0, iterations=1000, evenly=EVENLY)
    compared = 0
    for situation in some_situations(game, strategy, 25):
        found, note = resolve_decision(strategy, situation, game)
        if found is None:
            assert note == "ending not re-solved: the game is decided already"
            continue
        compared += 1
        assert note == "ending re-solved from slot 1"
        prob, _ = match_prob(combined.strategy, situation.board(), situation.slot, 0)
        assert found.match == pytest.approx(prob, abs=1e-9)
        assert found.value >= found.table_value - 2e-3
        assert found.excess <= 2e-3
    assert compared > 10


def test_ending_that_is_not_safe_is_left_to_the_table(monkeypatch):
    monkeypatch.setattr("solver.advice.ending.MOST_EXCESS", -10.0)
    game = Game(3, 6)
    situation = parse_situation(game, me="0:1,2:4,1:1", facing="w3")
    found, note = resolve_decision(keyed(game), situation, game)
    assert found is None
    assert "not solved sharply enough" in note


def test_ending_that_is_too_large_is_left_to_the_table(monkeypatch):
    monkeypatch.setattr("solver.advice.ending.MOST_STATES", 1)
    game = Game(3, 6)
    situation = parse_situation(game, me="0:1,2:4,1:1", facing="w3")
    assert resolve_decision(keyed(game), situation, game) == (
        None,
        "ending not re-solved: its tree is too large",
    )


def test_query_keeps_its_values_and_tells_the_resolved_decision_beside_them():
    game = Game(4, 6)
    strategy = keyed(game)
    num_resolved = 0
    for situation in some_situations(game, strategy, 6):
        plain = query(strategy, situation, game).to_json()
        resolved = query(strategy, situation, game, is_resolving=True).to_json()
        play = resolved.pop("resolved", None)
        method = plain.pop("method")
        if play is not None:
            num_resolved += 1
            method += f"; ending re-solved from slot {play['from_slot']}"
            assert play["fold"] + play["match"] == pytest.approx(1.0)
        assert resolved.pop("method") == method
        assert resolved == plain
    assert num_resolved > 2


def test_exact_tables_and_slots_without_a_choice_are_not_resolved():
    game = Game(3, 6)
    exact = strategy_of(solve_exact(game, target=0.05))
    choice = parse_situation(game, me="0:1,2:4,1:1", facing="w3")
    assert resolve_decision(exact, choice, game) == (None, "")
    decided = parse_situation(game, me="2:2,1:3,0:1", history="b2=0 w1f", facing="b3")
    note = "ending not re-solved: the game is decided already"
    assert resolve_decision(keyed(game), decided, game) == (None, note)
    equal = parse_situation(game, me="0:1,2:4,1:1", facing="w1")
    assert resolve_decision(keyed(game), equal, game) == (None, "")


def test_walk_counts_every_meeting_that_is_not_decided():
    game = Game(3, 4)
    roots = list(list_roots(keyed(game, setups="uniform"), game, 0))
    looks = {(int(c[0]), int(t[0]) % 2) for t, c in zip(*list_setups(game), strict=True)}
    assert len(roots) == len(looks) ** 2
    assert sum(root.ranges[0].sum() for root in roots) == pytest.approx(len(looks))
