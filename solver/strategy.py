"""A strategy that compiled code can play: how to draw a setup, when to match, how to pay.

Everything that plays, judges or advises asks the functions of this module, whatever the strategy
is made of.  A :class:`Strategy` names its kind of setup part and of decision part and holds the
arrays of both; parts not in use are empty arrays.  It serves both seats, since the game is
symmetric.  A strategy without a part for paying pays by the default rule.
"""

from __future__ import annotations

from typing import NamedTuple, get_args

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.abstraction import decision_full_key, fine_key_of, key_of_full, shown_key_of
from solver.heuristic import thumb_choice
from solver.infostate import infostate_key, observe
from solver.kinds import NO_KINDS, fixed_match
from solver.memoryless import draw_memoryless, memoryless_prob
from solver.places import find_place
from solver.rules import (
    FOLD,
    FREE,
    LATEST,
    MATCH,
    Game,
    InputError,
    Pulls,
    colour,
    first_payment,
    is_decided,
    next_payment,
    utility,
)
from solver.setups import draw_order, draw_uniform, list_setups

__all__ = [
    "BY_TILE",
    "CONSTANT",
    "EXACT",
    "FROM_COARSER",
    "FROM_ENDING",
    "FROM_LOCK",
    "FROM_NOTHING",
    "FROM_TABLE",
    "KEYED",
    "LISTED",
    "MEMORYLESS",
    "THUMB",
    "UNIFORM",
    "Strategy",
    "check_fits",
    "draw_strategy_setup",
    "exact_strategy",
    "find_infostate",
    "in_game",
    "make_strategy",
    "match_prob",
    "num_columns",
    "observation_keys",
    "pay_probs",
    "setup_prob",
]

UNIFORM, LISTED, MEMORYLESS, BY_TILE = 0, 1, 2, 3
"""Kinds of setup part.  BY_TILE: each tile has its chips, and the order is uniform."""

CONSTANT, EXACT, KEYED, THUMB = 0, 1, 2, 3
"""Kinds of decision part.  THUMB: the rules of thumb of :mod:`solver.heuristic`."""

FROM_TABLE, FROM_ENDING, FROM_COARSER, FROM_NOTHING, FROM_LOCK = 0, 1, 2, 3, 4
"""Where a match probability came from: the strategy itself; computed, since nothing that matters
is hidden any more; a coarser key, since this one was never met; nowhere, so that folding is
assumed; from ``kinds``, which are given."""


class Strategy(NamedTuple):
    """A playable strategy for both seats of a game with N tiles and C chips.

    Attributes
    ----------
    num_chips : int
        C.
    is_win : bool
        Whether the objective is ``win``.
    setup_kind, decision_kind : int
        What the arrays below hold.
    setup_tiles, setup_chips : ndarray of int64, shape (setups, N)
        LISTED: the setups of positive probability.
    setup_cumulative : ndarray of float64, shape (setups,)
        LISTED: running sums of their probabilities; the last is 1.
    model : ndarray of float32, shape (entries,)
        MEMORYLESS: see :mod:`solver.memoryless`.
    offsets : ndarray of int64, shape (2**N, C + 1)
        MEMORYLESS: where its rows start.
    tile_chips : ndarray of int64, shape (N,)
        BY_TILE: the chips of each tile.
    match_constant : float
        CONSTANT: the probability of matching, always.
    keys : ndarray of uint64, shape (infostates,)
        EXACT: infostate keys in increasing order.
    match : ndarray of float64, shape (infostates,) or (keys,)
        EXACT, KEYED: the probability of matching.
    source : ndarray of uint8, shape (keys,)
        KEYED: where each number in ``match`` came from.
    fine_keys : ndarray of int64, shape (places,)
        KEYED: a hash table (:mod:`solver.places`) of the fine and shown keys that have answers of
        their own; ``match`` serves the others.
    fine_match : ndarray of float64, shape (places,)
        KEYED: the probability of matching at each.
    pulls : int
        LATEST, TILES or FREE: the rule for paying a gap.
    pay_start : ndarray of int64, shape (infostates + 1,)
        EXACT: where each infostate's numbers start in ``pay``; empty if it pays by the default
        rule.
    pay : ndarray of float64, shape (payments,)
        EXACT: the probability of each way to pay, given a match, in the order of
        :func:`solver.rules.next_payment`.
    kinds : ndarray of float64, shape (kinds, KIND)
        KEYED: kinds of decisions whose answers are fixed (:mod:`solver.kinds`), whatever the rest
        holds; usually none.
    """

    num_chips: int
    is_win: bool
    setup_kind: int
    decision_kind: int
    setup_tiles: NDArray[np.int64]
    setup_chips: NDArray[np.int64]
    setup_cumulative: NDArray[np.float64]
    model: NDArray[np.float32]
    offsets: NDArray[np.int64]
    tile_chips: NDArray[np.int64]
    match_constant: float
    keys: NDArray[np.uint64]
    match: NDArray[np.float64]
    source: NDArray[np.uint8]
    fine_keys: NDArray[np.int64]
    fine_match: NDArray[np.float64]
    pulls: int
    pay_start: NDArray[np.int64]
    pay: NDArray[np.float64]
    kinds: NDArray[np.float64]


