"""The last slots of a game as a flat public tree, from what either side may hold.

A *node* is what both have seen at the start of a slot.  There each side has a run of *cells*, one
for each private state that agrees with it: the tiles and stacks of this and the later slots.
States with the same future are one cell, since nothing else can matter any more, so that their
reaches add.  The cells of a node lie in *groups* of one colour and stack, which is what the slot
shows, and a pair of groups is a *meeting*.  A *branch* leads from a meeting to the next node, or to
an end once a player has won for certain; the last slot has no branches, as the payoff there depends
only on which tile is higher.

A cell is packed into one integer, the slot to come in the highest bits: ``stack, colour, tile``,
then ``stack, tile`` for each later slot.  Sorted by it, groups, and within them tiles, are runs.

Takes ``pulls='latest'``.
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
    Game,
    chips_after_pulls,
    classify,
    is_decided,
    new_board,
    pull_latest,
    settle,
    utility,
)

__all__ = [
    "MOST_SLOTS",
    "Ending",
    "States",
    "build_ending",
    "fits_packing",
    "merge_states",
    "pack_states",
    "unpack",
    "unpack_into",
]

MOST_SLOTS = 4
"""Slots that a packed cell has room for."""

_FIRST_ROOM = 4096
"""Room that is tried first; eight times as much each time that it does not do."""

_TILE_BITS, _STACK_BITS = 6, 8
_SLOT_BITS = _TILE_BITS + _STACK_BITS

TILE_MASK = (1 << _TILE_BITS) - 1
"""Bits of the tile in a cell of the last slot."""

FOLDED, HIGHER, EQUAL, LOWER = range(4)
"""What a meeting in the last slot pays for: a fold, and side 0's tile against side 1's."""


class States(NamedTuple):
    """Private states of one side: the slots left, from the present one.

    Attributes
    ----------
    tiles, chips : ndarray of int64, shape (states, slots)
        Tiles, and chips as they stand now.
    """

    tiles: NDArray[np.int64]
    chips: NDArray[np.int64]


class Ending(NamedTuple):
    """A tree of the last slots.

    Sides are 0 and 1.  Nodes are in the order of their slots, and so are meetings, which lie node
    by node, and branches, meeting by meeting.

    Attributes
    ----------
    num_slots, num_infos : int
        Slots left at the root; decisions of both sides, by meeting and cell.
    depth : ndarray of int64, shape (nodes,)
        Slots since the root.
    winnings : ndarray of int64, shape (nodes, 2)
    origin : ndarray of int64, shape (nodes,)
        The branch that leads here; -1 at the root.
    cell_start : ndarray of int64, shape (2, nodes + 1)
        Where the cells of each side of a node start.
    meeting_start : ndarray of int64, shape (nodes + 1,)
    cell : ndarray of int64, shape (2, cells)
        Packed; one side may have fewer, and its row is 0 beyond them.
    meeting_node : ndarray of int64, shape (meetings,)
    decider : ndarray of int64, shape (meetings,)
        The side that matches or folds; -1 where nobody decides.
    span : ndarray of int64, shape (meetings, 2, 2)
        First cell of each side's group, and the one after its last.
    info_start : ndarray of int64, shape (meetings,)
        The decider's first infostate there; one a cell.
    branch_start : ndarray of int64, shape (meetings + 1,)
    is_shown, is_folded : ndarray of bool, shape (meetings,)
        Whether the slot can end with tiles shown, and with a fold.
    pays : ndarray of float64, shape (meetings, 4)
        In the last slot: side 0's utility by ``FOLDED, HIGHER, EQUAL, LOWER``.
    branch_meeting, action, child : ndarray of int64, shape (branches,)
        ``child`` is a node, or -1 where the game is decided.
    branch_pay : ndarray of float64, shape (branches,)
        Side 0's utility where it is.
    part : ndarray of int64, shape (branches, 2, 2)
        The cells of each side that go this way.
    move_start : ndarray of int64, shape (branches, 2)
        Where in ``move`` those cells stand.
    shown : ndarray of int64, shape (branches, 2)
        Tiles shown; -1 for a fold.
    pulled : ndarray of int64, shape (branches,)
        Chips that the decider takes from later tiles.
    move : ndarray of int64, shape (2, moves)
        Which cell of the child each of them becomes.
    """

    num_slots: int
    num_infos: int
    depth: NDArray[np.int64]
    winnings: NDArray[np.int64]
    origin: NDArray[np.int64]
    cell_start: NDArray[np.int64]
    meeting_start: NDArray[np.int64]
    cell: NDArray[np.int64]
    meeting_node: NDArray[np.int64]
    decider: NDArray[np.int64]
    span: NDArray[np.int64]
    info_start: NDArray[np.int64]
    branch_start: NDArray[np.int64]
    is_shown: NDArray[np.bool_]
    is_folded: NDArray[np.bool_]
    pays: NDArray[np.float64]
    branch_meeting: NDArray[np.int64]
    action: NDArray[np.int64]
    child: NDArray[np.int64]
    branch_pay: NDArray[np.float64]
    part: NDArray[np.int64]
    move_start: NDArray[np.int64]
    shown: NDArray[np.int64]
    pulled: NDArray[np.int64]
    move: NDArray[np.int64]


class _Counts(NamedTuple):
    """How much of each array is in use; arrays of one number a side where there are two."""

    nodes: int
    meetings: int
    branches: int
    infos: int


def fits_packing(game: Game, num_slots: int) -> bool:
    """Return whether cells of a game's last slots can be packed.

    Examples
    --------
    >>> fits_packing(Game(10, 30), 4), fits_packing(Game(10, 30), 5)
    (True, False)
    """
    has_room = game.num_tiles <= 1 << _TILE_BITS and game.num_chips < 1 << _STACK_BITS
    return 1 <= num_slots <= MOST_SLOTS and has_room


def pack_states(states: States) -> NDArray[np.int64]:
    """Return the packed cell of each state, int64 of shape (states,).

    Examples
    --------
    >>> states = States(np.array([[3, 0]]), np.array([[2, 5]]))
    >>> [part.tolist() for part in unpack(pack_states(states), 2)]
    [[[3, 0]], [[2, 5]]]
    """
    tiles, chips = states
    packed = (2 * chips[:, 0] + tiles[:, 0] % 2 << _TILE_BITS) | tiles[:, 0]
    for slot in range(1, tiles.shape[1]):
        packed = (packed << _SLOT_BITS) | (chips[:, slot] << _TILE_BITS) | tiles[:, slot]
    return packed.astype(np.int64)


def merge_states(
    states: States, weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return packed cells, sorted and each once, and the sums of the weights.

    Examples
    --------
    >>> states = States(np.array([[1], [0], [1]]), np.array([[2], [2], [2]]))
    >>> merge_states(states, np.array([0.5, 0.25, 0.25]))[1].tolist()
    [0.25, 0.75]
    """
    cells, which = np.unique(pack_states(states), return_inverse=True)
    return cells, np.bincount(which, weights, len(cells)).astype(np.float64)


