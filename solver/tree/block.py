"""The last two slots of a branch as payoff matrices.

A *block* is a node whose payoffs stand in a matrix, by the cells of both sides.  Every node of the
last slot that still has a decision is one.  With *folded endings* the nodes of the slot before are
blocks too: whatever ends there, and whatever leads to a last slot without a decision, is a number
for each pair of cells.  Only what leads to a decision in the last slot remains a link.

A decision in a block takes its payoff after a match from the matrix, and that after a fold from a
row of its own over the opponent's cells that it faces; where a link remains, the numbers are 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.tree.bounds import FOLDS, Verdict, colour_end, shown_outcome
from solver.tree.branch import Raw, RawSide
from solver.tree.last import FORCED
from solver.tree.steps import Steps

__all__ = ["DEAD", "ENDING", "KEPT", "PURE", "Arrivals", "BlockSide", "Blocks", "make_blocks"]

DEAD, KEPT, ENDING, PURE = 0, 1, 2, 3
"""What becomes of a node: it lies below a settled one; it stays; its outcome is settled; nothing is
decided there any more, and it is folded into the node above."""


class BlockSide(NamedTuple):
    """One side's part of the blocks of a branch; fields as in :class:`solver.tree.flat.SidePart`.

    Attributes
    ----------
    start : ndarray of int32, shape (blocks + 1,)
    info, match : ndarray of int32, shape (blocks + 1,), (infostates + 1,)
    cell, first, past, fold : ndarray of int32, shape (infostates,)
    to : ndarray of int32
    row : ndarray of int32, shape (infostates + 1,)
    fold_payoff : ndarray of float32, shape (sum of cells faced,)
    """

    start: NDArray[np.int32]
    info: NDArray[np.int32]
    cell: NDArray[np.int32]
    first: NDArray[np.int32]
    past: NDArray[np.int32]
    fold: NDArray[np.int32]
    match: NDArray[np.int32]
    to: NDArray[np.int32]
    row: NDArray[np.int32]
    fold_payoff: NDArray[np.float32]


class Blocks(NamedTuple):
    """The blocks of a branch.

    Attributes
    ----------
    sides : pair of BlockSide
    payoff : ndarray of float32
        As in :class:`solver.tree.flat.Branch`.
    num_before_last : int
        Blocks of the slot before the last; they come first.
    arrivals : pair of Arrivals
    """

    sides: tuple[BlockSide, BlockSide]
    payoff: NDArray[np.float32]
    num_before_last: int
    arrivals: tuple[Arrivals, Arrivals]


class Arrivals(NamedTuple):
    """How one side comes to the nodes of the last slot that were folded up.

    Attributes
    ----------
    source : ndarray of int32, shape (links,)
        The cell that each link leads from, as numbered in the reduced branch.
    cell : ndarray of int32, shape (links,)
        The cell that it leads to, counted from the first of the last slot in the raw branch.
    info : ndarray of int32, shape (links,)
        The infostate of the reduced branch whose action it is, or -1.
    is_fold : ndarray of bool, shape (links,)
        Whether that action is a fold.
    """

    source: NDArray[np.int32]
    cell: NDArray[np.int32]
    info: NDArray[np.int32]
    is_fold: NDArray[np.bool_]


class Targets(NamedTuple):
    """One side's links of the slot before the last, sorted by where they lead.

    Attributes
    ----------
    start : ndarray of int64, shape (targets + 1,)
        Where the links to each target start; targets are the ends of the slot, then the nodes of
        the last slot.
    source : ndarray of int32, shape (links,)
        The cell that each leads from, as numbered in the reduced branch.
    arrival : ndarray of int32, shape (links,)
        The cell that it leads to, as numbered in the raw branch.
    info : ndarray of int32, shape (links,)
        The infostate (from the first of the slot on) whose action it is, or -1.
    is_fold : ndarray of bool, shape (links,)
        Whether that action is a fold.
    """

    start: NDArray[np.int64]
    source: NDArray[np.int32]
    arrival: NDArray[np.int32]
    info: NDArray[np.int32]
    is_fold: NDArray[np.bool_]


NO_ARRIVALS = Arrivals(
    np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.bool_)
)


def make_blocks(
    raw: Raw,
    verdict: Verdict,
    fate: NDArray[np.int8],
    to: tuple[NDArray[np.int32], NDArray[np.int32]],
    num_cells: list[int],
    steps: tuple[Steps, Steps],
    folds: bool,
) -> Blocks:
    """Return the blocks of a branch; with ``folds`` take what goes into them out of ``steps``.

    Targets of ``fold`` and ``to`` are still those of the raw branch.
    """
    first = raw.level_start[-3] if folds else raw.level_start[-2]
    is_kept = fate[first:] == KEPT
    num_before = int(is_kept[: raw.level_start[-2] - first].sum())
    sides = [
        new_side(raw, p, first, is_kept, num_cells[p], steps[p] if folds else None)
        for p in range(2)
    ]
    targets = [sort_links(raw, p, steps[p]) for p in range(2)] if folds else []
    for p in range(2):
        if folds:
            find_faced(targets[p], targets[1 - p], sides[p].first, sides[p].past)
        num_infos = int(steps[p].used[0] - steps[p].info_start[-2]) if folds else 0
        sides[p] = cut(sides[p], list_last(raw, p, verdict, fate, to, sides[p], num_infos))
    areas = np.diff(sides[0].start).astype(np.int64) * np.diff(sides[1].start)
    payoff = np.zeros(int(areas.sum()), np.float32)
    fill_last(raw, verdict, fate, payoff[areas[:num_before].sum() :])
    for p in range(2):
        fill_last_folds(raw, p, fate, sides[p], num_before)
    if folds:
        is_folded = np.ones(len(targets[0].start) - 1, np.bool_)
        is_folded[np.diff(raw.end_start)[-1] :] = fate[raw.level_start[-2] :] != KEPT
        at = np.concatenate([[0], np.cumsum(areas)])
        fill_before(raw, verdict, is_folded, tuple(targets), tuple(sides), at, payoff)
        for p in range(2):
            sides[p] = take_links(raw, p, steps[p], is_folded, sides[p])
    arrivals = [
        list_arrivals(raw, p, fate, targets[p], steps[p]) if folds else NO_ARRIVALS
        for p in range(2)
    ]
    return Blocks((sides[0], sides[1]), payoff, num_before, (arrivals[0], arrivals[1]))


def list_arrivals(
    raw: Raw, p: int, fate: NDArray[np.int8], targets: Targets, steps: Steps
) -> Arrivals:
    """Return one side's links to nodes of the last slot that are folded up."""
    first_node = int(np.diff(raw.end_start)[-1])
    is_pure = np.zeros(len(targets.start) - 1, np.bool_)
    is_pure[first_node:] = fate[raw.level_start[-2] :] == PURE
    chosen = np.repeat(is_pure, np.diff(targets.start))
    info = targets.info[chosen]
    return Arrivals(
        targets.source[chosen],
        targets.arrival[chosen] - np.int32(raw.sides[p].node_start[raw.level_start[-2]]),
        np.where(info < 0, info, info + np.int32(steps.info_start[-1])),
        targets.is_fold[chosen],
    )


