"""Playing on from a situation as well as possible, against a list of what the opponent may hold.

A depth-first best response of my one setup to a weighted list of the opponent's holdings.  A node
is what I have seen; the list is split there by what I see next, and at my decisions the better
action is taken for the whole list.  Takes ``pulls='latest'``; I am player 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.advice.posterior import Holdings
from solver.rules import (
    CHOICE,
    FOLD,
    FORCED_FOLD,
    MATCH,
    Board,
    chips_after_pulls,
    classify,
    colour,
    later_chips,
    new_board,
    pull_latest,
    settle,
    utility,
)
from solver.setups import Setup
from solver.strategy import CONSTANT, Strategy, make_strategy, match_prob

__all__ = [
    "DRAW",
    "LOSS",
    "VALUE",
    "WIN",
    "as_compiled",
    "best_reply",
    "copy_board",
    "is_settled",
    "setup_value",
]

VALUE, WIN, DRAW, LOSS = range(4)
"""What an outcome consists of: my utility, and the probabilities of winning, drawing, losing."""
_TIE = 1e-12
"""Values that differ by less are equal, and I fold."""


class _Problem(NamedTuple):
    """What the depth-first best response reads and its buffers, one row a slot."""

    strategy: Strategy
    num_pulled: int  # chips the opponent has pulled before the situation
    tiles: NDArray[np.int64]  # (holdings, N)
    chips: NDArray[np.int64]  # (holdings, N)
    boards: Board  # each array with a first axis over slots, length N + 1
    ids: NDArray[np.int64]  # (N + 1, holdings): which holdings reach the node being visited
    weights: NDArray[np.float64]  # (N + 1, holdings)
    match: NDArray[np.float64]  # (N + 1, holdings): the opponent's match probabilities
    outcomes: NDArray[np.float64]  # (N + 1, 2, 4): sums by action at the node being visited


def best_reply(
    strategy: Strategy, board: Board, slot: int, holdings: Holdings
) -> NDArray[np.float64]:
    """Return what each action is worth if I play on as well as possible.

    Parameters
    ----------
    strategy : Strategy
        What the opponent's decisions follow.
    board : Board
        The situation, with me as player 0 in an open ``slot``.
    holdings : Holdings
        The opponent's.

    Returns
    -------
    ndarray of float64, shape (2, 4)
        For fold and match: my utility, and the probabilities of winning, drawing and losing.
        Zeros for an action that the slot does not allow.
    """
    n = board.shown.shape[0]
    problem = _new_problem(as_compiled(strategy), n, holdings)
    for part, whole in zip(board, problem.boards, strict=True):
        whole[slot] = part
    problem.ids[slot] = np.arange(len(holdings.weights))
    problem.weights[slot] = holdings.weights
    _best_from(problem._replace(num_pulled=int(board.pulled[1].sum())), slot, len(holdings.weights))
    return problem.outcomes[slot].copy()


def setup_value(strategy: Strategy, setup: Setup, holdings: Holdings) -> float:
    """Return my utility if I place ``setup`` and play as well as possible.

    ``holdings`` are the opponent's setups as placed, with their probabilities.
    """
    problem = _new_problem(as_compiled(strategy), len(setup.tiles), holdings)
    problem.boards.tiles[0, 0], problem.boards.chips[0, 0] = setup.tiles, setup.chips
    problem.ids[0] = np.arange(len(holdings.weights))
    problem.weights[0] = holdings.weights
    return _best_from(problem, 0, len(holdings.weights))[VALUE]


def as_compiled(strategy: Strategy) -> Strategy:
    """Return the strategy with the number types and array layouts that the kernel was made for."""
    compiled = strategy._asdict()
    for name, like in make_strategy(1, 1, True)._asdict().items():
        if isinstance(like, np.ndarray):
            compiled[name] = np.require(compiled[name], like.dtype, ["C", "W"])
        else:
            compiled[name] = type(like)(compiled[name])
    return Strategy(**compiled)


def _new_problem(strategy: Strategy, num_tiles: int, holdings: Holdings) -> _Problem:
    """Allocate the buffers of a best response."""
    n, size = num_tiles, len(holdings.weights)
    boards = Board(*(np.zeros((n + 1, *part.shape), part.dtype) for part in new_board(n)))
    return _Problem(
        strategy,
        0,
        np.ascontiguousarray(holdings.tiles),
        np.ascontiguousarray(holdings.chips),
        boards,
        np.zeros((n + 1, size), np.int64),
        np.zeros((n + 1, size)),
        np.zeros((n + 1, size)),
        np.zeros((n + 1, 2, 4)),
    )


@njit(cache=True, nogil=True)
def _board_at(boards, slot):
    """Return the board of one row, as a view."""
    return Board(
        boards.tiles[slot],
        boards.chips[slot],
        boards.winnings[slot],
        boards.shown[slot],
        boards.pulled[slot],
    )


@njit(cache=True, nogil=True)
def copy_board(source, target):
    """Copy a board's arrays, in place."""
    target.tiles[:] = source.tiles
    target.chips[:] = source.chips
    target.winnings[:] = source.winnings
    target.shown[:] = source.shown
    target.pulled[:] = source.pulled


@njit(cache=True, nogil=True)
def _stack_now(problem, holding, slot, pulled):
    """Return a holding's stack in ``slot`` once ``pulled`` more chips are gone."""
    chips = problem.chips[holding]
    spare = later_chips(chips, slot) - (chips.shape[0] - 1 - slot)
    return chips_after_pulls(chips[slot], spare, pulled)


