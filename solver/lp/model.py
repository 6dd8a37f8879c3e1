"""A small game's linear program: the sequence form on the flat public tree.

A *plan* says how often a player places each setup and comes to take each action, the setup and all
earlier actions included (a realization plan of von Stengel 1996).  Plans are the vectors ``x >= 0``
in which setups sum to 1, and the actions of an infostate to how often it is reached.  What a pair
of plans earns is ``x' A y``, so that best responses, and with them the value of the game, come from
linear programs of the tree's size (Koller, Megiddo and von Stengel 1996).

A departure: private states with the same future are one cell, so several actions may lead to an
infostate, and the plan is a flow on an acyclic graph where the papers have a tree.  Cells in which
nothing is decided are no variables: their reaches are sums of actions, put in where they occur.

von Stengel, Efficient computation of behavior strategies, Games and Economic Behavior 14, 1996.
Koller, Megiddo, von Stengel, Efficient computation of equilibria for extensive two-person games,
Games and Economic Behavior 14, 1996.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array, vstack

from solver.tree.build import PublicTree
from solver.tree.flat import Side, Tree

__all__ = ["Player", "make_players", "num_ways", "numbers_of"]


class Player(NamedTuple):
    """Whoever chooses a plan: one side, or both as halves of one strategy.

    Columns are the setups (in root order), then side by side the folds of all infostates, the ways
    to pay of link infostates, and the matches of block infostates.  Row 0 is the choice of a setup,
    the others are infostates, side by side.

    Attributes
    ----------
    row : ndarray of int64, shape (columns,)
        Where each column is one of the choices.
    leads : csr_array of float64, shape (rows, columns)
        1 where the infostate is reached by taking the action.
    num_setups : int
    num_infos : tuple of int
        Infostates by side.
    """

    row: NDArray[np.int64]
    leads: csr_array
    num_setups: int
    num_infos: tuple[int, ...]

    @property
    def flow(self) -> csr_array:
        """Return the matrix by which a plan's choices sum up: 1 in row 0, nothing in others."""
        return _pick(self.row, self.leads.shape[0]).T.tocsr() - self.leads


class _SideForm(NamedTuple):
    """One side's variables.

    Attributes
    ----------
    row : ndarray of int64, shape (columns,)
    reach : csr_array of float64, shape (cells and ends of all batches, columns)
        How often each cell is reached by a plan.
    info_cell : ndarray of int64, shape (infostates,)
    branch_cell : ndarray of int64, shape (branches,)
        What to add to the cells of a branch to count them through all batches.
    """

    row: NDArray[np.int64]
    reach: csr_array
    info_cell: NDArray[np.int64]
    branch_cell: NDArray[np.int64]


def make_players(tree: PublicTree) -> tuple[tuple[Player, Player], csr_array]:
    """Return who plays, and the first's payoffs by columns of both.

    In a tree of one strategy both are the same player, and the payoffs are skew-symmetric.
    """
    forms = [_side_form(tree, p) for p in range(2)]
    payoff = _payoffs(tree.arrays, forms[0], forms[1])
    sides = [_player(form, tree.num_setups) for form in forms]
    if not tree.one_strategy:
        return (sides[0], sides[1]), payoff
    num = tree.num_setups
    numbers = [len(side.row) - num for side in sides]
    setups = np.arange(num)
    columns = [
        np.concatenate([setups, num + np.arange(numbers[0])]),
        np.concatenate([setups, num + numbers[0] + np.arange(numbers[1])]),
    ]
    total = num + sum(numbers)
    spread = [_pick(columns[p], total) for p in range(2)]
    both = spread[0].T @ payoff @ spread[1]
    player = Player(
        np.concatenate([sides[0].row, sides[1].row[num:] + sides[0].leads.shape[0] - 1]),
        vstack([sides[0].leads @ spread[0], sides[1].leads[1:] @ spread[1]]).tocsr(),
        num,
        sides[0].num_infos + sides[1].num_infos,
    )
    skew = csr_array(both - both.T)
    skew.eliminate_zeros()
    return (player, player), skew


def _player(form: _SideForm, num_setups: int) -> Player:
    empty = csr_array((1, len(form.row)))
    leads = vstack([empty, form.reach[form.info_cell]]).tocsr()
    return Player(form.row, leads, num_setups, (len(form.info_cell),))


def _side_form(tree: PublicTree, p: int) -> _SideForm:
    """Return one side's variables, and how often they come to each cell."""
    arrays, side = tree.arrays, tree.arrays.sides[p]
    branch_cell, num_cells = _branch_cells(arrays, side)
    of_link = numbers_of(side.info_start[:, -1] - side.info_start[:, 0])
    of_block = numbers_of(np.diff(side.block_info_start))
    of_edge = numbers_of(side.edge_start[:, -1] - side.edge_start[:, 0])
    of_root = numbers_of(np.diff(side.root_at))
    num_links, num_blocks, num_setups = len(side.info_cell), len(side.block_cell), tree.num_setups
    num_infos = num_links + num_blocks
    shift_link, shift_block = branch_cell[of_link], branch_cell[of_block]
    ways = num_ways(side)
    way_of_match, link_of_match = _ways_of_matches(side, ways)
    first_way = num_setups + num_infos
    first_block = first_way + int(ways.sum())
    folds = np.flatnonzero(side.block_fold >= 0)
    block_of_match = numbers_of(np.diff(side.block_match))
    roots = np.arange(side.root_at[-1]) - side.root_at[of_root]
    links = [  # cells, and the columns that lead there
        (side.first_cell[of_root] + branch_cell[of_root] + roots, side.root_first[of_root] + roots),
        (side.info_fold + shift_link, num_setups + np.arange(num_links)),
        (side.match_to + shift_link[link_of_match], first_way + way_of_match),
        (side.block_fold[folds] + shift_block[folds], num_setups + num_links + folds),
        (side.block_to + shift_block[block_of_match], first_block + block_of_match),
    ]
    cell, column = (np.concatenate(part) for part in zip(*links, strict=True))
    num_columns = first_block + num_blocks
    reach = _ones(cell, column, (num_cells, num_columns))
    shift_edge = branch_cell[of_edge]
    steps = _ones(side.edge_to + shift_edge, side.edge_from + shift_edge, (num_cells, num_cells))
    arrived = reach
    while arrived.nnz > 0:  # a step leads to a later slot, so this ends
        arrived = steps @ arrived
        reach = reach + arrived
    row = [
        np.zeros(num_setups, np.int64),
        1 + np.arange(num_infos),
        1 + numbers_of(ways),
        1 + num_links + np.arange(num_blocks),
    ]
    info_cell = np.concatenate([side.info_cell + shift_link, side.block_cell + shift_block])
    return _SideForm(np.concatenate(row), reach, info_cell, branch_cell)


