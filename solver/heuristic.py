"""Rules of thumb for a player who does not search: when to match, where to put the chips.

A thumb player guesses the faced tile from the size of the bet and compares two numbers of chips:

* fold loses the own stack;
* match is worth (chance of winning - chance of losing) times the opponent's stack, less a charge
  for every chip that must come off a later tile, plus a little for every chip it is behind.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.rules import FOLD, MATCH, colour, later_chips

__all__ = ["thumb_choice", "top_spike"]

PULL_CHARGE = 0.35
"""Chips that a chip taken off a later tile is held to cost, beyond the chip itself."""
BEHIND_BONUS = 0.1
"""Chips that a match is held to be worth for every chip by which the player is behind."""
BET_TRUST = 0.8
"""How far the size of a bet moves the guess: 0 not at all, 1 excludes the least likely tile."""

_SPIKE = (11, 5, 2, 2)
"""Chips beyond the first on the highest tiles, in proportion, highest first."""


@njit(cache=True, nogil=True)
def thumb_choice(board, slot, player, num_chips):
    """Return MATCH or FOLD for ``player``, from the own tile in ``slot`` and public numbers.

    A tile of relative height ``h`` among the ``m`` numbers that the faced one can be, 0 the lowest
    and 1 the highest, has weight ``1 - BET_TRUST |h - b|``; ``b`` is the opponent's stack from 0,
    a single chip, to 1, twice the average stack or more.
    """
    n = board.tiles.shape[1]
    opponent = 1 - player
    mine = board.tiles[player, slot]
    own_stack = board.chips[player, slot]
    stack = board.chips[opponent, slot]
    faced = colour(board.tiles[opponent, slot])
    seen = 0
    for s in range(slot):
        if board.shown[s]:
            seen |= 1 << board.tiles[opponent, s]
    num_open = 0
    for tile in range(faced, n, 2):
        num_open += 1 - ((seen >> tile) & 1)
    bet = min(1.0, (stack - 1) * n / (2.0 * num_chips))
    advantage = 0.0
    total = 0.0
    rank = 0
    for tile in range(faced, n, 2):
        if (seen >> tile) & 1:
            continue
        height = rank / (num_open - 1) if num_open > 1 else bet
        weight = 1.0 - BET_TRUST * abs(height - bet)
        total += weight
        advantage += weight * np.sign(mine - tile)
        rank += 1
    lead = board.winnings[player] + later_chips(board.chips[player], slot)
    lead -= board.winnings[opponent] + later_chips(board.chips[opponent], slot)
    pulled = max(0, stack - own_stack - board.winnings[player])
    match_value = advantage / total * stack - PULL_CHARGE * pulled + BEHIND_BONUS * max(0, -lead)
    return MATCH if match_value > -own_stack else FOLD


def top_spike(num_tiles: int, num_chips: int) -> NDArray[np.int64]:
    """Return chips by tile, int64 of shape (N,): a spike on the highest tile, ones at the bottom.

    The chips beyond one a tile go to the four highest in the proportion 11 : 5 : 2 : 2, rounded
    so that the largest remainders gain.

    Examples
    --------
    >>> top_spike(10, 30).tolist()
    [1, 1, 1, 1, 1, 1, 3, 3, 6, 12]
    >>> top_spike(3, 6).tolist()
    [1, 2, 3]
    """
    shares = np.array(_SPIKE[:num_tiles], np.float64)
    exact = shares / shares.sum() * (num_chips - num_tiles)
    extra = np.floor(exact).astype(np.int64)
    short = num_chips - num_tiles - int(extra.sum())
    extra[np.argsort(-(exact - extra), kind="stable")[:short]] += 1
    chips = np.ones(num_tiles, np.int64)
    chips[num_tiles - len(extra) :] += extra[::-1]
    return chips
