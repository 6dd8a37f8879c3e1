"""The judge's walk over the public histories of the unreduced game.

A *public history* is what both players have seen: colours and stacks reached, who folded, numbers
shown.  At a history each player holds the list of all setups that agree with it, and the walk
computes, for every setup of the judged player, its *counterfactual value*: the payoffs of the ends
below, weighted by the probability that the opponent has this or that setup and acts that way.
Own setup and public history together are an infostate with perfect recall.

The walk shares nothing with a solver and uses none of their reductions: private states are never
merged, no branch is left early, decided games are played to the end.  It asks a strategy only for
the match probability of one setup at one history, so it does not matter what the strategy is made
of.  Only ``pulls=latest``: there every stack follows from the setup as placed and the chips pulled
so far, so that nothing but the board's public part needs to be kept along a history.  For the other
rules there is :mod:`solver.judge.payment_walk`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.rules import (
    CHOICE,
    FOLD,
    FORCED_FOLD,
    MATCH,
    SHOW,
    chips_after_pulls,
    classify,
    colour,
    new_board,
    pull_latest,
    settle,
)
from solver.strategy import Strategy, match_prob

__all__ = ["Judge", "walk_branch"]


class Setups(NamedTuple):
    """All setups as placed.

    Attributes
    ----------
    tiles, chips : ndarray of int64, shape (setups, N)
        By slot.
    spare : ndarray of int64, shape (setups, N)
        Spare chips placed behind each slot.
    """

    tiles: NDArray[np.int64]
    chips: NDArray[np.int64]
    spare: NDArray[np.int64]


class Lists(NamedTuple):
    """The setups that agree with the history, by player and slot.

    Sorted by (stack, colour, tile) in the slot, they lie in *groups* of one stack and colour, and
    these consist of *parts* of one tile.

    Attributes
    ----------
    order : ndarray of int64, shape (2, N, setups)
        Setup numbers, in front.
    sight : ndarray of int64, shape (2, N, setups)
        Beside ``order``: stack, colour and tile of each, packed.
    part_start : ndarray of int64, shape (2, N, setups + 1)
        Where each part starts in ``order``; then where the last ends.
    group_start : ndarray of int64, shape (2, N, setups + 1)
        At which part each group starts; then the number of parts.
    num_groups : ndarray of int64, shape (2, N)
        Number of groups.
    """

    order: NDArray[np.int64]
    sight: NDArray[np.int64]
    part_start: NDArray[np.int64]
    group_start: NDArray[np.int64]
    num_groups: NDArray[np.int64]


class Values(NamedTuple):
    """Numbers by slot and setup; only those of setups that agree with the history mean anything.

    Attributes
    ----------
    reach : ndarray of float64, shape (N, setups)
        Probability that the opponent has this setup and acts along the history.
    match : ndarray of float64, shape (N, setups)
        Probability that the player who decides in the slot matches, by that player's setup.
    action_value : ndarray of float64, shape (2, N, setups)
        By action: judged player's counterfactual value after it; 0 outside a meeting.
    value : ndarray of float64, shape (N, setups)
        Judged player's counterfactual value when the slot is reached.
    counts : ndarray of int64, shape (2,)
        Public histories (starts of a slot and ends) and own decisions (by setup and history).
    """

    reach: NDArray[np.float64]
    match: NDArray[np.float64]
    action_value: NDArray[np.float64]
    value: NDArray[np.float64]
    counts: NDArray[np.int64]


class Judge(NamedTuple):
    """What is judged.

    Attributes
    ----------
    seat : int
        The judged player.
    is_best : bool
        Whether the judged player takes the better action, or follows ``mine``.
    mine, theirs : Strategy
        Strategies of the judged player (not read if ``is_best``) and of the opponent.
    payoff : ndarray of float64, shape (2 C + 1,)
        Judged player's payoff for ending with so many winnings.
    pulls : int
        The judged player's rule for paying a gap; the opponent's is that of ``theirs``.
    """

    seat: int
    is_best: bool
    mine: Strategy
    theirs: Strategy
    payoff: NDArray[np.float64]
    pulls: int


def walk_branch(
    judge: Judge,
    placed: tuple[NDArray[np.int64], NDArray[np.int64]],
    branch: NDArray[np.int64],
    reach: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the judged player's value of each setup in ``branch``, and the walk's counts.

    Parameters
    ----------
    judge : Judge
        What is judged.
    placed : tuple of ndarray of int64, shape (setups, N)
        Tiles and chips of all setups.
    branch : ndarray of int64, shape (own setups,)
        Numbers of the judged player's setups.
    reach : ndarray of float64, shape (setups,)
        Probability that the opponent has each setup.
    """
    tiles, chips = placed
    num_setups, n = tiles.shape
    spare = np.cumsum(chips[:, ::-1] - 1, axis=1)[:, ::-1] - (chips - 1)
    lists = Lists(
        order=np.zeros((2, n, num_setups), np.int64),
        sight=np.zeros((2, n, num_setups), np.int64),
        part_start=np.zeros((2, n, num_setups + 1), np.int64),
        group_start=np.zeros((2, n, num_setups + 1), np.int64),
        num_groups=np.zeros((2, n), np.int64),
    )
    lists.order[1 - judge.seat, 0] = np.arange(num_setups)
    lists.order[judge.seat, 0, : len(branch)] = branch
    values = Values(
        reach=np.zeros((n, num_setups)),
        match=np.zeros((n, num_setups)),
        action_value=np.zeros((2, n, num_setups)),
        value=np.zeros((n, num_setups)),
        counts=np.zeros(2, np.int64),
    )
    values.reach[0] = reach
    setups = Setups(tiles, chips, np.ascontiguousarray(spare))
    walk_history(judge, setups, lists, values, new_board(n), 0, len(branch), num_setups)
    return values.value[0, branch], values.counts


