"""Which decisions of the full game a strategy treats alike.

A decision to match or fold is reduced to a few features of the present and packed into one
integer, its key.  Keys are dense, 0 to ``num_keys(N) - 1``, so that a strategy is a flat array.
The features, each cut into few steps (``FEATURES``):

``slot``      the slot being played
``below``     opponent's unseen numbers of the faced colour that are lower than the own tile
``above``     those that are higher
``folded``    opponent's tiles of that colour folded so far: 0, 1, 2 or more
``strength``  how high the own later tiles are, in quarters of what they could be
``stack``     opponent's stack
``gap``       missing chips
``lead``      own winnings and later chips less the opponent's
"""

from __future__ import annotations

from numba import njit

from solver.rules import colour

__all__ = ["VERSION", "decision_key", "num_keys", "pack_key"]

VERSION = "coarse-1"

_STACK_STEPS, _GAP_STEPS, _LEAD_STEPS = 8, 6, 13


@njit(cache=True, nogil=True)
def num_keys(num_tiles):
    """Return the number of keys of a game with ``num_tiles`` tiles."""
    candidates = (num_tiles + 1) // 2 + 1
    return num_tiles * candidates * candidates * 3 * 4 * _STACK_STEPS * _GAP_STEPS * _LEAD_STEPS


@njit(cache=True, nogil=True)
def pack_key(num_tiles, slot, below, above, folded, strength, stack, gap, lead):
    """Pack feature steps into a key; mixed radix, in the order of the arguments."""
    candidates = (num_tiles + 1) // 2 + 1
    key = (slot * candidates + below) * candidates + above
    key = ((key * 3 + folded) * 4 + strength) * _STACK_STEPS + stack
    return (key * _GAP_STEPS + gap) * _LEAD_STEPS + lead


@njit(cache=True, nogil=True)
def step_of(value, num_steps):
    """Cut a positive number into steps that widen: 1, 2, 3, 4, 5-6, 7-9, 10-14, 15 and more."""
    if value <= 4:
        step = value - 1
    elif value <= 6:
        step = 4
    elif value <= 9:
        step = 5
    elif value <= 14:
        step = 6
    else:
        step = 7
    return min(step, num_steps - 1)


@njit(cache=True, nogil=True)
def lead_step(lead, num_chips):
    """Cut a lead into 13 steps that are finer near 0."""
    share = lead / num_chips
    size = 0
    for edge in (0.03, 0.1, 0.2, 0.35, 0.55, 0.8):
        if abs(share) > edge:
            size += 1
    return 6 + size if share > 0 else 6 - size


@njit(cache=True, nogil=True)
def decision_key(board, slot, player, num_chips):
    """Return the key of the decision that ``player`` faces in ``slot``."""
    n = board.tiles.shape[1]
    opponent = 1 - player
    mine = board.tiles[player, slot]
    faced = colour(board.tiles[opponent, slot])
    seen = 0
    folded = 0
    for s in range(slot):
        if board.shown[s]:
            seen |= 1 << board.tiles[opponent, s]
        elif colour(board.tiles[opponent, s]) == faced:
            folded += 1
    below = 0
    above = 0
    for tile in range(faced, n, 2):
        if (seen >> tile) & 1 == 0:
            if tile < mine:
                below += 1
            elif tile > mine:
                above += 1
    total = 0
    lead = board.winnings[player] - board.winnings[opponent]
    for s in range(slot + 1, n):
        total += board.tiles[player, s]
        lead += board.chips[player, s] - board.chips[opponent, s]
    left = n - 1 - slot
    strength = 0 if left == 0 else min(4 * total // (left * (n - 1) + 1), 3)
    stack = board.chips[opponent, slot]
    return pack_key(
        n,
        slot,
        below,
        above,
        min(folded, 2),
        strength,
        step_of(stack, _STACK_STEPS),
        step_of(stack - board.chips[player, slot], _GAP_STEPS),
        lead_step(lead, num_chips),
    )
