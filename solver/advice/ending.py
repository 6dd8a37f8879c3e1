"""What to play near the end: the rest of the game solved anew, so that it cannot be exploited more.

The values of a query are against an opponent who plays the table.  Somebody who does not may do
better against it.  When few slots are left, the rest of the game is therefore solved as a game of
its own for my side (:mod:`solver.endings.resolve`): my range is what the table would hold and play
here, the opponent may hold anything, and gets no more with any of it than it could get against the
table.

The ending begins at the first slot from which its tree is small enough and is solved sharply enough
to be safe, as far as can be told from what is public.  So every decision of a game that follows is
read off one and the same solution, and together these are one strategy.  Up to the last four slots
are tried, and the last three may be far larger.  Ranges are exact where setups can be listed; else
they are those of :func:`solver.advice.posterior.filter_remainders`, nearly exact for tables with
fine keys, and the bound on the opponent holds as nearly.

Solved from the two ranges alone, without that bound, endings are worse than the table's own:
results/endings has both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.advice.posterior import (
    Holdings,
    count_remainders,
    filter_remainders,
    list_remainders,
    list_strategy_setups,
    weigh_setups,
)
from solver.endings.blueprint import blueprint_match
from solver.endings.resolve import MOST_EXCESS, resolve, spread_range
from solver.endings.states import (
    MOST_SLOTS,
    States,
    fits_packing,
    merge_states,
    pack_states,
    unpack,
)
from solver.endings.tree import Ending, build_ending
from solver.rules import CHOICE, FOLD, MATCH, Board, Game, classify, is_decided
from solver.setups import Setup, list_compositions
from solver.situation import Event, Facing, Situation
from solver.strategy import EXACT, Strategy

__all__ = ["ResolvedDecision", "mirrored", "possible_states", "resolve_decision"]

MOST_MOVES = 20_000
"""Moves of a side beyond which an ending is too large; see :mod:`solver.endings.tree`.

With so many, 150 iterations take an eighth of a second."""

FEW_SLOTS, MOST_MOVES_OF_FEW = 3, 400_000
"""So many slots or fewer may have more."""

MOST_STATES = 20_000
"""The same of private states of a side."""

_WORK = 6_000_000
"""Moves and infostates, times iterations, that take an eighth of a second."""

_FEWEST, _MOST = 150, 1_000
"""Iterations."""

EVENLY = 0.5
"""Share of the opponent's range that is spread evenly over all it may hold.