@njit(cache=True, nogil=True)
def _place_holding(problem, board, holding, slot, pulled):
    """Put a holding's tiles, and its chips from ``slot`` on, on the opponent's side, in place."""
    board.tiles[1] = problem.tiles[holding]
    spare = 0
    for s in range(board.shown.shape[0] - 1, slot - 1, -1):
        chips = problem.chips[holding, s]
        board.chips[1, s] = chips_after_pulls(chips, spare, pulled)
        spare += chips - 1


@njit(cache=True, nogil=True)
def _gather_like_first(problem, slot, start, count, pulled):
    """Move entries that look in ``slot`` like the first one to the front; return where they end.

    Entries ``start`` to ``count`` of the slot's row of ids and weights are reordered in place.
    """
    ids = problem.ids[slot]
    weights = problem.weights[slot]
    faced = colour(problem.tiles[ids[start], slot])
    stack = _stack_now(problem, ids[start], slot, pulled)
    end = start
    for place in range(start, count):
        holding = ids[place]
        if (
            colour(problem.tiles[holding, slot]) == faced
            and _stack_now(problem, holding, slot, pulled) == stack
        ):
            ids[place], ids[end] = ids[end], ids[place]
            weights[place], weights[end] = weights[end], weights[place]
            end += 1
    return end


@njit(cache=True, nogil=True)
def _fill_child(problem, slot, start, end, action, tile, is_theirs):
    """Pass on the entries for which ``action`` happens, with their tile ``tile``; return how many.

    ``tile`` is -1 if the tiles stay hidden.  Writes the next slot's ids and weights.
    """
    count = 0
    for place in range(start, end):
        holding = problem.ids[slot, place]
        if tile >= 0 and problem.tiles[holding, slot] != tile:
            continue
        weight = problem.weights[slot, place]
        if is_theirs:
            prob = problem.match[slot, place]
            weight *= prob if action == MATCH else 1.0 - prob
        if weight > 0.0:
            problem.ids[slot + 1, count] = holding
            problem.weights[slot + 1, count] = weight
            count += 1
    return count


@njit(cache=True, nogil=True)
def _end_value(problem, slot, count):
    """Return the outcome sums of a game that is finished or settled."""
    winnings = problem.boards.winnings[slot, 0]
    total = problem.weights[slot, :count].sum()
    num_chips = problem.strategy.num_chips
    value = total * utility(winnings, num_chips, problem.strategy.is_win)
    if winnings > num_chips:
        return value, total, 0.0, 0.0
    if winnings < num_chips:
        return value, 0.0, 0.0, total
    return value, 0.0, total, 0.0


@njit(cache=True, nogil=True)
def is_settled(strategy, board):
    """Whether the rest cannot matter: the one who has won only has to spend nothing.

    An opponent who decides the same everywhere may still spend.
    """
    if not strategy.is_win:
        return False
    is_lost = board.winnings[1] > strategy.num_chips and strategy.decision_kind != CONSTANT
    return board.winnings[0] > strategy.num_chips or is_lost


_RESULT = numba.types.UniTuple(numba.float64, 4)
_PROBLEM = numba.typeof(
    _new_problem(
        make_strategy(1, 1, True),
        1,
        Holdings(np.zeros((1, 1), np.int64), np.ones((1, 1), np.int64), np.ones(1)),
    )
)


@njit(_RESULT(_PROBLEM, numba.int64, numba.int64), cache=True, nogil=True)
def _best_from(problem, slot, count):
    """Return sums of (utility, win, draw, loss) over the node's ``count`` entries.

    The node has reached ``slot`` but not seen it; its board and entries are the slot's rows.
    """
    n = problem.tiles.shape[1]
    if slot == n:
        return _end_value(problem, slot, count)
    board = _board_at(problem.boards, slot)
    child = _board_at(problem.boards, slot + 1)
    outcomes = problem.outcomes[slot]
    pulled = board.pulled[1].sum() - problem.num_pulled
    sums = np.zeros(4)
    start = 0
    while start < count:
        end = _gather_like_first(problem, slot, start, count, pulled)
        _place_holding(problem, board, problem.ids[slot, start], slot, pulled)
        kind, player = classify(board, slot)
        is_theirs = kind == CHOICE and player == 1
        if is_theirs:
            for place in range(start, end):
                _place_holding(problem, board, problem.ids[slot, place], slot, pulled)
                problem.match[slot, place], _ = match_prob(problem.strategy, board, slot, 1)
        outcomes[:] = 0.0
        for action in range(2):
            if (action == FOLD and kind != CHOICE and kind != FORCED_FOLD) or (
                action == MATCH and kind == FORCED_FOLD
            ):
                continue
            for tile in range(n if action == MATCH else 1):
                shown = tile if action == MATCH else -1
                passed = _fill_child(problem, slot, start, end, action, shown, is_theirs)
                if passed == 0:
                    continue
                copy_board(board, child)
                if action == FOLD:
                    settle(child, slot, player)
                else:
                    if kind == CHOICE:
                        pull_latest(child, player, slot)
                    child.tiles[1, slot] = tile
                    settle(child, slot, -1)
                if is_settled(problem.strategy, child):
                    value, win, draw, loss = _end_value(problem, slot + 1, passed)
                else:
                    value, win, draw, loss = _best_from(problem, slot + 1, passed)
                outcomes[action, VALUE] += value
                outcomes[action, WIN] += win
                outcomes[action, DRAW] += draw
                outcomes[action, LOSS] += loss
        if kind == CHOICE and player == 0:
            more = outcomes[MATCH, VALUE] - outcomes[FOLD, VALUE]
            better = MATCH if more > _TIE else FOLD
            sums += outcomes[better]
        else:
            sums += outcomes[FOLD] + outcomes[MATCH]
        start = end
    return sums[0], sums[1], sums[2], sums[3]
