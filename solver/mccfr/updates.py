"""Compiled parts of :mod:`solver.mccfr`: bringing the tables up to date after a batch.

Every entry of a table is written by one task, which reads the logs in a fixed order; so the tables
do not depend on the number of threads.
"""

from __future__ import annotations

from numba import njit

from solver.abstraction import DETAIL_BITS, count_bits
from solver.mccfr.kernels import NUM_DECISIONS, NUM_TRIED
from solver.mccfr.tables import KNOWN, KNOWN_TRIES, NUM_PARTS, TAKEN_IN
from solver.places import MOST_FILLED, find_place, home_of, take_place

__all__ = [
    "add_average",
    "apply_decisions",
    "apply_setups",
    "refresh_decisions",
    "refresh_setups",
    "refresh_shared",
]


@njit(cache=True, nogil=True)
def apply_decisions(table, log, part, step):
    """Add ``step`` times a log's differences to the regrets of one part's keys, in place."""
    coarse_match, fine_match, fine_keys = table.coarse.match, table.fine.match, table.fine_keys
    coarse, fine, filled, seen = table.coarse.record, table.fine.record, table.filled, table.seen
    size = fine_keys.shape[0] // NUM_PARTS
    room = int(MOST_FILLED * size)
    for at in range(log.fill[NUM_DECISIONS]):
        fine_key = log.key[at]
        key = fine_key >> DETAIL_BITS
        if key & (NUM_PARTS - 1) != part:
            continue
        diff = step * log.diff[at]
        add_regret(coarse, key, coarse_match[key], diff)
        place = find_place(fine_keys, part * size, size, fine_key)
        if place < 0:
            if filled[part] >= room or not is_taken_in(seen, part, fine_key):
                continue
            place = take_place(fine_keys, part * size, size, fine_key)
            filled[part] += 1
        match = fine_match[place]
        add_regret(fine, place, match if match >= 0.0 else coarse_match[key], diff)


@njit(cache=True, nogil=True, forceinline=True)
def is_taken_in(seen, part, fine_key):
    """Whether a fine key has been met often enough; counts this visit, in place."""
    size = seen.shape[0] // NUM_PARTS
    at = part * size + home_of(size, fine_key)
    seen[at] = min(seen[at] + 1, TAKEN_IN)
    return seen[at] == TAKEN_IN


@njit(cache=True, nogil=True, forceinline=True)
def add_regret(record, place, match, diff):
    """Add a difference between matching and folding to the regrets at a place, in place."""
    record[place].match += (1.0 - match) * diff
    record[place].fold -= match * diff
    record[place].visits += 1


@njit(cache=True, nogil=True)
def refresh_decisions(table, log, part, is_plus, total):
    """Recompute the current strategy of one part's keys in a log, in place.

    ``total`` is the sum of the weights of all batches up to this one.
    """
    coarse_match, fine_match, fine_keys = table.coarse.match, table.fine.match, table.fine_keys
    coarse, fine = table.coarse.record, table.fine.record
    size = fine_keys.shape[0] // NUM_PARTS
    for at in range(log.fill[NUM_DECISIONS]):
        fine_key = log.key[at]
        key = fine_key >> DETAIL_BITS
        if key & (NUM_PARTS - 1) != part:
            continue
        refresh_answer(coarse, coarse_match, key, 1, is_plus, total)
        place = find_place(fine_keys, part * size, size, fine_key)
        if place >= 0:
            refresh_answer(fine, fine_match, place, KNOWN, is_plus, total)


@njit(cache=True, nogil=True, forceinline=True)
def refresh_answer(record, match, place, known, is_plus, total):
    """Match the regrets at a place, in place; it answers from ``known`` visits on."""
    row = record[place]
    if row.until == total or row.visits < known:
        return
    if row.until > 0.0:
        row.summed += (total - row.until) * match[place]
    else:
        row.since = total
    row.until = total
    if is_plus:
        row.fold = max(row.fold, 0.0)
        row.match = max(row.match, 0.0)
    matched = max(row.match, 0.0)
    both = max(row.fold, 0.0) + matched
    match[place] = matched / both if both > 0.0 else 0.5


@njit(cache=True, nogil=True)
def apply_setups(table, log, step):
    """Add ``step`` times a log's setup gains to the regrets, in place."""
    num_columns = table.offsets.shape[1]
    for at in range(log.fill[NUM_TRIED]):
        mask = log.row[at] // num_columns
        chips_left = log.row[at] - mask * num_columns
        entry = log.entry[at]
        gain = step * log.gain[at]
        own = table.offsets[mask, chips_left]
        table.regret[entry] += gain
        table.regret[table.shared[count_bits(mask), chips_left] + entry - own] += gain
        table.tries[mask, chips_left] += 1


@njit(cache=True, nogil=True)
def refresh_setups(table, log, batch, is_plus):
    """Recompute the current strategy in the rows of a log, in place, each row once a batch."""
    num_columns = table.offsets.shape[1]
    for at in range(log.fill[NUM_TRIED]):
        mask = log.row[at] // num_columns
        chips_left = log.row[at] - mask * num_columns
        if table.stamp[mask, chips_left] == batch:
            continue
        table.stamp[mask, chips_left] = batch
        row, length = row_of(table.offsets, mask, chips_left)
        refresh_row(table, row, length, is_plus)
        if table.tries[mask, chips_left] >= KNOWN_TRIES * length:
            table.now[mask, chips_left] = row


@njit(cache=True, nogil=True)
def refresh_shared(table, is_plus):
    """Recompute the current strategy in all shared rows, in place."""
    for num_left in range(2, table.shared.shape[0]):
        for chips_left in range(num_left, table.shared.shape[1]):
            row = table.shared[num_left, chips_left]
            if row >= 0:
                refresh_row(table, row, num_left * (chips_left - num_left + 1), is_plus)


@njit(cache=True, nogil=True)
def refresh_row(table, row, length, is_plus):
    """Recompute the current strategy in a row, in place."""
    match_regrets(table.regret[row : row + length], table.cumulative[row : row + length], is_plus)


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
    now = table.now[mask, chips_left]
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
            prob = table.cumulative[now + entry] - before
            before = table.cumulative[now + entry]
            if prob > 0.0:
                table.reach[mask ^ (1 << tile), chips_left - stack] += here * prob
                table.weighted[row + entry] += weight * here * prob
            stack += 1
            entry += 1
