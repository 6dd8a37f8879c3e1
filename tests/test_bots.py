"""Bots: what they place and when they match."""

from __future__ import annotations

import numpy as np
import pytest

from solver.bots import BOTS, make_bot
from solver.heuristic import thumb_choice, top_spike
from solver.rules import FOLD, MATCH, Game, InputError, new_board
from solver.setups import list_setups
from solver.strategy import draw_strategy_setup, match_prob, setup_prob


def facing_board(mine: str, theirs: str, winnings: tuple[int, int] = (0, 0)):
    """Return a board in slot 0 from two setups written ``tile:chips``."""
    rows = [
        [[int(x) for x in part.split(":")] for part in text.split(",")] for text in (mine, theirs)
    ]
    board = new_board(len(rows[0]))
    for player, row in enumerate(rows):
        board.tiles[player] = [tile for tile, _ in row]
        board.chips[player] = [chips for _, chips in row]
    board.winnings[:] = winnings
    return board


@pytest.mark.parametrize("name", BOTS)
def test_bot_places_setups_as_often_as_it_says_when_drawn(name):
    game = Game(3, 6)
    bot = make_bot(name, game)
    tiles, chips = list_setups(game)
    probs = {
        (*t.tolist(), *c.tolist()): setup_prob(bot, t, c) for t, c in zip(tiles, chips, strict=True)
    }
    assert sum(probs.values()) == pytest.approx(1)
    rng = np.random.default_rng(0)
    counts = dict.fromkeys(probs, 0)
    t, c = np.zeros(3, np.int64), np.zeros(3, np.int64)
    for _ in range(6000):
        draw_strategy_setup(bot, rng, t, c)
        counts[(*t.tolist(), *c.tolist())] += 1
    for setup, prob in probs.items():
        assert abs(counts[setup] - 6000 * prob) <= 5 * np.sqrt(6000 * prob)


@pytest.mark.parametrize(
    ("name", "prob"), [("bot:random", 0.5), ("bot:folder", 0.0), ("bot:caller", 1.0)]
)
def test_bot_matches_as_named_when_it_may_choose(name, prob):
    board = facing_board("0:1,2:4,1:1", "1:2,0:3,2:1")
    assert match_prob(make_bot(name, Game(3, 6)), board, 0, 0)[0] == prob


def test_make_bot_names_what_is_allowed_when_unknown():
    with pytest.raises(InputError, match=r"bot:nobody.*bot:random.*bot:top-spike"):
        make_bot("bot:nobody", Game())


def test_top_spike_is_the_known_one_when_game_is_full():
    assert top_spike(10, 30).tolist() == [1, 1, 1, 1, 1, 1, 3, 3, 6, 12]


@pytest.mark.parametrize("game", ["1x1", "1x7", "2x3", "3x6", "4x8", "5x40", "12x13", "12x100"])
def test_top_spike_uses_all_chips_when_scaled(game):
    size = Game.parse(game)
    chips = top_spike(size.num_tiles, size.num_chips)
    assert chips.sum() == size.num_chips
    assert chips.min() >= 1
    assert (np.diff(chips) >= 0).all()


@pytest.mark.parametrize(
    ("mine", "theirs", "winnings", "choice"),
    [
        ("9:1,8:2,7:3,0:4", "2:3,0:1,1:1,3:5", (0, 0), MATCH),  # 9 beats every black tile
        ("0:1,8:2,7:3,9:4", "2:3,0:1,1:1,3:5", (0, 0), FOLD),  # 0 can only tie
        ("2:4,8:2,7:3,9:1", "1:5,0:1,3:1,2:3", (0, 0), MATCH),  # a small gap on a large pot
    ],
)
def test_heuristic_compares_call_and_fold_when_facing_more(mine, theirs, winnings, choice):
    board = facing_board(mine.replace("9", "3").replace("8", "2").replace("7", "1"), theirs)
    board.winnings[:] = winnings
    assert thumb_choice(board, 0, 0, 10) == choice


def test_heuristic_charges_for_pulls_when_winnings_are_short():
    # 2 against a middling white stack, 1 as likely as 3: match is worth 0 less 3 pulls, fold -1
    text = "2:1,3:7,1:2,0:2", "1:4,0:4,3:3,2:1"
    poor = facing_board(*text)
    rich = facing_board(*text, winnings=(9, 9))
    assert thumb_choice(rich, 0, 0, 12) == MATCH
    assert thumb_choice(poor, 0, 0, 12) == FOLD


def test_heuristic_reads_only_public_numbers_when_deciding():
    board = facing_board("2:1,3:4,1:2,0:2", "1:4,0:1,3:2,2:2")
    other = facing_board("2:1,3:4,1:2,0:2", "3:4,2:2,1:2,0:1")
    assert thumb_choice(board, 0, 0, 9) == thumb_choice(other, 0, 0, 9)


@pytest.mark.parametrize(("stack", "choice"), [(2, MATCH), (9, FOLD)])
def test_heuristic_takes_large_bets_for_high_tiles_when_both_are_open(stack, choice):
    # 2 against white, 1 or 3, with winnings to pay any gap
    theirs = f"1:{stack},0:1,3:{10 - stack},2:1"
    board = facing_board("2:1,3:7,1:2,0:2", theirs, winnings=(9, 9))
    assert thumb_choice(board, 0, 0, 12) == choice
