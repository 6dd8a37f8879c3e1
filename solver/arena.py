"""Matches between two strategies, with a confidence interval.

Games are played in pairs.  The second game of a pair repeats the first with the luck exchanged:
each player gets the random numbers that drew the other's setup and decisions.  Both games follow
the strategies exactly, so the mean stays unbiased, and where the strategies are alike most of the
luck cancels: a strategy earns exactly 0 against itself.  The interval comes from the pair means.
Where the setup parts are of different kinds the same numbers would mean different things, and the
second game takes fresh ones.

Every game is played to its last slot, except that two players who both spend nothing once the
game is decided need not go on.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.progress import Progress
from solver.rules import (
    CHOICE,
    FORCED_FOLD,
    Game,
    InputError,
    classify,
    is_decided,
    new_board,
    pull_latest,
    settle,
    utility,
)
from solver.strategy import CONSTANT, Strategy, check_fits, draw_strategy_setup, match_prob

__all__ = ["MatchResult", "Progress", "play_match"]


NUM_CHUNKS = 64
"""Parts of a match, each with its own random numbers; the same for any number of threads."""

_SUM, _SQUARES, _WINS, _DRAWS, _LOSSES = range(5)


@dataclass(frozen=True)
class MatchResult:
    """What came of a match.

    Attributes
    ----------
    games : int
        Games played, an even number.
    value : float
        A's mean utility a game.
    ci95 : tuple of float
        95% confidence interval of ``value``, low and high.
    wins, draws, losses : int
        Games that A won, drew and lost.
    seconds : float
        Time taken.
    """

    games: int
    value: float
    ci95: tuple[float, float]
    wins: int
    draws: int
    losses: int
    seconds: float


def play_match(
    a: Strategy,
    b: Strategy,
    game: Game,
    *,
    games: int = 10_000,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> MatchResult:
    """Play strategy ``a`` against strategy ``b``.

    Parameters
    ----------
    a, b : Strategy
        The players, both of the size and objective of ``game``.
    game : Game
        With ``pulls='latest'``.
    games : int
        Games to play; an odd number is rounded up.
    seed : int
        Same seed, same result, for any number of threads.
    threads : int
        Threads to use.
    progress : callable, optional
        See :data:`Progress`.

    Raises
    ------
    InputError
        If an argument is outside its range.

    Examples
    --------
    >>> from solver.bots import make_bot
    >>> game = Game(3, 6)
    >>> play_match(make_bot("bot:random", game), make_bot("bot:random", game), game).value
    0.0
    """
    if game.pulls != "latest":
        raise InputError(f"pulls {game.pulls!r}: matches are played with latest")
    if games < 4:
        raise InputError(f"games {games}: play at least 4, two pairs, for an interval")
    if threads < 1:
        raise InputError(f"threads {threads}: use at least 1")
    for player in (a, b):
        check_fits(player, game)
    start = time.perf_counter()
    num_pairs = (games + 1) // 2
    chunks = np.diff(np.linspace(0, num_pairs, min(NUM_CHUNKS, num_pairs) + 1).astype(np.int64))
    seeds = np.random.SeedSequence(seed).spawn(len(chunks))
    played = 0
    totals = np.zeros(5)

    def run(chunk: int) -> NDArray[np.float64]:
        return _run_chunk(a, b, game, int(chunks[chunk]), seeds[chunk])

    with ThreadPoolExecutor(threads) as pool:
        for first in range(0, len(chunks), threads):
            part = range(first, min(first + threads, len(chunks)))
            for chunk, sums in zip(part, pool.map(run, part), strict=True):
                totals += sums
                played += int(chunks[chunk])
            if progress and not progress(2 * played, time.perf_counter() - start, None):
                break
    value = totals[_SUM] / played
    variance = max(totals[_SQUARES] / played - value**2, 0.0) * played / max(played - 1, 1)
    half = 1.96 * math.sqrt(variance / played)
    return MatchResult(
        games=2 * played,
        value=float(value),
        ci95=(float(value - half), float(value + half)),
        wins=int(totals[_WINS]),
        draws=int(totals[_DRAWS]),
        losses=int(totals[_LOSSES]),
        seconds=time.perf_counter() - start,
    )


def _run_chunk(
    a: Strategy, b: Strategy, game: Game, num_pairs: int, seed: np.random.SeedSequence
) -> NDArray[np.float64]:
    """Play one part of a match: hand out the random numbers and call the kernel."""
    one, two, three, four, decisions = seed.spawn(5)
    if a.setup_kind == b.setup_kind:
        three, four = two, one
    totals = np.zeros(5)
    _play_pairs(
        a,
        b,
        game.num_tiles,
        num_pairs,
        tuple(np.random.default_rng(s) for s in (one, two, three, four)),
        np.random.default_rng(decisions),
        totals,
    )
    return totals


@njit(cache=True, nogil=True)
def _play_pairs(a, b, num_tiles, num_pairs, setup_rngs, rng, totals):
    """Play pairs of games and add their sums to ``totals``, in place.

    ``setup_rngs`` draw the setups of a and b in the first game, then of a and b in the second.
    """
    board = new_board(num_tiles)
    luck = np.empty((2, num_tiles))
    for _ in range(num_pairs):
        for player in range(2):
            for slot in range(num_tiles):
                luck[player, slot] = rng.random()
        pair = 0.0
        for second in range(2):
            draw_strategy_setup(a, setup_rngs[2 * second], board.tiles[0], board.chips[0])
            draw_strategy_setup(b, setup_rngs[2 * second + 1], board.tiles[1], board.chips[1])
            result = _play_game(a, b, board, luck[second], luck[1 - second])
            if result > 0:
                totals[_WINS] += 1
            elif result < 0:
                totals[_LOSSES] += 1
            else:
                totals[_DRAWS] += 1
            pair += 0.5 * result
        totals[_SUM] += pair
        totals[_SQUARES] += pair * pair


@njit(cache=True, nogil=True)
def _play_game(a, b, board, luck_a, luck_b):
    """Play a game whose setups are on the board, in place; return a's utility.

    ``luck_a`` and ``luck_b`` hold one uniform number a slot for the decisions of each.
    """
    board.winnings[:] = 0
    board.shown[:] = 0
    board.pulled[:] = 0
    may_stop = a.is_win and a.decision_kind != CONSTANT and b.decision_kind != CONSTANT
    for slot in range(board.shown.shape[0]):
        if may_stop and is_decided(board.winnings[0], board.winnings[1], a.num_chips):
            break
        kind, player = classify(board, slot)
        folder = -1
        if kind == FORCED_FOLD:
            folder = player
        elif kind == CHOICE:
            if player == 0:
                prob, _ = match_prob(a, board, slot, player)
                is_match = luck_a[slot] < prob
            else:
                prob, _ = match_prob(b, board, slot, player)
                is_match = luck_b[slot] < prob
            if is_match:
                pull_latest(board, player, slot)
            else:
                folder = player
        settle(board, slot, folder)
    return utility(board.winnings[0], a.num_chips, a.is_win)
