"""Kinds of decisions, and answers that are fixed for all decisions of a kind.

A kind is a row of seven numbers: ``slot`` (from 0), own ``tile``, own ``stack``, ``gap``, colour
and stack of the opponent's tile, each ``ANY`` where it may be anything, and the probability of
matching.  Only what both a board and a kernel's few numbers tell at once is in it, so that answers
are looked up alike everywhere.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["ANY", "KIND", "NO_KINDS", "fixed_match"]

ANY = -1
"""A part of a kind that may be anything."""

KIND = 7
"""Numbers of a kind, the probability of matching the last."""

NO_KINDS: NDArray[np.float64] = np.zeros((0, KIND))
"""Where nothing is fixed."""


@njit(cache=True, nogil=True)
def fixed_match(kinds, slot, tile, stack, faced, other_stack):
    """Return the fixed probability of matching at a decision, -1 where none is.

    Parameters
    ----------
    kinds : ndarray of float64, shape (kinds, KIND)
        The first that fits counts.
    slot : int
        From 0.
    tile, stack : int
        The decider's.
    faced, other_stack : int
        Colour of the opponent's tile, and its stack.
    """
    for row in range(kinds.shape[0]):
        if (
            (kinds[row, 0] < 0 or kinds[row, 0] == slot)
            and (kinds[row, 1] < 0 or kinds[row, 1] == tile)
            and (kinds[row, 2] < 0 or kinds[row, 2] == stack)
            and (kinds[row, 3] < 0 or kinds[row, 3] == other_stack - stack)
            and (kinds[row, 4] < 0 or kinds[row, 4] == faced)
            and (kinds[row, 5] < 0 or kinds[row, 5] == other_stack)
        ):
            return kinds[row, 6]
    return -1.0
