"""A game as a Gambit extensive-form file (``.efg``), for other solvers.

The file holds the whole unreduced game with ``pulls=latest``: each player's setup is one move with
all setups as actions, then the slots.  Every end carries a label and a payoff, as OpenSpiel's
``efg_game`` wants it.  Format: Gambit's "The extensive game (.efg) file format".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from solver.infostate import observe
from solver.rules import (
    CHOICE,
    FORCED_FOLD,
    Board,
    Game,
    InputError,
    classify,
    new_board,
    pull_latest,
    settle,
    utility,
)
from solver.setups import Setup, count_setups, list_setups

__all__ = ["MAX_PAIRS", "efg_lines"]

MAX_PAIRS = 1_000_000
"""Pairs of setups up to which a file is written; 4x8 has 705,600 of them."""


def efg_lines(game: Game) -> Iterator[str]:
    """Yield the lines of the file, a node each, in prefix order.

    Raises
    ------
    InputError
        For ``pulls`` other than ``latest`` and for games that are too large to write down.

    Examples
    --------
    >>> lines = list(efg_lines(Game(1, 1)))
    >>> lines[0]
    'EFG 2 R "Betting Black and White 1x1, latest, win" { "Player 1" "Player 2" }'
    """
    if game.pulls != "latest":
        raise InputError(f"pulls={game.pulls}: an efg file is written for pulls=latest")
    if count_setups(game) ** 2 > MAX_PAIRS:
        raise InputError(
            f"{game.name}: {count_setups(game):,} setups a player are too many for an efg file; "
            f"up to {int(MAX_PAIRS**0.5):,} can be written"
        )
    return _Writer(game).lines()


class _Writer:
    def __init__(self, game: Game) -> None:
        self._game = game
        self._tiles, self._chips = list_setups(game)
        self._names = [
            str(Setup(tuple(t), tuple(c)))
            for t, c in zip(self._tiles.tolist(), self._chips.tolist(), strict=True)
        ]
        self._infosets: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
        self._ends = 0

    def lines(self) -> Iterator[str]:
        game = self._game
        title = f"Betting Black and White {game.name}, {game.pulls}, {game.objective}"
        yield f'EFG 2 R "{title}" {{ "Player 1" "Player 2" }}'
        actions = " ".join(f'"{name}"' for name in self._names)
        yield f'p "" 1 1 "" {{ {actions} }} 0'
        for first in range(len(self._names)):
            yield f'p "" 2 1 "" {{ {actions} }} 0'
            for second in range(len(self._names)):
                board = new_board(game.num_tiles)
                for player, setup in enumerate((first, second)):
                    board.tiles[player] = self._tiles[setup]
                    board.chips[player] = self._chips[setup]
                yield from self._slot(board, 0, (first, second))

    def _slot(self, board: Board, slot: int, setups: tuple[int, int]) -> Iterator[str]:
        game = self._game
        if slot == game.num_tiles:
            self._ends += 1
            payoff = utility(board.winnings[0], game.num_chips, game.is_win)
            yield f't "" {self._ends} "end {self._ends}" {{ {payoff:g} {-payoff:g} }}'
            return
        kind, player = classify(board, slot)
        folder = player if kind == FORCED_FOLD else -1
        if kind == CHOICE:
            infoset = self._infoset(board, slot, player, setups[player])
            yield f'p "" {player + 1} {infoset} "" {{ "fold" "match" }} 0'
            folded = Board(*(part.copy() for part in board))
            settle(folded, slot, player)
            yield from self._slot(folded, slot + 1, setups)
            board = Board(*(part.copy() for part in board))
            pull_latest(board, player, slot)
        elif kind != FORCED_FOLD:
            board = Board(*(part.copy() for part in board))
        settle(board, slot, folder)
        yield from self._slot(board, slot + 1, setups)

    def _infoset(self, board: Board, slot: int, player: int, setup: int) -> int:
        """Return the number of the infostate: the own setup as placed, and all that was public."""
        seen = np.zeros((self._game.num_tiles, 4), np.int64)
        observe(board, slot, player, seen)
        key = setup.to_bytes(4, "little") + seen.tobytes()
        return self._infosets[player].setdefault(key, len(self._infosets[player]) + 2)