def make_strategy(num_tiles: int, num_chips: int, is_win: bool, **parts: object) -> Strategy:
    """Return a strategy from the parts it uses; the rest is empty.

    Without parts: setups uniform over all, and never a match.

    Examples
    --------
    >>> make_strategy(3, 6, True, match_constant=0.5).decision_kind == CONSTANT
    True
    """
    values: dict[str, object] = {
        "num_chips": num_chips,
        "is_win": is_win,
        "setup_kind": UNIFORM,
        "decision_kind": CONSTANT,
        "setup_tiles": np.zeros((0, num_tiles), np.int64),
        "setup_chips": np.zeros((0, num_tiles), np.int64),
        "setup_cumulative": np.zeros(0),
        "model": np.zeros(0, np.float32),
        "offsets": np.zeros((0, num_chips + 1), np.int64),
        "tile_chips": np.zeros(0, np.int64),
        "match_constant": 0.0,
        "keys": np.zeros(0, np.uint64),
        "match": np.zeros(0),
        "source": np.zeros(0, np.uint8),
        "fine_keys": np.zeros(0, np.int64),
        "fine_match": np.zeros(0),
        "pulls": LATEST,
        "pay_start": np.zeros(0, np.int64),
        "pay": np.zeros(0),
        "kinds": NO_KINDS,
    }
    unknown = parts.keys() - values.keys()
    if unknown:
        raise TypeError(f"a strategy has no part {sorted(unknown)}")
    return Strategy(**(values | parts))  # type: ignore[arg-type]


def exact_strategy(
    game: Game,
    setup_probs: NDArray[np.float64],
    observations: NDArray[np.integer],
    match: NDArray[np.float64],
    *,
    pay_start: NDArray[np.int64] | None = None,
    pay: NDArray[np.float64] | None = None,
) -> Strategy:
    """Return the strategy of listed setups and infostates.

    Parameters
    ----------
    setup_probs : ndarray, shape (setups,)
        In the order of :func:`solver.setups.list_setups`.
    observations : ndarray, shape (infostates, N, 4), or (infostates, N, 5) with ``pulls=free``
        As :func:`solver.infostate.observe` fills them.
    match : ndarray, shape (infostates,)
        Probability of matching.
    pay_start : ndarray, shape (infostates + 1,), optional
        Where each infostate's numbers start in ``pay``.  Left out, the default rule pays.
    pay : ndarray, shape (payments,), optional
        Probability of each way to pay, given a match.

    Raises
    ------
    InputError
        If two infostates have the same key.
    """
    columns = num_columns(game.pulls_code)
    if observations.shape[1:] != (game.num_tiles, columns):
        raise InputError(
            f"observations of shape {observations.shape[1:]}: with pulls={game.pulls} each has "
            f"shape {(game.num_tiles, columns)}"
        )
    keys = observation_keys(observations)
    order = np.argsort(keys)
    keys = keys[order]
    if (keys[1:] == keys[:-1]).any():
        raise InputError("two infostates have the same key")
    tiles, chips = list_setups(game)
    used = setup_probs > 0
    cumulative = np.cumsum(setup_probs[used])
    parts: dict[str, NDArray] = {}
    if pay_start is not None and pay is not None:
        parts["pay_start"], parts["pay"] = _reorder_payments(pay_start, pay, order)
    return make_strategy(
        game.num_tiles,
        game.num_chips,
        game.is_win,
        setup_kind=LISTED,
        setup_tiles=tiles[used],
        setup_chips=chips[used],
        setup_cumulative=cumulative / cumulative[-1],
        decision_kind=EXACT,
        keys=keys,
        match=match[order],
        pulls=game.pulls_code,
        **parts,
    )


