"""Expanding one slot of the public tree, compiled.

A node's cells are grouped by type on each side; each pair of types is a *branch*, in which stacks
and colours are known, hence also who decides.  A branch has a child for each pair of tiles shown
(and each number of chips that a match takes from later tiles, where there is a choice), and one
for a fold.  What happens in a slot is asked of :mod:`solver.rules`, on a scratch board.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.infostate import HIDDEN
from solver.rules import (
    CHOICE,
    FORCED_FOLD,
    SHOW,
    classify,
    colour,
    gap_at,
    is_decided,
    settle,
    utility,
)
from solver.tree.last import open_value
from solver.tree.parts import (
    CELLS,
    EDGES,
    ENDS,
    INFOS,
    MATCHES,
    NODES,
    NUM_COUNTS,
    Links,
    Nodes,
    decode,
)
from solver.tree.room import (
    find_runs,
    list_ways,
    load_branch,
    load_span,
    span_cells,
    span_runs,
    totals_of,
)

__all__ = ["Output", "expand_level", "new_output"]


class Output(NamedTuple):
    """Where an expansion is written: the next slot's nodes and the way to them.

    Attributes
    ----------
    nodes : Nodes
    links : Links
    end_utility : ndarray of float64, shape (ends,)
        Utility of side 0.
    used : ndarray of int64, shape (NUM_COUNTS,)
        Where the next part of each sort goes; parts of side 1 start behind the room of side 0.
    numbers : ndarray of int64, shape (7,)
        Number of the first cell of this slot (side 0, side 1), of the next (side 0, side 1), and
        of the first end; where the cells of this slot start in its ``cells`` (side 0, side 1).
    """

    nodes: Nodes
    links: Links
    end_utility: NDArray[np.float64]
    used: NDArray[np.int64]
    numbers: NDArray[np.int64]


class Meeting(NamedTuple):
    """A pair of types while it is expanded: what is known of its decider, if any (else -1).

    Attributes
    ----------
    decider, first_cell, first_info, first_match : int
        The deciding side; where its cells of that type start in ``cells``; where their infostates
        and matches start.
    """

    decider: int
    first_cell: int
    first_info: int
    first_match: int


def new_output(room: NDArray[np.int64], numbers: NDArray[np.int64]) -> Output:
    """Return arrays with this much room (int64, shape (NUM_COUNTS,))."""
    num_nodes = room[NODES]
    infos, edges = room[INFOS : INFOS + 2].sum(), room[EDGES : EDGES + 2].sum()
    nodes = Nodes(
        np.zeros((2, num_nodes + 1), np.int64),
        np.empty(room[CELLS : CELLS + 2].sum(), np.int64),
        np.empty((num_nodes, 2), np.int16),
        np.empty(num_nodes, np.bool_),
        np.empty(num_nodes, np.int32),
        np.empty((num_nodes, 5), np.int16),
    )
    links = Links(
        np.empty(infos, np.int32),
        np.empty(infos, np.int32),
        np.empty(infos, np.int32),
        np.empty(infos, np.int32),
        np.empty(infos, np.int32),
        np.empty(room[MATCHES : MATCHES + 2].sum(), np.int32),
        np.empty(edges, np.int32),
        np.empty(edges, np.int32),
    )
    used = np.zeros(NUM_COUNTS, np.int64)
    for part in (CELLS, INFOS, MATCHES, EDGES):
        used[part + 1] = room[part]
    nodes.start[1, 0] = room[CELLS]
    return Output(nodes, links, np.empty(room[ENDS]), used, numbers)


@njit(cache=True, nogil=True)
def expand_level(x, scratch, out, marks):
    """Write the children of all nodes of a slot, and the links to them.

    ``marks`` (int64, shape (nodes + 1, NUM_COUNTS), or with 0 rows) gets ``out.used`` as it stands
    before the first node and after each.
    """
    for node in range(x.nodes.winnings.shape[0]):
        if marks.shape[0] > 0:
            marks[node] = out.used
        num0 = find_runs(x.codec, x.slot, x.nodes, node, 0, scratch)
        num1 = find_runs(x.codec, x.slot, x.nodes, node, 1, scratch)
        symmetric = x.nodes.is_symmetric[node]
        for type0 in range(num0):
            for type1 in range(type0 if symmetric else 0, num1):
                expand_branch(x, node, type0, type1, symmetric and type0 == type1, scratch, out)
    if marks.shape[0] > 0:
        marks[-1] = out.used


@njit(cache=True, nogil=True)
def expand_branch(x, node, type0, type1, mirrored, scratch, out):
    """Write one branch; of a mirrored one only the tile pairs with the lower on side 0."""
    load_branch(x, node, type0, type1, scratch)
    kind, player = classify(scratch.board, x.slot)
    nobody = np.int64(-1)
    decider = player if kind == CHOICE else nobody
    meeting = Meeting(decider, nobody, nobody, nobody)
    least, most = 0, 0
    if decider >= 0:
        least, most = totals_of(x, decider, scratch.board)
        meeting = Meeting(
            decider,
            scratch.runs[decider, scratch.span[decider, 0]],
            out.used[INFOS + decider],
            out.used[MATCHES + decider],
        )
        add_infostates(x, node, decider, scratch, out.links, out.used, out.numbers)
    if kind != SHOW:
        add_child(x, node, meeting, player, nobody, False, scratch, out)
        link_child(meeting, nobody, nobody, scratch, out)
    if kind == FORCED_FOLD:
        return
    types, span = scratch.types, scratch.span
    first0, first1 = types[0, type0], types[1, type1]
    for total in range(least, most + 1):
        for run0 in range(first0, types[0, type0 + 1]):
            for run1 in range(first1 + run0 - first0 if mirrored else first1, types[1, type1 + 1]):
                span[0, 0], span[0, 1] = run0, run0 + 1
                span[1, 0], span[1, 1] = run1, run1 + 1
                same = mirrored and run0 - first0 == run1 - first1
                add_child(x, node, meeting, nobody, np.int64(total), same, scratch, out)
                shown = run1 - first1 if decider == 0 else run0 - first0
                link_child(meeting, np.int64(total), shown, scratch, out)


@njit(cache=True, nogil=True)
def add_infostates(x, node, decider, scratch, links, used, numbers):
    """Write the infostates of the branch in the span, and list the ways to pay."""
    board = scratch.board
    other = 1 - decider
    faced = colour(board.tiles[other, x.slot]) * (x.codec.num_chips + 1)
    faced += board.chips[other, x.slot]
    list_ways(x, node, decider, scratch)
    size, shown = span_cells(scratch, decider), span_runs(scratch, other)
    cell = scratch.runs[decider, scratch.span[decider, 0]] - numbers[5 + decider]
    cell += numbers[decider]
    info = used[INFOS + decider]
    way_start = scratch.way_start
    for i in range(size):
        links.info_cell[info + i] = cell + i
        links.info_faced[info + i] = faced
        links.info_ways[info + i] = way_start[i + 1] - way_start[i]
        links.info_shown[info + i] = shown
    used[INFOS + decider] += size
    used[MATCHES + decider] += way_start[size] * shown


@njit(cache=True, nogil=True)
def add_child(x, node, meeting, folder, total, symmetric, scratch, out):
    """Write the child that the span leads to; leave in ``scratch.to`` where each cell goes.

    ``folder`` folds, or with ``folder`` -1 the branch's decider, if any, matches with ``total``
    chips from later tiles.
    """
    codec, slot = x.codec, x.slot
    board = scratch.board
    load_span(x, node, scratch)
    tile0, stack0 = board.tiles[0, slot], board.chips[0, slot]
    tile1, stack1 = board.tiles[1, slot], board.chips[1, slot]
    payer = meeting.decider if folder < 0 else np.int64(-1)
    if payer >= 0:
        board.winnings[payer] -= gap_at(stack0, stack1) - total
    settle(board, slot, folder)
    won0, won1 = board.winnings[0], board.winnings[1]
    for player in range(2):
        count_codes(meeting, player, payer, total, scratch)
    if x.options.stop_when_decided and is_decided(won0, won1, codec.num_chips):
        add_end(utility(won0, codec.num_chips, x.options.is_win), scratch, out)
        return
    for player in range(2):
        child_codes(x, meeting, player, payer, total, scratch)
    if x.options.solve_open_endings and slot == codec.num_tiles - 2 and is_open(codec, scratch):
        for player in range(2):
            code = scratch.codes[player, scratch.order[player, 0]]
            decode(codec, code, slot + 1, player, board.tiles, board.chips)
        value = open_value(board, codec.num_chips, x.options.is_win, scratch.utilities)
        add_end(value, scratch, out)
        return
    child = out.used[NODES]
    out.used[NODES] += 1
    nodes = out.nodes
    for player in range(2):
        add_cells(player, scratch, nodes, out.used, out.numbers)
        nodes.start[player, child + 1] = out.used[CELLS + player]
        nodes.winnings[child, player] = board.winnings[player]
    nodes.is_symmetric[child] = symmetric
    nodes.parent[child] = node
    nodes.event[child, 0] = tile0 if folder < 0 else HIDDEN - colour(tile0)
    nodes.event[child, 1] = stack0
    nodes.event[child, 2] = tile1 if folder < 0 else HIDDEN - colour(tile1)
    nodes.event[child, 3] = stack1
    nodes.event[child, 4] = total if payer >= 0 else 0


@njit(cache=True, nogil=True)
def count_codes(meeting, player, payer, total, scratch):
    """Note how many codes of a side's span continue: its cells, or their ways of that total."""
    first = scratch.runs[player, scratch.span[player, 0]]
    width = span_cells(scratch, player)
    if player == payer:
        begin = scratch.way_start[first - meeting.first_cell]
        past = scratch.way_start[first - meeting.first_cell + width]
        width = 0
        for way in range(begin, past):
            width += scratch.way_total[way] == total
    scratch.num[player] = width


