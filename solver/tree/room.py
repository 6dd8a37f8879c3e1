"""What a slot's branches are made of, and how much room their expansion takes.

Both the count before an expansion and the expansion itself look at a node the same way: cells in
runs and types, a pair of types on a scratch board, the ways to pay a gap.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import njit

from solver.rules import (
    CHOICE,
    FORCED_FOLD,
    FREE,
    LATEST,
    SHOW,
    classify,
    first_payment,
    gap_at,
    next_payment,
    pull,
    pull_latest,
    spare_chips,
)
from solver.tree.parts import (
    CELLS,
    EDGES,
    ENDS,
    INFOS,
    MATCHES,
    NODES,
    Codec,
    Nodes,
    Options,
    decode,
    encode,
)

__all__ = [
    "Expansion",
    "bound_level",
    "find_runs",
    "list_ways",
    "load_branch",
    "load_span",
    "span_cells",
    "span_runs",
    "totals_of",
]


class Expansion(NamedTuple):
    """What an expansion reads: how cells are packed, the options, and one slot's nodes."""

    codec: Codec
    options: Options
    slot: int
    nodes: Nodes


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
    """Add to ``counts`` (int64, shape (NUM_COUNTS,)) the room that the expansion takes at most.

    Returns the largest number of ways to pay that the cells of a branch have together.
    """
    most = 0
    for node in range(x.nodes.winnings.shape[0]):
        num0 = find_runs(x.codec, x.slot, x.nodes, node, 0, scratch)
        num1 = find_runs(x.codec, x.slot, x.nodes, node, 1, scratch)
        for type0 in range(num0):
            for type1 in range(type0 if x.nodes.is_symmetric[node] else 0, num1):
                load_branch(x, node, type0, type1, scratch)
                most = max(most, bound_branch(x, node, scratch, counts))
    return most


@njit(cache=True, nogil=True)
def bound_branch(x, node, scratch, counts):
    """Add the branch on the scratch board to ``counts``; return how many ways to pay it has."""
    kind, decider = classify(scratch.board, x.slot)
    ways, totals = 0, 1
    if kind == CHOICE:
        ways = count_ways(x, node, decider, scratch)
        load_span(x, node, scratch)
        least, most = totals_of(x, decider, scratch.board)
        totals = most - least + 1
    shows = 0 if kind == FORCED_FOLD else totals
    folds = 0 if kind == SHOW else 1
    children = folds + shows * span_runs(scratch, 0) * span_runs(scratch, 1)
    counts[NODES] += children
    counts[ENDS] += children
    for player in range(2):
        size = span_cells(scratch, player)
        shown = span_runs(scratch, 1 - player)
        if kind == CHOICE and decider == player:
            counts[INFOS + player] += size
            counts[MATCHES + player] += ways * shown
            counts[CELLS + player] += folds * size + ways * shown
        else:
            counts[EDGES + player] += (folds + shows * shown) * size
            counts[CELLS + player] += (folds + shows * shown) * size
    return ways


@njit(cache=True, nogil=True)
def totals_of(x, payer, board):
    """Return the least and most chips that a match may take from later tiles; both see which."""
    gap = gap_at(board.chips[0, x.slot], board.chips[1, x.slot])
    least = max(gap - board.winnings[payer], 0)
    if x.options.pulls[payer] != FREE:
        return least, least
    return least, min(gap, spare_chips(board.chips[payer], x.slot))


@njit(cache=True, nogil=True)
def count_ways(x, node, payer, scratch):
    """Return how many ways to pay the cells of the payer's span have together."""
    size = span_cells(scratch, payer)
    if x.options.pulls[payer] == LATEST:
        return size
    board, taken = scratch.board, scratch.taken
    first = scratch.runs[payer, scratch.span[payer, 0]]
    ways = 0
    for i in range(size):
        decode(x.codec, x.nodes.cells[first + i], x.slot, payer, board.tiles, board.chips)
        board.winnings[payer] = x.nodes.winnings[node, payer]
        first_payment(board, payer, x.slot, taken)
        ways += 1
        while next_payment(board, payer, x.slot, x.options.pulls[payer], taken):
            ways += 1
    return ways


@njit(cache=True, nogil=True)
def list_ways(x, node, payer, scratch):
    """Fill the scratch with the ways to pay of each cell of the payer's span."""
    codec, slot, pulls = x.codec, x.slot, x.options.pulls[payer]
    board, taken = scratch.board, scratch.taken
    first = scratch.runs[payer, scratch.span[payer, 0]]
    winnings = x.nodes.winnings[node, payer]
    ways = 0
    for i in range(span_cells(scratch, payer)):
        code = x.nodes.cells[first + i]
        scratch.way_start[i] = ways
        decode(codec, code, slot, payer, board.tiles, board.chips)
        board.winnings[payer] = winnings
        first_payment(board, payer, slot, taken)
        more = True
        while more:
            if pulls == LATEST:
                pull_latest(board, payer, slot)
            else:
                pull(board, payer, slot, taken)
            scratch.way_total[ways] = board.pulled[payer, slot]
            scratch.way_code[ways] = encode(
                codec, slot + 1, payer, board.tiles, board.chips, code % codec.tail
            )
            ways += 1
            if pulls == LATEST:
                break
            decode(codec, code, slot, payer, board.tiles, board.chips)
            board.winnings[payer] = winnings
            more = next_payment(board, payer, slot, pulls, taken)
    scratch.way_start[span_cells(scratch, payer)] = ways