def _reorder_payments(
    pay_start: NDArray[np.int64], pay: NDArray[np.float64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return ``(pay_start, pay)`` of the infostates in another order."""
    ways = np.diff(pay_start)[order]
    starts = np.concatenate([[0], np.cumsum(ways)])
    moved_by = np.repeat(pay_start[:-1][order] - starts[:-1], ways)
    return starts, pay[np.arange(starts[-1]) + moved_by]


@njit(cache=True, nogil=True)
def num_columns(pulls):
    """Return how many numbers a slot of an observation has under a rule for paying."""
    return 5 if pulls == FREE else 4


@njit(cache=True, nogil=True)
def observation_keys(observations):
    """Return the key of each observation, uint64 of shape (infostates,)."""
    keys = np.empty(observations.shape[0], np.uint64)
    for row in range(observations.shape[0]):
        keys[row] = infostate_key(observations[row].astype(np.int64))
    return keys


def check_fits(strategy: Strategy, game: Game) -> None:
    """Raise :class:`InputError` unless the strategy is for this game, or can be played in it.

    Compiled code reads a strategy's arrays unchecked, so whatever takes both asks this first.
    """
    num_tiles = strategy.setup_tiles.shape[1]
    objective = "win" if strategy.is_win else "chips"
    if (num_tiles, strategy.num_chips, objective) != (
        game.num_tiles,
        game.num_chips,
        game.objective,
    ):
        raise InputError(
            f"strategy for {num_tiles}x{strategy.num_chips}, {objective}: "
            f"the game is {game.name}, {game.objective}"
        )
    in_game(strategy, game)


def in_game(strategy: Strategy, game: Game) -> Strategy:
    """Return the strategy as one for the game's rule for paying.

    A strategy for ``latest`` pays by the default rule, which every rule allows, so it can be played
    under all of them, unless it lists its infostates: it has none for what other payments lead to.

    Raises
    ------
    InputError
        If it is for another rule and cannot be played under the game's.

    Examples
    --------
    >>> in_game(make_strategy(3, 6, True), Game(3, 6, pulls="free")).pulls == FREE
    True
    """
    if strategy.pulls == game.pulls_code:
        return strategy
    if strategy.pulls == LATEST and strategy.decision_kind != EXACT:
        return strategy._replace(pulls=game.pulls_code)
    made_for = get_args(Pulls)[strategy.pulls]
    raise InputError(f"strategy for pulls={made_for}: the game has pulls={game.pulls}")


@njit(cache=True, nogil=True)
def draw_strategy_setup(strategy, rng, tiles, chips):
    """Fill ``tiles`` and ``chips`` (int64, shape (N,)) with a setup drawn from the strategy."""
    if strategy.setup_kind == MEMORYLESS:
        draw_memoryless(strategy.model, strategy.offsets, rng, tiles, chips)
    elif strategy.setup_kind == LISTED:
        row = np.searchsorted(strategy.setup_cumulative, rng.random(), side="right")
        row = min(row, strategy.setup_cumulative.shape[0] - 1)
        tiles[:] = strategy.setup_tiles[row]
        chips[:] = strategy.setup_chips[row]
    elif strategy.setup_kind == BY_TILE:
        for slot in range(tiles.shape[0]):
            tiles[slot] = slot
        draw_order(rng, tiles)
        for slot in range(tiles.shape[0]):
            chips[slot] = strategy.tile_chips[tiles[slot]]
    else:
        draw_uniform(rng, strategy.num_chips, tiles, chips)


@njit(cache=True, nogil=True)
def setup_prob(strategy, tiles, chips):
    """Return the probability with which the strategy places this setup (one player's rows)."""
    n = tiles.shape[0]
    if strategy.setup_kind == MEMORYLESS:
        return memoryless_prob(strategy.model, strategy.offsets, tiles, chips)
    if strategy.setup_kind == LISTED:
        before = 0.0
        for row in range(strategy.setup_cumulative.shape[0]):
            same = True
            for slot in range(n):
                if (
                    strategy.setup_tiles[row, slot] != tiles[slot]
                    or strategy.setup_chips[row, slot] != chips[slot]
                ):
                    same = False
                    break
            if same:
                return strategy.setup_cumulative[row] - before
            before = strategy.setup_cumulative[row]
        return 0.0
    if strategy.setup_kind == BY_TILE:
        orders = 1.0
        for slot in range(n):
            if strategy.tile_chips[tiles[slot]] != chips[slot]:
                return 0.0
            orders *= slot + 1
        return 1.0 / orders
    ways = 1.0
    for slot in range(n - 1):
        ways *= (n - slot) * (strategy.num_chips - 1 - slot) / (n - 1 - slot)
    return 1.0 / ways


@njit(cache=True, nogil=True)
def match_prob(strategy, board, slot, player):
    """Return ``(probability, source)``: how likely ``player`` is to match in ``slot``.

    ``slot`` is open, and ``player`` has fewer chips there and could pay the gap.  Only what that
    player can see is read from the board.
    """
    if strategy.decision_kind == CONSTANT:
        return strategy.match_constant, FROM_TABLE
    if strategy.is_win and is_decided(board.winnings[0], board.winnings[1], strategy.num_chips):
        return 0.0, FROM_ENDING  # decided: the winner only has to spend nothing
    if strategy.decision_kind == THUMB:
        return float(thumb_choice(board, slot, player, strategy.num_chips)), FROM_TABLE
    if strategy.decision_kind == EXACT:
        row = find_infostate(strategy, board, slot, player)
        if row >= 0:
            return strategy.match[row], FROM_TABLE
    if strategy.kinds.shape[0] > 0:
        fixed = fixed_kind_match(strategy, board, slot, player)
        if fixed >= 0.0:
            return fixed, FROM_LOCK
    better = last_slot_choice(board, slot, player, strategy.num_chips, strategy.is_win)
    if better >= 0:
        return float(better), FROM_ENDING
    if strategy.decision_kind == EXACT:
        return 0.0, FROM_NOTHING
    full = decision_full_key(board, slot, player, strategy.num_chips)
    size = strategy.fine_keys.shape[0]
    if size > 0:
        place = find_place(strategy.fine_keys, 0, size, shown_key_of(full))
        if place < 0:
            place = find_place(strategy.fine_keys, 0, size, fine_key_of(full))
        if place >= 0:
            return strategy.fine_match[place], np.int64(FROM_TABLE)
    row = key_of_full(full)
    return strategy.match[row], np.int64(strategy.source[row])


@njit(cache=True, nogil=True)
def fixed_kind_match(strategy, board, slot, player):
    """Return the probability of matching that is fixed for such decisions, -1 where none is."""
    opponent = 1 - player
    return fixed_match(
        strategy.kinds,
        slot,
        board.tiles[player, slot],
        board.chips[player, slot],
        colour(board.tiles[opponent, slot]),
        board.chips[opponent, slot],
    )


@njit(cache=True, nogil=True)
def find_infostate(strategy, board, slot, player):
    """Return the place of what ``player`` sees among an EXACT strategy's infostates, or -1."""
    observation = np.empty((board.tiles.shape[1], num_columns(strategy.pulls)), np.int64)
    observe(board, slot, player, observation)
    key = infostate_key(observation)
    row = np.searchsorted(strategy.keys, key)
    if row < strategy.keys.shape[0] and strategy.keys[row] == key:
        return row
    return -1


@njit(cache=True, nogil=True)
def pay_probs(strategy, board, slot, player, probs):
    """Fill ``probs`` with how likely ``player`` is to pay in each way; return how many there are.

    The ways are those that the strategy's ``pulls`` allow, in the order of
    :func:`solver.rules.next_payment`; their probabilities are given a match and sum to 1.
    ``probs`` (float64) has room for them.  ``slot`` and ``player`` are as for :func:`match_prob`.
    """
    if strategy.pay_start.shape[0] > 0:
        row = find_infostate(strategy, board, slot, player)
        if row >= 0:
            start = strategy.pay_start[row]
            num = strategy.pay_start[row + 1] - start
            probs[:num] = strategy.pay[start : start + num]
            return num
    taken = np.empty(board.tiles.shape[1], np.int64)
    first_payment(board, player, slot, taken)
    probs[0] = 1.0
    num = 1
    while next_payment(board, player, slot, strategy.pulls, taken):
        probs[num] = 0.0
        num += 1
    return num


@njit(cache=True, nogil=True)
def last_slot_choice(board, slot, player, num_chips, is_win):
    """Return the better action in the last slot if the opponent's tile there is certain, else -1.

    It is certain when the opponent folded no tile of its colour: all others have been shown.
    """
    n = board.tiles.shape[1]
    if slot < n - 1:
        return -1
    opponent = 1 - player
    for s in range(slot):
        if board.shown[s] == 0 and colour(board.tiles[opponent, s]) == colour(
            board.tiles[opponent, slot]
        ):
            return -1
    mine = board.chips[player, slot]
    stake = board.chips[opponent, slot]
    folded = board.winnings[player]
    matched = folded - (stake - mine)
    if board.tiles[player, slot] > board.tiles[opponent, slot]:
        matched += 2 * stake
    elif board.tiles[player, slot] == board.tiles[opponent, slot]:
        matched += stake
    if utility(matched, num_chips, is_win) > utility(folded, num_chips, is_win):
        return MATCH
    return FOLD
