"""Plans: setups in a few numbers, for games with too many to list.

A plan gives each tile its chips and its *turn*.  A setup is drawn from it by placing the tiles turn
by turn, those of one turn in random order, each with its chips.  Tiles may be *pinned* instead:
they stand in slots of their own, and the others fill what is open.  A plan with one turn hides all
but its stacks; one whose tall stacks alone are pinned hides all but these; a plan with a turn for
each tile is one setup.

A plan *conforms* to a half-placed board if all setups drawn from it complete the board
(:func:`conform`): what the board names is pinned, with its stack.

What many plans place together is summed up as a memoryless setup model (:mod:`solver.memoryless`)
by :func:`project_plans`.  The model forgets which plan a setup came from, and so hides it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.rules import Game
from solver.setups import NOTHING_PLACED, Placed, list_completions

__all__ = [
    "PINNED",
    "change_plan",
    "conform",
    "conform_plan",
    "draw_plan",
    "fixed_plan",
    "lay_plan",
    "list_plans",
    "merged_plan",
    "pinned_plan",
    "project_plans",
]

PINNED = 64
"""A turn of this and more pins a tile: it stands in slot turn - PINNED, counted from 0."""

_CHANGES = 7
"""Kinds of changes that :func:`change_plan` chooses from."""


@njit(cache=True, nogil=True)
def lay_plan(plan_chips, plan_turns, luck, tiles, chips):
    """Fill ``tiles`` and ``chips`` (int64, shape (N,)) with a setup of a plan.

    ``plan_chips`` and ``plan_turns`` are by tile, and so is ``luck`` (float64, uniform in [0, 1)),
    which orders the tiles of a turn: plans that are given the same luck place alike.
    """
    n = tiles.shape[0]
    order = chips  # of the tiles that are not pinned, until the slots are filled
    count = 0
    tiles[:] = -1
    for tile in range(n):
        if plan_turns[tile] >= PINNED:
            tiles[plan_turns[tile] - PINNED] = tile
            continue
        when = plan_turns[tile] + luck[tile]
        at = count
        while at > 0 and plan_turns[order[at - 1]] + luck[order[at - 1]] > when:
            order[at] = order[at - 1]
            at -= 1
        order[at] = tile
        count += 1
    at = 0
    for slot in range(n):
        if tiles[slot] < 0:
            tiles[slot] = order[at]
            at += 1
    for slot in range(n):
        chips[slot] = plan_chips[tiles[slot]]


@njit(cache=True, nogil=True)
def conform_plan(plan_chips, plan_turns, placed_tiles, placed_chips, luck, rng, tiles, chips):
    """Change a plan, in place, so that all setups drawn from it complete a board.

    A named tile is pinned to its slot; who was pinned there gets its turn.  Where a stack alone is
    placed, the tile is pinned that the plan lays there with ``luck``.  Other stacks make up for
    what these gained or lost: chips go to random tiles, or come off random tall ones.  A plan that
    conforms already, its tiles pinned, stays as it is.

    Parameters
    ----------
    plan_chips, plan_turns : ndarray of int64, shape (N,)
        The plan, by tile.
    placed_tiles, placed_chips : ndarray of int64, shape (N,)
        The board, ``OPEN`` where it is open.
    luck : ndarray of float64, shape (N,)
    rng : numpy.random.Generator
    tiles, chips : ndarray of int64, shape (N,)
        Room for a setup, overwritten.
    """
    n = plan_chips.shape[0]
    is_bare = False
    for slot in range(n):
        tile = placed_tiles[slot]
        if tile >= 0:
            for other in range(n):
                if plan_turns[other] == PINNED + slot:
                    plan_turns[other] = plan_turns[tile]
            plan_turns[tile] = PINNED + slot
        elif placed_chips[slot] >= 0:
            is_bare = True
    if is_bare:
        lay_plan(plan_chips, plan_turns, luck, tiles, chips)
    fixed = 0  # tiles whose stacks are placed, as bits
    missing = plan_chips.sum()
    for slot in range(n):
        if placed_chips[slot] < 0:
            continue
        tile = placed_tiles[slot]
        if tile < 0:
            tile = tiles[slot]
            plan_turns[tile] = PINNED + slot
        fixed |= 1 << tile
        plan_chips[tile] = placed_chips[slot]
    missing -= plan_chips.sum()
    while missing != 0:
        tile = int(rng.random() * n)
        if (fixed >> tile) & 1 or (missing < 0 and plan_chips[tile] == 1):
            continue
        most = missing if missing > 0 else min(plan_chips[tile] - 1, -missing)
        moved = most if rng.random() < 0.5 else 1 + int(rng.random() * most)
        moved = moved if missing > 0 else -moved
        plan_chips[tile] += moved
        missing -= moved


@njit(cache=True, nogil=True)
def project_plans(chips, turns, weights, offsets, size):
    """Return how often plans come through each entry of a memoryless model.

    Parameters
    ----------
    chips, turns : ndarray of int64, shape (plans, N)
    weights : ndarray of float64, shape (plans,)
        How often each plan is drawn.
    offsets, size
        As :func:`solver.memoryless.row_offsets` returns them.

    Returns
    -------
    ndarray of float64, shape (entries,)
        Exact; divided by its sum within a row it is the model.
    """
    n = chips.shape[1]
    sums = np.zeros(size)
    reach = np.zeros(1 << n)
    for plan in range(chips.shape[0]):
        if weights[plan] <= 0.0:
            continue
        reach[:] = 0.0
        reach[-1] = weights[plan]
        for mask in range(reach.shape[0] - 1, 0, -1):
            if reach[mask] > 0.0:
                _project_state(chips[plan], turns[plan], mask, offsets, reach, sums)
    return sums


@njit(cache=True, nogil=True)
def _project_state(plan_chips, plan_turns, mask, offsets, reach, sums):
    """Pass the reach of one set of tiles left on to the sets after it, in place."""
    n = plan_chips.shape[0]
    num_left = chips_left = num_next = 0
    turn = np.int64(1) << 60
    for tile in range(n):
        if (mask >> tile) & 1:
            num_left += 1
            chips_left += plan_chips[tile]
            if plan_turns[tile] < turn:
                turn = plan_turns[tile]
                num_next = 0
            num_next += plan_turns[tile] == turn
    if num_left < 2:
        return
    pinned_here = PINNED + n - num_left
    for tile in range(n):
        if plan_turns[tile] == pinned_here:
            turn = pinned_here
            num_next = 1
    width = chips_left - num_left + 1
    entry = offsets[mask, chips_left] - 1
    share = reach[mask] / num_next
    for tile in range(n):
        if (mask >> tile) & 1:
            if plan_turns[tile] == turn:
                sums[entry + plan_chips[tile]] += share
                reach[mask ^ (1 << tile)] += share
            entry += width


def conform(
    chips: NDArray[np.int64],
    turns: NDArray[np.int64],
    placed: Placed,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a plan like another that conforms to a board: itself if nothing is placed.

    Examples
    --------
    >>> from solver.setups import PartialSetup
    >>> placed = PartialSetup.parse("2:1,?,?", Game(3, 6)).placed
    >>> plan = np.array([1, 1, 4]), np.array([0, 1, 2])
    >>> [part.tolist() for part in conform(*plan, placed, np.random.default_rng(1))]
    [[4, 1, 1], [0, 1, 64]]
    """
    if not placed:
        return chips, turns
    n = len(chips)
    chips, turns = chips.copy(), turns.copy()
    tiles, stacks = np.zeros(n, np.int64), np.zeros(n, np.int64)
    conform_plan(chips, turns, placed.tiles, placed.chips, rng.random(n), rng, tiles, stacks)
    return chips, _numbered(turns)