def new_side(
    raw: Raw,
    p: int,
    first_node: int,
    is_kept: NDArray[np.bool_],
    num_cells: int,
    steps: Steps | None,
) -> BlockSide:
    """Return one side's blocks with the decisions of ``steps`` in the slot before the last."""
    side = raw.sides[p]
    widths = np.diff(side.node_start[first_node:])[is_kept]
    start = np.concatenate([[0], np.cumsum(widths)]) + num_cells - widths.sum()
    before = np.zeros(0, np.int32)
    if steps is not None:
        before = steps.info_cell[steps.info_start[-2] : steps.used[0]]
    num_infos = len(before) + int(side.last_info[-1] - side.last_info[0])
    cell = np.zeros(num_infos, np.int32)
    cell[: len(before)] = before
    return BlockSide(
        start=start.astype(np.int32),
        info=np.zeros(len(start), np.int32),
        cell=cell,
        first=np.full(num_infos, np.iinfo(np.int32).max, np.int32),
        past=np.zeros(num_infos, np.int32),
        fold=np.full(num_infos, -1, np.int32),
        match=np.zeros(num_infos + 1, np.int32),
        to=np.zeros(0, np.int32),
        row=np.zeros(num_infos + 1, np.int32),
        fold_payoff=np.zeros(0, np.float32),
    )


def cut(blocks: BlockSide, num_infos: int) -> BlockSide:
    """Return blocks cut to so many infostates, with where each block's and each row start."""
    parts = {
        name: getattr(blocks, name)[:num_infos].copy() for name in ("cell", "first", "past", "fold")
    }
    node = np.searchsorted(blocks.start, parts["cell"], side="right") - 1
    blocks.info[1:] = np.cumsum(np.bincount(node, minlength=len(blocks.info) - 1))
    row = np.concatenate([[0], np.cumsum(parts["past"] - parts["first"])]).astype(np.int32)
    return blocks._replace(
        match=np.zeros(num_infos + 1, np.int32),
        row=row,
        fold_payoff=np.zeros(row[-1], np.float32),
        **parts,
    )


