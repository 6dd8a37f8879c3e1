"""The parts of a public tree while it is built: private states as numbers, and what a slot holds.

A *cell* is one private state of a side at a public node: the arrangement of the current and later
slots, as chips stand now, packed into an int64 *code*.  Each slot is one digit, the current slot
first; a digit orders by colour, then stack, then tile, so that in sorted codes the cells that look
alike from the other side (same colour and stack now, a *type*) stand together, and within a type
those with the same tile (a *run*).

Arrays that hold parts of both sides hold those of side 0 first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.rules import Board, colour, new_board

__all__ = [
    "CELLS",
    "EDGES",
    "ENDS",
    "INFOS",
    "MATCHES",
    "NODES",
    "NUM_COUNTS",
    "Codec",
    "Links",
    "Nodes",
    "Options",
    "Scratch",
    "decode",
    "encode",
    "make_codec",
    "new_scratch",
]

CELLS, INFOS, MATCHES, EDGES, NODES, ENDS = 0, 2, 4, 6, 8, 9
"""Positions in a count of tree parts; the first four are those of side 0, side 1 follows."""
NUM_COUNTS = 10


class Codec(NamedTuple):
    """How a game's arrangements are packed.

    Attributes
    ----------
    num_tiles, num_chips : int
        N and C.
    half : int
        Tiles of one colour at most; a digit is ``(colour * (C + 1) + chips) * half + tile // 2``.
    tail : int
        1, or the number of setups where each code ends in the setup it came from.
    powers : ndarray of int64, shape (N + 1,)
        Place values: the digit with ``k`` slots behind it counts ``powers[k]``.
    """

    num_tiles: int
    num_chips: int
    half: int
    tail: int
    powers: NDArray[np.int64]


class Options(NamedTuple):
    """What ends a path early, and how ends are paid.

    Attributes
    ----------
    is_win, stop_when_decided, solve_open_endings : bool
        The objective, and two of the reductions of :func:`solver.tree.build_tree`.
    pulls : pair of int
        How each side may pay a gap: LATEST, TILES or FREE of :mod:`solver.rules`.
    """

    is_win: bool
    stop_when_decided: bool
    solve_open_endings: bool
    pulls: tuple[int, int]


class Nodes(NamedTuple):
    """The public nodes at the start of one slot.

    Attributes
    ----------
    start : ndarray of int64, shape (2, nodes + 1)
        Where each node's cells start in ``cells``, by side.
    cells : ndarray of int64, shape (cells of both sides,)
        Codes, increasing within a side of a node.
    winnings : ndarray of int16, shape (nodes, 2)
    is_symmetric : ndarray of bool, shape (nodes,)
        Both sides have the same past; of each two mirrored branches one is kept.
    parent : ndarray of int32, shape (nodes,)
        Node of the slot before.
    event : ndarray of int16, shape (nodes, 5)
        What that slot showed: tile and stack of side 0, then of side 1, where a folded tile is its
        colour, as in :mod:`solver.infostate`; then the chips taken from later tiles to match.
    """

    start: NDArray[np.int64]
    cells: NDArray[np.int64]
    winnings: NDArray[np.int16]
    is_symmetric: NDArray[np.bool_]
    parent: NDArray[np.int32]
    event: NDArray[np.int16]


class Links(NamedTuple):
    """How cells of one slot lead to cells of the next.

    Cells are numbered by side over all slots; an end ``e`` is written ``-1 - e``.

    Attributes
    ----------
    info_cell, info_fold : ndarray of int32, shape (infostates,)
        The deciding cell, and where folding leads.
    info_faced : ndarray of int32, shape (infostates,)
        Opponent's colour and stack, ``colour * (C + 1) + stack``.
    info_ways, info_shown : ndarray of int32, shape (infostates,)
        In how many ways the gap may be paid, and how many tiles the opponent may show.
    match_to : ndarray of int32, shape (matches,)
        Where matching leads: for each infostate, for each way to pay, one entry for each of those
        tiles.
    edge_from, edge_to : ndarray of int32, shape (edges,)
        Steps on which the side decides nothing.
    """

    info_cell: NDArray[np.int32]
    info_faced: NDArray[np.int32]
    info_fold: NDArray[np.int32]
    info_ways: NDArray[np.int32]
    info_shown: NDArray[np.int32]
    match_to: NDArray[np.int32]
    edge_from: NDArray[np.int32]
    edge_to: NDArray[np.int32]


class Scratch(NamedTuple):
    """Buffers; ``W`` is the largest number of cells of a side at a node, ``P`` that of ways to pay
    of all cells of a branch, at least ``W``.

    Attributes
    ----------
    board : Board
    taken : ndarray of int64, shape (N,)
        A way to pay: chips that each tile gives.
    codes, order, to : ndarray of int64, shape (2, P)
        Child codes of the parent cells (of a side that pays: of each of their ways), their sorted
        order, and the cells they lead to.
    num : ndarray of int64, shape (2,)
        How many codes each side has now.
    spare : ndarray of int64, shape (P,)
        For sorting.
    way_start : ndarray of int64, shape (W + 1,)
        Where the ways of each of the payer's cells start.
    way_total, way_code : ndarray of int64, shape (P,)
        Chips that a way takes from later tiles, and the code it leads to.
    runs : ndarray of int64, shape (2, W + 1)
        Where the runs of a node start.
    types : ndarray of int64, shape (2, W + 1)
        Where the types of a node start, counted in runs.
    span : ndarray of int64, shape (2, 2)
        The runs, first and past the last, that a child continues, by side.
    utilities : ndarray of float64, shape (4,)
        Of side 0 in the last slot: fold, its tile higher, equal, lower.
    """

    board: Board
    taken: NDArray[np.int64]
    codes: NDArray[np.int64]
    order: NDArray[np.int64]
    to: NDArray[np.int64]
    num: NDArray[np.int64]
    spare: NDArray[np.int64]
    way_start: NDArray[np.int64]
    way_total: NDArray[np.int64]
    way_code: NDArray[np.int64]
    runs: NDArray[np.int64]
    types: NDArray[np.int64]
    span: NDArray[np.int64]
    utilities: NDArray[np.float64]


def make_codec(num_tiles: int, num_chips: int, tail: int) -> Codec | None:
    """Return the packing of a game, or None where 63 bits do not hold it."""
    half = (num_tiles + 1) // 2
    base = 2 * (num_chips + 1) * half
    if base**num_tiles * tail >= 2**63:
        return None
    powers = np.array([tail * base**k for k in range(num_tiles + 1)], np.int64)
    return Codec(num_tiles, num_chips, half, tail, powers)


def new_scratch(num_tiles: int, num_cells: int, num_ways: int) -> Scratch:
    """Return buffers for nodes of so many cells a side and branches of so many ways to pay."""
    return Scratch(
        new_board(num_tiles),
        np.zeros(num_tiles, np.int64),
        np.empty((2, num_ways), np.int64),
        np.empty((2, num_ways), np.int64),
        np.empty((2, num_ways), np.int64),
        np.empty(2, np.int64),
        np.empty(num_ways, np.int64),
        np.empty(num_cells + 1, np.int64),
        np.empty(num_ways, np.int64),
        np.empty(num_ways, np.int64),
        np.empty((2, num_cells + 1), np.int64),
        np.empty((2, num_cells + 1), np.int64),
        np.empty((2, 2), np.int64),
        np.empty(4),
    )


@njit(cache=True, nogil=True)
def decode(codec, code, slot, player, tiles, chips):
    """Write a code's slots from ``slot`` on into a player's row of ``tiles`` and ``chips``."""
    code //= codec.tail
    base = codec.powers[1] // codec.powers[0]
    for s in range(codec.num_tiles - 1, slot - 1, -1):
        rest = code // base
        digit = code - rest * base
        look = digit // codec.half
        tint = look // (codec.num_chips + 1)
        tiles[player, s] = 2 * (digit - look * codec.half) + tint
        chips[player, s] = look - tint * (codec.num_chips + 1)
        code = rest


@njit(cache=True, nogil=True)
def encode(codec, slot, player, tiles, chips, origin):
    """Return the code of a player's row from ``slot`` on; ``origin`` is below ``tail``."""
    code = origin
    for s in range(slot, codec.num_tiles):
        look = colour(tiles[player, s]) * (codec.num_chips + 1) + chips[player, s]
        code += (look * codec.half + tiles[player, s] // 2) * codec.powers[codec.num_tiles - 1 - s]
    return code
