"""Games of a table against itself, and of players with other answers against it.

``play_self`` draws games and fills :class:`full_game_counts.Counts`.  ``play_answers`` plays pairs
of games in which one player gives other answers than the table, with setups and luck exchanged.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from full_game_counts import (
    has_tall_early,
    lay,
    note_decision,
    note_end,
    note_lower,
    note_slot,
    rule_prob,
    shape_of,
)
from numba import njit
from numpy.typing import NDArray

from solver.abstraction import candidates_of, decision_full_key, fine_key_of, key_of_full, num_keys
from solver.places import EMPTY, MOST_FILLED, find_place, take_place
from solver.rules import (
    CHOICE,
    FORCED_FOLD,
    Game,
    classify,
    colour,
    is_decided,
    new_board,
    pull_latest,
    settle,
    utility,
)
from solver.strategy import draw_strategy_setup, match_prob

__all__ = [
    "MEMORY",
    "RULE",
    "TABLE",
    "Memory",
    "draw_setups",
    "new_memory",
    "play_answers",
    "play_self",
]

TABLE, RULE, MEMORY = 0, 1, 2
"""Whose answers: the table's; those of :func:`full_game_counts.rule_prob`; means of the table's, by
what a :class:`Memory` keeps."""

LEAST_VISITS = 8
"""A mean over fewer decisions is not trusted; the coarser one answers."""

_DETAIL_BITS = 22


class Memory(NamedTuple):
    """Means of a table's answers by what a player remembers; sums and visits in the last axis.

    A blind player remembers all that a fine key holds but which numbers were shown: the candidates
    on either side of the own tile are counted as if none had been.

    Attributes
    ----------
    is_blind : bool
    keys : ndarray of int64, shape (places,)
        A hash table (:mod:`solver.places`) of fine keys.
    fine : ndarray of float64, shape (places, 2)
    coarse : ndarray of float64, shape (keys, 2)
    taken : ndarray of int64, shape (1,)
        Places taken.
    """

    is_blind: bool
    keys: NDArray[np.int64]
    fine: NDArray[np.float64]
    coarse: NDArray[np.float64]
    taken: NDArray[np.int64]


def new_memory(game: Game, is_blind: bool, places: int = 1 << 22) -> Memory:
    """Return a memory of nothing yet; ``places`` is a power of two."""
    return Memory(
        is_blind,
        np.full(places, EMPTY, np.int64),
        np.zeros((places, 2)),
        np.zeros((num_keys(game.num_tiles), 2)),
        np.zeros(1, np.int64),
    )


@njit(cache=True)
def draw_setups(strategy, num, rng):
    """Return ``(tiles, chips)``, int64 of shape (num, N): setups drawn from a strategy."""
    n = strategy.setup_tiles.shape[1]
    tiles = np.empty((num, n), np.int64)
    chips = np.empty((num, n), np.int64)
    for row in range(num):
        draw_strategy_setup(strategy, rng, tiles[row], chips[row])
    return tiles, chips


@njit(cache=True)
def memory_keys(is_blind, board, slot, player, num_chips):
    """Return the coarse and the fine key that a memory has for a decision."""
    full = decision_full_key(board, slot, player, num_chips)
    key = key_of_full(full)
    fine = fine_key_of(full)
    if not is_blind:
        return key, fine
    n = board.tiles.shape[1]
    faced = colour(board.tiles[1 - player, slot])
    below, above = candidates_of(n, faced, 0, board.tiles[player, slot])
    steps = (n + 1) // 2 + 1
    rest = num_keys(n) // (n * steps * steps)
    blind = ((slot * steps + below) * steps + above) * rest + key % rest
    return blind, fine + ((blind - key) << _DETAIL_BITS)


@njit(cache=True)
def remember(memory, board, slot, player, num_chips, prob):
    """Add a decision to a memory, in place."""
    key, fine = memory_keys(memory.is_blind, board, slot, player, num_chips)
    memory.coarse[key, 0] += prob
    memory.coarse[key, 1] += 1.0
    size = memory.keys.shape[0]
    place = find_place(memory.keys, 0, size, fine)
    if place < 0:
        if memory.taken[0] >= MOST_FILLED * size:
            return
        place = take_place(memory.keys, 0, size, fine)
        memory.taken[0] += 1
    memory.fine[place, 0] += prob
    memory.fine[place, 1] += 1.0


@njit(cache=True)
def recall(strategy, memory, board, slot, player):
    """Return the mean answer that a memory has for a decision."""
    key, fine = memory_keys(memory.is_blind, board, slot, player, strategy.num_chips)
    place = find_place(memory.keys, 0, memory.keys.shape[0], fine)
    if place >= 0 and memory.fine[place, 1] >= LEAST_VISITS:
        return memory.fine[place, 0] / memory.fine[place, 1]
    if memory.coarse[key, 1] > 0:
        return memory.coarse[key, 0] / memory.coarse[key, 1]
    return strategy.match[key]


@njit(cache=True)
def answer(strategy, kind, memory, board, slot, player):
    """Return the probability of matching of a player with the answers of a kind."""
    if kind == RULE:
        return rule_prob(strategy, board, slot, player)
    if kind == MEMORY:
        return recall(strategy, memory, board, slot, player)
    prob, _ = match_prob(strategy, board, slot, player)
    return prob


@njit(cache=True)
def play_self(strategy, num_games, rng, counts, blind, sighted):
    """Play a strategy against itself, and count both players, in place."""
    n = strategy.setup_tiles.shape[1]
    c = strategy.num_chips
    board = new_board(n)
    tiles = np.empty((2, n), np.int64)
    chips = np.empty((2, n), np.int64)
    trail = np.empty((n, 2), np.int64)
    forced = np.zeros(2)
    for _ in range(num_games):
        for player in range(2):
            draw_strategy_setup(strategy, rng, tiles[player], chips[player])
        lay(board, tiles[0], chips[0], tiles[1], chips[1])
        forced[:] = 0.0
        num_slots = 0
        for slot in range(n):
            if strategy.is_win and is_decided(board.winnings[0], board.winnings[1], c):
                break
            note_slot(trail, board, slot)
            num_slots += 1
            kind, player = classify(board, slot)
            folder = -1
            if player >= 0:
                note_lower(counts, board, slot, player, kind, 1.0)
            if kind == FORCED_FOLD:
                forced[player] += 1.0
                folder = player
            elif kind == CHOICE:
                prob, _ = match_prob(strategy, board, slot, player)
                note_decision(counts, board, slot, player, prob, 1.0)
                remember(blind, board, slot, player, c, prob)
                remember(sighted, board, slot, player, c, prob)
                if rng.random() < prob:
                    pull_latest(board, player, slot)
                else:
                    folder = player
            settle(board, slot, folder)
        value = utility(board.winnings[0], c, strategy.is_win)
        for player in range(2):
            shape, tall = shape_of(chips[player]), has_tall_early(chips[1 - player])
            note_end(counts, trail, num_slots, shape, tall, value, forced[player], 1.0)
            value = -value
            trail[:num_slots] *= -1


@njit(cache=True)
def play_answers(strategy, kind, memory, num_pairs, rng):
    """Play other answers against a table, both with its setups; return sums over pairs of games.

    In the second game of a pair the players exchange setups and the luck of their decisions, so
    that the table against itself scores 0 in every pair.

    Returns
    -------
    tuple of float
        Sums of the first player's mean utility in a pair and of its square.
    """
    n = strategy.setup_tiles.shape[1]
    c = strategy.num_chips
    board = new_board(n)
    tiles = np.empty((2, n), np.int64)
    chips = np.empty((2, n), np.int64)
    luck = np.empty((2, n))
    total = squares = 0.0
    for _ in range(num_pairs):
        for side in range(2):
            draw_strategy_setup(strategy, rng, tiles[side], chips[side])
            for slot in range(n):
                luck[side, slot] = rng.random()
        mean = 0.0
        for second in range(2):
            other = 1 - second
            lay(board, tiles[second], chips[second], tiles[other], chips[other])
            for slot in range(n):
                if strategy.is_win and is_decided(board.winnings[0], board.winnings[1], c):
                    break
                what, player = classify(board, slot)
                folder = -1
                if what == FORCED_FOLD:
                    folder = player
                elif what == CHOICE:
                    whose = kind if player == 0 else TABLE
                    prob = answer(strategy, whose, memory, board, slot, player)
                    if luck[second if player == 0 else other, slot] < prob:
                        pull_latest(board, player, slot)
                    else:
                        folder = player
                settle(board, slot, folder)
            mean += 0.5 * utility(board.winnings[0], c, strategy.is_win)
        total += mean
        squares += mean * mean
    return total, squares
