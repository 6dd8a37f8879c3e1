"""Expanding one slot of the public tree, compiled.

A node's cells are grouped by type on each side; each pair of types is a *branch*, in which stacks
and colours are known, hence also who decides.  A branch has a child for each pair of tiles shown,
and one for a fold.  What happens in a slot is asked of :mod:`solver.rules`, on a scratch board.
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
    is_decided,
    pull_latest,
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
    Codec,
    Links,
    Nodes,
    Options,
    decode,
    encode,
)

__all__ = [
    "Expansion",
    "Output",
    "bound_level",
    "expand_level",
    "new_output",
]


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


class Expansion(NamedTuple):
    """What an expansion reads: how cells are packed, the options, and one slot's nodes."""

    codec: Codec
    options: Options
    slot: int
    nodes: Nodes


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
        np.empty((num_nodes, 4), np.int16),
    )
    links = Links(
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
def find_runs(codec, slot, nodes, node, player, scratch):
    """Fill the scratch with a side's runs and types at a node; return how many types."""
    place = codec.powers[codec.num_tiles - 1 - slot]
    cells, runs, types = nodes.cells, scratch.runs, scratch.types
    past = nodes.start[player, node + 1]
    num_runs = 0
    num_types = 0
    digit = -1
    for cell in range(nodes.start[player, node], past):
        here = cells[cell] // place
        if here == digit:
            continue
        if digit < 0 or here // codec.half != digit // codec.half:
            types[player, num_types] = num_runs
            num_types += 1
        runs[player, num_runs] = cell
        num_runs += 1
        digit = here
    runs[player, num_runs] = past
    types[player, num_types] = num_runs
    return num_types


@njit(cache=True, nogil=True)
def load_span(x, node, scratch):
    """Put the first cells of the span on the scratch board, and the node's winnings."""
    board = scratch.board
    for player in range(2):
        code = x.nodes.cells[scratch.runs[player, scratch.span[player, 0]]]
        decode(x.codec, code, x.slot, player, board.tiles, board.chips)
        board.winnings[player] = x.nodes.winnings[node, player]


@njit(cache=True, nogil=True)
def load_branch(x, node, type0, type1, scratch):
    """Let the span be a pair of types, and put its first cells on the scratch board."""
    types, span = scratch.types, scratch.span
    span[0, 0], span[0, 1] = types[0, type0], types[0, type0 + 1]
    span[1, 0], span[1, 1] = types[1, type1], types[1, type1 + 1]
    load_span(x, node, scratch)


@njit(cache=True, nogil=True)
def span_cells(scratch, player):
    """Return how many cells of a side the span has."""
    span = scratch.span
    return scratch.runs[player, span[player, 1]] - scratch.runs[player, span[player, 0]]


@njit(cache=True, nogil=True)
def span_runs(scratch, player):
    """Return how many runs of a side the span has."""
    return scratch.span[player, 1] - scratch.span[player, 0]


@njit(cache=True, nogil=True)
def bound_level(x, scratch, counts):
    """Add to ``counts`` (int64, shape (NUM_COUNTS,)) the room that the expansion takes at most."""
    for node in range(x.nodes.winnings.shape[0]):
        num0 = find_runs(x.codec, x.slot, x.nodes, node, 0, scratch)
        num1 = find_runs(x.codec, x.slot, x.nodes, node, 1, scratch)
        for type0 in range(num0):
            for type1 in range(type0 if x.nodes.is_symmetric[node] else 0, num1):
                load_branch(x, node, type0, type1, scratch)
                bound_branch(x.slot, scratch, counts)


@njit(cache=True, nogil=True)
def bound_branch(slot, scratch, counts):
    """Add the branch on the scratch board to ``counts``."""
    kind, decider = classify(scratch.board, slot)
    shows = 0 if kind == FORCED_FOLD else 1
    folds = 0 if kind == SHOW else 1
    children = folds + shows * span_runs(scratch, 0) * span_runs(scratch, 1)
    counts[NODES] += children
    counts[ENDS] += children
    for player in range(2):
        size = span_cells(scratch, player)
        shown = span_runs(scratch, 1 - player)
        steps = (folds + shows * shown) * size
        counts[CELLS + player] += steps
        if kind == CHOICE and decider == player:
            counts[INFOS + player] += size
            counts[MATCHES + player] += size * shown
        else:
            counts[EDGES + player] += steps


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
    branch = (decider, out.used[INFOS], out.used[MATCHES])
    if decider >= 0:
        branch = (decider, out.used[INFOS + decider], out.used[MATCHES + decider])
        add_infostates(x, decider, scratch, out.links, out.used, out.numbers)
    if kind != SHOW:
        add_child(x, node, player, nobody, False, scratch, out)
        link_child(branch, nobody, scratch, out)
    if kind == FORCED_FOLD:
        return
    types, span = scratch.types, scratch.span
    first0, first1 = types[0, type0], types[1, type1]
    for run0 in range(first0, types[0, type0 + 1]):
        for run1 in range(first1 + run0 - first0 if mirrored else first1, types[1, type1 + 1]):
            span[0, 0], span[0, 1] = run0, run0 + 1
            span[1, 0], span[1, 1] = run1, run1 + 1
            same = mirrored and run0 - first0 == run1 - first1
            add_child(x, node, nobody, decider, same, scratch, out)
            link_child(branch, run1 - first1 if decider == 0 else run0 - first0, scratch, out)


@njit(cache=True, nogil=True)
def add_infostates(x, decider, scratch, links, used, numbers):
    """Write the infostates of the branch in the span."""
    board = scratch.board
    other = 1 - decider
    faced = colour(board.tiles[other, x.slot]) * (x.codec.num_chips + 1)
    faced += board.chips[other, x.slot]
    size, shown = span_cells(scratch, decider), span_runs(scratch, other)
    cell = scratch.runs[decider, scratch.span[decider, 0]] - numbers[5 + decider]
    cell += numbers[decider]
    info = used[INFOS + decider]
    for i in range(size):
        links.info_cell[info + i] = cell + i
        links.info_faced[info + i] = faced
        links.info_width[info + i] = shown
    used[INFOS + decider] += size
    used[MATCHES + decider] += size * shown


@njit(cache=True, nogil=True)
def add_child(x, node, folder, payer, symmetric, scratch, out):
    """Write the child that the span leads to; leave in ``scratch.to`` where each cell goes.

    ``folder`` folds and ``payer`` matches; -1 for nobody.
    """
    codec, slot = x.codec, x.slot
    board = scratch.board
    load_span(x, node, scratch)
    tile0, stack0 = board.tiles[0, slot], board.chips[0, slot]
    tile1, stack1 = board.tiles[1, slot], board.chips[1, slot]
    if payer >= 0:
        pull_latest(board, payer, slot)
    settle(board, slot, folder)
    won0, won1 = board.winnings[0], board.winnings[1]
    if x.options.stop_when_decided and is_decided(won0, won1, codec.num_chips):
        add_end(utility(won0, codec.num_chips, x.options.is_win), scratch, out)
        return
    for player in range(2):
        purse = x.nodes.winnings[node, player] if player == payer else np.int64(-1)
        child_codes(codec, slot, x.nodes.cells, player, purse, scratch)
    board.winnings[0], board.winnings[1] = won0, won1
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


@njit(cache=True, nogil=True)
def child_codes(codec, slot, cells, player, purse, scratch):
    """Put into the scratch the next slot's codes of a side's span, and the order that sorts them.

    A side that pays the gap has ``purse`` winnings before it does; for the other that is -1.
    """
    board, codes = scratch.board, scratch.codes
    place = codec.powers[codec.num_tiles - 1 - slot]
    first = scratch.runs[player, scratch.span[player, 0]]
    width = span_cells(scratch, player)
    for i in range(width):
        code = cells[first + i]
        if purse >= 0:
            decode(codec, code, slot, player, board.tiles, board.chips)
            board.winnings[player] = purse
            pull_latest(board, player, slot)
            origin = code % codec.tail
            codes[player, i] = encode(codec, slot + 1, player, board.tiles, board.chips, origin)
        else:
            codes[player, i] = code % place
    sort_into(codes, scratch.order, player, width, scratch.spare)


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
        high = codes[player, order[player, span_cells(scratch, player) - 1]]
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
    for i in range(span_cells(scratch, player)):
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
    """Write an end worth ``value`` to side 0; every cell of the span leads to it."""
    end = out.used[ENDS]
    out.used[ENDS] += 1
    out.end_utility[end] = value
    for player in range(2):
        for i in range(span_cells(scratch, player)):
            scratch.to[player, i] = -1 - (out.numbers[4] + end)


@njit(cache=True, nogil=True)
def link_child(branch, shown, scratch, out):
    """Link the cells of the span to the child just written.

    ``branch`` holds the decider (or -1) and its first infostate and match there.  The decider's
    cells go by an action: a fold if ``shown`` is -1, else the match that shows the opponent's
    tile of that rank.
    """
    decider, first_info, first_match = branch
    links, used, to = out.links, out.used, scratch.to
    for player in range(2):
        size = span_cells(scratch, player)
        first = scratch.runs[player, scratch.span[player, 0]] - out.numbers[5 + player]
        first += out.numbers[player]
        if player != decider:
            edge = used[EDGES + player]
            for i in range(size):
                links.edge_from[edge + i] = first + i
                links.edge_to[edge + i] = to[player, i]
            used[EDGES + player] += size
            continue
        offset = first - links.info_cell[first_info]
        width = links.info_width[first_info]
        for i in range(offset, offset + size):
            if shown < 0:
                links.info_fold[first_info + i] = to[player, i - offset]
            else:
                links.match_to[first_match + i * width + shown] = to[player, i - offset]
