"""All games of a small table with their probabilities: counts, values, infostates.

The decisions of a game are the bits of a number, a bit a slot, and every number is walked.
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

from solver.infostate import infostate_key, observe
from solver.places import EMPTY, MOST_FILLED, find_place, take_place
from solver.rules import (
    CHOICE,
    FORCED_FOLD,
    classify,
    is_decided,
    new_board,
    pull_latest,
    settle,
    utility,
)
from solver.strategy import match_prob

__all__ = ["UNLIKELY", "Rows", "new_rows", "walk_pairs"]

UNLIKELY = 1e-9
"""Weight of setups and actions of probability 0 in what :func:`walk_pairs` lists."""


class Rows(NamedTuple):
    """The first player's decisions in :func:`walk_pairs`, one row an infostate.

    Attributes
    ----------
    keys, at : ndarray of int64, shape (places,)
        A hash table of infostate keys, and the row of each; no places: list nothing.
    observations : ndarray of int64, shape (rows, N, 4)
    slots : ndarray of int64, shape (rows,)
    match, weight : ndarray of float64, shape (rows,)
        Probability of matching and of coming there, what never happens with ``UNLIKELY``.
    rule : ndarray of float64, shape (rows,)
        What the rule answers.
    num : ndarray of int64, shape (1,)
        Rows filled.
    """

    keys: NDArray[np.int64]
    at: NDArray[np.int64]
    observations: NDArray[np.int64]
    slots: NDArray[np.int64]
    match: NDArray[np.float64]
    weight: NDArray[np.float64]
    rule: NDArray[np.float64]
    num: NDArray[np.int64]


def new_rows(num_tiles: int, places: int) -> Rows:
    """Return room for rows; ``places`` is a power of two, or 0 to list nothing."""
    most = int(places * MOST_FILLED)
    return Rows(
        np.full(places, EMPTY, np.int64),
        np.zeros(places, np.int64),
        np.zeros((most, num_tiles, 4), np.int64),
        np.zeros(most, np.int64),
        np.zeros(most),
        np.zeros(most),
        np.zeros(most),
        np.zeros(1, np.int64),
    )


@njit(cache=True)
def take_row(rows, board, slot, prob, rule, weight):
    """Add the first player's decision to the rows, in place."""
    observation = np.empty((board.tiles.shape[1], 4), np.int64)
    observe(board, slot, 0, observation)
    key = np.int64(infostate_key(observation) >> np.uint64(1))
    size = rows.keys.shape[0]
    place = find_place(rows.keys, 0, size, key)
    if place < 0:
        row = rows.num[0]
        if row == rows.slots.shape[0]:
            raise ValueError("no room for another infostate")
        place = take_place(rows.keys, 0, size, key)
        rows.num[0] += 1
        rows.at[place] = row
        rows.observations[row] = observation
        rows.slots[row] = slot
        rows.match[row] = prob
        rows.rule[row] = rule
    rows.weight[rows.at[place]] += weight


@njit(cache=True)
def walk_pairs(a, b, tiles, chips, probs, counts, rows):
    """Go through all games of ``a`` against ``b``; return a's value, and count a, in place.

    ``tiles``, ``chips`` (int64, shape (setups, N)) and ``probs`` are the setups of both.  With
    ``rows`` the games that never happen are walked too, where a's setup does happen.
    """
    n = tiles.shape[1]
    c = a.num_chips
    is_listing = rows.keys.shape[0] > 0
    board = new_board(n)
    trail = np.empty((n, 2), np.int64)
    total = 0.0
    for x in range(tiles.shape[0]):
        if probs[x] <= 0.0:
            continue
        for y in range(tiles.shape[0]):
            if probs[y] <= 0.0 and not is_listing:
                continue
            shape, tall = shape_of(chips[x]), has_tall_early(chips[y])
            for bits in range(1 << n):  # whether the slot's decision is a match
                lay(board, tiles[x], chips[x], tiles[y], chips[y])
                weight = probs[x] * probs[y]
                listed = probs[x] * max(probs[y], UNLIKELY)
                forced = 0.0
                num_slots = 0
                is_game = True
                for slot in range(n):
                    if a.is_win and is_decided(board.winnings[0], board.winnings[1], c):
                        is_game = bits >> slot == 0
                        break
                    note_slot(trail, board, slot)
                    num_slots += 1
                    kind, player = classify(board, slot)
                    is_first = bits >> slot == 0  # of all games that come here alike
                    is_match = (bits >> slot) & 1 == 1
                    folder = -1
                    if player == 0 and is_first:
                        note_lower(counts, board, slot, player, kind, weight)
                    if kind != CHOICE and is_match:
                        is_game = False
                        break
                    if kind == FORCED_FOLD:
                        folder = player
                        forced += player == 0
                    elif kind == CHOICE:
                        prob, _ = match_prob(a if player == 0 else b, board, slot, player)
                        if player == 0 and is_first:
                            note_decision(counts, board, slot, player, prob, weight)
                            if is_listing:
                                rule = rule_prob(a, board, slot, player)
                                take_row(rows, board, slot, prob, rule, listed)
                        chosen = prob if is_match else 1.0 - prob
                        weight *= chosen
                        listed *= max(chosen, UNLIKELY)
                        if weight <= 0.0 and not is_listing:
                            is_game = False
                            break
                        if is_match:
                            pull_latest(board, player, slot)
                        else:
                            folder = player
                    settle(board, slot, folder)
                if is_game and weight > 0.0:
                    value = utility(board.winnings[0], c, a.is_win)
                    total += weight * value
                    note_end(counts, trail, num_slots, shape, tall, value, forced, weight)
    return total
