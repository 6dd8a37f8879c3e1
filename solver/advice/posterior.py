"""What the opponent may hold in a situation, given the strategy it plays.

Two forms (``pulls=latest``):

* :func:`weigh_setups`: a list of setups, each weighted by its probability times the
  probabilities of the decisions it has taken so far.  Exact for every strategy.
* :func:`filter_remainders`: for setups drawn slot by slot from (tiles left, chips left), a forward
  filter over those two.  Of the chips placed on later tiles only the total is hidden, and only
  once pulls have reached the stack being shown; of the tiles only which of them are left.  So
  the opponent's decisions may depend on its own tile, the set of its later tiles and public numbers
  alone.  Fine and shown keys (:mod:`solver.abstraction`) also tell how its later stacks stand; past
  decisions are weighed by the answers of the keys without them.  For a strategy that has such keys
  that is exact as to setups and only nearly exact as to decisions; for others it is exact.

What is played from the situation on is not decided here, and follows the whole strategy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.memoryless import nth_tile, rank_of
from solver.rules import CHOICE, Board, Game, chips_after_pulls, classify, colour
from solver.setups import count_setups, draw_composition, draw_order, list_setups
from solver.situation import Situation
from solver.strategy import BY_TILE, LISTED, MEMORYLESS, Strategy, match_prob, setup_prob

__all__ = [
    "Holdings",
    "Remainders",
    "count_remainders",
    "draw_rest",
    "filter_remainders",
    "list_remainders",
    "list_strategy_setups",
    "step_prob",
    "weigh_setups",
]

_ANY = -1
"""No number shown, or no decision of the opponent, in a slot."""


class Holdings(NamedTuple):
    """A weighted list of what the opponent may hold.

    Attributes
    ----------
    tiles : ndarray of int64, shape (holdings, N)
        Tile in each slot; past slots whose tile was folded may be filled in any way.
    chips : ndarray of int64, shape (holdings, N)
        Chips in the current and later slots as they stand now.
    weights : ndarray of float64, shape (holdings,)
        Probabilities, all positive, that sum to 1.
    evidence : float
        Probability of what was seen of the opponent before it was seen; 0 if the list is empty.
    """

    tiles: NDArray[np.int64]
    chips: NDArray[np.int64]
    weights: NDArray[np.float64]
    evidence: float = 1.0


class Remainders(NamedTuple):
    """The posterior over the opponent's current tile and what it has left behind it.

    Attributes
    ----------
    masks : ndarray of int64, shape (states,)
        Set of tiles left after the current one, as bits.
    chips_left : ndarray of int64, shape (states,)
        Chips placed on those tiles.
    tiles : ndarray of int64, shape (states,)
        The current tile.
    weights : ndarray of float64, shape (states,)
        Probabilities, all positive, that sum to 1.
    evidence : float
        Probability of what was seen of the opponent before it was seen; 0 if there is no state.
    """

    masks: NDArray[np.int64]
    chips_left: NDArray[np.int64]
    tiles: NDArray[np.int64]
    weights: NDArray[np.float64]
    evidence: float = 1.0


def list_strategy_setups(setups: Strategy, game: Game, limit: int) -> Holdings | None:
    """Return a strategy's setups with their probabilities.

    None if they are not listed and the game has more than ``limit``.  Some may have probability 0.
    """
    if setups.setup_kind == LISTED:
        prior = np.diff(setups.setup_cumulative, prepend=0.0)
        return Holdings(setups.setup_tiles, setups.setup_chips, prior)
    if count_setups(game) > limit:
        return None
    tiles, chips = list_setups(game)
    prior = np.array([setup_prob(setups, *row) for row in zip(tiles, chips, strict=True)])
    return Holdings(tiles, chips, prior / prior.sum())  # stored numbers are rounded


def weigh_setups(
    situation: Situation,
    strategy: Strategy | None,
    tiles: NDArray[np.int64],
    chips: NDArray[np.int64],
    prior: NDArray[np.float64],
) -> Holdings:
    """Return which of these setups the opponent may have placed.

    Parameters
    ----------
    situation : Situation
        With ``pulls='latest'``.
    strategy : Strategy or None
        What the opponent's decisions follow; None leaves them out of account.
    tiles, chips : ndarray of int64, shape (setups, N)
        Setups as placed.
    prior : ndarray of float64, shape (setups,)
        Their probabilities; up to a factor if ``evidence`` does not matter.

    Returns
    -------
    Holdings
        Empty if none of the setups can have led here.
    """
    weights = prior.astype(np.float64)
    for slot, board in enumerate(situation.boards()):
        number, taken = _what_happened(situation, board, slot)
        decider = strategy if taken != _ANY and strategy is not None else None
        _weigh_slot(board, slot, number, tiles, chips, weights)
        if decider is not None:
            _weigh_decisions(decider, board, slot, taken, tiles, chips, weights)
    kept = np.flatnonzero(weights > 0)
    pulled = int(board.pulled[1].sum())
    now = np.array(chips[kept])
    _apply_pulls(now, situation.slot, pulled)
    found = weights[kept]
    return Holdings(np.array(tiles[kept]), now, _normalised(found), float(found.sum()))


def filter_remainders(
    situation: Situation, strategy: Strategy | None, setups: Strategy
) -> Remainders:
    """Return what the opponent may have left if its setup was drawn slot by slot.

    Parameters
    ----------
    situation : Situation
        With ``pulls='latest'``.
    strategy : Strategy or None
        What the opponent's decisions follow, its fine and shown keys left out; None leaves
        decisions out of account.
    setups : Strategy
        Its setup part, not LISTED, is what the setup was drawn from.

    Returns
    -------
    Remainders
        Empty if no setup that can be drawn leads here.
    """
    n, c = situation.game.num_tiles, situation.game.num_chips
    if strategy is not None:
        strategy = strategy._replace(
            fine_keys=strategy.fine_keys[:0], fine_match=strategy.fine_match[:0]
        )
    weights = np.zeros((1 << n, c + 1))
    weights[-1, c] = 1.0
    boards = situation.boards()
    for slot, board in enumerate(boards[:-1]):
        number, taken = _what_happened(situation, board, slot)
        after = np.zeros_like(weights)
        for tile in range(colour(situation.events[slot].colour), n, 2):
            if number in (_ANY, tile):
                factors = _decision_factors(strategy, board, slot, taken, tile)
                _filter_slot(setups, board, slot, tile, factors, weights, after)
        weights = after
    parts = []
    for tile in range(situation.facing.colour, n, 2):
        after = np.zeros_like(weights)
        _filter_slot(setups, boards[-1], situation.slot, tile, np.ones(1 << n), weights, after)
        masks, chips_left = np.nonzero(after)
        parts.append((masks, chips_left, np.full(len(masks), tile), after[masks, chips_left]))
    masks, chips_left, tiles, found = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return Remainders(masks, chips_left, tiles, _normalised(found), float(found.sum()))


def count_remainders(remainders: Remainders, setups: Strategy) -> int:
    """Return how many :class:`Holdings` these remainders can be, at most."""
    total = 0
    for mask, chips_left in zip(remainders.masks, remainders.chips_left, strict=True):
        num_left = int(mask).bit_count()
        total += math.factorial(num_left) * (
            1
            if num_left == 0 or setups.setup_kind == BY_TILE
            else math.comb(int(chips_left) - 1, num_left - 1)
        )
    return total


def list_remainders(remainders: Remainders, situation: Situation, setups: Strategy) -> Holdings:
    """Return remainders with every order of the tiles and every split of the chips behind."""
    n, slot = situation.game.num_tiles, situation.slot
    num_left = n - 1 - slot
    board = situation.boards()[-1]
    tiles, chips, weights = [], [], []
    for mask, chips_left, tile, weight in zip(*remainders[:4], strict=True):
        left = np.array([t for t in range(n) if mask >> t & 1], np.int64)
        ranks, stacks = np.zeros((1, 0), np.int64), np.zeros((1, 0), np.int64)
        if num_left and setups.setup_kind == BY_TILE:
            ranks, _ = list_setups(Game(num_left, num_left))
            stacks = setups.tile_chips[left[ranks]]
        elif num_left:
            ranks, stacks = list_setups(Game(num_left, int(chips_left)))
        place_set(board, slot, mask, tile)
        rows = np.repeat(board.tiles[1:], len(ranks), axis=0)
        rows[:, slot + 1 :] = left[ranks]
        placed = np.zeros_like(rows)
        placed[:, slot + 1 :] = stacks
        probs = np.full(len(rows), weight)
        _weigh_rests(setups, mask, chips_left, rows[:, slot + 1 :], stacks, probs)
        tiles.append(rows)
        chips.append(placed)
        weights.append(probs)
    all_chips = np.concatenate(chips)
    _apply_pulls(all_chips, slot + 1, int(board.pulled[1].sum()))
    all_chips[:, : slot + 1] = board.chips[1, : slot + 1]
    probs = np.concatenate(weights)
    kept = probs > 0
    return Holdings(
        np.concatenate(tiles)[kept],
        all_chips[kept],
        _normalised(probs[kept]),
        remainders.evidence,
    )


def _normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale weights to sum 1; an empty array stays empty."""
    return weights / weights.sum() if len(weights) else weights