@njit(cache=True, nogil=True)
def walk_history(judge, setups, lists, values, board, slot, num_mine, num_theirs):
    """Fill ``values.value[slot]`` for the judged player's setups that agree with a history.

    The history is what ``board`` holds of the slots before ``slot``.  The setups that agree with
    it lie in front of ``lists.order[:, slot]``.
    """
    seat, opponent, order = judge.seat, 1 - judge.seat, lists.order
    values.counts[0] += 1
    group_by_sight(setups, lists, board, seat, slot, num_mine)
    group_by_sight(setups, lists, board, opponent, slot, num_theirs)
    for i in range(num_mine):
        values.value[slot, order[seat, slot, i]] = 0.0
    winnings = (board.winnings[0], board.winnings[1])
    for group0 in range(lists.num_groups[0, slot]):
        for group1 in range(lists.num_groups[1, slot]):
            groups = (group0, group1)
            spans = find_spans(lists, slot, groups, FOLD, 0)
            open_slot(setups, order, board, slot, spans, winnings)
            kind, player = classify(board, slot)
            is_mine = kind == CHOICE and player == seat
            is_theirs = kind == CHOICE and player == opponent
            if is_theirs:
                fill_match(judge.theirs, setups, order, board, values, slot, player, spans)
            elif is_mine and not judge.is_best:
                fill_match(judge.mine, setups, order, board, values, slot, player, spans)
            for action in (FOLD, MATCH):
                for outcome in range(count_outcomes(lists, slot, groups, kind, action)):
                    part = find_spans(lists, slot, groups, action, outcome)
                    open_slot(setups, order, board, slot, part, winnings)
                    play(board, slot, kind, player, action)
                    mine, theirs = part[seat], part[opponent]
                    if slot + 1 == board.shown.shape[0]:
                        payoff = judge.payoff[board.winnings[seat]]
                        add_end(order, values, seat, slot, mine, theirs, is_theirs, action, payoff)
                        continue
                    hand_on(order, values, seat, slot, mine, theirs, is_theirs, action)
                    sizes = (mine[1] - mine[0], theirs[1] - theirs[0])
                    walk_history(judge, setups, lists, values, board, slot + 1, sizes[0], sizes[1])
                    for i in range(mine[0], mine[1]):
                        setup = order[seat, slot, i]
                        values.action_value[action, slot, setup] += values.value[slot + 1, setup]
            add_meeting(order, values, slot, seat, spans[seat], is_mine, judge.is_best)


@njit(cache=True, nogil=True)
def group_by_sight(setups, lists, board, player, slot, count):
    """Sort the first ``count`` setups of a player by what the slot shows, and mark the groups."""
    order, sight = lists.order[player, slot], lists.sight[player, slot]
    num_tiles = setups.tiles.shape[1]
    pulled = pulled_before(board, player, slot)
    for i in range(count):
        setup = order[i]
        tile = setups.tiles[setup, slot]
        stack = chips_after_pulls(setups.chips[setup, slot], setups.spare[setup, slot], pulled)
        seen = (2 * stack + colour(tile)) * num_tiles + tile
        place = i
        while place > 0 and sight[place - 1] > seen:
            sight[place], order[place] = sight[place - 1], order[place - 1]
            place -= 1
        sight[place], order[place] = seen, setup
    parts = 0
    groups = 0
    for i in range(count):
        if i == 0 or sight[i] // num_tiles != sight[i - 1] // num_tiles:
            lists.group_start[player, slot, groups] = parts
            groups += 1
        if i == 0 or sight[i] != sight[i - 1]:
            lists.part_start[player, slot, parts] = i
            parts += 1
    lists.part_start[player, slot, parts] = count
    lists.group_start[player, slot, groups] = parts
    lists.num_groups[player, slot] = groups


@njit(cache=True, nogil=True)
def count_outcomes(lists, slot, groups, kind, action):
    """Return into how many histories an action leads: one a pair of tiles if they are shown."""
    if (action == FOLD and kind == SHOW) or (action == MATCH and kind == FORCED_FOLD):
        return 0
    count = 1
    if action == MATCH:
        for player in range(2):
            first = lists.group_start[player, slot, groups[player]]
            count *= lists.group_start[player, slot, groups[player] + 1] - first
    return count


