"""Completing half-placed boards from a strategy, against listing every setup."""

from itertools import permutations

import numpy as np
import pytest

from solver.completion import complete_from_strategy
from solver.memoryless import condition_model, memoryless_prob, row_offsets
from solver.rules import Game
from solver.setups import PartialSetup, Setup, list_setups
from solver.strategy import BY_TILE, LISTED, MEMORYLESS, make_strategy

GAME = Game(3, 6)
BOARDS = ["", "?:4", "2", "2:3", "?,1:2", "?,?,0:1", "?:2,?:3,?:1", "0:2,1:3,2:1"]


def random_model(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    offsets, size = row_offsets(GAME.num_tiles, GAME.num_chips)
    model = rng.random(size).astype(np.float32)
    for start in offsets[offsets >= 0]:
        after = offsets[offsets > start]
        end = after.min() if len(after) else size
        model[start:end] /= model[start:end].sum()
    return model, offsets


def fits(setup: Setup, board: PartialSetup) -> bool:
    pairs = zip(board.tiles + board.chips, setup.tiles + setup.chips, strict=True)
    return all(wanted in (None, placed) for wanted, placed in pairs)


@pytest.mark.parametrize("text", BOARDS)
def test_conditioned_model_equals_bayes_over_all_setups(text):
    model, offsets = random_model(1)
    board = PartialSetup.parse(text, GAME)
    tiles, chips = list_setups(GAME)
    before = np.array(
        [memoryless_prob(model, offsets, t, c) for t, c in zip(tiles, chips, strict=True)]
    )
    good = np.array(
        [fits(Setup(tuple(t), tuple(c)), board) for t, c in zip(tiles, chips, strict=True)]
    )
    wanted = np.where(good, before, 0.0) / before[good].sum()

    blank = np.array([-1 if t is None else t for t in board.tiles], np.int64)
    stacks = np.array([-1 if c is None else c for c in board.chips], np.int64)
    given, total = condition_model(model, offsets, blank, stacks)
    after = np.array(
        [memoryless_prob(given, offsets, t, c) for t, c in zip(tiles, chips, strict=True)]
    )

    assert total == pytest.approx(before[good].sum(), rel=1e-5)
    np.testing.assert_allclose(after * good, wanted, atol=1e-6)


@pytest.mark.parametrize("kind", ["uniform", "listed", "memoryless"])
@pytest.mark.parametrize("text", BOARDS)
def test_completions_keep_what_is_placed_for_every_kind_of_setups(kind, text):
    model, offsets = random_model(2)
    tiles, chips = list_setups(GAME)
    parts = {
        "uniform": {},
        "listed": {
            "setup_kind": LISTED,
            "setup_tiles": tiles,
            "setup_chips": chips,
            "setup_cumulative": np.arange(1, len(tiles) + 1) / len(tiles),
        },
        "memoryless": {"setup_kind": MEMORYLESS, "model": model, "offsets": offsets},
    }[kind]
    strategy = make_strategy(3, 6, True, **parts)
    board = PartialSetup.parse(text, GAME)
    drawn = complete_from_strategy(strategy, board, GAME, np.random.default_rng(0), count=50)
    assert drawn.known
    assert len(drawn.setups) == 50
    for setup in drawn.setups:
        assert fits(setup, board)
        assert sorted(setup.tiles) == [0, 1, 2]
        assert sum(setup.chips) == 6
    assert all(prob > 0 for prob in drawn.probabilities)


def test_completions_are_uniform_and_said_to_be_unknown_when_never_placed():
    strategy = make_strategy(
        3,
        6,
        True,
        setup_kind=LISTED,
        setup_tiles=np.array([[0, 1, 2]]),
        setup_chips=np.array([[2, 2, 2]]),
        setup_cumulative=np.array([1.0]),
    )
    board = PartialSetup.parse("2", GAME)
    drawn = complete_from_strategy(strategy, board, GAME, np.random.default_rng(0), count=400)
    assert not drawn.known
    assert set(drawn.probabilities) == {0.0}
    assert len(set(drawn.setups)) == 20


@pytest.mark.parametrize("text", ["", "?:5", "0:1,?:5", "2", "?,?:1", "?:1,?:1,?:5"])
def test_stacks_bound_to_tiles_are_completed_uniformly(text):
    stacks = np.array([1, 1, 5])
    strategy = make_strategy(3, 7, True, setup_kind=BY_TILE, tile_chips=stacks)
    game, board = Game(3, 7), PartialSetup.parse(text, Game(3, 7))
    drawn = complete_from_strategy(strategy, board, game, np.random.default_rng(0), count=600)
    orders = [Setup(o, tuple(int(stacks[t]) for t in o)) for o in permutations(range(3))]
    possible = [setup for setup in orders if fits(setup, board)]
    assert drawn.known
    assert set(drawn.setups) == set(possible)
    for setup in possible:
        assert drawn.setups.count(setup) > 600 / len(possible) * 0.7


def test_stacks_bound_to_tiles_are_unknown_where_they_do_not_fit():
    strategy = make_strategy(3, 7, True, setup_kind=BY_TILE, tile_chips=np.array([1, 1, 5]))
    board = PartialSetup.parse("0:5", Game(3, 7))
    drawn = complete_from_strategy(strategy, board, Game(3, 7), np.random.default_rng(0), count=3)
    assert not drawn.known
