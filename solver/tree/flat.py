"""The public tree as compiled passes read it: flat arrays, branch by branch.

All branches lie behind one another in the same arrays.  Some branches in a row are a *batch*: cells
count from 0 within it, so that buffers for the largest batch serve all, stay in the processor's
cache, and batches can be worked on side by side.  Everything else counts through.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Branch", "Side", "SidePart", "Tree", "join_branches"]

BATCH_CELLS = 4096
"""Cells and ends of a side at which a batch is full."""


class SidePart(NamedTuple):
    """One player's part of a branch.

    Cells are numbered slot by slot, the root's first; end ``e`` is cell ``num_cells + e``.
    Infostates whose actions are links alone are numbered first (slot by slot), then those of
    blocks.  ``L`` is N-1, the slots before the last.

    Attributes
    ----------
    num_cells : int
        Cells without the ends.
    num_infos : int
        Infostates.
    info_cell, info_fold : ndarray of int32, shape (link infostates,)
        The deciding cell, and the cell that folding leads to.
    info_match : ndarray of int32, shape (link infostates + 1,)
        Where each infostate's part of ``match_to`` starts.
    info_pay : ndarray of int32, shape (link infostates + 1,) or (1,)
        Where each infostate's ways to pay start; a single 0 where none has a choice of them.
    match_to : ndarray of int32, shape (matches,)
        Cells that matching leads to: for each way to pay, one for each tile the opponent may show.
    edge_from, edge_to : ndarray of int32, shape (edges,)
        Steps from cell to cell in which this side decides nothing.
    info_start, edge_start : ndarray of int64, shape (L + 1,)
        Where the infostates and edges of each slot start.
    block_start, block_info : ndarray of int32, shape (blocks + 1,)
        Where the cells of each block start, and its infostates, counted without the others.
    block_cell, block_first, block_past : ndarray of int32, shape (infostates of blocks,)
        The deciding cell, and the opponent's cells that it faces.
    block_fold : ndarray of int32, shape (infostates of blocks,)
        The cell that folding leads to, or -1 where ``fold_payoff`` says what it earns.
    block_match : ndarray of int32, shape (infostates of blocks + 1,)
        Where each infostate's part of ``block_to`` starts.
    block_to : ndarray of int32
        Cells that matching leads to, beside what the block's payoffs say.
    block_row : ndarray of int32, shape (infostates of blocks + 1,)
        Where each infostate's part of ``fold_payoff`` starts.
    fold_payoff : ndarray of float32
        Utility of side 0 after a fold, by the opponent's cells faced.
    """

    num_cells: int
    num_infos: int
    info_cell: NDArray[np.int32]
    info_fold: NDArray[np.int32]
    info_match: NDArray[np.int32]
    info_pay: NDArray[np.int32]
    match_to: NDArray[np.int32]
    edge_from: NDArray[np.int32]
    edge_to: NDArray[np.int32]
    info_start: NDArray[np.int64]
    edge_start: NDArray[np.int64]
    block_start: NDArray[np.int32]
    block_info: NDArray[np.int32]
    block_cell: NDArray[np.int32]
    block_first: NDArray[np.int32]
    block_past: NDArray[np.int32]
    block_fold: NDArray[np.int32]
    block_match: NDArray[np.int32]
    block_to: NDArray[np.int32]
    block_row: NDArray[np.int32]
    fold_payoff: NDArray[np.float32]


class Branch(NamedTuple):
    """One first-slot branch; everything counts from 0 in it.

    Attributes
    ----------
    sides : pair of SidePart
    end_utility : ndarray of float32, shape (ends,)
        Utility of side 0 at the ends that no block holds.
    payoff : ndarray of float32, shape (sum over blocks of own cells times other's,)
        Utility of side 0 by cells of side 0 and of side 1, block by block; where an infostate
        decides, after a match; 0 where links lead on.
    num_before_last : int
        How many blocks belong to the slot before the last; they come first.
    """

    sides: tuple[SidePart, SidePart]
    end_utility: NDArray[np.float32]
    payoff: NDArray[np.float32]
    num_before_last: int


class Side(NamedTuple):
    """One player's part of the tree; arrays of :class:`SidePart`, branch by branch.

    Link infostates are numbered first, branch by branch, then those of blocks.

    Attributes
    ----------
    first_cell, first_end, past_end : ndarray of int64, shape (branches,)
        Where the cells of each branch start in its batch, its ends, and where those end.
    info_cell, info_fold, info_match, info_pay, match_to, edge_from, edge_to : ndarray of int32
        ``info_match`` and ``info_pay`` count through all branches.
    info_start, edge_start : ndarray of int64, shape (branches, L + 1)
    block_start : ndarray of int32, shape (blocks + branches,)
        Each branch has one more than it has blocks.
    block_info, block_match, block_row : ndarray of int64
        Counted through all branches.
    block_cell, block_first, block_past, block_fold, block_to : ndarray of int32
    fold_payoff : ndarray of float32
    block_info_start : ndarray of int64, shape (branches + 1,)
        Where the infostates of the blocks of each branch start.
    root_first, root_past : ndarray of int64, shape (branches,)
        The setups (in root order) that a branch's root holds; they are its first cells.
    root_at : ndarray of int64, shape (branches + 1,)
        Where the root cells of each branch start, if those of all are put behind one another.
    """

    first_cell: NDArray[np.int64]
    first_end: NDArray[np.int64]
    past_end: NDArray[np.int64]
    info_cell: NDArray[np.int32]
    info_fold: NDArray[np.int32]
    info_match: NDArray[np.int64]
    info_pay: NDArray[np.int64]
    match_to: NDArray[np.int32]
    edge_from: NDArray[np.int32]
    edge_to: NDArray[np.int32]
    info_start: NDArray[np.int64]
    edge_start: NDArray[np.int64]
    block_start: NDArray[np.int32]
    block_info: NDArray[np.int64]
    block_cell: NDArray[np.int32]
    block_first: NDArray[np.int32]
    block_past: NDArray[np.int32]
    block_fold: NDArray[np.int32]
    block_match: NDArray[np.int64]
    block_to: NDArray[np.int32]
    block_row: NDArray[np.int64]
    fold_payoff: NDArray[np.float32]
    block_info_start: NDArray[np.int64]
    root_first: NDArray[np.int64]
    root_past: NDArray[np.int64]
    root_at: NDArray[np.int64]


class Tree(NamedTuple):
    """All branches.

    Attributes
    ----------
    sides : pair of Side
    end_utility, payoff : ndarray of float32
        Of all branches, as in :class:`Branch`.
    end_start, payoff_start, block_at : ndarray of int64, shape (branches + 1,)
        Where the ends, the payoffs and the blocks of each branch start.
    last_at, last_payoff : ndarray of int64, shape (branches,)
        Where the blocks of the last slot start, and their payoffs.
    batch_start : ndarray of int64, shape (batches + 1,)
        The first branch of each batch.
    """

    sides: tuple[Side, Side]
    end_utility: NDArray[np.float32]
    payoff: NDArray[np.float32]
    end_start: NDArray[np.int64]
    payoff_start: NDArray[np.int64]
    block_at: NDArray[np.int64]
    last_at: NDArray[np.int64]
    last_payoff: NDArray[np.int64]
    batch_start: NDArray[np.int64]


def join_branches(
    branches: list[Branch], root_first: NDArray[np.int64], root_past: NDArray[np.int64]
) -> Tree:
    """Put branches into one tree; ``branches`` is emptied on the way, to save memory.

    ``root_first`` and ``root_past`` have shape (2, branches).
    """
    end_start = _running([len(b.end_utility) for b in branches])
    payoff_start = _running([len(b.payoff) for b in branches])
    block_at = _running([len(b.sides[0].block_info) - 1 for b in branches])
    last_at = block_at[:-1] + np.array([b.num_before_last for b in branches], np.int64)
    last_payoff = payoff_start[:-1] + np.array(
        [_payoffs_before_last(b) for b in branches], np.int64
    )
    end_utility = np.concatenate([b.end_utility for b in branches])
    payoff = np.concatenate([b.payoff for b in branches])
    sizes = np.array(
        [[b.sides[p].num_cells + len(b.end_utility) for b in branches] for p in (0, 1)], np.int64
    )
    batch_start = _batches(sizes.max(axis=0))
    parts = [[b.sides[p]._asdict() for b in branches] for p in (0, 1)]
    branches.clear()
    first_cell = [_first_cells(sizes[p], batch_start) for p in (0, 1)]
    for p in (0, 1):
        _move_cells(parts[p], first_cell[p], first_cell[1 - p])
    sides = [
        _join_side(parts[p], first_cell[p], root_first[p], root_past[p], np.diff(end_start))
        for p in (0, 1)
    ]
    return Tree(
        (sides[0], sides[1]),
        end_utility,
        payoff,
        end_start,
        payoff_start,
        block_at,
        last_at,
        last_payoff,
        batch_start,
    )


def _payoffs_before_last(branch: Branch) -> int:
    widths = [np.diff(side.block_start[: branch.num_before_last + 1]) for side in branch.sides]
    return int((widths[0].astype(np.int64) * widths[1]).sum())


def _batches(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where batches of branches of these sizes start, and where the last ends."""
    starts = [0]
    filled = 0
    for branch, size in enumerate(sizes):
        if filled >= BATCH_CELLS:
            starts.append(branch)
            filled = 0
        filled += size
    return np.array([*starts, len(sizes)], np.int64)


def _first_cells(sizes: NDArray[np.int64], batch_start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the cells of each branch start in its batch."""
    starts = _running(sizes)[:-1]
    return starts - np.repeat(starts[batch_start[:-1]], np.diff(batch_start))


def _move_cells(parts: list[dict], mine: NDArray[np.int64], theirs: NDArray[np.int64]) -> None:
    """Number one side's cells within their batch, in place; the parts are new at every build."""
    own = (
        "info_cell",
        "info_fold",
        "match_to",
        "edge_from",
        "edge_to",
        "block_start",
        "block_cell",
        "block_to",
    )
    for part, first, other in zip(parts, mine, theirs, strict=True):
        for name in own:
            part[name] += np.int32(first)
        for name in ("block_first", "block_past"):
            part[name] += np.int32(other)
        part["block_fold"][part["block_fold"] >= 0] += np.int32(first)


def _join_side(
    parts: list[dict],
    first_cell: NDArray[np.int64],
    root_first: NDArray[np.int64],
    root_past: NDArray[np.int64],
    num_ends: NDArray[np.int64],
) -> Side:
    """Put one side's parts together; they are emptied on the way."""
    info_at = _running([len(part["info_cell"]) for part in parts])
    edge_at = _running([len(part["edge_to"]) for part in parts])
    first_end = first_cell + [part["num_cells"] for part in parts]
    return Side(
        first_cell=first_cell,
        first_end=first_end,
        past_end=first_end + num_ends,
        info_match=_counted_through([part.pop("info_match") for part in parts]),
        info_pay=_counted_through([part.pop("info_pay") for part in parts]),
        info_start=np.stack([part["info_start"] for part in parts]) + info_at[:-1, None],
        edge_start=np.stack([part["edge_start"] for part in parts]) + edge_at[:-1, None],
        block_info_start=_running([len(part["block_cell"]) for part in parts]),
        block_info=_counted_through([part.pop("block_info") for part in parts]),
        block_match=_counted_through([part.pop("block_match") for part in parts]),
        block_row=_counted_through([part.pop("block_row") for part in parts]),
        root_first=root_first,
        root_past=root_past,
        root_at=_running(root_past - root_first),
        **{
            name: np.concatenate([part.pop(name) for part in parts])
            for name in (
                "info_cell", "info_fold", "match_to", "edge_from", "edge_to",
                "block_start", "block_cell", "block_first", "block_past", "block_fold", "block_to",
                "fold_payoff",
            )
        },
    )  # fmt: skip


def _counted_through(starts: list[NDArray[np.int32]]) -> NDArray[np.int64]:
    """Return the starts of all parts as one array, each part's counted on from the last's end."""
    widths = [np.diff(start) for start in starts]
    return _running(np.concatenate(widths))


def _running(counts: list[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.asarray(counts, np.int64))])
