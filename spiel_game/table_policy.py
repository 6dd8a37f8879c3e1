"""A :class:`solver.strategy.Strategy` as an OpenSpiel policy, so that OpenSpiel can judge it.

The setup part gives, at each tile and each stack, the probability of placing it given what is
placed already; after a partial setup of probability zero all legal actions are equally likely.
The decision part answers match or fold, from a board rebuilt out of the state.  Where the game lets
a player choose how to pay, the game asks for chips tile by tile: the policy answers with the
conditional probabilities of the strategy's ways to pay, and pays by the default rule, winnings
first, then the latest tiles, if the strategy says none or what was taken so far is in none of them.
One strategy serves both seats.
"""

from __future__ import annotations

import math

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python import policy as policies

from solver.payments import list_payments
from solver.rules import MATCH, Board, InputError
from solver.strategy import (
    BY_TILE,
    LISTED,
    MEMORYLESS,
    UNIFORM,
    Strategy,
    in_game,
    match_prob,
    pay_probs,
)
from spiel_game.betting_black_white import BettingBlackWhiteGame, BettingBlackWhiteState
from spiel_game.position import (
    DECIDE,
    PULL,
    Position,
    default_choice,
    options,
    placed_tiles,
)
from spiel_game.tabulate import tabulate

__all__ = ["StrategyPolicy", "board_of"]