def _branch_cells(arrays: Tree, side: Side) -> tuple[NDArray[np.int64], int]:
    """Return what to add to each branch's cells to count through all batches, and their number."""
    batches = arrays.batch_start
    sizes = side.past_end[batches[1:] - 1]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return np.repeat(starts[:-1], np.diff(batches)), int(starts[-1])


def num_ways(side: Side) -> NDArray[np.int64]:
    """Return how many ways to pay each link infostate has."""
    if len(side.info_pay) > 1:
        return np.diff(side.info_pay)
    return np.ones(len(side.info_cell), np.int64)


def _ways_of_matches(
    side: Side, ways: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the way to pay and the link infostate of each entry of ``match_to``."""
    counts = np.diff(side.info_match)
    info = numbers_of(counts)
    shown = counts // np.maximum(ways, 1)
    place = np.arange(len(side.match_to)) - side.info_match[info]
    return (np.cumsum(ways) - ways)[info] + place // shown[info], info


def _payoffs(arrays: Tree, form0: _SideForm, form1: _SideForm) -> csr_array:
    """Return side 0's payoffs by columns of both sides."""
    num_ends = np.diff(arrays.end_start)
    of_end = numbers_of(num_ends)
    place = np.arange(len(arrays.end_utility)) - arrays.end_start[of_end]
    forms = (form0, form1)
    ends = [
        forms[p].reach[(arrays.sides[p].first_end + forms[p].branch_cell)[of_end] + place]
        for p in range(2)
    ]
    total = ends[0].T @ diags_array(arrays.end_utility.astype(np.float64)) @ ends[1]
    matrix = _block_matrix(arrays, form0, form1)
    total = total + form0.reach.T @ matrix @ form1.reach
    total = total + _folds(arrays, 0, form0, form1, matrix) @ form1.reach
    total = total + (_folds(arrays, 1, form1, form0, matrix.T.tocsr()) @ form0.reach).T
    total = csr_array(total)
    total.eliminate_zeros()
    return total


def _block_matrix(arrays: Tree, form0: _SideForm, form1: _SideForm) -> csr_array:
    """Return the matrices of all blocks as one, by cells of both sides."""
    branch = numbers_of(np.diff(arrays.block_at))
    place = np.arange(len(branch)) + branch
    starts, widths = [], []
    for side, form in zip(arrays.sides, (form0, form1), strict=True):
        starts.append(side.block_start[place] + form.branch_cell[branch])
        widths.append((side.block_start[place + 1] - side.block_start[place]).astype(np.int64))
    areas = widths[0] * widths[1]
    block = numbers_of(areas)
    entry = np.arange(len(block)) - (np.cumsum(areas) - areas)[block]
    cell0 = starts[0][block] + entry // widths[1][block]
    cell1 = starts[1][block] + entry % widths[1][block]
    shape = (form0.reach.shape[0], form1.reach.shape[0])
    return coo_array((arrays.payoff.astype(np.float64), (cell0, cell1)), shape).tocsr()


def _folds(
    arrays: Tree, me: int, mine: _SideForm, theirs: _SideForm, matrix: csr_array
) -> csr_array:
    """Return what folds in blocks change, by own columns and the opponent's cells.

    ``matrix`` holds what matches earn side 0, by own cells and the opponent's.
    """
    side = arrays.sides[me]
    widths = np.diff(side.block_row)
    info = numbers_of(widths)
    branch = numbers_of(np.diff(side.block_info_start))[info]
    place = np.arange(len(info)) - side.block_row[info]
    other_cell = side.block_first[info] + place + theirs.branch_cell[branch]
    cell = side.block_cell[info] + mine.branch_cell[branch]
    num_links = len(side.info_cell)
    num_setups = len(mine.row) - np.count_nonzero(mine.row)
    matched = matrix[cell, other_cell] if len(cell) else np.zeros(0)
    change = side.fold_payoff - np.asarray(matched).ravel()
    shape = (len(mine.row), theirs.reach.shape[0])
    return coo_array((change, (num_setups + num_links + info, other_cell)), shape).tocsr()


def numbers_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each number as often as ``counts`` says.

    Examples
    --------
    >>> numbers_of(np.array([2, 0, 1])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(counts)), counts)


def _pick(columns: NDArray[np.int64], num_columns: int) -> csr_array:
    """Return the matrix with a 1 in each row, at the given column."""
    return _ones(np.arange(len(columns)), columns, (len(columns), num_columns))


def _ones(row: NDArray, column: NDArray, shape: tuple[int, int]) -> csr_array:
    return coo_array((np.ones(len(row)), (row, column)), shape).tocsr()
