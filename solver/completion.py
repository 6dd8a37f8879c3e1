"""Setups drawn from a strategy so that they complete a half-placed board.

The draws are exact: from the strategy's own distribution given what has been placed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver.memoryless import condition_model
from solver.rules import Game, InputError
from solver.setups import PartialSetup, Setup, complete_setup
from solver.strategy import (
    BY_TILE,
    LISTED,
    MEMORYLESS,
    UNIFORM,
    Strategy,
    check_fits,
    draw_strategy_setup,
    setup_prob,
)

__all__ = ["DrawnSetups", "complete_from_strategy", "draw_setups"]


@dataclass(frozen=True)
class DrawnSetups:
    """Setups drawn from a strategy.

    Attributes
    ----------
    setups : tuple of Setup
        The draws, independent of each other.
    probabilities : tuple of float
        How likely the strategy is to place each (not given the half-placed board).
    known : bool
        False if the strategy never places such a board: then the draws are uniform over all
        completions.
    """

    setups: tuple[Setup, ...]
    probabilities: tuple[float, ...]
    known: bool


def draw_setups(
    strategy: Strategy, game: Game, *, partial: str = "", count: int = 1, seed: int | None = None
) -> DrawnSetups:
    """Draw setups to place, as ``blackwhite setup`` does.

    Parameters
    ----------
    strategy : Strategy
        For ``game``.
    game : Game
    partial : str
        A half-placed board to complete, such as ``8:4,?:1,?``; nothing for an empty one.
    count : int
        How many setups, at least 1.
    seed : int, optional
        Seed of the draws; left out, each call draws anew.

    Returns
    -------
    DrawnSetups
        The setups, and the probability with which the strategy places each.

    Raises
    ------
    InputError
        If the board is malformed or cannot be completed, or another argument is out of its range.

    Examples
    --------
    >>> from solver.bots import make_bot
    >>> game = Game(2, 3)
    >>> drawn = draw_setups(make_bot("bot:random", game), game, partial="1:?", count=2, seed=1)
    >>> [str(setup) for setup in drawn.setups]
    ['1:2,0:1', '1:1,0:2']
    >>> drawn.probabilities
    (0.25, 0.25)
    """
    check_fits(strategy, game)
    if count < 1:
        raise InputError(f"count {count}: draw at least 1")
    board = PartialSetup.parse(partial, game)
    return complete_from_strategy(strategy, board, game, np.random.default_rng(seed), count=count)


def complete_from_strategy(
    strategy: Strategy, partial: PartialSetup, game: Game, rng: np.random.Generator, *, count: int
) -> DrawnSetups:
    """Draw ``count`` completions of a half-placed board from a strategy.

    Examples
    --------
    >>> from solver.strategy import make_strategy
    >>> game = Game(2, 3)
    >>> board = PartialSetup.parse("1:2", game)
    >>> drawn = complete_from_strategy(
    ...     make_strategy(2, 3, True), board, game, np.random.default_rng(0), count=1
    ... )
    >>> str(drawn.setups[0]), round(drawn.probabilities[0], 6)
    ('1:2,0:1', 0.25)
    """
    if strategy.setup_kind == BY_TILE:
        by_tile = [_complete_by_tile(strategy.tile_chips, partial, rng) for _ in range(count)]
        if None not in by_tile:
            return _with_probabilities(strategy, [s for s in by_tile if s], known=True)
    given = _condition(strategy, partial)
    if given is None or strategy.setup_kind == UNIFORM:
        setups = [complete_setup(partial, game, rng) for _ in range(count)]
        return _with_probabilities(strategy, setups, known=given is not None)
    setups = []
    tiles, chips = np.zeros(game.num_tiles, np.int64), np.zeros(game.num_tiles, np.int64)
    for _ in range(count):
        draw_strategy_setup(given, rng, tiles, chips)
        setups.append(Setup.of_rows(tiles, chips))
    return _with_probabilities(strategy, setups, known=True)


def _complete_by_tile(
    tile_chips: NDArray[np.int64], partial: PartialSetup, rng: np.random.Generator
) -> Setup | None:
    """Put the tiles left where their fixed stacks fit, uniformly; None if they fit nowhere."""
    tiles = list(partial.tiles)
    left = [tile for tile in range(len(tile_chips)) if tile not in tiles]
    for tile, stack in zip(partial.tiles, partial.chips, strict=True):
        if tile is not None and stack is not None and tile_chips[tile] != stack:
            return None
    for slot, stack in enumerate(partial.chips):
        if tiles[slot] is None and stack is not None:
            fitting = [tile for tile in left if tile_chips[tile] == stack]
            if not fitting:
                return None
            tile = fitting[rng.integers(len(fitting))]
            tiles[slot] = tile
            left.remove(tile)
    rng.shuffle(left)
    tiles = [left.pop() if tile is None else tile for tile in tiles]
    placed = tuple(tile for tile in tiles if tile is not None)
    return Setup(placed, tuple(int(tile_chips[tile]) for tile in placed))


def _with_probabilities(strategy: Strategy, setups: list[Setup], *, known: bool) -> DrawnSetups:
    probs = tuple(
        float(setup_prob(strategy, np.array(s.tiles, np.int64), np.array(s.chips, np.int64)))
        for s in setups
    )
    return DrawnSetups(tuple(setups), probs, known)


def _condition(strategy: Strategy, partial: PartialSetup) -> Strategy | None:
    """Return the strategy given the half-placed board; None if it never places such a board."""
    placed = partial.placed
    if strategy.setup_kind == MEMORYLESS:
        model, total = condition_model(strategy.model, strategy.offsets, *placed)
        return strategy._replace(model=model) if total > 0 else None
    if strategy.setup_kind == LISTED:
        fits = placed.fits(strategy.setup_tiles, strategy.setup_chips)
        probs = np.diff(strategy.setup_cumulative, prepend=0.0)[fits]
        if not probs.sum() > 0:
            return None
        cumulative = np.cumsum(probs / probs.sum())
        return strategy._replace(
            setup_tiles=strategy.setup_tiles[fits],
            setup_chips=strategy.setup_chips[fits],
            setup_cumulative=cumulative / cumulative[-1],
        )
    return strategy if strategy.setup_kind == UNIFORM else None
