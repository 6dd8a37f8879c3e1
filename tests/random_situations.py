"""Situations met in games drawn at random."""

from __future__ import annotations

import numpy as np

from solver.rules import CHOICE, Game, classify, new_board, pull_latest, settle
from solver.setups import Setup, draw_setup
from solver.situation import Event, Facing, Situation
from solver.strategy import Strategy, draw_strategy_setup, match_prob


def play_some(
    game: Game, strategy: Strategy, rng: np.random.Generator, slots: int, me: Setup | None = None
) -> Situation | None:
    """Play ``slots`` slots, mine at random; None if after them I cannot choose."""
    me = me or draw_setup(game, rng)
    board = new_board(game.num_tiles)
    board.tiles[0], board.chips[0] = me.tiles, me.chips
    draw_strategy_setup(strategy, rng, board.tiles[1], board.chips[1])
    events = []
    for slot in range(slots):
        kind, player = classify(board, slot)
        folder = player
        if kind == CHOICE:
            prob = 0.5 if player == 0 else match_prob(strategy, board, slot, player)[0]
            if rng.random() < prob:
                pull_latest(board, player, slot)
                folder = -1
        tile = int(board.tiles[1, slot])
        number = tile if folder < 0 else None
        events.append(Event(tile % 2, int(board.chips[1, slot]), number, folder == 0))
        settle(board, slot, folder)
    if classify(board, slots) != (CHOICE, 0):
        return None
    facing = Facing(int(board.tiles[1, slots]) % 2, int(board.chips[1, slots]))
    return Situation(game, me, tuple(events), facing)


def some_situations(
    game: Game, strategy: Strategy, count: int, *, least_slot: int = 0
) -> list[Situation]:
    """Return situations in which I choose, from games played by :func:`play_some`."""
    rng = np.random.default_rng(1)
    found: list[Situation] = []
    while len(found) < count:
        slot = int(rng.integers(least_slot, game.num_tiles))
        situation = play_some(game, strategy, rng, slot)
        if situation is not None:
            found.append(situation)
    return found
