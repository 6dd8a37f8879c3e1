"""The last slot of the public tree, which is priced but not expanded.

All cells of a side have the same stack there, so who decides and what each outcome pays are
properties of the node.  A symmetric node needs no care: all earlier tiles were shown equal, so the
last ones are equal too and each keeps its own.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from solver.rules import CHOICE, FORCED_FOLD, SHOW, classify, pull_latest, settle, utility
from solver.tree.parts import decode

__all__ = ["FORCED", "SHOWN", "last_outcomes", "open_value", "price_last"]

SHOWN, FORCED = 2, 3
"""Kinds of last-slot node beside 0 and 1 (that player decides): tiles shown, forced fold."""


@njit(cache=True, nogil=True)
def last_outcomes(board, num_chips, is_win, utilities):
    """Fill side 0's utilities of the last slot (fold, its tile higher, equal, lower).

    Returns who decides there, 0 or 1, or SHOWN or FORCED (only ``utilities[0]`` can happen).  The
    board's tiles of that slot are overwritten, its winnings are not.
    """
    slot = board.tiles.shape[1] - 1
    kind, player = classify(board, slot)
    winnings0, winnings1 = board.winnings[0], board.winnings[1]
    for outcome in range(4):
        if outcome == 0 and kind != SHOW:
            settle(board, slot, player)
        elif outcome > 0 and kind != FORCED_FOLD:
            board.tiles[0, slot] = 1 if outcome == 1 else 0
            board.tiles[1, slot] = 1 if outcome == 3 else 0
            if kind == CHOICE:
                pull_latest(board, player, slot)
            settle(board, slot, np.int64(-1))
        utilities[outcome] = utility(board.winnings[0], num_chips, is_win)
        board.winnings[0], board.winnings[1] = winnings0, winnings1
    if kind == CHOICE:
        return player
    return SHOWN if kind == SHOW else FORCED


@njit(cache=True, nogil=True)
def open_value(board, num_chips, is_win, utilities):
    """Return side 0's value of the last slot where both sides know both tiles."""
    slot = board.tiles.shape[1] - 1
    tile0, tile1 = board.tiles[0, slot], board.tiles[1, slot]
    kind = last_outcomes(board, num_chips, is_win, utilities)
    shown = utilities[2]
    if tile0 != tile1:
        shown = utilities[1] if tile0 > tile1 else utilities[3]
    if kind == 0:
        return max(utilities[0], shown)
    if kind == 1:
        return min(utilities[0], shown)
    return utilities[0] if kind == FORCED else shown


@njit(cache=True, nogil=True)
def price_last(
    codec, options, nodes, scratch, last_kind, last_utility, last_stack, last_infos, last_tiles,
    num_ends,
):  # fmt: skip
    """Fill the arrays of the last slot.

    ``last_infos`` (int64, shape (2, last nodes + 1)) gets the offsets of each side's infostates,
    ``last_tiles`` (int8) the tiles of the nodes' cells, ``num_ends`` (int64) the ends of each
    node; the others are fields of the tree.
    """
    slot = codec.num_tiles - 1
    board = scratch.board
    for node in range(nodes.winnings.shape[0]):
        shapes = np.zeros((2, 2), np.int64)  # [side, colour]: distinct tiles
        for player in range(2):
            last = -1
            for cell in range(nodes.start[player, node], nodes.start[player, node + 1]):
                decode(codec, nodes.cells[cell], slot, player, board.tiles, board.chips)
                tile = board.tiles[player, slot]
                last_tiles[cell] = tile
                if tile != last:
                    shapes[player, tile & 1] += 1
                    last = tile
            board.winnings[player] = nodes.winnings[node, player]
            last_stack[node, player] = board.chips[player, slot]
        kind = last_outcomes(board, codec.num_chips, options.is_win, scratch.utilities)
        last_kind[node] = kind
        for outcome in range(4):
            last_utility[node, outcome] = scratch.utilities[outcome]
        for player in range(2):
            size = 0
            if kind == player:
                faced = (shapes[1 - player, 0] > 0) + (shapes[1 - player, 1] > 0)
                size = faced * (nodes.start[player, node + 1] - nodes.start[player, node])
            last_infos[player, node + 1] = last_infos[player, node] + size
        num_ends[node] = count_last_ends(shapes, kind)


@njit(cache=True, nogil=True)
def count_last_ends(shapes, kind):
    """Return the ends of a node of the last slot: pairs of tiles shown, and folds by colours."""
    pairs = (shapes[0, 0] + shapes[0, 1]) * (shapes[1, 0] + shapes[1, 1])
    branches = 0
    for colour0 in range(2):
        for colour1 in range(2):
            if shapes[0, colour0] > 0 and shapes[1, colour1] > 0:
                branches += 1
    if kind == SHOWN:
        return pairs
    return branches if kind == FORCED else branches + pairs