@njit(cache=True, nogil=True)
def child_codes(x, meeting, player, payer, total, scratch):
    """Put the next codes of a side's span into the scratch, and the order that sorts them."""
    codes = scratch.codes
    first = scratch.runs[player, scratch.span[player, 0]]
    width = span_cells(scratch, player)
    if player == payer:
        begin = scratch.way_start[first - meeting.first_cell]
        past = scratch.way_start[first - meeting.first_cell + width]
        num = 0
        for way in range(begin, past):
            if scratch.way_total[way] == total:
                codes[player, num] = scratch.way_code[way]
                num += 1
    else:
        place = x.codec.powers[x.codec.num_tiles - 1 - x.slot]
        for i in range(width):
            codes[player, i] = x.nodes.cells[first + i] % place
    sort_into(codes, scratch.order, player, scratch.num[player], scratch.spare)


@njit(cache=True, nogil=True)
def sort_into(codes, order, player, n, spare):
    """Fill a player's row of ``order`` with the order that sorts that row of ``codes``."""
    for i in range(n):  # short stretches by insertion
        j = i
        while j % 16 > 0 and codes[player, order[player, j - 1]] > codes[player, i]:
            order[player, j] = order[player, j - 1]
            j -= 1
        order[player, j] = i
    width = 16
    while width < n:  # then merged, pair by pair
        for begin in range(0, n - width, 2 * width):
            middle, end = begin + width, min(begin + 2 * width, n)
            left, right = begin, middle
            for k in range(begin, end):
                if right == end or (
                    left < middle
                    and codes[player, order[player, left]] <= codes[player, order[player, right]]
                ):
                    spare[k] = order[player, left]
                    left += 1
                else:
                    spare[k] = order[player, right]
                    right += 1
            for k in range(begin, end):
                order[player, k] = spare[k]
        width *= 2


