"""One first-slot branch of the public tree, grown slot by slot, before what can be left out is.

A *branch* is a pair of stacks and colours seen in the first slot; below it lies a tree of its own,
whose root holds each side's setups of that look.  Branches are grown one at a time, so that only
one of them stands in memory unreduced.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.rules import Game, InputError
from solver.setups import list_setups
from solver.tree.expand import Output, expand_level, new_output
from solver.tree.last import price_last
from solver.tree.parts import (
    CELLS,
    EDGES,
    ENDS,
    INFOS,
    MATCHES,
    NODES,
    NUM_COUNTS,
    Codec,
    Links,
    Nodes,
    Options,
    encode,
    new_scratch,
)
from solver.tree.room import Expansion, bound_level

__all__ = ["Raw", "RawSide", "Roots", "branch_root", "expand_slot", "grow_branch", "sort_setups"]

MAX_PARTS = 2**30
"""Parts of one sort that a slot of a branch may have: their numbers are 32-bit."""


class RawSide(NamedTuple):
    """One player's part of an unreduced branch.

    Cells are numbered slot by slot, those of a node together; end ``e`` is cell ``num_cells + e``.
    ``L`` is N-1, the slots before the last.

    Attributes
    ----------
    num_cells : int
        Cells without the ends.
    node_start : ndarray of int64, shape (nodes + 1,)
        Where each node's cells start.
    info_cell, info_fold : ndarray of int32, shape (infostates before the last slot,)
        The deciding cell, and where folding leads.
    info_ways : ndarray of int32, shape (infostates before the last slot,)
        In how many ways the gap may be paid.
    info_match : ndarray of int32, shape (infostates before the last slot + 1,)
        Where each infostate's part of ``match_to`` starts.
    match_to : ndarray of int32, shape (matches,)
        Where matching leads: for each way to pay, one for each tile the opponent may show.
    edge_from, edge_to : ndarray of int32, shape (edges,)
        Steps in which this side decides nothing.
    info_start, edge_start : ndarray of int64, shape (L + 1,)
        Where the infostates and edges of each slot start.
    last_tile : ndarray of int8, shape (cells of the last slot,)
        Their tiles: by node, even ones first, increasing.
    last_info : ndarray of int64, shape (last nodes + 1,)
        Where the infostates of each node of the last slot start, those before the last slot
        counted too: for each colour that the opponent may have, even first, one for each cell.
    """

    num_cells: int
    node_start: NDArray[np.int64]
    info_cell: NDArray[np.int32]
    info_fold: NDArray[np.int32]
    info_ways: NDArray[np.int32]
    info_match: NDArray[np.int32]
    match_to: NDArray[np.int32]
    edge_from: NDArray[np.int32]
    edge_to: NDArray[np.int32]
    info_start: NDArray[np.int64]
    edge_start: NDArray[np.int64]
    last_tile: NDArray[np.int8]
    last_info: NDArray[np.int64]


class Raw(NamedTuple):
    """An unreduced branch.

    Attributes
    ----------
    sides : pair of RawSide
    levels : tuple of Nodes
        The nodes of each slot; those of the last slot without their cells.
    level_start : ndarray of int64, shape (N + 1,)
        Where the nodes of each slot start when all are numbered.
    parent : ndarray of int64, shape (nodes,)
        Parent of each node in that numbering; -1 for the root.
    end_utility : ndarray of float64, shape (ends,)
        Utility of side 0 at the ends before the last slot.
    end_start : ndarray of int64, shape (L + 1,)
        Where the ends of each slot start.
    last_kind : ndarray of int8, shape (last nodes,)
        Who decides in the last slot, 0 or 1, or SHOWN or FORCED.
    last_utility : ndarray of float64, shape (last nodes, 4)
        Utility of side 0 in the last slot: fold, its tile higher, equal, lower.
    last_stack : ndarray of int16, shape (last nodes, 2)
        Stacks in the last slot.
    num_last_ends : int
        Ends that the last slot stands for.
    info_faced : tuple of pairs of ndarray of int32, shape (infostates of the slot,)
        For each slot before the last and each side: the opponent's colour and stack faced,
        ``colour * (C + 1) + stack``.
    """

    sides: tuple[RawSide, RawSide]
    levels: tuple[Nodes, ...]
    level_start: NDArray[np.int64]
    parent: NDArray[np.int64]
    end_utility: NDArray[np.float64]
    end_start: NDArray[np.int64]
    last_kind: NDArray[np.int8]
    last_utility: NDArray[np.float64]
    last_stack: NDArray[np.int16]
    num_last_ends: int
    info_faced: tuple[tuple[NDArray[np.int32], NDArray[np.int32]], ...]


class Roots(NamedTuple):
    """All setups as cells of the root.

    Attributes
    ----------
    cells : ndarray of int64, shape (setups,)
        Their codes, increasing.
    setup : ndarray of int64, shape (setups,)
        The number of each in the order of :func:`solver.setups.list_setups`.
    look_start : ndarray of int64, shape (looks + 1,)
        Where the setups of each look (colour and stack in the first slot) start.
    """

    cells: NDArray[np.int64]
    setup: NDArray[np.int64]
    look_start: NDArray[np.int64]


def sort_setups(game: Game, codec: Codec) -> Roots:
    """Return the setups in the order of their codes, and where each look starts."""
    tiles, chips = list_setups(game)
    codes = setup_codes(codec, tiles, chips)
    order = np.argsort(codes, kind="stable")
    cells = codes[order]
    looks = cells // codec.powers[game.num_tiles - 1] // codec.half
    start = np.flatnonzero(np.diff(looks, prepend=-1))
    return Roots(cells, order, np.append(start, len(cells)))


@njit(cache=True, nogil=True)
def setup_codes(codec, tiles, chips):
    """Return the code of each setup, int64 of shape (setups,)."""
    codes = np.empty(tiles.shape[0], np.int64)
    for row in range(tiles.shape[0]):
        codes[row] = encode(codec, 0, row, tiles, chips, row % codec.tail)
    return codes


def branch_root(roots: Roots, looks: tuple[int, int], symmetric: bool) -> Nodes:
    """Return the root node of a branch: the setups of one look for each side."""
    parts = [roots.cells[roots.look_start[k] : roots.look_start[k + 1]] for k in looks]
    num0, num1 = len(parts[0]), len(parts[1])
    return Nodes(
        np.array([[0, num0], [num0, num0 + num1]], np.int64),
        np.concatenate(parts),
        np.zeros((1, 2), np.int16),
        np.full(1, symmetric),
        np.full(1, -1, np.int32),
        np.zeros((1, 5), np.int16),
    )


def grow_branch(codec: Codec, options: Options, root: Nodes, *, first_slot: int = 0) -> Raw:
    """Return the branch below a root node, or what lies below a node of a later slot.

    Raises
    ------
    InputError
        If it is too large to be numbered.
    """
    nodes = root
    first_cells = np.zeros(2, np.int64)
    num_ends = 0
    levels: list[Nodes] = []
    links: list[tuple[Links, Links]] = []
    ends: list[NDArray[np.float64]] = []
    for slot in range(first_slot, codec.num_tiles - 1):
        x = Expansion(codec, options, slot, nodes)
        next_cells = first_cells + nodes.start[:, -1] - nodes.start[:, 0]
        numbers = np.array([*first_cells, *next_cells, num_ends, *nodes.start[:, 0]], np.int64)
        out, room = expand_slot(x, numbers, np.zeros((0, NUM_COUNTS), np.int64))
        levels.append(nodes)
        nodes, level_links, level_ends = trimmed(out, room)
        links.append(level_links)
        ends.append(level_ends)
        num_ends += len(level_ends)
        first_cells = next_cells
    return join_slots(codec, options, [*levels, nodes], links, ends)


def expand_slot(
    x: Expansion, numbers: NDArray[np.int64], marks: NDArray[np.int64]
) -> tuple[Output, NDArray[np.int64]]:
    """Expand a slot's nodes; return what came out, and the room it was given.

    ``numbers`` and ``marks`` are those of :class:`solver.tree.expand.Output` and
    :func:`solver.tree.expand.expand_level`.

    Raises
    ------
    InputError
        If the slot has too many parts to be numbered.
    """
    num_tiles = x.codec.num_tiles
    width = int(np.diff(x.nodes.start, axis=1).max(initial=1))
    room = np.zeros(NUM_COUNTS, np.int64)
    num_ways = bound_level(x, new_scratch(num_tiles, width, width), room)
    if room.max() >= MAX_PARTS:
        raise InputError(
            f"{num_tiles}x{x.codec.num_chips}: {room.max():,} parts in slot {x.slot + 2} of one "
            f"branch, but the exact tree holds at most {MAX_PARTS:,}; use a sampled solver"
        )
    out = new_output(room, numbers)
    expand_level(x, new_scratch(num_tiles, width, max(width, num_ways)), out, marks)
    return out, room


def trimmed(
    out: Output, room: NDArray[np.int64]
) -> tuple[Nodes, tuple[Links, Links], NDArray[np.float64]]:
    """Return an expansion cut to what is used: nodes, links of each side, utilities of ends."""
    used = out.used
    num_nodes = used[NODES]
    first = np.where(np.arange(NUM_COUNTS) % 2 == 1, np.roll(room, 1), 0)

    def of_side(array: NDArray[np.int32], part: int, side: int) -> NDArray[np.int32]:
        return array[first[part + side] : used[part + side]].copy()

    start = out.nodes.start[:, : num_nodes + 1].copy()
    start[1] += used[CELLS] - room[CELLS]
    nodes = Nodes(
        start,
        np.concatenate(
            [out.nodes.cells[: used[CELLS]], out.nodes.cells[room[CELLS] : used[CELLS + 1]]]
        ),
        out.nodes.winnings[:num_nodes].copy(),
        out.nodes.is_symmetric[:num_nodes].copy(),
        out.nodes.parent[:num_nodes].copy(),
        out.nodes.event[:num_nodes].copy(),
    )
    parts = {"match_to": MATCHES, "edge_from": EDGES, "edge_to": EDGES}
    sides = [
        Links(*(of_side(getattr(out.links, n), parts.get(n, INFOS), side) for n in Links._fields))
        for side in range(2)
    ]
    return nodes, (sides[0], sides[1]), out.end_utility[: used[ENDS]].copy()


def join_slots(
    codec: Codec,
    options: Options,
    levels: list[Nodes],
    links: list[tuple[Links, Links]],
    ends: list[NDArray[np.float64]],
) -> Raw:
    """Put the slots together: number all nodes and cells, and price the last slot."""
    last = levels[-1]
    num_last = len(last.winnings)
    level_start = np.cumsum([0] + [len(nodes.winnings) for nodes in levels])
    last_kind = np.empty(num_last, np.int8)
    last_utility = np.empty((num_last, 4))
    last_stack = np.empty((num_last, 2), np.int16)
    last_infos = np.zeros((2, num_last + 1), np.int64)
    num_ends = np.empty(num_last, np.int64)
    last_tiles = np.empty(len(last.cells), np.int8)
    price_last(
        codec, options, last, new_scratch(codec.num_tiles, 1, 1),
        last_kind, last_utility, last_stack, last_infos, last_tiles, num_ends,
    )  # fmt: skip
    sides = []
    for player in range(2):
        part = [pair[player] for pair in links]
        widths = np.concatenate([np.diff(nodes.start[player]) for nodes in levels])
        node_start = np.concatenate([[0], np.cumsum(widths)])
        num_cells = int(node_start[-1])
        num_upper = sum(len(p.info_cell) for p in part)
        start = last.start[player]
        sides.append(
            RawSide(
                num_cells,
                node_start,
                joined([p.info_cell for p in part]),
                joined([p.info_fold for p in part], num_cells),
                joined([p.info_ways for p in part]),
                offsets([p.info_ways * p.info_shown for p in part]),
                joined([p.match_to for p in part], num_cells),
                joined([p.edge_from for p in part]),
                joined([p.edge_to for p in part], num_cells),
                np.cumsum([0] + [len(p.info_cell) for p in part]),
                np.cumsum([0] + [len(p.edge_from) for p in part]),
                last_tiles[start[0] : start[-1]].copy(),
                num_upper + last_infos[player],
            )
        )
    parents = [
        nodes.parent + before for nodes, before in zip(levels[1:], level_start, strict=False)
    ]
    return Raw(
        sides=(sides[0], sides[1]),
        levels=(*levels[:-1], last._replace(cells=np.zeros(0, np.int64))),
        level_start=level_start,
        parent=np.concatenate([np.full(1, -1), *parents]),
        end_utility=np.concatenate([*ends, np.zeros(0)]),
        end_start=np.cumsum([0] + [len(part) for part in ends]),
        last_kind=last_kind,
        last_utility=last_utility,
        last_stack=last_stack,
        num_last_ends=int(num_ends.sum()),
        info_faced=tuple((pair[0].info_faced, pair[1].info_faced) for pair in links),
    )


def joined(parts: list[NDArray[np.int32]], num_cells: int = 0) -> NDArray[np.int32]:
    """Return the parts in one array; an end ``-1 - e`` becomes cell ``num_cells + e``."""
    whole = np.concatenate([*parts, np.zeros(0, np.int32)])
    is_end = whole < 0
    whole[is_end] = num_cells - 1 - whole[is_end]
    return whole


def offsets(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Return where each one starts, and where the last ends, from the widths of all."""
    return np.cumsum(np.concatenate([np.zeros(1, np.int32), *parts]), dtype=np.int32)