def unpack(cells: NDArray[np.int64], num_slots: int) -> States:
    """Return the states that cells of a node with ``num_slots`` left stand for."""
    tiles, chips = (np.empty((len(cells), num_slots), np.int64) for _ in range(2))
    for row, cell in enumerate(cells):
        unpack_into(cell, tiles[row], chips[row], 0)
    return States(tiles, chips)


def build_ending(
    sides: tuple[NDArray[np.int64], NDArray[np.int64]],
    num_slots: int,
    winnings: tuple[int, int],
    num_chips: int,
    is_win: bool,
    *,
    limit: int,
) -> Ending | None:
    """Return the tree of the last slots, or None if it is too large.

    Parameters
    ----------
    sides : pair of ndarray of int64
        Packed cells of each side, sorted, all different.
    num_slots : int
        Slots left.
    winnings : pair of int
    num_chips : int
        C.
    is_win : bool
        The objective.
    limit : int
        Most moves of a side, and most nodes, meetings and branches.

    Examples
    --------
    >>> one = pack_states(States(np.array([[1, 0], [1, 0]]), np.array([[1, 2], [2, 1]])))
    >>> ending = build_ending((one, one), 2, (0, 0), 3, True, limit=1000)
    >>> len(ending.depth), ending.num_infos
    (7, 4)
    """
    room = min(limit, _FIRST_ROOM)
    while True:
        arrays = _allocate(num_slots, room, room + max(len(sides[0]), len(sides[1])))
        for side in range(2):
            arrays.cell[side, : len(sides[side])] = sides[side]
            arrays.cell_start[side, 1] = len(sides[side])
        arrays.winnings[0] = winnings
        counts, num_moves, is_whole = _grow(arrays, num_chips, is_win, room)
        if is_whole:
            return _trimmed(arrays, _Counts(*counts), num_moves)
        if room == limit:
            return None
        room = min(limit, 8 * room)


