"""Decision keys: the features, their packing, and their names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.abstraction import (
    DETAILS,
    FEATURES,
    IS_SHOWN,
    decision_detail,
    decision_full_key,
    decision_key,
    detail_columns,
    detail_sizes,
    feature_columns,
    feature_labels,
    feature_sizes,
    fine_key_of,
    full_key_of,
    join_key,
    key_of_full,
    lead_step,
    num_keys,
    pack_key,
    shown_key_of,
    split_keys,
    step_of,
    strength_step,
)
from solver.rules import CHOICE, FORCED_FOLD, Game, classify, new_board, pull_latest, settle
from solver.setups import draw_setup


def features_by_hand(board, slot: int, player: int, game: Game) -> dict[str, int]:
    """Return the features of a decision, written down from their definitions."""
    other = 1 - player
    mine = board.tiles[player, slot]
    faced = board.tiles[other, slot] % 2
    past = range(slot)
    seen = {int(board.tiles[other, s]) for s in past if board.shown[s]}
    unseen = [t for t in range(game.num_tiles) if t % 2 == faced and t not in seen]
    hidden = [s for s in past if not board.shown[s] and board.tiles[other, s] % 2 == faced]
    later = board.tiles[player, slot + 1 :]
    worth = board.winnings + board.chips[:, slot + 1 :].sum(axis=1)
    stack = int(board.chips[other, slot])
    return {
        "slot": slot,
        "below": sum(t < mine for t in unseen),
        "above": sum(t > mine for t in unseen),
        "folded": min(len(hidden), 2),
        "strength": strength_step(int(later.sum()), len(later), game.num_tiles),
        "stack": step_of(stack, 8),
        "gap": step_of(stack - int(board.chips[player, slot]), 6),
        "lead": lead_step(int(worth[player] - worth[other]), game.num_chips),
    }


def details_by_hand(board, slot: int, player: int) -> dict[str, int]:
    """Return the details of a decision, written down from their definitions."""
    later = board.chips[player, slot + 1 :]
    tall = {"tall_tile": 0, "tall_stack": 0, "tall_ahead": 0}
    if len(later) and later.max() > 1:
        ahead = int(later.argmax())  # the first of equals
        tall = {
            "tall_tile": board.tiles[player, slot + 1 + ahead] + 1,
            "tall_stack": step_of(later[ahead], 8),
            "tall_ahead": min(ahead + 1, 3),
        }
    spare, other_spare = (
        int((board.chips[seat, slot + 1 :] - 1).sum()) for seat in (player, 1 - player)
    )
    lead = int(board.winnings[player] - board.winnings[1 - player]) + spare - other_spare
    return tall | {
        "spare": step_of(other_spare, 8) + 1 if other_spare else 0,
        "exact_lead": max(-31, min(lead, 31)) + 31,
    }


def decisions(game: Game, rng: np.random.Generator):
    """Play a game at random; yield ``(board, slot, player)`` at each decision."""
    board = new_board(game.num_tiles)
    for player in range(2):
        setup = draw_setup(game, rng)
        board.tiles[player], board.chips[player] = setup.tiles, setup.chips
    for slot in range(game.num_tiles):
        kind, player = classify(board, slot)
        folder = -1
        if kind == FORCED_FOLD:
            folder = player
        elif kind == CHOICE:
            yield board, slot, player
            if rng.random() < 0.5:
                pull_latest(board, player, slot)
            else:
                folder = player
        settle(board, slot, folder)


@given(st.integers(1, 12), st.integers(0, 20), st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_key_packs_the_features_when_they_are_taken_from_their_definitions(n, extra, seed):
    game = Game(n, n + extra)
    for board, slot, player in decisions(game, np.random.default_rng(seed)):
        features = features_by_hand(board, slot, player, game)
        key = decision_key(board, slot, player, game.num_chips)
        assert key == pack_key(n, *features.values())
        assert 0 <= key < num_keys(n)
        detail = decision_detail(board, slot, player)
        assert 0 <= detail < np.prod(detail_sizes(n))
        steps = {name: column[0] for name, column in detail_columns(n, np.array([detail])).items()}
        assert steps == details_by_hand(board, slot, player)
        seen = [board.tiles[1 - player, s] for s in range(slot) if board.shown[s]]
        shown = sum(1 << tile for tile in seen)
        full = decision_full_key(board, slot, player, game.num_chips)
        assert full == full_key_of(key, detail, shown)
        assert key_of_full(full) == key
        keys = np.array([fine_key_of(full), shown_key_of(full)])
        assert (keys >= IS_SHOWN).tolist() == [False, True]
        split = split_keys(keys)
        assert split[0].tolist() == [key, key]
        assert split[2].tolist() == [-1, shown]
        joined = [join_key(*parts) for parts in zip(*split, strict=True)]
        np.testing.assert_array_equal(joined, keys)
        kept, lost = (detail_columns(n, d) for d in (split[1], np.array([detail, detail])))
        for name in DETAILS:
            assert kept[name][0] == lost[name][0]
            assert kept[name][1] == (31 if name == "exact_lead" else lost[name][1])


@pytest.mark.parametrize("num_tiles", [1, 2, 5, 10])
def test_columns_invert_packing_when_every_key_is_unpacked(num_tiles):
    columns = feature_columns(num_tiles)
    assert tuple(columns) == FEATURES
    keys = np.random.default_rng(1).integers(0, num_keys(num_tiles), 300)
    for key in [0, num_keys(num_tiles) - 1, *keys]:
        assert pack_key(num_tiles, *(int(columns[name][key]) for name in FEATURES)) == key
    assert np.prod(feature_sizes(num_tiles)) == num_keys(num_tiles) == len(columns["slot"])


def test_strength_counts_quarters_when_later_tiles_rise():
    assert [strength_step(total, 2, 5) for total in range(9)] == [0, 0, 0, 1, 1, 2, 2, 3, 3]
    assert strength_step(0, 0, 5) == 0


@pytest.mark.parametrize("num_chips", [1, 8, 30, 100])
def test_lead_steps_are_symmetric_and_rise_when_the_lead_does(num_chips):
    steps = [lead_step(lead, num_chips) for lead in range(-2 * num_chips, 2 * num_chips + 1)]
    assert steps == sorted(steps)
    assert steps == [12 - step for step in reversed(steps)]
    assert (steps[0], steps[2 * num_chips]) == (0, 6)


def test_labels_name_every_step_when_a_table_is_read():
    for num_tiles, num_chips in [(1, 1), (4, 8), (10, 30)]:
        labels = feature_labels(num_tiles, num_chips)
        assert tuple(len(labels[name]) for name in FEATURES) == feature_sizes(num_tiles)
    assert feature_labels(10, 30)["lead"][0] == "-60 to -25"
    assert feature_labels(10, 30)["gap"] == ("1", "2", "3", "4", "5-6", "7+")
    assert lead_step(-25, 30) == 0
    assert lead_step(-24, 30) == 1
