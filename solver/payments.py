"""The ways to pay a gap as lists and texts; :mod:`solver.rules` says which there are.

In text a payment is ``slot-chips`` for each later tile that gives chips, slots counted from 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.rules import (
    Board,
    Game,
    InputError,
    first_payment,
    gap_at,
    next_payment,
    pull,
    pull_latest,
)

__all__ = ["list_payments", "pay_as_written", "payment_text"]


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


def pay_as_written(
    board: Board,
    game: Game,
    player: int,
    slot: int,
    written: tuple[tuple[int, int], ...] | None,
) -> tuple[tuple[int, int], ...] | None:
    """Pay a gap that ``player`` can pay, in place; return the pulls, None for the default ones.

    Parameters
    ----------
    board : Board
        With the whole of the player's row known.
    game : Game
        Its ``pulls`` says which payments are allowed.
    player, slot : int
        Who pays, and where.
    written : tuple of (int, int) or None
        Pulls as (slot from 0, chips); None stands for the default rule.

    Raises
    ------
    InputError
        If the rules forbid these pulls; the board is then no longer of use.
    """
    n = game.num_tiles
    gap = gap_at(board.chips[0, slot], board.chips[1, slot])
    winnings = int(board.winnings[player])
    before = board.chips[player].copy()
    taken = np.zeros(n, np.int64)
    for later, chips in written or ():
        if later <= slot or later >= n:
            raise InputError(f"a pull from slot {later + 1}; later slots are {slot + 2}-{n}")
        if taken[later]:
            raise InputError(f"two pulls from slot {later + 1}")
        if not 1 <= chips <= before[later] - 1:
            raise InputError(
                f"{chips} chips from slot {later + 1}, which can give 1 to {before[later] - 1}"
                if before[later] > 1
                else f"{chips} chips from slot {later + 1}, which has none to spare"
            )
        taken[later] = chips
    total = int(taken.sum())
    pull_latest(board, player, slot)
    default = before - board.chips[player]
    if written is None or np.array_equal(taken, default):
        return None
    least = max(0, gap - winnings)
    if not least <= total <= gap:
        raise InputError(
            f"pulls of {total} chips; the gap is {gap} and winnings are {winnings}, "
            f"so pulls are {least} to {gap}"
        )
    if game.pulls == "latest":
        wider = "--pulls tiles or --pulls free" if total == least else "--pulls free"
        raise InputError(
            f"pulls=latest takes {payment_text(default) or 'nothing: winnings pay'}; "
            f"{wider} accepts what is written"
        )
    if game.pulls == "tiles" and total != least:
        raise InputError(
            f"pulls of {total} chips; pulls=tiles pays winnings first, then {least}; "
            "--pulls free accepts what is written"
        )
    board.chips[player] = before
    board.winnings[player] = winnings
    pull(board, player, slot, taken)
    return tuple((later, int(taken[later])) for later in range(n) if taken[later])
