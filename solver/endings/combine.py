"""Every ending of a small game re-solved: the whole strategy, for a judge.

The public histories of the slots before the endings are walked with all setups that agree with
them.  The game is symmetric, so seat 0 is re-solved and the strategy serves both seats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.endings.blueprint import blueprint_match, observation_keys_of
from solver.endings.resolve import MOST_EXCESS, PENALTY, resolve, spread_range
from solver.endings.states import States, fits_packing, merge_states
from solver.endings.tree import build_ending
from solver.infostate import infostate_key, observe
from solver.rules import (
    CHOICE,
    FOLD,
    FORCED_FOLD,
    MATCH,
    SHOW,
    Board,
    Game,
    InputError,
    chips_after_pulls,
    classify,
    is_decided,
    new_board,
    pull_latest,
    settle,
)
from solver.setups import list_setups
from solver.strategy import (
    EXACT,
    LISTED,
    Strategy,
    check_fits,
    make_strategy,
    match_prob,
    setup_prob,
)

__all__ = ["Combined", "Root", "combine", "list_roots"]

_TREE_LIMIT = 3_000_000
"""Most moves of an ending."""


class Root(NamedTuple):
    """A meeting from which on the game is re-solved.

    Attributes
    ----------
    board : Board
        Both sides' past, and some setup of each that agrees with it.
    cells : pair of ndarray of int64
        What each side may hold, packed, sorted, each once.
    ranges : pair of ndarray of float64
        How likely the strategy places that and plays to here; not scaled.
    """

    board: Board
    cells: tuple[NDArray[np.int64], NDArray[np.int64]]
    ranges: tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Combined:
    """A strategy with its endings re-solved.

    Attributes
    ----------
    strategy : Strategy
        With an answer for each infostate it can reach.
    num_endings, num_taken : int
        Endings that were met with positive reach, and how many of them were changed.
    excess : float
        The most that a private state gains in an ending that was changed, in utility.
    """

    strategy: Strategy
    num_endings: int
    num_taken: int
    excess: float


class _Walk(NamedTuple):
    """What a walk over public histories reads."""

    game: Game
    strategy: Strategy
    tiles: NDArray[np.int64]
    chips: NDArray[np.int64]
    first: int
    note: Callable[[NDArray[np.uint64], NDArray[np.float64]], None]


def list_roots(
    strategy: Strategy,
    game: Game,
    first: int,
    note: Callable[[NDArray[np.uint64], NDArray[np.float64]], None] | None = None,
) -> Iterator[Root]:
    """Go through the meetings of slot ``first`` (from 0) in which nothing is decided yet.

    Parameters
    ----------
    strategy : Strategy
        What both sides play before.
    game : Game
        With few enough setups to be listed.
    first : int
        The slot, from 0.
    note : callable, optional
        Called with the keys and match probabilities of seat 0's decisions on the way.
    """
    tiles, chips, probs = _list_probs(strategy, game)
    walk = _Walk(game, strategy, tiles, chips, first, note or (lambda keys, match: None))
    everyone = np.arange(len(tiles))
    yield from _roots_from(walk, new_board(game.num_tiles), 0, (everyone, everyone), (probs, probs))


def _roots_from(
    walk: _Walk,
    board: Board,
    slot: int,
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    reach: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> Iterator[Root]:
    """Go on from the start of a slot, with the setups that agree with the board."""
    stacks = [_stacks(walk, board, side, slot, rows[side]) for side in range(2)]
    sights = [2 * stacks[side][:, slot] + walk.tiles[rows[side], slot] % 2 for side in range(2)]
    for sight0 in np.unique(sights[0]):
        for sight1 in np.unique(sights[1]):
            kept = [np.flatnonzero(sights[s] == seen) for s, seen in ((0, sight0), (1, sight1))]
            here = (rows[0][kept[0]], rows[1][kept[1]])
            now = (stacks[0][kept[0]], stacks[1][kept[1]])
            weights = (reach[0][kept[0]], reach[1][kept[1]])
            met = _copy(board)
            for side in range(2):
                met.tiles[side] = walk.tiles[here[side][0]]
                met.chips[side, slot:] = now[side][0, slot:]
            if slot == walk.first:
                merged = [
                    merge_states(
                        States(walk.tiles[here[side], slot:], now[side][:, slot:]), weights[side]
                    )
                    for side in range(2)
                ]
                yield Root(met, (merged[0][0], merged[1][0]), (merged[0][1], merged[1][1]))
                continue
            yield from _meet(walk, met, slot, here, now, weights)


def _meet(
    walk: _Walk,
    met: Board,
    slot: int,
    here: tuple[NDArray[np.int64], NDArray[np.int64]],
    now: tuple[NDArray[np.int64], NDArray[np.int64]],
    weights: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> Iterator[Root]:
    """Go on from a meeting, with each side's setups, their chips now and their reaches."""
    kind, player = classify(met, slot)
    match = np.zeros(0)
    if kind == CHOICE:
        keys = np.zeros(len(here[player]), np.uint64)
        match = np.zeros(len(here[player]))
        _ask(walk.strategy, met, slot, player, walk.tiles[here[player]], now[player], match, keys)
        if player == 0:
            walk.note(keys, match)
    for action in (FOLD, MATCH):
        if (action == FOLD and kind == SHOW) or (action == MATCH and kind == FORCED_FOLD):
            continue
        passed = list(weights)
        if kind == CHOICE:
            passed[player] = weights[player] * (match if action == MATCH else 1.0 - match)
        shown = [walk.tiles[here[side], slot] for side in range(2)]
        for tile0 in np.unique(shown[0]) if action == MATCH else (-1,):
            for tile1 in np.unique(shown[1]) if action == MATCH else (-1,):
                after = _copy(met)
                kept = [
                    np.flatnonzero(shown[side] == tile) if tile >= 0 else np.arange(len(here[side]))
                    for side, tile in ((0, tile0), (1, tile1))
                ]
                if action == MATCH:
                    after.tiles[:, slot] = tile0, tile1
                    if kind == CHOICE:
                        pull_latest(after, player, slot)
                    settle(after, slot, -1)
                else:
                    settle(after, slot, player)
                mine, theirs = int(after.winnings[0]), int(after.winnings[1])
                if walk.game.is_win and is_decided(mine, theirs, walk.game.num_chips):
                    continue
                yield from _roots_from(
                    walk,
                    after,
                    slot + 1,
                    (here[0][kept[0]], here[1][kept[1]]),
                    (passed[0][kept[0]], passed[1][kept[1]]),
                )


