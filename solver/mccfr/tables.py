"""The tables of :mod:`solver.mccfr`: what is remembered of decisions and of setups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.memoryless import row_offsets
from solver.places import EMPTY

__all__ = [
    "KNOWN",
    "KNOWN_TRIES",
    "NUM_PARTS",
    "SKETCH",
    "TAKEN_IN",
    "Answers",
    "Decisions",
    "Setups",
    "new_answers",
    "new_decisions",
    "new_setups",
]

NUM_PARTS = 4
"""Parts of the decision tables that are brought up to date independently."""

KNOWN = 16
"""Visits from which a fine key answers for itself; before, its key does."""


RECORD = np.dtype(
    [(name, np.float64) for name in ("fold", "match", "summed", "since", "until")]
    + [("visits", np.int64)]
)
"""What is remembered of a key, in one place, since it is needed together.

``fold, match``   regrets
``summed``        sum of weight times probability of matching over the batches since ``since``
``since, until``  sums of the weights of all batches up to when the key began to answer, and up to
                  the last change of its strategy; 0 for one that does not answer yet
``visits``        own decisions met
"""


class Answers(NamedTuple):
    """Decision keys, coarse or fine.

    Attributes
    ----------
    record : ndarray of RECORD, shape (places,)
    match : ndarray of float32, shape (places,)
        Current probability of matching; -1 where the key does not answer yet.
    """

    record: NDArray[np.void]
    match: NDArray[np.float32]


class Decisions(NamedTuple):
    """The decision tables.

    A key and its fine keys belong to one part, that of the key's last bits.

    Attributes
    ----------
    coarse : Answers
        By key.
    fine : Answers
        By place in ``fine_keys``.
    fine_keys : ndarray of int64, shape (places,)
        ``NUM_PARTS`` tables of :mod:`solver.places`, equally long.
    filled : ndarray of int64, shape (NUM_PARTS,)
        How many fine keys each holds.
    seen : ndarray of uint8, shape (SKETCH * places,)
        Visits of fine keys not taken in yet, by a hash of the key that others may share; in parts
        as well.
    """

    coarse: Answers
    fine: Answers
    fine_keys: NDArray[np.int64]
    filled: NDArray[np.int64]
    seen: NDArray[np.uint8]


TAKEN_IN = 4
"""Visits from which a fine key is given a place: most are met once or twice and never again."""

SKETCH = 4
"""Counters of visits for each place."""

KNOWN_TRIES = 256
"""Tries an entry, on average over a row, from which a row of the setup model follows its own
regrets; before, those that all rows with as many tiles and chips left share."""


class Setups(NamedTuple):
    """Tables over the entries of the setup model, and over those of shared rows behind them.

    A shared row stands for all sets with as many tiles left, its ranks for their tiles from the
    lowest.

    Attributes
    ----------
    offsets : ndarray of int64, shape (2**N, C + 1)
        Where the own row of a state starts.
    shared : ndarray of int64, shape (N + 1, C + 1)
        Where the shared row of so many tiles and chips left starts.
    now : ndarray of int64, shape (2**N, C + 1)
        Where the row starts that a state follows: its own or the shared one.
    regret : ndarray of float64, shape (own and shared entries,)
    cumulative : ndarray of float32, shape (own and shared entries,)
        Running sums of the current strategy within each row; the last is 1.
    weighted : ndarray of float64, shape (own entries,)
        Sums of weight times reach of the row times current probability.
    tries : ndarray of int64, shape (2**N, C + 1)
        Actions tried in each state.
    reach : ndarray of float64, shape (2**N, C + 1)
        Room for the probability of coming through each row.
    stamp : ndarray of int64, shape (2**N, C + 1)
        The last batch that touched the row.
    """

    offsets: NDArray[np.int64]
    shared: NDArray[np.int64]
    now: NDArray[np.int64]
    regret: NDArray[np.float64]
    cumulative: NDArray[np.float32]
    weighted: NDArray[np.float64]
    tries: NDArray[np.int64]
    reach: NDArray[np.float64]
    stamp: NDArray[np.int64]


def new_answers(size: int, match: float) -> Answers:
    """Return answers that have learned nothing, with one probability of matching for all."""
    return Answers(np.zeros(size, RECORD), np.full(size, match, np.float32))


def new_decisions(num_keys: int, num_places: int) -> Decisions:
    """Return tables that have learned nothing, with so many places for fine keys in all."""
    return Decisions(
        new_answers(num_keys, 0.5),
        new_answers(num_places, -1.0),
        np.full(num_places, EMPTY, np.int64),
        np.zeros(NUM_PARTS, np.int64),
        np.zeros(SKETCH * num_places, np.uint8),
    )


def new_setups(num_tiles: int, num_chips: int) -> Setups:
    """Return tables that have learned nothing: every row is uniform."""
    offsets, size = row_offsets(num_tiles, num_chips)
    shared = np.full((num_tiles + 1, num_chips + 1), -1, np.int64)
    total = size
    for num_left in range(2, num_tiles + 1):
        low = num_chips if num_left == num_tiles else num_left
        for chips_left in range(low, num_chips - (num_tiles - num_left) + 1):
            shared[num_left, chips_left] = total
            total += num_left * (chips_left - num_left + 1)
    sizes = np.bitwise_count(np.arange(1 << num_tiles))
    starts = np.sort(np.concatenate([offsets[offsets >= 0], shared[shared >= 0]]))
    lengths = np.diff(np.append(starts, total))
    places = np.arange(total) - np.repeat(starts, lengths)
    return Setups(
        offsets,
        shared,
        shared[sizes],
        np.zeros(total),
        ((places + 1) / np.repeat(lengths, lengths)).astype(np.float32),
        np.zeros(size),
        np.zeros(offsets.shape, np.int64),
        np.zeros(offsets.shape),
        np.full(offsets.shape, -1, np.int64),
    )
