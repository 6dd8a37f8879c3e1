"""The tables of :mod:`solver.mccfr`: what is remembered of decisions and of setups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.places import EMPTY

__all__ = [
    "KNOWN",
    "NUM_PARTS",
    "SHOWN_KNOWN",
    "SHOWN_TAKEN_IN",
    "SKETCH",
    "TAKEN_IN",
    "Answers",
    "Decisions",
    "Past",
    "Population",
    "Replies",
    "Scouts",
    "new_answers",
    "new_decisions",
    "new_population",
    "new_scouts",
]

NUM_PARTS = 4
"""Parts of the decision tables that are brought up to date independently."""

KNOWN, SHOWN_KNOWN = 16, 64
"""Visits from which a fine key and a shown key have rows in the table; without one, the key above
answers: a shown key's fine key, and a fine key's key."""

RECORD = np.dtype(
    [(name, np.float64) for name in ("fold", "match", "summed", "since", "until")]
    + [("visits", np.int64), ("lately", np.int64)]
)
"""What is remembered of a key, in one place, since it is needed together.

``fold, match``   regrets
``summed``        sum of weight times probability of matching over the batches since ``since``
``since, until``  sums of the weights of all batches up to when the key began to answer, later by
                  what passed while it did not, and up to the last change of its strategy; 0 for
                  one that never answered
``visits``        own decisions met
``lately``        those of this epoch
"""


class Answers(NamedTuple):
    """Decision keys, coarse or fine.

    Attributes
    ----------
    record : ndarray of RECORD, shape (places,)
    match : ndarray of float32, shape (places,)
        Current probability of matching; -1 where the key does not answer.
    """

    record: NDArray[np.void]
    match: NDArray[np.float32]


class Decisions(NamedTuple):
    """The decision tables.

    A key, its fine keys and their shown keys belong to one part, that of the key's last bits.

    Attributes
    ----------
    coarse : Answers
        By key.
    fine : Answers
        By place in ``fine_keys``.
    fine_keys : ndarray of int64, shape (places,)
        Fine and shown keys: ``NUM_PARTS`` tables of :mod:`solver.places`, equally long.
    filled : ndarray of int64, shape (NUM_PARTS,)
        How many keys each holds.
    seen : ndarray of uint8, shape (SKETCH * places,)
        Visits of keys not taken in yet, by a hash of the key that others may share; in parts
        as well.
    """

    coarse: Answers
    fine: Answers
    fine_keys: NDArray[np.int64]
    filled: NDArray[np.int64]
    seen: NDArray[np.uint8]


TAKEN_IN, SHOWN_TAKEN_IN = 4, 16
"""Visits from which a fine key and a shown key are given a place: most are met once or twice and
never again.  A shown key's are counted once its fine key has a place."""

SKETCH = 4
"""Counters of visits for each place."""


class Population(NamedTuple):
    """The plans that setups are drawn from (:mod:`solver.plans`), and what is known of each.

    Attributes
    ----------
    chips, turns : ndarray of int64, shape (plans, N)
    current : ndarray of float64, shape (plans,)
        Current probabilities.
    summed : ndarray of float64, shape (plans,)
        Sums of weight times current probability.
    gained, tried : ndarray of float64, shape (plans,)
        Sums of weight times what the plan scored more than the current strategy, and of weights.
    born : ndarray of int64, shape (plans,)
        The batch before which the plan came in.
    """

    chips: NDArray[np.int64]
    turns: NDArray[np.int64]
    current: NDArray[np.float64]
    summed: NDArray[np.float64]
    gained: NDArray[np.float64]
    tried: NDArray[np.float64]
    born: NDArray[np.int64]


class Scouts(NamedTuple):
    """Plans that are tried but not played (:mod:`solver.mccfr.population`).

    Attributes
    ----------
    chips, turns : ndarray of int64, shape (scouts, N)
    gained, tried : ndarray of float64, shape (scouts,)
        As for plans.
    """

    chips: NDArray[np.int64]
    turns: NDArray[np.int64]
    gained: NDArray[np.float64]
    tried: NDArray[np.float64]


class Past(NamedTuple):
    """The plans of the epochs that are over, which the average strategy draws from as well.

    Attributes
    ----------
    chips, turns : ndarray of int64, shape (past plans, N)
    summed : ndarray of float64, shape (past plans,)
        Sums of weight times probability.
    """

    chips: NDArray[np.int64]
    turns: NDArray[np.int64]
    summed: NDArray[np.float64]


class Replies(NamedTuple):
    """Plans that won against the average strategy (:mod:`solver.mccfr.oracle`), oldest first.

    Attributes
    ----------
    chips, turns : ndarray of int64, shape (replies, N)
    """

    chips: NDArray[np.int64]
    turns: NDArray[np.int64]


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


def new_population(chips: NDArray[np.int64], turns: NDArray[np.int64]) -> Population:
    """Return plans of which nothing is known: all are equally likely."""
    count = len(chips)
    return Population(
        chips,
        turns,
        current=np.full(count, 1.0 / count),
        summed=np.zeros(count),
        gained=np.zeros(count),
        tried=np.zeros(count),
        born=np.zeros(count, np.int64),
    )


def new_scouts(chips: NDArray[np.int64], turns: NDArray[np.int64]) -> Scouts:
    """Return scouts of which nothing is known."""
    return Scouts(chips, turns, gained=np.zeros(len(chips)), tried=np.zeros(len(chips)))
