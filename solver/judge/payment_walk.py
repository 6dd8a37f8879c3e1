"""The judge's walk where players choose how to pay a gap: ``pulls`` of ``tiles`` and ``free``.

As :mod:`solver.judge.history_walk`, which is faster but knows only ``latest``.  Here a *private
state* is a setup with the player's own payments so far, and public is besides only the sum that a
match took from later tiles, not which tiles gave it.  At a history each player holds the list of
all private states that agree with it, and the walk computes the counterfactual value of each of the
judged player's.  Own private state and public history together are an infostate with perfect
recall.  A payment moves a state to the lists of the histories that show its sum.

Private states are never merged, even where two payments leave the same chips, and branches are
walked however unlikely they are.  Each history keeps lists of its own while it is open, so that
memory grows with the slots and not with the histories.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.judge.history_walk import Judge
from solver.rules import (
    CHOICE,
    FOLD,
    MATCH,
    SHOW,
    classify,
    first_payment,
    new_board,
    next_payment,
    pull,
    settle,
)
from solver.strategy import match_prob, pay_probs

__all__ = ["walk_branch"]


class States(NamedTuple):
    """Private states of one player.

    Attributes
    ----------
    tiles, chips : ndarray of int64, shape (states, N)
        By slot; chips as they stand now, those of past slots as seen.
    weight : ndarray of float64, shape (states,)
        Opponent: probability of the setup and of acting along the history.  Not read for the
        judged player.
    """

    tiles: NDArray[np.int64]
    chips: NDArray[np.int64]
    weight: NDArray[np.float64]


class Moves(NamedTuple):
    """What a player's private states may do by an action: a row for each way to pay.

    Attributes
    ----------
    state : ndarray of int64, shape (moves,)
        The private state that moves.
    taken : ndarray of int64, shape (moves, N)
        Chips that it takes from each later tile.
    prob : ndarray of float64, shape (moves,)
        Probability of the move if the player follows a strategy; 1 where there is no choice.
    """

    state: NDArray[np.int64]
    taken: NDArray[np.int64]
    prob: NDArray[np.float64]


class Groups(NamedTuple):
    """Rows that show the same.

    Attributes
    ----------
    order : ndarray of int64, shape (rows,)
        The rows, those of a group side by side.
    start : ndarray of int64, shape (groups + 1,)
        Where each group starts in ``order``; then the number of rows.
    """

    order: NDArray[np.int64]
    start: NDArray[np.int64]


def walk_branch(
    judge: Judge,
    placed: tuple[NDArray[np.int64], NDArray[np.int64]],
    branch: NDArray[np.int64],
    reach: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the judged player's value of each setup in ``branch``, and the walk's counts.

    Parameters as for :func:`solver.judge.history_walk.walk_branch`.
    """
    tiles, chips = placed
    mine = States(tiles[branch], chips[branch], np.ones(len(branch)))
    counts = np.zeros(2, np.int64)
    board = new_board(tiles.shape[1])
    return walk_history(judge, board, 0, mine, States(tiles, chips, reach), counts), counts


