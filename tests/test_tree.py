"""The public tree: its size, what its infostates see, and that no reduction changes a value."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from itertools import product

import numpy as np
import pytest
from bridge import all_infostates, board_of, key_of, payments
from random_strategies import random_strategy

from solver.cfr import ExactSolver, best_response_values, strategy_of
from solver.infostate import observe
from solver.judge import best_response, evaluate, exploitability
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
from solver.strategy import (
    EXACT,
    Strategy,
    last_slot_choice,
    make_strategy,
    match_prob,
    observation_keys,
    pay_probs,
    setup_prob,
)
from solver.tree import PublicTree, build_tree
from solver.tree.count import estimate_exact
from solver.tree.parts import decode, encode, make_codec
from solver.tree.view import infostate_observations, side_decisions

REDUCTIONS = (
    "merge",
    "stop_when_decided",
    "solve_open_endings",
    "one_strategy",
    "drop_dominated",
    "fold_endings",
)
GAMES = [
    Game(2, 3),
    Game(2, 5, objective="chips"),
    Game(3, 5),
    Game(3, 5, objective="chips"),
    Game(3, 6),
    Game(2, 5, pulls="free"),
    Game(3, 5, pulls="tiles"),
    Game(3, 6, pulls="free", objective="chips"),
    Game(3, 5, pulls="free"),
]


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
    pulls = game.pulls_code
    return {key_of(info, pulls): info for player in (0, 1) for info in all_infostates(game, player)}


@cache
def default_infostates(game: Game) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the keys of the decisions that the default tree lists, increasing, and their ways."""
    tree = build_tree(game)
    keys = observation_keys(infostate_observations(tree)[0])
    ways = np.concatenate([np.diff(side_decisions(tree, p).pay_start) for p in (0, 1)])
    order = np.argsort(keys)
    return keys[order], ways[order]


def playing_along(tree: PublicTree, rng: np.random.Generator) -> Strategy:
    """Return a random strategy that plays what the tree settles as settled there.

    It lists the decisions of the default tree; the others are endings, played as computed.
    """
    game = tree.game
    keys, ways = default_infostates(game)
    match = rng.random(len(keys))
    pays = [rng.dirichlet(np.ones(num)) for num in ways]
    tree_keys = observation_keys(infostate_observations(tree)[0])
    first = 0
    for player in range(2):
        found = side_decisions(tree, player)
        for i in np.flatnonzero(found.row < 0):
            place = np.searchsorted(keys, tree_keys[first + i])
            if place < len(keys) and keys[place] == tree_keys[first + i]:
                match[place] = found.match[i]
                pays[place] = found.pay[found.pay_start[i] : found.pay_start[i + 1]]
        first += len(found.row)
    parts = {}
    if game.pulls != "latest":
        parts["pay_start"] = np.concatenate([[0], np.cumsum(ways)])
        parts["pay"] = np.concatenate(pays)
    strategy = random_strategy(game, rng, "listed")
    return strategy._replace(decision_kind=EXACT, keys=keys, match=match, **parts)


def lifted_exploitability(tree: PublicTree, strategy: Strategy) -> tuple[float, float]:
    """Return what best responses in a tree earn against a strategy in both seats."""
    observations, _ = infostate_observations(tree)
    infos = infostates_of(tree.game)
    match, pay = np.zeros(len(observations)), []
    for row, key in enumerate(observation_keys(observations)):
        info = infos[int(key)]
        board, slot = board_of(info), len(info.slots)
        match[row] = match_prob(strategy, board, slot, info.player)[0]
        probs = np.zeros(len(payments(board, slot, info.player, strategy.pulls)))
        pay_probs(strategy, board, slot, info.player, probs)
        pay.append(probs)
    split = tree.num_side_infostates[0]
    tiles, chips = list_setups(tree.game)
    probs = np.array([setup_prob(strategy, t, c) for t, c in zip(tiles, chips, strict=True)])
    pays = [np.concatenate([*part, np.zeros(0)]) for part in (pay[:split], pay[split:])]
    return best_response_values(
        tree, (probs, probs), (match[:split], match[split:]), (pays[0], pays[1])
    )


@pytest.mark.parametrize("off", [(), *((name,) for name in REDUCTIONS), REDUCTIONS])
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_no_reduction_changes_exploitability_when_a_random_strategy_is_judged(game, off):
    tree = build_tree(game, **dict.fromkeys(off, False))
    strategy = playing_along(tree, np.random.default_rng(2))
    truth = exploitability(strategy, game)
    assert truth > 0.01 or game == Game(2, 3)  # where everything is settled
    assert lifted_exploitability(tree, strategy) == pytest.approx((truth, truth), abs=1e-10)


@pytest.mark.parametrize("game", [Game(3, 6), Game(3, 6, objective="chips"), Game(4, 6)], ids=str)
def test_settled_decisions_are_never_worse_whatever_the_opponent_plays(game):
    tree = build_tree(game)
    rng = np.random.default_rng(5)
    strategy = playing_along(tree, rng)
    free_to_err = strategy._replace(match=rng.random(len(strategy.match)))
    for opponent in (random_strategy(game, rng, "listed"), random_strategy(game, rng)):
        settled = np.isin(strategy.keys, settled_keys(tree))
        mended = free_to_err._replace(match=np.where(settled, strategy.match, free_to_err.match))
        assert settled.mean() > 0.2
        before = evaluate(free_to_err, opponent, game).value
        assert evaluate(mended, opponent, game).value > before


