"""What setups are worth against a strategy, and how one of them ranks among the strategy's own.

Where the strategy's setups can be listed and are few, everything is exact: a setup is worth what
it earns if the player goes on as well as possible (:func:`solver.advice.reply.setup_value`).  Else
setups drawn from the strategy and the one in question all play against the same drawn opponents
with the same luck, so that most of it cancels in comparisons, and both players decide as the
strategy does.  A drawn setup's value has a sampling error of its own; where it is as large as the
spread of the values, shares are drawn towards one half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.advice.posterior import Holdings, list_strategy_setups
from solver.advice.reply import setup_value
from solver.rules import (
    CHOICE,
    Game,
    InputError,
    classify,
    new_board,
    pull_latest,
    settle,
    utility,
)
from solver.setups import Setup
from solver.strategy import Strategy, check_fits, draw_strategy_setup, match_prob, setup_prob

__all__ = ["Field", "Standing", "new_field", "rank_setup", "same_margin"]

MAX_PAIRS = 1_000_000
"""Most pairs of setups for which the whole field is valued exactly."""

NUM_SETUPS, NUM_OPPONENTS = 100, 4_000
"""Setups drawn from the strategy otherwise, and opponents that each of them meets."""


@dataclass(frozen=True)
class Standing:
    """How a setup does against a strategy, beside the strategy's own setups.

    Attributes
    ----------
    value : float
        Utility of the player who places it.
    ci95 : tuple of float or None
        95% confidence interval of ``value`` where it was sampled.
    table_value : float
        The same of the strategy's own setups, on average.
    share_worse, share_better : float
        How likely the strategy is to place a setup of lower, of higher value.
    share_worse_ci95 : tuple of float or None
        95% confidence interval of ``share_worse`` where setups were drawn (Wilson).
    table_probability : float
        How likely the strategy is to place this very setup.
    method : str
        How the values were found.
    """

    value: float
    ci95: tuple[float, float] | None
    table_value: float
    share_worse: float
    share_better: float
    share_worse_ci95: tuple[float, float] | None
    table_probability: float
    method: str

    def to_json(self) -> dict[str, object]:
        """Return the fields as plain values for JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
        }


class Field(NamedTuple):
    """A strategy's own setups and what they are worth, to rank others among.

    Attributes
    ----------
    strategy : Strategy
        The strategy.
    game : Game
        Its game.
    values : ndarray of float64, shape (setups,)
        Utility of the player who places each.
    weights : ndarray of float64, shape (setups,)
        Probabilities that sum to 1.
    holdings : Holdings or None
        The strategy's setups, where values are exact.
    opponents : tuple of ndarray of int64, each of shape (opponents, N)
        Else: tiles and chips of the opponents that every setup meets.
    luck : ndarray of float64, shape (opponents, N)
        The random number that decides each slot against each opponent.
    """

    strategy: Strategy
    game: Game
    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    holdings: Holdings | None
    opponents: tuple[NDArray[np.int64], NDArray[np.int64]]
    luck: NDArray[np.float64]


def same_margin(game: Game) -> float:
    """Return by how much values must differ to count as different.

    It is the exploitability at which exact solves stop: 1e-4 of what is played for.
    """
    return 1e-4 * (1 if game.is_win else game.num_chips)


def new_field(strategy: Strategy, game: Game, *, seed: int = 0) -> Field:
    """Value a strategy's own setups against it.

    Parameters
    ----------
    strategy : Strategy
        For ``game``.
    game : Game
        With ``pulls='latest'``.
    seed : int
        Seed of what is drawn.

    Raises
    ------
    InputError
        If an argument is outside its range.
    """
    if game.pulls != "latest":
        raise InputError(f"pulls {game.pulls!r}: setups are ranked with latest")
    check_fits(strategy, game)
    n = game.num_tiles
    none = np.zeros((0, n), np.int64)
    listed = list_strategy_setups(strategy, game, math.isqrt(MAX_PAIRS))
    if listed is not None:
        kept = listed.weights > 0
        weights = listed.weights[kept]
        own = Holdings(listed.tiles[kept], listed.chips[kept], weights / weights.sum())
        if len(own.weights) ** 2 <= MAX_PAIRS:
            rows = zip(own.tiles, own.chips, strict=True)
            values = np.array([setup_value(strategy, Setup.of_rows(*row), own) for row in rows])
            return Field(strategy, game, values, own.weights, own, (none, none), np.zeros((0, n)))
    rng = np.random.default_rng(seed)
    opponents = np.zeros((2, NUM_OPPONENTS, n), np.int64)
    setups = np.zeros((2, NUM_SETUPS, n), np.int64)
    _draw_setups(strategy, rng, opponents[0], opponents[1])
    _draw_setups(strategy, rng, setups[0], setups[1])
    luck = rng.random((NUM_OPPONENTS, n))
    utilities = np.zeros((NUM_SETUPS, NUM_OPPONENTS))
    met = (opponents[0], opponents[1])
    _play_setups(strategy, setups[0], setups[1], *met, luck, utilities)
    weights = np.full(NUM_SETUPS, 1 / NUM_SETUPS)
    return Field(strategy, game, utilities.mean(axis=1), weights, None, met, luck)


