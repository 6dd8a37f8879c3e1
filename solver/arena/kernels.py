"""Compiled play of pairs of games, with the luck exchanged and guesses of it taken off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.arena.baseline import (
    LEAD,
    NUM_FEATURES,
    REACHED,
    add_features,
    fill_trace,
    setup_value,
    state_value,
)
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
from solver.strategy import CONSTANT, draw_strategy_setup, match_prob

__all__ = [
    "DRAWS",
    "LOSSES",
    "PLAIN_SQUARES",
    "PLAIN_SUM",
    "SQUARES",
    "SUM",
    "WINS",
    "Record",
    "new_record",
    "new_room",
    "play_game",
    "play_pairs",
]

SUM, SQUARES, PLAIN_SUM, PLAIN_SQUARES, WINS, DRAWS, LOSSES = range(7)
"""What is summed: a's mean utility in a pair, reduced and plain, and games won, drawn and lost."""


class Record(NamedTuple):
    """What a pilot keeps of its games; empty arrays in the match itself.

    Attributes
    ----------
    traces : ndarray of float64, shape (games, N, 4)
        Each game when each slot was reached: see :func:`solver.arena.baseline.fill_trace`.
    leads : ndarray of float64, shape (games,)
        A's final lead, in chips.
    features : ndarray of float64, shape (pairs, NUM_FEATURES)
        Mean setup features of the two games of a pair.
    values : ndarray of float64, shape (pairs,)
        A's mean utility in them, with the luck taken off that the baseline guessed.
    """

    traces: NDArray[np.float64]
    leads: NDArray[np.float64]
    features: NDArray[np.float64]
    values: NDArray[np.float64]


def new_record(num_pairs: int, num_tiles: int) -> Record:
    """Return room for the record of so many pairs."""
    return Record(
        np.zeros((2 * num_pairs, num_tiles, REACHED + 1)),
        np.zeros(2 * num_pairs),
        np.zeros((num_pairs, NUM_FEATURES)),
        np.zeros(num_pairs),
    )


@njit(cache=True, nogil=True)
def play_pairs(a, b, num_pairs, setup_rngs, rng, baseline, totals, record):
    """Play pairs of games and add their sums to ``totals``, in place; fill ``record`` if it is one.

    ``setup_rngs`` draw the setups of a and b in the first game, then of a and b in the second.
    """
    num_tiles = baseline.scales.shape[0]
    keep = record.leads.shape[0] > 0
    board = new_board(num_tiles)
    luck = np.empty((2, num_tiles))
    features = np.empty(NUM_FEATURES)
    room = new_room(num_tiles)
    no_trace = np.empty((0, REACHED + 1))
    for pair in range(num_pairs):
        for player in range(2):
            for slot in range(num_tiles):
                luck[player, slot] = rng.random()
        features[:] = 0.0
        plain = 0.0
        reduced = 0.0
        for second in range(2):
            draw_strategy_setup(a, setup_rngs[2 * second], board.tiles[0], board.chips[0])
            draw_strategy_setup(b, setup_rngs[2 * second + 1], board.tiles[1], board.chips[1])
            trace = no_trace
            if keep:
                trace = record.traces[2 * pair + second]
                for slot in range(num_tiles):
                    add_features(
                        board.tiles[0, slot],
                        board.chips[0, slot],
                        board.tiles[1, slot],
                        board.chips[1, slot],
                        num_tiles,
                        features,
                    )
            result, lucky = play_game(
                a, b, board, luck[second], luck[1 - second], baseline, room, trace
            )
            if result > 0:
                totals[WINS] += 1
            elif result < 0:
                totals[LOSSES] += 1
            else:
                totals[DRAWS] += 1
            plain += 0.5 * result
            reduced += 0.5 * (result - lucky)
            if keep:
                record.leads[2 * pair + second] = board.winnings[0] - board.winnings[1]
        if keep:
            record.features[pair] = 0.5 * features
            record.values[pair] = reduced
        totals[SUM] += reduced
        totals[SQUARES] += reduced * reduced
        totals[PLAIN_SUM] += plain
        totals[PLAIN_SQUARES] += plain * plain


class _Room(NamedTuple):
    """Arrays to work in while a game is played."""

    winnings: NDArray[np.int64]
    chips: NDArray[np.int64]
    row: NDArray[np.float64]


@njit(cache=True, nogil=True)
def new_room(num_tiles):
    """Return the arrays that :func:`play_game` works in."""
    return _Room(np.empty(2, np.int64), np.empty(num_tiles, np.int64), np.empty(REACHED + 1))


@njit(cache=True, nogil=True)
def play_game(a, b, board, luck_a, luck_b, baseline, room, trace):
    """Play a game whose setups are on the board, in place; return ``(utility, lucky)`` of a.

    ``luck_a`` and ``luck_b`` hold one uniform number a slot for the decisions of each.  ``lucky``
    is what the baseline takes the setups and those numbers to be worth to a; its mean is that of
    the setups, :func:`solver.arena.chances.expected_setup_value`.  ``trace`` (float64, shape
    (N, 4), or of no rows) gets a row for each slot reached.
    """
    board.winnings[:] = 0
    board.shown[:] = 0
    board.pulled[:] = 0
    lucky = setup_value(board, baseline, a.num_chips)
    may_stop = a.is_win and a.decision_kind != CONSTANT and b.decision_kind != CONSTANT
    for slot in range(board.shown.shape[0]):
        if may_stop and is_decided(board.winnings[0], board.winnings[1], a.num_chips):
            break
        if slot < trace.shape[0]:
            fill_trace(board, slot, trace[slot])
        kind, player = classify(board, slot)
        folder = -1
        if kind == FORCED_FOLD:
            folder = player
        elif kind == CHOICE:
            if player == 0:
                prob, _ = match_prob(a, board, slot, player)
                is_match = luck_a[slot] < prob
            else:
                prob, _ = match_prob(b, board, slot, player)
                is_match = luck_b[slot] < prob
            if 0.0 < prob < 1.0:
                fold, match = _try_both(board, player, slot, baseline, a.num_chips, a.is_win, room)
                if is_match:
                    lucky += (1.0 - prob) * (match - fold)
                else:
                    lucky -= prob * (match - fold)
            if is_match:
                pull_latest(board, player, slot)
            else:
                folder = player
        settle(board, slot, folder)
    return utility(board.winnings[0], a.num_chips, a.is_win), lucky


@njit(cache=True, nogil=True)
def _try_both(board, player, slot, baseline, num_chips, is_win, room):
    """Return ``(fold, match)``: a's guessed utility after either; the board is left as it was."""
    row = room.row
    room.winnings[:] = board.winnings
    settle(board, slot, player)
    fill_trace(board, slot + 1, row)
    fold = state_value(row, slot + 1, baseline, num_chips, is_win)
    board.winnings[:] = room.winnings
    room.chips[:] = board.chips[player]
    pull_latest(board, player, slot)
    settle(board, slot, -1)
    if board.pulled[player, slot] > 0:
        fill_trace(board, slot + 1, row)
    else:  # the slots to come are as after a fold
        row[LEAD] = board.winnings[0] - board.winnings[1]
    match = state_value(row, slot + 1, baseline, num_chips, is_win)
    board.winnings[:] = room.winnings
    board.chips[player] = room.chips
    board.pulled[player, slot] = 0
    board.shown[slot] = 0
    return fold, match
