"""Playing on from a situation well, against draws of what the opponent may hold.

For games whose holdings cannot be listed.  My later decisions are looked up in a small table over
(slot, candidates below and above my tile, opponent's stack, lead), learned on draws of its own: at
each of my decisions along a game both actions are played out with the same luck, and the better
mean wins.  Where that has too few draws the stack is left out, and where there still are too few I
play as my own strategy does, which need not be the opponent's.  Which of the two, learned or my
strategy's own, earns more after an action is settled on further draws, and the values come from a
last batch that neither step has seen.  So a value is that of a way to play that exists, and on
average never above that of the best one.  Naming the better of two actions by these values is one
more choice: in a close call its value is a little high.

A gap that may be paid in many ways is first paid in some of them by the same luck
(:mod:`solver.advice.ways`), and the best go on.  Later gaps are paid by the default rule, which
is also how the opponent is taken to pay.  I am player 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.abstraction import candidates_of, lead_step, step_of
from solver.advice.mixture import Mixture, Posterior
from solver.advice.posterior import Holdings, Remainders, draw_rest, place_set
from solver.advice.reply import DRAW, LOSS, VALUE, WIN, as_compiled, copy_board, is_settled
from solver.advice.ways import narrow_payments
from solver.payments import list_payments
from solver.rules import (
    CHOICE,
    FOLD,
    LATEST,
    MATCH,
    Board,
    chips_after_pulls,
    classify,
    colour,
    later_chips,
    new_board,
    pull,
    pull_latest,
    settle,
    utility,
)
from solver.strategy import Strategy, match_prob

__all__ = ["SampledReply", "sampled_reply"]


class SampledReply(NamedTuple):
    """What :func:`sampled_reply` found; the first axis over actions is fold, then the ways to pay.

    Attributes
    ----------
    ways : ndarray of int64, shape (ways, N)
        What each way to pay that was valued takes off each tile, the default rule's first.
    outcomes : ndarray of float64, shape (1 + ways, 4)
        As in :func:`best_reply`, estimated.
    batches : ndarray of float64, shape (batches, 1 + ways)
        Mean utility of each action in each batch.
    is_learned : ndarray of bool, shape (1 + ways,)
        Whether my decisions after each action are the learned ones, else my strategy's own.
    num_draws : int
        Draws that the values come from.
    num_tried : int
        Ways to pay that were compared.
    """

    ways: NDArray[np.int64]
    outcomes: NDArray[np.float64]
    batches: NDArray[np.float64]
    is_learned: NDArray[np.bool_]
    num_draws: int
    num_tried: int


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
    lean: NDArray[np.float64]  # (tables, reply keys): sum of match less fold values where I decide
    visits: NDArray[np.int64]  # (tables, reply keys)


NUM_BATCHES = 20
_FEW_SLOTS = 6
"""Slots left up to which the draws to learn on suffice."""
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
    pulls: int = LATEST,
    also: NDArray[np.int64] | None = None,
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
        Draws in all: 6 in 10 to learn on, 1 to choose by, 3 to value.  With many slots left, where
        there is more to learn, 6 in 10 more are learned on.
    rng : Generator
        Random numbers.
    own : Strategy, optional
        One of the two ways for my decisions; left out, ``strategy``.
    pulls : int
        LATEST, TILES or FREE: how I may pay in this slot.  Later I pay by the default rule.
    also : ndarray of int64, shape (N,), optional
        A way to pay that is valued in any case.
    """
    n = board.shown.shape[0]
    candidates = (n + 1) // 2 + 1
    num_keys = n * candidates * candidates * (1 + _STACK_STEPS) * _LEAD_STEPS
    remainders, holdings = _split(posterior, n)
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
        np.zeros((1, num_keys)),
        np.zeros((1, num_keys), np.int64),
    )
    learning, choosing = max(samples * 6 // 10, 1), max(samples // 10, 1)
    extra = learning if n - slot > _FEW_SLOTS else 0
    num_each = max((samples - learning - choosing) // NUM_BATCHES, 1)
    ways = np.zeros((0, n), np.int64)
    if classify(board, slot)[0] == CHOICE:
        ways = list_payments(board, 0, slot, LATEST)
    _learn_draws(draws, board, slot, ways, np.arange(1 + len(ways)), learning + extra, rng, 0)
    num_tried = len(ways)
    if len(ways) and pulls != LATEST:

        def compare(tried: NDArray[np.int64], num_draws: int) -> NDArray[np.float64]:
            values = np.empty((num_draws, len(tried)))
            _compare_draws(draws, board, slot, tried, rng, values)
            return values

        ways, num_tried = narrow_payments(board, slot, pulls, compare)
        if also is not None and not (ways == also).all(axis=1).any():
            ways = np.concatenate([ways, also[None]])
        draws = draws._replace(
            lean=np.concatenate([draws.lean, np.zeros((len(ways) - 1, num_keys))]),
            visits=np.concatenate([draws.visits, np.zeros((len(ways) - 1, num_keys), np.int64)]),
        )
    # Fold and the default way share a table; what is best after another way need not be so there.
    tables = np.array([0, *range(len(ways))])
    num_actions = len(tables)
    for action in range(2, num_actions):
        one = np.array([action])
        _learn_draws(draws, board, slot, ways, one, learning // 2, rng, tables[action])
    own_way, learned_way = np.zeros((num_actions, 4)), np.zeros((num_actions, 4))
    for used, found in ((np.full(num_actions, -1), own_way), (tables, learned_way)):
        _value_draws(draws, board, slot, ways, choosing, rng, used, found)
    is_learned = learned_way[:, VALUE] > own_way[:, VALUE]
    tables = np.where(is_learned, tables, -1)
    batches = np.zeros((NUM_BATCHES, num_actions, 4))
    for batch in batches:
        _value_draws(draws, board, slot, ways, num_each, rng, tables, batch)
    return SampledReply(
        ways,
        batches.sum(axis=0) / (num_each * NUM_BATCHES),
        batches[:, :, VALUE] / num_each,
        is_learned,
        num_each * NUM_BATCHES,
        num_tried,
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
def _reply_keys(board, slot, num_chips):
    """Return the key of my decision in ``slot`` among those of my one setup, and the coarser one.

    The coarser key leaves out the opponent's stack.
    """
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
    key = key * _LEAD_STEPS + lead_step(lead, num_chips)
    first_fine = n * candidates * candidates * _LEAD_STEPS
    return first_fine + key * _STACK_STEPS + step_of(board.chips[1, slot], _STACK_STEPS), key


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
    """Fold or match in ``slot``, paying by the default rule, in place."""
    if action == MATCH:
        pull_latest(board, player, slot)
        settle(board, slot, -1)
    else:
        settle(board, slot, player)


@njit(cache=True, nogil=True)
def _act_first(board, slot, ways, action):
    """Take my action in the slot that is asked about, in place: fold, or match by a way to pay."""
    if action == FOLD:
        settle(board, slot, 0)
    else:
        pull(board, 0, slot, ways[action - 1])
        settle(board, slot, -1)


@njit(cache=True, nogil=True)
def _choose(draws, board, slot, player, luck, table):
    """Return the action of either player; mine by what ``table`` learned, if it is not -1."""
    if player == 0 and table >= 0:
        key, coarse = _reply_keys(board, slot, draws.strategy.num_chips)
        if draws.visits[table, key] < _MIN_VISITS:
            key = coarse
        if draws.visits[table, key] >= _MIN_VISITS:
            return MATCH if draws.lean[table, key] > 0.0 else FOLD
    prob, _ = match_prob(draws.own if player == 0 else draws.strategy, board, slot, player)
    return MATCH if luck[slot] < prob else FOLD


@njit(cache=True, nogil=True)
def _finish(draws, board, slot, luck, table):
    """Play from the start of ``slot`` until nothing can change any more, in place."""
    for s in range(slot, board.shown.shape[0]):
        if is_settled(draws.strategy, board):
            return
        kind, player = classify(board, s)
        if kind == CHOICE:
            _act(board, s, player, _choose(draws, board, s, player, luck, table))
        else:
            settle(board, s, player)


@njit(cache=True, nogil=True)
def _learn(draws, board, slot, luck, spare_board, table):
    """Play from the start of ``slot``, trying both actions at each of my decisions, in place."""
    num_chips = draws.strategy.num_chips
    for s in range(slot, board.shown.shape[0]):
        if is_settled(draws.strategy, board):
            return
        kind, player = classify(board, s)
        if kind != CHOICE:
            settle(board, s, player)
            continue
        if player == 0:
            key, coarse = _reply_keys(board, s, num_chips)
            for action in range(2):
                copy_board(board, spare_board)
                _act(spare_board, s, 0, action)
                _finish(draws, spare_board, s + 1, luck, table)
                value = utility(spare_board.winnings[0], num_chips, draws.strategy.is_win)
                draws.lean[table, key] += value if action == MATCH else -value
                draws.lean[table, coarse] += value if action == MATCH else -value
            draws.visits[table, key] += 1
            draws.visits[table, coarse] += 1
        _act(board, s, player, _choose(draws, board, s, player, luck, table))


@njit(cache=True, nogil=True)
def _draw_root(draws, start, slot, draw, num_draws, rng, root, luck):
    """Put a draw of what the opponent holds on ``root``, and one of ``luck``, in place.

    The picks of what it holds are spread evenly over its distribution.
    """
    copy_board(start, root)
    _draw_holding(draws, rng, (draw + rng.random()) / num_draws, root, slot)
    for s in range(luck.shape[0]):
        luck[s] = rng.random()


@njit(cache=True, nogil=True)
def _learn_draws(draws, start, slot, ways, actions, num_draws, rng, table):
    """Learn on draws, after each of these actions of mine in ``slot`` in turn."""
    n = start.shown.shape[0]
    root, board = new_board(n), new_board(n)
    luck = np.empty(n)
    for draw in range(num_draws):
        # Each action meets the whole distribution: its draws are spread over it.
        _draw_root(draws, start, slot, draw, num_draws, rng, root, luck)
        copy_board(root, board)
        _act_first(board, slot, ways, actions[draw % actions.shape[0]])
        _learn(draws, board, slot + 1, luck, root, table)


@njit(cache=True, nogil=True)
def _value_draws(draws, start, slot, ways, num_draws, rng, tables, sums):
    """Play out draws after each of my actions in ``slot``; add the outcomes to ``sums``.

    ``tables`` says for each action which table has my decisions after it, -1 my strategy.
    """
    n = start.shown.shape[0]
    root, board = new_board(n), new_board(n)
    luck = np.empty(n)
    num_chips = draws.strategy.num_chips
    for draw in range(num_draws):
        _draw_root(draws, start, slot, draw, num_draws, rng, root, luck)
        for action in range(tables.shape[0]):
            copy_board(root, board)
            _act_first(board, slot, ways, action)
            _finish(draws, board, slot + 1, luck, tables[action])
            winnings = board.winnings[0]
            sums[action, VALUE] += utility(winnings, num_chips, draws.strategy.is_win)
            result = WIN if winnings > num_chips else DRAW if winnings == num_chips else LOSS
            sums[action, result] += 1.0


@njit(cache=True, nogil=True)
def _compare_draws(draws, start, slot, ways, rng, values):
    """Fill ``values`` (draws, ways) with my utility after each way to pay, by the same luck.

    Later I decide as my strategy does.
    """
    n = start.shown.shape[0]
    root, board = new_board(n), new_board(n)
    luck = np.empty(n)
    num_draws = values.shape[0]
    for draw in range(num_draws):
        _draw_root(draws, start, slot, draw, num_draws, rng, root, luck)
        for way in range(ways.shape[0]):
            copy_board(root, board)
            _act_first(board, slot, ways, way + 1)
            _finish(draws, board, slot + 1, luck, -1)
            winnings = board.winnings[0]
            values[draw, way] = utility(winnings, draws.strategy.num_chips, draws.strategy.is_win)
