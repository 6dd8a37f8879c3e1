"""Playing on from a situation well, against draws of what the opponent may hold.

For games whose holdings cannot be listed.  My later decisions are looked up in a small table over
(slot, candidates below and above my tile, opponent's stack, lead), learned on draws of its own: at
each of my decisions along a game both actions are played out with the same luck, and the better
mean wins.  Where the table has too few draws I play as my own strategy does, which need not be the
opponent's.  Which of the two, learned or my strategy's own, earns more after an action is settled
on further draws, and the values come from a last batch that neither step has seen.  So a value is
that of a way to play that exists, and on average never above that of the best one.  Naming the
better of two actions by these values is one more choice: in a close call its value is a little
high.

Takes ``pulls='latest'``; I am player 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.abstraction import candidates_of, lead_step, step_of
from solver.advice.mixture import Mixture, Posterior
from solver.advice.posterior import Holdings, Remainders, draw_rest, place_set
from solver.advice.reply import DRAW, LOSS, VALUE, WIN, as_compiled, copy_board
from solver.rules import (
    CHOICE,
    FOLD,
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
from solver.strategy import Strategy, match_prob

__all__ = ["SampledReply", "sampled_reply"]


class SampledReply(NamedTuple):
    """What :func:`sampled_reply` found.

    Attributes
    ----------
    outcomes : ndarray of float64, shape (2, 4)
        As in :func:`best_reply`, estimated.
    batches : ndarray of float64, shape (batches, 2)
        Mean utility of each action in each batch.
    is_learned : ndarray of bool, shape (2,)
        Whether my decisions after each action are the learned ones, else my strategy's own.
    num_draws : int
        Draws that the values come from.
    """

    outcomes: NDArray[np.float64]
    batches: NDArray[np.float64]
    is_learned: NDArray[np.bool_]
    num_draws: int


class _Draws(NamedTuple):
    """What the playouts draw from and play by."""

    strategy: Strategy  # decides for the opponent
    own: Strategy  # decides for me where nothing was learned
    setups: Strategy  # drew the opponent's setup
    cumulative: NDArray[np.float64]  # (states + holdings,), running sums of weights, states first
    masks: NDArray[np.int64]  # (states,)
    chips_left: NDArray[np.int64]
    faced: NDArray[np.int64]
    tiles: NDArray[np.int64]  # (holdings, N)
    chips: NDArray[np.int64]
    lean: NDArray[np.float64]  # (reply keys,): sum of match less fold values in my decisions
    visits: NDArray[np.int64]  # (reply keys,)


NUM_BATCHES = 20
_LEAD_STEPS, _STACK_STEPS = 13, 8
_MIN_VISITS = 8
"""Visits below which a learned decision is not trusted."""


def sampled_reply(
    strategy: Strategy,
    setups: Strategy,
    board: Board,
    slot: int,
    posterior: Posterior,
    *,
    samples: int,
    rng: np.random.Generator,
    own: Strategy | None = None,
) -> SampledReply:
    """Estimate what each action is worth if I play on by the better of two ways.

    Parameters
    ----------
    strategy : Strategy
        What the opponent's decisions follow.
    setups : Strategy
        What the opponent's setup was drawn from; not used where ``posterior`` is a list.
    board : Board
        The situation, with me as player 0 in an open ``slot`` where I decide or must fold.
    posterior : Remainders, Holdings or Mixture
        What the opponent may hold.
    samples : int
        Draws in all: 4 in 10 to learn on, 1 to choose by, 5 to value.
    rng : Generator
        Random numbers.
    own : Strategy, optional
        One of the two ways for my decisions; left out, ``strategy``.
    """
    n = board.shown.shape[0]
    candidates = (n + 1) // 2 + 1
    num_keys = n * candidates * candidates * _STACK_STEPS * _LEAD_STEPS
    remainders, holdings = _split(posterior, n)
    learned = np.zeros(num_keys), np.zeros(num_keys, np.int64)
    draws = _Draws(
        as_compiled(strategy),
        as_compiled(strategy if own is None else own),
        as_compiled(setups),
        np.cumsum(posterior.weights),
        remainders.masks,
        remainders.chips_left,
        remainders.tiles,
        holdings.tiles,
        holdings.chips,
        *learned,
    )
    learning, choosing = max(samples * 4 // 10, 1), max(samples // 10, 1)
    num_each = max((samples - learning - choosing) // NUM_BATCHES, 1)
    both, neither = np.ones(2, np.bool_), np.zeros(2, np.bool_)
    _run_draws(draws, board, slot, learning, rng, True, both, np.zeros((2, 4)))
    own_way, learned_way = np.zeros((2, 4)), np.zeros((2, 4))
    _run_draws(draws, board, slot, choosing, rng, False, neither, own_way)
    _run_draws(draws, board, slot, choosing, rng, False, both, learned_way)
    is_learned = learned_way[:, VALUE] > own_way[:, VALUE]
    batches = np.zeros((NUM_BATCHES, 2, 4))
    for batch in batches:
        _run_draws(draws, board, slot, num_each, rng, False, is_learned, batch)
    return SampledReply(
        batches.mean(axis=0), batches[:, :, VALUE].copy(), is_learned, num_each * NUM_BATCHES
    )


def _split(posterior: Posterior, num_tiles: int) -> tuple[Remainders, Holdings]:
    """Return both kinds of what may be held, one of them maybe empty."""
    if isinstance(posterior, Mixture):
        return posterior.remainders, posterior.holdings
    none, no_rows = np.zeros(0, np.int64), np.zeros((0, num_tiles), np.int64)
    if isinstance(posterior, Remainders):
        return posterior, Holdings(no_rows, no_rows, np.zeros(0))
    return Remainders(none, none, none, np.zeros(0)), posterior


@njit(cache=True, nogil=True)
def _reply_key(board, slot, num_chips):
    """Return the key of my decision in ``slot`` among those of my one setup."""
    n = board.shown.shape[0]
    seen = 0
    for s in range(slot):
        if board.shown[s]:
            seen |= 1 << board.tiles[1, s]
    below, above = candidates_of(n, colour(board.tiles[1, slot]), seen, board.tiles[0, slot])
    lead = board.winnings[0] + later_chips(board.chips[0], slot)
    lead -= board.winnings[1] + later_chips(board.chips[1], slot)
    candidates = (n + 1) // 2 + 1
    key = (slot * candidates + below) * candidates + above
    key = key * _STACK_STEPS + step_of(board.chips[1, slot], _STACK_STEPS)
    return key * _LEAD_STEPS + lead_step(lead, num_chips)


@njit(cache=True, nogil=True)
def _draw_holding(draws, rng, target, board, slot):
    """Put a drawn holding on the opponent's side, in place; ``target`` in [0, 1) picks it."""
    n = board.shown.shape[0]
    state = np.searchsorted(draws.cumulative, target * draws.cumulative[-1], side="right")
    state = min(state, draws.cumulative.shape[0] - 1)
    row = state - draws.masks.shape[0]
    if row >= 0:
        board.tiles[1] = draws.tiles[row]
        board.chips[1, slot:] = draws.chips[row, slot:]
        return
    place_set(board, slot, draws.masks[state], draws.faced[state])
    later_tiles = board.tiles[1, slot + 1 :]
    chips = board.chips[1, slot + 1 :]
    draw_rest(draws.setups, rng, draws.masks[state], draws.chips_left[state], later_tiles, chips)
    pulled = board.pulled[1].sum()
    spare = 0
    for s in range(n - 1, slot, -1):
        placed = board.chips[1, s]
        board.chips[1, s] = chips_after_pulls(placed, spare, pulled)
        spare += placed - 1


