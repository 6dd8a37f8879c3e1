"""What :mod:`full_game` counts in games, whoever plays them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.abstraction import candidates_of
from solver.rules import FORCED_FOLD, Game, colour, later_chips, spare_chips
from solver.strategy import FROM_ENDING, match_prob

__all__ = [
    "Counts",
    "candidates",
    "early_slots",
    "has_tall_early",
    "lay",
    "new_counts",
    "note_decision",
    "note_end",
    "note_lower",
    "note_slot",
    "rule_prob",
    "shape_of",
    "tall_from",
]


@njit(cache=True)
def tall_from(num_chips):
    """Return the least height of a stack that is called tall: a third of all chips."""
    return max(num_chips // 3, 2)


@njit(cache=True)
def early_slots(num_tiles):
    """Return how many slots are called early: the first three of ten."""
    return max(3 * num_tiles // 10, 1)


class Counts(NamedTuple):
    """What is counted in games, float64; a game counts with its weight.

    Attributes
    ----------
    asked, matched : ndarray, shape (C + 1, M + 1, M + 1)
        Decisions by gap, by numbers of the faced colour that the own tile beats, and by numbers
        still possible; ``matched`` sums the probabilities of matching.
    rule : ndarray, shape (2, 2)
        Decisions by what the rule says (0: fold), and those of them that were matched.
    lower : ndarray, shape (N, C + 1, 2)
        Slots in which a player has fewer chips, by own spare later chips: could pay, could not.
    leads : ndarray, shape (N, 4C + 1, 3)
        Slots reached before the game was decided, by own lead in winnings + 2C: lost, drawn, won.
    totals : ndarray, shape (N, 4C + 1, 3)
        The same by own lead in all chips: winnings, and the stacks of this slot and later ones.
    shapes : ndarray, shape (2, 2, 4)
        Games by own setup (0: at most one stack above a chip) and by whether the opponent's has a
        tall early stack: their number, own utility, its square, own forced folds.
    """

    asked: NDArray[np.float64]
    matched: NDArray[np.float64]
    rule: NDArray[np.float64]
    lower: NDArray[np.float64]
    leads: NDArray[np.float64]
    totals: NDArray[np.float64]
    shapes: NDArray[np.float64]


def new_counts(game: Game) -> Counts:
    """Return counts of nothing yet."""
    n, c, most = game.num_tiles, game.num_chips, (game.num_tiles + 1) // 2
    return Counts(
        np.zeros((c + 1, most + 1, most + 1)),
        np.zeros((c + 1, most + 1, most + 1)),
        np.zeros((2, 2)),
        np.zeros((n, c + 1, 2)),
        np.zeros((n, 4 * c + 1, 3)),
        np.zeros((n, 4 * c + 1, 3)),
        np.zeros((2, 2, 4)),
    )


@njit(cache=True)
def candidates(board, slot, player):
    """Return ``(beaten, beating, possible)``: how many numbers the faced tile may be.

    Those that the own tile beats, those that beat it, and all: the own number may be among them.
    """
    faced = colour(board.tiles[1 - player, slot])
    seen = 0
    for s in range(slot):
        if board.shown[s]:
            seen |= 1 << board.tiles[1 - player, s]
    mine = board.tiles[player, slot]
    below, above = candidates_of(board.tiles.shape[1], faced, seen, mine)
    tie = 1 if colour(mine) == faced and (seen >> mine) & 1 == 0 else 0
    return below, above, below + above + tie


@njit(cache=True)
def rule_prob(strategy, board, slot, player):
    """Return what a rule answers: match if the own tile beats more numbers than beat it.

    Numbers that were shown are counted out; where no tile is hidden the answer is the table's own.
    """
    prob, source = match_prob(strategy, board, slot, player)
    if source == FROM_ENDING:
        return prob
    beaten, beating, _ = candidates(board, slot, player)
    return 1.0 if beaten > beating else 0.0


@njit(cache=True)
def lay(board, tiles0, chips0, tiles1, chips1):
    """Put two setups on the board and begin, in place."""
    board.tiles[0] = tiles0
    board.chips[0] = chips0
    board.tiles[1] = tiles1
    board.chips[1] = chips1
    board.winnings[:] = 0
    board.shown[:] = 0
    board.pulled[:] = 0


@njit(cache=True)
def note_lower(counts, board, slot, player, kind, weight):
    """Count a slot in which a player has fewer chips, in place."""
    spare = spare_chips(board.chips[player], slot)
    counts.lower[slot, spare, 1 if kind == FORCED_FOLD else 0] += weight


@njit(cache=True)
def note_decision(counts, board, slot, player, prob, weight):
    """Count a decision, in place."""
    gap = board.chips[1 - player, slot] - board.chips[player, slot]
    beaten, beating, possible = candidates(board, slot, player)
    counts.asked[gap, beaten, possible] += weight
    counts.matched[gap, beaten, possible] += weight * prob
    says = 1 if beaten > beating else 0
    counts.rule[says, 0] += weight
    counts.rule[says, 1] += weight * prob


@njit(cache=True)
def shape_of(chips):
    """Return 0 for a setup with at most one stack above a chip, else 1."""
    return 1 if (chips > 1).sum() > 1 else 0


@njit(cache=True)
def has_tall_early(chips):
    """Return 1 for a setup with a tall stack in an early slot, else 0."""
    tall = tall_from(chips.sum())
    return 1 if (chips[: early_slots(chips.shape[0])] >= tall).any() else 0


@njit(cache=True)
def note_slot(trail, board, slot):
    """Note the first player's leads when a slot is reached, in place: int64, shape (N, 2)."""
    trail[slot, 0] = board.winnings[0] - board.winnings[1]
    trail[slot, 1] = trail[slot, 0]
    for player in range(2):
        chips = board.chips[player, slot] + later_chips(board.chips[player], slot)
        trail[slot, 1] += chips if player == 0 else -chips


@njit(cache=True)
def note_end(counts, trail, num_slots, shape, tall, value, forced, weight):
    """Count a finished game for a player, in place; ``trail`` has that player's leads by slot."""
    middle = counts.leads.shape[1] // 2
    result = 1 + int(np.sign(value))
    for slot in range(num_slots):
        counts.leads[slot, middle + trail[slot, 0], result] += weight
        counts.totals[slot, middle + trail[slot, 1], result] += weight
    sums = counts.shapes[shape, tall]
    sums[0] += weight
    sums[1] += weight * value
    sums[2] += weight * value * value
    sums[3] += weight * forced
