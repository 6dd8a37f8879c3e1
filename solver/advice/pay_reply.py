"""Playing on as well as possible where players choose how to pay, against a list of holdings.

As :mod:`solver.advice.reply`, which is faster but knows only ``pulls='latest'``.  A holding is
carried along with its chips as they stand, since the opponent's payments are hidden but for their
sum: a match divides each holding among the ways in which the strategy pays.  At my decisions, fold
and every way to pay that my rule allows are compared for the whole list.  Two cuts change no value:
a game that is decided under ``objective=win`` is not played on, since the winner only has to spend
nothing, and once a way wins surely no other is tried.  I am player 0.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.advice.posterior import Holdings
from solver.advice.reply import DRAW, LOSS, VALUE, WIN, as_compiled, copy_board, is_settled
from solver.payments import list_payments
from solver.rules import (
    CHOICE,
    FOLD,
    FORCED_FOLD,
    LATEST,
    MATCH,
    SHOW,
    Board,
    classify,
    colour,
    first_payment,
    new_board,
    next_payment,
    pull,
    settle,
    utility,
)
from solver.situation import Situation
from solver.strategy import Strategy, match_prob, pay_probs

__all__ = ["best_pay_reply", "weigh_paying"]

_TIE = 1e-12
"""Values that differ by less are equal; the earlier action is taken, and fold is the first."""


def best_pay_reply(
    strategy: Strategy,
    board: Board,
    slot: int,
    holdings: Holdings,
    pulls: int,
    *,
    limit: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Return the ways to pay, and what each action is worth if I play on as well as possible.

    Parameters
    ----------
    strategy : Strategy
        What the opponent's decisions follow, and how it pays.
    board : Board
        The situation, with me as player 0 in an open ``slot`` where I decide or must fold.
    holdings : Holdings
        The opponent's.
    pulls : int
        LATEST, TILES or FREE: how I may pay, here and later.
    limit : int, optional
        Holdings to be visited at most, counted at every position; None for any number.

    Returns
    -------
    ways : ndarray of int64, shape (ways, N)
        What each way takes off each tile, the default rule's first.
    outcomes : ndarray of float64, shape (1 + ways, 4)
        For fold and each way to pay: my utility, and the probabilities of winning, drawing and
        losing.  None instead of both if there is more to visit than ``limit``.
    """
    n = board.shown.shape[0]
    ways = np.zeros((0, n), np.int64)
    if classify(board, slot)[0] == CHOICE:
        ways = list_payments(board, 0, slot, pulls)
    outcomes = np.zeros((1 + len(ways), 4))
    budget = np.array([np.iinfo(np.int64).max if limit is None else limit])
    tiles, chips, weights = (np.ascontiguousarray(part) for part in holdings[:3])
    compiled = as_compiled(strategy)
    for action in range(1 + len(ways)):
        after = new_board(n)
        copy_board(board, after)
        if action == FOLD:
            settle(after, slot, 0)
            outcomes[action] = _play_on(
                compiled, pulls, after, slot + 1, tiles, chips, weights, budget
            )
        else:
            pull(after, 0, slot, ways[action - 1])
            outcomes[action] = _show_tiles(
                compiled, pulls, after, slot, tiles, chips, weights, budget
            )
        if budget[0] < 0:
            return None
    return ways, outcomes


def weigh_paying(
    situation: Situation,
    strategy: Strategy,
    tiles: NDArray[np.int64],
    chips: NDArray[np.int64],
    prior: NDArray[np.float64],
) -> Holdings:
    """Return which of these setups the opponent may have placed, and what is left of their chips.

    As :func:`solver.advice.posterior.weigh_setups`, for a strategy that says how it pays.  A setup
    stands in the list once for each sequence of payments that agrees with what was seen.
    """
    kept = prior > 0
    held = tiles[kept].astype(np.int64), chips[kept].astype(np.int64), prior[kept].astype(float)
    compiled = as_compiled(strategy)
    boards = situation.boards()
    for slot, board in enumerate(boards):
        fits = (held[0][:, slot] % 2 == colour(board.tiles[1, slot])) & (
            held[1][:, slot] == board.chips[1, slot]
        )
        held = held[0][fits], held[1][fits], held[2][fits]
        if slot == situation.slot:
            break
        number = situation.events[slot].number
        kind, player = classify(board, slot)
        if kind == CHOICE and player == 1:
            action = FOLD if number is None else MATCH
            *held, taken = _their_moves(compiled, board, slot, *held, action)
            fits = taken == (0 if number is None else boards[slot + 1].pulled[1, slot])
            held = held[0][fits], held[1][fits], held[2][fits]
        if number is not None:
            fits = held[0][:, slot] == number
            held = held[0][fits], held[1][fits], held[2][fits]
    total = float(held[2].sum())
    return Holdings(held[0], held[1], held[2] / total if total else held[2], total)


