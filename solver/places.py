"""A hash table of integer keys in a flat array, for compiled code.

A table is a stretch of an int64 array, ``size`` places from ``first`` on, where ``size`` is a power
of two; it holds keys, 0 or more, and ``EMPTY``.  A key stands at its home place or at the first
free one behind it, so a table must never be full: who fills it keeps to ``MOST_FILLED``.  Values
live in arrays beside it, at the same places.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "EMPTY",
    "MOST_FILLED",
    "find_place",
    "home_of",
    "places_of",
    "take_place",
    "take_places",
]

EMPTY = -1
MOST_FILLED = 0.7
"""Share of a table beyond which no new key is taken in."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


@njit(cache=True, nogil=True, forceinline=True)
def home_of(size, key):
    """Return where in a table the search for a key begins (Fibonacci hashing: Knuth, 6.4)."""
    return np.int64((np.uint64(key) * _SPREAD) >> _SHIFT) & (size - 1)


@njit(cache=True, nogil=True, forceinline=True)
def find_place(keys, first, size, key):
    """Return the place of a key in ``keys``, or -1."""
    at = home_of(size, key)
    while keys[first + at] != key:
        if keys[first + at] == EMPTY:
            return -1
        at = (at + 1) & (size - 1)
    return first + at


@njit(cache=True, nogil=True, forceinline=True)
def take_place(keys, first, size, key):
    """Return the place of a key in ``keys``, in place taking a free one if it has none."""
    at = home_of(size, key)
    while keys[first + at] != key and keys[first + at] != EMPTY:
        at = (at + 1) & (size - 1)
    keys[first + at] = key
    return first + at


@njit(cache=True, nogil=True)
def take_places(keys, firsts, size, wanted):
    """Return the places of the keys ``wanted``, in place taking one for each that has none.

    The table of each, one of several in ``keys``, begins at its number in ``firsts``.
    """
    places = np.empty(wanted.shape[0], np.int64)
    for row in range(wanted.shape[0]):
        places[row] = take_place(keys, firsts[row], size, wanted[row])
    return places


def places_of(wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a table of different keys, and the place of each in it.

    Examples
    --------
    >>> keys, places = places_of(np.array([7, 0, 123456789]))
    >>> keys[places].tolist()
    [7, 0, 123456789]
    """
    size = 1
    while size * MOST_FILLED < len(wanted) + 1:
        size *= 2
    keys = np.full(size, EMPTY, np.int64)
    return keys, take_places(keys, np.zeros(len(wanted), np.int64), size, wanted)
