"""Guesses of the luck in a game, to be taken off its result: control variates.

Both strategies are known, so the mean of a guess is known exactly and the mean result stays what
it was, however bad the guess; a good one leaves less variance.  There are two:

* *Decisions*, as in AIVAT (Burch et al. 2018, "AIVAT: A new variance reduction technique for agent
  evaluation in imperfect information games").  A player who matches with probability ``p`` and did
  the one or the other was lucky by ``v(done) - p v(match) - (1 - p) v(fold)``, whose mean is 0.
  :func:`state_value` is ``v``: it sees both setups and takes the final lead for normal around a
  linear function of the lead now and of two sums over the slots to come.
* *Setups*.  A linear function of :data:`NUM_FEATURES` features, each a sum over slots of a function
  of the two cards (tile and stack) there, less its mean (:mod:`solver.arena.chances`).  AIVAT would
  need the mean of ``v`` over all draws of the next slot; sums over slots need no such means.

The weights come from games of their own, so that the played ones do not depend on them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.rules import Game, utility

__all__ = [
    "LEAD",
    "MAX_CARDS",
    "NUM_FEATURES",
    "REACHED",
    "Baseline",
    "add_features",
    "card_id",
    "empty_baseline",
    "fill_trace",
    "fit_setups",
    "fit_values",
    "num_stacks",
    "setup_value",
    "state_value",
    "tabulate_cards",
]

NUM_FEATURES = 17

IF_SHOWN, IF_FOLDED, LEAD, REACHED = range(4)
"""Columns of a trace, see :func:`fill_trace`; the first three have a weight each."""

MAX_CARDS = 2_000
"""Most cards for which all pairs are valued: 32 MB.  10x30 has 210, 10x200 has 1,910."""

_RIDGE = 1e-3
"""Share of its own square that each feature's weight is charged, to keep it small in doubt."""

_LEAST_VARIANCE = 0.01
"""Least variance of a final lead, in chips squared, that a guess of it is held to have."""


class Baseline(NamedTuple):
    """The weights of both guesses.

    Attributes
    ----------
    value_weights : ndarray of float64, shape (3,)
        What the final lead gains with IF_SHOWN, IF_FOLDED and LEAD: see :func:`fill_trace`.
    scales : ndarray of float64, shape (N,)
        Error of the guessed final lead when a slot is reached: its deviation times the root of 2.
    card_values : ndarray of float64, shape (cards, cards), or of no cards
        What a card of the first player that meets one of the second is worth to the first, in
        utility.  Cards are numbered by :func:`card_id`.
    """

    value_weights: NDArray[np.float64]
    scales: NDArray[np.float64]
    card_values: NDArray[np.float64]


def empty_baseline(num_tiles: int) -> Baseline:
    """Return the baseline that guesses nothing before the last slot."""
    return Baseline(np.zeros(3), np.ones(num_tiles), np.zeros((0, 0)))


def fit_values(
    traces: NDArray[np.float64], leads: NDArray[np.float64], baseline: Baseline
) -> Baseline:
    """Return a baseline whose state values fit these games.

    Parameters
    ----------
    traces : ndarray of float64, shape (games, N, 4)
        As :func:`fill_trace` fills them.
    leads : ndarray of float64, shape (games,)
        First player's final lead, in chips.
    baseline : Baseline
        The rest of it.

    Examples
    --------
    >>> traces, leads = np.ones((50, 2, 4)), np.full(50, 2.0)
    >>> traces[25:, :, LEAD] = leads[25:] = -1.0
    >>> fit_values(traces, leads, empty_baseline(2)).value_weights.round(2).tolist()
    [0.25, 0.25, 1.5]
    """
    reached = traces[:, 1:, REACHED] > 0
    states = traces[:, 1:, :REACHED]
    finals = np.broadcast_to(leads[:, None], reached.shape)
    weights = _ridge(states[reached], finals[reached])
    errors = np.where(reached, finals - states @ weights, 0.0)
    variances = (errors**2).sum(axis=0) / np.maximum(reached.sum(axis=0), 1)
    scales = np.ones(traces.shape[1])
    scales[1:] = np.sqrt(2 * np.maximum(variances, _LEAST_VARIANCE))
    return baseline._replace(value_weights=weights, scales=scales)


def fit_setups(
    features: NDArray[np.float64], values: NDArray[np.float64], game: Game, baseline: Baseline
) -> Baseline:
    """Return a baseline whose card values fit these pairs of games.

    Parameters
    ----------
    features : ndarray of float64, shape (pairs, NUM_FEATURES)
        Mean features of the two games.
    values : ndarray of float64, shape (pairs,)
        First player's mean utility in them, corrected for luck in decisions.
    game : Game
    baseline : Baseline
        The rest of it.
    """
    weights = np.zeros(NUM_FEATURES)
    if values.max() > values.min():
        weights = _ridge(features - features.mean(axis=0), values - values.mean())
    return baseline._replace(card_values=tabulate_cards(weights, game))


def tabulate_cards(weights: NDArray[np.float64], game: Game) -> NDArray[np.float64]:
    """Return ``Baseline.card_values`` for a weight of each feature."""
    width = num_stacks(game.num_tiles, game.num_chips)
    values = np.zeros((game.num_tiles * width, game.num_tiles * width))
    _fill_card_values(weights, game.num_tiles, width, values)
    return values