@njit(cache=True, nogil=True)
def _their_moves(strategy, board, slot, tiles, chips, weights, action):
    """Return the holdings after the opponent's action, and what each takes off later tiles.

    Each holding stands there once for every way to pay that has a weight.  ``board`` is at the
    start of ``slot``; the opponent's row is overwritten.
    """
    n = board.shown.shape[0]
    way = np.zeros(n, np.int64)
    num = 0
    for row in range(weights.shape[0]):
        num += 1
        if action == MATCH and strategy.pulls != LATEST:
            board.chips[1, slot:] = chips[row, slot:]
            first_payment(board, 1, slot, way)
            while next_payment(board, 1, slot, strategy.pulls, way):
                num += 1
    new_tiles = np.empty((num, n), np.int64)
    new_chips = np.empty((num, n), np.int64)
    new_weights = np.empty(num)
    taken = np.zeros(num, np.int64)
    probs = np.empty(num)
    count = 0
    for row in range(weights.shape[0]):
        board.tiles[1] = tiles[row]
        board.chips[1, slot:] = chips[row, slot:]
        match, _ = match_prob(strategy, board, slot, 1)
        if action == FOLD:
            if match < 1.0:
                new_tiles[count] = tiles[row]
                new_chips[count] = chips[row]
                new_weights[count] = weights[row] * (1.0 - match)
                count += 1
            continue
        if match <= 0.0:
            continue
        num_ways = pay_probs(strategy, board, slot, 1, probs)
        first_payment(board, 1, slot, way)
        for number in range(num_ways):
            if probs[number] > 0.0:
                new_tiles[count] = tiles[row]
                new_chips[count] = chips[row] - way
                new_weights[count] = weights[row] * match * probs[number]
                taken[count] = way.sum()
                count += 1
            if number + 1 < num_ways:
                next_payment(board, 1, slot, strategy.pulls, way)
    return new_tiles[:count], new_chips[:count], new_weights[:count], taken[:count]


@njit(cache=True, nogil=True)
def _play_on(strategy, pulls, start, slot, tiles, chips, weights, budget):
    """Return sums of (utility, win, draw, loss) over the holdings from the start of ``slot`` on.

    ``budget`` is lowered in place by the holdings visited; once below 0, the sums mean nothing.
    """
    n = start.shown.shape[0]
    sums = np.zeros(4)
    budget[0] -= weights.shape[0]
    if budget[0] < 0 or weights.shape[0] == 0:
        return sums
    mine = start.winnings[0]
    num_chips = strategy.num_chips
    if slot == n or is_settled(strategy, start):
        total = weights.sum()
        sums[VALUE] = total * utility(mine, num_chips, strategy.is_win)
        sums[WIN if mine > num_chips else DRAW if mine == num_chips else LOSS] = total
        return sums
    board, after = new_board(n), new_board(n)
    copy_board(start, board)
    looks = 2 * chips[:, slot] + tiles[:, slot] % 2
    way = np.zeros(n, np.int64)
    outcome = np.zeros(4)
    for look in np.unique(looks):
        seen = np.flatnonzero(looks == look)
        held_tiles, held_chips, held_weights = tiles[seen], chips[seen], weights[seen]
        board.tiles[1] = held_tiles[0]
        board.chips[1, slot:] = held_chips[0, slot:]
        kind, player = classify(board, slot)
        best = np.zeros(4)
        is_theirs = kind == CHOICE and player == 1
        if kind != SHOW:  # somebody folds
            left_tiles, left_chips, left_weights = held_tiles, held_chips, held_weights
            if is_theirs:
                copy_board(board, after)
                left_tiles, left_chips, left_weights, _ = _their_moves(
                    strategy, after, slot, held_tiles, held_chips, held_weights, FOLD
                )
            copy_board(board, after)
            settle(after, slot, player)
            best[:] = _play_on(
                strategy, pulls, after, slot + 1, left_tiles, left_chips, left_weights, budget
            )
        if kind == FORCED_FOLD:
            sums += best
            continue
        sure = held_weights.sum() - _TIE
        is_mine = kind == CHOICE and player == 0
        if is_mine:
            first_payment(board, 0, slot, way)
        is_way = True
        while is_way:
            if is_mine and strategy.is_win and best[VALUE] >= sure:
                break  # nothing is better than winning
            moved_tiles, moved_chips, moved_weights = held_tiles, held_chips, held_weights
            taken = np.zeros(held_weights.shape[0], np.int64)
            if is_theirs:
                copy_board(board, after)
                moved_tiles, moved_chips, moved_weights, taken = _their_moves(
                    strategy, after, slot, held_tiles, held_chips, held_weights, MATCH
                )
            outcome[:] = 0.0
            shows = taken * n + moved_tiles[:, slot]
            for show in np.unique(shows):
                rows = np.flatnonzero(shows == show)
                copy_board(board, after)
                after.tiles[1] = moved_tiles[rows[0]]
                if is_mine:
                    pull(after, 0, slot, way)
                elif kind == CHOICE:
                    gap = after.chips[0, slot] - after.chips[1, slot]
                    after.pulled[1, slot] = show // n
                    after.winnings[1] -= gap - show // n
                settle(after, slot, -1)
                outcome += _play_on(
                    strategy,
                    pulls,
                    after,
                    slot + 1,
                    moved_tiles[rows],
                    moved_chips[rows],
                    moved_weights[rows],
                    budget,
                )
            if not is_mine:
                best += outcome
                break
            if outcome[VALUE] > best[VALUE] + _TIE:
                best[:] = outcome
            is_way = next_payment(board, 0, slot, pulls, way)
        sums += best
    return sums


@njit(cache=True, nogil=True)
def _show_tiles(strategy, pulls, paid, slot, tiles, chips, weights, budget):
    """Return the same sums from the showing of the tiles in ``slot``, my gap paid."""
    sums = np.zeros(4)
    after = new_board(paid.shown.shape[0])
    for tile in np.unique(tiles[:, slot]):
        rows = np.flatnonzero(tiles[:, slot] == tile)
        copy_board(paid, after)
        after.tiles[1] = tiles[rows[0]]
        settle(after, slot, -1)
        sums += _play_on(
            strategy, pulls, after, slot + 1, tiles[rows], chips[rows], weights[rows], budget
        )
    return sums
