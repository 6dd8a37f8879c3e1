"""Compiled parts of :mod:`solver.mccfr`: bringing the tables up to date after a batch.

Every entry of a table is written by one task, which reads the logs in a fixed order; so the tables
do not depend on the number of threads.
"""

from __future__ import annotations

from numba import njit

from solver.abstraction import fine_key_of, key_of_full, shown_key_of
from solver.mccfr.kernels import NUM_DECISIONS, NUM_TRIED
from solver.mccfr.tables import NUM_PARTS, SHOWN_TAKEN_IN, TAKEN_IN
from solver.places import MOST_FILLED, find_place, home_of, take_place

__all__ = [
    "apply_decisions",
    "apply_plans",
    "refresh_decisions",
    "refresh_plans",
]


@njit(cache=True, nogil=True)
def apply_decisions(table, log, part, step):
    """Add ``step`` times a log's differences to the regrets of one part's keys, in place."""
    coarse_match, fine_match, fine_keys = table.coarse.match, table.fine.match, table.fine_keys
    coarse, fine, filled, seen = table.coarse.record, table.fine.record, table.filled, table.seen
    size = fine_keys.shape[0] // NUM_PARTS
    room = int(MOST_FILLED * size)
    for at in range(log.fill[NUM_DECISIONS]):
        full = log.key[at]
        key = key_of_full(full)
        if key & (NUM_PARTS - 1) != part:
            continue
        diff = step * log.diff[at]
        match = coarse_match[key]
        add_regret(coarse, key, match, diff)
        for is_shown in (False, True):
            wanted = shown_key_of(full) if is_shown else fine_key_of(full)
            place = find_place(fine_keys, part * size, size, wanted)
            if place < 0:
                enough = SHOWN_TAKEN_IN if is_shown else TAKEN_IN
                if filled[part] >= room or not is_taken_in(seen, part, wanted, enough):
                    break
                place = take_place(fine_keys, part * size, size, wanted)
                filled[part] += 1
            if fine_match[place] >= 0.0:
                match = fine_match[place]
            add_regret(fine, place, match, diff)


@njit(cache=True, nogil=True, forceinline=True)
def is_taken_in(seen, part, key, enough):
    """Whether a fine or shown key has been met often enough; counts this visit, in place."""
    size = seen.shape[0] // NUM_PARTS
    at = part * size + home_of(size, key)
    seen[at] = min(seen[at] + 1, enough)
    return seen[at] == enough


@njit(cache=True, nogil=True, forceinline=True)
def add_regret(record, place, match, diff):
    """Add a difference between matching and folding to the regrets at a place, in place."""
    record[place].match += (1.0 - match) * diff
    record[place].fold -= match * diff
    record[place].visits += 1
    record[place].lately += 1


@njit(cache=True, nogil=True)
def refresh_decisions(table, log, part, is_plus, doubt, total):
    """Recompute the current strategy of one part's keys in a log, in place.

    ``total`` is the sum of the weights of all batches up to this one; ``doubt`` is explained at
    :func:`refresh_answer`.
    """
    coarse_match, fine_match, fine_keys = table.coarse.match, table.fine.match, table.fine_keys
    coarse, fine = table.coarse.record, table.fine.record
    size = fine_keys.shape[0] // NUM_PARTS
    for at in range(log.fill[NUM_DECISIONS]):
        full = log.key[at]
        key = key_of_full(full)
        if key & (NUM_PARTS - 1) != part:
            continue
        refresh_answer(coarse, coarse_match, key, 0.5, is_plus, 0.0, total)
        above = coarse_match[key]
        place = find_place(fine_keys, part * size, size, fine_key_of(full))
        if place >= 0:
            refresh_answer(fine, fine_match, place, above, is_plus, doubt, total)
            above = fine_match[place]
            place = find_place(fine_keys, part * size, size, shown_key_of(full))
            if place >= 0:
                refresh_answer(fine, fine_match, place, above, is_plus, doubt, total)


@njit(cache=True, nogil=True, forceinline=True)
def refresh_answer(record, match, place, above, is_plus, doubt, total):
    """Match the regrets at a place, in place, and move the result towards ``above``.

    That is the answer of the key above, which counts as much as ``doubt`` visits of this epoch: a
    single visit says next to nothing, and a key with few of them must not differ for that.
    """
    row = record[place]
    if row.until == total or row.lately == 0:
        return
    if row.until == 0.0:
        row.since = total
    elif match[place] >= 0.0:
        row.summed += (total - row.until) * match[place]
    else:
        row.since += total - row.until
    row.until = total
    if is_plus:
        row.fold = max(row.fold, 0.0)
        row.match = max(row.match, 0.0)
    matched = max(row.match, 0.0)
    both = max(row.fold, 0.0) + matched
    own = matched / both if both > 0.0 else 0.5
    match[place] = above + row.lately / (row.lately + doubt) * (own - above)


@njit(cache=True, nogil=True)
def apply_plans(plans, scouts, log, step):
    """Add ``step`` times a log's gains to those of the plans and scouts tried, in place."""
    num_plans = plans.gained.shape[0]
    for at in range(log.fill[NUM_TRIED]):
        plan = log.plan[at]
        gain = step * log.gain[at]
        if plan < num_plans:
            plans.gained[plan] += gain
            plans.tried[plan] += step
        else:
            scouts.gained[plan - num_plans] += gain
            scouts.tried[plan - num_plans] += step


@njit(cache=True, nogil=True)
def refresh_plans(table, doubt):
    """Recompute the current probabilities of all plans, in place.

    By plain regret matching: sums of noise that are cut at 0 would keep thousands of poor plans a
    little above it, and half of all games with them.  A plan that came in late is taken to have
    gained from the start what it gained on average since, less as long as ``doubt``, the weight of
    so many tries, is much beside its own; or a good one would wait as long again to be played.
    """
    most = table.tried.max()
    total = 0.0
    for plan in range(table.current.shape[0]):
        regret = table.gained[plan] * (most + doubt) / (table.tried[plan] + doubt)
        table.current[plan] = max(regret, 0.0)
        total += table.current[plan]
    for plan in range(table.current.shape[0]):
        if total > 0.0:
            table.current[plan] /= total
        else:
            table.current[plan] = 1.0 / table.current.shape[0]