@njit(cache=True, nogil=True)
def find_spans(lists, slot, groups, action, outcome):
    """Return where each player's setups that agree with an outcome start and end in ``order``.

    After a fold these are whole groups, after a match or a tie one part of each.
    """
    starts, parts = lists.group_start, lists.part_start
    first0, last0 = starts[0, slot, groups[0]], starts[0, slot, groups[0] + 1]
    first1, last1 = starts[1, slot, groups[1]], starts[1, slot, groups[1] + 1]
    if action == MATCH:
        tiles1 = last1 - first1
        first0 += outcome // tiles1
        first1 += outcome % tiles1
        last0, last1 = first0 + 1, first1 + 1
    return (
        (parts[0, slot, first0], parts[0, slot, last0]),
        (parts[1, slot, first1], parts[1, slot, last1]),
    )


@njit(cache=True, nogil=True)
def open_slot(setups, order, board, slot, spans, winnings):
    """Put the board back to the start of a slot, with each span's first setup on it."""
    board.shown[slot] = 0
    for player in range(2):
        board.winnings[player] = winnings[player]
        board.pulled[player, slot] = 0
        lay_setup(setups, board, player, slot, order[player, slot, spans[player][0]])


@njit(cache=True, nogil=True)
def lay_setup(setups, board, player, slot, setup):
    """Put a setup on the board as it stands when the slot is reached; past stacks stay as seen."""
    pulled = pulled_before(board, player, slot)
    for s in range(board.tiles.shape[1]):
        board.tiles[player, s] = setups.tiles[setup, s]
        if s >= slot:
            board.chips[player, s] = chips_after_pulls(
                setups.chips[setup, s], setups.spare[setup, s], pulled
            )


@njit(cache=True, nogil=True)
def pulled_before(board, player, slot):
    """Return the chips a player has pulled from later tiles in the slots before this one."""
    total = 0
    for s in range(slot):
        total += board.pulled[player, s]
    return total


@njit(cache=True, nogil=True)
def fill_match(strategy, setups, order, board, values, slot, player, spans):
    """Ask the strategy for the match probability of each setup in the deciding player's span."""
    for i in range(spans[player][0], spans[player][1]):
        setup = order[player, slot, i]
        lay_setup(setups, board, player, slot, setup)
        values.match[slot, setup], _ = match_prob(strategy, board, slot, player)


@njit(cache=True, nogil=True)
def play(board, slot, kind, player, action):
    """Play an action on the board."""
    if action == FOLD:
        settle(board, slot, player)
    else:
        if kind == CHOICE:
            pull_latest(board, player, slot)
        settle(board, slot, -1)


@njit(cache=True, nogil=True)
def next_reach(values, slot, setup, is_theirs, action):
    """Return the opponent's reach after an action, which is theirs or not."""
    reach = values.reach[slot, setup]
    if not is_theirs:
        return reach
    match = values.match[slot, setup]
    return reach * match if action == MATCH else reach * (1.0 - match)


@njit(cache=True, nogil=True)
def add_end(order, values, seat, slot, mine, theirs, is_theirs, action, payoff):
    """Add an end's values to those of the action: payoff, times the opponent's reach of it."""
    values.counts[0] += 1
    total = 0.0
    for i in range(theirs[0], theirs[1]):
        total += next_reach(values, slot, order[1 - seat, slot, i], is_theirs, action)
    for i in range(mine[0], mine[1]):
        values.action_value[action, slot, order[seat, slot, i]] += payoff * total


@njit(cache=True, nogil=True)
def hand_on(order, values, seat, slot, mine, theirs, is_theirs, action):
    """List the setups that agree with an outcome for the next slot, and the opponent's reach."""
    for i in range(mine[0], mine[1]):
        order[seat, slot + 1, i - mine[0]] = order[seat, slot, i]
    for i in range(theirs[0], theirs[1]):
        setup = order[1 - seat, slot, i]
        order[1 - seat, slot + 1, i - theirs[0]] = setup
        values.reach[slot + 1, setup] = next_reach(values, slot, setup, is_theirs, action)


@njit(cache=True, nogil=True)
def add_meeting(order, values, slot, seat, mine, is_mine, is_best):
    """Add the action values of a meeting to the history's values, and put them back to 0."""
    values.counts[1] += (mine[1] - mine[0]) * is_mine
    for i in range(mine[0], mine[1]):
        setup = order[seat, slot, i]
        fold = values.action_value[FOLD, slot, setup]
        match = values.action_value[MATCH, slot, setup]
        values.action_value[FOLD, slot, setup] = 0.0
        values.action_value[MATCH, slot, setup] = 0.0
        if not is_mine:
            values.value[slot, setup] += fold + match
        elif is_best:
            values.value[slot, setup] += max(fold, match)
        else:
            prob = values.match[slot, setup]
            values.value[slot, setup] += (1.0 - prob) * fold + prob * match
