"""Which of the ways to pay a gap are worth valuing, where there may be millions.

A handful of ways are all valued, and a few dozen all compared.  Of more, those are that take the
chips in an order that a word can tell, each for some sums: from the latest tiles on, from the
earliest, from the lowest numbers or the highest, from the tallest stacks or the lowest, or as
evenly as can be.  All are paid by the same luck.  A way that is worse than the best one beyond
chance is dropped, and so is what is near it: the neighbours of the best alone are tried in turn,
with some chips moved between two tiles or a tile and the winnings.  So the way that is found is
good, and need not be the best.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from solver.rules import FREE, Board, first_payment, gap_at, next_payment, spare_chips

__all__ = ["MOST_VALUED", "count_payments", "narrow_payments"]

MOST_LISTED = 60
"""Most ways to pay of which every one is compared."""
MOST_VALUED = 8
"""Ways to pay that are left."""
_SUMS = 6
_ROUNDS = (200, 400, 800)
"""Draws by which ways are compared, round by round."""
_LEADERS = 4
"""Ways whose neighbours are tried."""
_BEYOND_CHANCE = 2.6
"""Standard errors by which a dropped way is worse than the best."""

Way = tuple[int, ...]


def count_payments(board: Board, slot: int, pulls: int) -> int:
    """Return how many ways to pay the gap in ``slot`` I, player 0, have; they are not listed."""
    least, most = _sums(board, slot, pulls)
    ways = np.zeros(most + 1, dtype=object)
    ways[0] = 1
    for room in _rooms(board, slot):
        ways = np.array([sum(ways[max(0, s - room) : s + 1]) for s in range(most + 1)], object)
    return int(sum(ways[least:]))


def narrow_payments(
    board: Board,
    slot: int,
    pulls: int,
    compare: Callable[[NDArray[np.int64], int], NDArray[np.float64]],
) -> tuple[NDArray[np.int64], int]:
    """Return the most promising ways to pay, the default rule's first, and how many were tried.

    Parameters
    ----------
    board : Board
        With me as player 0, who can pay the gap in ``slot``.
    pulls : int
        TILES or FREE.
    compare : callable
        Takes ways, int64 of shape (ways, N), and a number of draws; gives what I get, float64 of
        shape (draws, ways), by the same luck in each draw.
    """
    num_ways = count_payments(board, slot, pulls)
    kept = _first_ways(board, slot, pulls)
    if num_ways <= MOST_VALUED:
        return np.array(kept, np.int64), num_ways
    tried = set(kept)
    for number, num_draws in enumerate(_ROUNDS):
        values = compare(np.array(kept, np.int64), num_draws)
        is_last = number == len(_ROUNDS) - 1
        kept = [kept[0], *_best(kept, values, MOST_VALUED if is_last else 2 * MOST_VALUED)]
        if not is_last and num_ways > len(tried):
            fresh = [
                way
                for leader in kept[: 1 + _LEADERS]
                for way in _neighbours(leader, board, slot, pulls)
            ]
            fresh = [way for way in dict.fromkeys(fresh) if way not in tried]
            tried.update(fresh)
            kept += fresh
    return np.array(kept, np.int64), len(tried)


def _best(ways: list[Way], values: NDArray[np.float64], most: int) -> list[Way]:
    """Return the best of the ways but for the first one, best first, without the hopeless."""
    means = values.mean(axis=0)
    best = int(means.argmax())
    behind = values[:, [best]] - values
    errors = behind.std(axis=0) / np.sqrt(len(values))
    order = np.argsort(-means, kind="stable")
    is_open = behind.mean(axis=0) <= _BEYOND_CHANCE * errors
    return [ways[i] for i in order if i != 0 and is_open[i]][: most - 1]


def _rooms(board: Board, slot: int) -> list[int]:
    """Return what each tile can give; only later ones can."""
    chips = board.chips[0]
    return [int(chips[s]) - 1 if s > slot else 0 for s in range(len(chips))]


def _sums(board: Board, slot: int, pulls: int) -> tuple[int, int]:
    """Return the least and the most chips that later tiles can give towards the gap."""
    gap = int(gap_at(board.chips[0, slot], board.chips[1, slot]))
    least = max(0, gap - int(board.winnings[0]))
    most = min(gap, int(spare_chips(board.chips[0], slot)))
    return least, most if pulls == FREE else least


def _first_ways(board: Board, slot: int, pulls: int) -> list[Way]:
    """Return every way to pay if there are few, else those told in a word; the default first."""
    taken = np.zeros(board.shown.shape[0], np.int64)
    first_payment(board, 0, slot, taken)
    ways = [tuple(taken.tolist())]
    if count_payments(board, slot, pulls) <= MOST_LISTED:
        while next_payment(board, 0, slot, pulls, taken):
            ways.append(tuple(taken.tolist()))
        return ways
    rooms = _rooms(board, slot)
    tiles, chips = board.tiles[0], board.chips[0]
    slots = range(slot + 1, len(rooms))
    orders = [
        sorted(slots, reverse=True),
        sorted(slots),
        sorted(slots, key=lambda s: int(tiles[s])),
        sorted(slots, key=lambda s: -int(tiles[s])),
        sorted(slots, key=lambda s: -int(chips[s])),
        sorted(slots, key=lambda s: int(chips[s])),
    ]
    least, most = _sums(board, slot, pulls)
    for total in sorted({round(x) for x in np.linspace(least, most, _SUMS)}):
        ways += [_in_order(rooms, order, total) for order in orders]
        ways.append(_evenly(rooms, total))
    return list(dict.fromkeys(ways))


def _in_order(rooms: list[int], order: list[int], total: int) -> Way:
    """Return the way that empties tiles in an order."""
    taken = [0] * len(rooms)
    for s in order:
        taken[s] = min(rooms[s], total)
        total -= taken[s]
    return tuple(taken)


def _evenly(rooms: list[int], total: int) -> Way:
    """Return the way that lowers the tallest stacks, chip by chip."""
    left = list(rooms)
    for _ in range(total):
        left[max(range(len(left)), key=lambda s: left[s])] -= 1
    return tuple(room - rest for room, rest in zip(rooms, left, strict=True))


def _neighbours(way: Way, board: Board, slot: int, pulls: int) -> list[Way]:
    """Return the ways that differ by some chips moved between two tiles, or the winnings."""
    rooms = _rooms(board, slot)
    least, most = _sums(board, slot, pulls)
    winnings = len(rooms)  # its place beside the tiles
    given = [*way, most - sum(way)]
    room = [*rooms, most - least]
    places = [s for s in range(winnings) if rooms[s]]
    if pulls == FREE:
        places.append(winnings)
    found = []
    for source in places:
        for target in places:
            if source == target:
                continue
            limit = min(given[source], room[target] - given[target])
            for chips in sorted({c for c in (1, limit // 2, limit) if 0 < c <= limit}):
                moved = list(given)
                moved[source] -= chips
                moved[target] += chips
                found.append(tuple(moved[:winnings]))
    return found