def list_plans(
    game: Game, placed: Placed = NOTHING_PLACED
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``(chips, turns)``, shape (setups, N): a plan for each setup that completes a board.

    Examples
    --------
    >>> chips, turns = list_plans(Game(2, 3))
    >>> chips.tolist(), turns.tolist()
    ([[1, 2], [2, 1], [2, 1], [1, 2]], [[0, 1], [0, 1], [1, 0], [1, 0]])
    """
    tiles, stacks = list_completions(game, placed)
    turns = np.argsort(tiles, axis=1)
    return np.take_along_axis(stacks, turns, axis=1), turns


def draw_plan(game: Game, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``(chips, turns)`` of a plan drawn at random.

    Spare chips stand on up to five tiles, half of the time the highest ones, or now and then
    evenly on all; there are from one to N turns.  Half of the time most tall stacks are pinned.
    """
    n = game.num_tiles
    spare = game.num_chips - n
    chips = np.ones(n, np.int64)
    if rng.random() < 0.1:
        chips += spare // n
        chips[rng.permutation(n)[: spare % n]] += 1
    else:
        num_tall = int(rng.integers(1, min(n, 5) + 1))
        tall = rng.permutation(n) if rng.random() < 0.5 else np.arange(n)[::-1]
        cuts = np.sort(rng.integers(0, spare + 1, num_tall - 1))
        chips[tall[:num_tall]] += np.diff(np.concatenate([[0], cuts, [spare]]))
    turns = _numbered(rng.integers(0, int(rng.integers(1, n + 1)), n))
    if rng.random() < 0.5:
        for tile, slot in zip(np.flatnonzero(chips > 1), rng.permutation(n), strict=False):
            if rng.random() < 0.8:
                turns[tile] = PINNED + slot
    return chips, _numbered(turns)


def change_plan(
    chips: NDArray[np.int64], turns: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a plan one or two small changes away from another; the arguments are kept."""
    chips, turns = chips.copy(), turns.copy()
    for _ in range(int(rng.integers(1, 3))):
        i, j = (int(tile) for tile in rng.integers(0, len(chips), 2))
        kind = int(rng.integers(_CHANGES))
        if kind == 0:
            chips[[i, j]] = chips[[j, i]]
        elif kind == 1:
            _move_chips(chips, j, rng)
        elif kind == 2:
            turns[[i, j]] = turns[[j, i]]
        elif kind == 3:
            turns = _moved(turns, i, int(rng.integers(-1, 2)))
        elif kind == 4:
            turns = _split_or_join(turns, rng)
        elif kind == 5:  # a turn of its own, or another's
            turns = np.where(turns < PINNED, 2 * turns, turns)
            turns[i] = rng.integers(-1, _last_turn(turns) + 2)
        else:
            turns = _pinned(turns, i, int(rng.integers(len(turns))))
        turns = _numbered(turns)
    return chips, turns


def fixed_plan(
    chips: NDArray[np.int64], turns: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a plan with a turn for each tile: a setup drawn from the given plan."""
    n = len(chips)
    tiles, stacks = np.zeros(n, np.int64), np.zeros(n, np.int64)
    lay_plan(chips, turns, rng.random(n), tiles, stacks)
    return chips, np.argsort(tiles)


def merged_plan(
    chips: NDArray[np.int64], turns: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a plan that orders the tall stacks and what stands between them like a drawn setup.

    Single chips that stand side by side in it share a turn.
    """
    chips, turns = fixed_plan(chips, turns, rng)
    is_tall = chips[np.argsort(turns)] > 1
    is_new = is_tall[1:] | is_tall[:-1]
    return chips, np.concatenate([[0], np.cumsum(is_new)])[turns]


def pinned_plan(
    chips: NDArray[np.int64], turns: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a plan that pins the tall stacks where a drawn setup has them; all else is free."""
    chips, turns = fixed_plan(chips, turns, rng)
    return chips, np.where(chips > 1, turns + PINNED, 0)


def _move_chips(chips: NDArray[np.int64], to: int, rng: np.random.Generator) -> None:
    """Move a chip or more from a stack to another, in place."""
    tall = np.flatnonzero(chips > 1)
    if len(tall) > 0:
        source = int(rng.choice(tall))
        moved = int(rng.integers(1, chips[source])) if rng.random() < 0.5 else 1
        chips[source] -= moved
        chips[to] += moved


def _split_or_join(turns: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return turns of which one was joined with the next or divided into two."""
    turn = int(rng.integers(0, _last_turn(turns) + 1))
    if rng.random() < 0.6:
        return np.where((turns > turn) & (turns < PINNED), turns - 1, turns)
    halves = 2 * turns + ((turns == turn) & (rng.random(len(turns)) < 0.5))
    return np.where(turns < PINNED, halves, turns)


def _moved(turns: NDArray[np.int64], tile: int, by: int) -> NDArray[np.int64]:
    """Return turns with one tile's changed; a pinned tile moves by a slot, or stays at an end."""
    if turns[tile] < PINNED:
        turns[tile] += by
        return turns
    return _pinned(turns, tile, min(max(int(turns[tile]) - PINNED + by, 0), len(turns) - 1))


def _pinned(turns: NDArray[np.int64], tile: int, slot: int) -> NDArray[np.int64]:
    """Return turns with a tile pinned to a slot; one pinned there already gets its turn."""
    turns = turns.copy()
    turns[turns == PINNED + slot] = turns[tile]
    turns[tile] = PINNED + slot
    return turns


def _last_turn(turns: NDArray[np.int64]) -> int:
    """Return the last turn of the tiles that are not pinned; 0 if all are."""
    return int(turns[turns < PINNED].max(initial=0))


def _numbered(turns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the same turns, those of tiles that are not pinned numbered 0, 1, 2, ..."""
    numbered = turns.copy()
    is_free = turns < PINNED
    numbered[is_free] = np.unique(turns[is_free], return_inverse=True)[1]
    return numbered
