"""The public tree: its size, what its infostates see, and that no reduction changes a value."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from bridge import all_infostates, board_of, key_of
from random_strategies import random_strategy

from solver.cfr import ExactSolver, best_response_values, strategy_of
from solver.infostate import observe
from solver.judge import exploitability
from solver.rules import (
    CHOICE,
    SHOW,
    Game,
    InputError,
    classify,
    is_decided,
    new_board,
    pull_latest,
    settle,
)
from solver.setups import draw_uniform, list_setups
from solver.strategy import Strategy, last_slot_choice, match_prob, observation_keys
from solver.tree import PublicTree, build_tree
from solver.tree.count import estimate_exact
from solver.tree.parts import decode, encode, make_codec
from solver.tree.view import infostate_observations, tree_bytes

REDUCTIONS = ("merge", "stop_when_decided", "solve_open_endings", "one_strategy")
GAMES = [("2x3", "win"), ("2x5", "chips"), ("3x5", "win"), ("3x5", "chips"), ("3x6", "win")]


# Counts


@pytest.mark.parametrize(
    ("name", "nodes", "infostates"),
    [("3x6", 16_923, 7_120), ("4x6", 271_569, 98_388)],
)
def test_counts_before_any_reduction(name, nodes, infostates):
    tree = build_tree(Game.parse(name), **dict.fromkeys(REDUCTIONS, False))
    assert (tree.num_nodes, tree.num_infostates) == (nodes, infostates)


@pytest.mark.parametrize(
    ("name", "nodes", "infostates"),
    [("3x6", 8_289, 3_520), ("4x6", 132_509, 46_736)],
)
def test_counts_when_reduced_but_for_one_strategy(name, nodes, infostates):
    tree = build_tree(Game.parse(name), one_strategy=False)
    assert (tree.num_nodes, tree.num_infostates) == (nodes, infostates)
    assert tree.num_side_infostates[0] == tree.num_side_infostates[1]


@pytest.mark.slow
def test_counts_of_a_larger_game_when_reduced():
    tree = build_tree(Game(4, 8), one_strategy=False)
    assert (tree.num_nodes, tree.num_infostates) == (1_879_061, 791_312)


@pytest.mark.parametrize("name", ["2x2", "2x5", "3x3", "3x6", "4x6"])
def test_one_strategy_has_half_of_the_infostates(name):
    game = Game.parse(name)
    whole = build_tree(game, one_strategy=False)
    assert 2 * build_tree(game).num_infostates == whole.num_infostates


@pytest.mark.parametrize("objective", ["win", "chips"])
@pytest.mark.parametrize("name", ["1x1", "1x7", "2x2", "4x4"])
def test_no_decisions_when_stacks_are_always_equal(name, objective):
    game = Game.parse(name, objective=objective)
    assert build_tree(game).num_infostates == 0
    solver = ExactSolver(game)
    solver.run(3)
    assert solver.exploitability() == pytest.approx(0.0, abs=1e-12)  # no setup beats another


def test_trees_that_cannot_be_listed_are_refused():
    with pytest.raises(InputError, match=r"10x30.*2,000,000"):
        build_tree(Game(10, 30))
    with pytest.raises(InputError, match="latest"):
        build_tree(Game(3, 6, pulls="free"))


# Codes


def test_codes_keep_arrangements_and_their_order():
    game = Game(4, 7)
    codec = make_codec(4, 7, 1)
    tiles, chips = list_setups(game)
    codes = [encode(codec, 0, row, tiles, chips, 0) for row in range(len(tiles))]
    assert len(set(codes)) == len(codes)
    back_tiles, back_chips = np.zeros((1, 4), np.int64), np.zeros((1, 4), np.int64)
    for row in range(0, len(codes), 7):
        decode(codec, codes[row], 0, 0, back_tiles, back_chips)
        assert (back_tiles[0] == tiles[row]).all()
        assert (back_chips[0] == chips[row]).all()
    looks = [(t[0] % 2, c[0], t[0]) for t, c in zip(tiles, chips, strict=True)]
    assert [looks[row] for row in np.argsort(codes)] == sorted(looks)


# What infostates see


def decisions_met(game: Game) -> set[bytes]:
    """Return the observations at all decisions, by playing all setups and actions.

    Left out are decided games, and last slots in which both sides' tiles are certain.
    """
    n = game.num_tiles
    met = set()
    observation = np.zeros((n, 4), np.int64)
    tiles, chips = list_setups(game)
    for mine, theirs in product(range(len(tiles)), repeat=2):
        for actions in product((0, 1), repeat=n):
            board = new_board(n)
            board.tiles[:] = tiles[mine], tiles[theirs]
            board.chips[:] = chips[mine], chips[theirs]
            for slot in range(n):
                if game.is_win and is_decided(*board.winnings, game.num_chips):
                    break
                kind, player = classify(board, slot)
                certain = all(
                    last_slot_choice(board, slot, p, game.num_chips, game.is_win) >= 0
                    for p in (0, 1)
                )
                if kind == CHOICE and not certain:
                    observe(board, slot, player, observation)
                    met.add(observation.astype(np.int16).tobytes())
                if kind == CHOICE and actions[slot]:
                    pull_latest(board, player, slot)
                    settle(board, slot, -1)
                else:
                    settle(board, slot, -1 if kind == SHOW else player)
    return met


@pytest.mark.parametrize(("name", "objective"), [("2x4", "win"), ("3x4", "win"), ("3x4", "chips")])
def test_infostates_are_those_met_in_play(name, objective):
    game = Game.parse(name, objective=objective)
    observations, _ = infostate_observations(build_tree(game))
    seen = [row.tobytes() for row in observations]
    assert len(set(seen)) == len(seen)
    assert set(seen) == decisions_met(game)


@pytest.mark.parametrize("name", ["3x6", "4x6"])
def test_every_decision_is_in_the_table_or_is_an_ending_when_played_at_random(name):
    game = Game.parse(name)
    solver = ExactSolver(game)
    solver.run(2)
    strategy = strategy_of(solver.solution())
    rng = np.random.default_rng(8)
    found = np.zeros(4, np.int64)
    for _ in range(3000):
        board = new_board(game.num_tiles)
        for player in (0, 1):
            draw_uniform(rng, game.num_chips, board.tiles[player], board.chips[player])
        for slot in range(game.num_tiles):
            kind, player = classify(board, slot)
            matches = False
            if kind == CHOICE:
                found[match_prob(strategy, board, slot, player)[1]] += 1
                matches = rng.random() < 0.5
            if matches:
                pull_latest(board, player, slot)
            settle(board, slot, -1 if kind == SHOW or matches else player)
    assert found[0] > 1000
    assert found[1] > 100
    assert found[2:].sum() == 0


def test_slots_of_infostates_are_those_they_decide():
    observations, slots = infostate_observations(build_tree(Game(4, 6)))
    faced = (observations[:, :, 2] != -3).sum(axis=1)
    assert (faced == slots + 1).all()


# Reductions


@cache
def infostates_of(game: Game) -> dict[int, object]:
    return {key_of(info): info for player in (0, 1) for info in all_infostates(game, player)}


def lifted_exploitability(tree: PublicTree, strategy: Strategy) -> tuple[float, float]:
    """Return what best responses in a tree earn against a strategy in both seats."""
    observations, _ = infostate_observations(tree)
    infos = infostates_of(tree.game)
    match = np.zeros(len(observations))
    for row, key in enumerate(observation_keys(observations)):
        info = infos[int(key)]
        match[row] = match_prob(strategy, board_of(info), len(info.slots), info.player)[0]
    split = tree.num_side_infostates[0]
    tiles, chips = list_setups(tree.game)
    cumulative = dict(
        zip(
            map(tuple, np.hstack([strategy.setup_tiles, strategy.setup_chips]).tolist()),
            np.diff(strategy.setup_cumulative, prepend=0.0),
            strict=True,
        )
    )
    probs = np.array(
        [cumulative.get(tuple(row), 0.0) for row in np.hstack([tiles, chips]).tolist()]
    )
    return best_response_values(tree, (probs, probs), (match[:split], match[split:]))


@pytest.mark.parametrize(("name", "objective"), GAMES)
def test_no_reduction_changes_exploitability_when_a_random_strategy_is_judged(name, objective):
    game = Game.parse(name, objective=objective)
    observations, _ = infostate_observations(build_tree(game))
    rng = np.random.default_rng(2)
    strategy = random_strategy(game, rng, "listed", "exact")
    keys = np.sort(observation_keys(observations))  # the rest are endings, played as computed
    strategy = strategy._replace(keys=keys, match=rng.random(len(keys)))
    truth = exploitability(strategy, game)
    for off in [(), *((name,) for name in REDUCTIONS), REDUCTIONS]:
        tree = build_tree(game, **dict.fromkeys(off, False))
        assert lifted_exploitability(tree, strategy) == pytest.approx((truth, truth), abs=1e-10), (
            off
        )


@pytest.mark.parametrize(("name", "value"), [("2x3", 0.5), ("3x6", 0.6)])
def test_best_response_to_the_random_bot_is_the_known_value(name, value):
    tree = build_tree(Game.parse(name), stop_when_decided=False, solve_open_endings=False)
    probs = np.full(tree.num_setups, 1 / tree.num_setups)
    num0, num1 = tree.num_side_infostates
    values = best_response_values(tree, (probs, probs), (np.full(num0, 0.5), np.full(num1, 0.5)))
    assert values == pytest.approx((value, value), abs=1e-12)


# Estimates


@pytest.mark.parametrize("name", ["1x1", "2x3", "3x6", "4x6"])
@pytest.mark.parametrize("objective", ["win", "chips"])
def test_estimate_is_exact_when_the_game_is_small(name, objective):
    game = Game.parse(name, objective=objective)
    tree = build_tree(game)
    size = estimate_exact(game)
    assert size.kind == "exact"
    assert size.num_setups == tree.num_setups
    assert (size.num_nodes, size.num_infostates) == (tree.num_nodes, tree.num_infostates)
    solver = ExactSolver(game)
    held = tree_bytes(tree) + solver.num_bytes
    assert size.num_bytes == pytest.approx(held, rel=0.1, abs=1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "nodes", "infostates"),
    [("4x10", 11_501_629, 5_143_976), ("5x8", 47_443_441, 17_471_214)],
)
def test_estimate_is_close_when_it_samples(name, nodes, infostates):
    for seed in range(3):
        size = estimate_exact(Game.parse(name), seed=seed)
        assert size.kind == "sampled"
        assert size.num_nodes == pytest.approx(nodes / 2, rel=0.05)
        assert size.num_infostates == pytest.approx(infostates / 2, rel=0.05)


def test_estimate_is_close_when_even_a_small_game_is_sampled(monkeypatch):
    monkeypatch.setattr("solver.tree.count._SAMPLE_CELLS", 2000)
    size = estimate_exact(Game(4, 6), seed=1)
    assert size.kind == "sampled"
    assert size.num_nodes == pytest.approx(132_509 / 2, rel=0.1)
    assert size.num_infostates == pytest.approx(46_736 / 2, rel=0.1)


def test_estimate_is_a_lower_bound_when_setups_cannot_be_listed(monkeypatch):
    size = estimate_exact(Game(10, 30))
    assert size.kind == "lower bound"
    assert size.num_setups == 36_342_450_144_000
    assert size.num_bytes > 10**15
    monkeypatch.setattr("solver.tree.count.MAX_SAMPLED_SETUPS", 0)
    tree = build_tree(Game(4, 6))
    first = sum(int(side.info_start[1]) for side in tree.arrays.sides)
    assert estimate_exact(Game(4, 6)).num_infostates == first


def test_estimate_is_refused_when_pulls_are_not_latest():
    with pytest.raises(InputError, match="latest"):
        estimate_exact(Game(3, 6, pulls="tiles"))
