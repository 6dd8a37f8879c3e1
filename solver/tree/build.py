"""A small game as a flat public tree.

A node of the tree is what both players have seen at the start of a slot, or an end.  At a node
each side has a range of *cells*, one for each private state (see :mod:`solver.tree.expand`), so a
strategy is evaluated for all private states at once: an end costs one sum a side.

Four reductions change no value, and each can be left out:

1. ``merge``: a private state is the arrangement of this and later slots.  What was placed before
   cannot matter any more, so private states with the same future are one cell, and their reaches
   add.
2. ``stop_when_decided``: with the objective ``win`` a player with more than C winnings has won.
3. ``solve_open_endings``: where both sides have one future left, nothing is hidden, and the rest
   is replaced by its minimax value.  That happens only before the last slot.
4. ``one_strategy``: the game is symmetric and one strategy serves both seats.  At a *symmetric*
   node (the root, and from there wherever equal stacks show equal tiles) only one of each two
   mirrored branches is kept, and stands for both.  The infostates of both sides in this half tree
   are together those of the one strategy, each once; the value of a setup is the sum of what it
   earns as side 0 and as side 1.

The last slot is not expanded: all cells of a side there have the same stack, so a node holds the
tiles, four utilities and who decides, and its ends are summed on the spot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.rules import Game, InputError
from solver.setups import count_setups, list_setups
from solver.tree.expand import Expansion, Output, bound_level, expand_level, new_output
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
    make_codec,
    new_scratch,
)

__all__ = ["PublicTree", "Side", "Tree", "build_tree"]

MAX_LISTED = 2_000_000
"""Setups a player may have for a tree to be tried at all."""


class Side(NamedTuple):
    """One player's part of the tree.

    Cells are numbered slot by slot; the ends follow as cells of their own.  Infostates of slots
    before the last come first (slot by slot), then those of the last.  ``L`` is N-1, the slots
    before the last.

    Attributes
    ----------
    num_cells : int
        Cells without the ends.
    info_cell, info_fold : ndarray of int32, shape (infostates before the last slot,)
        The deciding cell, and the cell that folding leads to.
    info_match : ndarray of int32, shape (infostates before the last slot + 1,)
        Where each infostate's part of ``match_to`` starts.
    match_to : ndarray of int32, shape (matches,)
        Cells that matching leads to, one for each tile the opponent may show.
    edge_from, edge_to : ndarray of int32, shape (edges,)
        Steps from cell to cell in which this side decides nothing.
    info_start, edge_start : ndarray of int64, shape (L + 1,)
        Where the infostates and edges of each slot start.
    last_start : ndarray of int32, shape (last nodes + 1,)
        Where the cells of each node of the last slot start.
    last_tile : ndarray of int8, shape (cells of the last slot,)
        Their tiles: by node, even ones first, increasing.
    last_info : ndarray of int32, shape (last nodes + 1,)
        Where the infostates of each node of the last slot start: for each colour that the
        opponent may have, even first, one for each cell.
    """

    num_cells: int
    info_cell: NDArray[np.int32]
    info_fold: NDArray[np.int32]
    info_match: NDArray[np.int32]
    match_to: NDArray[np.int32]
    edge_from: NDArray[np.int32]
    edge_to: NDArray[np.int32]
    info_start: NDArray[np.int64]
    edge_start: NDArray[np.int64]
    last_start: NDArray[np.int32]
    last_tile: NDArray[np.int8]
    last_info: NDArray[np.int32]


class Tree(NamedTuple):
    """What compiled passes over the tree read.

    Attributes
    ----------
    sides : pair of Side
    last_kind : ndarray of int8, shape (last nodes,)
        Who decides in the last slot, 0 or 1, or SHOWN or FORCED.
    last_utility : ndarray of float32, shape (last nodes, 4)
        Utility of side 0 in the last slot: fold, its tile higher, equal, lower.
    end_utility : ndarray of float64, shape (ends,)
        Utility of side 0 at the ends before the last slot.
    """

    sides: tuple[Side, Side]
    last_kind: NDArray[np.int8]
    last_utility: NDArray[np.float32]
    end_utility: NDArray[np.float64]


@dataclass(frozen=True)
class PublicTree:
    """A game's public tree.

    Attributes
    ----------
    game : Game
    merge, stop_when_decided, solve_open_endings, one_strategy : bool
        The reductions in use.
    arrays : Tree
        What compiled passes read.
    codec : Codec
        How cells are packed.
    levels : tuple of Nodes
        The nodes of each slot; those of the last slot without their cells.
    info_faced : tuple of pairs of ndarray of int32, shape (infostates of the slot,)
        For each slot before the last and each side: the opponent's colour and stack faced,
        ``colour * (C + 1) + stack``.
    last_stack : ndarray of int16, shape (last nodes, 2)
        Stacks in the last slot.
    root_setup : ndarray of int64, shape (setups,)
        The number of the setup (in the order of :func:`solver.setups.list_setups`) that each
        cell of the root holds.
    num_setups, num_nodes, num_infostates : int
        Setups of a player; public nodes with all ends; infostates of both sides.
    num_side_infostates : pair of int
        By side.
    """

    game: Game
    merge: bool
    stop_when_decided: bool
    solve_open_endings: bool
    one_strategy: bool
    arrays: Tree
    codec: Codec
    levels: tuple[Nodes, ...]
    info_faced: tuple[tuple[NDArray[np.int32], NDArray[np.int32]], ...]
    last_stack: NDArray[np.int16]
    root_setup: NDArray[np.int64]
    num_setups: int
    num_nodes: int
    num_infostates: int
    num_side_infostates: tuple[int, int]


def build_tree(
    game: Game,
    *,
    merge: bool = True,
    stop_when_decided: bool = True,
    solve_open_endings: bool = True,
    one_strategy: bool = True,
) -> PublicTree:
    """Build the public tree of a game, slot by slot.

    Parameters
    ----------
    game : Game
        With ``pulls='latest'``.
    merge, stop_when_decided, solve_open_endings, one_strategy : bool
        The reductions described at the head of this module.

    Raises
    ------
    InputError
        If ``pulls`` is another rule, or the game is too large to be listed.

    Examples
    --------
    >>> build_tree(Game(3, 6), one_strategy=False).num_infostates
    3520
    >>> build_tree(Game(3, 6)).num_infostates
    1760
    """
    codec = check_listable(game, merge)
    options = Options(game.is_win, stop_when_decided and game.is_win, solve_open_endings)
    nodes, root_setup = root_level(game, codec, one_strategy)
    scratch = new_scratch(game.num_tiles, len(root_setup))
    first_cells = np.zeros(2, np.int64)
    num_ends = 0
    levels: list[Nodes] = []
    links: list[tuple[Links, Links]] = []
    ends: list[NDArray[np.float64]] = []
    for slot in range(game.num_tiles - 1):
        x = Expansion(codec, options, slot, nodes)
        next_cells = first_cells + nodes.start[:, -1] - nodes.start[:, 0]
        numbers = np.array([*first_cells, *next_cells, num_ends, *nodes.start[:, 0]], np.int64)
        room = np.zeros(NUM_COUNTS, np.int64)
        bound_level(x, scratch, room)
        if room.max() >= 2**30:
            raise InputError(
                f"game {game.name}: {room.max():,} parts in slot {slot + 2}, but the exact tree "
                f"holds at most {2**30:,}; use a sampled solver"
            )
        out = new_output(room, numbers)
        expand_level(x, scratch, out, np.zeros((0, NUM_COUNTS), np.int64))
        levels.append(nodes)
        nodes, level_links, level_ends = trimmed(out, room)
        links.append(level_links)
        ends.append(level_ends)
        num_ends += len(level_ends)
        first_cells = next_cells
    return assemble(
        game, codec, options, merge, one_strategy, levels, nodes, links, ends, root_setup
    )


def check_listable(game: Game, merge: bool) -> Codec:
    """Return the packing of a game that is small enough to be listed; raise InputError if not."""
    if game.pulls != "latest":
        raise InputError(f"pulls {game.pulls!r}: the exact tree takes pulls 'latest' only")
    num_setups = count_setups(game)
    codec = make_codec(game.num_tiles, game.num_chips, 1 if merge else num_setups)
    if num_setups > MAX_LISTED or codec is None:
        raise InputError(
            f"game {game.name}: {num_setups:,} setups a player, but the exact tree lists at most "
            f"{MAX_LISTED:,}; use a sampled solver"
        )
    return codec


def root_level(game: Game, codec: Codec, one_strategy: bool) -> tuple[Nodes, NDArray[np.int64]]:
    """Return the root, and which setup each of its cells holds."""
    tiles, chips = list_setups(game)
    codes = setup_codes(codec, tiles, chips)
    order = np.argsort(codes, kind="stable")
    cells = codes[order]
    num = len(cells)
    root = Nodes(
        np.array([[0, num], [num, 2 * num]], np.int64),
        np.concatenate([cells, cells]),
        np.zeros((1, 2), np.int16),
        np.full(1, one_strategy),
        np.full(1, -1, np.int32),
        np.zeros((1, 4), np.int16),
    )
    return root, order


@njit(cache=True, nogil=True)
def setup_codes(codec, tiles, chips):
    """Return the code of each setup, int64 of shape (setups,)."""
    codes = np.empty(tiles.shape[0], np.int64)
    for row in range(tiles.shape[0]):
        codes[row] = encode(codec, 0, row, tiles, chips, row % codec.tail)
    return codes


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


def assemble(game, codec, options, merge, one_strategy, levels, last, links, ends, root_setup):
    """Put the slots together: number all cells, and price the last slot."""
    num_last = len(last.winnings)
    last_kind = np.empty(num_last, np.int8)
    last_utility = np.empty((num_last, 4), np.float32)
    last_stack = np.empty((num_last, 2), np.int16)
    last_infos = np.zeros((2, num_last + 1), np.int64)
    num_ends = np.empty(num_last, np.int64)
    last_tiles = np.empty(len(last.cells), np.int8)
    scratch = new_scratch(game.num_tiles, 1)
    price_last(
        codec, options, last, scratch,
        last_kind, last_utility, last_stack, last_infos, last_tiles, num_ends,
    )  # fmt: skip
    sides = []
    for player in range(2):
        part = [pair[player] for pair in links]
        first_last = int(sum(n.start[player, -1] - n.start[player, 0] for n in levels))
        start = last.start[player]
        num_cells = first_last + int(start[-1] - start[0])
        num_upper = sum(len(p.info_cell) for p in part)
        sides.append(
            Side(
                num_cells,
                joined([p.info_cell for p in part]),
                joined([p.info_fold for p in part], num_cells),
                offsets([p.info_width for p in part]),
                joined([p.match_to for p in part], num_cells),
                joined([p.edge_from for p in part]),
                joined([p.edge_to for p in part], num_cells),
                np.cumsum([0] + [len(p.info_cell) for p in part]),
                np.cumsum([0] + [len(p.edge_from) for p in part]),
                (first_last + start - start[0]).astype(np.int32),
                last_tiles[start[0] : start[-1]].copy(),
                (num_upper + last_infos[player]).astype(np.int32),
            )
        )
    tree = Tree((sides[0], sides[1]), last_kind, last_utility, np.concatenate([*ends, np.zeros(0)]))
    counts = tuple(int(side.last_info[-1]) for side in sides)
    return PublicTree(
        game=game,
        merge=merge,
        stop_when_decided=options.stop_when_decided,
        solve_open_endings=options.solve_open_endings,
        one_strategy=one_strategy,
        arrays=tree,
        codec=codec,
        levels=(*levels, last._replace(cells=np.zeros(0, np.int64))),
        info_faced=tuple((pair[0].info_faced, pair[1].info_faced) for pair in links),
        last_stack=last_stack,
        root_setup=root_setup,
        num_setups=len(root_setup),
        num_nodes=sum(len(nodes.winnings) for nodes in levels)
        + num_last
        + len(tree.end_utility)
        + int(num_ends.sum()),
        num_infostates=sum(counts),
        num_side_infostates=(counts[0], counts[1]),
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