def _allocate(num_slots: int, limit: int, cells: int) -> Ending:
    """Return a tree's arrays with as much room as is allowed."""

    def whole(*shape: int) -> NDArray[np.int64]:
        return np.empty(shape, np.int64)

    return Ending(
        num_slots=num_slots,
        num_infos=0,
        depth=np.zeros(limit, np.int64),
        winnings=whole(limit, 2),
        origin=np.full(limit, -1),
        cell_start=np.zeros((2, limit + 1), np.int64),
        meeting_start=np.zeros(limit + 1, np.int64),
        cell=whole(2, cells),
        meeting_node=whole(limit),
        decider=whole(limit),
        span=whole(limit, 2, 2),
        info_start=whole(limit),
        branch_start=np.zeros(limit + 1, np.int64),
        is_shown=np.empty(limit, np.bool_),
        is_folded=np.empty(limit, np.bool_),
        pays=np.zeros((limit, 4)),
        branch_meeting=whole(limit),
        action=whole(limit),
        child=whole(limit),
        branch_pay=np.zeros(limit),
        part=whole(limit, 2, 2),
        move_start=whole(limit, 2),
        shown=whole(limit, 2),
        pulled=whole(limit),
        move=whole(2, limit),
    )


def _trimmed(arrays: Ending, counts: _Counts, num_moves: NDArray[np.int64]) -> Ending:
    """Return a copy without the room that was not used."""
    nodes, meetings, branches, infos = counts
    cells = int(arrays.cell_start[:, nodes].max())
    for side in range(2):
        arrays.cell[side, arrays.cell_start[side, nodes] : cells] = 0
        arrays.move[side, num_moves[side] : num_moves.max()] = 0
    sizes = {
        "depth": nodes,
        "winnings": nodes,
        "origin": nodes,
        "meeting_start": nodes + 1,
        "branch_start": meetings + 1,
        **dict.fromkeys(
            ("meeting_node", "decider", "span", "info_start", "is_shown", "is_folded", "pays"),
            meetings,
        ),
        **dict.fromkeys(
            ("branch_meeting", "action", "child", "branch_pay", "part", "move_start", "shown"),
            branches,
        ),
        "pulled": branches,
    }
    parts = {name: getattr(arrays, name)[:size].copy() for name, size in sizes.items()}
    return arrays._replace(
        num_infos=infos,
        cell_start=arrays.cell_start[:, : nodes + 1].copy(),
        cell=arrays.cell[:, :cells].copy(),
        move=arrays.move[:, : num_moves.max()].copy(),
        **parts,
    )


@njit(cache=True, nogil=True)
def unpack_into(cell, tiles, chips, slot):
    """Write a cell's tiles and chips to ``slot`` and all after it, in place."""
    tile_mask = (1 << _TILE_BITS) - 1
    slot_mask = (1 << _SLOT_BITS) - 1
    for s in range(tiles.shape[0] - 1, slot, -1):
        tiles[s] = cell & tile_mask
        chips[s] = (cell & slot_mask) >> _TILE_BITS
        cell >>= _SLOT_BITS
    tiles[slot] = cell & tile_mask
    chips[slot] = cell >> (_TILE_BITS + 1)


@njit(cache=True, nogil=True)
def _after(cell, num_slots, pulled):
    """Return the cell of the later slots, ``num_slots`` of them, once ``pulled`` chips are gone."""
    tile_mask = (1 << _TILE_BITS) - 1
    stack_mask = (1 << _STACK_BITS) - 1
    packed = np.int64(0)
    spare = 0
    for later in range(num_slots):
        tile = cell & tile_mask
        placed = (cell >> _TILE_BITS) & stack_mask
        stack = chips_after_pulls(placed, spare, pulled)
        spare += placed - 1
        if later == num_slots - 1:
            stack = 2 * stack + (tile & 1)
        packed |= ((stack << _TILE_BITS) | tile) << (_SLOT_BITS * later)
        cell >>= _SLOT_BITS
    return packed


