"""A game as a Gambit extensive-form file (``.efg``), for other solvers.

The file holds the whole unreduced game: each player's setup is one move with all setups as
actions, then the slots.  Where players choose how to pay a gap, each way is an action, named like
``match@3-1,4-2``: 1 chip off slot 3 and 2 off slot 4.  Every end carries a label and a payoff, as
OpenSpiel's ``efg_game`` wants it.  Format: Gambit's "The extensive game (.efg) file format".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from solver.infostate import observe
from solver.payments import list_payments, payment_text
from solver.rules import (
    CHOICE,
    FORCED_FOLD,
    Board,
    Game,
    InputError,
    classify,
    new_board,
    pull,
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
        For games that are too large to write down.

    Examples
    --------
    >>> lines = list(efg_lines(Game(1, 1)))
    >>> lines[0]
    'EFG 2 R "Betting Black and White 1x1, latest, win" { "Player 1" "Player 2" }'
    """
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
                private = first.to_bytes(4, "little"), second.to_bytes(4, "little")
                for player, setup in enumerate((first, second)):
                    board.tiles[player] = self._tiles[setup]
                    board.chips[player] = self._chips[setup]
                yield from self._slot(board, 0, private)

    def _slot(self, board: Board, slot: int, private: tuple[bytes, bytes]) -> Iterator[str]:
        """Yield what follows from ``slot`` on; ``private``: each player's setup and payments."""
        game = self._game
        if slot == game.num_tiles:
            self._ends += 1
            payoff = utility(board.winnings[0], game.num_chips, game.is_win)
            yield f't "" {self._ends} "end {self._ends}" {{ {payoff:g} {-payoff:g} }}'
            return
        kind, player = classify(board, slot)
        if kind != CHOICE:
            yield from self._next(board, slot, player if kind == FORCED_FOLD else -1, private)
            return
        ways = list_payments(board, player, slot, game.pulls_code)
        actions = " ".join(f'"{self._action(taken)}"' for taken in ways)
        infoset = self._infoset(board, slot, player, private[player])
        yield f'p "" {player + 1} {infoset} "" {{ "fold" {actions} }} 0'
        yield from self._next(board, slot, player, private)
        for taken in ways:
            paid = _copy(board)
            pull(paid, player, slot, taken)
            mine = private[player] + taken.tobytes()
            knows = (mine, private[1]) if player == 0 else (private[0], mine)
            yield from self._next(paid, slot, -1, knows)

    def _next(
        self, board: Board, slot: int, folder: int, private: tuple[bytes, bytes]
    ) -> Iterator[str]:
        """Hand out the chips of the slot and go on."""
        board = _copy(board)
        settle(board, slot, folder)
        yield from self._slot(board, slot + 1, private)

    def _action(self, taken: NDArray[np.int64]) -> str:
        return "match" if self._game.pulls == "latest" else f"match@{payment_text(taken)}"

    def _infoset(self, board: Board, slot: int, player: int, private: bytes) -> int:
        """Return the number of the infostate: the own setup and payments, and what was public."""
        seen = np.zeros((self._game.num_tiles, 5), np.int64)
        observe(board, slot, player, seen)
        key = private + seen.tobytes()
        return self._infosets[player].setdefault(key, len(self._infosets[player]) + 2)


def _copy(board: Board) -> Board:
    return Board(*(part.copy() for part in board))
