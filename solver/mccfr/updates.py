"""Compiled parts of :mod:`solver.mccfr`: bringing the tables up to date after a batch.

Every entry of a table is written by one task, which reads the logs in a fixed order; so the tables
do not depend on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.abstraction import count_bits
from solver.mccfr.kernels import NUM_ANSWERS, NUM_DECISIONS, NUM_TRIED

__all__ = [
    "Decisions",
    "Setups",
    "add_average",
    "apply_decisions",
    "apply_setups",
    "new_decisions",
    "new_setups",
    "refresh_decisions",
    "refresh_setups",
]


class Decisions(NamedTuple):
    """Tables over decision keys, all of shape (keys,).

    Attributes
    ----------
    regret : ndarray of float64, shape (keys, 2)
        Of folding and of matching.
    weighted_match, weight : ndarray of float64
        Sums of weight times probability of matching, and of weight.
    visits : ndarray of int64
        Decisions met, on either side.
    match : ndarray of float32
        Current probability of matching.
    """

    regret: NDArray[np.float64]
    weighted_match: NDArray[np.float64]
    weight: NDArray[np.float64]
    visits: NDArray[np.int64]
    match: NDArray[np.float32]


class Setups(NamedTuple):
    """Tables over the entries of the setup model.

    Attributes
    ----------
    offsets : ndarray of int64, shape (2**N, C + 1)
    regret : ndarray of float64, shape (entries,)
    weighted : ndarray of float64, shape (entries,)
        Sums of weight times reach of the row times current probability.
    cumulative : ndarray of float32, shape (entries,)
        Running sums of the current strategy within each row; the last is 1.
    reach : ndarray of float64, shape (2**N, C + 1)
        Room for the probability of coming through each row.
    stamp : ndarray of int64, shape (2**N * (C + 1),)
        The last batch that touched the row.
    """

    offsets: NDArray[np.int64]
    regret: NDArray[np.float64]
    weighted: NDArray[np.float64]
    cumulative: NDArray[np.float32]
    reach: NDArray[np.float64]
    stamp: NDArray[np.int64]


def new_decisions(num_keys: int) -> Decisions:
    """Return tables that have learned nothing: everybody matches with probability 1/2."""
    return Decisions(
        np.zeros((num_keys, 2)),
        np.zeros(num_keys),
        np.zeros(num_keys),
        np.zeros(num_keys, np.int64),
        np.full(num_keys, 0.5, np.float32),
    )


def new_setups(offsets: NDArray[np.int64], size: int) -> Setups:
    """Return tables that have learned nothing: every row is uniform."""
    starts = np.sort(offsets[offsets >= 0])
    lengths = np.diff(np.append(starts, size))
    places = np.arange(size) - np.repeat(starts, lengths)
    return Setups(
        offsets,
        np.zeros(size),
        np.zeros(size),
        ((places + 1) / np.repeat(lengths, lengths)).astype(np.float32),
        np.zeros(offsets.shape),
        np.full(offsets.size, -1, np.int64),
    )


@njit(cache=True, nogil=True)
def apply_decisions(table, log, part, num_parts, weight, step):
    """Add a log to the decision tables, in place, where the last bits of the key are ``part``.

    ``num_parts`` is a power of two.
    """
    for place in range(log.fill[NUM_ANSWERS]):
        key = log.answer[place]
        if key & (num_parts - 1) == part:
            table.weighted_match[key] += weight * table.match[key]
            table.weight[key] += weight
            table.visits[key] += 1
    for place in range(log.fill[NUM_DECISIONS]):
        key = log.key[place]
        if key & (num_parts - 1) == part:
            diff = step * log.diff[place]
            table.regret[key, 1] += (1.0 - table.match[key]) * diff
            table.regret[key, 0] -= table.match[key] * diff
            table.visits[key] += 1


@njit(cache=True, nogil=True)
def refresh_decisions(table, log, part, num_parts, is_plus):
    """Recompute the current strategy at the own decisions of a log, in place."""
    for place in range(log.fill[NUM_DECISIONS]):
        key = log.key[place]
        if key & (num_parts - 1) != part:
            continue
        fold = max(table.regret[key, 0], 0.0)
        match = max(table.regret[key, 1], 0.0)
        if is_plus:
            table.regret[key, 0] = fold
            table.regret[key, 1] = match
        table.match[key] = match / (fold + match) if fold + match > 0.0 else 0.5


@njit(cache=True, nogil=True)
def apply_setups(table, log, step):
    """Add ``step`` times a log's setup gains to the regrets, in place."""
    for place in range(log.fill[NUM_TRIED]):
        table.regret[log.entry[place]] += step * log.gain[place]


@njit(cache=True, nogil=True)
def refresh_setups(table, log, batch, is_plus):
    """Recompute the current strategy in the rows of a log, in place, each row once a batch."""
    num_columns = table.offsets.shape[1]
    for place in range(log.fill[NUM_TRIED]):
        state = log.row[place]
        if table.stamp[state] == batch:
            continue
        table.stamp[state] = batch
        mask = state // num_columns
        row, length = row_of(table.offsets, mask, state - mask * num_columns)
        match_regrets(
            table.regret[row : row + length], table.cumulative[row : row + length], is_plus
        )


@njit(cache=True, nogil=True)
def row_of(offsets, mask, chips_left):
    """Return the start and the length of a state's row."""
    k = count_bits(mask)
    return offsets[mask, chips_left], k * (chips_left - k + 1)


@njit(cache=True, nogil=True)
def match_regrets(regret, cumulative, is_plus):
    """Fill ``cumulative`` with running sums of the strategy that matches the regrets."""
    total = 0.0
    for entry in range(regret.shape[0]):
        if is_plus and regret[entry] < 0.0:
            regret[entry] = 0.0
        total += max(regret[entry], 0.0)
    running = 0.0
    for entry in range(regret.shape[0]):
        running += max(regret[entry], 0.0) / total if total > 0.0 else 1.0 / regret.shape[0]
        cumulative[entry] = running


@njit(cache=True, nogil=True)
def add_average(table, weight):
    """Add ``weight`` times the current setup strategy to the average, in place.

    Every row counts by its exact probability under the current strategy.
    """
    offsets, reach = table.offsets, table.reach
    full = offsets.shape[0] - 1
    reach[:] = 0.0
    reach[full, offsets.shape[1] - 1] = 1.0
    for mask in range(full, 0, -1):
        for chips_left in range(offsets.shape[1]):
            here = reach[mask, chips_left]
            if here > 0.0 and offsets[mask, chips_left] >= 0:
                add_row(table, mask, chips_left, here, weight)


@njit(cache=True, nogil=True)
def add_row(table, mask, chips_left, here, weight):
    """Add one row to the average and pass its reach on, in place."""
    row, length = row_of(table.offsets, mask, chips_left)
    before = 0.0
    entry = 0
    for tile in range(64):
        if mask >> tile == 0:
            break
        if (mask >> tile) & 1 == 0:
            continue
        last = entry + length // count_bits(mask)
        stack = 1
        while entry < last:
            prob = table.cumulative[row + entry] - before
            before = table.cumulative[row + entry]
            if prob > 0.0:
                table.reach[mask ^ (1 << tile), chips_left - stack] += here * prob
                table.weighted[row + entry] += weight * here * prob
            stack += 1
            entry += 1