def _what_happened(situation: Situation, board: Board, slot: int) -> tuple[int, int]:
    """Return the opponent's shown number and its decision in a slot, ``_ANY`` where none."""
    if slot == situation.slot:
        return _ANY, _ANY
    number = situation.events[slot].number
    kind, player = classify(board, slot)
    is_theirs = kind == CHOICE and player == 1
    return (
        _ANY if number is None else number,
        int(number is not None) if is_theirs else _ANY,
    )


@njit(cache=True, nogil=True)
def _weigh_slot(board, slot, number, tiles, chips, weights):
    """Set the weight of setups that would have looked otherwise in ``slot`` to 0, in place."""
    n = tiles.shape[1]
    pulled = board.pulled[1, :slot].sum()
    for row in range(tiles.shape[0]):
        if weights[row] == 0.0:
            continue
        spare = -(n - 1 - slot)
        for later in range(slot + 1, n):
            spare += chips[row, later]
        if (
            colour(tiles[row, slot]) != colour(board.tiles[1, slot])
            or (number >= 0 and tiles[row, slot] != number)
            or chips_after_pulls(chips[row, slot], spare, pulled) != board.chips[1, slot]
        ):
            weights[row] = 0.0


@njit(cache=True, nogil=True)
def _weigh_decisions(strategy, board, slot, taken, tiles, chips, weights):
    """Multiply weights by the probability of the opponent's decision in ``slot``, in place."""
    n = tiles.shape[1]
    pulled = board.pulled[1, :slot].sum()
    for row in range(tiles.shape[0]):
        if weights[row] == 0.0:
            continue
        board.tiles[1] = tiles[row]
        spare = 0
        for s in range(n - 1, slot - 1, -1):
            board.chips[1, s] = chips_after_pulls(chips[row, s], spare, pulled)
            spare += chips[row, s] - 1
        prob, _ = match_prob(strategy, board, slot, 1)
        weights[row] *= prob if taken else 1.0 - prob


