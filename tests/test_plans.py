"""Plans: what they place, what they place together, and how they are drawn and changed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from solver.memoryless import memoryless_prob, row_offsets
from solver.plans import (
    PINNED,
    change_plan,
    conform,
    draw_plan,
    fixed_plan,
    lay_plan,
    list_plans,
    merged_plan,
    pinned_plan,
    project_plans,
)
from solver.rules import Game
from solver.setups import NOTHING_PLACED, OPEN, PartialSetup, draw_setup, list_setups


def setups_of(chips, turns):
    """Return the setups of a plan as pairs of tuples, all equally likely: by permuting turns."""
    free = [turn for turn in sorted(set(turns)) if turn < PINNED]
    groups = [[tile for tile in range(len(chips)) if turns[tile] == turn] for turn in free]
    orders = itertools.product(*(itertools.permutations(group) for group in groups))
    found = []
    for order in orders:
        placed = list(itertools.chain(*order))
        for slot, tile in sorted((turn - PINNED, t) for t, turn in enumerate(turns)):
            if slot >= 0:
                placed.insert(slot, tile)
        found.append(tuple(placed))
    return [(order, tuple(int(chips[tile]) for tile in order)) for order in found]


@pytest.mark.parametrize(
    ("chips", "turns"),
    [
        ([1, 5, 1, 1], [0, 0, 0, 0]),
        ([2, 1, 4, 1], [1, 0, 1, 0]),
        ([1, 2, 3, 2], [3, 1, 0, 2]),
        ([1, 2, 4, 1], [0, PINNED + 1, 0, 0]),
        ([1, 2, 4, 1], [1, PINNED + 3, PINNED + 1, 0]),
        ([1, 2, 4, 1], [PINNED + 2, PINNED + 3, PINNED, PINNED + 1]),
    ],
)
def test_setups_of_a_plan_are_equally_likely(chips, turns):
    wanted = setups_of(chips, turns)
    rng = np.random.default_rng(1)
    tiles, stacks = np.zeros(4, np.int64), np.zeros(4, np.int64)
    counts = dict.fromkeys(wanted, 0)
    for _ in range(200 * len(wanted)):
        lay_plan(np.array(chips), np.array(turns), rng.random(4), tiles, stacks)
        counts[tuple(tiles.tolist()), tuple(stacks.tolist())] += 1
    assert len(counts) == len(wanted)
    assert len(wanted) == 1 or chisquare(list(counts.values())).pvalue > 0.001


def test_model_of_one_plan_in_random_order_is_the_plan():
    game = Game(4, 8)
    chips, turns = np.array([[1, 5, 1, 1]]), np.zeros((1, 4), np.int64)
    offsets, size = row_offsets(4, 8)
    sums = project_plans(chips, turns, np.ones(1), offsets, size)
    starts = np.sort(offsets[offsets >= 0])
    totals = np.repeat(np.add.reduceat(sums, starts), np.diff(np.append(starts, size)))
    model = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
    wanted = setups_of(chips[0], turns[0])
    for tiles, stacks in zip(*list_setups(game), strict=True):
        is_laid = (tuple(tiles.tolist()), tuple(stacks.tolist())) in wanted
        found = memoryless_prob(model, offsets, tiles, stacks)
        assert found == pytest.approx(is_laid / math.factorial(4))


def test_model_of_many_plans_counts_how_often_each_state_is_come_through():
    """Against counting every setup of every plan, slot by slot."""
    rng = np.random.default_rng(2)
    game = Game(5, 9)
    plans = [draw_plan(game, rng) for _ in range(20)]
    weights = rng.random(20)
    offsets, size = row_offsets(5, 9)
    wanted = np.zeros(size)
    for (chips, turns), weight in zip(plans, weights, strict=True):
        setups = setups_of(chips, turns)
        for tiles, stacks in setups:
            left, chips_left = list(range(5)), 9
            for tile, stack in list(zip(tiles, stacks, strict=True))[:-1]:
                row = offsets[sum(1 << t for t in left), chips_left]
                width = chips_left - len(left) + 1
                wanted[row + left.index(tile) * width + stack - 1] += weight / len(setups)
                left.remove(tile)
                chips_left -= stack
    all_chips, all_turns = (np.array(column) for column in zip(*plans, strict=True))
    found = project_plans(all_chips, all_turns, weights, offsets, size)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("name", ["1x1", "2x3", "3x6", "4x6"])
def test_listed_plans_lay_the_listed_setups(name):
    game = Game.parse(name)
    luck = np.random.default_rng(3).random(game.num_tiles)
    tiles, stacks = np.zeros(game.num_tiles, np.int64), np.zeros(game.num_tiles, np.int64)
    rows = zip(*list_plans(game), *list_setups(game), strict=True)
    for chips, turns, wanted_tiles, wanted_stacks in rows:
        lay_plan(chips, turns, luck, tiles, stacks)
        np.testing.assert_array_equal(tiles, wanted_tiles)
        np.testing.assert_array_equal(stacks, wanted_stacks)


@given(st.integers(1, 12), st.integers(0, 25), st.integers(0, 2**32))
@settings(deadline=None, max_examples=80)
def test_drawn_and_changed_plans_are_plans(n, spare, seed):
    game = Game(n, n + spare)
    rng = np.random.default_rng(seed)
    chips, turns = draw_plan(game, rng)
    for _ in range(20):
        assert chips.min() >= 1
        assert chips.sum() == game.num_chips
        free, pinned = turns[turns < PINNED], turns[turns >= PINNED]
        assert set(free.tolist()) == set(range(int(free.max(initial=-1)) + 1))
        assert len(set(pinned.tolist())) == len(pinned)
        assert pinned.max(initial=0) < PINNED + n
        kept = chips.copy(), turns.copy()
        next_chips, next_turns = change_plan(chips, turns, rng)
        np.testing.assert_array_equal(chips, kept[0])
        np.testing.assert_array_equal(turns, kept[1])
        chips, turns = next_chips, next_turns


def test_wider_forms_of_a_plan_keep_its_tall_stacks():
    """3:1 4:1 | 1:5 | 2:1 0:1, a plan of one setup, in its three forms."""
    chips, turns = np.array([1, 5, 1, 1, 1]), np.array([4, 2, 3, 0, 1])
    rng = np.random.default_rng(6)
    for form, wanted in (
        (fixed_plan, [4, 2, 3, 0, 1]),
        (merged_plan, [2, 1, 2, 0, 0]),
        (pinned_plan, [0, PINNED + 2, 0, 0, 0]),
    ):
        found_chips, found = form(chips, turns, rng)
        np.testing.assert_array_equal(found_chips, chips)
        assert found.tolist() == wanted


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_conforming_plans_complete_the_board_and_stay_as_they_are(data):
    """The board is a part of a random setup, so that it can be completed."""
    game = Game(6, 14)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    whole = draw_setup(game, rng)
    parts = [
        [part if data.draw(st.booleans()) else None for part in row]
        for row in (whole.tiles, whole.chips)
    ]
    placed = PartialSetup(*(tuple(row) for row in parts)).placed
    plan = draw_plan(game, rng)
    for _ in range(data.draw(st.integers(0, 3))):
        plan = change_plan(*plan, rng)
    before = [part.copy() for part in plan]
    chips, turns = conform(*plan, placed, rng)
    for part, old in zip(plan, before, strict=True):
        np.testing.assert_array_equal(part, old)
    assert chips.sum() == 14
    assert chips.min() >= 1
    pins = turns[turns >= PINNED]
    assert len(set(pins)) == len(pins)
    if placed:
        tiles, stacks = np.zeros(6, np.int64), np.zeros(6, np.int64)
        for _ in range(5):
            lay_plan(chips, turns, rng.random(6), tiles, stacks)
            assert sorted(tiles) == list(range(6))
            assert ((placed.tiles == OPEN) | (placed.tiles == tiles)).all()
            assert ((placed.chips == OPEN) | (placed.chips == stacks)).all()
    again = conform(chips, turns, placed, rng)
    np.testing.assert_array_equal(again[0], chips)
    np.testing.assert_array_equal(again[1], turns)


def test_plans_stay_as_they_are_when_nothing_is_placed():
    rng = np.random.default_rng(1)
    plan = draw_plan(Game(6, 14), rng)
    before = rng.bit_generator.state
    assert conform(*plan, NOTHING_PLACED, rng)[0] is plan[0]
    assert rng.bit_generator.state == before


def test_a_setup_that_completes_the_board_is_kept_when_it_conforms():
    rng = np.random.default_rng(1)
    placed = PartialSetup.parse("?:1,3,?:2,?:1", Game(4, 6)).placed
    plan = np.array([1, 2, 1, 2]), np.array([0, 2, 3, 1])  # 0:1,3:2,1:2,2:1
    for _ in range(20):
        chips, turns = conform(*plan, placed, rng)
        assert chips.tolist() == [1, 2, 1, 2]
        tiles, stacks = np.zeros(4, np.int64), np.zeros(4, np.int64)
        lay_plan(chips, turns, rng.random(4), tiles, stacks)
        assert tiles.tolist() == [0, 3, 1, 2]