It hardly matters: from 0 to this, decisions in endings of 10x30 moved by a few hundredths."""


@dataclass(frozen=True)
class ResolvedDecision:
    """My decision in a re-solved ending.

    Attributes
    ----------
    from_slot : int
        The slot with which the ending begins, counted from 1.
    match : float
        Probability of matching now.
    value, table_value : float
        My utility from the start of the ending, over my range and the opponent's by the table, if
        the opponent answers best: with the new strategy and with the table's.
    excess : float
        The most that the opponent gains over its best against the table, whatever it holds; next
        to 0 or below.
    iterations : int
    """

    from_slot: int
    match: float
    value: float
    table_value: float
    excess: float
    iterations: int

    def to_json(self) -> dict[str, object]:
        """Return the fields as plain values for JSON, with both actions."""
        return {
            "from_slot": self.from_slot,
            "fold": 1.0 - self.match,
            "match": self.match,
            "value": self.value,
            "table_value": self.table_value,
            "excess": self.excess,
            "iterations": self.iterations,
        }


class _Root(NamedTuple):
    """An ending and the ranges at its root, mine first."""

    slot: int
    board: Board
    ending: Ending
    ranges: tuple[NDArray[np.float64], NDArray[np.float64]]


def resolve_decision(
    strategy: Strategy, situation: Situation, game: Game
) -> tuple[ResolvedDecision | None, str]:
    """Return my decision in the re-solved ending, or None, and a word on it.

    Parameters
    ----------
    strategy : Strategy
        What both are taken to have played so far.
    situation : Situation
        Mine, in ``game``, which has ``pulls='latest'``.

    Returns
    -------
    ResolvedDecision or None
        None where I do not choose, the ending is too large, or the strategy never comes here; for
        exact tables, which answer each infostate by itself already; and where answers are locked,
        which the ending would be solved without.
    str
        For people: what was done, or why nothing was; empty where nothing was to be expected.
    """
    board, slot = situation.board(), situation.slot
    winnings = int(board.winnings[0]), int(board.winnings[1])
    if (
        strategy.decision_kind == EXACT
        or game.num_tiles - slot > MOST_SLOTS
        or classify(board, slot) != (CHOICE, 0)
    ):
        return None, ""
    if game.is_win and is_decided(*winnings, game.num_chips):
        return None, "ending not re-solved: the game is decided already"
    if len(strategy.kinds):
        return None, "ending not re-solved: answers of the table are locked"
    is_too_large = True
    for root in _roots(strategy, situation, game):
        is_too_large = False
        mine, theirs = root.ranges
        if not mine.sum() > 0.0:
            return None, "ending not re-solved: the table never comes here"
        mine = mine / mine.sum()
        blueprint = blueprint_match(root.ending, strategy, root.board, root.slot, 0)
        size = root.ending.move.shape[1] + root.ending.num_infos
        found = resolve(
            root.ending,
            0,
            (mine, spread_range(theirs, EVENLY)),
            blueprint,
            iterations=min(max(_WORK // size, _FEWEST), _MOST),
        )
        if found.excess > MOST_EXCESS:
            continue
        weights = spread_range(theirs, 0.0)
        decision = ResolvedDecision(
            from_slot=root.slot + 1,
            match=float(found.match[_find_info(root, situation)]),
            value=float(-weights @ found.after),
            table_value=float(-weights @ found.before),
            excess=found.excess,
            iterations=found.iterations,
        )
        return decision, f"ending re-solved from slot {decision.from_slot}"
    why = "its tree is too large" if is_too_large else "not solved sharply enough to be safe"
    return None, f"ending not re-solved: {why}"


def _roots(strategy: Strategy, situation: Situation, game: Game) -> Iterator[_Root]:
    """Go through the endings that are small enough and hold the situation, the longest first."""
    n = game.num_tiles
    boards = situation.boards()
    for slot in range(max(0, n - MOST_SLOTS), situation.slot + 1):
        if not fits_packing(game, n - slot):
            continue
        start = _situation_at(situation, boards, slot)
        theirs = possible_states(start)
        own = possible_states(mirrored(start))
        if theirs is None or own is None:
            continue
        cells = (np.sort(pack_states(own)), np.sort(pack_states(theirs)))
        winnings = (int(boards[slot].winnings[0]), int(boards[slot].winnings[1]))
        most = MOST_MOVES if n - slot > FEW_SLOTS else MOST_MOVES_OF_FEW
        ending = build_ending(cells, n - slot, winnings, game.num_chips, game.is_win, limit=most)
        if ending is None:
            continue
        ranges = tuple(
            _range_over(seen, strategy, one, slot)
            for seen, one in zip(cells, (mirrored(start), start), strict=True)
        )
        yield _Root(slot, boards[slot], ending, (ranges[0], ranges[1]))


def _situation_at(situation: Situation, boards: list[Board], slot: int) -> Situation:
    """Return an earlier situation of the same game."""
    tile, stack = boards[slot].tiles[1, slot], boards[slot].chips[1, slot]
    facing = Facing(int(tile) % 2, int(stack))
    return Situation(situation.game, situation.me, situation.events[:slot], facing)


def mirrored(situation: Situation) -> Situation:
    """Return the situation as the opponent sees it, with some setup that it may have placed.

    The rest of what it placed stands on its last tile, from where pulls come off first.

    Examples
    --------
    >>> from solver.situation import format_situation, parse_situation
    >>> seen = parse_situation(Game(3, 6), me="0:1,2:4,1:1", history="b2F", facing="w3")
    >>> format_situation(mirrored(seen))
    {'me': '0:2,1:3,2:1', 'history': 'b1f', 'facing': 'b4'}
    """
    boards = situation.boards()
    board, slot = boards[-1], situation.slot
    chips = board.chips[1].copy()
    chips[-1] += board.pulled[1].sum()
    events = [
        Event(
            int(board.tiles[0, s]) % 2,
            int(boards[s].chips[0, s]),
            None if event.number is None else int(board.tiles[0, s]),
            event.number is None and not event.has_me_folded,
        )
        for s, event in enumerate(situation.events)
    ]
    facing = Facing(int(board.tiles[0, slot]) % 2, int(board.chips[0, slot]))
    return Situation(situation.game, Setup.of_rows(board.tiles[1], chips), tuple(events), facing)


def possible_states(situation: Situation) -> States | None:
    """Return everything the opponent may hold, by what is public; None if it is too much.

    Any order of tiles not shown that leaves the right number of each colour in the slots before,
    with any split of the chips behind the faced stack.
    """
    n, slot = situation.game.num_tiles, situation.slot
    num_left = n - slot
    board = situation.board()
    shown = {event.number for event in situation.events}
    unseen = [tile for tile in range(n) if tile not in shown]
    whites = n // 2 - sum(event.colour for event in situation.events)
    rows = [
        order
        for order in itertools.permutations(unseen, num_left)
        if order[0] % 2 == situation.facing.colour and sum(t % 2 for t in order) == whites
    ]
    total = int(board.chips[1, slot + 1 :].sum())
    splits = np.zeros((1, 0), np.int64)
    if num_left > 1:
        splits = list_compositions(total, num_left - 1)
    if len(rows) * len(splits) > MOST_STATES:
        return None
    tiles = np.repeat(np.array(rows, np.int64), len(splits), axis=0)
    chips = np.empty_like(tiles)
    chips[:, 0] = situation.facing.stack
    chips[:, 1:] = np.tile(splits, (len(rows), 1))
    return States(tiles, chips)


def _range_over(
    cells: NDArray[np.int64], strategy: Strategy, situation: Situation, slot: int
) -> NDArray[np.float64]:
    """Return the probability of each of the opponent's cells if it plays the strategy."""
    holdings = _held_under(strategy, situation)
    weights = np.zeros(len(cells))
    if len(holdings.weights):
        states = States(holdings.tiles[:, slot:], holdings.chips[:, slot:])
        held, sums = merge_states(states, holdings.weights)
        weights[np.searchsorted(cells, held)] = sums
    return weights


