"""What common advice is worth in small games, on exact equilibria: nothing here is sampled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from full_game_counts import Counts, new_counts
from full_game_walk import Rows, new_rows, walk_pairs
from numpy.typing import NDArray

from solver import Game, Strategy, exploitability, solve_exact, strategy_of
from solver.setups import list_setups
from solver.strategy import exact_strategy, observation_keys

__all__ = ["SmallGame", "forget_shown", "solve_small", "tile_under_stack"]

TARGET = 1e-4
LEAST = 1e-6
"""Setups of a smaller probability are left out: the average of a solve plays all a little."""

_ROW_PLACES = 1 << 20
_FORGOTTEN = -10


@dataclass(frozen=True)
class SmallGame:
    """An exact equilibrium, and players who have its setups and other answers.

    Attributes
    ----------
    game : Game
    exploitability : float
        Of the equilibrium as solved.
    heights : ndarray of float64, shape (N, C + 1)
        See :func:`tile_under_stack`.
    counts : Counts
        Of the equilibrium against itself, by probability.
    values : dict of str to float
        What the player who follows the rule (``rule``) and the one who forgets which tiles were
        shown (``forgets``) earn against the equilibrium; ``equilibrium`` itself, 0 but for
        rounding.
    losses : dict of str to float
        Exploitability of each.
    """

    game: Game
    exploitability: float
    heights: NDArray[np.float64]
    counts: Counts
    values: dict[str, float]
    losses: dict[str, float]


def tile_under_stack(
    tiles: NDArray[np.int64], chips: NDArray[np.int64], probs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how often each tile has each height, float64 of shape (N, C + 1), by setup.

    Examples
    --------
    >>> tile_under_stack(np.array([[1, 0]]), np.array([[2, 1]]), np.ones(1)).tolist()
    [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    """
    n, c = tiles.shape[1], int(chips[0].sum())
    counts = np.zeros((n, c + 1))
    np.add.at(counts, (tiles, chips), np.broadcast_to(probs[:, None], tiles.shape))
    return counts


def forget_shown(
    observations: NDArray[np.int64],
    slots: NDArray[np.int64],
    match: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return answers averaged over infostates that differ only in the opponent's shown numbers.

    Parameters
    ----------
    observations : ndarray, shape (infostates, N, 4)
    slots, match, weight : ndarray, shape (infostates,)
        Open slot; probability of matching; probability of coming there.
    """
    blind = observations.copy()
    theirs = blind[:, :, 2]
    is_shown = (theirs >= 0) & (np.arange(theirs.shape[1]) < slots[:, None])
    theirs[is_shown] = _FORGOTTEN - theirs[is_shown] % 2
    _, group = np.unique(observation_keys(blind), return_inverse=True)
    return (np.bincount(group, weight * match) / np.bincount(group, weight))[group]


def solve_small(game: Game) -> SmallGame:
    """Solve a game and measure the advice in it."""
    solution = solve_exact(game, target=TARGET)
    probs = np.where(solution.setup_probs >= LEAST, solution.setup_probs, 0.0)
    probs /= probs.sum()
    tiles, chips = list_setups(game)
    equilibrium = strategy_of(solution)
    rows = new_rows(game.num_tiles, _ROW_PLACES)
    counts = new_counts(game)
    values = {
        "equilibrium": walk_pairs(equilibrium, equilibrium, tiles, chips, probs, counts, rows)
    }
    losses = {"equilibrium": solution.exploitability}
    for name, player in _players(game, probs, rows).items():
        nothing = new_rows(game.num_tiles, 0)
        values[name] = walk_pairs(
            player, equilibrium, tiles, chips, probs, new_counts(game), nothing
        )
        losses[name] = exploitability(player, game)
    heights = tile_under_stack(tiles, chips, probs)
    return SmallGame(game, solution.exploitability, heights, counts, values, losses)


def _players(game: Game, probs: NDArray[np.float64], rows: Rows) -> dict[str, Strategy]:
    """Return the players with other answers."""
    num = int(rows.num[0])
    seen, slots = rows.observations[:num], rows.slots[:num]
    mean = forget_shown(seen, slots, rows.match[:num], rows.weight[:num])
    answers = {"rule": rows.rule[:num], "forgets": mean}
    return {name: exact_strategy(game, probs, seen, match) for name, match in answers.items()}