@njit(cache=True, nogil=True)
def _act(board, slot, player, action):
    """Fold or match in ``slot``, in place."""
    if action == MATCH:
        pull_latest(board, player, slot)
        settle(board, slot, -1)
    else:
        settle(board, slot, player)


@njit(cache=True, nogil=True)
def _choose(draws, board, slot, player, luck, use_learned):
    """Return the action of either player by the way to play."""
    if player == 0 and use_learned:
        key = _reply_key(board, slot, draws.strategy.num_chips)
        if draws.visits[key] >= _MIN_VISITS:
            return MATCH if draws.lean[key] > 0.0 else FOLD
    prob, _ = match_prob(draws.own if player == 0 else draws.strategy, board, slot, player)
    return MATCH if luck[slot] < prob else FOLD


@njit(cache=True, nogil=True)
def _finish(draws, board, slot, luck, use_learned):
    """Play from the start of ``slot`` to the end, in place."""
    for s in range(slot, board.shown.shape[0]):
        kind, player = classify(board, s)
        if kind == CHOICE:
            _act(board, s, player, _choose(draws, board, s, player, luck, use_learned))
        else:
            settle(board, s, player)


@njit(cache=True, nogil=True)
def _learn(draws, board, slot, luck, spare_board):
    """Play from the start of ``slot``, trying both actions at each of my decisions, in place."""
    num_chips = draws.strategy.num_chips
    for s in range(slot, board.shown.shape[0]):
        kind, player = classify(board, s)
        if kind != CHOICE:
            settle(board, s, player)
            continue
        if player == 0:
            key = _reply_key(board, s, num_chips)
            for action in range(2):
                copy_board(board, spare_board)
                _act(spare_board, s, 0, action)
                _finish(draws, spare_board, s + 1, luck, True)
                value = utility(spare_board.winnings[0], num_chips, draws.strategy.is_win)
                draws.lean[key] += value if action == MATCH else -value
            draws.visits[key] += 1
        _act(board, s, player, _choose(draws, board, s, player, luck, True))


@njit(cache=True, nogil=True)
def _run_draws(draws, start, slot, num_draws, rng, is_learning, is_learned, means):
    """Play out draws after each action in ``slot``; add the mean outcomes to ``means``, in place.

    ``is_learned`` says for each action whether my decisions after it are the learned ones; while
    learning, the table is filled and ``means`` left alone.  The picks of what the opponent holds
    are spread evenly over its distribution.
    """
    n = start.shown.shape[0]
    root = new_board(n)
    board = new_board(n)
    spare_board = new_board(n)
    luck = np.empty(n)
    num_chips = draws.strategy.num_chips
    kind, _ = classify(start, slot)
    for draw in range(num_draws):
        copy_board(start, root)
        _draw_holding(draws, rng, (draw + rng.random()) / num_draws, root, slot)
        for s in range(n):
            luck[s] = rng.random()
        for action in range(2):
            if action == MATCH and kind != CHOICE:
                continue
            copy_board(root, board)
            _act(board, slot, 0, action)
            if is_learning:
                _learn(draws, board, slot + 1, luck, spare_board)
                continue
            _finish(draws, board, slot + 1, luck, is_learned[action])
            winnings = board.winnings[0]
            means[action, VALUE] += utility(winnings, num_chips, draws.strategy.is_win) / num_draws
            result = WIN if winnings > num_chips else DRAW if winnings == num_chips else LOSS
            means[action, result] += 1.0 / num_draws