@njit(cache=True, nogil=True)
def _apply_pulls(chips, slot, pulled):
    """Take ``pulled`` chips in all off stacks from ``slot`` on, latest first, in place."""
    for row in range(chips.shape[0]):
        spare = 0
        for s in range(chips.shape[1] - 1, slot - 1, -1):
            placed = chips[row, s]
            chips[row, s] = chips_after_pulls(placed, spare, pulled)
            spare += placed - 1


def _decision_factors(
    strategy: Strategy | None, board: Board, slot: int, taken: int, tile: int
) -> NDArray[np.float64]:
    """Return the probability of the opponent's decision for each set left, shape (2**N,)."""
    factors = np.ones(1 << board.tiles.shape[1])
    if strategy is not None and taken != _ANY:
        _fill_factors(strategy, board, slot, taken, tile, factors)
    return factors


@njit(cache=True, nogil=True)
def _fill_factors(strategy, board, slot, taken, tile, factors):
    """Fill ``factors`` for the sets left that hold ``tile``, which ``slot`` shows, in place."""
    for mask in range(factors.shape[0]):
        if (mask >> tile) & 1 and place_set(board, slot, mask ^ (1 << tile), tile):
            prob, _ = match_prob(strategy, board, slot, 1)
            factors[mask] = prob if taken else 1.0 - prob


@njit(cache=True, nogil=True)
def place_set(board, slot, mask, tile):
    """Put ``tile`` in ``slot``, the set ``mask`` behind it and the rest before it, in place.

    Shown tiles stay.  Return whether that is possible: the folded tiles' colours and the number
    of later tiles must be right.
    """
    n = board.tiles.shape[1]
    before = ((1 << n) - 1) ^ mask ^ (1 << tile)
    for s in range(slot):
        if board.shown[s]:
            if (before >> board.tiles[1, s]) & 1 == 0:
                return False
            before ^= 1 << board.tiles[1, s]
    for s in range(slot):
        if board.shown[s] == 0:
            folded = colour(board.tiles[1, s])
            while folded < n and (before >> folded) & 1 == 0:
                folded += 2
            if folded >= n:
                return False
            before ^= 1 << folded
            board.tiles[1, s] = folded
    if before:
        return False
    board.tiles[1, slot] = tile
    later = slot + 1
    for other in range(n):
        if (mask >> other) & 1:
            board.tiles[1, later] = other
            later += 1
    return True


