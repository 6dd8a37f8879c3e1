"""Whom advice is against: a strategy, and setups that this opponent was seen to place before.

The opponent draws its setup afresh in every game, from a distribution of its own that nobody
knows.  Before any game it is taken to be a Dirichlet distribution around the strategy's setups,
worth ``prior`` games; after setups were seen, the next one has the posterior mean
``(prior * strategy + counts) / (prior + total)``.  Decisions stay the strategy's, also with setups
that the strategy never places: answers that were seen teach nothing here.

A setup of which only a part was seen counts as every setup that fits, shared out by the strategy's
probabilities given that part (alike, if the strategy places none of them).  For one such setup that
is the posterior mean; with several, what one of them tells about the hidden part of another is left
out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver.advice.observations import SeenSetup
from solver.rules import Game, InputError
from solver.setups import list_compositions
from solver.strategy import Strategy, check_fits, setup_prob

__all__ = ["DEFAULT_PRIOR", "MAX_ROWS", "TABLE", "Observed", "Opponent", "observe_setups"]

TABLE = "table"
"""Name of an opponent who plays the strategy of the player who asks."""
DEFAULT_PRIOR = 20.0
"""How many games the strategy counts for beside the setups that were seen."""
MAX_ROWS = 100_000
"""Most setups that what was seen may stand for, all together."""


@dataclass(frozen=True)
class Observed:
    """Setups seen of an opponent, and how much they count.

    Attributes
    ----------
    tiles, chips : ndarray of int64, shape (rows, N)
        Setups as placed.
    counts : ndarray of float64, shape (rows,)
        How often each was seen; parts of 1 where it was not seen whole.
    prior : float
        How many games the strategy counts for.
    """

    tiles: NDArray[np.int64]
    chips: NDArray[np.int64]
    counts: NDArray[np.float64]
    prior: float

    @property
    def total(self) -> float:
        """How many setups were seen."""
        return float(round(self.counts.sum(), 6))

    @property
    def share(self) -> float:
        """Probability that the next setup is one of these, rather than the strategy's."""
        return self.total / (self.prior + self.total)

    @property
    def probs(self) -> NDArray[np.float64]:
        """Probability of each row if the next setup is one of them, shape (rows,)."""
        return self.counts / self.counts.sum()


@dataclass(frozen=True)
class Opponent:
    """What an opponent is taken to play.

    Attributes
    ----------
    name : str
        For the answer.
    strategy : Strategy
        Its decisions, and its setups but for those observed.
    observed : Observed or None
        Setups that it placed before.
    """

    name: str
    strategy: Strategy
    observed: Observed | None = None


def observe_setups(
    seen: Sequence[SeenSetup], strategy: Strategy, game: Game, *, prior: float = DEFAULT_PRIOR
) -> Observed:
    """Return what setups that were seen, wholly or in part, count beside a strategy.

    Parameters
    ----------
    seen : sequence of SeenSetup
        At least one.
    strategy : Strategy
        What the opponent is taken to draw its other setups from; it completes half-seen ones.
    game : Game
        The game of both.
    prior : float
        How many games the strategy counts for, above 0.

    Raises
    ------
    InputError
        If an argument is outside its range, or too many setups fit.

    Examples
    --------
    >>> from solver.advice.observations import parse_observations
    >>> from solver.strategy import make_strategy
    >>> game = Game(2, 3)
    >>> seen = parse_observations("1:2,0:1 x3\\nb,w", game)
    >>> observed = observe_setups(seen, make_strategy(2, 3, True), game, prior=4)
    >>> observed.tiles.tolist(), observed.chips.tolist(), observed.counts.tolist()
    ([[1, 0], [0, 1], [0, 1]], [[2, 1], [1, 2], [2, 1]], [3.0, 0.5, 0.5])
    >>> observed.share
    0.5
    """
    if not (math.isfinite(prior) and prior > 0):
        raise InputError(f"prior {prior:g}: a number of games above 0 is needed")
    if not seen:
        raise InputError("observations: at least one setup is needed")
    check_fits(strategy, game)
    num_rows = 0
    for one in seen:
        num_fitting = one.count_completions(game)
        if num_fitting == 0:
            raise InputError(f"{one.place}: no setup of {game.name} has such colours")
        num_rows += num_fitting
        if num_rows > MAX_ROWS:
            raise InputError(
                f"{one.place}: {num_fitting:,} setups fit, {num_rows:,} with those before it; "
                f"at most {MAX_ROWS:,} can be weighed, so more tiles or stacks are needed"
            )
    tiles, chips, counts = [], [], []
    for one in seen:
        rows, stacks = _completions(one, game)
        probs = np.ones(1)
        if len(rows) > 1:
            probs = np.array([setup_prob(strategy, *row) for row in zip(rows, stacks, strict=True)])
            probs = probs / probs.sum() if probs.sum() > 0 else np.full(len(rows), 1 / len(rows))
        tiles.append(rows[probs > 0])
        chips.append(stacks[probs > 0])
        counts.append(one.count * probs[probs > 0])
    return Observed(np.concatenate(tiles), np.concatenate(chips), np.concatenate(counts), prior)


def _completions(seen: SeenSetup, game: Game) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every setup that fits what was seen as ``(tiles, chips)``, of shape (setups, N)."""
    orders = np.array(list(_orders(seen, (), game.num_tiles)), np.int64)
    is_open = np.array([stack is None for stack in seen.chips])
    stacks = np.array([[stack or 0 for stack in seen.chips]], np.int64)
    if is_open.any():
        fillings = list_compositions(int(game.num_chips - stacks.sum()), int(is_open.sum()))
        stacks = np.repeat(stacks, len(fillings), axis=0)
        stacks[:, is_open] = fillings
    return np.repeat(orders, len(stacks), axis=0), np.tile(stacks, (len(orders), 1))


def _orders(seen: SeenSetup, placed: tuple[int, ...], num_tiles: int) -> Iterator[tuple[int, ...]]:
    """Give every order of the tiles that starts with ``placed`` and fits what was seen."""
    slot = len(placed)
    if slot == num_tiles:
        yield placed
        return
    known = seen.tiles[slot]
    for tile in range(num_tiles):
        is_free = tile not in placed and tile not in seen.tiles
        if tile == known or (known is None and is_free and seen.colours[slot] in (None, tile % 2)):
            yield from _orders(seen, (*placed, tile), num_tiles)