def settled_keys(tree: PublicTree) -> np.ndarray:
    keys = observation_keys(infostate_observations(tree)[0])
    rows = np.concatenate([side_decisions(tree, player).row for player in (0, 1)])
    return keys[rows < 0]


def test_open_decisions_are_few_when_dominated_actions_are_dropped():
    tree = build_tree(Game(4, 6))
    assert sum(tree.num_open_infostates) < 0.35 * tree.num_infostates
    whole = build_tree(Game(4, 6), drop_dominated=False)
    assert sum(whole.num_open_infostates) == whole.num_infostates == tree.num_infostates


def test_trees_are_the_same_when_branches_grow_side_by_side():
    one, two = build_tree(Game(4, 6)), build_tree(Game(4, 6), threads=2)
    for left, right in zip(flat_arrays(one), flat_arrays(two), strict=True):
        assert np.array_equal(left, right)


def flat_arrays(tree: PublicTree) -> list[np.ndarray]:
    arrays = tree.arrays
    return [*arrays.sides[0], *arrays.sides[1], *arrays[1:]]


@pytest.mark.parametrize("pulls", [("free", "latest"), ("latest", "tiles")])
def test_seats_may_pay_by_different_rules(pulls):
    game = Game(3, 9)
    off = dict.fromkeys(REDUCTIONS, False)
    tree = build_tree(game, seat_pulls=pulls, **off)
    probs = np.full(tree.num_setups, 1 / tree.num_setups)
    halves = [np.full(num, 0.5) for num in tree.num_side_infostates]
    values = best_response_values(tree, (probs, probs), (halves[0], halves[1]))
    chooser = 1 - pulls.index("latest")
    coin = make_strategy(3, 9, True, match_constant=0.5)  # pays by the default rule
    reply = best_response(coin, game, seat=chooser, pulls=pulls[chooser])
    assert values[chooser] == pytest.approx(reply.value, abs=1e-12)
    with pytest.raises(InputError, match="one strategy"):
        build_tree(game, seat_pulls=pulls)


@pytest.mark.parametrize("name", ["1x3", "2x3", "3x6"])
def test_arrays_are_contiguous_so_that_passes_compile_once(name):
    assert all(array.flags.c_contiguous for array in flat_arrays(build_tree(Game.parse(name))))


@pytest.mark.parametrize(("name", "value"), [("2x3", 0.5), ("3x6", 0.6)])
def test_best_response_to_the_random_bot_is_the_known_value(name, value):
    tree = build_tree(
        Game.parse(name), stop_when_decided=False, solve_open_endings=False, drop_dominated=False
    )
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
    assert size.num_open_infostates >= sum(
        tree.num_open_infostates
    )  # the first slot is not reduced


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "nodes", "infostates"),
    [("4x10", 11_501_629, 5_143_976), ("5x8", 47_443_441, 17_471_214)],
)
def test_estimate_is_close_when_it_samples(name, nodes, infostates):
    for seed in range(3):
        size = estimate_exact(Game.parse(name), seed=seed)
        assert size.kind == "sampled"
        assert size.num_nodes == pytest.approx(nodes / 2, rel=0.15)
        assert size.num_infostates == pytest.approx(infostates / 2, rel=0.15)


def test_estimate_is_close_when_even_a_small_game_is_sampled(monkeypatch):
    monkeypatch.setattr("solver.tree.count._SAMPLE_CELLS", 2000)
    monkeypatch.setattr("solver.tree.count._SAMPLE_NODES", 20_000)
    size = estimate_exact(Game(4, 6), seed=1)
    assert size.kind == "sampled"
    assert size.num_nodes == pytest.approx(132_509 / 2, rel=0.1)
    assert size.num_infostates == pytest.approx(46_736 / 2, rel=0.1)


@pytest.mark.slow
def test_estimate_of_memory_is_right_within_a_fifth():
    code = (
        "import resource\n"
        "from solver.rules import Game\n"
        "from solver.cfr import ExactSolver\n"
        "def run(game, iterations):\n"
        "    solver = ExactSolver(game)\n"
        "    solver.run(iterations)\n"
        "    solver.exploitability()\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = run(Game(3, 6), 2)\n"
        "print(1024 * (run(Game(4, 10), 2) - before))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert estimate_exact(Game(4, 10)).num_bytes == pytest.approx(int(found.stdout), rel=0.2)


def test_estimate_is_a_lower_bound_when_setups_cannot_be_listed(monkeypatch):
    size = estimate_exact(Game(10, 30))
    assert size.kind == "lower bound"
    assert size.num_setups == 36_342_450_144_000
    assert size.num_bytes > 10**15
    monkeypatch.setattr("solver.tree.count.MAX_SAMPLED_SETUPS", 0)
    tree = build_tree(Game(4, 6))
    first = sum(int(r.info_start[p][1]) for r in tree.records for p in (0, 1))
    assert estimate_exact(Game(4, 6)).num_infostates == first
