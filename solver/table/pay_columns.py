"""The ways to pay as columns of an exact table's decisions, and back.

Each payment that is possible at some decision has a column, named as payments are written:
``match@3-1,4-2`` takes 1 chip off slot 3 and 2 off slot 4, and winnings pay the rest.  It holds the
probability of matching in that way, 0 where that is not possible.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.payments import list_payments, payment_text
from solver.rules import CHOICE, Board, Game, InputError, classify, gap_at, new_board

__all__ = ["PREFIX", "pay_columns", "read_pay_columns"]

PREFIX = "match@"
"""How the names of these columns start."""
_TOLERANCE = 1e-6
"""How far the ways to match of a decision may be from summing to ``match`` in a file."""


def pay_columns(
    game: Game,
    observations: NDArray[np.integer],
    slots: NDArray[np.integer],
    match: NDArray[np.float64],
    pay_start: NDArray[np.int64] | None,
    pay: NDArray[np.float64] | None,
) -> dict[str, NDArray[np.float64]]:
    """Return the columns, each float64 of shape (infostates,).

    Parameters as for :func:`solver.table.exact_table`.
    """
    names = _payment_names(game, observations, slots)
    columns = {name: np.zeros(len(match)) for name in sorted({n for row in names for n in row})}
    for row, ways in enumerate(names):
        if pay_start is None or pay is None:
            columns[ways[0]][row] = match[row]
            continue
        probs = pay[pay_start[row] : pay_start[row + 1]]
        for name, prob in zip(ways, probs, strict=True):
            columns[name][row] = match[row] * prob
    return columns


def read_pay_columns(
    game: Game,
    observations: NDArray[np.int64],
    slots: NDArray[np.integer],
    match: NDArray[np.float64],
    columns: dict[str, NDArray[np.float64]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return ``(pay_start, pay)`` as :class:`solver.strategy.Strategy` has them.

    Where nothing is ever matched, the default rule is noted.

    Raises
    ------
    InputError
        If a row is no decision, lacks a way to pay, has one that is impossible there, or does not
        sum to ``match``.
    """
    starts, parts = [0], []
    total = np.zeros(len(match))
    for column in columns.values():
        total += column
    if (wrong := np.abs(total - match) > _TOLERANCE).any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"decisions.parquet: row {row + 1}: its ways to match sum to {total[row]:.6g}, "
            f"not to match, {match[row]:.6g}"
        )
    for row, ways in enumerate(_payment_names(game, observations, slots)):
        if missing := [name for name in ways if name not in columns]:
            raise InputError(f"decisions.parquet: no column {missing[0]}")
        probs = np.array([columns[name][row] for name in ways])
        if abs(probs.sum() - total[row]) > _TOLERANCE:
            wrong_name = next(n for n, c in columns.items() if c[row] > 0 and n not in ways)
            raise InputError(f"decisions.parquet: row {row + 1}: {wrong_name} is impossible there")
        if probs.sum() > 0:
            probs /= probs.sum()
        else:
            probs[0] = 1.0
        parts.append(probs)
        starts.append(starts[-1] + len(probs))
    return np.array(starts), np.concatenate([np.zeros(0), *parts])


def _payment_names(
    game: Game, observations: NDArray[np.integer], slots: NDArray[np.integer]
) -> list[list[str]]:
    """Return the columns of the ways to pay at each decision, in their order."""
    known: dict[tuple[int, ...], list[str]] = {}
    names = []
    for row, slot in enumerate(slots.tolist()):
        if not 0 <= slot < game.num_tiles:
            raise InputError(f"decisions.parquet: row {row + 1}: there is no slot {slot + 1}")
        board = _board_of(game, observations[row], slot)
        gap = gap_at(board.chips[0, slot], board.chips[1, slot])
        means = (slot, int(gap), int(board.winnings[0]), *board.chips[0, slot + 1 :].tolist())
        if means not in known:
            if not _can_decide(game, board, slot):
                raise InputError(f"decisions.parquet: row {row + 1}: nobody decides there")
            ways = list_payments(board, 0, slot, game.pulls_code)
            known[means] = [PREFIX + payment_text(way) for way in ways]
        names.append(known[means])
    return names


def _can_decide(game: Game, board: Board, slot: int) -> bool:
    """Whether a row of a file shows chips that can be there, and a gap that player 0 can pay."""
    mine = board.chips[0]
    owned = int(board.winnings[0] + mine[slot:].sum())
    is_possible = mine.min() >= 1 and board.winnings[0] >= 0 and owned <= 2 * game.num_chips
    return bool(is_possible and classify(board, slot) == (CHOICE, 0))


def _board_of(game: Game, observation: NDArray[np.integer], slot: int) -> Board:
    """Return a board with what the player (0) needs to pay: own chips, stacks and winnings.

    All that the player has follows from who took the past slots, however gaps were paid.
    """
    board = new_board(game.num_tiles)
    board.chips[0] = observation[:, 1]
    board.chips[1] = observation[:, 3]
    owned = game.num_chips
    for my_tile, mine, their_tile, theirs in observation[:slot, :4].tolist():
        if my_tile < 0:  # the player with fewer chips folded
            owned += theirs if mine > theirs else -mine
        elif my_tile != their_tile:
            owned += max(mine, theirs) if my_tile > their_tile else -max(mine, theirs)
    board.winnings[0] = owned - board.chips[0, slot:].sum()
    return board
