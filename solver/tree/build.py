"""A small game as a public tree.

A node of the tree is what both players have seen at the start of a slot, or an end.  At a node
each side has a range of *cells*, one for each private state (see :mod:`solver.tree.parts`), so a
strategy is evaluated for all private states at once: an end costs one sum a side.

Six reductions change no value, and each can be left out:

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
5. ``drop_dominated``: decisions in which one action is sure to earn as much as the other can, and
   nodes whose outcome is sure, are settled beforehand (:mod:`solver.tree.bounds`).
6. ``fold_endings``: what is left of the last two slots is folded up into matrices of payoffs
   (:mod:`solver.tree.block`).

The last slot is not expanded: all cells of a side there have the same stack, so a node is a matrix
of payoffs in any case, with the decisions that are still open.

The tree is built branch by branch of the first slot, so that only one branch at a time stands in
memory before reductions 5 and 6.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver.rules import Game, InputError, Pulls
from solver.setups import count_setups
from solver.tree.block import Arrivals
from solver.tree.bounds import judge_branch
from solver.tree.branch import Raw, branch_root, grow_branch, sort_setups
from solver.tree.flat import Branch, Tree, join_branches
from solver.tree.parts import Codec, Nodes, Options, make_codec
from solver.tree.reduce import Rest, reduce_branch

__all__ = ["PublicTree", "Record", "build_tree", "check_listable", "make_options", "pairs_of_looks"]

MAX_LISTED = 2_000_000
"""Setups a player may have for a tree to be tried at all."""


@dataclass(frozen=True)
class Record:
    """What a branch's infostates see and what became of them, for results to be read off.

    Fields are those of :class:`solver.tree.branch.Raw` and
    :class:`solver.tree.branch.RawSide`, sides in pairs.

    Attributes
    ----------
    levels : tuple of Nodes
    info_cell : pair of ndarray of int32
    info_start : pair of ndarray of int64
    info_faced : tuple of pairs of ndarray of int32
    info_ways : pair of ndarray of int32
    last_kind : ndarray of int8
    last_stack : ndarray of int16
    last_tile : pair of ndarray of int8
    last_info : pair of ndarray of int64
    rows, cells : pair of ndarray of int32
    arrivals : pair of Arrivals
        Those of :class:`solver.tree.reduce.Rest`.
    num_nodes : int
        Public nodes and all ends, before anything was settled.
    """

    levels: tuple[Nodes, ...]
    info_cell: tuple[NDArray[np.int32], NDArray[np.int32]]
    info_start: tuple[NDArray[np.int64], NDArray[np.int64]]
    info_faced: tuple[tuple[NDArray[np.int32], NDArray[np.int32]], ...]
    info_ways: tuple[NDArray[np.int32], NDArray[np.int32]]
    last_kind: NDArray[np.int8]
    last_stack: NDArray[np.int16]
    last_tile: tuple[NDArray[np.int8], NDArray[np.int8]]
    last_info: tuple[NDArray[np.int64], NDArray[np.int64]]
    rows: tuple[NDArray[np.int32], NDArray[np.int32]]
    cells: tuple[NDArray[np.int32], NDArray[np.int32]]
    arrivals: tuple[Arrivals, Arrivals]
    num_nodes: int


@dataclass(frozen=True)
class PublicTree:
    """A game's public tree.

    Attributes
    ----------
    game : Game
    pulls : pair of str
        How each seat may pay a gap.
    one_strategy : bool
        Whether the two sides are halves of one strategy.
    arrays : Tree
        What compiled passes read.
    codec : Codec
        How cells are packed.
    records : tuple of Record
        By branch.
    root_setup : ndarray of int64, shape (setups,)
        The number of the setup (in the order of :func:`solver.setups.list_setups`) that each
        cell of the root holds.
    num_setups, num_nodes : int
        Setups of a player; public nodes with all ends, before anything was settled.
    num_infostates : int
        Decisions of both sides, settled ones too.
    num_side_infostates : pair of int
        By side.
    num_open_infostates : pair of int
        By side, those that are not settled.
    """

    game: Game
    pulls: tuple[Pulls, Pulls]
    one_strategy: bool
    arrays: Tree
    codec: Codec
    records: tuple[Record, ...]
    root_setup: NDArray[np.int64]
    num_setups: int
    num_nodes: int
    num_infostates: int
    num_side_infostates: tuple[int, int]
    num_open_infostates: tuple[int, int]


def build_tree(
    game: Game,
    *,
    merge: bool = True,
    stop_when_decided: bool = True,
    solve_open_endings: bool = True,
    one_strategy: bool = True,
    drop_dominated: bool = True,
    fold_endings: bool = True,
    seat_pulls: tuple[Pulls, Pulls] | None = None,
    threads: int = 1,
) -> PublicTree:
    """Build the public tree of a game.

    Parameters
    ----------
    game : Game
    merge, stop_when_decided, solve_open_endings, one_strategy, drop_dominated, fold_endings : bool
        The reductions described at the head of this module.
    seat_pulls : pair of str, optional
        How each seat may pay a gap, where they differ; takes ``one_strategy=False``.
    threads : int
        Branches grown at the same time; the tree is the same.

    Raises
    ------
    InputError
        If the game is too large to be listed, or seats that differ are to share one strategy.

    Examples
    --------
    >>> build_tree(Game(3, 6), one_strategy=False).num_infostates
    3520
    >>> tree = build_tree(Game(3, 6))
    >>> tree.num_infostates, sum(tree.num_open_infostates)
    (1760, 573)
    """
    pulls = seat_pulls or (game.pulls, game.pulls)
    if one_strategy and pulls[0] != pulls[1]:
        raise InputError(f"pulls {pulls[0]} against {pulls[1]}: one strategy cannot serve both")
    codec = check_listable(game, merge)
    options = make_options(game, pulls, stop_when_decided, solve_open_endings)
    has_payments = pulls != ("latest", "latest")
    roots = sort_setups(game, codec)
    pairs = pairs_of_looks(len(roots.look_start) - 1, one_strategy)

    def grow(looks: tuple[int, int]) -> tuple[Branch, Record]:
        symmetric = one_strategy and looks[0] == looks[1]
        raw = grow_branch(codec, options, branch_root(roots, looks, symmetric))
        verdict = judge_branch(raw, drop_dominated)
        rest = reduce_branch(raw, verdict, has_payments=has_payments, fold_endings=fold_endings)
        return rest.branch, record_of(raw, rest)

    with ThreadPoolExecutor(threads) as pool:
        grown = list(pool.map(grow, pairs))
    records = tuple(record for _, record in grown)
    branches = [branch for branch, _ in grown]
    del grown
    counts = [sum(int(record.last_info[p][-1]) for record in records) for p in range(2)]
    opened = [sum(branch.sides[p].num_infos for branch in branches) for p in range(2)]
    looks = np.ascontiguousarray(np.array(pairs).T)
    arrays = join_branches(branches, roots.look_start[looks], roots.look_start[looks + 1])
    return PublicTree(
        game=game,
        pulls=pulls,
        one_strategy=one_strategy,
        arrays=arrays,
        codec=codec,
        records=records,
        root_setup=roots.setup,
        num_setups=len(roots.setup),
        num_nodes=1 + sum(record.num_nodes - 1 for record in records),
        num_infostates=sum(counts),
        num_side_infostates=(counts[0], counts[1]),
        num_open_infostates=(opened[0], opened[1]),
    )


def make_options(
    game: Game, pulls: tuple[Pulls, Pulls], stop_when_decided: bool, solve_open_endings: bool
) -> Options:
    """Return the options of an expansion."""
    codes = [Game(game.num_tiles, game.num_chips, pulls=rule).pulls_code for rule in pulls]
    stops = stop_when_decided and game.is_win
    return Options(game.is_win, stops, solve_open_endings, (codes[0], codes[1]))


def pairs_of_looks(num_looks: int, one_strategy: bool) -> list[tuple[int, int]]:
    """Return the branches as pairs of looks of the first slot; with one strategy each two once."""
    return [
        (look0, look1)
        for look0 in range(num_looks)
        for look1 in range(look0 if one_strategy else 0, num_looks)
    ]


def check_listable(game: Game, merge: bool = True) -> Codec:
    """Return the packing of a game that is small enough to be listed; raise InputError if not."""
    num_setups = count_setups(game)
    codec = make_codec(game.num_tiles, game.num_chips, 1 if merge else num_setups)
    if num_setups > MAX_LISTED or codec is None:
        raise InputError(
            f"game {game.name}: {num_setups:,} setups a player, but the exact tree lists at most "
            f"{MAX_LISTED:,}; use a sampled solver"
        )
    return codec


def record_of(raw: Raw, rest: Rest) -> Record:
    """Return what is kept of an unreduced branch."""
    first, second = raw.sides
    return Record(
        levels=raw.levels,
        info_cell=(first.info_cell, second.info_cell),
        info_start=(first.info_start, second.info_start),
        info_faced=raw.info_faced,
        info_ways=(first.info_ways, second.info_ways),
        last_kind=raw.last_kind,
        last_stack=raw.last_stack,
        last_tile=(first.last_tile, second.last_tile),
        last_info=(first.last_info, second.last_info),
        rows=rest.rows,
        cells=rest.cells,
        arrivals=rest.arrivals,
        num_nodes=len(raw.parent) + len(raw.end_utility) + raw.num_last_ends,
    )