@njit(cache=True, nogil=True)
def list_last(raw, me, verdict, fate, to, blocks, used):
    """Write the open infostates of one side's last slot behind the ``used``; return how many."""
    mine, theirs = raw.sides[me], raw.sides[1 - me]
    first_last = raw.level_start[-2]
    first_cell = theirs.node_start[first_last]
    for node in range(raw.last_kind.shape[0]):
        here = first_last + node
        if raw.last_kind[node] != me or fate[here] != KEPT:
            continue
        info = mine.last_info[node]
        begin, past = theirs.node_start[here], theirs.node_start[here + 1]
        while begin < past:
            end = first_cell + colour_end(theirs.last_tile, begin - first_cell, past - first_cell)
            for cell in range(mine.node_start[here], mine.node_start[here + 1]):
                if not verdict.is_fixed[me][info]:
                    blocks.cell[used] = to[me][cell]
                    blocks.first[used] = to[1 - me][begin]
                    blocks.past[used] = to[1 - me][end - 1] + 1
                    used += 1
                info += 1
            begin = end
    return used


@njit(cache=True, nogil=True)
def last_payoff(raw, verdict, node, cell0, cell1):
    """Return side 0's utility at a pair of cells in the last slot; where it is open, of a match.

    Cells are numbered as in the raw branch, ``node`` among those of the last slot.
    """
    kind = raw.last_kind[node]
    if kind == FORCED:
        return raw.last_utility[node, 0]
    here = raw.level_start[-2] + node
    first0 = raw.sides[0].node_start[raw.level_start[-2]]
    first1 = raw.sides[1].node_start[raw.level_start[-2]]
    tile0, tile1 = raw.sides[0].last_tile[cell0 - first0], raw.sides[1].last_tile[cell1 - first1]
    if kind < 2:
        mine, theirs = raw.sides[kind], raw.sides[1 - kind]
        cell, other_first = (cell0, first1) if kind == 0 else (cell1, first0)
        start = mine.node_start[here]
        faced = theirs.last_tile[theirs.node_start[here] - other_first]
        other_tile = tile1 if kind == 0 else tile0
        info = mine.last_info[node] + cell - start
        if (other_tile ^ faced) & 1 == 1:
            info += mine.node_start[here + 1] - start
        if verdict.is_fixed[kind][info] and verdict.choice[kind][info] == FOLDS:
            return raw.last_utility[node, 0]
    return raw.last_utility[node, shown_outcome(tile0, tile1, 0)]


@njit(cache=True, nogil=True)
def fill_last(raw, verdict, fate, payoff):
    """Fill the matrices of the blocks of the last slot."""
    num = 0
    start0, start1 = raw.sides[0].node_start, raw.sides[1].node_start
    for node in range(raw.last_kind.shape[0]):
        here = raw.level_start[-2] + node
        if fate[here] == KEPT:
            for cell0 in range(start0[here], start0[here + 1]):
                for cell1 in range(start1[here], start1[here + 1]):
                    payoff[num] = last_payoff(raw, verdict, node, cell0, cell1)
                    num += 1


@njit(cache=True, nogil=True)
def fill_last_folds(raw, me, fate, blocks, block):
    """Fill the payoffs after folds in the last slot, whose blocks start at number ``block``."""
    for node in range(raw.last_kind.shape[0]):
        if fate[raw.level_start[-2] + node] != KEPT:
            continue
        for info in range(blocks.info[block], blocks.info[block + 1]):
            fold = raw.last_utility[node, 0]
            blocks.fold_payoff[blocks.row[info] : blocks.row[info + 1]] = fold
        block += 1


def sort_links(raw: Raw, p: int, steps: Steps) -> Targets:
    """Return one side's links of the slot before the last, sorted by where they lead."""
    side = raw.sides[p]
    infos = slice(int(steps.info_start[-2]), int(steps.used[0]))
    edges = slice(int(steps.edge_start[-2]), int(steps.used[2]))
    first, past = steps.info_match[infos.start], steps.info_match[infos.stop]
    widths = np.diff(steps.info_match[infos.start : infos.stop + 1])
    numbers = np.arange(infos.stop - infos.start, dtype=np.int32)
    source = [
        steps.edge_from[edges],
        steps.info_cell[infos],
        np.repeat(steps.info_cell[infos], widths),
    ]
    arrival = [steps.edge_to[edges], steps.info_fold[infos], steps.match_to[first:past]]
    info = [np.full(edges.stop - edges.start, -1, np.int32), numbers, np.repeat(numbers, widths)]
    arrivals = np.concatenate(arrival)
    key = target_keys(raw, side, arrivals)
    order = np.argsort(key, kind="stable")
    num_targets = int(np.diff(raw.end_start)[-1]) + len(raw.last_kind)
    is_fold = np.repeat([False, True, False], [len(part) for part in arrival])
    return Targets(
        np.concatenate([[0], np.cumsum(np.bincount(key, minlength=num_targets))]),
        np.concatenate(source)[order],
        arrivals[order],
        np.concatenate(info)[order],
        is_fold[order],
    )


