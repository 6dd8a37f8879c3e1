"""Compiled growth of the tree of the last slots."""

from __future__ import annotations

import numpy as np
from numba import njit

from solver.endings.states import SLOT_BITS, TILE_BITS, cell_after, run_end, tile_at, unpack_into
from solver.rules import (
    CHOICE,
    FOLD,
    FORCED_FOLD,
    MATCH,
    SHOW,
    classify,
    is_decided,
    new_board,
    pull_latest,
    settle,
    utility,
)

__all__ = ["EQUAL", "FOLDED", "HIGHER", "LOWER", "grow_ending"]

FOLDED, HIGHER, EQUAL, LOWER = range(4)
"""What a meeting in the last slot pays for: a fold, and side 0's tile against side 1's."""


@njit(cache=True, nogil=True)
def grow_ending(ending, num_chips, is_win, limit):
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
        shift_slot = SLOT_BITS * (n - 1 - depth)
        shift_sight = shift_slot + TILE_BITS
        ending.meeting_start[node] = meetings
        starts[0] = ending.cell_start[0, node]
        while starts[0] < ending.cell_start[0, node + 1]:
            ends[0] = run_end(
                ending.cell[0], starts[0], ending.cell_start[0, node + 1], shift_sight
            )
            starts[1] = ending.cell_start[1, node]
            while starts[1] < ending.cell_start[1, node + 1]:
                ends[1] = run_end(
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
                        stop0 = run_end(ending.cell[0], first0, ends[0], shift_slot)
                        first1 = starts[1]
                        while first1 < ends[1]:
                            stop1 = run_end(ending.cell[1], first1, ends[1], shift_slot)
                            _copy(board, after)
                            after.tiles[0, depth] = tile_at(ending.cell[0, first0], shift_slot)
                            after.tiles[1, depth] = tile_at(ending.cell[1, first1], shift_slot)
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
            ending, side, firsts[side], stops[side], num_later,
            after.pulled[side, depth], at, num_moves[side],
        )  # fmt: skip
        ending.cell_start[side, nodes + 1] = at + count
        num_moves[side] += stops[side] - firsts[side]
    return nodes + 1, True


@njit(cache=True, nogil=True)
def _move_on(ending, side, first, stop, num_later, pulled, at, moves):
    """Write the cells that ``first`` to ``stop`` become, from place ``at`` on; return their number.

    Equal ones become one.  Notes the moves from ``moves`` on.
    """
    count = stop - first
    later = np.empty(count, np.int64)
    for i in range(count):
        later[i] = cell_after(ending.cell[side, first + i], num_later, pulled)
    order = np.argsort(later)
    num = 0
    for i in range(count):
        cell = later[order[i]]
        if i == 0 or cell != ending.cell[side, at + num - 1]:
            ending.cell[side, at + num] = cell
            num += 1
        ending.move[side, moves + order[i]] = at + num - 1
    return num


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


@njit(cache=True, nogil=True)
def _copy(source, target):
    """Copy a board, in place."""
    target.tiles[:] = source.tiles
    target.chips[:] = source.chips
    target.winnings[:] = source.winnings
    target.shown[:] = source.shown
    target.pulled[:] = source.pulled