@njit(cache=True, nogil=True)
def is_open(codec, scratch):
    """Whether each side's cells now in the scratch all continue alike."""
    codes, order = scratch.codes, scratch.order
    for player in range(2):
        low = codes[player, order[player, 0]]
        high = codes[player, order[player, scratch.num[player] - 1]]
        if low // codec.tail != high // codec.tail:
            return False
    return True


@njit(cache=True, nogil=True)
def add_cells(player, scratch, nodes, used, numbers):
    """Write a side's cells of a new node, equal codes once."""
    codes, order = scratch.codes, scratch.order
    free = used[CELLS + player]
    number = numbers[2 + player] - nodes.start[player, 0] - 1
    last = -1
    for i in range(scratch.num[player]):
        place = order[player, i]
        code = codes[player, place]
        if code != last:
            nodes.cells[free] = code
            free += 1
            last = code
        scratch.to[player, place] = number + free
    used[CELLS + player] = free


@njit(cache=True, nogil=True)
def add_end(value, scratch, out):
    """Write an end worth ``value`` to side 0; all that continue lead to it."""
    end = out.used[ENDS]
    out.used[ENDS] += 1
    out.end_utility[end] = value
    for player in range(2):
        for i in range(scratch.num[player]):
            scratch.to[player, i] = -1 - (out.numbers[4] + end)


@njit(cache=True, nogil=True)
def link_child(meeting, total, shown, scratch, out):
    """Link the cells of the span to the child just written.

    The decider's cells go by an action: a fold if ``shown`` is -1, else all ways to pay that take
    ``total`` chips from later tiles, where the match shows the opponent's tile of that rank.
    """
    links, used, to = out.links, out.used, scratch.to
    for player in range(2):
        size = span_cells(scratch, player)
        first = scratch.runs[player, scratch.span[player, 0]]
        if player != meeting.decider:
            edge = used[EDGES + player]
            number = first - out.numbers[5 + player] + out.numbers[player]
            for i in range(size):
                links.edge_from[edge + i] = number + i
                links.edge_to[edge + i] = to[player, i]
            used[EDGES + player] += size
            continue
        offset = first - meeting.first_cell
        if shown < 0:
            for i in range(size):
                links.info_fold[meeting.first_info + offset + i] = to[player, i]
            continue
        width = links.info_shown[meeting.first_info]
        num = 0
        for way in range(scratch.way_start[offset], scratch.way_start[offset + size]):
            if scratch.way_total[way] == total:
                links.match_to[meeting.first_match + way * width + shown] = to[player, num]
                num += 1