def rank_setup(field: Field, setup: Setup) -> Standing:
    """Return how a setup does against the field's strategy, beside the strategy's own.

    Examples
    --------
    >>> from solver.bots import make_bot
    >>> game = Game(2, 3)
    >>> standing = rank_setup(new_field(make_bot("bot:random", game), game), Setup((1, 0), (2, 1)))
    >>> standing.value, standing.share_worse, standing.share_better
    (0.5, 0.75, 0.0)
    """
    strategy = field.strategy
    tiles, chips = np.array([setup.tiles], np.int64), np.array([setup.chips], np.int64)
    ci95 = share_ci95 = None
    if field.holdings is not None:
        value = setup_value(strategy, setup, field.holdings)
        method = f"exact: all {len(field.values):,} setups of the table, played on best"
    else:
        utilities = np.zeros((1, len(field.luck)))
        _play_setups(strategy, tiles, chips, *field.opponents, field.luck, utilities)
        value = float(utilities.mean())
        half = 1.96 * float(utilities.std(ddof=1)) / math.sqrt(utilities.size)
        ci95 = (value - half, value + half)
        method = (
            f"sampled: {len(field.values):,} setups drawn from the table, "
            f"{len(field.luck):,} opponents each, both decide as the table does"
        )
    margin = same_margin(field.game)
    share_worse = _share(field.weights[field.values < value - margin])
    share_better = _share(field.weights[field.values > value + margin])
    if field.holdings is None:
        share_ci95 = _share_interval(share_worse, len(field.values))
    return Standing(
        value=value,
        ci95=ci95,
        table_value=float(field.weights @ field.values),
        share_worse=share_worse,
        share_better=share_better,
        share_worse_ci95=share_ci95,
        table_probability=float(setup_prob(strategy, tiles[0], chips[0])),
        method=method,
    )


def _share(weights: NDArray[np.float64]) -> float:
    """Return the sum of probabilities, without what rounding left of a whole."""
    return round(math.fsum(weights), 12)


def _share_interval(share: float, num: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share among ``num`` draws."""
    square = 1.96**2 / num
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(share * (1 - share) * square + square**2 / 4) / (1 + square)
    return max(middle - half, 0.0), min(middle + half, 1.0)


@njit(cache=True, nogil=True)
def _draw_setups(strategy, rng, tiles, chips):
    """Fill each row of ``tiles`` and ``chips`` with a setup drawn from the strategy, in place."""
    for row in range(tiles.shape[0]):
        draw_strategy_setup(strategy, rng, tiles[row], chips[row])


@njit(cache=True, nogil=True)
def _play_setups(strategy, tiles, chips, opp_tiles, opp_chips, luck, utilities):
    """Fill ``utilities`` (setups, opponents) with those of the setups' player, in place."""
    n = tiles.shape[1]
    board = new_board(n)
    for setup in range(tiles.shape[0]):
        for opponent in range(opp_tiles.shape[0]):
            board.tiles[0], board.chips[0] = tiles[setup], chips[setup]
            board.tiles[1], board.chips[1] = opp_tiles[opponent], opp_chips[opponent]
            board.winnings[:] = 0
            board.shown[:] = 0
            board.pulled[:] = 0
            for slot in range(n):
                kind, folder = classify(board, slot)
                if kind == CHOICE:
                    prob, _ = match_prob(strategy, board, slot, folder)
                    if luck[opponent, slot] < prob:
                        pull_latest(board, folder, slot)
                        folder = -1
                settle(board, slot, folder)
            utilities[setup, opponent] = utility(
                board.winnings[0], strategy.num_chips, strategy.is_win
            )
