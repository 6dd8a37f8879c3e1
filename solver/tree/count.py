"""How large a game's public tree is, and what solving it takes, before it is built.

The first slots are expanded as in :func:`solver.tree.build_tree`, but of each slot's nodes only a
sample is carried on, drawn with probability in proportion to the pairs of cells a node holds and
weighted to match (Knuth 1975, with many probes at a time).  Below nodes drawn three slots before
the end everything is built and reduced, and measured.  Where every node fits in the samples, the
counts are exact.  Games whose setups cannot even be listed get lower bounds from their first slot,
which is counted by formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from solver.rules import Game
from solver.setups import count_setups
from solver.tree.bounds import judge_branch
from solver.tree.branch import Roots, expand_slot, grow_branch, sort_setups
from solver.tree.build import make_options, pairs_of_looks, record_of
from solver.tree.flat import Branch
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
)
from solver.tree.reduce import reduce_branch
from solver.tree.room import Expansion
from solver.tree.view import array_bytes

__all__ = ["SizeEstimate", "estimate_exact"]

MAX_SAMPLED_SETUPS = 50_000
"""Setups up to which the first slot is expanded; beyond, counts are lower bounds."""

_SAMPLE_CELLS = 200_000
_SAMPLE_NODES = 1_000_000
"""Cells of a slot that are carried on, and nodes below it that are built."""

_STATE_BYTES = 5 * 8
_UPPER_NODE_BYTES, _UPPER_INFO_BYTES, _SETUP_BYTES = 33, 16, 8 * 8
_LINK_BYTES = 8
"""A node, infostate and link of the first slots, and a setup."""

_SLACK = 1.1
"""Measured: what a process takes beside what its arrays hold."""

_BUILD_SECONDS, _BRANCH_SECONDS, _PASS_SECONDS = 2.8e-6, 2.5e-3, 11e-9
"""Measured, one thread: to build a public node, to begin a branch, and to pass over a number or a
link."""

_ITERATIONS = 2000
"""Measured on 3x6, 3x9, 4x6 and 4x8: 1,100 to 3,400 to the default target."""


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
        Public nodes, ends included, before anything is settled.
    num_infostates : int
        Match-or-fold decisions of the one strategy, settled ones included.
    num_open_infostates : int
        Those that are not settled beforehand; for games whose first slot alone is counted, all.
    num_bytes : int
        Most memory at any time while the tree is built and solved; writing out the result takes
        three to four times as much for a moment.
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
    num_open_infostates: int
    num_bytes: int
    build_seconds: float
    seconds: float


@dataclass
class _Counts:
    """Weighted sums over a sampled tree.

    ``tree_bytes`` is what solvers read, ``record_bytes`` what is kept beside it, ``raw_bytes`` all
    that is built before it is reduced, ``work`` what an iteration passes over.
    """

    nodes: float = 0.0
    infos: float = 0.0
    open_infos: float = 0.0
    tree_bytes: float = 0.0
    record_bytes: float = 0.0
    raw_bytes: float = 0.0
    work: float = 0.0

    def add(self, other: _Counts, weight: float) -> None:
        """Add another's sums, weighted."""
        for part in fields(self):
            value = getattr(self, part.name) + weight * getattr(other, part.name)
            setattr(self, part.name, value)


def estimate_exact(game: Game, *, seed: int = 0) -> SizeEstimate:
    """Estimate the size of a game's public tree and the work of solving it.

    Examples
    --------
    >>> estimate_exact(Game(3, 6)).num_infostates
    1760
    >>> estimate_exact(Game(10, 30)).kind
    'lower bound'
    """
    num_setups = count_setups(game)
    codec = make_codec(game.num_tiles, game.num_chips, 1)
    if codec is None or num_setups > MAX_SAMPLED_SETUPS:
        return first_slot(game, num_setups)
    roots = sort_setups(game, codec)
    counts, is_exact = sample_tree(game, codec, roots, np.random.default_rng(seed))
    looks = np.diff(roots.look_start)
    largest = looks.max() ** 2 / (looks.sum() ** 2 / 2)  # branch's share of all pairs of setups
    buffers = 4 * 8 * largest * counts.infos
    size = (
        counts.tree_bytes
        + counts.record_bytes
        + counts.open_infos * _STATE_BYTES
        + num_setups * _SETUP_BYTES
        + max(buffers, largest * counts.raw_bytes)
    )
    kind: Literal["exact", "sampled"] = "exact" if is_exact else "sampled"
    num_branches = len(pairs_of_looks(len(looks), True))
    return summary(game, kind, num_setups, counts, _SLACK * size, num_branches)


def summary(
    game: Game,
    kind: Literal["exact", "sampled", "lower bound"],
    num_setups: int,
    counts: _Counts,
    num_bytes: float,
    num_branches: int = 0,
) -> SizeEstimate:
    """Return the estimate, with the time that building and iterations take."""
    nodes = min(counts.nodes, 1e200)
    build = nodes * _BUILD_SECONDS + num_branches * _BRANCH_SECONDS
    return SizeEstimate(
        game,
        kind,
        num_setups,
        num_nodes=round(counts.nodes),
        num_infostates=round(counts.infos),
        num_open_infostates=round(counts.open_infos),
        num_bytes=round(num_bytes),
        build_seconds=float(build),
        seconds=float(build + _ITERATIONS * min(counts.work, 1e200) * _PASS_SECONDS),
    )


