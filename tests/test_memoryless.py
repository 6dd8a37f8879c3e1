"""The memoryless family of setup strategies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from random_strategies import memoryless_setups
from scipy.stats import chisquare

from solver.memoryless import (
    condition_model,
    count_entries,
    draw_memoryless,
    memoryless_prob,
    rank_of,
    row_offsets,
    uniform_model,
)
from solver.rules import Game
from solver.setups import (
    PartialSetup,
    Setup,
    count_setups,
    encode_setup,
    list_completions,
    list_setups,
)


def probabilities(model: np.ndarray, offsets: np.ndarray, game: Game) -> np.ndarray:
    """Return the probability of every setup."""
    listed = zip(*list_setups(game), strict=True)
    return np.array([memoryless_prob(model, offsets, tiles, chips) for tiles, chips in listed])


@pytest.mark.parametrize("name", ["1x3", "2x2", "2x5", "3x6", "4x8"])
def test_probabilities_sum_to_1_over_all_setups(name):
    game = Game.parse(name)
    parts = memoryless_setups(game, np.random.default_rng(1))
    probs = probabilities(parts["model"], parts["offsets"], game)
    assert probs.sum() == pytest.approx(1.0, abs=1e-6)  # numbers are stored in 32 bits
    assert (probs >= 0).all()


@pytest.mark.parametrize("name", ["1x3", "3x3", "3x6", "5x8"])
def test_length_is_counted_without_building(name):
    game = Game.parse(name)
    assert row_offsets(game.num_tiles, game.num_chips)[1] == count_entries(
        game.num_tiles, game.num_chips
    )


def test_draws_match_probabilities():
    game = Game(4, 8)
    parts = memoryless_setups(game, np.random.default_rng(2))
    probs = probabilities(parts["model"], parts["offsets"], game)
    rng = np.random.default_rng(3)
    tiles, chips = np.zeros(4, np.int64), np.zeros(4, np.int64)
    num_draws = 40_000
    counts = np.zeros(count_setups(game))
    for _ in range(num_draws):
        draw_memoryless(parts["model"], parts["offsets"], rng, tiles, chips)
        counts[encode_setup(Setup(tuple(tiles.tolist()), tuple(chips.tolist())), game)] += 1
    frequent = probs * num_draws >= 5
    observed = np.append(counts[frequent], counts[~frequent].sum())
    expected = np.append(probs[frequent], probs[~frequent].sum())
    expected *= num_draws / expected.sum()
    assert chisquare(observed, expected).pvalue > 0.01


def test_uniform_model_gives_equal_entries_not_equal_setups():
    model = uniform_model(3, 6)
    offsets, size = row_offsets(3, 6)
    assert len(model) == size
    first = memoryless_prob(model, offsets, np.array([0, 1, 2]), np.array([1, 1, 4]))
    assert first == pytest.approx(1 / 12 / 8)  # 3 tiles x 4 stacks, then 2 x 4
    second = memoryless_prob(model, offsets, np.array([0, 1, 2]), np.array([4, 1, 1]))
    assert second == pytest.approx(1 / 12 / 2)


def test_zero_entries_are_never_drawn():
    game = Game(3, 6)
    offsets, size = row_offsets(3, 6)
    model = np.zeros(size, np.float32)
    starts = np.append(np.sort(offsets[offsets >= 0]), size)
    for start, end in itertools.pairwise(starts):
        model[start + (end - start) // 2] = 0.6  # a sum far short of 1, worse than any rounding
    rng = np.random.default_rng(4)
    probs = probabilities(model, offsets, game)
    for _ in range(200):
        tiles, chips = np.zeros(3, np.int64), np.zeros(3, np.int64)
        draw_memoryless(model, offsets, rng, tiles, chips)
        setup = Setup(tuple(tiles.tolist()), tuple(chips.tolist()))
        assert probs[encode_setup(setup, game)] > 0


@pytest.mark.parametrize("text", ["2", "?:3", "?,1:2", "?,?,0:?,?:1", "3,1,0,2", "0:1,2:2,3:1,1:4"])
def test_entries_that_fit_a_board_are_those_that_completions_come_through(text):
    """And in rows that none comes through, those after which the rest can be completed."""
    game = Game(4, 8)
    offsets, size = row_offsets(4, 8)
    placed = PartialSetup.parse(text, game).placed
    fits = condition_model(uniform_model(4, 8), offsets, *placed)[0] > 0
    passed = np.zeros(size, bool)
    for tiles, chips in zip(*list_completions(game, placed), strict=True):
        mask, left = 15, 8
        for slot in range(3):
            width = left - (4 - slot) + 1
            entry = offsets[mask, left] + rank_of(mask, tiles[slot]) * width + chips[slot] - 1
            passed[entry] = True
            mask ^= 1 << tiles[slot]
            left -= chips[slot]
    assert fits[passed].all()
    starts = np.sort(offsets[offsets >= 0])
    is_reached = np.repeat(np.logical_or.reduceat(passed, starts), np.diff(np.append(starts, size)))
    np.testing.assert_array_equal(fits[is_reached], passed[is_reached])
