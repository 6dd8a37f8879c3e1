"""Observations and their keys against the plain reference."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from bridge import all_infostates, board_of, key_of, observation_of
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.infostate import HIDDEN, UNKNOWN, infostate_key, observe
from solver.rules import (
    CHOICE,
    FORCED_FOLD,
    FREE,
    Game,
    classify,
    new_board,
    pull_latest,
    settle,
)
from solver.setups import draw_setup


def merged(info: naive.Infostate) -> tuple:
    """Return what the reference says an observation is, in its own words."""
    other = 1 - info.player
    rows = []
    for s in range(len(info.tiles)):
        if s < len(info.slots):
            seen = info.slots[s]
            tiles = seen.shown or tuple(HIDDEN - c for c in seen.colours)
            rows.append(
                (tiles[info.player], seen.stacks[info.player], tiles[other], seen.stacks[other])
            )
        elif s == len(info.slots):
            rows.append((info.tiles[s], info.chips[s], HIDDEN - info.facing[0], info.facing[1]))
        else:
            rows.append((info.tiles[s], info.chips[s], UNKNOWN, 0))
    return tuple(rows)


@pytest.mark.parametrize("name", ["2x5", "3x6"])
def test_observation_is_what_the_player_knows_with_folded_tiles_forgotten(name):
    for player in (0, 1):
        for info in all_infostates(Game.parse(name), player):
            assert tuple(map(tuple, observation_of(info).tolist())) == merged(info)


@pytest.mark.parametrize(
    ("name", "infostates"),
    [("3x6", 3_560), pytest.param("4x6", 49_194, marks=pytest.mark.slow)],
)
def test_keys_are_unique_over_all_infostates(name, infostates):
    """Both seats see the same observations, and one key stands for one observation."""
    game = Game.parse(name)
    infos = all_infostates(game, 0)
    assert len(infos) == infostates
    observations = {merged(info): key_of(info) for info in infos}
    assert len(set(observations.values())) == len(observations) < len(infos)
    if name == "3x6":
        assert {merged(info) for info in all_infostates(game, 1)} == observations.keys()


@pytest.mark.parametrize("pulls", ["latest", "tiles", "free"])
def test_observation_has_the_whole_past_that_matters(pulls):
    """Infostates that share an observation have the same winnings, totals and own future."""
    futures: dict = {}
    game = Game(3, 6, pulls=pulls)
    for info in all_infostates(game, 0):
        slot = len(info.slots)
        future = info.winnings, info.opponent_later, info.tiles[slot:], info.chips[slot:]
        seen = observation_of(info, game.pulls_code).tobytes()
        assert futures.setdefault(seen, future) == future


def test_fifth_column_is_what_past_matches_took_from_later_tiles():
    for info in all_infostates(Game(3, 6, pulls="free"), 1):
        with_sums, without = observation_of(info, FREE), observation_of(info)
        np.testing.assert_array_equal(with_sums[:, :4], without)
        pulled = [seen.pulled for seen in info.slots]
        assert with_sums[:, 4].tolist() == pulled + [0] * (3 - len(pulled))


def test_key_of_an_observation_stays_what_it_is_in_tables_and_checkpoints():
    observation = np.array([[-2, 3, -1, 1], [2, 1, -2, 2], [0, 2, -3, 0]])
    assert int(infostate_key(observation)) == 6_418_022_398_491_591_282


def test_folded_tiles_are_merged_by_colour():
    board = new_board(3)
    board.tiles[:] = [[0, 1, 2], [1, 2, 0]]
    board.chips[:] = [[1, 2, 3], [3, 1, 2]]
    settle(board, 0, 0)  # player 0 folds
    observation = np.zeros((3, 4), np.int64)
    observe(board, 1, 1, observation)
    assert observation.tolist() == [[-2, 3, -1, 1], [2, 1, -2, 2], [0, 2, -3, 0]]
    board.tiles[:, 0] = 2, 1
    board.tiles[0, 2] = 0
    again = np.zeros((3, 4), np.int64)
    observe(board, 1, 1, again)
    assert infostate_key(again) == infostate_key(observation)


@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([(3, 6), (6, 12), (10, 30)]))
@settings(max_examples=100, deadline=None)
def test_observation_reads_nothing_hidden(seed, size):
    """Redraw all that a player cannot see: the observation stays."""
    game = Game(*size)
    rng = np.random.default_rng(seed)
    board = new_board(game.num_tiles)
    for player in (0, 1):
        setup = draw_setup(game, rng)
        board.tiles[player], board.chips[player] = setup.tiles, setup.chips
    open_slot = int(rng.integers(game.num_tiles))
    for slot in range(open_slot):
        kind, player = classify(board, slot)
        is_match = kind == CHOICE and rng.random() < 0.5
        if is_match:
            pull_latest(board, player, slot)
        is_fold = kind == FORCED_FOLD or (kind == CHOICE and not is_match)
        settle(board, slot, player if is_fold else -1)
    before, after = (np.zeros((game.num_tiles, 4), np.int64) for _ in range(2))
    observe(board, open_slot, 0, before)
    hidden = [s for s in range(open_slot) if not board.shown[s]]
    theirs = board.tiles[1]
    for colour in (0, 1):
        places = np.array([s for s in [*hidden, open_slot] if theirs[s] % 2 == colour], int)
        theirs[places] = theirs[rng.permutation(places)]
        places = np.array([s for s in hidden if board.tiles[0, s] % 2 == colour], int)
        board.tiles[0, places] = board.tiles[0, rng.permutation(places)]
    later = np.arange(open_slot + 1, game.num_tiles)
    theirs[later] = theirs[rng.permutation(later)]
    board.chips[1, later] = board.chips[1, rng.permutation(later)]
    observe(board, open_slot, 0, after)
    assert (before == after).all()


def test_made_up_board_agrees_with_what_was_seen():
    for info in all_infostates(Game(3, 6), 1):
        board = board_of(info)
        slot = len(info.slots)
        assert sorted(board.tiles[0].tolist()) == [0, 1, 2]
        assert board.chips[0, slot + 1 :].sum() == info.opponent_later
        assert classify(board, slot) == (CHOICE, 1)
