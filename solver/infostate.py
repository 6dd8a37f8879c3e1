"""What a player knows, as numbers.

An observation is an int64 array of shape (N, 4): for each slot ``my_tile, my_chips, opp_tile,
opp_chips``; with ``pulls=free`` of shape (N, 5), and then ``pulled`` as well.

* Own tiles and chips of the current and later slots are as they stand now.  Past own tiles that
  were folded are reduced to their colour: what they were cannot matter any more, so arrangements
  with the same future share one infostate.
* Of the opponent, a shown tile is its number, a folded one and the one now faced a colour, and a
  later one ``UNKNOWN``.
* Past stacks are those seen when the slot was reached.  Who folded follows from them, since only
  the player with fewer chips can.
* ``pulled`` is, for a past slot, what whoever matched there took from later tiles, which is public.
  Where winnings pay first, with ``latest`` and ``tiles``, it follows from the other numbers.

Winnings and later totals follow from these numbers, and only the future of own tiles and chips
matters, not which earlier payments left them so.  An observation is therefore a whole infostate of
the game after these reductions, the same for both seats.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from solver.rules import colour

__all__ = ["HIDDEN", "UNKNOWN", "infostate_key", "mix", "observe"]

HIDDEN = -1
"""A tile known by colour alone: ``HIDDEN - colour``, so -1 black and -2 white."""
UNKNOWN = -3
"""A tile of a slot still to come, with 0 chips."""

_OFFSET = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


@njit(cache=True, nogil=True)
def observe(board, slot, player, observation):
    """Fill ``observation`` (int64) with what ``player`` sees in open ``slot``.

    Its shape is (N, 4), or (N, 5) to note as well what past matches took from later tiles.
    """
    opponent = 1 - player
    for s in range(observation.shape[0]):
        mine = board.tiles[player, s]
        theirs = board.tiles[opponent, s]
        if s < slot and board.shown[s] == 0:
            mine = HIDDEN - colour(mine)
        if s == slot or (s < slot and board.shown[s] == 0):
            theirs = HIDDEN - colour(theirs)
        observation[s, 0] = mine
        observation[s, 1] = board.chips[player, s]
        if s <= slot:
            observation[s, 2] = theirs
            observation[s, 3] = board.chips[opponent, s]
        else:
            observation[s, 2] = UNKNOWN
            observation[s, 3] = 0
        if observation.shape[1] == 5:
            observation[s, 4] = board.pulled[0, s] + board.pulled[1, s] if s < slot else 0


@njit(cache=True, nogil=True, forceinline=True)
def mix(h, value):
    """Return a hash of a hash and one more number (splitmix64)."""
    h += np.uint64(value + 4) + _OFFSET
    h = (h ^ (h >> _S30)) * _MIX1
    h = (h ^ (h >> _S27)) * _MIX2
    return h ^ (h >> _S31)


@njit(cache=True, nogil=True)
def infostate_key(observation):
    """Return a 64-bit hash of an observation (splitmix64 over its numbers in order).

    Strategies are checked, when they are built, to have no two infostates with one key.
    """
    h = np.uint64(observation.shape[0])
    for s in range(observation.shape[0]):
        for column in range(observation.shape[1]):
            h = mix(h, observation[s, column])
    return h
