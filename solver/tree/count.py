"""How large a game's public tree is, before it is built.

Slots are expanded as in :func:`solver.tree.build_tree`, but of each slot's nodes only a sample is
carried on, drawn with probability in proportion to the pairs of cells a node holds and weighted to
match, so that all counts are unbiased (Knuth 1975, with many probes at a time).  Where every node
fits in the sample the counts are exact.  Games whose setups cannot even be listed get lower
bounds from their first slot, which is counted by formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from solver.rules import Game, InputError
from solver.setups import count_setups
from solver.tree.build import root_level
from solver.tree.expand import Expansion, bound_level, expand_level, new_output
from solver.tree.last import price_last
from solver.tree.parts import (
    EDGES,
    ENDS,
    INFOS,
    MATCHES,
    NODES,
    NUM_COUNTS,
    Codec,
    Nodes,
    Options,
    make_codec,
    new_scratch,
)

__all__ = ["SizeEstimate", "estimate_exact"]

MAX_SAMPLED_SETUPS = 50_000
"""Setups up to which the first slot is expanded; beyond, counts are lower bounds."""

_SAMPLE_CELLS = 200_000

_NODE_BYTES, _LAST_NODE_BYTES = 33, 70
_CELL_BYTES, _LAST_CELL_BYTES, _END_BYTES = 8 + 16, 1 + 16, 8 + 32
_INFO_BYTES, _LAST_INFO_BYTES = 16 + 40, 40
_MATCH_BYTES, _EDGE_BYTES, _SETUP_BYTES = 4, 8, 32

_BUILD_SECONDS, _PASS_SECONDS = 1.5e-6, 25e-9
"""Measured, a public node: to build it, and to pass over it in an iteration."""


@dataclass(frozen=True)
class SizeEstimate:
    """What solving a game exactly takes, in the tree of one strategy for both seats.

    Attributes
    ----------
    game : Game
    kind : {'exact', 'sampled', 'lower bound'}
        What the counts are; memory and time follow from them.
    num_setups : int
        Of a player; always exact.
    num_nodes : int
        Public nodes, ends included.
    num_infostates : int
        Match-or-fold decisions of the one strategy.
    num_bytes : int
        Memory of the tree and the solver's arrays while it runs.  Building the tree and writing
        out the result take up to as much again for a moment.
    build_seconds : float
        One thread, the tree alone.
    seconds : float
        One thread, tree and iterations to the default target of
        :func:`solver.cfr.solve_exact`; right within a factor of about two where
        counts are not bounds.
    """

    game: Game
    kind: Literal["exact", "sampled", "lower bound"]
    num_setups: int
    num_nodes: int
    num_infostates: int
    num_bytes: int
    build_seconds: float
    seconds: float


def estimate_exact(game: Game, *, seed: int = 0) -> SizeEstimate:
    """Estimate the size of a game's public tree and the work of solving it.

    Raises
    ------
    InputError
        If ``pulls`` is not ``latest``.

    Examples
    --------
    >>> estimate_exact(Game(3, 6)).num_infostates
    1760
    >>> estimate_exact(Game(10, 30)).kind
    'lower bound'
    """
    if game.pulls != "latest":
        raise InputError(f"pulls {game.pulls!r}: the exact tree takes pulls 'latest' only")
    num_setups = count_setups(game)
    codec = make_codec(game.num_tiles, game.num_chips, 1)
    if codec is None or num_setups > MAX_SAMPLED_SETUPS:
        return first_slot(game, num_setups)
    counts = sample_tree(game, codec, np.random.default_rng(seed))
    size = (
        counts.upper_nodes * _NODE_BYTES
        + counts.last_nodes * _LAST_NODE_BYTES
        + counts.upper_cells * _CELL_BYTES
        + counts.last_cells * _LAST_CELL_BYTES
        + counts.ends * _END_BYTES
        + counts.upper_infos * _INFO_BYTES
        + counts.last_infos * _LAST_INFO_BYTES
        + counts.matches * _MATCH_BYTES
        + counts.edges * _EDGE_BYTES
        + num_setups * _SETUP_BYTES
    )
    nodes = counts.upper_nodes + counts.last_nodes + counts.ends + counts.last_ends
    infos = counts.upper_infos + counts.last_infos
    kind: Literal["exact", "sampled"] = "exact" if counts.is_exact else "sampled"
    return summary(game, kind, num_setups, nodes, infos, size)


def summary(
    game: Game,
    kind: Literal["exact", "sampled", "lower bound"],
    num_setups: int,
    nodes: float,
    infos: float,
    size: float,
) -> SizeEstimate:
    """Return the estimate, with the time that so many nodes and infostates take."""
    work = min(max(nodes, 2 * infos), 1e200)
    iterations = 20 + 95 * min(infos, 1e200) ** 0.28  # fitted to 3x6, 4x6 and 4x8
    seconds = work * (_BUILD_SECONDS + iterations * _PASS_SECONDS)
    return SizeEstimate(
        game,
        kind,
        num_setups,
        num_nodes=round(nodes),
        num_infostates=round(infos),
        num_bytes=round(size),
        build_seconds=float(work * _BUILD_SECONDS),
        seconds=float(seconds),
    )


def first_slot(game: Game, num_setups: int) -> SizeEstimate:
    """Return the public nodes and infostates of the first slot alone, as lower bounds.

    Every unequal pair of stacks can be matched there, since what a player did not stack is spare.
    """
    n, most = game.num_tiles, game.num_chips - game.num_tiles + 1
    colours = min(n, 2)
    nodes = most * (most - 1) // 2 * (colours**2 + n * n) + most * n * (n + 1) // 2
    infos = math.factorial(n) * colours * (n - 1) * math.comb(game.num_chips - 1, n)
    size = num_setups * _SETUP_BYTES + nodes * _NODE_BYTES + infos * _INFO_BYTES
    return summary(game, "lower bound", num_setups, nodes, infos, size)


@dataclass
class _Counts:
    """Weighted counts of a sampled tree."""

    is_exact: bool = True
    upper_nodes: float = 0.0
    last_nodes: float = 0.0
    upper_cells: float = 0.0
    last_cells: float = 0.0
    ends: float = 0.0
    last_ends: float = 0.0
    upper_infos: float = 0.0
    last_infos: float = 0.0
    matches: float = 0.0
    edges: float = 0.0


def sample_tree(game: Game, codec: Codec, rng: np.random.Generator) -> _Counts:
    """Return the counts of a game's tree from samples of each slot's nodes."""
    options = Options(game.is_win, game.is_win, True)
    nodes, root_setup = root_level(game, codec, True)
    scratch = new_scratch(game.num_tiles, len(root_setup))
    weights = np.ones(1)
    counts = _Counts()
    for slot in range(game.num_tiles - 1):
        counts.upper_nodes += weights.sum()
        counts.upper_cells += (weights * widths(nodes).sum(axis=0)).sum()
        chosen, factors = draw_nodes(nodes, weights, rng)
        counts.is_exact &= len(chosen) == len(weights)
        nodes, weights = take_nodes(nodes, chosen), weights[chosen] * factors
        nodes, weights = expand_sample(codec, options, slot, nodes, weights, scratch, counts)
    counts.last_nodes = weights.sum()
    counts.last_cells = (weights * widths(nodes).sum(axis=0)).sum()
    num = len(weights)
    last_infos = np.zeros((2, num + 1), np.int64)
    num_ends = np.empty(num, np.int64)
    price_last(
        codec, options, nodes, scratch, np.empty(num, np.int8), np.empty((num, 4), np.float32),
        np.empty((num, 2), np.int16), last_infos, np.empty(len(nodes.cells), np.int8), num_ends,
    )  # fmt: skip
    counts.last_ends = (weights * num_ends).sum()
    counts.last_infos = (weights * np.diff(last_infos, axis=1).sum(axis=0)).sum()
    return counts


def expand_sample(codec, options, slot, nodes, weights, scratch, counts):
    """Expand sampled nodes, add to ``counts``; return the children and their weights."""
    x = Expansion(codec, options, slot, nodes)
    room = np.zeros(NUM_COUNTS, np.int64)
    bound_level(x, scratch, room)
    out = new_output(room, np.zeros(7, np.int64))
    marks = np.empty((len(weights) + 1, NUM_COUNTS), np.int64)
    expand_level(x, scratch, out, marks)
    found = weights @ np.diff(marks, axis=0)
    counts.ends += found[ENDS]
    counts.upper_infos += found[INFOS] + found[INFOS + 1]
    counts.matches += found[MATCHES] + found[MATCHES + 1]
    counts.edges += found[EDGES] + found[EDGES + 1]
    num = out.used[NODES]
    children = Nodes(
        out.nodes.start[:, : num + 1],
        out.nodes.cells,
        out.nodes.winnings[:num],
        out.nodes.is_symmetric[:num],
        out.nodes.parent[:num],
        out.nodes.event[:num],
    )
    return children, weights[children.parent]


def widths(nodes: Nodes) -> NDArray[np.int64]:
    """Return how many cells each node has, int64 of shape (2, nodes)."""
    return np.diff(nodes.start, axis=1)


def draw_nodes(
    nodes: Nodes, weights: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return which nodes to carry on, and by what to multiply their weights.

    Sampling is systematic: one random start, equal steps through the summed sizes.
    """
    sizes = widths(nodes)
    num_cells = sizes.sum()
    if num_cells <= _SAMPLE_CELLS:
        return np.arange(len(weights)), np.ones(len(weights))
    shares = weights * sizes[0] * sizes[1]
    shares /= shares.sum()
    typical = (shares * sizes.sum(axis=0)).sum()
    num = max(1, min(len(weights), int(_SAMPLE_CELLS / typical)))
    places = (rng.random() + np.arange(num)) / num
    drawn = np.minimum(np.searchsorted(np.cumsum(shares), places), len(shares) - 1)
    chosen, times = np.unique(drawn, return_counts=True)
    return chosen, times / (num * shares[chosen])


def take_nodes(nodes: Nodes, chosen: NDArray[np.int64]) -> Nodes:
    """Return some of the nodes, with their cells."""
    sizes = widths(nodes)[:, chosen]
    start = np.concatenate([np.zeros((2, 1), np.int64), np.cumsum(sizes, axis=1)], axis=1)
    start[1] += start[0, -1]
    cells = [
        nodes.cells[nodes.start[side, node] : nodes.start[side, node + 1]]
        for side in range(2)
        for node in chosen
    ]
    return Nodes(
        start,
        np.concatenate(cells),
        nodes.winnings[chosen],
        nodes.is_symmetric[chosen],
        nodes.parent[chosen],
        nodes.event[chosen],
    )