def target_keys(raw: Raw, side: RawSide, arrivals: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the number of the target that each cell belongs to, as in :class:`Targets`."""
    first_end = side.num_cells + raw.end_start[-2]
    num_ends = raw.end_start[-1] - raw.end_start[-2]
    nodes = np.searchsorted(side.node_start, arrivals, side="right") - 1 - raw.level_start[-2]
    return np.where(arrivals >= side.num_cells, arrivals - first_end, num_ends + nodes)


@njit(cache=True, nogil=True)
def find_faced(mine, theirs, first, past):
    """Fill which cells of the opponent each infostate faces: those that come to where it folds."""
    for target in range(mine.start.shape[0] - 1):
        for link in range(mine.start[target], mine.start[target + 1]):
            if mine.is_fold[link]:
                info = mine.info[link]
                for other in range(theirs.start[target], theirs.start[target + 1]):
                    first[info] = min(first[info], theirs.source[other])
                    past[info] = max(past[info], theirs.source[other] + 1)


@njit(cache=True, nogil=True)
def fill_before(raw, verdict, is_folded, targets, sides, at, payoff):
    """Fill the matrices of the slot before the last, and the payoffs after folds there.

    ``at`` (int64, shape (blocks + 1,)) says where the matrix of each block starts.
    """
    num_ends = raw.end_start[-1] - raw.end_start[-2]
    for target in range(is_folded.shape[0]):
        if not is_folded[target]:
            continue
        for i in range(targets[0].start[target], targets[0].start[target + 1]):
            cell0 = targets[0].source[i]
            block = np.searchsorted(sides[0].start, cell0, side="right") - 1
            for k in range(targets[1].start[target], targets[1].start[target + 1]):
                cell1 = targets[1].source[k]
                earned = target_utility(
                    raw, verdict, target, num_ends, targets[0].arrival[i], targets[1].arrival[k]
                )
                if targets[0].is_fold[i]:
                    put_fold(sides[0], targets[0].info[i], cell1, earned)
                elif targets[1].is_fold[k]:
                    put_fold(sides[1], targets[1].info[k], cell0, earned)
                else:
                    width = sides[1].start[block + 1] - sides[1].start[block]
                    row = at[block] + (cell0 - sides[0].start[block]) * width
                    payoff[row + cell1 - sides[1].start[block]] += earned


@njit(cache=True, nogil=True)
def target_utility(raw, verdict, target, num_ends, cell0, cell1):
    """Return side 0's utility at a pair of cells of a target that is folded in."""
    if target < num_ends:
        return raw.end_utility[raw.end_start[-2] + target]
    node = target - num_ends
    if verdict.is_settled[raw.level_start[-2] + node]:
        return verdict.node_utility[raw.level_start[-2] + node]
    return last_payoff(raw, verdict, node, cell0, cell1)


@njit(cache=True, nogil=True)
def put_fold(blocks, info, cell, earned):
    """Write the payoff of a fold against one of the opponent's cells."""
    blocks.fold_payoff[blocks.row[info] + cell - blocks.first[info]] = earned


def take_links(
    raw: Raw, p: int, steps: Steps, is_folded: NDArray[np.bool_], blocks: BlockSide
) -> BlockSide:
    """Move the decisions of the slot before the last from ``steps`` to the blocks.

    Links to what is folded in are left out, there and among the edges; ``steps`` is modified.
    """
    side = raw.sides[p]
    first, past = int(steps.info_start[-2]), int(steps.used[0])
    fold = steps.info_fold[first:past]
    blocks.fold[: past - first] = np.where(is_folded[target_keys(raw, side, fold)], -1, fold)
    begin, end = int(steps.info_match[first]), int(steps.used[1])
    match_to = steps.match_to[begin:end]
    stays = ~is_folded[target_keys(raw, side, match_to)]
    kept = np.concatenate([[0], np.cumsum(stays)])
    starts = kept[steps.info_match[first : past + 1] - begin]
    blocks.match[: past - first + 1] = starts
    blocks.match[past - first + 1 :] = starts[-1]
    edges = slice(int(steps.edge_start[-2]), int(steps.used[2]))
    stay = ~is_folded[target_keys(raw, side, steps.edge_to[edges])]
    num = int(stay.sum())
    for part in (steps.edge_from, steps.edge_to):
        part[edges.start : edges.start + num] = part[edges][stay]
    steps.edge_start[-1] = edges.start + num
    steps.info_start[-1] = first
    steps.used[:] = first, begin, edges.start + num
    return blocks._replace(to=match_to[stays].copy())