@njit(cache=True, nogil=True)
def _filter_slot(setups, board, slot, tile, factors, weights, after):
    """Add to ``after`` the states left once ``tile`` was seen in ``slot``, in place."""
    n = board.tiles.shape[1]
    num_left = n - slot
    pulled = board.pulled[1, :slot].sum()
    stack = board.chips[1, slot]
    for mask in range(weights.shape[0]):
        if (mask >> tile) & 1 == 0 or factors[mask] == 0.0:
            continue
        for chips_left in range(num_left, weights.shape[1]):
            weight = weights[mask, chips_left]
            if weight == 0.0:
                continue
            for chips in range(1, chips_left - num_left + 2):
                behind = chips_left - chips
                if chips_after_pulls(chips, behind - (num_left - 1), pulled) == stack:
                    step = step_prob(setups, mask, num_left, chips_left, tile, chips)
                    after[mask ^ (1 << tile), behind] += weight * step * factors[mask]


@njit(cache=True, nogil=True)
def step_prob(setups, mask, num_left, chips_left, tile, chips):
    """Return the probability that the next slot of a setup gets ``tile`` with ``chips``.

    ``mask`` are the ``num_left`` tiles and ``chips_left`` the chips not placed yet.
    """
    if num_left == 1:
        return 1.0 if chips == chips_left else 0.0
    if setups.setup_kind == MEMORYLESS:
        width = chips_left - num_left + 1
        entry = rank_of(mask, tile) * width + chips - 1
        return np.float64(setups.model[setups.offsets[mask, chips_left] + entry])
    if setups.setup_kind == BY_TILE:
        return 1.0 / num_left if setups.tile_chips[tile] == chips else 0.0
    prob = (num_left - 1) / (chips_left - 1)
    for fewer in range(1, chips):
        prob *= (chips_left - fewer - num_left + 1) / (chips_left - fewer - 1)
    return prob / num_left


@njit(cache=True, nogil=True)
def _weigh_rests(setups, mask, chips_left, tiles, chips, weights):
    """Multiply weights by the probability of placing each row of tiles and chips, in place."""
    num_left = tiles.shape[1]
    for row in range(tiles.shape[0]):
        mask_left = mask
        left = chips_left
        for s in range(num_left):
            tile, stack = tiles[row, s], chips[row, s]
            weights[row] *= step_prob(setups, mask_left, num_left - s, left, tile, stack)
            mask_left ^= 1 << tile
            left -= stack


@njit(cache=True, nogil=True)
def draw_rest(setups, rng, mask, chips_left, tiles, chips):
    """Fill ``tiles`` and ``chips`` of the last slots from what is not placed yet.

    ``mask`` and ``chips_left`` are the tiles and chips; the arrays are as long as there are tiles.
    """
    num_left = tiles.shape[0]
    if setups.setup_kind == MEMORYLESS:
        for s in range(num_left - 1):
            k = num_left - s
            width = chips_left - k + 1
            row = setups.offsets[mask, chips_left]
            target = rng.random()
            entry = 0
            total = setups.model[row]
            while total <= target and entry < k * width - 1:
                entry += 1
                total += setups.model[row + entry]
            while setups.model[row + entry] <= 0.0 and entry > 0:  # rounding ran past the last
                entry -= 1
            tiles[s] = nth_tile(mask, entry // width)
            chips[s] = entry % width + 1
            mask ^= 1 << tiles[s]
            chips_left -= chips[s]
        if num_left:
            tiles[num_left - 1] = nth_tile(mask, 0)
            chips[num_left - 1] = chips_left
        return
    for s in range(num_left):
        tiles[s] = nth_tile(mask, s)
    draw_order(rng, tiles)
    if setups.setup_kind == BY_TILE:
        for s in range(num_left):
            chips[s] = setups.tile_chips[tiles[s]]
    elif num_left:
        draw_composition(rng, chips_left, chips)
