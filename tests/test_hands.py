"""The game in a few numbers, against the game on a board."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.abstraction import decision_detail, decision_key
from solver.hands import (
    Side,
    can_pay,
    certain_choice,
    hand_detail,
    hand_key,
    pack_hand,
    show_or_fold,
    stack_now,
)
from solver.rules import CHOICE, SHOW, Game, classify, new_board, pull_latest, settle
from solver.setups import draw_setup
from solver.strategy import last_slot_choice


@given(st.integers(1, 12), st.integers(0, 30), st.booleans(), st.integers(0, 2**32))
@settings(deadline=None, max_examples=150)
def test_hands_equal_boards_when_both_are_played_side_by_side(n, extra, is_win, seed):
    rng = np.random.default_rng(seed)
    game = Game(n, n + extra)
    c = game.num_chips
    board = new_board(n)
    hands = np.zeros((2, n), np.int64)
    sides = [Side(0, 0, 0, 0), Side(0, 0, 0, 0)]
    for player in range(2):
        setup = draw_setup(game, rng)
        board.tiles[player], board.chips[player] = setup.tiles, setup.chips
        pack_hand(hands[player], board.tiles[player], board.chips[player])
    for slot in range(n):
        stacks = [stack_now(hands[p, slot], sides[p]) for p in range(2)]
        assert stacks == board.chips[:, slot].tolist()
        kind, player = classify(board, slot)
        if kind == SHOW:
            player = 0
        other = 1 - player
        table = (sides[player], sides[other], hands[player, slot], hands[other, slot])
        table = (*table, stacks[player], stacks[other])
        is_match = kind == SHOW
        if kind != SHOW:
            gap = stacks[other] - stacks[player]
            assert can_pay(table[2], table[0], gap) == (kind == CHOICE)
        if kind == CHOICE:
            assert hand_key(n, c, slot, *table) == decision_key(board, slot, player, c)
            detail = hand_detail(hands[player], slot, sides[player], sides[other], table[3])
            assert detail == decision_detail(board, slot, player)
            if slot == n - 1:
                better = last_slot_choice(board, slot, player, c, is_win)
                assert certain_choice(*table, c, is_win) == better
            is_match = rng.random() < 0.5
        sides[player], sides[other] = show_or_fold(*table, is_match)
        if kind == CHOICE and is_match:
            pull_latest(board, player, slot)
        settle(board, slot, -1 if is_match else player)
        assert [side.winnings for side in sides] == board.winnings.tolist()
