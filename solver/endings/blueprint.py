"""What a strategy does at the decisions of an ending, and what players see there."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.endings.states import unpack_into
from solver.endings.tree import Ending
from solver.infostate import infostate_key, observe
from solver.rules import MATCH, Board, new_board
from solver.strategy import Strategy, match_prob

__all__ = ["blueprint_match", "observation_keys_of"]


def blueprint_match(
    ending: Ending, strategy: Strategy, board: Board, slot: int, side: int
) -> NDArray[np.float64]:
    """Return how likely a side that follows ``strategy`` is to match at each of its infostates.

    Parameters
    ----------
    ending : Ending
        Its root is at the start of ``slot``.
    strategy : Strategy
        For ``pulls='latest'``.
    board : Board
        A game that reached the root, as both saw it.
    slot : int
        The first slot of the ending.
    side : int
        Whose infostates; those of the other side are 0.

    Returns
    -------
    ndarray of float64, shape (infostates,)
    """
    match = np.zeros(ending.num_infos)
    _visit(ending, strategy, board, slot, side, match, np.zeros(0, np.uint64))
    return match


def observation_keys_of(
    ending: Ending, strategy: Strategy, board: Board, slot: int, side: int
) -> NDArray[np.uint64]:
    """Return the key of what a side sees at each of its infostates; 0 at the other side's.

    The arguments are those of :func:`blueprint_match`; the keys are those of
    :func:`solver.infostate.infostate_key`.
    """
    keys = np.zeros(ending.num_infos, np.uint64)
    _visit(ending, strategy, board, slot, side, np.zeros(ending.num_infos), keys)
    return keys


@njit(cache=True, nogil=True)
def _visit(ending, strategy, root, slot, side, match, keys):
    """Fill ``match``, or else ``keys`` if it is not empty, at a side's infostates, in place."""
    n = root.shown.shape[0]
    board = new_board(n)
    observation = np.empty((n, 4), np.int64)
    for meeting in range(ending.meeting_node.shape[0]):
        if ending.decider[meeting] != side:
            continue
        board.tiles[:] = root.tiles
        board.chips[:] = root.chips
        board.shown[:] = root.shown
        board.pulled[:] = root.pulled
        node = ending.meeting_node[meeting]
        board.winnings[:] = ending.winnings[node]
        branch = ending.origin[node]
        while branch >= 0:
            _lay_slot(ending, board, slot, branch)
            branch = ending.origin[ending.meeting_node[ending.branch_meeting[branch]]]
        now = slot + ending.depth[node]
        other = 1 - side
        cell = ending.cell[other, ending.span[meeting, other, 0]]
        unpack_into(cell, board.tiles[other], board.chips[other], now)
        info = ending.info_start[meeting]
        for i in range(ending.span[meeting, side, 0], ending.span[meeting, side, 1]):
            unpack_into(ending.cell[side, i], board.tiles[side], board.chips[side], now)
            if keys.shape[0] > 0:
                observe(board, now, side, observation)
                keys[info] = infostate_key(observation)
            else:
                match[info], _ = match_prob(strategy, board, now, side)
            info += 1


@njit(cache=True, nogil=True)
def _lay_slot(ending, board, slot, branch):
    """Put on the board what both saw of the slot that a branch leaves, in place.

    A tile that was not shown is stood for by one of its colour.
    """
    meeting = ending.branch_meeting[branch]
    depth = ending.depth[ending.meeting_node[meeting]]
    past = slot + depth
    tiles = np.empty(ending.num_slots, np.int64)
    chips = np.empty(ending.num_slots, np.int64)
    for side in range(2):
        unpack_into(ending.cell[side, ending.part[branch, side, 0]], tiles, chips, depth)
        board.tiles[side, past] = tiles[depth]
        board.chips[side, past] = chips[depth]
        board.pulled[side, past] = 0
    board.shown[past] = ending.action[branch] == MATCH
    if ending.decider[meeting] >= 0:
        board.pulled[ending.decider[meeting], past] = ending.pulled[branch]