def _held_under(strategy: Strategy, situation: Situation) -> Holdings:
    """Return what the opponent may hold if it plays the strategy, as a list."""
    game = situation.game
    listed = list_strategy_setups(strategy, game, MOST_STATES)
    if listed is not None:
        return weigh_setups(situation, strategy, listed.tiles, listed.chips, listed.weights)
    remainders = filter_remainders(situation, strategy, strategy)
    if not count_remainders(remainders, strategy):
        none = np.zeros((0, game.num_tiles), np.int64)
        return Holdings(none, none, np.zeros(0), 0.0)
    return list_remainders(remainders, situation, strategy)


def _find_info(root: _Root, situation: Situation) -> int:
    """Return the infostate of my decision, found along what happened since the root."""
    ending, boards = root.ending, situation.boards()
    node = 0
    for slot in range(root.slot, situation.slot + 1):
        meeting = _find_meeting(ending, node, slot - root.slot, boards[slot], slot)
        if slot == situation.slot:
            break
        event = situation.events[slot]
        wanted = [FOLD, -1, -1]
        if event.number is not None:
            wanted = [MATCH, int(situation.me.tiles[slot]), event.number]
        for branch in range(ending.branch_start[meeting], ending.branch_start[meeting + 1]):
            if [ending.action[branch], *ending.shown[branch]] == wanted:
                node = int(ending.child[branch])
    start, stop = ending.span[meeting, 0]
    cell = _my_cell(boards[situation.slot], situation.slot)
    place = int(np.searchsorted(ending.cell[0, start:stop], cell))
    return int(ending.info_start[meeting]) + place


def _find_meeting(ending: Ending, node: int, depth: int, board: Board, slot: int) -> int:
    """Return the meeting of a node in which both see what the board shows."""
    num_left = ending.num_slots - depth
    for meeting in range(ending.meeting_start[node], ending.meeting_start[node + 1]):
        first = ending.span[meeting, :, 0]
        seen = [unpack(ending.cell[side, first[side], None], num_left) for side in range(2)]
        if all(
            part.tiles[0, 0] % 2 == board.tiles[side, slot] % 2
            and part.chips[0, 0] == board.chips[side, slot]
            for side, part in enumerate(seen)
        ):
            return meeting
    raise AssertionError("an ending holds every game that the rules allow")


def _my_cell(board: Board, slot: int) -> int:
    """Return my packed cell at the start of a slot."""
    return int(pack_states(States(board.tiles[:1, slot:], board.chips[:1, slot:]))[0])