@njit(cache=True, nogil=True)
def _run_end(cells, start, stop, shift):
    """Return where the run of cells that agree with the first one above ``shift`` bits ends."""
    end = start + 1
    while end < stop and cells[end] >> shift == cells[start] >> shift:
        end += 1
    return end


@njit(cache=True, nogil=True)
def _move_on(ending, side, branch, first, stop, num_later, pulled, at, moves):
    """Write the cells that ``first`` to ``stop`` become, from place ``at`` on; return their number.

    Equal ones become one.  Notes the moves from ``moves`` on.
    """
    count = stop - first
    later = np.empty(count, np.int64)
    for i in range(count):
        later[i] = _after(ending.cell[side, first + i], num_later, pulled)
    order = np.argsort(later)
    num = 0
    for i in range(count):
        cell = later[order[i]]
        if i == 0 or cell != ending.cell[side, at + num - 1]:
            ending.cell[side, at + num] = cell
            num += 1
        ending.move[side, moves + order[i]] = at + num - 1
    ending.part[branch, side, 0] = first
    ending.part[branch, side, 1] = stop
    ending.move_start[branch, side] = moves
    return num


@njit(cache=True, nogil=True)
def _copy(source, target):
    """Copy a board, in place."""
    target.tiles[:] = source.tiles
    target.chips[:] = source.chips
    target.winnings[:] = source.winnings
    target.shown[:] = source.shown
    target.pulled[:] = source.pulled


@njit(cache=True, nogil=True)
def _grow(ending, num_chips, is_win, limit):
    """Fill the tree from its root, in place.

    Return ``((nodes, meetings, branches, infos), moves by side, whether it is whole)``.
    """
    n = ending.num_slots
    board, after = new_board(n), new_board(n)
    num_moves = np.zeros(2, np.int64)
    ends = np.empty(2, np.int64)
    starts = np.empty(2, np.int64)
    nodes, meetings, branches, infos = 1, 0, 0, 0
    node = 0
    while node < nodes:
        depth = ending.depth[node]
        shift_slot = _SLOT_BITS * (n - 1 - depth)
        shift_sight = shift_slot + _TILE_BITS
        ending.meeting_start[node] = meetings
        starts[0] = ending.cell_start[0, node]
        while starts[0] < ending.cell_start[0, node + 1]:
            ends[0] = _run_end(
                ending.cell[0], starts[0], ending.cell_start[0, node + 1], shift_sight
            )
            starts[1] = ending.cell_start[1, node]
            while starts[1] < ending.cell_start[1, node + 1]:
                ends[1] = _run_end(
                    ending.cell[1], starts[1], ending.cell_start[1, node + 1], shift_sight
                )
                if meetings == limit:
                    return (nodes, meetings, branches, infos), num_moves, False
                for side in range(2):
                    unpack_into(
                        ending.cell[side, starts[side]], board.tiles[side], board.chips[side], depth
                    )
                    board.winnings[side] = ending.winnings[node, side]
                    ending.span[meetings, side, 0] = starts[side]
                    ending.span[meetings, side, 1] = ends[side]
                board.shown[:] = 0
                board.pulled[:] = 0
                kind, player = classify(board, depth)
                ending.meeting_node[meetings] = node
                ending.decider[meetings] = player if kind == CHOICE else -1
                ending.is_shown[meetings] = kind != FORCED_FOLD
                ending.is_folded[meetings] = kind != SHOW
                ending.info_start[meetings] = infos
                ending.branch_start[meetings] = branches
                if kind == CHOICE:
                    infos += ends[player] - starts[player]
                if depth == n - 1:
                    _fill_pays(ending, meetings, board, after, kind, player, num_chips, is_win)
                    meetings += 1
                    starts[1] = ends[1]
                    continue
                if kind != SHOW:
                    _copy(board, after)
                    settle(after, depth, player)
                    if branches == limit or nodes == limit:
                        return (nodes, meetings, branches, infos), num_moves, False
                    nodes, is_whole = _branch(
                        ending, meetings, branches, FOLD, nodes, num_moves, after, depth,
                        starts, ends, player, num_chips, is_win, limit,
                    )  # fmt: skip
                    branches += 1
                    if not is_whole:
                        return (nodes, meetings, branches, infos), num_moves, False
                if kind != FORCED_FOLD:
                    first0 = starts[0]
                    while first0 < ends[0]:
                        stop0 = _run_end(ending.cell[0], first0, ends[0], shift_slot)
                        first1 = starts[1]
                        while first1 < ends[1]:
                            stop1 = _run_end(ending.cell[1], first1, ends[1], shift_slot)
                            _copy(board, after)
                            after.tiles[0, depth] = _tile_at(ending.cell[0, first0], shift_slot)
                            after.tiles[1, depth] = _tile_at(ending.cell[1, first1], shift_slot)
                            if kind == CHOICE:
                                pull_latest(after, player, depth)
                            settle(after, depth, -1)
                            if branches == limit or nodes == limit:
                                return (nodes, meetings, branches, infos), num_moves, False
                            firsts = np.array([first0, first1])
                            stops = np.array([stop0, stop1])
                            nodes, is_whole = _branch(
                                ending, meetings, branches, MATCH, nodes, num_moves, after, depth,
                                firsts, stops, player, num_chips, is_win, limit,
                            )  # fmt: skip
                            branches += 1
                            if not is_whole:
                                return (nodes, meetings, branches, infos), num_moves, False
                            first1 = stop1
                        first0 = stop0
                meetings += 1
                starts[1] = ends[1]
            starts[0] = ends[0]
        node += 1
    ending.meeting_start[nodes] = meetings
    ending.branch_start[meetings] = branches
    return (nodes, meetings, branches, infos), num_moves, True