def _ridge(rows: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights by least squares, drawn a little to 0; 0 for columns of next to nothing."""
    gram = rows.T @ rows
    charge = _RIDGE * np.diag(gram) + 1e-9 * max(len(rows), 1)
    return np.asarray(np.linalg.solve(gram + np.diag(charge), rows.T @ targets), np.float64)


@njit(cache=True, nogil=True)
def slot_gains(tile0, chips0, tile1, chips1):
    """Return ``(show, fold)``: chips that the first player gains in a slot if shown, if folded.

    The stake for the higher tile, or the lower stack for the higher bettor.  Written without
    branches, which a processor could not foresee.
    """
    show = ((tile0 > tile1) - (tile0 < tile1)) * max(chips0, chips1)
    fold = ((chips0 > chips1) - (chips0 < chips1)) * min(chips0, chips1)
    return show, fold


@njit(cache=True, nogil=True)
def fill_trace(board, slot, row):
    """Fill a row of a trace with what the value of a game at the start of ``slot`` goes by.

    IF_SHOWN and IF_FOLDED: sums of :func:`slot_gains` over the slots to come, with the stacks as
    they are now; LEAD: first player's winnings less the second's; REACHED: 1.
    """
    shows = 0
    folds = 0
    for later in range(slot, board.shown.shape[0]):
        show, fold = slot_gains(
            board.tiles[0, later],
            board.chips[0, later],
            board.tiles[1, later],
            board.chips[1, later],
        )
        shows += show
        folds += fold
    row[IF_SHOWN] = shows
    row[IF_FOLDED] = folds
    row[LEAD] = board.winnings[0] - board.winnings[1]
    row[REACHED] = 1.0


@njit(cache=True, nogil=True)
def state_value(row, slot, baseline, num_chips, is_win):
    """Return the first player's guessed utility when ``slot`` is reached, exact after the last.

    It goes by the game's row of a trace there, and changes its sign, and nothing else, when the
    players change seats.
    """
    if slot == baseline.scales.shape[0]:
        return utility(num_chips + row[LEAD] / 2, num_chips, is_win)
    weights = baseline.value_weights
    lead = (
        weights[IF_SHOWN] * row[IF_SHOWN]
        + weights[IF_FOLDED] * row[IF_FOLDED]
        + weights[LEAD] * row[LEAD]
    )
    if is_win:
        return math.erf(lead / baseline.scales[slot])
    return 0.5 * lead


@njit(cache=True, nogil=True)
def add_features(tile0, chips0, tile1, chips1, num_tiles, out):
    """Add the features of two cards that meet to ``out`` (float64, shape (NUM_FEATURES,)).

    The first nine change their sign when the players change seats.  The other eight do not: they
    tell the players apart, and are all that is left where the second game of a pair exchanges the
    setups.
    """
    show, fold = slot_gains(tile0, chips0, tile1, chips1)
    high = 1.0 / num_tiles
    side = 0.0  # 1 if the first player has fewer chips and so decides, -1 if the second
    decider = 0.0  # that player's tile
    if chips0 < chips1:
        side, decider = 1.0, tile0 * high
    elif chips1 < chips0:
        side, decider = -1.0, tile1 * high
    higher = float(np.sign(tile0 - tile1))
    held0, held1 = tile0 * high * chips0, tile1 * high * chips1
    out[0] += show
    out[1] += fold
    out[2] += (tile0 - tile1) * high
    out[3] += chips0 - chips1
    out[4] += higher
    out[5] += held0 - held1
    out[6] += higher * abs(chips0 - chips1)
    out[7] += show * decider
    out[8] += fold * decider
    out[9] += show * side
    out[10] += fold * side
    out[11] += show * side * decider
    out[12] += fold * side * decider
    out[13] += held0 + held1
    out[14] += higher * side
    out[15] += abs(side)
    out[16] += (chips0 * chips0 + chips1 * chips1) * high


@njit(cache=True, nogil=True)
def num_stacks(num_tiles, num_chips):
    """Return how many sizes a stack as placed can have."""
    return num_chips - num_tiles + 1


@njit(cache=True, nogil=True)
def card_id(tile, chips, num_stacks):
    """Return the number of a card as placed, a tile with its stack, from 0."""
    return tile * num_stacks + chips - 1


@njit(cache=True, nogil=True)
def setup_value(board, baseline, num_chips):
    """Return what the setups on the board are worth to the first player, as a sum over slots.

    0 if the baseline has no card values.
    """
    n = board.shown.shape[0]
    if baseline.card_values.shape[0] == 0:
        return 0.0
    width = num_stacks(n, num_chips)
    total = 0.0
    for slot in range(n):
        card0 = card_id(board.tiles[0, slot], board.chips[0, slot], width)
        card1 = card_id(board.tiles[1, slot], board.chips[1, slot], width)
        total += baseline.card_values[card0, card1]
    return total


@njit(cache=True, nogil=True)
def _fill_card_values(weights, num_tiles, width, values):
    """Fill ``values`` with the weighted features of each pair of cards, in place."""
    features = np.empty(weights.shape[0])
    for tile0 in range(num_tiles):
        for chips0 in range(1, width + 1):
            for tile1 in range(num_tiles):
                for chips1 in range(1, width + 1):
                    features[:] = 0.0
                    add_features(tile0, chips0, tile1, chips1, num_tiles, features)
                    total = 0.0
                    for k in range(weights.shape[0]):
                        total += weights[k] * features[k]
                    values[card_id(tile0, chips0, width), card_id(tile1, chips1, width)] = total