def first_slot(game: Game, num_setups: int) -> SizeEstimate:
    """Return the public nodes and infostates of the first slot alone, as lower bounds.

    Every unequal pair of stacks can be matched there, since what a player did not stack is spare.
    """
    n, most = game.num_tiles, game.num_chips - game.num_tiles + 1
    colours = min(n, 2)
    nodes = most * (most - 1) // 2 * (colours**2 + n * n) + most * n * (n + 1) // 2
    infos = math.factorial(n) * colours * (n - 1) * math.comb(game.num_chips - 1, n)
    size = num_setups * _SETUP_BYTES + nodes * _UPPER_NODE_BYTES + infos * _UPPER_INFO_BYTES
    counts = _Counts(nodes=nodes, infos=infos, open_infos=infos, work=infos)
    return summary(game, "lower bound", num_setups, counts, size)


def sample_tree(
    game: Game, codec: Codec, roots: Roots, rng: np.random.Generator
) -> tuple[_Counts, bool]:
    """Return the sums over a game's tree from samples of each slot's nodes, and if they are all."""
    options = make_options(game, (game.pulls, game.pulls), True, True)
    total = _Counts()
    nodes, weights = whole_root(roots), np.ones(1)
    slots = max(min(1, game.num_tiles - 2), game.num_tiles - 3, 0)
    is_exact = True
    for slot in range(slots):
        total.nodes += weights.sum()
        chosen, factors = draw_nodes(nodes, weights, _SAMPLE_CELLS, rng)
        is_exact &= len(chosen) == len(weights)
        nodes, weights = take_nodes(nodes, chosen), weights[chosen] * factors
        nodes, weights = expand_sample(codec, options, slot, nodes, weights, total)
    pilot, _ = draw_nodes(nodes, weights, _SAMPLE_CELLS // 20, rng)
    sizes = [measure(codec, options, slots, nodes, node) for node in pilot[:: len(pilot) // 8 + 1]]
    each = max(float(np.mean([size.nodes for size in sizes])), 1.0)
    cells = widths(nodes).sum()
    share = min(1.0, _SAMPLE_NODES / (each * len(weights)))
    chosen, factors = draw_nodes(nodes, weights, int(share * cells) + 1, rng)
    is_exact &= len(chosen) == len(weights)
    for node, factor in zip(chosen, factors, strict=True):
        total.add(measure(codec, options, slots, nodes, int(node)), weights[node] * factor)
    return total, bool(is_exact)


def whole_root(roots: Roots) -> Nodes:
    """Return the root with all setups on both sides."""
    num = len(roots.cells)
    return Nodes(
        np.array([[0, num], [num, 2 * num]], np.int64),
        np.concatenate([roots.cells, roots.cells]),
        np.zeros((1, 2), np.int16),
        np.ones(1, np.bool_),
        np.full(1, -1, np.int32),
        np.zeros((1, 5), np.int16),
    )


def measure(codec: Codec, options: Options, slot: int, nodes: Nodes, node: int) -> _Counts:
    """Build and reduce what lies below a node; return its sums."""
    root = take_nodes(nodes, np.array([node]))
    raw = grow_branch(codec, options, root, first_slot=slot)
    has_payments = options.pulls != (0, 0)
    rest = reduce_branch(raw, judge_branch(raw, True), has_payments=has_payments, fold_endings=True)
    record = record_of(raw, rest)
    return _Counts(
        nodes=record.num_nodes,
        infos=sum(int(info[-1]) for info in record.last_info),
        open_infos=sum(side.num_infos for side in rest.branch.sides),
        tree_bytes=array_bytes(rest.branch),
        record_bytes=array_bytes(*vars(record).values()),
        raw_bytes=array_bytes(raw),
        work=branch_work(rest.branch),
    )


def branch_work(branch: Branch) -> int:
    """Return how many numbers and links an iteration passes over."""
    links = sum(
        len(part)
        for side in branch.sides
        for part in (side.info_cell, side.match_to, side.edge_to, side.block_cell, side.block_to)
    )
    return links + len(branch.payoff) + len(branch.end_utility)


def expand_sample(
    codec: Codec,
    options: Options,
    slot: int,
    nodes: Nodes,
    weights: NDArray[np.float64],
    total: _Counts,
) -> tuple[Nodes, NDArray[np.float64]]:
    """Expand sampled nodes, add to ``total``; return the children and their weights."""
    x = Expansion(codec, options, slot, nodes)
    marks = np.empty((len(weights) + 1, NUM_COUNTS), np.int64)
    out, _ = expand_slot(x, np.zeros(7, np.int64), marks)
    found = weights @ np.diff(marks, axis=0)
    infos = found[INFOS] + found[INFOS + 1]
    links = found[EDGES] + found[EDGES + 1] + found[MATCHES] + found[MATCHES + 1]
    total.nodes += found[ENDS]
    total.infos += infos
    total.open_infos += infos
    total.tree_bytes += infos * _UPPER_INFO_BYTES + links * _LINK_BYTES
    total.record_bytes += found[NODES] * _UPPER_NODE_BYTES + infos * _UPPER_INFO_BYTES
    total.work += infos + links
    num = out.used[NODES]
    children = Nodes(
        out.nodes.start[:, : num + 1].copy(),
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
    nodes: Nodes, weights: NDArray[np.float64], max_cells: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return which nodes to carry on, and by what to multiply their weights.

    Sampling is systematic: one random start, equal steps through the summed sizes.
    """
    sizes = widths(nodes)
    if sizes.sum() <= max_cells:
        return np.arange(len(weights)), np.ones(len(weights))
    shares = weights * sizes[0] * sizes[1]
    shares /= shares.sum()
    typical = (shares * sizes.sum(axis=0)).sum()
    num = max(1, min(len(weights), int(max_cells / typical)))
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
