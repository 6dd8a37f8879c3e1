"""The last slots of a game as a flat public tree, from what either side may hold.

A *node* is what both have seen at the start of a slot.  There each side has a run of *cells*, one
for each private state that agrees with it: the tiles and stacks of this and the later slots.
States with the same future are one cell, since nothing else can matter any more, so that their
reaches add.  The cells of a node lie in *groups* of one colour and stack, which is what the slot
shows, and a pair of groups is a *meeting*.  A *branch* leads from a meeting to the next node, or to
an end once a player has won for certain; the last slot has no branches, as the payoff there depends
only on which tile is higher.

How a cell is packed is told in :mod:`solver.endings.states`; :mod:`solver.endings.grow` fills the
tree.

Takes ``pulls='latest'``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.endings.grow import grow_ending

__all__ = ["Ending", "build_ending"]

_FIRST_ROOM = 4096
"""Room that is tried first; eight times as much each time that it does not do."""


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
        Of both sides, in chips.
    origin : ndarray of int64, shape (nodes,)
        The branch that leads here; -1 at the root.
    cell_start : ndarray of int64, shape (2, nodes + 1)
        Where the cells of each side of a node start.
    meeting_start : ndarray of int64, shape (nodes + 1,)
        Where the meetings of a node start.
    cell : ndarray of int64, shape (2, cells)
        Packed; one side may have fewer, and its row is 0 beyond them.
    meeting_node : ndarray of int64, shape (meetings,)
        The node that it belongs to.
    decider : ndarray of int64, shape (meetings,)
        The side that matches or folds; -1 where nobody decides.
    span : ndarray of int64, shape (meetings, 2, 2)
        First cell of each side's group, and the one after its last.
    info_start : ndarray of int64, shape (meetings,)
        The decider's first infostate there; one a cell.
    branch_start : ndarray of int64, shape (meetings + 1,)
        Where the branches of a meeting start; FOLD comes before MATCH.
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
    """How much of the arrays is in use."""

    nodes: int
    meetings: int
    branches: int
    infos: int


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
    >>> from solver.endings.states import States, pack_states
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
        counts, num_moves, is_whole = grow_ending(arrays, num_chips, is_win, room)
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