class StrategyPolicy(policies.Policy):
    """The policy of a strategy, for both players.

    Parameters
    ----------
    game : BettingBlackWhiteGame
        As loaded by ``pyspiel.load_game``.
    strategy : Strategy
        For the same number of tiles and chips, the same objective and the same rule for paying, or
        one that pays by the default rule (see :func:`solver.strategy.in_game`).

    Raises
    ------
    InputError
        If the strategy is for another game.

    Examples
    --------
    >>> import pyspiel
    >>> from solver.strategy import make_strategy
    >>> game = pyspiel.load_game("python_betting_black_white(num_tiles=2,num_chips=3)")
    >>> policy = StrategyPolicy(game, make_strategy(2, 3, True, match_constant=0.5))
    >>> policy.action_probabilities(game.new_initial_state())
    {0: 0.5, 1: 0.5}
    """

    def __init__(self, game: BettingBlackWhiteGame, strategy: Strategy) -> None:
        super().__init__(game, [0, 1])
        rules = game.rules
        num_tiles = strategy.setup_tiles.shape[1]
        fits = (num_tiles, strategy.num_chips) == (rules.num_tiles, rules.num_chips)
        if not fits or bool(strategy.is_win) != rules.is_win:
            objective = "win" if strategy.is_win else "chips"
            raise InputError(
                f"strategy for {num_tiles}x{strategy.num_chips} with objective {objective}: "
                f"the game is {rules.name} with objective {rules.objective}"
            )
        self.strategy = in_game(strategy, rules)
        self._setup_probs = np.diff(strategy.setup_cumulative, prepend=0.0)

    def action_probabilities(
        self, state: BettingBlackWhiteState, player_id: int | None = None
    ) -> dict[int, float]:
        """Return the probability of each legal action of the player to move."""
        position = state.position
        if position.phase == DECIDE:
            prob, _ = match_prob(self.strategy, board_of(position), position.slot, position.player)
            return {1 - MATCH: 1.0 - float(prob), MATCH: float(prob)}
        allowed = options(position)
        if position.phase == PULL:
            return self._pull_probs(position, allowed)
        weights = self._placement_weights(position, allowed)
        total = math.fsum(weights)
        if total <= 0.0:
            return dict.fromkeys(allowed, 1.0 / len(allowed))
        return {action: w / total for action, w in zip(allowed, weights, strict=True)}

    def tabular(self) -> pyspiel.TabularPolicy:
        """Return the same policy as a table of every infostate, for OpenSpiel's C++ judges.

        They run far faster over ``pyspiel.convert_to_cached_tree(game)``, whose states only a
        table can answer.  Walks the whole game: for small ones.
        """
        return tabulate(self.game, self.action_probabilities)

    def _pull_probs(self, position: Position, allowed: tuple[int, ...]) -> dict[int, float]:
        """Return the probability of taking so many chips from the tile now asked."""
        weights = dict.fromkeys(allowed, 0.0)
        if len(self.strategy.pay):
            slot, player = position.slot, position.player
            board = board_of(position)
            ways = list_payments(board, player, slot, self.strategy.pulls)
            probs = np.zeros(len(ways))
            pay_probs(self.strategy, board, slot, player, probs)
            pulling = position.pulling
            for way, prob in zip(ways[:, ::-1].tolist(), probs.tolist(), strict=True):
                if tuple(way[: len(pulling)]) == pulling:
                    weights[way[len(pulling)]] += prob
        total = math.fsum(weights.values())
        if total <= 0.0:
            weights[default_choice(position)] = total = 1.0
        return {action: weight / total for action, weight in weights.items()}

    def _placement_weights(self, position: Position, allowed: tuple[int, ...]) -> list[float]:
        """Return numbers in proportion to the probabilities of the next tile or stack."""
        kind = self.strategy.setup_kind
        placed = position.placed[position.player]
        if kind == UNIFORM:
            return _uniform_weights(position, placed, allowed)
        if kind == MEMORYLESS:
            return _memoryless_weights(self.strategy, position, placed, allowed)
        if kind == LISTED:
            return self._listed_weights(placed, allowed)
        if kind == BY_TILE:
            return _by_tile_weights(self.strategy.tile_chips, placed, allowed)
        raise InputError(f"setup part of kind {kind}: a policy can be made of kinds 0 to 3")

    def _listed_weights(self, placed: tuple[int, ...], allowed: tuple[int, ...]) -> list[float]:
        fits = np.ones(len(self._setup_probs), bool)
        for place, value in enumerate(placed):
            fits &= self._column(place) == value
        column = self._column(len(placed))[fits]
        probs = self._setup_probs[fits]
        return [float(probs[column == action].sum()) for action in allowed]

    def _column(self, place: int) -> NDArray[np.int64]:
        """Return the ``place``-th number of each listed setup: tile, chips, tile, chips, ..."""
        part = self.strategy.setup_chips if place % 2 else self.strategy.setup_tiles
        return part[:, place // 2]


def _uniform_weights(
    position: Position, placed: tuple[int, ...], allowed: tuple[int, ...]
) -> list[float]:
    """Count the completions behind each choice; all tiles have equally many."""
    if len(placed) % 2 == 0:
        return [1.0] * len(allowed)
    num_later = position.game.num_tiles - 1 - len(placed) // 2
    left = position.game.num_chips - sum(placed[1::2])
    return [float(math.comb(left - stack - 1, num_later - 1)) for stack in allowed]


def _memoryless_weights(
    strategy: Strategy, position: Position, placed: tuple[int, ...], allowed: tuple[int, ...]
) -> list[float]:
    """Read the row of the tiles and chips left; a tile's weight is the sum over its stacks."""
    num_placed = len(placed) // 2
    before = placed[: 2 * num_placed : 2]
    tiles_left = [tile for tile in range(position.game.num_tiles) if tile not in before]
    left = position.game.num_chips - sum(placed[1::2])
    width = left - len(tiles_left) + 1
    begin = strategy.offsets[sum(1 << tile for tile in tiles_left), left]
    row = strategy.model[begin : begin + len(tiles_left) * width].astype(np.float64)
    stacks = row.reshape(len(tiles_left), width)
    if len(placed) % 2 == 0:
        return [float(total) for total in stacks.sum(axis=1)]
    return [float(prob) for prob in stacks[tiles_left.index(placed[-1])]]


def _by_tile_weights(
    tile_chips: NDArray[np.int64], placed: tuple[int, ...], allowed: tuple[int, ...]
) -> list[float]:
    """Each tile has its chips and the order is uniform; nothing fits after another stack."""
    stacks = zip(placed[::2], placed[1::2], strict=False)
    if any(tile_chips[tile] != stack for tile, stack in stacks):
        return [0.0] * len(allowed)
    if len(placed) % 2 == 0:
        return [1.0] * len(allowed)
    return [float(stack == tile_chips[placed[-1]]) for stack in allowed]


def board_of(position: Position) -> Board:
    """Return the position as the board of :mod:`solver.rules` (setups complete)."""
    num_tiles = position.game.num_tiles
    shown = np.zeros(num_tiles, np.int64)
    pulled = np.zeros((2, num_tiles), np.int64)
    for slot, result in enumerate(position.results):
        shown[slot] = result.folder < 0
        if result.matcher >= 0:
            pulled[result.matcher, slot] = sum(result.taken)
    return Board(
        np.array([placed_tiles(position, player) for player in (0, 1)], np.int64),
        np.array(position.chips, np.int64),
        np.array(position.winnings, np.int64),
        shown,
        pulled,
    )