def combine(
    strategy: Strategy,
    game: Game,
    first: int,
    *,
    iterations: int = 500,
    evenly: float = 0.5,
    most_excess: float = MOST_EXCESS,
    penalty: float = PENALTY,
    least_reach: float = 0.0,
) -> Combined:
    """Return a strategy whose endings from slot ``first`` (from 0) on are re-solved.

    Parameters
    ----------
    strategy : Strategy
        What stays before the endings, and bounds the opponent in them.
    game : Game
        With ``pulls='latest'`` and few enough setups to be listed.
    first : int
        The first slot of the endings, from 0.
    iterations : int
        In each ending, at most.
    evenly : float
        Share of the villain's range that is spread evenly over all it may hold.
    most_excess : float
        An ending in which some private state of the villain would gain more stays as it was.
    penalty : float
        See :func:`solver.endings.resolve.resolve`.
    least_reach : float
        Endings to which seat 0's part of the reach is less stay as they were.

    Raises
    ------
    InputError
        If the strategy is for another game, or endings are too large.
    """
    check_fits(strategy, game)
    if game.pulls != "latest" or not fits_packing(game, game.num_tiles - first):
        raise InputError(f"{game.name}: endings of {game.num_tiles - first} slots do not fit")
    all_keys: list[NDArray[np.uint64]] = []
    all_match: list[NDArray[np.float64]] = []

    def note(keys: NDArray[np.uint64], match: NDArray[np.float64]) -> None:
        all_keys.append(keys)
        all_match.append(match)

    num_endings = num_taken = 0
    excess = 0.0
    for root in list_roots(strategy, game, first, note):
        if not root.ranges[0].sum() > 0.0:
            continue
        winnings = (int(root.board.winnings[0]), int(root.board.winnings[1]))
        ending = build_ending(
            root.cells,
            game.num_tiles - first,
            winnings,
            game.num_chips,
            game.is_win,
            limit=_TREE_LIMIT,
        )
        if ending is None:
            raise InputError(f"{game.name}: an ending from slot {first + 1} on is too large")
        if ending.num_infos == 0:
            continue
        match = blueprint_match(ending, strategy, root.board, first, 0)
        hero_range = root.ranges[0] / root.ranges[0].sum()
        num_endings += 1
        if root.ranges[0].sum() >= least_reach:
            found = resolve(
                ending,
                0,
                (hero_range, spread_range(root.ranges[1], evenly)),
                match,
                iterations=iterations,
                penalty=penalty,
            )
            if found.excess <= most_excess:
                num_taken += 1
                match = found.match
                excess = max(excess, found.excess)
        keys = observation_keys_of(ending, strategy, root.board, first, 0)
        mine = keys != 0
        note(keys[mine], match[mine])
    keys, places = np.unique(np.concatenate(all_keys), return_index=True)
    tiles, chips, probs = _list_probs(strategy, game)
    used = probs > 0
    cumulative = np.cumsum(probs[used])
    whole = make_strategy(
        game.num_tiles,
        game.num_chips,
        game.is_win,
        setup_kind=LISTED,
        setup_tiles=tiles[used],
        setup_chips=chips[used],
        setup_cumulative=cumulative / cumulative[-1],
        decision_kind=EXACT,
        keys=keys,
        match=np.concatenate(all_match)[places],
    )
    return Combined(whole, num_endings, num_taken, excess)


def _list_probs(
    strategy: Strategy, game: Game
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return all setups as ``(tiles, chips)``, and the probability of each."""
    tiles, chips = list_setups(game)
    probs = np.array([setup_prob(strategy, *row) for row in zip(tiles, chips, strict=True)])
    return tiles, chips, probs / probs.sum()  # stored numbers are rounded


def _copy(board: Board) -> Board:
    return Board(*(part.copy() for part in board))


def _stacks(
    walk: _Walk, board: Board, side: int, slot: int, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the chips of setups, as they stand at the start of a slot."""
    chips = walk.chips[rows].copy()
    _apply(chips, slot, int(board.pulled[side].sum()))
    return chips


@njit(cache=True, nogil=True)
def _apply(chips, slot, pulled):
    """Take chips off stacks from ``slot`` on, latest first, in place."""
    for row in range(chips.shape[0]):
        spare = 0
        for s in range(chips.shape[1] - 1, slot - 1, -1):
            placed = chips[row, s]
            chips[row, s] = chips_after_pulls(placed, spare, pulled)
            spare += placed - 1


@njit(cache=True, nogil=True)
def _ask(strategy, board, slot, player, tiles, chips, match, keys):
    """Fill ``match`` and ``keys`` for the setups in the rows, in place."""
    n = tiles.shape[1]
    observation = np.empty((n, 4), np.int64)
    for row in range(tiles.shape[0]):
        board.tiles[player] = tiles[row]
        board.chips[player, slot:] = chips[row, slot:]
        match[row], _ = match_prob(strategy, board, slot, player)
        observe(board, slot, player, observation)
        keys[row] = infostate_key(observation)
