"""The exact mean of a value that is a sum over slots, under two strategies' setups.

The players draw their setups independently, so the mean in a slot is a sum over all pairs of cards
(tile and stack), weighted with how likely each player is to have placed each card there.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.arena.baseline import card_id, num_stacks
from solver.memoryless import nth_tile
from solver.rules import Game
from solver.setups import count_bits
from solver.strategy import BY_TILE, LISTED, MEMORYLESS, Strategy

__all__ = ["card_chances", "expected_setup_value"]


def expected_setup_value(
    a: Strategy, b: Strategy, game: Game, card_values: NDArray[np.float64]
) -> float:
    """Return the mean of :func:`solver.arena.baseline.setup_value`, ``a`` being the first player.

    Examples
    --------
    >>> from solver.arena.baseline import NUM_FEATURES, tabulate_cards
    >>> from solver.bots import make_bot
    >>> game = Game(3, 6)
    >>> spike, uniform = make_bot("bot:top-spike", game), make_bot("bot:random", game)
    >>> show = tabulate_cards(np.eye(NUM_FEATURES)[0], game)  # what showing every slot would gain
    >>> round(expected_setup_value(spike, uniform, game, show), 6)
    0.733333
    """
    if card_values.size == 0:
        return 0.0
    first, second = card_chances(a, game), card_chances(b, game)
    return float(((first @ card_values) * second).sum())


def card_chances(strategy: Strategy, game: Game) -> NDArray[np.float64]:
    """Return how likely a strategy is to place each card in each slot.

    Returns
    -------
    ndarray of float64, shape (N, cards)
        By slot and card as placed (:func:`solver.arena.baseline.card_id`); each slot sums to 1.
        The rows of a MEMORYLESS model, which are rounded to float32, count as if they did.

    Examples
    --------
    >>> from solver.bots import make_bot
    >>> game = Game(2, 3)
    >>> card_chances(make_bot("bot:top-spike", game), game)[0].tolist()
    [0.5, 0.0, 0.0, 0.5]
    """
    n, c = game.num_tiles, game.num_chips
    width = num_stacks(n, c)
    chances = np.zeros((n, n * width))
    if strategy.setup_kind == MEMORYLESS:
        _add_memoryless(strategy.model, strategy.offsets, chances)
    elif strategy.setup_kind == LISTED:
        probs = np.diff(strategy.setup_cumulative, prepend=0.0)
        for slot in range(n):
            cards = card_id(strategy.setup_tiles[:, slot], strategy.setup_chips[:, slot], width)
            np.add.at(chances[slot], cards, probs)
    elif strategy.setup_kind == BY_TILE:
        chances[:, card_id(np.arange(n), strategy.tile_chips, width)] = 1 / n
    elif n == 1:
        chances[0, card_id(0, c, width)] = 1.0
    else:
        ways = [math.comb(c - chips - 1, n - 2) for chips in range(1, width + 1)]
        chances[:] = np.tile([way / math.comb(c - 1, n - 1) / n for way in ways], n)
    return chances


@njit(cache=True, nogil=True)
def _add_memoryless(model, offsets, chances):
    """Add the chances of each card under a memoryless model, by a pass over its states."""
    n = chances.shape[0]
    most = chances.shape[1] // n
    reach = np.zeros(offsets.shape)
    reach[offsets.shape[0] - 1, offsets.shape[1] - 1] = 1.0
    for mask in range(offsets.shape[0] - 1, 0, -1):  # a smaller set is a smaller number
        k = count_bits(mask)
        for chips_left in range(k, offsets.shape[1]):
            prob = reach[mask, chips_left]
            if prob == 0.0:
                continue
            if k == 1:
                last = card_id(nth_tile(mask, 0), chips_left, most)
                chances[n - 1, last] += prob
                continue
            row = offsets[mask, chips_left]
            width = chips_left - k + 1
            total = 0.0
            for entry in range(k * width):
                total += model[row + entry]
            for rank in range(k):
                tile = nth_tile(mask, rank)
                for chips in range(1, width + 1):
                    step = prob * model[row + rank * width + chips - 1] / total
                    chances[n - k, card_id(tile, chips, most)] += step
                    reach[mask ^ (1 << tile), chips_left - chips] += step
