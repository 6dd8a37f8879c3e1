"""Counting, listing, numbering, drawing and writing setups."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from solver.rules import Game, InputError
from solver.setups import (
    OPEN,
    PartialSetup,
    Setup,
    complete_setup,
    count_completions,
    count_setups,
    decode_setup,
    draw_completion,
    draw_composition,
    draw_order,
    draw_setup,
    draw_uniform,
    encode_setup,
    list_completions,
    list_setups,
)

SIZES = [(1, 1), (1, 5), (2, 2), (2, 3), (3, 6), (4, 6), (4, 8)]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("2x3", 4),
        ("3x6", 60),
        ("4x6", 240),
        ("4x8", 840),
        ("4x10", 2_016),
        ("5x8", 4_200),
        ("10x30", 36_342_450_144_000),
    ],
)
def test_count_is_known(name, count):
    assert count_setups(Game.parse(name)) == count


@pytest.mark.parametrize("size", SIZES)
def test_list_holds_every_setup_in_numbered_order(size):
    game = Game(*size)
    tiles, chips = list_setups(game)
    listed = [(tuple(t), tuple(c)) for t, c in zip(tiles.tolist(), chips.tolist(), strict=True)]
    assert len(listed) == count_setups(game)
    assert listed == sorted(naive.setups(*size))
    for number, setup in enumerate(listed):
        assert encode_setup(Setup(*setup), game) == number
        assert decode_setup(number, game) == Setup(*setup)


@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_numbers_and_texts_round_trip_in_the_full_game(data):
    game = Game(10, 30)
    number = data.draw(st.integers(0, count_setups(game) - 1))
    setup = decode_setup(number, game)
    assert encode_setup(setup, game) == number
    assert Setup.parse(str(setup), game) == setup
    assert sorted(setup.tiles) == list(range(10))
    assert sum(setup.chips) == 30
    assert min(setup.chips) >= 1


def test_numbers_outside_the_range_are_refused():
    for number in (-1, 60):
        with pytest.raises(InputError, match=f"setup number {number}: 3x6 has 0 to 59"):
            decode_setup(number, Game(3, 6))


def is_uniform(numbers: list[int], count: int) -> bool:
    """Chi-square test; the seed is fixed, so that the answer is too."""
    return chisquare(np.bincount(numbers, minlength=count)).pvalue > 0.01


@pytest.mark.parametrize("size", [(3, 6), (2, 7), (4, 6)])
def test_draws_are_uniform_over_all_setups(size):
    game = Game(*size)
    rng = np.random.default_rng(1)
    tiles, chips = np.zeros(size[0], np.int64), np.zeros(size[0], np.int64)
    numbers = []
    for _ in range(40 * count_setups(game)):
        draw_uniform(rng, size[1], tiles, chips)
        numbers.append(encode_setup(Setup(tuple(tiles.tolist()), tuple(chips.tolist())), game))
    assert is_uniform(numbers, count_setups(game))
    drawn = [encode_setup(draw_setup(game, rng), game) for _ in range(40 * count_setups(game))]
    assert is_uniform(drawn, count_setups(game))


def test_orders_and_compositions_are_uniform():
    rng = np.random.default_rng(2)
    orders, parts = [], []
    for _ in range(2_400):
        items = np.array([3, 5, 7])
        draw_order(rng, items)
        orders.append(
            [(3, 5, 7), (3, 7, 5), (5, 3, 7), (5, 7, 3), (7, 3, 5), (7, 5, 3)].index(
                tuple(items.tolist())
            )
        )
        split = np.zeros(3, np.int64)
        draw_composition(rng, 5, split)
        assert split.sum() == 5
        parts.append((split[0] - 1) * 3 + split[1] - 1)
    assert is_uniform(orders, 6)
    used = sorted(set(parts))
    assert len(used) == 6
    assert is_uniform([used.index(p) for p in parts], 6)


def test_single_part_takes_everything():
    split = np.zeros(1, np.int64)
    draw_composition(np.random.default_rng(0), 4, split)
    assert split.tolist() == [4]


@pytest.mark.parametrize(
    "text", ["", "?", "1:?", "?:3", "2:1,?:?,0", "?:2,1:2", "?,?,1:1", "2:1,1:1,0:?", "0:1,?,?:4"]
)
def test_completions_are_uniform_over_all_that_fit(text):
    game = Game(3, 6)
    partial = PartialSetup.parse(text, game)
    fitting = [
        number
        for number in range(60)
        if all(
            placed in (None, full)
            for mine, whole in zip(
                (partial.tiles, partial.chips),
                (decode_setup(number, game).tiles, decode_setup(number, game).chips),
                strict=True,
            )
            for placed, full in zip(mine, whole, strict=True)
        )
    ]
    assert count_completions(partial, game) == len(fitting) > 0
    rng = np.random.default_rng(3)
    drawn = [
        encode_setup(complete_setup(partial, game, rng), game) for _ in range(60 * len(fitting))
    ]
    assert set(drawn) == set(fitting)
    assert len(fitting) == 1 or is_uniform([fitting.index(d) for d in drawn], len(fitting))


def test_same_seed_draws_the_same_setups():
    first, second = (
        [draw_setup(Game(), np.random.default_rng(9)) for _ in range(3)] for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0:2,1:2,2:1,0:1", "4 slots, but 3x6 has 3"),
        ("0:2,x,2:1", "'x' in slot 2 is not tile:chips"),
        ("0:2,1:2:3", "'1:2:3' in slot 2 is not tile:chips"),
        ("0:2,-1:2", "'-1:2' in slot 2 is not tile:chips"),
        ("0:2,,2:1", "'' in slot 2 is not tile:chips"),
        ("0:2,3:2", "tile 3 in slot 2; tiles are 0-2"),
        ("0:2,0:2", "tile 0 is placed twice"),
        ("0:0,1:2", "slot 1 is left bare; it needs 1 chip"),
        ("0:2,1:2,2:1", "5 chips placed, but 3x6 has 6"),
        ("0:2,1:2,2:3", "7 chips placed, but 3x6 has 6"),
        ("0:3,1:3", "6 chips placed leave 0 for 1 open slots (3), which need 1 each"),
        ("0:2,w", "'w' in slot 2 is not tile:chips, such as 8:4; ? stands for"),
        ("\uff10:2", "'\uff10:2' in slot 1 is not tile:chips"),
        ("?:9", "9 chips placed leave -3 for 2 open slots"),
    ],
)
def test_bad_notation_is_refused_by_what_is_wrong(text, message):
    with pytest.raises(InputError) as caught:
        PartialSetup.parse(text, Game(3, 6))
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"setup {text!r}: ")
    assert "\n" not in str(caught.value)


def test_half_placed_board_is_no_setup():
    with pytest.raises(InputError, match="slot 2 is not placed"):
        Setup.parse("0:2,?:3,1:1", Game(3, 6))
    with pytest.raises(InputError, match=r"slot 3 is not placed; write tile:chips for each of"):
        Setup.parse("0:3,1:3", Game(3, 6))
    with pytest.raises(InputError, match="slot 1 is not placed"):
        Setup.parse("", Game(3, 6))


def test_blanks_around_a_setup_are_allowed():
    assert Setup.parse(" 0:1 , 2:4,1:1 ", Game(3, 6)) == Setup((0, 2, 1), (1, 4, 1))


BOARDS = ["", "2", "?:3", "?,1:2", "?:2,0:?,?:1", "3,1,0,2", "?:1,?:1,?:2,?:4", "0:1,2:2,3:1,1:4"]


@pytest.mark.parametrize("text", BOARDS)
def test_completions_are_the_setups_that_fit(text):
    game = Game(4, 8)
    board = PartialSetup.parse(text, game)
    tiles, chips = list_setups(game)
    fits = np.ones(len(tiles), bool)
    for slot in range(4):
        if board.tiles[slot] is not None:
            fits &= tiles[:, slot] == board.tiles[slot]
        if board.chips[slot] is not None:
            fits &= chips[:, slot] == board.chips[slot]
    found = list_completions(game, board.placed)
    for part, wanted in zip(found, (tiles[fits], chips[fits]), strict=True):
        np.testing.assert_array_equal(part, wanted)
    assert board.placed.count(game) == count_completions(board, game) == fits.sum()
    assert bool(board.placed) == bool(text)


@pytest.mark.parametrize("text", BOARDS[1:])
def test_drawn_completions_are_uniform(text):
    game = Game(4, 8)
    placed = PartialSetup.parse(text, game).placed
    listed = [str(Setup.of_rows(*row)) for row in zip(*list_completions(game, placed), strict=True)]
    rng = np.random.default_rng(1)
    tiles, chips = np.zeros(4, np.int64), np.zeros(4, np.int64)
    numbers = []
    for _ in range(50 * len(listed)):
        draw_completion(rng, 8, placed.tiles, placed.chips, tiles, chips)
        numbers.append(listed.index(str(Setup.of_rows(tiles, chips))))
    assert len(listed) == 1 or is_uniform(numbers, len(listed))


def test_placed_marks_open_places():
    placed = PartialSetup.parse("?:3,1", Game(3, 6)).placed
    assert placed.tiles.tolist() == [OPEN, 1, OPEN]
    assert placed.chips.tolist() == [3, OPEN, OPEN]