@njit(cache=True, nogil=True)
def _tile_at(cell, shift):
    """Return the tile of the slot to come."""
    return (cell >> shift) & ((1 << _TILE_BITS) - 1)


@njit(cache=True, nogil=True)
def _branch(
    ending, meeting, branch, action, nodes, num_moves, after, depth,
    firsts, stops, player, num_chips, is_win, limit,
):  # fmt: skip
    """Write a branch and the node it leads to; return ``(nodes, whether there was room)``.

    ``after`` is the board after the slot; cells ``firsts`` to ``stops`` of each side go this way.
    """
    ending.branch_meeting[branch] = meeting
    ending.action[branch] = action
    ending.child[branch] = -1
    ending.branch_pay[branch] = 0.0
    ending.pulled[branch] = 0
    if player >= 0:
        ending.pulled[branch] = after.pulled[player, depth]
    for side in range(2):
        ending.part[branch, side, 0] = firsts[side]
        ending.part[branch, side, 1] = stops[side]
        ending.move_start[branch, side] = num_moves[side]
        ending.shown[branch, side] = after.tiles[side, depth] if action == MATCH else -1
    if is_win and is_decided(after.winnings[0], after.winnings[1], num_chips):
        ending.branch_pay[branch] = 1.0 if after.winnings[0] > num_chips else -1.0
        return nodes, True
    for side in range(2):
        if num_moves[side] + stops[side] - firsts[side] > limit:
            return nodes, False
    ending.child[branch] = nodes
    ending.depth[nodes] = depth + 1
    ending.origin[nodes] = branch
    ending.winnings[nodes] = after.winnings
    num_later = ending.num_slots - 1 - depth
    for side in range(2):
        at = ending.cell_start[side, nodes]
        count = _move_on(
            ending, side, branch, firsts[side], stops[side], num_later,
            after.pulled[side, depth], at, num_moves[side],
        )  # fmt: skip
        ending.cell_start[side, nodes + 1] = at + count
        num_moves[side] += stops[side] - firsts[side]
    return nodes + 1, True


@njit(cache=True, nogil=True)
def _fill_pays(ending, meeting, board, after, kind, player, num_chips, is_win):
    """Write what a meeting in the last slot pays side 0, in place."""
    last = ending.num_slots - 1
    ending.pays[meeting] = 0.0
    if kind != SHOW:
        _copy(board, after)
        settle(after, last, player)
        ending.pays[meeting, FOLDED] = utility(after.winnings[0], num_chips, is_win)
    if kind == FORCED_FOLD:
        return
    for result in range(HIGHER, LOWER + 1):
        _copy(board, after)
        after.tiles[0, last] = LOWER - result
        after.tiles[1, last] = 1
        if kind == CHOICE:
            pull_latest(after, player, last)
        settle(after, last, -1)
        ending.pays[meeting, result] = utility(after.winnings[0], num_chips, is_win)