@njit(cache=True, nogil=True)
def walk_history(judge, board, slot, mine, theirs, counts):
    """Return the value of each of the judged player's states, float64 of shape (own states,).

    The history is what ``board`` holds of the slots before ``slot``; ``mine`` and ``theirs`` are
    the states that agree with it.  ``counts`` is increased in place: histories (starts of a slot
    and ends) and own decisions (by private state and history).
    """
    counts[0] += 1
    seat = judge.seat
    values = np.zeros(mine.weight.shape[0])
    winnings = (board.winnings[0], board.winnings[1])
    my_groups, their_groups = group_by_sight(mine, slot), group_by_sight(theirs, slot)
    for i in range(my_groups.start.shape[0] - 1):
        my_rows = rows_of(my_groups, i)
        my_states = select(mine, my_rows)
        for j in range(their_groups.start.shape[0] - 1):
            their_states = select(theirs, rows_of(their_groups, j))
            open_slot(board, slot, winnings, seat, my_states, 0, their_states, 0)
            kind, player = classify(board, slot)
            is_mine = kind == CHOICE and player == seat
            counts[1] += my_rows.shape[0] * is_mine
            total = np.full(my_rows.shape[0], -np.inf if is_mine and judge.is_best else 0.0)
            for action in (FOLD, MATCH):
                if kind != CHOICE and action == (FOLD if kind == SHOW else MATCH):
                    continue  # nobody may
                open_slot(board, slot, winnings, seat, my_states, 0, their_states, 0)
                my_moves = list_moves(judge, board, slot, kind, player, seat, my_states, action)
                their_moves = list_moves(
                    judge, board, slot, kind, player, 1 - seat, their_states, action
                )
                my_parts = group_by_outcome(my_states, my_moves, slot, action)
                their_parts = group_by_outcome(their_states, their_moves, slot, action)
                move_values = np.zeros(my_moves.prob.shape[0])
                for a in range(my_parts.start.shape[0] - 1):
                    my_part = rows_of(my_parts, a)
                    for b in range(their_parts.start.shape[0] - 1):
                        their_part = rows_of(their_parts, b)
                        first, second = my_moves.state[my_part[0]], their_moves.state[their_part[0]]
                        open_slot(
                            board, slot, winnings, seat, my_states, first, their_states, second
                        )
                        moves = my_moves if player == seat else their_moves
                        part = my_part if player == seat else their_part
                        play(board, slot, kind, player, action, moves.taken[part[0]])
                        if slot + 1 == board.shown.shape[0]:
                            counts[0] += 1
                            reach = reach_of(their_states, their_moves, their_part)
                            move_values[my_part] += judge.payoff[board.winnings[seat]] * reach
                            continue
                        move_values[my_part] += walk_history(
                            judge,
                            board,
                            slot + 1,
                            follow(my_states, my_moves, my_part),
                            follow(their_states, their_moves, their_part),
                            counts,
                        )
                add_moves(total, my_moves, move_values, is_mine and judge.is_best)
            values[my_rows] += total
    return values


@njit(cache=True, nogil=True)
def group_by_sight(states, slot):
    """Group states by what the slot shows of them, stack and colour."""
    return group(2 * states.chips[:, slot] + states.tiles[:, slot] % 2)


@njit(cache=True, nogil=True)
def group_by_outcome(states, moves, slot, action):
    """Group moves by what they show: nothing if somebody folds, else tile and sum pulled."""
    shows = np.zeros(moves.prob.shape[0], np.int64)
    if action == MATCH:
        for row in range(shows.shape[0]):
            tile = states.tiles[moves.state[row], slot]
            shows[row] = moves.taken[row].sum() * states.tiles.shape[1] + tile
    return group(shows)


@njit(cache=True, nogil=True)
def group(shows):
    """Group rows by the number that each shows."""
    num_rows = shows.shape[0]
    order = np.argsort(shows, kind="mergesort")
    start = np.empty(num_rows + 1, np.int64)
    num_groups = 0
    for i in range(num_rows):
        if i == 0 or shows[order[i]] != shows[order[i - 1]]:
            start[num_groups] = i
            num_groups += 1
    start[num_groups] = num_rows
    return Groups(order, start[: num_groups + 1])


@njit(cache=True, nogil=True)
def rows_of(groups, number):
    """Return the rows of a group."""
    return groups.order[groups.start[number] : groups.start[number + 1]]


@njit(cache=True, nogil=True)
def select(states, rows):
    """Return some of the states."""
    return States(states.tiles[rows], states.chips[rows], states.weight[rows])


@njit(cache=True, nogil=True)
def follow(states, moves, rows):
    """Return the states that some of the moves lead to."""
    before = moves.state[rows]
    return States(
        states.tiles[before],
        states.chips[before] - moves.taken[rows],
        states.weight[before] * moves.prob[rows],
    )


