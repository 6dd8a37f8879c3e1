"""The ways to pay a gap as lists and texts; :mod:`solver.rules` says which there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.rules import Board, first_payment, next_payment

__all__ = ["list_payments", "payment_text"]


def list_payments(board: Board, player: int, slot: int, pulls: int) -> NDArray[np.int64]:
    """Return what each way to pay takes from each tile, int64 of shape (ways, N).

    The ways are in the order of :func:`solver.rules.next_payment`, the default rule's first.
    ``player`` can pay the gap in ``slot``; ``pulls`` is LATEST, TILES or FREE.
    """
    taken = np.zeros(board.shown.shape[0], np.int64)
    first_payment(board, player, slot, taken)
    ways = [taken.copy()]
    while next_payment(board, player, slot, pulls, taken):
        ways.append(taken.copy())
    return np.array(ways)


def payment_text(taken: NDArray[np.integer]) -> str:
    """Return a payment as it is written after ``@``: ``slot-chips`` each, slots counted from 1.

    Examples
    --------
    >>> payment_text(np.array([0, 0, 1, 2]))
    '3-1,4-2'
    """
    return ",".join(f"{slot + 1}-{chips}" for slot, chips in enumerate(taken) if chips)