@njit(cache=True, nogil=True)
def reach_of(states, moves, rows):
    """Return the probability of all opponent's states that some of the moves lead to."""
    total = 0.0
    for row in rows:
        total += states.weight[moves.state[row]] * moves.prob[row]
    return total


@njit(cache=True, nogil=True)
def open_slot(board, slot, winnings, seat, mine, my_row, theirs, their_row):
    """Put the board back to the start of a slot, with a state of each player on it."""
    board.shown[slot] = 0
    for player in range(2):
        board.winnings[player] = winnings[player]
        board.pulled[player, slot] = 0
    lay_state(board, seat, mine, my_row)
    lay_state(board, 1 - seat, theirs, their_row)


@njit(cache=True, nogil=True)
def lay_state(board, player, states, row):
    """Put a private state on the board."""
    for s in range(board.shown.shape[0]):
        board.tiles[player, s] = states.tiles[row, s]
        board.chips[player, s] = states.chips[row, s]


@njit(cache=True, nogil=True)
def play(board, slot, kind, player, action, taken):
    """Play an action on the board; the player who decides pays as ``taken`` says."""
    if action == FOLD:
        settle(board, slot, player)
        return
    if kind == CHOICE:
        pull(board, player, slot, taken)
    settle(board, slot, -1)


@njit(cache=True, nogil=True)
def list_moves(judge, board, slot, kind, decider, player, states, action):
    """Return what the player's states may do by an action, ``decider``'s or nobody's."""
    is_judged = player == judge.seat
    if kind != CHOICE or player != decider:
        return stay(states)
    if action == FOLD:
        moves = stay(states)
    else:
        pulls = judge.pulls if is_judged else judge.theirs.pulls
        moves = list_ways(pulls, board, slot, player, states)
    if not is_judged:
        fill_prob(judge.theirs, board, slot, player, states, action, moves.prob)
    elif not judge.is_best:
        fill_prob(judge.mine, board, slot, player, states, action, moves.prob)
    return moves


@njit(cache=True, nogil=True)
def stay(states):
    """Return a move a state, which takes no chips."""
    num = states.weight.shape[0]
    return Moves(np.arange(num), np.zeros(states.chips.shape, np.int64), np.ones(num))


@njit(cache=True, nogil=True)
def list_ways(pulls, board, slot, player, states):
    """Return a move for each way in which a state can pay the gap."""
    taken = np.empty(board.shown.shape[0], np.int64)
    num = 0
    for row in range(states.weight.shape[0]):
        lay_state(board, player, states, row)
        first_payment(board, player, slot, taken)
        num += 1
        while next_payment(board, player, slot, pulls, taken):
            num += 1
    moves = Moves(np.empty(num, np.int64), np.empty((num, taken.shape[0]), np.int64), np.ones(num))
    num = 0
    for row in range(states.weight.shape[0]):
        lay_state(board, player, states, row)
        first_payment(board, player, slot, taken)
        is_way = True
        while is_way:
            moves.state[num] = row
            moves.taken[num] = taken
            num += 1
            is_way = next_payment(board, player, slot, pulls, taken)
    return moves


@njit(cache=True, nogil=True)
def fill_prob(strategy, board, slot, player, states, action, prob):
    """Ask the strategy for the probability of each move of the deciding player."""
    num = 0
    for row in range(states.weight.shape[0]):
        lay_state(board, player, states, row)
        match, _ = match_prob(strategy, board, slot, player)
        if action == FOLD:
            prob[row] = 1.0 - match
            continue
        ways = pay_probs(strategy, board, slot, player, prob[num:])
        prob[num : num + ways] *= match
        num += ways


@njit(cache=True, nogil=True)
def add_moves(total, moves, move_values, is_best):
    """Add to the states' values those of their moves: the expectation, or keep the best."""
    for row in range(move_values.shape[0]):
        state = moves.state[row]
        if is_best:
            total[state] = max(total[state], move_values[row])
        else:
            total[state] += moves.prob[row] * move_values[row]
